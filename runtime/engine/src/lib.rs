//! The asynchronous shell of Nettare: carries a plan out.
//!
//! [`run`] makes one worker for each CPU. A worker is an I/O thread (scheduler, sockets, timers, recorder) and, for guests, a
//! guest thread beside it; workers share nothing. The calling thread coordinates: it collects once a second and tells the
//! observer one linear stream of events.
//!
//! - `run`: the coordinator, and what comes of a run.
//! - `worker`: a worker; its virtual users, native and guest.
//! - `mailbox`: the boundary between a guest and its I/O. `turn`: the guest thread. `placement`: where a guest is polled.
//! - `judge`: threads that evaluate deferred checks.
//! - `recorder`: from what happened to the statistics.
//! - `footprint`: how much memory a virtual user takes, before a run.
//! - [`health`]: how the generator itself fares, once a second.
//! - `clock`, `affinity`: the run's time, the machine's CPUs.

mod affinity;
mod clock;
mod footprint;
pub mod health;
mod judge;
mod mailbox;
mod placement;
mod process;
mod recorder;
mod run;
mod turn;
mod worker;

pub use nettare_net as net;
pub use nettare_vm as vm;

pub use affinity::allowed_cpus;
pub use footprint::bytes_per_vu;
pub use process::ProcessUse;
pub use run::{EndCause, Job, RunResult, Stopper, judge_count, run};
