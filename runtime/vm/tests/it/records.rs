//! What a guest's checks, metrics, groups and tags leave for the statistics.

use std::sync::Arc;

use nettare_core::stats::{MetricKind, Unit};
use nettare_vm::{GuestOptions, MetricInfo, Record, SeriesInfo};

use crate::support::{ARRIVAL, Stage, block_on, counted, module, notes};

#[test]
fn checks_are_recorded_with_their_group_and_what_they_looked_at() {
    let stage = Stage::new(
        r#"(local.set $a (call $get (str "http://x.test/")))
           (call $group-begin (call $group (str "cart")))
           (call $begin (call $check (str "status is 200")))
           (call $end (call $check (str "status is 200")) (i32.eq (call $status (local.get $a)) (i32.const 200)))
           (call $group-end)
           (call $begin (call $check (str "body")))
           (call $bytes (local.get $a) (i64.const 0) (i32.const 3) (i32.const 512))
           (call $contains (local.get $a) (str "x") (i32.const 512))
           (call $fail-check (call $check (str "body")) (str "no x"))
           (call $ok)"#,
    );
    let (_, records) = stage.run();
    let checks: Vec<_> = records
        .iter()
        .filter_map(|record| match record {
            Record::Check {
                check,
                group,
                sample,
            } => {
                assert!(sample.cpu_ns.is_some());
                Some((*check, *group, sample.passed, sample.body_bytes))
            }
            _ => None,
        })
        .collect();
    assert_eq!(checks, [(1, 1, true, 0), (2, 0, false, 8)]);
    assert_eq!(stage.registry.check_name(2).as_deref(), Some("body"));
    assert!(records.contains(&Record::CheckWhy {
        check: 2,
        why: "no x".to_owned()
    }));
    assert!(
        records
            .iter()
            .any(|record| matches!(record, Record::Group { group: 1, .. }))
    );
}

#[test]
fn checks_nest_and_a_forgotten_inner_one_is_misuse() {
    let stage = Stage::new(
        r#"(local.set $a (call $check (str "outer"))) (local.set $b (call $check (str "inner")))
           (call $begin (local.get $a)) (call $begin (local.get $b)) (call $end (local.get $b) (i32.const 1))
           (call $end (local.get $a) (i32.const 1))
           (call $begin (local.get $a)) (call $begin (local.get $b)) (call $end (local.get $a) (i32.const 0))
           (call $ok)"#,
    );
    let (_, records) = stage.run();
    let checks: Vec<_> = records
        .iter()
        .filter_map(|record| match record {
            Record::Check { check, sample, .. } => Some((*check, sample.passed)),
            _ => None,
        })
        .collect();
    assert_eq!(checks, [(2, true), (1, true), (1, false)]);
    assert_eq!(counted(&records, "check-not-ended"), 1);
}

#[test]
fn misuse_is_counted_and_nothing_more() {
    let stage = Stage::new(
        r#"(call $end (call $check (str "never begun")) (i32.const 1))
           (call $begin (i32.const 99)) (call $begin (i32.const 0)) (call $begin (i32.const -1))
           (call $add (i32.const 99) (f64.const 1)) (call $add (i32.const 0) (f64.const 1))
           (call $add (i32.const 1) (f64.const nan)) (call $add (i32.const 1) (f64.const inf))
           (call $group-begin (i32.const 5)) (call $group-end)
           (call $tag (str "") (str "x"))
           (call $note-i32 (call $series (i32.const 9) (i32.const 0) (i32.const 0)))
           (call $begin (call $check (str "never ended")))
           (call $group-begin (call $group (str "never ended")))
           (call $ok)"#,
    );
    let (end, records) = stage.run();
    assert_eq!(end.why, None);
    for (what, times) in [
        ("check-end-without-begin", 1),
        ("check-unknown", 3),
        ("series-unknown", 2),
        ("metric-value-not-finite", 2),
        ("group-unknown", 1),
        ("group-end-without-begin", 1),
        ("tag-empty-or-too-long", 1),
        ("metric-unknown", 1),
        ("check-not-ended", 1),
        ("group-not-ended", 1),
    ] {
        assert_eq!(counted(&records, what), times, "{what}");
    }
    assert_eq!(
        notes(&records),
        [f64::from(u32::MAX)],
        "the number that stands for none"
    );
    assert!(
        !records
            .iter()
            .any(|record| matches!(record, Record::Check { .. }))
    );
}

