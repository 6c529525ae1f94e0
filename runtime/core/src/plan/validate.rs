//! What no plan may say.

use std::collections::BTreeMap;

use super::{Executor, Limits, Plan, PlanError, Rate, RunOptions, Scenario, WITHHELD};

/// Virtual users of a run at most: far beyond what a machine holds, and a typing error beyond that.
const MAX_VUS: u32 = 1_000_000;

/// Workers at most.
const MAX_WORKERS: u32 = 1_024;

/// One page of a guest's memory; with less no guest starts.
const WASM_PAGE_BYTES: u64 = 64 << 10;

/// Guests are looked at once in so long: a smaller budget could not be kept.
const TICK_NS: u64 = 1_000_000;

/// All that a 32-bit guest can address.
const WASM32_BYTES: u64 = 4 << 30;

/// Tags that samples get from what was measured.
const OWN_TAGS: [&str; 10] = [
    "scenario",
    "group",
    "name",
    "method",
    "status",
    "proto",
    "check",
    "error_kind",
    "target",
    "expected_response",
];

impl Plan {
    /// Whether the plan can be run as far as can be said without a machine. The error is about the first thing found.
    pub fn validate(&self) -> Result<(), PlanError> {
        self.run.validate()?;
        self.limits.validate()?;
        match self.scenarios.as_slice() {
            [] => Err(PlanError::about(
                "scenarios",
                "is empty",
                "add a table [scenarios.NAME]",
            )),
            [scenario] => scenario.validate(),
            _ => Err(PlanError::about(
                "scenarios",
                format!(
                    "has {} tables, and more than one comes with a later version",
                    self.scenarios.len()
                ),
                "leave one",
            )),
        }
    }
}

/// Refuses a value that is nothing where something is needed.
fn more_than_nothing(key: &'static str, value: u64, example: &str) -> Result<(), PlanError> {
    match value {
        0 => Err(PlanError::about(
            key,
            "is 0",
            format!("give for instance {example}"),
        )),
        _ => Ok(()),
    }
}

fn at_most(key: &'static str, value: u64, most: u64, why: &str) -> Result<(), PlanError> {
    match value {
        value if value > most => Err(PlanError::about(
            key,
            format!("is {value}, and {why}"),
            format!("give at most {most}"),
        )),
        _ => Ok(()),
    }
}

impl RunOptions {
    fn validate(&self) -> Result<(), PlanError> {
        more_than_nothing("timeout", self.timeout_ns, "60s")?;
        if let Some(workers) = self.workers {
            more_than_nothing("workers", u64::from(workers), "1")?;
            let why = "each worker is two threads that want a CPU";
            at_most("workers", u64::from(workers), u64::from(MAX_WORKERS), why)?;
        }
        if let Some(patience_ns) = self.abort_unanswered_ns {
            more_than_nothing("abort-unanswered", patience_ns, "10s or never")?;
        }
        if self.warmup_ns > 0 {
            return Err(PlanError::about(
                "warmup",
                "comes with a later version",
                "leave it out",
            ));
        }
        if !(0.0..=1.0).contains(&self.check_sample) {
            let problem = format!("is {}, which is no share", self.check_sample);
            return Err(PlanError::about(
                "check-sample",
                problem,
                "give a number from 0 to 1, 0.1 for every tenth",
            ));
        }
        // RFC 9110, section 5.5: a field value holds visible characters, spaces and tabs.
        if self.user_agent.chars().any(|c| c.is_control() && c != '\t') {
            return Err(PlanError::about(
                "user-agent",
                "holds a control character",
                "leave it out",
            ));
        }
        valid_env(&self.env)?;
        valid_tags(&self.tags)
    }
}

impl Limits {
    fn validate(&self) -> Result<(), PlanError> {
        if !(WASM_PAGE_BYTES..=WASM32_BYTES).contains(&self.guest_memory_bytes) {
            let problem = "is not between 64KiB, with which a guest can start, and 4GiB, which it can address";
            return Err(PlanError::about(
                "guest-memory",
                problem,
                "give for instance 64MiB",
            ));
        }
        if self.guest_cpu_ns < TICK_NS {
            let problem =
                "is less than a millisecond, the shortest time after which a guest is looked at";
            return Err(PlanError::about(
                "guest-cpu",
                problem,
                "give for instance 10s",
            ));
        }
        more_than_nothing("body", self.body_bytes, "64MiB")?;
        if self.bodies_bytes < self.body_bytes {
            let problem = "is less than `body`, so that the largest body allowed would never fit";
            return Err(PlanError::about(
                "bodies",
                problem,
                "raise `bodies` or lower `body`",
            ));
        }
        more_than_nothing("deferred-checks", self.deferred_checks, "10000")?;
        more_than_nothing("series", u64::from(self.series), "1000")
    }
}

