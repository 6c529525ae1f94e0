//! Every limit that has a name.

use serde::{Deserialize, Serialize};

use crate::units::{duration, size};

const MIB: u64 = 1 << 20;
const SECOND_NS: u64 = 1_000_000_000;

/// Every limit that has a name. Each has a counter for when it is hit, in the report under the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Limits {
    /// Linear memory of one guest.
    #[serde(rename = "guest-memory", with = "size")]
    pub guest_memory_bytes: u64,
    /// CPU time of one iteration (the sum of its guest segments).
    #[serde(rename = "guest-cpu", with = "duration")]
    pub guest_cpu_ns: u64,
    /// Body of one response.
    #[serde(rename = "body", with = "size")]
    pub body_bytes: u64,
    /// Bodies of all responses held at one time in the process.
    #[serde(rename = "bodies", with = "size")]
    pub bodies_bytes: u64,
    /// Deferred checks that wait at one time; the bodies they hold may be half of `bodies`.
    pub deferred_checks: u64,
    /// Series, after which samples go to `__other__`.
    pub series: u32,
    /// Log lines kept of a run.
    pub log_lines: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            guest_memory_bytes: 64 * MIB,
            guest_cpu_ns: 10 * SECOND_NS,
            body_bytes: 64 * MIB,
            bodies_bytes: 2_048 * MIB,
            deferred_checks: 10_000,
            series: 1_000,
            log_lines: 10_000,
        }
    }
}
