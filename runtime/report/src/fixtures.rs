//! Runs to encode: recorded, judged and assembled as real ones are.

use std::collections::BTreeMap;

use nettare_core::event::Interval;
use nettare_core::plan::{Executor, Limits, Plan, QuickRequest, Rate, RunOptions, Scenario, Work};
use nettare_core::report::{Exit, Report, RunFacts, ScenarioFile, assemble};
use nettare_core::sample::{
    ErrorKind, Exchange, Funnel, IterationOutcome, Outcome, Phases, Protocol, Stamp,
};
use nettare_core::sched::{DropReason, IterationCounts};
use nettare_core::stats::{
    CheckKey, IterationSample, MetricKind, SeriesKey, Shard, Symbol, TagSet, Totals, Unit,
};
use nettare_core::threshold::{Threshold, evaluate};
use nettare_core::verdict::{IntervalCounts, RunCounts, judge};

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// A run under way: what an engine would hold.
pub(crate) struct Run {
    shard: Shard,
    totals: Totals,
    scenario: Symbol,
    iterations: IterationCounts,
    funnel: Funnel,
    intervals: Vec<Interval>,
    thresholds: Vec<Threshold>,
    executor: Executor,
    guest: bool,
    warnings: Vec<String>,
}

impl Run {
    pub(crate) fn new(executor: Executor) -> Run {
        let mut shard = Shard::new(1_000);
        Run {
            scenario: shard.symbol("checkout"),
            shard,
            totals: Totals::new(1_000),
            iterations: IterationCounts::default(),
            funnel: Funnel::default(),
            intervals: Vec::new(),
            thresholds: Vec::new(),
            executor,
            guest: true,
            warnings: Vec::new(),
        }
    }

    /// One iteration with one request that is answered after `net_ns`.
    pub(crate) fn answered(&mut self, name: &str, status: u16, net_ns: u64, stamp: Stamp) {
        let first = self.funnel.attempted == 0;
        let waiting_ns = net_ns * 8 / 10;
        let exchange = Exchange {
            outcome: Outcome::Answered,
            status,
            protocol: Some(Protocol::Http11),
            phases: Phases {
                connect_ns: if first { 120_000 } else { 0 },
                sending_ns: net_ns / 10,
                waiting_ns,
                receiving_ns: net_ns - net_ns / 10 - waiting_ns,
                ..Phases::default()
            },
            stamp,
            connect_is_bound: false,
            window_limited: false,
            opened_connection: first,
            sent_bytes: 180,
            received_bytes: 2_400,
        };
        self.funnel.answered += 1;
        self.funnel.sent += 1;
        self.funnel.connected += 1;
        self.funnel.connections_opened += u64::from(first);
        self.funnel.connections_reused += u64::from(!first);
        self.exchange(name, &exchange, (200..400).contains(&status));
    }

    /// One iteration with one request that fails.
    pub(crate) fn failed(&mut self, kind: ErrorKind, code: u32, message: &str, after_ns: u64) {
        let exchange = Exchange {
            outcome: Outcome::Failed(kind),
            status: 0,
            protocol: None,
            phases: Phases {
                blocked_ns: after_ns,
                ..Phases::default()
            },
            stamp: Stamp::User,
            connect_is_bound: false,
            window_limited: false,
            opened_connection: false,
            sent_bytes: 0,
            received_bytes: 0,
        };
        self.funnel.failed[kind as usize] += 1;
        self.shard.error_example(kind, code, message);
        self.exchange("/", &exchange, false);
    }

    fn exchange(&mut self, name: &str, exchange: &Exchange, expected: bool) {
        self.funnel.attempted += 1;
        let key = SeriesKey {
            scenario: self.scenario,
            group: Symbol::NONE,
            name: self.shard.symbol(name),
            method: self.shard.symbol("GET"),
            status: exchange.status,
            protocol: exchange.protocol,
            error_kind: match exchange.outcome {
                Outcome::Failed(kind) => Some(kind),
                _ => None,
            },
            expected,
            tags: TagSet::EMPTY,
        };
        let series = self.shard.series(&key);
        self.shard.exchange(series, exchange);
        let tare_ns = 45_000 + self.funnel.attempted % 7 * 1_000;
        let gross_ns = exchange.phases.sum_ns() + tare_ns;
        self.shard.call(series, gross_ns, tare_ns);
        self.iteration(gross_ns);
    }

