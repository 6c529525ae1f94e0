//! Checks and thresholds.

use nettare_core::report::{Check, CheckMode, Figures, Metric, Report, Threshold};
use nettare_core::stats::Unit;
use nettare_core::threshold::ThresholdOutcome;

use super::page::{Cell, Page, Tone};
use super::units::{count, exact_value, exactly, percent, time};

pub(super) fn checks(page: &mut Page, report: &Report) {
    if report.checks.is_empty() {
        return;
    }
    page.title("Checks");
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| report.checks.iter().any(column.matters))
        .collect();
    let headings = columns
        .iter()
        .map(|column| Cell::right(column.heading).tone(Tone::Faint));
    let heading = [Cell::left(""), Cell::left("")].into_iter().chain(headings);
    let mut rows = vec![heading.collect()];
    rows.extend(report.checks.iter().map(|check| check_row(check, &columns)));
    page.table(&rows);
    legend(page, report);
    for check in report.checks.iter().filter(|check| check.fails > 0) {
        if let Some(why) = &check.example {
            page.paragraph(
                &format!("{} failed, for instance: {why}", check.name),
                Tone::Bad,
            );
        }
    }
}

/// A column of figures; it is there when it matters for any check.
struct Column {
    heading: &'static str,
    matters: fn(&Check) -> bool,
    text: fn(&Check) -> String,
}

const COLUMNS: &[Column] = &[
    Column {
        heading: "passed",
        matters: |_| true,
        text: |check| count(check.passes),
    },
    Column {
        heading: "failed",
        matters: |_| true,
        text: |check| count(check.fails),
    },
    Column {
        heading: "skipped",
        matters: |check| !check.skipped.is_empty(),
        text: |check| count(check.skipped.values().sum()),
    },
    Column {
        heading: "CPU p50",
        matters: |check| check.cpu.is_some(),
        text: |check| figure(check.cpu.as_ref(), |cpu| time(cpu.p50.0 as u64)),
    },
    Column {
        heading: "CPU p99",
        matters: |check| check.cpu.is_some(),
        text: |check| figure(check.cpu.as_ref(), |cpu| time(cpu.p99.0 as u64)),
    },
    Column {
        heading: "CPU share",
        matters: |check| check.cpu_share.is_some(),
        text: |check| figure(check.cpu_share.as_ref(), |share| percent(share.0)),
    },
    Column {
        heading: "per MB",
        matters: |check| {
            check
                .cpu_per_mb_ns
                .is_some_and(|_| check.bytes >= WORTH_A_RATE)
        },
        text: |check| {
            let rated = check.cpu_per_mb_ns.filter(|_| check.bytes >= WORTH_A_RATE);
            figure(rated.as_ref(), |ns| time(ns.0 as u64))
        },
    },
    Column {
        heading: "instr. p95",
        matters: |check| check.instructions.is_some(),
        text: |check| figure(check.instructions.as_ref(), |all| count(all.p95.0 as u64)),
    },
    Column {
        heading: "queued p99",
        matters: |check| check.queue_wait.is_some(),
        text: |check| figure(check.queue_wait.as_ref(), |wait| time(wait.p99.0 as u64)),
    },
];

/// Bytes of bodies under which CPU time by the megabyte says nothing.
const WORTH_A_RATE: u64 = 1_000_000;

fn figure<T>(value: Option<&T>, text: impl FnOnce(&T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

fn check_row(check: &Check, columns: &[&Column]) -> Vec<Cell> {
    let (word, tone) = if check.fails > 0 {
        ("FAIL", Tone::Bad)
    } else {
        ("ok", Tone::Good)
    };
    let word = match check.mode {
        CheckMode::Inline => word.to_owned(),
        other => format!("{word}, {}", other.as_str()),
    };
    let figures = columns
        .iter()
        .map(|column| Cell::right((column.text)(check)));
    [Cell::left(&check.name), Cell::left(word).tone(tone)]
        .into_iter()
        .chain(figures)
        .collect()
}

/// What the words and columns mean that are not always there.
fn legend(page: &mut Page, report: &Report) {
    let mut words = Vec::new();
    if report.checks.iter().any(|check| check.cpu_share.is_some()) {
        words.push("CPU share: of all CPU time that this generator used");
    }
    if report
        .checks
        .iter()
        .any(|check| check.mode == CheckMode::Deferred)
    {
        words.push("deferred: evaluated off the way of requests");
    }
    if report
        .checks
        .iter()
        .any(|check| check.mode == CheckMode::Host)
    {
        words.push("host: the body did not enter the scenario");
    }
    if !words.is_empty() {
        page.paragraph(&words.join("; "), Tone::Faint);
    }
    for check in &report.checks {
        let reasons: Vec<_> = check
            .skipped
            .iter()
            .map(|(reason, skipped)| format!("{reason} {}", count(*skipped)))
            .collect();
        if !reasons.is_empty() {
            let all = check.passes + check.fails + check.skipped.values().sum::<u64>();
            let evaluated = percent((check.passes + check.fails) as f64 / all.max(1) as f64);
            page.paragraph(
                &format!(
                    "{}: {evaluated} were evaluated; skipped: {}",
                    check.name,
                    reasons.join(", ")
                ),
                Tone::Caution,
            );
        }
    }
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
