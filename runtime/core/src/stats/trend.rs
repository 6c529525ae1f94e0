//! A distribution of whatever a scenario measures: signed, and with fractions.
//!
//! Times are non-negative integers already. A custom trend may be -3.25: it is multiplied by a scale, rounded, and counted by
//! its magnitude on one of two sides. The scale belongs to the unit, so that all parts of one metric share it and merge.

use super::Unit;
use super::histogram::{Histogram, rank};

/// A distribution with a negative side and a scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    scale: u32,
    positive: Histogram,
    /// Magnitudes of values below zero; made with the first of them.
    negative: Option<Box<Histogram>>,
}

/// A value was not finite, or past what the scale can hold and therefore counted as the largest there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// NaN or infinite: not counted.
    NotFinite,
    /// Beyond ±2^63 / scale: counted as that.
    OutOfRange,
}

impl Trend {
    /// An empty trend for values of a unit: times and bytes are integers, anything else keeps six decimals.
    pub fn new(unit: Unit) -> Trend {
        Trend::with_scale(match unit {
            Unit::Plain => 1_000_000,
            Unit::Bytes | Unit::Nanoseconds => 1,
        })
    }

    /// An empty trend whose values are multiplied by `scale` (at least 1) before they are rounded.
    pub fn with_scale(scale: u32) -> Trend {
        Trend {
            scale: scale.max(1),
            positive: Histogram::new(),
            negative: None,
        }
    }

    /// A trend of both sides as they stand.
    pub fn from_sides(scale: u32, positive: Histogram, negative: Option<Histogram>) -> Trend {
        Trend {
            scale: scale.max(1),
            positive,
            negative: negative.map(Box::new),
        }
    }

    /// Counts one value.
    ///
    /// # Errors
    ///
    /// Says so when the value could not be counted as it is.
    pub fn record(&mut self, value: f64) -> Result<(), Misfit> {
        if !value.is_finite() {
            return Err(Misfit::NotFinite);
        }
        let scaled = (value * f64::from(self.scale)).round();
        // A cast from float to integer saturates.
        let magnitude = scaled.abs() as u64;
        match scaled < 0.0 {
            true => self.negative_mut().record(magnitude),
            false => self.positive.record(magnitude),
        }
        match magnitude > Histogram::MAX_VALUE {
            true => Err(Misfit::OutOfRange),
            false => Ok(()),
        }
    }

    /// Adds a distribution of non-negative integers to a trend of scale 1.
    pub fn merge_histogram(&mut self, histogram: &Histogram) {
        debug_assert_eq!(self.scale, 1, "a plain histogram has scale 1");
        self.positive.merge(histogram);
    }

    /// Adds all that another trend of the same scale counted.
    pub fn merge(&mut self, other: &Trend) {
        debug_assert_eq!(
            self.scale, other.scale,
            "trends of one metric share their unit, and so their scale"
        );
        self.positive.merge(&other.positive);
        if let Some(negative) = &other.negative {
            self.negative_mut().merge(negative);
        }
    }

    /// Forgets what was counted and keeps the memory.
    pub fn clear(&mut self) {
        self.positive.clear();
        if let Some(negative) = &mut self.negative {
            negative.clear();
        }
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.positive.count().saturating_add(self.below_zero())
    }

    /// The smallest value.
    pub fn min(&self) -> Option<f64> {
        let lowest = self
            .negative
            .as_ref()
            .and_then(|n| n.max())
            .map(|m| -(m as f64));
        lowest
            .or(self.positive.min().map(|m| m as f64))
            .map(|v| self.unscaled(v))
    }

    /// The largest value.
    pub fn max(&self) -> Option<f64> {
        let highest = self.positive.max().map(|m| m as f64);
        let least_below = || {
            self.negative
                .as_ref()
                .and_then(|n| n.min())
                .map(|m| -(m as f64))
        };
        highest.or_else(least_below).map(|v| self.unscaled(v))
    }

