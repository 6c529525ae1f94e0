//! Where one virtual user's guest spends its CPU time: its call stack, sampled.
//!
//! A guest is given a [`Profiler`]. The first of its virtual users that begins an iteration is the one that is sampled; all others
//! pay for a look at an empty `Option` at each crossing.
//!
//! A tick of the epoch makes a sample *due*. It is taken at the first crossing from guest to host after that, which comes at once:
//! the guest looks at the epoch at every loop and function entry, and that look, when the epoch has moved, is a crossing like any
//! other. Ticks do not depend on what the guest does, so each function is met in proportion to its CPU time.
//!
//! ```text
//!   tick              │            │            │             │            │
//!   guest   ──────────┼►.  ┌── send ┼── waiting ─┼─┐     ┌── json path ────┼──┐
//!           held from     │         │            │ │held │                 │  │
//!                     sample     a new stretch: waiting is no time   sample, with the host on top
//! ```
//!
//! A tick in a host call that answers at once is found when the call returns, and is the call's: the host is put on top of the
//! stack. A tick while the virtual user is suspended is nobody's: what it holds its thread for afterwards is a new stretch.
//! A sample that comes late, after a long host call, counts for the ticks that it missed, but never for more than the CPU time that
//! went by: the thread may have been taken away by others.
//!
//! Not wasmtime's own `GuestProfiler`: its samples can be had as Firefox's JSON alone, so a flame graph of the same samples would
//! mean to read that back; it gives every sample the time of the clock on the wall; and its feature brings a C library for
//! another profiler with it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nettare_core::profile::{FrameKind, Function, Profile, Recording};
use wasmtime::{CallHook, FrameInfo, StoreContextMut, WasmBacktrace};

use crate::epoch::{TICK_NS, Ticks};
use crate::meter;
use crate::state::State;

/// Functions of a stack that are kept, the innermost.
pub(crate) const FRAMES: usize = 128;

/// What stands for the functions outside the innermost [`FRAMES`].
const CUT: &str = "[outer functions left out]";

/// What a module exports that was put between the guest and its imports as it was made a component. Its functions jump on, and
/// have no meaning to whoever wrote the guest.
const ADAPTER_TABLE: &str = "$imports";

/// What stands for the host.
const HOST: &str = "[host call]";

/// Samples one virtual user of the guests that it is given with. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub struct Profiler(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Whether a virtual user has been found: what all others look at as they begin, without a lock.
    is_taken: AtomicBool,
    /// Locked by the sampled virtual user alone, until the end.
    stage: Mutex<Stage>,
}

/// How far it has come.
#[derive(Default)]
enum Stage {
    /// No virtual user has begun an iteration.
    #[default]
    Waiting,
    /// One has, and is being sampled.
    Recording(Box<Recording>),
    /// The profile was taken.
    Ended,
}

impl Profiler {
    /// One that waits for its virtual user.
    pub fn new() -> Profiler {
        Profiler::default()
    }

    /// Ends the sampling and gives what was sampled; none when no iteration began, or it was given before.
    pub fn finish(&self) -> Option<Profile> {
        match std::mem::replace(&mut *self.stage(), Stage::Ended) {
            Stage::Recording(recording) => Some(recording.into_profile()),
            Stage::Waiting | Stage::Ended => None,
        }
    }

    /// The sampler of virtual user `vu`, which is about to begin an iteration, if it is the first.
    pub(crate) fn claim(&self, vu: u32, ticks: &Ticks) -> Option<Box<Sampler>> {
        let is_taken = &self.0.is_taken;
        if is_taken.load(Ordering::Relaxed) || is_taken.swap(true, Ordering::Relaxed) {
            return None;
        }
        let mut stage = self.stage();
        if !matches!(*stage, Stage::Waiting) {
            return None;
        }
        *stage = Stage::Recording(Box::new(Recording::new(
            vu,
            meter::wall_clock_ns(),
            TICK_NS,
        )));
        Some(Box::new(Sampler {
            profiler: self.clone(),
            ticks: ticks.clone(),
            began_ns: meter::monotonic_ns(),
            held_since: 0,
            seen: 0,
            thread_ns: 0,
            stretch_ns: 0,
            cpu_ns: 0,
            names: HashMap::new(),
        }))
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        // A panic while it was locked left a recording that lacks a sample, no more.
        self.0.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Profiler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Profiler").finish_non_exhaustive()
    }
}

/// What the profiled virtual user has in its state.
pub(crate) struct Sampler {
    profiler: Profiler,
    ticks: Ticks,
    /// When its first iteration began, on the monotonic clock.
    began_ns: u64,
    /// The stretch it is in: since when, by the meter's clock, it has held its thread.
    held_since: u64,
    /// The tick until which it has been sampled.
    seen: u64,
    /// The thread's clock when its CPU was last added up.
    thread_ns: u64,
    /// CPU of this stretch since its last sample.
    stretch_ns: u64,
    /// CPU that the recording has not been told of.
    cpu_ns: u64,
    /// Names as people wrote them, by what stands in the guest.
    names: HashMap<String, String>,
}

