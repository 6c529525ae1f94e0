//! Durations, rates and sizes as people write them, and as they read them.
//!
//! Inside, a duration is a whole number of nanoseconds, a size one of bytes, a rate a fraction of two whole numbers. Text is
//! converted without floating point, so `0.1s` is 100,000,000 ns and `0.5/s` is one arrival in two seconds, exactly.
//!
//! Each kind has two ways of printing:
//!
//! - `format` is exact and parses back: `1m30s`, `64MiB`, `50/m`. It is what plans are printed with.
//! - [`Nanoseconds`] and [`Bytes`] are rounded to three digits for reading: `1.25 ms`, `800 KB`. A [`Count`] is whole: `28,232`.

pub mod duration;
pub mod rate;
pub mod size;

mod decimal;
mod human;
mod text;

pub use self::duration::{format as format_duration, parse as parse_duration};
pub use self::human::{Bytes, Count, Nanoseconds};
pub use self::rate::{format as format_rate, parse as parse_rate};
pub use self::size::{format as format_size, parse as parse_size};
pub use self::text::UnitError;
