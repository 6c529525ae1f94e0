//! The functions of a guest on its request.

use bytes::Bytes;
use wasmtime::Result;
use wasmtime::component::{LinkerInstance, Resource};

use crate::host::Context;
use crate::host::http::push;
use crate::host::http::request::Request;
use crate::host::values::WitBodyMode;
use crate::state::State;

pub(super) fn link(http: &mut LinkerInstance<'_, State>) -> Result<()> {
    http.func_wrap("[constructor]request", new_request)?;
    http.func_wrap(
        "[method]request.set-url",
        |mut store: Context<'_>, (this, url): (Resource<Request>, String)| {
            request(&mut store, &this, |request| request.set_url(url))
        },
    )?;
    http.func_wrap(
        "[method]request.set-header",
        |mut store: Context<'_>, (this, name, value): HeaderOf| {
            request(&mut store, &this, |request| {
                request.set_header(&name, &value)
            })
        },
    )?;
    http.func_wrap(
        "[method]request.add-header",
        |mut store: Context<'_>, (this, name, value): HeaderOf| {
            request(&mut store, &this, |request| {
                request.add_header(&name, &value)
            })
        },
    )?;
    http.func_wrap(
        "[method]request.remove-header",
        |mut store: Context<'_>, (this, name): (Resource<Request>, String)| {
            request(&mut store, &this, |request| request.remove_header(&name))
        },
    )?;
    link_rest(http)
}

/// What concerns neither the URL nor the header.
fn link_rest(http: &mut LinkerInstance<'_, State>) -> Result<()> {
    http.func_wrap(
        "[method]request.set-body",
        |mut store: Context<'_>, (this, body): (Resource<Request>, Bytes)| {
            request(&mut store, &this, |request| request.set_body(body))
        },
    )?;
    http.func_wrap(
        "[method]request.set-name",
        |mut store: Context<'_>, (this, name): (Resource<Request>, String)| {
            let limits = store.data().limits;
            request(&mut store, &this, |request| request.set_name(name, &limits))
        },
    )?;
    http.func_wrap(
        "[method]request.set-tag",
        |mut store: Context<'_>, (this, key, value): HeaderOf| {
            let limits = store.data().limits;
            request(&mut store, &this, |request| {
                request.set_tag(key, value, &limits)
            })
        },
    )?;
    http.func_wrap(
        "[method]request.set-timeout",
        |mut store: Context<'_>, (this, time): (Resource<Request>, u64)| {
            request(&mut store, &this, |request| request.set_timeout(time))
        },
    )?;
    http.func_wrap(
        "[method]request.set-max-redirects",
        |mut store: Context<'_>, (this, most): (Resource<Request>, u32)| {
            request(&mut store, &this, |request| request.set_max_redirects(most))
        },
    )?;
    http.func_wrap(
        "[method]request.set-body-mode",
        |mut store: Context<'_>, (this, mode): (Resource<Request>, WitBodyMode)| {
            request(&mut store, &this, |request| request.set_body_mode(mode))
        },
    )?;
    http.func_wrap(
        "[method]request.set-expected-status",
        |mut store: Context<'_>, (this, first, last): (Resource<Request>, u16, u16)| {
            request(&mut store, &this, |request| {
                request.set_expected_status(first, last)
            })
        },
    )
}

type HeaderOf = (Resource<Request>, String, String);

fn new_request(
    mut store: Context<'_>,
    (method, url): (String, String),
) -> Result<(Resource<Request>,)> {
    let request = Request::new(&method, url);
    Ok((push(store.data_mut(), request)?,))
}

fn request(
    store: &mut Context<'_>,
    this: &Resource<Request>,
    change: impl FnOnce(&mut Request),
) -> Result<()> {
    change(store.data_mut().table.get_mut(this)?);
    Ok(())
}
