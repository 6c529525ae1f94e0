//! Judges: threads that evaluate deferred checks, so that a heavy check delays neither the next request nor anybody's clock.
//!
//! ```text
//!   a guest ── check.defer ──► queue ──► judge threads (SCHED_IDLE), each with an instance of its own, `init`-ed as the others
//!                                             │ `judge`, metered under the check's name
//!                                             ▼
//!                                        a recorder each ──► the coordinator, once a second
//! ```
//!
//! They run when nobody else wants a CPU, and share no lock with I/O threads but the queue's, which guests take once a deferral. At the
//! end of the load the queue is emptied within the grace time; what is left is counted as skipped.

mod queue;
mod thread;

use std::sync::{Arc, Mutex};

use nettare_core::sample::SkipReason;
use nettare_core::stats::ShardDelta;
use nettare_vm::{DeferredCheck, Record, StopFlag};

use crate::mailbox::lock;
use crate::recorder::Recorder;
use crate::worker::NewsSender;
use crate::worker::guest::GuestWork;

pub(crate) use queue::Queue;

/// All judges of a run.
pub(crate) struct Judges {
    queue: Arc<Queue>,
    work: Arc<GuestWork>,
    judges: Vec<Arc<Shared>>,
}

/// What the coordinator and a judge's thread have in common.
struct Shared {
    recorder: Mutex<Recorder>,
    /// Interrupts the guest; there once the instance is.
    stop: Mutex<Option<StopFlag>>,
}

impl Judges {
    /// As many judges as there are recorders; none of them runs yet. None when the guest defers nothing.
    pub(crate) fn new(work: &Arc<GuestWork>, recorders: Vec<Recorder>) -> Option<Judges> {
        let queue = work.judges.clone()?;
        let judge = |recorder| {
            Arc::new(Shared {
                recorder: Mutex::new(recorder),
                stop: Mutex::default(),
            })
        };
        Some(Judges {
            queue,
            work: work.clone(),
            judges: recorders.into_iter().map(judge).collect(),
        })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.judges.len()
    }

    /// Starts the threads. Each says that it is ready, or why not, and later that it has ended.
    ///
    /// # Errors
    ///
    /// When there is no thread to be had.
    pub(crate) fn start(&self, data: &Arc<[u8]>, news: &NewsSender) -> std::io::Result<()> {
        for (index, shared) in self.judges.iter().enumerate() {
            thread::spawn(thread::Seed {
                index,
                shared: shared.clone(),
                queue: self.queue.clone(),
                work: self.work.clone(),
                data: data.clone(),
                news: news.clone(),
            })?;
        }
        Ok(())
    }

    /// What each has measured since the last time.
    pub(crate) fn take(&self) -> Vec<ShardDelta> {
        self.judges
            .iter()
            .map(|judge| lock(&judge.recorder).take())
            .collect()
    }

    /// Nothing is deferred any more; judges end when they have evaluated what waits.
    pub(crate) fn close(&self) {
        self.queue.close();
    }

    /// The grace time is over: what waits is counted as skipped, what is under evaluation is interrupted.
    pub(crate) fn abandon(&self) {
        let rest = self.queue.take_rest();
        if let Some(judge) = self.judges.first() {
            let recorder = lock(&judge.recorder);
            rest.iter().for_each(|check| skip(&recorder, check));
        }
        for judge in &self.judges {
            if let Some(stop) = &*lock(&judge.stop) {
                stop.set();
            }
        }
    }
}

/// Counts a check that is given up.
fn skip(recorder: &Recorder, deferred: &DeferredCheck) {
    let mut records = vec![
        Record::Tags(deferred.tags().clone()),
        Record::CheckSkipped {
            check: deferred.check,
            group: deferred.group,
            reason: SkipReason::Stop,
        },
    ];
    recorder.records(&mut records, &mut recorder.new_iteration());
}
