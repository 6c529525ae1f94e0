//! What is recorded under a key, in an interval on a worker and over the whole run in the collector.

use super::histogram::Histogram;
use super::index::Figures;
use super::trend::{Misfit, Trend};
use super::view::FigureRef;
use super::{MetricKind, Unit};
use crate::sample::{CheckMode, Exchange, Outcome, Phases, SkipReason, Stamp};

/// Exchanges, and the calls they belong to.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExchangeFigures {
    /// Exchanges answered or failed.
    pub(crate) requests: u64,
    /// Of these, those that failed, other than by being cancelled, or whose response was not as expected.
    pub(crate) failed: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    /// Net time of answered exchanges.
    pub(crate) duration: Histogram,
    pub(crate) gross: Histogram,
    pub(crate) tare: Histogram,
}

impl Figures for ExchangeFigures {
    fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.failed += other.failed;
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.duration.merge(&other.duration);
        self.gross.merge(&other.gross);
        self.tare.merge(&other.tare);
    }

    fn clear(&mut self) {
        (
            self.requests,
            self.failed,
            self.sent_bytes,
            self.received_bytes,
        ) = (0, 0, 0, 0);
        self.duration.clear();
        self.gross.clear();
        self.tare.clear();
    }
}

/// Phases of answered exchanges, in the order of [`PHASES`].
#[derive(Clone, Debug, Default)]
pub(crate) struct PhaseFigures {
    pub(crate) phases: [Histogram; 7],
}

/// Names of the metrics of [`PhaseFigures`].
pub(crate) const PHASES: [&str; 7] = [
    "http_req_blocked",
    "http_req_looking_up",
    "http_req_connecting",
    "http_req_tls_handshaking",
    "http_req_sending",
    "http_req_waiting",
    "http_req_receiving",
];

impl PhaseFigures {
    /// Records an answered exchange. Phases of setting up a connection are recorded by exchanges that did so: a share of
    /// zeros from kept connections would make every percentile of theirs a statement about reuse.
    #[inline]
    pub(crate) fn record(&mut self, phases: &Phases, opened_connection: bool) {
        let [
            blocked,
            looking_up,
            connecting,
            tls,
            sending,
            waiting,
            receiving,
        ] = &mut self.phases;
        blocked.record(phases.blocked_ns);
        if opened_connection {
            connecting.record(phases.connect_ns);
        }
        if phases.dns_ns > 0 {
            looking_up.record(phases.dns_ns);
        }
        if phases.tls_ns > 0 {
            tls.record(phases.tls_ns);
        }
        sending.record(phases.sending_ns);
        waiting.record(phases.waiting_ns);
        receiving.record(phases.receiving_ns);
    }
}

impl Figures for PhaseFigures {
    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.phases.iter_mut().zip(&other.phases) {
            mine.merge(theirs);
        }
    }

    fn clear(&mut self) {
        self.phases.iter_mut().for_each(Histogram::clear);
    }
}

/// Iterations of a scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScenarioFigures {
    pub(crate) started: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) interrupted: u64,
    /// By reason, in the order of `DropReason::ALL`.
    pub(crate) dropped: [u64; 4],
    /// Durations of iterations that ended by themselves, as are the responses.
    pub(crate) duration: Histogram,
    pub(crate) response: Histogram,
    /// Of every iteration that started.
    pub(crate) lateness: Histogram,
    /// The part of it for want of a free virtual user.
    pub(crate) lateness_no_vu: Histogram,
    /// The part of it that is the generator's own.
    pub(crate) lateness_lag: Histogram,
    pub(crate) cpu: Histogram,
    pub(crate) instructions: Histogram,
}

impl ScenarioFigures {
    /// Iterations that ended by themselves.
    pub(crate) fn ended(&self) -> u64 {
        self.completed + self.failed
    }
}

impl Figures for ScenarioFigures {
    fn merge(&mut self, other: &Self) {
        self.started += other.started;
        self.completed += other.completed;
        self.failed += other.failed;
        self.interrupted += other.interrupted;
        for (mine, theirs) in self.dropped.iter_mut().zip(other.dropped) {
            *mine += theirs;
        }
        self.duration.merge(&other.duration);
        self.response.merge(&other.response);
        self.lateness.merge(&other.lateness);
        self.lateness_no_vu.merge(&other.lateness_no_vu);
        self.lateness_lag.merge(&other.lateness_lag);
        self.cpu.merge(&other.cpu);
        self.instructions.merge(&other.instructions);
    }

    fn clear(&mut self) {
        (self.started, self.completed, self.failed, self.interrupted) = (0, 0, 0, 0);
        self.dropped = [0; 4];
        for histogram in [
            &mut self.duration,
            &mut self.response,
            &mut self.lateness,
            &mut self.lateness_no_vu,
            &mut self.lateness_lag,
            &mut self.cpu,
            &mut self.instructions,
        ] {
            histogram.clear();
        }
    }
}

/// Evaluations of a check.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckFigures {
    pub(crate) passes: u64,
    pub(crate) fails: u64,
    /// Evaluations by where they took place, in the order of `CheckMode::ALL`.
    pub(crate) modes: [u64; CheckMode::ALL.len()],
    /// Deferred, and never evaluated; by reason, in the order of `SkipReason::ALL`.
    pub(crate) skipped: [u64; SkipReason::ALL.len()],
    /// Bytes of response body that the check looked at.
    pub(crate) body_bytes: u64,
    pub(crate) cpu: Histogram,
    pub(crate) instructions: Histogram,
    /// From being deferred to the begin of the evaluation.
    pub(crate) queue_wait: Histogram,
}

