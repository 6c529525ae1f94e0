//! Laws of recording and adding up, and the cases that concern more than one part.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::event::Interval;
use crate::sample::{ErrorKind, Exchange, IterationOutcome, Outcome, Phases, Protocol, Stamp};
use crate::sched::DropReason;
use crate::threshold::{Threshold, evaluate};
use crate::verdict::IntervalCounts;

/// Something that happens on a worker.
#[derive(Clone, Debug)]
enum Happening {
    Exchange {
        name: u8,
        status: u16,
        net_ns: u64,
        tare_ns: u64,
        outcome: u8,
    },
    Iteration {
        due_ns: u64,
        late_ns: u64,
        took_ns: u64,
        outcome: u8,
    },
    Dropped(u8),
    Check {
        name: u8,
        passed: bool,
        cpu_ns: u64,
    },
    Custom {
        name: u8,
        value: i32,
    },
    Error(u8),
    /// The collector takes what there is.
    Collect,
}

fn happening() -> impl Strategy<Value = Happening> {
    let time = 0u64..10_000_000_000;
    prop_oneof![
        4 => (0u8..6, 200u16..206, time.clone(), time.clone(), 0u8..5).prop_map(
            |(name, status, net_ns, tare_ns, outcome)| Happening::Exchange { name, status, net_ns, tare_ns, outcome }
        ),
        2 => (time.clone(), time.clone(), time.clone(), 0u8..3).prop_map(
            |(due_ns, late_ns, took_ns, outcome)| Happening::Iteration { due_ns, late_ns, took_ns, outcome }
        ),
        1 => (0u8..4).prop_map(Happening::Dropped),
        1 => (0u8..6, any::<bool>(), time).prop_map(|(name, passed, cpu_ns)| Happening::Check { name, passed, cpu_ns }),
        1 => (0u8..6, -1000..1000i32).prop_map(|(name, value)| Happening::Custom { name, value }),
        1 => (0u8..100).prop_map(Happening::Error),
        1 => Just(Happening::Collect),
    ]
}

fn happenings() -> impl Strategy<Value = Vec<(usize, Happening)>> {
    prop::collection::vec((0usize..3, happening()), 0..80)
}

fn exchange(outcome: Outcome, status: u16, net_ns: u64) -> Exchange {
    Exchange {
        outcome,
        status,
        protocol: Some(Protocol::Http11),
        phases: Phases {
            waiting_ns: net_ns,
            ..Phases::default()
        },
        stamp: Stamp::Exact,
        connect_is_bound: false,
        window_limited: false,
        opened_connection: false,
        sent_bytes: 10,
        received_bytes: 20,
    }
}

fn key(shard: &mut Shard, name: &str, outcome: Outcome, status: u16) -> SeriesKey {
    SeriesKey {
        scenario: shard.symbol("s"),
        group: Symbol::NONE,
        name: shard.symbol(name),
        method: shard.symbol("GET"),
        status,
        protocol: Some(Protocol::Http11),
        error_kind: match outcome {
            Outcome::Failed(kind) => Some(kind),
            _ => None,
        },
        expected: outcome == Outcome::Answered,
        tags: TagSet::EMPTY,
    }
}

fn check(shard: &mut Shard, name: u8, passed: bool, cpu_ns: u64) {
    let key = CheckKey {
        scenario: shard.symbol("s"),
        group: Symbol::NONE,
        check: shard.symbol(&format!("check {name}")),
        tags: TagSet::EMPTY,
    };
    shard.check(key, passed, Some(cpu_ns), 5);
}

