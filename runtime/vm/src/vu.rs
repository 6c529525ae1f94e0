//! One virtual user: the hooks of its guest, as calls.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use nettare_core::plan::Meter as MeterKind;
use nettare_core::sample::{Arrival, CheckMode, IterationOutcome, SkipReason};
use wasmtime::component::TypedFunc;

use crate::doors::{DeferredCheck, Host};
use crate::error::GuestFailure;
use crate::guest::Guest;
use crate::host::WitArrival;
use crate::limits::Limiter;
use crate::live::Live;
use crate::meter::{self, Meter};
use crate::profile::Profiler;
use crate::random::Random;
use crate::record::Record;
use crate::registry::{NO_NUMBER, Registry};
use crate::state::{Judging, Phase, Run, State};

/// What a virtual user is made of.
#[derive(Debug)]
pub struct VuSetup<H> {
    /// Its number, from 1, unique in the run; 0 for `setup` and `teardown`.
    pub id: u32,
    /// Which scenario it runs, as an index into the guest's description.
    pub scenario: u32,
    /// Its doors out of the sandbox.
    pub host: H,
    /// The run's names.
    pub registry: Arc<Registry>,
    /// What it sees as its environment.
    pub env: Arc<BTreeMap<String, String>>,
    /// The run's seed.
    pub seed: u64,
    /// When the run started.
    pub run_start: RunStart,
    /// Its limits.
    pub limits: VuLimits,
    /// The checks it may defer.
    pub deferred: Deferred,
}

/// The checks that a guest may defer, and how many of them are taken.
#[derive(Clone, Debug)]
pub struct Deferred {
    /// The registry's numbers, in the order in which the guest describes them; none when it has no `judge`.
    pub checks: Arc<[u32]>,
    /// The share that is evaluated, from 0 to 1; which they are follows from the seed.
    pub sample: f64,
}

impl Deferred {
    /// Registers the deferred checks of a guest.
    pub fn of(guest: &Guest, registry: &Registry, sample: f64) -> Deferred {
        let names = match guest.loaded().hooks.judge {
            Some(_) => guest.describe().deferred_checks.as_slice(),
            None => &[],
        };
        let number = |name: &String| registry.check(name).unwrap_or(NO_NUMBER);
        Deferred {
            checks: names.iter().map(number).collect(),
            sample,
        }
    }
}

impl Default for Deferred {
    fn default() -> Self {
        Deferred {
            checks: Arc::from([]),
            sample: 1.0,
        }
    }
}

/// Limits of one virtual user, besides those the guest was loaded with. Each has the name of its field, with a hyphen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VuLimits {
    /// Requests, responses and pending calls that exist at one time.
    pub handles: u32,
    /// Tags of one request, of one series, and of the virtual user itself.
    pub tags: u32,
    /// Bytes of one name, tag key, tag value or reason.
    pub name_bytes: u32,
    /// Bytes of one log line; the rest is cut off.
    pub log_line_bytes: u32,
    /// Log lines of one iteration.
    pub log_lines: u32,
    /// Groups, and checks, that may be open within each other.
    pub depth: u32,
}

impl Default for VuLimits {
    fn default() -> Self {
        VuLimits {
            handles: 10_000,
            tags: 32,
            name_bytes: 1024,
            log_line_bytes: 4096,
            log_lines: 100,
            depth: 64,
        }
    }
}

/// When the run started: the zero of `time.now`. Virtual users are made before, so it is set once all of them are ready.
#[derive(Clone, Debug, Default)]
pub struct RunStart(Arc<AtomicU64>);

impl RunStart {
    /// The run starts at `monotonic_ns`, which is not 0.
    pub fn set(&self, monotonic_ns: u64) {
        self.0.store(monotonic_ns, Ordering::Release);
    }

    /// When it started, on the monotonic clock; none before.
    pub fn get(&self) -> Option<u64> {
        match self.0.load(Ordering::Acquire) {
            0 => None,
            started_ns => Some(started_ns),
        }
    }

    /// The run's time at a point of the monotonic clock; 0 before the run's start.
    pub fn elapsed_ns(&self, monotonic_ns: u64) -> u64 {
        self.get()
            .map_or(0, |started_ns| monotonic_ns.saturating_sub(started_ns))
    }
}

/// Set by the engine at the hard end: the guest is interrupted at its next epoch.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Interrupts the guest if it runs, and whenever it does so later.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often a virtual user was made to yield because it held its thread for a millisecond. One that is pending without a call
/// under way, and whose count has moved, belongs on another thread than the sockets.
#[derive(Clone, Debug, Default)]
pub struct Yields(Arc<AtomicU64>);

impl Yields {
    /// The count so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// How an iteration ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IterationEnd {
    /// In a word.
    pub outcome: IterationOutcome,
    /// Why it did not complete: the guest's own words, or its trap with the guest's functions.
    pub why: Option<String>,
    /// Guest CPU outside all checks; none when nothing is metered.
    pub scenario_cpu_ns: Option<u64>,
    /// Instructions outside all checks; none when they are not counted.
    pub scenario_instructions: Option<u64>,
    /// All guest segments together.
    pub guest_segments_ns: u64,
    /// The longest time for which the guest held its thread without a suspension.
    pub longest_segment_ns: u64,
    /// The instance is lost: [`Vu::renew`], then [`Vu::init`], before the next iteration.
    pub needs_new_instance: bool,
}

