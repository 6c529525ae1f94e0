//! `--profile-guest`: where one virtual user's guest spends its CPU time.

use serde_json::Value;

use crate::support::guests::guest;
use crate::support::nettare::{Finished, World};
use crate::support::target;

/// Runs the guest that burns 2 ms of CPU in each of 50 iterations, and writes its profile.
fn burn(world: &World, file: &str, more: &[&str]) -> Finished {
    let target = target::spawn();
    world.write("burn.wasm", guest("burn"));
    let environment = format!("TARGET={}/bytes/10", target.url());
    let arguments = [
        "run",
        "burn.wasm",
        "-i",
        "50",
        "-e",
        &environment,
        "-e",
        "BURN_US=2000",
        "--profile-guest",
        file,
    ];
    world.run(arguments.iter().chain(more)).expect_code(0)
}

/// The innermost functions of a profile for Firefox, each with its samples, the most met first.
fn innermost(json: &Value) -> Vec<(String, u64)> {
    let thread = &json["threads"][0];
    let strings = json["shared"]["stringArray"]
        .as_array()
        .or_else(|| thread["stringArray"].as_array())
        .expect("there is a table of strings");
    let index = |value: &Value| usize::try_from(value.as_u64().expect("an index")).unwrap();
    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    let samples = &thread["samples"];
    let weights = samples["weight"].as_array().expect("samples have weights");
    for (stack, weight) in samples["stack"].as_array().unwrap().iter().zip(weights) {
        let frame = index(&thread["stackTable"]["frame"][index(stack)]);
        let function = index(&thread["frameTable"]["func"][frame]);
        let name = index(&thread["funcTable"]["name"][function]);
        *counts
            .entry(strings[name].as_str().unwrap().to_owned())
            .or_default() += weight.as_u64().unwrap();
    }
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

#[test]
fn the_firefox_profiler_is_given_the_hot_function() {
    let world = World::new();
    let ran = burn(&world, "guest.json", &[]);
    assert!(ran.stdout.contains("guest.json"), "{}", ran.stdout);
    let json: Value = serde_json::from_str(&world.read("guest.json")).expect("it is JSON");
    let innermost = innermost(&json);
    let all: u64 = innermost.iter().map(|(_, count)| count).sum();
    let (name, count) = &innermost[0];
    assert!(
        name == "burn::spin" && count * 2 > all && all > 20,
        "{innermost:?}"
    );
    assert_eq!(json["threads"][0]["name"], "virtual user 1 of burn.wasm");
}

#[test]
fn the_flame_graph_has_the_hot_function_on_top() {
    let world = World::new();
    burn(&world, "guest.svg", &[]);
    let svg = world.read("guest.svg");
    assert!(
        svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
    let hottest = svg
        .split("<title>")
        .filter(|frame| frame.starts_with("burn::spin: "))
        .filter_map(itself)
        .fold(0.0, f64::max);
    assert!(hottest > 50.0, "{svg}");
    assert!(svg.contains("of virtual user 1"), "{svg}");
}

/// The share that a function was the innermost, of what is said when one points at it.
fn itself(title: &str) -> Option<f64> {
    let (before, _) = title.split_once(" % in itself")?;
    before.rsplit_once(' ')?.1.parse().ok()
}

#[test]
fn one_of_many_virtual_users_is_sampled() {
    let world = World::new();
    burn(&world, "guest.json", &["-u", "3"]);
    let json: Value = serde_json::from_str(&world.read("guest.json")).expect("it is JSON");
    assert_eq!(json["threads"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_guest_too_light_to_be_met_is_told_of_and_leaves_a_valid_file() {
    let world = World::new();
    let light = r#"(module
        (memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
        (func (export "run") (param i32 i64 i64 i64) (result i32) (i32.const 0)))"#;
    world.write(
        "light.wasm",
        wat::parse_str(light).expect("the text is WebAssembly"),
    );
    let ran = world
        .run([
            "run",
            "light.wasm",
            "--profile-guest",
            "guest.svg",
            "--report",
            "run.json",
        ])
        .expect_code(0);
    assert!(
        ran.stderr
            .contains("warning: the guest's profile has no samples"),
        "{}",
        ran.stderr
    );
    assert!(world.read("guest.svg").contains("No samples"));
    let warnings = world.report("run.json").value("/warnings").to_string();
    assert!(warnings.contains("no samples"), "{warnings}");
}

#[test]
fn a_profile_that_is_lost_at_the_end_ends_with_114() {
    let world = World::new();
    world.write("light.wasm", guest("hello-wat"));
    std::os::unix::fs::symlink("/dev/full", world.work().join("full.svg")).unwrap();
    let target = target::spawn();
    let environment = format!("TARGET={}", target.url());
    let ran = world
        .run([
            "run",
            "light.wasm",
            "-e",
            &environment,
            "--profile-guest",
            "full.svg",
        ])
        .expect_code(114);
    assert!(
        ran.stderr
            .contains("the profile `full.svg` could not be written"),
        "{}",
        ran.stderr
    );
}
