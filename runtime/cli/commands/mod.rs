//! One file a command; each takes what was typed and gives an exit code or what stopped it.

mod demo;
mod demo_target;
mod doctor;
mod generate;
mod inspect;
mod quick;
mod report;
mod run;

use crate::args::{Command, Parsed};
use crate::failure::Failure;
use crate::ui::Ui;

/// Does what was asked.
pub(crate) fn dispatch(parsed: &Parsed, ui: &Ui) -> Result<u8, Failure> {
    for variable in &parsed.unknown_variables {
        ui.warn(&format!(
            "the variable {variable} stands for no flag of this command"
        ));
    }
    match &parsed.cli.command {
        Command::Run(args) => run::run(args, &run::layers(parsed), ui),
        Command::Quick(args) => quick::quick(args, ui),
        Command::Demo(args) => demo::demo(args, ui),
        Command::DemoTarget(args) => demo_target::demo_target(args, ui),
        Command::Inspect(args) => inspect::inspect(&args.run, &run::layers(parsed), ui),
        Command::Doctor(args) => doctor::doctor(args, &run::layers(parsed), ui),
        Command::Report(args) => report::report(args, ui),
        Command::Generate(args) => generate::generate(args),
    }
}
