//! What is to be run, apart from how: validated, serialisable, printable, and split over workers by [`crate::segment`].
//!
//! A plan is made by the command line from defaults, the scenario's own options, a plan file, the environment and flags, in
//! this order of rising precedence. Durations are nanoseconds here; people write them as [`crate::units`] says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::threshold::Threshold;

/// A whole test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Plan {
    /// Settings of the run as a whole.
    pub run: RunOptions,
    /// The scenarios, in the order in which they were written.
    pub scenarios: Vec<Scenario>,
    /// What the totals are judged by.
    pub thresholds: Vec<Threshold>,
    /// Every limit that has a name.
    pub limits: Limits,
}

/// Settings of the run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RunOptions {
    /// Hosts, addresses and networks that guests may reach, besides loopback.
    pub allow_hosts: Vec<String>,
    /// What guests see as their environment.
    pub env: BTreeMap<String, String>,
    /// Tags on every sample.
    pub tags: BTreeMap<String, String>,
    /// Whose connections are whose.
    pub connections: ConnectionPolicy,
    /// Load before the measured time, kept in a phase of its own.
    pub warmup_ns: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// How many workers; none means one for each CPU that affinity and quota leave.
    pub workers: Option<u32>,
    /// Where guests are polled.
    pub guest_thread: GuestThread,
    /// What guests are metered by.
    pub meter: Meter,
    /// Where receive stamps come from.
    pub timestamps: Timestamps,
    /// Which HTTP versions may be spoken.
    pub http: HttpVersions,
    /// Deadline of a call that sets none.
    pub timeout_ns: u64,
    /// Redirects followed by a call that sets no limit.
    pub max_redirects: u32,
    /// Value of the `user-agent` header of requests that set none.
    pub user_agent: String,
    /// Whether certificates are taken unverified.
    pub insecure_skip_tls_verify: bool,
    /// The run ends as soon as nothing at all was answered for this long; none lets it go on.
    pub abort_unanswered_ns: Option<u64>,
}

/// Whose connections are whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionPolicy {
    /// A virtual user keeps its connections from iteration to iteration.
    PerVu,
    /// A virtual user's connections are closed when its iteration ends.
    PerIteration,
    /// Every request opens its own.
    PerRequest,
}

/// Where guests are polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestThread {
    /// Decided from the cost of the first iterations.
    Auto,
    /// On the worker's I/O thread: cheapest for few and light guests.
    Inline,
    /// On a thread of their own, so that no guest keeps a socket from being drained.
    Split,
}

/// What guests are metered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meter {
    /// CPU time.
    Time,
    /// Nothing.
    Off,
}

/// Where receive stamps come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timestamps {
    /// The kernel where it gives them, else user space.
    Auto,
    /// The kernel, or the run is refused.
    Kernel,
    /// User space.
    User,
}

/// Which HTTP versions may be spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HttpVersions {
    /// What TLS negotiates; HTTP/1.1 without TLS.
    Negotiated,
    /// HTTP/1.1 alone.
    Http1,
    /// HTTP/2 alone: by ALPN over TLS, by prior knowledge without.
    Http2,
}

/// One scenario of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Scenario {
    /// Its name in metrics.
    pub name: String,
    /// What a virtual user does in an iteration.
    pub work: Work,
    /// How many, and when.
    pub executor: Executor,
    /// How long iterations under way may take to end once no more are started.
    pub graceful_stop_ns: u64,
    /// Added to the run's, and above it.
    pub env: BTreeMap<String, String>,
    /// Added to the run's, and above it.
    pub tags: BTreeMap<String, String>,
}

/// What a virtual user does in an iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Calls a WebAssembly guest.
    Guest {
        /// The path as it was given.
        file: String,
        /// Which of the guest's scenarios; none means its first.
        scenario: Option<String>,
    },
    /// Sends one request, natively.
    Request(QuickRequest),
}

/// The one request of `nettare quick`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct QuickRequest {
    /// The method, in capitals.
    pub method: String,
    /// The URL.
    pub url: String,
    /// Header fields in order; names may repeat.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// How many iterations, by how many virtual users, and when. Names and keys are k6's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "executor",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case"
)]
pub enum Executor {
    /// `vus` virtual users iterate for `duration_ns`.
    ConstantVus {
        /// Virtual users.
        vus: u32,
        /// No iteration starts after it.
        duration_ns: u64,
    },
    /// `iterations` in all, shared by `vus` virtual users.
    SharedIterations {
        /// Virtual users.
        vus: u32,
        /// Iterations in all.
        iterations: u64,
        /// No iteration starts after it.
        max_duration_ns: u64,
        /// Starts are due at this pace, and late where no virtual user is free; none means as fast as they go. This is
        /// `quick -q` with `-n`.
        rate: Option<Rate>,
    },
    /// `iterations` by each of `vus` virtual users.
    PerVuIterations {
        /// Virtual users.
        vus: u32,
        /// Iterations of each.
        iterations: u64,
        /// No iteration starts after it.
        max_duration_ns: u64,
    },
    /// `rate` arrivals for `duration_ns`, whatever becomes of them: an open model.
    ConstantArrivalRate {
        /// Arrivals per unit of time.
        rate: Rate,
        /// No arrival is due at or after it.
        duration_ns: u64,
        /// Virtual users made before the start.
        pre_allocated_vus: u32,
        /// Virtual users at most.
        max_vus: u32,
    },
}

impl Executor {
    /// How long it may start iterations.
    pub fn duration_ns(&self) -> u64 {
        match *self {
            Executor::ConstantVus { duration_ns, .. }
            | Executor::ConstantArrivalRate { duration_ns, .. } => duration_ns,
            Executor::SharedIterations {
                max_duration_ns, ..
            }
            | Executor::PerVuIterations {
                max_duration_ns, ..
            } => max_duration_ns,
        }
    }

    /// How many virtual users it may have.
    pub fn max_vus(&self) -> u32 {
        match *self {
            Executor::ConstantVus { vus, .. }
            | Executor::SharedIterations { vus, .. }
            | Executor::PerVuIterations { vus, .. } => vus,
            Executor::ConstantArrivalRate { max_vus, .. } => max_vus,
        }
    }
}

/// A number of arrivals per unit of time, exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Arrivals.
    pub arrivals: u64,
    /// In so many nanoseconds.
    pub per_ns: u64,
}

impl Rate {
    /// The same rate in lowest terms.
    pub fn reduced(self) -> Rate {
        let (mut divisor, mut rest) = (self.arrivals, self.per_ns);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        let divisor = divisor.max(1);
        Rate {
            arrivals: self.arrivals / divisor,
            per_ns: self.per_ns / divisor,
        }
    }
}

/// Every limit that has a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Limits {
    /// Linear memory of one guest.
    pub guest_memory_bytes: u64,
    /// CPU time of one iteration (the sum of its guest segments).
    pub guest_cpu_ns: u64,
    /// Body of one response.
    pub body_bytes: u64,
    /// Bodies of all responses held at one time in the process.
    pub bodies_bytes: u64,
    /// Series, after which samples go to `__other__`.
    pub series: u32,
    /// Log lines kept of a run.
    pub log_lines: u64,
}
