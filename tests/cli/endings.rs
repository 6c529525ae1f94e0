//! How runs end: by their plan, by a signal, by a server that is not there, by a scenario that fails; and by which code.

use rustix::process::Signal;
use serde_json::Value;

use super::server::{Manner, Server, nobody};
use super::{module, scenario, world_with_idle_scenario};
use crate::support::nettare::World;

fn report(world: &World, name: &str) -> Value {
    serde_json::from_str(&world.read(name)).expect("a report is JSON")
}

fn causes(report: &Value) -> Vec<String> {
    serde_json::from_value(report["run"]["exit"]["causes"].clone()).expect("causes are words")
}

#[test]
fn a_run_that_does_what_was_asked_ends_with_0() {
    let world = World::new();
    let server = Server::start(Manner::Answer);
    let finished = world
        .run([
            "quick",
            &server.url(),
            "-n",
            "20",
            "-c",
            "2",
            "--report",
            "run.json",
        ])
        .expect_code(0);
    assert_eq!(server.requests(), 20);
    let report = report(&world, "run.json");
    assert_eq!(report["requests"]["answered"], 20);
    assert_eq!(report["iterations"]["completed"], 20);
    assert_eq!(
        report["run"]["exit"],
        serde_json::json!({ "code": 0, "causes": [] })
    );
    assert!(finished.stdout.contains("20"), "{}", finished.stdout);
}

#[test]
fn a_threshold_that_fails_ends_with_99() {
    let world = World::new();
    let server = Server::start(Manner::Answer);
    let thresholds = [
        "--threshold",
        "http_reqs: count>1000",
        "--threshold",
        "http_req_failed: rate<0.5",
    ];
    let arguments = [
        "quick",
        &server.url(),
        "-n",
        "5",
        "-c",
        "1",
        "--report",
        "run.json",
    ];
    world
        .run([&arguments[..], &thresholds].concat())
        .expect_code(99);
    let report = report(&world, "run.json");
    assert_eq!(causes(&report), ["threshold-failed"]);
    let results: Vec<&Value> = report["thresholds"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|t| &t["result"])
        .collect();
    assert!(
        results.contains(&&Value::from("fail")) && results.contains(&&Value::from("pass")),
        "{results:?}"
    );
}

#[test]
fn a_threshold_without_data_fails() {
    let world = World::new();
    let server = Server::start(Manner::Answer);
    world
        .run([
            "quick",
            &server.url(),
            "-n",
            "2",
            "-c",
            "1",
            "--threshold",
            "http_req_duration{name:nothing}: p(95)<200",
        ])
        .expect_code(99);
}

#[test]
fn a_target_that_is_not_there_makes_the_run_invalid() {
    let world = World::new();
    let finished = world
        .run([
            "quick",
            &nobody(),
            "-n",
            "5",
            "-c",
            "1",
            "--report",
            "run.json",
        ])
        .expect_code(111);
    let report = report(&world, "run.json");
    assert_eq!(report["verdict"]["result"], "invalid");
    assert_eq!(report["requests"]["failed"]["connect"], 5);
    assert!(
        finished.stdout.contains("nothing-answered"),
        "{}",
        finished.stdout
    );
}

#[test]
fn an_invalid_run_can_be_allowed_and_still_says_so() {
    let world = World::new();
    world
        .run([
            "quick",
            &nobody(),
            "-n",
            "2",
            "-c",
            "1",
            "--allow-invalid",
            "--report",
            "run.json",
        ])
        .expect_code(0);
    assert_eq!(report(&world, "run.json")["verdict"]["result"], "invalid");
}

#[test]
fn failures_of_the_network_are_counted_by_their_kind() {
    let hang_up = Server::start(Manner::HangUp);
    let rows = [
        ("nobody listens", nobody(), "connect"),
        ("the server hangs up", hang_up.url(), "reset"),
        ("no such host", "http://nowhere.invalid/".to_owned(), "dns"),
        (
            "no TLS there",
            hang_up.url().replace("http:", "https:"),
            "tls",
        ),
    ];
    for (sentence, url, kind) in rows {
        let world = World::new();
        world
            .run(["quick", &url, "-n", "1", "-c", "1", "--report", "run.json"])
            .expect_code(111);
        let report = report(&world, "run.json");
        assert_eq!(
            report["requests"]["failed"][kind], 1,
            "{sentence}: {}",
            report["requests"]
        );
        let example = report["errors"][0]["example"]
            .as_str()
            .expect("an error has an example");
        assert!(!example.is_empty(), "{sentence}");
    }
}

#[test]
fn a_deadline_ends_a_request_that_is_never_answered() {
    let world = World::new();
    let server = Server::start(Manner::Hold);
    world
        .run([
            "quick",
            &server.url(),
            "-n",
            "1",
            "-c",
            "1",
            "-t",
            "100ms",
            "--report",
            "run.json",
        ])
        .expect_code(111);
    assert_eq!(
        report(&world, "run.json")["requests"]["failed"]["timeout"],
        1
    );
}

