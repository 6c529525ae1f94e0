//! What is to be reached, and whether it was.

use std::fmt;

use crate::measure::figures::short;

/// A figure that should not pass its limit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Goal {
    /// What the figure is of.
    pub(crate) what: String,
    pub(crate) figure: f64,
    pub(crate) limit: f64,
    /// Written after both; with its space, if there is to be one.
    pub(crate) unit: &'static str,
}

impl Goal {
    pub(crate) fn at_most(
        what: impl Into<String>,
        figure: f64,
        limit: f64,
        unit: &'static str,
    ) -> Goal {
        Goal {
            what: what.into(),
            figure,
            limit,
            unit,
        }
    }

    /// A figure that is no number reaches nothing.
    pub(crate) fn is_reached(&self) -> bool {
        self.figure <= self.limit
    }

    pub(crate) fn verdict(&self) -> &'static str {
        if self.is_reached() {
            "reached"
        } else {
            "missed"
        }
    }

    pub(crate) fn measured(&self) -> String {
        format!("{}{}", short(self.figure), self.unit)
    }

    pub(crate) fn allowed(&self) -> String {
        format!("at most {}{}", short(self.limit), self.unit)
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} ({}, {})",
            self.verdict(),
            self.what,
            self.measured(),
            self.allowed()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_reached_up_to_and_with_the_limit_itself() {
        let goal = |figure| Goal::at_most("memory", figure, 96.0, " KiB");
        assert!(goal(96.0).is_reached());
        assert!(!goal(96.01).is_reached());
        assert!(!goal(f64::NAN).is_reached());
        assert_eq!(
            goal(120.0).to_string(),
            "missed: memory (120 KiB, at most 96.0 KiB)"
        );
    }
}
