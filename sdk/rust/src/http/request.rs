//! Building and sending requests.

use std::fmt::{self, Debug};
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Serialize;

use super::{Pending, Response};
use crate::error::{Error, ErrorKind, Result};
use crate::host::http as host;
use crate::time::nanoseconds;

/// An HTTP request.
///
/// ```
/// # use nettare::{Request, Result};
/// # use serde::Serialize;
/// # #[derive(Serialize)]
/// # struct Item { product: String, quantity: u32 }
/// # fn add(base: &str, token: &str, item: &Item) -> Result {
/// let response = Request::post(format!("{base}/cart"))
///     .header("authorization", format!("Bearer {token}"))
///     .json(item)
///     .send()?;
/// # Ok(())
/// # }
/// ```
///
/// Nonsense (a header name with a space, a body that cannot be serialised) is remembered and reported by
/// [`send`](Request::send), so that building reads straight on.
///
/// In metrics, requests are told apart by method, status and [`name`](Request::name). A URL never is part of them, as ids in
/// it would make a metric of each; so name what is to be told apart.
pub struct Request {
    host: host::Request,
    /// Why it cannot be sent, as far as that is known on this side.
    broken: Option<String>,
}

/// To build one.
impl Request {
    /// A request of any method.
    pub fn new(method: &str, url: impl AsRef<str>) -> Request {
        Request {
            host: host::Request::new(method, url.as_ref()),
            broken: None,
        }
    }

    /// A `GET` request.
    pub fn get(url: impl AsRef<str>) -> Request {
        Request::new("GET", url)
    }

    /// A `HEAD` request.
    pub fn head(url: impl AsRef<str>) -> Request {
        Request::new("HEAD", url)
    }

    /// A `POST` request.
    pub fn post(url: impl AsRef<str>) -> Request {
        Request::new("POST", url)
    }

    /// A `PUT` request.
    pub fn put(url: impl AsRef<str>) -> Request {
        Request::new("PUT", url)
    }

    /// A `PATCH` request.
    pub fn patch(url: impl AsRef<str>) -> Request {
        Request::new("PATCH", url)
    }

    /// A `DELETE` request.
    pub fn delete(url: impl AsRef<str>) -> Request {
        Request::new("DELETE", url)
    }

    /// Sets a header, in place of all values it had.
    pub fn header(mut self, name: &str, value: impl AsRef<str>) -> Request {
        self.set_header(name, value);
        self
    }

    /// Adds another value to a header.
    pub fn add_header(self, name: &str, value: impl AsRef<str>) -> Request {
        self.host.add_header(name, value.as_ref());
        self
    }

    /// Sets the `authorization` header to this bearer token.
    pub fn bearer(self, token: impl AsRef<str>) -> Request {
        let value = ["Bearer ", token.as_ref()].concat();
        self.header("authorization", value)
    }

    /// Sets the body.
    pub fn body(mut self, content: impl AsRef<[u8]>) -> Request {
        self.set_body(content);
        self
    }

    /// Sets the body to this value as JSON, and the content type with it.
    pub fn json(mut self, value: &(impl Serialize + ?Sized)) -> Request {
        self.set_json(value);
        self
    }

    /// Sets the route template that stands for the URL in metrics, `/orders/{id}` for instance.
    pub fn name(self, template: &str) -> Request {
        self.host.set_name(template);
        self
    }

    /// Puts a tag on this request's samples. As each value makes new series, let there be few.
    pub fn tag(self, key: &str, value: &str) -> Request {
        self.host.set_tag(key, value);
        self
    }

    /// Gives the whole call, redirects included, this long.
    pub fn timeout(self, limit: Duration) -> Request {
        self.host.set_timeout(nanoseconds(limit));
        self
    }

    /// Follows at most so many redirects. With 0 a redirect is the response.
    pub fn max_redirects(self, limit: u32) -> Request {
        self.host.set_max_redirects(limit);
        self
    }

    /// Reads the response's body from the wire and counts it, but does not keep it.
    pub fn discard_body(self) -> Request {
        self.host.set_body_mode(host::BodyMode::Discard);
        self
    }

    /// Says which statuses are expected; others count in `http_req_failed`. Without this it is 200 to 399.
    pub fn expect_status(self, range: RangeInclusive<u16>) -> Request {
        self.host.set_expected_status(*range.start(), *range.end());
        self
    }
}

/// To change one that is sent again and again.
impl Request {
    /// Changes the URL.
    pub fn set_url(&mut self, url: impl AsRef<str>) {
        self.host.set_url(url.as_ref());
    }

    /// Sets a header, in place of all values it had.
    pub fn set_header(&mut self, name: &str, value: impl AsRef<str>) {
        self.host.set_header(name, value.as_ref());
    }

    /// Removes a header.
    pub fn remove_header(&mut self, name: &str) {
        self.host.remove_header(name);
    }

    /// Changes the body.
    pub fn set_body(&mut self, content: impl AsRef<[u8]>) {
        self.host.set_body(content.as_ref());
        self.broken = None;
    }

    /// Changes the body to this value as JSON, and sets the content type.
    pub fn set_json(&mut self, value: &(impl Serialize + ?Sized)) {
        match serde_json::to_vec(value) {
            Ok(content) => {
                self.set_header("content-type", "application/json");
                self.set_body(content);
            }
            Err(cause) => {
                self.broken = Some(format!("the body cannot be written as JSON: {cause}"))
            }
        }
    }
}

/// To send one.
impl Request {
    /// Sends it and waits for the whole response, whatever its status.
    ///
    /// # Errors
    ///
    /// When there was no response, or the request could not be sent at all.
    pub fn send(&self) -> Result<Response> {
        self.sendable()?;
        self.host
            .send()
            .map(Response::from_host)
            .map_err(Error::from_host)
    }

    /// Sends it and returns at once. What comes of it is had from the returned [`Pending`].
    pub fn start(&self) -> Pending {
        Pending::of(self.sendable().map(|()| self.host.start()))
    }

    fn sendable(&self) -> Result {
        match &self.broken {
            Some(why) => Err(Error::of_kind(ErrorKind::Invalid, why)),
            None => Ok(()),
        }
    }
}

/// The host has the request; there is nothing to show here but that it is one.
impl Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}
