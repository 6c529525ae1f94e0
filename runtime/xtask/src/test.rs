//! `cargo xtask test`: every test there is, with what they need built first.

use crate::{command, generated, guests, lint, schema};

/// Build the guests and run every test of the runtime and of the SDKs.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Check the formatting and the lints first
    #[arg(long)]
    lint: bool,
    /// Handed to the test binaries of the workspace, a filter for instance
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Runs the steps in the order in which they fail fastest.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.lint {
        lint::run()?;
    }
    guests::build_all()?;
    let mut tests = command::cargo(["test", "--workspace"]);
    if !arguments.rest.is_empty() {
        tests.arg("--").args(&arguments.rest);
    }
    command::run(&mut tests)?;
    schema::run(&generated::Arguments { check: true })
}
