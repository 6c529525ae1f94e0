//! What the engine is in a real run: carries out actions, reports events, keeps time. Here time is a number.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{MS, Random, SECOND};
use crate::plan::Executor;
use crate::sample::{Arrival, IterationOutcome};
use crate::sched::{Action, DropReason, Event, IterationCounts, Scheduler};
use crate::segment::Segment;

/// A run to be simulated.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) executor: Executor,
    pub(super) workers: u32,
    pub(super) graceful_stop_ns: u64,
    /// How long an iteration takes; with faults, between nothing and twice this.
    pub(super) service_ns: u64,
    pub(super) stops_at_ns: Option<u64>,
    pub(super) kills_at_ns: Option<u64>,
    pub(super) faults: Faults,
    pub(super) seed: u64,
}

/// What goes wrong.
#[derive(Debug)]
pub(super) struct Faults {
    /// Timers are late by up to this.
    pub(super) timer_lag_ns: u64,
    /// Making a virtual user takes up to this.
    pub(super) spawn_ns: u64,
    /// Of the virtual users spawned, so many never come about.
    pub(super) init_fails_percent: u64,
    /// Of the iterations, so many are the last of their virtual user.
    pub(super) retires_percent: u64,
    /// Timers that nobody asked for, after so many events.
    pub(super) spurious_timers_percent: u64,
    /// Iterations vary in length, and some fail.
    pub(super) uneven: bool,
    /// From here to there the worker does not run at all.
    pub(super) stall: Option<(u64, u64)>,
}

impl Faults {
    pub(super) fn none() -> Faults {
        Faults {
            timer_lag_ns: 0,
            spawn_ns: 0,
            init_fails_percent: 0,
            retires_percent: 0,
            spurious_timers_percent: 0,
            uneven: false,
            stall: None,
        }
    }

    pub(super) fn random(random: &mut Random) -> Faults {
        let stall_from_ns = random.between(0, 3 * SECOND);
        Faults {
            timer_lag_ns: random.between(0, 20 * MS),
            spawn_ns: random.between(0, 100 * MS),
            init_fails_percent: random.between(0, 40),
            retires_percent: random.between(0, 5),
            spurious_timers_percent: random.between(0, 30),
            uneven: true,
            stall: random
                .chance(40)
                .then(|| (stall_from_ns, stall_from_ns + random.between(1, 3 * SECOND))),
        }
    }
}

/// What one worker did, as seen from outside the scheduler.
#[derive(Debug, Default)]
pub(super) struct WorkerLog {
    pub(super) starts: Vec<(u32, Arrival, u64)>,
    pub(super) drops: Vec<(u64, u64, DropReason)>,
    pub(super) ends: Vec<(u32, IterationOutcome)>,
    pub(super) most_running: usize,
    /// When `Drain` was said and what it said.
    pub(super) drained: Option<(u64, u64)>,
    /// When each `Cancel` was said.
    pub(super) cancels: Vec<u64>,
    pub(super) finished_ns: Option<u64>,
    pub(super) counts: IterationCounts,
    pub(super) unstarted: u64,
    /// Whether `Begin` was said, and the time of the last step at which arrivals could come due.
    pub(super) offered_until_ns: Option<u64>,
    /// Virtual users that never came about, or retired.
    pub(super) lost: u32,
}

/// Runs every worker of the run to its end.
pub(super) fn simulate(run: &Run) -> Vec<WorkerLog> {
    let segments = Segment::whole().split(run.workers);
    let seed = |index: u64| run.seed.wrapping_add(index);
    (0..)
        .zip(segments)
        .map(|(index, segment)| Shell::new(run, segment, seed(index)).play())
        .collect()
}

struct Shell<'a> {
    run: &'a Run,
    scheduler: Scheduler,
    random: Random,
    now_ns: u64,
    /// What will happen: time, tie-breaker, event. Timers are kept apart because a new one replaces the old.
    agenda: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Event>,
    next_key: u64,
    timer_ns: Option<u64>,
    /// Who runs, and the key of the event that will end it.
    running: BTreeMap<u32, u64>,
    retiring: Vec<u32>,
    /// Whose retirement is being reported just before its iteration's end: cancelling it comes to nothing.
    ending: Option<u32>,
    log: WorkerLog,
}

