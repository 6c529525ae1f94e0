//! The scheduler of one scenario on one worker: a state machine that takes `(now, event)` and answers with actions.
//!
//! It owns no clock, timer, thread or virtual user. The shell around it does what the actions say and reports what happened:
//!
//! ```text
//!   shell                                         scheduler
//!   makes the virtual users of `initial_vus`
//!   Begin                                      ─►
//!                                              ◄─ Start{vu, arrival} ...  WakeAt{at}
//!   IterationEnded{vu} | Timer                 ─►
//!                                              ◄─ Start ...  Spawn{vu}  Drop{sequence, reason}  WakeAt{at}
//!   VuReady{vu} | VuRetired{vu}                ─►
//!                                              ◄─ ...
//!   (time is over, or Stop)                    ─►
//!                                              ◄─ Drain{until}  WakeAt{until}
//!   Timer (grace is over, or Kill)             ─►
//!                                              ◄─ Cancel{vu} for each that still runs
//!   IterationEnded{vu, Interrupted} ...        ─►
//!                                              ◄─ Finish
//! ```
//!
//! What always holds, and what the simulation in the tests checks with thousands of seeds:
//!
//! - arrivals due so far = started + dropped + waiting; at the end none waits;
//! - a virtual user runs one iteration at a time, and only the worker that owns it runs it;
//! - nothing starts after `Drain`; `Finish` comes exactly once, last, when nothing runs;
//! - over any number of workers the totals are those of one.
//!
//! An event the state has no use for (a spurious timer, an end of what did not run) changes nothing.

mod closed;
mod fleet;
mod open;
mod output;
mod protocol;

#[cfg(test)]
mod sim;

use self::closed::Closed;
use self::fleet::Fleet;
use self::open::Open;
use self::output::Output;
pub use self::protocol::{Action, DropReason, Event, IterationCounts};

use crate::plan::Executor;
use crate::sample::IterationOutcome;
use crate::segment::{Deal, Segment};

/// The state machine. See the module's documentation for the protocol.
#[derive(Debug)]
pub struct Scheduler {
    /// Which of the events mean anything now.
    phase: Phase,
    /// The latest time told; a shell whose clock steps back does not take the schedule with it.
    now_ns: u64,
    /// No arrival is due, and no iteration of a closed model starts, at or after it.
    end_ns: u64,
    /// How long iterations under way may go on once nothing starts any more.
    graceful_stop_ns: u64,
    /// The wake-up that the shell holds, as far as is known here.
    armed_ns: Option<u64>,
    /// What is to be started, and when: the part in which executors differ.
    load: Load,
    /// This worker's virtual users.
    fleet: Fleet,
    /// Where iterations got to.
    counts: IterationCounts,
}

/// `Idle → Running → Closing → Draining → Finished`; a run whose work is done before its time goes from `Running` to `Finished`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Before `Begin`.
    Idle,
    /// Arrivals come and start.
    Running,
    /// Time is over or a stop was asked for, and arrivals that came due before are being settled. Mostly passed through within
    /// one step; it lasts for several when so many are overdue that their drops are handed out in portions.
    Closing(Closing),
    /// Nothing starts; iterations under way end.
    Draining {
        /// They are cancelled then.
        until_ns: u64,
        /// They were.
        cancelled: bool,
    },
    /// `Finish` was said.
    Finished,
}

/// Why no more is to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    /// The planned time is over. All that was due before is still to be offered.
    TimeOver,
    /// A stop was asked for at this time. Nothing that came due later is part of the run.
    Stopped { at_ns: u64 },
    /// A stop was asked for before the start: nothing has come due.
    NeverBegun,
}

/// The two families of executors.
#[derive(Debug)]
enum Load {
    /// The next iteration of a virtual user waits for its last one.
    Closed(Closed),
    /// Arrivals come when they come.
    Open(Open),
}

