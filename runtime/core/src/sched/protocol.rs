//! The words that the shell and the scheduler exchange.

use serde::{Deserialize, Serialize};

use crate::sample::{Arrival, IterationOutcome};

/// What happened, told by the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The initial virtual users are ready; the run's time is 0.
    Begin,
    /// A [`Action::WakeAt`] time has come. Early and spurious wake-ups are harmless.
    Timer,
    /// A virtual user asked for by [`Action::Spawn`] exists now.
    VuReady {
        /// Its run-wide id.
        vu: u32,
    },
    /// The iteration of a virtual user ended; it is free for the next.
    IterationEnded {
        /// Its run-wide id.
        vu: u32,
        /// How it ended.
        outcome: IterationOutcome,
    },
    /// A virtual user cannot be used any more: its `init` failed. Report it before the end of its last iteration, or that end
    /// will be taken for a free virtual user and answered with the next start.
    VuRetired {
        /// Its run-wide id.
        vu: u32,
    },
    /// No more starts: a signal, an abort, a threshold. Iterations under way may end within the grace time.
    Stop,
    /// End at once.
    Kill,
}

/// What the shell has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Make a virtual user, then report [`Event::VuReady`] or [`Event::VuRetired`].
    Spawn {
        /// Its run-wide id.
        vu: u32,
    },
    /// Start an iteration.
    Start {
        /// Who runs it.
        vu: u32,
        /// Which arrival it is, when it was due and when it started (the `now` of the step).
        arrival: Arrival,
        /// How much of its lateness is for want of a free virtual user; the rest is the generator's own lag.
        waited_for_vu_ns: u64,
    },
    /// Count an arrival that never starts.
    Drop {
        /// Its index in the whole run.
        sequence: u64,
        /// When it should have started.
        due_ns: u64,
        /// Why it did not.
        reason: DropReason,
    },
    /// Send [`Event::Timer`] at this time, or at once when it has passed. The only timer: it replaces the one before.
    WakeAt {
        /// Nanoseconds from the run's start.
        at_ns: u64,
    },
    /// Nothing starts any more; iterations under way may end until then. At most once; absent when all work was done in time.
    Drain {
        /// Nanoseconds from the run's start.
        until_ns: u64,
    },
    /// The grace time is over: interrupt, then report [`Event::IterationEnded`]. Nothing is to be done for one that has just ended.
    Cancel {
        /// Who is to be interrupted.
        vu: u32,
    },
    /// Nothing runs and nothing will. Exactly once, last.
    Finish,
}

/// Why an arrival never started: the metric label `reason` of `dropped_iterations`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropReason {
    /// No virtual user was free, at the most that there may be.
    NoVu,
    /// The generator noticed it too late to start it in good faith.
    Lag,
    /// This machine could not make what it takes.
    GeneratorLimit,
    /// The run was stopped while it waited.
    Stop,
}

impl DropReason {
    /// Every reason, in the order of [`IterationCounts::dropped`].
    pub const ALL: [DropReason; 4] = [
        DropReason::NoVu,
        DropReason::Lag,
        DropReason::GeneratorLimit,
        DropReason::Stop,
    ];

    /// The label as it stands in metrics and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            DropReason::NoVu => "no-vu",
            DropReason::Lag => "lag",
            DropReason::GeneratorLimit => "generator-limit",
            DropReason::Stop => "stop",
        }
    }
}

/// Where iterations got to. At the end of a run `offered = started + dropped` and `started = completed + failed + interrupted`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationCounts {
    /// Arrivals whose time came.
    pub offered: u64,
    /// Of these, those that started.
    pub started: u64,
    /// Of these, those that never started, by reason, in the order of [`DropReason::ALL`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Iterations whose `run` returned in good order.
    pub completed: u64,
    /// Iterations whose `run` returned an error or trapped.
    pub failed: u64,
    /// Iterations cut short by the run's end.
    pub interrupted: u64,
}

impl IterationCounts {
    /// All that never started, for whatever reason.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Iterations that have not ended yet.
    pub fn running(&self) -> u64 {
        self.started
            .saturating_sub(self.completed + self.failed + self.interrupted)
    }

    /// Adds another worker's counts.
    pub fn add(&mut self, other: &IterationCounts) {
        self.offered += other.offered;
        self.started += other.started;
        for (mine, theirs) in self.dropped.iter_mut().zip(other.dropped) {
            *mine += theirs;
        }
        self.completed += other.completed;
        self.failed += other.failed;
        self.interrupted += other.interrupted;
    }
}
