//! The bytes that response bodies may hold, over all workers.
//!
//! A worker draws blocks of 1 MiB from the process's budget and deals them out itself, so that small bodies do not all meet at
//! one atomic. It gives blocks back as soon as it has more than one to spare. A lease travels with its body and comes back when
//! the last handle of the body is dropped, on whatever thread that is; therefore even the worker's part is atomic, though hardly
//! ever contended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

const BLOCK_BYTES: u64 = 1024 * 1024;

/// The process's budget.
#[derive(Debug)]
pub(crate) struct Budget {
    free_bytes: AtomicU64,
}

/// A worker's part of it.
#[derive(Debug)]
pub(crate) struct Pool {
    budget: Arc<Budget>,
    /// Drawn from the budget, not on lease.
    free_bytes: AtomicU64,
}

/// Bytes on lease; they come back when it is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    pool: Arc<Pool>,
    bytes: u64,
}

impl Budget {
    pub(crate) fn new(total_bytes: u64) -> Arc<Budget> {
        Arc::new(Budget {
            free_bytes: AtomicU64::new(total_bytes),
        })
    }

    /// Takes whole blocks that cover `wanted_bytes`, or the rest of the budget if that covers them; else nothing.
    fn draw(&self, wanted_bytes: u64) -> Option<u64> {
        let blocks_bytes = wanted_bytes.checked_next_multiple_of(BLOCK_BYTES)?;
        let mut drawn_bytes = 0;
        self.free_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| {
                drawn_bytes = blocks_bytes.min(free);
                (drawn_bytes >= wanted_bytes).then(|| free - drawn_bytes)
            })
            .ok()
            .map(|_| drawn_bytes)
    }

    fn give_back(&self, bytes: u64) {
        self.free_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Pool {
    pub(crate) fn new(budget: &Arc<Budget>) -> Arc<Pool> {
        Arc::new(Pool {
            budget: Arc::clone(budget),
            free_bytes: AtomicU64::new(0),
        })
    }

    /// A lease of nothing, to be extended.
    pub(crate) fn lease(self: &Arc<Pool>) -> Lease {
        Lease {
            pool: Arc::clone(self),
            bytes: 0,
        }
    }

    fn take(&self, bytes: u64) -> bool {
        loop {
            let free = self.free_bytes.load(Ordering::Relaxed);
            if let Some(left) = free.checked_sub(bytes) {
                let swapped = self.free_bytes.compare_exchange_weak(
                    free,
                    left,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                if swapped.is_ok() {
                    return true;
                }
            } else {
                let Some(drawn_bytes) = self.budget.draw(bytes - free) else {
                    return false;
                };
                self.free_bytes.fetch_add(drawn_bytes, Ordering::Relaxed);
            }
        }
    }

    fn give_back(&self, bytes: u64) {
        let free = self.free_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let spare = (free / BLOCK_BYTES).saturating_sub(1) * BLOCK_BYTES;
        if spare > 0
            && self
                .free_bytes
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |f| {
                    f.checked_sub(spare)
                })
                .is_ok()
        {
            self.budget.give_back(spare);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.budget.give_back(*self.free_bytes.get_mut());
    }
}

impl Lease {
    /// Leases `more_bytes` on top. False when the budget is spent; what was leased before stays so.
    #[must_use]
    pub(crate) fn extend(&mut self, more_bytes: u64) -> bool {
        let extended = self.pool.take(more_bytes);
        if extended {
            self.bytes += more_bytes;
        }
        extended
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ties the lease to `body`.
    pub(crate) fn attach(self, body: Bytes) -> Bytes {
        struct Leased {
            body: Bytes,
            _lease: Lease,
        }
        impl AsRef<[u8]> for Leased {
            fn as_ref(&self) -> &[u8] {
                &self.body
            }
        }
        Bytes::from_owner(Leased { body, _lease: self })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.pool.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn free_bytes(budget: &Budget) -> u64 {
        budget.free_bytes.load(Ordering::Relaxed)
    }

    #[test]
    fn a_spent_budget_refuses_and_a_dropped_body_refills_it() {
        let budget = Budget::new(3 * BLOCK_BYTES);
        let pool = Pool::new(&budget);
        let mut first = pool.lease();
        assert!(first.extend(2 * BLOCK_BYTES + 1));
        let mut second = pool.lease();
        assert!(!second.extend(BLOCK_BYTES), "one byte short");
        let body = first.attach(Bytes::from_static(b"body"));
        let clone = body.clone();
        drop(body);
        assert!(!second.extend(BLOCK_BYTES), "a clone still holds the lease");
        drop(clone);
        assert!(second.extend(3 * BLOCK_BYTES));
    }

    #[test]
    fn a_budget_below_one_block_can_be_used_up_to_its_last_byte() {
        let budget = Budget::new(10);
        let pool = Pool::new(&budget);
        let mut lease = pool.lease();
        assert!(lease.extend(4) && lease.extend(6) && !lease.extend(1));
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_or_made(sizes in prop::collection::vec((0..3_u8, 0..3_000_000_u64), 1..40)) {
            let total = 8 * BLOCK_BYTES;
            let budget = Budget::new(total);
            let pools = [Pool::new(&budget), Pool::new(&budget), Pool::new(&budget)];
            let mut leases: Vec<Lease> = Vec::new();
            for (which, bytes) in sizes {
                let mut lease = pools[usize::from(which)].lease();
                if lease.extend(bytes) {
                    leases.push(lease);
                }
                if bytes % 3 == 0 && !leases.is_empty() {
                    leases.swap_remove(0);
                }
                let leased: u64 = leases.iter().map(|lease| lease.bytes).sum();
                let held: u64 = pools.iter().map(|pool| pool.free_bytes.load(Ordering::Relaxed)).sum();
                prop_assert_eq!(free_bytes(&budget) + held + leased, total);
            }
            drop(leases);
            drop(pools);
            prop_assert_eq!(free_bytes(&budget), total);
        }
    }
}
