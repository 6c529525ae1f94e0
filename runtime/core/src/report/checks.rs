//! The report's list of checks: one row for each check of each scenario, whatever its groups and tags.

use std::collections::BTreeMap;

use super::{Check, Number, metrics};
use crate::plan::masked;
use crate::sample::{CheckMode, SkipReason};
use crate::stats::{CheckTotal, Totals};

/// Bytes of a megabyte.
const MB: f64 = 1e6;

pub(super) fn all(totals: &Totals, generator_cpu_ns: Option<u64>) -> Vec<Check> {
    totals
        .checks_by_name()
        .into_iter()
        .map(|check| row(check, generator_cpu_ns))
        .collect()
}

fn row(check: CheckTotal, generator_cpu_ns: Option<u64>) -> Check {
    let cpu = metrics::times(&check.cpu);
    let cpu_ns = check.cpu.sum() as f64;
    let cpu_share = generator_cpu_ns
        .filter(|all| *all > 0 && cpu.is_some())
        .map(|all| Number(cpu_ns / all as f64));
    let megabytes = check.body_bytes as f64 / MB;
    Check {
        mode: mode(check.modes),
        passes: check.passes,
        fails: check.fails,
        skipped: skipped(check.skipped),
        cpu_per_mb_ns: (megabytes > 0.0 && cpu.is_some())
            .then(|| Number((cpu_ns / megabytes).round())),
        cpu,
        cpu_share,
        instructions: metrics::plain(&check.instructions),
        queue_wait: metrics::times(&check.queue_wait),
        bytes: check.body_bytes,
        name: check.name,
        scenario: check.scenario,
        example: check.example.map(|why| masked(&why)),
    }
}

/// The most frequent; of equals the first. One that was only ever skipped had been deferred.
fn mode(evaluations: [u64; CheckMode::ALL.len()]) -> CheckMode {
    let most = CheckMode::ALL
        .into_iter()
        .zip(evaluations)
        .filter(|(_, count)| *count > 0)
        .min_by_key(|(_, count)| std::cmp::Reverse(*count));
    most.map_or(CheckMode::Deferred, |(mode, _)| mode)
}

fn skipped(counts: [u64; SkipReason::ALL.len()]) -> BTreeMap<String, u64> {
    SkipReason::ALL
        .into_iter()
        .zip(counts)
        .filter(|(_, count)| *count > 0)
        .map(|(reason, count)| (reason.as_str().to_owned(), count))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_where_it_mostly_is() {
        assert_eq!(mode([3, 5, 5]), CheckMode::Deferred);
        assert_eq!(mode([5, 5, 0]), CheckMode::Inline);
        assert_eq!(mode([0, 0, 1]), CheckMode::Host);
        assert_eq!(mode([0, 0, 0]), CheckMode::Deferred, "only skipped");
    }
}
