//! The WebAssembly side of Nettare: guests, virtual users, metering, limits.
//!
//! This is the only crate that names wasmtime. A [`Guest`] is a scenario, compiled once; a [`Vu`] is one virtual user: a store
//! with one instance of the guest in it. What a guest asks for that needs I/O goes out through the [`Host`] trait, which the
//! engine implements; everything else (checks, metrics, groups, clocks, random numbers) is answered here and written to the
//! virtual user's records.
//!
//! ```text
//! bytes ─ encode ─► component ─ guest ─► Guest ─┬─ Vu::new ─► Vu ─ setup │ init │ iterate │ teardown
//!                                               └─ describe, exports, imports (for `inspect`)
//!        Vu::iterate ─► the guest's `run` ─► imports (host/*.rs) ─► Host (I/O), records
//!                        ▲ meter: every crossing between guest and host is stamped
//!                        ▲ profile: one virtual user's stack is sampled, where that is asked for
//!                        ▲ epoch: every millisecond a long segment yields, is stopped, or runs out of its budget
//! ```
//!
//! There is no executor in here: a virtual user's futures may be polled on any thread, and may move between two polls.

mod calibrate;
mod contract;
mod describe;
mod doors;
mod encode;
mod engine;
mod epoch;
mod error;
mod guest;
mod host;
mod limits;
mod live;
mod meter;
mod pool;
pub mod preemption;
mod profile;
mod questions;
mod random;
mod record;
mod registry;
mod scopes;
mod state;
mod vu;

pub use calibrate::empty_check_ns;
pub use doors::{Cancelled, DeferredCheck, Host, HttpReply, HttpRequest, HttpResponse, LogLevel};
pub use error::{GuestFailure, LoadError};
pub use guest::{Description, Guest, GuestOptions};
pub use pool::Need;
pub use profile::Profiler;
pub use record::Record;
pub use registry::{Conflict, MetricInfo, Registry, SeriesInfo};
pub use vu::{Deferred, IterationEnd, RunStart, StopFlag, Vu, VuLimits, VuSetup, Yields};
