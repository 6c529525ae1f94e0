//! The clocks, and whose CPU a nanosecond was. The only place of this crate that reads a clock.
//!
//! wasmtime calls a hook at every crossing between guest and host, switches between fibers included. Each crossing is stamped
//! with the invariant time-stamp counter (10 ns a read; the thread's CPU clock would be 500), and the time since the crossing
//! before goes to whoever had it:
//!
//! ```text
//!             begin(check)            send                                    end(check)
//!   guest ────┐          ┌──(check)───┐                           ┌──(check)──┐          ┌─── guest
//!             └ host ────┘            └ host ─ suspended ─ host ──┘           └ host ────┘
//!   scenario       │           check       nobody's                  check            scenario
//!             the check's
//! ```
//!
//! A guest segment is the scenario's, or the innermost open check's. The host's time in a synchronous call is the check's too: a
//! question about a body is not free because the host answers it. What a virtual user spends suspended is nobody's.
//!
//! The counter also runs while another process has the thread: [`crate::preemption`] takes that out of a segment. Where instructions
//! are counted, the guest's fuel is read at the same crossings and goes to the same scopes.
//!
//! Besides, the meter knows for how long a virtual user has held its thread, calls that did not suspend it included: that is
//! what decides when it must yield, and on which thread it belongs.

use std::sync::OnceLock;

use nettare_core::plan;
use nettare_core::sample::CheckMode;
use nettare_core::stats::CheckSample;
use wasmtime::CallHook;

use crate::preemption;
use crate::scopes::{self, Looker, Scopes};

/// Nanoseconds on the monotonic clock (`CLOCK_MONOTONIC`), the clock of phases and of `time.now`.
pub(crate) fn monotonic_ns() -> u64 {
    nanoseconds(rustix::time::clock_gettime(
        rustix::time::ClockId::Monotonic,
    ))
}

/// Nanoseconds since the Unix epoch.
pub(crate) fn wall_clock_ns() -> u64 {
    nanoseconds(rustix::time::clock_gettime(rustix::time::ClockId::Realtime))
}

/// CPU time of this thread, in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    nanoseconds(rustix::time::clock_gettime(
        rustix::time::ClockId::ThreadCPUTime,
    ))
}

fn nanoseconds(time: rustix::time::Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let fraction = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(fraction)
}

/// The invariant time-stamp counter.
pub(crate) type FastClock = quanta::Clock;

/// The fast clock. One for all: making one asks the processor what it can do, which a virtual machine makes slow.
pub(crate) fn clock() -> FastClock {
    static CLOCK: OnceLock<quanta::Clock> = OnceLock::new();
    CLOCK.get_or_init(quanta::Clock::new).clone()
}

/// Who has the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Nobody of this virtual user.
    Outside,
    /// The guest.
    Guest,
    /// The host, answering the guest at once.
    Host,
    /// The virtual user is suspended.
    Suspended,
}

/// A check that was closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Closed {
    /// Its CPU; none when checks are not metered.
    pub(crate) cpu_ns: Option<u64>,
    /// The guest's instructions; none when they are not counted.
    pub(crate) instructions: Option<u64>,
    /// Bytes of bodies looked at within it.
    pub(crate) body_bytes: u64,
    /// Whether the host alone looked at them.
    pub(crate) by_host: bool,
    /// Scopes within it that were still open.
    pub(crate) left_open: u32,
}

impl Closed {
    /// What the statistics are told of it.
    pub(crate) fn sample(
        &self,
        passed: bool,
        mode: CheckMode,
        queue_wait_ns: Option<u64>,
    ) -> CheckSample {
        CheckSample {
            passed,
            mode,
            cpu_ns: self.cpu_ns,
            instructions: self.instructions,
            queue_wait_ns,
            body_bytes: self.body_bytes,
        }
    }
}

/// What one call into the guest took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Guest segments outside all checks.
    pub(crate) scenario_ns: u64,
    /// Instructions outside all checks; 0 when they are not counted.
    pub(crate) scenario_instructions: u64,
    /// All guest segments.
    pub(crate) segments_ns: u64,
    /// The longest time for which the thread was held without a suspension.
    pub(crate) longest_ns: u64,
    /// Checks that were never ended.
    pub(crate) left_open: u32,
}

/// The meter of one virtual user. Times are ticks of the clock until somebody asks.
#[derive(Debug)]
pub(crate) struct Meter {
    clock: FastClock,
    kind: plan::Meter,
    side: Side,
    /// Calls into the guest within each other: a host call may call the guest's allocator.
    depth: u32,
    /// The last crossing.
    crossed: u64,
    /// When this virtual user got the thread.
    resumed: u64,
    scenario: u64,
    scenario_instructions: u64,
    segments: u64,
    longest: u64,
    /// Running mean of what an iteration takes outside of checks.
    usual_scenario_ns: u64,
    /// The guest's fuel at the last crossing, where instructions are counted.
    fuel: u64,
    scopes: Scopes,
}

