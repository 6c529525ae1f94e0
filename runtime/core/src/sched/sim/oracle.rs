//! What must be true of a simulated run, computed without the scheduler's own arithmetic.

use std::collections::{BTreeMap, BTreeSet};

use super::shell::{Run, WorkerLog, simulate};
use crate::plan::{Executor, Rate};
use crate::sample::IterationOutcome;
use crate::sched::IterationCounts;

/// Sums over the workers.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) counts: IterationCounts,
    pub(super) starts_by_vu: BTreeMap<u32, u64>,
    pub(super) most_running: usize,
    /// Starts that share one moment on one worker.
    pub(super) most_starts_at_once: usize,
    /// Lateness for want of a virtual user, and for the scheduler's own lag.
    pub(super) waited_for_vu_ns: u64,
    pub(super) lag_ns: u64,
    pub(super) ended_ns: u64,
    pub(super) unstarted: u64,
}

/// Simulates the run and holds every law against it.
pub(super) fn check_run(run: &Run) -> Seen {
    let workers = simulate(run);
    for worker in &workers {
        check_counts(worker);
        check_order_of_time(run, worker);
    }
    check_ownership(&workers);
    check_executor(run, &workers);
    sum_up(&workers)
}

/// The scheduler's counts are those of its actions, and add up.
fn check_counts(worker: &WorkerLog) {
    let counts = worker.counts;
    assert_eq!(counts.started, worker.starts.len() as u64);
    assert_eq!(counts.dropped_total(), worker.drops.len() as u64);
    assert_eq!(
        counts.offered,
        counts.started + counts.dropped_total(),
        "offered = started + dropped"
    );
    assert_eq!(
        counts.started,
        counts.completed + counts.failed + counts.interrupted
    );
    for (count, outcome) in [
        (counts.completed, IterationOutcome::Completed),
        (counts.failed, IterationOutcome::Failed),
        (counts.interrupted, IterationOutcome::Interrupted),
    ] {
        assert_eq!(
            count,
            worker.ends.iter().filter(|end| end.1 == outcome).count() as u64
        );
    }
}

fn check_order_of_time(run: &Run, worker: &WorkerLog) {
    if let Some((drained_ns, until_ns)) = worker.drained {
        let killed = run.kills_at_ns.is_some_and(|at_ns| at_ns <= until_ns);
        assert!(
            until_ns == drained_ns + run.graceful_stop_ns || killed,
            "the grace time is the plan's"
        );
        assert!(
            worker
                .cancels
                .iter()
                .all(|at_ns| *at_ns >= until_ns || killed),
            "nobody is cancelled within it"
        );
    } else {
        assert!(worker.cancels.is_empty());
    }
    let sequences: Vec<u64> = worker.starts.iter().map(|start| start.1.sequence).collect();
    assert!(sequences.is_sorted(), "arrivals start in order");
    let is_closed = !matches!(run.executor, Executor::ConstantArrivalRate { .. });
    let started_late = worker
        .starts
        .iter()
        .any(|start| start.1.started_ns >= run.executor.duration_ns());
    assert!(
        !(is_closed && started_late),
        "no iteration starts at or after the duration"
    );
}

/// A virtual user belongs to one worker, an arrival comes once.
fn check_ownership(workers: &[WorkerLog]) {
    let mut owners = BTreeMap::new();
    let mut sequences = BTreeSet::new();
    for (index, worker) in workers.iter().enumerate() {
        for (vu, arrival, _) in &worker.starts {
            assert_eq!(
                *owners.entry(*vu).or_insert(index),
                index,
                "VU {vu} runs on two workers"
            );
            assert!(
                sequences.insert(arrival.sequence),
                "arrival {} comes twice",
                arrival.sequence
            );
        }
        for (sequence, _, _) in &worker.drops {
            assert!(
                sequences.insert(*sequence),
                "arrival {sequence} comes twice"
            );
        }
    }
}