type Said<T> = (Result<T, String>,);

/// One virtual user. Its futures may be polled on any thread, and may move while they are pending. Dropping one that is pending
/// loses the instance.
pub struct Vu<H: Host> {
    live: Live,
    /// The hook `run` of the instance there is.
    run: Option<TypedFunc<(WitArrival,), Said<()>>>,
    scenario: u32,
    /// Samples it, should it be the first to begin an iteration; none from then on.
    profiler: Option<Profiler>,
    host: PhantomData<fn() -> H>,
}

impl<H: Host> Vu<H> {
    /// Makes a virtual user with an instance.
    ///
    /// # Errors
    ///
    /// When there is no room, or the guest fails in its start function.
    pub async fn new(guest: &Guest, setup: VuSetup<H>) -> Result<Vu<H>, GuestFailure> {
        Vu::made(guest, setup, Phase::Live).await
    }

    /// Makes a judge: an instance that is given deferred checks, and may do little else. It wants [`Vu::init`] first.
    ///
    /// # Errors
    ///
    /// As [`Vu::new`].
    pub async fn new_judge(guest: &Guest, setup: VuSetup<H>) -> Result<Vu<H>, GuestFailure> {
        Vu::made(guest, setup, Phase::Judge).await
    }

    async fn made(guest: &Guest, setup: VuSetup<H>, phase: Phase) -> Result<Vu<H>, GuestFailure> {
        let loaded = Arc::clone(guest.loaded());
        let scenario = setup.scenario;
        let mut state = State::hollow();
        state.phase = phase;
        state.doors = Box::new(setup.host);
        state.run = Run {
            registry: setup.registry,
            env: setup.env,
            started: setup.run_start,
        };
        state.vu = setup.id;
        state.limits = setup.limits;
        state.deferred = setup.deferred;
        state.cpu_budget_ns = loaded.options.guest_cpu_ns;
        state.limiter = Limiter::new(loaded.options.guest_memory_bytes, loaded.table_elements);
        state.meter = Meter::new(loaded.options.meter, setup.limits.depth);
        state.random = Random::new(setup.seed, setup.id);
        state.forget_instance();
        let mut vu = Vu {
            live: Live::new(loaded, state),
            run: None,
            scenario,
            profiler: guest.profiler().cloned(),
            host: PhantomData,
        };
        vu.instantiate().await?;
        Ok(vu)
    }

    async fn instantiate(&mut self) -> Result<(), GuestFailure> {
        self.live.instantiate().await?;
        let hook = self.live.loaded().hooks.run;
        let missing = || GuestFailure::Instantiate("the guest has no `run`".to_owned());
        self.run = Some(self.live.function(hook.ok_or_else(missing)?)?);
        Ok(())
    }

    /// Calls the guest's `setup`. Empty when it has none.
    ///
    /// # Errors
    ///
    /// What the guest returned, or its trap.
    pub async fn setup(&mut self) -> Result<Vec<u8>, GuestFailure> {
        match self.live.loaded().hooks.setup {
            Some(hook) => said(self.live.call_by_index::<(), Said<Vec<u8>>>(hook, ()).await),
            None => Ok(Vec::new()),
        }
    }

    /// Calls the guest's `init` with what `setup` returned. Nothing when it has none.
    ///
    /// # Errors
    ///
    /// What the guest returned, or its trap.
    pub async fn init(&mut self, data: &[u8]) -> Result<(), GuestFailure> {
        match self.live.loaded().hooks.init {
            Some(hook) => said(
                self.live
                    .call_by_index(hook, (Bytes::copy_from_slice(data),))
                    .await,
            ),
            None => Ok(()),
        }
    }

    /// Calls the guest's `teardown` with what `setup` returned. Nothing when it has none.
    ///
    /// # Errors
    ///
    /// What the guest returned, or its trap.
    pub async fn teardown(&mut self, data: &[u8]) -> Result<(), GuestFailure> {
        match self.live.loaded().hooks.teardown {
            Some(hook) => said(
                self.live
                    .call_by_index(hook, (Bytes::copy_from_slice(data),))
                    .await,
            ),
            None => Ok(()),
        }
    }

    /// Calls the guest's `run` once.
    pub async fn iterate(&mut self, arrival: Arrival) -> IterationEnd {
        self.be_sampled();
        let iteration = self.live.state().iteration;
        let arrival = WitArrival {
            scenario: self.scenario,
            sequence: arrival.sequence,
            due: arrival.due_ns,
            started: arrival.started_ns,
        };
        let result = match &self.run {
            Some(run) => said(self.live.call(run, (arrival,), Some(iteration)).await),
            None => Err(GuestFailure::Instantiate(
                "it was lost, and no new one was made".to_owned(),
            )),
        };
        self.live.state().iteration += 1;
        self.ended(result)
    }

