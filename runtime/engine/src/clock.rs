//! The run's clock: nanoseconds from the run's start, the same on every thread.
//!
//! Workers are made and virtual users initialised before the clock starts, so that the measured time is load and nothing else.

use nettare_vm::RunStart;

/// Nanoseconds on `CLOCK_MONOTONIC`.
pub(crate) fn monotonic_ns() -> u64 {
    nettare_net::clock::monotonic_ns()
}

/// CPU time of this process, all threads, in nanoseconds; `/proc/self/stat` knows hundredths of a second.
pub(crate) fn process_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Where the run's time begins. Before [`RunClock::start`] the time is 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunClock {
    /// Set once, by the coordinator. Guests read it too.
    start: RunStart,
}

impl RunClock {
    /// Starts the run's time now.
    pub(crate) fn start(&self) {
        self.start.set(monotonic_ns());
    }

    /// Nanoseconds from the run's start.
    pub(crate) fn now_ns(&self) -> u64 {
        self.start.elapsed_ns(monotonic_ns())
    }

    /// The moment of the run's start on the monotonic clock; the present moment before it.
    pub(crate) fn started_at_ns(&self) -> u64 {
        self.start.get().unwrap_or_else(monotonic_ns)
    }

    /// The start itself, for guests.
    pub(crate) fn start_mark(&self) -> RunStart {
        self.start.clone()
    }
}
