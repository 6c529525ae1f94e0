//! The coordinator of a run: makes the workers, leads them through the run's stages, collects once a second, and gives back all
//! there is to report.
//!
//! ```text
//!  setup ─> prepare ─> load ─> (drain) ─> teardown
//!    │         │         └─ every second: Collect ─> absorb ─> Interval ─> observer
//!    └─────────┴─ before the first iteration: a failure here ends the run with its own cause
//! ```
//!
//! It runs on the caller's thread and does nothing but wait for news, so that observers are called from one thread, in order.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use nettare_core::event::{Interval, RunEvent};
use nettare_core::plan::{Executor, Plan};
use nettare_core::sample::Funnel;
use nettare_core::sched::IterationCounts;
use nettare_core::stats::Totals;
use nettare_vm::LogLevel;

use super::seeds::most_vus;
use super::{EndCause, Job, RunResult, Stopper};
use crate::clock::{self, RunClock};
use crate::health::{self, Loops, Sampler};
use crate::judge::Judges;
use crate::process::ProcessUse;
use crate::worker::{Collected, Hook, News, NewsSender, Order, WorkerThread};

/// How long `setup` and `teardown` may take.
const HOOK_LIMIT_NS: u64 = 60_000_000_000;

/// Between two collections.
const INTERVAL_NS: u64 = 1_000_000_000;

/// How much longer than a virtual user's own unwinding the coordinator waits for workers before it goes on without them.
const HARD_END_NS: u64 = 10_000_000_000;

/// How long an interrupted judge may take to reach an epoch.
const JUDGE_INTERRUPT_NS: u64 = 1_000_000_000;

/// Distinct reasons of failed iterations that are kept.
const MAX_FAILURE_REASONS: usize = 20;

/// What came of waiting for something.
enum Waited<T> {
    For(T),
    /// The run must not go on; the cause is noted.
    Ends,
}

/// The threads of a run, and what they say.
pub(super) struct Threads {
    pub(super) workers: Vec<WorkerThread>,
    /// None when nothing is deferred.
    pub(super) judges: Option<Judges>,
    pub(super) news: Receiver<(usize, News)>,
    /// For those who are started later.
    pub(super) sender: NewsSender,
}

pub(super) struct Coordinator<'a> {
    workers: Vec<WorkerThread>,
    judges: Option<Judges>,
    /// Judges whose threads have not ended.
    running_judges: usize,
    news: Receiver<(usize, News)>,
    sender: NewsSender,
    clock: RunClock,
    plan: &'a Plan,
    has_guest: bool,
    observe: &'a mut dyn FnMut(&RunEvent),
    stopper: &'a Stopper,
    /// Requests to stop that were passed on.
    obeyed_stops: u32,
    draining: bool,
    totals: Totals,
    intervals: Vec<Interval>,
    causes: Vec<EndCause>,
    failures: Vec<(String, u64)>,
    /// The rest has one entry a worker.
    finished: Vec<bool>,
    counts: Vec<IterationCounts>,
    funnels: Vec<Funnel>,
    stray_iterations: Vec<u64>,
    /// The exchanges of `setup` and `teardown`.
    hooks_funnel: Funnel,
    vus: Vec<u32>,
    duration_ns: u64,
    process: Option<ProcessUse>,
    /// Whether load began.
    begun: bool,
    loops: Loops,
    sampler: Sampler,
    /// When the generator's health was told last, in the run's time.
    told_at_ns: u64,
}

