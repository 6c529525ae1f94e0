//! Settings of the run as a whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::keyword::keywords;
use crate::units::duration;

const SECOND_NS: u64 = 1_000_000_000;

/// Settings of the run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RunOptions {
    /// Hosts, addresses and networks that guests may reach, besides loopback.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_hosts: Vec<String>,
    /// What guests see as their environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Tags on every sample.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Whose connections are whose.
    pub connections: ConnectionPolicy,
    /// Load before the measured time, kept in a phase of its own.
    #[serde(rename = "warmup", with = "duration")]
    pub warmup_ns: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// How many workers; none means one for each CPU that affinity and quota leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Where guests are polled.
    pub guest_thread: GuestThread,
    /// What guests are metered by.
    pub meter: Meter,
    /// What becomes of a deferred check when the queue is full.
    #[serde(default)]
    pub deferred_queue: DeferredQueue,
    /// The share of deferred checks that are evaluated, from 0 to 1.
    #[serde(default = "all")]
    pub check_sample: f64,
    /// Where receive stamps come from.
    pub timestamps: Timestamps,
    /// Which HTTP versions may be spoken.
    pub http: HttpVersions,
    /// Deadline of a call that sets none.
    #[serde(rename = "timeout", with = "duration")]
    pub timeout_ns: u64,
    /// Redirects followed by a call that sets no limit.
    pub max_redirects: u32,
    /// Value of the `user-agent` header of requests that set none.
    pub user_agent: String,
    /// Whether certificates are taken unverified.
    pub insecure_skip_tls_verify: bool,
    /// The run ends as soon as nothing at all was answered for this long; none lets it go on.
    #[serde(rename = "abort-unanswered", with = "duration::or_never")]
    pub abort_unanswered_ns: Option<u64>,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            allow_hosts: Vec::new(),
            env: BTreeMap::new(),
            tags: BTreeMap::new(),
            connections: ConnectionPolicy::PerVu,
            warmup_ns: 0,
            seed: 0,
            workers: None,
            guest_thread: GuestThread::Auto,
            meter: Meter::Time,
            deferred_queue: DeferredQueue::Wait,
            check_sample: 1.0,
            timestamps: Timestamps::Auto,
            http: HttpVersions::Negotiated,
            timeout_ns: 60 * SECOND_NS,
            max_redirects: 10,
            user_agent: concat!("nettare/", env!("CARGO_PKG_VERSION")).to_owned(),
            insecure_skip_tls_verify: false,
            abort_unanswered_ns: Some(10 * SECOND_NS),
        }
    }
}

keywords! {
    /// Whose connections are whose.
    ConnectionPolicy, "a connection policy" {
        /// A virtual user keeps its connections from iteration to iteration.
        PerVu = "per-vu",
        /// A virtual user's connections are closed when its iteration ends.
        PerIteration = "per-iteration",
        /// Every request opens its own, which is closed as soon as the response is there. The request does not ask for that: no
        /// `Connection: close` is sent, so the generator closes first, and the port in TIME_WAIT is its own.
        PerRequest = "per-request",
    } later ["shared:"]
}

keywords! {
    /// Where guests are polled.
    GuestThread, "a place for guests" {
        /// Decided from the cost of the first iterations.
        Auto = "auto",
        /// On the worker's I/O thread: cheapest for few and light guests.
        Inline = "inline",
        /// On a thread of their own, so that no guest keeps a socket from being drained.
        Split = "split",
    } later []
}

keywords! {
    /// What guests are metered by.
    Meter, "a meter" {
        /// CPU time.
        Time = "time",
        /// CPU time, and instructions: equal from run to run for equal input, at the price of slower guests.
        Instructions = "instructions",
        /// Nothing.
        Off = "off",
    } later []
}

keywords! {
    /// What becomes of a deferred check when the queue is full.
    #[derive(Default)]
    DeferredQueue, "a way of deferring checks" {
        #[default]
        /// The virtual user waits until there is room; what it waits is tare.
        Wait = "wait",
        /// The check is counted as skipped.
        Skip = "skip",
    } later []
}

/// The share of deferred checks that are evaluated where nothing is said.
fn all() -> f64 {
    1.0
}

keywords! {
    /// Where receive stamps come from.
    Timestamps, "a source of timestamps" {
        /// The kernel where it gives them, else user space.
        Auto = "auto",
        /// The kernel, or the run is refused.
        Kernel = "kernel",
        /// User space.
        User = "user",
    } later []
}

keywords! {
    /// Which HTTP versions may be spoken.
    HttpVersions, "a choice of HTTP versions" {
        /// What TLS negotiates; HTTP/1.1 without TLS.
        Negotiated = "negotiated",
        /// HTTP/1.1 alone.
        Http1 = "http1",
        /// HTTP/2 alone: by ALPN over TLS, by prior knowledge without.
        Http2 = "http2",
    } later ["http3"]
}
