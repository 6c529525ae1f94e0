//! What is wrong with a plan.

/// One thing that is wrong with a plan: one sentence with the place, the problem and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place} {problem}; {remedy}")]
pub struct PlanError {
    /// Where: a flag, a variable, a key and whose it is.
    pub place: String,
    /// What is wrong, as the rest of a sentence that begins with the place.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
    /// The key of the plan that it is about.
    pub key: &'static str,
}

impl PlanError {
    /// About a key of the plan, wherever its value came from.
    pub(super) fn about(
        key: &'static str,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> PlanError {
        let place = format!("`{key}`");
        PlanError {
            place,
            problem: problem.into(),
            remedy: remedy.into(),
            key,
        }
    }

    /// The same error for somebody who wrote flags or variables: what is to be done about it is told in flags too.
    pub(super) fn in_flags(mut self) -> PlanError {
        const KEYS_WITH_FLAGS: [&str; 6] = [
            "vus",
            "iterations",
            "duration",
            "rate",
            "pre-allocated-vus",
            "max-vus",
        ];
        if self.place.starts_with("`--") || self.place.starts_with("`NETTARE_") {
            // A problem may name where the other value was written; that stays.
            let names_a_place =
                self.problem.contains("plan file") || self.problem.contains("own options");
            for key in KEYS_WITH_FLAGS {
                let (key, flag) = (format!("`{key}`"), format!("`--{key}`"));
                if !names_a_place {
                    self.problem = self.problem.replace(&key, &flag);
                }
                self.remedy = self.remedy.replace(&key, &flag);
            }
        }
        self
    }

    /// The same error, told by the place where the value was written.
    pub(super) fn at(self, place: String) -> PlanError {
        PlanError { place, ..self }
    }
}
