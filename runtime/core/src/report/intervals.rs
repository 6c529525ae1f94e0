//! The report's run second by second, in terms of its list of metrics.

use std::collections::{BTreeMap, HashMap};

use super::{IntervalEntry, IntervalMetric, Metric, Number};
use crate::event::{Interval, SeriesName};
use crate::stats::{GENERATOR_PREFIX, PackedHistogram, builtin};

/// Places in the list of metrics.
type Places<'a> = HashMap<(&'a str, &'a BTreeMap<String, String>), u32>;

pub(super) fn all(intervals: &[Interval], metrics: &[Metric]) -> Vec<IntervalEntry> {
    let places: Places<'_> = (0..)
        .zip(metrics)
        .map(|(i, m)| ((m.name.as_str(), &m.tags), i))
        .collect();
    let declared: HashMap<u32, &SeriesName> = intervals
        .iter()
        .flat_map(|interval| &interval.declared)
        .map(|name| (name.series, name))
        .collect();
    intervals
        .iter()
        .map(|interval| entry(interval, &places, &declared))
        .collect()
}

fn entry(
    interval: &Interval,
    places: &Places<'_>,
    declared: &HashMap<u32, &SeriesName>,
) -> IntervalEntry {
    let untagged = BTreeMap::new();
    let mut row = Row {
        places,
        metrics: BTreeMap::new(),
    };
    row.wholes(interval, &untagged);
    for count in &interval.counts {
        let Some(series) = declared.get(&count.series) else {
            continue;
        };
        let metric = series.metric.as_str();
        let own = builtin(metric).is_none();
        if !series.tags.is_empty() {
            row.add(metric, &series.tags, count.count, count.value);
        }
        // The built-in ones' wholes come from the interval's own sums.
        if own {
            row.add(metric, &untagged, count.count, count.value);
        }
    }
    IntervalEntry {
        t_ns: interval.t_ns,
        metrics: row.metrics.into_values().collect(),
    }
}

struct Row<'a> {
    places: &'a Places<'a>,
    metrics: BTreeMap<u32, IntervalMetric>,
}

impl Row<'_> {
    fn wholes(&mut self, interval: &Interval, untagged: &BTreeMap<String, String>) {
        let requests = interval.answered + interval.failed;
        let ended = interval.iterations.ended();
        let dropped = interval.iterations.dropped.iter().sum::<u64>();
        let checks = interval.checks_passed + interval.checks_failed;
        let counts = [
            ("http_reqs", requests, requests),
            ("http_req_failed", requests, interval.unexpected),
            ("iterations", ended, ended),
            ("dropped_iterations", dropped, dropped),
            ("checks", checks, interval.checks_passed),
            ("data_sent", requests, interval.sent_bytes),
            ("data_received", requests, interval.received_bytes),
        ];
        for (metric, count, value) in counts {
            if count > 0 || value > 0 {
                self.add(metric, untagged, count, value as f64);
            }
        }
        self.trend("http_req_duration", untagged, &interval.duration);
        self.trend("http_req_gross", untagged, &interval.gross);
        self.trend("http_req_tare", untagged, &interval.tare);
        self.trend("iteration_response", untagged, &interval.response);
        // The generator's health has its own series, under `generator`.
        let gauges = interval.gauges.iter();
        for (name, value) in gauges.filter(|(name, _)| !name.starts_with(GENERATOR_PREFIX)) {
            self.add(name, untagged, 1, *value);
        }
    }

    fn add(&mut self, metric: &str, tags: &BTreeMap<String, String>, count: u64, value: f64) {
        let Some(&i) = self.places.get(&(metric, tags)) else {
            return;
        };
        let entry = self.metrics.entry(i).or_insert(IntervalMetric {
            i,
            count: 0,
            value: None,
            hdr: None,
        });
        entry.count += count;
        entry.value = Some(Number(entry.value.map_or(0.0, |sum| sum.0) + value));
    }

    fn trend(&mut self, metric: &str, tags: &BTreeMap<String, String>, values: &PackedHistogram) {
        let Some(&i) = self.places.get(&(metric, tags)) else {
            return;
        };
        if values.count() > 0 {
            let hdr = Some(values.to_base64());
            self.metrics.insert(
                i,
                IntervalMetric {
                    i,
                    count: values.count(),
                    value: None,
                    hdr,
                },
            );
        }
    }
}
