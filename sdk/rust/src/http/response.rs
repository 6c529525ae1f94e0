//! What a server answered.

use std::fmt::{self, Debug};

use serde::de::DeserializeOwned;

use super::Timing;
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

    /// Whether these bytes occur in the body. The host looks, and the body need not enter the guest's memory; inside a
    /// [`check`](crate::check()) the cost is that check's all the same.
    ///
    /// # Errors
    ///
    /// As [`bytes`](Response::bytes).
    pub fn contains(&self, needle: impl AsRef<[u8]>) -> Result<bool> {
        self.host
            .contains(needle.as_ref())
            .map_err(Error::from_host)
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
