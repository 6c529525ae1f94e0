//! Guests against the demo target: wherever they are polled, the same comes of it.

use nettare_core::event::RunEvent;
use nettare_core::plan::{Executor, GuestThread, Work};
use nettare_engine::vm::{Guest, GuestOptions};
use nettare_engine::{EndCause, Job, Stopper, run};

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
