//! Pages of the reference, in Markdown, from the definitions that the program itself runs by.

use std::fmt::Write as _;

use clap::{Arg, Command};
use nettare_core::stats::{BUILTINS, Unit};

use nettare_core::health::{GAUGES, Worse};
use nettare_core::verdict::{RULES, Test};

use crate::exit::{self, Cause};

/// At the head of each page: it is not to be edited.
const MADE_BY: &str =
    "<!-- Made by `cargo xtask docs` from the program; changes belong there. -->\n\n";

/// Commands and flags, one section a command.
pub(crate) fn commands_page(definition: &Command) -> String {
    let mut page = format!("{MADE_BY}# Commands\n\n");
    page.push_str(
        "Values carry their unit: `500ms`, `30s`, `5m`, `200/s`, `64MiB`. Each flag of `run`, `quick`, `inspect` and `doctor` has \
         an environment variable: `NETTARE_MAX_VUS` is `--max-vus`. Where several say something, the later of these decides: \
         the default, the scenario's own options, the plan file, the environment, the flag.\n",
    );
    for command in definition
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        command_section(&mut page, "nettare", 2, command);
    }
    page
}

/// Exit codes, and which of several decides.
pub(crate) fn exit_codes_page() -> String {
    let mut page =
        format!("{MADE_BY}# Exit codes\n\n| code | in the report | meaning |\n|---|---|---|\n");
    let _ = writeln!(
        page,
        "| {} | | The run took place, its thresholds passed, and its verdict is not INVALID. |",
        exit::OK
    );
    let mut causes = Cause::ALL;
    causes.sort_by_key(|cause| cause.code());
    for cause in causes {
        let _ = writeln!(
            page,
            "| {} | `{}` | {} |",
            cause.code(),
            cause.label(),
            cause.meaning()
        );
    }
    let order: Vec<String> = Cause::ALL
        .into_iter()
        .map(|cause| cause.code().to_string())
        .collect();
    let _ = writeln!(
        page,
        "\nWhere several apply, the process ends with the first of {}; all of them stand in the report under \
         `run.exit.causes`.",
        order.join(", ")
    );
    page
}

/// The metrics that every run has, and what may be asked of them.
pub(crate) fn metrics_page() -> String {
    let mut page = format!("{MADE_BY}# Metrics\n\n");
    page.push_str(
        "What every run records by itself; a scenario adds its own. Times are nanoseconds in reports and milliseconds in \
         [thresholds](thresholds.md) that give no unit. What the times mean is said in [Gross, tare and \
         net](../concepts/measurement.md).\n\n| metric | kind | counted in | tells | tags |\n|---|---|---|---|---|\n",
    );
    for metric in BUILTINS {
        let unit = match metric.unit {
            Unit::Plain => "",
            Unit::Bytes => "bytes",
            Unit::Nanoseconds => "time",
        };
        let tags = match metric.tags {
            None => "of the exchange or check, and the user's".to_owned(),
            Some([]) => "none".to_owned(),
            Some(tags) => tags
                .iter()
                .map(|tag| format!("`{tag}`"))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {unit} | {} | {tags} |",
            metric.name,
            metric.kind.as_str(),
            metric.about
        );
    }
    page.push_str(
        "\nA *counter* is a sum, a *gauge* a level, a *rate* the share of samples that were true, and a *trend* a distribution.\n\n\
         Exchanges are told apart by `scenario`, `group`, `name`, `method`, `status`, `proto`, `error_kind` and \
         `expected_response`; checks by `scenario`, `group` and `check`; both by the user's own tags (`--tag`, `tags` in a plan, \
         and those that a scenario sets). A URL is never a tag: give requests names.\n",
    );
    page
}

/// The rules of the verdict, and the gauges of the generator's health that most of them look at.
pub(crate) fn verdict_page() -> String {
    let mut page = format!("{MADE_BY}# The verdict\n\n");
    page.push_str(
        "Every run is judged: could the generator do what was asked, and are the figures the server's? **VALID**: nothing speaks \
         against them. **SUSPECT**: the figures stand, but read the reasons. **INVALID**: the load asked for was not offered, or the \
         figures are not the server's; the process ends with code 111 unless `--allow-invalid` is given. A rule whose figure this \
         system does not tell is not applied, and the report lists it under `verdict.not_looked_at`. **Unjudged** is a run whose \
         generator could not be watched at all.\n\n\
         Figures are means over the run, of a second at least; those of ports, descriptors, available memory and links are of the \
         worst second. A busy generator does not make a run invalid: net stands while sockets are drained, and a load without a \
         rate takes all the CPU that it gets.\n\n## Rules\n",
    );
    for rule in RULES {
        let _ = write!(page, "\n### `{}`\n\n", rule.name);
        let _ = writeln!(page, "- looks at: {}", rule.about);
        match rule.test {
            Test::Law { limit, .. } => {
                let _ = writeln!(page, "- INVALID unless: {limit}");
            }
            Test::Bound(bound) => {
                for (word, limit) in [("SUSPECT", bound.suspect), ("INVALID", bound.invalid)] {
                    if let Some(limit) = limit {
                        let _ =
                            writeln!(page, "- {word} unless: {} {}", bound.right(limit), bound.of);
                    }
                }
            }
        }
        let _ = writeln!(page, "- what to do: {}", rule.advice);
    }
    gauges(&mut page);
    page
}