    /// Has the virtual user sampled from now on, if one is to be and this is the first.
    fn be_sampled(&mut self) {
        let Some(profiler) = self.profiler.take() else {
            return;
        };
        let vu = self.live.peek().vu;
        let sampler = profiler.claim(vu, self.live.loaded().ticker.ticks());
        self.live.state().sampler = sampler;
    }

    fn ended(&mut self, result: Result<(), GuestFailure>) -> IterationEnd {
        let was_cancelled = self.live.state().was_cancelled;
        let outcome = match &result {
            Ok(()) => IterationOutcome::Completed,
            Err(GuestFailure::Interrupted) => IterationOutcome::Interrupted,
            // A guest that unwinds because the run is stopping has not failed.
            Err(_) if was_cancelled => IterationOutcome::Interrupted,
            Err(_) => IterationOutcome::Failed,
        };
        let failure = result.err();
        let needs_new_instance = failure.as_ref().is_some_and(GuestFailure::kills_instance);
        if needs_new_instance {
            self.run = None;
        }
        let usage = self.live.usage();
        let meter = self.live.loaded().options.meter;
        IterationEnd {
            outcome,
            why: failure.map(|failure| failure.to_string()),
            scenario_cpu_ns: (meter != MeterKind::Off).then_some(usage.scenario_ns),
            scenario_instructions: (meter == MeterKind::Instructions)
                .then_some(usage.scenario_instructions),
            guest_segments_ns: usage.segments_ns,
            longest_segment_ns: usage.longest_ns,
            needs_new_instance,
        }
    }

    /// Evaluates a deferred check, in a judge; what came of it is among the records. Answers whether the instance is lost:
    /// then [`Vu::renew`], and [`Vu::init`], before the next.
    pub async fn judge(&mut self, deferred: DeferredCheck) -> bool {
        let Some(hook) = self.live.loaded().hooks.judge else {
            unreachable!("nothing is deferred in a guest without `judge`");
        };
        let DeferredCheck { check, group, .. } = deferred;
        let queue_wait_ns = meter::monotonic_ns().saturating_sub(deferred.deferred_ns);
        let state = self.live.state();
        state.outer_group = group;
        state.judging = Some(Judging {
            check,
            closed: None,
        });
        let has_tags = !deferred.tags.is_empty();
        if has_tags {
            state.record(Record::Tags(deferred.tags));
        }
        let result = match state.table.push(deferred.response) {
            Ok(handle) => {
                let params = (deferred.index, handle, deferred.context);
                said(self.live.call_by_index(hook, params).await)
            }
            Err(error) => Err(GuestFailure::Returned(error.to_string())),
        };
        self.judged(check, queue_wait_ns, &result);
        if has_tags {
            self.live.state().record(Record::Tags(Arc::from([])));
        }
        result.is_err_and(|failure| failure.kills_instance())
    }

    fn judged(&mut self, check: u32, queue_wait_ns: u64, result: &Result<(), GuestFailure>) {
        let state = self.live.state();
        let closed = state.judging.take().and_then(|judging| judging.closed);
        let group = std::mem::take(&mut state.outer_group);
        if matches!(result, Err(GuestFailure::Interrupted)) {
            // It came to no result, and did not fail.
            state.record(Record::CheckSkipped {
                check,
                group,
                reason: SkipReason::Stop,
            });
            return;
        }
        let sample = closed.unwrap_or_default().sample(
            result.is_ok(),
            CheckMode::Deferred,
            Some(queue_wait_ns),
        );
        state.record(Record::Check {
            check,
            group,
            sample,
        });
        if let Err(failure) = result {
            let mut why = failure.to_string();
            crate::host::cut(&mut why, state.limits.name_bytes);
            state.record(Record::CheckWhy { check, why });
        }
    }

    /// Makes a new instance in place of a lost one; number and iteration go on.
    ///
    /// # Errors
    ///
    /// As [`Vu::new`].
    pub async fn renew(&mut self) -> Result<(), GuestFailure> {
        self.run = None;
        self.live.renew_store();
        self.instantiate().await
    }

    /// Its doors out of the sandbox.
    pub fn host_mut(&mut self) -> &mut H {
        match self.live.state().doors.as_any().downcast_mut() {
            Some(host) => host,
            None => unreachable!("a virtual user keeps the host that it was made with"),
        }
    }

    /// Ends the virtual user and gives its doors back.
    pub fn into_host(self) -> H {
        match self.live.into_state().doors.into_any().downcast() {
            Ok(host) => *host,
            Err(_) => unreachable!("a virtual user keeps the host that it was made with"),
        }
    }

    /// What the engine sets at the hard end.
    pub fn stop_flag(&self) -> StopFlag {
        self.live.peek().stop.clone()
    }

    /// How often it was made to yield.
    pub fn yields(&self) -> Yields {
        self.live.peek().yields.clone()
    }
}

impl<H: Host> fmt::Debug for Vu<H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Vu")
            .field("scenario", &self.scenario)
            .finish_non_exhaustive()
    }
}

/// The guest's own error beside all others.
fn said<T>(result: Result<Said<T>, GuestFailure>) -> Result<T, GuestFailure> {
    result?.0.map_err(GuestFailure::Returned)
}
