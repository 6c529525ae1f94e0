//! Pure encoders: a report in, bytes out.
//!
//! - [`json`]: the complete record, written and read back.
//! - [`text`]: the summary for a terminal.
//! - [`firefox`], [`flame`]: a guest's profile, for the Firefox profiler and as a drawing.
//! - [`Format`] and [`encode`]: files by their extension.
//!
//! Nothing here opens a file or looks at a terminal: width and colour are parameters.

#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as nettare_report;
pub mod firefox;
#[cfg(test)]
mod fixtures;
pub mod flame;
mod format;
#[cfg(test)]
mod fuzz_tests;
pub mod json;
pub mod text;

pub use format::{EncodeError, Format, encode};
