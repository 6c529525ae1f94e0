//! One `timerfd` for all the waiting of a worker: the scheduler's next arrival, guests' sleeps, deadlines of shutting down.
//!
//! Tokio's timers have a resolution of a millisecond and were measured late by 1.55 ms at the median, a `timerfd` by 0.04: too
//! much to pace by, so pacing does not use them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::clock;

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// The timers of one worker. Times are on the monotonic clock.
pub(crate) struct Timer {
    fd: AsyncFd<OwnedFd>,
    /// Who waits until when; the number tells apart those who wait for the same time.
    waiting: RefCell<BTreeMap<(u64, u64), Option<Waker>>>,
    next_number: Cell<u64>,
    /// What the descriptor is set to; 0 when it is not.
    armed_ns: Cell<u64>,
}

impl Timer {
    /// Makes the descriptor; to be called on a running runtime.
    ///
    /// # Errors
    ///
    /// When no descriptor is to be had.
    pub(crate) fn new() -> io::Result<Rc<Timer>> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Rc::new(Timer {
            fd: register(fd)?,
            waiting: RefCell::default(),
            next_number: Cell::new(0),
            armed_ns: Cell::new(0),
        }))
    }

    /// Waits until `at_ns`, and not at all when that is past.
    pub(crate) fn until(self: &Rc<Self>, at_ns: u64) -> Until {
        let number = self.next_number.get();
        self.next_number.set(number + 1);
        Until {
            timer: self.clone(),
            key: (at_ns, number),
            registered: false,
        }
    }

    /// Serves the descriptor for ever.
    ///
    /// # Errors
    ///
    /// When the descriptor cannot be read or set.
    pub(crate) async fn drive(&self) -> io::Result<()> {
        loop {
            let mut ready = self.fd.readable().await?;
            let mut expirations = [0; 8];
            match rustix::io::read(self.fd.get_ref(), &mut expirations) {
                Ok(_) => {}
                Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                Err(error) => return Err(error.into()),
            }
            self.armed_ns.set(0);
            self.fire(clock::monotonic_ns());
            self.arm()?;
        }
    }

    /// Wakes everybody whose time has come. They stay in the map, without a waker, until they look.
    fn fire(&self, now_ns: u64) {
        for (_, waker) in self.waiting.borrow_mut().range_mut(..=(now_ns, u64::MAX)) {
            if let Some(waker) = waker.take() {
                waker.wake();
            }
        }
    }

    /// Sets the descriptor to the earliest time that somebody sleeps for, unless it is set to that or an earlier one.
    fn arm(&self) -> io::Result<()> {
        let first = self
            .waiting
            .borrow()
            .iter()
            .find(|(_, waker)| waker.is_some())
            .map(|((at, _), _)| *at);
        let Some(at_ns) = first else { return Ok(()) };
        let armed = self.armed_ns.get();
        if armed != 0 && armed <= at_ns {
            return Ok(());
        }
        let value = Timespec {
            tv_sec: (at_ns / NANOSECONDS_PER_SECOND) as i64,
            tv_nsec: (at_ns % NANOSECONDS_PER_SECOND) as i64,
        };
        let spec = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: value,
        };
        timerfd_settime(self.fd.get_ref(), TimerfdTimerFlags::ABSTIME, &spec)?;
        self.armed_ns.set(at_ns);
        Ok(())
    }
}

/// Has the runtime watch a descriptor. The newer, unsafe form asks that the descriptor stay open as long as the registration:
/// an `OwnedFd` that is moved in does.
#[expect(
    deprecated,
    reason = "the form that replaces it needs unsafe code for what the type already promises"
)]
fn register(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}

/// A wait for a point in time. Dropping it ends the wait.
pub(crate) struct Until {
    timer: Rc<Timer>,
    key: (u64, u64),
    registered: bool,
}

impl Future for Until {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.key.0 <= clock::monotonic_ns() {
            return Poll::Ready(());
        }
        self.timer
            .waiting
            .borrow_mut()
            .insert(self.key, Some(cx.waker().clone()));
        self.registered = true;
        // A descriptor that cannot be set is reported by `drive`, which sets it again at once.
        let _ = self.timer.arm();
        Poll::Pending
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        if self.registered {
            self.timer.waiting.borrow_mut().remove(&self.key);
        }
    }
}
