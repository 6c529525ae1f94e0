//! Runs that tests encode: a good one, and one in which something of everything went wrong.

use nettare_core::health::gauge;
use nettare_core::plan::{Executor, Rate};
use nettare_core::report::Report;
use nettare_core::sample::{ErrorKind, Stamp};
use nettare_core::sched::DropReason;
use nettare_core::stats::{MetricKind, Unit};

mod run;

use run::Run;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// A usual run: two routes, some errors, checks and thresholds of both outcomes.
pub(crate) fn usual() -> Report {
    let mut run = Run::new(arrivals());
    run.watched();
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
    run.warning("4 arrivals waited for a virtual user; raise --max-vus");
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
    run.without_guest();
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
    run.without_guest();
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

/// A load at a rate of a thousand a second, on a machine that fell ill in the third second.
pub(crate) fn sick() -> Report {
    let mut run = Run::new(arrivals());
    run.watched();
    for n in 0..2_300u64 {
        run.answered("/catalog", 200, MILLISECOND, Stamp::Exact);
        if n % 1_000 == 999 {
            run.second();
        }
    }
    run.health(gauge::CPU, 0.97);
    run.health(gauge::THROTTLED, 0.4);
    run.health(gauge::IO_LATE, 0.8);
    run.health(gauge::IO_LAG_P99_NS, 61e6);
    run.report()
}

/// A machine that tells little of itself.
pub(crate) fn hardly_watched() -> Report {
    let mut run = Run::new(arrivals());
    run.health(gauge::CPU, 0.2);
    run.health(gauge::RESIDENT_BYTES, 34.5e6);
    for n in 0..3_000u64 {
        run.answered("/catalog", 200, MILLISECOND, Stamp::Exact);
        if n % 1_000 == 999 && n < 2_999 {
            run.second();
        }
    }
    run.report()
}

/// Every fixture with its name.
pub(crate) fn all() -> [(&'static str, Report); 7] {
    [
        ("usual", usual()),
        ("small", small()),
        ("all_failed", all_failed()),
        ("own_metrics", own_metrics()),
        ("many_statuses", many_statuses()),
        ("sick", sick()),
        ("hardly_watched", hardly_watched()),
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
