//! What goes into a call and what comes out of it.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method};
use nettare_core::sample::{CallTiming, Exchange, Failure, Protocol};

use crate::Target;

/// A request, as it is sent any number of times.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Where to.
    pub target: Arc<Target>,
    /// Fields in their order. `host`, `user-agent` and `content-length` are added where they are missing.
    pub headers: HeaderMap,
    /// The body; empty for none.
    pub body: Bytes,
    /// The deadline of the whole call, redirects included, from its beginning; none means the run's.
    pub timeout_ns: Option<u64>,
    /// Redirects to follow; 0 hands the redirecting response back, none means the run's limit.
    pub max_redirects: Option<u32>,
    /// Whether the body is kept. A discarded body is read, counted and limited all the same.
    pub keep_body: bool,
}

/// A response that arrived whole.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The protocol it came by.
    pub version: Protocol,
    /// Its fields, without the trailers.
    pub headers: HeaderMap,
    /// Its body, empty when discarded. The bytes stand against the process's budget until the last clone is dropped.
    pub body: Bytes,
    /// The body's length in bytes, also when it was discarded.
    pub body_length: u64,
    /// Where it came from: the request's target, or that of the last redirect.
    pub target: Arc<Target>,
}

/// How a call ended.
#[derive(Debug)]
pub struct Call {
    /// The last hop's response, or why there is none.
    pub result: Result<Response, Failure>,
    /// What the call took on the wire.
    pub timing: CallTiming,
    /// The last hop; none when nothing was attempted.
    pub exchange: Option<Exchange>,
}
