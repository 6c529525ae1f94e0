//! A canned host, a way to write guests, and a way to poll them.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use bytes::Bytes;
use nettare_core::sample::{Arrival, CallTiming, ErrorKind, Failure, Phases, Stamp};
use nettare_core::stats::{MetricKind, SeriesId, SeriesKey, Shard, Symbol, TagSet, Unit};
use nettare_vm::{
    Cancelled, Guest, GuestOptions, Host, HttpReply, HttpRequest, HttpResponse, IterationEnd,
    LogLevel, MetricInfo, Record, Registry, RunStart, SeriesInfo, Vu, VuLimits, VuSetup,
};

/// A value that comes later, from anywhere.
pub(crate) struct Slot<T>(Arc<Mutex<(Option<T>, Option<Waker>)>>);

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Slot(Arc::clone(&self.0))
    }
}

impl<T> Slot<T> {
    pub(crate) fn new(value: Option<T>) -> Slot<T> {
        Slot(Arc::new(Mutex::new((value, None))))
    }

    pub(crate) fn fill(&self, value: T) {
        let mut slot = self.0.lock().unwrap();
        slot.0 = Some(value);
        if let Some(waker) = slot.1.take() {
            waker.wake();
        }
    }

    /// Whether whoever waited for it has gone.
    pub(crate) fn is_dropped(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

impl<T> Future for Slot<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut slot = self.0.lock().unwrap();
        match slot.0.take() {
            Some(value) => Poll::Ready(value),
            None => {
                slot.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

type Answer = dyn FnMut(&HttpRequest) -> Option<HttpReply> + Send;

/// What a canned host saw, and what it answers.
pub(crate) struct World {
    pub(crate) requests: Vec<Arc<HttpRequest>>,
    pub(crate) sleeps: Vec<u64>,
    pub(crate) logs: Vec<(LogLevel, String)>,
    pub(crate) aborts: Vec<String>,
    /// Calls that got no answer at once, in order.
    pub(crate) pending: Vec<Slot<HttpReply>>,
    pub(crate) sleeping: Vec<Slot<Result<(), Cancelled>>>,
    /// Whether sleeps end at once.
    pub(crate) sleeps_end: bool,
    pub(crate) flushes: u32,
    answer: Box<Answer>,
}

pub(crate) struct Canned {
    world: Arc<Mutex<World>>,
    records: Vec<Record>,
}

impl Host for Canned {
    type Reply = Slot<HttpReply>;
    type Sleep = Slot<Result<(), Cancelled>>;

    fn http(&mut self, request: Arc<HttpRequest>) -> Self::Reply {
        let mut world = self.world.lock().unwrap();
        let answer = (world.answer)(&request);
        world.requests.push(request);
        let is_pending = answer.is_none();
        let slot = Slot::new(answer);
        if is_pending {
            world.pending.push(slot.clone());
        }
        slot
    }

    fn sleep(&mut self, nanoseconds: u64) -> Self::Sleep {
        let mut world = self.world.lock().unwrap();
        world.sleeps.push(nanoseconds);
        let slot = Slot::new(world.sleeps_end.then_some(Ok(())));
        world.sleeping.push(slot.clone());
        slot
    }

    fn abort(&mut self, why: String) {
        self.world.lock().unwrap().aborts.push(why);
    }

    fn log(&mut self, level: LogLevel, message: String) {
        self.world.lock().unwrap().logs.push((level, message));
    }

    fn records(&mut self) -> &mut Vec<Record> {
        &mut self.records
    }

    fn flush_records(&mut self) {
        self.world.lock().unwrap().flushes += 1;
    }
}

/// A guest, and what its virtual users have in common.
pub(crate) struct Stage {
    pub(crate) guest: Guest,
    pub(crate) registry: Arc<Registry>,
    pub(crate) world: Arc<Mutex<World>>,
    pub(crate) limits: VuLimits,
    pub(crate) seed: u64,
}

impl Stage {
    /// A guest whose `run` does this, and answers with the status on its stack.
    pub(crate) fn new(run: &str) -> Stage {
        Stage::of(&module("", run), &GuestOptions::default())
    }

    pub(crate) fn of(text: &str, options: &GuestOptions) -> Stage {
        let registry = Registry::new();
        let noted = MetricInfo {
            name: "noted".to_owned(),
            kind: MetricKind::Trend,
            unit: Unit::Plain,
        };
        registry.metric(&noted).unwrap();
        registry
            .series(&SeriesInfo {
                metric: 1,
                tags: Vec::new(),
            })
            .unwrap();
        let world = World {
            requests: Vec::new(),
            sleeps: Vec::new(),
            logs: Vec::new(),
            aborts: Vec::new(),
            pending: Vec::new(),
            sleeping: Vec::new(),
            sleeps_end: true,
            flushes: 0,
            answer: Box::new(|_| Some(reply(200, b"hello"))),
        };
        Stage {
            guest: Guest::load(&wasm(text), options).unwrap(),
            registry: Arc::new(registry),
            world: Arc::new(Mutex::new(world)),
            limits: VuLimits::default(),
            seed: 1,
        }
    }

    /// How the host answers a request; none leaves it pending.
    pub(crate) fn answers(
        self,
        answer: impl FnMut(&HttpRequest) -> Option<HttpReply> + Send + 'static,
    ) -> Stage {
        self.world().answer = Box::new(answer);
        self
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    pub(crate) fn setup(&self, id: u32) -> VuSetup<Canned> {
        let env = [("TARGET".to_owned(), "http://x.test".to_owned())];
        VuSetup {
            id,
            scenario: 0,
            host: Canned {
                world: Arc::clone(&self.world),
                records: Vec::new(),
            },
            registry: Arc::clone(&self.registry),
            env: Arc::new(BTreeMap::from(env)),
            seed: self.seed,
            run_start: started(),
            limits: self.limits,
            deferred: Default::default(),
        }
    }

    pub(crate) fn vu(&self, id: u32) -> Vu<Canned> {
        block_on(Vu::new(&self.guest, self.setup(id))).unwrap()
    }

    /// One virtual user, one iteration.
    pub(crate) fn run(&self) -> (IterationEnd, Vec<Record>) {
        let mut vu = self.vu(1);
        let end = block_on(vu.iterate(ARRIVAL));
        (end, std::mem::take(vu.host_mut().records()))
    }

    /// What the guest noted in one good iteration.
    pub(crate) fn notes(&self) -> Vec<f64> {
        let (end, records) = self.run();
        assert_eq!(end.why, None);
        notes(&records)
    }
}

pub(crate) const ARRIVAL: Arrival = Arrival {
    sequence: 7,
    due_ns: 1_000,
    started_ns: 2_000,
};

pub(crate) fn notes(records: &[Record]) -> Vec<f64> {
    let noted = records.iter().filter_map(|record| match record {
        Record::Custom { series: 1, value } => Some(*value),
        _ => None,
    });
    noted.collect()
}

/// How often the guest misused what, or hit which limit.
pub(crate) fn counted(records: &[Record], name: &str) -> u64 {
    let counts = records.iter().map(|record| match record {
        Record::Misuse { what, count } if *what == name => *count,
        Record::Limit { name: limit, count } if *limit == name => *count,
        _ => 0,
    });
    counts.sum()
}

/// A response with that status and body.
pub(crate) fn reply(status: u16, body: &'static [u8]) -> HttpReply {
    let mut headers = http::HeaderMap::new();
    headers.insert("content-type", http::HeaderValue::from_static("text/plain"));
    headers.append("x-two", http::HeaderValue::from_static("a"));
    headers.append("x-two", http::HeaderValue::from_static("b"));
    let body_length = u64::try_from(body.len()).unwrap();
    let url = Arc::from("http://x.test/last");
    let response = HttpResponse {
        status,
        headers,
        body: Bytes::from_static(body),
        body_length,
        body_failure: None,
        url,
    };
    HttpReply {
        result: Ok(response),
        timing: TIMING,
        series: series(200),
    }
}

pub(crate) fn failure(kind: ErrorKind) -> HttpReply {
    let failure = Failure {
        kind,
        code: 5,
        message: "no luck".to_owned(),
    };
    HttpReply {
        result: Err(failure),
        timing: TIMING,
        series: series(0),
    }
}

/// A series of exchanges with that status.
pub(crate) fn series(status: u16) -> SeriesId {
    let key = SeriesKey {
        scenario: Symbol::NONE,
        group: Symbol::NONE,
        name: Symbol::NONE,
        method: Symbol::NONE,
        status,
        protocol: None,
        error_kind: None,
        expected: true,
        tags: TagSet::EMPTY,
    };
    let mut shard = Shard::new(10);
    shard.series(&SeriesKey { status: 1, ..key });
    let series = shard.series(&key);
    if status == 200 {
        series
    } else {
        shard.series(&SeriesKey { status: 2, ..key })
    }
}

const PHASES: Phases = Phases {
    blocked_ns: 1,
    dns_ns: 2,
    connect_ns: 3,
    tls_ns: 4,
    sending_ns: 5,
    waiting_ns: 6,
    receiving_ns: 7,
};

pub(crate) const TIMING: CallTiming = CallTiming {
    last: PHASES,
    sum: PHASES,
    hops: 1,
    stamp: Stamp::Bound,
    decode_ns: 8,
    ready_at_ns: 0,
};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Polls once.
pub(crate) fn poll<T>(future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A core module without a type section: all imports, an allocator, some helpers, these declarations, and `run`.
pub(crate) fn module(declarations: &str, run: &str) -> String {
    format!(
        "(module {PRELUDE} {declarations} (func (export \"run\") {RUN_TYPE} (call $reset) {run}))"
    )
}

const RUN_TYPE: &str = "(param $scenario i32) (param $sequence i64) (param $due i64) (param $started i64) (result i32) (local $a i32) (local $b i32)";

const PRELUDE: &str = include_str!("prelude.wat");

/// Text to binary. `(str "x")` in the text becomes the address and the length of a string.
pub(crate) fn wasm(text: &str) -> Vec<u8> {
    let mut next = 4096;
    let mut data = String::new();
    let mut parts = text.split("(str \"");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let (string, rest) = part.split_once("\")").unwrap();
        out.push_str(&format!("(i32.const {next}) (i32.const {})", string.len()));
        out.push_str(rest);
        data.push_str(&format!("(data (i32.const {next}) \"{string}\")"));
        next += string.len();
    }
    assert!(next < 65_536, "too many strings");
    let end = out.rfind(')').unwrap();
    out.insert_str(end, &data);
    wat::parse_str(&out).unwrap_or_else(|error| panic!("{error}\n{out}"))
}

/// A run that started when the clock did, or as good as: `now` is the monotonic clock.
fn started() -> RunStart {
    let start = RunStart::default();
    start.set(1);
    start
}
