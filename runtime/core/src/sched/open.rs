//! The open model: arrivals come at their time, whatever becomes of those before.
//!
//! ```text
//!                      a free VU?  ──yes──────────────────────────────► Start
//!   arrival due ──►        no      ──room to wait?──yes──► waiting ───► Start when a VU is free
//!        │                               no                  │
//!        │ seen over 1 s late            ▼                   ▼ time over, or stop
//!        └──► Drop{lag}             Drop{no-vu}        Drop{no-vu | stop}
//! ```
//!
//! While arrivals wait, virtual users are spawned for them up to the most there may be; an arrival waits for whichever is free
//! first. The waiting room has as many places as there may be virtual users: a load far beyond what the server can take is told
//! by drops within moments, not by a queue that grows as long as the run.
//!
//! The scheduler looks at every due arrival in every step. One that it first sees late was therefore missed because the
//! scheduler itself was not run; up to a second of that is told as lateness, more would make a burst that nobody asked for.

use std::collections::VecDeque;

use super::fleet::Fleet;
use super::output::Output;
use super::protocol::{Action, DropReason};
use crate::pace::ConstantPace;
use crate::plan::Rate;

/// An arrival first seen later than this is dropped.
const MAX_LAG_NS: u64 = 1_000_000_000;

/// Arrivals looked at in one step. After a long stop of the process (a suspended machine, a debugger) millions can be overdue;
/// they are then settled in portions, between which the shell empties its list of actions.
const MAX_ARRIVALS_PER_STEP: usize = 16_384;

/// Arrivals of one worker.
#[derive(Debug)]
pub(super) struct Open {
    pace: ConstantPace,
    /// How many came due so far: the worker's own number of the next.
    seen: u64,
    /// The next; none when there are no more.
    next: Option<Pending>,
    /// Seen, and without a virtual user; oldest first.
    waiting: VecDeque<Pending>,
}

/// An arrival that has neither started nor been dropped.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Its index in the whole run.
    sequence: u64,
    due_ns: u64,
}

impl Open {
    /// Arrivals at `rate` over the whole run, of which this worker sees those dealt to `fleet`.
    pub(super) fn new(fleet: &Fleet, rate: Rate, duration_ns: u64) -> Open {
        let mut open = Open {
            pace: ConstantPace::new(rate, duration_ns),
            seen: 0,
            next: None,
            waiting: VecDeque::new(),
        };
        open.next = open.arrival(fleet, 0);
        open
    }

    /// Starts, parks or drops all arrivals due by now.
    pub(super) fn offer(&mut self, fleet: &mut Fleet, output: &mut Output<'_>) {
        self.start_waiting(fleet, output);
        self.drop_overflow(fleet, output);
        for _ in 0..MAX_ARRIVALS_PER_STEP {
            let Some(arrival) = self.next_due_by(output.now_ns, fleet) else {
                break;
            };
            if is_stale(arrival, output) {
                output.drop(arrival.sequence, arrival.due_ns, DropReason::Lag);
            } else if let Some(taken) = fleet.take(u64::MAX) {
                output.start(
                    taken.vu,
                    arrival.sequence,
                    arrival.due_ns,
                    taken.free_since_ns,
                );
            } else {
                self.waiting.push_back(arrival);
                self.drop_overflow(fleet, output);
            }
        }
        self.spawn_for_waiting(fleet, output);
    }

    /// The time is over: nothing waits any longer. Answers whether every arrival of the plan is settled.
    ///
    /// The last arrivals can be due so shortly before the end that the shell's timer, late by microseconds, runs this first. They
    /// are part of the plan and their virtual users are free, so they start: at 100,000/s every run would fall short otherwise.
    pub(super) fn end(&mut self, fleet: &mut Fleet, output: &mut Output<'_>) -> bool {
        self.drop_waiting(DropReason::NoVu, output);
        for _ in 0..MAX_ARRIVALS_PER_STEP {
            let Some(arrival) = self.next_due_by(output.now_ns, fleet) else {
                return true;
            };
            if is_stale(arrival, output) {
                output.drop(arrival.sequence, arrival.due_ns, DropReason::Lag);
            } else if let Some(taken) = fleet.take(u64::MAX) {
                output.start(
                    taken.vu,
                    arrival.sequence,
                    arrival.due_ns,
                    taken.free_since_ns,
                );
            } else {
                output.drop(arrival.sequence, arrival.due_ns, DropReason::NoVu);
            }
        }
        false
    }

