//! When the n-th arrival is due: a pure function of `n`.
//!
//! Nothing is added up on the way, so nothing drifts. For a rate of `a` arrivals in `p` nanoseconds and a duration `D`,
//!
//! ```text
//!   due(n)  = floor(n * p / a)                first at 0; only those with due(n) < D
//!   total   = ceil(D * a / p)                 how many those are
//!
//!   4/s for 1 s:   0      0.25     0.5     0.75    |        4 arrivals; the one at 1 s is not among them
//! ```
//!
//! The interval is half open: an arrival that falls on the end is the first of what would come after. So 500/s for 10 s is 5,000
//! arrivals, not 5,001.

use crate::plan::Rate;

/// Evenly spaced arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantPace {
    /// In lowest terms, so that `n * per_ns` fits 64 bits for all but absurd `n`, and the division is a short one.
    rate: Rate,
    duration_ns: u64,
}

impl ConstantPace {
    /// Arrivals at `rate` for `duration_ns`. A rate that is zero or infinite, which no valid plan has, yields none.
    pub fn new(rate: Rate, duration_ns: u64) -> ConstantPace {
        if rate.arrivals == 0 || rate.per_ns == 0 {
            return ConstantPace {
                rate: Rate {
                    arrivals: 1,
                    per_ns: 1,
                },
                duration_ns: 0,
            };
        }
        ConstantPace {
            rate: rate.reduced(),
            duration_ns,
        }
    }

    /// When arrival `n`, counting from 0, is due, in nanoseconds from the start; none at or past the duration's end.
    pub fn due_ns(&self, n: u64) -> Option<u64> {
        let due_ns = match n.checked_mul(self.rate.per_ns) {
            Some(product) => product / self.rate.arrivals,
            None => u64::try_from(
                u128::from(n) * u128::from(self.rate.per_ns) / u128::from(self.rate.arrivals),
            )
            .ok()?,
        };
        (due_ns < self.duration_ns).then_some(due_ns)
    }

    /// How many arrivals there are in all. Ends at the width of the type.
    pub fn total(&self) -> u64 {
        self.count_before(self.duration_ns)
    }

    /// How many arrivals are due before `time_ns`.
    pub fn count_before(&self, time_ns: u64) -> u64 {
        let time_ns = time_ns.min(self.duration_ns);
        // floor(n * p / a) < t  <=>  n * p / a < t  <=>  n < t * a / p, because t is whole.
        let count = (u128::from(time_ns) * u128::from(self.rate.arrivals))
            .div_ceil(u128::from(self.rate.per_ns));
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn totals_are_exact() {
        let table = [
            (500, SECOND, 10 * SECOND, 5_000, "a whole number of seconds"),
            (
                50,
                60 * SECOND,
                90 * SECOND,
                75,
                "per minute, for a minute and a half",
            ),
            (
                3,
                SECOND,
                SECOND,
                3,
                "thirds of a second are not whole nanoseconds",
            ),
            (
                1,
                SECOND,
                SECOND + 1,
                2,
                "one nanosecond over lets the next one in",
            ),
            (
                1,
                SECOND,
                SECOND,
                1,
                "one that falls on the end is not among them",
            ),
            (
                1,
                3_600 * SECOND,
                SECOND,
                1,
                "however rare, the first is at 0",
            ),
            (
                1_000_000,
                SECOND,
                SECOND / 1_000,
                1_000,
                "a run of a millisecond",
            ),
            (0, SECOND, SECOND, 0, "no rate, no arrivals"),
            (1, 0, SECOND, 0, "an infinite rate is no rate"),
        ];
        for (arrivals, per_ns, duration_ns, total, why) in table {
            assert_eq!(
                ConstantPace::new(Rate { arrivals, per_ns }, duration_ns).total(),
                total,
                "{why}"
            );
        }
    }

    #[test]
    fn a_billion_arrivals_do_not_drift() {
        let pace = ConstantPace::new(
            Rate {
                arrivals: 3,
                per_ns: 7,
            },
            u64::MAX,
        );
        assert_eq!(pace.due_ns(3_000_000_000), Some(7_000_000_000));
        assert_eq!(pace.due_ns(3_000_000_001), Some(7_000_000_002));
    }

    #[test]
    fn case_047_short_runs_have_their_rate() {
        // 47: rates came out wrong for runs of less than a second.
        for (milliseconds, expected) in [(1, 2), (10, 20), (250, 500), (999, 1_998)] {
            let pace = ConstantPace::new(
                Rate {
                    arrivals: 2_000,
                    per_ns: SECOND,
                },
                milliseconds * 1_000_000,
            );
            assert_eq!(pace.total(), expected, "2,000/s for {milliseconds} ms");
            assert_eq!(pace.due_ns(expected - 1), Some((expected - 1) * 500_000));
            assert_eq!(pace.due_ns(expected), None);
        }
    }

    fn any_rate() -> impl Strategy<Value = Rate> {
        (1u64..1 << 20, 1u64..1 << 50).prop_map(|(arrivals, per_ns)| Rate { arrivals, per_ns })
    }

    proptest! {
        #[test]
        fn dues_never_decrease(rate in any_rate(), n in any::<u64>()) {
            let pace = ConstantPace::new(rate, u64::MAX);
            if let (Some(this), Some(next)) = (pace.due_ns(n), pace.due_ns(n.saturating_add(1))) {
                prop_assert!(this <= next);
            }
        }

        #[test]
        fn dues_are_the_integral_of_the_rate_within_one(rate in any_rate(), n in any::<u64>()) {
            let pace = ConstantPace::new(rate, u64::MAX);
            if let Some(due_ns) = pace.due_ns(n) {
                // Arrivals that the rate itself would have brought by then: due * a / p, which is n less a part of one arrival.
                let below = u128::from(due_ns) * u128::from(rate.arrivals);
                let above = (u128::from(due_ns) + 1) * u128::from(rate.arrivals);
                let exact = u128::from(n) * u128::from(rate.per_ns);
                prop_assert!(below <= exact && exact < above);
            }
        }

        #[test]
        fn the_total_counts_the_dues(rate in any_rate(), duration_ns in 1u64..1 << 43) {
            let pace = ConstantPace::new(rate, duration_ns);
            let total = pace.total();
            prop_assert!(total >= 1);
            prop_assert!(pace.due_ns(total - 1).is_some());
            prop_assert_eq!(pace.due_ns(total), None);
        }

        #[test]
        fn a_count_before_a_time_is_the_index_of_the_next_due(rate in any_rate(), time_ns in 1u64..1 << 43) {
            let pace = ConstantPace::new(rate, u64::MAX);
            let count = pace.count_before(time_ns);
            prop_assert!(pace.due_ns(count - 1).is_some_and(|due_ns| due_ns < time_ns));
            prop_assert!(pace.due_ns(count).is_none_or(|due_ns| due_ns >= time_ns));
        }
    }
}
