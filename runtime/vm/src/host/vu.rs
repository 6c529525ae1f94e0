//! Interface `vu`: the virtual user itself, its groups and tags.

use std::sync::Arc;

use wasmtime::component::{Linker, WasmStr};

use crate::contract::interface;
use crate::host::Context;
use crate::host::check::number_or_none;
use crate::meter;
use crate::record::Record;
use crate::state::{OpenGroup, Phase, State};

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut vu = linker.instance(&interface("vu"))?;
    vu.func_wrap("id", |store: Context<'_>, (): ()| Ok((store.data().vu,)))?;
    vu.func_wrap("iteration", |store: Context<'_>, (): ()| {
        Ok((store.data().iteration,))
    })?;
    vu.func_wrap("env", env)?;
    vu.func_wrap("group-register", register_group)?;
    vu.func_wrap("group-begin", |mut store: Context<'_>, (group,): (u32,)| {
        begin_group(store.data_mut(), group);
        Ok(())
    })?;
    vu.func_wrap("group-end", |mut store: Context<'_>, (): ()| {
        end_group(store.data_mut());
        Ok(())
    })?;
    vu.func_wrap(
        "tag",
        |mut store: Context<'_>, (key, value): (String, String)| {
            tag(store.data_mut(), key, value);
            Ok(())
        },
    )?;
    vu.func_wrap("abort", |mut store: Context<'_>, (why,): (String,)| {
        abort(store.data_mut(), why);
        Ok(())
    })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the form that `func_wrap` takes"
)]
fn env(store: Context<'_>, (name,): (WasmStr,)) -> wasmtime::Result<(Option<String>,)> {
    let name = name.to_str(&store)?;
    Ok((store.data().run.env.get(name.as_ref()).cloned(),))
}

fn register_group(mut store: Context<'_>, (name,): (WasmStr,)) -> wasmtime::Result<(u32,)> {
    let name = name.to_str(&store)?;
    let state = store.data();
    let number = if state.is_short(&name) {
        state.run.registry.group(&name)
    } else {
        None
    };
    drop(name);
    Ok((number_or_none(store.data_mut(), number),))
}

fn begin_group(state: &mut State, group: u32) {
    if !state.run.registry.has_group(group) {
        state.misuse("group-unknown");
    } else if state.groups.len() >= usize::try_from(state.limits.depth).unwrap_or(usize::MAX) {
        state.misuse("groups-too-deep");
    } else {
        state.groups.push(OpenGroup {
            group,
            begun_ns: meter::monotonic_ns(),
        });
    }
}

fn end_group(state: &mut State) {
    match state.groups.pop() {
        Some(OpenGroup { group, begun_ns }) => {
            let duration_ns = meter::monotonic_ns().saturating_sub(begun_ns);
            state.record(Record::Group { group, duration_ns });
        }
        None => state.misuse("group-end-without-begin"),
    }
}

fn tag(state: &mut State, key: String, value: String) {
    if key.is_empty() || !state.is_short(&key) || !state.is_short(&value) {
        state.misuse("tag-empty-or-too-long");
        return;
    }
    if state.tags.list.len() >= usize::try_from(state.limits.tags).unwrap_or(usize::MAX) {
        state.limit_hit("tags");
        return;
    }
    state.tags.put(key, value);
    let tags = Arc::from(state.tags.list.as_slice());
    state.record(Record::Tags(tags));
}

fn abort(state: &mut State, mut why: String) {
    if state.phase != Phase::Live {
        return;
    }
    crate::host::log::cut(&mut why, state.limits.log_line_bytes);
    state.doors.abort(why);
}
