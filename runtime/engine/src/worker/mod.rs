//! A worker: an I/O thread with everything that virtual users share, and nothing that other workers do.
//!
//! The I/O thread runs the scheduler, the sockets, the timers and the recorder; a guest thread beside it polls guests. What
//! happens to a virtual user is told to the scheduler at once, by a plain call, and what the scheduler decides is done at once:
//! between the end of an iteration and the start of the next there is no queue and no other task.
//!
//! ```text
//!  coordinator ── Order ──> worker ── Started ──> Port ──> native task, or mailbox ──> guest
//!              <── News ──         <── ended ────      <──────────────────────────
//! ```

pub(crate) mod guest;
pub(crate) mod native;
pub(crate) mod port;
mod service;
mod thread;
mod timer;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;
use std::sync::{Arc, mpsc};

use nettare_core::health::LATE_NS;
use nettare_core::plan::GuestThread;
use nettare_core::sample::{Failure, Funnel, IterationOutcome};
use nettare_core::sched::{Action, Event, IterationCounts, Scheduler};
use nettare_core::stats::{ShardDelta, Symbol};
use nettare_net::{Client, Target};
use nettare_vm::{HttpRequest, LogLevel};
use tokio::sync::Notify;

use crate::clock::{self, RunClock};
use crate::health::{LOOK_EVERY_NS, LoopLag, WorkerLoops};
use crate::mailbox::{Ended, Mailbox, Outbox, Parcel};
use crate::placement::Placement;
use crate::recorder::{CallLabels, IterationNotes, Recorder, ScenarioCost};
use crate::turn::GuestThreadSender;
use guest::{GuestWork, Life};
use native::NativeWork;
use port::{GuestFuture, Port, Started};
use service::VuTask;
use timer::Timer;

pub(crate) use thread::{Seed, WorkSeed, WorkerThread};

/// What the coordinator tells a worker.
pub(crate) enum Order {
    /// Call a hook of the guest, outside the measured time.
    Hook(Hook),
    /// Make the initial virtual users; `data` is what `setup` returned.
    Prepare {
        /// What `setup` returned.
        data: Arc<[u8]>,
    },
    /// The run's time has begun.
    Begin,
    /// Hand over what was measured since the last time.
    Collect,
    /// Start nothing any more; let what is under way end.
    Stop,
    /// Cut short what is under way.
    Kill,
    /// Close everything and end.
    End,
}

/// A hook of the guest that is called once a run.
pub(crate) enum Hook {
    /// Before the first virtual user is made.
    Setup,
    /// After the last iteration; with what `setup` returned.
    Teardown(Arc<[u8]>),
}

/// What the coordinator is told.
pub(crate) enum News {
    /// All initial virtual users are ready.
    Ready,
    /// A virtual user could not be made or initialised before its first iteration.
    FailedToStart(String),
    /// A hook is over.
    HookDone {
        /// What it returned.
        result: Result<Vec<u8>, String>,
        /// What was measured in it.
        collected: Box<Collected>,
    },
    /// The answer to [`Order::Collect`].
    Collected(Box<Collected>),
    /// Nothing starts any more on this worker.
    Draining,
    /// The scheduler is done; the last of what was measured.
    Finished(Box<Collected>),
    /// A guest asks for the end of the run.
    Abort(String),
    /// A line of a guest's log.
    Log(u32, LogLevel, String),
    /// An iteration failed, and why.
    IterationFailed(String),
    /// A judge has ended.
    JudgeEnded,
    /// Something the user should know.
    Warning(String),
    /// The worker cannot go on.
    Broken(String),
    /// Not from a worker: somebody wants the run to stop.
    StopRequested,
}

/// What a worker measured since the last time, and its counts since the run's start.
pub(crate) struct Collected {
    pub(crate) delta: ShardDelta,
    pub(crate) counts: IterationCounts,
    pub(crate) funnel: Funnel,
    /// Iterations with a call that reaches beyond them.
    pub(crate) stray_iterations: u64,
    /// Virtual users that exist.
    pub(crate) vus: u32,
    /// How late the worker's loops were.
    pub(crate) loops: WorkerLoops,
}

/// A message of worker `.0`.
pub(crate) type NewsSender = mpsc::Sender<(usize, News)>;

/// What the virtual users of a worker do.
#[derive(Clone)]
pub(crate) enum VuWork {
    /// Send one request, natively.
    Native(Rc<NativeWork>),
    /// Call a guest.
    Guest {
        /// What all guests have in common.
        work: Arc<GuestWork>,
        /// Where they are polled.
        policy: GuestThread,
        /// The worker's guest thread.
        thread: GuestThreadSender,
    },
}

/// The time a cancelled guest has to notice that its host calls answer `cancelled`; then as much again to reach an epoch.
const UNWIND_NS: u64 = 1_000_000_000;

