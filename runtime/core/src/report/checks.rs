//! The report's list of checks: one row for each check of each scenario, whatever its groups and tags.

use super::{Check, CheckMode, Number, metrics};
use crate::plan::masked;
use crate::stats::{CheckTotal, Totals};

pub(super) fn all(totals: &Totals, generator_cpu_ns: Option<u64>) -> Vec<Check> {
    totals
        .checks_by_name()
        .into_iter()
        .map(|check| row(check, generator_cpu_ns))
        .collect()
}

fn row(check: CheckTotal, generator_cpu_ns: Option<u64>) -> Check {
    let cpu = metrics::times(&check.cpu);
    let share = |all: u64| check.cpu.sum() as f64 / all as f64;
    let cpu_share = generator_cpu_ns
        .filter(|all| *all > 0 && cpu.is_some())
        .map(|all| Number(share(all)));
    Check {
        name: check.name,
        scenario: check.scenario,
        mode: CheckMode::Inline,
        passes: check.passes,
        fails: check.fails,
        skipped: 0,
        cpu,
        cpu_share,
        bytes: check.body_bytes,
        example: check.example.map(|why| masked(&why)),
    }
}
