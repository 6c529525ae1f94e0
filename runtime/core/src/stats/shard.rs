//! The recorder of one worker: no locks, and no allocation once every series has been seen.
//!
//! # How an interval is handed over
//!
//! ```text
//!   worker                                   collector
//!   Shard ── take() ─► ShardDelta { book, new names and keys } ─► Totals::absorb
//!     ▲                                                              │ merges, empties
//!     └──────────────── the emptied book comes home ◄────────────────┘
//! ```
//!
//! A *book* holds one interval's figures by number. `take` swaps it for an emptied one that came home, so it costs the same
//! whatever was recorded, and the worker never merges or clears. Names and keys go along as shared lists, which only ever
//! grow: each delta can be understood by itself, and the collector translates only what it has not seen.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::delta::{Book, ShardDelta};
use super::figures::{CheckFigures, ScenarioFigures};
use super::index::Index;
use super::key::{CheckKey, CustomKey, ErrorKey, GroupKey, PhaseKey, SeriesId, SeriesKey};
use super::symbol::{Interner, Symbol, TagSet};
use super::trend::Misfit;
use super::{MetricKind, Unit, limit};
use crate::sample::{CheckMode, ErrorKind, Exchange, IterationOutcome, Outcome, SkipReason};
use crate::sched::DropReason;

/// Kinds of error told apart by their finer number; past them only the kind is kept.
const ERROR_LIMIT: usize = 64;

/// An iteration that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationSample {
    /// How it ended.
    pub outcome: IterationOutcome,
    /// When it should have started.
    pub due_ns: u64,
    /// When it did.
    pub started_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// How much of the delay was for want of a free virtual user; the rest is the generator's own.
    pub waited_for_vu_ns: u64,
    /// CPU time in the scenario's own code; none when it is not metered.
    pub scenario_cpu_ns: Option<u64>,
    /// Instructions of the scenario's own code; none when they are not counted.
    pub scenario_instructions: Option<u64>,
}

/// One evaluation of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckSample {
    /// Its result.
    pub passed: bool,
    /// Where it was evaluated.
    pub mode: CheckMode,
    /// CPU time; none when it is not metered.
    pub cpu_ns: Option<u64>,
    /// The guest's instructions; none when they are not counted.
    pub instructions: Option<u64>,
    /// From being deferred to the begin of the evaluation; none when it was not deferred.
    pub queue_wait_ns: Option<u64>,
    /// Bytes of response bodies it looked at.
    pub body_bytes: u64,
}

/// Records what one worker measures.
#[derive(Debug)]
pub struct Shard {
    names: Interner,
    series: Index<SeriesKey>,
    /// What recording needs to know of a series, by its number.
    routes: Vec<Route>,
    phases: Index<PhaseKey>,
    scenarios: Index<Symbol>,
    checks: Index<CheckKey>,
    groups: Index<GroupKey>,
    customs: Index<CustomKey>,
    errors: Index<ErrorKey>,
    /// First message of each error, by its number.
    error_examples: Arc<Vec<Arc<str>>>,
    misuse: Index<Symbol>,
    /// Why a check failed first, by its name; at most one a check.
    check_examples: Arc<Vec<(Symbol, Arc<str>)>>,
    book: Box<Book>,
    home: (Sender<Box<Book>>, Receiver<Box<Book>>),
}

/// Where the exchanges of a series go besides the series itself.
#[derive(Clone, Copy, Debug)]
struct Route {
    phases: u32,
    /// Whether the response counts as failed though it came.
    unexpected: bool,
    aside: bool,
    /// Whether it stands for all series past the limit.
    other: bool,
}

impl Shard {
    /// A recorder of at most `max_series` series of each sort; what is past that goes to `__other__`, and is counted.
    pub fn new(max_series: u32) -> Shard {
        let limit = max_series as usize;
        Shard {
            names: Interner::new(limit.saturating_mul(8).saturating_add(1024)),
            series: Index::new(limit),
            routes: Vec::new(),
            phases: Index::new(usize::MAX),
            scenarios: Index::new(usize::MAX),
            checks: Index::new(limit),
            groups: Index::new(limit),
            customs: Index::new(limit),
            errors: Index::new(ERROR_LIMIT),
            error_examples: Arc::default(),
            misuse: Index::new(limit),
            check_examples: Arc::default(),
            book: Box::default(),
            home: channel(),
        }
    }

    /// The number of a text; [`Symbol::OTHER`] past the limit of names.
    pub fn symbol(&mut self, text: &str) -> Symbol {
        self.names.symbol(text).unwrap_or_else(|| {
            self.limit_hit(limit::NAMES, 1);
            Symbol::OTHER
        })
    }

