//! The integration tests, in one binary, so that the runtime is linked once:
//!
//! - [`tidy`]: the rules of the source tree itself.
//! - [`support`]: what the others share.

mod support;
mod tidy;
