//! From the words of the command line and the environment to [`Cli`].
//!
//! Each flag of the commands that run or show a plan may be given by a variable instead: `NETTARE_MAX_VUS` is `--max-vus`. The
//! variables are put before the typed words as if they had been typed first, so that one set of rules reads both; and they
//! are read once alone, so that a plan can say which of its values came from where.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches};

use super::{Cli, complaint};
use crate::exit::Cause;
use crate::failure::Failure;

/// Before the name of every variable that stands for a flag. Only such names are read: a foreign `DURATION` in the
/// environment must not change a run.
const PREFIX: &str = "NETTARE_";

/// Commands whose flags may be given by the environment.
const COMMANDS_WITH_VARIABLES: [&str; 4] = ["run", "quick", "inspect", "doctor"];

/// What a variable that stands for a switch says no by, and yes.
const FALSE_WORDS: [&str; 5] = ["", "0", "false", "no", "off"];
const TRUE_WORDS: [&str; 4] = ["1", "true", "yes", "on"];

/// What was understood.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// Variables and flags together.
    pub(crate) cli: Cli,
    /// Flags alone.
    pub(crate) flags: Cli,
    /// Variables alone.
    pub(crate) environment: Cli,
    /// Variables with our prefix that stand for no flag of the command, in order.
    pub(crate) unknown_variables: Vec<String>,
}

/// The command line as it is defined.
pub(crate) fn definition() -> clap::Command {
    Cli::command()
}

/// Understands the command line. `None` when it asked for help or the version, which is printed then.
pub(crate) fn parse() -> Result<Option<Parsed>, Failure> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    parse_words(&words, &variables)
}

fn parse_words(
    words: &[OsString],
    variables: &[(OsString, OsString)],
) -> Result<Option<Parsed>, Failure> {
    let definition = definition();
    let typed = match definition.clone().try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => return print(&error).map(|()| None),
        Err(error) => return Err(complain(&definition, words, &error)),
    };
    let given = match typed.subcommand() {
        Some((name, typed)) if COMMANDS_WITH_VARIABLES.contains(&name) => definition
            .find_subcommand(name)
            .map(|command| Given::of(command, typed, variables))
            .transpose()?,
        _ => None,
    };
    let Some(given) = given else {
        return Ok(Some(Parsed {
            flags: cli(&typed)?,
            environment: cli(&typed)?,
            cli: cli(&typed)?,
            unknown_variables: Vec::new(),
        }));
    };
    let (command, rest) = words.split_at(words.len().min(2));
    let alone = [command, &given.words, &given.positional].concat();
    let together = [command, &given.words, rest].concat();
    let environment = definition
        .clone()
        .try_get_matches_from(&alone)
        .map_err(|error| complaint::of_a_variable(&error, PREFIX))?;
    let both = definition
        .clone()
        .try_get_matches_from(&together)
        .map_err(|error| complain(&definition, words, &error))?;
    Ok(Some(Parsed {
        cli: cli(&both)?,
        flags: cli(&typed)?,
        environment: cli(&environment)?,
        unknown_variables: given.unknown,
    }))
}

