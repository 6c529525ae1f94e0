//! Write [Nettare](https://github.com/nettare/nettare) load scenarios in Rust.
//!
//! A scenario is a function. Nettare runs it once an iteration, in an instance of its own for every virtual user, and
//! measures what the server did apart from what the scenario itself cost.
//!
//! ```
//! use nettare::{Request, Result, check, env};
//!
//! nettare::main!(hello);
//!
//! fn hello() -> Result {
//!     let response = Request::get(env("TARGET")? + "/products?count=3").send()?;
//!     check("status is 200", || response.status() == 200);
//!     Ok(())
//! }
//! # fn main() {}
//! ```
//!
//! Compiled for `wasm32-unknown-unknown` as a `cdylib`, this is a guest that `nettare run` takes. Three things are worth
//! knowing beforehand:
//!
//! - An `Err` from a scenario is a failed iteration. A failed [`check`] or an unexpected status is not: it is counted, and
//!   the iteration goes on.
//! - Everything between the calls of this crate is the scenario's own CPU time, everything inside [`check`] that check's.
//!   Put the parsing and comparing that serve an assertion inside it, and the report says what the assertion costs.
//! - There is no operating system around a guest. `std::time::Instant`, threads, files and sockets are not there;
//!   [`time`], [`start`](Request::start), [`env`] and [`Request`] are.
//!
//! On any other target than WebAssembly the same code runs against a host made of a few closures ([`testing`]), so a
//! scenario can have unit tests like any other function.

// Generated code and the macros name this crate by its name, from inside it too.
extern crate self as nettare;

#[doc(hidden)]
#[cfg(target_arch = "wasm32")]
#[expect(unsafe_code, reason = "the canonical ABI is raw memory")]
#[expect(unused_qualifications, unreachable_pub, clippy::allow_attributes_without_reason, reason = "generated")]
#[rustfmt::skip]
pub mod bindings;
mod check;
mod deferred;
#[cfg(not(target_arch = "wasm32"))]
mod double;
mod error;
mod group;
pub mod http;
mod lifecycle;
pub mod log;
pub mod metrics;
mod names;
pub mod random;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
pub mod time;
pub mod vu;

/// The other side of the contract, shaped as `sdk/wit` says: the real one in a guest, a double anywhere else.
mod host {
    #[cfg(target_arch = "wasm32")]
    pub(crate) use crate::bindings::nettare::load::*;
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) use crate::double::*;
}

pub use check::{Finding, IntoFinding, check, check_ok};
pub use deferred::Judge;
pub use error::{Context, Error, ErrorKind, Result};
pub use group::group;
pub use http::{Pending, Request, Response, batch, wait_any};
pub use lifecycle::{Arrival, arrival};
pub use metrics::{Counter, Gauge, Rate, TimeTrend, Trend};
pub use time::sleep;
pub use vu::{abort, env};

/// What the macros of this crate expand to. Not for use by hand: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::lifecycle::{Entry, Guest, Hooks, Main};
    #[cfg(target_arch = "wasm32")]
    pub use crate::{bindings, lifecycle::Exports};
    #[cfg(target_arch = "wasm32")]
    pub use wit_bindgen::rt;
}