    fn iteration(&mut self, took_ns: u64) {
        let due_ns = self.iterations.offered * 5 * MILLISECOND;
        let started_ns = due_ns + 30_000;
        self.shard.iteration_started(self.scenario);
        self.shard.iteration(
            self.scenario,
            &IterationSample {
                outcome: IterationOutcome::Completed,
                due_ns,
                started_ns,
                ended_ns: started_ns + took_ns + 20_000,
                waited_for_vu_ns: 10_000,
                scenario_cpu_ns: self.guest.then_some(6_500),
            },
        );
        self.iterations.offered += 1;
        self.iterations.started += 1;
        self.iterations.completed += 1;
    }

    pub(crate) fn check(&mut self, name: &str, passed: bool, cpu_ns: u64) {
        let check = self.shard.symbol(name);
        let key = CheckKey {
            scenario: self.scenario,
            group: Symbol::NONE,
            check,
            tags: TagSet::EMPTY,
        };
        self.shard.check(key, passed, Some(cpu_ns), 2_048);
    }

    pub(crate) fn custom(&mut self, name: &str, kind: MetricKind, unit: Unit, value: f64) {
        let metric = self.shard.symbol(name);
        self.shard.custom(metric, kind, unit, TagSet::EMPTY, value);
    }

    fn dropped(&mut self, reason: DropReason) {
        self.shard.dropped(self.scenario, reason);
        self.iterations.offered += 1;
        self.iterations.dropped[reason as usize] += 1;
    }

    pub(crate) fn threshold(&mut self, text: &str) {
        self.thresholds
            .push(Threshold::parse_flag(text).expect("a well-formed threshold"));
    }

    /// Ends a second.
    pub(crate) fn second(&mut self) {
        self.totals.absorb(0, self.shard.take());
        self.totals.gauge("vus", 8.0);
        self.totals.gauge("vus_max", 10.0);
        let t_ns = (self.intervals.len() as u64 + 1) * SECOND;
        self.intervals.push(self.totals.close_interval(t_ns));
    }

    /// The report at the end.
    pub(crate) fn report(mut self) -> Report {
        self.second();
        let thresholds = evaluate(&self.thresholds, &self.totals);
        let verdict = judge(&RunCounts {
            iterations: self.iterations,
            funnel: self.funnel,
            totals: self.totals.counts(),
            intervals: IntervalCounts::of(&self.intervals),
            ..RunCounts::default()
        });
        let failed = thresholds.iter().any(|result| result.is_failure());
        let facts = RunFacts {
            id: "2026-01-02-cobalt-heron".to_owned(),
            version: "0.1.0".to_owned(),
            started: "2026-01-02T03:04:05Z".to_owned(),
            duration_ns: self.totals.elapsed_ns(),
            seed: 42,
            plan: plan(self.executor, self.guest, self.thresholds),
            scenario: self.guest.then(|| ScenarioFile {
                file: "checkout.wasm".to_owned(),
                sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                    .to_owned(),
            }),
            exit: match failed {
                true => Exit {
                    code: 99,
                    causes: vec!["threshold".to_owned()],
                },
                false => Exit::default(),
            },
            iterations: self.iterations,
            funnel: self.funnel,
            warnings: self.warnings,
            generator_cpu_ns: Some(SECOND),
            capacity: None,
            generator: None,
        };
        assemble(&facts, &self.totals, &self.intervals, &thresholds, &verdict)
    }
}

/// A usual run: two routes, some errors, checks and thresholds of both outcomes.
pub(crate) fn usual() -> Report {
    let mut run = Run::new(arrivals());
    run.threshold("http_req_duration: p(95)<200");
    run.threshold("http_req_duration{name:/nowhere}: avg<1s");
    run.threshold("http_req_duration{name:/orders/{id}}: p(99)<=5ms");
    run.threshold("http_req_failed: rate<0.01");
    for n in 0..3_000u64 {
        let route = if n % 3 == 0 {
            "/orders/{id}"
        } else {
            "/catalog"
        };
        // A long tail that is the same every time.
        let net_ns =
            800_000 + n * 7_919 % 1_000 * 1_500 + if n % 100 == 0 { 40 * MILLISECOND } else { 0 };
        let stamp = if n % 40 == 0 {
            Stamp::Bound
        } else {
            Stamp::Exact
        };
        run.answered(route, if n % 500 == 7 { 503 } else { 200 }, net_ns, stamp);
        run.check("status is 200", n % 500 != 7, 900 + n % 50);
        run.check("catalog valid", true, 45_000 + n % 1_000 * 30);
        if n % 1_000 == 999 {
            run.second();
        }
    }
    for _ in 0..12 {
        run.failed(
            ErrorKind::Timeout,
            0,
            "no response from 127.0.0.1:8080 within 1 s",
            SECOND,
        );
    }
    run.failed(
        ErrorKind::Connect,
        111,
        "127.0.0.1:8080 refused the connection",
        90_000,
    );
    run.dropped(DropReason::NoVu);
    run.dropped(DropReason::NoVu);
    run.warnings
        .push("4 arrivals waited for a virtual user; raise --max-vus".to_owned());
    run.report()
}