fn record(shard: &mut Shard, happening: &Happening) {
    let scenario = shard.symbol("s");
    match *happening {
        Happening::Exchange {
            name,
            status,
            net_ns,
            tare_ns,
            outcome,
        } => {
            let outcome = match outcome {
                0 => Outcome::Failed(ErrorKind::Timeout),
                1 => Outcome::Retried,
                _ => Outcome::Answered,
            };
            let key = key(shard, &format!("/{name}"), outcome, status);
            let series = shard.series(&key);
            shard.exchange(series, &exchange(outcome, status, net_ns));
            if outcome != Outcome::Retried {
                shard.call(series, net_ns + tare_ns, tare_ns);
            }
        }
        Happening::Iteration {
            due_ns,
            late_ns,
            took_ns,
            outcome,
        } => {
            let outcomes = [
                IterationOutcome::Completed,
                IterationOutcome::Failed,
                IterationOutcome::Interrupted,
            ];
            shard.iteration_started(scenario);
            shard.iteration(
                scenario,
                &IterationSample {
                    outcome: outcomes[usize::from(outcome)],
                    due_ns,
                    started_ns: due_ns + late_ns,
                    ended_ns: due_ns + late_ns + took_ns,
                    waited_for_vu_ns: late_ns / 2,
                    scenario_cpu_ns: Some(took_ns / 10),
                },
            );
        }
        Happening::Dropped(reason) => shard.dropped(scenario, DropReason::ALL[usize::from(reason)]),
        Happening::Check {
            name,
            passed,
            cpu_ns,
        } => check(shard, name, passed, cpu_ns),
        Happening::Custom { name, value } => {
            let metric = shard.symbol(&format!("own_{name}"));
            let kind =
                [MetricKind::Counter, MetricKind::Rate, MetricKind::Trend][usize::from(name) % 3];
            shard.custom(metric, kind, Unit::Plain, TagSet::EMPTY, f64::from(value));
        }
        Happening::Error(code) => shard.error_example(ErrorKind::Connect, u32::from(code), "no"),
        Happening::Collect => {}
    }
}

/// Records on three workers, collecting now and then, and closing an interval with every collection.
fn run(happenings: &[(usize, Happening)], max_series: u32) -> (Totals, Vec<Interval>) {
    let mut shards = [(); 3].map(|()| Shard::new(max_series));
    let mut totals = Totals::new(max_series);
    let mut intervals = Vec::new();
    let collect = |shards: &mut [Shard; 3], totals: &mut Totals, intervals: &mut Vec<Interval>| {
        for (worker, shard) in shards.iter_mut().enumerate() {
            totals.absorb(worker, shard.take());
        }
        intervals.push(totals.close_interval((intervals.len() as u64 + 1) * 1_000_000_000));
    };
    for (worker, happening) in happenings {
        match happening {
            Happening::Collect => collect(&mut shards, &mut totals, &mut intervals),
            other => record(&mut shards[*worker], other),
        }
    }
    collect(&mut shards, &mut totals, &mut intervals);
    (totals, intervals)
}

/// Everything in totals, in an order of its own.
fn dump(totals: &Totals) -> BTreeMap<(String, String), Figure> {
    let entry = |view: View<'_>| {
        (
            (view.metric.to_owned(), format!("{:?}", view.tags())),
            view.figure.to_figure(),
        )
    };
    totals.views().into_iter().map(entry).collect()
}

fn no_tags() -> BTreeMap<String, String> {
    BTreeMap::new()
}

fn tag(name: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(name.to_owned(), value.to_owned())])
}

