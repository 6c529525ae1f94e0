//! A scenario is the same scenario in whatever language it is written.

use std::collections::BTreeMap;

use crate::support::guests::guest;
use crate::support::nettare::World;
use crate::support::target;

#[test]
fn the_same_scenario_gives_the_same_report_in_three_languages() {
    let reports = ["hello", "hello-c", "hello-wat"].map(|name| (name, counts_of(name)));
    let (_, expected) = &reports[0];
    assert_eq!(expected["http_reqs {}"], "100");
    for (name, counts) in &reports {
        assert_eq!(counts, expected, "{name}");
    }
}

/// Runs an example, and gives of its report what does not depend on time: each metric with its tags, and its count.
fn counts_of(name: &str) -> BTreeMap<String, String> {
    let (world, target) = (World::new(), target::spawn());
    world.write("guest.wasm", guest(name));
    let environment = format!("TARGET={}", target.url());
    let load = [
        "-u", "5", "-i", "100", "--seed", "1", "--report", "run.json",
    ];
    world
        .run(
            ["run", "guest.wasm", "-e", &environment]
                .iter()
                .chain(&load),
        )
        .expect_code(0);
    assert_eq!(target.counts().finished, 100, "{name}");
    let report = world.report("run.json");
    report.assert_balanced();
    report.metrics().filter_map(count).collect()
}

/// A metric's name and tags, and how often it was recorded; none for gauges, whose samples are taken by the clock.
fn count(metric: &serde_json::Value) -> Option<(String, String)> {
    let counted = match metric["kind"].as_str().expect("a kind") {
        "trend" => metric["count"].to_string(),
        "counter" => metric["value"].to_string(),
        "rate" => format!("{} passed, {} failed", metric["passes"], metric["fails"]),
        _ => return None,
    };
    Some((
        format!(
            "{} {}",
            metric["name"].as_str().expect("a name"),
            metric["tags"]
        ),
        counted,
    ))
}
