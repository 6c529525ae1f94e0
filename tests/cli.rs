//! The command line as a user meets it: help, errors, exit codes, files, signals.
//!
//! - [`help`]: what is printed before anything is run. Every byte is a snapshot.
//! - [`mistakes`]: command lines and plans that cannot be run, each with its sentence, its hint and its code.
//! - [`endings`]: how runs end, and what remains of them.
//! - [`outputs`]: reports, the run directory, progress, variables.
//! - [`reference`]: the pages that people write are true.
//! - [`secrets`]: what results must not tell.
//! - [`inspecting`]: plans looked at, not run.
//! - [`doctoring`]: machines held against plans.
//!
//! `INSTA_UPDATE=always` writes the snapshots anew; they are to be read before they are committed.

mod doctoring;
mod endings;
mod help;
mod inspecting;
mod mistakes;
mod outputs;
mod reference;
mod secrets;
mod server;

use crate::support::nettare::World;

/// A scenario in WebAssembly's own text: `body` is what `run` does before it returns success.
fn scenario(body: &str) -> Vec<u8> {
    module(&format!(
        r#"(func (export "run") (param i32 i64 i64 i64) (result i32) {body} (i32.const 0))"#
    ))
}

/// A core module with a memory and `functions`. What `run` and its like return, a pointer to success, is the zero at 0.
fn module(functions: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
          (memory (export "memory") 1)
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
          {functions})"#
    );
    wat::parse_str(text).expect("the text is WebAssembly")
}

/// A world with a scenario in it that does nothing.
fn world_with_idle_scenario() -> World {
    let world = World::new();
    world.write("idle.wasm", scenario(""));
    world
}

/// Snapshot settings under which what differs from run to run is the same.
fn stable() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("cli/snapshots");
    for (pattern, name) in [
        (r"nettare-test-\w+", "[world]"),
        (r"/\S*\[world\]/", "[world]/"),
        (r"(\[world\])/wor[k]/", "${1}/"),
        (r#"(file = "\S+") +#"#, "${1} #"),
        (r"\d{8}-\d{6}-\d{6}", "[run]"),
        (r"\b(seed )\d+", "${1}[seed]"),
        (r"(seed = )\d+ +#", "${1}[seed] #"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:[port]"),
        (r"sha256 [0-9a-f]{64}", "sha256 [digest]"),
    ] {
        settings.add_filter(pattern, name);
    }
    settings
}
