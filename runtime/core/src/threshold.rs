//! Conditions on metrics: `http_req_duration{name:login}: p(95)<200`.
//!
//! The syntax is k6's, in [`parse`](Threshold::parse); nonsense is refused before the run, with its position. A threshold is
//! judged on what [`Totals::query`] answers, which is also what reports print.
//!
//! A metric without samples is neither good nor bad: the outcome is [`ThresholdOutcome::NoData`], which counts as a failure
//! unless the threshold allows it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::stats::{Figure, MetricKind, Totals, Unit};

mod condition;
mod cursor;
mod parse;
mod suggest;

/// One condition on a metric, or on those of its series that have some tags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Threshold {
    /// The metric's name.
    pub metric: String,
    /// Tags that a series must have to be judged; none means the metric as a whole.
    pub tags: BTreeMap<String, String>,
    /// The condition as it was written: `p(95)<200`.
    pub expression: String,
    /// Whether the run ends as soon as it does not hold.
    pub abort_on_fail: bool,
    /// How long after the start it is left alone before it may end the run.
    pub delay_abort_eval_ns: u64,
    /// Whether a metric without samples is no failure.
    pub allow_no_data: bool,
    /// The condition as it was understood.
    pub condition: Condition,
}

/// A condition: `aggregation comparison limit`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// What of the metric is compared.
    pub aggregation: Aggregation,
    /// How.
    pub comparison: Comparison,
    /// The number it is compared with, in `scale`.
    pub limit: f64,
    /// What the number counts.
    pub scale: Scale,
}

/// What of a metric is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aggregation {
    /// The N-th percentile of a trend, 0 to 100.
    Percentile(f64),
    /// The mean of a trend.
    Average,
    /// The median of a trend.
    Median,
    /// The smallest value of a trend or gauge.
    Min,
    /// The largest value of a trend or gauge.
    Max,
    /// The share of a rate, from 0 to 1; a counter's growth per second.
    Rate,
    /// The sum of a counter.
    Count,
    /// The last value of a gauge.
    Value,
}

/// How a metric is compared with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
}

/// What the number in a condition counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Nothing was written: milliseconds for times, and the metric's own unit for the rest.
    Bare,
    /// A duration was written.
    Nanoseconds,
    /// A size was written.
    Bytes,
    /// Hundredths.
    Percent,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdOutcome {
    /// It holds.
    Pass,
    /// It does not.
    Fail,
    /// There is nothing to judge: no samples, or a metric that turned out to be of a kind or unit the condition cannot be
    /// about.
    NoData,
}

/// A threshold and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdResult {
    /// The threshold.
    pub threshold: Threshold,
    /// The value judged, in the metric's own unit: nanoseconds for times.
    pub value: Option<f64>,
    /// Whether the condition holds.
    pub outcome: ThresholdOutcome,
}

/// Why a threshold was refused: one sentence with the place and an example.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("threshold `{text}`, character {position}: {problem}; write for instance `{example}`")]
pub struct ThresholdError {
    /// The text as it was read.
    pub text: String,
    /// Where reading stopped, in characters from 1.
    pub position: usize,
    /// What is wrong there.
    pub problem: String,
    /// Something that would be right.
    pub example: String,
}

/// Judges thresholds by what was recorded so far.
pub fn evaluate(thresholds: &[Threshold], totals: &Totals) -> Vec<ThresholdResult> {
    let judge = |threshold: &Threshold| {
        let (value, outcome) = threshold.judge(totals);
        ThresholdResult {
            threshold: threshold.clone(),
            value,
            outcome,
        }
    };
    thresholds.iter().map(judge).collect()
}

impl ThresholdResult {
    /// Whether this fails the run.
    pub fn is_failure(&self) -> bool {
        match self.outcome {
            ThresholdOutcome::Pass => false,
            ThresholdOutcome::Fail => true,
            ThresholdOutcome::NoData => !self.threshold.allow_no_data,
        }
    }
}

impl Threshold {
    /// The metric and its tags, as they are written: `http_req_duration{name:login}`.
    pub fn selector(&self) -> String {
        selector(&self.metric, &self.tags)
    }

    fn judge(&self, totals: &Totals) -> (Option<f64>, ThresholdOutcome) {
        let Some((unit, figure)) = totals.query(&self.metric, &self.tags) else {
            return (None, ThresholdOutcome::NoData);
        };
        let value = self.condition.aggregation.of(&figure, totals.elapsed_ns());
        let limit = self.condition.limit_in(unit, figure.kind());
        let outcome = match (value, limit) {
            (Some(value), Some(limit)) if self.condition.comparison.holds(value, limit) => {
                ThresholdOutcome::Pass
            }
            (Some(_), Some(_)) => ThresholdOutcome::Fail,
            _ => ThresholdOutcome::NoData,
        };
        (value, outcome)
    }
}

/// A metric and tags, as thresholds and reports write them.
pub fn selector(metric: &str, tags: &BTreeMap<String, String>) -> String {
    if tags.is_empty() {
        return metric.to_owned();
    }
    let tags: Vec<String> = tags
        .iter()
        .map(|(name, value)| format!("{name}:{value}"))
        .collect();
    format!("{metric}{{{}}}", tags.join(","))
}

