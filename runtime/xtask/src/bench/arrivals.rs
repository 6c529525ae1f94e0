//! Whether a constant arrival rate starts every iteration it should, and how late, while there is little to do.

use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;

use super::Bench;
use super::goals::Goal;
use crate::measure::child;
use crate::measure::figures::{grouped, milliseconds, short};
use crate::measure::report::Report;
use crate::measure::table::Table;

const RATE: u32 = 500;
const SECONDS: u32 = 10;
/// Lateness that 99 of 100 arrivals stay under, in milliseconds.
const LATENESS_LIMIT_MS: f64 = 0.5;

/// What became of the arrivals.
pub(crate) struct Arrivals {
    offered: f64,
    started: f64,
    lateness_p50_ms: f64,
    lateness_p99_ms: f64,
    lateness_max_ms: f64,
}

pub(crate) fn measure(bench: &Bench<'_>, url: &str) -> anyhow::Result<Arrivals> {
    eprintln!("{RATE} arrivals a second for {SECONDS} s");
    let file = bench.file("arrivals.json");
    let mut command = Command::new(&bench.nettare);
    command.arg("run").arg(&bench.hello).args([
        "--rate",
        &format!("{RATE}/s"),
        "-d",
        &format!("{SECONDS}s"),
        "--quiet",
    ]);
    command
        .args(["-e", &format!("TARGET={url}")])
        .arg("--report")
        .arg(&file);
    child::run(&mut command, bench.pair.generator, Duration::from_secs(60))
        .and_then(child::Ended::ok)
        .context("the run at a constant arrival rate failed")?;
    Arrivals::of(&Report::read(&file)?)
}

impl Arrivals {
    fn of(report: &Report) -> anyhow::Result<Arrivals> {
        let late = |figure| {
            Ok::<_, anyhow::Error>(milliseconds(report.trend("iteration_lateness", figure)?))
        };
        Ok(Arrivals {
            offered: report.number(&["iterations", "offered"])?,
            started: report.number(&["iterations", "started"])?,
            lateness_p50_ms: late("p50")?,
            lateness_p99_ms: late("p99")?,
            lateness_max_ms: late("max")?,
        })
    }

    pub(crate) fn goals(&self) -> Vec<Goal> {
        let asked = f64::from(RATE * SECONDS);
        let off = (self.offered - asked)
            .abs()
            .max((self.started - asked).abs());
        vec![
            Goal::at_most(
                format!("iterations missing or too many of {}", grouped(asked)),
                off,
                0.0,
                "",
            ),
            Goal::at_most(
                "lateness of arrivals, p99",
                self.lateness_p99_ms,
                LATENESS_LIMIT_MS,
                " ms",
            ),
        ]
    }

    pub(crate) fn section(&self) -> String {
        let mut table = Table::new(["offered", "started", "lateness p50 ms", "p99 ms", "max ms"]);
        table.row([
            grouped(self.offered),
            grouped(self.started),
            short(self.lateness_p50_ms),
            short(self.lateness_p99_ms),
            short(self.lateness_max_ms),
        ]);
        format!(
            "## Constant arrival rate\n\n`hello.wasm` at {RATE} arrivals a second for {SECONDS} s, a generator that is idle otherwise.\n\n{}",
            table.render()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(offered: u32, started: u32, p99_ns: u32) -> Arrivals {
        let text = format!(
            r#"{{"schema": "nettare.report/1", "iterations": {{"offered": {offered}, "started": {started}}},
                "metrics": [{{"name": "iteration_lateness", "tags": {{}}, "p50": 1000, "p99": {p99_ns}, "max": 900000}}]}}"#
        );
        Arrivals::of(&Report::parse(&text).expect("it is a report")).expect("it has what is needed")
    }

    #[test]
    fn one_arrival_too_few_or_too_many_misses_the_goal() {
        let rows = [
            (5000, 5000, true),
            (5000, 4999, false),
            (4999, 4999, false),
            (5001, 5001, false),
        ];
        for (offered, started, reached) in rows {
            assert_eq!(
                arrivals(offered, started, 0).goals()[0].is_reached(),
                reached,
                "{offered} offered, {started} started"
            );
        }
    }

    #[test]
    fn lateness_is_judged_in_milliseconds() {
        assert!(arrivals(5000, 5000, 499_000).goals()[1].is_reached());
        assert!(!arrivals(5000, 5000, 501_000).goals()[1].is_reached());
    }
}
