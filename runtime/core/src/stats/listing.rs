//! Everything recorded, metric by metric and series by series.

use super::figures::{CheckFigures, ExchangeFigures, Gauge, PHASES, ScenarioFigures};
use super::histogram::Histogram;
use super::key::CheckKey;
use super::metric::unit_of_gauge;
use super::symbol::Interner;
use super::totals::Totals;
use super::view::{FigureRef, Key, View};
use super::{Symbol, Unit};
use crate::sample::SkipReason;
use crate::sched::DropReason;

/// Numbers of the tables in a [`super::view::Site`].
mod table {
    pub(super) const EXCHANGES: u8 = 0;
    pub(super) const PHASES: u8 = 1;
    pub(super) const SCENARIOS: u8 = 2;
    pub(super) const CHECKS: u8 = 3;
    pub(super) const GROUPS: u8 = 4;
    pub(super) const CUSTOMS: u8 = 5;
    pub(super) const GAUGES: u8 = 6;
}

/// A row of a table, whose metrics are handed out one after another.
struct Row<'a, 'e> {
    names: &'a Interner,
    table: u8,
    row: u32,
    key: Key<'a>,
    each: &'e mut dyn FnMut(View<'a>),
}

impl<'a> Row<'a, '_> {
    /// Goes to another row.
    fn at(&mut self, table: u8, row: u32, key: Key<'a>) -> &mut Self {
        (self.table, self.row, self.key) = (table, row, key);
        self
    }

    fn view(&mut self, slot: u8, metric: &'a str, unit: Unit, figure: FigureRef<'a>) {
        let site = (self.table, self.row, slot);
        let (key, names) = (self.key, self.names);
        (self.each)(View {
            site,
            metric,
            unit,
            figure,
            key,
            names,
        });
    }

    /// A distribution of times, if there are any.
    fn time(&mut self, slot: u8, metric: &'a str, times: &'a Histogram) {
        self.distribution(slot, metric, Unit::Nanoseconds, times);
    }

    /// A distribution, if there is anything in it.
    fn distribution(&mut self, slot: u8, metric: &'a str, unit: Unit, values: &'a Histogram) {
        if !values.is_empty() {
            self.view(slot, metric, unit, FigureRef::Histogram(values));
        }
    }

    /// A sum of `samples` samples, if it is one of anything.
    fn sum(&mut self, slot: u8, metric: &'a str, unit: Unit, value: u64, samples: u64) {
        if value > 0 {
            let value = value as f64;
            self.view(slot, metric, unit, FigureRef::Counter { value, samples });
        }
    }

    /// A share, if there are samples.
    fn share(&mut self, slot: u8, metric: &'a str, passes: u64, fails: u64) {
        if passes + fails > 0 {
            self.view(slot, metric, Unit::Plain, FigureRef::Rate { passes, fails });
        }
    }
}

impl Totals {
    /// Hands every metric of every series in which anything was recorded to `each`.
    pub(crate) fn each_view<'a>(&'a self, each: &mut dyn FnMut(View<'a>)) {
        let names = &self.names;
        let mut row = Row {
            names,
            table: table::EXCHANGES,
            row: 0,
            key: Key::Untagged,
            each,
        };
        for (n, (key, figures)) in (0..).zip(self.exchanges.iter()) {
            exchanges(row.at(table::EXCHANGES, n, Key::Exchange(key)), figures);
        }
        for (n, (key, figures)) in (0..).zip(self.phases.iter()) {
            let row = row.at(table::PHASES, n, Key::Phase(key));
            for (slot, (metric, times)) in (0..).zip(PHASES.iter().zip(&figures.phases)) {
                row.time(slot, metric, times);
            }
        }
        for (n, (scenario, figures)) in (0..).zip(self.scenarios.iter()) {
            let row = row.at(table::SCENARIOS, n, Key::Scenario(*scenario));
            iterations(row, figures);
            drops(row, *scenario, figures);
        }
        for (n, (key, figures)) in (0..).zip(self.checks.iter()) {
            let row = row.at(table::CHECKS, n, Key::Check(key));
            evaluations(row, figures);
            skips(row, key, figures);
        }
        for (n, (key, figures)) in (0..).zip(self.groups.iter()) {
            let row = row.at(table::GROUPS, n, Key::Group(key));
            row.time(0, "group_duration", &figures.duration);
        }
        for (n, (key, figures)) in (0..).zip(self.customs.iter()) {
            if let Some(figure) = figures.view(key.kind) {
                let row = row.at(table::CUSTOMS, n, Key::Custom(key));
                row.view(0, names.text(key.metric), key.unit, figure);
            }
        }
        for (n, (name, gauge)) in (0..).zip(&self.gauges) {
            level(row.at(table::GAUGES, n, Key::Untagged), name, *gauge);
        }
    }
}

fn exchanges<'a>(row: &mut Row<'a, '_>, figures: &'a ExchangeFigures) {
    let requests = figures.requests;
    row.sum(0, "http_reqs", Unit::Plain, requests, requests);
    row.share(
        1,
        "http_req_failed",
        figures.failed,
        requests - figures.failed,
    );
    row.time(2, "http_req_duration", &figures.duration);
    row.time(3, "http_req_gross", &figures.gross);
    row.time(4, "http_req_tare", &figures.tare);
    row.sum(5, "data_sent", Unit::Bytes, figures.sent_bytes, requests);
    row.sum(
        6,
        "data_received",
        Unit::Bytes,
        figures.received_bytes,
        requests,
    );
}

fn iterations<'a>(row: &mut Row<'a, '_>, figures: &'a ScenarioFigures) {
    row.sum(
        0,
        "iterations",
        Unit::Plain,
        figures.ended(),
        figures.ended(),
    );
    row.time(1, "iteration_duration", &figures.duration);
    row.time(2, "iteration_response", &figures.response);
    row.time(3, "iteration_lateness", &figures.lateness);
    row.time(4, "scenario_cpu", &figures.cpu);
    let instructions = &figures.instructions;
    row.distribution(9, "scenario_instructions", Unit::Plain, instructions);
}

fn evaluations<'a>(row: &mut Row<'a, '_>, figures: &'a CheckFigures) {
    row.share(0, "checks", figures.passes, figures.fails);
    row.time(1, "check_cpu", &figures.cpu);
    let instructions = &figures.instructions;
    row.distribution(2, "check_instructions", Unit::Plain, instructions);
    row.time(3, "check_queue_wait", &figures.queue_wait);
}

fn skips<'a>(row: &mut Row<'a, '_>, key: &'a CheckKey, figures: &CheckFigures) {
    for (slot, (reason, skipped)) in (4..).zip(SkipReason::ALL.into_iter().zip(figures.skipped)) {
        row.key = Key::Skipped(key, reason);
        row.sum(slot, "checks_skipped", Unit::Plain, skipped, skipped);
    }
}

/// That nothing was dropped is known, and no want of data: zeros are handed out.
fn drops(row: &mut Row<'_, '_>, scenario: Symbol, figures: &ScenarioFigures) {
    for (slot, (reason, samples)) in (5..).zip(DropReason::ALL.into_iter().zip(figures.dropped)) {
        row.key = Key::Dropped(scenario, reason);
        let value = samples as f64;
        row.view(
            slot,
            "dropped_iterations",
            Unit::Plain,
            FigureRef::Counter { value, samples },
        );
    }
}

fn level<'a>(row: &mut Row<'a, '_>, name: &'a str, gauge: Gauge) {
    row.view(0, name, unit_of_gauge(name), FigureRef::Gauge(gauge));
}
