//! What the integration tests share: the binary under test in a world of its own, servers to load, guests, reports to read.

pub(crate) mod guests;
pub(crate) mod namespace;
pub(crate) mod nettare;
pub(crate) mod report;
pub(crate) mod seeded;
pub(crate) mod target;

use std::path::PathBuf;

/// The repository's root. cargo says at run time where it is; what it said when this was compiled may be another clone, where two
/// share a target folder.
pub(crate) fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from)
}
