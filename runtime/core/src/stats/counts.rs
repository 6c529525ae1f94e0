//! Sums over everything recorded, for the verdict.

use super::totals::Totals;
use super::view::FigureRef;
use super::{Histogram, Trend};
use crate::sample::{CheckMode, SkipReason};

/// Sums over all series. Set-up and tear-down are left out where it does not say otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Exchanges answered.
    pub answered: u64,
    /// Exchanges failed.
    pub failed: u64,
    /// Exchanges answered or failed, set-up and tear-down included.
    pub exchanges_with_aside: u64,
    /// Exchanges given up for another.
    pub retried: u64,
    /// Calls recorded.
    pub calls: u64,
    /// Sum of gross times, set-up and tear-down included, as are the next two.
    pub gross_ns: u128,
    /// Sum of tare.
    pub tare_ns: u128,
    /// Sum of all phases of all exchanges, whatever became of them.
    pub phases_ns: u128,
    /// Iterations that ended by themselves.
    pub iterations: u64,
    /// Arrivals dropped.
    pub dropped: u64,
    /// Checks evaluated.
    pub checks: u64,
    /// Receive stamps of answered exchanges: exact, bound, user.
    pub stamps: [u64; 3],
    /// Answered exchanges during which the receive window was the limit.
    pub window_limited: u64,
    /// Series of a trend whose percentiles are out of order or outside minimum and maximum.
    pub disordered_trends: u64,
}

impl Totals {
    /// Sums over everything recorded.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts {
            exchanges_with_aside: self.run.answered + self.run.failed,
            retried: self.run.retried,
            phases_ns: self.run.phases_ns,
            stamps: self.run.stamps,
            window_limited: self.run.window_limited,
            ..Counts::default()
        };
        for (key, figures) in self.exchanges.iter() {
            counts.gross_ns += figures.gross.sum();
            counts.tare_ns += figures.tare.sum();
            if !key.group.is_aside() {
                counts.answered += figures.duration.count();
                counts.failed += figures.requests - figures.duration.count();
                counts.calls += figures.gross.count();
            }
        }
        for (_, figures) in self.scenarios.iter() {
            counts.iterations += figures.ended();
            counts.dropped += figures.dropped.iter().sum::<u64>();
        }
        for (key, figures) in self.checks.iter() {
            if !key.group.is_aside() {
                counts.checks += figures.passes + figures.fails;
            }
        }
        self.each_view(&mut |view| {
            let ordered = match view.figure {
                FigureRef::Histogram(histogram) => is_ordered(histogram),
                FigureRef::Trend(trend) => is_trend_ordered(trend),
                _ => true,
            };
            counts.disordered_trends += u64::from(!ordered);
        });
        counts
    }
}

/// A check of a scenario, over all groups and tags.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckTotal {
    /// Its name.
    pub name: String,
    /// The scenario.
    pub scenario: String,
    /// Evaluations that passed.
    pub passes: u64,
    /// Evaluations that did not.
    pub fails: u64,
    /// Bytes of response body it looked at.
    pub body_bytes: u64,
    /// Evaluations by where they took place, in the order of [`CheckMode::ALL`].
    pub modes: [u64; CheckMode::ALL.len()],
    /// Deferred, and never evaluated; by reason, in the order of [`SkipReason::ALL`].
    pub skipped: [u64; SkipReason::ALL.len()],
    /// CPU time of an evaluation, where that is metered.
    pub cpu: Histogram,
    /// Instructions of an evaluation, where they are counted.
    pub instructions: Histogram,
    /// From being deferred to the evaluation.
    pub queue_wait: Histogram,
    /// Why it failed first.
    pub example: Option<String>,
}

impl Totals {
    /// Checks by scenario and name, in the order in which they were first seen; without set-up and tear-down.
    pub fn checks_by_name(&self) -> Vec<CheckTotal> {
        let mut rows: Vec<CheckTotal> = Vec::new();
        for (key, figures) in self.checks.iter().filter(|(key, _)| !key.group.is_aside()) {
            let (name, scenario) = (self.names.text(key.check), self.names.text(key.scenario));
            let known = rows
                .iter()
                .position(|row| row.name == name && row.scenario == scenario);
            let place = known.unwrap_or_else(|| {
                rows.push(CheckTotal {
                    name: name.to_owned(),
                    scenario: scenario.to_owned(),
                    passes: 0,
                    fails: 0,
                    body_bytes: 0,
                    modes: [0; 3],
                    skipped: [0; 3],
                    cpu: Histogram::new(),
                    instructions: Histogram::new(),
                    queue_wait: Histogram::new(),
                    example: self
                        .check_examples
                        .get(&key.check)
                        .map(|why| why.to_string()),
                });
                rows.len() - 1
            });
            let row = &mut rows[place];
            row.passes += figures.passes;
            row.fails += figures.fails;
            row.body_bytes += figures.body_bytes;
            for (sum, more) in row.modes.iter_mut().zip(figures.modes) {
                *sum += more;
            }
            for (sum, more) in row.skipped.iter_mut().zip(figures.skipped) {
                *sum += more;
            }
            row.cpu.merge(&figures.cpu);
            row.instructions.merge(&figures.instructions);
            row.queue_wait.merge(&figures.queue_wait);
        }
        rows
    }

    /// CPU time of the scenarios' own code, in all.
    pub fn scenario_cpu_ns(&self) -> u128 {
        self.scenarios
            .iter()
            .map(|(_, figures)| figures.cpu.sum())
            .sum()
    }

    /// How late iterations started, for want of a virtual user and by the generator's own lag.
    pub fn lateness(&self) -> (Histogram, Histogram) {
        let (mut no_vu, mut lag) = (Histogram::new(), Histogram::new());
        for (_, figures) in self.scenarios.iter() {
            no_vu.merge(&figures.lateness_no_vu);
            lag.merge(&figures.lateness_lag);
        }
        (no_vu, lag)
    }
}

/// Quantiles that reports show.
const SHOWN: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

fn is_ordered(histogram: &Histogram) -> bool {
    let inner = SHOWN.iter().filter_map(|q| histogram.quantile(*q));
    histogram
        .min()
        .into_iter()
        .chain(inner)
        .chain(histogram.max())
        .is_sorted()
}

fn is_trend_ordered(trend: &Trend) -> bool {
    let inner = SHOWN.iter().filter_map(|q| trend.quantile(*q));
    trend
        .min()
        .into_iter()
        .chain(inner)
        .chain(trend.max())
        .is_sorted()
}
