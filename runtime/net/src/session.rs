//! A virtual user's connections, and the way of a call over them.
//!
//! ```text
//! call ─► hop ─► exchange ─► (a kept connection was dead, or the peer did not look) ─► exchange on another
//!          ▲         │
//!          └─ redirect
//! ```
//!
//! A call owns the connection it uses, or its stream on a shared one. Dropping the call therefore closes the one or resets the
//! other, and nothing else has to be cancelled. Its exchange then ends as cancelled, unless the run's stop is why: then it was
//! in flight at the stop, and stays so.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use nettare_core::plan::ConnectionPolicy;
use nettare_core::sample::{CallTiming, ErrorKind, Exchange, Failure, Outcome, Phases, Stamp};

use crate::body::{BodyLimits, Collector};
use crate::connections::{Channel, Connections, Wanted};
use crate::deadline::{Expired, Timer, judge_whole};
use crate::error::failure;
use crate::http1::{Answer, Broken, Conduct, protocol_of};
use crate::record::Record;
use crate::redirect::Hop;
use crate::{Call, Client, Request, Response, clock, request};

/// A request that the peer says it has not looked at is tried so many times in all.
const ATTEMPTS_AT_MOST: u32 = 4;

/// One virtual user's connections.
#[derive(Debug)]
pub struct Session {
    client: Rc<Client>,
    connections: Connections,
    /// Timers not in use. There are as many as there were ever calls at one time.
    timers: RefCell<Vec<Timer>>,
    /// The run has cut this virtual user short.
    cut_short: Cell<bool>,
}

/// What all hops of a call share.
struct Bounds {
    deadline_ns: u64,
    timeout_ns: u64,
    max_redirects: u32,
    body: BodyLimits,
}

/// One exchange, over and done with.
struct Ended {
    exchange: Exchange,
    result: Result<Response, Failure>,
}

impl Session {
    /// A session without connections.
    pub fn new(client: &Rc<Client>) -> Rc<Session> {
        Rc::new(Session {
            client: Rc::clone(client),
            connections: Connections::default(),
            timers: RefCell::default(),
            cut_short: Cell::new(false),
        })
    }

    /// Sends `request`, follows redirects, and returns when the whole response is there or the call failed.
    ///
    /// `on_exchange` is called as each hop ends, also for those that failed or were retried. Dropping the future cancels the
    /// call: the connection it used is closed, or its stream reset, and not used again; `on_exchange` is told then too.
    pub async fn call(&self, request: &Request, on_exchange: &mut dyn FnMut(&Exchange)) -> Call {
        let bounds = self.bounds(request);
        let mut timer = self.take_timer(bounds.deadline_ns);
        let mut journey = Journey {
            client: &self.client,
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

    /// Tells that the run's stop cuts this virtual user short: calls dropped from here on were in flight at the stop.
    pub fn cut_short(&self) {
        self.cut_short.set(true);
    }

    /// Closes all connections that no call is using.
    pub fn close(&self) {
        self.connections.close();
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
        let mut redirects = 0;
        loop {
            let Ended {
                mut exchange,
                result,
            } = self.take_hop(&hop, bounds, timer, journey).await;
            let step = result.and_then(|response| onward(&hop, response, bounds, redirects));
            // An answer that leads nowhere it may lead has failed the call, and is counted as what it did.
            if let Err(failure) = &step {
                exchange.outcome = Outcome::Failed(failure.kind);
            }
            journey.enter(exchange);
            match step? {
                Step::Final(response) => return Ok(response),
                Step::To(next) => hop = next,
            }
            redirects += 1;
        }
    }

    /// One hop, with further exchanges if the first came to nothing through no fault of the request's. The last of them is yet
    /// to be entered.
    async fn take_hop(
        &self,
        hop: &Hop<'_>,
        bounds: &Bounds,
        timer: &mut Timer,
        journey: &mut Journey<'_>,
    ) -> Ended {
        let mut attempt = 1;
        loop {
            let ended = self.attempt(hop, bounds, timer, attempt, journey).await;
            if ended.exchange.outcome != Outcome::Retried {
                return ended;
            }
            journey.enter(ended.exchange);
            attempt += 1;
        }
    }

    /// One exchange, from its beginning to its one and only outcome.
    async fn attempt(
        &self,
        hop: &Hop<'_>,
        bounds: &Bounds,
        timer: &mut Timer,
        attempt: u32,
        journey: &mut Journey<'_>,
    ) -> Ended {
        self.client.counters.begun();
        let mut underway = Underway {
            record: Record::default(),
            cut_short: &self.cut_short,
            journey,
            is_over: false,
        };
        let record = &underway.record;
        let result = {
            // Pinned here and lent: a future that is handed on by value is copied whole at each hand-over.
            let work = pin!(self.exchange(hop, bounds, record, attempt > 1));
            let look_again = || record.look_again();
            timer.within(bounds.deadline_ns, look_again, work).await
        };
        let ended = match result {
            Ok(Ok(response)) => whole(record, bounds, response),
            Ok(Err(broken)) => ended_broken(record, broken, hop, attempt),
            Err(expired) => ended_expired(record, &expired, bounds),
        };
        underway.is_over = true;
        ended
    }

    async fn exchange(
        &self,
        hop: &Hop<'_>,
        bounds: &Bounds,
        record: &Record,
        fresh: bool,
    ) -> Result<Response, Broken> {
        let client = &self.client;
        let origin = &hop.target.origin;
        let wanted = Wanted {
            origin,
            fresh,
            repeatable: hop.method.is_idempotent(),
        };
        let mut channel = self
            .connections
            .take(client, wanted, record)
            .await
            .map_err(Broken::given_up)?;
        client.counters.connected.increment();
        let conduct = Conduct { client, record };
        let collector = |announced| Collector::new(bounds.body, client.bodies.lease(), announced);
        let agent = client.user_agent.as_ref();
        let answer = match &mut channel {
            Channel::Http1(connection) => {
                let request = request::http1(hop, agent, connection.wire());
                let sending = connection.send(request, &conduct);
                connection.receive(sending, &conduct, collector).await?
            }
            Channel::Http2(connection) => {
                let request = request::http2(hop, agent);
                let body = hop.body.clone();
                // On the heap, so that exchanges over HTTP/1.1 do not carry its room about.
                Box::pin(connection.exchange(request, body, &conduct, collector)).await?
            }
        };
        self.connections.put_back(client, origin, channel);
        Ok(response_of(answer, hop))
    }
}

/// Where a hop's response leads.
enum Step<'a> {
    /// It is the call's.
    Final(Response),
    /// Elsewhere.
    To(Hop<'a>),
}

fn onward<'a>(
    hop: &Hop<'a>,
    response: Response,
    bounds: &Bounds,
    redirects: u32,
) -> Result<Step<'a>, Failure> {
    if bounds.max_redirects == 0 {
        return Ok(Step::Final(response));
    }
    match hop.follow(response.status, &response.headers)? {
        None => Ok(Step::Final(response)),
        Some(_) if redirects >= bounds.max_redirects => {
            Err(too_many_redirects(bounds.max_redirects))
        }
        Some(next) => Ok(Step::To(next)),
    }
}