/// Prints help or the version. A reader that went away has seen enough.
fn print(help: &clap::Error) -> Result<(), Failure> {
    match help.print() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::new(
            Cause::OutputLost,
            format!("failed to write to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}

fn cli(matches: &ArgMatches) -> Result<Cli, Failure> {
    Cli::from_arg_matches(matches).map_err(|error| complaint::failure(&error, None))
}

/// What the environment gives a command.
#[derive(Debug, Default)]
struct Given {
    /// As it would be typed.
    words: Vec<OsString>,
    /// The typed arguments without a flag, which the command cannot be read without.
    positional: Vec<OsString>,
    /// Names that stand for nothing.
    unknown: Vec<String>,
}

impl Given {
    fn of(
        command: &clap::Command,
        typed: &ArgMatches,
        variables: &[(OsString, OsString)],
    ) -> Result<Given, Failure> {
        let mut given = Given::default();
        let mut ours: Vec<_> = variables
            .iter()
            .filter(|(name, _)| name.to_string_lossy().starts_with(PREFIX))
            .collect();
        ours.sort();
        for (name, value) in ours {
            let stands_for =
                |argument: &&Arg| variable_of(argument).is_some_and(|variable| *name == *variable);
            match command.get_arguments().find(stands_for) {
                Some(argument) if yields(argument, command, typed) => {}
                Some(argument) => given.words.extend(words_of(argument, value)?),
                None => given.unknown.push(name.to_string_lossy().into_owned()),
            }
        }
        given.positional.push(OsString::from("--"));
        for argument in command.get_positionals() {
            let values = typed.get_raw(argument.get_id().as_str());
            given
                .positional
                .extend(values.into_iter().flatten().map(OsString::from));
        }
        Ok(given)
    }
}

/// Whether a variable gives way to what was typed: to its own flag, unless that may be repeated and they add up, and to a flag
/// that excludes it, since a flag is above the environment.
fn yields(argument: &Arg, command: &clap::Command, typed: &ArgMatches) -> bool {
    let is_typed = |argument: &Arg| {
        typed.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    if is_typed(argument) && !matches!(argument.get_action(), ArgAction::Append) {
        return true;
    }
    let excludes = |one: &Arg, other: &Arg| {
        let excluded = command.get_arg_conflicts_with(one);
        excluded
            .iter()
            .any(|known| known.get_id() == other.get_id())
    };
    command
        .get_arguments()
        .filter(|other| is_typed(other))
        .any(|other| excludes(argument, other) || excludes(other, argument))
}

/// The variable that stands for a flag.
fn variable_of(argument: &Arg) -> Option<String> {
    let long = argument.get_long()?;
    Some(format!("{PREFIX}{}", long.to_uppercase().replace('-', "_")))
}

/// A variable as the flag it stands for would be typed; nothing for a switch that says no.
fn words_of(argument: &Arg, value: &OsString) -> Result<Vec<OsString>, Failure> {
    let mut word = OsString::from(format!("--{}", argument.get_long().unwrap_or_default()));
    let said = value.to_string_lossy().to_lowercase();
    let times = match argument.get_action() {
        ArgAction::SetTrue | ArgAction::Count if FALSE_WORDS.contains(&said.as_str()) => 0,
        ArgAction::SetTrue | ArgAction::Count if TRUE_WORDS.contains(&said.as_str()) => 1,
        ArgAction::Count => said
            .parse::<u8>()
            .ok()
            .filter(|times| *times < 10)
            .map_or_else(
                || Err(neither_yes_nor_no(argument, &said)),
                |times| Ok(usize::from(times)),
            )?,
        ArgAction::SetTrue => return Err(neither_yes_nor_no(argument, &said)),
        _ => {
            word.push("=");
            word.push(value);
            1
        }
    };
    Ok(vec![word; times])
}

fn neither_yes_nor_no(argument: &Arg, said: &str) -> Failure {
    let variable = variable_of(argument).unwrap_or_default();
    let sentence = format!("`{variable}`: `{said}` says neither yes nor no");
    Failure::new(Cause::CommandLine, sentence).hint(format!("write {variable}=1 or {variable}=0"))
}

fn complain(definition: &clap::Command, words: &[OsString], error: &clap::Error) -> Failure {
    let name = words.get(1).and_then(|word| word.to_str());
    let command = name
        .and_then(|name| definition.find_subcommand(name))
        .map(clap::Command::get_name);
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            complaint::no_command(command)
        }
        ErrorKind::UnknownArgument => {
            let failure = complaint::failure(error, command);
            match complaint::owner_of(error, definition, command) {
                Some(owner) => {
                    failure.hint(format!("`nettare {owner}` has that flag, for a scenario"))
                }
                None => failure,
            }
        }
        _ => complaint::failure(error, command),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::args::{Command, RunArgs};

    fn parse(words: &str, variables: &[(&str, &str)]) -> Result<Parsed, Failure> {
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect();
        parse_words(&words, &variables).map(|parsed| parsed.expect("no help was asked for"))
    }

    fn run_of(cli: Cli) -> RunArgs {
        match cli.command {
            Command::Run(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        definition().debug_assert();
    }

    #[test]
    fn a_long_name_is_one_thing_in_every_command() {
        let mut first_seen: BTreeMap<String, String> = BTreeMap::new();
        for command in definition().get_subcommands() {
            for argument in command.get_arguments() {
                let Some(long) = argument.get_long() else {
                    continue;
                };
                let id = argument.get_id().to_string();
                let first = first_seen
                    .entry(long.to_owned())
                    .or_insert_with(|| id.clone());
                assert_eq!(*first, id, "--{long} of `{}`", command.get_name());
            }
        }
    }

    #[test]
    fn every_flag_says_what_it_does() {
        for command in definition().get_subcommands() {
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "`{}` of `{}`",
                    argument.get_id(),
                    command.get_name()
                );
            }
        }
    }

    #[test]
    fn a_variable_stands_for_a_flag_that_was_not_typed() {
        let variables = [
            ("NETTARE_VUS", "7"),
            ("NETTARE_MAX_REDIRECTS", "3"),
            ("NETTARE_QUIET", "1"),
            ("VUS", "9"),
        ];
        let parsed = parse("nettare run a.wasm --max-redirects 5", &variables).unwrap();
        let both = run_of(parsed.cli);
        assert_eq!(
            (
                both.plan.load.vus,
                both.plan.network.max_redirects,
                both.output.quiet
            ),
            (Some(7), Some(5), true)
        );
        let environment = run_of(parsed.environment);
        assert_eq!(
            (
                environment.plan.load.vus,
                environment.plan.network.max_redirects
            ),
            (Some(7), None)
        );
        let flags = run_of(parsed.flags);
        assert_eq!(
            (flags.plan.load.vus, flags.plan.network.max_redirects),
            (None, Some(5))
        );
    }

    #[test]
    fn a_flag_stands_above_a_variable_that_it_excludes() {
        for (words, variable) in [
            ("nettare quick http://a/ -n 3", ("NETTARE_DURATION", "1s")),
            ("nettare quick http://a/ -z 3s", ("NETTARE_ITERATIONS", "1")),
            ("nettare quick http://a/ -D file", ("NETTARE_BODY", "text")),
            ("nettare run a.wasm --http2", ("NETTARE_HTTP1", "1")),
            ("nettare run a.wasm --http1", ("NETTARE_HTTP2", "1")),
        ] {
            assert!(
                parse(words, &[variable]).is_ok(),
                "{words} with {variable:?}"
            );
        }
    }

    #[test]
    fn a_switch_is_said_yes_or_no_to() {
        for (value, quiet) in [("1", true), ("ON", true), ("no", false), ("", false)] {
            let parsed = parse("nettare run a.wasm", &[("NETTARE_QUIET", value)]).unwrap();
            assert_eq!(run_of(parsed.cli).output.quiet, quiet, "{value}");
        }
        let refused = parse("nettare run a.wasm", &[("NETTARE_QUIET", "maybe")]).unwrap_err();
        assert!(
            refused.error.to_string().contains("NETTARE_QUIET"),
            "{refused:?}"
        );
        let parsed = parse("nettare run a.wasm", &[("NETTARE_VERBOSE", "2")]).unwrap();
        assert_eq!(run_of(parsed.cli).output.verbose, 2);
    }

    #[test]
    fn flags_that_repeat_add_to_their_variable() {
        let parsed = parse("nettare run a.wasm -e B=2", &[("NETTARE_ENV", "A=1")]).unwrap();
        let keys: Vec<String> = run_of(parsed.cli)
            .plan
            .scenario
            .env
            .into_iter()
            .map(|pair| pair.key)
            .collect();
        assert_eq!(keys, ["A", "B"]);
    }

    #[test]
    fn a_switch_can_be_refused_by_its_variable() {
        for no in FALSE_WORDS {
            let parsed = parse("nettare run a.wasm", &[("NETTARE_HTTP2", no)]).unwrap();
            assert!(!run_of(parsed.cli).plan.network.http2, "{no:?}");
        }
    }

    #[test]
    fn a_bad_variable_is_named_as_such() {
        let failure = parse("nettare run a.wasm", &[("NETTARE_VUS", "many")]).unwrap_err();
        assert_eq!(
            failure.error.to_string(),
            "`NETTARE_VUS`: `many` is not a whole number from 1 up"
        );
    }

    #[test]
    fn a_variable_that_stands_for_nothing_is_noticed() {
        let parsed = parse("nettare run a.wasm", &[("NETTARE_VU", "7"), ("OTHER", "1")]).unwrap();
        assert_eq!(parsed.unknown_variables, ["NETTARE_VU"]);
    }
}