fn check_executor(run: &Run, workers: &[WorkerLog]) {
    let whole = run.stops_at_ns.is_none() && run.kills_at_ns.is_none();
    let sound = workers.iter().all(|worker| worker.lost == 0);
    let started: u64 = workers.iter().map(|worker| worker.counts.started).sum();
    let unstarted: u64 = workers.iter().map(|worker| worker.unstarted).sum();
    let offered: u64 = workers.iter().map(|worker| worker.counts.offered).sum();
    match run.executor {
        Executor::ConstantVus { vus, .. } => {
            let ran: BTreeSet<u32> = workers
                .iter()
                .flat_map(|worker| &worker.starts)
                .map(|start| start.0)
                .collect();
            assert!(
                !sound || !whole || ran == (1..=vus).collect(),
                "every virtual user runs"
            );
        }
        Executor::SharedIterations {
            iterations, rate, ..
        } => {
            assert_eq!(started + unstarted, iterations);
            check_dues(workers, rate);
        }
        Executor::PerVuIterations {
            vus, iterations, ..
        } => {
            assert_eq!(started + unstarted, u64::from(vus) * iterations);
            let by_vu = sum_up(workers).starts_by_vu;
            assert!(by_vu.values().all(|count| *count <= iterations));
        }
        Executor::ConstantArrivalRate {
            rate,
            duration_ns,
            max_vus,
            ..
        } => {
            check_dues(workers, Some(rate));
            let planned = dues(rate, duration_ns).count() as u64;
            assert!(offered <= planned);
            assert!(
                !whole || offered == planned,
                "{offered} of {planned} arrivals were offered"
            );
            check_due_so_far(run, workers, rate, duration_ns);
            assert!(sum_up(workers).most_running <= max_vus as usize);
        }
    }
}

/// Each arrival was due when its rate says.
fn check_dues(workers: &[WorkerLog], rate: Option<Rate>) {
    let Some(rate) = rate else { return };
    let starts = workers
        .iter()
        .flat_map(|worker| &worker.starts)
        .map(|start| (start.1.sequence, start.1.due_ns));
    let drops = workers
        .iter()
        .flat_map(|worker| &worker.drops)
        .map(|drop| (drop.0, drop.1));
    for (sequence, due_ns) in starts.chain(drops) {
        assert_eq!(u128::from(due_ns), due(rate, sequence));
    }
}

/// When all workers stopped offering at one time, what was offered is what was due by then: nothing is lost on the way.
fn check_due_so_far(run: &Run, workers: &[WorkerLog], rate: Rate, duration_ns: u64) {
    let busy = workers.iter().filter(|worker| worker.drained.is_some());
    let times: BTreeSet<u64> = busy.filter_map(|worker| worker.offered_until_ns).collect();
    if let (Some(until_ns), 1) = (times.first(), times.len()) {
        let offered: u64 = workers.iter().map(|worker| worker.counts.offered).sum();
        let due = dues(rate, duration_ns)
            .filter(|due_ns| due_ns <= until_ns)
            .count() as u64;
        assert_eq!(offered, due, "due by {until_ns} in {run:?}");
    }
}

fn due(rate: Rate, n: u64) -> u128 {
    u128::from(n) * u128::from(rate.per_ns) / u128::from(rate.arrivals)
}

fn dues(rate: Rate, duration_ns: u64) -> impl Iterator<Item = u64> {
    (0..)
        .map(move |n| due(rate, n) as u64)
        .take_while(move |due_ns| *due_ns < duration_ns)
}

fn sum_up(workers: &[WorkerLog]) -> Seen {
    let mut counts = IterationCounts::default();
    let mut starts_by_vu = BTreeMap::new();
    let (mut waited_for_vu_ns, mut lag_ns, mut most_starts_at_once) = (0, 0, 0);
    for worker in workers {
        counts.add(&worker.counts);
        let mut at_once = BTreeMap::new();
        for (vu, arrival, waited_ns) in &worker.starts {
            *starts_by_vu.entry(*vu).or_insert(0) += 1;
            *at_once.entry(arrival.started_ns).or_insert(0) += 1;
            waited_for_vu_ns += waited_ns;
            lag_ns += arrival.started_ns - arrival.due_ns - waited_ns;
        }
        most_starts_at_once = at_once
            .into_values()
            .max()
            .unwrap_or(0)
            .max(most_starts_at_once);
    }
    Seen {
        counts,
        starts_by_vu,
        most_running: workers.iter().map(|worker| worker.most_running).sum(),
        most_starts_at_once,
        waited_for_vu_ns,
        lag_ns,
        ended_ns: workers
            .iter()
            .filter_map(|worker| worker.finished_ns)
            .max()
            .unwrap_or(0),
        unstarted: workers.iter().map(|worker| worker.unstarted).sum(),
    }
}
