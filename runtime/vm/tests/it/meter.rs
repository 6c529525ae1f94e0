//! Whose CPU a guest's work is. Ratios within one run, generously bounded: other processes share this machine.

use nettare_core::plan::Meter;
use nettare_vm::{GuestOptions, Host, Record};

use crate::support::{ARRIVAL, Stage, block_on, module, poll, reply};

fn cpu(records: &[Record], check: u32) -> f64 {
    let times = records.iter().filter_map(|record| match record {
        Record::Check {
            check: other,
            sample,
            ..
        } if *other == check => sample.cpu_ns.map(|ns| ns as f64),
        _ => None,
    });
    times.sum()
}

/// Whether two figures are in this ratio, within a third.
fn is_about(figure: f64, other: f64, ratio: f64) -> bool {
    (0.67..1.5).contains(&(figure / other / ratio))
}

/// 2 units in check 1, 4 in check 2 with a call in between, 6 in the scenario.
const RUN: &str = r#"
    (call $burn (i32.const 3000))
    (call $begin (call $check (str "one"))) (call $burn (i32.const 2000)) (call $end (i32.const 1) (i32.const 1))
    (call $begin (call $check (str "two"))) (call $burn (i32.const 2000))
    (drop (call $get (str "http://x.test/")))
    (call $burn (i32.const 2000)) (call $end (i32.const 2) (i32.const 1))
    (call $burn (i32.const 3000)) (call $ok)"#;

/// The middle one: what the machine did besides is in some of them.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Ratios are taken within an iteration: the two vCPUs of a core share its speed, and have it to themselves by turns.
#[test]
fn work_is_charged_where_it_is_done() {
    let stage = Stage::new(RUN);
    let mut vu = stage.vu(1);
    let (mut twos, mut scenarios) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        let end = block_on(vu.iterate(ARRIVAL));
        let records = std::mem::take(vu.host_mut().records());
        let one = cpu(&records, 1);
        twos.push(cpu(&records, 2) / one);
        scenarios.push(end.scenario_cpu_ns.unwrap() as f64 / one);
    }
    let (two, scenario) = (median(twos), median(scenarios));
    assert!(is_about(two, 1.0, 2.0), "{two}");
    assert!(is_about(scenario, 1.0, 3.0), "{scenario}");
}

#[test]
fn a_nested_check_is_charged_and_not_its_outer() {
    let stage = Stage::new(
        r#"(call $begin (call $check (str "outer"))) (call $burn (i32.const 1000))
           (call $begin (call $check (str "inner"))) (call $burn (i32.const 8000)) (call $end (i32.const 2) (i32.const 1))
           (call $burn (i32.const 1000)) (call $end (i32.const 1) (i32.const 1)) (call $ok)"#,
    );
    let mut vu = stage.vu(1);
    let ratios = (0..50).map(|_| {
        block_on(vu.iterate(ARRIVAL));
        let records = std::mem::take(vu.host_mut().records());
        cpu(&records, 2) / cpu(&records, 1)
    });
    let ratio = median(ratios.collect());
    assert!(is_about(ratio, 1.0, 4.0), "{ratio}");
}

#[test]
fn waiting_is_nobodys_and_neither_is_another_users_work() {
    let stage = Stage::new(RUN).answers(|_| None);
    let (mut waiting, mut working) = (stage.vu(1), stage.vu(2));
    let mut iteration = Box::pin(waiting.iterate(ARRIVAL));
    while stage.world().pending.is_empty() {
        assert!(poll(iteration.as_mut()).is_pending());
    }
    let call = stage.world().pending[0].clone();
    // While the first waits, the second burns in its own iteration, over and over.
    let mut burnt = 0;
    let stage_of_other = stage.answers(|_| Some(reply(200, b"")));
    for _ in 0..50 {
        burnt += block_on(working.iterate(ARRIVAL)).guest_segments_ns;
    }
    call.fill(reply(200, b""));
    let end = block_on(iteration);
    assert!(
        end.guest_segments_ns * 10 < burnt,
        "{} of one, {burnt} of the other",
        end.guest_segments_ns
    );
    let records = std::mem::take(waiting.host_mut().records());
    assert!(cpu(&records, 2) * 10.0 < burnt as f64);
    drop(stage_of_other);
}

#[test]
fn a_question_answered_by_the_host_is_the_checks_own_cost() {
    let body: &'static [u8] = vec![b'x'; 8 << 20].leak();
    let stage = Stage::new(
        r#"(local.set $a (call $get (str "http://x.test/")))
           (call $begin (call $check (str "host"))) (call $contains (local.get $a) (str "no") (i32.const 512))
           (call $end (i32.const 1) (i32.const 1))
           (call $begin (call $check (str "empty"))) (call $end (i32.const 2) (i32.const 1))
           (call $contains (local.get $a) (str "no") (i32.const 512)) (call $ok)"#,
    )
    .answers(move |_| Some(reply(200, body)));
    let (end, records) = stage.run();
    let (host, empty) = (cpu(&records, 1), cpu(&records, 2));
    assert!(
        host > 20.0 * empty,
        "{host} ns to look through 8 MiB, {empty} for nothing"
    );
    assert!(
        end.scenario_cpu_ns.unwrap() as f64 + empty < host,
        "outside a check the host's work is the host's"
    );
    let looked_at = records.iter().map(|record| match record {
        Record::Check { sample, .. } => sample.body_bytes,
        _ => 0,
    });
    assert_eq!(looked_at.sum::<u64>(), 8 << 20);
}

#[test]
fn the_parts_are_the_whole() {
    let stage = Stage::new(RUN);
    let (end, records) = stage.run();
    let parts = end.scenario_cpu_ns.unwrap() as f64 + cpu(&records, 1) + cpu(&records, 2);
    let whole = end.guest_segments_ns as f64;
    // Checks include the host's answers in their scope, which are no guest segments.
    assert!(parts >= whole * 0.999, "{parts} {whole}");
    assert!(end.longest_segment_ns <= end.guest_segments_ns + 1_000_000);
}

#[test]
fn without_a_meter_there_are_no_figures_but_budgets_hold() {
    let options = GuestOptions {
        meter: Meter::Off,
        guest_cpu_ns: 5_000_000,
        ..GuestOptions::default()
    };
    let stage = Stage::of(&module("", RUN), &options);
    let (end, records) = stage.run();
    assert_eq!(end.scenario_cpu_ns, None);
    let checks: Vec<_> = records
        .iter()
        .filter(|record| matches!(record, Record::Check { .. }))
        .collect();
    assert!(
        checks.iter().all(
            |record| matches!(record, Record::Check { sample, .. } if sample.cpu_ns.is_none())
        ),
        "{checks:?}"
    );
    let endless = Stage::of(
        &module("", "(loop $forever (br $forever)) (call $ok)"),
        &options,
    );
    assert!(endless.run().0.why.unwrap().contains("guest-cpu"));
}
