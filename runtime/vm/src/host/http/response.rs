//! `http.response`: what came back. The body stays here; the guest asks for parts of it, or about it.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use nettare_core::sample::{CallTiming, Failure};
use serde_json::Value;

use crate::doors::HttpResponse;
use crate::host::http::body;
use crate::host::values::{WitError, WitErrorKind, WitTiming};

/// A guest's response. Handles share what is in it.
#[derive(Clone, Debug)]
pub(crate) struct Response(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    response: HttpResponse,
    timing: WitTiming,
    /// The body as JSON, once somebody has asked: a check that asks by several paths parses once. Gone with the last handle.
    json: OnceLock<Result<Value, WitError>>,
}

impl Response {
    pub(crate) fn new(response: HttpResponse, timing: &CallTiming, gross_ns: u64) -> Response {
        Response(Arc::new(Parts {
            response,
            timing: WitTiming::new(timing, gross_ns),
            json: OnceLock::new(),
        }))
    }

    pub(crate) fn status(&self) -> u16 {
        self.0.response.status
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.0
            .response
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    }

    pub(crate) fn headers(&self) -> Vec<(String, Vec<u8>)> {
        let headers = self.0.response.headers.iter();
        headers
            .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
            .collect()
    }

    pub(crate) fn url(&self) -> &str {
        &self.0.response.url
    }

    pub(crate) fn timing(&self) -> WitTiming {
        self.0.timing
    }

    pub(crate) fn length(&self) -> u64 {
        self.0.response.body_length
    }

    /// The body, if it was kept and could be decoded.
    pub(crate) fn body(&self) -> Result<&Bytes, WitError> {
        let HttpResponse {
            body,
            body_length,
            body_failure,
            ..
        } = &self.0.response;
        if let Some(Failure {
            kind,
            code,
            message,
        }) = body_failure
        {
            return Err(Failure {
                kind: *kind,
                code: *code,
                message: message.clone(),
            }
            .into());
        }
        if body.is_empty() && *body_length > 0 {
            return Err(WitError::invalid(
                "the body was thrown away: `set-body-mode(keep)` keeps it",
            ));
        }
        Ok(body)
    }

    /// At most `length` bytes from `offset`, as a part of the same memory.
    pub(crate) fn bytes(&self, offset: u64, length: u32) -> Result<Bytes, WitError> {
        let body = self.body()?;
        let offset = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(body.len());
        let length = usize::try_from(length)
            .unwrap_or(usize::MAX)
            .min(body.len() - offset);
        Ok(body.slice(offset..offset + length))
    }

    pub(crate) fn text(&self) -> Result<String, WitError> {
        body::text(self.body()?, self.header("content-type"))
    }

    /// The body as JSON (RFC 8259).
    pub(crate) fn json(&self) -> Result<&Value, WitError> {
        let parse = || {
            serde_json::from_slice(self.body()?).map_err(|error| {
                let why = format!("the body is not JSON: {error}");
                WitError::new(WitErrorKind::Decode, why)
            })
        };
        self.0
            .json
            .get_or_init(parse)
            .as_ref()
            .map_err(Clone::clone)
    }

    pub(crate) fn contains(&self, needle: &[u8]) -> Result<bool, WitError> {
        Ok(memchr::memmem::find(self.body()?, needle).is_some())
    }
}

#[cfg(test)]
mod tests {
    use nettare_core::sample::{ErrorKind, Phases, Stamp};
    use proptest::prelude::*;

    use super::*;

    fn response(change: impl FnOnce(&mut HttpResponse)) -> Response {
        let mut response = HttpResponse {
            status: 200,
            headers: http::HeaderMap::new(),
            body: Bytes::from_static(b"0123456789"),
            body_length: 10,
            body_failure: None,
            url: "http://x.test/".into(),
        };
        change(&mut response);
        let last = Phases::default();
        let timing = CallTiming {
            last,
            sum: last,
            hops: 1,
            stamp: Stamp::Exact,
            decode_ns: 0,
            ready_at_ns: 0,
        };
        Response::new(response, &timing, 0)
    }

    proptest! {
        #[test]
        fn a_slice_is_what_lies_within_the_body(offset: u64, length: u32, short in 0_u64..12, few in 0_u32..12) {
            let response = response(|_| {});
            prop_assert_eq!(response.bytes(offset.max(10), length).unwrap(), Bytes::new());
            let expected: Vec<u8> =
                b"0123456789".iter().copied().skip(short as usize).take(few as usize).collect();
            prop_assert_eq!(response.bytes(short, few).unwrap(), expected);
        }
    }

    #[test]
    fn a_body_that_is_not_there_says_why() {
        let discarded = response(|response| response.body = Bytes::new());
        assert!(format!("{:?}", discarded.bytes(0, 1).unwrap_err()).contains("set-body-mode"));
        assert_eq!(discarded.length(), 10);
        let broken = response(|response| {
            let message = "gzip: bad checksum".to_owned();
            response.body_failure = Some(Failure {
                kind: ErrorKind::Decode,
                code: 0,
                message,
            });
        });
        assert!(format!("{:?}", broken.contains(b"0").unwrap_err()).contains("gzip"));
        let empty = response(|response| {
            response.body = Bytes::new();
            response.body_length = 0;
        });
        assert_eq!(
            empty.bytes(0, 1).unwrap(),
            Bytes::new(),
            "an empty body is a body"
        );
    }

    #[test]
    fn needles_are_found_wherever_they_are() {
        let response = response(|_| {});
        for (needle, found) in [
            ("0", true),
            ("89", true),
            ("456", true),
            ("", true),
            ("90", false),
        ] {
            assert_eq!(
                response.contains(needle.as_bytes()).unwrap(),
                found,
                "{needle}"
            );
        }
    }
}
