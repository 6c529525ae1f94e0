//! A virtual user as the worker sees it: something that can be started, cancelled and closed, whatever it is made of.

use std::cell::{Cell, OnceCell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use nettare_core::sample::Arrival;
use nettare_net::Session;

use crate::mailbox::Mailbox;

/// An iteration under way.
#[derive(Clone, Copy)]
pub(crate) struct Started {
    pub(crate) arrival: Arrival,
    /// The part of its lateness for which no virtual user was free.
    pub(crate) waited_for_vu_ns: u64,
}

/// A guest's future, wherever it is polled.
pub(crate) type GuestFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One virtual user.
pub(crate) struct Port {
    /// Unique over the run, from 1; 0 for `setup` and `teardown`.
    pub(crate) vu: u32,
    /// The way to its guest; none for a native one.
    pub(crate) mailbox: Option<Arc<Mailbox>>,
    /// The iteration under way; set at its start, taken at its end.
    current: Cell<Option<Started>>,
    /// Set for a native virtual user's next iteration, taken when it begins.
    next: Cell<Option<Started>>,
    /// A guest's future that has come to be polled here.
    parcel: Cell<Option<GuestFuture>>,
    /// Its connections; there once its task is.
    session: OnceCell<Rc<Session>>,
    cancelled: Cell<bool>,
    closed: Cell<bool>,
    /// The virtual user's task on this thread.
    waker: RefCell<Option<Waker>>,
}

impl Port {
    /// A virtual user that has not started anything.
    pub(crate) fn new(vu: u32, mailbox: Option<Arc<Mailbox>>) -> Port {
        Port {
            vu,
            mailbox,
            current: Cell::new(None),
            next: Cell::new(None),
            parcel: Cell::new(None),
            session: OnceCell::new(),
            cancelled: Cell::new(false),
            closed: Cell::new(false),
            waker: RefCell::new(None),
        }
    }

    /// Gives it its connections, once.
    pub(crate) fn attach(&self, session: &Rc<Session>) {
        if self.is_cancelled() {
            session.cut_short();
        }
        // A second one would belong to another virtual user.
        let _ = self.session.set(session.clone());
    }

    /// Starts an iteration.
    pub(crate) fn start(&self, started: Started) {
        self.current.set(Some(started));
        match &self.mailbox {
            Some(mailbox) => mailbox.start(started.arrival),
            None => {
                self.next.set(Some(started));
                self.wake();
            }
        }
    }

    /// The iteration under way has ended; answers which it was.
    pub(crate) fn end(&self) -> Option<Started> {
        self.current.take()
    }

    /// Whether an iteration is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.current.get().is_some()
    }

    /// Cuts short what is under way, for good.
    pub(crate) fn cancel(&self) {
        self.cancelled.set(true);
        if let Some(session) = self.session.get() {
            session.cut_short();
        }
        if let Some(mailbox) = &self.mailbox {
            mailbox.cancel();
        }
        self.wake();
    }

    /// Whether [`Port::cancel`] was called.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.get()
    }

    /// Lets the virtual user end when it is idle.
    pub(crate) fn close(&self) {
        self.closed.set(true);
        if let Some(mailbox) = &self.mailbox {
            mailbox.close();
        }
        self.wake();
    }

    /// A native virtual user's next iteration; none when it is to end.
    pub(crate) async fn next(&self) -> Option<Started> {
        poll_fn(|cx| {
            if let Some(started) = self.next.take() {
                return Poll::Ready(Some(started));
            }
            if self.closed.get() || self.cancelled.get() {
                return Poll::Ready(None);
            }
            self.register(cx);
            Poll::Pending
        })
        .await
    }

    /// Gives the virtual user's task a guest's future to poll.
    pub(crate) fn receive(&self, future: GuestFuture) {
        self.parcel.set(Some(future));
        self.wake();
    }

    /// The guest's future, if one has come.
    pub(crate) fn take_parcel(&self) -> Option<GuestFuture> {
        self.parcel.take()
    }

    /// Remembers whom to wake.
    pub(crate) fn register(&self, cx: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        match &*waker {
            Some(known) if known.will_wake(cx.waker()) => {}
            _ => *waker = Some(cx.waker().clone()),
        }
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }
}
