//! Whether a machine can generate the load that a plan asks for, before it is asked to.
//!
//! ```text
//!   plan ─► Needs ──┐
//!                   ├─ examine ─► Diagnosis: one Finding a rule, with the command that mends it
//!   the machine ────┘
//! ```
//!
//! A pure function: whoever calls it reads the facts of the machine. A fact that could not be read is `unknown`, never good and
//! never bad. A need is told apart by whether it is certain (more than there is of it is an error, and the run does not start) or only
//! possible (a warning).

use serde::Serialize;

mod machine;
mod needs;
mod ports;
mod resources;
mod surroundings;
#[cfg(test)]
mod tests;

pub use machine::{Cpus, Descriptors, Machine, MemoryMaps, Ports};
pub use needs::{Amount, Asked, Churn, Needs};
pub use resources::OWN_DESCRIPTORS;

/// What a finding means for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// There is enough.
    Ok,
    /// The machine does not tell.
    Unknown,
    /// The run may come to a limit, or its figures may suffer.
    Warning,
    /// The machine cannot do what is needed.
    Error,
}

impl Severity {
    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Ok => "ok",
            Severity::Unknown => "unknown",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// What is wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Complaint {
    /// One sentence with the figure and the limit, without a full stop.
    pub sentence: String,
    /// The command or the flag that mends it.
    pub advice: String,
}

/// What one rule found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// What it means.
    pub severity: Severity,
    /// What is needed.
    pub needs: String,
    /// What there is.
    pub has: String,
    /// Given where the severity is a warning or an error.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub complaint: Option<Complaint>,
    /// Whether it is about the plan, rather than about the machine whatever it is asked to do.
    #[serde(skip)]
    pub is_of_plan: bool,
}

/// What all rules found, in a fixed order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// The gravest severity among the findings; what is unknown is not grave.
    pub result: Severity,
    /// One for each rule.
    pub findings: Vec<Finding>,
}

/// Holds what is needed against what there is.
pub fn examine(machine: &Machine, needs: &Needs) -> Diagnosis {
    let findings = vec![
        ports::ports(machine, needs),
        resources::descriptors(machine, needs),
        resources::memory(machine, needs),
        resources::memory_maps(machine, needs),
        resources::cpus(machine, needs),
        surroundings::steal(machine),
        surroundings::clock_source(machine),
        surroundings::kernel_stamps(machine, needs),
        surroundings::accept_queue(machine, needs),
        surroundings::cpu_frequency(machine),
    ];
    let gravest = findings.iter().map(|finding| finding.severity).max();
    let result = match gravest {
        Some(grave @ (Severity::Warning | Severity::Error)) => grave,
        _ => Severity::Ok,
    };
    Diagnosis { result, findings }
}

impl Diagnosis {
    /// Findings of one severity.
    pub fn of(&self, severity: Severity) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(move |finding| finding.severity == severity)
    }
}

impl Finding {
    fn new(rule: &'static str, needs: impl Into<String>, has: impl Into<String>) -> Finding {
        Finding {
            rule,
            severity: Severity::Ok,
            needs: needs.into(),
            has: has.into(),
            complaint: None,
            is_of_plan: true,
        }
    }

    fn unknown(rule: &'static str, needs: impl Into<String>) -> Finding {
        Finding {
            severity: Severity::Unknown,
            ..Finding::new(rule, needs, "unknown: not readable here")
        }
    }

    /// About the machine, whatever it is asked to do.
    fn of_machine(self) -> Finding {
        Finding {
            is_of_plan: false,
            ..self
        }
    }

    fn complain(self, severity: Severity, sentence: String, advice: impl Into<String>) -> Finding {
        let complaint = Complaint {
            sentence,
            advice: advice.into(),
        };
        Finding {
            severity,
            complaint: Some(complaint),
            ..self
        }
    }
}
