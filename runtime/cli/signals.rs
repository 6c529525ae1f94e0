//! What Ctrl-C (SIGINT) and SIGTERM do, which depends on how far the command has got.
//!
//! ```text
//!              first                      second                     third
//! preparing    ends at once, code 105: nothing was measured yet
//! running      stops: nothing starts,     kills: cuts off what is    ends at once
//!              what is under way ends     under way; the report is
//!                                         made at once
//! reporting    nothing: results are       ends at once
//!              being written
//! ```
//!
//! Counting starts again with each phase. A thread of its own waits for signals, so that a busy run cannot delay them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit;

/// How far the command has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Reading, compiling, connecting nothing yet.
    Preparing = 0,
    /// Load is offered.
    Running = 1,
    /// Results are being written.
    Reporting = 2,
}

/// What a signal does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reaction {
    Nothing,
    Stop,
    EndAtOnce,
}

/// What the `nth` signal (from 1) does in a phase.
fn reaction(phase: u8, nth: u32) -> Reaction {
    match (phase, nth) {
        (1, 1 | 2) => Reaction::Stop,
        (2, 1) => Reaction::Nothing,
        _ => Reaction::EndAtOnce,
    }
}

/// The signals of this process, from now on handled here.
#[derive(Debug)]
pub(crate) struct Signals {
    state: Arc<State>,
}

/// Written by both sides: the command moves the phase on, the signal thread counts.
#[derive(Debug, Default)]
struct State {
    phase: AtomicU8,
    seen_in_phase: AtomicU32,
}

impl Signals {
    /// Takes the signals over. While the phase is running, `stop` is called on the signal thread: the first time to stop the
    /// run in good order, the second time to cut it short.
    pub(crate) fn install(stop: impl Fn() + Send + 'static) -> io::Result<Signals> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let (interrupt, terminate) = {
            let _context = runtime.enter();
            (
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
            )
        };
        let state = Arc::new(State {
            phase: AtomicU8::new(Phase::Preparing as u8),
            ..State::default()
        });
        let shared = Arc::clone(&state);
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || runtime.block_on(watch(interrupt, terminate, &shared, &stop)))?;
        Ok(Signals { state })
    }

    /// Moves on to `phase`.
    pub(crate) fn enter(&self, phase: Phase) {
        self.state.seen_in_phase.store(0, Ordering::SeqCst);
        self.state.phase.store(phase as u8, Ordering::SeqCst);
    }
}

async fn watch(
    mut interrupt: Signal,
    mut terminate: Signal,
    state: &State,
    stop: &(dyn Fn() + Send),
) {
    loop {
        let open = tokio::select! {
            received = interrupt.recv() => received.is_some(),
            received = terminate.recv() => received.is_some(),
        };
        if !open {
            return;
        }
        let nth = state.seen_in_phase.fetch_add(1, Ordering::SeqCst) + 1;
        match reaction(state.phase.load(Ordering::SeqCst), nth) {
            Reaction::Nothing => {}
            Reaction::Stop => stop(),
            Reaction::EndAtOnce => end_at_once(),
        }
    }
}

/// Whoever signals again wants the process gone, whatever it is busy with: there is no unwinding to wait for.
fn end_at_once() {
    std::process::exit(i32::from(exit::SIGNAL));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_does_what_its_phase_allows() {
        let rows = [
            (
                "before the run there is nothing to keep",
                Phase::Preparing,
                1,
                Reaction::EndAtOnce,
            ),
            (
                "the first signal of a run stops it in good order",
                Phase::Running,
                1,
                Reaction::Stop,
            ),
            (
                "the second cuts off what is under way",
                Phase::Running,
                2,
                Reaction::Stop,
            ),
            (
                "the third waits for nothing",
                Phase::Running,
                3,
                Reaction::EndAtOnce,
            ),
            (
                "results being written are not cut off",
                Phase::Reporting,
                1,
                Reaction::Nothing,
            ),
            (
                "unless asked twice",
                Phase::Reporting,
                2,
                Reaction::EndAtOnce,
            ),
        ];
        for (sentence, phase, nth, expected) in rows {
            assert_eq!(reaction(phase as u8, nth), expected, "{sentence}");
        }
    }
}
