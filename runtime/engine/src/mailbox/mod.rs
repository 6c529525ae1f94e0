//! The boundary between a virtual user's guest and its I/O.
//!
//! A guest's future is `Send` and knows nothing but its [`Mailbox`]; sockets, timers and the recorder stay on the worker's I/O
//! thread. Wherever the future is polled, the protocol is the same:
//!
//! ```text
//!   guest half                              I/O half (vu::service)
//!   next_start().await   <── start ───────  the scheduler chose this virtual user
//!   http() -> Reply      ─── Http ───────>  session.call
//!   Reply.await          <── answer ──────
//!   sleep() -> Nap       ─── Sleep ──────>  timer
//!   Reply dropped        ─── Cancel ─────>  the call is dropped, its connection closed
//!   iteration over       ─── Ended ──────>  recorded, told to the scheduler
//! ```
//!
//! Who wakes whom depends on the place. *Inline*, both halves live in one task that polls them in turn as long as either makes
//! progress, so nobody is woken. *Split*, a post to the I/O side is announced on the worker's [`Outbox`], which the guest
//! thread flushes once a turn: one wake-up for many posts, where one each would preempt the guest at every message.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_util::task::AtomicWaker;
use nettare_core::sample::{Arrival, CallTiming, ErrorKind, Failure, Phases, Stamp};
use nettare_core::stats::SeriesId;
use nettare_vm::{Cancelled, HttpReply, HttpRequest, IterationEnd, LogLevel, Record, StopFlag};

use crate::clock;

/// Names one waiting host call of a virtual user.
pub(crate) type Ticket = u64;

/// Where a guest's future is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Place {
    /// On the guest thread.
    Split = 0,
    /// On the I/O thread.
    Inline = 1,
}

/// From the guest half to the I/O half.
pub(crate) enum ToIo {
    /// The instance is there and initialised, or why not.
    Ready(Result<(), String>),
    /// Send a request; the answer goes to `ticket`.
    Http {
        ticket: Ticket,
        request: Arc<HttpRequest>,
    },
    /// Answer `ticket` after so long.
    Sleep { ticket: Ticket, nanoseconds: u64 },
    /// Nobody waits for `ticket` any more.
    Cancel { ticket: Ticket },
    /// The iteration is over.
    Ended(Box<Ended>),
    /// The guest half has ended, as it was asked to.
    Closed,
    /// `setup` or `teardown` is over.
    HookDone(Result<Vec<u8>, String>),
    /// The guest asks for the end of the whole run.
    Abort(String),
    /// A line of the guest's log.
    Log(LogLevel, String),
}

/// An iteration's end, with the guest half's own clock readings.
pub(crate) struct Ended {
    pub(crate) started_ns: u64,
    pub(crate) ended_ns: u64,
    pub(crate) end: IterationEnd,
    /// Why this was the virtual user's last iteration: after a trap no new instance came about.
    pub(crate) retired: Option<String>,
}

/// What a host call waits for. Nearly all are replies: a box would cost an allocation a request to make the rest smaller.
#[expect(clippy::large_enum_variant, reason = "the large one is the usual one")]
enum Answer {
    Reply(HttpReply),
    Woke,
    Cancelled,
}

/// What the guest half is to do next.
pub(crate) enum Next {
    /// Run an iteration.
    Iterate(Arrival),
    /// The run is over for this virtual user.
    Close,
}

/// Both directions, and who sleeps at either end.
#[derive(Default)]
struct Slots {
    to_io: VecDeque<ToIo>,
    io_waker: Option<Waker>,
    /// What the guest recorded since the I/O half last looked; its memory is reused.
    records: Vec<Record>,
    start: Option<Arrival>,
    answers: Vec<(Ticket, Answer)>,
    guest_waker: Option<Waker>,
    next_ticket: Ticket,
    /// The mailbox stands on the outbox's list already.
    announced: bool,
    /// Every host call answers `cancelled` from now on.
    cancelled: bool,
    closed: bool,
    /// Interrupts the guest; there once the instance is.
    stop: Option<StopFlag>,
}

