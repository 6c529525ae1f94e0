//! Runs a guest against canned answers, and tells what the host saw of it.

use std::collections::BTreeMap;
use std::future::{Future, Ready, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use http::HeaderMap;
use nettare_core::sample::{
    Arrival, CallTiming, ErrorKind, Failure, IterationOutcome, Phases, Stamp,
};
use nettare_core::stats::{SeriesId, SeriesKey, Shard, Symbol, TagSet};
use nettare_vm::{
    Cancelled, Guest, GuestOptions, Host, HttpReply, HttpRequest, HttpResponse, LogLevel, Record,
    Registry, Vu, VuLimits, VuSetup,
};

/// What stands for the server: a status and a body, or why there was no response.
pub(super) type Answer = fn(&HttpRequest) -> Result<(u16, Vec<u8>), ErrorKind>;

/// All that a host sees of a guest. Equal for guests that behave alike.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) scenarios: Vec<String>,
    /// How each iteration ended.
    pub(super) outcomes: Vec<IterationOutcome>,
    /// Why those that failed did.
    pub(super) whys: Vec<String>,
    /// Method, URL and name of each request.
    pub(super) requests: Vec<(String, String, Option<String>)>,
    /// Check, innermost group and result.
    pub(super) checks: Vec<(String, String, bool)>,
    /// Metric and value.
    pub(super) values: Vec<(String, f64)>,
    /// Calls that break the contract, and limits hit.
    pub(super) misuse: Vec<&'static str>,
    pub(super) log: Vec<String>,
}

/// Loads a guest and runs its first scenario as one virtual user, so many times.
pub(super) fn run(module: &[u8], env: &[(&str, &str)], iterations: u64, answer: Answer) -> Seen {
    let guest = Guest::load(module, &GuestOptions::default()).expect("the guest loads");
    let registry = Arc::new(Registry::new());
    let env = env
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let setup = |id| VuSetup {
        id,
        scenario: 0,
        host: Canned::new(answer),
        registry: Arc::clone(&registry),
        env: Arc::new(env.clone().collect::<BTreeMap<_, _>>()),
        seed: 7,
        run_start: Default::default(),
        limits: VuLimits::default(),
        deferred: Default::default(),
    };
    let mut seen = Seen {
        scenarios: guest.describe().scenarios.clone(),
        ..Seen::default()
    };
    let host = drive(async {
        let mut first = Vu::new(&guest, setup(0)).await.expect("there is room");
        let data = first.setup().await.expect("setup succeeds");
        let mut vu = Vu::new(&guest, setup(1)).await.expect("there is room");
        if let Err(failure) = vu.init(&data).await {
            seen.whys.push(failure.to_string());
            return vu.into_host();
        }
        for sequence in 0..iterations {
            let end = vu.iterate(arrival(sequence)).await;
            seen.outcomes.push(end.outcome);
            seen.whys.extend(end.why);
        }
        first.teardown(&data).await.expect("teardown succeeds");
        vu.into_host()
    });
    seen.note(host, &registry);
    seen
}

fn arrival(sequence: u64) -> Arrival {
    Arrival {
        sequence,
        due_ns: 1_000 * sequence,
        started_ns: 1_000 * sequence,
    }
}

impl Seen {
    fn note(&mut self, host: Canned, registry: &Registry) {
        self.log = host.log;
        for request in host.sent {
            let method = request.method.to_string();
            self.requests
                .push((method, request.url.clone(), request.name.clone()));
        }
        for record in host.records {
            match record {
                Record::Check {
                    check,
                    group,
                    sample,
                } => {
                    let group = registry.group_name(group).unwrap_or_default();
                    let check = registry.check_name(check).expect("the check has a name");
                    self.checks.push((check, group, sample.passed));
                }
                Record::Custom { series, value } => {
                    let series = registry.series_info(series).expect("the series is known");
                    let metric = registry
                        .metric_info(series.metric)
                        .expect("the metric is known");
                    self.values.push((metric.name, value));
                }
                Record::Misuse { what, .. } => self.misuse.push(what),
                Record::Limit { name, .. } => self.misuse.push(name),
                _ => {}
            }
        }
    }
}

/// A host whose answers are ready at once.
struct Canned {
    answer: Answer,
    series: SeriesId,
    sent: Vec<Arc<HttpRequest>>,
    records: Vec<Record>,
    log: Vec<String>,
}

impl Canned {
    fn new(answer: Answer) -> Canned {
        Canned {
            answer,
            series: Shard::new(1).series(&NO_SERIES),
            sent: Vec::new(),
            records: Vec::new(),
            log: Vec::new(),
        }
    }
}

impl Host for Canned {
    type Reply = Ready<HttpReply>;
    type Sleep = Ready<Result<(), Cancelled>>;

    fn http(&mut self, request: Arc<HttpRequest>) -> Self::Reply {
        let answer = (self.answer)(&request);
        let url = Arc::from(request.url.as_str());
        self.sent.push(request);
        let result = match answer {
            Ok((status, body)) => Ok(HttpResponse {
                status,
                headers: HeaderMap::new(),
                body_length: body.len() as u64,
                body: body.into(),
                body_failure: None,
                url,
            }),
            Err(kind) => Err(Failure {
                kind,
                code: 0,
                message: "as the test has it".to_owned(),
            }),
        };
        ready(HttpReply {
            result,
            timing: NO_TIME,
            series: self.series,
        })
    }

    fn sleep(&mut self, _nanoseconds: u64) -> Self::Sleep {
        ready(Ok(()))
    }

    fn abort(&mut self, why: String) {
        self.log.push(format!("abort: {why}"));
    }

    fn log(&mut self, level: LogLevel, message: String) {
        self.log.push(format!("{level:?}: {message}"));
    }

    fn records(&mut self) -> &mut Vec<Record> {
        &mut self.records
    }
}

/// Nothing here is recorded by series, but a reply names one.
const NO_SERIES: SeriesKey = SeriesKey {
    scenario: Symbol::NONE,
    group: Symbol::NONE,
    name: Symbol::NONE,
    method: Symbol::NONE,
    status: 0,
    protocol: None,
    error_kind: None,
    expected: true,
    tags: TagSet::EMPTY,
};

const NO_TIME: CallTiming = CallTiming {
    last: NO_PHASES,
    sum: NO_PHASES,
    hops: 1,
    stamp: Stamp::User,
    decode_ns: 0,
    ready_at_ns: 0,
};

const NO_PHASES: Phases = Phases {
    blocked_ns: 0,
    dns_ns: 0,
    connect_ns: 0,
    tls_ns: 0,
    sending_ns: 0,
    waiting_ns: 0,
    receiving_ns: 0,
};

/// Polls to the end. All answers are ready, so a guest that is pending has only been made to yield.
fn drive<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        match future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}
