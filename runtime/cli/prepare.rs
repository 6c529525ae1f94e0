//! From the file that was given, and everything else that says something about a run, to a plan and its guest.
//!
//! A guest may bring options of its own, the weakest layer of the plan, and the plan says how many virtual users the guest is
//! compiled for: each needs the other. So the plan is made without the guest's options first, the guest is loaded for it, and
//! only where its options ask for more virtual users it is loaded again, from the cache.

use std::path::Path;

use nettare_core::plan::{
    Defaults, Layers, Limits, Meter, Options, Plan, PlanError, PlanFile, Resolved,
};
use nettare_engine::net::AllowList;

use crate::exit::Cause;
use crate::failure::{Failure, OrFail};
use crate::input::{self, Input, LoadedGuest, ScenarioBytes};

/// A guest is looked at with room for so many virtual users at most: what a plan asks for may be more than there is room for, and
/// [`crate::checkup`] is to say so.
const LOOKED_AT_WITH_VUS: u32 = 1_000;

/// A plan that makes sense, and where its values came from.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) resolved: Resolved,
    /// The guest, with room for as many virtual users as are needed to look at it.
    pub(crate) guest: LoadedGuest,
    scenario: ScenarioBytes,
}

impl Prepared {
    /// The plan, and the guest with room for all of the plan's virtual users.
    pub(crate) fn with_room(self) -> Result<(Plan, LoadedGuest), Failure> {
        let Prepared {
            resolved: Resolved { plan, .. },
            guest,
            scenario,
        } = self;
        if fits(&guest, &plan, most_vus(&plan)) {
            return Ok((plan, guest));
        }
        // Its room is given back before more is taken.
        drop(guest);
        let guest = scenario.load(&plan.limits, plan.run.meter, most_vus(&plan))?;
        Ok((plan, guest))
    }
}

/// Reads a plan or a scenario and makes a plan of it. `layers` holds what flags and environment say.
pub(crate) fn prepare(
    file: &Path,
    mut layers: Layers,
    defaults: &Defaults,
) -> Result<Prepared, Failure> {
    let scenario = match input::read(file)? {
        Input::Scenario(scenario) => scenario,
        Input::Plan { path, text } => {
            layers.plan_file = plan_file(&path, &text)?;
            scenario_of_plan(&layers, defaults)?
        }
    };
    prepare_scenario(scenario, layers, defaults)
}

/// Loads, merges and checks.
pub(crate) fn prepare_scenario(
    scenario: ScenarioBytes,
    mut layers: Layers,
    defaults: &Defaults,
) -> Result<Prepared, Failure> {
    if layers.plan_file.file.is_none() {
        layers.flags.file = Some(scenario.path.display().to_string());
    }
    let without_own = layers.clone().resolve(defaults).ok();
    let guest = load(&scenario, without_own.as_ref())?;
    let name = wanted_scenario(&layers, &guest)?;
    layers.scenario = own_options(&guest, &name)?;
    let resolved = layers.resolve(defaults).map_err(plan_failure)?;
    check_hosts(&resolved.plan)?;
    let vus = most_vus(&resolved.plan).min(LOOKED_AT_WITH_VUS);
    let guest = if fits(&guest, &resolved.plan, vus) {
        guest
    } else {
        load(&scenario, Some(&resolved))?
    };
    Ok(Prepared {
        resolved,
        guest,
        scenario,
    })
}

/// Finds what is wrong with the hosts that may be contacted before anything is printed of the plan.
pub(crate) fn check_hosts(plan: &Plan) -> Result<(), Failure> {
    AllowList::new(&plan.run.allow_hosts)
        .map(drop)
        .or_fail(Cause::Plan)
}

/// Reads a plan file. The path of its scenario is relative to the plan's folder, so that a plan runs from anywhere.
fn plan_file(path: &Path, text: &str) -> Result<Options, Failure> {
    let parsed = toml::from_str::<PlanFile>(text).map_err(|error| {
        let line = error
            .span()
            .map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        let place = line.map_or_else(String::new, |line| format!(", line {line}"));
        // The message alone: with its excerpt of the file it would run over several lines.
        let before = error
            .span()
            .map_or("", |span| &text[..span.start.min(text.len())]);
        let message = in_words(error.message(), before);
        Failure::new(
            Cause::Plan,
            format!("`{}`{place}: {message}", path.display()),
        )
    })?;
    let mut options = parsed.options().map_err(|error| {
        let failure = plan_failure(error);
        Failure {
            error: failure.error.context(format!("`{}`", path.display())),
            ..failure
        }
    })?;
    if let (Some(file), Some(folder)) = (&options.file, path.parent()) {
        options.file = Some(folder.join(file).display().to_string());
    }
    Ok(options)
}