/// One virtual user's mailbox.
pub(crate) struct Mailbox {
    /// The virtual user's id, unique over the run.
    pub(crate) vu: u32,
    slots: Mutex<Slots>,
    place: AtomicU8,
    wanted: AtomicU8,
    progress: AtomicBool,
    outbox: Arc<Outbox>,
}

impl Mailbox {
    /// A mailbox whose guest begins on the guest thread: instances are never made on the I/O thread.
    pub(crate) fn new(vu: u32, outbox: Arc<Outbox>) -> Arc<Mailbox> {
        Arc::new(Mailbox {
            vu,
            slots: Mutex::default(),
            place: AtomicU8::new(Place::Split as u8),
            wanted: AtomicU8::new(Place::Split as u8),
            progress: AtomicBool::new(false),
            outbox,
        })
    }

    /// A panic while the lock was held cannot leave the queues half-changed, so a poisoned lock is as good as any.
    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // --- the guest half's side ---

    /// Hands something to the I/O half.
    pub(crate) fn post(self: &Arc<Self>, message: ToIo) {
        let mut slots = self.slots();
        slots.to_io.push_back(message);
        if self.place() == Place::Inline {
            self.progress.store(true, Ordering::Relaxed);
            return;
        }
        if !slots.announced {
            slots.announced = true;
            drop(slots);
            self.outbox.announce(self.clone());
        }
    }

