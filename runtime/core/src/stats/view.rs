//! One way to look at everything recorded: as metrics with tags.
//!
//! Thresholds, reports and intervals all read [`View`]s, so the value that is judged is the value that is printed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::figures::Gauge;
use super::histogram::Histogram;
use super::key::{CheckKey, CustomKey, GroupKey, PhaseKey, SeriesKey};
use super::symbol::{Interner, Symbol, TagSet};
use super::trend::Trend;
use super::{MetricKind, Unit};
use crate::sample::SkipReason;
use crate::sched::DropReason;

/// Which row of which table a view looks at, and at which of its metrics: the same for the whole run.
pub(crate) type Site = (u8, u32, u8);

/// One metric of one series.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub(crate) site: Site,
    /// The metric's name.
    pub metric: &'a str,
    /// The metric's unit.
    pub unit: Unit,
    /// What was recorded.
    pub figure: FigureRef<'a>,
    pub(crate) key: Key<'a>,
    pub(crate) names: &'a Interner,
}

/// What was recorded of one metric in one series.
#[derive(Clone, Copy, Debug)]
pub enum FigureRef<'a> {
    /// A distribution of integers.
    Histogram(&'a Histogram),
    /// A distribution of anything.
    Trend(&'a Trend),
    /// A sum.
    Counter {
        /// The sum.
        value: f64,
        /// Of so many samples.
        samples: u64,
    },
    /// A share.
    Rate {
        /// Samples that were true.
        passes: u64,
        /// Samples that were not.
        fails: u64,
    },
    /// A level.
    Gauge(Gauge),
}

/// What was recorded of one metric in all series that a question is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// A distribution.
    Trend(Trend),
    /// A sum.
    Counter {
        /// The sum.
        value: f64,
        /// Of so many samples.
        samples: u64,
    },
    /// A share.
    Rate {
        /// Samples that were true.
        passes: u64,
        /// Samples that were not.
        fails: u64,
    },
    /// A level.
    Gauge(Gauge),
}