fn gauges(page: &mut String) {
    page.push_str(
        "\n## Gauges\n\nThe generator's health, once a second while load runs: in `generator.series` of the JSON report, at its worst in \
         `generator.peak`, and as metrics that thresholds can ask for. Shares are from 0 to 1; `#` is the number of a CPU or a \
         worker. A gauge that this system does not tell is absent.\n\n| gauge | what it tells | worse |\n|---|---|---|\n",
    );
    for info in GAUGES {
        let worse = match info.worse {
            Worse::High => "high",
            Worse::Low => "low",
        };
        let _ = writeln!(page, "| `{}` | {} | {worse} |", info.name, info.about);
    }
}

fn command_section(page: &mut String, parent: &str, depth: usize, command: &Command) {
    let name = format!("{parent} {}", command.get_name());
    let _ = write!(page, "\n{} `{name}`\n\n", "#".repeat(depth));
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        let _ = write!(page, "{about}\n\n");
    }
    let usage = command.clone().bin_name(&name).render_usage().to_string();
    let _ = writeln!(
        page,
        "```text\n{}\n```",
        usage.trim_start_matches("Usage: ")
    );
    arguments(page, command);
    if let Some(after) = command.get_after_help() {
        let _ = writeln!(page, "\n```text\n{}\n```", after.to_string().trim_end());
    }
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        command_section(page, &name, depth + 1, below);
    }
}

/// Arguments by heading, in the order of their definition.
fn arguments(page: &mut String, command: &Command) {
    let mut headings: Vec<Option<&str>> = Vec::new();
    let shown: Vec<&Arg> = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
        .collect();
    for argument in &shown {
        if !headings.contains(&argument.get_help_heading()) {
            headings.push(argument.get_help_heading());
        }
    }
    for heading in headings {
        let _ = write!(
            page,
            "\n{}\n\n",
            heading
                .map_or_else(String::new, |name| format!("**{name}**\n"))
                .trim_end()
        );
        for argument in shown
            .iter()
            .filter(|argument| argument.get_help_heading() == heading)
        {
            argument_line(page, argument);
        }
    }
}

fn argument_line(page: &mut String, argument: &Arg) {
    let help = argument
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set() && argument.get_action().takes_values())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    let _ = write!(page, "- `{}`: {help}", signature(argument));
    if !values.is_empty() {
        let _ = write!(page, " One of {}.", values.join(", "));
    }
    if let [default, ..] = argument.get_default_values() {
        let _ = write!(page, " Default: `{}`.", default.to_string_lossy());
    }
    page.push('\n');
}

/// `-u, --vus <N>`.
fn signature(argument: &Arg) -> String {
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let flags: Vec<String> = short.into_iter().chain(long).collect();
    let value = match argument.get_value_names() {
        Some([name, ..]) if argument.get_action().takes_values() => format!("<{name}>"),
        _ => String::new(),
    };
    format!("{} {value}", flags.join(", ")).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_flag_stands_in_the_reference() {
        let definition = crate::args::definition();
        let page = commands_page(&definition);
        for command in definition.get_subcommands() {
            for long in command.get_arguments().filter_map(Arg::get_long) {
                assert!(
                    page.contains(&format!("--{long}")),
                    "--{long} of `{}`",
                    command.get_name()
                );
            }
        }
    }

    #[test]
    fn every_rule_and_gauge_stands_in_the_reference() {
        let page = verdict_page();
        for rule in RULES {
            assert!(page.contains(&format!("### `{}`\n", rule.name)));
        }
        for info in GAUGES {
            assert!(page.contains(&format!("| `{}` |", info.name)));
        }
    }

    #[test]
    fn every_exit_code_stands_in_the_reference() {
        let page = exit_codes_page();
        for cause in Cause::ALL {
            assert!(
                page.contains(&format!("| {} | `{}` |", cause.code(), cause.label())),
                "{cause:?}"
            );
        }
    }
}
