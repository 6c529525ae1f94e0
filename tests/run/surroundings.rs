//! What a run does not depend on: how many CPUs there are, and what else the environment says.

use serde_json::Value;

use crate::support::nettare::{Running, World};
use crate::support::target;

/// One of the CPUs that this process may run on.
fn a_cpu() -> String {
    let status =
        std::fs::read_to_string("/proc/self/status").expect("Linux shows a process its status");
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .expect("it has a list of CPUs");
    allowed
        .trim()
        .split([',', '-'])
        .next()
        .expect("the list is not empty")
        .to_owned()
}

#[test]
fn case_096_a_run_on_one_cpu_ends() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/", target.url());
    let arguments = [
        "quick",
        &url,
        "-n",
        "2000",
        "-c",
        "32",
        "--workers",
        "4",
        "--report",
        "run.json",
    ];
    let mut on_one_cpu = world.command_under(&["taskset", "--cpu-list", &a_cpu()], arguments);
    Running::start(&mut on_one_cpu).finish().expect_code(0);
    let report = world.report("run.json");
    report.assert_balanced();
    assert_eq!(
        (report.count("/requests/answered"), target.counts().finished),
        (2_000, 2_000)
    );
}

#[test]
fn case_098_variables_that_are_not_ours_change_nothing() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/", target.url());
    let plan = |foreign: &[(&str, &str)]| -> Value {
        let mut command =
            world.command(["quick", &url, "-n", "20", "-c", "2", "--report", "run.json"]);
        command.envs(foreign.iter().copied());
        Running::start(&mut command).finish().expect_code(0);
        let mut plan = world.report("run.json").value("/run/plan").clone();
        plan["run"]["seed"] = Value::Null;
        plan
    };
    let foreign = [
        ("DURATION", "1h"),
        ("ITERATIONS", "7"),
        ("VUS", "9"),
        ("RATE", "1"),
        ("K6_VUS", "9"),
        ("K6_DURATION", "1h"),
        ("HTTP_PROXY", "http://127.0.0.1:1"),
        ("http_proxy", "http://127.0.0.1:1"),
        ("ALL_PROXY", "http://127.0.0.1:1"),
        ("RUST_LOG", "trace"),
        ("TIMEOUT", "1ns"),
    ];
    assert_eq!(plan(&foreign), plan(&[]));
    assert_eq!(target.counts().finished, 40);
}
