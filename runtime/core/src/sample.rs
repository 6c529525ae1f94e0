//! What is measured: one exchange on the wire, one call of a guest, one iteration.
//!
//! Every figure is a count of nanoseconds and says so in its name. Failures that are measurements are data in closed enums
//! here, never `Err`: they become metric labels, and free text would make the number of series unbounded.

use serde::{Deserialize, Serialize};

/// The phases of one exchange, in nanoseconds. `docs/concepts/measurement.md` defines each and where its ends are stamped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Waiting for a connection because of a policy or limit: neither the server's time nor the generator's.
    pub blocked_ns: u64,
    /// The resolver's time on the wire.
    pub dns_ns: u64,
    /// The kernel's own round trip of the TCP handshake.
    pub connect_ns: u64,
    /// The TLS handshake's flights: receive minus write, summed.
    pub tls_ns: u64,
    /// From the first byte's write to the last byte's, or to the response's first byte if that came sooner.
    pub sending_ns: u64,
    /// From the end of sending to the response's first byte.
    pub waiting_ns: u64,
    /// From the response's first byte to its last.
    pub receiving_ns: u64,
}

impl Phases {
    /// What the server and the network took once a connection was there: sending + waiting + receiving.
    pub fn net_ns(&self) -> u64 {
        self.sending_ns + self.waiting_ns + self.receiving_ns
    }

    /// All phases together; what of a call's gross time is more than this over its hops is tare.
    pub fn sum_ns(&self) -> u64 {
        self.blocked_ns + self.dns_ns + self.connect_ns + self.tls_ns + self.net_ns()
    }

    /// Adds another hop's phases to these.
    pub fn add(&mut self, hop: &Phases) {
        self.blocked_ns += hop.blocked_ns;
        self.dns_ns += hop.dns_ns;
        self.connect_ns += hop.connect_ns;
        self.tls_ns += hop.tls_ns;
        self.sending_ns += hop.sending_ns;
        self.waiting_ns += hop.waiting_ns;
        self.receiving_ns += hop.receiving_ns;
    }
}

/// What the receive stamp of a response's last byte is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stamp {
    /// The kernel's, and of the very segment that ended the response.
    Exact,
    /// The kernel's, but of a later segment that the kernel joined to it: the truth is earlier.
    Bound,
    /// User space's: there was no kernel stamp.
    User,
}

/// Where a check is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CheckMode {
    /// In the iteration, by the guest's own code.
    Inline,
    /// By a judge, off the way of requests.
    Deferred,
    /// In the iteration, by questions that the host answers; no body entered the guest.
    Host,
}

impl CheckMode {
    /// Every mode, in the order of its numbers.
    pub const ALL: [CheckMode; 3] = [CheckMode::Inline, CheckMode::Deferred, CheckMode::Host];

    /// The word as it stands in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckMode::Inline => "inline",
            CheckMode::Deferred => "deferred",
            CheckMode::Host => "host",
        }
    }
}

/// Why a deferred check was not evaluated: the metric label `reason` of `checks_skipped`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// The queue was full, and the plan says not to wait.
    QueueFull,
    /// It was not among the sample.
    Sampled,
    /// The run ended before its turn came.
    Stop,
}

impl SkipReason {
    /// Every reason, in the order of its numbers.
    pub const ALL: [SkipReason; 3] = [SkipReason::QueueFull, SkipReason::Sampled, SkipReason::Stop];

    /// The label as it stands in metrics and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            SkipReason::QueueFull => "queue-full",
            SkipReason::Sampled => "sampled",
            SkipReason::Stop => "stop",
        }
    }
}

/// Why a call or an exchange failed. Closed: it is the metric label `error_kind`, the same list as in the guest contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The guest asked for what cannot be: a bad URL, an unknown check.
    Invalid,
    /// Not granted by the plan, or outside the allow-list.
    Denied,
    /// The name could not be resolved.
    Dns,
    /// No connection could be made, by the peer's or the network's doing.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// The deadline passed, judged on the wire.
    Timeout,
    /// The peer closed or reset the connection in mid-exchange.
    Reset,
    /// The peer broke the protocol.
    Protocol,
    /// The response body passed its limit.
    BodyLimit,
    /// The body is not what was asked for.
    Decode,
    /// More redirects than allowed.
    TooManyRedirects,
    /// The run is stopping, or the guest cancelled.
    Cancelled,
    /// This machine ran out of ports, descriptors, memory or time. Never the server's fault.
    GeneratorLimit,
}

impl ErrorKind {
    /// Every kind, in the order of the contract.
    pub const ALL: [ErrorKind; 13] = [
        ErrorKind::Invalid,
        ErrorKind::Denied,
        ErrorKind::Dns,
        ErrorKind::Connect,
        ErrorKind::Tls,
        ErrorKind::Timeout,
        ErrorKind::Reset,
        ErrorKind::Protocol,
        ErrorKind::BodyLimit,
        ErrorKind::Decode,
        ErrorKind::TooManyRedirects,
        ErrorKind::Cancelled,
        ErrorKind::GeneratorLimit,
    ];

