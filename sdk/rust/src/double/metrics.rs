//! Interface `metrics`.

use super::with;
use crate::testing::SeenValue;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Rate,
    Trend,
}

/// What a metric's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Plain numbers.
    Plain,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
}

pub(crate) struct Metric {
    name: String,
    unit: Unit,
}

pub(crate) struct Series {
    metric: u32,
    tags: Vec<(String, String)>,
}

pub(crate) fn register(name: &str, _kind: Kind, unit: Unit) -> u32 {
    with(|world| {
        world.seen.registrations += 1;
        world.metrics.push(Metric {
            name: name.to_owned(),
            unit,
        });
        world.metrics.len() as u32 - 1
    })
}

pub(crate) fn series(metric: u32, tags: &[(String, String)]) -> u32 {
    with(|world| {
        world.seen.registrations += 1;
        world.series.push(Series {
            metric,
            tags: tags.to_vec(),
        });
        world.series.len() as u32 - 1
    })
}

pub(crate) fn add(series: u32, value: f64) {
    with(|world| {
        let Series { metric, tags } = &world.series[series as usize];
        let Metric { name, unit } = &world.metrics[*metric as usize];
        world.seen.values.push(SeenValue {
            metric: name.clone(),
            unit: *unit,
            tags: tags.clone(),
            value,
        });
    });
}
