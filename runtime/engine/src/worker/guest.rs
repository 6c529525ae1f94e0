//! The guest half of a virtual user: a `Send` future that owns the instance and knows the world by its mailbox alone.
//!
//! It begins on the guest thread, where the instance is made, and may be moved between two polls. See [`crate::mailbox`].

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use nettare_core::sample::{Arrival, SkipReason};
use nettare_vm::{
    Deferred, DeferredCheck, Guest, Host, HttpRequest, LogLevel, Record, Registry, RunStart, Vu,
    VuLimits, VuSetup,
};

use crate::clock::RunClock;
use crate::judge::Queue;
use crate::mailbox::{Ended, Mailbox, Nap, Next, Place, Reply, ToIo, hop};

/// The doors of one virtual user: its mailbox.
pub(crate) struct Doors {
    mailbox: Arc<Mailbox>,
    /// Handed over with the next message, so that the lock is taken once for both.
    records: Vec<Record>,
    /// Where deferred checks go.
    judges: Option<Arc<Queue>>,
}

impl Host for Doors {
    type Reply = Reply;
    type Sleep = Nap;

    fn http(&mut self, request: Arc<HttpRequest>) -> Reply {
        self.mailbox.post_records(&mut self.records);
        self.mailbox.http(request)
    }

    fn sleep(&mut self, nanoseconds: u64) -> Nap {
        self.mailbox.post_records(&mut self.records);
        self.mailbox.sleep(nanoseconds)
    }

    fn defer(&mut self, check: DeferredCheck) -> BoxFuture<'static, Result<(), SkipReason>> {
        match &self.judges {
            Some(queue) => Box::pin(queue.push(check)),
            None => Box::pin(ready(Err(SkipReason::Stop))),
        }
    }

    fn abort(&mut self, why: String) {
        self.mailbox.post(ToIo::Abort(why));
    }

    fn log(&mut self, level: LogLevel, message: String) {
        self.mailbox.post(ToIo::Log(level, message));
    }

    fn records(&mut self) -> &mut Vec<Record> {
        &mut self.records
    }
}

/// What all virtual users of a run have in common.
pub(crate) struct GuestWork {
    pub(crate) guest: Guest,
    pub(crate) registry: Arc<Registry>,
    /// Which of the guest's scenarios, as an index into its description.
    pub(crate) scenario: u32,
    pub(crate) env: Arc<BTreeMap<String, String>>,
    pub(crate) seed: u64,
    pub(crate) run_start: RunStart,
    pub(crate) limits: VuLimits,
    pub(crate) deferred: Deferred,
    /// Where deferred checks go; none when the guest has none.
    pub(crate) judges: Option<Arc<Queue>>,
    /// A new instance for each iteration.
    pub(crate) is_isolated: bool,
}

/// What a guest's half is for.
pub(crate) enum Life {
    /// `init`, then iterations until it is closed.
    Iterate {
        /// What `setup` returned.
        data: Arc<[u8]>,
    },
    /// `setup`, once.
    Setup,
    /// `teardown`, once.
    Teardown {
        /// What `setup` returned.
        data: Arc<[u8]>,
    },
}

/// Makes the instance, lives its life, and reports to the mailbox.
pub(crate) async fn live(work: Arc<GuestWork>, mailbox: Arc<Mailbox>, clock: RunClock, life: Life) {
    let mut vu = match make(&work, &mailbox).await {
        Ok(vu) => vu,
        Err(why) => {
            mailbox.post(match life {
                Life::Iterate { .. } => ToIo::Ready(Err(why)),
                Life::Setup | Life::Teardown { .. } => ToIo::HookDone(Err(why)),
            });
            return;
        }
    };
    match life {
        Life::Iterate { data } => {
            iterate(&mut vu, &mailbox, &clock, &data, work.is_isolated).await;
        }
        Life::Setup => {
            let result = vu.setup().await.map_err(|failure| failure.to_string());
            finish_hook(&mut vu, &mailbox, result);
        }
        Life::Teardown { data } => {
            let result = vu
                .teardown(&data)
                .await
                .map(|()| Vec::new())
                .map_err(|failure| failure.to_string());
            finish_hook(&mut vu, &mailbox, result);
        }
    }
}

async fn make(work: &GuestWork, mailbox: &Arc<Mailbox>) -> Result<Vu<Doors>, String> {
    let setup = VuSetup {
        id: mailbox.vu,
        scenario: work.scenario,
        host: Doors {
            mailbox: mailbox.clone(),
            records: Vec::new(),
            judges: work.judges.clone(),
        },
        registry: work.registry.clone(),
        env: work.env.clone(),
        seed: work.seed,
        run_start: work.run_start.clone(),
        limits: work.limits,
        deferred: work.deferred.clone(),
    };
    let vu = Vu::new(&work.guest, setup)
        .await
        .map_err(|failure| failure.to_string())?;
    mailbox.set_stop_flag(vu.stop_flag());
    Ok(vu)
}

fn finish_hook(vu: &mut Vu<Doors>, mailbox: &Arc<Mailbox>, result: Result<Vec<u8>, String>) {
    mailbox.post_records(vu.host_mut().records());
    mailbox.post(ToIo::HookDone(result));
}

async fn iterate(
    vu: &mut Vu<Doors>,
    mailbox: &Arc<Mailbox>,
    clock: &RunClock,
    data: &[u8],
    is_isolated: bool,
) {
    let ready = vu.init(data).await.map_err(|failure| failure.to_string());
    let lost = ready.is_err();
    mailbox.post_records(vu.host_mut().records());
    mailbox.post(ToIo::Ready(ready));
    if lost {
        return;
    }
    while let Next::Iterate(planned) = mailbox.next().await {
        // The start that counts is the guest's own: what the hand-over to its thread took is lateness, not service.
        let started_ns = clock.now_ns();
        let end = vu
            .iterate(Arrival {
                started_ns,
                ..planned
            })
            .await;
        let ended_ns = clock.now_ns();
        // The end is told last: from then on the virtual user counts as free.
        // An interrupted guest has lost its instance, and at the run's end needs none.
        let needs_new_instance = end.needs_new_instance || is_isolated;
        let renewed = if needs_new_instance && !mailbox.is_cancelled() {
            renew(vu, mailbox, data).await
        } else {
            Ok(())
        };
        let retired = renewed.err();
        let lost = retired.is_some();
        mailbox.post_records(vu.host_mut().records());
        mailbox.post(ToIo::Ended(Box::new(Ended {
            started_ns,
            ended_ns,
            end,
            retired,
        })));
        if lost {
            return;
        }
    }
    mailbox.post(ToIo::Closed);
}

/// A trap killed the instance, or each iteration has its own: makes another, on the guest thread, and initialises it.
async fn renew(vu: &mut Vu<Doors>, mailbox: &Arc<Mailbox>, data: &[u8]) -> Result<(), String> {
    let place = mailbox.place();
    hop(mailbox, Place::Split).await;
    let result = match vu.renew().await {
        Ok(()) => vu.init(data).await,
        Err(failure) => Err(failure),
    };
    mailbox.post_records(vu.host_mut().records());
    hop(mailbox, place).await;
    result.map_err(|failure| failure.to_string())
}
