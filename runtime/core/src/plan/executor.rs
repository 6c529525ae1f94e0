//! How many iterations, by how many virtual users, and when.

use serde::{Deserialize, Serialize};

use super::keyword::keywords;
use crate::units::duration;

/// How many iterations, by how many virtual users, and when. Names and keys are k6's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "executor",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case"
)]
pub enum Executor {
    /// `vus` virtual users iterate for `duration_ns`.
    ConstantVus {
        /// Virtual users.
        vus: u32,
        /// No iteration starts after it.
        #[serde(rename = "duration", with = "duration")]
        duration_ns: u64,
    },
    /// `iterations` in all, shared by `vus` virtual users.
    SharedIterations {
        /// Virtual users.
        vus: u32,
        /// Iterations in all.
        iterations: u64,
        /// No iteration starts after it; the largest number means never.
        #[serde(rename = "max-duration", with = "duration::or_forever")]
        max_duration_ns: u64,
        /// Starts are due at this pace, and late where no virtual user is free; none means as fast as they go. This is
        /// `quick -q` with `-n`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<Rate>,
    },
    /// `iterations` by each of `vus` virtual users.
    PerVuIterations {
        /// Virtual users.
        vus: u32,
        /// Iterations of each.
        iterations: u64,
        /// No iteration starts after it; the largest number means never.
        #[serde(rename = "max-duration", with = "duration::or_forever")]
        max_duration_ns: u64,
    },
    /// `rate` arrivals for `duration_ns`, whatever becomes of them: an open model.
    ConstantArrivalRate {
        /// Arrivals per unit of time.
        rate: Rate,
        /// No arrival is due at or after it.
        #[serde(rename = "duration", with = "duration")]
        duration_ns: u64,
        /// Virtual users made before the start.
        pre_allocated_vus: u32,
        /// Virtual users at most.
        max_vus: u32,
    },
}

keywords! {
    /// The executors by name.
    ExecutorKind, "an executor" {
        /// [`Executor::ConstantVus`].
        ConstantVus = "constant-vus",
        /// [`Executor::SharedIterations`].
        SharedIterations = "shared-iterations",
        /// [`Executor::PerVuIterations`].
        PerVuIterations = "per-vu-iterations",
        /// [`Executor::ConstantArrivalRate`].
        ConstantArrivalRate = "constant-arrival-rate",
    } later ["ramping-vus", "ramping-arrival-rate"]
}

impl Executor {
    /// Its name.
    pub fn kind(&self) -> ExecutorKind {
        match self {
            Executor::ConstantVus { .. } => ExecutorKind::ConstantVus,
            Executor::SharedIterations { .. } => ExecutorKind::SharedIterations,
            Executor::PerVuIterations { .. } => ExecutorKind::PerVuIterations,
            Executor::ConstantArrivalRate { .. } => ExecutorKind::ConstantArrivalRate,
        }
    }

    /// How long it may start iterations.
    pub fn duration_ns(&self) -> u64 {
        match *self {
            Executor::ConstantVus { duration_ns, .. }
            | Executor::ConstantArrivalRate { duration_ns, .. } => duration_ns,
            Executor::SharedIterations {
                max_duration_ns, ..
            }
            | Executor::PerVuIterations {
                max_duration_ns, ..
            } => max_duration_ns,
        }
    }

    /// How many virtual users it may have.
    pub fn max_vus(&self) -> u32 {
        match *self {
            Executor::ConstantVus { vus, .. }
            | Executor::SharedIterations { vus, .. }
            | Executor::PerVuIterations { vus, .. } => vus,
            Executor::ConstantArrivalRate { max_vus, .. } => max_vus,
        }
    }
}

/// A number of arrivals per unit of time, exact. It stands in plans as people write it: `200/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Arrivals.
    pub arrivals: u64,
    /// In so many nanoseconds.
    pub per_ns: u64,
}

impl Rate {
    /// The same rate in lowest terms.
    pub fn reduced(self) -> Rate {
        // Euclid's algorithm.
        let (mut divisor, mut rest) = (self.arrivals, self.per_ns);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        let divisor = divisor.max(1);
        Rate {
            arrivals: self.arrivals / divisor,
            per_ns: self.per_ns / divisor,
        }
    }

    /// Arrivals in a second, for printing; pacing never goes through floating point.
    pub fn per_second(self) -> f64 {
        self.arrivals as f64 * 1e9 / self.per_ns as f64
    }
}