/// Six requests: figures of few samples are figures all the same.
pub(crate) fn small() -> Report {
    let mut run = Run::new(Executor::SharedIterations {
        vus: 1,
        iterations: 6,
        max_duration_ns: 600 * SECOND,
        rate: None,
    });
    run.guest = false;
    for n in 1..=6 {
        run.answered("", 200, n * MILLISECOND, Stamp::Exact);
    }
    run.report()
}

/// Nothing answered.
pub(crate) fn all_failed() -> Report {
    let mut run = Run::new(Executor::ConstantVus {
        vus: 10,
        duration_ns: SECOND,
    });
    run.guest = false;
    run.threshold("http_req_duration: p(95)<200");
    for _ in 0..7_000 {
        run.failed(
            ErrorKind::Connect,
            111,
            "127.0.0.1:9 refused the connection",
            60_000,
        );
    }
    run.report()
}

/// Metrics of the scenario's own: negative, with fractions, of every kind.
pub(crate) fn own_metrics() -> Report {
    let mut run = Run::new(Executor::PerVuIterations {
        vus: 1,
        iterations: 40,
        max_duration_ns: 60 * SECOND,
    });
    run.threshold("clock_skew: max<0");
    run.threshold("orders: count>=30");
    for n in 0..40u32 {
        run.answered("/", 200, 2 * MILLISECOND, Stamp::Exact);
        run.custom(
            "clock_skew",
            MetricKind::Trend,
            Unit::Plain,
            -0.25 - f64::from(n),
        );
        run.custom(
            "time_in_a_queue_with_a_long_name",
            MetricKind::Trend,
            Unit::Nanoseconds,
            1.5e6,
        );
        run.custom("orders", MetricKind::Counter, Unit::Plain, 1.0);
        run.custom("payload", MetricKind::Counter, Unit::Bytes, 1_500.0);
        run.custom("cache_hit", MetricKind::Rate, Unit::Plain, f64::from(n % 4));
        run.custom(
            "queue_depth",
            MetricKind::Gauge,
            Unit::Plain,
            f64::from(n) - 20.0,
        );
    }
    run.report()
}

/// Many statuses, many of them unexpected; stamps mostly bounds; hostile names.
pub(crate) fn many_statuses() -> Report {
    let mut run = Run::new(Executor::ConstantVus {
        vus: 1_000,
        duration_ns: 90 * SECOND,
    });
    for (n, status) in [
        200, 201, 204, 301, 302, 304, 400, 401, 403, 404, 418, 429, 500, 502, 503, 504,
    ]
    .into_iter()
    .enumerate()
    {
        for _ in 0..=n * n {
            run.answered(
                "\u{1b}[31m<évil>&\"name\"",
                status,
                3 * MILLISECOND,
                Stamp::Bound,
            );
        }
    }
    run.check(
        "a check whose name is so very long that no table has a column that is wide enough for it",
        false,
        10,
    );
    run.check("übergröße", true, 1_000);
    run.report()
}

/// Every fixture with its name.
pub(crate) fn all() -> [(&'static str, Report); 5] {
    [
        ("usual", usual()),
        ("small", small()),
        ("all_failed", all_failed()),
        ("own_metrics", own_metrics()),
        ("many_statuses", many_statuses()),
    ]
}

fn arrivals() -> Executor {
    Executor::ConstantArrivalRate {
        rate: Rate {
            arrivals: 1_000,
            per_ns: SECOND,
        },
        duration_ns: 3 * SECOND,
        pre_allocated_vus: 10,
        max_vus: 500,
    }
}

fn plan(executor: Executor, guest: bool, thresholds: Vec<Threshold>) -> Plan {
    let work = match guest {
        true => Work::Guest {
            file: "checkout.wasm".to_owned(),
            scenario: None,
        },
        false => Work::Request(QuickRequest {
            method: "GET".to_owned(),
            url: "http://127.0.0.1:8080/".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }),
    };
    Plan {
        run: RunOptions {
            seed: 42,
            user_agent: "nettare/0.1.0".to_owned(),
            ..RunOptions::default()
        },
        scenarios: vec![Scenario {
            name: "checkout".to_owned(),
            work,
            executor,
            graceful_stop_ns: 30 * SECOND,
            env: BTreeMap::new(),
            tags: BTreeMap::new(),
        }],
        thresholds,
        limits: Limits::default(),
    }
}
