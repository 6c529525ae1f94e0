//! `cargo xtask demo`: from a fresh clone to a report that one can read.

use crate::command;

/// Build in release mode and run the demo: a target on loopback, load, and the report explained.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Handed to `nettare demo`
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Builds with optimisations, since figures of an unoptimised generator would mislead, and runs what was built.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    command::run(&mut command::cargo([
        "build",
        "--release",
        "--package",
        "nettare",
    ]))?;
    let nettare = command::target_folder("release").join("nettare");
    command::run(command::program(nettare).arg("demo").args(&arguments.rest))
}
