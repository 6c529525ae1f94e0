//! The functions of a guest on a response: facts about it, and questions about its body.

use bytes::Bytes;
use wasmtime::Result;
use wasmtime::component::{LinkerInstance, Resource, WasmList, WasmStr};

use crate::host::Context;
use crate::host::http::response::Response;
use crate::host::http::{Answer, JsonPath, Pattern, push};
use crate::host::values::{WitError, WitTiming};
use crate::state::State;

const NOT_BUILT: &str = "questions by pattern and by JSON path are not built into this version; use `contains`, or `text`";

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

pub(super) fn link_questions(http: &mut LinkerInstance<'_, State>) -> Result<()> {
    http.func_wrap("[method]response.bytes", bytes)?;
    http.func_wrap("[method]response.text", text)?;
    http.func_wrap("[method]response.contains", contains)?;
    http.func_wrap(
        "[method]response.matches",
        |_: Context<'_>, _: (Resource<Response>, Resource<Pattern>)| {
            Ok((Answer::<bool>::Err(WitError::denied(NOT_BUILT)),))
        },
    )?;
    http.func_wrap(
        "[method]response.capture",
        |_: Context<'_>, _: (Resource<Response>, Resource<Pattern>)| {
            Ok((Answer::<Option<String>>::Err(WitError::denied(NOT_BUILT)),))
        },
    )?;
    http.func_wrap(
        "[method]response.json",
        |_: Context<'_>, _: (Resource<Response>, Resource<JsonPath>)| {
            Ok((Answer::<Vec<String>>::Err(WitError::denied(NOT_BUILT)),))
        },
    )?;
    http.func_wrap(
        "[static]pattern.compile",
        |_: Context<'_>, (_,): (WasmStr,)| {
            Ok((Answer::<Resource<Pattern>>::Err(WitError::denied(
                NOT_BUILT,
            )),))
        },
    )?;
    http.func_wrap(
        "[static]json-path.compile",
        |_: Context<'_>, (_,): (WasmStr,)| {
            Ok((Answer::<Resource<JsonPath>>::Err(WitError::denied(
                NOT_BUILT,
            )),))
        },
    )
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

fn contains(
    mut store: Context<'_>,
    (this, needle): (Resource<Response>, WasmList<u8>),
) -> Result<(Answer<bool>,)> {
    let answer = response(&store, &this)?.contains(needle.as_le_slice(&store));
    let length = response(&store, &this)?.body().map_or(0, Bytes::len);
    looked_at(&mut store, length);
    Ok((answer,))
}

fn looked_at(store: &mut Context<'_>, bytes: usize) {
    store
        .data_mut()
        .meter
        .looked_at(u64::try_from(bytes).unwrap_or(u64::MAX));
}

fn response<'a>(store: &'a Context<'_>, this: &Resource<Response>) -> Result<&'a Response> {
    Ok(store.data().table.get(this)?)
}
