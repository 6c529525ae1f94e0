//! Faults that users met in other load testers, and what is right.

use super::*;
use crate::report::{Figures, metrics_of};
use crate::threshold::{Threshold, evaluate};

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
    let rows = metrics_of(&totals, std::slice::from_ref(judged));
    let row = rows
        .iter()
        .find(|m| m.name == "http_req_duration" && m.tags == threshold.tags)
        .expect("it is listed");
    let Figures::Trend(trend) = &row.figures else {
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
