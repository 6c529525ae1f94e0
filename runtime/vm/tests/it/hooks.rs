//! The hooks of a guest, in the order in which they are called.

use nettare_core::sample::IterationOutcome;
use nettare_vm::{Guest, GuestFailure, GuestOptions, LogLevel, Vu};

use crate::support::{ARRIVAL, Stage, block_on, module, notes, wasm};

/// `describe` with one scenario and options; `setup` that returns "data"; `init` and `teardown` that say what they were given.
const ALL_HOOKS: &str = r#"
    (func (export "describe") (result i32)
        (call $string (i32.const 1200) (str "browse"))
        (call $string (i32.const 1208) (str "buy"))
        (call $string (i32.const 1216) (str "is fine"))
        (call $string (i32.const 1224) (str "is deep"))
        (i32.store (i32.const 1100) (i32.const 1200)) (i32.store (i32.const 1104) (i32.const 2))
        (i32.store (i32.const 1108) (i32.const 1216)) (i32.store (i32.const 1112) (i32.const 1))
        (i32.store (i32.const 1116) (i32.const 1224)) (i32.store (i32.const 1120) (i32.const 1))
        (call $string (i32.const 1124) (str "vus = 3"))
        (i32.const 1100))
    (func $string (param $at i32) (param $text i32) (param $length i32)
        (i32.store (local.get $at) (local.get $text))
        (i32.store (i32.add (local.get $at) (i32.const 4)) (local.get $length)))
    (func (export "setup") (result i32)
        (i32.store8 (i32.const 256) (i32.const 0))
        (call $string (i32.const 260) (str "data"))
        (i32.const 256))
    (func (export "init") (param $data i32) (param $length i32) (result i32)
        (call $say (str "init")) (call $say (local.get $data) (local.get $length)) (call $ok))
    (func (export "teardown") (param $data i32) (param $length i32) (result i32)
        (call $say (str "teardown")) (call $say (local.get $data) (local.get $length)) (call $ok))
"#;

#[test]
fn a_guest_describes_itself() {
    let guest = Guest::load(
        &wasm(&module(ALL_HOOKS, "(call $ok)")),
        &GuestOptions::default(),
    )
    .unwrap();
    let description = guest.describe();
    assert_eq!(description.scenarios, ["browse", "buy"]);
    assert_eq!(description.checks, ["is fine"]);
    assert_eq!(description.deferred_checks, ["is deep"]);
    assert_eq!(description.options, "vus = 3");
    assert_eq!(
        guest.exports(),
        ["describe", "setup", "init", "run", "teardown"]
    );
    assert!(
        guest
            .imports()
            .contains(&"nettare:load/log@0.1.0#write".to_owned()),
        "{:?}",
        guest.imports()
    );
}

#[test]
fn a_guest_that_only_runs_has_one_scenario() {
    let stage = Stage::new("(call $ok)");
    assert_eq!(stage.guest.describe().scenarios, ["default"]);
    let mut vu = stage.vu(0);
    assert_eq!(block_on(vu.setup()), Ok(Vec::new()));
    assert_eq!(block_on(vu.init(b"anything")), Ok(()));
    assert_eq!(block_on(vu.teardown(b"anything")), Ok(()));
}

#[test]
fn what_setup_returns_reaches_init_and_teardown() {
    let stage = Stage::of(&module(ALL_HOOKS, "(call $ok)"), &GuestOptions::default());
    let mut vu = stage.vu(0);
    let data = block_on(vu.setup()).unwrap();
    block_on(vu.init(&data)).unwrap();
    block_on(vu.teardown(&data)).unwrap();
    let said: Vec<_> = stage
        .world()
        .logs
        .iter()
        .map(|(_, line)| line.clone())
        .collect();
    assert_eq!(said, ["init", "data", "teardown", "data"]);
}

#[test]
fn run_is_told_its_arrival_and_counts_its_iterations() {
    let stage = Stage::new(
        "(call $note-i32 (local.get $scenario)) (call $note-i64 (local.get $sequence)) (call $note-i64 (local.get $due))
         (call $note-i64 (local.get $started)) (call $note-i64 (call $iteration)) (call $note-i32 (call $vu-id)) (call $ok)",
    );
    let mut setup = stage.setup(12);
    setup.scenario = 1;
    let mut vu = block_on(Vu::new(&stage.guest, setup)).unwrap();
    for iteration in [0.0, 1.0] {
        let end = block_on(vu.iterate(ARRIVAL));
        assert_eq!(
            (end.outcome, end.needs_new_instance),
            (IterationOutcome::Completed, false)
        );
        let told = notes(&std::mem::take(nettare_vm::Host::records(vu.host_mut())));
        assert_eq!(told, [1.0, 7.0, 1000.0, 2000.0, iteration, 12.0]);
    }
}

#[test]
fn an_error_fails_the_iteration_and_keeps_the_instance() {
    let stage = Stage::new(r#"(call $failed (str "no stock"))"#);
    let (end, _) = stage.run();
    assert_eq!(end.outcome, IterationOutcome::Failed);
    assert_eq!(end.why.as_deref(), Some("no stock"));
    assert!(!end.needs_new_instance);
}

#[test]
fn an_error_of_init_is_the_guests_own() {
    let init =
        r#"(func (export "init") (param i32 i32) (result i32) (call $failed (str "no data")))"#;
    let stage = Stage::of(&module(init, "(call $ok)"), &GuestOptions::default());
    let failed = block_on(stage.vu(1).init(&[]));
    assert_eq!(failed, Err(GuestFailure::Returned("no data".to_owned())));
}

#[test]
fn the_environment_is_what_the_run_gives() {
    let stage = Stage::new(
        r#"(call $env (str "TARGET") (i32.const 512)) (call $note-i32 (i32.load8_u (i32.const 512)))
           (call $say-at (i32.const 516))
           (call $env (str "PATH") (i32.const 512)) (call $note-i32 (i32.load8_u (i32.const 512))) (call $ok)"#,
    );
    assert_eq!(
        stage.notes(),
        [1.0, 0.0],
        "the machine's environment is not visible"
    );
    assert_eq!(
        stage.world().logs,
        [(LogLevel::Info, "http://x.test".to_owned())]
    );
}

#[test]
fn describe_has_nothing_of_the_world_outside() {
    let describe = r#"
        (func (export "describe") (result i32)
            (call $send (call $get-request (str "http://x.test/")) (i32.const 512))
            (if (i32.ne (i32.load8_u (i32.const 512)) (i32.const 1)) (then unreachable))
            (if (i32.ne (i32.load8_u (i32.const 516)) (i32.const 1)) (then unreachable))
            (call $sleep (i64.const 1000000000000) (i32.const 512))
            (if (i32.ne (i32.load8_u (i32.const 516)) (i32.const 1)) (then unreachable))
            (call $abort (str "nothing to abort"))
            (call $env (str "TARGET") (i32.const 512))
            (if (i32.load8_u (i32.const 512)) (then unreachable))
            (call $note (f64.const 1))
            (drop (call $check (str "registered in vain")))
            (i32.const 1100))"#;
    let stage = Stage::of(&module(describe, "(call $ok)"), &GuestOptions::default());
    assert_eq!(stage.guest.describe().scenarios, ["default"]);
    let world = stage.world();
    assert!(world.requests.is_empty() && world.sleeps.is_empty() && world.aborts.is_empty());
    assert!(!stage.registry.has_check(1));
}
