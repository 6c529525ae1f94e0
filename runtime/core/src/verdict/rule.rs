//! What a rule is: a figure with limits, or a law that either holds or does not.

use super::{Judgement, RunCounts};
use crate::health::Health;
use crate::units::Nanoseconds;

/// What rules look at.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// What the run counted.
    pub counts: &'a RunCounts,
    /// How its generator fared.
    pub health: &'a Health,
}

/// One rule: pure, total, and complete in its row of [`super::RULES`].
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its name, in reports and documentation.
    pub name: &'static str,
    /// What it looks at.
    pub about: &'static str,
    /// What to do when it fires.
    pub advice: &'static str,
    /// What is right.
    pub test: Test,
}

/// What is right.
#[derive(Clone, Copy)]
pub enum Test {
    /// A figure within limits.
    Bound(Bound),
    /// A statement that holds. A run in which it does not is invalid.
    Law {
        /// The statement.
        limit: &'static str,
        /// What was found instead, if it does not hold.
        broken: fn(&RunCounts) -> Option<String>,
    },
}

/// A figure and how far it may go.
#[derive(Clone, Copy)]
pub struct Bound {
    /// The figure; none where nobody could read it.
    pub figure: fn(&Evidence<'_>) -> Option<f64>,
    /// How it is written.
    pub measure: Measure,
    /// What it is of, after the number.
    pub of: &'static str,
    /// On which side of the limits it should be.
    pub side: Side,
    /// Past this the run is suspect.
    pub suspect: Option<f64>,
    /// Past this the run is invalid.
    pub invalid: Option<f64>,
}

/// How a figure is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// From 0 to 1, in per cent.
    Share,
    /// Events per second.
    PerSecond,
    /// A time.
    Nanoseconds,
    /// A number of events.
    Count,
}

/// On which side of its limits a figure should be. The limit itself is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// At or below.
    AtMost,
    /// At or above.
    AtLeast,
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing wrong.
    Right,
    /// The figure could not be read.
    NotApplicable,
    /// The figure is past a limit.
    Wrong {
        /// Suspect or invalid.
        severity: Judgement,
        /// The figure, in words.
        figure: String,
    },
}

impl Rule {
    /// Applies the rule.
    pub fn look(&self, evidence: &Evidence<'_>) -> Found {
        match self.test {
            Test::Bound(bound) => bound.look(evidence),
            Test::Law { broken, .. } => match broken(evidence.counts) {
                None => Found::Right,
                Some(figure) => Found::Wrong {
                    severity: Judgement::Invalid,
                    figure,
                },
            },
        }
    }

    /// What would be right, in words.
    pub fn limit(&self) -> String {
        match self.test {
            Test::Law { limit, .. } => limit.to_owned(),
            Test::Bound(bound) => bound
                .suspect
                .or(bound.invalid)
                .map_or_else(String::new, |limit| bound.right(limit)),
        }
    }
}

impl Bound {
    fn look(&self, evidence: &Evidence<'_>) -> Found {
        let Some(value) = (self.figure)(evidence).filter(|value| value.is_finite()) else {
            return Found::NotApplicable;
        };
        let passes = |limit: Option<f64>| limit.is_some_and(|limit| self.is_past(value, limit));
        let severity = match () {
            () if passes(self.invalid) => Judgement::Invalid,
            () if passes(self.suspect) => Judgement::Suspect,
            () => return Found::Right,
        };
        Found::Wrong {
            severity,
            figure: format!("{} {}", self.measure.write(value), self.of),
        }
    }

    fn is_past(&self, value: f64, limit: f64) -> bool {
        match self.side {
            Side::AtMost => value > limit,
            Side::AtLeast => value < limit,
        }
    }

    /// A limit in words.
    pub fn right(&self, limit: f64) -> String {
        let side = match self.side {
            Side::AtMost => "at most",
            Side::AtLeast => "at least",
        };
        format!("{side} {}", self.measure.write(limit))
    }
}

impl Measure {
    fn write(self, value: f64) -> String {
        match self {
            Measure::Share => format!("{} %", short(value * 100.0)),
            Measure::PerSecond => format!("{}/s", short(value)),
            Measure::Nanoseconds => Nanoseconds(value as u64).to_string(),
            Measure::Count => format!("{value}"),
        }
    }
}

/// One digit after the point, but more where the first of them says nothing.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 10.0 || v == 0.0 => 0,
        v if v >= 0.1 => 1,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_as_short_as_they_say_something() {
        let cases = [
            (Measure::Share, 0.001, "0.1 %"),
            (Measure::Share, 0.93456, "93 %"),
            (Measure::Share, 0.00012, "0.012 %"),
            (Measure::PerSecond, 10.0, "10/s"),
            (Measure::PerSecond, 1.26, "1.3/s"),
            (Measure::Nanoseconds, 50e6, "50 ms"),
            (Measure::Count, 2.0, "2"),
        ];
        for (measure, value, text) in cases {
            assert_eq!(measure.write(value), text);
        }
    }
}
