//! Recording and adding up: what the tests share. Laws, cases and limits each have a file.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::event::Interval;
use crate::sample::{
    CheckMode, ErrorKind, Exchange, IterationOutcome, Outcome, Phases, Protocol, Stamp,
};
use crate::sched::DropReason;

mod cases;
mod laws;
mod limits;

/// Something that happens on a worker.
#[derive(Clone, Debug)]
enum Happening {
    Exchange {
        name: u8,
        status: u16,
        net_ns: u64,
        tare_ns: u64,
        outcome: u8,
    },
    Iteration {
        due_ns: u64,
        late_ns: u64,
        took_ns: u64,
        outcome: u8,
    },
    Dropped(u8),
    Check {
        name: u8,
        passed: bool,
        cpu_ns: u64,
    },
    Custom {
        name: u8,
        value: i32,
    },
    Error(u8),
    /// The collector takes what there is.
    Collect,
}

fn happening() -> impl Strategy<Value = Happening> {
    let time = 0u64..10_000_000_000;
    prop_oneof![
        4 => (0u8..6, 200u16..206, time.clone(), time.clone(), 0u8..5).prop_map(
            |(name, status, net_ns, tare_ns, outcome)| Happening::Exchange { name, status, net_ns, tare_ns, outcome }
        ),
        2 => (time.clone(), time.clone(), time.clone(), 0u8..3).prop_map(
            |(due_ns, late_ns, took_ns, outcome)| Happening::Iteration { due_ns, late_ns, took_ns, outcome }
        ),
        1 => (0u8..4).prop_map(Happening::Dropped),
        1 => (0u8..6, any::<bool>(), time).prop_map(|(name, passed, cpu_ns)| Happening::Check { name, passed, cpu_ns }),
        1 => (0u8..6, -1000..1000i32).prop_map(|(name, value)| Happening::Custom { name, value }),
        1 => (0u8..100).prop_map(Happening::Error),
        1 => Just(Happening::Collect),
    ]
}

fn happenings() -> impl Strategy<Value = Vec<(usize, Happening)>> {
    prop::collection::vec((0usize..3, happening()), 0..80)
}

fn exchange(outcome: Outcome, status: u16, net_ns: u64) -> Exchange {
    Exchange {
        outcome,
        status,
        protocol: Some(Protocol::Http11),
        phases: Phases {
            waiting_ns: net_ns,
            ..Phases::default()
        },
        stamp: Stamp::Exact,
        connect_is_bound: false,
        window_limited: false,
        opened_connection: false,
        sent_bytes: 10,
        received_bytes: 20,
    }
}

fn key(shard: &mut Shard, name: &str, outcome: Outcome, status: u16) -> SeriesKey {
    SeriesKey {
        scenario: shard.symbol("s"),
        group: Symbol::NONE,
        name: shard.symbol(name),
        method: shard.symbol("GET"),
        status,
        protocol: Some(Protocol::Http11),
        error_kind: match outcome {
            Outcome::Failed(kind) => Some(kind),
            _ => None,
        },
        expected: outcome == Outcome::Answered,
        tags: TagSet::EMPTY,
    }
}

fn check(shard: &mut Shard, name: u8, passed: bool, cpu_ns: u64) {
    let key = CheckKey {
        scenario: shard.symbol("s"),
        group: Symbol::NONE,
        check: shard.symbol(&format!("check {name}")),
        tags: TagSet::EMPTY,
    };
    let sample = CheckSample {
        passed,
        mode: CheckMode::Inline,
        cpu_ns: Some(cpu_ns),
        instructions: Some(cpu_ns * 3),
        queue_wait_ns: None,
        body_bytes: 5,
    };
    shard.check(key, &sample);
}

fn record(shard: &mut Shard, happening: &Happening) {
    let scenario = shard.symbol("s");
    match *happening {
        Happening::Exchange {
            name,
            status,
            net_ns,
            tare_ns,
            outcome,
        } => {
            record_exchange(
                shard,
                &format!("/{name}"),
                status,
                (net_ns, tare_ns),
                outcome,
            );
        }
        Happening::Iteration {
            due_ns,
            late_ns,
            took_ns,
            outcome,
        } => {
            let outcomes = [
                IterationOutcome::Completed,
                IterationOutcome::Failed,
                IterationOutcome::Interrupted,
            ];
            shard.iteration_started(scenario);
            shard.iteration(
                scenario,
                &IterationSample {
                    outcome: outcomes[usize::from(outcome)],
                    due_ns,
                    started_ns: due_ns + late_ns,
                    ended_ns: due_ns + late_ns + took_ns,
                    waited_for_vu_ns: late_ns / 2,
                    scenario_cpu_ns: Some(took_ns / 10),
                    scenario_instructions: None,
                },
            );
        }
        Happening::Dropped(reason) => shard.dropped(scenario, DropReason::ALL[usize::from(reason)]),
        Happening::Check {
            name,
            passed,
            cpu_ns,
        } => check(shard, name, passed, cpu_ns),
        Happening::Custom { name, value } => {
            let metric = shard.symbol(&format!("own_{name}"));
            let kind =
                [MetricKind::Counter, MetricKind::Rate, MetricKind::Trend][usize::from(name) % 3];
            shard.custom(metric, kind, Unit::Plain, TagSet::EMPTY, f64::from(value));
        }
        Happening::Error(code) => shard.error_example(ErrorKind::Connect, u32::from(code), "no"),
        Happening::Collect => {}
    }
}

fn record_exchange(
    shard: &mut Shard,
    name: &str,
    status: u16,
    (net_ns, tare_ns): (u64, u64),
    outcome: u8,
) {
    let outcome = match outcome {
        0 => Outcome::Failed(ErrorKind::Timeout),
        1 => Outcome::Retried,
        _ => Outcome::Answered,
    };
    let key = key(shard, name, outcome, status);
    let series = shard.series(&key);
    shard.exchange(series, &exchange(outcome, status, net_ns));
    if outcome != Outcome::Retried {
        shard.call(series, net_ns + tare_ns, tare_ns);
    }
}

/// Records on three workers, collecting now and then, and closing an interval with every collection.
fn run(happenings: &[(usize, Happening)], max_series: u32) -> (Totals, Vec<Interval>) {
    let mut shards = [(); 3].map(|()| Shard::new(max_series));
    let mut totals = Totals::new(max_series);
    let mut intervals = Vec::new();
    let collect = |shards: &mut [Shard; 3], totals: &mut Totals, intervals: &mut Vec<Interval>| {
        for (worker, shard) in shards.iter_mut().enumerate() {
            totals.absorb(worker, shard.take());
        }
        intervals.push(totals.close_interval((intervals.len() as u64 + 1) * 1_000_000_000));
    };
    for (worker, happening) in happenings {
        match happening {
            Happening::Collect => collect(&mut shards, &mut totals, &mut intervals),
            other => record(&mut shards[*worker], other),
        }
    }
    collect(&mut shards, &mut totals, &mut intervals);
    (totals, intervals)
}

/// Everything in totals, in an order of its own.
fn dump(totals: &Totals) -> BTreeMap<(String, String), Figure> {
    let entry = |view: View<'_>| {
        (
            (view.metric.to_owned(), format!("{:?}", view.tags())),
            view.figure.to_figure(),
        )
    };
    totals.views().into_iter().map(entry).collect()
}

fn no_tags() -> BTreeMap<String, String> {
    BTreeMap::new()
}

fn tag(name: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(name.to_owned(), value.to_owned())])
}
