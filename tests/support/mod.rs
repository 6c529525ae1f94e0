//! What the integration tests share: the binary under test in a world of its own, servers to load, guests, reports to read.

pub(crate) mod guests;
pub(crate) mod nettare;
pub(crate) mod report;
pub(crate) mod seeded;
pub(crate) mod target;
