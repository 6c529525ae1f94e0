//! Traps and passed budgets: an outcome of one virtual user, and of nobody else.

use nettare_core::sample::IterationOutcome;
use nettare_vm::{GuestFailure, GuestOptions, Host, IterationEnd, Record, Vu};

use crate::support::{ARRIVAL, Stage, block_on, counted, module, notes, poll};

fn failed(stage: &Stage) -> (IterationEnd, Vec<Record>) {
    let (end, records) = stage.run();
    assert_eq!(end.outcome, IterationOutcome::Failed, "{end:?}");
    assert!(end.needs_new_instance);
    (end, records)
}

fn options(change: impl FnOnce(&mut GuestOptions)) -> GuestOptions {
    let mut options = GuestOptions::default();
    change(&mut options);
    options
}

#[test]
fn a_trap_is_an_outcome_that_names_the_guests_functions() {
    let declarations = "(func $checkout (call $pay)) (func $pay (unreachable))";
    let stage = Stage::of(
        &module(declarations, "(call $checkout) (call $ok)"),
        &GuestOptions::default(),
    );
    let (end, _) = failed(&stage);
    insta::assert_snapshot!(end.why.unwrap(), @r"
    wasm trap: wasm `unreachable` instruction executed
        in pay
        in checkout
        in function 73
    ");
}

#[test]
fn names_in_a_trap_are_demangled() {
    let declarations = r#"(func $"_ZN4shop8checkout17h0123456789abcdefE" (unreachable))"#;
    let run = r#"(call $"_ZN4shop8checkout17h0123456789abcdefE") (call $ok)"#;
    let stage = Stage::of(&module(declarations, run), &GuestOptions::default());
    assert!(
        failed(&stage)
            .0
            .why
            .unwrap()
            .contains("in shop::checkout\n")
    );
}

#[test]
fn a_virtual_user_goes_on_in_a_new_instance() {
    let declarations = "(global $calls (mut i32) (i32.const 0))";
    let run = "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
               (call $note-i32 (global.get $calls)) (call $note-i64 (call $iteration))
               (if (i64.eq (call $iteration) (i64.const 1)) (then unreachable)) (call $ok)";
    let stage = Stage::of(&module(declarations, run), &GuestOptions::default());
    let mut vu = stage.vu(1);
    for outcome in [IterationOutcome::Completed, IterationOutcome::Failed] {
        assert_eq!(block_on(vu.iterate(ARRIVAL)).outcome, outcome);
    }
    let end = block_on(vu.iterate(ARRIVAL));
    assert_eq!(
        end.outcome,
        IterationOutcome::Failed,
        "the instance is lost until it is renewed"
    );
    assert!(end.needs_new_instance);
    block_on(vu.renew()).unwrap();
    assert_eq!(
        block_on(vu.iterate(ARRIVAL)).outcome,
        IterationOutcome::Completed
    );
    let told = notes(&std::mem::take(vu.host_mut().records()));
    assert_eq!(
        told,
        [1.0, 0.0, 2.0, 1.0, 1.0, 3.0],
        "a new instance, the same virtual user"
    );
}

#[test]
fn many_renewals_take_no_more_room_than_one() {
    let stage = Stage::of(
        &module("", "unreachable"),
        &options(|options| options.max_vus = 1),
    );
    let mut vu = stage.vu(1);
    for _ in 0..100 {
        assert!(block_on(vu.iterate(ARRIVAL)).needs_new_instance);
        block_on(vu.renew()).unwrap();
    }
}

#[test]
fn an_endless_loop_ends_with_its_budget_while_another_virtual_user_goes_on() {
    let run =
        "(if (i32.eq (call $vu-id) (i32.const 1)) (then (loop $forever (br $forever)))) (call $ok)";
    let stage = Stage::of(
        &module("", run),
        &options(|options| options.guest_cpu_ns = 30_000_000),
    );
    let (mut looping, mut other) = (stage.vu(1), stage.vu(2));
    let yields = looping.yields();
    let mut endless = Box::pin(looping.iterate(ARRIVAL));
    let mut others = 0;
    let end = loop {
        if let std::task::Poll::Ready(end) = poll(endless.as_mut()) {
            break end;
        }
        others +=
            u32::from(block_on(other.iterate(ARRIVAL)).outcome == IterationOutcome::Completed);
    };
    assert_eq!(
        end.why.as_deref(),
        Some("the guest used more CPU in one call than the 30 ms of `guest-cpu`")
    );
    assert!(end.guest_segments_ns > 30_000_000 && end.needs_new_instance);
    assert!(
        others > 0 && yields.get() == u64::from(others),
        "{others} iterations of the other, {yields:?}"
    );
    drop(endless);
    assert_eq!(counted(looping.host_mut().records(), "guest-cpu"), 1);
}

#[test]
fn a_loop_around_host_calls_is_bounded_as_well() {
    let run = "(loop $forever (drop (call $now)) (br $forever)) (call $ok)";
    let stage = Stage::of(
        &module("", run),
        &options(|options| options.guest_cpu_ns = 5_000_000),
    );
    assert!(failed(&stage).0.why.unwrap().contains("guest-cpu"));
}

#[test]
fn an_endless_start_function_is_bounded_as_well() {
    let text = module(
        "(func $spin (loop $forever (br $forever))) (start $spin)",
        "(call $ok)",
    );
    let error = nettare_vm::Guest::load(
        &crate::support::wasm(&text),
        &options(|options| options.guest_cpu_ns = 5_000_000),
    )
    .unwrap_err();
    assert!(error.to_string().contains("guest-cpu"), "{error}");
}

#[test]
fn the_runs_hard_end_interrupts_a_guest() {
    let stage = Stage::new("(loop $forever (br $forever)) (call $ok)");
    let mut vu = stage.vu(1);
    let stop = vu.stop_flag();
    let mut endless = Box::pin(vu.iterate(ARRIVAL));
    assert!(poll(endless.as_mut()).is_pending(), "it yields");
    stop.set();
    let end = block_on(endless);
    assert_eq!(
        (end.outcome, end.needs_new_instance),
        (IterationOutcome::Interrupted, true)
    );
}

#[test]
fn memory_past_its_limit_is_a_trap_that_names_the_limit() {
    let run = "(drop (memory.grow (i32.const 100))) (call $ok)";
    let stage = Stage::of(
        &module("", run),
        &options(|options| options.guest_memory_bytes = 1 << 20),
    );
    let (end, records) = failed(&stage);
    let expected = "the guest wanted 6684672 bytes of memory, `guest-memory` allows 1048576";
    assert_eq!(end.why.as_deref(), Some(expected));
    assert_eq!(counted(&records, "guest-memory"), 1);
}

#[test]
fn memory_up_to_its_limit_is_given() {
    let run = "(call $note-i32 (memory.grow (i32.const 14))) (i32.store (i32.const 1048572) (i32.const 1)) (call $ok)";
    let stage = Stage::of(
        &module("", run),
        &options(|options| options.guest_memory_bytes = 1 << 20),
    );
    assert_eq!(stage.notes(), [2.0]);
}

#[test]
fn endless_recursion_is_a_trap_that_names_the_stack() {
    let declarations =
        "(func $deep (param i32) (result i32) (i32.add (call $deep (local.get 0)) (i32.const 1)))";
    let stage = Stage::of(
        &module(declarations, "(call $deep (i32.const 1))"),
        &GuestOptions::default(),
    );
    let why = failed(&stage).0.why.unwrap();
    assert!(
        why.starts_with(
            "the guest's calls are nested too deep (limit `guest-stack`, 262144 bytes)"
        ),
        "{why}"
    );
    assert!(
        why.matches("in deep").count() <= 8,
        "a backtrace is short: {why}"
    );
}

#[test]
fn too_much_handed_over_at_once_is_a_trap_that_names_the_limit() {
    let run = "(call $set-body (call $get-request (str \"http://x.test/\")) (i32.const 0) (i32.const 70000)) (call $ok)";
    let stage = Stage::of(
        &module("", run),
        &options(|options| options.hostcall_bytes = 65_536),
    );
    let (end, records) = failed(&stage);
    assert!(end.why.unwrap().contains("hostcall-bytes"));
    assert_eq!(counted(&records, "hostcall-bytes"), 1);
}

#[test]
fn handles_are_bounded() {
    let mut stage = Stage::new(
        r#"(loop $forever (drop (call $get-request (str "x"))) (br $forever)) (call $ok)"#,
    );
    stage.limits.handles = 10;
    let why = failed(&stage).0.why.unwrap();
    assert!(
        why.starts_with(
            "the guest holds 10 handles: drop requests and responses (limit `handles`)"
        ),
        "{why}"
    );
}

#[test]
fn random_bytes_are_bounded() {
    let stage = Stage::new("(call $random-bytes (i32.const 65537) (i32.const 512)) (call $ok)");
    assert!(
        failed(&stage)
            .0
            .why
            .unwrap()
            .contains("limit `random-bytes`")
    );
}

#[test]
fn a_flood_of_log_lines_is_counted_and_dropped() {
    let stage = Stage::new(
        r#"(local.set $a (i32.const 1000))
           (loop $again (call $say (str "line")) (br_if $again (local.tee $a (i32.sub (local.get $a) (i32.const 1)))))
           (call $log (i32.const 1) (i32.const 0) (i32.const 9000)) (call $ok)"#,
    );
    let (end, records) = stage.run();
    assert_eq!(end.outcome, IterationOutcome::Completed);
    assert_eq!(stage.world().logs.len(), 100);
    assert_eq!(counted(&records, "log-lines"), 901);
}

#[test]
fn long_log_lines_are_cut() {
    let stage =
        Stage::new("(call $log (i32.const 1) (i32.const 4096) (i32.const 9000)) (call $ok)");
    let (_, records) = stage.run();
    assert_eq!(stage.world().logs[0].1.len(), 4096);
    assert_eq!(counted(&records, "log-line-bytes"), 1);
}

#[test]
fn a_flood_of_samples_asks_to_be_taken_and_is_then_dropped() {
    let stage = Stage::new(
        r#"(local.set $a (i32.const 70000))
           (loop $again (call $note (f64.const 1)) (br_if $again (local.tee $a (i32.sub (local.get $a) (i32.const 1)))))
           (call $ok)"#,
    );
    let (end, records) = stage.run();
    assert_eq!(end.outcome, IterationOutcome::Completed);
    assert!(stage.world().flushes > 0);
    assert_eq!(notes(&records).len(), 65_536);
    assert_eq!(counted(&records, "records"), 70_000 - 65_536);
}

#[test]
fn tags_and_names_are_bounded() {
    let mut stage = Stage::new(
        r#"(call $tag (str "a") (str "1")) (call $tag (str "b") (str "1")) (call $tag (str "c") (str "1"))
           (call $note-i32 (call $check (i32.const 4096) (i32.const 2000)))
           (call $note-i32 (call $group (i32.const 4096) (i32.const 2000))) (call $ok)"#,
    );
    stage.limits.tags = 2;
    let (_, records) = stage.run();
    assert_eq!(counted(&records, "tags"), 1);
    assert_eq!(counted(&records, "names"), 2);
    assert_eq!(notes(&records), [f64::from(u32::MAX), f64::from(u32::MAX)]);
}

#[test]
fn a_panic_of_the_host_is_one_virtual_users_trap() {
    let stage = Stage::new(r#"(drop (call $get (str "http://x.test/"))) (call $ok)"#);
    let mut calls = 0;
    let stage = stage.answers(move |_| {
        calls += 1;
        assert!(calls > 1, "the first call panics");
        Some(crate::support::reply(200, b""))
    });
    let mut vu = stage.vu(1);
    let end = block_on(vu.iterate(ARRIVAL));
    assert!(end.needs_new_instance);
    assert!(end.why.unwrap().contains("the first call panics"));
    stage.world.clear_poison();
    block_on(vu.renew()).unwrap();
    assert_eq!(
        block_on(vu.iterate(ARRIVAL)).outcome,
        IterationOutcome::Completed
    );
}

#[test]
fn more_virtual_users_than_there_is_room_for_are_refused_one_by_one() {
    let stage = Stage::of(
        &module("", "(call $ok)"),
        &options(|options| options.max_vus = 1),
    );
    let mut users = Vec::new();
    let refused = loop {
        match block_on(Vu::new(&stage.guest, stage.setup(1))) {
            Ok(vu) => users.push(vu),
            Err(refused) => break refused,
        }
        assert!(users.len() < 100, "there is a limit");
    };
    assert!(
        matches!(refused, GuestFailure::Instantiate(_)),
        "{refused:?}"
    );
    drop(users);
    block_on(Vu::new(&stage.guest, stage.setup(1))).unwrap();
}

#[test]
fn a_dropped_call_loses_the_instance_and_renewing_brings_it_back() {
    let stage =
        Stage::new(r#"(drop (call $get (str "http://x.test/"))) (call $ok)"#).answers(|_| None);
    let mut vu = stage.vu(1);
    let mut iteration = Box::pin(vu.iterate(ARRIVAL));
    assert!(poll(iteration.as_mut()).is_pending());
    drop(iteration);
    assert!(
        stage.world().pending[0].is_dropped(),
        "dropping cancels at the host"
    );
    let end = block_on(vu.iterate(ARRIVAL));
    assert!(end.needs_new_instance, "{end:?}");
    block_on(vu.renew()).unwrap();
    let mut iteration = Box::pin(vu.iterate(ARRIVAL));
    assert!(poll(iteration.as_mut()).is_pending());
}
