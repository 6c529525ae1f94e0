//! Native virtual users against the demo target: what the run counts is what the server counts.

use std::sync::Arc;

use nettare_core::event::RunEvent;
use nettare_core::plan::{Executor, QuickRequest, Rate, Work};
use nettare_engine::{EndCause, Job, Stopper, run};

use crate::support::{SECOND_NS, carry_out, plan_of, shared, target, with_network};

fn job(url: &str, executor: Executor, workers: u32) -> Job {
    let request = QuickRequest {
        method: "GET".to_owned(),
        url: url.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    with_network(plan_of(Work::Request(request), executor, workers), None)
}

#[test]
fn every_iteration_is_one_request_that_the_server_counted() {
    for workers in [1, 2] {
        let target = target();
        let result = carry_out(&job(
            &format!("{}/", target.url()),
            shared(8, 2_000),
            workers,
        ));
        let counts = target.stop();
        assert_eq!(result.causes, []);
        assert_eq!(
            (result.iterations.started, result.iterations.completed),
            (2_000, 2_000)
        );
        assert_eq!(result.funnel.answered, 2_000);
        assert_eq!(result.funnel.in_flight, 0);
        assert_eq!(counts.finished, 2_000, "with {workers} workers");
        assert_eq!(
            counts.connections_accepted, 8,
            "one connection a virtual user"
        );
    }
}

#[test]
fn an_arrival_rate_starts_exactly_its_arrivals() {
    let target = target();
    let rate = Rate {
        arrivals: 500,
        per_ns: SECOND_NS,
    };
    let executor = Executor::ConstantArrivalRate {
        rate,
        duration_ns: 2 * SECOND_NS,
        pre_allocated_vus: 4,
        max_vus: 64,
    };
    let result = carry_out(&job(&format!("{}/", target.url()), executor, 2));
    assert_eq!(result.iterations.offered, 1_000);
    assert_eq!(
        result.iterations.started + result.iterations.dropped_total(),
        1_000
    );
    assert_eq!(target.stop().finished, result.iterations.completed);
}

#[test]
fn a_stop_in_the_middle_loses_nothing() {
    let target = target();
    let executor = Executor::ConstantVus {
        vus: 4,
        duration_ns: 600 * SECOND_NS,
    };
    let job = job(&format!("{}/", target.url()), executor, 2);
    let stopper = Stopper::default();
    let mut intervals = 0;
    let result = run(&job, &stopper, &mut |event| {
        if matches!(event, RunEvent::Interval(_)) {
            intervals += 1;
            stopper.stop();
        }
    })
    .expect("the job can begin");
    assert_eq!(result.causes, [EndCause::Signal]);
    assert!(intervals >= 2, "the one that stopped it, and the last");
    assert_eq!(result.funnel.answered, target.stop().finished);
    assert_eq!(result.iterations.started, result.iterations.completed);
}

#[test]
fn a_second_stop_cuts_short_what_hangs() {
    let target = target();
    let executor = Executor::ConstantVus {
        vus: 3,
        duration_ns: 600 * SECOND_NS,
    };
    let job = job(&format!("{}/delay/60000", target.url()), executor, 1);
    let stopper = Stopper::default();
    let result = run(&job, &stopper, &mut |event| {
        if matches!(event, RunEvent::Interval(_)) {
            stopper.stop();
            stopper.stop();
        }
    })
    .expect("the job can begin");
    assert_eq!(result.iterations.interrupted, 3);
    assert_eq!((result.funnel.attempted, result.funnel.in_flight), (3, 3));
}

#[test]
fn a_server_that_is_not_there_ends_the_run_with_its_cause() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("its address"));
    drop(listener);
    let executor = Executor::ConstantVus {
        vus: 1,
        duration_ns: 600 * SECOND_NS,
    };
    let mut job = job(&url, executor, 1);
    job.plan.run.abort_unanswered_ns = Some(1);
    let result = carry_out(&job);
    assert_eq!(result.causes, [EndCause::Unanswered]);
    assert!(result.funnel.failed_total() > 0);
    assert_eq!(result.funnel.answered, 0);
}

#[test]
fn the_network_is_shared_by_all_workers() {
    let target = target();
    let job = job(&format!("{}/", target.url()), shared(2, 10), 2);
    let before = Arc::strong_count(&job.network);
    carry_out(&job);
    assert_eq!(
        Arc::strong_count(&job.network),
        before,
        "nothing is left of the workers"
    );
}
