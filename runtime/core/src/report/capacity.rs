//! What a report says of the generator itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Number, RunFacts};
use crate::plan::Executor;
use crate::stats::Totals;

/// Of its CPUs, what a generator can be loaded with before it is late.
const SUSTAINABLE: f64 = 0.8;

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

impl Capacity {
    /// What follows from the CPU time of a run; none when that is not known, or nothing ended.
    ///
    /// All CPU time of the process is divided by the iterations that ended: what belongs to no scenario and no check is the host's.
    pub(super) fn of(facts: &RunFacts, totals: &Totals) -> Option<Capacity> {
        let all_ns = facts.generator_cpu_ns.filter(|all_ns| *all_ns > 0)?;
        let ended = facts.iterations.completed + facts.iterations.failed;
        if ended == 0 || facts.cpus == 0 {
            return None;
        }
        let each = |cpu_ns: f64| cpu_ns / ended as f64;
        let mut checks: BTreeMap<String, Number> = BTreeMap::new();
        for check in totals.checks_by_name() {
            let sum = checks.entry(check.name).or_insert(Number(0.0));
            sum.0 += each(check.cpu.sum() as f64);
        }
        let checks_ns: f64 = checks.values().map(|check| check.0).sum();
        let scenario_ns = each(totals.scenario_cpu_ns() as f64);
        let host_ns = (each(all_ns as f64) - scenario_ns - checks_ns).max(0.0);
        let per_second = |iteration_ns: f64| {
            Number(f64::from(facts.cpus) * SUSTAINABLE * 1e9 / iteration_ns.max(1.0))
        };
        let as_is = per_second(host_ns + scenario_ns + checks_ns);
        checks
            .values_mut()
            .for_each(|check| check.0 = check.0.round());
        Some(Capacity {
            cpu_per_iteration_ns: CpuPerIteration {
                host: Number(host_ns.round()),
                scenario: Number(scenario_ns.round()),
                checks,
            },
            generators_needed: asked_per_second(facts).map(|asked| needed(asked, as_is.0)),
            sustainable_per_second: Sustainable {
                as_is,
                without_checks: per_second(host_ns + scenario_ns),
            },
        })
    }
}

/// Iterations per second that the plan asks for; none when it asks for virtual users, who take what they get.
fn asked_per_second(facts: &RunFacts) -> Option<f64> {
    let rates = facts
        .plan
        .scenarios
        .iter()
        .filter_map(|scenario| match scenario.executor {
            Executor::ConstantArrivalRate { rate, .. } => {
                Some(rate.arrivals as f64 * 1e9 / rate.per_ns as f64)
            }
            _ => None,
        });
    rates.reduce(|sum, rate| sum + rate)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of machines, rounded up"
)]
fn needed(asked_per_second: f64, each_per_second: f64) -> u64 {
    (asked_per_second / each_per_second).ceil().max(1.0) as u64
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
