//! The only crate that speaks protocols: sockets with kernel timestamps, name resolution, TLS, HTTP/1.1 and HTTP/2.
//!
//! One [`Shared`] serves the process, one [`Client`] each worker, one [`Session`] each virtual user. A session's
//! [`call`](Session::call) is what a guest asked for; each hop on the wire that it takes is an
//! [`Exchange`](nettare_core::sample::Exchange) with phases of its own. Errors of the protocol libraries end here: callers see
//! [`Failure`](nettare_core::sample::Failure), whose kinds are a closed list.
//!
//! Everything of a client and its sessions belongs to one thread, which runs a tokio current-thread runtime with a `LocalSet`.
//! A socket is only as truthful as it is drained: nothing else should keep that thread busy for longer than a millisecond.

mod allow;
mod body;
mod budget;
mod client;
pub mod clock;
mod config;
mod connections;
mod deadline;
mod dial;
mod dns;
mod error;
mod frames;
mod http1;
mod http2;
mod ledger;
mod message;
mod record;
mod redirect;
mod request;
mod sentinel;
mod session;
mod shared;
mod stream;
mod tap;
mod target;
mod tls;
mod transport;
mod trust;
#[expect(unsafe_code, reason = "socket calls that no safe crate offers")]
mod wire;

pub use allow::{AllowError, AllowList};
pub use client::Client;
pub use config::{Identity, NetConfig, TlsOptions};
pub use error::SetupError;
pub use frames::{FrameHeader, FramePiece, FrameScanner, RecordScanner};
pub use ledger::{NetPhases, Stamps};
pub use message::{Call, Request, Response};
pub use sentinel::keep_stamping;
pub use session::Session;
pub use shared::Shared;
pub use target::Target;