    /// The run was stopped at `at_ns`: nothing starts. Answers whether every arrival due until then is settled.
    pub(super) fn stop(&mut self, at_ns: u64, fleet: &Fleet, output: &mut Output<'_>) -> bool {
        self.drop_waiting(DropReason::Stop, output);
        for _ in 0..MAX_ARRIVALS_PER_STEP {
            let Some(arrival) = self.next_due_by(at_ns, fleet) else {
                return true;
            };
            let reason = if is_stale(arrival, output) {
                DropReason::Lag
            } else {
                DropReason::Stop
            };
            output.drop(arrival.sequence, arrival.due_ns, reason);
        }
        false
    }

    /// When the next arrival is due.
    pub(super) fn next_due_ns(&self) -> Option<u64> {
        self.next.map(|arrival| arrival.due_ns)
    }

    /// Takes the next arrival if it is due at `time_ns` or before.
    fn next_due_by(&mut self, time_ns: u64, fleet: &Fleet) -> Option<Pending> {
        let arrival = self.next.filter(|arrival| arrival.due_ns <= time_ns)?;
        self.seen += 1;
        self.next = self.arrival(fleet, self.seen);
        Some(arrival)
    }

    /// The worker's `k`-th arrival.
    fn arrival(&self, fleet: &Fleet, k: u64) -> Option<Pending> {
        let sequence = fleet.deal().nth(k)?;
        let due_ns = self.pace.due_ns(sequence)?;
        Some(Pending { sequence, due_ns })
    }

    fn start_waiting(&mut self, fleet: &mut Fleet, output: &mut Output<'_>) {
        while fleet.has_free()
            && let Some(arrival) = self.waiting.pop_front()
            && let Some(taken) = fleet.take(u64::MAX)
        {
            output.start(
                taken.vu,
                arrival.sequence,
                arrival.due_ns,
                taken.free_since_ns,
            );
        }
    }

    /// Drops the newest of those that wait while there are more than virtual users that could ever serve them.
    fn drop_overflow(&mut self, fleet: &Fleet, output: &mut Output<'_>) {
        while self.waiting.len() > fleet.usable() as usize
            && let Some(arrival) = self.waiting.pop_back()
        {
            output.drop(arrival.sequence, arrival.due_ns, DropReason::NoVu);
        }
    }

    fn drop_waiting(&mut self, reason: DropReason, output: &mut Output<'_>) {
        for arrival in self.waiting.drain(..) {
            output.drop(arrival.sequence, arrival.due_ns, reason);
        }
    }

    /// Asks for as many virtual users as arrivals wait, less those already asked for.
    fn spawn_for_waiting(&mut self, fleet: &mut Fleet, output: &mut Output<'_>) {
        while (fleet.making() as usize) < self.waiting.len()
            && let Some(vu) = fleet.spawn()
        {
            output.actions.push(Action::Spawn { vu });
        }
    }
}

fn is_stale(arrival: Pending, output: &Output<'_>) -> bool {
    output.now_ns.saturating_sub(arrival.due_ns) > MAX_LAG_NS
}

#[cfg(test)]
mod tests {
    use crate::plan::{Executor, Rate};
    use crate::sample::IterationOutcome;
    use crate::sched::{Action, DropReason, Event, Scheduler};
    use crate::segment::Segment;

    const MS: u64 = 1_000_000;

