//! What the integration tests share: the binary under test, run in a world of its own.

pub(crate) mod nettare;
