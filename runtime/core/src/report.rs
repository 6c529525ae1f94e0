//! The complete record of a run: `nettare.report/1`.
//!
//! Every other format is made from it, and any two records can be merged or compared, since distributions are kept whole.
//! Fields of what a run did not have are absent. Readers ignore fields they do not know; a changed meaning raises the number in
//! `schema`. `docs/reference/report.schema.json` is generated from these types, and [`assemble`] fills them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::Plan;
pub use crate::sample::CheckMode;
use crate::stall::Stall;
use crate::threshold::ThresholdOutcome;
use crate::verdict::Verdict;

mod assemble;
mod capacity;
mod checks;
mod intervals;
mod metric;
mod metrics;
mod number;
#[cfg(feature = "schema")]
mod schema;

pub use assemble::{RunFacts, assemble};
pub use capacity::{Capacity, CpuPerIteration, Generator, Sustainable};
pub use metric::{Figures, IntervalEntry, IntervalMetric, Metric, Trend};
pub use number::Number;
#[cfg(feature = "schema")]
pub use schema::json_schema;

/// The value of a report's `schema`.
pub const SCHEMA: &str = "nettare.report/1";

/// A whole report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// `nettare.report/1`.
    pub schema: String,
    /// What was run, when, and how it ended.
    pub run: Run,
    /// What the figures are worth.
    pub verdict: Verdict,
    /// Where iterations got to.
    pub iterations: Iterations,
    /// Where exchanges got to.
    pub requests: Requests,
    /// Every metric: without tags as a total, with tags as a submetric.
    pub metrics: Vec<Metric>,
    /// Every check.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Every threshold and what became of it.
    #[serde(default)]
    pub thresholds: Vec<Threshold>,
    /// What this generator could sustain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// The generator's health.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<Generator>,
    /// Stretches in which the offered load fell short, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    /// Errors by kind and code.
    #[serde(default)]
    pub errors: Vec<ErrorCount>,
    /// The run second by second.
    #[serde(default)]
    pub intervals: Vec<IntervalEntry>,
    /// Connections opened and used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// How late iterations started, by cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Lateness>,
    /// Limits that were hit, by name, and how often.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
    /// Misuses of the contract by the scenario, and how often.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub misuse: BTreeMap<String, u64>,
    /// What the user should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What was run, when, and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Tells this run from every other.
    pub id: String,
    /// The version of Nettare that ran it.
    pub version: String,
    /// When the load began, in RFC 3339.
    pub started: String,
    /// From the begin of the load to the end of its last iteration.
    pub duration_ns: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// The plan as it was carried out.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::any_object"))]
    pub plan: Plan,
    /// The scenario's file; absent when there was none, as in `nettare quick`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<ScenarioFile>,
    /// What the receive stamps of answered exchanges are worth.
    pub timestamps: TimestampCounts,
    /// How the program ended.
    pub exit: Exit,
}

/// A scenario's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioFile {
    /// The path as it was given.
    pub file: String,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}

/// Exchanges by what their receive stamps are worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimestampCounts {
    /// The kernel's, of the segment that ended the response.
    pub exact: u64,
    /// The kernel's, of a later segment.
    pub bound: u64,
    /// User space's.
    pub user: u64,
}

/// How the program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exit {
    /// The exit code.
    pub code: u8,
    /// Why it is not 0: every cause, the decisive one first.
    pub causes: Vec<String>,
}

/// Where iterations got to: offered = started + dropped, started = completed + failed + interrupted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Iterations {
    /// Arrivals whose time came.
    pub offered: u64,
    /// Of these, those that started.
    pub started: u64,
    /// Of these, those that never started, by reason: no-vu, lag, generator-limit, stop.
    pub dropped: BTreeMap<String, u64>,
    /// Ended in good order.
    pub completed: u64,
    /// Ended with an error or a trap.
    pub failed: u64,
    /// Cut short by the run's end.
    pub interrupted: u64,
}

/// Where exchanges got to: attempted = answered + failed + retried + in flight at the stop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Requests {
    /// Exchanges begun.
    pub attempted: u64,
    /// Of these, those that had a connection in hand.
    pub connected: u64,
    /// Of these, those whose request left whole.
    pub sent: u64,
    /// Exchanges whose response ended.
    pub answered: u64,
    /// Exchanges that failed, by kind.
    pub failed: BTreeMap<String, u64>,
    /// Exchanges given up for another on a fresh connection.
    #[serde(default)]
    pub retried: u64,
    /// Exchanges that had not ended when the run stopped.
    pub in_flight_at_stop: u64,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Its name.
    pub name: String,
    /// The scenario it belongs to.
    pub scenario: String,
    /// Where it is evaluated, most of the time.
    pub mode: CheckMode,
    /// Evaluations that passed.
    pub passes: u64,
    /// Evaluations that did not.
    pub fails: u64,
    /// Evaluations that were skipped, by reason: queue-full, sampled, stop.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, u64>,
    /// CPU time of an evaluation, in ns; absent when it was not metered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Trend>,
    /// The check's share of all CPU time of the generator, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_share: Option<Number>,
    /// CPU time for each MB (10^6 bytes) of response body that it looked at, in ns; absent when it looked at none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_per_mb_ns: Option<Number>,
    /// The guest's instructions in an evaluation; absent when they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Trend>,
    /// From being deferred to the evaluation, in ns; absent when it was not deferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_wait: Option<Trend>,
    /// Bytes of response body it looked at.
    pub bytes: u64,
    /// Why it failed first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
}

/// One threshold and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Threshold {
    /// The metric with its tags: `http_req_duration{name:login}`.
    pub metric: String,
    /// The condition: `p(95)<200`.
    pub expression: String,
    /// The value judged, in the metric's unit; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Number>,
    /// Whether it holds.
    pub result: ThresholdOutcome,
    /// Whether a metric without samples is no failure.
    #[serde(default, skip_serializing_if = "is_false")]
    pub allow_no_data: bool,
}

/// Errors of one kind and code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorCount {
    /// The kind.
    pub kind: String,
    /// A finer number within the kind (an errno, a TLS alert); 0 when there is none.
    pub code: u32,
    /// How many.
    pub count: u64,
    /// The first message.
    pub example: String,
}

/// Connections opened and used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Connections {
    /// Connections opened.
    pub opened: u64,
    /// Exchanges that took one that had served before.
    pub reused: u64,
}

/// How late iterations started, by cause; in ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lateness {
    /// For want of a free virtual user: the server or the cap made it wait, as it would a user.
    pub no_vu: Trend,
    /// The generator's own doing.
    pub lag: Trend,
}

/// The list of metrics alone.
#[cfg(test)]
pub(crate) fn metrics_of(
    totals: &crate::stats::Totals,
    thresholds: &[crate::threshold::ThresholdResult],
) -> Vec<Metric> {
    metrics::all(totals, thresholds, totals.elapsed_ns())
}

fn is_false(value: &bool) -> bool {
    !*value
}

impl Report {
    /// The metric of that name as a whole.
    pub fn total(&self, name: &str) -> Option<&Metric> {
        self.metrics
            .iter()
            .find(|m| m.name == name && m.tags.is_empty())
    }

    /// The distribution of the metric of that name as a whole.
    pub fn trend(&self, name: &str) -> Option<&Trend> {
        match &self.total(name)?.figures {
            Figures::Trend(trend) => Some(trend),
            _ => None,
        }
    }
}