impl Scenario {
    fn validate(&self) -> Result<(), PlanError> {
        if self.name.trim().is_empty() {
            return Err(PlanError::about(
                "scenario-name",
                "is empty",
                "name the table, as in [scenarios.checkout]",
            ));
        }
        if self.name.contains(char::is_control) {
            return Err(PlanError::about(
                "scenario-name",
                "holds a control character",
                "leave it out: the name stands in every result",
            ));
        }
        valid_env(&self.env)?;
        valid_tags(&self.tags)?;
        self.executor.validate()
    }
}

impl Executor {
    fn validate(&self) -> Result<(), PlanError> {
        match *self {
            Executor::ConstantVus { vus, duration_ns } => {
                valid_vus("vus", vus)?;
                more_than_nothing("duration", duration_ns, "30s")
            }
            Executor::SharedIterations {
                vus,
                iterations,
                max_duration_ns,
                rate,
            } => {
                valid_vus("vus", vus)?;
                more_than_nothing("iterations", iterations, "100")?;
                more_than_nothing("max-duration", max_duration_ns, "10m")?;
                rate.map_or(Ok(()), valid_rate)
            }
            Executor::PerVuIterations {
                vus,
                iterations,
                max_duration_ns,
            } => {
                valid_vus("vus", vus)?;
                more_than_nothing("iterations", iterations, "100")?;
                more_than_nothing("max-duration", max_duration_ns, "10m")
            }
            Executor::ConstantArrivalRate {
                rate,
                duration_ns,
                pre_allocated_vus,
                max_vus,
            } => {
                valid_rate(rate)?;
                more_than_nothing("duration", duration_ns, "30s")?;
                valid_vus("max-vus", max_vus)?;
                if pre_allocated_vus > max_vus {
                    let problem = format!(
                        "is {max_vus}, less than the {pre_allocated_vus} of `pre-allocated-vus`"
                    );
                    return Err(PlanError::about(
                        "max-vus",
                        problem,
                        "raise the one or lower the other",
                    ));
                }
                Ok(())
            }
        }
    }
}

fn valid_vus(key: &'static str, vus: u32) -> Result<(), PlanError> {
    more_than_nothing(key, u64::from(vus), "10")?;
    let why = "each virtual user needs memory and a connection of its own";
    at_most(key, u64::from(vus), u64::from(MAX_VUS), why)
}

fn valid_rate(rate: Rate) -> Result<(), PlanError> {
    more_than_nothing("rate", rate.arrivals.min(rate.per_ns), "200/s")?;
    if rate.arrivals > rate.per_ns {
        return Err(PlanError::about(
            "rate",
            "is more than one in a nanosecond, the unit of time",
            "give a lower one",
        ));
    }
    Ok(())
}

/// POSIX.1-2017, section 8.1: a name has no equals sign.
fn valid_env(env: &BTreeMap<String, String>) -> Result<(), PlanError> {
    for (name, value) in env {
        if name.is_empty() || name.contains('=') {
            let problem = format!("has the name `{name}`");
            return Err(PlanError::about("env", problem, "give a name without `=`"));
        }
        // From a plan that was printed: the scenario would log in with it.
        if value == WITHHELD {
            let problem = format!(
                "has `{WITHHELD}` for `{name}`, which stands for a value that is not shown"
            );
            let remedy = "give it again, for instance by -e";
            return Err(PlanError::about("env", problem, remedy));
        }
    }
    Ok(())
}

fn valid_tags(tags: &BTreeMap<String, String>) -> Result<(), PlanError> {
    let taken = |name: &&String| name.is_empty() || OWN_TAGS.contains(&name.as_str());
    if let Some(name) = tags.keys().find(taken) {
        let problem = format!("has the name `{name}`, which samples have from what was measured");
        return Err(PlanError::about("tags", problem, "choose another name"));
    }
    let strange = |(name, value): &(&String, &String)| {
        name.contains(char::is_control) || value.contains(char::is_control)
    };
    match tags.iter().find(strange) {
        Some((name, _)) => {
            let problem = format!("holds a control character, in `{}`", name.escape_default());
            let remedy = "leave it out: tags stand in every result";
            Err(PlanError::about("tags", problem, remedy))
        }
        None => Ok(()),
    }
}
