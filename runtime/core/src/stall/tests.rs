//! Runs with holes in them, and whatever intervals there may be.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::event::{IntervalIterations, SeriesCount, SeriesName};
use crate::health::gauge;
use crate::plan::Rate;
use crate::stats::{Histogram, MetricKind, PackedHistogram, Unit};

const SECOND: u64 = 1_000_000_000;

/// A thousand a second for ten seconds.
fn at_a_rate() -> Executor {
    Executor::ConstantArrivalRate {
        rate: Rate {
            arrivals: 1_000,
            per_ns: SECOND,
        },
        duration_ns: 10 * SECOND,
        pre_allocated_vus: 10,
        max_vus: 100,
    }
}

fn with_users() -> Executor {
    Executor::ConstantVus {
        vus: 10,
        duration_ns: 10 * SECOND,
    }
}

/// Ten seconds, each with so many starts, all answered in a millisecond.
fn seconds(starts: [u64; 10]) -> Vec<Interval> {
    (1..)
        .zip(starts)
        .map(|(n, started)| Interval {
            t_ns: n * SECOND,
            length_ns: SECOND,
            iterations: IntervalIterations {
                started,
                completed: started,
                ..IntervalIterations::default()
            },
            answered: started,
            duration: times(1_000_000, started),
            ..Interval::default()
        })
        .collect()
}

fn times(ns: u64, count: u64) -> PackedHistogram {
    let mut histogram = Histogram::new();
    histogram.record_n(ns, count);
    PackedHistogram::pack(&histogram)
}

/// A hole from 4 s to 6 s.
fn holed() -> Vec<Interval> {
    seconds([1000, 1000, 1000, 1000, 0, 0, 1000, 1000, 1000, 1000])
}

/// The stalls, after the seconds of the hole were changed.
fn with_hole(change: impl Fn(&mut Interval)) -> Vec<Stall> {
    let mut intervals = holed();
    intervals[4..6].iter_mut().for_each(change);
    find(&intervals, &at_a_rate())
}

fn set(interval: &mut Interval, name: &str, value: f64) {
    interval.gauges.insert(name.to_owned(), value);
}

fn fail(interval: &mut Interval, kind: &str, count: u64) {
    interval.declared.push(SeriesName {
        series: 7,
        metric: "http_reqs".to_owned(),
        kind: MetricKind::Counter,
        unit: Unit::Plain,
        tags: BTreeMap::from([("error_kind".to_owned(), kind.to_owned())]),
    });
    interval.failed = count;
    interval.counts.push(SeriesCount {
        series: 7,
        count,
        value: count as f64,
    });
}

#[test]
fn a_full_load_has_no_stall() {
    assert_eq!(find(&seconds([1000; 10]), &at_a_rate()), []);
    assert_eq!(find(&seconds([1000; 10]), &with_users()), []);
    assert_eq!(
        find(
            &seconds([999, 1001, 950, 1000, 1000, 1000, 901, 1000, 1000, 1000]),
            &at_a_rate()
        ),
        []
    );
}

#[test]
fn neighbouring_seconds_are_one_stall() {
    let stall = Stall {
        from_ns: 4 * SECOND,
        to_ns: 6 * SECOND,
        expected: 2_000,
        started: 0,
        cause: StallCause::Unanswered,
    };
    for executor in [at_a_rate(), with_users()] {
        let found = find(&holed(), &executor);
        assert_eq!(found.as_slice(), std::slice::from_ref(&stall));
    }
}

#[test]
fn a_stall_of_a_second_that_straddles_two_is_found() {
    let intervals = seconds([1000, 1000, 500, 500, 1000, 1000, 1000, 1000, 1000, 1000]);
    let stalls = find(&intervals, &at_a_rate());
    assert_eq!(stalls.len(), 1);
    assert_eq!((stalls[0].started, stalls[0].expected), (1_000, 2_000));
}

