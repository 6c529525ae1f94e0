//! `nettare doctor`: can this machine generate that load? Sends nothing.

use std::path::Path;

use nettare_core::doctor::{Diagnosis, Machine, Needs, Severity, examine};
use nettare_core::plan::{Layers, Options};
use nettare_report::text;
use serde::Serialize;

use crate::args::DoctorArgs;
use crate::checkup::{self, Question};
use crate::clock::Moment;
use crate::exit::{self, Cause};
use crate::failure::{Failure, OrFail};
use crate::machine::{self, Look};
use crate::prepare::prepare;
use crate::ui::{self, Ui};

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    schema: &'static str,
    /// The plan in words; empty without one.
    plan: &'a [String],
    needs: &'a Needs,
    machine: &'a Machine,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
}

/// Prints it. A plan that this machine cannot run gives the code that `run` would give.
pub(crate) fn doctor(args: &DoctorArgs, layers: &Layers, ui: &Ui) -> Result<u8, Failure> {
    let (plan, question) = ask(args, layers)?;
    let Question {
        needs,
        destinations,
    } = question;
    let machine = machine::look(&Look {
        destinations,
        samples: true,
    });
    let diagnosis = examine(&machine, &needs);
    let text = if args.json {
        let printed = Printed {
            schema: "nettare.doctor/1",
            plan: &plan,
            needs: &needs,
            machine: &machine,
            diagnosis: &diagnosis,
        };
        let json = serde_json::to_string_pretty(&printed).map_err(anyhow::Error::from)?;
        format!("{json}\n")
    } else {
        text::diagnosis(&diagnosis, &plan, &ui.text_options())
    };
    ui::print(&text).or_fail_with(Cause::OutputLost, || "the findings could not be printed")?;
    Ok(match diagnosis.result {
        Severity::Error => exit::PLAN,
        _ => exit::OK,
    })
}

/// The plan in words, and what it needs.
fn ask(args: &DoctorArgs, layers: &Layers) -> Result<(Vec<String>, Question), Failure> {
    let Some(file) = &args.file else {
        if layers.flags != Options::default() {
            return Err(Failure::new(
                Cause::CommandLine,
                "the flags say something of a plan, and there is none",
            )
            .hint("name a plan or a scenario: nettare doctor plan.toml"));
        }
        return Ok((Vec::new(), checkup::question_without_plan()));
    };
    let defaults = machine::defaults(Moment::now().seed());
    let prepared = prepare(Path::new(file), layers.clone(), &defaults)?;
    let plan = &prepared.resolved.plan;
    let question = checkup::question(plan, Some(&prepared.guest.guest), |_, _| true);
    Ok((text::plan_in_words(plan), question))
}
