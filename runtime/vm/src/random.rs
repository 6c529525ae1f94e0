//! Random numbers for guests: the same seed gives the same sequence to the same virtual user and iteration.
//!
//! The generator is PCG-64. It is made anew at each call of a hook, from a mix of the run's seed, the virtual user and the
//! iteration, and only when a guest asks: an iteration that draws nothing pays nothing.

use rand_core::Rng;
use rand_pcg::Pcg64;

/// The iteration that stands for `setup`, `init` and `teardown`: none of a run's has it.
const OUTSIDE_ITERATIONS: u64 = u64::MAX;

/// The random numbers of one virtual user.
#[derive(Debug)]
pub(crate) struct Random {
    seed: u64,
    vu: u32,
    iteration: u64,
    generator: Option<Pcg64>,
}

impl Random {
    pub(crate) fn new(seed: u64, vu: u32) -> Random {
        Random {
            seed,
            vu,
            iteration: OUTSIDE_ITERATIONS,
            generator: None,
        }
    }

    /// Begins the sequence of an iteration, or that of the other hooks.
    pub(crate) fn begin(&mut self, iteration: Option<u64>) {
        self.iteration = iteration.unwrap_or(OUTSIDE_ITERATIONS);
        self.generator = None;
    }

    /// Any u64, each as likely.
    pub(crate) fn number(&mut self) -> u64 {
        self.generator().next_u64()
    }

    /// In [0, 1), with 53 bits.
    pub(crate) fn fraction(&mut self) -> f64 {
        fraction(self.number())
    }

    /// In [0, 1), for the host's own decisions: another for each place in an iteration, and apart from what the guest draws.
    pub(crate) fn side_fraction(&self, place: u32) -> f64 {
        let mixed = mix(mix(mix(self.seed) ^ u64::from(self.vu)) ^ self.iteration);
        fraction(mix(mixed ^ u64::from(place)))
    }

    /// Fills a buffer.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) {
        self.generator().fill_bytes(buffer);
    }

    fn generator(&mut self) -> &mut Pcg64 {
        let (seed, vu, iteration) = (self.seed, self.vu, self.iteration);
        self.generator.get_or_insert_with(|| {
            // PCG's streams are alike when their states are: the three numbers are mixed before they become one.
            let high = mix(mix(seed) ^ u64::from(vu));
            let low = mix(high ^ iteration);
            let stream = mix(low ^ seed);
            Pcg64::new(u128::from(high) << 64 | u128::from(low), u128::from(stream))
        })
    }
}

/// The upper 53 bits of a number as a part of 1.
fn fraction(number: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit an f64 exactly")]
    let numerator = (number >> 11) as f64;
    numerator / (1_u64 << 53) as f64
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn first(seed: u64, vu: u32, iteration: Option<u64>) -> u64 {
        let mut random = Random::new(seed, vu);
        random.begin(iteration);
        random.number()
    }

    proptest! {
        #[test]
        fn the_same_seed_user_and_iteration_give_the_same_sequence(seed: u64, vu: u32, iteration: u64) {
            let mut one = Random::new(seed, vu);
            let mut other = Random::new(seed, vu);
            one.number();
            one.begin(Some(iteration));
            other.begin(Some(iteration));
            for _ in 0..10 {
                prop_assert_eq!(one.number(), other.number());
            }
        }

        #[test]
        fn any_difference_gives_another_sequence(seed: u64, vu in 1_u32..1000, iteration in 0_u64..1000) {
            let number = first(seed, vu, Some(iteration));
            prop_assert_ne!(number, first(seed ^ 1, vu, Some(iteration)));
            prop_assert_ne!(number, first(seed, vu + 1, Some(iteration)));
            prop_assert_ne!(number, first(seed, vu, Some(iteration + 1)));
            prop_assert_ne!(number, first(seed, vu, None));
        }

        #[test]
        fn fractions_are_at_least_0_and_below_1(seed: u64) {
            let mut random = Random::new(seed, 1);
            for _ in 0..100 {
                prop_assert!((0.0..1.0).contains(&random.fraction()));
            }
        }
    }

    #[test]
    fn fractions_are_spread_evenly() {
        let mut random = Random::new(7, 1);
        let low = (0..10_000).filter(|_| random.fraction() < 0.25).count();
        assert!(
            (2300..2700).contains(&low),
            "{low} of 10,000 below a quarter"
        );
    }
}
