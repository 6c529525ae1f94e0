//! Whole runs of the binary against a server that counts for itself.
//!
//! - [`connections`]: how long connections are kept.
//! - [`counts`]: what the report says was sent is what the server saw.
//! - [`hooks`]: requests outside of iterations.
//! - [`languages`]: a scenario is the same in whatever language.
//! - [`metering`]: CPU time is charged to whoever used it.
//! - [`ports`]: a generator that runs out of local ports.
//! - [`stop`]: a run that is stopped, at whatever moment, says truly how far it got.
//! - [`surroundings`]: what a run does not depend on.
//! - [`verdict`]: what a run says of its own generator.

mod connections;
mod counts;
mod hooks;
mod languages;
mod metering;
mod ports;
mod profile;
mod stop;
mod surroundings;
mod verdict;