proptest! {
    #[test]
    fn totals_do_not_depend_on_who_recorded_and_when_it_was_collected(
        happenings in happenings(),
        workers in prop::collection::vec(0usize..3, 80),
    ) {
        let (as_it_was, _) = run(&happenings, 1_000);
        let elsewhere: Vec<_> = happenings
            .iter()
            .zip(workers)
            .filter(|((_, happening), _)| !matches!(happening, Happening::Collect))
            .map(|((_, happening), worker)| (worker, happening.clone()))
            .collect();
        let (moved, _) = run(&elsewhere, 1_000);
        prop_assert_eq!(dump(&as_it_was), dump(&moved));
        prop_assert_eq!(as_it_was.counts(), moved.counts());
    }

    #[test]
    fn a_limit_of_series_loses_no_sample(happenings in happenings(), max_series in 0u32..4) {
        let (all, _) = run(&happenings, 1_000);
        let (limited, intervals) = run(&happenings, max_series);
        prop_assert_eq!(all.counts(), limited.counts());
        prop_assert_eq!(IntervalCounts::of(&intervals).answered, all.counts().answered);
        for metric in ["http_reqs", "http_req_failed", "http_req_duration", "http_req_tare", "checks"] {
            prop_assert_eq!(all.query(metric, &no_tags()), limited.query(metric, &no_tags()), "{}", metric);
        }
        let names = limited.views().iter().filter(|v| v.metric == "http_reqs").count();
        prop_assert!(names <= max_series as usize + 2, "{} series", names);
    }

    /// Second by second, everything sums to the totals, exactly.
    #[test]
    fn case_041_intervals_sum_to_totals(happenings in happenings()) {
        let (totals, intervals) = run(&happenings, 1_000);
        let (counts, sums) = (totals.counts(), IntervalCounts::of(&intervals));
        prop_assert_eq!((counts.answered, counts.failed, counts.calls), (sums.answered, sums.failed, sums.calls));
        prop_assert_eq!((counts.iterations, counts.dropped, counts.checks), (sums.iterations, sums.dropped, sums.checks));
        let mut duration = Histogram::new();
        intervals.iter().for_each(|interval| duration.merge(&interval.duration.unpack()));
        let total = match totals.query("http_req_duration", &no_tags()) {
            Some((_, Figure::Trend(trend))) => trend.positive().clone(),
            _ => Histogram::new(),
        };
        prop_assert_eq!(duration, total);
        for series in intervals.iter().flat_map(|interval| &interval.declared) {
            let entries = intervals.iter().flat_map(|i| &i.counts).filter(|count| count.series == series.series);
            let (count, value) = entries.fold((0, 0.0), |(count, value), e| (count + e.count, value + e.value));
            match totals.query(&series.metric, &series.tags) {
                Some((_, Figure::Counter { value: sum, samples })) => prop_assert_eq!((count, value), (samples, sum)),
                Some((_, Figure::Rate { passes, fails })) => prop_assert_eq!((count, value), (passes + fails, passes as f64)),
                other => prop_assert!(false, "{:?} was counted and is {:?}", series, other),
            }
        }
    }

    /// A submetric is the figure of those samples that have the tags, whatever else they have.
    #[test]
    fn case_028_a_submetric_is_a_filter_of_the_samples(happenings in happenings()) {
        let (totals, _) = run(&happenings, 1_000);
        for wanted in 0u8..6 {
            let mut expected = Trend::new(Unit::Nanoseconds);
            for (_, happening) in &happenings {
                match *happening {
                    Happening::Exchange { name, net_ns, outcome: 2.., .. } if name == wanted => {
                        expected.record(net_ns as f64).expect("a time");
                    }
                    _ => {}
                }
            }
            let expected = (expected.count() > 0).then_some((Unit::Nanoseconds, Figure::Trend(expected)));
            prop_assert_eq!(totals.query("http_req_duration", &tag("name", &format!("/{wanted}"))), expected);
        }
    }

    #[test]
    fn an_interval_is_written_down_and_read_back(happenings in happenings()) {
        let (_, intervals) = run(&happenings, 1_000);
        for interval in intervals {
            let written = serde_json::to_string(&interval).expect("it has a JSON form");
            let read: Interval = serde_json::from_str(&written).expect("it was just written");
            prop_assert_eq!(read, interval);
        }
    }
}

/// Percentiles of workers are those of all samples together, and no average or maximum of the workers' own.
#[test]
fn case_037_workers_are_merged_and_never_their_percentiles() {
    let mut shards = [Shard::new(10), Shard::new(10)];
    for (shard, times, net_ms) in [(0, 99u64, 10u64), (1, 1, 1_000)] {
        for _ in 0..times {
            let key = key(&mut shards[shard], "/", Outcome::Answered, 200);
            let series = shards[shard].series(&key);
            shards[shard].exchange(
                series,
                &exchange(Outcome::Answered, 200, net_ms * 1_000_000),
            );
        }
    }
    let mut totals = Totals::new(10);
    for (worker, shard) in shards.iter_mut().enumerate() {
        totals.absorb(worker, shard.take());
    }
    let Some((_, Figure::Trend(trend))) = totals.query("http_req_duration", &no_tags()) else {
        panic!("there are samples");
    };
    let p99 = trend.quantile(0.99).expect("there are samples");
    assert!(
        (p99 - 10e6).abs() < 10e3,
        "99 of 100 took 10 ms, so that is p99, and not 505 or 1000 ms: {p99}"
    );
    assert_eq!(trend.max(), Some(1e9));
}

