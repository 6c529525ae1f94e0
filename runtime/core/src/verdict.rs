//! Whether the figures of a run are to be believed.
//!
//! A pure and total function of what the run counted and of the generator's health. Every rule stands in [`RULES`] with the
//! figure it looks at, its limits and its remedy:
//!
//! - a rule past its limit makes the run SUSPECT or INVALID, with a [`Reason`];
//! - a rule whose figure nobody could read is not applicable, and is listed in [`Verdict::not_looked_at`];
//! - a run in which no rule fires is VALID, unless the generator's health was not watched at all: then it is
//!   [`Judgement::Unjudged`], since nothing but its own sums speaks for it.
//!
//! The rules named `invariant-*` are about Nettare itself: if one fires, it is our bug, and the user must not be fooled by it.

use serde::{Deserialize, Serialize};

use crate::event::Interval;
use crate::health::Health;
use crate::sample::Funnel;
use crate::sched::IterationCounts;
use crate::stats::Counts;

mod rule;
mod rules;
#[cfg(test)]
mod tests;

pub use rule::{Bound, Evidence, Found, Measure, Rule, Side, Test};
pub use rules::RULES;

/// What a run's figures are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Nothing speaks against them, but the generator's health was not watched.
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
    /// Rules that fired, the gravest first.
    pub reasons: Vec<Reason>,
    /// Rules that could not be applied, because this system does not tell their figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_looked_at: Vec<String>,
}

/// Why a run was judged so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reason {
    /// The rule's name.
    pub rule: String,
    /// What the rule makes of the run: suspect or invalid.
    #[serde(default = "invalid")]
    pub severity: Judgement,
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
    /// Workers whose last samples never came.
    pub lost_workers: u64,
    /// How late iterations started by the generator's own lag, p99 in ns; none when nothing started.
    pub lag_p99_ns: Option<u64>,
    /// Whether the plan asked for a rate.
    pub is_paced: bool,
    /// CPU time of all checks, where it was metered.
    pub checks_cpu_ns: Option<u64>,
    /// CPU time of the generator, checks included.
    pub generator_cpu_ns: Option<u64>,
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

/// Judges a run by what it counted and how its generator fared.
pub fn judge(counts: &RunCounts, health: &Health) -> Verdict {
    let evidence = Evidence { counts, health };
    let (mut reasons, mut not_looked_at) = (Vec::new(), Vec::new());
    for rule in RULES {
        match rule.look(&evidence) {
            Found::Right => {}
            Found::NotApplicable => not_looked_at.push(rule.name.to_owned()),
            Found::Wrong { severity, figure } => reasons.push(Reason {
                rule: rule.name.to_owned(),
                severity,
                figure,
                limit: rule.limit(),
                advice: rule.advice.to_owned(),
            }),
        }
    }
    // A stable sort: within a severity the table's order stays.
    reasons.sort_by_key(|reason| reason.severity != Judgement::Invalid);
    let result = match reasons.first() {
        Some(gravest) => gravest.severity,
        None if health.is_empty() => Judgement::Unjudged,
        None => Judgement::Valid,
    };
    Verdict {
        result,
        reasons,
        not_looked_at,
    }
}

/// Before reasons had a severity, every rule made a run invalid.
fn invalid() -> Judgement {
    Judgement::Invalid
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