    /// Whether the run has cut this virtual user short: nothing will start any more.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.slots().cancelled
    }

    /// Gives the I/O half the means to interrupt the guest.
    pub(crate) fn set_stop_flag(&self, stop: StopFlag) {
        self.slots().stop = Some(stop);
    }

    /// Hands over what the guest recorded, and leaves `records` empty.
    pub(crate) fn post_records(&self, records: &mut Vec<Record>) {
        if !records.is_empty() {
            self.slots().records.append(records);
        }
    }

    /// Sends a request.
    pub(crate) fn http(self: &Arc<Self>, request: Arc<HttpRequest>) -> Reply {
        let ticket = self.ticket();
        self.post(ToIo::Http { ticket, request });
        Reply {
            mailbox: self.clone(),
            ticket,
            done: false,
        }
    }

    /// Waits for so long.
    pub(crate) fn sleep(self: &Arc<Self>, nanoseconds: u64) -> Nap {
        let ticket = self.ticket();
        self.post(ToIo::Sleep {
            ticket,
            nanoseconds,
        });
        Nap {
            mailbox: self.clone(),
            ticket,
            done: false,
        }
    }

    fn ticket(&self) -> Ticket {
        let mut slots = self.slots();
        slots.next_ticket += 1;
        slots.next_ticket
    }

    /// The next thing to do.
    pub(crate) fn next(self: &Arc<Self>) -> NextStart {
        NextStart {
            mailbox: self.clone(),
        }
    }

    fn poll_answer(&self, ticket: Ticket, cx: &mut Context<'_>) -> Poll<Answer> {
        let mut slots = self.slots();
        if let Some(at) = slots.answers.iter().position(|(t, _)| *t == ticket) {
            return Poll::Ready(slots.answers.swap_remove(at).1);
        }
        remember(&mut slots.guest_waker, cx);
        Poll::Pending
    }

    // --- the I/O half's side ---

    /// The next message of the guest; pending when there is none.
    pub(crate) fn poll_take(&self, cx: &mut Context<'_>) -> Poll<ToIo> {
        let mut slots = self.slots();
        if let Some(message) = slots.to_io.pop_front() {
            return Poll::Ready(message);
        }
        remember(&mut slots.io_waker, cx);
        Poll::Pending
    }

    /// Takes what the guest recorded; `empty` is what the guest records into from now on.
    pub(crate) fn take_records(&self, empty: Vec<Record>) -> Vec<Record> {
        std::mem::replace(&mut self.slots().records, empty)
    }

    /// Starts an iteration.
    pub(crate) fn start(&self, arrival: Arrival) {
        let mut slots = self.slots();
        slots.start = Some(arrival);
        self.wake_guest(slots);
    }

    /// Lets the guest half end once it has nothing under way.
    pub(crate) fn close(&self) {
        let mut slots = self.slots();
        slots.closed = true;
        self.wake_guest(slots);
    }

    /// From now on every host call of the guest is told that the run is stopping.
    pub(crate) fn cancel(&self) {
        let mut slots = self.slots();
        slots.cancelled = true;
        self.wake_io(slots);
    }

    /// Has the guest trap at its next epoch: it neither returned nor made a host call since it was cancelled.
    pub(crate) fn interrupt(&self) {
        if let Some(stop) = &self.slots().stop {
            stop.set();
        }
    }

    /// Answers a request.
    pub(crate) fn reply(&self, ticket: Ticket, reply: HttpReply) {
        self.answer(ticket, Answer::Reply(reply));
    }

    /// Answers a sleep that is over.
    pub(crate) fn woke(&self, ticket: Ticket) {
        self.answer(ticket, Answer::Woke);
    }

    /// Answers a request or a sleep that the run's stop cut short, or that came after it.
    pub(crate) fn answer_cancelled(&self, ticket: Ticket) {
        self.answer(ticket, Answer::Cancelled);
    }

    fn answer(&self, ticket: Ticket, answer: Answer) {
        let mut slots = self.slots();
        slots.answers.push((ticket, answer));
        self.wake_guest(slots);
    }

    fn wake_guest(&self, mut slots: MutexGuard<'_, Slots>) {
        if self.place() == Place::Inline {
            self.progress.store(true, Ordering::Relaxed);
        }
        if let Some(waker) = slots.guest_waker.take() {
            drop(slots);
            waker.wake();
        }
    }

    /// Wakes the I/O half; called by the outbox on the I/O thread, and by [`Mailbox::cancel`].
    fn wake_io(&self, mut slots: MutexGuard<'_, Slots>) {
        slots.announced = false;
        if let Some(waker) = slots.io_waker.take() {
            drop(slots);
            waker.wake();
        }
    }

    // --- placement ---

    /// Where the guest's future is polled.
    pub(crate) fn place(&self) -> Place {
        place_of(self.place.load(Ordering::Acquire))
    }

    /// Where it is to be polled. It moves when it is pending next.
    pub(crate) fn wanted(&self) -> Place {
        place_of(self.wanted.load(Ordering::Acquire))
    }

    /// Asks for a move.
    pub(crate) fn want(&self, place: Place) {
        self.wanted.store(place as u8, Ordering::Release);
    }

    /// Called by whoever takes the future over.
    pub(crate) fn settle(&self, place: Place) {
        self.place.store(place as u8, Ordering::Release);
    }

    /// Whether either half has posted anything since the last question. Inline only.
    pub(crate) fn take_progress(&self) -> bool {
        self.progress.swap(false, Ordering::Relaxed)
    }
}

fn place_of(raw: u8) -> Place {
    if raw == Place::Inline as u8 {
        Place::Inline
    } else {
        Place::Split
    }
}

fn remember(slot: &mut Option<Waker>, cx: &Context<'_>) {
    match slot {
        Some(waker) if waker.will_wake(cx.waker()) => {}
        _ => *slot = Some(cx.waker().clone()),
    }
}

fn cancelled_reply() -> HttpReply {
    let now = clock::monotonic_ns();
    HttpReply {
        result: Err(Failure {
            kind: ErrorKind::Cancelled,
            code: 0,
            message: "the run is stopping".to_owned(),
        }),
        timing: CallTiming {
            last: Phases::default(),
            sum: Phases::default(),
            hops: 0,
            stamp: Stamp::User,
            decode_ns: 0,
            ready_at_ns: now,
        },
        series: SeriesId::NONE,
    }
}

/// A request's answer, to be. Dropping it cancels the request.
pub(crate) struct Reply {
    mailbox: Arc<Mailbox>,
    ticket: Ticket,
    done: bool,
}

