//! How late the loops of workers are.
//!
//! An I/O thread asks its own `timerfd` to wake it every 20 ms and notes how late it comes: whatever keeps it from its timer
//! (a guest polled inline, too many ready tasks, another process on its CPU, a throttled control group) keeps it from its
//! sockets too. The time between two looks is longer while the thread is late, so the looks that were missed are filled in, and
//! a quantile is one of time: a thread that was away for a second was late for all of that second.
//!
//! A guest thread has no timer. What it notes is, for each turn, how long the guest that was woken first had waited.

use nettare_core::health::{LATE_NS, gauge};
use nettare_core::stats::Histogram;

/// Between two looks at the timer of an I/O thread.
pub(crate) const LOOK_EVERY_NS: u64 = 20_000_000;

/// Looks that are filled in at most: a thread that was away for longer is late by any measure.
const MOST_MISSED: u64 = 3_000;

/// The lateness of one I/O thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopLag {
    looks: Histogram,
}

impl LoopLag {
    /// Notes how late a look came.
    pub(crate) fn note(&mut self, late_ns: u64) {
        let mut late_ns = late_ns;
        for _ in 0..=MOST_MISSED {
            self.looks.record(late_ns);
            match late_ns.checked_sub(LOOK_EVERY_NS) {
                Some(missed_ns) if missed_ns > 0 => late_ns = missed_ns,
                _ => break,
            }
        }
    }

    /// Hands over what was noted.
    pub(crate) fn take(&mut self) -> Histogram {
        std::mem::take(&mut self.looks)
    }
}

/// What a worker noted of its loops since it was last asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerLoops {
    /// How late its I/O thread was.
    pub(crate) io: Histogram,
    /// How long guests waited for its guest thread; none without one.
    pub(crate) guests: Option<Histogram>,
    /// For how long guests held the I/O thread in long stretches.
    pub(crate) held_ns: u64,
    /// How often the realtime clock was seen to have been set, since the run's start.
    pub(crate) clock_steps: u64,
}

/// The loops of all workers.
#[derive(Debug)]
pub(crate) struct Loops {
    workers: Vec<WorkerLoops>,
    clock_steps: u64,
}

impl Loops {
    pub(crate) fn new(workers: usize) -> Loops {
        Loops {
            workers: vec![WorkerLoops::default(); workers],
            clock_steps: 0,
        }
    }

    /// Adds what a worker noted.
    pub(crate) fn absorb(&mut self, worker: usize, noted: WorkerLoops) {
        let Some(known) = self.workers.get_mut(worker) else {
            return;
        };
        known.io.merge(&noted.io);
        if let Some(guests) = noted.guests {
            known.guests.get_or_insert_default().merge(&guests);
        }
        known.held_ns = known.held_ns.saturating_add(noted.held_ns);
        known.clock_steps = noted.clock_steps;
    }

    /// Sets the gauges of an interval of this length, and begins the next.
    pub(crate) fn tell(&mut self, length_ns: u64, set: &mut dyn FnMut(&str, f64)) {
        if length_ns == 0 {
            return;
        }
        let length = length_ns as f64;
        self.tell_io(set);
        self.tell_guests(set);
        let held_ns = self.workers.iter().map(|w| w.held_ns).max().unwrap_or(0);
        set(gauge::INLINE_HELD, (held_ns as f64 / length).min(1.0));
        // Each worker sees each step that it measures across; the one that saw most missed none.
        let steps = self
            .workers
            .iter()
            .map(|worker| worker.clock_steps)
            .max()
            .unwrap_or(0);
        let grown = steps.saturating_sub(self.clock_steps) as f64;
        set(gauge::CLOCK_STEPS, grown / (length / 1e9));
        self.clock_steps = steps;
        for worker in &mut self.workers {
            worker.io.clear();
            worker.held_ns = 0;
            if let Some(guests) = &mut worker.guests {
                guests.clear();
            }
        }
    }

