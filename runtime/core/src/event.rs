//! What observers of a running test are told: one stream of events, in order, which every output consumes.
//!
//! ```text
//!   Preparing ─► Started ─► Interval ... ─► Draining ─► Interval ... ─► Finished
//!                    (Warning and Log may come anywhere between)
//! ```
//!
//! An [`Interval`] tells what happened since the one before, so that intervals add up to the totals. It names each series once,
//! in the interval in which it first appears: the stream can be written to a file line by line and read back without the run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sched::DropReason;
use crate::stats::{MetricKind, PackedHistogram, Unit};

/// Something that happened in a run, for those who watch it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", content = "data", rename_all = "kebab-case")]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one event a second, and it is the large one"
)]
pub enum RunEvent {
    /// Set-up is done and virtual users are being made; load has not begun.
    Preparing {
        /// Virtual users made before the start.
        vus: u32,
    },
    /// The load has begun: time 0.
    Started,
    /// What happened since the interval before.
    Interval(Interval),
    /// Nothing starts any more; iterations under way may end.
    Draining,
    /// Something the user should know.
    Warning(String),
    /// A line logged by a scenario.
    Log {
        /// The virtual user it came from; 0 in set-up and tear-down.
        vu: u32,
        /// How grave it is: debug, info, warn or error.
        level: &'static str,
        /// The line.
        text: String,
    },
    /// The last event: everything has ended and been counted.
    Finished,
}

/// What happened since the interval before. Set-up and tear-down are left out, as they are from totals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its end, in nanoseconds from the run's start.
    pub t_ns: u64,
    /// How long it was.
    pub length_ns: u64,
    /// Iterations that started, ended and were dropped.
    pub iterations: IntervalIterations,
    /// Exchanges answered.
    pub answered: u64,
    /// Exchanges failed, those without an answer.
    pub failed: u64,
    /// Exchanges that count as failed: those without an answer, unless the scenario cancelled them, and those with an
    /// unexpected one.
    pub unexpected: u64,
    /// Net times of answered exchanges.
    pub duration: PackedHistogram,
    /// Gross times of calls.
    pub gross: PackedHistogram,
    /// Tare of calls.
    pub tare: PackedHistogram,
    /// Times from due to end, of iterations.
    pub response: PackedHistogram,
    /// Checks that passed.
    pub checks_passed: u64,
    /// Checks that failed.
    pub checks_failed: u64,
    /// Bytes written for exchanges.
    pub sent_bytes: u64,
    /// Bytes read for exchanges.
    pub received_bytes: u64,
    /// Gauges by name, as they stood last: `vus`, `vus_max`, `gen_*`.
    pub gauges: BTreeMap<String, f64>,
    /// Series that appear for the first time.
    pub declared: Vec<SeriesName>,
    /// What happened in each counter and rate, with tags and of the scenario's own; nothing for those where nothing did.
    pub counts: Vec<SeriesCount>,
}

/// Iterations of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalIterations {
    /// Started.
    pub started: u64,
    /// Ended in good order.
    pub completed: u64,
    /// Ended with an error or a trap.
    pub failed: u64,
    /// Cut short by the run's end.
    pub interrupted: u64,
    /// Never started, by reason, in the order of [`DropReason::ALL`].
    pub dropped: [u64; DropReason::ALL.len()],
}

impl IntervalIterations {
    /// Iterations that ended by themselves.
    pub fn ended(&self) -> u64 {
        self.completed + self.failed
    }
}

/// A series, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesName {
    /// The number by which [`SeriesCount`] refers to it.
    pub series: u32,
    /// The metric.
    pub metric: String,
    /// Its kind: counter or rate.
    pub kind: MetricKind,
    /// Its unit.
    pub unit: Unit,
    /// The tags; none for a metric of the scenario's own as a whole.
    pub tags: BTreeMap<String, String>,
}

/// What happened in one series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesCount {
    /// The series' number.
    pub series: u32,
    /// Samples.
    pub count: u64,
    /// A counter's growth; how many of a rate's samples were true.
    pub value: f64,
}
