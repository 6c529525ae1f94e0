//! What a guest may not pass, and the errors that stop it there.
//!
//! Each limit has a name. A guest that passes one traps with an error that says which, or is answered by it; either way it is
//! counted under its name.

use wasmtime::ResourceLimiter;

/// Elements of all tables of one virtual user, unless its module starts with more.
pub(crate) const TABLE_ELEMENTS: usize = 20_000;

/// Stack of the guest itself, in bytes: recursion ends here.
pub(crate) const GUEST_STACK_BYTES: usize = 256 << 10;

/// Stack of a virtual user's fiber, in bytes; what the guest's is not is the host's, for the calls it answers on that stack.
pub(crate) const FIBER_STACK_BYTES: usize = 512 << 10;

/// Bytes that one call of `random.bytes` gives.
pub(crate) const RANDOM_BYTES: u32 = 64 << 10;

/// Records that may wait for the engine to take them, before it is asked to.
pub(crate) const RECORDS_WAITING: usize = 4096;

/// Records that may wait for an engine that does not take them; more are dropped and counted.
pub(crate) const RECORDS_MOST: usize = 65_536;

/// Why the host stopped a guest. Raised as a trap, and found again in the error that comes out of the call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    /// The sum of its guest segments is over its budget.
    #[error("more CPU than `guest-cpu` allows")]
    CpuBudget,
    /// Its memories would be over their limit.
    #[error("more memory than `guest-memory` allows")]
    Memory {
        /// What it wanted in all.
        wanted: u64,
        /// What it may have.
        limit: u64,
    },
    /// The run's hard end.
    #[error("the run has ended")]
    Interrupted,
    /// Another limit, by its name.
    #[error("{why} (limit `{name}`)")]
    Limit {
        /// The limit's name.
        name: &'static str,
        /// One sentence with the remedy.
        why: String,
    },
}

impl Stop {
    pub(crate) fn limit(name: &'static str, why: impl Into<String>) -> Stop {
        Stop::Limit {
            name,
            why: why.into(),
        }
    }
}

/// Growth of memories and tables, all of one virtual user's together.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory_limit: u64,
    memory: u64,
    table_limit: usize,
    table: usize,
}

impl Limiter {
    pub(crate) fn new(memory_limit: u64, table_limit: usize) -> Limiter {
        Limiter {
            memory_limit,
            memory: 0,
            table_limit,
            table: 0,
        }
    }

    /// Everything was given back: a new instance begins.
    pub(crate) fn reset(&mut self) {
        self.memory = 0;
        self.table = 0;
    }
}

impl ResourceLimiter for Limiter {
    // A growth that is refused traps, rather than answering -1 as WebAssembly would have it: most allocators turn a -1 into an
    // `unreachable` that nobody can tell from a bug.
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let growth = u64::try_from(desired.saturating_sub(current)).unwrap_or(u64::MAX);
        let wanted = self.memory.saturating_add(growth);
        if wanted > self.memory_limit {
            return Err(Stop::Memory {
                wanted,
                limit: self.memory_limit,
            }
            .into());
        }
        self.memory = wanted;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let wanted = self.table.saturating_add(desired.saturating_sub(current));
        if wanted > self.table_limit {
            let why = format!(
                "the guest wanted {wanted} table elements, {} are allowed",
                self.table_limit
            );
            return Err(Stop::limit("table-elements", why).into());
        }
        self.table = wanted;
        Ok(true)
    }

    fn instances(&self) -> usize {
        usize::MAX
    }

    fn tables(&self) -> usize {
        usize::MAX
    }

    fn memories(&self) -> usize {
        usize::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_share_one_limit() {
        let mut limiter = Limiter::new(100, 10);
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        let error = limiter.memory_growing(0, 60, None).unwrap_err();
        assert_eq!(
            error.downcast_ref::<Stop>(),
            Some(&Stop::Memory {
                wanted: 120,
                limit: 100
            })
        );
        limiter.reset();
        assert!(limiter.memory_growing(0, 60, None).unwrap());
    }

    #[test]
    fn a_growth_over_the_modules_own_maximum_is_answered_as_the_specification_says() {
        let mut limiter = Limiter::new(100, 10);
        assert!(!limiter.memory_growing(0, 60, Some(50)).unwrap());
        assert!(!limiter.table_growing(0, 6, Some(5)).unwrap());
    }

    #[test]
    fn tables_share_one_limit() {
        let mut limiter = Limiter::new(100, 10);
        assert!(limiter.table_growing(0, 6, None).unwrap());
        let error = limiter.table_growing(6, 11, None).unwrap_err();
        assert!(error.to_string().contains("table-elements"), "{error}");
    }
}
