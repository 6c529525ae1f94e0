//! `http.pending`: a call under way, and how long it took.
//!
//! A call's gross time ends when the guest runs again with its answer. After `start` the guest may do something else meanwhile:
//! then it ends when the answer lay ready, which the host stamped, unless the guest was waiting for it.
//!
//! ```text
//! Running ──ready──► Ready ──wait──► Taken
//!    │                 └────cancel──────┐
//!    └─────────────cancel───────────► Cancelled
//! ```

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use nettare_core::sample::ErrorKind;

use crate::doors::{HttpReply, HttpRequest};
use crate::host::http::response::Response;
use crate::host::values::{WitError, WitErrorKind};
use crate::meter;
use crate::record::Record;
use crate::state::{Boxed, State};

/// A call under way.
pub(crate) struct Pending(Stage);

enum Stage {
    Running {
        reply: Boxed<HttpReply>,
        called_ns: u64,
    },
    Ready {
        reply: Box<HttpReply>,
        gross_ns: u64,
    },
    /// It was refused before it began.
    Refused(WitError),
    Taken,
    Cancelled,
}

impl Pending {
    /// Begins a call.
    pub(crate) fn start(state: &mut State, request: Arc<HttpRequest>) -> Pending {
        let called_ns = meter::monotonic_ns();
        Pending(Stage::Running {
            reply: state.doors.http(request),
            called_ns,
        })
    }

    /// A call that never began.
    pub(crate) fn refused(error: WitError) -> Pending {
        Pending(Stage::Refused(error))
    }

    /// Whether the result is there. `awaited` says that the guest has been waiting for it and nothing else.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>, awaited: bool) -> Poll<()> {
        let Stage::Running { reply, called_ns } = &mut self.0 else {
            return Poll::Ready(());
        };
        let Poll::Ready(reply) = Pin::new(reply).poll(context) else {
            return Poll::Pending;
        };
        let now = meter::monotonic_ns();
        // A stamp from before the call or from the future can only be a fault of the host's; now is the truth then.
        let is_plausible = (*called_ns..=now).contains(&reply.timing.ready_at_ns);
        let ended_ns = if awaited || !is_plausible {
            now
        } else {
            reply.timing.ready_at_ns
        };
        let gross_ns = ended_ns.saturating_sub(*called_ns);
        self.0 = Stage::Ready {
            reply: Box::new(reply),
            gross_ns,
        };
        Poll::Ready(())
    }

    /// The result, once.
    pub(crate) fn take(&mut self, state: &mut State) -> Result<Response, WitError> {
        match std::mem::replace(&mut self.0, Stage::Taken) {
            Stage::Ready { reply, gross_ns } => settle(state, *reply, None, gross_ns),
            Stage::Refused(error) => Err(error),
            Stage::Taken => Err(WitError::invalid(
                "this call was waited for before; its result is taken",
            )),
            Stage::Cancelled => Err(WitError::new(
                WitErrorKind::Cancelled,
                "the guest cancelled this call",
            )),
            running @ Stage::Running { .. } => {
                self.0 = running;
                Err(WitError::invalid("this call is still under way"))
            }
        }
    }

    /// Gives the call up. Dropping what the host gave cancels it there. One that was ready has had its time: that is recorded.
    pub(crate) fn cancel(&mut self, state: &mut State) {
        self.abandon(state);
        if !matches!(self.0, Stage::Taken) {
            self.0 = Stage::Cancelled;
        }
    }

    /// The handle is gone.
    pub(crate) fn abandon(&mut self, state: &mut State) {
        let _ = self.poll(&mut Context::from_waker(Waker::noop()), false);
        if let Stage::Ready { reply, gross_ns } = &self.0 {
            record(state, reply, None, *gross_ns);
        }
    }
}

/// A call has come to its end: it is recorded, and its answer becomes what the guest sees. `called_ns` is for a guest that has
/// been waiting since then.
pub(crate) fn settle(
    state: &mut State,
    reply: HttpReply,
    called_ns: Option<u64>,
    gross_ns: u64,
) -> Result<Response, WitError> {
    record(state, &reply, called_ns, gross_ns);
    match reply.result {
        Ok(response) => Ok(Response::new(response, &reply.timing, gross_ns)),
        Err(failure) => {
            state.was_cancelled |= failure.kind == ErrorKind::Cancelled;
            Err(failure.into())
        }
    }
}

fn record(state: &mut State, reply: &HttpReply, called_ns: Option<u64>, gross_ns: u64) {
    // The phases come from other clocks than the gross time: a tare below nothing is their difference, and means none.
    let tare_ns = gross_ns.saturating_sub(reply.timing.sum.sum_ns());
    state.record(Record::Call {
        series: reply.series,
        called_ns,
        gross_ns,
        tare_ns,
    });
}
