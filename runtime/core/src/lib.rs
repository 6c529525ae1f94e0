//! The pure cores of Nettare: what a run *is*, apart from how it is carried out.
//!
//! Nothing here reads a clock, a file, a socket or the environment, and nothing waits. Every module takes values and returns
//! values, so that a seed replays any failure:
//!
//! - [`plan`]: what is to be run; validated, serialisable, printable.
//! - [`pace`]: when the n-th arrival is due.
//! - [`segment`]: which worker (and later which machine) gets which virtual users and arrivals.
//! - [`sched`]: the scheduler of one scenario on one worker, a state machine `(now, event) -> actions`.
//! - [`profile`]: what one virtual user's guest did with its CPU time.
//! - [`sample`]: one exchange, one call, one iteration, as measured.
//! - [`stats`]: histograms, series, shards of an interval, totals.
//! - [`threshold`], [`verdict`]: what the totals are judged by. [`health`]: how the generator itself fared. [`stall`]: when the
//!   offered load fell short.
//! - [`doctor`]: whether a machine can generate the load that a plan asks for.
//! - [`event`]: what observers of a running test are told.
//! - [`report`]: the complete record of a run.
//! - [`units`]: durations, rates and sizes as people write them.

#![forbid(unsafe_code)]

pub mod doctor;
pub mod event;
pub mod health;
pub mod pace;
pub mod plan;
pub mod profile;
pub mod report;
pub mod sample;
pub mod sched;
pub mod segment;
pub mod stall;
pub mod stats;
pub mod threshold;
pub mod units;
pub mod verdict;

mod spelling;
