//! The run's clock: nanoseconds from the run's start, the same on every thread.
//!
//! Workers are made and virtual users initialised before the clock starts, so that the measured time is load and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nanoseconds on `CLOCK_MONOTONIC`.
pub(crate) fn monotonic_ns() -> u64 {
    nettare_net::clock::monotonic_ns()
}

/// Where the run's time begins. Before [`RunClock::start`] the time is 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunClock {
    /// `CLOCK_MONOTONIC` at the run's start; 0 until then. Written once, by the coordinator.
    started_at_ns: Arc<AtomicU64>,
}

impl RunClock {
    /// Starts the run's time now.
    pub(crate) fn start(&self) {
        self.started_at_ns.store(monotonic_ns(), Ordering::Release);
    }

    /// Nanoseconds from the run's start.
    pub(crate) fn now_ns(&self) -> u64 {
        match self.started_at_ns.load(Ordering::Acquire) {
            0 => 0,
            started => monotonic_ns().saturating_sub(started),
        }
    }

    /// The moment of the run's start on the monotonic clock; the present moment before it.
    pub(crate) fn started_at_ns(&self) -> u64 {
        match self.started_at_ns.load(Ordering::Acquire) {
            0 => monotonic_ns(),
            started => started,
        }
    }
}
