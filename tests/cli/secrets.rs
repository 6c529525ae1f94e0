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
fn a_url_that_is_none_is_quoted_without_its_password() {
    let world = World::new();
    for url in ["http://anna:hush@127.0.0.1:99999/", "ftp://anna:hush@x/"] {
        let finished = world.run(["quick", url]).expect_code(2);
        assert!(!finished.stderr.contains("hush"), "{}", finished.stderr);
    }
}
