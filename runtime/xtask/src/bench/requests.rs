//! CPU per request, requests per second and memory, of every generator over the same kept connections.

use std::time::Duration;

use anyhow::Context as _;

use super::Bench;
use super::generators::{Generator, Load, Served};
use super::goals::Goal;
use crate::measure::child::{self, Spent};
use crate::measure::figures::{grouped, median, short};
use crate::measure::table::Table;

/// How much longer than the load a run may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// CPU per request in units of wrk's, at most.
const QUICK_LIMIT: f64 = 1.30;
const SCRIPTED_LIMIT: f64 = 1.55;

/// What all rounds came to.
pub(crate) struct Requests {
    rows: Vec<Row>,
    conditions: String,
}

/// One generator, over all rounds.
struct Row {
    name: String,
    goal: Option<f64>,
    rounds: Vec<Round>,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Round {
    requests_per_second: f64,
    user_us: f64,
    system_us: f64,
    peak_mib: f64,
}

/// Runs every generator in every round, after one short run each that is not counted: it warms the server, and has Nettare
/// compile the guest once and keep it.
pub(crate) fn measure(
    bench: &Bench<'_>,
    url: &str,
    generators: &[Generator],
) -> anyhow::Result<Requests> {
    let (rounds, connections) = (bench.arguments.rounds, bench.arguments.connections);
    let load = |seconds| Load {
        url,
        seconds,
        connections,
    };
    let mut rows: Vec<Row> = generators.iter().map(Row::new).collect();
    for generator in generators {
        one(bench, generator, &load(1))?;
    }
    for round in 1..=rounds {
        for (generator, row) in generators.iter().zip(&mut rows) {
            let measured = one(bench, generator, &load(bench.arguments.seconds))?;
            eprintln!(
                "round {round}/{rounds}: {}: {:.0}/s, {:.2} µs a request",
                row.name,
                measured.requests_per_second,
                measured.cpu_us()
            );
            row.rounds.push(measured);
        }
    }
    let seconds = bench.arguments.seconds;
    let conditions =
        format!("{connections} kept connections, {seconds} s a run, {rounds} interleaved rounds");
    Ok(Requests { rows, conditions })
}

fn one(bench: &Bench<'_>, generator: &Generator, load: &Load<'_>) -> anyhow::Result<Round> {
    let mut command = generator.command(bench, load);
    let patience = PATIENCE + Duration::from_secs(load.seconds.into());
    let mut run = || {
        let ended = child::run(&mut command, bench.pair.generator, patience)?.ok()?;
        let served = generator.served(bench, &ended)?;
        anyhow::ensure!(served.requests > 0.0, "it got no response");
        Ok(Round::new(served, ended.spent))
    };
    run().with_context(|| format!("{} failed", generator.name))
}

impl Round {
    fn new(served: Served, spent: Spent) -> Round {
        let per_request = |time: Duration| time.as_secs_f64() * 1e6 / served.requests;
        Round {
            requests_per_second: served.requests / served.seconds,
            user_us: per_request(spent.user),
            system_us: per_request(spent.system),
            peak_mib: spent.peak_kib as f64 / 1024.0,
        }
    }

    fn cpu_us(&self) -> f64 {
        self.user_us + self.system_us
    }
}

impl Row {
    fn new(generator: &Generator) -> Row {
        let goal = match () {
            () if generator.is_quick() => Some(QUICK_LIMIT),
            () if generator.is_scripted_auto() => Some(SCRIPTED_LIMIT),
            () => None,
        };
        Row {
            name: generator.name.clone(),
            goal,
            rounds: Vec::new(),
        }
    }

    fn median(&self, figure: impl Fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().map(figure)).unwrap_or(f64::NAN)
    }

    /// The median of each round's ratio. Both runs of a round saw about the same machine; medians of different rounds did not.
    fn ratio_to(&self, other: &Row) -> f64 {
        let ratios = self
            .rounds
            .iter()
            .zip(&other.rounds)
            .map(|(mine, theirs)| mine.cpu_us() / theirs.cpu_us());
        median(ratios).unwrap_or(f64::NAN)
    }
}

impl Requests {
    pub(crate) fn goals(&self) -> Vec<Goal> {
        let goal = |row: &Row| {
            Some(Goal::at_most(
                format!("CPU per request, {}", row.name),
                row.ratio_to(&self.rows[0]),
                row.goal?,
                " × wrk",
            ))
        };
        self.rows.iter().filter_map(goal).collect()
    }

    pub(crate) fn section(&self) -> String {
        let mut table = Table::new([
            "generator",
            "requests/s",
            "CPU µs/request",
            "user",
            "system",
            "× wrk",
            "peak MiB",
        ]);
        for row in &self.rows {
            table.row([
                row.name.clone(),
                grouped(row.median(|r| r.requests_per_second)),
                short(row.median(Round::cpu_us)),
                short(row.median(|r| r.user_us)),
                short(row.median(|r| r.system_us)),
                short(row.ratio_to(&self.rows[0])),
                short(row.median(|r| r.peak_mib)),
            ]);
        }
        format!(
            "## Requests

A small response from nginx; {}. CPU is the process's own, from its start to its end, by the kernel's accounting, so
what a tool spends on starting and on its report is in it. The rows of `hello.wasm` check the status of every response in a
WebAssembly guest, metered, and every row of Nettare takes kernel receive stamps.

{}",
            self.conditions,
            table.render()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, goal: Option<f64>, cpu: &[f64]) -> Row {
        let round = |&cpu: &f64| Round {
            requests_per_second: 1000.0,
            user_us: cpu / 2.0,
            system_us: cpu / 2.0,
            peak_mib: 1.0,
        };
        Row {
            name: name.to_owned(),
            goal,
            rounds: cpu.iter().map(round).collect(),
        }
    }

    #[test]
    fn figures_of_a_run_are_per_response() {
        let served = Served {
            requests: 1000.0,
            seconds: 2.0,
        };
        let spent = Spent {
            user: Duration::from_millis(3),
            system: Duration::from_millis(5),
            peak_kib: 2048,
        };
        let round = Round::new(served, spent);
        assert_eq!(
            (round.requests_per_second, round.cpu_us(), round.peak_mib),
            (500.0, 8.0, 2.0)
        );
    }

    #[test]
    fn ratios_are_taken_within_rounds_so_that_drift_of_the_machine_cancels() {
        // The machine became twice as slow in the third round, for both.
        let wrk = row("wrk", None, &[8.0, 8.0, 16.0]);
        let quick = row("quick", Some(1.3), &[10.0, 10.0, 20.0]);
        assert_eq!(quick.ratio_to(&wrk), 1.25);
        let requests = Requests {
            rows: vec![wrk, quick],
            conditions: String::new(),
        };
        let goals = requests.goals();
        assert_eq!(goals.len(), 1);
        assert!(goals[0].is_reached());
        assert!(requests.section().contains(
            "| quick     |      1,000 |           10.0 | 5.00 |   5.00 |  1.25 |     1.00 |"
        ));
    }
}
