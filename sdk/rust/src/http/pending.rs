//! Several requests at once.

use std::fmt::{self, Debug};
use std::time::Duration;

use super::{Request, Response};
use crate::error::{Error, Result};
use crate::host::http as host;
use crate::time::nanoseconds;

/// A request on its way.
#[must_use = "a request that nobody waits for is cancelled"]
pub struct Pending {
    state: Result<host::Pending>,
}

impl Pending {
    pub(super) fn of(state: Result<host::Pending>) -> Pending {
        Pending { state }
    }

    /// Waits for the whole response.
    ///
    /// # Errors
    ///
    /// As [`Request::send`].
    pub fn wait(self) -> Result<Response> {
        self.state?
            .wait()
            .map(Response::from_host)
            .map_err(Error::from_host)
    }

    /// Gives it up: its connection is closed, and it counts as cancelled.
    pub fn cancel(self) {
        if let Ok(pending) = self.state {
            pending.cancel();
        }
    }
}

impl Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("failed", &self.state.as_ref().err())
            .finish_non_exhaustive()
    }
}

/// Sends all of these at once and waits for all responses, in the order of the requests.
///
/// ```
/// # use nettare::{Request, Result, batch};
/// # fn load_page(base: &str) -> Result {
/// let [page, style, script] = ["/", "/style.css", "/app.js"].map(|path| Request::get(format!("{base}{path}")));
/// for response in batch([&page, &style, &script]) {
///     response?;
/// }
/// # Ok(())
/// # }
/// ```
pub fn batch<'a>(requests: impl IntoIterator<Item = &'a Request>) -> Vec<Result<Response>> {
    let pending: Vec<Pending> = requests.into_iter().map(Request::start).collect();
    pending.into_iter().map(Pending::wait).collect()
}

/// Waits until one of these is ready, and gives its place in the list. `None` when the time is over before that, or the list
/// is empty.
///
/// ```
/// # use nettare::{Request, Response, Result, wait_any};
/// # use std::time::Duration;
/// # fn fastest(mut replicas: Vec<nettare::Pending>) -> Result<Option<Response>> {
/// let Some(first) = wait_any(&replicas, Some(Duration::from_secs(1))) else { return Ok(None) };
/// let response = replicas.swap_remove(first).wait()?;
/// replicas.into_iter().for_each(nettare::Pending::cancel);
/// # Ok(Some(response))
/// # }
/// ```
pub fn wait_any(pending: &[Pending], timeout: Option<Duration>) -> Option<usize> {
    // One that could not even be sent is as ready as can be.
    if let Some(place) = pending.iter().position(|pending| pending.state.is_err()) {
        return Some(place);
    }
    let started: Vec<&host::Pending> = pending
        .iter()
        .filter_map(|pending| pending.state.as_ref().ok())
        .collect();
    host::wait_any(&started, timeout.map(nanoseconds)).map(|place| place as usize)
}