impl Meter {
    pub(crate) fn new(kind: plan::Meter, most_scopes: u32) -> Meter {
        Meter {
            clock: clock(),
            kind,
            side: Side::Outside,
            depth: 0,
            crossed: 0,
            resumed: 0,
            scenario: 0,
            scenario_instructions: 0,
            segments: 0,
            longest: 0,
            usual_scenario_ns: 0,
            fuel: 0,
            scopes: Scopes::new(most_scopes),
        }
    }

    /// A call into the guest is about to begin: everything counts from 0.
    pub(crate) fn begin_call(&mut self) {
        self.side = Side::Outside;
        self.depth = 0;
        self.scenario = 0;
        self.scenario_instructions = 0;
        self.segments = 0;
        self.longest = 0;
        self.scopes.clear();
    }

    /// The call has ended, in whatever way.
    pub(crate) fn end_call(&mut self) -> Usage {
        let left_open = self.scopes.clear();
        self.side = Side::Outside;
        let scenario_ns = self.ns(self.scenario);
        self.usual_scenario_ns = scopes::mean_with(self.usual_scenario_ns, scenario_ns);
        Usage {
            scenario_ns,
            scenario_instructions: self.scenario_instructions,
            segments_ns: self.ns(self.segments),
            longest_ns: self.ns(self.longest),
            left_open,
        }
    }

    /// The hook, where instructions are counted: what fuel the guest has left tells how many it executed since the crossing before.
    pub(crate) fn cross_with_fuel(&mut self, hook: CallHook, fuel: u64) {
        if matches!(hook, CallHook::CallingHost | CallHook::ReturningFromWasm) {
            let executed = self.fuel.saturating_sub(fuel);
            if !self.scopes.charge_instructions(executed) {
                self.scenario_instructions += executed;
            }
        }
        self.fuel = fuel;
        self.cross(hook);
    }

    /// The hook: guest and host change places.
    pub(crate) fn cross(&mut self, hook: CallHook) {
        let now = self.clock.raw();
        let ticks = now.saturating_sub(self.crossed);
        match hook {
            CallHook::CallingWasm | CallHook::ReturningFromHost => {
                self.enter_guest(hook, now, ticks)
            }
            CallHook::CallingHost | CallHook::ReturningFromWasm => {
                self.leave_guest(hook, now, ticks)
            }
        }
        self.crossed = now;
    }

    fn enter_guest(&mut self, hook: CallHook, now: u64, ticks: u64) {
        match self.side {
            Side::Outside => self.resumed = now,
            Side::Suspended => self.resumed = now,
            Side::Host => self.charge_host(ticks, now),
            Side::Guest => {}
        }
        if matches!(hook, CallHook::CallingWasm) {
            self.depth += 1;
        }
        self.side = Side::Guest;
        if self.usual_ns() >= preemption::LONG_NS {
            preemption::expect_long(&self.clock, now);
        }
    }

    fn leave_guest(&mut self, hook: CallHook, now: u64, ticks: u64) {
        if self.side == Side::Guest {
            self.charge_guest(ticks, now);
        }
        if matches!(hook, CallHook::CallingHost) {
            self.side = Side::Host;
            return;
        }
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 {
            self.longest = self.longest.max(now.saturating_sub(self.resumed));
            self.side = Side::Outside;
        } else {
            self.side = Side::Host;
        }
    }

    /// The virtual user gives up its thread in the midst of a host call.
    pub(crate) fn suspended(&mut self) {
        self.longest = self.longest.max(self.crossed.saturating_sub(self.resumed));
        self.side = Side::Suspended;
    }

    /// It has the thread again, still in the host call.
    pub(crate) fn resumed(&mut self) {
        self.crossed = self.clock.raw();
        self.resumed = self.crossed;
        self.side = Side::Host;
    }

    /// When the virtual user got the thread that it holds, in ticks of the clock: another number for each stretch.
    pub(crate) fn held_since(&self) -> u64 {
        self.resumed
    }

    /// How long the virtual user has held its thread.
    pub(crate) fn held_ns(&self) -> u64 {
        self.ns(self.clock.raw().saturating_sub(self.resumed))
    }

    /// All guest segments of this call so far.
    pub(crate) fn segments_ns(&self) -> u64 {
        self.ns(self.segments)
    }

    /// Opens a check; false when too many are open.
    pub(crate) fn open(&mut self, check: u32) -> bool {
        self.scopes.open(check)
    }