/// An exchange under way. Dropped before it is over, it was cancelled, or was in flight when the run stopped.
struct Underway<'a, 'b> {
    record: Record,
    cut_short: &'a Cell<bool>,
    journey: &'a mut Journey<'b>,
    is_over: bool,
}

impl Drop for Underway<'_, '_> {
    fn drop(&mut self) {
        if self.is_over || self.cut_short.get() {
            return;
        }
        let outcome = Outcome::Failed(ErrorKind::Cancelled);
        let exchange = self.record.broken(outcome, clock::monotonic_ns());
        self.journey.enter(exchange);
    }
}

/// The call's way so far.
struct Journey<'a> {
    client: &'a Client,
    timing: CallTiming,
    last: Option<Exchange>,
    on_exchange: &'a mut dyn FnMut(&Exchange),
}

impl Journey<'_> {
    /// Counts an exchange that is over, and tells of it.
    fn enter(&mut self, exchange: Exchange) {
        self.client.counters.ended(exchange.outcome);
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
    // A response without a ledger cannot be; if it could, it would be one without stamps.
    let ledger = record.ledger().unwrap_or_default();
    match judge_whole(&ledger, bounds.deadline_ns, bounds.timeout_ns) {
        None => Ended {
            exchange: record.whole(&ledger),
            result: Ok(response),
        },
        Some(failure) => ended_failed(record, failure, bounds.deadline_ns),
    }
}

fn ended_broken(record: &Record, broken: Broken, hop: &Hop<'_>, attempt: u32) -> Ended {
    let now_ns = clock::monotonic_ns();
    if may_retry(record, &broken, hop, attempt) {
        return Ended {
            exchange: record.broken(Outcome::Retried, now_ns),
            result: Err(broken.failure),
        };
    }
    ended_failed(record, broken.failure, now_ns)
}

/// What the peer never looked at may be sent again, and so may, once, what a kept connection died of before a byte of response,
/// if it never left or if sending it twice does no harm (RFC 9110, section 9.2.2).
fn may_retry(record: &Record, broken: &Broken, hop: &Hop<'_>, attempt: u32) -> bool {
    if broken.unprocessed {
        return attempt < ATTEMPTS_AT_MOST;
    }
    let safe = broken.unsent || hop.method.is_idempotent();
    attempt == 1 && record.reused_connection() && broken.died_unanswered && safe
}

/// A time-out is recorded as what it is: the limit, not the time at which this thread came to look.
fn ended_expired(record: &Record, expired: &Expired, bounds: &Bounds) -> Ended {
    let failure = expired.failure(record.ledger().as_deref(), bounds.timeout_ns);
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
    let times = if limit == 1 { "time" } else { "times" };
    let message = format!(
        "the call was redirected more than {limit} {times}; raise --max-redirects or look for a loop"
    );
    failure(ErrorKind::TooManyRedirects, 0, message)
}
