//! The beginning: which run, what was asked for, whether to believe it, where iterations and exchanges got to.

use nettare_core::report::Report;
use nettare_core::verdict::Judgement;

use super::page::{Page, Tone};
use super::plan::plan_in_words;
use super::units::{count, percent, rate, time};

/// What was run and what to think of it. A verdict that speaks against the figures comes before all of them.
pub(super) fn head(page: &mut Page, report: &Report) {
    page.title(&format!("nettare {}", report.run.version));
    let is_good = matches!(
        report.verdict.result,
        Judgement::Valid | Judgement::Unjudged
    );
    if !is_good {
        verdict(page, report);
    }
    plan(page, report);
    if is_good {
        verdict(page, report);
    }
}

fn plan(page: &mut Page, report: &Report) {
    let run = &report.run;
    page.field(
        "run",
        &format!("{}, {}, {}", run.id, run.started, time(run.duration_ns)),
        Tone::Plain,
    );
    let mut label = "plan";
    for sentence in plan_in_words(&run.plan) {
        page.field(label, &sentence, Tone::Plain);
        label = "";
    }
}

fn verdict(page: &mut Page, report: &Report) {
    let (word, tone) = match report.verdict.result {
        Judgement::Unjudged => (
            "unjudged: nothing speaks against the figures, but the generator was not watched",
            Tone::Plain,
        ),
        Judgement::Valid => ("VALID: the figures are the server's", Tone::Good),
        Judgement::Suspect => ("SUSPECT: the figures stand, but read why", Tone::Caution),
        Judgement::Invalid => (
            "INVALID: the figures are not the server's, or not of the load asked for",
            Tone::Bad,
        ),
    };
    page.field("verdict", word, tone);
    for reason in &report.verdict.reasons {
        page.field(
            "",
            &format!(
                "{}: {} (right: {})",
                reason.rule, reason.figure, reason.limit
            ),
            tone,
        );
        page.field("", &format!("-> {}", reason.advice), Tone::Plain);
    }
    let unseen = &report.verdict.not_looked_at;
    if !unseen.is_empty() && report.verdict.result != Judgement::Unjudged {
        let text = format!("not looked at: {}", unseen.join(", "));
        page.field("", &text, Tone::Faint);
    }
}

pub(super) fn iterations(page: &mut Page, report: &Report) {
    let it = &report.iterations;
    let parts = [
        Some(format!("{} offered", count(it.offered))),
        Some(format!("{} started", count(it.started))),
        Some(format!("{} completed", count(it.completed))),
        (it.failed > 0).then(|| format!("{} failed", count(it.failed))),
        (it.interrupted > 0).then(|| format!("{} interrupted", count(it.interrupted))),
    ];
    page.title("Load");
    page.field("iterations", &joined(parts), Tone::Plain);
    let dropped: u64 = it.dropped.values().sum();
    if dropped > 0 {
        let reasons: Vec<String> = it
            .dropped
            .iter()
            .map(|(reason, n)| format!("{reason} {}", count(*n)))
            .collect();
        let share = percent(dropped as f64 / it.offered.max(1) as f64);
        let text = format!(
            "{} dropped, {share} of those offered: {}",
            count(dropped),
            reasons.join(", ")
        );
        page.field("", &text, Tone::Caution);
    }
}

/// What was tried and what was answered stand apart, each with its rate: a target that answers nothing has no throughput.
pub(super) fn requests(page: &mut Page, report: &Report) {
    let requests = &report.requests;
    if requests.attempted == 0 {
        return page.field("requests", "none", Tone::Plain);
    }
    let seconds = report.run.duration_ns as f64 / 1e9;
    let per_second = |n: u64| {
        if seconds > 0.0 {
            format!(" ({})", rate(n as f64 / seconds))
        } else {
            String::new()
        }
    };
    let parts = [
        Some(format!(
            "{} attempted{}",
            count(requests.attempted),
            per_second(requests.attempted)
        )),
        Some(format!("{} connected", count(requests.connected))),
        Some(format!("{} sent", count(requests.sent))),
        Some(format!(
            "{} answered{}",
            count(requests.answered),
            per_second(requests.answered)
        )),
    ];
    page.field("requests", &joined(parts), Tone::Plain);
    let failed: u64 = requests.failed.values().sum();
    let rest = [
        (failed > 0).then(|| {
            format!(
                "{} failed, {}",
                count(failed),
                percent(failed as f64 / requests.attempted as f64)
            )
        }),
        (requests.retried > 0).then(|| format!("{} retried", count(requests.retried))),
        (requests.in_flight_at_stop > 0).then(|| {
            format!(
                "{} in flight at the stop",
                count(requests.in_flight_at_stop)
            )
        }),
    ];
    if rest.iter().any(Option::is_some) {
        page.field(
            "",
            &joined(rest),
            if failed > 0 { Tone::Bad } else { Tone::Plain },
        );
    }
    if let Some(connections) = &report.connections {
        let text = format!(
            "{} opened, used again {} times",
            count(connections.opened),
            count(connections.reused)
        );
        page.field("connections", &text, Tone::Plain);
    }
    data(page, report);
}

fn data(page: &mut Page, report: &Report) {
    let sum = |name| match report.total(name).map(|m| &m.figures) {
        Some(nettare_core::report::Figures::Counter { value, per_second }) => {
            Some((value.0, per_second.0))
        }
        _ => None,
    };
    let shown = |name, word| {
        let (value, per_second) = sum(name)?;
        Some(format!(
            "{} {word} ({}/s)",
            super::bytes(value as u64),
            super::bytes(per_second as u64)
        ))
    };
    let parts = [
        shown("data_sent", "sent"),
        shown("data_received", "received"),
    ];
    if parts.iter().any(Option::is_some) {
        page.field("data", &joined(parts), Tone::Plain);
    }
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}