/// Routes kept: enough for every one of a test, few enough not to matter.
const MAX_ROUTES: usize = 10_000;

/// What a guest's requests of one kind have in common.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) target: Arc<Target>,
    pub(crate) labels: CallLabels,
}

/// By [`HttpRequest::id`], which is a hash already.
pub(crate) type Routes = HashMap<u64, Route, BuildHasherDefault<AsItIs>>;

/// Hashes a hash to itself.
#[derive(Default)]
pub(crate) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// One worker, on its I/O thread.
pub(crate) struct Worker {
    index: usize,
    pub(crate) clock: RunClock,
    pub(crate) timer: Rc<Timer>,
    pub(crate) client: Rc<Client>,
    pub(crate) recorder: Recorder,
    pub(crate) outbox: Arc<Outbox>,
    news: NewsSender,
    work: VuWork,
    scheduler: RefCell<Scheduler>,
    /// Memory for the scheduler's answers.
    actions: Cell<Vec<Action>>,
    /// Virtual users by their ids.
    ports: RefCell<HashMap<u32, Rc<Port>>>,
    /// What `setup` returned.
    data: RefCell<Arc<[u8]>>,
    /// Initial virtual users that are not ready yet.
    preparing: Cell<usize>,
    begun: Cell<bool>,
    finished: Cell<bool>,
    /// When the scheduler wants to be woken, in the run's time; `u64::MAX` when it does not.
    wake_at_ns: Cell<u64>,
    wake_changed: Notify,
    routes: RefCell<Routes>,
    /// Iterations with a call that reaches beyond them.
    stray_iterations: Cell<u64>,
    lag: RefCell<LoopLag>,
    /// For how long guests held this thread in long stretches, since the last collection.
    held_ns: Cell<u64>,
}

impl Worker {
    // --- what virtual users report ---

    /// A virtual user can be started from now on.
    pub(crate) fn vu_is_ready(self: &Rc<Self>, port: &Port) {
        if self.begun.get() {
            self.event(Event::VuReady { vu: port.vu });
            return;
        }
        self.preparing.set(self.preparing.get() - 1);
        if self.preparing.get() == 0 {
            self.tell(News::Ready);
        }
    }

    /// A virtual user could not be made, or its `init` failed.
    pub(crate) fn vu_failed_to_start(self: &Rc<Self>, port: &Port, why: &str) {
        self.ports.borrow_mut().remove(&port.vu);
        if self.begun.get() {
            self.tell(News::Warning(format!(
                "virtual user {} could not be started: {why}",
                port.vu
            )));
            self.event(Event::VuRetired { vu: port.vu });
        } else {
            self.tell(News::FailedToStart(why.to_owned()));
        }
    }

    /// A virtual user got no new instance after a trap.
    pub(crate) fn vu_retired(self: &Rc<Self>, port: &Port, why: &str) {
        self.ports.borrow_mut().remove(&port.vu);
        // One that the run cut short while its instance was being made was not given up for want of one.
        if !port.is_cancelled() {
            self.recorder.limit_hit("retired-vus");
            self.tell(News::Warning(format!(
                "virtual user {} was given up after a trap: {why}",
                port.vu
            )));
        }
        self.event(Event::VuRetired { vu: port.vu });
    }

    /// An iteration is over. One that was cut short is `Interrupted`, whatever its guest made of that.
    pub(crate) fn iteration_ended(
        self: &Rc<Self>,
        port: &Port,
        outcome: IterationOutcome,
        began_ns: u64,
        ended_ns: u64,
        cost: ScenarioCost,
    ) {
        let Some(started) = port.end() else { return };
        let outcome = if port.is_cancelled() {
            IterationOutcome::Interrupted
        } else {
            outcome
        };
        self.recorder
            .iteration(&started, outcome, began_ns, ended_ns, cost);
        self.event(Event::IterationEnded {
            vu: port.vu,
            outcome,
        });
    }

    /// A guest's iteration is over.
    pub(crate) fn guest_ended(self: &Rc<Self>, port: &Port, ended: &Ended) {
        if let (IterationOutcome::Failed, Some(why), false) =
            (ended.end.outcome, &ended.end.why, port.is_cancelled())
        {
            self.tell(News::IterationFailed(why.to_string()));
        }
        let end = &ended.end;
        self.iteration_ended(
            port,
            end.outcome,
            ended.started_ns,
            ended.ended_ns,
            ScenarioCost {
                cpu_ns: end.scenario_cpu_ns,
                instructions: end.scenario_instructions,
            },
        );
    }

    /// Counts an iteration that does not contain the calls made in it: one of our clocks or lists would be wrong.
    pub(crate) fn note_calls(&self, notes: &IterationNotes, ended: &Ended) {
        let start_ns = self.clock.started_at_ns();
        if !notes.are_within(start_ns + ended.started_ns, start_ns + ended.ended_ns) {
            self.stray_iterations.set(self.stray_iterations.get() + 1);
        }
    }

