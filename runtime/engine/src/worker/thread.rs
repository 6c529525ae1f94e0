//! The threads of a worker: how they are made, what runs on them, how they end.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nettare_core::plan::{GuestThread as Policy, Scenario};
use nettare_core::sched::Scheduler;
use nettare_core::segment::Segment;
use nettare_net::{Client, Request, Shared};
use nettare_vm::preemption;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::guest::GuestWork;
use super::native::NativeWork;
use super::timer::Timer;
use super::{News, NewsSender, Order, VuWork, Worker};
use crate::affinity;
use crate::clock::RunClock;
use crate::mailbox::Outbox;
use crate::recorder::Recorder;
use crate::turn::{GuestThread, GuestThreadSender};

/// How long a guest thread may take to drop its guests.
const ABANDON_AFTER: Duration = Duration::from_secs(2);

/// Everything a worker is made from; it crosses to the worker's thread.
#[derive(Clone)]
pub(crate) struct Seed {
    pub(crate) index: usize,
    /// The worker's part of virtual users and arrivals.
    pub(crate) segment: Segment,
    pub(crate) scenario: Scenario,
    /// Tags of the run and of the scenario.
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) max_series: u32,
    pub(crate) clock: RunClock,
    pub(crate) network: Arc<Shared>,
    pub(crate) work: WorkSeed,
    /// The CPU that both threads are pinned to; none leaves them to the system.
    pub(crate) cpu: Option<usize>,
}

/// What virtual users are to do, before there is a thread for it.
#[derive(Clone)]
pub(crate) enum WorkSeed {
    /// Send one request, natively.
    Native(Arc<Request>),
    /// Call a guest.
    Guest(Arc<GuestWork>, Policy),
}

/// A running worker, as the coordinator holds it.
pub(crate) struct WorkerThread {
    orders: UnboundedSender<Order>,
    handle: JoinHandle<()>,
}

impl WorkerThread {
    /// Starts a worker; whatever keeps it from working is told as [`News::Broken`].
    ///
    /// # Errors
    ///
    /// When there is no thread to be had.
    pub(crate) fn spawn(seed: Seed, news: NewsSender) -> io::Result<WorkerThread> {
        let (orders, receiver) = unbounded_channel();
        let index = seed.index;
        let handle = thread::Builder::new()
            .name(format!("io-{index}"))
            .spawn(move || {
                affinity::pin(seed.cpu);
                affinity::prefer_io();
                if let Err(error) = run(&seed, receiver, news.clone()) {
                    let _ = news.send((index, News::Broken(format!("worker {index}: {error}"))));
                }
            })?;
        Ok(WorkerThread { orders, handle })
    }

    /// Gives an order; a worker that has ended does not need it.
    pub(crate) fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }

    /// Waits for the thread's end.
    pub(crate) fn join(self) -> thread::Result<()> {
        self.handle.join()
    }
}

fn run(seed: &Seed, mut orders: UnboundedReceiver<Order>, news: NewsSender) -> io::Result<()> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder
        .enable_all()
        .on_thread_park(preemption::parks)
        .on_thread_unpark(preemption::unparks)
        .build_local(tokio::runtime::LocalOptions::default())?;
    let outbox = Arc::new(Outbox::default());
    let guests = guest_thread(seed, &outbox)?;
    runtime.block_on(async {
        let base = Base {
            timer: Timer::new()?,
            outbox,
            news,
            sender: guests.as_ref().map(GuestThread::sender),
        };
        let worker = worker(seed, &base);
        // `setup` and `teardown` are outside totals and thresholds: they have a client and a recorder of their own.
        let hooks = self::worker(seed, &base);
        spawn_helpers(&worker, &hooks);
        while let Some(order) = orders.recv().await {
            match order {
                Order::End => break,
                Order::Hook(_) => hooks.obey(order),
                other => worker.obey(other),
            }
        }
        worker.close();
        Ok::<(), io::Error>(())
    })?;
    if let Some(guests) = guests {
        // A guest that hangs where no epoch reaches it must not keep the results: its thread is left to the process's end.
        guests.abandon(ABANDON_AFTER);
    }
    Ok(())
}

/// What the worker for the load and the worker for the hooks share.
struct Base {
    timer: Rc<Timer>,
    outbox: Arc<Outbox>,
    news: NewsSender,
    sender: Option<GuestThreadSender>,
}

fn guest_thread(seed: &Seed, outbox: &Arc<Outbox>) -> io::Result<Option<GuestThread>> {
    if matches!(seed.work, WorkSeed::Native(_)) {
        return Ok(None);
    }
    let cpu = seed.cpu;
    let prepare = move || {
        affinity::pin(cpu);
        affinity::give_way();
    };
    GuestThread::spawn(seed.index, outbox.clone(), prepare).map(Some)
}

fn worker(seed: &Seed, base: &Base) -> Rc<Worker> {
    let registry = match &seed.work {
        WorkSeed::Native(_) => None,
        WorkSeed::Guest(work, _) => Some(work.registry.clone()),
    };
    let recorder = Recorder::new(seed.max_series, &seed.scenario, seed.tags.clone(), registry);
    let work = match (&seed.work, &base.sender) {
        (WorkSeed::Guest(work, policy), Some(thread)) => VuWork::Guest {
            work: work.clone(),
            policy: *policy,
            thread: thread.clone(),
        },
        (WorkSeed::Guest(..), None) => unreachable!("a guest thread is made for every guest"),
        (WorkSeed::Native(request), _) => {
            let labels = recorder.native_labels(request.method.as_str());
            VuWork::Native(Rc::new(NativeWork {
                request: (**request).clone(),
                labels,
            }))
        }
    };
    Rc::new(Worker {
        index: seed.index,
        clock: seed.clock.clone(),
        timer: base.timer.clone(),
        client: Client::new(seed.network.clone()),
        recorder,
        outbox: base.outbox.clone(),
        news: base.news.clone(),
        work,
        scheduler: RefCell::new(Scheduler::new(
            &seed.scenario.executor,
            seed.segment,
            seed.scenario.graceful_stop_ns,
        )),
        actions: Cell::default(),
        ports: RefCell::default(),
        data: RefCell::new(Arc::from([])),
        preparing: Cell::new(0),
        begun: Cell::new(false),
        finished: Cell::new(false),
        wake_at_ns: Cell::new(u64::MAX),
        wake_changed: Notify::new(),
        routes: RefCell::default(),
        stray_iterations: Cell::new(0),
        lag: RefCell::default(),
        held_ns: Cell::new(0),
    })
}

/// The tasks of a worker that no virtual user owns.
fn spawn_helpers(worker: &Rc<Worker>, hooks: &Rc<Worker>) {
    let driven = worker.clone();
    tokio::task::spawn_local(async move {
        if let Err(error) = driven.timer.drive().await {
            driven.tell(News::Broken(format!(
                "the timer of a worker failed: {error}"
            )));
        }
    });
    tokio::task::spawn_local(worker.clone().pace());
    let (worker, hooks) = (worker.clone(), hooks.clone());
    tokio::task::spawn_local(poll_fn(move |cx| {
        worker.outbox.poll_pump(cx, &mut |parcel| {
            let port = worker
                .port(parcel.mailbox.vu)
                .or_else(|| hooks.port(parcel.mailbox.vu));
            // A virtual user that is gone has nobody to poll it, and nothing left to do.
            if let Some(port) = port {
                port.receive(parcel.future);
            }
        });
        Poll::<()>::Pending
    }));
}
