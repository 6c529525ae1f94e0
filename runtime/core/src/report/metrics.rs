//! The report's list of metrics: first every metric as a whole, then every series, then what thresholds ask besides.

use std::collections::{BTreeMap, BTreeSet};

use super::{Figures, Metric, Number, Trend};
use crate::stats::{self, BUILTINS, Figure, FigureRef, Histogram, Totals, Unit, to_base64};
use crate::threshold::{ThresholdResult, per_second, share};

/// Every metric of a run.
pub(super) fn all(totals: &Totals, thresholds: &[ThresholdResult], elapsed_ns: u64) -> Vec<Metric> {
    let mut metrics = wholes(totals, elapsed_ns);
    for view in totals.views() {
        let tags = view.tags();
        if tags.is_empty() || matches!(view.figure, FigureRef::Counter { samples: 0, .. }) {
            continue;
        }
        let figures = figures(&view.figure.to_figure(), view.unit, elapsed_ns);
        metrics.extend(figures.map(|figures| Metric {
            name: view.metric.to_owned(),
            unit: view.unit,
            tags,
            figures,
        }));
    }
    for ThresholdResult { threshold, .. } in thresholds {
        let listed = |m: &Metric| m.name == threshold.metric && m.tags == threshold.tags;
        if !metrics.iter().any(listed) {
            metrics.extend(query(
                totals,
                &threshold.metric,
                &threshold.tags,
                elapsed_ns,
            ));
        }
    }
    metrics
}

/// Every metric as a whole, in the order of [`BUILTINS`] and then by name.
fn wholes(totals: &Totals, elapsed_ns: u64) -> Vec<Metric> {
    let views = totals.views();
    let recorded: BTreeSet<&str> = views.iter().map(|view| view.metric).collect();
    let own = recorded
        .iter()
        .copied()
        .filter(|name| stats::builtin(name).is_none());
    let names = BUILTINS
        .iter()
        .map(|b| b.name)
        .filter(|name| recorded.contains(name))
        .chain(own);
    names
        .filter_map(|name| query(totals, name, &BTreeMap::new(), elapsed_ns))
        .collect()
}

fn query(
    totals: &Totals,
    name: &str,
    tags: &BTreeMap<String, String>,
    elapsed_ns: u64,
) -> Option<Metric> {
    let (unit, figure) = totals.query(name, tags)?;
    let figures = figures(&figure, unit, elapsed_ns)?;
    Some(Metric {
        name: name.to_owned(),
        unit,
        tags: tags.clone(),
        figures,
    })
}

fn figures(figure: &Figure, unit: Unit, elapsed_ns: u64) -> Option<Figures> {
    Some(match figure {
        Figure::Trend(trend) => Figures::Trend(self::trend(trend, unit)?),
        Figure::Counter { value, .. } => Figures::Counter {
            value: Number(*value),
            per_second: Number(per_second(*value, elapsed_ns).unwrap_or(0.0)),
        },
        Figure::Rate { passes, fails } => Figures::Rate {
            passes: *passes,
            fails: *fails,
            rate: Number(share(*passes, *fails)?),
        },
        Figure::Gauge(gauge) => Figures::Gauge {
            value: Number(gauge.last),
            min: Number(gauge.min),
            max: Number(gauge.max),
        },
    })
}

/// A distribution of times; none when it is empty.
pub(super) fn times(histogram: &Histogram) -> Option<Trend> {
    trend(
        &stats::Trend::from_sides(1, histogram.clone(), None),
        Unit::Nanoseconds,
    )
}

/// A distribution of plain numbers; none when it is empty.
pub(super) fn plain(histogram: &Histogram) -> Option<Trend> {
    trend(
        &stats::Trend::from_sides(1, histogram.clone(), None),
        Unit::Plain,
    )
}

fn trend(trend: &stats::Trend, unit: Unit) -> Option<Trend> {
    let quantile = |q| trend.quantile(q).map(Number);
    let mean = match unit {
        Unit::Plain => trend.mean()?,
        Unit::Bytes | Unit::Nanoseconds => trend.mean()?.round(),
    };
    Some(Trend {
        count: trend.count(),
        min: Number(trend.min()?),
        mean: Number(mean),
        p50: quantile(0.5)?,
        p90: quantile(0.9)?,
        p95: quantile(0.95)?,
        p99: quantile(0.99)?,
        p99_9: quantile(0.999)?,
        max: Number(trend.max()?),
        hdr: to_base64(trend.positive()),
        hdr_negative: trend.negative().map(to_base64),
        scale: (trend.scale() != 1).then_some(trend.scale()),
    })
}
