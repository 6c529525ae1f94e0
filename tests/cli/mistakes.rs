//! Mistakes: each gets one sentence with cause and remedy, and its code, and nothing is sent.

use insta::assert_snapshot;

use super::server::{Manner, Server};
use super::{module, scenario, stable, world_with_idle_scenario};
use crate::support::nettare::{Finished, World};

/// What the user sees of each command line, under its sentence.
fn told(world: &World, rows: &[(&str, i32, &[&str])]) -> String {
    let mut text = String::new();
    for (sentence, code, arguments) in rows {
        let Finished { stderr, stdout, .. } = world.run(*arguments).expect_code(*code);
        assert_eq!(stdout, "", "{sentence}");
        assert_eq!(stderr.matches("error:").count(), 1, "{sentence}: {stderr}");
        text.push_str(&format!(
            "# {sentence} ({code})\n$ nettare {}\n{stderr}\n",
            arguments.join(" ")
        ));
    }
    text
}

/// Each wrong in its own way, and its code.
const COMMAND_LINES: &[(&str, i32, &[&str])] = &[
    ("nothing at all", 2, &[]),
    ("an unknown command", 2, &["rum"]),
    ("a command of a later version", 2, &["find"]),
    (
        "an unknown flag",
        2,
        &["run", "idle.wasm", "--durration", "1s"],
    ),
    (
        "a flag of a later version",
        2,
        &["run", "idle.wasm", "--har", "a.har"],
    ),
    ("one file too many", 2, &["run", "idle.wasm", "idle.wasm"]),
    ("no file", 2, &["run"]),
    (
        "no virtual users",
        2,
        &["run", "idle.wasm", "--vus", "0", "-d", "1s"],
    ),
    (
        "a duration without unit",
        2,
        &["run", "idle.wasm", "-d", "30"],
    ),
    ("no time at all", 2, &["run", "idle.wasm", "-d", "0s"]),
    (
        "a rate of nothing",
        2,
        &["run", "idle.wasm", "--rate", "0/s", "-d", "1s"],
    ),
    ("a flag without its value", 2, &["run", "idle.wasm", "-d"]),
    (
        "a flag given twice",
        2,
        &["run", "idle.wasm", "-d", "1s", "-d", "2s"],
    ),
    (
        "both versions of HTTP",
        2,
        &["run", "idle.wasm", "--http1", "--http2"],
    ),
    (
        "a certificate without its key",
        2,
        &["run", "idle.wasm", "--cert", "a.pem"],
    ),
    (
        "a misspelt word",
        2,
        &["run", "idle.wasm", "--connections", "per-user"],
    ),
    (
        "a policy of a later version",
        2,
        &["run", "idle.wasm", "--connections", "shared:4"],
    ),
    (
        "a meter there is not",
        2,
        &["run", "idle.wasm", "--meter", "watts"],
    ),
    (
        "a share that is none",
        2,
        &["run", "idle.wasm", "--check-sample", "2"],
    ),
    (
        "a queue of an unknown kind",
        2,
        &["run", "idle.wasm", "--deferred-queue", "drop"],
    ),
    (
        "a report of a later version",
        2,
        &["run", "idle.wasm", "--report", "run.html"],
    ),
    (
        "a report of no version",
        2,
        &["run", "idle.wasm", "--report", "run.pdf"],
    ),
    (
        "a profile of no kind",
        2,
        &["run", "idle.wasm", "--profile-guest", "guest.png"],
    ),
    (
        "a profile where there is no guest",
        2,
        &["quick", "http://127.0.0.1/", "--profile-guest", "guest.svg"],
    ),
    (
        "a variable without a value",
        2,
        &["run", "idle.wasm", "-e", "TARGET"],
    ),
    (
        "a threshold that is none",
        2,
        &[
            "run",
            "idle.wasm",
            "--threshold",
            "http_req_duration: p(150)<200",
        ],
    ),
    ("a URL without scheme", 2, &["quick", "localhost:8080/"]),
    ("a URL of another scheme", 2, &["quick", "ftp://127.0.0.1/"]),
    ("no URL", 2, &["quick", "http://"]),
    (
        "both a number and a time",
        2,
        &["quick", "http://127.0.0.1/", "-n", "5", "-z", "1s"],
    ),
    (
        "both kinds of body",
        2,
        &["quick", "http://127.0.0.1/", "-d", "a", "-D", "b"],
    ),
    (
        "two content types",
        2,
        &[
            "quick",
            "http://127.0.0.1/",
            "-T",
            "a/b",
            "-H",
            "Content-Type: c/d",
        ],
    ),
    (
        "half a header field",
        2,
        &["quick", "http://127.0.0.1/", "-H", "Accept"],
    ),
    ("a page that is not there", 2, &["generate", "man", "find"]),
    (
        "a number beyond all numbers",
        2,
        &["quick", "http://127.0.0.1/", "-c", "99999999999"],
    ),
    (
        "a negative number",
        2,
        &["quick", "http://127.0.0.1/", "-n", "-5"],
    ),
    ("an address for a URL", 2, &["quick", "127.0.0.1:18080"]),
    (
        "a port that is none",
        2,
        &["quick", "http://127.0.0.1:99999/"],
    ),
    (
        "no address to listen on",
        2,
        &["demo-target", "--listen", "foo"],
    ),
    (
        "a rate beyond the clock",
        2,
        &["quick", "http://127.0.0.1/", "-q", "10000000000/s"],
    ),
    (
        "a metric that cannot be",
        2,
        &[
            "quick",
            "http://127.0.0.1/",
            "--threshold",
            "orders_placed: count>1",
        ],
    ),
    (
        "characters that move the cursor",
        2,
        &["quick", "http://127.0.0.1/", "-m", "G\u{1b}[2JT\nX"],
    ),
    ("a command of such", 2, &["r\u{1b}[31mun"]),
    (
        "the same report twice",
        2,
        &[
            "run",
            "idle.wasm",
            "--report",
            "a.json",
            "--report",
            "./a.json",
        ],
    ),
    (
        "an authority without TLS",
        2,
        &["demo-target", "--ca-out", "ca.pem"],
    ),
];

