//! Names and the numbers that stand for them, equal in all instances of a run.
//!
//! Names cross the border once, at registration: only that takes the lock. Numbers start from 1, so that a guest which forgets
//! to register and passes 0 is told from one that did not.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use nettare_core::stats::{MetricKind, Unit};

use crate::questions::Questions;

/// The number that stands for "no more room": using it is counted as misuse.
pub(crate) const NO_NUMBER: u32 = u32::MAX;

/// Names of one kind at most, in a run.
pub(crate) const MAX_NAMES: u32 = 10_000;

/// A metric of a guest's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MetricInfo {
    /// Its name.
    pub name: String,
    /// How its samples are put together.
    pub kind: MetricKind,
    /// What its values are.
    pub unit: Unit,
}

/// One metric with one set of tags.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SeriesInfo {
    /// The metric's number.
    pub metric: u32,
    /// The tags, sorted by key.
    pub tags: Vec<(String, String)>,
}

/// Names and numbers of checks, metrics, series and groups of one run.
#[derive(Debug, Default)]
pub struct Registry {
    checks: Table<String, ()>,
    groups: Table<String, ()>,
    metrics: Table<String, (MetricKind, Unit)>,
    series: Table<SeriesInfo, ()>,
    questions: Questions,
}

/// A name is taken by something of another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict;

impl Registry {
    /// An empty registry.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// The expressions that its guests ask by.
    pub(crate) fn questions(&self) -> &Questions {
        &self.questions
    }

    /// The number of the check of that name; none when there are too many names.
    pub fn check(&self, name: &str) -> Option<u32> {
        self.checks.number(name, ()).unwrap_or_default()
    }

    /// The number of the group of that name; none when there are too many names.
    pub fn group(&self, name: &str) -> Option<u32> {
        self.groups.number(name, ()).unwrap_or_default()
    }

    /// The number of a metric; none when there are too many.
    ///
    /// # Errors
    ///
    /// [`Conflict`] when there is a metric of that name with another kind or unit.
    pub fn metric(&self, metric: &MetricInfo) -> Result<Option<u32>, Conflict> {
        self.metrics
            .number(metric.name.as_str(), (metric.kind, metric.unit))
    }

    /// The number of a series; none when there are too many, or no such metric.
    pub fn series(&self, series: &SeriesInfo) -> Option<u32> {
        if !self.metrics.has(series.metric) {
            return None;
        }
        self.series.number(series, ()).unwrap_or_default()
    }

    /// The name of a check.
    pub fn check_name(&self, check: u32) -> Option<String> {
        self.checks.entry(check).map(|(name, ())| name)
    }

    /// The name of a group.
    pub fn group_name(&self, group: u32) -> Option<String> {
        self.groups.entry(group).map(|(name, ())| name)
    }

    /// A metric, by its number.
    pub fn metric_info(&self, metric: u32) -> Option<MetricInfo> {
        self.metrics
            .entry(metric)
            .map(|(name, (kind, unit))| MetricInfo { name, kind, unit })
    }

    /// A series, by its number.
    pub fn series_info(&self, series: u32) -> Option<SeriesInfo> {
        self.series.entry(series).map(|(series, ())| series)
    }

    /// Whether there is such a check. Takes no lock.
    pub fn has_check(&self, check: u32) -> bool {
        self.checks.has(check)
    }

    /// Whether there is such a group. Takes no lock.
    pub fn has_group(&self, group: u32) -> bool {
        self.groups.has(group)
    }

    /// Whether there is such a metric. Takes no lock.
    pub fn has_metric(&self, metric: u32) -> bool {
        self.metrics.has(metric)
    }

    /// Whether there is such a series. Takes no lock.
    pub fn has_series(&self, series: u32) -> bool {
        self.series.has(series)
    }
}

/// Names of one kind, each with what belongs to it.
#[derive(Debug)]
struct Table<K, V> {
    /// How many names there are: numbers are 1 to this. Written under the lock, read without.
    length: AtomicU32,
    names: Mutex<Names<K, V>>,
}

