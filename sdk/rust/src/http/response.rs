//! What a server answered.

use std::fmt::{self, Debug};

use serde::de::DeserializeOwned;

use super::{JsonPath, Pattern, Timing};
use crate::error::{Error, ErrorKind, Result};
use crate::host::http as host;

/// A whole HTTP response. Its body stays with the host until it is asked for.
pub struct Response {
    host: host::Response,
}

impl Response {
    pub(super) fn from_host(host: host::Response) -> Response {
        Response { host }
    }

    /// The status code.
    pub fn status(&self) -> u16 {
        self.host.status()
    }

    /// The response itself if its status is below 400.
    ///
    /// # Errors
    ///
    /// [`Protocol`](ErrorKind::Protocol) for any other status, with the status as the code.
    pub fn error_for_status(self) -> Result<Response> {
        match self.status() {
            ..400 => Ok(self),
            status => Err(Error::with_code(
                ErrorKind::Protocol,
                status.into(),
                format_args!("{} answered {status}", self.url()),
            )),
        }
    }

    /// A header's first value, when there is one and it is text. Names have no case.
    pub fn header(&self, name: &str) -> Option<String> {
        self.host.header(name)
    }

    /// All headers, in the order in which they came.
    pub fn headers(&self) -> Vec<(String, Vec<u8>)> {
        self.host.headers()
    }

    /// The URL answered, after redirects.
    pub fn url(&self) -> String {
        self.host.url()
    }

    /// What the call took, by phase.
    pub fn timing(&self) -> Timing {
        Timing::from_host(self.host.timing())
    }

    /// Bytes of the body, after decompression.
    pub fn length(&self) -> u64 {
        self.host.length()
    }

    /// The whole body.
    ///
    /// # Errors
    ///
    /// [`Decode`](ErrorKind::Decode) when its content coding is broken, [`Invalid`](ErrorKind::Invalid) when it was discarded.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        self.slice(0, u32::MAX)
    }

    /// At most `length` bytes of the body, from `offset`.
    ///
    /// # Errors
    ///
    /// As [`bytes`](Response::bytes).
    pub fn slice(&self, offset: u64, length: u32) -> Result<Vec<u8>> {
        self.host.bytes(offset, length).map_err(Error::from_host)
    }

    /// The whole body, decoded by its charset.
    ///
    /// # Errors
    ///
    /// [`Decode`](ErrorKind::Decode) when it is not text, and as [`bytes`](Response::bytes).
    pub fn text(&self) -> Result<String> {
        self.host.text().map_err(Error::from_host)
    }

    /// The whole body, read as JSON. What the type has no field for is skipped, and costs little.
    ///
    /// # Errors
    ///
    /// [`Decode`](ErrorKind::Decode) when it is not JSON of that shape, and as [`bytes`](Response::bytes).
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        let body = self.bytes()?;
        serde_json::from_slice(&body).map_err(|cause| Error::of_kind(ErrorKind::Decode, cause))
    }
}

/// Questions that the host answers, without the body entering the guest's memory. Inside a [`check`](crate::check()), their
/// cost is that check's.
impl Response {
    /// Whether these bytes occur in the body.
    ///
    /// # Errors
    ///
    /// As [`bytes`](Response::bytes).
    pub fn contains(&self, needle: impl AsRef<[u8]>) -> Result<bool> {
        self.host
            .contains(needle.as_ref())
            .map_err(Error::from_host)
    }

    /// Whether the pattern occurs in the body.
    ///
    /// # Errors
    ///
    /// As [`text`](Response::text).
    pub fn matches(&self, pattern: &Pattern) -> Result<bool> {
        self.host
            .matches(pattern.as_host())
            .map_err(Error::from_host)
    }

    /// The first capture group of the pattern's first match, or the match if it has no group.
    ///
    /// # Errors
    ///
    /// As [`text`](Response::text).
    pub fn capture(&self, pattern: &Pattern) -> Result<Option<String>> {
        self.host
            .capture(pattern.as_host())
            .map_err(Error::from_host)
    }

    /// What the path selects in a body of JSON, each node read as `T`.
    ///
    /// # Errors
    ///
    /// [`Decode`](ErrorKind::Decode) when the body is not JSON or a node no `T`, and as [`bytes`](Response::bytes).
    pub fn select<T: DeserializeOwned>(&self, path: &JsonPath) -> Result<Vec<T>> {
        let nodes = self.host.json(path.as_host()).map_err(Error::from_host)?;
        let read = |node: &String| {
            serde_json::from_str(node).map_err(|cause| Error::of_kind(ErrorKind::Decode, cause))
        };
        nodes.iter().map(read).collect()
    }
}

impl Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status())
            .field("url", &self.url())
            .field("length", &self.length())
            .finish()
    }
}