impl Figures for CheckFigures {
    fn merge(&mut self, other: &Self) {
        self.passes += other.passes;
        self.fails += other.fails;
        self.body_bytes += other.body_bytes;
        for (mine, theirs) in self.modes.iter_mut().zip(other.modes) {
            *mine += theirs;
        }
        for (mine, theirs) in self.skipped.iter_mut().zip(other.skipped) {
            *mine += theirs;
        }
        self.cpu.merge(&other.cpu);
        self.instructions.merge(&other.instructions);
        self.queue_wait.merge(&other.queue_wait);
    }

    fn clear(&mut self) {
        (self.passes, self.fails, self.body_bytes) = (0, 0, 0);
        (self.modes, self.skipped) = ([0; 3], [0; 3]);
        self.cpu.clear();
        self.instructions.clear();
        self.queue_wait.clear();
    }
}

/// Passages through a group.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupFigures {
    pub(crate) duration: Histogram,
}

impl Figures for GroupFigures {
    fn merge(&mut self, other: &Self) {
        self.duration.merge(&other.duration);
    }

    fn clear(&mut self) {
        self.duration.clear();
    }
}

/// A level over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauge {
    /// The latest value.
    pub last: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
}

impl Gauge {
    pub(crate) fn new(value: f64) -> Gauge {
        Gauge {
            last: value,
            min: value,
            max: value,
        }
    }

    /// Takes in a gauge of later values.
    pub(crate) fn merge(&mut self, later: &Gauge) {
        self.last = later.last;
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
    }
}

/// A custom metric of any kind; which fields mean something depends on the kind in its key.
#[derive(Clone, Debug, Default)]
pub(crate) struct CustomFigures {
    pub(crate) samples: u64,
    /// Counter.
    pub(crate) sum: f64,
    /// Rate: samples that were not zero.
    pub(crate) passes: u64,
    pub(crate) gauge: Option<Gauge>,
    pub(crate) trend: Option<Box<Trend>>,
}

impl CustomFigures {
    /// Records one value.
    pub(crate) fn record(
        &mut self,
        kind: MetricKind,
        unit: Unit,
        value: f64,
    ) -> Result<(), Misfit> {
        if !value.is_finite() {
            return Err(Misfit::NotFinite);
        }
        self.samples += 1;
        match kind {
            MetricKind::Counter => self.sum += value,
            MetricKind::Rate => self.passes += u64::from(value != 0.0),
            MetricKind::Gauge => self.merge_gauge(&Gauge::new(value)),
            MetricKind::Trend => {
                return self
                    .trend
                    .get_or_insert_with(|| Box::new(Trend::new(unit)))
                    .record(value);
            }
        }
        Ok(())
    }

    /// As a figure of that kind; none when nothing was recorded.
    pub(crate) fn view(&self, kind: MetricKind) -> Option<FigureRef<'_>> {
        let samples = self.samples;
        match kind {
            _ if samples == 0 => None,
            MetricKind::Counter => Some(FigureRef::Counter {
                value: self.sum,
                samples,
            }),
            MetricKind::Rate => Some(FigureRef::Rate {
                passes: self.passes,
                fails: samples - self.passes,
            }),
            MetricKind::Gauge => self.gauge.map(FigureRef::Gauge),
            MetricKind::Trend => self.trend.as_deref().map(FigureRef::Trend),
        }
    }

    fn merge_gauge(&mut self, later: &Gauge) {
        self.gauge.get_or_insert(*later).merge(later);
    }
}

impl Figures for CustomFigures {
    fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.sum += other.sum;
        self.passes += other.passes;
        if let Some(later) = &other.gauge {
            self.merge_gauge(later);
        }
        if let Some(theirs) = &other.trend {
            self.trend
                .get_or_insert_with(|| Box::new(Trend::with_scale(theirs.scale())))
                .merge(theirs);
        }
    }

    fn clear(&mut self) {
        (self.samples, self.sum, self.passes, self.gauge) = (0, 0.0, 0, None);
        if let Some(trend) = &mut self.trend {
            trend.clear();
        }
    }
}

/// A plain count.
impl Figures for u64 {
    fn merge(&mut self, other: &Self) {
        *self += other;
    }

    fn clear(&mut self) {
        *self = 0;
    }
}

/// Counts of a worker as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunFigures {
    /// Receive stamps of answered exchanges: exact, bound, user.
    pub(crate) stamps: [u64; 3],
    /// All phases of all exchanges, whatever became of them.
    pub(crate) phases_ns: u128,
    /// Exchanges by how they ended; set-up and tear-down included, unlike everywhere else.
    pub(crate) answered: u64,
    pub(crate) failed: u64,
    pub(crate) retried: u64,
    /// Answered exchanges during which the receive window was the limit.
    pub(crate) window_limited: u64,
}

impl RunFigures {
    #[inline]
    pub(crate) fn record(&mut self, exchange: &Exchange, aside: bool) {
        self.phases_ns += u128::from(exchange.phases.sum_ns());
        match exchange.outcome {
            Outcome::Answered => self.answered += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Retried => self.retried += 1,
        }
        if exchange.outcome == Outcome::Answered && !aside {
            self.stamps[stamp_place(exchange.stamp)] += 1;
            self.window_limited += u64::from(exchange.window_limited);
        }
    }

    pub(crate) fn merge(&mut self, other: &RunFigures) {
        for (mine, theirs) in self.stamps.iter_mut().zip(other.stamps) {
            *mine += theirs;
        }
        self.phases_ns += other.phases_ns;
        self.answered += other.answered;
        self.failed += other.failed;
        self.retried += other.retried;
        self.window_limited += other.window_limited;
    }
}

fn stamp_place(stamp: Stamp) -> usize {
    match stamp {
        Stamp::Exact => 0,
        Stamp::Bound => 1,
        Stamp::User => 2,
    }
}