#[test]
fn metrics_have_one_series_for_each_set_of_tags() {
    let pair = r#"(func $pair
        (param $at i32) (param $key i32) (param $key-length i32) (param $value i32) (param $value-length i32)
        (i32.store (local.get $at) (local.get $key)) (i32.store offset=4 (local.get $at) (local.get $key-length))
        (i32.store offset=8 (local.get $at) (local.get $value))
        (i32.store offset=12 (local.get $at) (local.get $value-length)))"#;
    let run = r#"(local.set $a (call $metric (str "orders") (i32.const 0) (i32.const 1)))
           (call $pair (i32.const 600) (str "b") (str "2")) (call $pair (i32.const 616) (str "a") (str "1"))
           (call $note-i32 (call $series (local.get $a) (i32.const 600) (i32.const 2)))
           (call $pair (i32.const 600) (str "a") (str "1")) (call $pair (i32.const 616) (str "b") (str "2"))
           (call $note-i32 (call $series (local.get $a) (i32.const 600) (i32.const 2)))
           (call $note-i32 (call $series (local.get $a) (i32.const 600) (i32.const 1)))
           (call $add (call $series (local.get $a) (i32.const 600) (i32.const 1)) (f64.const -2.5))
           (call $note-i32 (call $metric (str "orders") (i32.const 3) (i32.const 1)))
           (call $ok)"#;
    let stage = Stage::of(&module(pair, run), &GuestOptions::default());
    let (_, records) = stage.run();
    assert_eq!(
        notes(&records),
        [2.0, 2.0, 3.0, f64::from(u32::MAX)],
        "the order of tags does not matter"
    );
    assert!(records.contains(&Record::Custom {
        series: 3,
        value: -2.5
    }));
    let orders = MetricInfo {
        name: "orders".to_owned(),
        kind: MetricKind::Counter,
        unit: Unit::Bytes,
    };
    assert_eq!(stage.registry.metric_info(2), Some(orders));
    let one_tag = SeriesInfo {
        metric: 2,
        tags: vec![("a".to_owned(), "1".to_owned())],
    };
    assert_eq!(stage.registry.series_info(3), Some(one_tag));
    assert_eq!(counted(&records, "metric-registered-otherwise"), 1);
}

#[test]
fn tags_hold_from_where_they_are_put_to_the_end_of_the_iteration() {
    let stage = Stage::new(
        r#"(call $note (f64.const 1)) (call $tag (str "a") (str "1")) (call $note (f64.const 2))
           (call $tag (str "a") (str "2")) (call $ok)"#,
    );
    let mut vu = stage.vu(1);
    block_on(vu.iterate(ARRIVAL));
    let records = std::mem::take(nettare_vm::Host::records(vu.host_mut()));
    let tags = |tags: &[(&str, &str)]| {
        let tags: Vec<_> = tags
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        Record::Tags(Arc::from(tags))
    };
    let expected = [
        Record::Custom {
            series: 1,
            value: 1.0,
        },
        tags(&[("a", "1")]),
        Record::Custom {
            series: 1,
            value: 2.0,
        },
        tags(&[("a", "2")]),
        tags(&[]),
    ];
    assert_eq!(records, expected);
}

#[test]
fn random_numbers_repeat_with_the_seed_the_user_and_the_iteration() {
    let stage = Stage::new(
        r#"(call $note-i64 (i64.shr_u (call $number) (i64.const 12))) (call $note (call $fraction))
           (call $random-bytes (i32.const 4) (i32.const 512))
           (call $note-i32 (i32.load (i32.load (i32.const 512)))) (call $ok)"#,
    );
    let two_iterations = |seed, id| {
        let mut setup = stage.setup(id);
        setup.seed = seed;
        let mut vu = block_on(nettare_vm::Vu::new(&stage.guest, setup)).unwrap();
        block_on(vu.iterate(ARRIVAL));
        block_on(vu.iterate(ARRIVAL));
        notes(nettare_vm::Host::records(vu.host_mut()))
    };
    let numbers = two_iterations(5, 1);
    assert_eq!(numbers.len(), 6);
    assert_eq!(numbers, two_iterations(5, 1));
    assert_ne!(numbers, two_iterations(6, 1));
    assert_ne!(numbers, two_iterations(5, 2));
    assert_ne!(numbers[..3], numbers[3..], "each iteration has its own");
    assert!((0.0..1.0).contains(&numbers[1]));
}

#[test]
fn clocks_tell_the_runs_time_and_the_worlds() {
    let stage = Stage::new(
        "(call $note-i64 (call $now)) (call $note-i64 (call $now)) (call $note-i64 (call $wall-clock)) (call $ok)",
    );
    let notes = stage.notes();
    assert!(notes[0] <= notes[1]);
    assert!(notes[2] > 1.7e18, "since 1970");
}
