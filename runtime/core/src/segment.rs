//! Who gets which part of a run.
//!
//! A run is a numbered sequence of things: arrivals 0, 1, 2, ... and virtual users 0, 1, 2, ... A [`Segment`] is the exact
//! share of one worker, or of one machine and then one of its workers. It holds every `stride`-th number from `offset` on:
//!
//! ```text
//!   whole       0  1  2  3  4  5  6  7  8  ...
//!   1st of 3    0        3        6            offset 0, stride 3
//!   2nd of 3       1        4        7         offset 1, stride 3
//!   3rd of 3          2        5        8      offset 2, stride 3
//! ```
//!
//! So parts interleave: each has evenly spaced arrivals of its own, and together they are the whole again, number by number.
//! Contiguous parts (the first third, the second, ...) would divide as exactly, but give all early arrivals to one worker.
//!
//! Arrivals are not divided over segments directly but [dealt](Deal) to virtual users: a worker without a virtual user must
//! not be given work.

/// An exact rational part of a run: the numbers `offset`, `offset + stride`, `offset + 2 * stride`, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// The first number owned. Less than `stride`, unless that is at the width of the type.
    offset: u64,
    /// The distance to the next one owned; at least 1.
    stride: u64,
}

impl Segment {
    /// All of the run.
    pub fn whole() -> Segment {
        Segment {
            offset: 0,
            stride: 1,
        }
    }

    /// Divides this part into `parts` that own the same numbers between them, each number once.
    ///
    /// Two levels of division, machines and their workers, are exact whatever the number of parts; strides of deeper ones end
    /// at the width of the type, beyond any number a run can reach. No parts count as one.
    pub fn split(self, parts: u32) -> Vec<Segment> {
        let parts = u64::from(parts.max(1));
        let stride = self.stride.saturating_mul(parts);
        (0..parts)
            .map(|part| Segment {
                offset: self.offset.saturating_add(self.stride.saturating_mul(part)),
                stride,
            })
            .collect()
    }

    /// Whether `n` is in this part.
    pub fn owns(&self, n: u64) -> bool {
        self.rank(n).is_some()
    }

    /// The `k`-th number owned, counting from 0; stops growing at the width of the type.
    pub fn nth(&self, k: u64) -> u64 {
        self.offset.saturating_add(self.stride.saturating_mul(k))
    }

    /// How many of `0..total` are owned.
    pub fn count_below(&self, total: u64) -> u64 {
        total.saturating_sub(self.offset).div_ceil(self.stride)
    }

    /// Which of the numbers owned `n` is, counting from 0: the inverse of [`nth`](Self::nth).
    pub fn rank(&self, n: u64) -> Option<u64> {
        let distance = n.checked_sub(self.offset)?;
        distance
            .is_multiple_of(self.stride)
            .then_some(distance / self.stride)
    }
}

/// Arrivals dealt to virtual users like cards, one each in turn: arrival `n` is meant for virtual user `n mod vus`, and a
/// worker gets what was dealt to the virtual users of its segment.
///
/// ```text
///   5 virtual users, 2 workers      user     0  1  2  3  4 | 0  1  2  3  4 | 0 ...
///   the worker with users 0, 2, 4   arrival  0     2     4   5     7     9   10
///   the worker with users 1, 3      arrival     1     3         6     8
/// ```
///
/// Any virtual user of the worker may take the arrival in the end; the deal only says which worker. The alternative, a plain
/// split of the arrivals, would give half of them to the second of two workers even when the run has one virtual user and that
/// worker none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deal {
    segment: Segment,
    /// Virtual users of the whole run.
    vus: u64,
    /// Those of this segment.
    owned: u64,
}

impl Deal {
    /// Deals to `vus` virtual users, for the worker that has those of `segment`.
    pub(crate) fn new(segment: Segment, vus: u32) -> Deal {
        let vus = u64::from(vus);
        Deal {
            segment,
            vus,
            owned: segment.count_below(vus),
        }
    }

    /// Virtual users of this worker.
    pub(crate) fn owned(&self) -> u32 {
        u32::try_from(self.owned).unwrap_or(u32::MAX)
    }

    /// The run-wide id, from 1, of this worker's virtual user number `slot`, from 0.
    pub(crate) fn id(&self, slot: u32) -> u32 {
        u32::try_from(self.segment.nth(u64::from(slot)).saturating_add(1)).unwrap_or(u32::MAX)
    }

    /// The inverse of [`id`](Self::id); none for a virtual user of another worker.
    pub(crate) fn slot(&self, id: u32) -> Option<u32> {
        let n = u64::from(id).checked_sub(1)?;
        let rank = self.segment.rank(n).filter(|_| n < self.vus)?;
        u32::try_from(rank).ok()
    }

    /// How many of the virtual users `0..count` are this worker's.
    pub(crate) fn vus_below(&self, count: u32) -> u32 {
        u32::try_from(self.segment.count_below(u64::from(count).min(self.vus))).unwrap_or(u32::MAX)
    }