impl<'a> Coordinator<'a> {
    /// A coordinator of workers that have been started.
    pub(super) fn new(
        job: &'a Job,
        threads: Threads,
        clock: RunClock,
        stopper: &'a Stopper,
        observe: &'a mut dyn FnMut(&RunEvent),
    ) -> Coordinator<'a> {
        let Threads {
            workers,
            judges,
            news,
            sender,
        } = threads;
        Coordinator {
            finished: vec![false; workers.len()],
            counts: vec![IterationCounts::default(); workers.len()],
            funnels: vec![Funnel::default(); workers.len()],
            stray_iterations: vec![0; workers.len()],
            hooks_funnel: Funnel::default(),
            vus: vec![0; workers.len()],
            loops: Loops::new(workers.len()),
            sampler: Sampler::open(workers.len()),
            workers,
            judges,
            running_judges: 0,
            news,
            sender,
            clock,
            plan: &job.plan,
            has_guest: job.guest.is_some(),
            observe,
            stopper,
            obeyed_stops: 0,
            draining: false,
            totals: Totals::new(job.plan.limits.series),
            intervals: Vec::new(),
            causes: Vec::new(),
            failures: Vec::new(),
            duration_ns: 0,
            process: None,
            begun: false,
            told_at_ns: 0,
        }
    }

    /// Leads the run from its first stage to its last.
    pub(super) fn lead(mut self) -> RunResult {
        if let Waited::For(data) = self.setup() {
            if let Waited::For(()) = self.prepare(&data) {
                self.load();
            }
            self.teardown(data);
        }
        for worker in &self.workers {
            worker.order(Order::End);
        }
        (self.observe)(&RunEvent::Finished);
        self.join();
        self.result()
    }

    // --- before the load ---

    fn setup(&mut self) -> Waited<Arc<[u8]>> {
        if !self.has_guest {
            return Waited::For(Arc::from([]));
        }
        match self.hook(Hook::Setup) {
            Some(Ok(data)) => Waited::For(Arc::from(data)),
            Some(Err(why)) => {
                self.causes.push(EndCause::SetupFailed(why));
                Waited::Ends
            }
            None => Waited::Ends,
        }
    }

    /// Calls a hook on the first worker; none when the run was stopped meanwhile.
    fn hook(&mut self, hook: Hook) -> Option<Result<Vec<u8>, String>> {
        let ends_on_stop = matches!(hook, Hook::Setup);
        let stops_before = self.stopper.stops();
        self.workers[0].order(Order::Hook(hook));
        let limit_ns = clock::monotonic_ns() + HOOK_LIMIT_NS;
        loop {
            match self.next_news(limit_ns) {
                None => return Some(Err("it took longer than 60 s".to_owned())),
                Some((_, News::HookDone { result, collected })) => {
                    // The recorder of the hooks is one more, beside those of the workers.
                    self.totals.absorb(self.workers.len(), collected.delta);
                    self.hooks_funnel = collected.funnel;
                    return Some(result);
                }
                Some((_, News::StopRequested))
                    if ends_on_stop || self.stopper.stops() > stops_before + 1 =>
                {
                    self.add_cause(EndCause::Signal);
                    return None;
                }
                Some(other) => {
                    if self.take(other) {
                        return None;
                    }
                }
            }
        }
    }

    fn prepare(&mut self, data: &Arc<[u8]>) -> Waited<()> {
        (self.observe)(&RunEvent::Preparing {
            vus: initial_vus(self.plan),
        });
        for worker in &self.workers {
            worker.order(Order::Prepare { data: data.clone() });
        }
        let mut waiting = self.workers.len() + self.start_judges(data);
        while waiting > 0 {
            match self.next_news(u64::MAX) {
                Some((_, News::Ready)) => waiting -= 1,
                Some((_, News::FailedToStart(why))) => {
                    self.causes.push(EndCause::InitFailed(why));
                    return Waited::Ends;
                }
                Some((_, News::StopRequested)) => {
                    self.add_cause(EndCause::Signal);
                    return Waited::Ends;
                }
                Some(other) => {
                    if self.take(other) {
                        return Waited::Ends;
                    }
                }
                None => return Waited::Ends,
            }
        }
        Waited::For(())
    }

    /// Starts those who evaluate deferred checks, and answers how many are to become ready.
    fn start_judges(&mut self, data: &Arc<[u8]>) -> usize {
        let Some(judges) = &self.judges else { return 0 };
        match judges.start(data, &self.sender) {
            Ok(()) => self.running_judges = judges.count(),
            Err(error) => {
                let why = format!("there is no thread for deferred checks: {error}");
                self.causes.push(EndCause::Broken(why));
            }
        }
        self.running_judges
    }

    // --- the load ---

    fn load(&mut self) {
        (self.observe)(&RunEvent::Started);
        let before = ProcessUse::now();
        self.sampler.begin();
        self.begun = true;
        self.clock.start();
        for worker in &self.workers {
            worker.order(Order::Begin);
        }
        let mut tick_ns = INTERVAL_NS;
        let mut hard_end_ns = u64::MAX;
        while !self.finished.iter().all(|finished| *finished) {
            let until_ns = self.clock.started_at_ns() + tick_ns;
            match self.next_news(until_ns.min(hard_end_ns)) {
                Some((_, News::StopRequested)) => self.pass_on_stop(),
                Some(news) => {
                    if self.take(news) {
                        break;
                    }
                }
                None if clock::monotonic_ns() >= hard_end_ns => {
                    self.causes.push(EndCause::Broken(
                        "a worker did not end when it was told to".to_owned(),
                    ));
                    break;
                }
                None => {
                    self.collect();
                    tick_ns = self.clock.now_ns() / INTERVAL_NS * INTERVAL_NS + INTERVAL_NS;
                    self.give_up_when_unanswered();
                }
            }
            if self.obeyed_stops > 1 && hard_end_ns == u64::MAX {
                hard_end_ns = clock::monotonic_ns() + HARD_END_NS;
            }
        }
        self.duration_ns = self.clock.now_ns();
        self.finish_judges();
        self.process = before
            .zip(ProcessUse::now())
            .map(|(before, after)| after.since(before));
        // Ends when the run does, to the nanosecond: a rate by the totals is a rate by the run's duration.
        self.close_interval(self.duration_ns);
        self.warn_of_what_is_not_known();
    }

    /// Asks every worker for what it has measured, and waits for all of them: an interval is the same second on each.
    fn collect(&mut self) {
        let mut asked: Vec<bool> = self.finished.iter().map(|finished| !finished).collect();
        for (worker, asked) in self.workers.iter().zip(&asked) {
            if *asked {
                worker.order(Order::Collect);
            }
        }
        let patience_ns = clock::monotonic_ns() + HARD_END_NS;
        while asked.iter().any(|asked| *asked) {
            match self.next_news(patience_ns) {
                Some((worker, news @ (News::Collected(_) | News::Finished(_)))) => {
                    asked[worker] = false;
                    self.take((worker, news));
                }
                Some((_, News::StopRequested)) => self.pass_on_stop(),
                Some(other) => {
                    if self.take(other) {
                        break;
                    }
                }
                // The worker is stuck; what it has comes with the next collection.
                None => break,
            }
        }
        self.absorb_judges();
        self.close_interval(self.clock.now_ns());
    }

    /// Has the checks that still wait evaluated, within the grace time; a second stop cuts it short.
    fn finish_judges(&mut self) {
        let Some(judges) = &self.judges else { return };
        judges.close();
        let grace_ns = self.plan.scenarios[0].graceful_stop_ns;
        self.await_judges(clock::monotonic_ns().saturating_add(grace_ns));
        if self.running_judges > 0 {
            if let Some(judges) = &self.judges {
                judges.abandon();
            }
            self.await_judges(clock::monotonic_ns() + JUDGE_INTERRUPT_NS);
        }
        self.absorb_judges();
    }

    fn await_judges(&mut self, until_ns: u64) {
        while self.running_judges > 0 && self.stopper.stops() < 2 {
            match self.next_news(until_ns) {
                Some((_, News::StopRequested)) => self.add_cause(EndCause::Signal),
                Some(news) => {
                    self.take(news);
                }
                None => return,
            }
        }
    }

    fn absorb_judges(&mut self) {
        let Some(judges) = &self.judges else { return };
        // Beside those of the workers and of the hooks.
        for (recorder, delta) in (self.workers.len() + 1..).zip(judges.take()) {
            self.totals.absorb(recorder, delta);
        }
    }

    fn close_interval(&mut self, end_ns: u64) {
        self.tell_health(end_ns);
        self.totals
            .gauge("vus", f64::from(self.vus.iter().sum::<u32>()));
        self.totals.gauge(
            "vus_max",
            f64::from(most_vus(&self.plan.scenarios[0].executor)),
        );
        let interval = self.totals.close_interval(end_ns);
        let event = RunEvent::Interval(interval);
        (self.observe)(&event);
        if let RunEvent::Interval(interval) = event {
            self.intervals.push(interval);
        }
    }

    /// Sets the gauges of the generator's health; the end of a run too soon after a collection keeps those of the collection.
    fn tell_health(&mut self, end_ns: u64) {
        let totals = &mut self.totals;
        let mut set = |name: &str, value: f64| totals.gauge(name, value);
        if self.sampler.sample(self.told_at_ns == 0, &mut set) {
            self.loops
                .tell(end_ns.saturating_sub(self.told_at_ns), &mut set);
            self.told_at_ns = end_ns;
        }
    }

    fn warn_of_what_is_not_known(&mut self) {
        let missing = self.sampler.missing();
        if missing.is_empty() {
            return;
        }
        let sentence = format!(
            "the generator's health is not known in full: {} could not be read",
            missing.join(", ")
        );
        (self.observe)(&RunEvent::Warning(sentence));
    }

    fn pass_on_stop(&mut self) {
        self.add_cause(EndCause::Signal);
        while self.obeyed_stops < self.stopper.stops() {
            self.obeyed_stops += 1;
            let kill = self.obeyed_stops > 1;
            for worker in &self.workers {
                worker.order(if kill { Order::Kill } else { Order::Stop });
            }
        }
    }

    /// A server that refuses everything, or is not there, should not be asked for an hour.
    fn give_up_when_unanswered(&mut self) {
        let Some(patience_ns) = self.plan.run.abort_unanswered_ns else {
            return;
        };
        let funnel = self.funnel();
        let hopeless = funnel.answered == 0 && funnel.failed_total() > 0;
        if hopeless
            && self.clock.now_ns() >= patience_ns
            && !self.causes.contains(&EndCause::Unanswered)
        {
            self.causes.push(EndCause::Unanswered);
            self.order_all_to_stop();
        }
    }

    fn order_all_to_stop(&self) {
        for worker in &self.workers {
            worker.order(Order::Stop);
        }
    }

    // --- after the load ---

    fn teardown(&mut self, data: Arc<[u8]>) {
        let broken = self
            .causes
            .iter()
            .any(|cause| matches!(cause, EndCause::Broken(_) | EndCause::InitFailed(_)));
        if !self.has_guest || broken {
            return;
        }
        if let Some(Err(why)) = self.hook(Hook::Teardown(data)) {
            self.causes.push(EndCause::TeardownFailed(why));
        }
    }

    /// A worker that broke, or did not end, is left to the process's end: it must not keep the results.
    fn join(&mut self) {
        let workers = std::mem::take(&mut self.workers);
        if self
            .causes
            .iter()
            .any(|cause| matches!(cause, EndCause::Broken(_)))
        {
            return;
        }
        for worker in workers {
            if worker.join().is_err() {
                self.causes
                    .push(EndCause::Broken("a worker panicked".to_owned()));
            }
        }
    }

    fn result(self) -> RunResult {
        let funnel = self.funnel();
        let mut iterations = IterationCounts::default();
        for counts in &self.counts {
            iterations.add(counts);
        }
        RunResult {
            totals: self.totals,
            intervals: self.intervals,
            iterations,
            funnel,
            stray_iterations: self.stray_iterations.iter().sum(),
            duration_ns: self.duration_ns,
            causes: self.causes,
            iteration_failures: self.failures,
            workers: self.finished.len(),
            cpus: health::cpus_of(self.finished.len()),
            lost_workers: match self.begun {
                true => self.finished.iter().filter(|finished| !**finished).count(),
                false => 0,
            },
            process: self.process,
        }
    }

    // --- news ---

    /// The next news; none when there is none until `until_ns` on the monotonic clock.
    fn next_news(&self, until_ns: u64) -> Option<(usize, News)> {
        let left = Duration::from_nanos(until_ns.saturating_sub(clock::monotonic_ns()));
        self.news.recv_timeout(left).ok()
    }

    /// Takes in news that need no answer; answers whether the run cannot go on.
    fn take(&mut self, (worker, news): (usize, News)) -> bool {
        match news {
            News::Collected(collected) => self.absorb(worker, *collected),
            News::Finished(collected) => {
                self.absorb(worker, *collected);
                self.finished[worker] = true;
            }
            News::Draining => {
                // Each worker says so; the run drains once.
                if !self.draining {
                    self.draining = true;
                    (self.observe)(&RunEvent::Draining);
                }
            }
            News::Abort(why) => {
                self.add_cause(EndCause::Aborted(why));
                self.order_all_to_stop();
            }
            News::Log(vu, level, text) => {
                (self.observe)(&RunEvent::Log {
                    vu,
                    level: level_name(level),
                    text,
                });
            }
            News::IterationFailed(why) => self.count_failure(why),
            News::JudgeEnded => self.running_judges = self.running_judges.saturating_sub(1),
            News::Warning(text) => (self.observe)(&RunEvent::Warning(text)),
            News::Broken(why) => {
                self.causes.push(EndCause::Broken(why));
                return true;
            }
            // Late answers to questions that were given up.
            News::Ready | News::FailedToStart(_) | News::HookDone { .. } | News::StopRequested => {}
        }
        false
    }

    fn absorb(&mut self, worker: usize, collected: Collected) {
        self.totals.absorb(worker, collected.delta);
        self.counts[worker] = collected.counts;
        self.funnels[worker] = collected.funnel;
        self.stray_iterations[worker] = collected.stray_iterations;
        self.vus[worker] = collected.vus;
        self.loops.absorb(worker, collected.loops);
    }

    fn count_failure(&mut self, why: String) {
        if let Some((_, count)) = self.failures.iter_mut().find(|(known, _)| *known == why) {
            *count += 1;
        } else if self.failures.len() < MAX_FAILURE_REASONS {
            self.failures.push((why, 1));
        } else if let Some((last, count)) = self.failures.last_mut() {
            "other reasons".clone_into(last);
            *count += 1;
        }
    }

    fn add_cause(&mut self, cause: EndCause) {
        if !self.causes.contains(&cause) {
            self.causes.push(cause);
        }
    }

    fn funnel(&self) -> Funnel {
        let mut sum = self.hooks_funnel;
        for funnel in &self.funnels {
            sum.add(funnel);
        }
        sum
    }
}

fn initial_vus(plan: &Plan) -> u32 {
    match plan.scenarios[0].executor {
        Executor::ConstantArrivalRate {
            pre_allocated_vus, ..
        } => pre_allocated_vus,
        ref executor => most_vus(executor),
    }
}

fn level_name(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    }
}
