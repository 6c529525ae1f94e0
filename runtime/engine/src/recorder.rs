//! A worker's recorder: everything measured on it goes through here into its one shard.
//!
//! Guests record into a list of their own, wherever they are polled; the list comes here with the guest's next message. So the
//! shard is touched by the I/O thread alone, without a lock.

use std::cell::RefCell;
use std::sync::Arc;

use nettare_core::plan::Scenario;
use nettare_core::sample::{Exchange, Failure, IterationOutcome, Outcome};
use nettare_core::sched::DropReason;
use nettare_core::stats::{
    CheckKey, IterationSample, MetricKind, SeriesId, SeriesKey, Shard, ShardDelta, Symbol, TagSet,
    Unit,
};
use nettare_vm::{HttpRequest, Record, Registry};

use crate::worker::port::Started;

/// What of a call is known before it is made; with the exchange's status and protocol it is the key of a series.
#[derive(Clone, Copy)]
pub(crate) struct CallLabels {
    group: Symbol,
    name: Symbol,
    method: Symbol,
    tags: TagSet,
    /// Statuses that count as expected, inclusive.
    expected: (u16, u16),
}

/// Statuses that count as expected where a request says nothing.
pub(crate) const EXPECTED_STATUSES: (u16, u16) = (200, 399);

/// One worker's recorder.
pub(crate) struct Recorder {
    inner: RefCell<Inner>,
}

struct Inner {
    shard: Shard,
    scenario: Symbol,
    /// The group of everything, in `setup` and `teardown`: it keeps their samples out of totals and thresholds.
    aside: Option<Symbol>,
    /// Tags of the run and of the scenario, on every sample.
    tags: Vec<(String, String)>,
    base_tags: TagSet,
    names: Option<Names>,
}

/// The guests' registered names, by their numbers. A number is looked up in the registry once a worker: the lock is not for
/// the hot path.
struct Names {
    registry: Arc<Registry>,
    checks: Vec<Option<Symbol>>,
    groups: Vec<Option<Symbol>>,
    series: Vec<Option<CustomSeries>>,
}

/// One of the guests' own metrics with one set of tags.
#[derive(Clone, Copy)]
struct CustomSeries {
    metric: Symbol,
    kind: MetricKind,
    unit: Unit,
    /// Over which the run's and the scenario's tags were laid first.
    tags: TagSet,
}

/// What an iteration cost in the scenario's own code; none where it is not metered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScenarioCost {
    /// CPU time.
    pub(crate) cpu_ns: Option<u64>,
    /// Instructions.
    pub(crate) instructions: Option<u64>,
}

/// What is known of a virtual user's present iteration. It goes with the virtual user from list to list of its records.
#[derive(Clone, Copy)]
pub(crate) struct IterationNotes {
    /// The tags it has put on the iteration, as they apply to checks, groups and metrics.
    tags: TagSet,
    /// From the first call that it waited for to the end of the last, on the monotonic clock; none without a call.
    calls: Option<(u64, u64)>,
}

impl IterationNotes {
    fn called(&mut self, called_ns: u64, gross_ns: u64) {
        let ended_ns = called_ns.saturating_add(gross_ns);
        let (first, last) = self.calls.unwrap_or((called_ns, ended_ns));
        self.calls = Some((first.min(called_ns), last.max(ended_ns)));
    }

    /// Whether every call lies within the iteration, given on the same clock.
    pub(crate) fn are_within(&self, began_ns: u64, ended_ns: u64) -> bool {
        self.calls
            .is_none_or(|(first, last)| began_ns <= first && last <= ended_ns)
    }
}

impl Recorder {
    /// A recorder for one scenario, with the tags of the run and of the scenario.
    pub(crate) fn new(
        max_series: u32,
        scenario: &Scenario,
        tags: Vec<(String, String)>,
        registry: Option<Arc<Registry>>,
    ) -> Recorder {
        let mut shard = Shard::new(max_series);
        let symbol = shard.symbol(&scenario.name);
        let base_tags = tag_set(&mut shard, &tags, &[]);
        let names = registry.map(|registry| Names {
            registry,
            checks: Vec::new(),
            groups: Vec::new(),
            series: Vec::new(),
        });
        Recorder {
            inner: RefCell::new(Inner {
                shard,
                scenario: symbol,
                aside: None,
                tags,
                base_tags,
                names,
            }),
        }
    }

    /// From here on everything belongs to a group of its own, outside totals and thresholds.
    pub(crate) fn set_aside(&self, group: Symbol) {
        self.inner.borrow_mut().aside = Some(group);
    }

