//! One judge: a thread, and an instance of the guest that evaluates what is deferred.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;

use nettare_vm::{
    Cancelled, GuestFailure, Host, HttpReply, HttpRequest, LogLevel, Record, Vu, VuSetup,
    preemption,
};

use super::{Queue, Shared};
use crate::affinity;
use crate::mailbox::lock;
use crate::recorder::IterationNotes;
use crate::worker::guest::GuestWork;
use crate::worker::{News, NewsSender};

/// Everything a judge is made from; it crosses to its thread.
pub(super) struct Seed {
    pub(super) index: usize,
    pub(super) shared: Arc<Shared>,
    pub(super) queue: Arc<Queue>,
    pub(super) work: Arc<GuestWork>,
    /// What `setup` returned.
    pub(super) data: Arc<[u8]>,
    pub(super) news: NewsSender,
}

pub(super) fn spawn(seed: Seed) -> io::Result<()> {
    thread::Builder::new()
        .name(format!("judge-{}", seed.index))
        .spawn(move || {
            affinity::yield_to_all();
            let news = seed.news.clone();
            match drive(make(&seed)) {
                Ok(mut vu) => {
                    let _ = news.send((seed.index, News::Ready));
                    work(&seed, &mut vu);
                }
                Err(failure) => {
                    let why =
                        format!("the instance for deferred checks could not be made: {failure}");
                    let _ = news.send((seed.index, News::FailedToStart(why)));
                }
            }
            let _ = news.send((seed.index, News::JudgeEnded));
        })
        .map(drop)
}

async fn make(seed: &Seed) -> Result<Vu<Doors>, GuestFailure> {
    let work = &seed.work;
    let setup = VuSetup {
        id: 0,
        scenario: work.scenario,
        host: Doors {
            records: Vec::new(),
            shared: seed.shared.clone(),
            notes: lock(&seed.shared.recorder).new_iteration(),
            news: seed.news.clone(),
        },
        registry: work.registry.clone(),
        env: work.env.clone(),
        seed: work.seed,
        run_start: work.run_start.clone(),
        limits: work.limits,
        deferred: work.deferred.clone(),
    };
    let mut vu = Vu::new_judge(&work.guest, setup).await?;
    *lock(&seed.shared.stop) = Some(vu.stop_flag());
    vu.init(&seed.data).await?;
    Host::flush_records(vu.host_mut());
    Ok(vu)
}

fn work(seed: &Seed, vu: &mut Vu<Doors>) {
    loop {
        preemption::parks();
        let deferred = seed.queue.pop();
        preemption::unparks();
        let Some(deferred) = deferred else { return };
        let is_lost = drive(vu.judge(deferred));
        Host::flush_records(vu.host_mut());
        if is_lost && !renew(seed, vu) {
            return;
        }
    }
}

/// A trap killed the instance. Without another this judge cannot go on; what waits is the others', or is skipped at the end.
fn renew(seed: &Seed, vu: &mut Vu<Doors>) -> bool {
    let renewed = drive(async {
        vu.renew().await?;
        vu.init(&seed.data).await
    });
    Host::flush_records(vu.host_mut());
    let Err(failure) = renewed else { return true };
    if vu.stop_flag().is_set() {
        return false;
    }
    let why = format!("a judge was given up after a trap: {failure}");
    let _ = seed.news.send((seed.index, News::Warning(why)));
    false
}

/// Polls to the end on this thread. What judges do never waits; a long check yields at its epochs, and goes on at once.
fn drive<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

/// The doors of a judge: a recorder and the log.
struct Doors {
    records: Vec<Record>,
    shared: Arc<Shared>,
    notes: IterationNotes,
    news: NewsSender,
}

impl Host for Doors {
    /// Never: a judge is denied what would need it before it comes here.
    type Reply = std::future::Pending<HttpReply>;
    type Sleep = std::future::Ready<Result<(), Cancelled>>;

    fn http(&mut self, _: Arc<HttpRequest>) -> Self::Reply {
        std::future::pending()
    }

    fn sleep(&mut self, _: u64) -> Self::Sleep {
        std::future::ready(Err(Cancelled))
    }

    fn abort(&mut self, _: String) {}

    fn log(&mut self, level: LogLevel, message: String) {
        let _ = self.news.send((0, News::Log(0, level, message)));
    }

    fn records(&mut self) -> &mut Vec<Record> {
        &mut self.records
    }

    fn flush_records(&mut self) {
        lock(&self.shared.recorder).records(&mut self.records, &mut self.notes);
    }
}
