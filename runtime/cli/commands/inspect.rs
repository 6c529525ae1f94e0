//! `nettare inspect`: the plan as it would be run, where its values came from, and what the scenario is. Runs nothing.
//!
//! What is printed is a plan file: values as TOML, all else as comments. Saved and run, it does what the command line did.

use std::fmt::Write as _;
use std::path::Path;

use nettare_core::plan::{Layers, Origin, Origins, Work};
use nettare_core::units;

use crate::args::RunArgs;
use crate::clock::Moment;
use crate::exit::{self, Cause};
use crate::failure::{Failure, OrFail};
use crate::input::LoadedGuest;
use crate::machine;
use crate::prepare::prepare;
use crate::ui::{self, Ui};

/// The column at which the origin of a value begins, unless the value is longer.
const ORIGIN_COLUMN: usize = 44;

/// Stands above a plan that is not printed whole.
const WITHHELD_NOTE: &str = "\
# Secrets are not printed: users of URLs are left out, and `[withheld]` stands for values. To run this plan, give them
# again, for instance by -e NAME=VALUE.
";

/// Prints it.
pub(crate) fn inspect(args: &RunArgs, layers: &Layers, _ui: &Ui) -> Result<u8, Failure> {
    let defaults = machine::defaults(Moment::now().seed());
    let prepared = prepare(Path::new(&args.file), layers.clone(), &defaults)?;
    let mut whole = prepared.resolved.plan;
    for scenario in &mut whole.scenarios {
        // What is printed can be saved anywhere, and a plan's paths are relative to where it lies.
        if let Work::Guest { file, .. } = &mut scenario.work
            && let Ok(absolute) = std::path::absolute(&*file)
        {
            *file = absolute.display().to_string();
        }
    }
    let plan = whole.without_secrets();
    let note = match plan == whole {
        true => "",
        false => WITHHELD_NOTE,
    };
    let plan = toml::to_string(&plan).map_err(anyhow::Error::from)?;
    let text = format!(
        "{note}{}\n{}",
        with_origins(&plan, &prepared.resolved.origins),
        guest_in_comments(&prepared.guest)
    );
    ui::print(&text).or_fail_with(Cause::OutputLost, || "the plan could not be printed")?;
    Ok(exit::OK)
}

/// Adds to each value of a printed plan where it came from.
fn with_origins(plan: &str, origins: &Origins) -> String {
    let mut table = String::new();
    let mut text = String::new();
    for line in plan.lines() {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            name.clone_into(&mut table);
        }
        match line.split_once(" = ") {
            Some((key, _)) => {
                let origin = origins.of(&key_of(&table, key));
                let _ = writeln!(text, "{line:ORIGIN_COLUMN$} # {}", origin_in_words(origin));
            }
            None => {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    text
}

/// The key by which the plan's origins know a line of the printed plan.
fn key_of(table: &str, key: &str) -> String {
    let key = key.trim_matches('"');
    let below = |last: &str| table == last || table.ends_with(&format!(".{last}"));
    match key {
        _ if below("env") => format!("env.{key}"),
        _ if below("tags") => format!("tags.{key}"),
        _ if table == "thresholds" => format!("thresholds.{key}"),
        // Which of the guest's scenarios: `name` would be the word for too much elsewhere.
        "name" if table.starts_with("scenarios.") => "scenario".to_owned(),
        _ => key.to_owned(),
    }
}

fn origin_in_words(origin: Origin) -> &'static str {
    match origin {
        Origin::Default => "default",
        Origin::Scenario => "the scenario's own options",
        Origin::PlanFile => "plan file",
        Origin::Environment => "environment",
        Origin::Flag => "flag",
    }
}

fn guest_in_comments(loaded: &LoadedGuest) -> String {
    let LoadedGuest { guest, file } = loaded;
    let description = guest.describe();
    let need = guest.need();
    let memory = units::format_size(guest.options().guest_memory_bytes);
    let mut text = format!("# {}, sha256 {}\n", file.file, file.sha256);
    let lists = [
        ("scenarios", &description.scenarios),
        ("checks", &description.checks),
        ("deferred checks", &description.deferred_checks),
    ];
    for (what, names) in lists {
        let _ = writeln!(text, "#   {what:16} {}", or_none(&names.join(", ")));
    }
    let _ = writeln!(
        text,
        "#   {:16} {}",
        "exports",
        or_none(&guest.exports().join(", "))
    );
    for (index, import) in guest.imports().iter().enumerate() {
        let _ = writeln!(
            text,
            "#   {:16} {import}",
            if index == 0 { "imports" } else { "" }
        );
    }
    let _ = writeln!(
        text,
        "#   {:16} {}, {} of at most {memory}, {}",
        "a virtual user",
        counted(need.core_instances, "core instance", "core instances"),
        counted(need.memories, "memory", "memories"),
        counted(need.tables, "table", "tables")
    );
    text
}

fn counted(count: u32, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

#[cfg(test)]
mod tests {
    use nettare_core::plan::{Defaults, Options, PlanFile, Resolved};

    use super::*;

    fn resolved() -> Resolved {
        let plan_file: PlanFile = toml::from_str(
            "[run]\nenv = { A = '1' }\n[scenarios.shop]\nfile = 'shop.wasm'\nvus = 3\nduration = '1m'\n\
             [thresholds]\n'http_req_duration{name:a}' = ['p(95)<200']\n",
        )
        .unwrap();
        let layers = Layers {
            plan_file: plan_file.options().unwrap(),
            environment: Options {
                vus: Some(4),
                ..Options::default()
            },
            flags: Options {
                timeout_ns: Some(1_000_000_000),
                ..Options::default()
            },
            ..Layers::default()
        };
        layers
            .resolve(&Defaults {
                seed: 7,
                max_vus: 100,
            })
            .unwrap()
    }

    #[test]
    fn each_value_says_where_it_came_from() {
        let Resolved { plan, origins } = resolved();
        let text = with_origins(&toml::to_string(&plan).unwrap(), &origins);
        for (start, origin) in [
            ("vus = 4", "environment"),
            ("duration = \"1m\"", "plan file"),
            ("timeout = \"1s\"", "flag"),
            ("max-redirects = 10", "default"),
            ("A = \"1\"", "plan file"),
            ("\"http_req_duration{name:a}\" = ", "plan file"),
        ] {
            let line = text
                .lines()
                .find(|line| line.starts_with(start))
                .unwrap_or_else(|| panic!("{start} in\n{text}"));
            assert!(line.ends_with(&format!("# {origin}")), "{line}");
        }
    }

    #[test]
    fn what_is_printed_is_the_same_plan_again() {
        let Resolved { plan, origins } = resolved();
        let text = with_origins(&toml::to_string(&plan).unwrap(), &origins);
        let again: PlanFile = toml::from_str(&text).unwrap();
        let layers = Layers {
            plan_file: again.options().unwrap(),
            ..Layers::default()
        };
        assert_eq!(
            layers
                .resolve(&Defaults {
                    seed: 9,
                    max_vus: 50
                })
                .unwrap()
                .plan,
            plan
        );
    }
}
