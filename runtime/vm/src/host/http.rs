//! Interface `http`: requests, calls, responses.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use nettare_core::sample::{ErrorKind, Failure};
use wasmtime::component::{
    Linker, LinkerInstance, Resource, ResourceTableError, ResourceType, WasmList, WasmStr,
};

use crate::contract::interface;
use crate::host::pending::{self, Pending};
use crate::host::request::{self, Request};
use crate::host::response::Response;
use crate::host::values::{WitBodyMode, WitError, WitTiming};
use crate::host::{Context, wait, wait_for};
use crate::limits::Stop;
use crate::meter;
use crate::record::Record;
use crate::state::{Phase, State};

/// `http.pattern` and `http.json-path`: nobody can make one yet.
struct Pattern;
struct JsonPath;

type Result<T> = wasmtime::Result<T>;
type Answer<T> = std::result::Result<T, WitError>;

const NOT_BUILT: &str = "questions by pattern and by JSON path are not built into this version; use `contains`, or `text`";

pub(super) fn link(linker: &mut Linker<State>) -> Result<()> {
    let mut http = linker.instance(&interface("http"))?;
    http.resource(
        "request",
        ResourceType::host::<Request>(),
        drop_of::<Request>,
    )?;
    http.resource(
        "response",
        ResourceType::host::<Response>(),
        drop_of::<Response>,
    )?;
    http.resource("pending", ResourceType::host::<Pending>(), drop_pending)?;
    http.resource(
        "pattern",
        ResourceType::host::<Pattern>(),
        drop_of::<Pattern>,
    )?;
    http.resource(
        "json-path",
        ResourceType::host::<JsonPath>(),
        drop_of::<JsonPath>,
    )?;
    link_request(&mut http)?;
    link_calls(&mut http)?;
    link_response(&mut http)?;
    link_questions(&mut http)
}

fn link_request(http: &mut LinkerInstance<'_, State>) -> Result<()> {
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

fn link_calls(http: &mut LinkerInstance<'_, State>) -> Result<()> {
    http.func_wrap_async("[method]request.send", |store, params| {
        Box::new(send(store, params))
    })?;
    http.func_wrap("[method]request.start", start)?;
    http.func_wrap_async("[method]pending.wait", |store, params| {
        Box::new(wait_pending(store, params))
    })?;
    http.func_wrap(
        "[method]pending.cancel",
        |mut store: Context<'_>, (this,): (Resource<Pending>,)| {
            with_pending(&mut store, &this, Pending::cancel)
        },
    )?;
    http.func_wrap_async("wait-any", |store, params| {
        Box::new(wait_any(store, params))
    })
}

