//! Whole runs of the engine against the demo target on loopback.

mod guest;
mod native;
mod support;
