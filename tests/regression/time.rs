//! How long things took, and how long they were said to have taken. Each test compares times of one run with each other.

use std::io::BufRead;
use std::time::Instant;

use rustix::process::Signal;

use crate::support::nettare::World;
use crate::support::target::{self, TargetProcess};

/// <https://github.com/wg/wrk/issues/438>: a mean of 6.04 ms where 0.49 ms follow from the rate.
#[test]
fn case_006_the_mean_of_one_connection_is_the_inverse_of_its_rate() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/delay/5", target.url());
    world
        .run([
            "quick", &url, "-n", "200", "-c", "1", "--report", "run.json",
        ])
        .expect_code(0);
    let report = world.report("run.json");
    let busy = report.figure("http_req_gross", "mean") * report.figure("http_req_gross", "count");
    let share = busy / report.count("/run/duration_ns") as f64;
    assert!(
        (0.95..=1.0).contains(&share),
        "the calls took {share} of a run that was nothing but calls"
    );
}

/// <https://github.com/rakyll/boom/issues/100> and <https://github.com/PerfCake/PerfCake/issues/258>: a stall of the server of 45 s
/// did not show; a mean of 86 ms where a stall of 15 s makes it 7.5 s.
#[test]
fn case_009_and_010_a_stall_shows_for_all_who_came_meanwhile() {
    let world = World::new();
    let target = TargetProcess::spawn(&world);
    let url = format!("{}/", target.url());
    let load = [
        "-q",
        "200",
        "-z",
        "4s",
        "-c",
        "4000",
        "--graceful-stop",
        "1m",
    ];
    let run = world.start(["quick", &url, "--report", "run.json"].iter().chain(&load));
    while target.counted("finished") < 100 {
        std::thread::yield_now();
    }
    target.signal(Signal::STOP);
    let stopped = Instant::now();
    // The journal gets a line a second, whether the server answers or not.
    let lines = || {
        std::fs::read(world.runs().join("last/journal.ndjson"))
            .map_or(0, |journal| journal.lines().count())
    };
    let before = lines();
    while lines() < before + 2 {
        std::thread::yield_now();
    }
    target.signal(Signal::CONT);
    let stall_ns = stopped.elapsed().as_nanos() as f64;
    run.finish().expect_code(0);
    let report = world.report("run.json");
    report.assert_balanced();
    assert_eq!(report.count("/iterations/offered"), 800);
    // Whoever came when the stall began waited for all of it, whoever came at its end for none: of the 800, the share that
    // came during the stall waited for half of it on average.
    let slowest = report.figure("iteration_response", "max");
    assert!(
        slowest > 0.9 * stall_ns,
        "the slowest response took {slowest} ns of a stall of {stall_ns} ns"
    );
    let expected_mean = stall_ns / 2.0 * (stall_ns / 4e9);
    let mean = report.figure("iteration_response", "mean");
    assert!(
        mean > 0.7 * expected_mean,
        "a mean of {mean} ns where the stall alone makes {expected_mean} ns"
    );
}

/// <https://github.com/twitter/rpc-perf/pull/310>: waiting for the limiter was taken for the server's time.
#[test]
fn case_012_waiting_for_a_turn_is_response_time_and_not_service_time() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/delay/20", target.url());
    // One connection serves fifty a second; two hundred are due.
    world.run([
        "quick", &url, "-q", "200", "-z", "1s", "-c", "1", "--report", "run.json",
    ]);
    let report = world.report("run.json");
    report.assert_balanced();
    let (service, response) = (
        report.figure("iteration_duration", "p50"),
        report.figure("iteration_response", "p50"),
    );
    let net = report.figure("http_req_duration", "p50");
    assert!(report.sum("/iterations/dropped") + report.count("/iterations/started") == 200);
    assert!(
        response >= service,
        "{response} ns from due to end, {service} ns from start to end"
    );
    assert!(
        service < 2.0 * net,
        "service time is about the server's: {service} ns and {net} ns"
    );
    assert!(report.figure("iteration_lateness", "max") > 0.0);
}

/// <https://github.com/grafana/k6/issues/1041> and <https://github.com/grafana/k6/issues/925>: wrong times of requests that timed out.
#[test]
fn case_026_a_time_out_took_its_limit_and_is_no_answer() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/delay/60000", target.url());
    world.run([
        "quick",
        &url,
        "-n",
        "10",
        "-c",
        "10",
        "--timeout",
        "100ms",
        "--report",
        "run.json",
    ]);
    let report = world.report("run.json");
    report.assert_balanced();
    assert_eq!(report.failed("timeout"), 10);
    let gross = |figure: &str| report.figure("http_req_gross", figure);
    assert_eq!(gross("count"), 10.0);
    assert!(
        gross("min") >= 0.999 * 100e6,
        "a call that timed out took {} ns",
        gross("min")
    );
    let answered = report
        .metrics()
        .filter(|metric| metric["name"] == "http_req_duration");
    assert!(
        answered.into_iter().all(|metric| metric["count"] == 0),
        "what did not end has no net"
    );
    assert_eq!(report.figure("http_req_failed", "rate"), 1.0);
}
