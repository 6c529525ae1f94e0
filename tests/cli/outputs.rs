//! What runs leave behind and print on the way.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use super::server::{Manner, Server};
use super::world_with_idle_scenario;
use crate::support::nettare::{Finished, World};

#[test]
fn a_run_is_kept_in_a_directory_of_its_own() {
    let world = world_with_idle_scenario();
    world.run(["run", "idle.wasm"]).expect_code(0);
    world.run(["run", "idle.wasm", "-i", "3"]).expect_code(0);
    let last = world.runs().join("last");
    let report: Value =
        serde_json::from_slice(&fs::read(last.join("report.json")).unwrap()).unwrap();
    assert_eq!(
        report["iterations"]["completed"], 3,
        "`last` is the newer one"
    );
    let kept = fs::read_dir(world.runs()).unwrap().count();
    assert_eq!(kept, 3, "two runs and the link");
    let journal = fs::read_to_string(last.join("journal.ndjson")).unwrap();
    let head: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
    assert_eq!(head["schema"], "nettare.journal/1");
    assert_eq!(head["id"], report["run"]["id"]);
    let events: Vec<String> = journal
        .lines()
        .skip(1)
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["event"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        events.first().map(String::as_str),
        Some("preparing"),
        "{events:?}"
    );
    assert_eq!(
        events.last().map(String::as_str),
        Some("finished"),
        "{events:?}"
    );
    assert!(events.contains(&"interval".to_owned()), "{events:?}");
}