    /// The arithmetic mean.
    pub fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum() / self.count() as f64)
    }

    /// The sum of all values.
    pub fn sum(&self) -> f64 {
        let below = self.negative.as_ref().map_or(0.0, |n| n.sum() as f64);
        self.unscaled(self.positive.sum() as f64 - below)
    }

    /// The value at a quantile by nearest rank, as [`Histogram::quantile`] has it.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = rank(quantile, count);
        let below = self.below_zero();
        let value = match &self.negative {
            // In ascending order the greatest magnitude below zero comes first.
            Some(negative) if rank <= below => -(negative.value_at_rank(below - rank + 1) as f64),
            _ => self.positive.value_at_rank(rank - below) as f64,
        };
        Some(self.unscaled(value))
    }

    /// What values were multiplied by.
    pub fn scale(&self) -> u32 {
        self.scale
    }

    /// Values from zero up, scaled.
    pub fn positive(&self) -> &Histogram {
        &self.positive
    }

    /// Magnitudes of values below zero, scaled; none when there were none.
    pub fn negative(&self) -> Option<&Histogram> {
        self.negative.as_deref().filter(|n| !n.is_empty())
    }

    fn below_zero(&self) -> u64 {
        self.negative.as_ref().map_or(0, |n| n.count())
    }

    fn negative_mut(&mut self) -> &mut Histogram {
        self.negative.get_or_insert_default()
    }

    fn unscaled(&self, scaled: f64) -> f64 {
        scaled / f64::from(self.scale)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(unit: Unit, values: &[f64]) -> Trend {
        let mut trend = Trend::new(unit);
        values
            .iter()
            .for_each(|value| trend.record(*value).expect("finite and in range"));
        trend
    }

    /// Within a thousandth, or half of the last decimal that a scale keeps.
    fn near(shown: f64, exact: f64) -> bool {
        (shown - exact).abs() <= exact.abs() * 1e-3 + 0.5e-6
    }

    proptest! {
        #[test]
        fn signed_quantiles_are_exact_to_three_digits(
            mut values in prop::collection::vec(-1e6..1e6f64, 1..200),
            quantile in 0.0..=1.0f64,
        ) {
            let trend = of(Unit::Plain, &values);
            values.sort_by(f64::total_cmp);
            let exact = values[rank(quantile, values.len() as u64) as usize - 1];
            let shown = trend.quantile(quantile).expect("there are samples");
            prop_assert!(near(shown, exact), "{} for {}", shown, exact);
        }

        #[test]
        fn signed_percentiles_stay_within_min_and_max(values in prop::collection::vec(-1e6..1e6f64, 1..100)) {
            let trend = of(Unit::Plain, &values);
            let shown: Vec<f64> = (0..=100).filter_map(|n| trend.quantile(f64::from(n) / 100.0)).collect();
            prop_assert_eq!(shown.len(), 101);
            prop_assert!(shown.is_sorted());
            prop_assert!(trend.min() <= Some(shown[0]) && Some(shown[100]) <= trend.max());
        }

        #[test]
        fn merging_signed_trends_is_recording_both(
            a in prop::collection::vec(-1e6..1e6f64, 0..50),
            b in prop::collection::vec(-1e6..1e6f64, 0..50),
        ) {
            let mut merged = of(Unit::Plain, &a);
            merged.merge(&of(Unit::Plain, &b));
            let mut other = of(Unit::Plain, &b);
            other.merge(&of(Unit::Plain, &a));
            let both: Vec<f64> = a.into_iter().chain(b).collect();
            prop_assert_eq!(merged.count(), both.len() as u64);
            prop_assert_eq!(&merged.max(), &of(Unit::Plain, &both).max());
            prop_assert_eq!(&merged.quantile(0.5), &of(Unit::Plain, &both).quantile(0.5));
            prop_assert_eq!(merged.quantile(0.9), other.quantile(0.9));
        }
    }

    /// All values below zero: the largest is the one nearest to it.
    #[test]
    fn case_034_custom_metrics_may_be_negative() {
        let trend = of(Unit::Plain, &[-3.5, -20.0, -0.25]);
        assert_eq!((trend.min(), trend.max()), (Some(-20.0), Some(-0.25)));
        assert!(near(trend.quantile(0.5).expect("samples"), -3.5));
        assert!(near(trend.mean().expect("samples"), -23.75 / 3.0));

        let mixed = of(Unit::Plain, &[-3.5, 7.25, 0.0]);
        assert_eq!(
            (mixed.min(), mixed.max(), mixed.quantile(0.5)),
            (Some(-3.5), Some(7.25), Some(0.0))
        );
    }

    #[test]
    fn what_cannot_be_counted_as_it_is_is_told() {
        let mut trend = Trend::new(Unit::Nanoseconds);
        assert_eq!(trend.record(f64::NAN), Err(Misfit::NotFinite));
        assert_eq!(trend.record(f64::NEG_INFINITY), Err(Misfit::NotFinite));
        assert_eq!(trend.count(), 0);
        assert_eq!(trend.record(1e30), Err(Misfit::OutOfRange));
        assert_eq!(
            (trend.count(), trend.max()),
            (1, Some(Histogram::MAX_VALUE as f64))
        );
    }

    #[test]
    fn an_empty_trend_has_no_figures() {
        let trend = Trend::new(Unit::Plain);
        assert_eq!(
            (trend.min(), trend.max(), trend.mean(), trend.quantile(0.5)),
            (None, None, None, None)
        );
    }
}
