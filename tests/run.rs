//! Whole runs of the binary against a server that counts for itself.
//!
//! - [`counts`]: what the report says was sent is what the server saw.
//! - [`hooks`]: requests outside of iterations.
//! - [`languages`]: a scenario is the same in whatever language.
//! - [`stop`]: a run that is stopped, at whatever moment, says truly how far it got.
//! - [`surroundings`]: what a run does not depend on.
//! - [`verdict`]: what a run says of its own generator.

mod counts;
mod hooks;
mod languages;
mod stop;
mod surroundings;
mod verdict;
