//! The generator's own health: the gauges that tell of it, and what a run's seconds say when looked at together.
//!
//! The engine samples the machine and itself once a second and sets gauges whose names begin with `gen_`; they travel in
//! [`Interval`]s like any other. Here they are only named ([`GAUGES`]) and looked at ([`Health`]); nothing is read.
//!
//! Rates are per second, shares from 0 to 1. A figure that nobody could read has no gauge, which is not the same as 0.

use std::collections::BTreeMap;

use crate::event::Interval;
use crate::report::{Generator, Number};
use crate::stats::GENERATOR_PREFIX;

mod gauges;
#[cfg(test)]
mod tests;

pub use gauges::{GAUGES, GaugeInfo, Worse, gauge, info};

/// I/O threads that come to their timer later than this are away from their sockets: no exact kernel stamp helps a
/// connection whose receive window closes meanwhile.
pub const LATE_NS: u64 = 10_000_000;

/// What the seconds of a run say of the generator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    figures: BTreeMap<String, Watched>,
}

/// One gauge over a run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Watched {
    /// For how long it was watched.
    seconds: f64,
    /// Its integral over that time.
    integral: f64,
    min: f64,
    max: f64,
}

impl Health {
    /// Looks at all seconds of a run.
    pub fn of(intervals: &[Interval]) -> Health {
        let mut health = Health::default();
        for interval in intervals {
            let seconds = interval.length_ns as f64 / 1e9;
            for (name, value) in &interval.gauges {
                if name.starts_with(GENERATOR_PREFIX) && value.is_finite() {
                    health.add(name, *value, seconds);
                }
            }
        }
        health
    }

    fn add(&mut self, name: &str, value: f64, seconds: f64) {
        let (min, max) = (value, value);
        let fresh = Watched {
            seconds,
            integral: value * seconds,
            min,
            max,
        };
        match self.figures.get_mut(name) {
            Some(watched) => {
                watched.seconds += seconds;
                watched.integral += value * seconds;
                watched.min = watched.min.min(min);
                watched.max = watched.max.max(max);
            }
            None => {
                self.figures.insert(name.to_owned(), fresh);
            }
        }
    }

    /// Whether nothing at all was watched.
    pub fn is_empty(&self) -> bool {
        self.figures.is_empty()
    }

    /// The mean over the time it was watched, and over a second at least: the kernel counts in hundredths of a second, of which
    /// a single one would be a large part of a short run.
    pub fn mean(&self, name: &str) -> Option<f64> {
        let watched = self.figures.get(name)?;
        Some(watched.integral / watched.seconds.max(1.0))
    }

    /// The highest value.
    pub fn max(&self, name: &str) -> Option<f64> {
        self.figures.get(name).map(|watched| watched.max)
    }

    /// The lowest value.
    pub fn min(&self, name: &str) -> Option<f64> {
        self.figures.get(name).map(|watched| watched.min)
    }

    /// The sum over the run of what is counted per second.
    pub fn total(&self, name: &str) -> Option<f64> {
        self.figures.get(name).map(|watched| watched.integral)
    }

    /// The worst value of each figure: the highest, but the lowest of what there should be much of.
    fn worst(&self) -> BTreeMap<String, Number> {
        let worst = |(name, watched): (&String, &Watched)| {
            let value = match info(name).map_or(Worse::High, |info| info.worse) {
                Worse::High => watched.max,
                Worse::Low => watched.min,
            };
            (name.clone(), Number(value))
        };
        self.figures.iter().map(worst).collect()
    }
}

/// What a report says of the generator's health; none when nothing was watched.
pub fn generator(intervals: &[Interval], cpus: u32) -> Option<Generator> {
    let health = Health::of(intervals);
    if health.is_empty() {
        return None;
    }
    let series = health
        .figures
        .keys()
        .map(|name| {
            let values = intervals
                .iter()
                .filter_map(|interval| interval.gauges.get(name));
            (name.clone(), values.copied().map(Number).collect())
        })
        .collect();
    Some(Generator {
        cpus,
        peak: health.worst(),
        series,
    })
}
