//! Why an interval was short of load: from what else happened in it, and from the generator's health.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::event::Interval;
use crate::health::gauge;
use crate::sample::ErrorKind;
use crate::sched::DropReason;

/// Why the offered load fell short. The generator's own causes come first, since with them nothing can be said of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StallCause {
    /// The generator ran out of ephemeral ports.
    Ports,
    /// The generator ran out of descriptors.
    Descriptors,
    /// The generator met another limit of its own.
    GeneratorLimit,
    /// A CPU quota stopped the generator.
    Throttling,
    /// I/O threads were not there in time.
    LoopLag,
    /// Guests, or the generator as a whole, had no CPU left.
    GeneratorCpu,
    /// The server refused connections.
    Refused,
    /// The server answered nothing.
    Unanswered,
    /// The server answered much more slowly than in the rest of the run.
    Slow,
    /// No virtual user was free.
    NoFreeVu,
    /// Nothing that was watched tells.
    Unknown,
}

/// A share of health from which it explains that load is missing.
const SHARE_THAT_EXPLAINS: f64 = 0.1;

/// A share of a limit from which the limit was met.
const SHARE_OF_A_LIMIT: f64 = 0.9;

/// A share of a CPU from which it was taken whole.
const SHARE_OF_A_CPU: f64 = 0.95;

/// Net times so much longer than the run's median are slow.
const SLOW: u64 = 2;

impl StallCause {
    /// Every cause, in the order in which they are asked for.
    pub const ALL: [StallCause; 11] = [
        StallCause::Ports,
        StallCause::Descriptors,
        StallCause::GeneratorLimit,
        StallCause::Throttling,
        StallCause::LoopLag,
        StallCause::GeneratorCpu,
        StallCause::Refused,
        StallCause::Unanswered,
        StallCause::Slow,
        StallCause::NoFreeVu,
        StallCause::Unknown,
    ];

    /// In words, after a colon.
    pub fn in_words(self) -> &'static str {
        match self {
            StallCause::Ports => "this machine ran out of ports",
            StallCause::Descriptors => "this machine ran out of descriptors",
            StallCause::GeneratorLimit => "this machine met a limit of its own: see the errors",
            StallCause::Throttling => "a CPU quota stopped the generator",
            StallCause::LoopLag => "the generator's I/O threads were late",
            StallCause::GeneratorCpu => "the generator had no CPU left",
            StallCause::Refused => "the server refused connections",
            StallCause::Unanswered => "the server did not answer",
            StallCause::Slow => "the server answered slowly",
            StallCause::NoFreeVu => "no virtual user was free: raise `--max-vus`",
            StallCause::Unknown => "the cause cannot be told",
        }
    }
}

/// Failures of an interval that tell a cause.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Failed {
    generator_limit: u64,
    refused: u64,
}

/// Reads failures by kind out of intervals. To be given every interval, in order.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// Series of failed exchanges by number.
    kinds: HashMap<u32, ErrorKind>,
}

impl Failures {
    pub(super) fn read(&mut self, interval: &Interval) -> Failed {
        for name in interval.declared.iter().filter(|n| n.metric == "http_reqs") {
            let kind = name.tags.get("error_kind");
            let kind = ErrorKind::ALL
                .into_iter()
                .find(|known| kind.is_some_and(|kind| kind == known.as_str()));
            if let Some(kind) = kind {
                self.kinds.insert(name.series, kind);
            }
        }
        let mut failed = Failed::default();
        for count in &interval.counts {
            let sum = match self.kinds.get(&count.series) {
                Some(ErrorKind::GeneratorLimit) => &mut failed.generator_limit,
                Some(ErrorKind::Connect) => &mut failed.refused,
                _ => continue,
            };
            *sum = sum.saturating_add(count.count);
        }
        failed
    }
}

/// What an interval is compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// The median over intervals of their p50 of net; 0 when nothing was answered.
    usual_net_ns: u64,
}

impl Look {
    pub(super) fn over(intervals: &[Interval]) -> Look {
        let mut medians: Vec<u64> = intervals.iter().filter_map(median_net_ns).collect();
        medians.sort_unstable();
        Look {
            usual_net_ns: medians.get(medians.len() / 2).copied().unwrap_or(0),
        }
    }

    pub(super) fn cause(&self, interval: &Interval, failed: &Failed) -> StallCause {
        self.own_cause(interval, failed)
            .or_else(|| self.servers_cause(interval, failed))
            .unwrap_or(StallCause::Unknown)
    }

    fn own_cause(&self, interval: &Interval, failed: &Failed) -> Option<StallCause> {
        let over = |name: &str, share: f64| interval.gauges.get(name).is_some_and(|v| *v > share);
        let dropped = |reason: DropReason| interval.iterations.dropped[reason as usize] > 0;
        let limited = failed.generator_limit > 0 || dropped(DropReason::GeneratorLimit);
        Some(match () {
            () if limited && over(gauge::PORTS_USED, SHARE_OF_A_LIMIT) => StallCause::Ports,
            () if limited && over(gauge::DESCRIPTORS_USED, SHARE_OF_A_LIMIT) => {
                StallCause::Descriptors
            }
            () if limited => StallCause::GeneratorLimit,
            () if over(gauge::THROTTLED, SHARE_THAT_EXPLAINS) => StallCause::Throttling,
            () if over(gauge::IO_LATE, SHARE_THAT_EXPLAINS)
                || over(gauge::INLINE_HELD, SHARE_THAT_EXPLAINS) =>
            {
                StallCause::LoopLag
            }
            () if over(gauge::GUEST_CPU, SHARE_OF_A_CPU) || over(gauge::CPU, SHARE_OF_A_CPU) => {
                StallCause::GeneratorCpu
            }
            () if dropped(DropReason::Lag) => StallCause::LoopLag,
            () => return None,
        })
    }

    fn servers_cause(&self, interval: &Interval, failed: &Failed) -> Option<StallCause> {
        let net_ns = median_net_ns(interval);
        Some(match net_ns {
            _ if failed.refused > interval.answered => StallCause::Refused,
            None => StallCause::Unanswered,
            Some(ns) if ns > self.usual_net_ns.saturating_mul(SLOW) => StallCause::Slow,
            Some(_) if interval.iterations.dropped[DropReason::NoVu as usize] > 0 => {
                StallCause::NoFreeVu
            }
            Some(_) => return None,
        })
    }
}

/// The median net time of what was answered in an interval.
fn median_net_ns(interval: &Interval) -> Option<u64> {
    interval.duration.unpack().quantile(0.5)
}