/// What the reader of TOML says, for people: in one line, with the words of TOML for what it calls by serde's, and with the name
/// of the scenario it is about, whose table is the last to begin in the text `before`.
fn in_words(message: &str, before: &str) -> String {
    let table = before
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| line.starts_with("[scenarios."))
        .and_then(|line| line.split_inclusive(']').next());
    let message = message.replace('\n', " ");
    let message = match table {
        Some(table) => message.replace("[scenarios.NAME]", table),
        None => message,
    };
    match message
        .strip_prefix("invalid type: ")
        .and_then(|rest| rest.rsplit_once(", expected "))
    {
        Some((given, wanted)) => {
            let (given, wanted) = (in_words_of_toml(given), in_words_of_toml(wanted));
            format!("{given} stands where there should be {wanted}")
        }
        None => message,
    }
}

fn in_words_of_toml(kind: &str) -> &str {
    match kind {
        "sequence" | "a sequence" => "a list",
        "map" | "a map" => "a table",
        other => other,
    }
}

/// The scenario that a plan file names; without one, whatever else is wrong with the plan is said first.
fn scenario_of_plan(layers: &Layers, defaults: &Defaults) -> Result<ScenarioBytes, Failure> {
    match &layers.plan_file.file {
        Some(file) => input::read_scenario(Path::new(file)),
        None => {
            let refused = layers.clone().resolve(defaults).err();
            let missing = || {
                Failure::new(Cause::Plan, "the plan names no scenario")
                    .hint("give `file` in a table [scenarios.NAME]")
            };
            Err(refused.map_or_else(missing, plan_failure))
        }
    }
}

fn load(scenario: &ScenarioBytes, resolved: Option<&Resolved>) -> Result<LoadedGuest, Failure> {
    match resolved {
        Some(Resolved { plan, .. }) => {
            let vus = most_vus(plan).min(LOOKED_AT_WITH_VUS);
            scenario.load(&plan.limits, plan.run.meter, vus)
        }
        // What is missing may be among the guest's own options.
        None => scenario.load(&Limits::default(), Meter::Time, 1),
    }
}

/// Virtual users that the plan has at one time.
fn most_vus(plan: &Plan) -> u32 {
    let vus = plan
        .scenarios
        .iter()
        .map(|scenario| scenario.executor.max_vus());
    vus.max().unwrap_or(1)
}

/// Which of the guest's scenarios is meant, by its exact name; the first when nobody says.
fn wanted_scenario(layers: &Layers, guest: &LoadedGuest) -> Result<String, Failure> {
    let known = &guest.guest.describe().scenarios;
    let wanted = [&layers.flags, &layers.environment, &layers.plan_file]
        .into_iter()
        .find_map(|layer| layer.scenario.clone());
    match wanted {
        Some(name) if known.contains(&name) => Ok(name),
        Some(name) => Err(Failure::new(
            Cause::Plan,
            format!("`{}` has no scenario `{name}`", guest.file.file),
        )
        .hint(format!("it has {}", known.join(", ")))),
        None => Ok(known.first().cloned().unwrap_or_default()),
    }
}

fn own_options(guest: &LoadedGuest, name: &str) -> Result<Options, Failure> {
    let blame = |what: String| {
        Failure::new(
            Cause::Scenario,
            format!("the options of `{}` itself: {what}", guest.file.file),
        )
        .hint("the scenario has to be mended and built again: they are what its `describe` answers")
    };
    let text = &guest.guest.describe().options;
    let parsed = toml::from_str::<PlanFile>(text)
        .map_err(|error| blame(error.message().replace('\n', " ")))?;
    parsed
        .own_options(name)
        .map_err(|error| blame(error.to_string()))
}

/// Whether the guest was loaded as the plan wants it.
fn fits(guest: &LoadedGuest, plan: &Plan, vus: u32) -> bool {
    let options = guest.guest.options();
    vus <= options.max_vus
        && plan.limits.guest_memory_bytes == options.guest_memory_bytes
        && plan.limits.guest_cpu_ns == options.guest_cpu_ns
        && plan.run.meter == options.meter
}

/// What is wrong with a plan, its remedy as the hint.
pub(crate) fn plan_failure(error: PlanError) -> Failure {
    Failure::new(Cause::Plan, format!("{} {}", error.place, error.problem)).hint(error.remedy)
}