impl Future for Reply {
    type Output = HttpReply;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<HttpReply> {
        match self.mailbox.poll_answer(self.ticket, cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(answer) => {
                self.done = true;
                Poll::Ready(match answer {
                    Answer::Reply(reply) => reply,
                    Answer::Woke | Answer::Cancelled => cancelled_reply(),
                })
            }
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.done {
            self.mailbox.post(ToIo::Cancel {
                ticket: self.ticket,
            });
        }
    }
}

/// A sleep of the guest. Dropping it cancels it.
pub(crate) struct Nap {
    mailbox: Arc<Mailbox>,
    ticket: Ticket,
    done: bool,
}

impl Future for Nap {
    type Output = Result<(), Cancelled>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.mailbox.poll_answer(self.ticket, cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(answer) => {
                self.done = true;
                Poll::Ready(match answer {
                    Answer::Woke => Ok(()),
                    Answer::Reply(_) | Answer::Cancelled => Err(Cancelled),
                })
            }
        }
    }
}

impl Drop for Nap {
    fn drop(&mut self) {
        if !self.done {
            self.mailbox.post(ToIo::Cancel {
                ticket: self.ticket,
            });
        }
    }
}

/// Waits for [`Next`].
pub(crate) struct NextStart {
    mailbox: Arc<Mailbox>,
}

impl Future for NextStart {
    type Output = Next;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Next> {
        let mut slots = self.mailbox.slots();
        if let Some(arrival) = slots.start.take() {
            return Poll::Ready(Next::Iterate(arrival));
        }
        if slots.closed {
            return Poll::Ready(Next::Close);
        }
        remember(&mut slots.guest_waker, cx);
        Poll::Pending
    }
}

/// Moves the guest's future to `place` and goes on there. It relies on [`Mailbox::wanted`] being looked at after each poll.
pub(crate) async fn hop(mailbox: &Arc<Mailbox>, place: Place) {
    if mailbox.place() == place {
        return;
    }
    mailbox.want(place);
    Hop { asked: false }.await;
}

/// Pending once, without waking itself: whoever takes the future over polls it anyway. One that woke itself would tie the wake
/// to the thread it leaves.
struct Hop {
    asked: bool,
}

impl Future for Hop {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.asked {
            return Poll::Ready(());
        }
        self.asked = true;
        Poll::Pending
    }
}

/// A guest's future on its way to another thread.
pub(crate) struct Parcel {
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) future: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// All mailboxes of a worker that have something for the I/O thread.
#[derive(Default)]
pub(crate) struct Outbox {
    /// Announced since the last flush; written by the guest thread.
    pending: Mutex<Vec<Arc<Mailbox>>>,
    /// Flushed; taken by the I/O thread.
    delivered: Mutex<Vec<Arc<Mailbox>>>,
    /// Futures that go back to the I/O thread.
    parcels: Mutex<Vec<Parcel>>,
    /// The I/O thread's pump.
    pump: AtomicWaker,
}

impl Outbox {
    fn announce(&self, mailbox: Arc<Mailbox>) {
        lock(&self.pending).push(mailbox);
    }

    /// Sends a future to the I/O thread, with the next flush.
    pub(crate) fn ship(&self, parcel: Parcel) {
        lock(&self.parcels).push(parcel);
    }

    /// Wakes the I/O thread if anything was announced. Called by the guest thread once a turn.
    pub(crate) fn flush(&self) {
        let mut pending = lock(&self.pending);
        let parcels = !lock(&self.parcels).is_empty();
        if pending.is_empty() && !parcels {
            return;
        }
        lock(&self.delivered).append(&mut pending);
        drop(pending);
        self.pump.wake();
    }

    /// Wakes the I/O halves of all mailboxes with news, and hands over futures that arrived. Never ready.
    pub(crate) fn poll_pump(&self, cx: &Context<'_>, arrived: &mut dyn FnMut(Parcel)) {
        self.pump.register(cx.waker());
        let delivered = std::mem::take(&mut *lock(&self.delivered));
        for mailbox in delivered {
            mailbox.wake_io(mailbox.slots());
        }
        let parcels = std::mem::take(&mut *lock(&self.parcels));
        for parcel in parcels {
            arrived(parcel);
        }
    }
}

/// A panic cannot leave these lists half-changed, so a poisoned lock is as good as any.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
