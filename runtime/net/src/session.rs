//! A virtual user's connections, and the way of a call over them.
//!
//! ```text
//! call ─► hop ─► exchange ─► (a kept connection was dead) ─► exchange on a fresh one
//!          ▲         │
//!          └─ redirect
//! ```
//!
//! A call owns the connection it uses: it is taken out of the session and put back when the response has ended in good order.
//! Dropping the call therefore closes the connection, and nothing else has to be cancelled.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use http::header::{self, HeaderMap, HeaderValue};
use nettare_core::plan::ConnectionPolicy;
use nettare_core::sample::{CallTiming, ErrorKind, Exchange, Failure, Outcome, Phases, Stamp};

use crate::body::{BodyLimits, Collector, RequestBody};
use crate::deadline::{Expired, Timer, judge_whole};
use crate::dial::dial;
use crate::error::failure;
use crate::http1::{Answer, Broken, Conduct, Http1, protocol_of};
use crate::record::Record;
use crate::redirect::Hop;
use crate::stream::WireStream;
use crate::target::Origin;
use crate::{Call, Client, Request, Response, clock};

/// Connections that a session keeps at most; the one idle for longest goes first.
const IDLE_AT_MOST: usize = 32;

/// One virtual user's connections.
#[derive(Debug)]
pub struct Session {
    client: Rc<Client>,
    idle: RefCell<Vec<Idle>>,
    /// Timers not in use. There are as many as there were ever calls at one time.
    timers: RefCell<Vec<Timer>>,
}

#[derive(Debug)]
struct Idle {
    origin: Arc<Origin>,
    connection: Box<Http1>,
}

/// What all hops of a call share.
struct Bounds {
    deadline_ns: u64,
    timeout_ns: u64,
    max_redirects: u32,
    body: BodyLimits,
}

/// One hop, over and done with.
struct Ended {
    exchange: Exchange,
    result: Result<Response, Failure>,
}

impl Session {
    /// A session without connections.
    pub fn new(client: &Rc<Client>) -> Rc<Session> {
        Rc::new(Session {
            client: Rc::clone(client),
            idle: RefCell::default(),
            timers: RefCell::default(),
        })
    }

    /// Sends `request`, follows redirects, and returns when the whole response is there or the call failed.
    ///
    /// `on_exchange` is called as each hop ends, also for those that failed or were retried. Dropping the future cancels the
    /// call: the connection it used is closed and not used again.
    pub async fn call(&self, request: &Request, on_exchange: &mut dyn FnMut(&Exchange)) -> Call {
        let bounds = self.bounds(request);
        let mut timer = self.take_timer(bounds.deadline_ns);
        let mut journey = Journey {
            timing: empty_timing(),
            last: None,
            on_exchange,
        };
        let result = self
            .follow(request, &bounds, &mut timer, &mut journey)
            .await;
        self.timers.borrow_mut().push(timer);
        let Journey {
            mut timing, last, ..
        } = journey;
        timing.ready_at_ns = clock::monotonic_ns();
        Call {
            result,
            timing,
            exchange: last,
        }
    }

    /// Tells that an iteration ended: closes the connections where the plan says so.
    pub fn end_iteration(&self) {
        if self.client.shared.config.connections == ConnectionPolicy::PerIteration {
            self.close();
        }
    }

    /// Closes all connections that no call is using.
    pub fn close(&self) {
        self.idle.borrow_mut().clear();
    }

    fn bounds(&self, request: &Request) -> Bounds {
        let config = &self.client.shared.config;
        let timeout_ns = request.timeout_ns.unwrap_or(config.timeout_ns);
        Bounds {
            deadline_ns: clock::monotonic_ns().saturating_add(timeout_ns),
            timeout_ns,
            max_redirects: request.max_redirects.unwrap_or(config.max_redirects),
            body: BodyLimits {
                limit_bytes: config.body_limit_bytes,
                keep: request.keep_body,
            },
        }
    }

    fn take_timer(&self, deadline_ns: u64) -> Timer {
        let kept = self.timers.borrow_mut().pop();
        kept.unwrap_or_else(|| Timer::new(deadline_ns))
    }

