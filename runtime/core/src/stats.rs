//! What was measured, as figures: recorded on the workers, added up in the collector.
//!
//! ```text
//!   worker     Shard ── record ──► Book of an interval, by number       (hot path: no lock, no hashing of text, no allocation)
//!   each second          take() ─► ShardDelta
//!   collector  Totals::absorb ───► tables of the run + sums of the interval
//!              Totals::close_interval ─► crate::event::Interval
//!              Totals::query, views ───► thresholds, report
//! ```
//!
//! - [`Histogram`] counts a distribution; [`Trend`] one that may be negative or have fractions; [`PackedHistogram`] keeps one.
//! - [`Symbol`], [`TagSet`] and [`SeriesKey`] make series of names; [`BUILTINS`] lists the metrics.
//! - A quantile is never averaged: distributions are merged, and asked afterwards.
//! - Everything has a limit, and each limit a name in [`limit`] under which hits are counted.

mod counts;
mod delta;
mod figures;
mod hdr;
mod histogram;
mod index;
mod interval;
mod key;
pub mod limit;
mod listing;
mod metric;
mod packed;
mod shard;
mod symbol;
mod totals;
mod translation;
mod trend;
mod view;

pub use counts::{CheckTotal, Counts};
pub use delta::ShardDelta;
pub use figures::Gauge;
pub use hdr::DecodeError;
pub use histogram::Histogram;
pub use key::{CheckKey, SeriesId, SeriesKey};
pub use metric::{BUILTINS, Builtin, GENERATOR_PREFIX, MetricKind, Unit, builtin};
pub use packed::{PackedHistogram, from_base64, to_base64};
pub use shard::{CheckSample, IterationSample, Shard};
pub use symbol::{Symbol, TagSet};
pub use totals::{ErrorTotal, Totals};
pub use trend::{Misfit, Trend};
pub use view::{Figure, FigureRef, View};

#[cfg(test)]
mod tests;