#[test]
fn the_first_signal_stops_a_run_and_the_report_is_complete() {
    for (name, which) in [
        ("SIGINT", Signal::INT),
        ("SIGTERM", Signal::TERM),
        ("SIGHUP", Signal::HUP),
    ] {
        let world = World::new();
        let server = Server::start(Manner::Answer);
        let child = world.start([
            "quick",
            &server.url(),
            "-z",
            "10m",
            "-c",
            "1",
            "--report",
            "run.json",
        ]);
        server.wait_for_a_request();
        child.signal(which);
        let finished = child.finish().expect_code(105);
        assert!(
            finished.stderr.contains("a second signal cuts it off"),
            "{name}: {}",
            finished.stderr
        );
        let report = report(&world, "run.json");
        assert_eq!(causes(&report), ["stopped-by-signal"], "{name}");
        assert_eq!(
            report["requests"]["answered"],
            1 + server.requests(),
            "{name}"
        );
    }
}

#[test]
fn a_second_signal_cuts_off_what_is_under_way() {
    let world = World::new();
    let server = Server::start(Manner::Hold);
    let arguments = [
        "quick",
        &server.url(),
        "-z",
        "10m",
        "-c",
        "1",
        "-t",
        "10m",
        "--graceful-stop",
        "10m",
    ];
    let child = world.start([&arguments[..], &["--report", "run.json"]].concat());
    server.wait_for_a_request();
    // Two of a kind sent at once arrive as one (signal(7), "standard signals do not queue").
    child.signal(Signal::INT);
    child.signal(Signal::TERM);
    child.finish().expect_code(105);
    let report = report(&world, "run.json");
    assert_eq!(
        report["iterations"]["interrupted"], 1,
        "{}",
        report["iterations"]
    );
}

#[test]
fn a_grace_of_nothing_ends_at_once() {
    let world = World::new();
    let server = Server::start(Manner::Hold);
    let arguments = [
        "quick",
        &server.url(),
        "-z",
        "10m",
        "-c",
        "1",
        "-t",
        "10m",
        "--graceful-stop",
        "0s",
    ];
    let child = world.start([&arguments[..], &["--report", "run.json"]].concat());
    server.wait_for_a_request();
    child.signal(Signal::INT);
    child.finish().expect_code(105);
    assert_eq!(report(&world, "run.json")["iterations"]["interrupted"], 1);
}

#[test]
fn a_scenario_runs_once_unless_asked_for_more() {
    let world = world_with_idle_scenario();
    world
        .run(["run", "idle.wasm", "--report", "run.json"])
        .expect_code(0);
    assert_eq!(report(&world, "run.json")["iterations"]["completed"], 1);
}

#[test]
fn an_iteration_that_traps_fails_and_the_run_goes_on() {
    let world = World::new();
    world.write("trap.wasm", scenario("(unreachable)"));
    let finished = world
        .run(["run", "trap.wasm", "-i", "5", "--report", "run.json"])
        .expect_code(111);
    assert_eq!(report(&world, "run.json")["iterations"]["failed"], 5);
    assert!(
        finished.stdout.contains("5 iterations failed"),
        "{}",
        finished.stdout
    );
}

#[test]
fn hooks_that_trap_have_their_codes() {
    let run = r#"(func (export "run") (param i32 i64 i64 i64) (result i32) (i32.const 0))"#;
    let rows = [
        (
            "set-up",
            r#"(func (export "setup") (result i32) (unreachable))"#,
            100,
            "setup-failed",
        ),
        (
            "init",
            r#"(func (export "init") (param i32 i32) (result i32) (unreachable))"#,
            107,
            "scenario-not-loaded",
        ),
        (
            "tear-down",
            r#"(func (export "teardown") (param i32 i32) (result i32) (unreachable))"#,
            101,
            "teardown-failed",
        ),
    ];
    for (sentence, hook, code, cause) in rows {
        let world = World::new();
        world.write("hook.wasm", module(&format!("{run} {hook}")));
        let finished = world
            .run(["run", "hook.wasm", "--report", "run.json"])
            .expect_code(code);
        assert_eq!(causes(&report(&world, "run.json")), [cause], "{sentence}");
        assert!(
            finished.stderr.contains("error: "),
            "{sentence}: {}",
            finished.stderr
        );
    }
}

#[test]
fn a_scenario_that_loops_for_ever_is_interrupted() {
    let world = World::new();
    world.write("loop.wasm", scenario("(loop $again (br $again))"));
    world.write(
        "plan.toml",
        "[scenarios.loop]\nfile = 'loop.wasm'\niterations = 2\n[limits]\nguest-cpu = '20ms'\n",
    );
    world
        .run(["run", "plan.toml", "--report", "run.json"])
        .expect_code(111);
    assert_eq!(report(&world, "run.json")["iterations"]["failed"], 2);
}

#[test]
fn the_gravest_of_several_causes_decides_and_all_are_reported() {
    let world = World::new();
    let arguments = [
        "quick",
        &nobody(),
        "-n",
        "1",
        "-c",
        "1",
        "--report",
        "run.json",
    ];
    world
        .run([&arguments[..], &["--threshold", "http_reqs: count>5"]].concat())
        .expect_code(111);
    assert_eq!(
        causes(&report(&world, "run.json")),
        ["invalid-run", "threshold-failed"]
    );
}