    /// Counts a stretch for which a guest held this thread, if it was long enough to keep sockets from being drained. Of each
    /// iteration the longest is known, so what is counted is the least that it can have been.
    pub(crate) fn note_held(&self, stretch_ns: u64) {
        if stretch_ns > LATE_NS {
            self.held_ns
                .set(self.held_ns.get().saturating_add(stretch_ns));
        }
    }

    /// `setup` or `teardown` is over.
    pub(crate) fn hook_done(&self, result: Result<Vec<u8>, String>) {
        let collected = Box::new(self.collect());
        self.tell(News::HookDone { result, collected });
    }

    /// A guest asks for the end of the run.
    pub(crate) fn abort(&self, why: String) {
        self.tell(News::Abort(why));
    }

    /// A line of a guest's log.
    pub(crate) fn log(&self, vu: u32, level: LogLevel, text: String) {
        self.tell(News::Log(vu, level, text));
    }

    /// Where a guest's request goes and what it is called by; worked out once for all that agree in these.
    ///
    /// # Errors
    ///
    /// When its URL cannot be requested.
    pub(crate) fn route(&self, request: &HttpRequest) -> Result<Route, Failure> {
        let mut routes = self.routes.borrow_mut();
        if let Some(route) = routes.get(&request.id) {
            return Ok(route.clone());
        }
        let route = Route {
            target: Arc::new(Target::parse(&request.url)?),
            labels: self.recorder.labels(request),
        };
        // URLs with ids in them are endless; the whole table goes rather than one entry, since none is worth a list of uses.
        if routes.len() >= MAX_ROUTES {
            routes.clear();
        }
        routes.insert(request.id, route.clone());
        Ok(route)
    }

    /// Has the guest thread poll a guest that was inline.
    pub(crate) fn ship(&self, mailbox: &Arc<Mailbox>, future: GuestFuture) {
        if let VuWork::Guest { thread, .. } = &self.work {
            thread.ship(Parcel {
                mailbox: mailbox.clone(),
                future,
            });
        }
    }

    // --- the scheduler ---

    /// Tells the scheduler what happened, and does what it says.
    fn event(self: &Rc<Self>, event: Event) {
        let mut actions = self.actions.take();
        self.scheduler
            .borrow_mut()
            .step(self.clock.now_ns(), event, &mut actions);
        for action in actions.drain(..) {
            self.act(action);
        }
        self.actions.set(actions);
    }

    fn act(self: &Rc<Self>, action: Action) {
        match action {
            Action::Start {
                vu,
                arrival,
                waited_for_vu_ns,
            } => {
                self.recorder.iteration_started();
                if let Some(port) = self.port(vu) {
                    port.start(Started {
                        arrival,
                        waited_for_vu_ns,
                    });
                }
            }
            Action::Spawn { vu } => self.make(vu),
            Action::Drop { reason, .. } => self.recorder.dropped(reason),
            Action::WakeAt { at_ns } => {
                self.wake_at_ns.set(at_ns);
                self.wake_changed.notify_one();
            }
            Action::Drain { .. } => self.tell(News::Draining),
            Action::Cancel { vu } => self.cancel(vu),
            Action::Finish => {
                self.finished.set(true);
                self.tell(News::Finished(Box::new(self.collect())));
            }
        }
    }

    fn port(&self, vu: u32) -> Option<Rc<Port>> {
        self.ports.borrow().get(&vu).cloned()
    }

    /// Makes a virtual user; it reports when it is ready.
    fn make(self: &Rc<Self>, vu: u32) {
        let port = match self.work.clone() {
            VuWork::Native(work) => {
                let port = Rc::new(Port::new(vu, None));
                tokio::task::spawn_local(native::live(self.clone(), port.clone(), work));
                port
            }
            VuWork::Guest { .. } => self.make_guest(
                vu,
                Life::Iterate {
                    data: self.data.borrow().clone(),
                },
            ),
        };
        self.ports.borrow_mut().insert(vu, port);
    }

    /// Makes a guest's two halves.
    fn make_guest(self: &Rc<Self>, vu: u32, life: Life) -> Rc<Port> {
        let mailbox = Mailbox::new(vu, self.outbox.clone());
        let port = Rc::new(Port::new(vu, Some(mailbox.clone())));
        if let VuWork::Guest {
            work,
            policy,
            thread,
        } = &self.work
        {
            tokio::task::spawn_local(VuTask::new(self, &port, &mailbox, Placement::new(*policy)));
            let future = Box::pin(guest::live(
                work.clone(),
                mailbox.clone(),
                self.clock.clone(),
                life,
            ));
            thread.ship(Parcel { mailbox, future });
        }
        port
    }

