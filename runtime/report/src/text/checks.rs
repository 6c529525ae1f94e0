//! Checks and thresholds.

use nettare_core::report::{Check, Figures, Metric, Report, Threshold};
use nettare_core::stats::Unit;
use nettare_core::threshold::ThresholdOutcome;

use super::page::{Cell, Page, Tone};
use super::units::{count, exact_value, exactly, time};

pub(super) fn checks(page: &mut Page, report: &Report) {
    if report.checks.is_empty() {
        return;
    }
    page.title("Checks");
    let metered = report.checks.iter().any(|check| check.cpu.is_some());
    let mut rows = vec![check_heading(metered)];
    rows.extend(report.checks.iter().map(|check| check_row(check, metered)));
    page.table(&rows);
    for check in report.checks.iter().filter(|check| check.fails > 0) {
        if let Some(why) = &check.example {
            page.paragraph(
                &format!("{} failed, for instance: {why}", check.name),
                Tone::Bad,
            );
        }
    }
}

fn check_heading(metered: bool) -> Vec<Cell> {
    let figures = ["", "passed", "failed", "CPU p50", "CPU p99"];
    let shown = if metered { &figures[..] } else { &figures[..3] };
    [Cell::left("")]
        .into_iter()
        .chain(
            shown
                .iter()
                .map(|figure| Cell::right(*figure).tone(Tone::Faint)),
        )
        .collect()
}

fn check_row(check: &Check, metered: bool) -> Vec<Cell> {
    let (word, tone) = if check.fails > 0 {
        ("FAIL", Tone::Bad)
    } else {
        ("ok", Tone::Good)
    };
    let mut row = vec![
        Cell::left(&check.name),
        Cell::left(word).tone(tone),
        Cell::right(count(check.passes)),
        Cell::right(count(check.fails)),
    ];
    if metered {
        let shown = |figure: fn(&nettare_core::report::Trend) -> f64| {
            check
                .cpu
                .as_ref()
                .map_or_else(|| "-".to_owned(), |cpu| time(figure(cpu) as u64))
        };
        row.extend([
            Cell::right(shown(|cpu| cpu.p50.0)),
            Cell::right(shown(|cpu| cpu.p99.0)),
        ]);
    }
    row
}

pub(super) fn thresholds(page: &mut Page, report: &Report) {
    if report.thresholds.is_empty() {
        return;
    }
    page.title("Thresholds");
    let rows: Vec<_> = report
        .thresholds
        .iter()
        .map(|threshold| threshold_row(report, threshold))
        .collect();
    page.table(&rows);
}

fn threshold_row(report: &Report, threshold: &Threshold) -> Vec<Cell> {
    let (word, tone) = match threshold.result {
        ThresholdOutcome::Pass => ("pass", Tone::Good),
        ThresholdOutcome::Fail => ("FAIL", Tone::Bad),
        ThresholdOutcome::NoData if threshold.allow_no_data => {
            ("no data, which is allowed", Tone::Caution)
        }
        ThresholdOutcome::NoData => ("FAIL: no data", Tone::Bad),
    };
    vec![
        Cell::left(format!("{}: {}", threshold.metric, threshold.expression)),
        Cell::right(judged(report, threshold)),
        Cell::left(word).tone(tone),
    ]
}

/// The value judged, in more digits than elsewhere: a limit of 200 ms is not kept by 200.4 ms.
fn judged(report: &Report, threshold: &Threshold) -> String {
    let Some(judged) = threshold.value else {
        return "-".to_owned();
    };
    let name = threshold.metric.split('{').next().unwrap_or_default();
    match report.metrics.iter().find(|m| m.name == name) {
        Some(Metric {
            figures: Figures::Rate { .. },
            ..
        }) => exactly(judged.0 * 100.0, "%"),
        Some(Metric { unit, .. }) => exact_value(judged.0, *unit),
        None => exact_value(judged.0, Unit::Plain),
    }
}
