//! What happens between two closes of the collector.

use std::collections::{BTreeMap, HashMap};

use super::figures::{CheckFigures, ExchangeFigures, ScenarioFigures};
use super::histogram::Histogram;
use super::index::FastHasher;
use super::packed::PackedHistogram;
use super::view::{FigureRef, Site, View};
use crate::event::{Interval, SeriesCount, SeriesName};

/// Sums of the interval under way.
#[derive(Debug, Default)]
pub(crate) struct IntervalSums {
    /// Counts; its distributions and lists are filled when it closes.
    sums: Interval,
    duration: Histogram,
    gross: Histogram,
    tare: Histogram,
    response: Histogram,
    gauges: BTreeMap<String, f64>,
    /// What the counters and rates stood at when the interval before closed.
    before: HashMap<Site, Before, FastHasher>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Before {
    series: u32,
    count: u64,
    value: f64,
}

impl IntervalSums {
    pub(crate) fn exchanges(&mut self, figures: &ExchangeFigures) {
        let answered = figures.duration.count();
        self.sums.answered += answered;
        self.sums.failed += figures.requests.saturating_sub(answered);
        self.sums.unexpected += figures.failed;
        self.sums.sent_bytes += figures.sent_bytes;
        self.sums.received_bytes += figures.received_bytes;
        self.duration.merge(&figures.duration);
        self.gross.merge(&figures.gross);
        self.tare.merge(&figures.tare);
    }

    pub(crate) fn iterations(&mut self, figures: &ScenarioFigures) {
        let sums = &mut self.sums.iterations;
        sums.started += figures.started;
        sums.completed += figures.completed;
        sums.failed += figures.failed;
        sums.interrupted += figures.interrupted;
        for (mine, theirs) in sums.dropped.iter_mut().zip(figures.dropped) {
            *mine += theirs;
        }
        self.response.merge(&figures.response);
    }

    pub(crate) fn checks(&mut self, figures: &CheckFigures) {
        self.sums.checks_passed += figures.passes;
        self.sums.checks_failed += figures.fails;
    }

    pub(crate) fn gauge(&mut self, name: &str, value: f64) {
        match self.gauges.get_mut(name) {
            Some(last) => *last = value,
            None => {
                self.gauges.insert(name.to_owned(), value);
            }
        }
    }

    /// Ends the interval and begins the next.
    pub(crate) fn close(&mut self, t_ns: u64, length_ns: u64, views: &[View<'_>]) -> Interval {
        let mut interval = std::mem::take(&mut self.sums);
        interval.t_ns = t_ns;
        interval.length_ns = length_ns;
        interval.duration = pack(&mut self.duration);
        interval.gross = pack(&mut self.gross);
        interval.tare = pack(&mut self.tare);
        interval.response = pack(&mut self.response);
        // Gauges keep their level while nobody sets them.
        interval.gauges = self.gauges.clone();
        for view in views.iter().filter(|v| is_kept(v)) {
            self.count(view, &mut interval);
        }
        interval
    }

    fn count(&mut self, view: &View<'_>, interval: &mut Interval) {
        let Some((count, value)) = counts_of(&view.figure) else {
            return;
        };
        if count == 0 {
            return;
        }
        let next = self.before.len() as u32;
        let before = self.before.entry(view.site).or_insert_with(|| {
            interval.declared.push(SeriesName {
                series: next,
                metric: view.metric.to_owned(),
                kind: view.figure.kind(),
                unit: view.unit,
                tags: view.tags(),
            });
            Before {
                series: next,
                ..Before::default()
            }
        });
        if count != before.count {
            let (count, value) = (count - before.count, value - before.value);
            interval.counts.push(SeriesCount {
                series: before.series,
                count,
                value,
            });
        }
        (before.count, before.value) = (count, value);
    }
}

/// Which counters and rates are kept series by series: all but the bytes, whose sum over all series is kept.
fn is_kept(view: &View<'_>) -> bool {
    !view.is_aside() && !view.metric.starts_with("data_")
}

/// Samples, and the sum or how many were true; none for other kinds.
fn counts_of(figure: &FigureRef<'_>) -> Option<(u64, f64)> {
    match figure {
        FigureRef::Counter { value, samples } => Some((*samples, *value)),
        FigureRef::Rate { passes, fails } => Some((passes + fails, *passes as f64)),
        FigureRef::Histogram(_) | FigureRef::Trend(_) | FigureRef::Gauge(_) => None,
    }
}

fn pack(histogram: &mut Histogram) -> PackedHistogram {
    let packed = PackedHistogram::pack(histogram);
    histogram.clear();
    packed
}
