//! Interface `check`: assertions, and the scopes their CPU is charged to.

use bytes::Bytes;
use nettare_core::sample::{CheckMode, SkipReason};
use wasmtime::component::{Linker, Resource, WasmStr};

use crate::contract::interface;
use crate::doors::DeferredCheck;
use crate::host::values::WitError;
use crate::host::{Context, Response, wait_for};
use crate::meter;
use crate::record::Record;
use crate::registry::NO_NUMBER;
use crate::state::{Phase, State};

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
    check.func_wrap_async("defer", |store, params| Box::new(defer(store, params)))
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
    let mode = match closed.by_host {
        true => CheckMode::Host,
        false => CheckMode::Inline,
    };
    let sample = closed.sample(passed, mode, None);
    state.record(Record::Check {
        check,
        group,
        sample,
    });
    true
}

fn fail(state: &mut State, check: u32, mut why: String) {
    if end(state, check, false) {
        crate::host::log::cut(&mut why, state.limits.name_bytes);
        state.record(Record::CheckWhy { check, why });
    }
}

/// Hands a response to the judges, and waits where there is no room for it and the plan says to wait.
async fn defer(
    mut store: Context<'_>,
    (index, response, context): (u32, Resource<Response>, Bytes),
) -> wasmtime::Result<(Result<(), WitError>,)> {
    let state = store.data_mut();
    let response = state.table.delete(response)?;
    let check = match deferrable(state, index) {
        Ok(check) => check,
        Err(error) => return Ok((Err(error),)),
    };
    let group = state.group();
    if !state.draw_deferral() {
        state.record(Record::CheckSkipped {
            check,
            group,
            reason: SkipReason::Sampled,
        });
        return Ok((Ok(()),));
    }
    let deferred = DeferredCheck {
        check,
        index,
        group,
        tags: state.tags.list.as_slice().into(),
        response,
        context,
        deferred_ns: meter::monotonic_ns(),
    };
    let room = state.doors.defer(deferred);
    if let Err(reason) = wait_for(&mut store, room).await {
        let state = store.data_mut();
        state.was_cancelled |= reason == SkipReason::Stop;
        state.record(Record::CheckSkipped {
            check,
            group,
            reason,
        });
    }
    Ok((Ok(()),))
}

/// The number of a deferred check, if this guest may defer it now.
fn deferrable(state: &mut State, index: u32) -> Result<u32, WitError> {
    if state.phase != Phase::Live {
        return Err(state.phase.denies("defer a check"));
    }
    let known = usize::try_from(index)
        .ok()
        .and_then(|index| state.deferred.checks.get(index).copied());
    known.ok_or_else(|| {
        state.misuse("deferred-check-unknown");
        let count = state.deferred.checks.len();
        WitError::invalid(format!(
            "there is no deferred check {index}: `describe` names {count}, and the guest has to export `judge`"
        ))
    })
}
