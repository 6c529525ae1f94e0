//! The integration tests, in one binary, so that the runtime is linked once:
//!
//! - [`cli`]: the command line as a user meets it.
//! - [`tidy`]: the rules of the source tree itself.
//! - [`guests`]: the examples, as guests of a host with canned answers.
//! - [`run`]: whole runs against a server that counts for itself.
//! - [`regression`]: faults that users of other tools met.
//! - [`support`]: what the others share.

mod cli;
mod guests;
mod regression;
mod run;
mod support;
mod tidy;
