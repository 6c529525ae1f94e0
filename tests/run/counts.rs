//! What the report says was sent is what the server saw.

use crate::support::guests::guest;
use crate::support::nettare::World;
use crate::support::target;

#[test]
fn twenty_thousand_requests_are_counted_by_both_sides_alike() {
    let (world, target) = (World::new(), target::spawn());
    let arguments = [
        "quick",
        &format!("{}/", target.url()),
        "-n",
        "20000",
        "-c",
        "64",
        "--report",
        "run.json",
    ];
    world.run(arguments).expect_code(0);
    let (report, counts) = (world.report("run.json"), target.counts());
    report.assert_balanced();
    assert_eq!(
        (
            counts.begun,
            counts.finished,
            counts.aborted,
            counts.in_flight
        ),
        (20_000, 20_000, 0, 0)
    );
    assert_eq!(
        (
            report.count("/requests/attempted"),
            report.count("/requests/answered")
        ),
        (20_000, 20_000)
    );
    assert_eq!(report.count("/iterations/completed"), 20_000);
    assert_eq!(report.figure("http_reqs", "value"), 20_000.0);
    for metric in [
        "http_req_duration",
        "http_req_gross",
        "http_req_tare",
        "iteration_duration",
    ] {
        assert_eq!(report.figure(metric, "count"), 20_000.0, "{metric}");
    }
}

#[test]
fn statuses_are_counted_as_the_server_gave_them() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/flaky/30", target.url());
    world
        .run([
            "quick", &url, "-n", "1000", "-c", "8", "--report", "run.json",
        ])
        .expect_code(0);
    let report = world.report("run.json");
    let given = &target.counts().routes["/flaky/{percent}"].finished;
    assert_eq!((given[&200], given[&503]), (700, 300));
    for (status, count) in given {
        let label = status.to_string();
        let of_status = report
            .metrics()
            .filter(|m| m["name"] == "http_reqs" && m["tags"]["status"] == label.as_str());
        let counted = of_status
            .map(|metric| metric["value"].as_u64().expect("a count"))
            .sum::<u64>();
        assert_eq!(counted, *count, "status {status}");
    }
}

#[test]
fn every_redirect_is_an_exchange_and_every_call_is_one_call() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/redirect/3", target.url());
    world
        .run(["quick", &url, "-n", "50", "-c", "5", "--report", "run.json"])
        .expect_code(0);
    let (report, counts) = (world.report("run.json"), target.counts());
    report.assert_balanced();
    assert_eq!(
        (counts.finished, report.count("/requests/answered")),
        (200, 200),
        "three redirects and the response"
    );
    assert_eq!(
        report.figure("http_req_duration", "count"),
        200.0,
        "net is the exchange's"
    );
    assert_eq!(
        report.figure("http_req_gross", "count"),
        50.0,
        "gross is the call's"
    );
    assert_eq!(report.count("/iterations/completed"), 50);
}

#[test]
fn calls_that_their_redirects_fail_are_seen_by_thresholds() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/redirect/9", target.url());
    let load = ["-n", "10", "-c", "2", "--max-redirects", "2"];
    let judged = [
        "--threshold",
        "http_req_failed: rate<0.1",
        "--report",
        "run.json",
    ];
    world
        .run(["quick", &url].iter().chain(&load).chain(&judged))
        .expect_code(99);
    let report = world.report("run.json");
    report.assert_balanced();
    assert_eq!(
        (
            report.count("/requests/answered"),
            report.failed("too-many-redirects")
        ),
        (20, 10),
        "each call was answered twice and failed with the third"
    );
    assert_eq!(report.figure("http_req_failed", "passes"), 10.0);
    assert_eq!(report.figure("http_req_gross", "count"), 10.0);
}

#[test]
fn what_a_scenario_cancels_is_no_failure_and_not_in_flight() {
    let (world, target) = (World::new(), target::spawn());
    world.write("tour.wasm", guest("tour"));
    let variable = format!("TARGET={}", target.url());
    let load = ["-u", "2", "-i", "30", "--report", "run.json"];
    world
        .run(["run", "tour.wasm", "-e", &variable].iter().chain(&load))
        .expect_code(0);
    let report = world.report("run.json");
    report.assert_balanced();
    assert_eq!(
        report.count("/requests/in_flight_at_stop"),
        0,
        "nothing was left at the end"
    );
    assert_eq!(
        report.count("/requests/attempted"),
        report.count("/requests/answered") + report.failed("cancelled"),
        "what was not answered was cancelled: two of three runners in each race"
    );
    assert_eq!(report.figure("http_req_failed", "passes"), 0.0);
}
