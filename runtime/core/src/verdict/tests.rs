//! Each rule by what it is about, and all of them by whatever may be counted.

use proptest::prelude::*;

use super::*;
use crate::sample::ErrorKind;

/// Counts of a run in which all is well.
fn good() -> RunCounts {
    let mut failed = [0; ErrorKind::ALL.len()];
    failed[ErrorKind::Timeout as usize] = 6;
    RunCounts {
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
            answered: 200,
            failed,
            retried: 3,
            in_flight: 1,
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
    }
}

/// The rules that fire after a change to a good run.
fn fired(change: impl FnOnce(&mut RunCounts)) -> Vec<String> {
    let mut counts = good();
    change(&mut counts);
    let reasons = judge(&counts).reasons;
    reasons.into_iter().map(|reason| reason.rule).collect()
}

/// What happened, a change that makes it so, the rule that fires.
type Row = (&'static str, fn(&mut RunCounts), &'static str);

fn check(table: &[Row]) {
    for (sentence, change, rule) in table {
        assert_eq!(fired(change), [*rule], "{sentence}");
    }
}

#[test]
fn a_run_against_which_nothing_speaks_is_unjudged() {
    let unjudged = Verdict {
        result: Judgement::Unjudged,
        reasons: Vec::new(),
    };
    assert_eq!(judge(&good()), unjudged);
    assert_eq!(judge(&RunCounts::default()), unjudged, "nothing happened");
}

#[test]
fn the_generators_own_limits_make_a_run_invalid() {
    check(&[
        (
            "one failure in 210 is for want of ports",
            |c| {
                let (from, to) = (ErrorKind::Timeout, ErrorKind::GeneratorLimit);
                c.funnel.failed[from as usize] -= 1;
                c.funnel.failed[to as usize] += 1;
            },
            "generator-limit",
        ),
        (
            "an arrival was dropped because the scheduler lagged",
            |c| c.iterations.dropped = [9, 1, 0, 0],
            "generator-drops",
        ),
        (
            "an arrival was dropped for want of ports",
            |c| c.iterations.dropped = [9, 0, 1, 0],
            "generator-drops",
        ),
    ]);
}

#[test]
fn a_small_share_of_the_generators_own_faults_is_borne() {
    let of_ten_thousand = |own: u64| {
        fired(|c| {
            c.iterations.offered = 10_000;
            c.iterations.dropped = [0, own, 0, 0];
            c.iterations.started = 10_000 - own;
            c.iterations.completed = 10_000 - own - 3;
            c.totals.iterations = 9_999 - own;
            c.intervals.iterations = 9_999 - own;
        })
    };
    assert_eq!(of_ten_thousand(10), Vec::<String>::new());
    assert_eq!(of_ten_thousand(11), ["generator-drops"]);
}

#[test]
fn iterations_that_do_not_add_up_are_told() {
    check(&[
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
    ]);
}

#[test]
fn exchanges_that_do_not_add_up_are_told() {
    check(&[
        (
            "more ended than began",
            |c| c.funnel.attempted = 208,
            "invariant-exchanges",
        ),
        (
            "one is nowhere",
            |c| c.funnel.in_flight = 0,
            "invariant-exchanges",
        ),
        (
            "one was lost",
            |c| c.totals.exchanges_with_aside -= 1,
            "invariant-exchange-samples",
        ),
        (
            "one was counted twice",
            |c| c.totals.exchanges_with_aside += 1,
            "invariant-exchange-samples",
        ),
        (
            "one call outlived its iteration",
            |c| c.stray_iterations = 1,
            "invariant-request-within-iteration",
        ),
    ]);
}

#[test]
fn figures_that_do_not_add_up_are_told() {
    check(&[
        (
            "time is unaccounted for",
            |c| c.totals.tare_ns -= 20_000,
            "invariant-tare-sum",
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
    ]);
}

#[test]
fn what_was_cut_short_may_have_phases_without_a_gross_time() {
    assert!(fired(|c| c.totals.phases_ns += 500_000).is_empty());
    let nothing_cut_short = |c: &mut RunCounts| {
        (c.iterations.interrupted, c.iterations.completed) = (0, 98);
        (c.totals.iterations, c.intervals.iterations) = (100, 100);
        (c.funnel.attempted, c.funnel.in_flight) = (209, 0);
        c.totals.phases_ns += 500_000;
    };
    assert_eq!(fired(nothing_cut_short), ["invariant-tare-sum"]);
}

#[test]
fn setup_in_totals_of_its_own_is_counted_too() {
    let moved = |c: &mut RunCounts| {
        c.totals.exchanges_with_aside -= 5;
        c.hooks.exchanges_with_aside += 5;
    };
    assert!(fired(moved).is_empty());
}

/// All failed: whatever the attempt rate, the run is INVALID.
#[test]
fn case_045_a_run_without_an_answer_is_invalid() {
    let mut counts = RunCounts::default();
    counts.funnel.attempted = 7_000;
    counts.funnel.failed[ErrorKind::Connect as usize] = 7_000;
    counts.totals.failed = 7_000;
    counts.intervals.failed = 7_000;
    counts.totals.exchanges_with_aside = 7_000;
    let verdict = judge(&counts);
    assert_eq!(verdict.result, Judgement::Invalid);
    let rules: Vec<&str> = verdict.reasons.iter().map(|r| r.rule.as_str()).collect();
    assert_eq!(rules, ["nothing-answered"]);
    assert_eq!(verdict.reasons[0].figure, "0 of 7000 exchanges answered");
}

#[test]
fn rules_have_names_of_their_own() {
    let mut names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), RULES.len());
}

/// Small numbers, which often agree, and large ones.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..5u64, any::<u64>().prop_map(|n| n >> 8)]
}

proptest! {
    /// Whatever was counted, there is a verdict: INVALID with reasons, or unjudged without.
    #[test]
    fn judging_is_total(numbers in prop::collection::vec(number(), 60)) {
        let mut numbers = numbers.into_iter();
        let mut next = || numbers.next().unwrap_or(0);
        let mut counts = RunCounts {
            iterations: IterationCounts {
                offered: next(),
                started: next(),
                dropped: [next(), next(), next(), next()],
                completed: next(),
                failed: next(),
                interrupted: next(),
            },
            ..RunCounts::default()
        };
        counts.funnel.attempted = next();
        counts.funnel.answered = next();
        counts.funnel.failed = [(); ErrorKind::ALL.len()].map(|()| next());
        counts.funnel.retried = next();
        counts.funnel.in_flight = next();
        counts.totals.answered = next();
        counts.totals.exchanges_with_aside = next();
        counts.totals.gross_ns = u128::from(next());
        counts.totals.tare_ns = u128::from(next());
        counts.totals.phases_ns = u128::from(next());
        counts.stray_iterations = next();
        let verdict = judge(&counts);
        prop_assert_eq!(verdict.result == Judgement::Invalid, !verdict.reasons.is_empty());
        prop_assert!(matches!(verdict.result, Judgement::Invalid | Judgement::Unjudged));
    }
}
