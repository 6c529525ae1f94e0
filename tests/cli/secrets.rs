//! What gives access to a server is in no result: results are kept by CI systems and sent to colleagues.

use std::fs;
use std::path::Path;

use super::server::{Manner, Server};
use super::world_with_idle_scenario;
use crate::support::nettare::{Finished, World};

/// The word that must not be found, and what it becomes as `anna:hush` by RFC 7617.
const SECRETS: [&str; 2] = ["hush", "YW5uYTpodXNo"];

fn assert_no_secret(world: &World, finished: &Finished) {
    for secret in SECRETS {
        assert!(!finished.stdout.contains(secret), "{}", finished.stdout);
        assert!(!finished.stderr.contains(secret), "{}", finished.stderr);
    }
    let files = files_below(&world.runs());
    assert!(files > 1, "the report and the journal are there");
    assert!(files_below(&world.work()) > 0, "and what was asked for");
}

/// Looks into every file, and counts them.
fn files_below(folder: &Path) -> usize {
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            seen += files_below(&path);
            continue;
        }
        let content = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        for secret in SECRETS {
            assert!(!content.contains(secret), "{}: {content}", path.display());
        }
        seen += 1;
    }
    seen
}

#[test]
fn a_url_and_headers_with_secrets_leave_none_behind() {
    let world = World::new();
    let server = Server::start(Manner::Answer);
    let url = server.url().replace("http://", "http://anna:hush@");
    let finished = world
        .run([
            "quick",
            &url,
            "-n",
            "2",
            "-c",
            "1",
            "-H",
            "x-api-key: hush",
            "-H",
            "accept: text/plain",
            "--report",
            "run.json",
        ])
        .expect_code(0);
    assert_no_secret(&world, &finished);
    let report = world.read("run.json");
    assert!(report.contains("x-api-key") && report.contains("text/plain"));
    assert!(report.contains(&server.url()), "all but the user is there");
}

#[test]
fn a_variable_with_a_secret_leaves_none_behind() {
    let world = world_with_idle_scenario();
    let finished = world
        .run([
            "run",
            "idle.wasm",
            "-e",
            "API_TOKEN=hush",
            "-e",
            "SIZE=large",
            "--report",
            "run.json",
        ])
        .expect_code(0);
    assert_no_secret(&world, &finished);
    let report = world.read("run.json");
    assert!(report.contains("API_TOKEN") && report.contains("large"));
}

#[test]
fn urls_within_values_leave_no_secret_behind() {
    let world = world_with_idle_scenario();
    let variables = [
        "TARGET=http://anna:hush@127.0.0.1:1/",
        "DB=postgres://anna:hush@db/x",
        "SITE=anna:hush@127.0.0.1",
        "HOOK=http://127.0.0.1:1/?key=hush&size=large",
        "DSN=Server=db;Password=hush",
    ];
    let flags = variables.iter().flat_map(|variable| ["-e", variable]);
    let arguments = ["run", "idle.wasm", "--report", "run.json"];
    let finished = world.run(arguments.into_iter().chain(flags)).expect_code(0);
    assert_no_secret(&world, &finished);
    assert!(world.read("run.json").contains("size=large"));
}

#[test]
fn requests_with_secrets_leave_none_behind() {
    let server = Server::start(Manner::Answer);
    let url = format!("{}?token=hush&password=hush&size=large", server.url());
    let rows: &[&[&str]] = &[
        &[],
        &["-H", "referer: http://anna:hush@127.0.0.1/"],
        &["-d", "user=anna&password=hush"],
        &["-d", r#"{"token": "hush"}"#],
        &["--user-agent", "mine (http://anna:hush@127.0.0.1/)"],
    ];
    for flags in rows {
        let world = World::new();
        let load = ["quick", &url, "-n", "1", "--report", "run.json"];
        let finished = world.run([&load, *flags].concat()).expect_code(0);
        assert_no_secret(&world, &finished);
        assert!(world.read("run.json").contains("size=large"), "{flags:?}");
    }
}

#[test]
fn failures_are_told_without_secrets() {
    let world = World::new();
    let finished = world
        .run([
            "quick",
            &format!("{}?token=hush", super::server::nobody()),
            "-n",
            "1",
            "--report",
            "run.json",
        ])
        .expect_code(111);
    assert_no_secret(&world, &finished);
}

#[test]
fn what_is_wrongly_typed_is_not_repeated_with_its_secrets() {
    let world = world_with_idle_scenario();
    let rows: &[(i32, &[&str])] = &[
        (2, &["quick", "http://anna:hush@127.0.0.1:99999/"]),
        (2, &["quick", "ftp://anna:hush@x/"]),
        (2, &["quick", "anna:hush@127.0.0.1"]),
        (2, &["quick", "http://anna:a/hush@127.0.0.1/"]),
        (
            2,
            &["quick", "http://127.0.0.1/", "http://127.0.0.1/?token=hush"],
        ),
        (
            2,
            &["quick", "http://127.0.0.1/", "http://anna:hush@127.0.0.1/"],
        ),
        (
            2,
            &[
                "quick",
                "http://127.0.0.1/",
                "-H",
                "Authorization Bearer hush",
            ],
        ),
        (
            2,
            &[
                "quick",
                "http://127.0.0.1/",
                "-H",
                "Authorization Bearer hush: x",
            ],
        ),
        (2, &["quick", "http://127.0.0.1/", "--password=hush"]),
        (2, &["run", "idle.wasm", "-e", "hush"]),
        (2, &["run", "idle.wasm", "-e", "=hush"]),
        (
            104,
            &["run", "idle.wasm", "--allow-host", "http://anna:hush@foo"],
        ),
        (
            104,
            &[
                "quick",
                "http://127.0.0.1/",
                "--allow-host",
                "anna:hush@foo",
            ],
        ),
    ];
    for (code, arguments) in rows {
        let finished = world.run(*arguments).expect_code(*code);
        assert!(
            !finished.stderr.contains("hush"),
            "{arguments:?}: {}",
            finished.stderr
        );
    }
    let output = world
        .command(["quick", "http://127.0.0.1/"])
        .env("NETTARE_HEADER", "Authorization Bearer hush")
        .output()
        .expect("the binary starts");
    let finished = Finished::from(output).expect_code(2);
    assert!(!finished.stderr.contains("hush"), "{}", finished.stderr);
}

#[test]
fn a_plan_is_looked_at_without_its_secrets_and_not_run_without_them() {
    let world = world_with_idle_scenario();
    let variables = ["-e", "API_TOKEN=hush", "-e", "DB=postgres://anna:hush@db/x"];
    let arguments = ["inspect", "idle.wasm"].iter().chain(&variables);
    let shown = world.run(arguments).expect_code(0).stdout;
    assert!(!shown.contains("hush"), "{shown}");
    assert!(shown.contains("# Secrets are not printed"), "{shown}");
    world.write("saved.toml", shown);
    let refused = world.run(["run", "saved.toml"]).expect_code(104);
    assert!(
        refused.stderr.contains("for `API_TOKEN`"),
        "{}",
        refused.stderr
    );
    world
        .run(["run", "saved.toml", "-e", "API_TOKEN=again"])
        .expect_code(0);
}
