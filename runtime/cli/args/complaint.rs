//! A command line that cannot be understood, in one sentence and a hint.
//!
//! Clap knows what went wrong as data; its own rendering runs over several lines with a usage that says what `--help` says
//! better. The sentence is made here from that data, so that every error of this program reads alike.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::exit::Cause;
use crate::failure::Failure;

/// What is wrong with the command line. `command` is the command it was for, if it got so far.
pub(super) fn failure(error: &clap::Error, command: Option<&str>) -> Failure {
    let about = flag_of(&text(error, ContextKind::InvalidArg)).to_owned();
    let failure = Failure::new(Cause::CommandLine, sentence(error, &about));
    match suggestion(error).or_else(|| remedy(error, command)) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// What to do about it; none where the sentence says so already, as those about values do.
fn remedy(error: &clap::Error, command: Option<&str>) -> Option<String> {
    match error.kind() {
        ErrorKind::ValueValidation if error.source().is_some() => None,
        ErrorKind::ArgumentConflict => Some("leave one of them out".to_owned()),
        _ => Some(help(command)),
    }
}

/// What is wrong with a variable that stands for a flag.
pub(super) fn of_a_variable(error: &clap::Error, prefix: &str) -> Failure {
    let variable = |flag: &str| {
        let name = flag_of(flag).trim_start_matches('-');
        format!("{prefix}{}", name.to_uppercase().replace('-', "_"))
    };
    let about = variable(&text(error, ContextKind::InvalidArg));
    let sentence = match error.kind() {
        ErrorKind::ArgumentConflict => format!(
            "`{about}` cannot be used with `{}`",
            variable(&text(error, ContextKind::PriorArg))
        ),
        _ => sentence(error, &about),
    };
    Failure::new(Cause::CommandLine, sentence)
        .hint("variables take what their flags take; `unset` removes one")
}

/// Nothing was asked for.
pub(super) fn no_command(command: Option<&str>) -> Failure {
    Failure::new(Cause::CommandLine, "a command is missing").hint(help(command))
}

fn help(command: Option<&str>) -> String {
    match command {
        Some(name) => format!("`nettare {name} --help` lists what it takes"),
        None => "`nettare --help` lists the commands".to_owned(),
    }
}

fn sentence(error: &clap::Error, about: &str) -> String {
    match error.kind() {
        // `-n -5`: what looks like a flag was meant as a number.
        ErrorKind::UnknownArgument
            if about.starts_with('-') && about[1..].starts_with(|c: char| c.is_ascii_digit()) =>
        {
            format!("`{about}` is no flag, and no value either: none is below zero")
        }
        ErrorKind::UnknownArgument if about.starts_with('-') => format!("unknown flag `{about}`"),
        ErrorKind::UnknownArgument => format!("`{about}` is one argument too many"),
        ErrorKind::InvalidSubcommand => {
            format!(
                "unknown command `{}`",
                text(error, ContextKind::InvalidSubcommand)
            )
        }
        ErrorKind::ArgumentConflict => conflict(error, about),
        ErrorKind::MissingRequiredArgument => {
            format!("`{}` is missing", text(error, ContextKind::InvalidArg))
        }
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => refused_value(error, about),
        ErrorKind::NoEquals | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            format!("`{about}` needs a value")
        }
        other => other
            .as_str()
            .unwrap_or("the command line cannot be understood")
            .to_owned(),
    }
}

fn conflict(error: &clap::Error, about: &str) -> String {
    match flag_of(&text(error, ContextKind::PriorArg)) {
        "" => format!("`{about}` was given more than once"),
        prior if prior == about => format!("`{about}` was given more than once"),
        prior => format!("`{about}` cannot be used with `{prior}`"),
    }
}

fn refused_value(error: &clap::Error, about: &str) -> String {
    let value = text(error, ContextKind::InvalidValue);
    let valid = list(error, ContextKind::ValidValue).join(", ");
    match error.source() {
        _ if value.is_empty() => format!("`{about}` needs a value"),
        Some(why) => format!("`{about}`: {why}"),
        None if valid.is_empty() => format!("`{value}` is not a value of `{about}`"),
        None => format!("`{value}` is not a value of `{about}`; take one of {valid}"),
    }
}

/// `run`, if it has the flag that `command` does not know.
pub(super) fn owner_of(
    error: &clap::Error,
    definition: &clap::Command,
    command: Option<&str>,
) -> Option<&'static str> {
    let unknown = text(error, ContextKind::InvalidArg);
    let name = flag_of(&unknown).strip_prefix("--")?;
    let run = definition.find_subcommand("run")?;
    let has = run
        .get_arguments()
        .any(|flag| flag.get_long() == Some(name));
    (has && command != Some("run")).then_some("run")
}

/// `--vus` of `--vus <N>`.
fn flag_of(argument: &str) -> &str {
    argument.split_once(' ').map_or(argument, |(flag, _)| flag)
}

fn suggestion(error: &clap::Error) -> Option<String> {
    let kinds = [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
    ];
    let near = kinds
        .into_iter()
        .flat_map(|kind| list(error, kind))
        .next()?;
    Some(format!("did you mean `{near}`?"))
}

fn text(error: &clap::Error, kind: ContextKind) -> String {
    list(error, kind).join(" ")
}

fn list(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(many)) => many.clone(),
        _ => Vec::new(),
    }
}
