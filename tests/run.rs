//! Whole runs of the binary against a server that counts for itself.
//!
//! - [`counts`]: what the report says was sent is what the server saw.
//! - [`languages`]: a scenario is the same in whatever language.
//! - [`stop`]: a run that is stopped, at whatever moment, says truly how far it got.
//! - [`surroundings`]: what a run does not depend on.

mod counts;
mod languages;
mod stop;
mod surroundings;
