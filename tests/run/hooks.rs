//! Requests of the hooks around the iterations.

use crate::support::guests::guest;
use crate::support::nettare::World;
use crate::support::target;

/// They are made before the first iteration and belong to none.
#[test]
fn requests_of_init_are_in_order() {
    let (world, target) = (World::new(), target::spawn());
    world.write("burn.wasm", guest("burn"));
    let environment = format!("TARGET={}/bytes/10", target.url());
    let load = ["-u", "3", "-i", "9", "--report", "run.json"];
    let variables = ["-e", &environment, "-e", "BURN_US=1"];
    world
        .run(["run", "burn.wasm"].iter().chain(&variables).chain(&load))
        .expect_code(0);
    // Nine in iterations, three in each `init`.
    assert_eq!(target.counts().finished, 18);
    world.report("run.json").assert_balanced();
}

/// Their instances are lost, and new ones would have to run `init` in a run that is over.
#[test]
fn guests_that_the_end_interrupts_are_not_made_anew() {
    let (world, target) = (World::new(), target::spawn());
    world.write("burn.wasm", guest("burn"));
    let environment = format!("TARGET={}/bytes/10", target.url());
    let load = [
        "-u",
        "3",
        "-d",
        "500ms",
        "--graceful-stop",
        "0s",
        "--report",
        "run.json",
    ];
    let variables = ["-e", &environment, "-e", "BURN_US=600000000"];
    let finished = world
        .run(["run", "burn.wasm"].iter().chain(&variables).chain(&load))
        .expect_code(0);
    assert!(!finished.stderr.contains("warning"), "{}", finished.stderr);
    let report = world.report("run.json");
    report.assert_balanced();
    assert_eq!(report.count("/iterations/interrupted"), 3);
    // Three in each `init`, one in each iteration, and none after the end.
    assert_eq!(target.counts().finished, 12);
}
