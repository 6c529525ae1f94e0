//! What a report says of the generator itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Number;

/// What this generator could sustain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capacity {
    /// CPU time of an iteration.
    pub cpu_per_iteration_ns: CpuPerIteration,
    /// Iterations per second at 80 % CPU.
    pub sustainable_per_second: Sustainable,
    /// Generators of this kind that the rate asked for takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generators_needed: Option<u64>,
}

/// CPU time of an iteration by who used it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuPerIteration {
    /// Nettare: input, output, protocols.
    pub host: Number,
    /// The scenario's own code outside of checks.
    pub scenario: Number,
    /// Checks, by name.
    pub checks: BTreeMap<String, Number>,
}

/// Iterations per second at 80 % CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sustainable {
    /// With the checks.
    pub as_is: Number,
    /// Without them.
    pub without_checks: Number,
}

/// The generator's health.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Generator {
    /// CPUs it could use: one for each worker, within affinity.
    pub cpus: u32,
    /// The worst value of each figure: the highest, but the lowest of what there should be much of, as available memory.
    pub peak: BTreeMap<String, Number>,
    /// Each figure for each interval, from the first in which it was read.
    pub series: BTreeMap<String, Vec<Number>>,
}
