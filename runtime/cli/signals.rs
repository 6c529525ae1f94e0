//! What Ctrl-C (SIGINT), SIGTERM and SIGHUP (the terminal went away) do, which depends on how far the command has got.
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
//! Whatever a signal does, it is said on standard error, with what the next one would do. Counting starts again with each phase. A thread of its own waits for signals, so that a busy run cannot delay them.

use std::io::{self, IsTerminal, Write};
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
        let received = {
            let _context = runtime.enter();
            Received {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hang_up: signal(SignalKind::hangup())?,
            }
        };
        let state = Arc::new(State {
            phase: AtomicU8::new(Phase::Preparing as u8),
            ..State::default()
        });
        let shared = Arc::clone(&state);
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || runtime.block_on(watch(received, &shared, &stop)))?;
        Ok(Signals { state })
    }

    /// Moves on to `phase`.
    pub(crate) fn enter(&self, phase: Phase) {
        self.state.seen_in_phase.store(0, Ordering::SeqCst);
        self.state.phase.store(phase as u8, Ordering::SeqCst);
    }
}

/// The signals that ask for the end.
struct Received {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

async fn watch(mut received: Received, state: &State, stop: &(dyn Fn() + Send)) {
    loop {
        let open = tokio::select! {
            received = received.interrupt.recv() => received.is_some(),
            received = received.terminate.recv() => received.is_some(),
            received = received.hang_up.recv() => received.is_some(),
        };
        if !open {
            return;
        }
        let nth = state.seen_in_phase.fetch_add(1, Ordering::SeqCst) + 1;
        let phase = state.phase.load(Ordering::SeqCst);
        say(words(phase, nth));
        match reaction(phase, nth) {
            Reaction::Nothing => {}
            Reaction::Stop => stop(),
            Reaction::EndAtOnce => end_at_once(),
        }
    }
}

/// What a signal comes to, and what the next one would.
fn words(phase: u8, nth: u32) -> &'static str {
    match (phase, nth) {
        (0, _) => "stopped by a signal before anything was sent; there are no results",
        (1, 1) => {
            "stopping: nothing starts any more, and what is under way may end within the grace time; a second signal cuts it off"
        }
        (1, 2) => {
            "cutting off what is under way; the report is made at once; a third signal ends without it"
        }
        (2, 1) => "results are being written; a second signal ends without them",
        _ => "ended by a signal; results may be lost",
    }
}

/// From here, not by way of the display: the command may be busy, and the process about to end. A progress line is left as it
/// stands. That nobody reads it is not an error.
fn say(sentence: &str) {
    let begin = if io::stderr().is_terminal() { "\r" } else { "" };
    let _ = writeln!(io::stderr().lock(), "{begin}{sentence}");
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
