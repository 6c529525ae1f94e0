//! What came back: statuses, errors, and what else is to be known.

use std::collections::BTreeMap;

use nettare_core::report::{Figures, Report};

use super::page::{Cell, Page, Tone};
use super::units::{count, percent};

/// Errors shown with an example; the rest is in the JSON report.
const ERRORS_SHOWN: usize = 10;

pub(super) fn statuses(page: &mut Page, report: &Report) {
    let statuses = by_status(report);
    if statuses.is_empty() {
        return;
    }
    let all: u64 = statuses.values().map(|s| s.count).sum();
    page.title("Statuses");
    let rows: Vec<_> = statuses
        .into_iter()
        .map(|(status, seen)| {
            let notes = [
                (seen.unexpected, "not expected"),
                (seen.failed, "failed after it"),
                (seen.cancelled, "cancelled after it"),
            ];
            let note: Vec<String> = notes
                .iter()
                .filter(|(many, _)| *many > 0)
                .map(|(many, what)| format!("{} {what}", count(*many)))
                .collect();
            let note = note.join(", ");
            let tone = match seen.unexpected + seen.failed {
                0 => Tone::Plain,
                _ => Tone::Bad,
            };
            vec![
                Cell::left(status).tone(tone),
                Cell::right(count(seen.count)),
                Cell::right(percent(seen.count as f64 / all as f64)),
                Cell::left(note).tone(tone),
            ]
        })
        .collect();
    page.table(&rows);
}

/// What came with a status.
#[derive(Default)]
struct Seen {
    count: u64,
    /// Answers whose status was not what the request expected.
    unexpected: u64,
    /// No answers: a body that broke off or passed its limit, a redirect that could not be followed.
    failed: u64,
    cancelled: u64,
}

/// Exchanges that came as far as a status, by it: of the run's series, those with one. Set-up and tear-down are not part of the figures above either.
fn by_status(report: &Report) -> BTreeMap<String, Seen> {
    let mut statuses: BTreeMap<String, Seen> = BTreeMap::new();
    for metric in report.metrics.iter().filter(|m| m.name == "http_reqs") {
        let Figures::Counter { value, .. } = &metric.figures else {
            continue;
        };
        let Some(status) = metric.tags.get("status") else {
            continue;
        };
        // A roll-up that a threshold asked for has fewer tags than a series, which always says whether it was expected.
        let Some(expected) = metric.tags.get("expected_response") else {
            continue;
        };
        if metric
            .tags
            .get("group")
            .is_some_and(|group| group == "::setup" || group == "::teardown")
        {
            continue;
        }
        let seen = statuses.entry(status.clone()).or_default();
        let many = value.0 as u64;
        seen.count += many;
        match metric.tags.get("error_kind").map(String::as_str) {
            Some("cancelled") => seen.cancelled += many,
            Some(_) => seen.failed += many,
            None if expected != "true" => seen.unexpected += many,
            None => {}
        }
    }
    statuses
}

pub(super) fn errors(page: &mut Page, report: &Report) {
    if report.errors.is_empty() {
        return;
    }
    page.title("Errors");
    let mut errors: Vec<_> = report.errors.iter().collect();
    errors.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.kind.cmp(&b.kind)));
    for error in errors.iter().take(ERRORS_SHOWN) {
        let code = if error.code == 0 {
            String::new()
        } else {
            format!(" ({})", error.code)
        };
        let text = format!("{}{code}, for instance: {}", error.kind, error.example);
        page.field(&count(error.count), &text, Tone::Bad);
    }
    if errors.len() > ERRORS_SHOWN {
        page.paragraph(
            &format!(
                "and {} other errors, in the JSON report",
                errors.len() - ERRORS_SHOWN
            ),
            Tone::Plain,
        );
    }
}

pub(super) fn limits(page: &mut Page, report: &Report) {
    counted(page, "Limits that were hit", &report.limits);
    counted(
        page,
        "Misuse of the contract by the scenario",
        &report.misuse,
    );
}

fn counted(page: &mut Page, title: &str, counts: &BTreeMap<String, u64>) {
    if counts.is_empty() {
        return;
    }
    page.title(title);
    let rows: Vec<_> = counts
        .iter()
        .map(|(name, times)| {
            vec![
                Cell::left(name).tone(Tone::Caution),
                Cell::right(count(*times)),
            ]
        })
        .collect();
    page.table(&rows);
}

pub(super) fn warnings(page: &mut Page, report: &Report) {
    if report.warnings.is_empty() {
        return;
    }
    page.title("Warnings");
    for warning in &report.warnings {
        page.paragraph(&format!("- {warning}"), Tone::Caution);
    }
}

pub(super) fn files(page: &mut Page, files: &[String]) {
    if files.is_empty() {
        return;
    }
    page.title("Written");
    for file in files {
        page.paragraph(file, Tone::Plain);
    }
}