#[derive(Debug)]
struct Names<K, V> {
    numbers: HashMap<K, u32>,
    ordered: Vec<(K, V)>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        let names = Names {
            numbers: HashMap::new(),
            ordered: Vec::new(),
        };
        Table {
            length: AtomicU32::new(0),
            names: Mutex::new(names),
        }
    }
}

impl<K: Clone + Eq + Hash, V: Copy + PartialEq> Table<K, V> {
    fn number<Q>(&self, key: &Q, value: V) -> Result<Option<u32>, Conflict>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = names.numbers.get(key) {
            let known = names
                .ordered
                .get(index(number))
                .is_some_and(|(_, known)| *known == value);
            return if known {
                Ok(Some(number))
            } else {
                Err(Conflict)
            };
        }
        let number = self.length.load(Ordering::Relaxed) + 1;
        if number > MAX_NAMES {
            return Ok(None);
        }
        names.numbers.insert(key.to_owned(), number);
        names.ordered.push((key.to_owned(), value));
        // Release pairs with the acquire in `has`: a number another thread knows of names an entry it can see.
        self.length.store(number, Ordering::Release);
        Ok(Some(number))
    }

    fn entry(&self, number: u32) -> Option<(K, V)> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.ordered.get(index(number)).cloned()
    }

    fn has(&self, number: u32) -> bool {
        (1..=self.length.load(Ordering::Acquire)).contains(&number)
    }
}

/// Where a number's entry is; for 0, nowhere.
fn index(number: u32) -> usize {
    usize::try_from(number)
        .ok()
        .and_then(|number| number.checked_sub(1))
        .unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_same_name_has_the_same_number_and_numbers_start_from_1() {
        let registry = Registry::new();
        assert_eq!(registry.check("a"), Some(1));
        assert_eq!(registry.check("b"), Some(2));
        assert_eq!(registry.check("a"), Some(1));
        assert_eq!(registry.group("b"), Some(1), "groups are numbered apart");
        assert_eq!(registry.check_name(2).as_deref(), Some("b"));
        assert!(registry.has_check(2) && !registry.has_check(3) && !registry.has_check(0));
        assert_eq!(registry.check_name(0), None);
    }

    #[test]
    fn a_metric_keeps_its_kind_and_unit() {
        let registry = Registry::new();
        let orders = MetricInfo {
            name: "orders".to_owned(),
            kind: MetricKind::Counter,
            unit: Unit::Plain,
        };
        assert_eq!(registry.metric(&orders), Ok(Some(1)));
        assert_eq!(
            registry.metric(&MetricInfo {
                kind: MetricKind::Trend,
                ..orders.clone()
            }),
            Err(Conflict)
        );
        assert_eq!(
            registry.metric(&MetricInfo {
                unit: Unit::Bytes,
                ..orders.clone()
            }),
            Err(Conflict)
        );
        assert_eq!(registry.metric_info(1), Some(orders));
    }

    #[test]
    fn a_series_needs_its_metric() {
        let registry = Registry::new();
        let series = SeriesInfo {
            metric: 1,
            tags: vec![("a".to_owned(), "b".to_owned())],
        };
        assert_eq!(registry.series(&series), None);
        let metric = MetricInfo {
            name: "orders".to_owned(),
            kind: MetricKind::Counter,
            unit: Unit::Plain,
        };
        registry.metric(&metric).unwrap();
        assert_eq!(registry.series(&series), Some(1));
        assert_eq!(registry.series_info(1), Some(series));
    }

    #[test]
    fn names_are_bounded() {
        let registry = Registry::new();
        for n in 0..MAX_NAMES {
            assert_eq!(registry.check(&n.to_string()), Some(n + 1));
        }
        assert_eq!(registry.check("one more"), None);
        assert_eq!(registry.check("0"), Some(1), "known names stay known");
    }

    #[test]
    fn threads_that_register_the_same_names_agree() {
        let registry = Arc::new(Registry::new());
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let registry = Arc::clone(&registry);
                std::thread::spawn(move || {
                    (0..100)
                        .map(|n| registry.check(&n.to_string()))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let numbers: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        assert!(numbers.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