#[test]
fn of_the_command_line() {
    let world = world_with_idle_scenario();
    let text = told(&world, COMMAND_LINES);
    stable().bind(|| assert_snapshot!("mistakes-of-the-command-line", text));
}

/// Plans that are wrong by themselves or with their flags, and their codes.
const PLANS: &[(&str, i32, &[&str])] = &[
    ("no such plan", 104, &["run", "nowhere.toml"]),
    ("not TOML", 104, &["run", "syntax.toml"]),
    ("a misspelt key", 104, &["run", "unknown.toml"]),
    ("a key of a later version", 104, &["run", "later.toml"]),
    ("nothing in it", 104, &["run", "empty.toml"]),
    ("its scenario is not there", 107, &["run", "absent.toml"]),
    (
        "a flag that contradicts it",
        104,
        &["run", "open.toml", "--vus", "3"],
    ),
    (
        "flags that contradict each other",
        104,
        &["run", "idle.wasm", "--rate", "5/s", "--iterations", "5"],
    ),
    (
        "how many and not how long",
        104,
        &["run", "idle.wasm", "--vus", "5"],
    ),
    (
        "a rate and not how long",
        104,
        &["run", "idle.wasm", "--rate", "5/s"],
    ),
    (
        "a scenario that the guest has not",
        104,
        &["run", "plan.toml", "--scenario", "check"],
    ),
    (
        "a tag that is taken",
        104,
        &["run", "plan.toml", "--tag", "status=1"],
    ),
    (
        "a report in a directory that is not there",
        104,
        &["run", "plan.toml", "--report", "nowhere/run.json"],
    ),
    (
        "a profile in a directory that is not there",
        104,
        &["run", "plan.toml", "--profile-guest", "nowhere/guest.svg"],
    ),
    (
        "a report and a profile in one file",
        104,
        &[
            "run",
            "plan.toml",
            "--report",
            "a.json",
            "--profile-guest",
            "a.json",
        ],
    ),
    (
        "a host that is none",
        104,
        &["run", "plan.toml", "--allow-host", "http://a/"],
    ),
    (
        "a certificate that is not there",
        104,
        &["run", "plan.toml", "--cacert", "nowhere.pem"],
    ),
    (
        "a body that is not there",
        104,
        &["quick", "http://127.0.0.1:1/", "-D", "nowhere.json"],
    ),
    (
        "a report that is not there",
        104,
        &["report", "nowhere.json"],
    ),
    ("a report that is none", 104, &["report", "plan.toml"]),
    ("a report cut short", 104, &["report", "short.json"]),
    ("a condition that is none", 104, &["run", "condition.toml"]),
    (
        "a condition outside its list",
        104,
        &["run", "no-list.toml"],
    ),
    (
        "a metric without a condition",
        104,
        &["run", "no-condition.toml"],
    ),
    ("a host outside its list", 104, &["run", "host.toml"]),
    (
        "a misspelt key of a scenario",
        104,
        &["run", "unknown.toml"],
    ),
    ("a name that moves the cursor", 104, &["run", "name.toml"]),
    (
        "a tag that moves the cursor",
        104,
        &["run", "plan.toml", "--tag", "a=\u{1b}[31m"],
    ),
    ("a budget that cannot be kept", 104, &["run", "budget.toml"]),
    (
        "more workers than CPUs could be",
        104,
        &["run", "plan.toml", "--workers", "5000"],
    ),
    (
        "more virtual users than fit",
        104,
        &["run", "idle.wasm", "-u", "99999999", "-d", "1s"],
    ),
    (
        "a certificate that is none",
        104,
        &["run", "plan.toml", "--cacert", "plan.toml"],
    ),
    ("a plan without an end", 104, &["run", "endless.toml"]),
];

