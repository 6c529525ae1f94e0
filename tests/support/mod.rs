//! What the integration tests share: the binary under test, run in a world of its own, and the example guests.

pub(crate) mod guests;
pub(crate) mod nettare;
