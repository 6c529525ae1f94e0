//! The rules, one row each: what is looked at, what is right, what to do.

use super::RunCounts;
use crate::sample::{ErrorKind, Funnel};
use crate::sched::{DropReason, IterationCounts};
use crate::stats::Counts;

/// One rule: pure, total, and complete in its row of [`RULES`].
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its name, in reports and documentation.
    pub name: &'static str,
    /// What is right.
    pub limit: &'static str,
    /// What to do when it fires.
    pub advice: &'static str,
    /// What was found, if the rule fires.
    pub fires: fn(&RunCounts) -> Option<String>,
}

const OUR_BUG: &str = "this is a bug in Nettare: please report it with the JSON report of the run";

/// Share of exchanges or arrivals that the generator's own limits may spoil.
const GENERATOR_SHARE: f64 = 0.001;

/// Every rule there is. Any of them makes a run invalid.
pub const RULES: &[Rule] = &[
    Rule {
        name: "generator-limit",
        limit: "at most 0.1 % of exchanges attempted",
        advice: "this machine ran out of what the errors name. Ports: `sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"`, or keep \
                 connections with --connections per-vu. Descriptors: `ulimit -n`. Memory: fewer virtual users",
        fires: |counts| {
            let failed = counts.funnel.failed[ErrorKind::GeneratorLimit as usize];
            exceeds(
                failed,
                counts.funnel.attempted,
                "exchanges failed by the generator's own limits",
            )
        },
    },
    Rule {
        name: "generator-drops",
        limit: "at most 0.1 % of arrivals offered",
        advice: "this machine could not start iterations in time: give it more CPU, or ask for less",
        fires: |counts| {
            let dropped = &counts.iterations.dropped;
            let own =
                dropped[DropReason::Lag as usize] + dropped[DropReason::GeneratorLimit as usize];
            exceeds(
                own,
                counts.iterations.offered,
                "arrivals dropped by the generator's own doing",
            )
        },
    },
    Rule {
        name: "nothing-answered",
        limit: "at least 1 answer",
        advice: "check that the target is up and the address right: see the errors",
        fires: |counts| {
            let Funnel {
                attempted,
                answered,
                ..
            } = counts.funnel;
            (attempted > 0 && answered == 0).then(|| format!("0 of {attempted} exchanges answered"))
        },
    },
    Rule {
        name: "invariant-iterations",
        limit: "offered = started + dropped",
        advice: OUR_BUG,
        fires: |counts| {
            let it = &counts.iterations;
            let dropped = it.dropped_total();
            (it.offered != it.started + dropped).then(|| {
                format!(
                    "offered {}, started {}, dropped {dropped}",
                    it.offered, it.started
                )
            })
        },
    },
    Rule {
        name: "invariant-iteration-ends",
        limit: "started = completed + failed + interrupted",
        advice: OUR_BUG,
        fires: |counts| {
            let IterationCounts {
                started,
                completed,
                failed,
                interrupted,
                ..
            } = counts.iterations;
            (started != completed + failed + interrupted).then(|| {
                format!("started {started}, completed {completed}, failed {failed}, interrupted {interrupted}")
            })
        },
    },
    Rule {
        name: "invariant-iteration-samples",
        limit: "iterations recorded = completed + failed",
        advice: OUR_BUG,
        fires: |counts| {
            let ended = counts.iterations.completed + counts.iterations.failed;
            let recorded = counts.totals.iterations;
            (recorded != ended).then(|| format!("recorded {recorded}, ended {ended}"))
        },
    },
    Rule {
        name: "invariant-exchanges",
        limit: "attempted = answered + failed + retried + in flight at the stop",
        advice: OUR_BUG,
        fires: |counts| {
            let funnel = &counts.funnel;
            let ended = funnel.answered + funnel.failed_total() + funnel.retried;
            let (attempted, in_flight) = (funnel.attempted, funnel.in_flight);
            (!funnel.adds_up())
                .then(|| format!("attempted {attempted}, ended {ended}, in flight {in_flight}"))
        },
    },
    Rule {
        name: "invariant-exchange-samples",
        limit: "exchanges recorded = answered + failed",
        advice: OUR_BUG,
        fires: |counts| {
            let ended = counts.funnel.answered + counts.funnel.failed_total();
            let recorded = counts.totals.exchanges_with_aside + counts.hooks.exchanges_with_aside;
            (recorded != ended).then(|| format!("recorded {recorded}, ended {ended}"))
        },
    },
    Rule {
        name: "invariant-tare-sum",
        limit: "phases + tare = gross, within 1 %",
        advice: OUR_BUG,
        fires: tare_sum,
    },
    Rule {
        name: "invariant-request-within-iteration",
        limit: "every call begins and ends within its iteration",
        advice: OUR_BUG,
        fires: |counts| {
            let stray = counts.stray_iterations;
            (stray > 0).then(|| format!("{stray} iterations with calls that reach beyond them"))
        },
    },
    Rule {
        name: "invariant-interval-sums",
        limit: "intervals add up to totals",
        advice: OUR_BUG,
        fires: interval_sums,
    },
    Rule {
        name: "invariant-percentiles",
        limit: "min <= p50 <= p90 <= p95 <= p99 <= p99.9 <= max",
        advice: OUR_BUG,
        fires: |counts| {
            let disordered = counts.totals.disordered_trends;
            (disordered > 0).then(|| format!("{disordered} metrics out of order"))
        },
    },
];

fn exceeds(part: u64, whole: u64, what: &str) -> Option<String> {
    let share = part as f64 / (whole.max(1)) as f64;
    (share > GENERATOR_SHARE).then(|| format!("{part} of {whole} {what}"))
}

/// Sums are compared, so that one call's rounding or a stepped clock does not condemn a run.
fn tare_sum(counts: &RunCounts) -> Option<String> {
    let Counts {
        gross_ns,
        tare_ns,
        phases_ns,
        ..
    } = counts.totals;
    let parts = phases_ns.saturating_add(tare_ns);
    let slack = gross_ns / 100;
    // Exchanges whose call was cut short or cancelled have phases and no gross: the parts may be more by these, and are not
    // when all ended.
    let cancelled = counts.funnel.failed[ErrorKind::Cancelled as usize];
    let cut_short = counts.iterations.interrupted > 0 || counts.funnel.in_flight + cancelled > 0;
    let too_few = parts.saturating_add(slack) < gross_ns;
    let too_many = parts > gross_ns.saturating_add(slack) && !cut_short;
    (too_few || too_many)
        .then(|| format!("phases {phases_ns} ns, tare {tare_ns} ns, gross {gross_ns} ns"))
}

fn interval_sums(counts: &RunCounts) -> Option<String> {
    let (totals, intervals) = (&counts.totals, &counts.intervals);
    let pairs = [
        ("answered", totals.answered, intervals.answered),
        ("failed", totals.failed, intervals.failed),
        ("calls", totals.calls, intervals.calls),
        ("iterations", totals.iterations, intervals.iterations),
        ("dropped", totals.dropped, intervals.dropped),
        ("checks", totals.checks, intervals.checks),
    ];
    let wrong = pairs.into_iter().find(|(_, total, sum)| total != sum);
    wrong.map(|(what, total, sum)| format!("{what}: {total} in total, {sum} in intervals"))
}