#[test]
fn of_the_plan() {
    let world = world_with_idle_scenario();
    let load = "vus = 2\nduration = '1s'\n";
    let table = "[scenarios.idle]\nfile = 'idle.wasm'\n";
    world.write("plan.toml", format!("{table}{load}"));
    world.write(
        "open.toml",
        format!("{table}executor = 'constant-arrival-rate'\nrate = '5/s'\nduration = '1s'\n"),
    );
    world.write("syntax.toml", "[run\n");
    world.write("unknown.toml", format!("{table}{load}vuss = 3\n"));
    world.write("later.toml", format!("{table}{load}stages = []\n"));
    world.write("empty.toml", "");
    let judged = |conditions: &str| format!("{table}{load}\n[thresholds]\n{conditions}\n");
    world.write(
        "condition.toml",
        judged("'http_req_duration' = ['p95<200']"),
    );
    world.write("no-list.toml", judged("'http_req_duration' = 'p(95)<200'"));
    world.write(
        "no-condition.toml",
        judged("'http_req_duration: p(95)<1' = []"),
    );
    world.write(
        "host.toml",
        format!("[run]\nallow-hosts = 'a'\n{table}{load}"),
    );
    world.write(
        "name.toml",
        format!("[scenarios.\"a\\u001b[31m\"]\nfile = 'idle.wasm'\n{load}"),
    );
    world.write(
        "budget.toml",
        format!("{table}{load}\n[limits]\nguest-cpu = '1ns'\n"),
    );
    world.write("short.json", r#"{"schema":"nettare.report/1","run":{"id""#);
    std::os::unix::fs::symlink("/dev/zero", world.work().join("endless.toml")).unwrap();
    world.write("absent.toml", "[scenarios.a]\nfile = 'nowhere.wasm'\n");
    let text = told(&world, PLANS);
    stable().bind(|| assert_snapshot!("mistakes-of-the-plan", text));
}

#[test]
fn of_the_scenario() {
    let world = World::new();
    let run = r#"(func (export "run") (param i32 i64 i64 i64) (result i32) (i32.const 0))"#;
    let import = |name: &str| {
        let text = format!(
            r#"(module (import {name} (func)) (memory (export "memory") 1)
               (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)) {run})"#
        );
        wat::parse_str(text).expect("the text is WebAssembly")
    };
    world.write("text.wasm", "hello");
    world.write("damaged.wasm", &scenario("")[..20]);
    world.write("no-run.wasm", module(""));
    world.write("other-type.wasm", module(r#"(func (export "run"))"#));
    world.write("unknown.wasm", import(r#""env" "fopen""#));
    world.write(
        "unknown-door.wasm",
        import(r#""nettare:load/files@0.1.0" "open""#),
    );
    world.write(
        "other-version.wasm",
        import(r#""nettare:load/log@0.2.0" "write""#),
    );
    let text = told(
        &world,
        &[
            ("no such file", 107, &["run", "nowhere.wasm"]),
            ("no WebAssembly", 107, &["run", "text.wasm"]),
            ("half of it", 107, &["run", "damaged.wasm"]),
            ("nothing to run", 107, &["run", "no-run.wasm"]),
            ("another type", 107, &["run", "other-type.wasm"]),
            ("an import of nobody's", 107, &["run", "unknown.wasm"]),
            (
                "an import of ours that is not there",
                107,
                &["run", "unknown-door.wasm"],
            ),
            (
                "another version of the contract",
                107,
                &["run", "other-version.wasm"],
            ),
        ],
    );
    stable().bind(|| assert_snapshot!("mistakes-of-the-scenario", text));
}

#[test]
fn are_found_before_anything_is_sent() {
    let world = World::new();
    let server = Server::start(Manner::Answer);
    let url = server.url();
    world
        .run(["quick", &url, "-n", "5", "--report", "nowhere/run.json"])
        .expect_code(104);
    world
        .run(["quick", &url, "-n", "5", "--cacert", "nowhere.pem"])
        .expect_code(104);
    world
        .run(["quick", &url, "-n", "5", "-c", "0"])
        .expect_code(2);
    assert_eq!(server.requests(), 0);
    assert!(!world.runs().exists(), "no run was begun, so none is kept");
}

#[test]
fn of_variables_are_told_by_their_names() {
    let world = world_with_idle_scenario();
    let mut text = String::new();
    for (name, value) in [
        ("NETTARE_VUS", "many"),
        ("NETTARE_DURATION", "5"),
        ("NETTARE_CONNECTIONS", "shared:2"),
    ] {
        let output = world
            .command(["run", "idle.wasm"])
            .env(name, value)
            .output()
            .expect("the binary starts");
        let Finished { stderr, .. } = Finished::from(output).expect_code(2);
        text.push_str(&format!(
            "$ {name}={value} nettare run idle.wasm\n{stderr}\n"
        ));
    }
    stable().bind(|| assert_snapshot!("mistakes-of-variables", text));
}
