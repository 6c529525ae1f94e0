//! Reading conditions, and refusing those that cannot be about their metric.

use super::cursor::Cursor;
use super::{Aggregation, Condition, Scale, ThresholdError};
use crate::stats::{Builtin, GENERATOR_PREFIX, MetricKind, Unit, builtin};

/// A millisecond in nanoseconds: what a bare number of a time counts, as in k6.
pub(super) const MILLISECOND: f64 = 1e6;

/// Reads a condition on a metric.
pub(super) fn condition(metric: &str, text: &str) -> Result<Condition, ThresholdError> {
    let metric = Metric::of(metric);
    let mut cursor = Cursor::new(text, metric.example());
    let start = cursor.skip_blanks();
    let aggregation = cursor.aggregation()?;
    if let Some(kind) = metric.kind.filter(|kind| !aggregation.fits(*kind)) {
        let problem = format!("a {} has no `{aggregation}`", kind.as_str());
        return Err(cursor.error_at(start, &problem));
    }
    let comparison = cursor.comparison()?;
    let number_at = cursor.skip_blanks();
    let (limit, scale) = cursor.limit()?;
    if !metric.counts(scale, aggregation) {
        let unit = text[number_at..].trim_start_matches(|c: char| !c.is_alphabetic() && c != '%');
        let problem = format!("this metric is not counted in `{}`", unit.trim_end());
        return Err(cursor.error_at(number_at, &problem));
    }
    metric
        .check_limit(limit, scale, aggregation)
        .map_err(|problem| cursor.error_at(number_at, &problem))?;
    Ok(Condition {
        aggregation,
        comparison,
        limit,
        scale,
    })
}

/// What is known of a metric before the run.
struct Metric {
    kind: Option<MetricKind>,
    unit: Option<Unit>,
}

impl Metric {
    fn of(name: &str) -> Metric {
        match builtin(name) {
            Some(&Builtin { kind, unit, .. }) => Metric {
                kind: Some(kind),
                unit: Some(unit),
            },
            None if name.starts_with(GENERATOR_PREFIX) => Metric {
                kind: Some(MetricKind::Gauge),
                unit: None,
            },
            None => Metric {
                kind: None,
                unit: None,
            },
        }
    }

    fn example(&self) -> &'static str {
        match self.kind {
            Some(MetricKind::Counter) => "count>1000",
            Some(MetricKind::Gauge) => "value<100",
            Some(MetricKind::Rate) => "rate<0.01",
            Some(MetricKind::Trend) | None => "p(95)<200",
        }
    }

    /// Refuses limits that no value of the metric could ever be on either side of.
    fn check_limit(
        &self,
        limit: f64,
        scale: Scale,
        aggregation: Aggregation,
    ) -> Result<(), String> {
        if self.kind.is_some() && self.kind != Some(MetricKind::Gauge) && limit < 0.0 {
            return Err(format!(
                "the {aggregation} of this metric is never below zero"
            ));
        }
        let highest = if scale == Scale::Percent { 100.0 } else { 1.0 };
        if self.kind == Some(MetricKind::Rate) && limit > highest {
            return Err("a rate is between 0 and 1, or 0% and 100%".to_owned());
        }
        Ok(())
    }

    fn counts(&self, scale: Scale, aggregation: Aggregation) -> bool {
        match (scale, self.unit) {
            (Scale::Bare, _) => true,
            (Scale::Percent, _) => {
                aggregation == Aggregation::Rate
                    && matches!(self.kind, Some(MetricKind::Rate) | None)
            }
            (_, None) => true,
            (Scale::Nanoseconds, Some(unit)) => unit == Unit::Nanoseconds,
            (Scale::Bytes, Some(unit)) => unit == Unit::Bytes,
        }
    }
}