    /// The run-wide number of this worker's `k`-th arrival; none when it has no virtual user, or past the width of the type.
    pub(crate) fn nth(&self, k: u64) -> Option<u64> {
        let round = k.checked_div(self.owned)?;
        round
            .checked_mul(self.vus)?
            .checked_add(self.segment.nth(k % self.owned))
    }

    /// How many of the arrivals `0..total` are this worker's.
    pub(crate) fn count_below(&self, total: u64) -> u64 {
        let Some(rounds) = total.checked_div(self.vus) else {
            return 0;
        };
        rounds * self.owned + self.segment.count_below(total % self.vus)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_interleave() {
        let parts = Segment::whole().split(3);
        let owned = |part: usize| (0..3).map(|k| parts[part].nth(k)).collect::<Vec<_>>();
        assert_eq!(
            [owned(0), owned(1), owned(2)],
            [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
        );
    }

    #[test]
    fn no_parts_count_as_one() {
        assert_eq!(Segment::whole().split(0), [Segment::whole()]);
    }

    #[test]
    fn a_worker_without_virtual_users_gets_no_arrivals() {
        let parts = Segment::whole().split(4);
        let dealt: Vec<_> = parts
            .iter()
            .map(|part| Deal::new(*part, 1).count_below(1_000))
            .collect();
        assert_eq!(dealt, [1_000, 0, 0, 0]);
        assert_eq!(Deal::new(parts[1], 1).nth(0), None);
    }

    #[test]
    fn arrivals_are_dealt_in_proportion_to_virtual_users() {
        let parts = Segment::whole().split(2);
        let dealt: Vec<_> = parts
            .iter()
            .map(|part| Deal::new(*part, 3).count_below(3_000))
            .collect();
        assert_eq!(dealt, [2_000, 1_000]);
    }

    /// A part of a part of the whole.
    fn any_segment() -> impl Strategy<Value = Segment> {
        (1u32..20, 1u32..20).prop_flat_map(|(machines, workers)| {
            (0..machines as usize, 0..workers as usize).prop_map(move |(machine, worker)| {
                Segment::whole().split(machines)[machine].split(workers)[worker]
            })
        })
    }

    proptest! {
        #[test]
        fn parts_partition_the_whole(parts in 1u32..50, n in any::<u64>()) {
            let owners = Segment::whole().split(parts).iter().filter(|part| part.owns(n)).count();
            prop_assert_eq!(owners, 1);
        }

        #[test]
        fn parts_of_a_part_partition_it(part in any_segment(), parts in 1u32..50, n in 0u64..100_000) {
            let owners = part.split(parts).iter().filter(|part| part.owns(n)).count();
            prop_assert_eq!(owners, usize::from(part.owns(n)));
        }

        #[test]
        fn counts_agree_with_ownership(part in any_segment(), total in 0u64..2_000) {
            let counted = (0..total).filter(|n| part.owns(*n)).count() as u64;
            prop_assert_eq!(part.count_below(total), counted);
        }

        #[test]
        fn rank_inverts_nth(part in any_segment(), k in 0u64..1 << 40) {
            prop_assert_eq!(part.rank(part.nth(k)), Some(k));
        }

        #[test]
        fn parts_differ_by_at_most_one(parts in 1u32..50, total in any::<u64>()) {
            let counts: Vec<u64> = Segment::whole().split(parts).iter().map(|part| part.count_below(total)).collect();
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            prop_assert!(most - least <= 1);
            prop_assert_eq!(counts.iter().sum::<u64>(), total);
        }

        #[test]
        fn the_deal_gives_each_arrival_to_one_worker(parts in 1u32..9, vus in 1u32..40, total in 0u64..500) {
            let mut dealt = Vec::new();
            for part in Segment::whole().split(parts) {
                let deal = Deal::new(part, vus);
                let mine: Vec<u64> = (0..deal.count_below(total)).map_while(|k| deal.nth(k)).collect();
                prop_assert_eq!(mine.len() as u64, deal.count_below(total));
                prop_assert!(mine.is_sorted());
                dealt.extend(mine);
            }
            dealt.sort_unstable();
            prop_assert_eq!(dealt, (0..total).collect::<Vec<_>>());
        }

        #[test]
        fn a_slot_has_one_id_and_an_id_one_slot(parts in 1u32..9, vus in 1u32..40) {
            let mut ids = Vec::new();
            for part in Segment::whole().split(parts) {
                let deal = Deal::new(part, vus);
                for slot in 0..deal.owned() {
                    prop_assert_eq!(deal.slot(deal.id(slot)), Some(slot));
                    ids.push(deal.id(slot));
                }
            }
            ids.sort_unstable();
            prop_assert_eq!(ids, (1..=vus).collect::<Vec<_>>());
        }
    }
}
