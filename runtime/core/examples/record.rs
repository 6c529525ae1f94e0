//! Measures what recording costs: `cargo run --release -p nettare-core --example record`.
//!
//! One worker records exchanges and their calls over some series, with latencies of a long tail, and a collector takes a delta
//! now and then. The figure is nanoseconds of CPU for each exchange with its call, as on the way of a request.

#![expect(clippy::print_stdout, reason = "printing is what the program is for")]
#![expect(
    clippy::disallowed_methods,
    reason = "a measurement reads the clock; the crate itself does not"
)]

use std::time::Instant;

use nettare_core::sample::{Exchange, Outcome, Phases, Protocol, Stamp};
use nettare_core::stats::{SeriesId, SeriesKey, Shard, Symbol, TagSet, Totals};

const ROUNDS: u64 = 4_000_000;
const ROUNDS_PER_SECOND: u64 = 100_000;

fn main() {
    println!("series  recording     recording and naming  collecting");
    for series in [1, 10, 100, 1_000] {
        let (record, name, collect) = measure(series);
        println!("{series:>6}  {record:>6.1} ns/req {name:>14.1} ns/req {collect:>12.2} ms/delta");
    }
}

fn measure(series: u32) -> (f64, f64, f64) {
    let mut shard = Shard::new(series);
    let keys: Vec<SeriesKey> = (0..series).map(|n| key(&mut shard, n)).collect();
    let ids: Vec<SeriesId> = keys.iter().map(|key| shard.series(key)).collect();
    let exchanges: Vec<Exchange> = (0..4_096).map(exchange).collect();
    let mut totals = Totals::new(series);
    let mut collecting = 0.0;

    let pass = |shard: &mut Shard, totals: &mut Totals, collecting: &mut f64, named: bool| {
        let mut recording = 0.0;
        for second in 0..ROUNDS / ROUNDS_PER_SECOND {
            let begin = Instant::now();
            for n in 0..ROUNDS_PER_SECOND {
                let n = (second * ROUNDS_PER_SECOND + n) as usize;
                let exchange = &exchanges[n * 7 % exchanges.len()];
                let place = n * 31 % ids.len();
                let id = if named {
                    shard.series(&keys[place])
                } else {
                    ids[place]
                };
                shard.exchange(id, exchange);
                shard.call(id, exchange.phases.sum_ns() + 40_000, 40_000);
            }
            recording += begin.elapsed().as_secs_f64();
            let delta = shard.take();
            let begin = Instant::now();
            totals.absorb(0, delta);
            *collecting += begin.elapsed().as_secs_f64();
        }
        recording * 1e9 / ROUNDS as f64
    };
    pass(&mut shard, &mut totals, &mut collecting, false);
    collecting = 0.0;
    let record = pass(&mut shard, &mut totals, &mut collecting, false);
    let collect = collecting * 1e3 / (ROUNDS / ROUNDS_PER_SECOND) as f64;
    let name = pass(&mut shard, &mut totals, &mut collecting, true);
    (record, name, collect)
}

fn key(shard: &mut Shard, n: u32) -> SeriesKey {
    SeriesKey {
        scenario: shard.symbol("checkout"),
        group: Symbol::NONE,
        name: shard.symbol(&format!("/route/{n}")),
        method: shard.symbol("GET"),
        status: 200,
        protocol: Some(Protocol::Http11),
        error_kind: None,
        expected: true,
        tags: TagSet::EMPTY,
    }
}

/// Latencies from 100 µs on, with a tail up to some 50 ms.
fn exchange(n: u64) -> Exchange {
    let spread = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
    let waiting_ns = 100_000 + spread * spread / 20_000_000;
    Exchange {
        outcome: Outcome::Answered,
        status: 200,
        protocol: Some(Protocol::Http11),
        phases: Phases {
            sending_ns: 8_000,
            waiting_ns,
            receiving_ns: 1_000 + spread % 4_000,
            ..Phases::default()
        },
        stamp: Stamp::Exact,
        connect_is_bound: false,
        window_limited: false,
        opened_connection: false,
        sent_bytes: 180,
        received_bytes: 2_400,
    }
}
