//! The figures of the whole run: they exist once, in the collector.
//!
//! Workers number names and keys each in their own way. A [`Translation`] per worker maps their numbers to the collector's, by
//! text and only when a name or key is new; after that, absorbing a delta is adding arrays.
//!
//! Beside the totals stand sums of the interval under way, added up on a path of their own. That the intervals add up to the
//! totals is therefore a statement that can fail, and one that every run checks of itself.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::delta::{Book, ShardDelta};
use super::figures::{
    CheckFigures, CustomFigures, ExchangeFigures, Gauge, GroupFigures, PhaseFigures, RunFigures,
    ScenarioFigures,
};
use super::index::{FastHasher, Figures, Table};
use super::interval::IntervalSums;
use super::key::{CheckKey, CustomKey, ErrorKey, GroupKey, PhaseKey, SeriesKey};
use super::metric::builtin;
use super::symbol::{Interner, Symbol};
use super::translation::Translation;
use super::view::{Figure, View};
use super::{MetricKind, Unit, limit};
use crate::event::Interval;
use crate::sample::ErrorKind;

/// All figures of a run.
#[derive(Debug)]
pub struct Totals {
    pub(crate) names: Interner,
    pub(crate) exchanges: Table<SeriesKey, ExchangeFigures>,
    pub(crate) phases: Table<PhaseKey, PhaseFigures>,
    pub(crate) scenarios: Table<Symbol, ScenarioFigures>,
    pub(crate) checks: Table<CheckKey, CheckFigures>,
    pub(crate) groups: Table<GroupKey, GroupFigures>,
    pub(crate) customs: Table<CustomKey, CustomFigures>,
    pub(crate) run: RunFigures,
    errors: BTreeMap<ErrorKey, ErrorTotal>,
    misuse: BTreeMap<String, u64>,
    limits: BTreeMap<String, u64>,
    pub(crate) gauges: BTreeMap<String, Gauge>,
    /// What a custom metric is, by who recorded it first.
    customs_known: HashMap<Symbol, (MetricKind, Unit), FastHasher>,
    /// Why a check failed first, by its name.
    pub(crate) check_examples: HashMap<Symbol, Arc<str>, FastHasher>,
    workers: Vec<Translation>,
    interval: IntervalSums,
    /// End of the last closed interval.
    elapsed_ns: u64,
}

/// Errors of one kind and code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorTotal {
    /// The kind.
    pub kind: ErrorKind,
    /// The finer number; 0 when there is none.
    pub code: u32,
    /// How many.
    pub count: u64,
    /// The first message.
    pub example: String,
}

impl Totals {
    /// Nothing yet; at most `max_series` series of each sort, whichever worker they come from.
    pub fn new(max_series: u32) -> Totals {
        let limit = max_series as usize;
        Totals {
            // The workers limit what they send.
            names: Interner::new(usize::MAX),
            exchanges: Table::new(limit),
            phases: Table::new(usize::MAX),
            scenarios: Table::new(usize::MAX),
            checks: Table::new(limit),
            groups: Table::new(limit),
            customs: Table::new(limit),
            run: RunFigures::default(),
            errors: BTreeMap::new(),
            misuse: BTreeMap::new(),
            limits: BTreeMap::new(),
            gauges: BTreeMap::new(),
            customs_known: HashMap::default(),
            check_examples: HashMap::default(),
            workers: Vec::new(),
            interval: IntervalSums::default(),
            elapsed_ns: 0,
        }
    }

    /// Adds what a worker recorded. All deltas under one number must come from one shard, in the order in which it gave them.
    pub fn absorb(&mut self, worker: usize, mut delta: ShardDelta) {
        if self.workers.len() <= worker {
            self.workers.resize_with(worker + 1, Translation::default);
        }
        let mut translation = std::mem::take(&mut self.workers[worker]);
        translation.learn(self, &delta);
        self.absorb_book(&translation, &mut delta.book);
        self.absorb_texts(&translation, &mut delta);
        self.workers[worker] = translation;
        delta.return_book();
    }

    /// Sets a gauge: `vus`, `vus_max`, `gen_*`.
    pub fn gauge(&mut self, name: &str, value: f64) {
        if !value.is_finite() {
            return self.limit_hit(limit::NOT_FINITE, 1);
        }
        self.interval.gauge(name, value);
        match self.gauges.get_mut(name) {
            Some(gauge) => gauge.merge(&Gauge::new(value)),
            None => {
                self.gauges.insert(name.to_owned(), Gauge::new(value));
            }
        }
    }

