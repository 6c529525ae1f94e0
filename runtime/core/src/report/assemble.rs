//! From what a run left behind to its report.

use std::collections::BTreeMap;

use super::{
    Capacity, Connections, ErrorCount, Exit, Generator, Iterations, Lateness, Number, Report,
    Requests, Run, SCHEMA, ScenarioFile, Threshold, TimestampCounts, checks, intervals, metrics,
};
use crate::event::Interval;
use crate::plan::{Plan, masked};
use crate::sample::{ErrorKind, Funnel};
use crate::sched::{DropReason, IterationCounts};
use crate::stall;
use crate::stats::{ErrorTotal, Totals, limit};
use crate::threshold::ThresholdResult;
use crate::verdict::Verdict;

/// What is known of a run besides its figures.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// Tells this run from every other.
    pub id: String,
    /// The version of Nettare.
    pub version: String,
    /// When the load began, in RFC 3339.
    pub started: String,
    /// From the begin of the load to the end of its last iteration.
    pub duration_ns: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// The plan as it was carried out.
    pub plan: Plan,
    /// The scenario's file, if there was one.
    pub scenario: Option<ScenarioFile>,
    /// How the program ends.
    pub exit: Exit,
    /// What became of the iterations.
    pub iterations: IterationCounts,
    /// What became of the exchanges.
    pub funnel: Funnel,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// All CPU time the generator used, where that is known.
    pub generator_cpu_ns: Option<u64>,
    /// CPUs that the generator may use, as affinity and quota leave them; 0 when that is not known.
    pub cpus: u32,
    /// The generator's health, where that was watched.
    pub generator: Option<Generator>,
}

/// Makes the report of a run.
pub fn assemble(
    facts: &RunFacts,
    totals: &Totals,
    intervals: &[Interval],
    thresholds: &[ThresholdResult],
    verdict: &Verdict,
) -> Report {
    let elapsed_ns = match totals.elapsed_ns() {
        0 => facts.duration_ns,
        elapsed_ns => elapsed_ns,
    };
    let metrics = metrics::all(totals, thresholds, elapsed_ns);
    let scenarios = facts.plan.scenarios.first();
    let stalls = scenarios.map(|scenario| stall::find(intervals, &scenario.executor));
    let intervals = intervals::all(intervals, &metrics);
    let connections = Connections {
        opened: facts.funnel.connections_opened,
        reused: facts.funnel.connections_reused,
    };
    Report {
        schema: SCHEMA.to_owned(),
        run: run(facts, totals),
        verdict: verdict.clone(),
        iterations: iterations(&facts.iterations),
        requests: requests(&facts.funnel),
        metrics,
        checks: checks::all(totals, facts.generator_cpu_ns),
        thresholds: thresholds.iter().map(threshold).collect(),
        capacity: Capacity::of(facts, totals),
        generator: facts.generator.clone(),
        stalls: stalls.unwrap_or_default(),
        errors: totals.errors().map(error).collect(),
        intervals,
        connections: (connections != Connections::default()).then_some(connections),
        lateness: lateness(totals),
        limits: totals.limits().clone(),
        misuse: totals.misuse().clone(),
        warnings: warnings(facts, totals, thresholds),
    }
}

fn run(facts: &RunFacts, totals: &Totals) -> Run {
    let [exact, bound, user] = totals.counts().stamps;
    Run {
        id: facts.id.clone(),
        version: facts.version.clone(),
        started: facts.started.clone(),
        duration_ns: facts.duration_ns,
        seed: facts.seed,
        plan: facts.plan.clone(),
        scenario: facts.scenario.clone(),
        timestamps: TimestampCounts { exact, bound, user },
        exit: facts.exit.clone(),
    }
}

fn iterations(counts: &IterationCounts) -> Iterations {
    let IterationCounts {
        offered,
        started,
        dropped,
        completed,
        failed,
        interrupted,
    } = *counts;
    let dropped = DropReason::ALL
        .iter()
        .map(|reason| reason.as_str())
        .zip(dropped);
    Iterations {
        offered,
        started,
        dropped: nonzero(dropped),
        completed,
        failed,
        interrupted,
    }
}

fn requests(funnel: &Funnel) -> Requests {
    let failed = ErrorKind::ALL
        .iter()
        .map(|kind| kind.as_str())
        .zip(funnel.failed);
    Requests {
        attempted: funnel.attempted,
        connected: funnel.connected,
        sent: funnel.sent,
        answered: funnel.answered,
        failed: nonzero(failed),
        retried: funnel.retried,
        in_flight_at_stop: funnel.in_flight,
    }
}

fn nonzero(counts: impl Iterator<Item = (&'static str, u64)>) -> BTreeMap<String, u64> {
    counts
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| (name.to_owned(), count))
        .collect()
}

fn threshold(result: &ThresholdResult) -> Threshold {
    Threshold {
        metric: result.threshold.selector(),
        expression: result.threshold.expression.clone(),
        value: result.value.map(Number),
        result: result.outcome,
        allow_no_data: result.threshold.allow_no_data,
    }
}

fn error(total: &ErrorTotal) -> ErrorCount {
    ErrorCount {
        kind: total.kind.as_str().to_owned(),
        code: total.code,
        count: total.count,
        example: masked(&total.example),
    }
}

/// What the run already said, and what only its figures tell.
fn warnings(facts: &RunFacts, totals: &Totals, thresholds: &[ThresholdResult]) -> Vec<String> {
    // What a scenario says of its failures quotes what it likes.
    let mut warnings: Vec<String> = facts.warnings.iter().map(|said| masked(said)).collect();
    if let Some(samples) = totals.limits().get(limit::SERIES) {
        let most = facts.plan.limits.series;
        warnings.push(format!(
            "{samples} samples went to `__other__`, because there are more than {most} series: give requests names without \
             ids in them, or raise `series` under [limits]"
        ));
    }
    warnings.extend(
        thresholds
            .iter()
            .filter_map(|result| misfit(result, totals)),
    );
    warnings
}

/// What a scenario's own metric is becomes known only in the run; a condition that cannot be about it has nothing to judge.
fn misfit(result: &ThresholdResult, totals: &Totals) -> Option<String> {
    let ThresholdResult { threshold, .. } = result;
    let (unit, figure) = totals.query(&threshold.metric, &threshold.tags)?;
    let (kind, condition) = (figure.kind(), &threshold.condition);
    let fits = condition.aggregation.fits(kind) && condition.limit_in(unit, kind).is_some();
    (!fits).then(|| {
        let (selector, expression) = (threshold.selector(), &threshold.expression);
        format!(
            "the threshold `{selector}: {expression}` cannot be about a {}",
            kind.as_str()
        )
    })
}

fn lateness(totals: &Totals) -> Option<Lateness> {
    let (no_vu, lag) = totals.lateness();
    Some(Lateness {
        no_vu: metrics::times(&no_vu)?,
        lag: metrics::times(&lag)?,
    })
}