fn link_response(http: &mut LinkerInstance<'_, State>) -> Result<()> {
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

fn link_questions(http: &mut LinkerInstance<'_, State>) -> Result<()> {
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

fn new_request(
    mut store: Context<'_>,
    (method, url): (String, String),
) -> Result<(Resource<Request>,)> {
    let request = Request::new(&method, url);
    Ok((push(store.data_mut(), request)?,))
}

async fn send(
    mut store: Context<'_>,
    (this,): (Resource<Request>,),
) -> Result<(Answer<Resource<Response>>,)> {
    let called_ns = meter::monotonic_ns();
    let request = match prepare(store.data_mut(), &this)? {
        Ok(request) => request,
        Err(error) => return Ok((Err(error),)),
    };
    let reply = store.data_mut().doors.http(request);
    let reply = wait_for(&mut store, reply).await;
    let gross_ns = meter::monotonic_ns().saturating_sub(called_ns);
    let state = store.data_mut();
    let answer = pending::settle(state, reply, gross_ns);
    Ok((hand_over(state, answer)?,))
}

fn start(mut store: Context<'_>, (this,): (Resource<Request>,)) -> Result<(Resource<Pending>,)> {
    let state = store.data_mut();
    let pending = match prepare(state, &this)? {
        Ok(request) => Pending::start(state, request),
        Err(error) => Pending::refused(error),
    };
    Ok((push(state, pending)?,))
}

/// What is to be sent, unless it cannot be.
fn prepare(
    state: &mut State,
    request: &Resource<Request>,
) -> Result<Answer<std::sync::Arc<crate::doors::HttpRequest>>> {
    if state.phase == Phase::Describe {
        return Ok(Err(WitError::denied(
            "`describe` cannot send: it is asked before the run, for nothing but words",
        )));
    }
    let ready = request::ready(state, request)?;
    if let Err(error) = &ready {
        let message = error.message().to_owned();
        state.record(Record::Refused(Failure {
            kind: ErrorKind::Invalid,
            code: 0,
            message,
        }));
    }
    Ok(ready)
}

async fn wait_pending(
    mut store: Context<'_>,
    (this,): (Resource<Pending>,),
) -> Result<(Answer<Resource<Response>>,)> {
    let mut awaited = false;
    wait(&mut store, |state, context| {
        match state.table.get_mut(&this) {
            Ok(pending) => {
                let poll = pending.poll(context, awaited);
                awaited = true;
                poll.map(Ok)
            }
            Err(error) => Poll::Ready(Err(error)),
        }
    })
    .await?;
    let answer = with_pending(&mut store, &this, Pending::take)?;
    Ok((hand_over(store.data_mut(), answer)?,))
}

async fn wait_any(
    mut store: Context<'_>,
    (pending, timeout): (Vec<Resource<Pending>>, Option<u64>),
) -> Result<(Option<u32>,)> {
    if pending.is_empty() {
        return Ok((None,));
    }
    let mut sleep = timeout
        .filter(|&timeout| timeout > 0)
        .map(|timeout| store.data_mut().doors.sleep(timeout));
    let mut awaited = false;
    let first = wait(&mut store, |state, context| {
        for (index, one) in (0_u32..).zip(&pending) {
            match state
                .table
                .get_mut(one)
                .map(|one| one.poll(context, awaited))
            {
                Ok(Poll::Ready(())) => return Poll::Ready(Ok(Some(index))),
                Ok(Poll::Pending) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        awaited = true;
        let is_over = match &mut sleep {
            Some(sleep) => Pin::new(sleep).poll(context).is_ready(),
            None => timeout.is_some(),
        };
        if is_over {
            Poll::Ready(Ok(None))
        } else {
            Poll::Pending
        }
    })
    .await?;
    Ok((first,))
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

fn request(
    store: &mut Context<'_>,
    this: &Resource<Request>,
    change: impl FnOnce(&mut Request),
) -> Result<()> {
    change(store.data_mut().table.get_mut(this)?);
    Ok(())
}

fn response<'a>(store: &'a Context<'_>, this: &Resource<Response>) -> Result<&'a Response> {
    Ok(store.data().table.get(this)?)
}

/// Works on a call and on the rest of the state at once.
fn with_pending<T>(
    store: &mut Context<'_>,
    this: &Resource<Pending>,
    work: impl FnOnce(&mut Pending, &mut State) -> T,
) -> Result<T> {
    let state = store.data_mut();
    let mut table = std::mem::take(&mut state.table);
    let worked = table.get_mut(this).map(|pending| work(pending, state));
    state.table = table;
    Ok(worked?)
}

fn hand_over(state: &mut State, answer: Answer<Response>) -> Result<Answer<Resource<Response>>> {
    match answer {
        Ok(response) => Ok(Ok(push(state, response)?)),
        Err(error) => Ok(Err(error)),
    }
}

fn push<T: Send + 'static>(state: &mut State, entry: T) -> Result<Resource<T>> {
    match state.table.push(entry) {
        Ok(handle) => Ok(handle),
        Err(ResourceTableError::Full) => {
            let why = format!(
                "the guest holds {} handles: drop requests and responses",
                state.limits.handles
            );
            Err(Stop::limit("handles", why).into())
        }
        Err(error) => Err(error.into()),
    }
}

fn drop_of<T: 'static>(mut store: Context<'_>, handle: u32) -> Result<()> {
    store
        .data_mut()
        .table
        .delete(Resource::<T>::new_own(handle))?;
    Ok(())
}

fn drop_pending(mut store: Context<'_>, handle: u32) -> Result<()> {
    let state = store.data_mut();
    let mut pending = state.table.delete(Resource::<Pending>::new_own(handle))?;
    pending.abandon(state);
    Ok(())
}