impl Scheduler {
    /// The scheduler of the part of `executor`'s work that falls to the virtual users of `segment`.
    pub fn new(executor: &Executor, segment: Segment, graceful_stop_ns: u64) -> Scheduler {
        let (load, fleet) = match *executor {
            Executor::ConstantVus { vus, .. } => {
                let fleet = Fleet::complete(Deal::new(segment, vus));
                (Load::Closed(Closed::endless()), fleet)
            }
            Executor::SharedIterations {
                vus,
                iterations,
                max_duration_ns,
                rate,
            } => {
                let fleet = Fleet::complete(Deal::new(segment, vus));
                (
                    Load::Closed(Closed::shared(&fleet, iterations, rate, max_duration_ns)),
                    fleet,
                )
            }
            Executor::PerVuIterations {
                vus, iterations, ..
            } => {
                let fleet = Fleet::complete(Deal::new(segment, vus));
                (Load::Closed(Closed::each(&fleet, iterations)), fleet)
            }
            Executor::ConstantArrivalRate {
                rate,
                duration_ns,
                pre_allocated_vus,
                max_vus,
            } => {
                let fleet = Fleet::growing(Deal::new(segment, max_vus), pre_allocated_vus);
                (Load::Open(Open::new(&fleet, rate, duration_ns)), fleet)
            }
        };
        Scheduler {
            phase: Phase::Idle,
            now_ns: 0,
            end_ns: executor.duration_ns(),
            graceful_stop_ns,
            armed_ns: None,
            load,
            fleet,
            counts: IterationCounts::default(),
        }
    }

    /// Run-wide ids, from 1, of the virtual users that the worker makes before the start.
    pub fn initial_vus(&self) -> Vec<u32> {
        self.fleet.made_ids().collect()
    }

    /// Takes what happened at `now_ns` nanoseconds from the run's start, and appends what is to be done to `actions`.
    ///
    /// Does nothing before [`Event::Begin`] but note lost virtual users and stops, and nothing at all after [`Action::Finish`].
    pub fn step(&mut self, now_ns: u64, event: Event, actions: &mut Vec<Action>) {
        self.now_ns = self.now_ns.max(now_ns);
        if self.phase == Phase::Finished {
            return;
        }
        self.take_in(event);
        self.move_on(actions);
        self.wake_when_needed(actions);
    }

    /// Where this worker's iterations got to.
    pub fn counts(&self) -> IterationCounts {
        self.counts
    }

    /// Iterations that the plan promises by number and that have not started: what is left of `iterations` when the time is over.
    /// 0 where a plan promises a time or a rate instead.
    pub fn unstarted(&self) -> u64 {
        match &self.load {
            Load::Closed(closed) => closed.unstarted(),
            Load::Open(_) => 0,
        }
    }

    /// Notes what happened; what follows from it is decided by [`move_on`](Self::move_on).
    fn take_in(&mut self, event: Event) {
        match event {
            Event::Begin if self.phase == Phase::Idle => self.phase = Phase::Running,
            Event::Begin => {}
            Event::Timer => self.armed_ns = None,
            Event::VuReady { vu } => self.fleet.ready(vu, self.now_ns),
            Event::IterationEnded { vu, outcome } => {
                if self.fleet.ended(vu, self.now_ns) {
                    self.count_end(outcome);
                }
            }
            Event::VuRetired { vu } => self.fleet.retire(vu),
            Event::Stop => self.close(),
            Event::Kill => {
                self.graceful_stop_ns = 0;
                self.close();
                if let Phase::Draining { until_ns, .. } = &mut self.phase {
                    *until_ns = (*until_ns).min(self.now_ns);
                }
            }
        }
    }

    fn count_end(&mut self, outcome: IterationOutcome) {
        match outcome {
            IterationOutcome::Completed => self.counts.completed += 1,
            IterationOutcome::Failed => self.counts.failed += 1,
            IterationOutcome::Interrupted => self.counts.interrupted += 1,
        }
    }

