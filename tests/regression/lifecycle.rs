//! Starting, ending, and what an end leaves behind.

use serde_json::Value;

use crate::support::guests::guest;
use crate::support::nettare::World;
use crate::support::target;

/// <https://github.com/grafana/k6/issues/652>: fewer iterations than there were, by the number of users.
#[test]
fn case_023_interrupted_iterations_are_counted_apart() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/delay/60000", target.url());
    world.run([
        "quick",
        &url,
        "-z",
        "1s",
        "-c",
        "5",
        "--graceful-stop",
        "0s",
        "--report",
        "run.json",
    ]);
    let report = world.report("run.json");
    report.assert_balanced();
    let iterations = ["started", "completed", "interrupted"]
        .map(|name| report.count(&format!("/iterations/{name}")));
    assert_eq!(iterations, [5, 0, 5]);
    assert_eq!(target.counts().begun, 5);
}

/// <https://github.com/grafana/k6/issues/2937>: it hung after the summary, or lost the last samples.
#[test]
fn case_094_the_last_samples_are_in_the_report() {
    let (world, target) = (World::new(), target::spawn());
    // Fewer than a second's worth, so that nothing but the end of the run collects them.
    let url = format!("{}/", target.url());
    world
        .run(["quick", &url, "-n", "3", "-c", "1", "--report", "run.json"])
        .expect_code(0);
    let report = world.report("run.json");
    report.assert_balanced();
    assert_eq!(report.figure("http_req_duration", "count"), 3.0);
    assert_eq!(
        report.count("/iterations/completed"),
        target.counts().finished
    );
}

/// <https://github.com/envoyproxy/nighthawk/issues/804>: seven to ten minutes of draining after a run of 30 s.
#[test]
fn case_095_draining_ends_with_the_grace_time() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/delay/60000", target.url());
    world.run([
        "quick",
        &url,
        "-z",
        "1s",
        "-c",
        "50",
        "--graceful-stop",
        "1s",
        "--report",
        "run.json",
    ]);
    let report = world.report("run.json");
    report.assert_balanced();
    assert_eq!(report.count("/iterations/interrupted"), 50);
    let asked_ns = 2_000_000_000;
    assert!(
        report.count("/run/duration_ns") < 2 * asked_ns,
        "the run took {} ns",
        report.count("/run/duration_ns")
    );
}

/// A guest, in the text format, whose every third iteration ends as told.
fn guest_whose_every_third_iteration(ends: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
             (memory (export "memory") 1)
             (data (i32.const 64) "no stock")
             (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
             ;; The arrival: scenario, sequence, due, started. The result: where the answer lies.
             (func (export "run") (param i32 i64 i64 i64) (result i32)
               (i32.store8 (i32.const 0) (i32.const 0))
               (if (i64.eqz (i64.rem_u (local.get 1) (i64.const 3))) (then {ends}))
               (i32.const 0)))"#
    );
    wat::parse_str(text).expect("the guest is WebAssembly")
}

/// <https://github.com/artilleryio/artillery/issues/1776>: one failed capture, and all later users skipped the rest.
#[test]
fn case_100_a_failure_stays_in_its_iteration() {
    let error = r"(i32.store8 (i32.const 0) (i32.const 1))
                  (i32.store (i32.const 4) (i32.const 64))
                  (i32.store (i32.const 8) (i32.const 8))";
    for (sentence, ends) in [("an error", error), ("a trap", "unreachable")] {
        let world = World::new();
        world.write("guest.wasm", guest_whose_every_third_iteration(ends));
        world.run([
            "run",
            "guest.wasm",
            "-u",
            "7",
            "-i",
            "300",
            "--report",
            "run.json",
        ]);
        let report = world.report("run.json");
        report.assert_balanced();
        let iterations = ["started", "failed", "completed"]
            .map(|name| report.count(&format!("/iterations/{name}")));
        assert_eq!(iterations, [300, 100, 200], "{sentence}");
    }
}

/// <https://github.com/tag1consulting/goose/pull/348>: the time of a run began before all of its users were there.
#[test]
fn case_103_time_begins_when_every_virtual_user_is_ready() {
    let (world, target) = (World::new(), target::spawn());
    world.write("burn.wasm", guest("burn"));
    // Three requests in each `init`: getting ready takes longer than a second.
    let environment = format!("TARGET={}/delay/400", target.url());
    let load = ["-u", "5", "-d", "1s", "--report", "run.json"];
    let variables = ["-e", &environment, "-e", "BURN_US=1"];
    world
        .run(["run", "burn.wasm"].iter().chain(&variables).chain(&load))
        .expect_code(0);
    let report = world.report("run.json");
    report.assert_balanced();
    let journal = std::fs::read_to_string(world.runs().join("last/journal.ndjson")).unwrap();
    let first = journal
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|line| line["event"] == "interval")
        .expect("the run has a first second");
    let started = &first["data"]["iterations"]["started"];
    assert!(
        started.as_u64() >= Some(5),
        "all began in the first second of the run: {started}"
    );
}
