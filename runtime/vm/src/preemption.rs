//! What other processes take from a thread in the midst of a guest's work is not the guest's.
//!
//! Segments are measured by the fast clock, which runs on while the thread is off its CPU. The thread's own CPU clock does not, but
//! costs half a microsecond a reading, many times what a short segment takes. So it is read only
//!
//! - at the end of a *long* segment: a thread that is preempted loses some milliseconds at once, so that a segment it happened in is long;
//! - at its beginning too, where one is expected: what was taken in between is the segment's, to the nanosecond;
//! - every ten milliseconds besides, so that what is compared is recent.
//!
//! From one reading to the next the thread was busy for the time by the fast clock less the time it was parked. What of that its CPU
//! clock does not have was taken from it, and is taken out of the long segment that had been charged with it. Where the segment was not
//! expected to be long, some of it may have been taken before: the I/O thread does so at every hand-over. So such a segment keeps at
//! least what its scope takes usually.
//!
//! The executor tells when it parks ([`parks`], [`unparks`]): otherwise idleness would look like preemption.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::meter::{self, FastClock};

/// A segment over this is long.
pub(crate) const LONG_NS: u64 = 100_000;

/// A reading is as good as new for so long: what can have been taken meanwhile is little beside a long segment.
const RECENT_NS: u64 = 20_000;

/// A reading older than this is made anew.
const REFRESH_NS: u64 = 10_000_000;

/// A thread's clocks when they were last compared.
#[derive(Clone, Copy)]
struct Reading {
    /// By the fast clock; 0 before the first reading.
    ticks: u64,
    cpu_ns: u64,
    /// Ticks parked since then.
    parked: u64,
    /// When the thread parked last.
    parked_at: u64,
}

thread_local! {
    static READING: Cell<Reading> = const {
        Cell::new(Reading {
            ticks: 0,
            cpu_ns: 0,
            parked: 0,
            parked_at: 0,
        })
    };
}

/// Over all threads, since the process began.
static BUSY_NS: AtomicU64 = AtomicU64::new(0);
static TAKEN_NS: AtomicU64 = AtomicU64::new(0);

/// How long the threads that run guests were busy, and what of that others took from them; since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preemption {
    /// Not parked, in nanoseconds.
    pub busy_ns: u64,
    /// Of that, without a CPU.
    pub taken_ns: u64,
}

impl Preemption {
    /// Up to now.
    pub fn so_far() -> Preemption {
        Preemption {
            busy_ns: BUSY_NS.load(Ordering::Relaxed),
            taken_ns: TAKEN_NS.load(Ordering::Relaxed),
        }
    }

    /// Since an earlier one.
    pub fn since(self, earlier: Preemption) -> Preemption {
        Preemption {
            busy_ns: self.busy_ns.saturating_sub(earlier.busy_ns),
            taken_ns: self.taken_ns.saturating_sub(earlier.taken_ns),
        }
    }

    /// The share that was taken, from 0 to 1.
    pub fn share(self) -> f64 {
        self.taken_ns as f64 / self.busy_ns.max(1) as f64
    }
}

/// The calling thread is about to wait for work.
pub fn parks() {
    let now = meter::clock().raw();
    READING.with(|cell| {
        let mut reading = cell.get();
        reading.parked_at = now;
        cell.set(reading);
    });
}

/// The calling thread has work again.
pub fn unparks() {
    let now = meter::clock().raw();
    READING.with(|cell| {
        let mut reading = cell.get();
        reading.parked += now.saturating_sub(reading.parked_at);
        cell.set(reading);
    });
}

/// A segment begins that is expected to be long.
pub(crate) fn expect_long(clock: &FastClock, now: u64) {
    let last = READING.with(Cell::get);
    // A scope of many short segments is not to pay for a reading at each.
    if last.ticks == 0 || clock.delta_as_nanos(last.ticks, now) > RECENT_NS {
        compare(clock, last, now);
    }
}

