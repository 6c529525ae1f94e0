//! The two clocks: monotonic for all times of the crate, realtime for what the kernel stamps.
//!
//! The kernel stamps segments on `CLOCK_REALTIME`. The difference between the two clocks is constant, slewing by NTP included
//! (it slews both), until somebody sets the time. [`Converter`] therefore keeps one difference and looks at each read whether
//! it still holds. If it does not, the clock was stepped at some time since the last look, nobody can say whether before or
//! after the segment came, and that stamp is not used.

use std::cell::Cell;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Two readings of the clocks right after each other differ by some tens of nanoseconds; more than this makes us look closer.
const NOISE_NS: u64 = 5_000;

/// Nanoseconds on `CLOCK_MONOTONIC`, see clock_gettime(2). The same clock in all threads and crates of the process.
pub fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// The timer's instant for a time on [`monotonic_ns`]'s clock.
#[expect(
    clippy::disallowed_methods,
    reason = "timers of tokio take its own instants; they are made here alone"
)]
pub(crate) fn instant_of(at_ns: u64) -> tokio::time::Instant {
    let now_ns = monotonic_ns();
    tokio::time::Instant::now() + Duration::from_nanos(at_ns.saturating_sub(now_ns))
}

fn realtime_ns() -> u64 {
    nanoseconds(ClockId::Realtime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Turns kernel stamps into monotonic ones. One a worker.
#[derive(Debug)]
pub(crate) struct Converter {
    /// Realtime minus monotonic, in nanoseconds.
    offset_ns: Cell<i64>,
    /// How often somebody set the realtime clock.
    steps: Cell<u64>,
}

/// What a look at the clocks at a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Now.
    pub(crate) now_ns: u64,
    /// The kernel's stamp on the monotonic clock; none when the clock was stepped since the last look.
    pub(crate) stamp_ns: Option<u64>,
}

impl Converter {
    pub(crate) fn new() -> Converter {
        Converter {
            offset_ns: Cell::new(measure_offset_ns()),
            steps: Cell::new(0),
        }
    }

    /// How often the realtime clock was seen to have been set.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Converts the stamp of a segment that was read just now.
    pub(crate) fn convert(&self, stamp_realtime_ns: u64) -> Reading {
        let realtime_ns = realtime_ns();
        let now_ns = monotonic_ns();
        if self.holds(realtime_ns, now_ns) {
            let stamp_ns = offset_by(stamp_realtime_ns, self.offset_ns.get()).min(now_ns);
            return Reading {
                now_ns,
                stamp_ns: Some(stamp_ns),
            };
        }
        Reading {
            now_ns,
            stamp_ns: self
                .look_closer()
                .then(|| offset_by(stamp_realtime_ns, self.offset_ns.get())),
        }
    }

    fn holds(&self, realtime_ns: u64, monotonic_ns: u64) -> bool {
        let seen_ns = realtime_ns as i64 - monotonic_ns as i64;
        seen_ns.abs_diff(self.offset_ns.get()) <= NOISE_NS
    }

    /// Whether the offset held after all: the thread may merely have been preempted between the two readings.
    #[cold]
    fn look_closer(&self) -> bool {
        let measured_ns = measure_offset_ns();
        let held = measured_ns.abs_diff(self.offset_ns.get()) <= NOISE_NS;
        self.offset_ns.set(measured_ns);
        if !held {
            self.steps.set(self.steps.get() + 1);
        }
        held
    }
}

/// Realtime minus monotonic, from the narrowest of a few sandwiches: monotonic, realtime, monotonic.
fn measure_offset_ns() -> i64 {
    let sandwich = |_| {
        let before_ns = monotonic_ns();
        let realtime_ns = realtime_ns();
        let after_ns = monotonic_ns();
        let middle_ns = before_ns + (after_ns - before_ns) / 2;
        (after_ns - before_ns, realtime_ns as i64 - middle_ns as i64)
    };
    let narrowest = (0..8).map(sandwich).min_by_key(|&(width_ns, _)| width_ns);
    narrowest.map_or(0, |(_, offset_ns)| offset_ns)
}

fn offset_by(realtime_ns: u64, offset_ns: i64) -> u64 {
    realtime_ns.saturating_add_signed(offset_ns.saturating_neg())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_of_now_converts_to_now() {
        let converter = Converter::new();
        let before_ns = monotonic_ns();
        let reading = converter.convert(realtime_ns());
        let stamp_ns = reading.stamp_ns.unwrap();
        assert!(
            stamp_ns + NOISE_NS >= before_ns && stamp_ns <= reading.now_ns,
            "{before_ns} {reading:?}"
        );
        assert_eq!(converter.steps(), 0);
    }

    #[test]
    fn a_stamp_is_not_used_when_the_clock_was_stepped_before_it_was_read() {
        let converter = Converter::new();
        let stepped_by_ns = 3_000_000_000;
        converter
            .offset_ns
            .set(converter.offset_ns.get() - stepped_by_ns);
        assert_eq!(converter.convert(realtime_ns()).stamp_ns, None);
        assert_eq!(converter.steps(), 1);
        assert!(
            converter.convert(realtime_ns()).stamp_ns.is_some(),
            "the next read is sound again"
        );
    }

    #[test]
    fn a_stamp_from_before_boot_does_not_wrap() {
        assert_eq!(offset_by(5, 1_000), 0);
    }
}