    fn tell_io(&self, set: &mut dyn FnMut(&str, f64)) {
        let mut all = Histogram::new();
        let mut latest: f64 = 0.0;
        for (number, worker) in self.workers.iter().enumerate() {
            all.merge(&worker.io);
            latest = latest.max(late_share(&worker.io));
            if let Some(max_ns) = worker.io.max() {
                set(&format!("gen_io{number}_lag_max_ns"), max_ns as f64);
            }
        }
        if let (Some(p99_ns), Some(max_ns)) = (all.quantile(0.99), all.max()) {
            set(gauge::IO_LAG_P99_NS, p99_ns as f64);
            set(gauge::IO_LAG_MAX_NS, max_ns as f64);
            set(gauge::IO_LATE, latest);
        }
    }

    fn tell_guests(&self, set: &mut dyn FnMut(&str, f64)) {
        let mut all = Histogram::new();
        for (number, worker) in self.workers.iter().enumerate() {
            let Some(guests) = &worker.guests else {
                continue;
            };
            all.merge(guests);
            let max_ns = guests.max().unwrap_or(0);
            set(&format!("gen_guest{number}_wait_max_ns"), max_ns as f64);
        }
        if let (Some(p99_ns), Some(max_ns)) = (all.quantile(0.99), all.max()) {
            set(gauge::GUEST_WAIT_P99_NS, p99_ns as f64);
            set(gauge::GUEST_WAIT_MAX_NS, max_ns as f64);
        }
    }
}

/// The share of the time that a thread was later than [`LATE_NS`].
fn late_share(looks: &Histogram) -> f64 {
    let late: u64 = looks
        .values()
        .filter(|(late_ns, _)| *late_ns > LATE_NS)
        .map(|(_, times)| times)
        .sum();
    late as f64 / looks.count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn gauges(loops: &mut Loops) -> BTreeMap<String, f64> {
        let mut gauges = BTreeMap::new();
        loops.tell(1_000_000_000, &mut |name, value| {
            gauges.insert(name.to_owned(), value);
        });
        gauges
    }

    #[test]
    fn a_thread_that_was_away_for_half_a_second_was_late_for_half_of_it() {
        let mut lag = LoopLag::default();
        for _ in 0..25 {
            lag.note(50_000);
        }
        lag.note(500_000_000);
        let looks = lag.take();
        assert_eq!(looks.count(), 50);
        assert_eq!(late_share(&looks), 0.5);
    }

    #[test]
    fn a_lag_without_end_is_noted_in_bounded_time() {
        let mut lag = LoopLag::default();
        lag.note(u64::MAX / 2);
        assert_eq!(lag.take().count(), MOST_MISSED + 1);
    }

    #[test]
    fn the_worst_worker_counts_and_each_interval_begins_anew() {
        let mut loops = Loops::new(2);
        let noted = |late_ns| {
            let mut lag = LoopLag::default();
            lag.note(late_ns);
            WorkerLoops {
                io: lag.take(),
                held_ns: late_ns,
                ..WorkerLoops::default()
            }
        };
        loops.absorb(0, noted(1_000));
        loops.absorb(1, noted(15_000_000));
        let first = gauges(&mut loops);
        assert_eq!(first[gauge::IO_LATE], 1.0);
        assert_eq!(first[gauge::INLINE_HELD], 0.015);
        assert!(!first.contains_key(gauge::GUEST_WAIT_P99_NS));
        loops.absorb(0, noted(1_000));
        assert_eq!(gauges(&mut loops)[gauge::IO_LATE], 0.0);
    }

    #[test]
    fn a_step_of_the_clock_is_told_once() {
        let mut loops = Loops::new(1);
        let seen = |clock_steps| WorkerLoops {
            clock_steps,
            ..WorkerLoops::default()
        };
        loops.absorb(0, seen(1));
        assert_eq!(gauges(&mut loops)[gauge::CLOCK_STEPS], 1.0);
        loops.absorb(0, seen(1));
        assert_eq!(gauges(&mut loops)[gauge::CLOCK_STEPS], 0.0);
    }
}
