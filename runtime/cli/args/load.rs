//! How many virtual users, how often and how long; and what the scenario is told.

use clap::Args;
use nettare_core::plan::Rate;

use super::values::{self, KeyValue, Span};

/// How many, how often, how long.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadArgs {
    /// Virtual users: so many iterations run at one time.
    #[arg(short = 'u', long, value_name = "N", value_parser = values::positive::<u32>)]
    pub(crate) vus: Option<u32>,
    /// How long iterations are started.
    #[arg(short, long, value_name = "DURATION", value_parser = values::positive_span)]
    pub(crate) duration: Option<Span>,
    /// Iterations in all, shared by the virtual users.
    #[arg(short, long, value_name = "N", value_parser = values::positive::<u64>)]
    pub(crate) iterations: Option<u64>,
    /// Iterations started per unit of time, however long each takes: 200/s, 1000/m.
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    pub(crate) rate: Option<Rate>,
    /// Virtual users at most, with --rate [default: what this machine has descriptors, ports and memory for, at most 10000].
    #[arg(long, value_name = "N", value_parser = values::positive::<u32>)]
    pub(crate) max_vus: Option<u32>,
    /// Virtual users made before the run, with --rate; more are made as they are needed [default: a tenth of a second's arrivals].
    #[arg(long, value_name = "N", value_parser = values::positive::<u32>)]
    pub(crate) pre_allocated_vus: Option<u32>,
    /// How long iterations under way may take to end once no more are started [default: 30s].
    #[arg(long, value_name = "DURATION")]
    pub(crate) graceful_stop: Option<Span>,
}

/// What the scenario is told.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Scenario")]
pub(crate) struct ScenarioArgs {
    /// Which of the file's scenarios to run, by its exact name [default: the first].
    #[arg(long, value_name = "NAME")]
    pub(crate) scenario: Option<String>,
    /// A variable that the scenario sees; repeatable. The host of a URL given here may be contacted.
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<KeyValue>,
    /// Seed of everything random [default: a new one each run, kept in the report].
    #[arg(long, value_name = "N", value_parser = values::whole::<u64>)]
    pub(crate) seed: Option<u64>,
}
