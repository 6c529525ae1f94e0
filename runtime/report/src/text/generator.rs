//! The generator at a glance: its worst figures in a line, and where the load it offered fell short. Each second is in the JSON
//! report.

use nettare_core::health::gauge;
use nettare_core::report::Report;
use nettare_core::stall::Stall;

use super::page::{Page, Tone};
use super::units::{count, percent, time};

/// Stalls shown; the rest is in the JSON report.
const STALLS_SHOWN: usize = 10;

pub(super) fn generator(page: &mut Page, report: &Report) {
    peaks(page, report);
    let mut label = "stalls";
    for stall in report.stalls.iter().take(STALLS_SHOWN) {
        page.field(label, &in_words(stall), Tone::Caution);
        label = "";
    }
    let more = report.stalls.len().saturating_sub(STALLS_SHOWN);
    if more > 0 {
        let text = format!("and {more} more, in the JSON report");
        page.field("", &text, Tone::Caution);
    }
}

/// The worst second of each figure; those of which there is nothing to say are left out.
fn peaks(page: &mut Page, report: &Report) {
    let Some(generator) = &report.generator else {
        return;
    };
    let peak = |name: &str| generator.peak.get(name).map(|number| number.0);
    let of_note = |name: &str| peak(name).filter(|share| *share >= 0.005);
    let memory = peak(gauge::RESIDENT_BYTES).map(|bytes| {
        let available = peak(gauge::AVAILABLE)
            .map(|share| format!(" ({} of the machine's available)", percent(share)));
        let own = super::bytes(bytes as u64);
        format!("memory {own}{}", available.unwrap_or_default())
    });
    let parts = [
        peak(gauge::CPU).map(|share| format!("CPU {} of {}", percent(share), generator.cpus)),
        peak(gauge::IO_LAG_P99_NS).map(|ns| format!("loop lag p99 {}", time(ns as u64))),
        memory,
        of_note(gauge::PORTS_USED).map(|share| format!("ports {}", percent(share))),
        of_note(gauge::DESCRIPTORS_USED).map(|share| format!("descriptors {}", percent(share))),
        of_note(gauge::CPU_STEAL).map(|share| format!("steal {}", percent(share))),
        of_note(gauge::THROTTLED).map(|share| format!("throttled {}", percent(share))),
        of_note(gauge::PRESSURE_MEMORY)
            .map(|share| format!("waiting for memory {}", percent(share))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if !parts.is_empty() {
        let text = format!("at its worst: {}", parts.join(", "));
        page.field("generator", &text, Tone::Plain);
    }
}

fn in_words(stall: &Stall) -> String {
    format!(
        "from {} to {}: {} of {} iterations started; {}",
        time(stall.from_ns),
        time(stall.to_ns),
        count(stall.started),
        count(stall.expected),
        stall.cause.in_words()
    )
}
