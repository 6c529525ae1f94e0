//! Interface `random`: seeded random numbers.

use wasmtime::component::Linker;

use crate::contract::interface;
use crate::host::Context;
use crate::limits::{RANDOM_BYTES, Stop};
use crate::state::State;

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut random = linker.instance(&interface("random"))?;
    random.func_wrap("number", |mut store: Context<'_>, (): ()| {
        Ok((store.data_mut().random.number(),))
    })?;
    random.func_wrap("fraction", |mut store: Context<'_>, (): ()| {
        Ok((store.data_mut().random.fraction(),))
    })?;
    random.func_wrap("bytes", |mut store: Context<'_>, (length,): (u32,)| {
        Ok((bytes(store.data_mut(), length)?,))
    })
}

fn bytes(state: &mut State, length: u32) -> wasmtime::Result<Vec<u8>> {
    if length > RANDOM_BYTES {
        let why =
            format!("the guest asked for {length} random bytes at once, {RANDOM_BYTES} are given");
        return Err(Stop::limit("random-bytes", why).into());
    }
    let mut bytes = vec![0; usize::try_from(length)?];
    state.random.fill(&mut bytes);
    Ok(bytes)
}
