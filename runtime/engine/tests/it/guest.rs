//! Guests against the demo target: wherever they are polled, the same comes of it.

use nettare_core::event::RunEvent;
use nettare_core::plan::{DeferredQueue, Executor, GuestThread, Isolation, Plan, Work};
use nettare_core::stats::CheckTotal;
use nettare_engine::vm::{Guest, GuestOptions};
use nettare_engine::{EndCause, Job, RunResult, Stopper, run};

use crate::support::{SECOND_NS, carry_out, plan_of, shared, target, with_network};

/// Sleeps for an hour in each iteration, and returns when it is told that the run is stopping.
const SLEEPER: &str = r#"(module
  (import "nettare:load/time@0.1.0" "sleep" (func $sleep (param i64 i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "run") (param i32 i64 i64 i64) (result i32)
    (call $sleep (i64.const 3600000000000) (i32.const 64))
    (i32.store8 (i32.const 0) (i32.const 0))
    (i32.const 0)))"#;

/// Computes for ever.
const SPINNER: &str = r#"(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "run") (param i32 i64 i64 i64) (result i32)
    (loop $again (br $again))
    (i32.const 0)))"#;

/// Traps in every iteration but the first of an instance, which is never the case: each iteration traps.
const TRAPPER: &str = r#"(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "run") (param i32 i64 i64 i64) (result i32)
    (unreachable)))"#;

fn guest(bytes: &[u8], vus: u32) -> Guest {
    let options = GuestOptions {
        max_vus: vus,
        ..GuestOptions::default()
    };
    Guest::load(bytes, &options).expect("the guest loads")
}

fn guest_work() -> Work {
    Work::Guest {
        file: "guest.wasm".to_owned(),
        scenario: None,
    }
}

fn job(bytes: &[u8], executor: Executor, vus: u32, placement: GuestThread) -> Job {
    let mut plan = plan_of(guest_work(), executor, 2);
    plan.run.guest_thread = placement;
    with_network(plan, Some(guest(bytes, vus)))
}

fn hello() -> Vec<u8> {
    let text = include_str!("../../../../examples/hello-wat/hello.wat");
    wat::parse_str(text).expect("hello is WebAssembly")
}

fn module(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("the guest is WebAssembly")
}

#[test]
fn every_placement_gives_the_server_s_own_count() {
    for placement in [GuestThread::Inline, GuestThread::Split, GuestThread::Auto] {
        let target = target();
        let mut job = job(&hello(), shared(16, 1_600), 16, placement);
        job.plan
            .run
            .env
            .insert("TARGET".to_owned(), target.url().to_owned());
        let result = carry_out(&job);
        assert_eq!(result.causes, [], "{placement:?}");
        assert_eq!(
            result.iterations.completed, 1_600,
            "{placement:?}: {:?}",
            result.iteration_failures
        );
        assert_eq!(result.funnel.answered, 1_600, "{placement:?}");
        assert_eq!(result.stray_iterations, 0, "{placement:?}");
        let counts = result.totals.counts();
        assert_eq!(
            (counts.checks, counts.calls),
            (1_600, 1_600),
            "{placement:?}"
        );
        assert_eq!(target.stop().finished, 1_600, "{placement:?}");
    }
}

#[test]
fn a_sleeping_guest_is_woken_by_the_end_of_its_grace() {
    let executor = Executor::ConstantVus {
        vus: 4,
        duration_ns: SECOND_NS / 10,
    };
    let mut job = job(&module(SLEEPER), executor, 4, GuestThread::Auto);
    job.plan.scenarios[0].graceful_stop_ns = SECOND_NS / 10;
    let result = carry_out(&job);
    assert_eq!(result.iterations.interrupted, 4);
    assert_eq!(result.causes, []);
}

#[test]
fn a_guest_that_computes_for_ever_is_interrupted_wherever_it_is() {
    for placement in [GuestThread::Inline, GuestThread::Split] {
        let executor = Executor::ConstantVus {
            vus: 2,
            duration_ns: SECOND_NS / 10,
        };
        let mut job = job(&module(SPINNER), executor, 2, placement);
        job.plan.scenarios[0].graceful_stop_ns = 0;
        let result = carry_out(&job);
        assert_eq!(result.iterations.interrupted, 2, "{placement:?}");
    }
}

#[test]
fn a_trap_fails_its_iteration_and_the_virtual_user_goes_on() {
    let result = carry_out(&job(&module(TRAPPER), shared(2, 20), 2, GuestThread::Auto));
    assert_eq!(
        (result.iterations.started, result.iterations.failed),
        (20, 20)
    );
    let reasons: u64 = result
        .iteration_failures
        .iter()
        .map(|(_, count)| count)
        .sum();
    assert_eq!(reasons, 20);
    assert!(
        result.iteration_failures[0].0.contains("unreachable"),
        "{:?}",
        result.iteration_failures
    );
}