    /// Cuts an iteration short, in three steps: host calls answer `cancelled`; the guest is interrupted; it is given up.
    fn cancel(self: &Rc<Self>, vu: u32) {
        let Some(port) = self.port(vu) else { return };
        port.cancel();
        // Virtual users are cut short at the run's end alone: from now on nobody waits for the judges.
        if let VuWork::Guest { work, .. } = &self.work
            && let Some(queue) = &work.judges
        {
            queue.hurry();
        }
        let worker = self.clone();
        tokio::task::spawn_local(async move {
            let now_ns = clock::monotonic_ns();
            worker.timer.until(now_ns + UNWIND_NS).await;
            if let (true, Some(mailbox)) = (port.is_busy(), &port.mailbox) {
                mailbox.interrupt();
            }
            worker.timer.until(now_ns + 2 * UNWIND_NS).await;
            if port.is_busy() {
                worker.tell(News::Warning(format!(
                    "virtual user {vu} did not end when it was interrupted"
                )));
                let now_ns = worker.clock.now_ns();
                let (outcome, cost) = (IterationOutcome::Interrupted, ScenarioCost::default());
                worker.iteration_ended(&port, outcome, now_ns, now_ns, cost);
            }
        });
    }

    /// Wakes the scheduler when it wants to be.
    async fn pace(self: Rc<Self>) {
        loop {
            let at_ns = self.wake_at_ns.get();
            if at_ns == u64::MAX {
                self.wake_changed.notified().await;
                continue;
            }
            tokio::select! {
                biased;
                () = self.timer.until(self.clock.started_at_ns().saturating_add(at_ns)) => {
                    self.wake_at_ns.set(u64::MAX);
                    self.event(Event::Timer);
                }
                () = self.wake_changed.notified() => {}
            }
        }
    }

    /// Looks again and again how late this thread comes to its timer, while load runs.
    async fn watch_lag(self: Rc<Self>) {
        let mut due_ns = clock::monotonic_ns() + LOOK_EVERY_NS;
        while !self.finished.get() {
            self.timer.until(due_ns).await;
            let now_ns = clock::monotonic_ns();
            self.lag.borrow_mut().note(now_ns.saturating_sub(due_ns));
            due_ns = now_ns + LOOK_EVERY_NS;
        }
    }

    // --- orders ---

    fn obey(self: &Rc<Self>, order: Order) {
        match order {
            Order::Hook(hook) => self.call_hook(hook),
            Order::Prepare { data } => {
                *self.data.borrow_mut() = data;
                self.prepare();
            }
            Order::Begin => {
                self.begun.set(true);
                tokio::task::spawn_local(self.clone().watch_lag());
                self.event(Event::Begin);
            }
            Order::Collect if !self.finished.get() => {
                self.tell(News::Collected(Box::new(self.collect())))
            }
            Order::Stop if self.begun.get() => self.event(Event::Stop),
            Order::Kill if self.begun.get() => self.event(Event::Kill),
            Order::Collect | Order::Stop | Order::Kill | Order::End => {}
        }
    }

    fn prepare(self: &Rc<Self>) {
        let vus = self.scheduler.borrow().initial_vus();
        self.preparing.set(vus.len());
        if vus.is_empty() {
            self.tell(News::Ready);
        }
        for vu in vus {
            self.make(vu);
        }
    }

    fn call_hook(self: &Rc<Self>, hook: Hook) {
        let (group, life) = match hook {
            Hook::Setup => (Symbol::SETUP, Life::Setup),
            Hook::Teardown(data) => (Symbol::TEARDOWN, Life::Teardown { data }),
        };
        self.recorder.set_aside(group);
        // Labels have the group in them.
        self.routes.borrow_mut().clear();
        let port = self.make_guest(0, life);
        self.ports.borrow_mut().insert(0, port);
    }

    fn collect(&self) -> Collected {
        Collected {
            delta: self.recorder.take(),
            counts: self.scheduler.borrow().counts(),
            funnel: self.client.funnel(),
            stray_iterations: self.stray_iterations.get(),
            vus: u32::try_from(self.ports.borrow().len()).unwrap_or(u32::MAX),
            loops: self.take_loops(),
        }
    }

    fn take_loops(&self) -> WorkerLoops {
        let guests = match &self.work {
            VuWork::Guest { thread, .. } => Some(thread.take_waits()),
            VuWork::Native(_) => None,
        };
        WorkerLoops {
            io: self.lag.borrow_mut().take(),
            guests,
            held_ns: self.held_ns.take(),
            clock_steps: self.client.clock_steps(),
        }
    }

    fn close(&self) {
        for port in self.ports.borrow().values() {
            port.close();
        }
    }

    /// The coordinator outlives its workers; when it is gone nobody is left to be told.
    fn tell(&self, news: News) {
        let _ = self.news.send((self.index, news));
    }
}
