//! What is judged, what is written, and what is printed.

use clap::{ArgAction, Args};

use super::values::{self, KeyValue, ReportFile};

/// What is judged, and under which labels.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Judging")]
pub(crate) struct JudgeArgs {
    /// A condition that the whole run must meet, else code 99; repeatable. Times without unit are ms.
    #[arg(long, value_name = "METRIC: CONDITION", value_parser = values::threshold)]
    pub(crate) threshold: Vec<nettare_core::threshold::Threshold>,
    /// A tag on every sample; repeatable.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) tag: Vec<KeyValue>,
    /// Start a plan that this machine cannot run, and exit as if the run were not INVALID; the report still says that it is.
    #[arg(long)]
    pub(crate) allow_invalid: bool,
}

/// What is written and printed. The summary goes to standard output, everything else to standard error.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Write a report at the end; the extension says which (.json); repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Vec<ReportFile>,
    /// Keep no copy of the run. Otherwise the newest 100 are kept in $XDG_STATE_HOME/nettare/runs.
    #[arg(long)]
    pub(crate) no_save: bool,
    /// Print no progress and no warnings; errors and the summary remain.
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print without colours; so does the variable NO_COLOR.
    #[arg(long)]
    pub(crate) no_color: bool,
    /// Print the scenario's log and more of the generator's; twice for all of it.
    #[arg(short, long, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}