    /// Lets nothing more come due.
    fn close(&mut self) {
        match self.phase {
            Phase::Idle => self.phase = Phase::Closing(Closing::NeverBegun),
            // The time may be over and arrivals left that were missed meanwhile: a stop starts none of them.
            Phase::Running | Phase::Closing(Closing::TimeOver) => {
                self.phase = Phase::Closing(Closing::Stopped { at_ns: self.now_ns });
            }
            Phase::Closing(_) | Phase::Draining { .. } | Phase::Finished => {}
        }
    }

    /// Takes the phases one after another as far as they go at this time.
    fn move_on(&mut self, actions: &mut Vec<Action>) {
        if self.phase == Phase::Running {
            if self.now_ns >= self.end_ns {
                self.phase = Phase::Closing(Closing::TimeOver);
            } else if self.run(actions) {
                return self.finish(actions);
            }
        }
        if let Phase::Closing(closing) = self.phase
            && self.settle(closing, actions)
        {
            let until_ns = self.now_ns.saturating_add(self.graceful_stop_ns);
            actions.push(Action::Drain { until_ns });
            self.phase = Phase::Draining {
                until_ns,
                cancelled: false,
            };
        }
        if let Phase::Draining {
            until_ns,
            cancelled,
        } = &mut self.phase
        {
            if !*cancelled && self.now_ns >= *until_ns {
                *cancelled = true;
                actions.extend(self.fleet.running_ids().map(|vu| Action::Cancel { vu }));
            }
            if self.fleet.running() == 0 {
                self.finish(actions);
            }
        }
    }

    /// Starts what is due. Answers whether all work is done before its time.
    fn run(&mut self, actions: &mut Vec<Action>) -> bool {
        let mut output = Output {
            now_ns: self.now_ns,
            counts: &mut self.counts,
            actions,
        };
        match &mut self.load {
            Load::Closed(closed) => {
                closed.start_due(&mut self.fleet, &mut output);
                closed.is_done(&self.fleet)
            }
            Load::Open(open) => {
                open.offer(&mut self.fleet, &mut output);
                self.fleet.size() == 0
            }
        }
    }

    /// Settles what came due before the end. Answers whether that is complete.
    fn settle(&mut self, closing: Closing, actions: &mut Vec<Action>) -> bool {
        let mut output = Output {
            now_ns: self.now_ns,
            counts: &mut self.counts,
            actions,
        };
        match (&mut self.load, closing) {
            (Load::Closed(_), _) | (_, Closing::NeverBegun) => true,
            (Load::Open(open), Closing::TimeOver) => open.end(&mut self.fleet, &mut output),
            (Load::Open(open), Closing::Stopped { at_ns }) => {
                open.stop(at_ns, &self.fleet, &mut output)
            }
        }
    }

    fn finish(&mut self, actions: &mut Vec<Action>) {
        self.phase = Phase::Finished;
        actions.push(Action::Finish);
    }

    /// Asks for the next wake-up, unless the shell holds that one already.
    fn wake_when_needed(&mut self, actions: &mut Vec<Action>) {
        let next_ns = match self.phase {
            Phase::Running => Some(
                self.next_due_ns()
                    .map_or(self.end_ns, |due_ns| due_ns.min(self.end_ns)),
            ),
            Phase::Closing(_) => Some(self.now_ns),
            Phase::Draining {
                until_ns,
                cancelled: false,
            } => Some(until_ns),
            Phase::Idle | Phase::Draining { .. } | Phase::Finished => None,
        };
        // A run without an end of its own wants no wake-up at the end of time.
        if let Some(at_ns) = next_ns.filter(|at_ns| *at_ns != u64::MAX)
            && self.armed_ns != next_ns
        {
            self.armed_ns = next_ns;
            actions.push(Action::WakeAt { at_ns });
        }
    }

    fn next_due_ns(&self) -> Option<u64> {
        match &self.load {
            Load::Closed(closed) => closed
                .next_due_ns(&self.fleet)
                .filter(|_| self.fleet.has_free()),
            Load::Open(open) => open.next_due_ns(),
        }
    }
}
