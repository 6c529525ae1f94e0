//! Everything recorded, metric by metric and series by series.

use super::Unit;
use super::figures::{ExchangeFigures, PHASES, ScenarioFigures};
use super::histogram::Histogram;
use super::metric::unit_of_gauge;
use super::totals::Totals;
use super::view::{FigureRef, Key, View};
use super::{CheckKey, SeriesKey, Symbol};
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

/// Where views go.
type Each<'e, 'a> = &'e mut dyn FnMut(View<'a>);

impl Totals {
    /// Hands every metric of every series in which anything was recorded to `each`.
    pub(crate) fn each_view<'a>(&'a self, each: Each<'_, 'a>) {
        for (row, (key, figures)) in (0..).zip(self.exchanges.iter()) {
            self.exchange_views(row, key, figures, each);
        }
        for (row, (key, figures)) in (0..).zip(self.phases.iter()) {
            for (slot, (metric, phase)) in (0..).zip(PHASES.iter().zip(&figures.phases)) {
                let site = (table::PHASES, row, slot);
                self.time(site, Key::Phase(key), metric, phase, each);
            }
        }
        for (row, (scenario, figures)) in (0..).zip(self.scenarios.iter()) {
            self.scenario_views(row, *scenario, figures, each);
        }
        for (row, (key, figures)) in (0..).zip(self.checks.iter()) {
            self.check_views(
                row,
                key,
                (figures.passes, figures.fails),
                &figures.cpu,
                each,
            );
        }
        for (row, (key, figures)) in (0..).zip(self.groups.iter()) {
            let site = (table::GROUPS, row, 0);
            self.time(
                site,
                Key::Group(key),
                "group_duration",
                &figures.duration,
                each,
            );
        }
        self.custom_views(each);
        for (row, (name, gauge)) in (0..).zip(&self.gauges) {
            let site = (table::GAUGES, row, 0);
            let figure = FigureRef::Gauge(*gauge);
            each(View {
                site,
                metric: name,
                unit: unit_of_gauge(name),
                figure,
                key: Key::Untagged,
                names: &self.names,
            });
        }
    }

    fn exchange_views<'a>(
        &'a self,
        row: u32,
        key: &'a SeriesKey,
        figures: &'a ExchangeFigures,
        each: Each<'_, 'a>,
    ) {
        let key = Key::Exchange(key);
        let view = |slot, metric, unit, figure| View {
            site: (table::EXCHANGES, row, slot),
            metric,
            unit,
            figure,
            key,
            names: &self.names,
        };
        let sum = |value: u64| FigureRef::Counter {
            value: value as f64,
            samples: figures.requests,
        };
        if figures.requests > 0 {
            let fails = figures.requests - figures.failed;
            each(view(0, "http_reqs", Unit::Plain, sum(figures.requests)));
            each(view(
                1,
                "http_req_failed",
                Unit::Plain,
                FigureRef::Rate {
                    passes: figures.failed,
                    fails,
                },
            ));
        }
        self.time(
            (table::EXCHANGES, row, 2),
            key,
            "http_req_duration",
            &figures.duration,
            each,
        );
        self.time(
            (table::EXCHANGES, row, 3),
            key,
            "http_req_gross",
            &figures.gross,
            each,
        );
        self.time(
            (table::EXCHANGES, row, 4),
            key,
            "http_req_tare",
            &figures.tare,
            each,
        );
        if figures.sent_bytes > 0 {
            each(view(5, "data_sent", Unit::Bytes, sum(figures.sent_bytes)));
        }
        if figures.received_bytes > 0 {
            each(view(
                6,
                "data_received",
                Unit::Bytes,
                sum(figures.received_bytes),
            ));
        }
    }

    fn scenario_views<'a>(
        &'a self,
        row: u32,
        scenario: Symbol,
        figures: &'a ScenarioFigures,
        each: Each<'_, 'a>,
    ) {
        let key = Key::Scenario(scenario);
        let site = |slot| (table::SCENARIOS, row, slot);
        let names = &self.names;
        if figures.ended() > 0 {
            let figure = FigureRef::Counter {
                value: figures.ended() as f64,
                samples: figures.ended(),
            };
            each(View {
                site: site(0),
                metric: "iterations",
                unit: Unit::Plain,
                figure,
                key,
                names,
            });
        }
        self.time(site(1), key, "iteration_duration", &figures.duration, each);
        self.time(site(2), key, "iteration_response", &figures.response, each);
        self.time(site(3), key, "iteration_lateness", &figures.lateness, each);
        self.time(site(4), key, "scenario_cpu", &figures.cpu, each);
        for (slot, (reason, dropped)) in (5..).zip(DropReason::ALL.into_iter().zip(figures.dropped))
        {
            // That nothing was dropped is known and not a want of data: zeros are listed.
            let figure = FigureRef::Counter {
                value: dropped as f64,
                samples: dropped,
            };
            let key = Key::Dropped(scenario, reason);
            each(View {
                site: site(slot),
                metric: "dropped_iterations",
                unit: Unit::Plain,
                figure,
                key,
                names,
            });
        }
    }

    fn check_views<'a>(
        &'a self,
        row: u32,
        key: &'a CheckKey,
        (passes, fails): (u64, u64),
        cpu: &'a Histogram,
        each: Each<'_, 'a>,
    ) {
        let key = Key::Check(key);
        if passes + fails > 0 {
            let (site, figure) = ((table::CHECKS, row, 0), FigureRef::Rate { passes, fails });
            each(View {
                site,
                metric: "checks",
                unit: Unit::Plain,
                figure,
                key,
                names: &self.names,
            });
        }
        self.time((table::CHECKS, row, 1), key, "check_cpu", cpu, each);
    }

    fn custom_views<'a>(&'a self, each: Each<'_, 'a>) {
        for (row, (key, figures)) in (0..).zip(self.customs.iter()) {
            let Some(figure) = figures.view(key.kind) else {
                continue;
            };
            let metric = self.names.text(key.metric);
            let site = (table::CUSTOMS, row, 0);
            each(View {
                site,
                metric,
                unit: key.unit,
                figure,
                key: Key::Custom(key),
                names: &self.names,
            });
        }
    }

    fn time<'a>(
        &'a self,
        site: (u8, u32, u8),
        key: Key<'a>,
        metric: &'a str,
        histogram: &'a Histogram,
        each: Each<'_, 'a>,
    ) {
        if !histogram.is_empty() {
            let figure = FigureRef::Histogram(histogram);
            each(View {
                site,
                metric,
                unit: Unit::Nanoseconds,
                figure,
                key,
                names: &self.names,
            });
        }
    }
}