    /// The number of a set of tags; [`TagSet::OTHER`] past the limit of names.
    pub fn tag_set(&mut self, tags: &[(&str, &str)]) -> TagSet {
        self.names.tag_set(tags).unwrap_or_else(|| {
            self.limit_hit(limit::NAMES, 1);
            TagSet::OTHER
        })
    }

    /// The number of a series of exchanges.
    #[inline]
    pub fn series(&mut self, key: &SeriesKey) -> SeriesId {
        let number = match self.series.number(*key) {
            Some(number) => number,
            None => self.series.number_past_limit(key.other()),
        };
        if number as usize == self.routes.len() {
            self.add_route(number);
        }
        SeriesId(number)
    }

    /// Records one hop on the wire, however it ended.
    pub fn exchange(&mut self, series: SeriesId, exchange: &Exchange) {
        let route = self.routes[series.0 as usize];
        let book = &mut *self.book;
        book.run.record(exchange, route.aside);
        let figures = book.exchanges.at(series.0);
        figures.sent_bytes += exchange.sent_bytes;
        figures.received_bytes += exchange.received_bytes;
        match exchange.outcome {
            Outcome::Answered => {
                figures.requests += 1;
                figures.failed += u64::from(route.unexpected);
                figures.duration.record(exchange.phases.net_ns());
                book.phases
                    .at(route.phases)
                    .record(&exchange.phases, exchange.opened_connection);
            }
            Outcome::Failed(kind) => {
                figures.requests += 1;
                // What the scenario gave up itself ended without an answer, and speaks against nobody.
                figures.failed += u64::from(kind != ErrorKind::Cancelled);
            }
            // The call goes on with another exchange, which is the one that counts as a request.
            Outcome::Retried => {}
        }
        if route.other {
            self.limit_hit(limit::SERIES, 1);
        }
    }

    /// Records one call of a scenario, all its hops together.
    pub fn call(&mut self, series: SeriesId, gross_ns: u64, tare_ns: u64) {
        if series == SeriesId::NONE {
            return;
        }
        let figures = self.book.exchanges.at(series.0);
        figures.gross.record(gross_ns);
        figures.tare.record(tare_ns);
    }

    /// Records that an iteration started.
    pub fn iteration_started(&mut self, scenario: Symbol) {
        self.scenario(scenario).started += 1;
    }

    /// Records an iteration that ended.
    pub fn iteration(&mut self, scenario: Symbol, sample: &IterationSample) {
        let figures = self.scenario(scenario);
        match sample.outcome {
            IterationOutcome::Completed => figures.completed += 1,
            IterationOutcome::Failed => figures.failed += 1,
            IterationOutcome::Interrupted => figures.interrupted += 1,
        }
        // An iteration cut short has no duration of its own: it would have gone on.
        if sample.outcome != IterationOutcome::Interrupted {
            figures
                .duration
                .record(sample.ended_ns.saturating_sub(sample.started_ns));
            figures
                .response
                .record(sample.ended_ns.saturating_sub(sample.due_ns));
        }
        let lateness = sample.started_ns.saturating_sub(sample.due_ns);
        let no_vu = sample.waited_for_vu_ns.min(lateness);
        figures.lateness.record(lateness);
        figures.lateness_no_vu.record(no_vu);
        figures.lateness_lag.record(lateness - no_vu);
        if let Some(cpu_ns) = sample.scenario_cpu_ns {
            figures.cpu.record(cpu_ns);
        }
        if let Some(instructions) = sample.scenario_instructions {
            figures.instructions.record(instructions);
        }
    }

    /// Records an arrival that never started.
    pub fn dropped(&mut self, scenario: Symbol, reason: DropReason) {
        self.scenario(scenario).dropped[reason as usize] += 1;
    }

    /// Records one evaluation of a check.
    pub fn check(&mut self, key: CheckKey, sample: &CheckSample) {
        let figures = self.check_figures(key);
        figures.passes += u64::from(sample.passed);
        figures.fails += u64::from(!sample.passed);
        figures.modes[sample.mode as usize] += 1;
        figures.body_bytes += sample.body_bytes;
        if let Some(cpu_ns) = sample.cpu_ns {
            figures.cpu.record(cpu_ns);
        }
        if let Some(instructions) = sample.instructions {
            figures.instructions.record(instructions);
        }
        if let Some(queue_wait_ns) = sample.queue_wait_ns {
            figures.queue_wait.record(queue_wait_ns);
        }
    }

    /// Counts a deferred check that is not evaluated.
    pub fn check_skipped(&mut self, key: CheckKey, reason: SkipReason) {
        self.check_figures(key).skipped[reason as usize] += 1;
    }