    /// Ends an interval at `t_ns` from the run's start, and tells what happened in it.
    pub fn close_interval(&mut self, t_ns: u64) -> Interval {
        let mut sums = std::mem::take(&mut self.interval);
        let interval = sums.close(t_ns, t_ns.saturating_sub(self.elapsed_ns), &self.views());
        self.interval = sums;
        self.elapsed_ns = self.elapsed_ns.max(t_ns);
        interval
    }

    /// End of the last closed interval, from the run's start: what rates are per second of.
    pub fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    /// What was recorded of a metric in all series that have these tags; none when nothing was.
    pub fn query(&self, metric: &str, tags: &BTreeMap<String, String>) -> Option<(Unit, Figure)> {
        let mut found: Option<(Unit, Figure)> = None;
        self.each_view(&mut |view| {
            if view.metric != metric || view.is_aside() || !view.has_tags(tags) {
                return;
            }
            match &mut found {
                Some((_, figure)) => figure.merge(&view.figure),
                None => found = Some((view.unit, view.figure.to_figure())),
            }
        });
        found
    }

    /// Every metric of every series, as recorded.
    pub fn views(&self) -> Vec<View<'_>> {
        let mut views = Vec::new();
        self.each_view(&mut |view| views.push(view));
        views
    }

    /// Errors by kind and code, with an example each.
    pub fn errors(&self) -> impl Iterator<Item = &ErrorTotal> {
        self.errors.values()
    }

    /// Misuses of the contract, by what was misused.
    pub fn misuse(&self) -> &BTreeMap<String, u64> {
        &self.misuse
    }

    /// Limits that were hit, by name.
    pub fn limits(&self) -> &BTreeMap<String, u64> {
        &self.limits
    }

    pub(crate) fn limit_hit(&mut self, name: &str, n: u64) {
        *self.limits.entry(name.to_owned()).or_default() += n;
    }

    /// Whether a custom metric is of the kind and unit that its name had first, and not one of Nettare's own.
    pub(crate) fn agrees(&mut self, key: &CustomKey) -> bool {
        let first = *self
            .customs_known
            .entry(key.metric)
            .or_insert((key.kind, key.unit));
        first == (key.kind, key.unit) && builtin(self.names.text(key.metric)).is_none()
    }

    fn absorb_book(&mut self, translation: &Translation, book: &mut Book) {
        self.run.merge(&std::mem::take(&mut book.run));
        for (name, hits) in book.limits.drain(..) {
            self.limit_hit(name, hits);
        }
        let Totals {
            exchanges,
            phases,
            scenarios,
            checks,
            groups,
            interval,
            ..
        } = self;
        book.exchanges.drain(|number, figures| {
            let mine = translation.series[number as usize];
            exchanges.at(mine).merge(figures);
            if !exchanges.index.keys()[mine as usize].group.is_aside() {
                interval.exchanges(figures);
            }
        });
        book.phases.drain(|number, figures| {
            phases
                .at(translation.phases[number as usize])
                .merge(figures)
        });
        book.scenarios.drain(|number, figures| {
            scenarios
                .at(translation.scenarios[number as usize])
                .merge(figures);
            interval.iterations(figures);
        });
        book.checks.drain(|number, figures| {
            let mine = translation.checks[number as usize];
            checks.at(mine).merge(figures);
            if !checks.index.keys()[mine as usize].group.is_aside() {
                interval.checks(figures);
            }
        });
        book.groups.drain(|number, figures| {
            groups
                .at(translation.groups[number as usize])
                .merge(figures)
        });
        self.absorb_rest(translation, book);
    }

    fn absorb_rest(&mut self, translation: &Translation, book: &mut Book) {
        let mut conflicts = 0;
        let customs = &mut self.customs;
        book.customs.drain(
            |number, figures| match translation.customs[number as usize] {
                Some(mine) => customs.at(mine).merge(figures),
                None => conflicts += figures.samples,
            },
        );
        if conflicts > 0 {
            self.limit_hit(limit::METRIC_CONFLICT, conflicts);
        }
    }

    fn absorb_texts(&mut self, translation: &Translation, delta: &mut ShardDelta) {
        let (keys, examples) = (&delta.errors, &delta.error_examples);
        delta.book.errors.drain(|number, count| {
            let (kind, code) = keys[number as usize];
            let total = self
                .errors
                .entry((kind, code))
                .or_insert_with(|| ErrorTotal {
                    kind,
                    code,
                    count: 0,
                    example: examples[number as usize].to_string(),
                });
            total.count += count;
        });
        let what = &delta.misuse;
        delta.book.misuse.drain(|number, count| {
            let what = self.names.text(translation.symbol(what[number as usize]));
            *self.misuse.entry(what.to_owned()).or_default() += count;
        });
        for (check, why) in delta.check_examples.iter() {
            self.check_examples
                .entry(translation.symbol(*check))
                .or_insert_with(|| why.clone());
        }
    }
}
