//! A simulated shell around the scheduler: a virtual clock, random service times, late and early timers, virtual users that fail,
//! stops at random times, and several workers over one run.
//!
//! Everything random comes from one seed. A failing seed is printed by proptest, kept in `proptest-regressions`, and replayed by
//! adding it to [`REPLAYED_SEEDS`].

mod cases;
mod oracle;
mod shell;

use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use self::oracle::check_run;
use self::shell::{Faults, Run};
use super::*;
use crate::plan::Rate;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// Seeds that failed once, or that are worth running each time.
const REPLAYED_SEEDS: [u64; 6] = [
    0,
    1,
    2,
    u64::MAX,
    // A stop while what a stall missed is settled in portions.
    13_714_911_495_180_539_910,
    // Millions of arrivals.
    17_561_739_253_072_920_398,
];

/// A run in which everything is random, told by its seed.
fn random_run(seed: u64) -> Run {
    let mut random = Random::new(seed);
    let vus = random.between(1, 12) as u32;
    let duration_ns = random.between(1, 4_000) * MS;
    let executor = match random.between(0, 4) {
        0 => Executor::ConstantVus { vus, duration_ns },
        1 => Executor::SharedIterations {
            vus,
            iterations: random.between(1, 300),
            max_duration_ns: duration_ns,
            rate: random.chance(50).then(|| random.rate()),
        },
        2 => Executor::PerVuIterations {
            vus,
            iterations: random.between(1, 30),
            max_duration_ns: duration_ns,
        },
        _ => Executor::ConstantArrivalRate {
            rate: random.rate(),
            duration_ns,
            pre_allocated_vus: random.between(0, u64::from(vus) + 1) as u32,
            max_vus: vus,
        },
    };
    let stops = random
        .chance(30)
        .then(|| random.between(0, duration_ns + SECOND));
    let kills = random
        .chance(20)
        .then(|| random.between(0, duration_ns + 2 * SECOND));
    Run {
        executor,
        workers: random.between(1, 6) as u32,
        graceful_stop_ns: if random.chance(20) {
            0
        } else {
            random.between(0, 2 * SECOND)
        },
        service_ns: random.between(1, 300 * MS),
        stops_at_ns: stops,
        kills_at_ns: kills,
        faults: if random.chance(50) {
            Faults::none()
        } else {
            Faults::random(&mut random)
        },
        seed,
    }
}

#[test]
fn listed_seeds_hold() {
    for seed in REPLAYED_SEEDS {
        check_run(&random_run(seed));
    }
}

proptest! {
    // A smaller seed is not a simpler run: nothing to shrink.
    #![proptest_config(ProptestConfig { cases: 2_000, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn the_laws_hold_whatever_happens(seed in any::<u64>()) {
        check_run(&random_run(seed));
    }
}

/// The one source of chance.
struct Random(Pcg64Mcg);

impl Random {
    fn new(seed: u64) -> Random {
        Random(Pcg64Mcg::seed_from_u64(seed))
    }

    /// One of `from..to`.
    fn between(&mut self, from: u64, to: u64) -> u64 {
        use rand_core::Rng;
        from + self.0.next_u64() % (to - from).max(1)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.between(0, 100) < percent
    }

    fn rate(&mut self) -> Rate {
        Rate {
            arrivals: self.between(1, 3_000),
            per_ns: self.between(1, 3_000) * MS,
        }
    }
}
