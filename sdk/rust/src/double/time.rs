//! Interface `time`, on a virtual clock.

use std::time::Duration;

use super::{errors, with};

/// Where the virtual calendar begins: the first second of 2026.
const START_OF_2026_NS: u64 = 1_767_225_600_000_000_000;

pub(crate) fn now() -> u64 {
    with(|world| world.now_ns)
}

pub(crate) fn wall_clock() -> u64 {
    START_OF_2026_NS + now()
}

pub(crate) fn sleep(nanoseconds: u64) -> Result<(), errors::Error> {
    with(|world| {
        world.now_ns = world.now_ns.saturating_add(nanoseconds);
        world.seen.slept += Duration::from_nanos(nanoseconds);
    });
    Ok(())
}