#[test]
fn think_time_and_the_end_of_the_work_are_no_stalls() {
    let thinking = seconds([2, 0, 0, 2, 0, 0, 2, 0, 0, 2]);
    assert_eq!(find(&thinking, &with_users()), []);
    let all_started = Executor::SharedIterations {
        vus: 10,
        iterations: 3_000,
        max_duration_ns: 600 * SECOND,
        rate: None,
    };
    let draining = seconds([1000, 1000, 1000, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(find(&draining, &all_started), []);
}

#[test]
fn nothing_is_expected_after_the_plan() {
    let mut intervals = seconds([1000; 10]);
    intervals.push(Interval {
        t_ns: 15 * SECOND,
        length_ns: 5 * SECOND,
        ..Interval::default()
    });
    assert_eq!(find(&intervals, &at_a_rate()), []);
}

#[test]
fn each_cause_is_told_by_its_signs() {
    type Sign = fn(&mut Interval);
    let signs: [(Sign, StallCause); 10] = [
        (
            |i| {
                fail(i, "generator-limit", 900);
                set(i, gauge::PORTS_USED, 0.97);
            },
            StallCause::Ports,
        ),
        (
            |i| {
                fail(i, "generator-limit", 900);
                set(i, gauge::DESCRIPTORS_USED, 1.0);
            },
            StallCause::Descriptors,
        ),
        (
            |i| fail(i, "generator-limit", 900),
            StallCause::GeneratorLimit,
        ),
        (|i| set(i, gauge::THROTTLED, 0.8), StallCause::Throttling),
        (|i| set(i, gauge::IO_LATE, 0.5), StallCause::LoopLag),
        (|i| set(i, gauge::GUEST_CPU, 1.0), StallCause::GeneratorCpu),
        (|i| fail(i, "connect", 900), StallCause::Refused),
        (|_| {}, StallCause::Unanswered),
        (
            |i| {
                (i.answered, i.duration) = (50, times(900_000_000, 50));
                i.iterations.dropped = [950, 0, 0, 0];
            },
            StallCause::Slow,
        ),
        (
            |i| {
                (i.answered, i.duration) = (50, times(1_000_000, 50));
                i.iterations.dropped = [950, 0, 0, 0];
            },
            StallCause::NoFreeVu,
        ),
    ];
    for (sign, cause) in signs {
        let stalls = with_hole(sign);
        assert_eq!(stalls.len(), 1, "{cause:?}");
        assert_eq!(stalls[0].cause, cause);
    }
}

#[test]
fn a_series_is_declared_once_and_known_from_then_on() {
    let mut intervals = holed();
    fail(&mut intervals[0], "connect", 1);
    let counts = vec![SeriesCount {
        series: 7,
        count: 800,
        value: 800.0,
    }];
    intervals[4].counts.clone_from(&counts);
    intervals[5].counts = counts;
    assert_eq!(find(&intervals, &at_a_rate())[0].cause, StallCause::Refused);
}

fn any_interval() -> impl Strategy<Value = Interval> {
    let gauges = prop::collection::btree_map(
        prop::sample::select(vec![gauge::IO_LATE, gauge::CPU, gauge::PORTS_USED, "vus"]),
        prop::num::f64::ANY,
        0..4,
    );
    (
        0..30 * SECOND,
        0..3 * SECOND,
        0..2_000u64,
        [0..9u64, 0..9, 0..9, 0..9],
        gauges,
    )
        .prop_map(|(t_ns, length_ns, started, dropped, gauges)| Interval {
            t_ns,
            length_ns,
            iterations: IntervalIterations {
                started,
                dropped,
                ..IntervalIterations::default()
            },
            answered: started / 2,
            duration: times(started + 1, started / 2),
            gauges: gauges
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            ..Interval::default()
        })
}

/// Intervals as a run has them: one begins where the one before ended.
fn in_order(mut intervals: Vec<Interval>) -> Vec<Interval> {
    let mut t_ns = 0;
    for interval in &mut intervals {
        t_ns += interval.length_ns;
        interval.t_ns = t_ns;
    }
    intervals
}

fn any_executor() -> impl Strategy<Value = Executor> {
    prop_oneof![
        (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(arrivals, per_ns, duration_ns)| {
            Executor::ConstantArrivalRate {
                rate: Rate { arrivals, per_ns },
                duration_ns,
                pre_allocated_vus: 1,
                max_vus: 1,
            }
        }),
        Just(at_a_rate()),
        Just(with_users()),
        any::<u64>().prop_map(|iterations| Executor::SharedIterations {
            vus: 1,
            iterations,
            max_duration_ns: u64::MAX,
            rate: None,
        }),
    ]
}

proptest! {
    /// Stalls lie in order, apart from each other, and are short of what they should have started.
    #[test]
    fn stalls_are_disjoint_and_in_order(
        intervals in prop::collection::vec(any_interval(), 0..20),
        executor in any_executor(),
    ) {
        let stalls = find(&in_order(intervals), &executor);
        for stall in &stalls {
            prop_assert!(stall.from_ns < stall.to_ns);
            prop_assert!(stall.started < stall.expected);
        }
        for pair in stalls.windows(2) {
            prop_assert!(pair[0].to_ns <= pair[1].from_ns);
        }
    }

    /// Intervals of any shape, even such as no run has, have an answer.
    #[test]
    fn finding_is_total(
        intervals in prop::collection::vec(any_interval(), 0..20),
        executor in any_executor(),
    ) {
        find(&intervals, &executor);
    }
}
