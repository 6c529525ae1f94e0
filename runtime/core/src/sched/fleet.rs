//! The virtual users of one worker: which exist, which are free, which run.
//!
//! ```text
//!              spawn            ready             take
//!   (not made) ─────► Making ─────────► Free ◄──────────► Running
//!                       │ retire          │ retire   ended    │ retire
//!                       ▼                 ▼                   ▼
//!                    Retired           Retired ◄─── ended ─ Leaving
//! ```
//!
//! Inside, a virtual user is its *slot*: its rank among the worker's own. Slots are made in order, so the table is dense and
//! grows only as virtual users do. Every operation is O(1), but for retiring a free one, which happens once in its life.

use crate::segment::Deal;

/// The virtual users of one worker.
#[derive(Debug)]
pub(super) struct Fleet {
    /// Which ids, and which arrivals, are this worker's.
    deal: Deal,
    /// Those made so far, by slot.
    slots: Vec<Slot>,
    /// Slots of free ones; the last freed is on top and taken first, because its caches and connections are warm.
    free: Vec<u32>,
    /// Since when `free` has not been empty; without meaning while it is.
    free_since_ns: u64,
    /// How many are `Running` or `Leaving`.
    running: u32,
    /// How many are `Making`.
    making: u32,
    /// How many can never take an iteration any more.
    lost: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    state: State,
    /// Iterations started.
    started: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Asked for.
    Making,
    /// Without an iteration. It may be out of `free` for good, when it has run all it was to run.
    Free,
    Running,
    /// Running, and retired when that ends.
    Leaving,
    Retired,
}

/// A virtual user taken for an iteration.
pub(super) struct Taken {
    /// Its run-wide id.
    pub(super) vu: u32,
    /// Since when there has been a free one without a break.
    pub(super) free_since_ns: u64,
}

impl Fleet {
    /// All virtual users exist before the start.
    pub(super) fn complete(deal: Deal) -> Fleet {
        Fleet::growing(deal, u32::MAX)
    }

    /// Those of the run's first `initial` exist before the start; the others are made on demand.
    pub(super) fn growing(deal: Deal, initial: u32) -> Fleet {
        let made = deal.vus_below(initial);
        Fleet {
            deal,
            slots: (0..made)
                .map(|_| Slot {
                    state: State::Free,
                    started: 0,
                })
                .collect(),
            free: (0..made).rev().collect(),
            free_since_ns: 0,
            running: 0,
            making: 0,
            lost: 0,
        }
    }

    pub(super) fn deal(&self) -> &Deal {
        &self.deal
    }

    /// How many there may be.
    pub(super) fn size(&self) -> u32 {
        self.deal.owned()
    }

    /// How many there are or may yet be.
    pub(super) fn usable(&self) -> u32 {
        self.size() - self.lost
    }

    pub(super) fn running(&self) -> u32 {
        self.running
    }

    pub(super) fn making(&self) -> u32 {
        self.making
    }

