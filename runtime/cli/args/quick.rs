//! The flags of `quick`: hey's and oha's letters, with the long names of `run`.

use std::path::PathBuf;

use clap::Args;
use nettare_core::plan::{Rate, Timestamps};

use super::network::{NetworkArgs, TlsArgs};
use super::output::{JudgeArgs, OutputArgs};
use super::values::{self, HeaderField, Span};

const EXAMPLES: &str = "\
Without -n and -z: 200 requests over 50 connections.

-q with -n spaces the starts of a closed loop: a slow server slows the rate.
-q with -z is an open one: every start has its due time, -c is the limit of
requests under way, and starts that found no free connection are counted as
dropped, never made up for.

Examples:
  nettare quick http://127.0.0.1:8080/ -n 1000 -c 10
  nettare quick https://shop.example/ -z 30s -c 50 -q 200
  nettare quick http://127.0.0.1:8080/orders -m POST -T application/json -D order.json";

/// Load one URL without a scenario; takes hey's and oha's flags.
#[derive(Args, Debug, Default)]
#[command(after_help = EXAMPLES, mut_arg("timeout", |timeout| timeout.short('t')))]
pub(crate) struct QuickArgs {
    /// Where to send the requests: http:// or https://. Its host may be contacted by being given here.
    pub(crate) url: String,
    #[command(flatten)]
    pub(crate) load: QuickLoadArgs,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Open a connection for every request; the same as --connections per-request.
    #[arg(long, conflicts_with = "connections", help_heading = "Network")]
    pub(crate) disable_keepalive: bool,
    #[command(flatten)]
    pub(crate) generator: QuickGeneratorArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// How many, how often, how long.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Load")]
pub(crate) struct QuickLoadArgs {
    /// Requests in all [default: 200].
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "duration", value_parser = values::positive::<u64>)]
    pub(crate) iterations: Option<u64>,
    /// Connections, and so requests under way at one time [default: 50].
    #[arg(short = 'c', long, value_name = "N", value_parser = values::positive::<u32>)]
    pub(crate) vus: Option<u32>,
    /// How long requests are started, instead of -n.
    #[arg(short = 'z', long, value_name = "DURATION", value_parser = values::positive_span)]
    pub(crate) duration: Option<Span>,
    /// Requests started per second, in total over all connections (200 or 200/s) [default: as fast as they go].
    #[arg(short = 'q', long, value_name = "RATE", value_parser = values::rate)]
    pub(crate) rate: Option<Rate>,
    /// How long requests under way may take to end once no more are started [default: 30s].
    #[arg(long, value_name = "DURATION")]
    pub(crate) graceful_stop: Option<Span>,
}

/// What each request is.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Request")]
pub(crate) struct RequestArgs {
    /// The method [default: GET].
    #[arg(short, long, value_name = "METHOD", value_parser = values::method)]
    pub(crate) method: Option<String>,
    /// A header field, `Name: value`; repeatable.
    #[arg(short = 'H', long, value_name = "FIELD")]
    pub(crate) header: Vec<HeaderField>,
    /// The body.
    #[arg(short = 'd', long, value_name = "TEXT", conflicts_with = "body_file")]
    pub(crate) body: Option<String>,
    /// A file that holds the body.
    #[arg(short = 'D', long, value_name = "FILE")]
    pub(crate) body_file: Option<PathBuf>,
    /// The content-type header of the body.
    #[arg(short = 'T', long, value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
}

/// What the generator is made of. There is no guest, so nothing of `run` that is about guests.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Generator")]
pub(crate) struct QuickGeneratorArgs {
    /// Workers, each with an I/O thread [default: one for each CPU that affinity and quota leave].
    #[arg(long, value_name = "N", value_parser = values::positive::<u32>)]
    pub(crate) workers: Option<u32>,
    /// Where receive stamps come from; `kernel` refuses to run without the kernel's [default: auto].
    #[arg(long, value_name = "SOURCE", value_parser = values::word::<Timestamps>(Timestamps::WORDS))]
    pub(crate) timestamps: Option<Timestamps>,
}
