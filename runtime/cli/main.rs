//! The `nettare` command: the only place that reads arguments, environment and terminal, prints, or exits.
//!
//! ```text
//! args ──► layers ──► core::Plan ──► session (outputs, run directory, signals, engine) ──► summary ──► exit
//! ```

use std::process::ExitCode;

mod args;
mod checkup;
mod clock;
mod commands;
mod exit;
mod failure;
mod input;
mod layers;
mod machine;
mod outputs;
mod prepare;
mod profile;
mod reference;
mod run_directory;
mod session;
mod signals;
mod ui;

use ui::Ui;

fn main() -> ExitCode {
    // The standard library's code for a panic, 101, would read as a failed teardown. What panicked was printed already.
    ExitCode::from(std::panic::catch_unwind(run).unwrap_or(exit::INTERNAL))
}

fn run() -> u8 {
    match args::parse() {
        Ok(None) => exit::OK,
        Ok(Some(parsed)) => {
            let ui = Ui::detect(parsed.cli.wishes());
            ui::install_trace(ui.verbosity, ui.quiet);
            commands::dispatch(&parsed, &ui).unwrap_or_else(|failure| ui.failure(&failure))
        }
        Err(failure) => Ui::detect(ui::Wishes::default()).failure(&failure),
    }
}
