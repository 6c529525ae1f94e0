//! The distribution of net times as bars, as `hey` and `wrk`'s users know it.

use nettare_core::report::Report;
use nettare_core::stats::from_base64;

use super::page::{Cell, Page};
use super::units::{count, time};

/// Bars drawn.
const BARS: u64 = 10;
/// Columns taken by times, counts and gaps beside a bar.
const BESIDE: usize = 32;

pub(super) fn histogram(page: &mut Page, report: &Report) {
    let Some(trend) = report.trend("http_req_duration") else {
        return;
    };
    // A report whose distribution cannot be read has its percentiles all the same.
    let Ok(histogram) = from_base64(&trend.hdr) else {
        return;
    };
    // A report from outside may say that its maximum is below its minimum.
    let min = trend.min.0 as u64;
    let max = (trend.max.0 as u64).max(min);
    let edges = edges(min, max);
    let mut counts = vec![0u64; edges.len()];
    for (value, times) in histogram.values() {
        let value = value.clamp(min, max);
        let bar = edges
            .iter()
            .position(|edge| value <= *edge)
            .unwrap_or(edges.len() - 1);
        counts[bar] = counts[bar].saturating_add(times);
    }
    page.title("Distribution of net times");
    let longest = counts.iter().copied().max().unwrap_or(1).max(1);
    let columns = page.width() - BESIDE;
    let rows: Vec<_> = edges
        .iter()
        .zip(&counts)
        .map(|(edge, times)| {
            let bar = "■".repeat(bar_length(*times, longest, columns));
            vec![
                Cell::right(format!("<= {}", time(*edge))),
                Cell::right(count(*times)),
                Cell::left(bar),
            ]
        })
        .collect();
    page.table(&rows);
}

/// Upper ends of bars of equal width from `min` to `max`; one bar when there is nothing between.
fn edges(min: u64, max: u64) -> Vec<u64> {
    if max <= min {
        return vec![max];
    }
    let span = u128::from(max - min);
    let edge = |bar| min + (span * u128::from(bar) / u128::from(BARS)) as u64;
    let mut edges: Vec<u64> = (1..=BARS).map(edge).collect();
    edges.dedup();
    edges
}

/// In proportion to the longest; what is not nothing is seen.
fn bar_length(times: u64, longest: u64, columns: usize) -> usize {
    let length = (times as f64 * columns as f64 / longest as f64).round() as usize;
    length.max(usize::from(times > 0))
}

#[cfg(test)]
mod tests {
    use nettare_core::report::Figures;

    use super::*;

    #[test]
    fn bars_span_what_was_measured() {
        assert_eq!(
            edges(100, 1100),
            [200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100]
        );
        assert_eq!(edges(5, 5), [5], "one value is one bar");
        assert_eq!(edges(5, 7), [5, 6, 7], "no two bars end alike");
        assert_eq!(edges(0, u64::MAX).last(), Some(&u64::MAX));
    }

    /// Whatever a report from outside says of its extremes, it is drawn.
    #[test]
    fn a_maximum_below_the_minimum_is_drawn_all_the_same() {
        let mut report = crate::fixtures::usual();
        let metrics = report.metrics.iter_mut();
        for metric in metrics.filter(|metric| metric.name == "http_req_duration") {
            if let Figures::Trend(trend) = &mut metric.figures {
                (trend.min, trend.max) = (trend.max, trend.min);
            }
        }
        let mut page = Page::new(100, false);
        histogram(&mut page, &report);
        assert!(page.finish().contains("Distribution of net times"));
    }

    #[test]
    fn one_sample_among_many_is_still_seen() {
        assert_eq!(bar_length(1, 1_000_000, 60), 1);
        assert_eq!(bar_length(0, 1_000_000, 60), 0);
        assert_eq!(bar_length(1_000_000, 1_000_000, 60), 60);
    }
}