/// What a view's tags come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key<'a> {
    Exchange(&'a SeriesKey),
    Phase(&'a PhaseKey),
    Scenario(Symbol),
    Dropped(Symbol, DropReason),
    Check(&'a CheckKey),
    Skipped(&'a CheckKey, SkipReason),
    Group(&'a GroupKey),
    Custom(&'a CustomKey),
    Untagged,
}

impl FigureRef<'_> {
    /// What kind of metric this is a figure of.
    pub fn kind(&self) -> MetricKind {
        match self {
            FigureRef::Histogram(_) | FigureRef::Trend(_) => MetricKind::Trend,
            FigureRef::Counter { .. } => MetricKind::Counter,
            FigureRef::Rate { .. } => MetricKind::Rate,
            FigureRef::Gauge(_) => MetricKind::Gauge,
        }
    }

    /// A figure of its own.
    pub fn to_figure(self) -> Figure {
        match self {
            FigureRef::Histogram(histogram) => {
                Figure::Trend(Trend::from_sides(1, histogram.clone(), None))
            }
            FigureRef::Trend(trend) => Figure::Trend(trend.clone()),
            FigureRef::Counter { value, samples } => Figure::Counter { value, samples },
            FigureRef::Rate { passes, fails } => Figure::Rate { passes, fails },
            FigureRef::Gauge(gauge) => Figure::Gauge(gauge),
        }
    }
}

impl Figure {
    /// What kind of metric this is a figure of.
    pub fn kind(&self) -> MetricKind {
        match self {
            Figure::Trend(_) => MetricKind::Trend,
            Figure::Counter { .. } => MetricKind::Counter,
            Figure::Rate { .. } => MetricKind::Rate,
            Figure::Gauge(_) => MetricKind::Gauge,
        }
    }

    /// Takes in another series' figure of the same kind; one of another kind is left out.
    pub(crate) fn merge(&mut self, other: &FigureRef<'_>) {
        match (self, other) {
            (Figure::Trend(mine), FigureRef::Histogram(theirs)) => mine.merge_histogram(theirs),
            (Figure::Trend(mine), FigureRef::Trend(theirs)) => mine.merge(theirs),
            (
                Figure::Counter { value, samples },
                FigureRef::Counter {
                    value: more,
                    samples: others,
                },
            ) => {
                *value += more;
                *samples += others;
            }
            (
                Figure::Rate { passes, fails },
                FigureRef::Rate {
                    passes: more_passes,
                    fails: more_fails,
                },
            ) => {
                *passes += more_passes;
                *fails += more_fails;
            }
            (Figure::Gauge(mine), FigureRef::Gauge(theirs)) => mine.merge(theirs),
            _ => {}
        }
    }
}

impl View<'_> {
    /// Whether this is of set-up or tear-down, and so no part of totals and thresholds.
    pub fn is_aside(&self) -> bool {
        match self.key {
            Key::Exchange(key) => key.group.is_aside(),
            Key::Phase(key) => key.aside.is_aside(),
            Key::Check(key) | Key::Skipped(key, _) => key.group.is_aside(),
            Key::Group(key) => key.group.is_aside(),
            Key::Custom(key) => self
                .names
                .tags(key.tags)
                .iter()
                .any(|(_, value)| value.is_aside()),
            Key::Scenario(_) | Key::Dropped(..) | Key::Untagged => false,
        }
    }

    /// The tags, system's and user's.
    pub fn tags(&self) -> BTreeMap<String, String> {
        let mut tags = BTreeMap::new();
        self.each_tag(&mut |name, value| {
            tags.insert(name.to_owned(), value.to_owned());
        });
        tags
    }

    /// Whether the series has all of these tags.
    pub fn has_tags(&self, wanted: &BTreeMap<String, String>) -> bool {
        wanted.iter().all(|(name, value)| {
            let mut found = false;
            self.each_tag(&mut |tag, is| {
                if tag == name {
                    // A system tag comes after a user's of the same name, and stands.
                    found = is == value;
                }
            });
            found
        })
    }

    fn each_tag(&self, each: &mut dyn FnMut(&str, &str)) {
        match self.key {
            Key::Exchange(key) => self.exchange_tags(key, each),
            Key::Phase(key) => {
                self.tag("scenario", key.scenario, each);
                self.tag("group", key.aside, each);
                self.tag("name", key.name, each);
            }
            Key::Scenario(scenario) => self.tag("scenario", scenario, each),
            Key::Dropped(scenario, reason) => {
                self.tag("scenario", scenario, each);
                each("reason", reason.as_str());
            }
            Key::Check(key) => self.check_tags(key, each),
            Key::Skipped(key, reason) => {
                self.check_tags(key, each);
                each("reason", reason.as_str());
            }
            Key::Group(key) => {
                self.user_tags(key.tags, each);
                self.tag("scenario", key.scenario, each);
                self.tag("group", key.group, each);
            }
            Key::Custom(key) => self.user_tags(key.tags, each),
            Key::Untagged => {}
        }
    }

    fn check_tags(&self, key: &CheckKey, each: &mut dyn FnMut(&str, &str)) {
        self.user_tags(key.tags, each);
        self.tag("scenario", key.scenario, each);
        self.tag("group", key.group, each);
        self.tag("check", key.check, each);
    }

    fn exchange_tags(&self, key: &SeriesKey, each: &mut dyn FnMut(&str, &str)) {
        self.user_tags(key.tags, each);
        self.tag("scenario", key.scenario, each);
        self.tag("group", key.group, each);
        self.tag("name", key.name, each);
        self.tag("method", key.method, each);
        if key.status != 0 {
            each("status", &status_text(key.status));
        }
        if let Some(protocol) = key.protocol {
            each("proto", protocol.as_str());
        }
        if let Some(kind) = key.error_kind {
            each("error_kind", kind.as_str());
        }
        each(
            "expected_response",
            if key.expected { "true" } else { "false" },
        );
    }

    fn tag(&self, name: &str, value: Symbol, each: &mut dyn FnMut(&str, &str)) {
        if value != Symbol::NONE {
            each(name, self.names.text(value));
        }
    }

    fn user_tags(&self, tags: TagSet, each: &mut dyn FnMut(&str, &str)) {
        for (name, value) in self.names.tags(tags) {
            each(self.names.text(*name), self.names.text(*value));
        }
    }
}

/// A status as text; the usual ones without making a string.
fn status_text(status: u16) -> Cow<'static, str> {
    match status {
        200 => Cow::Borrowed("200"),
        201 => Cow::Borrowed("201"),
        204 => Cow::Borrowed("204"),
        404 => Cow::Borrowed("404"),
        500 => Cow::Borrowed("500"),
        _ => Cow::Owned(status.to_string()),
    }
}