/// What of a segment that ends now was the thread's own; `usual_ns` is what its scope takes.
pub(crate) fn own_ticks(clock: &FastClock, ticks: u64, now: u64, usual_ns: u64) -> u64 {
    let last = READING.with(Cell::get);
    let segment_ns = clock.delta_as_nanos(0, ticks);
    if segment_ns < LONG_NS {
        if clock.delta_as_nanos(last.ticks, now) > REFRESH_NS {
            compare(clock, last, now);
        }
        return ticks;
    }
    let taken_ns = compare(clock, last, now);
    if taken_ns == 0 {
        return ticks;
    }
    let least_ns = if usual_ns < LONG_NS { usual_ns } else { 0 };
    let own_ns = segment_ns
        .saturating_sub(taken_ns)
        .max(least_ns.min(segment_ns));
    let own = own_ns as f64 / segment_ns as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of what it is made from"
    )]
    let own_ticks = (ticks as f64 * own) as u64;
    own_ticks
}

/// Reads the thread's clock, and says what was taken from it since the last reading.
fn compare(clock: &FastClock, last: Reading, now: u64) -> u64 {
    let cpu_ns = meter::thread_cpu_ns();
    READING.with(|cell| {
        cell.set(Reading {
            ticks: now,
            cpu_ns,
            parked: 0,
            parked_at: now,
        });
    });
    if last.ticks == 0 {
        return 0;
    }
    let busy_ns = clock.delta_as_nanos(last.ticks + last.parked, now);
    let taken_ns = busy_ns.saturating_sub(cpu_ns - last.cpu_ns);
    BUSY_NS.fetch_add(busy_ns, Ordering::Relaxed);
    TAKEN_NS.fetch_add(taken_ns, Ordering::Relaxed);
    taken_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spins for so much CPU time, and tells how long that took by the fast clock.
    fn spin(cpu_ns: u64) -> (u64, u64) {
        let (begin, from) = (meter::clock().raw(), meter::thread_cpu_ns());
        while meter::thread_cpu_ns() < from + cpu_ns {}
        let now = meter::clock().raw();
        (now.saturating_sub(begin), now)
    }

    #[test]
    fn time_off_the_cpu_is_not_the_segments() {
        let clock = meter::clock();
        let (ticks, now) = spin(200_000);
        own_ticks(&clock, ticks, now, 0);
        // Asleep in the midst of a segment: the thread's clock stands still, as it does while another process runs.
        let begin = clock.raw();
        spin(300_000);
        std::thread::park_timeout(std::time::Duration::from_millis(30));
        spin(300_000);
        let now = clock.raw();
        let (all, own) = (now - begin, own_ticks(&clock, now - begin, now, 0));
        assert!(clock.delta_as_nanos(0, all) > 30_000_000);
        assert!(clock.delta_as_nanos(0, own) >= 590_000, "{own} of {all}");
        assert!(own * 4 < all, "{own} of {all}");
    }

    #[test]
    fn time_parked_is_nobodys() {
        let clock = meter::clock();
        let (ticks, now) = spin(200_000);
        own_ticks(&clock, ticks, now, 0);
        parks();
        std::thread::park_timeout(std::time::Duration::from_millis(30));
        unparks();
        let (ticks, now) = spin(500_000);
        let own = own_ticks(&clock, ticks, now, 0);
        assert!(clock.delta_as_nanos(0, own) >= 490_000, "{own} of {ticks}");
    }

    #[test]
    fn what_was_taken_before_is_not_taken_out_of_a_segment_that_was_expected() {
        let clock = meter::clock();
        let (ticks, now) = spin(200_000);
        own_ticks(&clock, ticks, now, 0);
        std::thread::park_timeout(std::time::Duration::from_millis(30));
        expect_long(&clock, clock.raw());
        let (ticks, now) = spin(500_000);
        let own = own_ticks(&clock, ticks, now, 500_000);
        assert!(clock.delta_as_nanos(0, own) >= 490_000, "{own} of {ticks}");
    }

    #[test]
    fn a_segment_that_was_not_expected_keeps_what_is_usual() {
        let clock = meter::clock();
        let (ticks, now) = spin(200_000);
        own_ticks(&clock, ticks, now, 0);
        std::thread::park_timeout(std::time::Duration::from_millis(30));
        let (ticks, now) = spin(200_000);
        let own = own_ticks(&clock, ticks, now, 50_000);
        let own_ns = clock.delta_as_nanos(0, own);
        assert!((49_000..=51_000).contains(&own_ns), "{own_ns} ns");
    }

    #[test]
    fn a_short_segment_is_taken_as_it_is() {
        let clock = meter::clock();
        assert_eq!(own_ticks(&clock, 10, clock.raw(), 0), 10);
    }
}