/// What a threshold judges is what the report prints, digit by digit.
#[test]
fn case_029_the_value_judged_is_the_value_reported() {
    let mut shard = Shard::new(10);
    for n in 1..=1_000u64 {
        let name = if n % 3 == 0 { "a" } else { "b" };
        let key = key(&mut shard, name, Outcome::Answered, 200);
        let series = shard.series(&key);
        shard.exchange(series, &exchange(Outcome::Answered, 200, n * 12_345));
    }
    let mut totals = Totals::new(10);
    totals.absorb(0, shard.take());
    let threshold =
        Threshold::parse_flag("http_req_duration{name:a}: p(95)<1").expect("well formed");
    let judged = &evaluate(std::slice::from_ref(&threshold), &totals)[0];
    let rows = crate::report::metrics_of(&totals, std::slice::from_ref(judged));
    let row = rows
        .iter()
        .find(|m| m.name == "http_req_duration" && m.tags == threshold.tags)
        .expect("it is listed");
    let crate::report::Figures::Trend(trend) = &row.figures else {
        panic!("it is a trend")
    };
    assert_eq!(judged.value, Some(trend.p95.0));
    assert_eq!(trend.count, 333);
    assert!(judged.is_failure(), "and 1 ms is not kept");
}

/// The rate is a count by wall time, whatever the latencies add up to.
#[test]
fn case_039_requests_per_second_are_counted_by_the_clock() {
    let mut shard = Shard::new(10);
    for _ in 0..600 {
        let key = key(&mut shard, "/", Outcome::Answered, 200);
        let series = shard.series(&key);
        shard.exchange(series, &exchange(Outcome::Answered, 200, 1_000_000));
    }
    let mut totals = Totals::new(10);
    totals.absorb(0, shard.take());
    totals.close_interval(10_000_000_000);
    let threshold = Threshold::parse_flag("http_reqs: rate==60").expect("well formed");
    assert_eq!(evaluate(&[threshold], &totals)[0].value, Some(60.0));
}

#[test]
fn setup_and_teardown_are_listed_and_not_part_of_totals() {
    let mut shard = Shard::new(10);
    for group in [Symbol::SETUP, Symbol::NONE] {
        let key = SeriesKey {
            group,
            ..key(&mut shard, "/", Outcome::Answered, 200)
        };
        let series = shard.series(&key);
        shard.exchange(series, &exchange(Outcome::Answered, 200, 5));
    }
    let mut totals = Totals::new(10);
    totals.absorb(0, shard.take());
    let interval = totals.close_interval(1);
    assert_eq!(
        totals.query("http_reqs", &no_tags()),
        Some((
            Unit::Plain,
            Figure::Counter {
                value: 1.0,
                samples: 1
            }
        ))
    );
    assert_eq!(
        totals.query("http_reqs", &tag("group", "::setup")),
        None,
        "no threshold can be about it"
    );
    assert!(
        totals
            .views()
            .iter()
            .any(|v| v.metric == "http_reqs" && v.has_tags(&tag("group", "::setup")))
    );
    assert_eq!(
        (interval.answered, totals.counts().exchanges_with_aside),
        (1, 2)
    );
}

#[test]
fn limits_that_are_hit_are_counted_by_name() {
    let mut shard = Shard::new(1);
    for name in ["a", "b", "c"] {
        let key = key(&mut shard, name, Outcome::Answered, 200);
        let series = shard.series(&key);
        shard.exchange(series, &exchange(Outcome::Answered, 200, 5));
    }
    let own = shard.symbol("own");
    shard.custom(own, MetricKind::Trend, Unit::Plain, TagSet::EMPTY, f64::NAN);
    shard.custom(own, MetricKind::Trend, Unit::Plain, TagSet::EMPTY, 1e30);
    for n in 0..2_000 {
        shard.symbol(&format!("text {n}"));
    }
    let mut totals = Totals::new(1);
    totals.absorb(0, shard.take());
    let limits = totals.limits();
    assert_eq!(
        limits.get(limit::SERIES),
        Some(&2),
        "b and c went to __other__"
    );
    assert_eq!(
        (
            limits.get(limit::NOT_FINITE),
            limits.get(limit::VALUE_RANGE)
        ),
        (Some(&1), Some(&1))
    );
    assert!(
        limits.get(limit::NAMES).is_some_and(|hits| *hits > 900),
        "{limits:?}"
    );
    assert_eq!(
        totals.query("http_reqs", &tag("name", "__other__")),
        Some((
            Unit::Plain,
            Figure::Counter {
                value: 2.0,
                samples: 2
            }
        ))
    );
}

