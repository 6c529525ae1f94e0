//! `nettare run`: a scenario, by a plan.

use std::path::Path;

use nettare_core::plan::{Layers, Options};
use nettare_report::text;

use crate::args::{Cli, Command, Parsed, RunArgs};
use crate::checkup;
use crate::failure::Failure;
use crate::layers::options;
use crate::machine;
use crate::prepare::prepare;
use crate::session::{Request, Session, tls_options};
use crate::ui::Ui;

/// Runs it.
pub(crate) fn run(args: &RunArgs, layers: &Layers, ui: &Ui) -> Result<u8, Failure> {
    let session = Session::prepare(ui, &args.output)?.profiling(args.profile_guest.as_ref())?;
    let tls = tls_options(&args.plan.tls)?;
    let defaults = machine::defaults(session.moment().seed());
    let prepared = prepare(Path::new(&args.file), layers.clone(), &defaults)?;
    for sentence in text::plan_in_words(&prepared.resolved.plan) {
        ui.note(&sentence);
    }
    let allow_invalid = args.plan.judge.allow_invalid;
    let guest = Some(&prepared.guest.guest);
    checkup::before_run(ui, &prepared.resolved.plan, guest, allow_invalid)?;
    let (plan, guest) = prepared.with_room()?;
    let request = Request {
        plan,
        guest: Some(guest),
        tls,
        allow_invalid,
    };
    Ok(session.execute(request)?.code)
}

/// What flags and environment say of a plan, apart.
pub(crate) fn layers(parsed: &Parsed) -> Layers {
    Layers {
        environment: said(&parsed.environment),
        flags: said(&parsed.flags),
        ..Layers::default()
    }
}

fn said(cli: &Cli) -> Options {
    match &cli.command {
        Command::Run(args) => options(&args.plan),
        Command::Inspect(args) => options(&args.run.plan),
        Command::Doctor(args) => options(&args.plan),
        _ => Options::default(),
    }
}
