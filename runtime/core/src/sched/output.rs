//! What one step answers, counted as it is said: actions and counts cannot disagree.

use super::protocol::{Action, DropReason, IterationCounts};
use crate::sample::Arrival;

/// Where a step writes.
pub(super) struct Output<'a> {
    /// The time of the step.
    pub(super) now_ns: u64,
    pub(super) counts: &'a mut IterationCounts,
    pub(super) actions: &'a mut Vec<Action>,
}

impl Output<'_> {
    /// Starts arrival `sequence` now, on a virtual user that could have taken it from `free_since_ns` on.
    ///
    /// ```text
    ///        due            free_since             now
    ///    ─────┼─────────────────┼───────────────────┼────►
    ///         │  no free VU     │  scheduler's lag  │
    /// ```
    pub(super) fn start(&mut self, vu: u32, sequence: u64, due_ns: u64, free_since_ns: u64) {
        let late_ns = self.now_ns.saturating_sub(due_ns);
        self.counts.offered += 1;
        self.counts.started += 1;
        self.actions.push(Action::Start {
            vu,
            arrival: Arrival {
                sequence,
                due_ns,
                started_ns: self.now_ns,
            },
            waited_for_vu_ns: free_since_ns.saturating_sub(due_ns).min(late_ns),
        });
    }

    /// Gives up arrival `sequence`.
    pub(super) fn drop(&mut self, sequence: u64, due_ns: u64, reason: DropReason) {
        self.counts.offered += 1;
        self.counts.dropped[reason as usize] += 1;
        self.actions.push(Action::Drop {
            sequence,
            due_ns,
            reason,
        });
    }
}
