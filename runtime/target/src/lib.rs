//! The demo target: a small shop and a box of awkward routes, on loopback, for demos, examples, tests and benchmarks.
//!
//! It is a real server, on hyper, and a light one, because the project's own benchmarks stand on it. It counts by itself what it
//! was asked and what it answered, so that a load generator's figures can be held against a second opinion.
//!
//! How a request goes through it:
//!
//! ```text
//! listen ─► serve (threads, accept, TLS) ─► door (one request: count, route, answer) ─► body (hands bytes out, counts the end)
//!                                             ├─ route    path and method -> Route, or a refusal with a hint
//!                                             ├─ answer   Route -> response
//!                                             └─ shop, catalog   what the shop knows
//! ```
//!
//! | route | answers |
//! |---|---|
//! | `GET /` | a line of text |
//! | `GET /products?count=N` | the first N products; 2,000 are about 800 KB |
//! | `POST /login` `{"user","password":"secret"}` | `{"token"}`, or 401 |
//! | `POST /cart` (bearer) `{"product","quantity"}` | 201 `{"cart","items","total_cents"}` |
//! | `POST /checkout` (bearer) `{"cart"}` | 201 `{"order","total_cents","status":"paid"}` |
//! | `GET /orders/{id}` (bearer) | `{"order","total_cents","status","lines":[..]}` |
//! | `/delay/{ms}` | the same line, not before so many milliseconds |
//! | `/bytes/{n}` | n bytes |
//! | `/stream/{chunks}/{ms}` | chunks, each after so many milliseconds, without a length |
//! | `/status/{code}` | that status |
//! | `/flaky/{percent}` | 503 for exactly that share of its requests, else 200 |
//! | `/redirect/{n}` | n redirects, then 200 |
//! | `/echo`, `/headers` | the request as JSON; its header fields alone |
//! | `/close` | a response after which the connection is closed |
//! | `/drop` | no response: the connection is closed |
//! | `/reset` | no response: the connection is reset |
//! | `GET /counter`, `POST /counter/reset` | what the server counted; counts from now on |

#![forbid(unsafe_code)]

mod answer;
mod body;
mod catalog;
mod count;
mod door;
mod listen;
mod recent;
mod route;
mod serve;
mod shop;
#[cfg(test)]
mod tests;
mod tls;
mod wire;

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context as _;

pub use crate::count::{Counts, RouteCounts};
use crate::serve::Crew;

/// How a target is to be served.
#[derive(Clone, Debug)]
pub struct TargetOptions {
    /// Where to listen. Port 0 takes a free one; where several addresses say 0, all get the first one's port.
    pub addresses: Vec<SocketAddr>,
    /// Whether to speak TLS, with a certificate made at the start for `localhost`, 127.0.0.1 and ::1.
    pub tls: bool,
    /// Threads that serve. Connections are dealt out to them in turn.
    pub threads: usize,
    /// Connections open at one time; more wait in the kernel's queue of 4,096.
    pub max_connections: usize,
}

impl Default for TargetOptions {
    fn default() -> TargetOptions {
        TargetOptions {
            addresses: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))],
            tls: false,
            threads: 1,
            max_connections: 50_000,
        }
    }
}

/// A running target. Dropping it stops it.
#[derive(Debug)]
pub struct Target {
    /// The address of each listener, the first one's first.
    addresses: Vec<SocketAddr>,
    /// Scheme, address and port of the first listener.
    url: String,
    /// The authority that signed the certificate; none without TLS.
    ca_pem: Option<String>,
    /// What all threads counted, and the shop.
    app: Arc<answer::App>,
    /// The threads; they end when it is dropped.
    crew: Crew,
}

impl Target {
    /// Where it is to be found, without a slash at the end: `http://127.0.0.1:40123`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The first listener's address.
    pub fn addr(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// Every listener's address.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The certificate, in PEM, that a client has to trust; none without TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// What it counted since it was started, or since `POST /counter/reset`.
    pub fn counts(&self) -> Counts {
        self.app.counters.counts()
    }

    /// Stops it: no connection is accepted any more, responses under way get two seconds to end. Returns what it had counted.
    pub fn stop(mut self) -> Counts {
        self.crew.stop();
        self.counts()
    }
}

/// Starts a target on threads of its own and returns when it can be connected to.
///
/// # Errors
///
/// When an address cannot be listened on, a certificate cannot be made, or a thread cannot be started.
pub fn spawn(options: &TargetOptions) -> anyhow::Result<Target> {
    anyhow::ensure!(
        !options.addresses.is_empty(),
        "the target has no address to listen on"
    );
    let listeners = listen::listen_all(&options.addresses)?;
    let addresses = listeners
        .iter()
        .map(|l| l.local_addr())
        .collect::<Result<Vec<_>, _>>()
        .context("failed to read a listener's address")?;
    let tls = options.tls.then(tls::identity).transpose()?;
    let app = Arc::new(answer::App::new(options.threads.max(1)));
    let scheme = if options.tls { "https" } else { "http" };
    let (acceptor, ca_pem) = tls.map(|i| (i.acceptor, i.ca_pem)).unzip();
    let crew = Crew::start(listeners, acceptor.as_ref(), &app, options)?;
    Ok(Target {
        url: format!("{scheme}://{}", addresses[0]),
        addresses,
        ca_pem,
        app,
        crew,
    })
}

/// Starts a target, hands it to `ready`, and serves until the future ends; then stops it and returns what it counted.
///
/// # Errors
///
/// As [`spawn`]; and when `ready` has one, and then nothing is served.
pub fn serve_until(
    options: &TargetOptions,
    until: impl Future<Output = ()>,
    ready: impl FnOnce(&Target) -> anyhow::Result<()>,
) -> anyhow::Result<Counts> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime that waits")?;
    let target = spawn(options)?;
    ready(&target)?;
    runtime.block_on(until);
    Ok(target.stop())
}

/// Ends when the process is asked to: by an interrupt from the keyboard, or by SIGTERM.
pub async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
        }
        // Without a handler SIGTERM ends the process by itself, which is what was asked for.
        Err(_) => drop(tokio::signal::ctrl_c().await),
    }
}