    /// Closes a check and all within it; none when it is not open.
    pub(crate) fn close(&mut self, check: u32) -> Option<Closed> {
        let (scope, left_open) = self.scopes.close(check)?;
        self.scopes.learn(check, self.ns(scope.ticks));
        Some(Closed {
            cpu_ns: (self.kind != plan::Meter::Off).then(|| self.ns(scope.ticks)),
            instructions: (self.kind == plan::Meter::Instructions).then_some(scope.instructions),
            body_bytes: scope.body_bytes,
            by_host: scope.asked_host && !scope.took_body,
            left_open,
        })
    }

    /// Bytes of a body were looked at.
    pub(crate) fn looked_at(&mut self, bytes: u64, by: Looker) {
        self.scopes.looked_at(bytes, by);
    }

    /// What the innermost scope takes in all, by its running mean.
    fn usual_ns(&self) -> u64 {
        self.scopes.usual_ns().unwrap_or(self.usual_scenario_ns)
    }

    fn charge_guest(&mut self, ticks: u64, now: u64) {
        let ticks = preemption::own_ticks(&self.clock, ticks, now, self.usual_ns());
        self.segments += ticks;
        if !self.scopes.charge(ticks) {
            self.scenario += ticks;
        }
    }

    /// Without an open check the host's work is the host's.
    fn charge_host(&mut self, ticks: u64, now: u64) {
        if self.scopes.is_open() {
            self.scopes.charge(preemption::own_ticks(
                &self.clock,
                ticks,
                now,
                self.usual_ns(),
            ));
        }
    }

    fn ns(&self, ticks: u64) -> u64 {
        self.clock.delta_as_nanos(0, ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter() -> Meter {
        Meter::new(plan::Meter::Time, 2)
    }

    #[test]
    fn checks_end_with_the_call() {
        let mut meter = meter();
        assert!(meter.open(1) && meter.open(1) && !meter.open(1));
        assert_eq!(meter.end_call().left_open, 2);
        meter.begin_call();
        assert_eq!(meter.end_call(), Usage::default());
    }

    #[test]
    fn a_nested_call_of_the_allocator_is_a_guest_segment_within_a_host_call() {
        let mut meter = meter();
        meter.begin_call();
        for hook in [
            CallHook::CallingWasm,
            CallHook::CallingHost,
            CallHook::CallingWasm,
            CallHook::ReturningFromWasm,
            CallHook::ReturningFromHost,
        ] {
            meter.cross(hook);
        }
        assert_eq!(meter.side, Side::Guest);
        meter.cross(CallHook::ReturningFromWasm);
        assert_eq!(meter.side, Side::Outside);
        let segments = meter.segments;
        assert_eq!(segments, meter.scenario);
    }

    #[test]
    fn time_suspended_is_nobodys() {
        let mut meter = meter();
        meter.begin_call();
        meter.cross(CallHook::CallingWasm);
        meter.open(1);
        meter.cross(CallHook::CallingHost);
        meter.suspended();
        let segments = meter.segments;
        let waited = std::iter::repeat_with(|| meter.clock.raw())
            .take(100_000)
            .last()
            .unwrap()
            - meter.crossed;
        meter.cross(CallHook::ReturningFromHost);
        assert_eq!(meter.segments, segments);
        let charged = meter.close(1).unwrap().cpu_ns.unwrap();
        assert!(
            charged * 2 < meter.ns(waited),
            "{charged} ns of {} suspended",
            meter.ns(waited)
        );
    }

    #[test]
    fn fuel_goes_to_whoever_executed() {
        let mut meter = Meter::new(plan::Meter::Instructions, 2);
        meter.begin_call();
        for (hook, fuel) in [(CallHook::CallingWasm, 1000), (CallHook::CallingHost, 990)] {
            meter.cross_with_fuel(hook, fuel);
        }
        meter.open(1);
        for (hook, fuel) in [
            (CallHook::ReturningFromHost, 990),
            (CallHook::CallingHost, 890),
        ] {
            meter.cross_with_fuel(hook, fuel);
        }
        assert_eq!(meter.close(1).unwrap().instructions, Some(100));
        meter.cross_with_fuel(CallHook::ReturningFromHost, 890);
        meter.cross_with_fuel(CallHook::ReturningFromWasm, 885);
        assert_eq!(meter.end_call().scenario_instructions, 15);
    }

    #[test]
    fn nothing_is_said_of_cpu_when_the_meter_is_off() {
        let mut meter = Meter::new(plan::Meter::Off, 8);
        meter.open(1);
        let closed = meter.close(1).unwrap();
        assert_eq!((closed.cpu_ns, closed.instructions), (None, None));
    }
}