    /// An arrival each millisecond for a second.
    fn scheduler(pre_allocated_vus: u32, max_vus: u32) -> Scheduler {
        let rate = Rate {
            arrivals: 1,
            per_ns: MS,
        };
        let executor = Executor::ConstantArrivalRate {
            rate,
            duration_ns: 1_000 * MS,
            pre_allocated_vus,
            max_vus,
        };
        Scheduler::new(&executor, Segment::whole(), 0)
    }

    /// What a step answers, but for the timer.
    fn step(scheduler: &mut Scheduler, now_ns: u64, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        scheduler.step(now_ns, event, &mut actions);
        actions.retain(|action| !matches!(action, Action::WakeAt { .. }));
        actions
    }

    fn ended(vu: u32) -> Event {
        Event::IterationEnded {
            vu,
            outcome: IterationOutcome::Completed,
        }
    }

    /// Virtual user and arrival of a lone start.
    fn start(actions: &[Action]) -> Option<(u32, u64)> {
        match actions {
            [Action::Start { vu, arrival, .. }] => Some((*vu, arrival.sequence)),
            _ => None,
        }
    }

    #[test]
    fn as_many_arrivals_wait_as_there_may_be_virtual_users() {
        let mut scheduler = scheduler(2, 2);
        assert_eq!(start(&step(&mut scheduler, 0, Event::Begin)), Some((1, 0)));
        assert_eq!(start(&step(&mut scheduler, MS, Event::Timer)), Some((2, 1)));
        assert_eq!(step(&mut scheduler, 2 * MS, Event::Timer), [], "one waits");
        assert_eq!(step(&mut scheduler, 3 * MS, Event::Timer), [], "two wait");
        let dropped = Action::Drop {
            sequence: 4,
            due_ns: 4 * MS,
            reason: DropReason::NoVu,
        };
        assert_eq!(
            step(&mut scheduler, 4 * MS, Event::Timer),
            [dropped],
            "there is no third place"
        );
        assert_eq!(
            start(&step(&mut scheduler, 4 * MS, ended(1))),
            Some((1, 2)),
            "the oldest goes first"
        );
    }

    #[test]
    fn a_virtual_user_is_asked_for_once_for_each_arrival_that_waits() {
        let mut scheduler = scheduler(1, 9);
        assert_eq!(start(&step(&mut scheduler, 0, Event::Begin)), Some((1, 0)));
        assert_eq!(
            step(&mut scheduler, MS, Event::Timer),
            [Action::Spawn { vu: 2 }]
        );
        assert_eq!(
            step(&mut scheduler, MS, Event::Timer),
            [],
            "it is on its way"
        );
        assert_eq!(
            start(&step(&mut scheduler, MS, ended(1))),
            Some((1, 1)),
            "the arrival takes whichever is free first"
        );
        assert_eq!(
            step(&mut scheduler, 2 * MS, Event::Timer),
            [],
            "the one on its way will do for the next"
        );
        assert_eq!(
            step(&mut scheduler, 3 * MS, Event::Timer),
            [Action::Spawn { vu: 3 }]
        );
        assert_eq!(
            start(&step(&mut scheduler, 3 * MS, Event::VuReady { vu: 2 })),
            Some((2, 2))
        );
    }

    #[test]
    fn another_is_asked_for_when_one_does_not_come_about() {
        let mut scheduler = scheduler(0, 2);
        assert_eq!(
            step(&mut scheduler, 0, Event::Begin),
            [Action::Spawn { vu: 1 }]
        );
        assert_eq!(
            step(&mut scheduler, 0, Event::VuRetired { vu: 1 }),
            [Action::Spawn { vu: 2 }]
        );
        let dropped = Action::Drop {
            sequence: 0,
            due_ns: 0,
            reason: DropReason::NoVu,
        };
        assert_eq!(
            step(&mut scheduler, 0, Event::VuRetired { vu: 2 }),
            [dropped],
            "nobody is left to wait for"
        );
    }
}
