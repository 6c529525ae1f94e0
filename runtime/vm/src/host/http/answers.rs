//! The functions of a guest on a response: facts about it, and its body or parts of it.

use bytes::Bytes;
use wasmtime::Result;
use wasmtime::component::{LinkerInstance, Resource, WasmStr};

use crate::host::Context;
use crate::host::http::response::Response;
use crate::host::http::{Answer, push};
use crate::host::values::WitTiming;
use crate::scopes::Looker;
use crate::state::State;

pub(super) fn link_facts(http: &mut LinkerInstance<'_, State>) -> Result<()> {
    http.func_wrap(
        "[method]response.status",
        |store: Context<'_>, (this,): (Resource<Response>,)| {
            Ok((response(&store, &this)?.status(),))
        },
    )?;
    http.func_wrap(
        "[method]response.header",
        |store: Context<'_>, (this, name): (Resource<Response>, WasmStr)| {
            let name = name.to_str(&store)?;
            Ok((response(&store, &this)?.header(&name).map(str::to_owned),))
        },
    )?;
    http.func_wrap(
        "[method]response.headers",
        |store: Context<'_>, (this,): (Resource<Response>,)| {
            Ok((response(&store, &this)?.headers(),))
        },
    )?;
    http.func_wrap(
        "[method]response.url",
        |store: Context<'_>, (this,): (Resource<Response>,)| {
            Ok((response(&store, &this)?.url().to_owned(),))
        },
    )?;
    http.func_wrap(
        "[method]response.timing",
        |store: Context<'_>, (this,): (Resource<Response>,)| -> Result<(WitTiming,)> {
            Ok((response(&store, &this)?.timing(),))
        },
    )?;
    http.func_wrap(
        "[method]response.length",
        |store: Context<'_>, (this,): (Resource<Response>,)| {
            Ok((response(&store, &this)?.length(),))
        },
    )?;
    http.func_wrap(
        "[method]response.share",
        |mut store: Context<'_>, (this,): (Resource<Response>,)| {
            let shared = response(&store, &this)?.clone();
            Ok((push(store.data_mut(), shared)?,))
        },
    )
}

pub(super) fn link_contents(http: &mut LinkerInstance<'_, State>) -> Result<()> {
    http.func_wrap("[method]response.bytes", bytes)?;
    http.func_wrap("[method]response.text", text)
}

fn bytes(
    mut store: Context<'_>,
    (this, offset, length): (Resource<Response>, u64, u32),
) -> Result<(Answer<Bytes>,)> {
    let part = response(&store, &this)?.bytes(offset, length);
    if let Ok(part) = &part {
        looked_at(&mut store, part.len());
    }
    Ok((part,))
}

fn text(mut store: Context<'_>, (this,): (Resource<Response>,)) -> Result<(Answer<String>,)> {
    let text = response(&store, &this)?.text();
    if let Ok(text) = &text {
        looked_at(&mut store, text.len());
    }
    Ok((text,))
}

fn looked_at(store: &mut Context<'_>, bytes: usize) {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    store.data_mut().meter.looked_at(bytes, Looker::Guest);
}

pub(super) fn response<'a>(
    store: &'a Context<'_>,
    this: &Resource<Response>,
) -> Result<&'a Response> {
    Ok(store.data().table.get(this)?)
}
