//! Whether the figures of a run are to be believed.
//!
//! A pure function of what the run counted. Every rule stands in [`RULES`] with the figure it looks at, its limit and its
//! remedy; a rule that fires makes the run invalid. While the rules about the generator's health are missing, a run in which
//! none fires is [`Judgement::Unjudged`] and never valid.
//!
//! The rules named `invariant-*` are about Nettare itself: if one fires, it is our bug, and the user must not be fooled by it.

use serde::{Deserialize, Serialize};

use crate::event::Interval;
use crate::sample::{ErrorKind, Funnel};
use crate::sched::{DropReason, IterationCounts};
use crate::stats::Counts;

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
    /// Calls that began before the iteration they belong to, or ended after it.
    pub calls_outside_iterations: u64,
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
        advice: "this machine ran out of ports, descriptors or memory: see the errors, raise its limits or spread the load",
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
            (ended > funnel.attempted)
                .then(|| format!("attempted {}, ended {ended}", funnel.attempted))
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
        limit: "0 calls that reach beyond their iteration",
        advice: OUR_BUG,
        fires: |counts| {
            let outside = counts.calls_outside_iterations;
            (outside > 0).then(|| format!("{outside} calls"))
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
    // Exchanges whose call was cut short have phases and no gross: the parts may be more by these, and are not when all ended.
    let cut_short = counts.iterations.interrupted > 0 || counts.funnel.in_flight() > 0;
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Counts of a run in which all is well.
    fn good() -> RunCounts {
        let mut counts = RunCounts {
            iterations: IterationCounts {
                offered: 110,
                started: 100,
                dropped: [10, 0, 0, 0],
                completed: 97,
                failed: 2,
                interrupted: 1,
            },
            funnel: Funnel {
                attempted: 210,
                connected: 207,
                sent: 206,
                answered: 200,
                retried: 3,
                ..Funnel::default()
            },
            totals: Counts {
                answered: 200,
                failed: 6,
                exchanges_with_aside: 206,
                calls: 206,
                gross_ns: 1_000_000,
                tare_ns: 100_000,
                phases_ns: 900_000,
                iterations: 99,
                dropped: 10,
                checks: 50,
                ..Counts::default()
            },
            intervals: IntervalCounts {
                answered: 200,
                failed: 6,
                calls: 206,
                iterations: 99,
                dropped: 10,
                checks: 50,
            },
            ..RunCounts::default()
        };
        counts.funnel.failed[ErrorKind::Timeout as usize] = 6;
        counts
    }

    fn fired(change: impl FnOnce(&mut RunCounts)) -> Vec<String> {
        let mut counts = good();
        change(&mut counts);
        judge(&counts)
            .reasons
            .into_iter()
            .map(|reason| reason.rule)
            .collect()
    }

    #[test]
    fn a_run_against_which_nothing_speaks_is_unjudged() {
        assert_eq!(
            judge(&good()),
            Verdict {
                result: Judgement::Unjudged,
                reasons: Vec::new()
            }
        );
        assert_eq!(
            judge(&RunCounts::default()).result,
            Judgement::Unjudged,
            "as is one in which nothing happened"
        );
    }

    type Change = fn(&mut RunCounts);

    /// What is done to the counts of a good run, and the rule that this breaks.
    const BROKEN: [(&str, Change, &str); 15] = [
        (
            "one time-out in 210 becomes a lack of ports",
            |c| {
                c.funnel.failed.swap(
                    ErrorKind::Timeout as usize,
                    ErrorKind::GeneratorLimit as usize,
                )
            },
            "generator-limit",
        ),
        (
            "arrivals were dropped because the scheduler lagged",
            |c| c.iterations.dropped = [9, 1, 0, 0],
            "generator-drops",
        ),
        (
            "arrivals were dropped for want of ports",
            |c| c.iterations.dropped = [9, 0, 1, 0],
            "generator-drops",
        ),
        (
            "an arrival is unaccounted for",
            |c| c.iterations.offered += 1,
            "invariant-iterations",
        ),
        (
            "an iteration did not end",
            |c| c.iterations.interrupted -= 1,
            "invariant-iteration-ends",
        ),
        (
            "an iteration was not recorded",
            |c| (c.totals.iterations, c.intervals.iterations) = (98, 98),
            "invariant-iteration-samples",
        ),
        (
            "more exchanges ended than began",
            |c| c.funnel.attempted = 208,
            "invariant-exchanges",
        ),
        (
            "an exchange was lost",
            |c| c.totals.exchanges_with_aside -= 1,
            "invariant-exchange-samples",
        ),
        (
            "an exchange was counted twice",
            |c| c.totals.exchanges_with_aside += 1,
            "invariant-exchange-samples",
        ),
        (
            "time is unaccounted for",
            |c| c.totals.tare_ns -= 20_000,
            "invariant-tare-sum",
        ),
        (
            "time is counted twice, with nothing cut short",
            |c| {
                (c.iterations.interrupted, c.iterations.completed) = (0, 98);
                (c.totals.iterations, c.intervals.iterations) = (100, 100);
                c.funnel.attempted = 209;
                c.totals.phases_ns += 20_000;
            },
            "invariant-tare-sum",
        ),
        (
            "a call outlived its iteration",
            |c| c.calls_outside_iterations = 1,
            "invariant-request-within-iteration",
        ),
        (
            "a second is missing",
            |c| c.intervals.answered -= 1,
            "invariant-interval-sums",
        ),
        (
            "a check is missing from the seconds",
            |c| c.intervals.checks -= 1,
            "invariant-interval-sums",
        ),
        (
            "a percentile is past the maximum",
            |c| c.totals.disordered_trends = 1,
            "invariant-percentiles",
        ),
    ];

    #[test]
    fn each_rule_fires_for_what_it_is_about() {
        for (sentence, change, rule) in BROKEN {
            assert_eq!(fired(change), [rule], "{sentence}");
        }
    }

    #[test]
    fn a_small_share_of_the_generators_own_faults_is_borne() {
        let of_ten_thousand = |own: u64| {
            fired(|c| {
                c.iterations = IterationCounts {
                    offered: 10_000,
                    started: 10_000 - own,
                    ..c.iterations
                };
                c.iterations.dropped = [0, own, 0, 0];
                c.iterations.completed = 10_000 - own - 3;
                (c.totals.iterations, c.intervals.iterations) = (9_999 - own, 9_999 - own);
            })
        };
        assert_eq!(of_ten_thousand(10), Vec::<String>::new());
        assert_eq!(of_ten_thousand(11), ["generator-drops"]);
    }

    #[test]
    fn what_was_cut_short_may_have_phases_without_a_gross_time() {
        assert!(
            fired(|c| c.totals.phases_ns += 500_000).is_empty(),
            "an iteration was interrupted"
        );
    }

    /// All failed: whatever the attempt rate, the run is INVALID.
    #[test]
    fn case_045_a_run_without_an_answer_is_invalid() {
        let mut counts = RunCounts::default();
        counts.funnel.attempted = 7_000;
        counts.funnel.failed[ErrorKind::Connect as usize] = 7_000;
        counts.totals.exchanges_with_aside = 7_000;
        let verdict = judge(&counts);
        assert_eq!(verdict.result, Judgement::Invalid);
        assert_eq!(verdict.reasons[0].rule, "nothing-answered");
        assert_eq!(verdict.reasons[0].figure, "0 of 7000 exchanges answered");
    }

    #[test]
    fn rules_have_names_of_their_own() {
        let mut names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
        assert!(
            RULES
                .iter()
                .all(|rule| !rule.limit.is_empty() && !rule.advice.is_empty())
        );
    }

    proptest! {
        /// Whatever was counted, there is a verdict: INVALID with reasons, or unjudged without.
        #[test]
        fn judging_is_total(numbers in prop::collection::vec(prop_oneof![0..5u64, any::<u64>().prop_map(|n| n >> 8)], 40)) {
            let mut numbers = numbers.into_iter().cycle();
            let mut next = || numbers.next().unwrap_or(0);
            let counts = RunCounts {
                iterations: IterationCounts {
                    offered: next(),
                    started: next(),
                    dropped: [next(), next(), next(), next()],
                    completed: next(),
                    failed: next(),
                    interrupted: next(),
                },
                funnel: Funnel {
                    attempted: next(),
                    answered: next(),
                    failed: [(); ErrorKind::ALL.len()].map(|()| next()),
                    retried: next(),
                    ..Funnel::default()
                },
                totals: Counts {
                    answered: next(),
                    exchanges_with_aside: next(),
                    gross_ns: u128::from(next()),
                    tare_ns: u128::from(next()),
                    phases_ns: u128::from(next()),
                    ..Counts::default()
                },
                ..RunCounts::default()
            };
            let verdict = judge(&counts);
            prop_assert_eq!(verdict.result == Judgement::Invalid, !verdict.reasons.is_empty());
            prop_assert!(matches!(verdict.result, Judgement::Invalid | Judgement::Unjudged));
        }
    }
}