    /// Labels of a native request.
    pub(crate) fn native_labels(&self, method: &str) -> CallLabels {
        let mut inner = self.inner.borrow_mut();
        let method = inner.shard.symbol(method);
        let tags = inner.base_tags;
        CallLabels {
            group: Symbol::NONE,
            name: Symbol::NONE,
            method,
            tags,
            expected: EXPECTED_STATUSES,
        }
    }

    /// Labels of a guest's request.
    pub(crate) fn labels(&self, request: &HttpRequest) -> CallLabels {
        let inner = &mut *self.inner.borrow_mut();
        let group = inner.group(request.group);
        let method = inner.shard.symbol(request.method.as_str());
        let name = request
            .name
            .as_deref()
            .map_or(Symbol::NONE, |name| inner.shard.symbol(name));
        let tags = if request.tags.is_empty() {
            inner.base_tags
        } else {
            tag_set(&mut inner.shard, &inner.tags, &request.tags)
        };
        CallLabels {
            group,
            name,
            method,
            tags,
            expected: request.expected,
        }
    }

    /// Records an exchange that has ended, and names its series.
    pub(crate) fn exchange(&self, labels: &CallLabels, exchange: &Exchange) -> SeriesId {
        let inner = &mut *self.inner.borrow_mut();
        let (first, last) = labels.expected;
        let series = inner.shard.series(&SeriesKey {
            scenario: inner.scenario,
            group: labels.group,
            name: labels.name,
            method: labels.method,
            status: exchange.status,
            protocol: exchange.protocol,
            error_kind: match exchange.outcome {
                Outcome::Failed(kind) => Some(kind),
                Outcome::Answered | Outcome::Retried => None,
            },
            expected: exchange.outcome == Outcome::Answered
                && (first..=last).contains(&exchange.status),
            tags: labels.tags,
        });
        inner.shard.exchange(series, exchange);
        series
    }

    /// Records what a call took in all, and what of it was the generator's own.
    pub(crate) fn call(&self, series: SeriesId, gross_ns: u64, tare_ns: u64) {
        self.inner
            .borrow_mut()
            .shard
            .call(series, gross_ns, tare_ns);
    }

    /// Counts a failure and keeps an example.
    pub(crate) fn failure(&self, failure: &Failure) {
        self.inner.borrow_mut().failure(failure);
    }

    /// Records that an iteration started.
    pub(crate) fn iteration_started(&self) {
        let inner = &mut *self.inner.borrow_mut();
        inner.shard.iteration_started(inner.scenario);
    }

    /// Records an iteration that ended.
    pub(crate) fn iteration(
        &self,
        started: &Started,
        outcome: IterationOutcome,
        began_ns: u64,
        ended_ns: u64,
        cost: ScenarioCost,
    ) {
        let inner = &mut *self.inner.borrow_mut();
        let sample = IterationSample {
            outcome,
            due_ns: started.arrival.due_ns,
            started_ns: began_ns.max(started.arrival.due_ns),
            ended_ns: ended_ns.max(began_ns),
            waited_for_vu_ns: started.waited_for_vu_ns,
            scenario_cpu_ns: cost.cpu_ns,
            scenario_instructions: cost.instructions,
        };
        inner.shard.iteration(inner.scenario, &sample);
    }

    /// Records an arrival that was never started.
    pub(crate) fn dropped(&self, reason: DropReason) {
        let inner = &mut *self.inner.borrow_mut();
        inner.shard.dropped(inner.scenario, reason);
    }

    /// Counts that a limit was hit.
    pub(crate) fn limit_hit(&self, name: &'static str) {
        self.inner.borrow_mut().shard.limit_hit(name, 1);
    }

    /// What is known of an iteration at its begin.
    pub(crate) fn new_iteration(&self) -> IterationNotes {
        IterationNotes {
            tags: self.inner.borrow().base_tags,
            calls: None,
        }
    }

    /// Records what a guest did, and empties the list.
    pub(crate) fn records(&self, records: &mut Vec<Record>, notes: &mut IterationNotes) {
        let inner = &mut *self.inner.borrow_mut();
        for record in records.drain(..) {
            inner.record(record, notes);
        }
    }

    /// Everything since the last time.
    pub(crate) fn take(&self) -> ShardDelta {
        self.inner.borrow_mut().shard.take()
    }
}

