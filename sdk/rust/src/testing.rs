//! Unit tests for scenarios, without WebAssembly, network and server.
//!
//! A scenario is a function; [`Host::run`] calls it with a host whose server is a closure, and gives back everything it did.
//!
//! ```
//! use nettare::testing::{Host, Reply};
//! use nettare::{Request, Result, check, env};
//!
//! fn hello() -> Result {
//!     let response = Request::get(env("TARGET")? + "/products").send()?;
//!     check("status is 200", || response.status() == 200);
//!     Ok(())
//! }
//!
//! let host = Host::new().env("TARGET", "http://shop").answer(|_| Reply::status(503));
//! let (result, seen) = host.run(hello);
//! assert!(result.is_ok());
//! assert_eq!(seen.requests[0].url, "http://shop/products");
//! assert!(!seen.checks[0].passed);
//! ```
//!
//! Time is virtual: sleeping costs none. There are no redirects, content codings and deadlines here; those are Nettare's own.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::double::{self, Answer, World};
use crate::error::{Context, ErrorKind, Result};
use crate::log::Level;

pub use crate::double::metrics::Unit;

/// What a scenario runs against.
pub struct Host {
    env: BTreeMap<String, String>,
    vu: u32,
    iteration: u64,
    seed: u64,
    answer: Answer,
}

impl Default for Host {
    fn default() -> Host {
        Host::new()
    }
}

impl Host {
    /// One whose server answers everything with 404.
    pub fn new() -> Host {
        Host {
            env: BTreeMap::new(),
            vu: 1,
            iteration: 0,
            seed: 0,
            answer: Box::new(|_| Reply::status(404)),
        }
    }

    /// Gives the scenario a variable, as `-e` does.
    pub fn env(mut self, name: &str, value: &str) -> Host {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Runs the scenario as this virtual user, in its so-manieth iteration, from 0.
    pub fn vu(self, id: u32, iteration: u64) -> Host {
        Host {
            vu: id,
            iteration,
            ..self
        }
    }

    /// Starts the sequence of random values elsewhere.
    pub fn seed(self, seed: u64) -> Host {
        Host { seed, ..self }
    }

    /// Answers every request by this closure.
    pub fn answer(self, answer: impl FnMut(&Sent) -> Reply + 'static) -> Host {
        Host {
            answer: Box::new(answer),
            ..self
        }
    }

    /// Runs the scenario, and gives back what it returned and all that the host saw of it.
    pub fn run<T>(self, scenario: impl FnOnce() -> T) -> (T, Seen) {
        let world = World {
            env: self.env,
            vu: self.vu,
            iteration: self.iteration,
            answer: Some(self.answer),
            random: self.seed,
            now_ns: 0,
            names: Vec::new(),
            metrics: Vec::new(),
            series: Vec::new(),
            scopes: Vec::new(),
            groups: Vec::new(),
            seen: Seen::default(),
        };
        let (value, world) = double::inhabit(world, scenario);
        (value, world.seen)
    }
}

/// A request as the server got it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sent {
    /// The method.
    pub method: String,
    /// The URL.
    pub url: String,
    /// The headers that the scenario set, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The route template, if it was given one.
    pub name: Option<String>,
    /// The tags of this request.
    pub tags: Vec<(String, String)>,
    /// The groups it was sent in, joined by `::`.
    pub group: String,
    /// Its deadline in nanoseconds, if it was given one.
    pub timeout_ns: Option<u64>,
    /// How many redirects it follows, if it says so.
    pub max_redirects: Option<u32>,
    /// Whether the response's body can be asked for.
    pub keeps_body: bool,
    /// Statuses that count as expected.
    pub expected_status: RangeInclusive<u16>,
}

impl Sent {
    pub(crate) fn new(method: &str, url: &str) -> Sent {
        Sent {
            method: method.to_owned(),
            url: url.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            name: None,
            tags: Vec::new(),
            group: String::new(),
            timeout_ns: None,
            max_redirects: None,
            keeps_body: true,
            expected_status: 200..=399,
        }
    }

    /// The URL without scheme, host and query.
    pub fn path(&self) -> &str {
        let after_scheme = self
            .url
            .split_once("://")
            .map_or(self.url.as_str(), |(_, rest)| rest);
        let path = after_scheme
            .find('/')
            .map_or("/", |slash| &after_scheme[slash..]);
        path.split(['?', '#']).next().unwrap_or("/")
    }

    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(present, _)| present.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The body, read as JSON.
    ///
    /// # Errors
    ///
    /// When it is not JSON of that shape.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body).context("reading the request's body")
    }
}

/// What the server answers.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) failed: Option<ErrorKind>,
}

impl Reply {
    /// A response of this status, without a body.
    pub fn status(status: u16) -> Reply {
        Reply {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            failed: None,
        }
    }

    /// A response of status 200 with this value as JSON.
    ///
    /// # Panics
    ///
    /// When the value cannot be written as JSON.
    pub fn json(value: &(impl Serialize + ?Sized)) -> Reply {
        match serde_json::to_vec(value) {
            Ok(body) => Reply::status(200)
                .header("content-type", "application/json")
                .body(body),
            Err(cause) => panic!("a test's reply cannot be written as JSON: {cause}"),
        }
    }

    /// No response, but a failure of this kind, which is not [`ErrorKind::Scenario`].
    pub fn failure(kind: ErrorKind) -> Reply {
        Reply {
            failed: Some(kind),
            ..Reply::status(0)
        }
    }

    /// The same with another status.
    pub fn with_status(self, status: u16) -> Reply {
        Reply { status, ..self }
    }

    /// The same with another header.
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same with this body.
    pub fn body(self, body: impl Into<Vec<u8>>) -> Reply {
        Reply {
            body: body.into(),
            ..self
        }
    }
}

/// All that the host saw of a scenario, each list in order.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Seen {
    /// Requests sent.
    pub requests: Vec<Sent>,
    /// Checks ended.
    pub checks: Vec<SeenCheck>,
    /// Values of the scenario's own metrics.
    pub values: Vec<SeenValue>,
    /// Tags put on everything that followed.
    pub tags: Vec<(String, String)>,
    /// Lines logged.
    pub log: Vec<SeenLine>,
    /// Time slept, in sum.
    pub slept: Duration,
    /// Why the run was to end, if so.
    pub aborted: Option<String>,
    /// Calls that break the contract.
    pub misuse: Vec<String>,
    /// Names that crossed the border.
    pub(crate) registrations: u32,
}

/// A check that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenCheck {
    /// Its name.
    pub name: String,
    /// The groups it ran in, joined by `::`.
    pub group: String,
    /// Whether it passed.
    pub passed: bool,
    /// Why it did not, if it said.
    pub why: Option<String>,
}

/// A value of a metric.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SeenValue {
    /// The metric's name.
    pub metric: String,
    /// What its values are.
    pub unit: Unit,
    /// The tags of the series.
    pub tags: Vec<(String, String)>,
    /// The value.
    pub value: f64,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenLine {
    /// How urgent.
    pub level: Level,
    /// The text.
    pub message: String,
}