#[test]
fn a_run_directory_that_cannot_be_made_is_a_warning() {
    let world = world_with_idle_scenario();
    let blocked = world.write("blocked", "a file where a directory should be");
    let mut command = world.command(["run", "idle.wasm"]);
    let output = command
        .env("XDG_STATE_HOME", blocked)
        .output()
        .expect("the binary starts");
    let finished = Finished::from(output).expect_code(0);
    assert!(
        finished.stderr.contains("warning: the run is not kept"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_report_that_is_lost_at_the_end_ends_with_114_and_is_kept_elsewhere() {
    let world = world_with_idle_scenario();
    std::os::unix::fs::symlink("/dev/full", world.work().join("full.json")).unwrap();
    let finished = world
        .run([
            "run",
            "idle.wasm",
            "--report",
            "full.json",
            "--report",
            "good.json",
        ])
        .expect_code(114);
    assert!(
        finished.stderr.contains("`full.json` could not be written"),
        "{}",
        finished.stderr
    );
    assert!(world.read("good.json").contains("nettare.report/1"));
    let kept: Value =
        serde_json::from_slice(&fs::read(world.runs().join("last/report.json")).unwrap()).unwrap();
    assert_eq!(kept["run"]["exit"]["causes"][0], "output-lost");
}

#[test]
fn a_run_is_not_kept_when_nobody_wants_it() {
    let world = world_with_idle_scenario();
    world.run(["run", "idle.wasm", "--no-save"]).expect_code(0);
    assert!(!world.runs().exists());
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    let world = world_with_idle_scenario();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = world.command(["--help"]);
    let status = command.stdout(full).stderr(Stdio::null()).status();
    assert_eq!(status.expect("the binary starts").code(), Some(114));
}

#[test]
fn a_body_over_its_limit_is_told_with_the_flag_that_raises_it() {
    let world = World::new();
    let server = Server::start(Manner::Answer);
    let finished = world
        .run([
            "quick",
            &server.url(),
            "-n",
            "2",
            "-c",
            "1",
            "--body-limit",
            "1B",
            "--allow-invalid",
        ])
        .expect_code(0);
    for words in [
        "passed its limit of 1B",
        "--body-limit",
        "2 failed after it",
    ] {
        assert!(
            finished.stdout.contains(words),
            "{words}: {}",
            finished.stdout
        );
    }
    assert!(
        !finished.stdout.contains("not expected"),
        "{}",
        finished.stdout
    );
}

#[test]
fn the_authority_of_a_target_with_tls_can_be_had_and_trusted() {
    use std::io::{BufRead, BufReader};
    let world = World::new();
    let mut target = world
        .command(["demo-target", "--tls", "--ca-out", "ca.pem"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut url = String::new();
    let stdout = target.stdout.take().expect("it is piped");
    BufReader::new(stdout)
        .read_line(&mut url)
        .expect("it says where it is");
    let trusted = world.run([
        "quick",
        url.trim(),
        "-n",
        "2",
        "-c",
        "1",
        "--cacert",
        "ca.pem",
    ]);
    let strange = world.run(["quick", url.trim(), "-n", "2", "-c", "1"]);
    crate::support::nettare::signal(&target, rustix::process::Signal::TERM);
    target.wait().expect("it ends");
    trusted.expect_code(0);
    let strange = strange.expect_code(111);
    assert!(strange.stdout.contains("--cacert"), "{}", strange.stdout);
}

#[test]
fn a_report_without_permission_is_refused_before_the_run() {
    let world = world_with_idle_scenario();
    let folder = world.work().join("locked");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    // Whoever may write everywhere (root) is not refused; then there is nothing to test here.
    if fs::write(folder.join("probe"), "").is_ok() {
        return;
    }
    world
        .run(["run", "idle.wasm", "--report", "locked/run.json"])
        .expect_code(104);
}

#[test]
fn a_saved_report_is_printed_as_the_run_printed_it() {
    let world = world_with_idle_scenario();
    let ran = world
        .run(["run", "idle.wasm", "--report", "run.json"])
        .expect_code(0);
    let shown = world.run(["report", "run.json"]).expect_code(0);
    let (summary, _) = ran
        .stdout
        .split_once("Written")
        .unwrap_or((&ran.stdout, ""));
    assert_eq!(shown.stdout.trim(), summary.trim());
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let world = World::new();
    let mut child = world
        .command(["generate", "reference", "commands"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn quiet_leaves_the_summary_and_the_errors() {
    let world = world_with_idle_scenario();
    let finished = world.run(["run", "idle.wasm", "--quiet"]).expect_code(0);
    assert_eq!(finished.stderr, "");
    assert!(!finished.stdout.is_empty());
    let finished = world
        .run(["run", "idle.wasm", "--quiet", "--rate", "1/s"])
        .expect_code(104);
    assert!(
        finished.stderr.starts_with("error: "),
        "{}",
        finished.stderr
    );
}

#[test]
fn there_are_no_escapes_off_a_terminal() {
    let world = world_with_idle_scenario();
    let finished = world.run(["run", "idle.wasm", "-v"]).expect_code(0);
    assert!(!finished.stdout.contains('\x1b') && !finished.stderr.contains('\x1b'));
}

#[test]
fn quick_prints_back_what_it_understood() {
    let rows: [(&[&str], &str); 4] = [
        (
            &["-n", "3", "-c", "2"],
            "3 requests in total over 2 connections, as fast as they go",
        ),
        (
            &["-n", "3", "-c", "1", "-q", "500"],
            "3 requests in total over 1 connection, at most 500 req/s in total",
        ),
        (&["-n", "1"], "1 request in total over 1 connection"),
        (
            &["-z", "100ms", "-q", "50", "-c", "2"],
            "50 req/s in total, due by the clock, over at most 2 connections, for 100ms",
        ),
    ];
    for (flags, understood) in rows {
        let world = World::new();
        let server = Server::start(Manner::Answer);
        let finished = world
            .run([&["quick", &server.url()], flags].concat())
            .expect_code(0);
        assert!(
            finished.stderr.contains(understood),
            "{flags:?}: {}",
            finished.stderr
        );
    }
}

#[test]
fn variables_stand_for_flags() {
    let world = world_with_idle_scenario();
    let mut command = world.command(["run", "idle.wasm", "--report", "run.json"]);
    command.envs([
        ("NETTARE_ITERATIONS", "4"),
        ("DURATION", "1h"),
        ("NETTARE_VUSS", "2"),
    ]);
    let finished = Finished::from(command.output().expect("the binary starts")).expect_code(0);
    let report: Value = serde_json::from_str(&world.read("run.json")).unwrap();
    assert_eq!(report["iterations"]["completed"], 4);
    assert!(
        finished
            .stderr
            .contains("warning: the variable NETTARE_VUSS stands for no flag"),
        "{}",
        finished.stderr
    );
}
