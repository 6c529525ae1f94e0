//! Plans looked at, not run.

use insta::assert_snapshot;

use super::{stable, world_with_idle_scenario};
use crate::support::nettare::World;

const PLAN: &str = "\
[run]
allow-hosts = ['10.0.0.0/8']
env = { TARGET = 'https://shop.example/' }

[scenarios.shop]
file = 'idle.wasm'
executor = 'constant-arrival-rate'
rate = '50/s'
duration = '5m'
tags = { team = 'payments' }

[thresholds]
'http_req_duration' = ['p(95)<200', { check = 'p(99)<500ms', abort-on-fail = true }]

[limits]
guest-memory = '1MiB'
";

fn world_with_plan() -> World {
    let world = world_with_idle_scenario();
    world.write("plan.toml", PLAN);
    world
}

#[test]
fn shows_every_value_and_where_it_came_from() {
    let world = world_with_plan();
    let mut command = world.command([
        "inspect",
        "plan.toml",
        "--max-vus",
        "40",
        "--timeout",
        "5s",
        "-e",
        "SKU=42",
    ]);
    let output = command
        .env("NETTARE_MAX_REDIRECTS", "3")
        .output()
        .expect("the binary starts");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    stable().bind(|| assert_snapshot!("inspect-plan", text));
    assert!(!world.runs().exists(), "nothing was run");
}

#[test]
fn shows_a_scenario_without_a_plan() {
    let world = world_with_idle_scenario();
    let finished = world.run(["inspect", "idle.wasm"]).expect_code(0);
    stable().bind(|| assert_snapshot!("inspect-scenario", finished.stdout));
}

#[test]
fn what_it_prints_can_be_saved_and_run() {
    let world = world_with_plan();
    let printed = world
        .run(["inspect", "plan.toml", "--max-vus", "40"])
        .expect_code(0)
        .stdout;
    world.write("saved.toml", &printed);
    let again = world.run(["inspect", "saved.toml"]).expect_code(0).stdout;
    let values = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| {
                line.split('#')
                    .next()
                    .unwrap_or_default()
                    .trim_end()
                    .to_owned()
            })
            .collect()
    };
    assert_eq!(values(&again), values(&printed));
}

#[test]
fn a_plan_runs_from_wherever_it_is_called() {
    let world = world_with_plan();
    std::fs::create_dir(world.work().join("below")).unwrap();
    let mut command = world.command(["inspect", "../plan.toml", "--max-vus", "5"]);
    let output = command
        .current_dir(world.work().join("below"))
        .output()
        .expect("the binary starts");
    assert!(output.status.success(), "{output:?}");
}
