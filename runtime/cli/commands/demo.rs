//! `nettare demo`: the demo scenario against the demo target, both on this machine, and the report explained.

mod explain;

use std::path::PathBuf;

use nettare_core::plan::{Layers, Options};
use nettare_engine::net::TlsOptions;
use nettare_target::TargetOptions;

use crate::args::DemoArgs;
use crate::exit::Cause;
use crate::failure::{Failure, OrFail};
use crate::input::ScenarioBytes;
use crate::machine;
use crate::prepare::prepare_scenario;
use crate::session::{Request, Session};
use crate::ui::{self, Ui};

/// The scenario, built from `examples/checkout`: part of the program, so that the demo needs no toolchain and no network.
const SCENARIO: &[u8] = include_bytes!("../assets/demo.wasm");

/// Runs it. The target answers on a thread of this process, which is fine to show a report, and not to measure a server by.
pub(crate) fn demo(args: &DemoArgs, ui: &Ui) -> Result<u8, Failure> {
    let session = Session::prepare(ui, &args.output)?;
    let target = nettare_target::spawn(&TargetOptions::default())
        .or_fail_with(Cause::Plan, || "the demo target cannot be started")?;
    ui.note(&format!("the demo target listens on {}", target.url()));
    let flags = Options {
        vus: args.vus,
        duration_ns: args.duration.map(|span| span.ns),
        env: [("TARGET".to_owned(), target.url().to_owned())].into(),
        ..Options::default()
    };
    let scenario = ScenarioBytes {
        path: PathBuf::from("demo.wasm"),
        bytes: SCENARIO.to_vec(),
    };
    let layers = Layers {
        flags,
        ..Layers::default()
    };
    let prepared = prepare_scenario(
        &scenario,
        layers,
        &machine::defaults(session.moment().seed()),
    )?;
    let ended = session.execute(Request {
        plan: prepared.resolved.plan,
        guest: Some(prepared.guest),
        tls: TlsOptions::default(),
        allow_invalid: false,
    })?;
    ui::print(&explain::explain(&ended.report))
        .or_fail_with(Cause::OutputLost, || "the explanation could not be printed")?;
    Ok(ended.code)
}
