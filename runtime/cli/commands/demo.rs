//! `nettare demo`: a story in two runs, both ends of it on this machine.
//!
//! A team's P90 was over three seconds while every server idled: their load generator was at 100 % CPU, because its script parsed each
//! large response to assert on it. The first run is theirs; the second defers the same checks. How many checks this machine can make is
//! found out before, so that the rate is too much for the first run wherever it is told.

mod explain;

use std::path::PathBuf;

use nettare_core::plan::{Executor, Layers, Options, Plan, Rate};
use nettare_engine::EndCause;
use nettare_engine::net::TlsOptions;
use nettare_target::TargetOptions;

use crate::args::DemoArgs;
use crate::exit::Cause;
use crate::failure::{Failure, OrFail};
use crate::input::{LoadedGuest, ScenarioBytes};
use crate::machine;
use crate::prepare::prepare_scenario;
use crate::session::{Request, Session};
use crate::ui::{self, Ui};

/// The scenarios, built from `examples/catalog`: part of the program, so that the demo needs no toolchain and no network.
const SCENARIO: &[u8] = include_bytes!("../assets/demo.wasm");

const DURATION_NS: u64 = 5_000_000_000;

/// How long the rehearsal takes.
const REHEARSAL_NS: u64 = 1_500_000_000;

/// Enough for every CPU to be busy.
const REHEARSAL_VUS: u32 = 8;

/// The rate is so many times what the machine can do with its checks inline.
const OVERLOAD: f64 = 1.4;

/// More would be more memory for bodies, and no better story.
const MOST_WORKERS: u32 = 2;

/// Each that has read a catalogue keeps 2 MB of memory: this many fit any machine, and wait long enough.
const MOST_VUS: u64 = 400;

/// Runs it. The target answers on a thread of this process, which is fine to show a report, and not to measure a server by.
pub(crate) fn demo(args: &DemoArgs, ui: &Ui) -> Result<u8, Failure> {
    let mut session = Session::prepare(ui, &args.output)?;
    let target = nettare_target::spawn(&TargetOptions::default())
        .or_fail_with(Cause::Plan, || "the demo target cannot be started")?;
    ui.note(&format!("the demo target listens on {}", target.url()));
    let stage = Stage {
        url: target.url().to_owned(),
        duration_ns: args.duration.map_or(DURATION_NS, |span| span.ns),
        workers: cpus().min(MOST_WORKERS),
        seed: session.moment().seed(),
    };
    let rate = match args.rate {
        Some(rate) => rate,
        None => too_much(stage.at_most(&session)?),
    };
    ui.note("first run: the virtual users check each response themselves");
    let first = session.execute_first(stage.request("inline", rate)?)?;
    if first.code == Cause::Signal.code() {
        return Ok(first.code);
    }
    ui.note("second run: the same load, the same check, deferred");
    let second = session.execute(stage.request("deferred", rate)?)?;
    ui::print(&explain::explain(&first.report, &second.report))
        .or_fail_with(Cause::OutputLost, || "the explanation could not be printed")?;
    Ok(second.code)
}

/// What both runs have in common.
struct Stage {
    url: String,
    duration_ns: u64,
    workers: u32,
    seed: u64,
}

impl Stage {
    /// Iterations per second that this machine can do with checks inline: all that virtual users get done who never rest.
    fn at_most(&self, session: &Session<'_>) -> Result<f64, Failure> {
        let (mut plan, guest) = self.plan("inline", Options::default())?;
        plan.scenarios[0].executor = Executor::ConstantVus {
            vus: REHEARSAL_VUS,
            duration_ns: REHEARSAL_NS,
        };
        let result = session.rehearse(plan, guest.guest)?;
        if result.causes.contains(&EndCause::Signal) {
            return Err(Failure::new(Cause::Signal, "a signal stopped the demo"));
        }
        Ok(result.iterations.completed as f64 * 1e9 / result.duration_ns.max(1) as f64)
    }

    fn request(&self, scenario: &str, rate: Rate) -> Result<Request, Failure> {
        let seconds = self.duration_ns.div_ceil(1_000_000_000);
        let arrivals = rate.arrivals.saturating_mul(seconds) * 1_000_000_000 / rate.per_ns.max(1);
        let load = Options {
            rate: Some(rate),
            duration_ns: Some(self.duration_ns),
            max_vus: Some(u32::try_from(arrivals.clamp(1, MOST_VUS)).unwrap_or(u32::MAX)),
            ..Options::default()
        };
        let (plan, guest) = self.plan(scenario, load)?;
        Ok(Request {
            plan,
            guest: Some(guest),
            tls: TlsOptions::default(),
            // What is wrong with the first run is its point.
            allow_invalid: true,
        })
    }

    fn plan(&self, scenario: &str, load: Options) -> Result<(Plan, LoadedGuest), Failure> {
        let flags = Options {
            scenario: Some(scenario.to_owned()),
            workers: Some(self.workers),
            env: [("TARGET".to_owned(), self.url.clone())].into(),
            ..load
        };
        let bytes = ScenarioBytes {
            path: PathBuf::from("demo.wasm"),
            bytes: SCENARIO.to_vec(),
        };
        let layers = Layers {
            flags,
            ..Layers::default()
        };
        prepare_scenario(bytes, layers, &machine::defaults(self.seed))?.with_room()
    }
}

/// More arrivals than the machine can check.
fn too_much(at_most_per_second: f64) -> Rate {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive number of arrivals, rounded up to tens"
    )]
    let arrivals = (at_most_per_second * OVERLOAD / 10.0).ceil().max(1.0) as u64 * 10;
    Rate {
        arrivals,
        per_ns: 1_000_000_000,
    }
}

fn cpus() -> u32 {
    std::thread::available_parallelism()
        .map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_too_much_for_any_machine() {
        for at_most in [0.0, 3.0, 333.0, 20_000.0] {
            let rate = too_much(at_most);
            let asked = rate.arrivals as f64 * 1e9 / rate.per_ns as f64;
            assert!(asked > at_most && asked < at_most * 1.5 + 20.0, "{asked}");
        }
    }
}
