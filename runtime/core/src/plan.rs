//! What is to be run, apart from how: validated, serialisable, printable, and split over workers by [`crate::segment`].
//!
//! A plan is made from defaults, the scenario's own options, a plan file, the environment and flags, in this order of rising
//! precedence:
//!
//! ```text
//!   flags, environment ──► Options ─┐
//!   plan file ─► PlanFile ─► Options ─┼─ Layers::resolve ─► Plan, and the Origin of each value
//!   the guest ─► PlanFile ─► Options ─┘                      │
//!                                                            └─ printed in the syntax of plan files
//! ```
//!
//! Durations are nanoseconds here, sizes bytes; people write and read them as [`crate::units`] says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod entry;
mod error;
mod executor;
mod file;
mod form;
mod keyword;
mod limits;
mod load;
mod options;
mod origin;
mod resolve;
mod run;
mod secrets;
mod strict;
mod validate;

#[cfg(test)]
mod tests;

pub use self::error::PlanError;
pub use self::executor::{Executor, ExecutorKind, Rate};
pub use self::file::{Isolation, PlanFile};
pub use self::keyword::KeywordError;
pub use self::limits::Limits;
pub use self::options::Options;
pub use self::origin::{Origin, Origins};
pub use self::resolve::{Defaults, Layers, Resolved};
pub use self::run::{
    ConnectionPolicy, DeferredQueue, GuestThread, HttpVersions, Meter, RunOptions, Timestamps,
};
pub use self::secrets::{WITHHELD, masked, names_a_secret};

use crate::threshold::Threshold;

/// A whole test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Plan {
    /// Settings of the run as a whole.
    pub run: RunOptions,
    /// The scenarios, in the order in which they were written.
    #[serde(with = "form::scenarios")]
    pub scenarios: Vec<Scenario>,
    /// What the totals are judged by.
    #[serde(
        default,
        with = "form::thresholds",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub thresholds: Vec<Threshold>,
    /// Every limit that has a name.
    pub limits: Limits,
}

/// One scenario of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name in metrics.
    pub name: String,
    /// What a virtual user does in an iteration.
    pub work: Work,
    /// How many, and when.
    pub executor: Executor,
    /// How long iterations under way may take to end once no more are started.
    pub graceful_stop_ns: u64,
    /// What has an instance of its own.
    pub isolation: Isolation,
    /// Added to the run's, and above it.
    pub env: BTreeMap<String, String>,
    /// Added to the run's, and above it.
    pub tags: BTreeMap<String, String>,
}

impl Scenario {
    /// How long iterations under way may take to end, unless the plan says otherwise.
    pub const DEFAULT_GRACEFUL_STOP_NS: u64 = 30_000_000_000;
}

/// What a virtual user does in an iteration.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Calls a WebAssembly guest.
    Guest {
        /// The path as it was given.
        file: String,
        /// Which of the guest's scenarios; none means its first.
        scenario: Option<String>,
    },
    /// Sends one request, natively.
    Request(QuickRequest),
}

/// The one request of `nettare quick`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct QuickRequest {
    /// The method, in capitals.
    pub method: String,
    /// The URL.
    pub url: String,
    /// Header fields in order; names may repeat.
    pub headers: Vec<(String, String)>,
    /// The body.
    #[serde(with = "form::body")]
    pub body: Vec<u8>,
}
