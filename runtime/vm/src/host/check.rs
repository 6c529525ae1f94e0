//! Interface `check`: assertions, and the scopes their CPU is charged to.

use bytes::Bytes;
use wasmtime::component::{Linker, Resource, WasmStr};

use crate::contract::interface;
use crate::host::values::WitError;
use crate::host::{Context, Response};
use crate::record::Record;
use crate::registry::NO_NUMBER;
use crate::state::State;

const NOT_BUILT: &str = "deferred checks are not built into this version; check the response here";

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut check = linker.instance(&interface("check"))?;
    check.func_wrap("register", register)?;
    check.func_wrap("begin", |mut store: Context<'_>, (check,): (u32,)| {
        begin(store.data_mut(), check);
        Ok(())
    })?;
    check.func_wrap(
        "end",
        |mut store: Context<'_>, (check, passed): (u32, bool)| {
            end(store.data_mut(), check, passed);
            Ok(())
        },
    )?;
    check.func_wrap(
        "fail",
        |mut store: Context<'_>, (check, why): (u32, String)| {
            fail(store.data_mut(), check, why);
            Ok(())
        },
    )?;
    check.func_wrap(
        "defer",
        |mut store: Context<'_>, (_, response, _): (u32, Resource<Response>, Bytes)| {
            store.data_mut().table.delete(response)?;
            Ok((Result::<(), WitError>::Err(WitError::denied(NOT_BUILT)),))
        },
    )
}

fn register(mut store: Context<'_>, (name,): (WasmStr,)) -> wasmtime::Result<(u32,)> {
    let name = name.to_str(&store)?;
    let state = store.data();
    let number = if state.is_short(&name) {
        state.run.registry.check(&name)
    } else {
        None
    };
    drop(name);
    Ok((number_or_none(store.data_mut(), number),))
}

/// What a registration answers.
pub(super) fn number_or_none(state: &mut State, number: Option<u32>) -> u32 {
    number.unwrap_or_else(|| {
        state.limit_hit("names");
        NO_NUMBER
    })
}

fn begin(state: &mut State, check: u32) {
    if !state.run.registry.has_check(check) {
        state.misuse("check-unknown");
    } else if !state.meter.open(check) {
        state.misuse("checks-too-deep");
    }
}

fn end(state: &mut State, check: u32, passed: bool) -> bool {
    let Some(closed) = state.meter.close(check) else {
        state.misuse("check-end-without-begin");
        return false;
    };
    for _ in 0..closed.left_open {
        state.misuse("check-not-ended");
    }
    let group = state.group();
    state.record(Record::Check {
        check,
        group,
        passed,
        cpu_ns: closed.cpu_ns,
        body_bytes: closed.body_bytes,
    });
    true
}

fn fail(state: &mut State, check: u32, mut why: String) {
    if end(state, check, false) {
        crate::host::log::cut(&mut why, state.limits.name_bytes);
        state.record(Record::CheckWhy { check, why });
    }
}
