//! A run that is stopped, at whatever moment, says truly how far it got.
//!
//! Moments are counts of requests that the server has finished, chosen by a seed: what a run has done is what a stop can spoil, and a
//! count is the same on a fast machine and on a slow one.

use nettare_target::{Counts, Target};
use rustix::process::Signal;

use crate::support::nettare::World;
use crate::support::report::Report;
use crate::support::seeded::Seeded;
use crate::support::target::{self, TargetProcess};

/// Waits until the server has counted what is wanted. Only a run that hangs keeps it waiting for good, and then the test's own
/// end does.
fn wait_until(target: &Target, reached: impl Fn(&Counts) -> bool) {
    while !reached(&target.counts()) {
        std::thread::yield_now();
    }
}

/// Holds what the report says against what the server saw: each request that the server finished was answered, failed or in
/// flight in the report, and nothing was answered that the server did not finish.
fn assert_bracketed(report: &Report, counts: &Counts, moment: &str) {
    let (answered, attempted) = (
        report.count("/requests/answered"),
        report.count("/requests/attempted"),
    );
    let open = report.count("/requests/in_flight_at_stop")
        + report.sum("/requests/failed")
        + report.retried();
    assert!(
        answered <= counts.finished,
        "{moment}: {answered} answered of {} finished",
        counts.finished
    );
    assert!(
        counts.finished <= answered + open,
        "{moment}: {} finished, {answered} answered and {open} open",
        counts.finished
    );
    assert!(
        counts.begun <= attempted,
        "{moment}: {} begun of {attempted} attempted",
        counts.begun
    );
}

#[test]
fn an_interrupt_at_any_moment_loses_nothing() {
    let mut moments = Seeded::new(1);
    for round in 0..20 {
        let moment = moments.within(1..3_000);
        let (world, target) = (World::new(), target::spawn());
        let url = format!("{}/", target.url());
        let run = world.start([
            "quick", &url, "-n", "10000000", "-c", "16", "--report", "run.json",
        ]);
        wait_until(&target, |counts| counts.finished >= moment);
        run.signal(Signal::INT);
        run.finish().expect_code(105);
        let (report, counts, moment) = (
            world.report("run.json"),
            target.counts(),
            format!("round {round}, at {moment}"),
        );
        report.assert_balanced();
        assert_bracketed(&report, &counts, &moment);
        assert_eq!(
            report.count("/requests/in_flight_at_stop"),
            0,
            "{moment}: there was time to end"
        );
        assert_eq!(
            report.count("/requests/answered"),
            counts.finished,
            "{moment}"
        );
        assert_eq!(report.value("/run/exit/code"), 105);
    }
}

#[test]
fn requests_cut_off_by_a_second_signal_are_in_flight_or_failed_and_never_answered() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/delay/60000", target.url());
    let run = world.start([
        "quick",
        &url,
        "-n",
        "1000",
        "-c",
        "8",
        "--graceful-stop",
        "10m",
        "--report",
        "run.json",
    ]);
    wait_until(&target, |counts| counts.begun == 8);
    // Two of a kind may reach a process as one.
    run.signal(Signal::INT);
    run.signal(Signal::TERM);
    run.finish().expect_code(105);
    let report = world.report("run.json");
    report.assert_balanced();
    assert_bracketed(&report, &target.counts(), "after the second");
    assert_eq!(report.count("/requests/answered"), 0);
    assert_eq!(report.count("/iterations/interrupted"), 8);
}

#[test]
fn every_request_has_one_outcome_when_the_server_is_killed() {
    let world = World::new();
    let mut target = TargetProcess::spawn(&world);
    let url = format!("{}/", target.url());
    let run = world.start([
        "quick", &url, "-n", "20000", "-c", "16", "--report", "run.json",
    ]);
    while target.counted("finished") < 500 {
        std::thread::yield_now();
    }
    target.kill();
    run.finish();
    let report = world.report("run.json");
    report.assert_balanced();
    let (answered, failed) = (
        report.count("/requests/answered"),
        report.sum("/requests/failed"),
    );
    assert!(answered >= 500, "{answered} answered");
    assert_eq!(
        answered + failed,
        20_000,
        "every request was answered or failed"
    );
    assert_eq!(
        failed,
        report.failed("connect") + report.failed("reset"),
        "and failed for what happened"
    );
    assert!(report.failed("connect") > 0);
    assert_eq!(
        report.figure("http_req_duration", "count"),
        answered as f64,
        "what did not end has no net"
    );
    assert_eq!(
        report.count("/iterations/completed"),
        20_000,
        "a failed request does not fail its iteration"
    );
}
