//! Long guests: who holds a thread for a millisecond yields, who passes its budget is stopped.
//!
//! One thread advances the engine's epoch each millisecond. A guest looks at it at every loop and function entry; when it has
//! moved, wasmtime calls [`on_epoch`]. A tick is a prompt and no more: a guest may have begun half a microsecond ago. So the
//! callback looks at how long this virtual user has really held its thread, and lets it go on if that is short.
//!
//! The deadline is absolute: after any wait over a tick the next loop would call back for nothing. So it is moved on when a host
//! call really suspended the guest, and only then: moved after every host call, a loop around `time.now` would never yield.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use wasmtime::{Engine, Store, StoreContextMut, UpdateDeadline};

use crate::limits::Stop;
use crate::state::State;

/// Ticks from one look at a guest to the next.
pub(crate) const TICKS: u64 = 1;

/// Who has held its thread for so long yields.
const YIELD_AFTER_NS: u64 = 1_000_000;

/// From one tick to the next, in nanoseconds.
pub(crate) const TICK_NS: u64 = 1_000_000;

/// The ticks of an engine so far. wasmtime counts them too, and does not tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ticks(Arc<AtomicU64>);

impl Ticks {
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// The thread that advances an engine's epoch. It ends with this value.
#[derive(Debug)]
pub(crate) struct Ticker {
    stop: Arc<AtomicBool>,
    ticks: Ticks,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Ticker> {
        let stop = Arc::new(AtomicBool::new(false));
        let ticks = Ticks::default();
        let (engine, told, counted) = (engine.clone(), Arc::clone(&stop), ticks.clone());
        let thread = std::thread::Builder::new()
            .name("nettare-epoch".to_owned())
            .spawn(move || {
                while !told.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_nanos(TICK_NS));
                    // Counted first: who finds the epoch moved finds the tick counted.
                    counted.0.fetch_add(1, Ordering::Release);
                    engine.increment_epoch();
                }
            })?;
        Ok(Ticker {
            stop,
            ticks,
            thread: Some(thread),
        })
    }

    pub(crate) fn ticks(&self) -> &Ticks {
        &self.ticks
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It cannot have panicked: it does nothing that can.
            let _ = thread.join();
        }
    }
}

/// Makes a store heed the epoch.
pub(crate) fn watch(store: &mut Store<State>) {
    store.set_epoch_deadline(TICKS);
    store.epoch_deadline_callback(on_epoch);
}

fn on_epoch(mut store: StoreContextMut<'_, State>) -> wasmtime::Result<UpdateDeadline> {
    let state = store.data_mut();
    if state.stop.is_set() {
        return Err(Stop::Interrupted.into());
    }
    if state.meter.segments_ns() > state.cpu_budget_ns {
        return Err(Stop::CpuBudget.into());
    }
    if state.meter.held_ns() < YIELD_AFTER_NS {
        return Ok(UpdateDeadline::Continue(TICKS));
    }
    state.meter.suspended();
    state.yields.count();
    Ok(UpdateDeadline::YieldCustom(
        TICKS,
        Box::pin(YieldOnce { yielded: false }),
    ))
}

/// Pending once, having woken its task: whoever polls it puts it behind all others. Not the executor's own yield, which may wake
/// on the thread that polled it last, while this virtual user may have moved to another.
struct YieldOnce {
    yielded: bool,
}

impl Future for YieldOnce {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
