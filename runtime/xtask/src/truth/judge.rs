//! The bounds, and whether they hold.

use super::pair::{Figures, Pair};
use super::plan::Case;
use crate::measure::figures::{median, short};

/// Net may move by this share of the baseline, or by so many milliseconds, whichever is more.
const P50_BOUND: Bound = Bound {
    share: 0.10,
    floor_ms: 0.2,
};
const P99_BOUND: Bound = Bound {
    share: 0.10,
    floor_ms: 1.0,
};
/// Gross p50 has to grow so many times, or the generator was not overloaded and nothing was shown.
const LEAST_GROWTH: f64 = 50.0;
/// At once the CPU there is, queues may stay short; from ten times on they cannot.
const GROWS_FROM: u32 = 10;

struct Bound {
    share: f64,
    floor_ms: f64,
}

impl Bound {
    fn allowed_ms(&self, baseline_ms: f64) -> f64 {
        (self.share * baseline_ms).max(self.floor_ms)
    }
}

/// A case with all its pairs.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) case: Case,
    pairs: Vec<Pair>,
    /// Why not all pairs could be run.
    failure: Option<String>,
}

impl Judged {
    /// A case that could not be run does not hold; the others go on.
    pub(super) fn new(case: Case, run: anyhow::Result<Vec<Pair>>) -> Judged {
        match run {
            Ok(pairs) => Judged {
                case,
                pairs,
                failure: None,
            },
            Err(why) => Judged {
                case,
                pairs: Vec::new(),
                failure: Some(format!("{why:#}")),
            },
        }
    }

    /// The median of a figure over the baselines, and over the overloaded runs.
    pub(super) fn medians(&self, figure: impl Fn(&Figures) -> f64) -> (f64, f64) {
        (
            self.median(|pair| figure(&pair.baseline)),
            self.median(|pair| figure(&pair.overloaded)),
        )
    }

    /// How many times gross p50 grew: the median over the pairs.
    pub(super) fn growth(&self) -> f64 {
        self.median(|pair| pair.overloaded.gross_p50 / pair.baseline.gross_p50)
    }

    pub(super) fn holds(&self) -> bool {
        self.breaches().is_empty()
    }

    /// `holds`, or what does not.
    pub(super) fn verdict(&self) -> String {
        let breaches = self.breaches();
        if breaches.is_empty() {
            "holds".to_owned()
        } else {
            breaches.join("; ")
        }
    }

    fn breaches(&self) -> Vec<String> {
        if let Some(why) = &self.failure {
            return vec![why.clone()];
        }
        let mut breaches = Vec::new();
        breaches.extend(self.moved("net p50", &P50_BOUND, |f| f.net_p50));
        breaches.extend(self.moved("net p99", &P99_BOUND, |f| f.net_p99));
        // Written so that a growth that is no number counts as too little.
        let grown = self.growth() >= LEAST_GROWTH;
        if self.case.overload >= GROWS_FROM && !grown {
            breaches.push(format!(
                "gross p50 grew {}-fold, not {LEAST_GROWTH}-fold",
                short(self.growth())
            ));
        }
        breaches
    }

    /// The median of each pair's difference, against what is allowed of the median baseline; a breach when it is more, in
    /// whichever direction.
    fn moved(
        &self,
        what: &str,
        bound: &Bound,
        figure: impl Fn(&Figures) -> f64 + Copy,
    ) -> Option<String> {
        let difference = self.median(|pair| figure(&pair.overloaded) - figure(&pair.baseline));
        let allowed = bound.allowed_ms(self.medians(figure).0);
        let within = difference.abs() <= allowed;
        (!within).then(|| {
            format!(
                "{what} moved by {} ms, {} ms are allowed",
                short(difference),
                short(allowed)
            )
        })
    }

    fn median(&self, figure: impl Fn(&Pair) -> f64) -> f64 {
        median(self.pairs.iter().map(figure)).unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::truth::plan::cases;

    pub(in crate::truth) fn figures(net_p50: f64, net_p99: f64, gross_p50: f64) -> Figures {
        Figures {
            net_p50,
            net_p99,
            gross_p50,
            answered: 100.0,
            exact: 0.99,
            burnt_p50: 0.5,
        }
    }

    fn judged(overload: u32, baseline: Figures, overloaded: &[Figures]) -> Judged {
        let case = cases()
            .into_iter()
            .find(|case| case.overload == overload)
            .expect("there is such a case");
        let pairs = overloaded.iter().map(|&overloaded| Pair {
            baseline,
            overloaded,
        });
        Judged::new(case, Ok(pairs.collect()))
    }

    #[test]
    fn net_may_move_by_the_larger_of_share_and_floor() {
        let rows = [
            (
                "a small net, within the floor",
                figures(0.1, 0.5, 1.0),
                figures(0.29, 1.4, 100.0),
                true,
            ),
            (
                "a small net, past the floor at p50",
                figures(0.1, 0.5, 1.0),
                figures(0.31, 0.5, 100.0),
                false,
            ),
            (
                "a small net, past the floor at p99",
                figures(0.1, 0.5, 1.0),
                figures(0.1, 1.6, 100.0),
                false,
            ),
            (
                "a large net, within the share",
                figures(10.0, 50.0, 11.0),
                figures(10.9, 54.0, 900.0),
                true,
            ),
            (
                "a large net, past the share",
                figures(10.0, 50.0, 11.0),
                figures(11.1, 50.0, 900.0),
                false,
            ),
            (
                "a net that fell too far is not the same either",
                figures(10.0, 50.0, 11.0),
                figures(8.9, 50.0, 900.0),
                false,
            ),
        ];
        for (sentence, baseline, overloaded, holds) in rows {
            assert_eq!(
                judged(10, baseline, &[overloaded]).holds(),
                holds,
                "{sentence}"
            );
        }
    }

    #[test]
    fn gross_has_to_grow_where_queues_cannot_stay_short() {
        let (before, after) = (figures(0.1, 0.5, 1.0), figures(0.1, 0.5, 49.0));
        assert!(judged(1, before, &[after]).holds());
        let verdict = judged(10, before, &[after]).verdict();
        assert_eq!(verdict, "gross p50 grew 49.0-fold, not 50-fold");
    }

    #[test]
    fn one_bad_pair_of_five_changes_nothing() {
        let (before, good, bad) = (
            figures(0.1, 0.5, 1.0),
            figures(0.12, 0.6, 90.0),
            figures(9.0, 9.0, 90.0),
        );
        assert!(judged(10, before, &[good, good, bad, good, good]).holds());
        assert!(!judged(10, before, &[good, bad, bad, good, bad]).holds());
    }

    #[test]
    fn a_case_that_could_not_be_run_does_not_hold_and_says_why() {
        let failed = Judged::new(cases()[0], Err(anyhow::anyhow!("no CPU")));
        assert!(!failed.holds());
        assert_eq!(failed.verdict(), "no CPU");
    }

    #[test]
    fn without_pairs_nothing_holds() {
        assert!(!judged(10, figures(0.1, 0.5, 1.0), &[]).holds());
    }
}
