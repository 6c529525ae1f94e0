//! The doors out of the sandbox that do I/O: the [`Host`] trait, and what goes through it.
//!
//! The engine implements the trait with a mailbox to its I/O thread; tests implement it with canned answers. Everything that
//! needs no I/O never reaches it.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use nettare_core::sample::{CallTiming, Failure, SkipReason};
use nettare_core::stats::SeriesId;

use crate::host::Response;
use crate::record::Record;

/// What a virtual user needs of the world outside. One value for each virtual user.
pub trait Host: Send + 'static {
    /// An answer under way. Dropping it cancels the call.
    type Reply: Future<Output = HttpReply> + Send + Unpin + 'static;
    /// A sleep under way. Dropping it ends the interest in it.
    type Sleep: Future<Output = Result<(), Cancelled>> + Send + Unpin + 'static;

    /// Begins a call. The request is not changed any more; the guest may change its own and send that.
    fn http(&mut self, request: Arc<HttpRequest>) -> Self::Reply;

    /// Begins to sleep for so many nanoseconds.
    fn sleep(&mut self, nanoseconds: u64) -> Self::Sleep;

    /// Asks for the end of the whole run, in good order.
    fn abort(&mut self, why: String);

    /// Hands a check to the judges. Pending while there is no room for it and the plan says to wait; an error says why it will not
    /// be evaluated.
    fn defer(&mut self, check: DeferredCheck) -> BoxFuture<'static, Result<(), SkipReason>> {
        drop(check);
        Box::pin(std::future::ready(Err(SkipReason::Stop)))
    }

    /// A line for the run's log.
    fn log(&mut self, level: LogLevel, message: String);

    /// Where this virtual user's records go. The engine drains it at each I/O call and at the end of each iteration.
    fn records(&mut self) -> &mut Vec<Record>;

    /// Asks for the records to be taken now: thousands are waiting, and the guest makes no I/O call. Past 65,536 they are dropped
    /// and counted.
    fn flush_records(&mut self) {}
}

/// A check on its way to a judge: [`crate::Vu::judge`] evaluates it, on whatever thread.
#[derive(Debug)]
pub struct DeferredCheck {
    /// The check, as the registry numbers it.
    pub check: u32,
    /// The check, as the guest does.
    pub(crate) index: u32,
    /// The innermost group when it was deferred; 0 when there was none.
    pub group: u32,
    /// The virtual user's tags at that time.
    pub(crate) tags: Arc<[(String, String)]>,
    /// Shared with the guest: nothing was copied.
    pub(crate) response: Response,
    /// What the judge is to know besides.
    pub(crate) context: Bytes,
    /// When it was deferred, on the monotonic clock.
    pub(crate) deferred_ns: u64,
}

impl DeferredCheck {
    /// Bytes that it keeps alive: the response's body, and the context.
    pub fn held_bytes(&self) -> u64 {
        let body = self.response.body().map_or(0, Bytes::len);
        u64::try_from(body.saturating_add(self.context.len())).unwrap_or(u64::MAX)
    }

    /// The virtual user's tags when it was deferred, sorted by key.
    pub fn tags(&self) -> &Arc<[(String, String)]> {
        &self.tags
    }
}

/// The run is stopping: whoever waits should unwind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For the scenario's author.
    Debug,
    /// Worth knowing.
    Info,
    /// Something is odd; the run goes on.
    Warn,
    /// Something is wrong.
    Error,
}

/// A request as a guest built it.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// The method; any token, in the guest's spelling.
    pub method: http::Method,
    /// The URL as the guest gave it. Whether it can be reached is the host's business.
    pub url: String,
    /// Header fields; values of one name keep their order.
    pub headers: http::HeaderMap,
    /// The body; empty when there is none.
    pub body: Bytes,
    /// The route template that stands for the URL in metrics.
    pub name: Option<String>,
    /// The virtual user's tags and the request's own, sorted by key; the request's own win.
    pub tags: Vec<(String, String)>,
    /// The innermost group at the time of sending, as the registry numbers it; 0 when there is none.
    pub group: u32,
    /// The call's deadline; none leaves it to the plan.
    pub timeout_ns: Option<u64>,
    /// Redirects to follow; none leaves it to the plan.
    pub max_redirects: Option<u32>,
    /// Whether the body is kept for the guest, or only counted.
    pub keep_body: bool,
    /// Statuses from the first to the second, both included, count as expected.
    pub expected: (u16, u16),
    /// Stands for method, URL, name, tags, group and expected statuses: requests of one virtual user that agree in all these
    /// have the same number, also when they are built anew in each iteration. A 64-bit hash, so that a host can cache by it
    /// what it derives from them.
    pub id: u64,
}

/// How a call ended.
#[derive(Debug)]
pub struct HttpReply {
    /// The last hop's response, or why there is none.
    pub result: Result<HttpResponse, Failure>,
    /// What the call took on the wire.
    pub timing: CallTiming,
    /// The series that the call's gross time and tare belong to.
    pub series: SeriesId,
}

/// A response, whole and decoded.
#[derive(Clone, Debug)]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// Header fields.
    pub headers: http::HeaderMap,
    /// The body after decompression; empty when it was only counted.
    pub body: Bytes,
    /// Bytes of the body after decompression, also when it was only counted.
    pub body_length: u64,
    /// Why the body is not there although it was kept: its content coding was broken. Status and headers stand.
    pub body_failure: Option<Failure>,
    /// The URL that answered, after redirects.
    pub url: Arc<str>,
}
