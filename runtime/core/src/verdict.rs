//! Whether the figures of a run are to be believed.
//!
//! A pure function of what the run counted. Every rule stands in [`RULES`] with the figure it looks at, its limit and its
//! remedy; a rule that fires makes the run invalid. While the rules about the generator's health are missing, a run in which
//! none fires is [`Judgement::Unjudged`] and never valid.
//!
//! The rules named `invariant-*` are about Nettare itself: if one fires, it is our bug, and the user must not be fooled by it.

use serde::{Deserialize, Serialize};

use crate::event::Interval;
use crate::sample::Funnel;
use crate::sched::IterationCounts;
use crate::stats::Counts;

mod rules;
#[cfg(test)]
mod tests;

pub use rules::{RULES, Rule};

/// What a run's figures are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Nothing speaks against them, but not everything was looked at.
    Unjudged,
    /// They stand.
    Valid,
    /// They stand; read the reasons.
    Suspect,
    /// The load that was asked for was not offered, or the figures are not the server's.
    Invalid,
}

/// The judgement on a run, with reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The judgement.
    pub result: Judgement,
    /// Rules that fired.
    pub reasons: Vec<Reason>,
}

/// Why a run was judged so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reason {
    /// The rule's name.
    pub rule: String,
    /// What was found.
    pub figure: String,
    /// What would have been right.
    pub limit: String,
    /// What to do about it.
    pub advice: String,
}

/// What the rules look at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunCounts {
    /// Iterations, as the schedulers counted them.
    pub iterations: IterationCounts,
    /// Exchanges, as the network side counted them.
    pub funnel: Funnel,
    /// What was recorded, as the totals have it.
    pub totals: Counts,
    /// What was recorded of set-up and tear-down, where that is kept in totals of its own.
    pub hooks: Counts,
    /// What was recorded, as the intervals add up.
    pub intervals: IntervalCounts,
    /// Iterations with a call that began before them or ended after them.
    pub stray_iterations: u64,
}

/// Sums over all intervals of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalCounts {
    /// Exchanges answered.
    pub answered: u64,
    /// Exchanges failed.
    pub failed: u64,
    /// Calls.
    pub calls: u64,
    /// Iterations ended by themselves.
    pub iterations: u64,
    /// Arrivals dropped.
    pub dropped: u64,
    /// Checks evaluated.
    pub checks: u64,
}

/// Judges a run by what it counted.
pub fn judge(counts: &RunCounts) -> Verdict {
    let reason = |rule: &Rule| {
        (rule.fires)(counts).map(|figure| Reason {
            rule: rule.name.to_owned(),
            figure,
            limit: rule.limit.to_owned(),
            advice: rule.advice.to_owned(),
        })
    };
    let reasons: Vec<Reason> = RULES.iter().filter_map(reason).collect();
    let result = if reasons.is_empty() {
        Judgement::Unjudged
    } else {
        Judgement::Invalid
    };
    Verdict { result, reasons }
}

impl IntervalCounts {
    /// Adds intervals up.
    pub fn of(intervals: &[Interval]) -> IntervalCounts {
        let mut sums = IntervalCounts::default();
        for interval in intervals {
            sums.answered += interval.answered;
            sums.failed += interval.failed;
            sums.calls += interval.gross.count();
            sums.iterations += interval.iterations.ended();
            sums.dropped += interval.iterations.dropped.iter().sum::<u64>();
            sums.checks += interval.checks_passed + interval.checks_failed;
        }
        sums
    }
}