#[test]
fn a_metric_of_two_kinds_is_kept_as_the_first() {
    let mut shards = [Shard::new(10), Shard::new(10)];
    let mut totals = Totals::new(10);
    for (worker, kind) in [(0, MetricKind::Counter), (1, MetricKind::Trend)] {
        let own = shards[worker].symbol("own");
        shards[worker].custom(own, kind, Unit::Plain, TagSet::EMPTY, 7.0);
        totals.absorb(worker, shards[worker].take());
    }
    let builtin = shards[0].symbol("http_reqs");
    shards[0].custom(
        builtin,
        MetricKind::Counter,
        Unit::Plain,
        TagSet::EMPTY,
        5.0,
    );
    totals.absorb(0, shards[0].take());
    assert_eq!(
        totals.query("own", &no_tags()),
        Some((
            Unit::Plain,
            Figure::Counter {
                value: 7.0,
                samples: 1
            }
        ))
    );
    assert_eq!(
        totals.query("http_reqs", &no_tags()),
        None,
        "and Nettare's own names are its own"
    );
    assert_eq!(totals.limits().get(limit::METRIC_CONFLICT), Some(&2));
}

#[test]
fn errors_are_counted_by_kind_and_code_with_the_first_message() {
    let mut shard = Shard::new(10);
    shard.error_example(ErrorKind::Connect, 111, "refused the first time");
    shard.error_example(ErrorKind::Connect, 111, "refused again");
    for code in 0..200 {
        shard.error_example(ErrorKind::Tls, code, "odd");
    }
    let mut totals = Totals::new(10);
    totals.absorb(0, shard.take());
    let connect = totals
        .errors()
        .find(|e| e.kind == ErrorKind::Connect)
        .expect("it was recorded");
    assert_eq!(
        (connect.count, connect.example.as_str()),
        (2, "refused the first time")
    );
    let tls: u64 = totals
        .errors()
        .filter(|e| e.kind == ErrorKind::Tls)
        .map(|e| e.count)
        .sum();
    assert_eq!(tls, 200, "past the limit they are counted under their kind");
    assert!(totals.errors().count() <= 65);
}

#[test]
fn the_order_of_tags_does_not_matter() {
    let mut shard = Shard::new(10);
    let one = shard.tag_set(&[("a", "1"), ("b", "2")]);
    let other = shard.tag_set(&[("b", "2"), ("a", "1")]);
    assert_eq!(one, other);
    assert_eq!(
        shard.tag_set(&[("a", "0"), ("b", "2"), ("a", "1")]),
        one,
        "of tags with one name the last counts"
    );
    assert_eq!(shard.tag_set(&[]), TagSet::EMPTY);
}

/// A shard whose deltas are absorbed late, or elsewhere first, as those of set-up are, is understood all the same.
#[test]
fn a_delta_can_be_understood_by_itself() {
    let mut shard = Shard::new(10);
    let answered = |shard: &mut Shard, name: &str| {
        let key = key(shard, name, Outcome::Answered, 200);
        let series = shard.series(&key);
        shard.exchange(series, &exchange(Outcome::Answered, 200, 5));
    };
    answered(&mut shard, "/a");
    let mut elsewhere = Totals::new(10);
    elsewhere.absorb(0, shard.take());
    answered(&mut shard, "/a");
    answered(&mut shard, "/b");
    let mut totals = Totals::new(10);
    totals.absorb(0, shard.take());
    for name in ["/a", "/b"] {
        let one = Some((
            Unit::Plain,
            Figure::Counter {
                value: 1.0,
                samples: 1,
            },
        ));
        assert_eq!(totals.query("http_reqs", &tag("name", name)), one, "{name}");
    }
}

/// Memory depends on series and values, and neither on samples nor on intervals.
#[test]
fn books_come_home_and_are_used_again() {
    let mut shard = Shard::new(10);
    let mut totals = Totals::new(10);
    let mut books = std::collections::BTreeSet::new();
    for _ in 0..10 {
        let key = key(&mut shard, "/", Outcome::Answered, 200);
        let series = shard.series(&key);
        shard.exchange(series, &exchange(Outcome::Answered, 200, 5));
        let delta = shard.take();
        books.insert(delta.book_address());
        totals.absorb(0, delta);
    }
    assert_eq!(books.len(), 2, "one is filled while the other is added up");
    assert_eq!(totals.counts().answered, 10);
}