    async fn follow(
        &self,
        request: &Request,
        bounds: &Bounds,
        timer: &mut Timer,
        journey: &mut Journey<'_>,
    ) -> Result<Response, Failure> {
        let mut hop = Hop::first(request);
        for redirects in 0.. {
            let response = self.take_hop(&hop, bounds, timer, journey).await?;
            if bounds.max_redirects == 0 {
                return Ok(response);
            }
            match hop.follow(response.status, &response.headers)? {
                None => return Ok(response),
                Some(_) if redirects >= bounds.max_redirects => break,
                Some(next) => hop = next,
            }
        }
        Err(too_many_redirects(bounds.max_redirects))
    }

    /// One hop, with a second exchange on a fresh connection if a kept one turned out dead.
    async fn take_hop(
        &self,
        hop: &Hop<'_>,
        bounds: &Bounds,
        timer: &mut Timer,
        journey: &mut Journey<'_>,
    ) -> Result<Response, Failure> {
        let first = self.attempt(hop, bounds, timer, true).await;
        let retried = first.exchange.outcome == Outcome::Retried;
        journey.enter(first.exchange);
        if !retried {
            return first.result;
        }
        let second = self.attempt(hop, bounds, timer, false).await;
        journey.enter(second.exchange);
        second.result
    }

    /// One exchange, from its beginning to its one and only outcome.
    async fn attempt(
        &self,
        hop: &Hop<'_>,
        bounds: &Bounds,
        timer: &mut Timer,
        may_reuse: bool,
    ) -> Ended {
        let counters = &self.client.counters;
        counters.attempted.increment();
        let record = Record::default();
        let kept = if may_reuse { self.take_idle(hop) } else { None };
        let reused = kept.is_some();
        let look_again = || {
            if let Some(wire) = record.wire() {
                wire.ask_anyway();
            }
        };
        let work = self.exchange(hop, bounds, &record, kept);
        let ended = match timer.within(bounds.deadline_ns, look_again, work).await {
            Ok(Ok(response)) => whole(&record, bounds, response),
            Ok(Err(broken)) => ended_broken(&record, broken, reused && may_reuse, hop),
            Err(expired) => ended_expired(&record, &expired, bounds),
        };
        counters.ended(ended.exchange.outcome);
        ended
    }

    async fn exchange(
        &self,
        hop: &Hop<'_>,
        bounds: &Bounds,
        record: &Record,
        kept: Option<Box<Http1>>,
    ) -> Result<Response, Broken> {
        let client = &*self.client;
        let mut connection = match kept {
            Some(connection) => {
                client.counters.connections_reused.increment();
                connection
            }
            None => self.open(hop, record).await.map_err(Broken::given_up)?,
        };
        client.counters.connected.increment();
        record.begin_exchange(connection.wire(), !hop.body.is_empty());
        let request = self.http_request(hop, connection.wire());
        let conduct = Conduct { client, record };
        let collector = |announced| Collector::new(bounds.body, client.bodies.lease(), announced);
        let answer = connection.exchange(request, &conduct, collector).await?;
        self.keep(hop, connection);
        Ok(response_of(answer, hop))
    }

    async fn open(&self, hop: &Hop<'_>, record: &Record) -> Result<Box<Http1>, Failure> {
        let transport = dial(&self.client, &hop.target.origin, record).await?;
        Ok(Box::new(Http1::start(transport).await?))
    }

    /// The connection to the hop's origin that was used last, unless something happened to it meanwhile.
    fn take_idle(&self, hop: &Hop<'_>) -> Option<Box<Http1>> {
        let mut idle = self.idle.borrow_mut();
        while let Some(place) = idle
            .iter()
            .rposition(|kept| *kept.origin == *hop.target.origin)
        {
            let connection = idle.remove(place).connection;
            let dead = !connection.is_idle()
                || (!hop.method.is_idempotent() && connection.wire().is_readable_now());
            if !dead {
                return Some(connection);
            }
        }
        None
    }

    fn keep(&self, hop: &Hop<'_>, connection: Box<Http1>) {
        let per_request = self.client.shared.config.connections == ConnectionPolicy::PerRequest;
        if per_request || !connection.is_idle() {
            return;
        }
        let mut idle = self.idle.borrow_mut();
        if idle.len() >= IDLE_AT_MOST {
            idle.remove(0);
        }
        idle.push(Idle {
            origin: Arc::clone(&hop.target.origin),
            connection,
        });
    }

