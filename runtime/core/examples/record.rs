//! Measures what recording costs: `cargo run --release -p nettare-core --example record`.
//!
//! One worker records exchanges and their calls over some series, with latencies of a long tail, and a collector takes a delta
//! each second. Figures are nanoseconds for each exchange with its call, and milliseconds to add up a second of 50,000 of them.

#![expect(clippy::print_stdout, reason = "printing is what the program is for")]
#![expect(
    clippy::disallowed_methods,
    reason = "a measurement reads the clock; the crate itself does not"
)]

use std::time::Instant;

use nettare_core::sample::{Exchange, Outcome, Phases, Protocol, Stamp};
use nettare_core::stats::{SeriesId, SeriesKey, Shard, Symbol, TagSet, Totals};

/// Requests between two looks at the clock. The median of many short stretches is not moved by what else runs on the machine.
const STRETCH: usize = 2_000;
const STRETCHES_PER_SECOND: usize = 25;
const SECONDS: usize = 20;

fn main() {
    println!("series   recording  and naming  collecting");
    for series in [1, 10, 100, 1_000] {
        let mut run = Run::new(series);
        run.seconds(false);
        let (recording, collecting) = run.seconds(false);
        let (naming, _) = run.seconds(true);
        println!(
            "{series:>6}  {recording:>7.0} ns  {naming:>7.0} ns  {:>7.2} ms",
            collecting / 1e6
        );
    }
}

struct Run {
    shard: Shard,
    totals: Totals,
    keys: Vec<SeriesKey>,
    ids: Vec<SeriesId>,
    exchanges: Vec<Exchange>,
    /// Requests so far.
    n: usize,
}

impl Run {
    fn new(series: u32) -> Run {
        let mut shard = Shard::new(series);
        let keys: Vec<SeriesKey> = (0..series).map(|n| key(&mut shard, n)).collect();
        let ids = keys.iter().map(|key| shard.series(key)).collect();
        let exchanges = (0..4_096).map(exchange).collect();
        Run {
            shard,
            totals: Totals::new(series),
            keys,
            ids,
            exchanges,
            n: 0,
        }
    }

    /// Nanoseconds a request, and nanoseconds to absorb a second's delta; medians both.
    fn seconds(&mut self, named: bool) -> (f64, f64) {
        let (mut recording, mut collecting) = (Vec::new(), Vec::new());
        for _ in 0..SECONDS {
            for _ in 0..STRETCHES_PER_SECOND {
                let begin = Instant::now();
                (0..STRETCH).for_each(|_| self.request(named));
                recording.push(begin.elapsed().as_nanos() as f64 / STRETCH as f64);
            }
            let delta = self.shard.take();
            let begin = Instant::now();
            self.totals.absorb(0, delta);
            collecting.push(begin.elapsed().as_nanos() as f64);
        }
        (median(recording), median(collecting))
    }

    fn request(&mut self, named: bool) {
        self.n += 1;
        let exchange = &self.exchanges[self.n * 7 % self.exchanges.len()];
        let place = self.n * 31 % self.ids.len();
        let id = if named {
            self.shard.series(&self.keys[place])
        } else {
            self.ids[place]
        };
        self.shard.exchange(id, exchange);
        self.shard
            .call(id, exchange.phases.sum_ns() + 40_000, 40_000);
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
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
