//! wrk under a like burden, for the reader: what a tool prints whose clock stops when it gets round to reading.
//!
//! wrk's scripts are told of every response, on the thread that also reads the sockets. The script burns the CPU time there that
//! the guest burns in its check at ten times the load. wrk keeps its connections busy all the time, so it has no rate to overload;
//! its baseline is a single connection without a burden.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;

use super::Bench;
use super::plan::{Body, Case, Speech, cases};
use crate::measure::child;
use crate::measure::server::Server;

/// Kept busy all the time.
pub(super) const CONNECTIONS: u32 = 64;
/// At this overload.
const OVERLOAD: u32 = 10;

/// What wrk printed as p50, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Peer {
    pub(super) speech: Speech,
    pub(super) body: Body,
    pub(super) alone_p50: f64,
    pub(super) burdened_p50: f64,
}

/// One row for each protocol that wrk speaks and each size; none when wrk is not installed.
pub(super) fn measure(bench: &Bench) -> anyhow::Result<Vec<Peer>> {
    if Command::new("wrk").arg("-v").output().is_err() {
        eprintln!(
            "wrk is not installed and stays out of the page; to have it in: `apt-get install wrk`"
        );
        return Ok(Vec::new());
    }
    let mut peers = Vec::new();
    let fits = |case: &Case| case.overload == OVERLOAD && case.speech != Speech::Http2;
    for case in cases().into_iter().filter(fits) {
        let target = Server::demo_target(
            &bench.nettare,
            bench.cpus.server,
            case.speech.is_encrypted(),
        )?;
        let url = format!("{}{}", target.url, case.body.path());
        let run = |connections, burn_us| {
            p50(bench, &url, connections, burn_us).with_context(|| format!("wrk failed on {url}"))
        };
        let peer = Peer {
            speech: case.speech,
            body: case.body,
            alone_p50: run(1, 0)?,
            burdened_p50: run(CONNECTIONS, case.overloaded().burn_us)?,
        };
        eprintln!(
            "wrk, {}, {}: p50 {:.3} -> {:.1} ms",
            peer.speech, peer.body, peer.alone_p50, peer.burdened_p50
        );
        peers.push(peer);
    }
    Ok(peers)
}

fn p50(bench: &Bench, url: &str, connections: u32, burn_us: u32) -> anyhow::Result<f64> {
    let script = bench.folder.path().join("burn.lua");
    fs::write(&script, burning(burn_us)).context("failed to write wrk's script")?;
    let mut command = Command::new("wrk");
    command.args([
        "-t",
        "1",
        "-c",
        &connections.to_string(),
        "-d",
        &format!("{}s", bench.seconds),
        "--timeout",
        "60s",
        "--latency",
    ]);
    command.arg("-s").arg(&script).arg(url);
    let patience = Duration::from_secs(u64::from(bench.seconds) + 120);
    let ended = child::run(&mut command, bench.cpus.generator, patience)?.ok()?;
    said_p50(&ended.stdout).context("wrk did not print its distribution")
}

/// `os.clock` is the CPU time of the process.
fn burning(microseconds: u32) -> String {
    format!(
        "function response()\n  local till = os.clock() + {microseconds} / 1000000\n  while os.clock() < till do end\nend\n"
    )
}

/// The line `     50%  142.90ms` of the distribution.
fn said_p50(text: &str) -> Option<f64> {
    let time = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("50%"))?
        .trim();
    let scale = |suffix: &str, ms: f64| Some(time.strip_suffix(suffix)?.parse::<f64>().ok()? * ms);
    scale("us", 1e-3)
        .or_else(|| scale("ms", 1.0))
        .or_else(|| scale("s", 1e3))
        .or_else(|| scale("m", 60e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_is_read_with_its_units() {
        let text = |time| format!("  Latency Distribution\n     50%  {time}\n     75%    9.99s\n");
        let rows = [
            ("640.00us", Some(0.64)),
            ("142.90ms", Some(142.9)),
            ("1.50s", Some(1500.0)),
            ("much", None),
        ];
        for (time, expected) in rows {
            assert_eq!(said_p50(&text(time)), expected, "{time}");
        }
        assert_eq!(said_p50("Running 3s test"), None);
    }
}
