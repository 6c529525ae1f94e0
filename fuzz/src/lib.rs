//! What each fuzz target does with any bytes: nothing that comes from outside may make a reader panic, and what was read can be
//! written and read again.
//!
//! `runtime/report` includes this file in its tests and gives it random bytes.

use nettare_core::plan::Plan;
use nettare_core::stats::{Histogram, Totals};
use nettare_core::threshold::{Threshold, evaluate};
use nettare_report::{json, text};

/// A plan as a report holds it.
pub fn plan(bytes: &[u8]) {
    if let Ok(plan) = serde_json::from_slice::<Plan>(bytes) {
        assert!(!text::plan_in_words(&plan).is_empty());
        let written = serde_json::to_vec(&plan).expect("a plan has a JSON form");
        assert_eq!(
            serde_json::from_slice::<Plan>(&written).expect("it was just written"),
            plan
        );
    }
}

/// A threshold as a flag has it.
pub fn threshold(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(threshold) = Threshold::parse_flag(text) {
        let again = Threshold::parse(&threshold.selector(), &threshold.expression);
        assert_eq!(again.as_ref(), Ok(&threshold));
        assert_eq!(evaluate(&[threshold], &Totals::new(1)).len(), 1);
    }
}

/// A JSON report.
pub fn report(bytes: &[u8]) {
    if let Ok(report) = json::parse(bytes) {
        let options = text::TextOptions {
            histogram: true,
            ..text::TextOptions::default()
        };
        assert!(text::summary(&report, &options).ends_with('\n'));
        let written = json::encode(&report).expect("a report has a JSON form");
        assert_eq!(json::parse(&written).expect("it was just written"), report);
    }
}

/// A histogram in HdrHistogram's V2 encoding.
pub fn histogram(bytes: &[u8]) {
    if let Ok(histogram) = Histogram::decode(bytes) {
        assert!(histogram.quantile(0.5) <= histogram.quantile(0.99));
        assert!(histogram.quantile(0.99) <= histogram.max());
        let again = Histogram::decode(&histogram.encode()).expect("it was just encoded");
        assert_eq!(again, histogram);
        let mut doubled = again;
        doubled.merge(&histogram);
        assert_eq!(doubled.count(), histogram.count().saturating_mul(2));
    }
}
