//! Developer commands, behind `cargo xtask`.
//!
//! Everything a contributor does more than once has a name here, so that a laptop and the continuous integration run the same
//! steps. The commands only start other programs (cargo, and the binaries that cargo built): this crate stays light enough to
//! build in seconds, and links neither the engine nor wasmtime.

#![expect(
    clippy::print_stderr,
    reason = "a developer command talks to its developer"
)]

mod bench;
mod command;
mod demo;
mod docs;
mod generated;
mod guests;
mod lint;
mod measure;
mod schema;
mod test;
mod truth;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Developer commands of Nettare.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// One variant a command; the module of the same name does the work.
#[derive(Subcommand)]
enum Command {
    /// Build in release mode and run the demo: a target on loopback, load, and the report explained
    Demo(demo::Arguments),
    /// Build the guests and run every test of the runtime and of the SDKs
    Test(test::Arguments),
    /// Build the example guests
    Guests(guests::Arguments),
    /// Check the formatting and the lints; warnings are errors
    Lint,
    /// Measure what Nettare costs, and write docs/benchmarks.md
    Bench(bench::Arguments),
    /// Measure whether net stays the server's when the generator is overloaded, and write docs/truth.md
    Truth(truth::Arguments),
    /// Write the checked-in JSON schemas from the types they describe
    Schema(generated::Arguments),
    /// Write the reference pages that are made from the program itself
    Docs(generated::Arguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Guests(arguments) => guests::run(&arguments),
        Command::Lint => lint::run(),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Truth(arguments) => truth::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Docs(arguments) => docs::run(&arguments),
    }
}
