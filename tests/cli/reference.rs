//! The pages of the reference that people write, held against what the program takes.

use super::world_with_idle_scenario;

const PLAN: &str = include_str!("../../docs/reference/plan.md");
const THRESHOLDS: &str = include_str!("../../docs/reference/thresholds.md");

/// The first block of TOML on a page.
fn toml_of(page: &str) -> &str {
    let (_, rest) = page.split_once("```toml\n").expect("there is one");
    rest.split_once("```").expect("it ends").0
}

#[test]
fn every_key_of_a_plan_stands_in_the_reference() {
    let world = world_with_idle_scenario();
    let mut seen = 0;
    for table in [
        "",
        "[run]\n",
        "[scenarios.a]\n",
        "[limits]\n",
        "[thresholds]\nhttp_reqs = [{ check = 'count>1', zz-zz = 1 }]\n",
    ] {
        world.write("plan.toml", format!("{table}zz-zz = 1\n"));
        let refused = world.run(["inspect", "plan.toml"]).expect_code(104).stderr;
        let (_, keys) = refused.split_once("; it has ").expect("it lists the keys");
        for key in keys.lines().next().unwrap_or_default().split(", ") {
            let stands = [
                format!("`{key}`"),
                format!("## `[{key}]`"),
                format!("`[{key}.NAME]`"),
            ];
            assert!(
                stands.iter().any(|text| PLAN.contains(text)),
                "{key} of {table:?}"
            );
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen} keys were looked up");
}

#[test]
fn examples_on_the_pages_are_taken() {
    let world = world_with_idle_scenario();
    let plan = toml_of(PLAN).replace("shop.wasm", "idle.wasm");
    world.write("plan.toml", plan);
    world.run(["inspect", "plan.toml"]).expect_code(0);
    let thresholds = toml_of(THRESHOLDS);
    let plan = format!("[scenarios.a]\nfile = 'idle.wasm'\n[thresholds]\n{thresholds}");
    world.write("plan.toml", plan);
    let shown = world.run(["inspect", "plan.toml"]).expect_code(0).stdout;
    assert!(shown.contains("orders/{id}"), "{shown}");
}