impl Inner {
    fn record(&mut self, record: Record, notes: &mut IterationNotes) {
        match record {
            Record::Call {
                series,
                called_ns,
                gross_ns,
                tare_ns,
            } => {
                self.shard.call(series, gross_ns, tare_ns);
                if let Some(called_ns) = called_ns {
                    notes.called(called_ns, gross_ns);
                }
            }
            Record::Check {
                check,
                group,
                sample,
            } => {
                let key = self.check_key(check, group, notes);
                self.shard.check(key, &sample);
            }
            Record::CheckSkipped {
                check,
                group,
                reason,
            } => {
                let key = self.check_key(check, group, notes);
                self.shard.check_skipped(key, reason);
            }
            Record::CheckWhy { check, why } => {
                let check = self.check(check);
                self.shard.check_example(check, &why);
            }
            Record::Custom { series, value } => {
                if let Some(of) = self.custom(series) {
                    self.shard
                        .custom(of.metric, of.kind, of.unit, of.tags, value);
                }
            }
            Record::Group { group, duration_ns } => {
                let group = self.group(group);
                self.shard
                    .group(self.scenario, group, notes.tags, duration_ns);
            }
            Record::Tags(own) => notes.tags = tag_set(&mut self.shard, &self.tags, &own),
            Record::Refused(failure) => self.failure(&failure),
            Record::Misuse { what, count } => {
                let what = self.shard.symbol(what);
                for _ in 0..count {
                    self.shard.misuse(what);
                }
            }
            Record::Limit { name, count } => self.shard.limit_hit(name, count),
        }
    }

    fn failure(&mut self, failure: &Failure) {
        self.shard
            .error_example(failure.kind, failure.code, &failure.message);
    }

    fn check_key(&mut self, check: u32, group: u32, notes: &IterationNotes) -> CheckKey {
        CheckKey {
            scenario: self.scenario,
            group: self.group(group),
            check: self.check(check),
            tags: notes.tags,
        }
    }

    fn check(&mut self, number: u32) -> Symbol {
        let Some(names) = &mut self.names else {
            return Symbol::NONE;
        };
        let shard = &mut self.shard;
        let find = || {
            names
                .registry
                .check_name(number)
                .map(|name| shard.symbol(&name))
        };
        remembered(&mut names.checks, number, find).unwrap_or(Symbol::NONE)
    }

    fn group(&mut self, number: u32) -> Symbol {
        if let Some(aside) = self.aside {
            return aside;
        }
        let Some(names) = &mut self.names else {
            return Symbol::NONE;
        };
        let shard = &mut self.shard;
        let find = || {
            names
                .registry
                .group_name(number)
                .map(|name| shard.symbol(&name))
        };
        remembered(&mut names.groups, number, find).unwrap_or(Symbol::NONE)
    }

    fn custom(&mut self, number: u32) -> Option<CustomSeries> {
        let names = self.names.as_mut()?;
        let (shard, base) = (&mut self.shard, &self.tags);
        let registry = &names.registry;
        let find = || {
            let series = registry.series_info(number)?;
            let metric = registry.metric_info(series.metric)?;
            let tags = tag_set(shard, base, &series.tags);
            Some(CustomSeries {
                metric: shard.symbol(&metric.name),
                kind: metric.kind,
                unit: metric.unit,
                tags,
            })
        };
        remembered(&mut names.series, number, find)
    }
}

/// Entry `number` of a table that is filled as it is asked. Numbers are dense from 1; 0 stands for none and is never found.
fn remembered<T: Copy>(
    table: &mut Vec<Option<T>>,
    number: u32,
    find: impl FnOnce() -> Option<T>,
) -> Option<T> {
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    if let Some(Some(known)) = table.get(index) {
        return Some(*known);
    }
    let found = find()?;
    if table.len() <= index {
        table.resize(index + 1, None);
    }
    table[index] = Some(found);
    Some(found)
}

fn tag_set(shard: &mut Shard, base: &[(String, String)], own: &[(String, String)]) -> TagSet {
    let mut tags: Vec<(&str, &str)> = Vec::with_capacity(base.len() + own.len());
    for (key, value) in base.iter().chain(own) {
        tags.retain(|(known, _)| known != key);
        tags.push((key, value));
    }
    shard.tag_set(&tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_lie_within_their_iteration_or_are_found_out() {
        let mut notes = IterationNotes {
            tags: TagSet::EMPTY,
            calls: None,
        };
        assert!(notes.are_within(10, 10), "no call is within anything");
        notes.called(20, 5);
        notes.called(12, 3);
        assert!(notes.are_within(12, 25));
        assert!(!notes.are_within(13, 25), "one began before");
        assert!(!notes.are_within(12, 24), "one ended after");
    }
}
