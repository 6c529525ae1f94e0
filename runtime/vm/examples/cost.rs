//! What a guest costs on this machine: an instance's start and memory, a call into the host, an iteration.
//!
//! `cargo run --release -p nettare-vm --example cost [VUS]`. The figures in the documentation come from here.

#![expect(clippy::print_stdout, reason = "it is run for what it prints")]

use std::future::{Future, Ready, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use nettare_core::sample::{Arrival, CallTiming, IterationOutcome, Phases, Stamp};
use nettare_core::stats::{SeriesId, SeriesKey, Shard, Symbol, TagSet};
use nettare_vm::{
    Cancelled, Guest, GuestOptions, Host, HttpReply, HttpRequest, HttpResponse, LogLevel, Record,
    Registry, RunStart, Vu, VuLimits, VuSetup,
};

const PRELUDE: &str = include_str!("../tests/it/prelude.wat");

/// Calls of a loop in one iteration.
const CALLS: u64 = 100_000;

fn main() {
    let vus = std::env::args()
        .nth(1)
        .and_then(|vus| vus.parse().ok())
        .unwrap_or(1000);
    println!("instances, {vus} of them, after one iteration each");
    instances(vus);
    println!("one call of the host, over the loop around it");
    let empty = per_call("(drop (i32.const 0))");
    for (name, call) in [
        ("a synchronous one (vu.id)", "(drop (call $vu-id))"),
        ("a clock (time.now)", "(drop (call $now))"),
        (
            "an empty check (check.begin, check.end)",
            "(call $begin (i32.const 1)) (call $end (i32.const 1) (i32.const 1))",
        ),
        (
            "one that could wait, ready (time.sleep)",
            "(call $sleep (i64.const 1) (i32.const 512))",
        ),
        (
            "one that waits once (time.sleep)",
            "(call $sleep (i64.const 2) (i32.const 512))",
        ),
        (
            "a response of 5 bytes (request.send)",
            "(call $send (local.get $a) (i32.const 512)) (call $drop-response (i32.load (i32.const 516)))",
        ),
    ] {
        println!("  {:>8.1} ns  {name}", per_call(call) - empty);
    }
    println!("one iteration");
    for (name, run) in [
        ("that does nothing", "(call $ok)".to_owned()),
        (
            "with a request built, sent, and looked at in a check",
            "(local.set $a (call $get-request (i32.const 4096) (i32.const 20)))
             (call $send (local.get $a) (i32.const 512)) (local.set $b (i32.load (i32.const 516)))
             (call $begin (i32.const 1)) (call $end (i32.const 1) (i32.eq (call $status (local.get $b)) (i32.const 200)))
             (call $bytes (local.get $b) (i64.const 0) (i32.const 5) (i32.const 512))
             (call $drop-response (local.get $b)) (call $drop-request (local.get $a)) (call $ok)"
                .to_owned(),
        ),
    ] {
        println!("  {:>8.1} ns  {name}", per_iteration(&run));
    }
    println!("an empty check is charged");
    println!("  {:>8.1} ns  at the median", empty_check());
}

fn instances(vus: u32) {
    let guest = guest(vus, "(call $ok)");
    let registry = Arc::new(Registry::new());
    let (mut users, mut fresh) = (Vec::new(), Vec::new());
    // The first one pays for what all share.
    drop(vu(&guest, &registry));
    let (rss, page_tables) = (memory("VmRSS:"), memory("VmPTE:"));
    for _ in 0..vus {
        let begun = Instant::now();
        users.push(vu(&guest, &registry));
        fresh.push(begun.elapsed().as_nanos() as f64);
    }
    for user in &mut users {
        assert_eq!(
            now(user.iterate(ARRIVAL)).outcome,
            IterationOutcome::Completed
        );
    }
    let each = |figure: u64, before: u64| (figure - before) as f64 / f64::from(vus);
    println!(
        "  {:>8.1} µs  to start, at the median",
        median(&mut fresh) / 1000.0
    );
    println!(
        "  {:>8.1} KiB resident each, and {:.1} KiB of page tables",
        each(memory("VmRSS:"), rss),
        each(memory("VmPTE:"), page_tables)
    );
    let mut renewals = Vec::new();
    for user in users.iter_mut().take(100) {
        let begun = Instant::now();
        now(user.renew()).expect("there is room");
        renewals.push(begun.elapsed().as_nanos() as f64);
    }
    println!(
        "  {:>8.1} µs  to renew, at the median",
        median(&mut renewals) / 1000.0
    );
}

fn per_call(call: &str) -> f64 {
    let run = format!(
        "(local.set $a (call $get-request (i32.const 4096) (i32.const 20))) (local.set $b (i32.const {CALLS}))
         (loop $again {call} (br_if $again (local.tee $b (i32.sub (local.get $b) (i32.const 1)))))
         (call $drop-request (local.get $a)) (call $ok)"
    );
    per_iteration_of(&run, 20) / CALLS as f64
}

fn per_iteration(run: &str) -> f64 {
    let mut batches: Vec<f64> = (0..10).map(|_| per_iteration_of(run, 20_000)).collect();
    median(&mut batches)
}

/// The fastest of a few, or the mean of many.
fn per_iteration_of(run: &str, iterations: u32) -> f64 {
    let guest = guest(1, run);
    let mut vu = vu(&guest, &Arc::new(Registry::new()));
    if iterations > 100 {
        let begun = Instant::now();
        for _ in 0..iterations {
            now(vu.iterate(ARRIVAL));
            vu.host_mut().records.clear();
        }
        return begun.elapsed().as_nanos() as f64 / f64::from(iterations);
    }
    let times = (0..iterations).map(|_| {
        let begun = Instant::now();
        let end = now(vu.iterate(ARRIVAL));
        assert_eq!(end.outcome, IterationOutcome::Completed, "{end:?}");
        begun.elapsed().as_nanos() as f64
    });
    times.fold(f64::MAX, f64::min)
}

fn empty_check() -> f64 {
    let guest = guest(
        1,
        "(call $begin (i32.const 1)) (call $end (i32.const 1) (i32.const 1)) (call $ok)",
    );
    let mut vu = vu(&guest, &Arc::new(Registry::new()));
    let mut charged = Vec::new();
    for _ in 0..1000 {
        now(vu.iterate(ARRIVAL));
        for record in vu.host_mut().records.drain(..) {
            if let Record::Check { sample, .. } = record {
                charged.extend(sample.cpu_ns.map(|ns| ns as f64));
            }
        }
    }
    median(&mut charged)
}

const ARRIVAL: Arrival = Arrival {
    sequence: 0,
    due_ns: 0,
    started_ns: 0,
};

fn guest(max_vus: u32, run: &str) -> Guest {
    // The helpers of the tests' prelude take their strings from where a test puts them; here that is one place for all.
    let prelude = PRELUDE.replace("(str \"GET\")", "(i32.const 4120) (i32.const 3)");
    let text = format!(
        "(module {prelude} (data (i32.const 4096) \"http://target.test/a\") (data (i32.const 4120) \"GET\")
         (func (export \"run\") (param i32 i64 i64 i64) (result i32) (local $a i32) (local $b i32) (call $reset) {run}))"
    );
    let bytes = wat::parse_str(&text).expect("the guest is written by hand");
    let options = GuestOptions {
        max_vus,
        guest_cpu_ns: 60_000_000_000,
        ..GuestOptions::default()
    };
    Guest::load(&bytes, &options).expect("the guest loads")
}

fn vu(guest: &Guest, registry: &Arc<Registry>) -> Vu<Canned> {
    registry.check("empty");
    let host = Canned {
        records: Vec::new(),
        series: series(),
    };
    let setup = VuSetup {
        id: 1,
        scenario: 0,
        host,
        registry: Arc::clone(registry),
        env: Arc::default(),
        seed: 0,
        run_start: RunStart::default(),
        limits: VuLimits::default(),
        deferred: Default::default(),
    };
    now(Vu::new(guest, setup)).expect("there is room")
}

/// Answers at once, but for sleeps of 2 ns.
struct Canned {
    records: Vec<Record>,
    series: SeriesId,
}

impl Host for Canned {
    type Reply = Ready<HttpReply>;
    type Sleep = Nap;

    fn http(&mut self, _request: Arc<HttpRequest>) -> Self::Reply {
        let last = Phases::default();
        let timing = CallTiming {
            last,
            sum: last,
            hops: 1,
            stamp: Stamp::Exact,
            decode_ns: 0,
            ready_at_ns: 0,
        };
        let response = HttpResponse {
            status: 200,
            headers: http::HeaderMap::new(),
            body: Bytes::from_static(b"hello"),
            body_length: 5,
            body_failure: None,
            url: Arc::from("http://target.test/a"),
        };
        ready(HttpReply {
            result: Ok(response),
            timing,
            series: self.series,
        })
    }

    fn sleep(&mut self, nanoseconds: u64) -> Self::Sleep {
        Nap(nanoseconds == 2)
    }

    fn abort(&mut self, _why: String) {}

    fn log(&mut self, _level: LogLevel, _message: String) {}

    fn records(&mut self) -> &mut Vec<Record> {
        &mut self.records
    }

    fn flush_records(&mut self) {
        self.records.clear();
    }
}

/// Pending once, if so told.
struct Nap(bool);

impl Future for Nap {
    type Output = Result<(), Cancelled>;

    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Self::Output> {
        if std::mem::take(&mut self.0) {
            Poll::Pending
        } else {
            Poll::Ready(Ok(()))
        }
    }
}

fn series() -> SeriesId {
    Shard::new(1).series(&SeriesKey {
        scenario: Symbol::NONE,
        group: Symbol::NONE,
        name: Symbol::NONE,
        method: Symbol::NONE,
        status: 200,
        protocol: None,
        error_kind: None,
        expected: true,
        tags: TagSet::EMPTY,
    })
}

/// Polls to the end.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return value;
        }
    }
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A figure of this process in KiB, as Linux tells it.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or(0)
}
