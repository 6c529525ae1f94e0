//! What happens at limits, and with what is unusual.

use super::*;

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