    fn check_figures(&mut self, key: CheckKey) -> &mut CheckFigures {
        let number = match self.checks.number(key) {
            Some(number) => number,
            None => {
                self.limit_hit(limit::SERIES, 1);
                self.checks.number_past_limit(key.other())
            }
        };
        self.book.checks.at(number)
    }

    /// Records one passage through a group.
    pub fn group(&mut self, scenario: Symbol, group: Symbol, tags: TagSet, duration_ns: u64) {
        let key = GroupKey {
            scenario,
            group,
            tags,
        };
        let number = match self.groups.number(key) {
            Some(number) => number,
            None => {
                self.limit_hit(limit::SERIES, 1);
                self.groups.number_past_limit(key.other())
            }
        };
        self.book.groups.at(number).duration.record(duration_ns);
    }

    /// Records one value of a metric of the scenario's own.
    pub fn custom(
        &mut self,
        metric: Symbol,
        kind: MetricKind,
        unit: Unit,
        tags: TagSet,
        value: f64,
    ) {
        if metric == Symbol::OTHER {
            // The metric's name is past the limit. Values of unlike metrics cannot be added up under one name.
            return self.limit_hit(limit::METRICS, 1);
        }
        let key = CustomKey {
            metric,
            kind,
            unit,
            tags,
        };
        let number = match self.customs.number(key) {
            Some(number) => number,
            None => {
                self.limit_hit(limit::SERIES, 1);
                self.customs.number_past_limit(key.other())
            }
        };
        match self.book.customs.at(number).record(kind, unit, value) {
            Ok(()) => {}
            Err(Misfit::NotFinite) => self.limit_hit(limit::NOT_FINITE, 1),
            Err(Misfit::OutOfRange) => self.limit_hit(limit::VALUE_RANGE, 1),
        }
    }

    /// Counts a misuse of the contract that no function could report.
    pub fn misuse(&mut self, what: Symbol) {
        if let Some(number) = self.misuse.number(what) {
            *self.book.misuse.at(number) += 1;
        }
    }

    /// Counts `n` hits of a limit.
    #[cold]
    pub fn limit_hit(&mut self, name: &'static str, n: u64) {
        match self
            .book
            .limits
            .iter_mut()
            .find(|(known, _)| *known == name)
        {
            Some((_, hits)) => *hits += n,
            None => self.book.limits.push((name, n)),
        }
    }

    /// Counts an error. The first message of its kind and code is kept.
    pub fn error_example(&mut self, kind: ErrorKind, code: u32, message: &str) {
        let number = match self.errors.number((kind, code)) {
            Some(number) => number,
            None => {
                self.limit_hit(limit::ERRORS, 1);
                self.errors.number_past_limit((kind, 0))
            }
        };
        if number as usize == self.error_examples.len() {
            Arc::make_mut(&mut self.error_examples).push(Arc::from(message));
        }
        *self.book.errors.at(number) += 1;
    }

    /// Keeps the first reason why a check failed.
    pub fn check_example(&mut self, check: Symbol, why: &str) {
        let known = self.check_examples.iter().any(|(known, _)| *known == check);
        if !known && self.check_examples.len() < ERROR_LIMIT {
            Arc::make_mut(&mut self.check_examples).push((check, Arc::from(why)));
        }
    }

    /// Everything since the last time.
    pub fn take(&mut self) -> ShardDelta {
        let spare = self.home.1.try_recv().unwrap_or_default();
        ShardDelta {
            texts: self.names.texts().clone(),
            tag_sets: self.names.tag_sets().clone(),
            series: self.series.keys().clone(),
            phases: self.phases.keys().clone(),
            scenarios: self.scenarios.keys().clone(),
            checks: self.checks.keys().clone(),
            groups: self.groups.keys().clone(),
            customs: self.customs.keys().clone(),
            errors: self.errors.keys().clone(),
            error_examples: self.error_examples.clone(),
            misuse: self.misuse.keys().clone(),
            check_examples: self.check_examples.clone(),
            book: std::mem::replace(&mut self.book, spare),
            home: self.home.0.clone(),
        }
    }

    fn scenario(&mut self, scenario: Symbol) -> &mut ScenarioFigures {
        let number = self.scenarios.number_past_limit(scenario);
        self.book.scenarios.at(number)
    }

    #[cold]
    fn add_route(&mut self, number: u32) {
        let key = self.series.keys()[number as usize];
        self.routes.push(Route {
            phases: self.phases.number_past_limit(key.phases()),
            unexpected: !key.expected,
            aside: key.group.is_aside(),
            other: key.name == Symbol::OTHER,
        });
    }
}
