//! Interface `http`: requests, calls, responses.
//!
//! `request`, `pending` and `response` are what the guest has handles on; `setters`, `calls` and `answers` are its functions on
//! them.

mod answers;
mod body;
mod calls;
mod pending;
mod questions;
mod request;
mod response;
mod setters;

use wasmtime::component::{Linker, Resource, ResourceTableError, ResourceType};

use crate::contract::interface;
use crate::host::Context;
use crate::host::values::WitError;
use crate::limits::Stop;
use crate::state::State;

use pending::Pending;
use questions::{JsonPath, Pattern};
use request::Request;
pub(crate) use response::Response;

type Answer<T> = Result<T, WitError>;

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
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
    http.resource(
        "pending",
        ResourceType::host::<Pending>(),
        calls::drop_pending,
    )?;
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
    setters::link(&mut http)?;
    calls::link(&mut http)?;
    answers::link_facts(&mut http)?;
    answers::link_contents(&mut http)?;
    questions::link(&mut http)
}

fn push<T: Send + 'static>(state: &mut State, entry: T) -> wasmtime::Result<Resource<T>> {
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

fn drop_of<T: 'static>(mut store: Context<'_>, handle: u32) -> wasmtime::Result<()> {
    store
        .data_mut()
        .table
        .delete(Resource::<T>::new_own(handle))?;
    Ok(())
}
