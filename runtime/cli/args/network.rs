//! What may be contacted, over which connections and protocols, and what the generator is made of.

use std::path::PathBuf;

use clap::Args;
use nettare_core::plan::{
    ConnectionPolicy, DeferredQueue, GuestThread, Isolation, Meter, Timestamps,
};

use super::values::{self, Span};

/// What may be contacted, and how.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkArgs {
    /// A host, `*.suffix`, address or network that may be contacted; repeatable. Loopback always may.
    #[arg(long, value_name = "HOST|CIDR")]
    pub(crate) allow_host: Vec<String>,
    /// How long a virtual user keeps its connections [default: per-vu].
    #[arg(long, value_name = "POLICY", value_parser = values::word::<ConnectionPolicy>(ConnectionPolicy::WORDS))]
    pub(crate) connections: Option<ConnectionPolicy>,
    /// Speak HTTP/1.1 only [default: what TLS negotiates; HTTP/1.1 without TLS].
    #[arg(long, conflicts_with = "http2")]
    pub(crate) http1: bool,
    /// Speak HTTP/2 only; without TLS, from the first byte.
    #[arg(long)]
    pub(crate) http2: bool,
    /// How long a request may take that sets no limit of its own [default: 60s].
    #[arg(long, value_name = "DURATION", value_parser = values::positive_span)]
    pub(crate) timeout: Option<Span>,
    /// Redirects followed by a request that sets no limit of its own; 0 follows none [default: 10].
    #[arg(long, value_name = "N", value_parser = values::whole::<u32>)]
    pub(crate) max_redirects: Option<u32>,
    /// The most bytes the body of a response may have; one with more fails its request [default: 64MiB].
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub(crate) body_limit: Option<u64>,
    /// The user-agent header of requests that set none [default: nettare/VERSION].
    #[arg(long, value_name = "TEXT")]
    pub(crate) user_agent: Option<String>,
}

/// Whom to trust, and who to be.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsArgs {
    /// Certificates to trust besides the system's, PEM; repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Vec<PathBuf>,
    /// The client's certificate chain, PEM.
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// The client's private key, PEM.
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Take any certificate: the server could be anybody.
    #[arg(long)]
    pub(crate) insecure_skip_tls_verify: bool,
}

/// What the generator is made of.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Generator")]
pub(crate) struct GeneratorArgs {
    /// Workers, each with an I/O thread [default: one for each CPU that affinity and quota leave].
    #[arg(long, value_name = "N", value_parser = values::positive::<u32>)]
    pub(crate) workers: Option<u32>,
    /// Where scenarios run: on the I/O thread, on one beside it, or as their cost suggests [default: auto].
    #[arg(long, value_name = "WHERE", value_parser = values::word::<GuestThread>(GuestThread::WORDS))]
    pub(crate) guest_thread: Option<GuestThread>,
    /// Where receive stamps come from; `kernel` refuses to run without the kernel's [default: auto].
    #[arg(long, value_name = "SOURCE", value_parser = values::word::<Timestamps>(Timestamps::WORDS))]
    pub(crate) timestamps: Option<Timestamps>,
    /// What the CPU cost of checks is measured by [default: time].
    #[arg(long, value_name = "METER", value_parser = values::word::<Meter>(Meter::WORDS))]
    pub(crate) meter: Option<Meter>,
    /// What becomes of a deferred check when the queue is full: the virtual user waits, or the check is skipped [default: wait].
    #[arg(long, value_name = "HOW", value_parser = values::word::<DeferredQueue>(DeferredQueue::WORDS))]
    pub(crate) deferred_queue: Option<DeferredQueue>,
    /// The share of deferred checks that are evaluated, 0.1 for every tenth [default: 1].
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub(crate) check_sample: Option<f64>,
    /// What has an instance of its own: each virtual user, or each iteration [default: vu].
    #[arg(long, value_name = "WHAT", value_parser = values::word::<Isolation>(Isolation::WORDS))]
    pub(crate) isolation: Option<Isolation>,
}
