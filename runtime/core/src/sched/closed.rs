//! Closed models: a virtual user starts its next iteration when its last one has ended.
//!
//! The arrival is due at the moment the virtual user became free, so it is never late, and a slow server slows the load. With
//! a rate (`shared-iterations` only) the starts are due at that pace instead: one that finds no virtual user free is late by the
//! time it waits, and starts as soon as one is. Nothing is dropped, because the plan promises a number of iterations; what the
//! time does not suffice for is [`unstarted`](Closed::unstarted).

use super::fleet::Fleet;
use super::output::Output;
use crate::pace::ConstantPace;
use crate::plan::Rate;

/// What is to be started by virtual users that wait for their own iterations.
#[derive(Debug)]
pub(super) struct Closed {
    /// Iterations this worker may start in all.
    quota: u64,
    /// Iterations each virtual user may start.
    quota_each: u64,
    /// When starts are due; none means as soon as a virtual user is free.
    pace: Option<ConstantPace>,
    /// How many were started: the worker's own number of the next.
    started: u64,
}

impl Closed {
    /// As many iterations as the time allows.
    pub(super) fn endless() -> Closed {
        Closed {
            quota: u64::MAX,
            quota_each: u64::MAX,
            pace: None,
            started: 0,
        }
    }

    /// This fleet's share of `iterations`, whoever runs them.
    pub(super) fn shared(
        fleet: &Fleet,
        iterations: u64,
        rate: Option<Rate>,
        max_duration_ns: u64,
    ) -> Closed {
        let pace = rate.map(|rate| ConstantPace::new(rate, max_duration_ns));
        Closed {
            quota: fleet.deal().count_below(iterations),
            quota_each: u64::MAX,
            pace,
            started: 0,
        }
    }

    /// `iterations` by each of this fleet.
    pub(super) fn each(fleet: &Fleet, iterations: u64) -> Closed {
        let quota = iterations.saturating_mul(u64::from(fleet.size()));
        Closed {
            quota,
            quota_each: iterations,
            pace: None,
            started: 0,
        }
    }

    /// Starts iterations on free virtual users as far as they are due and within the quotas.
    pub(super) fn start_due(&mut self, fleet: &mut Fleet, output: &mut Output<'_>) {
        while self.started < self.quota {
            let Some(sequence) = fleet.deal().nth(self.started) else {
                return;
            };
            let due_ns = match &self.pace {
                None => output.now_ns,
                Some(pace) => match pace.due_ns(sequence) {
                    Some(due_ns) if due_ns <= output.now_ns => due_ns,
                    _ => return,
                },
            };
            let Some(taken) = fleet.take(self.quota_each) else {
                return;
            };
            self.started += 1;
            output.start(taken.vu, sequence, due_ns, taken.free_since_ns);
        }
    }

    /// When the next start is due, where starts are paced.
    pub(super) fn next_due_ns(&self, fleet: &Fleet) -> Option<u64> {
        let pace = self.pace.as_ref().filter(|_| self.started < self.quota)?;
        pace.due_ns(fleet.deal().nth(self.started)?)
    }

    /// Whether nothing runs and nothing will. Without a pace all that could start has started by now.
    pub(super) fn is_done(&self, fleet: &Fleet) -> bool {
        fleet.running() == 0 && (fleet.usable() == 0 || self.next_due_ns(fleet).is_none())
    }

    /// Iterations promised by number and not started.
    pub(super) fn unstarted(&self) -> u64 {
        if self.quota == u64::MAX {
            0
        } else {
            self.quota - self.started
        }
    }
}