#[test]
fn two_stops_end_a_run_whose_guests_sleep() {
    let executor = Executor::ConstantVus {
        vus: 3,
        duration_ns: 600 * SECOND_NS,
    };
    let job = job(&module(SLEEPER), executor, 3, GuestThread::Split);
    let stopper = Stopper::default();
    let result = run(&job, &stopper, &mut |event| {
        if matches!(event, RunEvent::Interval(_)) {
            stopper.stop();
            stopper.stop();
        }
    })
    .expect("the job can begin");
    assert_eq!(result.causes, [EndCause::Signal]);
    assert_eq!(result.iterations.interrupted, 3);
}

/// Defers its one check, "even": it passes where the context, the iteration's sequence number, is even.
const DEFERRER: &str = r#"(module
  (type $describe (func (result i32)))
  (import "nettare:load/http@0.1.0" "[constructor]request" (func $request (param i32 i32 i32 i32) (result i32)))
  (import "nettare:load/http@0.1.0" "[method]request.send" (func $send (param i32 i32)))
  (import "nettare:load/vu@0.1.0" "env" (func $env (param i32 i32 i32)))
  (import "nettare:load/check@0.1.0" "defer" (func $defer (param i32 i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (global $free (mut i32) (i32.const 4096))
  (data (i32.const 512) "GET")
  (data (i32.const 528) "TARGET")
  (data (i32.const 544) "even")
  (data (i32.const 560) "it is odd")
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
    (global.set $free (i32.add (local.get $at) (local.get 3)))
    (local.get $at))
  (func (export "describe") (result i32)
    (i32.store (i32.const 1024) (i32.const 0)) (i32.store (i32.const 1028) (i32.const 0))
    (i32.store (i32.const 1032) (i32.const 0)) (i32.store (i32.const 1036) (i32.const 0))
    (i32.store (i32.const 1040) (i32.const 1100)) (i32.store (i32.const 1044) (i32.const 1))
    (i32.store (i32.const 1048) (i32.const 0)) (i32.store (i32.const 1052) (i32.const 0))
    (i32.store (i32.const 1100) (i32.const 544)) (i32.store (i32.const 1104) (i32.const 4))
    (i32.const 1024))
  (func (export "run") (param i32 i64 i64 i64) (result i32)
    (global.set $free (i32.const 4096))
    (call $env (i32.const 528) (i32.const 6) (i32.const 64))
    (call $send
      (call $request (i32.const 512) (i32.const 3) (i32.load (i32.const 68)) (i32.load (i32.const 72)))
      (i32.const 128))
    (if (i32.load8_u (i32.const 128)) (then (unreachable)))
    (i64.store (i32.const 256) (local.get 1))
    (call $defer (i32.const 0) (i32.load (i32.const 132)) (i32.const 256) (i32.const 8) (i32.const 320))
    (if (i32.load8_u (i32.const 320)) (then (unreachable)))
    (i32.store8 (i32.const 0) (i32.const 0))
    (i32.const 0))
  (func (export "judge") (param i32 i32 i32 i32) (result i32)
    (global.set $free (i32.const 4096))
    (i32.store8 (i32.const 0) (i32.wrap_i64 (i64.and (i64.load (local.get 2)) (i64.const 1))))
    (i32.store (i32.const 4) (i32.const 560)) (i32.store (i32.const 8) (i32.const 9))
    (i32.const 0)))"#;

fn deferring(text: &str, change: impl FnOnce(&mut Plan)) -> (RunResult, CheckTotal) {
    let target = target();
    let options = GuestOptions {
        max_vus: 8,
        judges: 16,
        ..GuestOptions::default()
    };
    let guest = Guest::load(&module(text), &options).expect("the guest loads");
    let mut plan = plan_of(guest_work(), shared(8, 400), 2);
    plan.run
        .env
        .insert("TARGET".to_owned(), target.url().to_owned());
    change(&mut plan);
    let job = with_network(plan, Some(guest));
    let result = carry_out(&job);
    assert_eq!(
        result.iterations.completed, 400,
        "{:?}",
        result.iteration_failures
    );
    let mut checks = result.totals.checks_by_name();
    assert_eq!(checks.len(), 1, "{checks:?}");
    let check = checks.remove(0);
    (result, check)
}

#[test]
fn every_deferred_check_is_evaluated_off_the_way_of_requests() {
    for when_full in DeferredQueue::ALL {
        let (result, check) = deferring(DEFERRER, |plan| plan.run.deferred_queue = *when_full);
        assert_eq!(result.causes, []);
        assert_eq!(check.name, "even");
        assert_eq!(
            (check.passes, check.fails, check.skipped),
            (200, 200, [0; 3])
        );
        assert_eq!(check.modes, [0, 400, 0]);
        assert_eq!((check.cpu.count(), check.queue_wait.count()), (400, 400));
        assert_eq!(check.example.as_deref(), Some("it is odd"));
        assert_eq!(result.totals.counts().checks, 400);
        let in_intervals: u64 = result
            .intervals
            .iter()
            .map(|interval| interval.checks_passed + interval.checks_failed)
            .sum();
        assert_eq!(in_intervals, 400, "none comes after the last interval");
    }
}

#[test]
fn a_queue_of_one_makes_wait_and_loses_nothing() {
    let (_, check) = deferring(DEFERRER, |plan| plan.limits.deferred_checks = 1);
    assert_eq!(check.passes + check.fails, 400);
}

#[test]
fn a_full_queue_skips_and_counts() {
    let (_, check) = deferring(&endless(), |plan| {
        plan.limits.deferred_checks = 1;
        plan.run.deferred_queue = DeferredQueue::Skip;
        plan.scenarios[0].graceful_stop_ns = 1;
    });
    let [queue_full, sampled, stop] = check.skipped;
    assert_eq!((check.passes, check.fails, sampled), (0, 0, 0));
    assert_eq!(queue_full + stop, 400);
    // No judge comes back, so that there is room for one each, and for one that waits.
    let judges = nettare_engine::judge_count() as u64;
    assert!(
        (1..=judges + 1).contains(&stop),
        "{stop} of {judges} judges"
    );
}

/// Whose judge never comes to an end.
fn endless() -> String {
    DEFERRER.replace(
        r#"(func (export "judge") (param i32 i32 i32 i32) (result i32)"#,
        r#"(func (export "judge") (param i32 i32 i32 i32) (result i32) (loop $again (br $again))"#,
    )
}

#[test]
fn a_sample_is_the_same_for_the_same_seed() {
    let sampled = |seed| {
        let (_, check) = deferring(DEFERRER, |plan| {
            plan.scenarios[0].executor = Executor::PerVuIterations {
                vus: 8,
                iterations: 50,
                max_duration_ns: 60 * SECOND_NS,
            };
            plan.run.check_sample = 0.25;
            plan.run.seed = seed;
        });
        let evaluated = check.passes + check.fails;
        assert_eq!(check.skipped, [0, 400 - evaluated, 0]);
        evaluated
    };
    let evaluated = sampled(7);
    assert_eq!(sampled(7), evaluated);
    assert!(
        (50..150).contains(&evaluated),
        "{evaluated} of 400, a quarter wanted"
    );
}

#[test]
fn a_judge_that_traps_fails_the_check_and_goes_on() {
    let trapping = DEFERRER.replace(
        r#"(func (export "judge") (param i32 i32 i32 i32) (result i32)"#,
        r#"(func (export "judge") (param i32 i32 i32 i32) (result i32)
            (if (i64.eqz (i64.and (i64.load (local.get 2)) (i64.const 7))) (then (unreachable)))"#,
    );
    let (result, check) = deferring(&trapping, |_| {});
    assert_eq!(result.causes, []);
    assert_eq!(
        (check.passes, check.fails),
        (150, 250),
        "one of eight traps"
    );
}

#[test]
fn what_a_judge_cannot_finish_is_counted_at_the_end() {
    let (result, check) = deferring(&endless(), |plan| plan.scenarios[0].graceful_stop_ns = 1);
    assert_eq!(result.causes, []);
    assert_eq!((check.passes, check.fails), (0, 0));
    assert_eq!(check.skipped, [0, 0, 400], "interrupted or never begun");
}

#[test]
fn each_iteration_has_an_instance_of_its_own_where_the_plan_says_so() {
    // Traps in the second iteration of an instance.
    let once = module(
        r#"(module
          (memory (export "memory") 1)
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
          (func (export "run") (param i32 i64 i64 i64) (result i32)
            (if (i32.load (i32.const 64)) (then (unreachable)))
            (i32.store (i32.const 64) (i32.const 1))
            (i32.const 0)))"#,
    );
    for (isolation, completed) in [(Isolation::Iteration, 40), (Isolation::Vu, 20)] {
        let mut job = job(&once, shared(1, 40), 1, GuestThread::Auto);
        job.plan.scenarios[0].isolation = isolation;
        assert_eq!(
            carry_out(&job).iterations.completed,
            completed,
            "{isolation:?}"
        );
    }
}
