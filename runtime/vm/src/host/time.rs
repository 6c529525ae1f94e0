//! Interface `time`: clocks, and waiting for them.

use wasmtime::component::Linker;

use crate::contract::interface;
use crate::host::values::WitError;
use crate::host::{Context, wait_for};
use crate::meter;
use crate::state::{Phase, State};

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut time = linker.instance(&interface("time"))?;
    time.func_wrap("now", |store: Context<'_>, (): ()| {
        Ok((store.data().run.started.elapsed_ns(meter::monotonic_ns()),))
    })?;
    time.func_wrap("wall-clock", |_: Context<'_>, (): ()| {
        Ok((meter::wall_clock_ns(),))
    })?;
    time.func_wrap_async("sleep", |store, params| Box::new(sleep(store, params)))
}

async fn sleep(
    mut store: Context<'_>,
    (nanoseconds,): (u64,),
) -> wasmtime::Result<(Result<(), WitError>,)> {
    let phase = store.data().phase;
    if phase != Phase::Live {
        return Ok((Err(phase.denies("sleep")),));
    }
    let slept = store.data_mut().doors.sleep(nanoseconds);
    let slept = wait_for(&mut store, slept).await;
    store.data_mut().was_cancelled |= slept.is_err();
    Ok((slept.map_err(|_| WitError::cancelled()),))
}
