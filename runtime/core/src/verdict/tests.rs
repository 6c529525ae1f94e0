//! Each rule by what it is about, and all of them by whatever may be counted.

use proptest::prelude::*;

use super::Judgement::{Invalid, Suspect};
use super::*;
use crate::health::{GAUGES, gauge};
use crate::sample::ErrorKind;
use crate::sched::DropReason;

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

/// What a quiet machine says of itself, with some figures changed.
fn health(changes: &[(&str, f64)]) -> Health {
    let quiet = [
        (gauge::CPU, 0.05),
        (gauge::IO_LATE, 0.0),
        (gauge::INLINE_HELD, 0.0),
        (gauge::CLOCK_STEPS, 0.0),
        (gauge::CPU_STEAL, 0.001),
        (gauge::THROTTLED, 0.0),
        (gauge::PRESSURE_MEMORY, 0.0),
        (gauge::AVAILABLE, 0.7),
        (gauge::KSWAPD_HITS, 0.0),
        (gauge::DESCRIPTORS_USED, 0.01),
        (gauge::PORTS_USED, 0.01),
        (gauge::NIC_USED, 0.01),
        (gauge::SOFTNET_SQUEEZED, 0.0),
        (gauge::SOFTNET_DROPPED, 0.0),
        (gauge::RECEIVE_PRESSURE, 0.0),
    ];
    let gauges = quiet.iter().chain(changes);
    Health::of(&[Interval {
        t_ns: 2_000_000_000,
        length_ns: 2_000_000_000,
        gauges: gauges.map(|(n, v)| ((*n).to_owned(), *v)).collect(),
        ..Interval::default()
    }])
}

