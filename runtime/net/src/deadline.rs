//! Deadlines, judged on the wire.
//!
//! A timer that fires says that time has passed here; whether the response was late is for the kernel's stamps to say. So on
//! expiry the socket is asked once more, and then:
//!
//! | the response | verdict |
//! |---|---|
//! | is whole, its last byte stamped within the deadline | answered |
//! | is whole, its last byte certainly after the deadline | timeout |
//! | is whole, but nobody can say when (no exact stamp), and we looked over 10 ms late | generator-limit |
//! | is not whole, and the timer was over 10 ms late or the receive window was short | generator-limit |
//! | is not whole | timeout |

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use nettare_core::sample::{ErrorKind, Failure, Stamp};
use tokio::time::Sleep;

use crate::clock;
use crate::error::failure;
use crate::ledger::Ledger;

/// Later than this, and the deadline says more about this machine than about the server.
const PUNCTUAL_WITHIN_NS: u64 = 10_000_000;

/// A timer that is armed only when it has to be: one that is armed for some earlier time is left alone until it fires. With
/// equal timeouts a session's timer thus fires once per timeout, not once per request.
#[derive(Debug)]
pub(crate) struct Timer {
    sleep: Pin<Box<Sleep>>,
    armed_for_ns: u64,
    fired: bool,
}

/// A deadline passed before its work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expired {
    pub(crate) deadline_ns: u64,
    /// When the timer was seen to have fired.
    pub(crate) seen_ns: u64,
}

impl Timer {
    pub(crate) fn new(deadline_ns: u64) -> Timer {
        let sleep = Box::pin(tokio::time::sleep_until(clock::instant_of(deadline_ns)));
        Timer {
            sleep,
            armed_for_ns: deadline_ns,
            fired: false,
        }
    }

    /// Does `work` until `deadline_ns`. On expiry, `look_again` is called and the work polled a last time.
    pub(crate) async fn within<F: Future>(
        &mut self,
        deadline_ns: u64,
        look_again: impl Fn(),
        mut work: Pin<&mut F>,
    ) -> Result<F::Output, Expired> {
        std::future::poll_fn(|context| {
            if let Poll::Ready(output) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(output));
            }
            let seen_ns = ready!(self.poll_expired(context, deadline_ns));
            look_again();
            match work.as_mut().poll(context) {
                Poll::Ready(output) => Poll::Ready(Ok(output)),
                Poll::Pending => Poll::Ready(Err(Expired {
                    deadline_ns,
                    seen_ns,
                })),
            }
        })
        .await
    }

    fn poll_expired(&mut self, context: &mut Context<'_>, deadline_ns: u64) -> Poll<u64> {
        loop {
            if self.fired || self.armed_for_ns > deadline_ns {
                self.sleep.as_mut().reset(clock::instant_of(deadline_ns));
                self.armed_for_ns = deadline_ns;
                self.fired = false;
            }
            ready!(self.sleep.as_mut().poll(context));
            self.fired = true;
            let now_ns = clock::monotonic_ns();
            if now_ns >= deadline_ns {
                return Poll::Ready(now_ns);
            }
        }
    }
}

impl Expired {
    /// Why an exchange that was not whole at its deadline failed. `ledger` is that of its connection, if it got one.
    pub(crate) fn failure(&self, ledger: Option<&Ledger>, timeout_ns: u64) -> Failure {
        let late_ns = self.seen_ns.saturating_sub(self.deadline_ns);
        if late_ns > PUNCTUAL_WITHIN_NS {
            return looked_late(timeout_ns, late_ns);
        }
        if ledger.is_some_and(Ledger::window_limited) {
            return failure(
                ErrorKind::GeneratorLimit,
                0,
                "the response was not there in time, but its sender had to wait for this generator to read; lower the load \
                 on it or use more workers",
            );
        }
        timed_out(timeout_ns)
    }
}

/// Whether a response that is whole came in time: none if it did.
pub(crate) fn judge_whole(ledger: &Ledger, deadline_ns: u64, timeout_ns: u64) -> Option<Failure> {
    let (last, before_ns) = ledger.last_data();
    if last.at_ns <= deadline_ns {
        return None;
    }
    let certainly_late = last.stamp() == Stamp::Exact || before_ns > deadline_ns;
    let late_ns = clock::monotonic_ns().saturating_sub(deadline_ns);
    if !certainly_late && late_ns > PUNCTUAL_WITHIN_NS {
        return Some(looked_late(timeout_ns, late_ns));
    }
    Some(timed_out(timeout_ns))
}

fn timed_out(timeout_ns: u64) -> Failure {
    let message = format!(
        "no whole response within {} ms; raise the request's timeout or --timeout if the server may take longer",
        timeout_ns / 1_000_000
    );
    failure(ErrorKind::Timeout, 0, message)
}

fn looked_late(timeout_ns: u64, late_ns: u64) -> Failure {
    let message = format!(
        "whether the response came within {} ms is not known: this generator looked {} ms late; lower the load on it or use \
         more workers",
        timeout_ns / 1_000_000,
        late_ns / 1_000_000
    );
    failure(ErrorKind::GeneratorLimit, 0, message)
}
