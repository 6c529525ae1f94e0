//! Where a guest should be polled, from what its iterations cost.
//!
//! *Split* keeps the sockets drained whatever the guest does, at 0.3 µs a host call with many virtual users and 5 µs with one;
//! *inline* saves the hand-over, and is right for guests that never hold the I/O thread up. `auto` looks at the first
//! iterations on the guest thread, moves light guests to the I/O thread, and moves a guest back for good once it was heavy.

use nettare_core::plan::GuestThread;
use nettare_vm::IterationEnd;

use crate::mailbox::Place;

/// Iterations looked at before a guest may go inline. The first is not typical: caches are cold and memory is grown.
const TRIAL_ITERATIONS: u32 = 4;

/// A segment longer than this on the I/O thread keeps sockets from being drained.
const LONGEST_SEGMENT_NS: u64 = 1_000_000;

/// A guest that holds its thread for longer than this on average, at the longest in an iteration, leaves the I/O thread.
const MEAN_SEGMENT_NS: u64 = 50_000;

/// The weight of an iteration in the running mean, as a divisor.
const MEAN_WEIGHT: u64 = 8;

/// The placement of one virtual user.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    policy: GuestThread,
    iterations: u32,
    mean_segment_ns: u64,
    /// It was heavy once.
    heavy: bool,
}

impl Placement {
    /// A virtual user that has run nothing yet. It is on the guest thread, where its instance was made.
    pub(crate) fn new(policy: GuestThread) -> Placement {
        Placement {
            policy,
            iterations: 0,
            mean_segment_ns: 0,
            heavy: false,
        }
    }

    /// Where it should be polled after this iteration; none where it is already decided so.
    pub(crate) fn after(&mut self, end: &IterationEnd) -> Option<Place> {
        match self.policy {
            GuestThread::Split => None,
            GuestThread::Inline => Some(Place::Inline),
            GuestThread::Auto => self.weigh(end),
        }
    }

    fn weigh(&mut self, end: &IterationEnd) -> Option<Place> {
        if self.heavy {
            return None;
        }
        self.iterations = self.iterations.saturating_add(1);
        self.mean_segment_ns = match self.iterations {
            // The first iteration is left out of the mean.
            1 => 0,
            2 => end.longest_segment_ns,
            _ => (self.mean_segment_ns * (MEAN_WEIGHT - 1) + end.longest_segment_ns) / MEAN_WEIGHT,
        };
        if self.iterations > 1
            && (end.longest_segment_ns > LONGEST_SEGMENT_NS
                || self.mean_segment_ns > MEAN_SEGMENT_NS)
        {
            self.heavy = true;
            return Some(Place::Split);
        }
        (self.iterations >= TRIAL_ITERATIONS).then_some(Place::Inline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettare_core::sample::IterationOutcome;

    fn iteration(longest_segment_ns: u64) -> IterationEnd {
        IterationEnd {
            outcome: IterationOutcome::Completed,
            why: None,
            scenario_cpu_ns: None,
            scenario_instructions: None,
            guest_segments_ns: longest_segment_ns,
            longest_segment_ns,
            needs_new_instance: false,
        }
    }

    fn last_place(policy: GuestThread, iterations: &[IterationEnd]) -> Option<Place> {
        let mut placement = Placement::new(policy);
        iterations
            .iter()
            .filter_map(|end| placement.after(end))
            .last()
    }

    #[test]
    fn a_light_guest_goes_inline_after_its_trial() {
        let light: Vec<_> = (0..TRIAL_ITERATIONS).map(|_| iteration(2_000)).collect();
        assert_eq!(last_place(GuestThread::Auto, &light), Some(Place::Inline));
        assert_eq!(
            last_place(GuestThread::Auto, &light[1..]),
            None,
            "the trial is not over"
        );
    }

    #[test]
    fn one_long_segment_sends_a_guest_back_for_good() {
        let mut ends: Vec<_> = (0..TRIAL_ITERATIONS).map(|_| iteration(2_000)).collect();
        ends.push(iteration(LONGEST_SEGMENT_NS + 1));
        ends.extend((0..100).map(|_| iteration(2_000)));
        assert_eq!(last_place(GuestThread::Auto, &ends), Some(Place::Split));
    }

    #[test]
    fn the_first_iteration_does_not_count() {
        let mut ends = vec![iteration(50_000_000)];
        ends.extend((0..TRIAL_ITERATIONS).map(|_| iteration(2_000)));
        assert_eq!(last_place(GuestThread::Auto, &ends), Some(Place::Inline));
    }

    #[test]
    fn middling_segments_are_heavy_in_the_long_run() {
        let middling: Vec<_> = (0..10).map(|_| iteration(MEAN_SEGMENT_NS * 2)).collect();
        assert_eq!(last_place(GuestThread::Auto, &middling), Some(Place::Split));
    }

    #[test]
    fn a_policy_is_obeyed_whatever_a_guest_costs() {
        let heavy: Vec<_> = (0..10).map(|_| iteration(LONGEST_SEGMENT_NS * 5)).collect();
        assert_eq!(last_place(GuestThread::Inline, &heavy), Some(Place::Inline));
        assert_eq!(last_place(GuestThread::Split, &heavy), None);
    }
}
