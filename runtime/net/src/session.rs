//! A virtual user's connections.

use std::rc::Rc;

use nettare_core::sample::{CallTiming, ErrorKind, Exchange, Phases, Stamp};

use crate::error::failure;
use crate::{Call, Client, Request, clock};

/// One virtual user's connections.
#[derive(Debug)]
pub struct Session {
    client: Rc<Client>,
}

impl Session {
    /// A session without connections.
    pub fn new(client: &Rc<Client>) -> Rc<Session> {
        Rc::new(Session {
            client: Rc::clone(client),
        })
    }

    /// Sends `request`, follows redirects, and returns when the whole response is there or the call failed.
    ///
    /// `on_exchange` is called as each hop ends, also for those that failed or were retried. Dropping the future cancels the
    /// call: the connection it used is closed and not used again.
    pub async fn call(&self, _request: &Request, _on_exchange: &mut dyn FnMut(&Exchange)) -> Call {
        let _ = &self.client;
        Call {
            result: Err(failure(
                ErrorKind::GeneratorLimit,
                0,
                "this build cannot connect yet",
            )),
            timing: CallTiming {
                last: Phases::default(),
                sum: Phases::default(),
                hops: 0,
                stamp: Stamp::User,
                decode_ns: 0,
                ready_at_ns: clock::monotonic_ns(),
            },
            exchange: None,
        }
    }

    /// Tells that an iteration ended: closes the connections where the plan says so.
    pub fn end_iteration(&self) {}

    /// Closes all connections.
    pub fn close(&self) {}
}
