//! What an iteration costs the generator, and what follows from it.

use nettare_core::report::{Capacity, Report};

use super::page::{Page, Tone};
use super::units::{count, percent, time};

/// Checks named one by one; the rest is summed up.
const MOST_CHECKS: usize = 4;

pub(super) fn capacity(page: &mut Page, report: &Report) {
    let Some(capacity) = &report.capacity else {
        return;
    };
    page.title("Capacity");
    let cost = &capacity.cpu_per_iteration_ns;
    let checks_ns: f64 = cost.checks.values().map(|check| check.0).sum();
    let all_ns = cost.host.0 + cost.scenario.0 + checks_ns;
    page.field("CPU", &cpu_in_words(capacity, all_ns), Tone::Plain);
    let rates = &capacity.sustainable_per_second;
    let mut sustained = format!("{} iterations/s at 80 % of its CPUs", rate(rates.as_is.0));
    if checks_ns > 0.0 {
        sustained.push_str(&format!(
            "; without the checks {}/s",
            rate(rates.without_checks.0)
        ));
    }
    page.field("sustains", &sustained, Tone::Plain);
    if let Some(needed) = capacity.generators_needed {
        let (text, tone) = match needed {
            1 => ("this one, for the rate asked".to_owned(), Tone::Plain),
            _ => (
                format!("{} like this one, for the rate asked", count(needed)),
                Tone::Caution,
            ),
        };
        page.field("generators", &text, tone);
    }
}

/// `1.93 ms an iteration: Nettare 45 µs, the scenario 12 µs, catalog valid 1.87 ms (97 %)`.
fn cpu_in_words(capacity: &Capacity, all_ns: f64) -> String {
    let cost = &capacity.cpu_per_iteration_ns;
    let share = |part: f64| percent(part / all_ns.max(1.0));
    let mut checks: Vec<_> = cost.checks.iter().map(|(name, ns)| (name, ns.0)).collect();
    checks.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let mut parts = vec![
        format!("Nettare {}", time(cost.host.0 as u64)),
        format!("the scenario {}", time(cost.scenario.0 as u64)),
    ];
    for (name, ns) in checks.iter().take(MOST_CHECKS) {
        parts.push(format!("{name} {} ({})", time(*ns as u64), share(*ns)));
    }
    if let Some(others) = checks
        .get(MOST_CHECKS..)
        .filter(|others| !others.is_empty())
    {
        let ns: f64 = others.iter().map(|(_, ns)| ns).sum();
        parts.push(format!(
            "{} other checks {} ({})",
            others.len(),
            time(ns as u64),
            share(ns)
        ));
    }
    format!("{} an iteration: {}", time(all_ns as u64), parts.join(", "))
}

/// Whole numbers, but for what is slow.
fn rate(per_second: f64) -> String {
    if per_second < 10.0 {
        format!("{per_second:.1}")
    } else {
        count(per_second as u64)
    }
}