impl Aggregation {
    /// What it makes of a figure; none when it does not fit the figure's kind. Rates of counters are per second of
    /// `elapsed_ns`.
    pub fn of(self, figure: &Figure, elapsed_ns: u64) -> Option<f64> {
        match (self, figure) {
            (Aggregation::Percentile(n), Figure::Trend(trend)) => trend.quantile(n / 100.0),
            (Aggregation::Average, Figure::Trend(trend)) => trend.mean(),
            (Aggregation::Median, Figure::Trend(trend)) => trend.quantile(0.5),
            (Aggregation::Min, Figure::Trend(trend)) => trend.min(),
            (Aggregation::Max, Figure::Trend(trend)) => trend.max(),
            (Aggregation::Rate, Figure::Rate { passes, fails }) => share(*passes, *fails),
            (Aggregation::Rate, Figure::Counter { value, .. }) => per_second(*value, elapsed_ns),
            (Aggregation::Count, Figure::Counter { value, .. }) => Some(*value),
            (Aggregation::Value, Figure::Gauge(gauge)) => Some(gauge.last),
            (Aggregation::Min, Figure::Gauge(gauge)) => Some(gauge.min),
            (Aggregation::Max, Figure::Gauge(gauge)) => Some(gauge.max),
            _ => None,
        }
    }

    /// Whether metrics of a kind have it.
    pub fn fits(self, kind: MetricKind) -> bool {
        match self {
            Aggregation::Percentile(_) | Aggregation::Average | Aggregation::Median => {
                kind == MetricKind::Trend
            }
            Aggregation::Min | Aggregation::Max => {
                matches!(kind, MetricKind::Trend | MetricKind::Gauge)
            }
            Aggregation::Rate => matches!(kind, MetricKind::Rate | MetricKind::Counter),
            Aggregation::Count => kind == MetricKind::Counter,
            Aggregation::Value => kind == MetricKind::Gauge,
        }
    }
}

impl fmt::Display for Aggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Aggregation::Percentile(n) => return write!(f, "p({n})"),
            Aggregation::Average => "avg",
            Aggregation::Median => "med",
            Aggregation::Min => "min",
            Aggregation::Max => "max",
            Aggregation::Rate => "rate",
            Aggregation::Count => "count",
            Aggregation::Value => "value",
        };
        f.write_str(name)
    }
}

impl Comparison {
    /// Whether `value` compares so with `limit`.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Comparison::Less => value < limit,
            Comparison::LessOrEqual => value <= limit,
            Comparison::Greater => value > limit,
            Comparison::GreaterOrEqual => value >= limit,
            Comparison::Equal => value == limit,
            Comparison::NotEqual => value != limit,
        }
    }
}

impl Condition {
    /// The limit in a metric's own unit; none when what it counts is not what the metric counts.
    pub fn limit_in(&self, unit: Unit, kind: MetricKind) -> Option<f64> {
        // A counter of times per second, and a share, are plain numbers; a counter of bytes per second is bytes.
        match (self.scale, unit) {
            (Scale::Bare, Unit::Nanoseconds) => Some(self.limit * condition::MILLISECOND),
            (Scale::Bare, Unit::Plain | Unit::Bytes)
            | (Scale::Nanoseconds, Unit::Nanoseconds)
            | (Scale::Bytes, Unit::Bytes) => Some(self.limit),
            (Scale::Percent, Unit::Plain) if kind == MetricKind::Rate => Some(self.limit / 100.0),
            _ => None,
        }
    }
}

/// A share of samples; none of none.
pub(crate) fn share(passes: u64, fails: u64) -> Option<f64> {
    let all = passes + fails;
    (all > 0).then(|| passes as f64 / all as f64)
}

/// Growth per second of wall time; none before any time has passed.
pub(crate) fn per_second(value: f64, elapsed_ns: u64) -> Option<f64> {
    (elapsed_ns > 0).then(|| value * 1e9 / elapsed_ns as f64)
}

/// The form in which a threshold is written down in a plan.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Written {
    metric: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, String>,
    expression: String,
    #[serde(default)]
    abort_on_fail: bool,
    #[serde(default)]
    delay_abort_eval_ns: u64,
    #[serde(default)]
    allow_no_data: bool,
}

impl From<Threshold> for Written {
    fn from(threshold: Threshold) -> Written {
        let Threshold {
            metric,
            tags,
            expression,
            abort_on_fail,
            delay_abort_eval_ns,
            allow_no_data,
            ..
        } = threshold;
        Written {
            metric,
            tags,
            expression,
            abort_on_fail,
            delay_abort_eval_ns,
            allow_no_data,
        }
    }
}

impl TryFrom<Written> for Threshold {
    type Error = ThresholdError;

    fn try_from(written: Written) -> Result<Threshold, ThresholdError> {
        let Written {
            metric,
            tags,
            expression,
            abort_on_fail,
            delay_abort_eval_ns,
            allow_no_data,
        } = written;
        let condition = condition::condition(&metric, &expression)?;
        Ok(Threshold {
            metric,
            tags,
            expression,
            abort_on_fail,
            delay_abort_eval_ns,
            allow_no_data,
            condition,
        })
    }
}

#[cfg(test)]
mod tests;
