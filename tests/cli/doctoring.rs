//! `doctor`: a machine held against a plan, and nothing sent.

use serde_json::Value;

use super::world_with_idle_scenario;
use crate::support::namespace::skipped;
use crate::support::nettare::{Finished, Running, World};

const RULES: [&str; 10] = [
    "ports",
    "descriptors",
    "memory",
    "memory-maps",
    "cpus",
    "steal",
    "clock-source",
    "kernel-stamps",
    "accept-queue",
    "cpu-frequency",
];

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", finished.stdout))
}

fn finding<'a>(printed: &'a Value, rule: &str) -> &'a Value {
    let findings = printed["findings"].as_array().expect("a list");
    findings
        .iter()
        .find(|finding| finding["rule"] == rule)
        .unwrap_or_else(|| panic!("no {rule}: {printed}"))
}

#[test]
fn every_rule_has_a_line_and_a_word_and_an_entry() {
    let world = world_with_idle_scenario();
    for plan in [&[][..], &["idle.wasm", "-u", "2", "-d", "1s"]] {
        let printed = world.run([&["doctor"], plan].concat());
        let lines: Vec<Vec<&str>> = printed
            .stdout
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let listed = world.run([&["doctor", "--json"], plan].concat());
        let listed = json(&listed);
        assert_eq!(
            listed["plan"].as_array().map(Vec::is_empty),
            Some(plan.is_empty())
        );
        for rule in RULES {
            let severity = finding(&listed, rule)["severity"].as_str().expect("a word");
            let line = lines.iter().find(|words| words.get(1) == Some(&rule));
            // What is sampled may differ from one look to the next.
            let said = line.unwrap_or_else(|| panic!("no {rule} in\n{}", printed.stdout))[0];
            assert!(
                ["ok", "unknown", "warning", "error"].contains(&said),
                "{rule}: {said}"
            );
            assert!(
                rule == "steal" || said == severity,
                "{rule}: {said}, {severity}"
            );
        }
    }
    assert!(!world.runs().exists(), "nothing was run");
}

#[test]
fn memory_is_measured_on_the_scenario_itself() {
    let world = World::new();
    let filling = |pages: u32| {
        let fill = format!(
            r#"(func (export "init") (param i32 i32) (result i32)
                (drop (memory.grow (i32.const {pages})))
                (memory.fill (i32.const 65536) (i32.const 7) (i32.const {}))
                (i32.const 0))
              (func (export "run") (param i32 i64 i64 i64) (result i32) (i32.const 0))"#,
            pages * 65_536
        );
        super::module(&fill)
    };
    world.write("small.wasm", filling(1));
    world.write("large.wasm", filling(64));
    let each = |file: &str| {
        let printed = json(&world.run(["doctor", file, "-u", "4", "-d", "1s", "--json"]));
        printed["needs"]["bytes_per_vu"]
            .as_u64()
            .expect("it was measured")
    };
    let more = each("large.wasm").saturating_sub(each("small.wasm"));
    assert!(
        (3 << 20..6 << 20).contains(&more),
        "{more} bytes for 63 pages of 64 KiB"
    );
}

#[test]
fn a_million_users_are_too_many_by_name() {
    let world = world_with_idle_scenario();
    let arguments = ["idle.wasm", "-u", "1000000", "-d", "1s"];
    let finished = world
        .run([&["doctor", "--json"], &arguments[..]].concat())
        .expect_code(104);
    let printed = json(&finished);
    for rule in ["ports", "memory-maps"] {
        assert_eq!(finding(&printed, rule)["severity"], "error", "{rule}");
    }
    let refused = world
        .run([&["run"], &arguments[..]].concat())
        .expect_code(104);
    let sentence = finding(&printed, "ports")["sentence"]
        .as_str()
        .expect("a text");
    assert!(
        refused
            .stderr
            .contains("error: the plan needs 1,000,000 local ports"),
        "{}",
        refused.stderr
    );
    assert!(
        sentence.starts_with("the plan needs 1,000,000 local ports"),
        "{sentence}"
    );
}

#[test]
fn more_descriptors_than_the_hard_limit_are_an_error_and_fewer_are_taken() {
    let world = world_with_idle_scenario();
    let under = |arguments: &[&str]| {
        let by = ["prlimit", "--nofile=64:400"];
        Running::start(&mut world.command_under(&by, arguments)).finish()
    };
    let many = ["idle.wasm", "-u", "350", "-i", "350"];
    let refused = under(&[&["run"], &many[..]].concat()).expect_code(104);
    let sentence = "the plan needs 450 descriptors, and the hard limit is 400";
    assert!(
        refused.stderr.contains(&format!(
            "error: {sentence}\n\nhint: sudo prlimit --pid $$ --nofile=450:450;"
        )),
        "{}",
        refused.stderr
    );
    let printed = json(&under(&[&["doctor", "--json"], &many[..]].concat()).expect_code(104));
    assert_eq!(finding(&printed, "descriptors")["sentence"], sentence);

    let target = crate::support::target::spawn();
    let url = format!("{}/", target.url());
    let finished = under(&[
        "quick", &url, "-n", "2000", "-c", "200", "--report", "run.json",
    ])
    .expect_code(0);
    assert!(
        !finished.stderr.contains("descriptors"),
        "{}",
        finished.stderr
    );
    let report = world.report("run.json");
    assert_eq!(
        report.count("/requests/answered"),
        2_000,
        "the soft limit of 64 was raised"
    );
}

#[test]
fn what_cannot_be_read_is_unknown() {
    if !rustix::process::geteuid().is_root() {
        skipped("only root may hide /proc");
        return;
    }
    let world = world_with_idle_scenario();
    let hide = r#"mkdir none && mount --bind none /proc && exec "$0" "$@""#;
    let by = ["unshare", "--mount", "sh", "-c", hide];
    let arguments = ["doctor", "idle.wasm", "-u", "3", "-d", "1s", "--json"];
    let hidden = Running::start(&mut world.command_under(&by, arguments)).finish();
    let printed = json(&hidden.expect_code(0));
    assert_eq!(printed["result"], "ok");
    for rule in ["ports", "memory", "memory-maps", "steal", "accept-queue"] {
        assert_eq!(finding(&printed, rule)["severity"], "unknown", "{rule}");
    }
    assert_eq!(
        printed["needs"]["bytes_per_vu"],
        Value::Null,
        "nothing is made up"
    );
}

#[test]
fn flags_without_a_plan_are_a_mistake() {
    let finished = World::new().run(["doctor", "-u", "5"]).expect_code(2);
    assert!(
        finished
            .stderr
            .contains("error: the flags say something of a plan, and there is none"),
        "{}",
        finished.stderr
    );
    World::new().run(["doctor", "absent.toml"]).expect_code(104);
}
