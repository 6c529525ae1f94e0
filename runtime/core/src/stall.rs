//! Stalls: stretches of a run in which the offered load fell short or stood still, and why.
//!
//! A pure function of a run's intervals. What was to start in an interval is known where the plan has a rate; elsewhere the
//! run's own median interval is the measure, and only standing (nearly) still counts: a closed load has no other promise.
//!
//! ```text
//!   expected, started of each interval ─► is it short? ─► the cause of each ─► neighbours joined ─► stalls
//! ```
//!
//! Intervals are a second long, and that is fine enough to find stalls of a second or two: wherever such a stall begins, it takes at
//! least half of one interval, and a load at a rate is short when a tenth is missing. A shorter one shows in the percentiles of
//! lateness. Only how long it was is rounded to seconds, so a stall says which seconds it lies in.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::event::Interval;
use crate::plan::Executor;

mod cause;
#[cfg(test)]
mod tests;

use cause::Look;
pub use cause::StallCause;

/// A load at a rate is short below this part of it.
const SHORT_OF_RATE: f64 = 0.9;

/// A load without a rate stands still below this part of its median interval.
const SHORT_OF_MEDIAN: f64 = 0.1;

/// Starts that the border between two intervals may move from one to the other.
const BORDER_STARTS: f64 = 2.0;

/// A median interval with fewer starts than this is no measure: think time looks the same as a stall.
const MEASURABLE_STARTS: u64 = 5;

/// The last interval is cut off where the run ends; one shorter than this says nothing by itself.
const SHORTEST_NS: u64 = 500_000_000;

/// A stretch in which the offered load fell short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stall {
    /// Begin of its first interval, in nanoseconds from the run's start.
    pub from_ns: u64,
    /// End of its last interval.
    pub to_ns: u64,
    /// Iterations that should have started in it: by the rate, or by the run's median interval.
    pub expected: u64,
    /// Iterations that did.
    pub started: u64,
    /// Why, where that can be told: the cause of most of what is missing.
    pub cause: StallCause,
}

/// One interval of a stall.
#[derive(Clone, Copy, Debug)]
struct Short {
    from_ns: u64,
    to_ns: u64,
    expected: f64,
    started: u64,
    cause: StallCause,
}

/// Finds the stalls of a run, in order.
pub fn find(intervals: &[Interval], executor: &Executor) -> Vec<Stall> {
    let measure = Measure::of(intervals, executor);
    let look = Look::over(intervals);
    let mut failures = cause::Failures::default();
    let mut stalls = Vec::new();
    let mut stretch: Vec<Short> = Vec::new();
    for interval in intervals {
        // Names of series are declared once, so every interval is read, whether it is short or not.
        let failed = failures.read(interval);
        match measure.short(interval) {
            Some(expected) => stretch.push(Short {
                from_ns: begin_ns(interval),
                to_ns: interval.t_ns,
                expected,
                started: interval.iterations.started,
                cause: look.cause(interval, &failed),
            }),
            None => stalls.extend(joined(&std::mem::take(&mut stretch))),
        }
    }
    stalls.extend(joined(&stretch));
    stalls
}

fn begin_ns(interval: &Interval) -> u64 {
    interval.t_ns.saturating_sub(interval.length_ns)
}

/// One stall of intervals that follow each other.
fn joined(stretch: &[Short]) -> Option<Stall> {
    let (first, last) = (stretch.first()?, stretch.last()?);
    let mut missing: HashMap<StallCause, f64> = HashMap::new();
    for short in stretch {
        *missing.entry(short.cause).or_default() +=
            (short.expected - short.started as f64).max(0.0);
    }
    // Of causes that weigh the same the graver: those of the generator come first.
    let cause = StallCause::ALL.into_iter().rev().max_by(|a, b| {
        let weight = |cause| missing.get(cause).copied().unwrap_or(-1.0);
        weight(a).total_cmp(&weight(b))
    })?;
    Some(Stall {
        from_ns: first.from_ns,
        to_ns: last.to_ns,
        expected: stretch.iter().map(|s| s.expected).sum::<f64>().round() as u64,
        started: stretch
            .iter()
            .fold(0, |sum, s| sum.saturating_add(s.started)),
        cause,
    })
}

/// What an interval's starts are measured by.
enum Measure {
    Rate { per_ns: f64, until_ns: u64 },
    Median { per_ns: f64, until_ns: u64 },
    Nothing,
}

impl Measure {
    fn of(intervals: &[Interval], executor: &Executor) -> Measure {
        match executor {
            Executor::ConstantArrivalRate {
                rate, duration_ns, ..
            } => Measure::Rate {
                per_ns: rate.arrivals as f64 / rate.per_ns.max(1) as f64,
                until_ns: *duration_ns,
            },
            Executor::ConstantVus { duration_ns, .. } => Measure::median(intervals, *duration_ns),
            // Once everything has started nothing more does, and that is no stall.
            Executor::SharedIterations { .. } | Executor::PerVuIterations { .. } => {
                let last = intervals.iter().rfind(|i| i.iterations.started > 0);
                Measure::median(intervals, last.map_or(0, begin_ns))
            }
        }
    }

    fn median(intervals: &[Interval], until_ns: u64) -> Measure {
        let mut whole: Vec<(f64, u64)> = intervals
            .iter()
            .filter(|i| i.t_ns <= until_ns && i.length_ns >= SHORTEST_NS)
            .map(|i| {
                let started = i.iterations.started;
                (started as f64 / i.length_ns as f64, started)
            })
            .collect();
        whole.sort_by(|a, b| a.0.total_cmp(&b.0));
        match whole.get(whole.len() / 2) {
            Some(&(per_ns, started)) if started >= MEASURABLE_STARTS => {
                Measure::Median { per_ns, until_ns }
            }
            _ => Measure::Nothing,
        }
    }

    /// What should have started in an interval that is short of it.
    fn short(&self, interval: &Interval) -> Option<f64> {
        let (per_ns, until_ns, part) = match *self {
            Measure::Rate { per_ns, until_ns } => (per_ns, until_ns, SHORT_OF_RATE),
            Measure::Median { per_ns, until_ns } => (per_ns, until_ns, SHORT_OF_MEDIAN),
            Measure::Nothing => return None,
        };
        let began_ns = begin_ns(interval);
        let asked_ns = interval.t_ns.min(until_ns).saturating_sub(began_ns);
        let expected = per_ns * asked_ns as f64;
        let started = interval.iterations.started as f64;
        (asked_ns >= SHORTEST_NS && started + BORDER_STARTS < expected * part).then_some(expected)
    }
}