/// The hook, for the virtual user that is sampled, after its meter has seen the crossing.
pub(crate) fn cross(mut store: StoreContextMut<'_, State>, hook: CallHook) {
    let state = store.data_mut();
    let held_since = state.meter.held_since();
    let Some(mut sampler) = state.sampler.take() else {
        return;
    };
    let is_new = sampler.held_since != held_since;
    match hook {
        CallHook::CallingWasm | CallHook::ReturningFromHost if is_new => sampler.begin(held_since),
        CallHook::CallingWasm => {}
        CallHook::ReturningFromHost => sampler.note(&store, true),
        CallHook::CallingHost => sampler.note(&store, false),
        // The guest's functions have returned, so there is no stack to take; what a tick since the last look was for is lost.
        CallHook::ReturningFromWasm => {
            sampler.add_up();
            sampler.tell(None);
        }
    }
    store.data_mut().sampler = Some(sampler);
}

impl Sampler {
    /// The virtual user has got the thread.
    fn begin(&mut self, held_since: u64) {
        self.held_since = held_since;
        self.seen = self.ticks.count();
        self.stretch_ns = 0;
        self.thread_ns = meter::thread_cpu_ns();
    }

    /// Takes a sample if one is due.
    fn note(&mut self, store: &StoreContextMut<'_, State>, in_host: bool) {
        self.add_up();
        let tick = self.ticks.count();
        if tick == self.seen {
            return;
        }
        let mut stack = self.stack(&WasmBacktrace::force_capture(store));
        if in_host {
            stack.push(Function {
                name: HOST.to_owned(),
                kind: FrameKind::Host,
            });
        }
        let weight = weight(tick.saturating_sub(self.seen), self.stretch_ns);
        self.tell(Some((weight, stack)));
        self.seen = tick;
        self.stretch_ns = 0;
        // What the sample itself took is not the guest's.
        self.thread_ns = meter::thread_cpu_ns();
    }

    /// Tells the recording of the CPU time so far, and of a sample if there is one.
    fn tell(&mut self, sample: Option<(u32, Vec<Function>)>) {
        let at_ns = meter::monotonic_ns().saturating_sub(self.began_ns);
        if let Stage::Recording(recording) = &mut *self.profiler.stage() {
            recording.ran(at_ns, std::mem::take(&mut self.cpu_ns));
            if let Some((weight, stack)) = sample {
                recording.add(at_ns, weight, stack);
            }
        }
    }

    /// Adds up the CPU time since this was done last.
    fn add_up(&mut self) {
        let now_ns = meter::thread_cpu_ns();
        let cpu_ns = now_ns.saturating_sub(self.thread_ns);
        self.thread_ns = now_ns;
        self.cpu_ns += cpu_ns;
        self.stretch_ns += cpu_ns;
    }

    /// The outermost function first.
    fn stack(&mut self, backtrace: &WasmBacktrace) -> Vec<Function> {
        let frames = backtrace.frames();
        let mut stack = Vec::with_capacity(frames.len() + 2);
        if frames.len() >= FRAMES {
            stack.push(Function {
                name: CUT.to_owned(),
                kind: FrameKind::Unnamed,
            });
        }
        stack.extend(frames.iter().rev().filter_map(|frame| self.function(frame)));
        stack
    }

    /// A function of the guest; none where it is nobody's.
    fn function(&mut self, frame: &FrameInfo) -> Option<Function> {
        if let Some(name) = frame.func_name() {
            return Some(Function {
                name: self.written(name),
                kind: FrameKind::Named,
            });
        }
        if frame.module().get_export(ADAPTER_TABLE).is_some() {
            return None;
        }
        Some(Function {
            name: format!("function {}", frame.func_index()),
            kind: FrameKind::Unnamed,
        })
    }

    /// A name as people wrote it. Kept, since to work it out takes longer than all else of a sample.
    fn written(&mut self, name: &str) -> String {
        if let Some(written) = self.names.get(name) {
            return written.clone();
        }
        let written = format!("{:#}", rustc_demangle::demangle(name));
        self.names.insert(name.to_owned(), written.clone());
        written
    }
}

/// How many ticks a sample stands for that comes `ticks` after the last, `cpu_ns` of which had the thread.
fn weight(ticks: u64, cpu_ns: u64) -> u32 {
    let had = 1 + cpu_ns / TICK_NS;
    u32::try_from(ticks.min(had)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_sample_counts_for_what_it_missed_and_not_for_time_that_others_had() {
        let rows = [
            (1, 200_000, 1, "in time"),
            (1, 0, 1, "the thread was hardly had"),
            (6, 6_000_000, 6, "a host call of 6 ms"),
            (40, 2_500_000, 3, "the thread was taken away for 37 ms"),
        ];
        for (ticks, cpu_ns, expected, sentence) in rows {
            assert_eq!(weight(ticks, cpu_ns), expected, "{sentence}");
        }
    }

    #[test]
    fn the_first_virtual_user_that_begins_is_the_one_and_its_profile_is_given_once() {
        let (profiler, ticks) = (Profiler::new(), Ticks::default());
        assert_eq!(profiler.finish(), None);
        let (profiler, of_another) = (Profiler::new(), profiler);
        let one_and_the_same = profiler.clone();
        assert!(one_and_the_same.claim(4, &ticks).is_some());
        assert!(profiler.claim(1, &ticks).is_none());
        assert_eq!(profiler.finish().unwrap().vu, 4);
        assert_eq!(one_and_the_same.finish(), None);
        assert!(of_another.claim(1, &ticks).is_none(), "its run is over");
    }
}
