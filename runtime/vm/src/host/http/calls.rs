//! The functions of a guest that send, and those that wait for what was sent.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use nettare_core::sample::{ErrorKind, Failure};
use wasmtime::Result;
use wasmtime::component::{LinkerInstance, Resource};

use crate::doors::HttpRequest;
use crate::host::http::pending::{self, Pending};
use crate::host::http::request::{self, Request};
use crate::host::http::response::Response;
use crate::host::http::{Answer, push};
use crate::host::{Context, wait, wait_for};
use crate::meter;
use crate::record::Record;
use crate::state::{Phase, State};

pub(super) fn link(http: &mut LinkerInstance<'_, State>) -> Result<()> {
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
    let asked_ns = state.iterates.then_some(called_ns);
    let answer = pending::settle(state, reply, asked_ns, gross_ns);
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
fn prepare(state: &mut State, request: &Resource<Request>) -> Result<Answer<Arc<HttpRequest>>> {
    if state.phase != Phase::Live {
        return Ok(Err(state.phase.denies("send")));
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

pub(super) fn drop_pending(mut store: Context<'_>, handle: u32) -> Result<()> {
    let state = store.data_mut();
    let mut pending = state.table.delete(Resource::<Pending>::new_own(handle))?;
    pending.abandon(state);
    Ok(())
}