/// The rules that fire after a change to a good run.
fn fired(change: impl FnOnce(&mut RunCounts)) -> Vec<String> {
    let mut counts = good();
    change(&mut counts);
    let reasons = judge(&counts, &health(&[])).reasons;
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
fn a_run_against_which_nothing_speaks_is_valid_if_its_generator_was_watched() {
    let valid = Verdict {
        result: Judgement::Valid,
        reasons: Vec::new(),
        not_looked_at: Vec::new(),
    };
    assert_eq!(judge(&good(), &health(&[])), valid);
    let unwatched = judge(&good(), &Health::default());
    assert_eq!(unwatched.result, Judgement::Unjudged);
    assert!(unwatched.not_looked_at.contains(&"steal".to_owned()));
}

#[test]
fn a_run_whose_iterations_all_fail_is_no_run() {
    let all_failed = |counts: &mut RunCounts| {
        (counts.iterations.completed, counts.iterations.failed) = (0, 99);
    };
    assert_eq!(fired(all_failed), ["nothing-completed"]);
    let interrupted = |counts: &mut RunCounts| {
        counts.iterations = IterationCounts {
            offered: 110,
            started: 100,
            dropped: [10, 0, 0, 0],
            interrupted: 100,
            ..IterationCounts::default()
        };
        (counts.totals.iterations, counts.intervals.iterations) = (0, 0);
    };
    assert_eq!(
        fired(interrupted),
        [""; 0],
        "cut short before the first ended"
    );
}

#[test]
fn a_load_that_found_no_virtual_users_is_suspect() {
    let mut counts = good();
    counts.iterations.offered += 10;
    counts.iterations.dropped[DropReason::NoVu as usize] += 10;
    (counts.totals.dropped, counts.intervals.dropped) = (20, 20);
    let verdict = judge(&counts, &health(&[]));
    assert_eq!(verdict.result, Suspect);
    assert_eq!(verdict.reasons[0].rule, "arrivals-dropped");
}

#[test]
fn a_figure_that_could_not_be_read_is_listed_and_condemns_nothing() {
    let only = Health::of(&[Interval {
        length_ns: 1_000_000_000,
        gauges: [(gauge::CPU.to_owned(), 0.1)].into(),
        ..Interval::default()
    }]);
    let verdict = judge(&good(), &only);
    assert_eq!(verdict.result, Judgement::Valid);
    for rule in ["io-lag", "steal", "cgroup-throttling", "network-link"] {
        assert!(verdict.not_looked_at.iter().any(|n| n == rule), "{rule}");
    }
    assert!(!verdict.not_looked_at.contains(&"generator-cpu".to_owned()));
}

/// What ails the generator, the gauge that tells it, what it makes of the run, by which rule.
const ILLS: [(&str, &str, f64, Judgement, &str); 16] = [
    ("it is busy", gauge::CPU, 0.93, Suspect, "generator-cpu"),
    (
        "its threads are late",
        gauge::IO_LATE,
        0.1,
        Suspect,
        "io-lag",
    ),
    ("they hardly come", gauge::IO_LATE, 0.3, Invalid, "io-lag"),
    (
        "a guest is in the way",
        gauge::INLINE_HELD,
        0.2,
        Invalid,
        "inline-guest",
    ),
    (
        "its host has other guests",
        gauge::CPU_STEAL,
        0.1,
        Suspect,
        "steal",
    ),
    (
        "a quota bites",
        gauge::THROTTLED,
        0.2,
        Suspect,
        "cgroup-throttling",
    ),
    (
        "a quota bites always",
        gauge::THROTTLED,
        0.9,
        Invalid,
        "cgroup-throttling",
    ),
    (
        "memory is waited for",
        gauge::PRESSURE_MEMORY,
        0.1,
        Suspect,
        "memory-pressure",
    ),
    (
        "memory is gone",
        gauge::AVAILABLE,
        0.02,
        Suspect,
        "memory-available",
    ),
    (
        "descriptors end",
        gauge::DESCRIPTORS_USED,
        0.95,
        Suspect,
        "descriptors",
    ),
    ("ports end", gauge::PORTS_USED, 0.95, Suspect, "ports"),
    (
        "the link is full",
        gauge::NIC_USED,
        0.99,
        Suspect,
        "network-link",
    ),
    (
        "softirq is squeezed",
        gauge::SOFTNET_SQUEEZED,
        50.0,
        Suspect,
        "softnet-squeezed",
    ),
    (
        "the backlog is full",
        gauge::SOFTNET_DROPPED,
        2.0,
        Suspect,
        "softnet-dropped",
    ),
    (
        "queues are full",
        gauge::RECEIVE_PRESSURE,
        50.0,
        Suspect,
        "receive-queues",
    ),
    (
        "the clock was set",
        gauge::CLOCK_STEPS,
        0.5,
        Suspect,
        "clock-set",
    ),
];

#[test]
fn a_sick_generator_is_told_by_its_signs() {
    for (sentence, name, value, result, rule) in ILLS {
        let verdict = judge(&good(), &health(&[(name, value)]));
        assert_eq!(verdict.result, result, "{sentence}");
        let rules: Vec<&str> = verdict.reasons.iter().map(|r| r.rule.as_str()).collect();
        assert_eq!(rules, [rule], "{sentence}");
    }
}

#[test]
fn kswapd_says_something_where_memory_is_scarce_alone() {
    let rules = |available| {
        let busy = health(&[(gauge::KSWAPD_HITS, 5.0), (gauge::AVAILABLE, available)]);
        let reasons = judge(&good(), &busy).reasons;
        reasons.into_iter().map(|r| r.rule).collect::<Vec<_>>()
    };
    assert_eq!(rules(0.1), ["kswapd"]);
    assert_eq!(
        rules(0.9),
        Vec::<String>::new(),
        "cached pages are given up"
    );
}

#[test]
fn a_rate_that_a_saturated_generator_offered_late_was_not_offered() {
    let saturated = health(&[(gauge::CPU, 0.99)]);
    let late = RunCounts {
        lag_p99_ns: Some(200_000_000),
        is_paced: true,
        ..good()
    };
    let result = |counts| judge(&counts, &saturated).result;
    assert_eq!(result(late), Invalid);
    assert_eq!(
        result(RunCounts {
            is_paced: false,
            ..late
        }),
        Suspect,
        "a load without a rate goes as fast as it can"
    );
    assert_eq!(
        result(RunCounts {
            lag_p99_ns: Some(1_000_000),
            ..late
        }),
        Suspect,
        "all of it was offered in time"
    );
}

#[test]
fn assertions_that_take_a_busy_generator_are_named() {
    let heavy = RunCounts {
        checks_cpu_ns: Some(93),
        generator_cpu_ns: Some(100),
        ..good()
    };
    let reasons = judge(&heavy, &health(&[(gauge::CPU, 0.9)])).reasons;
    let figures: Vec<(&str, &str)> = reasons
        .iter()
        .map(|r| (r.rule.as_str(), r.figure.as_str()))
        .collect();
    assert_eq!(
        figures[1],
        ("assertions", "93 % of this generator taken by assertions")
    );
    let idle = judge(&heavy, &health(&[]));
    assert_eq!(idle.result, Judgement::Valid, "there is CPU left");
}

#[test]
fn stamps_that_are_bounds_make_net_suspect() {
    let with = |stamps| fired(|c| c.totals.stamps = stamps);
    assert!(with([80, 20, 0]).is_empty());
    assert_eq!(with([79, 21, 0]), ["stamps-bound"]);
    assert_eq!(with([0, 0, 100]), ["stamps-user"]);
    assert!(with([0, 3, 0]).is_empty(), "a handful says nothing");
    let window = |c: &mut RunCounts| {
        (c.totals.stamps, c.totals.window_limited) = ([100, 0, 0], 30);
    };
    assert_eq!(fired(window), ["window-limited"]);
}

#[test]
fn the_gravest_reason_comes_first() {
    let ills = health(&[(gauge::PORTS_USED, 0.99), (gauge::IO_LATE, 0.9)]);
    let verdict = judge(&good(), &ills);
    let rules: Vec<&str> = verdict.reasons.iter().map(|r| r.rule.as_str()).collect();
    assert_eq!(rules, ["io-lag", "ports"]);
    assert_eq!(verdict.result, Invalid);
}

#[test]
fn a_worker_whose_samples_were_lost_spoils_the_run() {
    assert_eq!(fired(|c| c.lost_workers = 1), ["lost-samples"]);
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
    let verdict = judge(&counts, &health(&[]));
    assert_eq!(verdict.result, Invalid);
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

fn any_gauge() -> impl Strategy<Value = String> {
    let names: Vec<String> = GAUGES.iter().map(|info| info.name.to_owned()).collect();
    prop::sample::select(names)
}

proptest! {
    /// Whatever was counted and watched, there is a verdict, as grave as its gravest reason.
    #[test]
    fn judging_is_total(
        numbers in prop::collection::vec(number(), 60),
        gauges in prop::collection::btree_map(any_gauge(), prop::num::f64::ANY, 0..8),
    ) {
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
        counts.totals.stamps = [next(), next(), next()];
        counts.lag_p99_ns = Some(next());
        counts.checks_cpu_ns = Some(next());
        counts.generator_cpu_ns = Some(next());
        let health = Health::of(&[Interval { length_ns: next(), gauges, ..Interval::default() }]);
        let verdict = judge(&counts, &health);
        let gravest = verdict.reasons.iter().map(|reason| reason.severity).max_by_key(|s| *s == Invalid);
        match gravest {
            Some(gravest) => prop_assert_eq!(verdict.result, gravest),
            None => prop_assert!(matches!(verdict.result, Judgement::Valid | Judgement::Unjudged)),
        }
        prop_assert!(verdict.reasons.len() + verdict.not_looked_at.len() <= RULES.len());
    }
}
