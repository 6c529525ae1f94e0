//! A run: what it is made of, what it can be stopped by, what comes of it.

mod coordinator;
mod seeds;

use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use nettare_core::event::{Interval, RunEvent};
use nettare_core::plan::Plan;
use nettare_core::sample::Funnel;
use nettare_core::sched::IterationCounts;
use nettare_core::stats::Totals;
use nettare_net::Shared;
use nettare_vm::Guest;

use crate::clock::RunClock;
use crate::mailbox::lock;
use crate::process::ProcessUse;
use crate::worker::{News, NewsSender, WorkerThread};
pub use seeds::judge_count;

use coordinator::{Coordinator, Threads};

/// A run, ready to go.
pub struct Job {
    /// What is to be run.
    pub plan: Plan,
    /// The guest, when the plan's work is one.
    pub guest: Option<Guest>,
    /// The network, with the plan's settings.
    pub network: Arc<Shared>,
}

/// Ends a run from outside: a signal handler's handle.
#[derive(Clone, Default)]
pub struct Stopper {
    inner: Arc<Mutex<StopperState>>,
}

#[derive(Default)]
struct StopperState {
    stops: u32,
    coordinator: Option<mpsc::Sender<(usize, News)>>,
}

impl Stopper {
    /// The first time: nothing starts any more, and what is under way may end. From the second time on: it is cut short.
    pub fn stop(&self) {
        let mut state = lock(&self.inner);
        state.stops += 1;
        if let Some(coordinator) = &state.coordinator {
            let _ = coordinator.send((0, News::StopRequested));
        }
    }

    fn attach(&self, coordinator: NewsSender) {
        lock(&self.inner).coordinator = Some(coordinator);
    }

    fn stops(&self) -> u32 {
        lock(&self.inner).stops
    }
}

/// Why a run ended other than by its plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// Somebody stopped it.
    Signal,
    /// A guest asked for the end.
    Aborted(String),
    /// Nothing at all was answered for as long as the plan has patience.
    Unanswered,
    /// `setup` failed, trapped or took too long.
    SetupFailed(String),
    /// `teardown` failed, trapped or took too long.
    TeardownFailed(String),
    /// A virtual user could not be made or initialised before the first iteration.
    InitFailed(String),
    /// A worker could not go on: a bug, or a machine without threads or descriptors.
    Broken(String),
}

/// All there is to report of a run.
pub struct RunResult {
    /// Everything measured.
    pub totals: Totals,
    /// Second by second.
    pub intervals: Vec<Interval>,
    /// What became of the iterations.
    pub iterations: IterationCounts,
    /// What became of the exchanges.
    pub funnel: Funnel,
    /// Iterations with a call that reaches beyond them; anything but 0 is a bug.
    pub stray_iterations: u64,
    /// From the start of the load to the end of its last iteration.
    pub duration_ns: u64,
    /// Why it ended, other than by its plan.
    pub causes: Vec<EndCause>,
    /// Distinct reasons of failed iterations, and how often each was given; the rest is counted under the last.
    pub iteration_failures: Vec<(String, u64)>,
    /// How many workers there were.
    pub workers: usize,
    /// CPUs that they could use: one for each, within affinity.
    pub cpus: u32,
    /// Workers whose last samples never came.
    pub lost_workers: usize,
    /// What the process used while the load ran; none where the system does not tell.
    pub process: Option<ProcessUse>,
}

/// Carries out a job on the calling thread and its workers. `observe` is called on this thread, in order.
///
/// # Errors
///
/// When the job cannot begin: no thread or descriptor, or a plan that does not fit its guest. What happens later is in the
/// result, with everything that was measured.
pub fn run(
    job: &Job,
    stopper: &Stopper,
    observe: &mut dyn FnMut(&RunEvent),
) -> anyhow::Result<RunResult> {
    let (sender, news) = mpsc::channel();
    stopper.attach(sender.clone());
    let clock = RunClock::default();
    let seeds = seeds::seeds(job, &clock)?;
    let judges = seeds::judges(&seeds);
    let workers: Vec<_> = seeds
        .into_iter()
        .map(|seed| WorkerThread::spawn(seed, sender.clone()))
        .collect::<Result<_, _>>()
        .context("failed to start a worker thread")?;
    let threads = Threads {
        workers,
        judges,
        news,
        sender,
    };
    Ok(Coordinator::new(job, threads, clock, stopper, observe).lead())
}
