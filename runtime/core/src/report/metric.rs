//! Metrics in a report: what was recorded, as a whole and second by second.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Number;
use crate::stats::Unit;

/// One metric, or one series of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// What its values are counted in.
    pub unit: Unit,
    /// What tells the series from others; none for the metric as a whole.
    pub tags: BTreeMap<String, String>,
    /// What was recorded.
    #[serde(flatten)]
    pub figures: Figures,
}

/// What was recorded, by kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Figures {
    /// A distribution.
    Trend(Trend),
    /// A sum.
    Counter {
        /// The sum.
        value: Number,
        /// The sum by the run's duration.
        per_second: Number,
    },
    /// A level.
    Gauge {
        /// The last value.
        value: Number,
        /// The lowest.
        min: Number,
        /// The highest.
        max: Number,
    },
    /// A share.
    Rate {
        /// Samples that were true.
        passes: u64,
        /// Samples that were not.
        fails: u64,
        /// passes / (passes + fails).
        rate: Number,
    },
}

/// A distribution of at least one value, in the metric's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trend {
    /// Values counted.
    pub count: u64,
    /// The smallest, exact.
    pub min: Number,
    /// The mean.
    pub mean: Number,
    /// The median.
    pub p50: Number,
    /// The 90th percentile.
    pub p90: Number,
    /// The 95th percentile.
    pub p95: Number,
    /// The 99th percentile.
    pub p99: Number,
    /// The 99.9th percentile.
    pub p99_9: Number,
    /// The largest, exact.
    pub max: Number,
    /// Values from zero up, times `scale`: HdrHistogram V2 in base64.
    pub hdr: String,
    /// Magnitudes of values below zero, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hdr_negative: Option<String>,
    /// What values were multiplied by before they were counted; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<u32>,
}

/// What happened since the interval before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntervalEntry {
    /// Its end, from the begin of the load.
    pub t_ns: u64,
    /// Metrics in which something happened.
    pub metrics: Vec<IntervalMetric>,
}

/// What happened in one metric in an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntervalMetric {
    /// Place in `metrics`.
    pub i: u32,
    /// Samples.
    pub count: u64,
    /// A counter's growth, a gauge's last value, or how many samples of a rate were true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Number>,
    /// A trend's values: HdrHistogram V2 in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hdr: Option<String>,
}
