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
use crate::failure::Failure;

/// Before the name of every variable that stands for a flag. Only such names are read: a foreign `DURATION` in the
/// environment must not change a run.
const PREFIX: &str = "NETTARE_";

/// Commands whose flags may be given by the environment.
const COMMANDS_WITH_VARIABLES: [&str; 4] = ["run", "quick", "inspect", "doctor"];

/// What a variable that stands for a switch says no by.
const FALSE_WORDS: [&str; 5] = ["", "0", "false", "no", "off"];

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
        Err(error) if !error.use_stderr() => {
            // Nobody to read the help, nobody to complain to.
            let _ = error.print();
            return Ok(None);
        }
        Err(error) => return Err(complain(&definition, words, &error)),
    };
    let given = match typed.subcommand() {
        Some((name, typed)) if COMMANDS_WITH_VARIABLES.contains(&name) => definition
            .find_subcommand(name)
            .map(|command| Given::of(command, typed, variables)),
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
    ) -> Given {
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
                Some(argument) if yields(argument, typed) => {}
                Some(argument) => given.words.extend(word(argument, value)),
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
        given
    }
}

/// Whether a typed flag stands in the place of its variable. Flags that may be repeated add up.
fn yields(argument: &Arg, typed: &ArgMatches) -> bool {
    let is_typed = typed.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine);
    is_typed && !matches!(argument.get_action(), ArgAction::Append)
}

/// The variable that stands for a flag.
fn variable_of(argument: &Arg) -> Option<String> {
    let long = argument.get_long()?;
    Some(format!("{PREFIX}{}", long.to_uppercase().replace('-', "_")))
}

/// A variable as the flag it stands for would be typed; none for a switch that says no.
fn word(argument: &Arg, value: &OsString) -> Option<OsString> {
    let mut word = OsString::from(format!("--{}", argument.get_long()?));
    if matches!(argument.get_action(), ArgAction::SetTrue | ArgAction::Count) {
        let says_no = FALSE_WORDS.contains(&value.to_string_lossy().to_lowercase().as_str());
        return (!says_no).then_some(word);
    }
    word.push("=");
    word.push(value);
    Some(word)
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
