//! What was sent, and what was said to have been sent.

use std::net::TcpListener;

use crate::support::guests::guest;
use crate::support::nettare::World;
use crate::support::target;

/// <https://github.com/wg/wrk/issues/316>: 1,530 requests reported, 2,529 served.
#[test]
fn case_001_what_is_sent_is_what_is_served() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/", target.url());
    world
        .run([
            "quick", &url, "-z", "1s", "-c", "10", "--report", "run.json",
        ])
        .expect_code(0);
    let (report, counts) = (world.report("run.json"), target.counts());
    report.assert_balanced();
    assert_eq!(report.count("/requests/attempted"), counts.begun);
    assert_eq!(report.count("/requests/answered"), counts.finished);
    assert!(counts.finished > 0);
}

/// <https://github.com/wg/wrk/issues/140>: 296 answers and 41 time-outs of 392 requests.
#[test]
fn case_002_time_outs_and_answers_and_what_is_pending_count_once() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/delay/60000", target.url());
    world.run([
        "quick",
        &url,
        "-n",
        "40",
        "-c",
        "8",
        "--timeout",
        "50ms",
        "--report",
        "run.json",
    ]);
    let (report, counts) = (world.report("run.json"), target.counts());
    report.assert_balanced();
    assert_eq!(
        (report.failed("timeout"), report.count("/requests/answered")),
        (40, 0)
    );
    assert_eq!(
        (report.count("/requests/attempted"), counts.begun),
        (40, 40)
    );
    assert_eq!(counts.finished, 0);
}

/// <https://github.com/wg/wrk/issues/512>: the total differs from the messages that the server stored.
#[test]
fn case_004_a_hundred_workers_lose_no_request() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/", target.url());
    let load = ["-n", "10000", "-c", "100", "--workers", "100"];
    world
        .run(["quick", &url, "--report", "run.json"].iter().chain(&load))
        .expect_code(0);
    let report = world.report("run.json");
    report.assert_balanced();
    assert_eq!(
        (report.count("/requests/answered"), target.counts().finished),
        (10_000, 10_000)
    );
    assert_eq!(report.figure("http_req_duration", "count"), 10_000.0);
}

/// <https://github.com/fomalhaut88/winrk/issues/3>: 60,000 requests a second shown as 2.66 million.
#[test]
fn case_039_requests_a_second_are_requests_by_the_time_that_passed() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/", target.url());
    world
        .run([
            "quick", &url, "-n", "5000", "-c", "50", "--report", "run.json",
        ])
        .expect_code(0);
    let report = world.report("run.json");
    let seconds = report.count("/run/duration_ns") as f64 / 1e9;
    let (value, per_second) = (
        report.figure("http_reqs", "value"),
        report.figure("http_reqs", "per_second"),
    );
    assert_eq!(value, 5000.0);
    assert!(
        (per_second * seconds / value - 1.0).abs() < 1e-9,
        "{value} in {seconds} s are not {per_second} a second"
    );
}

/// <https://github.com/jgaskins/grpc/issues/4>: every call failed, and the summary said 7,000 requests a second.
#[test]
fn case_045_a_run_in_which_nothing_was_answered_is_no_success() {
    let world = World::new();
    // A port that was free a moment ago, and that nobody listens on.
    let closed = TcpListener::bind("127.0.0.1:0")
        .expect("a free port")
        .local_addr()
        .expect("it has an address");
    let url = format!("http://{closed}/");
    world
        .run([
            "quick", &url, "-n", "100", "-c", "4", "--report", "run.json",
        ])
        .expect_code(111);
    let report = world.report("run.json");
    report.assert_balanced();
    assert_eq!(
        (report.failed("connect"), report.count("/requests/answered")),
        (100, 0)
    );
    assert_eq!(report.value("/verdict/result"), "invalid");
    assert_eq!(report.value("/verdict/reasons/0/rule"), "nothing-answered");
    let durations = report
        .metrics()
        .filter(|metric| metric["name"] == "http_req_duration");
    assert!(
        durations.into_iter().all(|metric| metric["count"] == 0),
        "what was not answered has no net"
    );
}

/// <https://github.com/grafana/k6/pull/2915>: checks went wrong with many pre-allocated users, which shared what was each one's own.
#[test]
fn case_036_many_virtual_users_do_not_get_into_each_others_way() {
    let (world, target) = (World::new(), target::spawn());
    world.write("checkout.wasm", guest("checkout"));
    let environment = format!("TARGET={}", target.url());
    let load = [
        "--rate",
        "60/s",
        "-d",
        "2s",
        "--max-vus",
        "60",
        "--report",
        "run.json",
    ];
    world
        .run(
            ["run", "checkout.wasm", "-e", &environment]
                .iter()
                .chain(&load),
        )
        .expect_code(0);
    let report = world.report("run.json");
    report.assert_balanced();
    let completed = report.count("/iterations/completed");
    assert_eq!(completed, report.count("/iterations/started"));
    let checks = report.value("/checks").as_array().expect("checks");
    assert_eq!(checks.len(), 7);
    for check in checks {
        assert_eq!(check["passes"], completed, "{check}");
        assert_eq!(check["fails"], 0, "{check}");
    }
}
