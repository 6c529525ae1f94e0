//! One pair of runs: the baseline, and the same plan overloaded.

use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;

use super::Bench;
use super::plan::{Case, Load};
use crate::measure::child;
use crate::measure::figures::milliseconds;
use crate::measure::report::Report;
use crate::measure::server::Server;

/// What one run measured; times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    pub(super) net_p50: f64,
    pub(super) net_p99: f64,
    pub(super) gross_p50: f64,
    pub(super) answered: f64,
    /// The share of kernel stamps that are exact, from 0 to 1.
    pub(super) exact: f64,
    /// CPU time of one check; NaN when none ended within the run, as among a thousand guests who share a CPU none may.
    pub(super) burnt_p50: f64,
}

/// Two runs, one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) baseline: Figures,
    pub(super) overloaded: Figures,
}

/// All pairs of a case, against one target.
pub(super) fn run_all(bench: &Bench, case: &Case) -> anyhow::Result<Vec<Pair>> {
    let target = Server::demo_target(
        &bench.nettare,
        bench.cpus.server,
        case.speech.is_encrypted(),
    )?;
    let url = format!("{}{}", target.url, case.body.path());
    let mut pairs = Vec::new();
    for n in 1..=bench.pairs {
        let pair = Pair {
            baseline: one(bench, &url, case, case.baseline())
                .with_context(|| format!("the baseline of {case} failed"))?,
            overloaded: one(bench, &url, case, case.overloaded())
                .with_context(|| format!("{case} failed"))?,
        };
        let (before, after) = (pair.baseline, pair.overloaded);
        eprintln!(
            "{case}, pair {n}/{}: net p50 {:.3} -> {:.3} ms, p99 {:.3} -> {:.3} ms, gross p50 {:.3} -> {:.1} ms",
            bench.pairs,
            before.net_p50,
            after.net_p50,
            before.net_p99,
            after.net_p99,
            before.gross_p50,
            after.gross_p50
        );
        pairs.push(pair);
    }
    Ok(pairs)
}

fn one(bench: &Bench, url: &str, case: &Case, load: Load) -> anyhow::Result<Figures> {
    let report = bench.folder.path().join("report.json");
    let mut command = Command::new(&bench.nettare);
    command
        .arg("run")
        .arg(&bench.burn)
        .arg("--report")
        .arg(&report);
    let vus = case.vus(bench.seconds).to_string();
    command.args([
        "--rate",
        &format!("{}/s", load.rate),
        "-d",
        &format!("{}s", bench.seconds),
        "--max-vus",
        &vus,
        "--pre-allocated-vus",
        &vus,
    ]);
    command.args([
        "-e",
        &format!("TARGET={url}"),
        "-e",
        &format!("BURN_US={}", load.burn_us),
    ]);
    command.args([
        "--timestamps",
        "kernel",
        "--insecure-skip-tls-verify",
        case.speech.flag(),
        "--quiet",
        "--allow-invalid",
    ]);
    // Responses come while the load lasts; to wait until every virtual user has burnt its share would take minutes.
    command.args(["--graceful-stop", "1s"]);
    let patience = Duration::from_secs(u64::from(bench.seconds) + 120);
    child::run(&mut command, bench.cpus.generator, patience)?.ok()?;
    Figures::of(&Report::read(&report)?)
}

impl Figures {
    fn of(report: &Report) -> anyhow::Result<Figures> {
        anyhow::ensure!(
            report.failed() == 0.0,
            "{} requests failed",
            report.failed()
        );
        // Not those with which connections are warmed up.
        let of = |metric, figure| report.trend_of("target", metric, figure);
        let time = |metric, figure| Ok::<_, anyhow::Error>(milliseconds(of(metric, figure)?));
        Ok(Figures {
            net_p50: time("http_req_duration", "p50")?,
            net_p99: time("http_req_duration", "p99")?,
            gross_p50: time("http_req_gross", "p50")?,
            answered: of("http_req_duration", "count")?,
            exact: report.exact_stamps(),
            burnt_p50: report
                .trend("check_cpu", "p50")
                .map_or(f64::NAN, milliseconds),
        })
    }
}