    pub(super) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Run-wide ids of all that were ever made.
    pub(super) fn made_ids(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.slots).map(|(slot, _)| self.deal.id(slot))
    }

    /// Run-wide ids of those in an iteration.
    pub(super) fn running_ids(&self) -> impl Iterator<Item = u32> {
        let runs = |slot: &Slot| matches!(slot.state, State::Running | State::Leaving);
        (0..)
            .zip(&self.slots)
            .filter(move |(_, slot)| runs(slot))
            .map(|(slot, _)| self.deal.id(slot))
    }

    /// Takes the free one used last, if it has started fewer than `at_most` iterations; those that have are set aside for good.
    pub(super) fn take(&mut self, at_most: u64) -> Option<Taken> {
        while let Some(slot) = self.free.pop() {
            let taken = &mut self.slots[slot as usize];
            if taken.started < at_most {
                taken.started += 1;
                taken.state = State::Running;
                self.running += 1;
                return Some(Taken {
                    vu: self.deal.id(slot),
                    free_since_ns: self.free_since_ns,
                });
            }
        }
        None
    }

    /// Asks for one more; none when there are as many as there may be.
    pub(super) fn spawn(&mut self) -> Option<u32> {
        let slot = u32::try_from(self.slots.len())
            .ok()
            .filter(|slot| *slot < self.size())?;
        self.slots.push(Slot {
            state: State::Making,
            started: 0,
        });
        self.making += 1;
        Some(self.deal.id(slot))
    }

    /// One that was asked for exists.
    pub(super) fn ready(&mut self, vu: u32, now_ns: u64) {
        let Some((slot, State::Making)) = self.find(vu) else {
            return;
        };
        self.making -= 1;
        self.set_free(slot, now_ns);
    }

    /// An iteration ended. Answers whether there was one.
    pub(super) fn ended(&mut self, vu: u32, now_ns: u64) -> bool {
        match self.find(vu) {
            Some((slot, State::Running)) => self.set_free(slot, now_ns),
            Some((slot, State::Leaving)) => self.slots[slot as usize].state = State::Retired,
            _ => return false,
        }
        self.running -= 1;
        true
    }

    /// One is not to be used any more, from now or, when it runs, from its iteration's end on.
    pub(super) fn retire(&mut self, vu: u32) {
        let Some((slot, state)) = self.find(vu) else {
            return;
        };
        let next = match state {
            State::Making => {
                self.making -= 1;
                State::Retired
            }
            State::Free => {
                self.free.retain(|other| *other != slot);
                State::Retired
            }
            State::Running => State::Leaving,
            State::Leaving | State::Retired => return,
        };
        self.slots[slot as usize].state = next;
        self.lost += 1;
    }

    fn set_free(&mut self, slot: u32, now_ns: u64) {
        if self.free.is_empty() {
            self.free_since_ns = now_ns;
        }
        self.slots[slot as usize].state = State::Free;
        self.free.push(slot);
    }

    fn find(&self, vu: u32) -> Option<(u32, State)> {
        let slot = self.deal.slot(vu)?;
        self.slots
            .get(slot as usize)
            .map(|found| (slot, found.state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Segment;

    fn fleet(size: u32, initial: u32) -> Fleet {
        Fleet::growing(Deal::new(Segment::whole(), size), initial)
    }

    fn take(fleet: &mut Fleet) -> Option<u32> {
        fleet.take(u64::MAX).map(|taken| taken.vu)
    }

    #[test]
    fn the_one_used_last_is_taken_first() {
        let mut fleet = fleet(3, 3);
        assert_eq!(
            [take(&mut fleet), take(&mut fleet), take(&mut fleet)],
            [Some(1), Some(2), Some(3)]
        );
        assert!(fleet.ended(1, 10) && fleet.ended(3, 20));
        assert_eq!(
            [take(&mut fleet), take(&mut fleet), take(&mut fleet)],
            [Some(3), Some(1), None]
        );
    }

    #[test]
    fn it_is_free_since_the_first_of_several_became_free() {
        let mut fleet = fleet(2, 2);
        assert!(take(&mut fleet).is_some() && take(&mut fleet).is_some());
        assert!(fleet.ended(1, 10) && fleet.ended(2, 20));
        assert_eq!(
            fleet.take(u64::MAX).map(|taken| taken.free_since_ns),
            Some(10)
        );
    }

    #[test]
    fn no_more_are_spawned_than_there_may_be() {
        let mut fleet = fleet(3, 1);
        assert_eq!(
            [fleet.spawn(), fleet.spawn(), fleet.spawn()],
            [Some(2), Some(3), None]
        );
        assert_eq!(fleet.making(), 2);
    }

    #[test]
    fn what_did_not_happen_changes_nothing() {
        let mut fleet = fleet(2, 1);
        assert!(!fleet.ended(1, 0), "it does not run");
        assert!(!fleet.ended(9, 0), "it is nobody's");
        assert!(!fleet.ended(0, 0), "ids start at 1");
        fleet.ready(1, 0);
        fleet.ready(2, 0);
        assert_eq!(
            (fleet.running(), fleet.making(), fleet.free.len()),
            (0, 0, 1)
        );
    }

    #[test]
    fn one_that_retires_in_mid_iteration_ends_it_and_does_not_come_back() {
        let mut fleet = fleet(1, 1);
        assert_eq!(take(&mut fleet), Some(1));
        fleet.retire(1);
        fleet.retire(1);
        assert_eq!((fleet.usable(), fleet.running()), (0, 1));
        assert!(fleet.ended(1, 5));
        assert_eq!((take(&mut fleet), fleet.running()), (None, 0));
    }

    #[test]
    fn one_that_has_run_all_it_may_is_set_aside() {
        let mut fleet = fleet(1, 1);
        assert!(fleet.take(1).is_some());
        assert!(fleet.ended(1, 5));
        assert!(fleet.take(1).is_none());
        assert!(!fleet.has_free());
    }
}