    fn http_request(&self, hop: &Hop<'_>, wire: &WireStream) -> http::Request<RequestBody> {
        let mut request = http::Request::new(RequestBody::new(hop.body.clone(), wire.clone()));
        *request.method_mut() = hop.method.clone();
        *request.uri_mut() = hop.target.uri.clone();
        *request.headers_mut() = self.fields(hop);
        request
    }

    /// The fields to send: `host` first (RFC 9110, section 7.2), then our own, then the request's in their order.
    fn fields(&self, hop: &Hop<'_>) -> HeaderMap {
        // Room for a usual response too: hyper parses the response into the same map.
        let mut fields = HeaderMap::with_capacity(hop.headers.len().max(10) + 2);
        fields.insert(header::HOST, hop.target.host_header.clone());
        if let Some(agent) = &self.client.user_agent {
            fields.insert(header::USER_AGENT, agent.clone());
        }
        for (name, value) in &*hop.headers {
            match *name {
                // The length is the body's, whatever a request says.
                header::CONTENT_LENGTH => {}
                header::HOST | header::USER_AGENT => replace(&mut fields, name, value),
                _ => {
                    fields.append(name.clone(), value.clone());
                }
            }
        }
        fields
    }
}

fn replace(fields: &mut HeaderMap, name: &header::HeaderName, value: &HeaderValue) {
    fields.insert(name.clone(), value.clone());
}

/// The call's way so far.
struct Journey<'a> {
    timing: CallTiming,
    last: Option<Exchange>,
    on_exchange: &'a mut dyn FnMut(&Exchange),
}

impl Journey<'_> {
    fn enter(&mut self, exchange: Exchange) {
        (self.on_exchange)(&exchange);
        self.timing.last = exchange.phases;
        self.timing.sum.add(&exchange.phases);
        self.timing.hops += 1;
        self.timing.stamp = exchange.stamp;
        self.last = Some(exchange);
    }
}

fn empty_timing() -> CallTiming {
    CallTiming {
        last: Phases::default(),
        sum: Phases::default(),
        hops: 0,
        stamp: Stamp::User,
        decode_ns: 0,
        ready_at_ns: 0,
    }
}

fn whole(record: &Record, bounds: &Bounds, response: Response) -> Ended {
    let late = record
        .wire()
        .and_then(|wire| judge_whole(wire.ledger(), bounds.deadline_ns, bounds.timeout_ns));
    match late {
        None => Ended {
            exchange: record.whole(),
            result: Ok(response),
        },
        Some(failure) => ended_failed(record, failure, bounds.deadline_ns),
    }
}

fn ended_broken(record: &Record, broken: Broken, reused: bool, hop: &Hop<'_>) -> Ended {
    let now_ns = clock::monotonic_ns();
    let safe = broken.unsent || hop.method.is_idempotent();
    if reused && broken.died_unanswered && safe {
        return Ended {
            exchange: record.broken(Outcome::Retried, now_ns),
            result: Err(broken.failure),
        };
    }
    ended_failed(record, broken.failure, now_ns)
}

/// A time-out is recorded as what it is: the limit, not the time at which this thread came to look.
fn ended_expired(record: &Record, expired: &Expired, bounds: &Bounds) -> Ended {
    let wire = record.wire();
    let failure = expired.failure(wire.as_ref().map(WireStream::ledger), bounds.timeout_ns);
    ended_failed(record, failure, expired.deadline_ns)
}

fn ended_failed(record: &Record, failure: Failure, at_ns: u64) -> Ended {
    Ended {
        exchange: record.broken(Outcome::Failed(failure.kind), at_ns),
        result: Err(failure),
    }
}

fn response_of(answer: Answer, hop: &Hop<'_>) -> Response {
    Response {
        status: answer.head.status.as_u16(),
        version: protocol_of(answer.head.version),
        headers: answer.head.headers,
        body: answer.body,
        body_length: answer.body_length,
        target: Arc::clone(&hop.target),
    }
}

fn too_many_redirects(limit: u32) -> Failure {
    let message = format!(
        "the call was redirected more than {limit} times; raise --max-redirects or look for a loop"
    );
    failure(ErrorKind::TooManyRedirects, 0, message)
}