impl<'a> Shell<'a> {
    fn new(run: &'a Run, segment: Segment, seed: u64) -> Shell<'a> {
        Shell {
            run,
            scheduler: Scheduler::new(&run.executor, segment, run.graceful_stop_ns),
            random: Random::new(seed ^ 0x5eed),
            now_ns: 0,
            agenda: BinaryHeap::new(),
            events: BTreeMap::new(),
            next_key: 0,
            timer_ns: None,
            running: BTreeMap::new(),
            retiring: Vec::new(),
            ending: None,
            log: WorkerLog::default(),
        }
    }

    fn play(mut self) -> WorkerLog {
        self.plan_ahead(0, Event::Begin);
        if let Some(at_ns) = self.run.stops_at_ns {
            self.plan_ahead(at_ns, Event::Stop);
        }
        if let Some(at_ns) = self.run.kills_at_ns {
            self.plan_ahead(at_ns, Event::Kill);
        }
        let mut steps = 0;
        while self.log.finished_ns.is_none() {
            let event = self.next_event();
            self.step(event);
            if self.random.chance(self.run.faults.spurious_timers_percent) {
                self.step(Event::Timer);
            }
            steps += 1;
            assert!(steps < 20_000_000, "the run does not come to its end");
        }
        self.check_silence_after_finish();
        self.log.counts = self.scheduler.counts();
        self.log.unstarted = self.scheduler.unstarted();
        self.log
    }

    /// The next event in time, or the timer if that comes first.
    fn next_event(&mut self) -> Event {
        let planned_ns = self.agenda.peek().map(|Reverse((at_ns, _))| *at_ns);
        let timer_is_next = match (self.timer_ns, planned_ns) {
            (Some(timer_ns), Some(planned_ns)) => timer_ns < planned_ns,
            (timer, planned) => {
                assert!(
                    timer.is_some() || planned.is_some(),
                    "the scheduler waits for nothing, and has not finished"
                );
                timer.is_some()
            }
        };
        if timer_is_next {
            let lag_ns = self.random.between(0, self.run.faults.timer_lag_ns + 1);
            let at_ns = self
                .timer_ns
                .take()
                .unwrap_or_default()
                .saturating_add(lag_ns);
            // What was planned for the meantime happens late too: one thread does both.
            self.advance(at_ns);
            return Event::Timer;
        }
        let Some(Reverse((at_ns, key))) = self.agenda.pop() else {
            return Event::Timer;
        };
        self.advance(at_ns);
        match self.events.remove(&key) {
            Some(event) => event,
            None => self.next_event(),
        }
    }

    fn advance(&mut self, at_ns: u64) {
        self.now_ns = self.now_ns.max(at_ns);
        if let Some((from_ns, to_ns)) = self.run.faults.stall
            && (from_ns..to_ns).contains(&self.now_ns)
        {
            self.now_ns = to_ns;
        }
    }

    fn step(&mut self, event: Event) {
        if let Event::IterationEnded { vu, outcome } = event {
            self.running.remove(&vu);
            self.log.ends.push((vu, outcome));
            if self.retiring.contains(&vu) {
                self.ending = Some(vu);
                self.step(Event::VuRetired { vu });
                self.ending = None;
            }
        }
        if self.log.finished_ns.is_some() {
            return;
        }
        let stops = matches!(event, Event::Stop | Event::Kill);
        if self.log.drained.is_none() && self.log.finished_ns.is_none() {
            self.log.offered_until_ns = Some(self.now_ns);
        }
        let mut actions = Vec::new();
        self.scheduler.step(self.now_ns, event, &mut actions);
        for action in actions {
            assert!(
                !(stops && matches!(action, Action::Start { .. })),
                "a stop starts nothing"
            );
            self.carry_out(action);
        }
    }

    fn carry_out(&mut self, action: Action) {
        assert!(
            self.log.finished_ns.is_none(),
            "nothing comes after Finish, but {action:?} did"
        );
        match action {
            Action::Spawn { vu } => self.spawn(vu),
            Action::Start {
                vu,
                arrival,
                waited_for_vu_ns,
            } => self.start(vu, arrival, waited_for_vu_ns),
            Action::Drop {
                sequence,
                due_ns,
                reason,
            } => {
                assert!(self.log.drained.is_none(), "nothing is dropped after Drain");
                self.log.drops.push((sequence, due_ns, reason));
            }
            Action::WakeAt { at_ns } => self.timer_ns = Some(at_ns.max(self.now_ns)),
            Action::Drain { until_ns } => {
                assert!(self.log.drained.is_none(), "Drain comes once");
                self.log.drained = Some((self.now_ns, until_ns));
            }
            Action::Cancel { vu } => self.cancel(vu),
            Action::Finish => {
                assert!(
                    self.running.is_empty(),
                    "Finish came while {:?} ran",
                    self.running
                );
                self.log.finished_ns = Some(self.now_ns);
            }
        }
    }

    fn spawn(&mut self, vu: u32) {
        let fails = self.random.chance(self.run.faults.init_fails_percent);
        self.log.lost += u32::from(fails);
        let takes_ns = self.random.between(0, self.run.faults.spawn_ns + 1);
        let event = if fails {
            Event::VuRetired { vu }
        } else {
            Event::VuReady { vu }
        };
        self.plan_ahead(self.now_ns + takes_ns, event);
    }

    fn start(&mut self, vu: u32, arrival: Arrival, waited_for_vu_ns: u64) {
        assert!(self.log.drained.is_none(), "nothing starts after Drain");
        assert_eq!(arrival.started_ns, self.now_ns);
        assert!(
            arrival.due_ns + waited_for_vu_ns <= arrival.started_ns,
            "waiting is part of lateness"
        );
        let (takes_ns, outcome) = if self.run.faults.uneven {
            let failed = self.random.chance(10);
            let outcome = if failed {
                IterationOutcome::Failed
            } else {
                IterationOutcome::Completed
            };
            (self.random.between(0, 2 * self.run.service_ns), outcome)
        } else {
            (self.run.service_ns, IterationOutcome::Completed)
        };
        if self.random.chance(self.run.faults.retires_percent) {
            self.retiring.push(vu);
            self.log.lost += 1;
        }
        let key = self.plan_ahead(
            self.now_ns + takes_ns,
            Event::IterationEnded { vu, outcome },
        );
        let before = self.running.insert(vu, key);
        assert!(before.is_none(), "VU {vu} runs one iteration at a time");
        self.log.starts.push((vu, arrival, waited_for_vu_ns));
        self.log.most_running = self.log.most_running.max(self.running.len());
    }

    fn cancel(&mut self, vu: u32) {
        let until_ns = self.log.drained.map(|(_, until_ns)| until_ns);
        assert!(until_ns.is_some(), "Cancel comes after Drain");
        self.log.cancels.push(self.now_ns);
        if self.ending == Some(vu) {
            return;
        }
        let key = self.running.get(&vu).copied();
        let planned = key.and_then(|key| self.events.remove(&key));
        assert!(planned.is_some(), "VU {vu} was cancelled and does not run");
        let takes_ns = self.random.between(0, MS);
        let event = Event::IterationEnded {
            vu,
            outcome: IterationOutcome::Interrupted,
        };
        let key = self.plan_ahead(self.now_ns + takes_ns, event);
        self.running.insert(vu, key);
    }

    fn plan_ahead(&mut self, at_ns: u64, event: Event) -> u64 {
        let key = self.next_key;
        self.next_key += 1;
        self.agenda.push(Reverse((at_ns, key)));
        self.events.insert(key, event);
        key
    }

    fn check_silence_after_finish(&mut self) {
        let counts = self.scheduler.counts();
        let mut actions = Vec::new();
        let ended = Event::IterationEnded {
            vu: 1,
            outcome: IterationOutcome::Completed,
        };
        for event in [
            Event::Timer,
            Event::Begin,
            Event::VuReady { vu: 1 },
            ended,
            Event::Stop,
            Event::Kill,
        ] {
            self.scheduler
                .step(self.now_ns + 10 * SECOND, event, &mut actions);
        }
        assert_eq!(actions, [], "nothing comes after Finish");
        assert_eq!(self.scheduler.counts(), counts);
    }
}