    /// The label as it stands in metrics and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Invalid => "invalid",
            ErrorKind::Denied => "denied",
            ErrorKind::Dns => "dns",
            ErrorKind::Connect => "connect",
            ErrorKind::Tls => "tls",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Reset => "reset",
            ErrorKind::Protocol => "protocol",
            ErrorKind::BodyLimit => "body-limit",
            ErrorKind::Decode => "decode",
            ErrorKind::TooManyRedirects => "too-many-redirects",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::GeneratorLimit => "generator-limit",
        }
    }
}

/// Why something failed, for machines (`kind`, `code`) and for people (`message`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The closed kind.
    pub kind: ErrorKind,
    /// A finer number within the kind (an errno, a TLS alert, an HTTP/2 error code); 0 when there is none.
    pub code: u32,
    /// One sentence with the cause, the place and the remedy.
    pub message: String,
}

/// The protocol an exchange spoke: the metric label `proto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Protocol {
    /// HTTP/1.0.
    #[serde(rename = "HTTP/1.0")]
    Http10,
    /// HTTP/1.1.
    #[serde(rename = "HTTP/1.1")]
    Http11,
    /// HTTP/2.
    #[serde(rename = "HTTP/2")]
    Http2,
}

impl Protocol {
    /// The label as it stands in metrics and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Protocol::Http10 => "HTTP/1.0",
            Protocol::Http11 => "HTTP/1.1",
            Protocol::Http2 => "HTTP/2",
        }
    }
}

/// How one exchange ended. Each attempted exchange has exactly one of these, or was in flight when the run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The response ended.
    Answered,
    /// It failed, and the call with it: also when the response ended, and was a redirect that could not be followed.
    Failed(ErrorKind),
    /// A kept connection turned out dead before a byte of response; the call went on with another exchange.
    Retried,
}

/// One hop on the wire.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// How it ended.
    pub outcome: Outcome,
    /// The response's status; 0 when there was none.
    pub status: u16,
    /// The protocol spoken; none when no connection came about.
    pub protocol: Option<Protocol>,
    /// Its phases. For one that failed: as far as it got.
    pub phases: Phases,
    /// What the last receive stamp is worth.
    pub stamp: Stamp,
    /// Whether `connect` is an upper bound only (a retransmitted SYN).
    pub connect_is_bound: bool,
    /// Whether the receive window was the limit at some time: the server may have waited for this generator.
    pub window_limited: bool,
    /// Whether the exchange opened the connection it used.
    pub opened_connection: bool,
    /// Bytes written to the connection for it, head and framing included, TLS overhead not.
    pub sent_bytes: u64,
    /// Bytes read from the connection for it.
    pub received_bytes: u64,
}

/// What a call took on the wire, over all its hops; the rest of its gross time is the generator's own.
#[derive(Clone, Copy, Debug)]
pub struct CallTiming {
    /// The last hop's phases.
    pub last: Phases,
    /// The sum over all hops.
    pub sum: Phases,
    /// How many hops there were; 1 for a plain request, 0 when nothing was attempted.
    pub hops: u32,
    /// The last hop's stamp.
    pub stamp: Stamp,
    /// Decoding of content codings: part of tare.
    pub decode_ns: u64,
    /// When the decoded response lay ready, on the monotonic clock.
    pub ready_at_ns: u64,
}

/// Where exchanges got to. `attempted = answered + failed + retried + in flight`, at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Funnel {
    /// Exchanges begun.
    pub attempted: u64,
    /// Of these, those that had a connection in hand.
    pub connected: u64,
    /// Of these, those whose request left whole.
    pub sent: u64,
    /// Exchanges whose response ended.
    pub answered: u64,
    /// Exchanges that failed, by kind, in the order of [`ErrorKind::ALL`].
    pub failed: [u64; ErrorKind::ALL.len()],
    /// Exchanges given up for another on a fresh connection.
    pub retried: u64,
    /// Exchanges begun that have not ended. Counted by itself, not from the others: so the sum can be wrong, and be found so.
    pub in_flight: u64,
    /// Connections opened.
    pub connections_opened: u64,
    /// Exchanges that took a connection that had served before.
    pub connections_reused: u64,
}

impl Funnel {
    /// All failures of whatever kind.
    pub fn failed_total(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Whether each exchange attempted stands in exactly one place.
    pub fn adds_up(&self) -> bool {
        self.attempted == self.answered + self.failed_total() + self.retried + self.in_flight
    }

    /// Adds another worker's counts.
    pub fn add(&mut self, other: &Funnel) {
        self.attempted += other.attempted;
        self.connected += other.connected;
        self.sent += other.sent;
        self.answered += other.answered;
        for (mine, theirs) in self.failed.iter_mut().zip(other.failed) {
            *mine += theirs;
        }
        self.retried += other.retried;
        self.in_flight += other.in_flight;
        self.connections_opened += other.connections_opened;
        self.connections_reused += other.connections_reused;
    }
}

/// One start of an iteration, as planned and as it came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Index of this arrival in the whole run, over all workers.
    pub sequence: u64,
    /// When it should have started, in nanoseconds from the run's start.
    pub due_ns: u64,
    /// When it did start.
    pub started_ns: u64,
}

/// How an iteration ended. Failed checks and failed requests do not fail an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IterationOutcome {
    /// `run` returned in good order.
    Completed,
    /// `run` returned an error or trapped.
    Failed,
    /// The run's stop cut it short.
    Interrupted,
}
