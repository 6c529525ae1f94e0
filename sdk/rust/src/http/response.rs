//! What a server answered.

use std::cell::RefCell;
use std::fmt::{self, Debug};

use serde::de::DeserializeOwned;

use super::Timing;
use crate::error::{Error, ErrorKind, Result};
use crate::host::errors::Error as HostError;
use crate::host::http as host;

/// A whole HTTP response. Its body stays with the host until it is asked for.
pub struct Response {
    host: host::Response,
}

impl Response {
    pub(crate) fn from_host(host: host::Response) -> Response {
        Response { host }
    }

    /// Another handle on the same.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn share(&self) -> host::Response {
        self.host.share()
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

    /// Whether a regular expression matches somewhere in the body. The host looks, as for [`contains`](Response::contains), in time
    /// linear in the body: there are no look-around and no back-references.
    ///
    /// # Errors
    ///
    /// [`Invalid`](ErrorKind::Invalid) when it is no regular expression, and as [`bytes`](Response::bytes).
    pub fn matches(&self, pattern: &str) -> Result<bool> {
        with_pattern(pattern, |pattern| self.host.matches(pattern))
    }

    /// The first group that a regular expression captures in its first match, the whole match when it has no group; none without a
    /// match. The host looks.
    ///
    /// # Errors
    ///
    /// As [`matches`](Response::matches), and [`Decode`](ErrorKind::Decode) when what was captured is not text.
    pub fn capture(&self, pattern: &str) -> Result<Option<String>> {
        with_pattern(pattern, |pattern| self.host.capture(pattern))
    }

    /// All that a JSON path (RFC 9535) selects in the body, `$.products[*].id` for instance. The host parses the body, once however
    /// many paths are asked for; only what is selected enters the guest.
    ///
    /// ```
    /// # use nettare::{Response, Result};
    /// # fn ids(response: Response) -> Result<Vec<u64>> {
    /// let ids: Vec<u64> = response.select("$.products[*].id")?;
    /// # Ok(ids)
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Invalid`](ErrorKind::Invalid) when it is no JSON path, [`Decode`](ErrorKind::Decode) when the body is not JSON or what is
    /// selected not of that type, and as [`bytes`](Response::bytes).
    pub fn select<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>> {
        let nodes = PATHS.with_borrow_mut(|paths| {
            paths
                .of(path, host::JsonPath::compile)
                .and_then(|path| self.host.json(path))
        });
        let nodes = nodes.map_err(Error::from_host)?;
        let parse = |node: &String| serde_json::from_str(node);
        let values: Result<Vec<T>, _> = nodes.iter().map(parse).collect();
        values.map_err(|cause| Error::of_kind(ErrorKind::Decode, cause))
    }
}

thread_local! {
    static PATTERNS: RefCell<Compiled<host::Pattern>> = const { RefCell::new(Compiled::new()) };
    static PATHS: RefCell<Compiled<host::JsonPath>> = const { RefCell::new(Compiled::new()) };
}

fn with_pattern<T>(
    pattern: &str,
    ask: impl FnOnce(&host::Pattern) -> Result<T, HostError>,
) -> Result<T> {
    let answer = PATTERNS
        .with_borrow_mut(|patterns| patterns.of(pattern, host::Pattern::compile).and_then(ask));
    answer.map_err(Error::from_host)
}

/// Expressions kept by an instance: handles are limited, and a scenario has a handful.
const MOST_COMPILED: usize = 100;

/// Expressions by their text, so that each is compiled once.
struct Compiled<T> {
    all: Vec<(Box<str>, T)>,
}

impl<T> Compiled<T> {
    const fn new() -> Compiled<T> {
        Compiled { all: Vec::new() }
    }

    /// The compiled expression. A scenario that makes them from data does not fill its memory: the list begins anew.
    fn of<E>(&mut self, text: &str, compile: impl FnOnce(&str) -> Result<T, E>) -> Result<&T, E> {
        let known = self
            .all
            .iter()
            .position(|(known, _)| known.as_ref() == text);
        let place = match known {
            Some(place) => place,
            None => {
                let compiled = compile(text)?;
                if self.all.len() >= MOST_COMPILED {
                    self.all.clear();
                }
                self.all.push((text.into(), compiled));
                self.all.len() - 1
            }
        };
        Ok(&self.all[place].1)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;
    use crate::testing::{Host, Reply};

    #[test]
    fn the_host_answers_questions_about_the_body() {
        let host = Host::new().answer(|_| Reply::status(200).body(r#"{"ids":[3,5],"name":"x17"}"#));
        let (asked, _) = host.run(|| -> Result {
            let response = Request::get("http://t/").send()?;
            assert!(response.matches(r"x\d+")? && !response.matches(r"y\d+")?);
            assert_eq!(response.capture(r"x(\d+)")?.as_deref(), Some("17"));
            assert_eq!(response.select::<u64>("$.ids[*]")?, [3, 5]);
            let invalid = response.matches("(").unwrap_err();
            assert_eq!(invalid.kind(), ErrorKind::Invalid);
            assert_eq!(
                response.select::<u64>("ids").unwrap_err().kind(),
                ErrorKind::Invalid
            );
            let decode = response.select::<u64>("$.name").unwrap_err();
            assert_eq!(decode.kind(), ErrorKind::Decode);
            Ok(())
        });
        asked.unwrap();
    }

    #[test]
    fn an_expression_is_compiled_once_and_the_list_is_bounded() {
        let mut compiled = Compiled::new();
        let mut count = 0;
        for _ in 0..3 {
            let _: Result<_, ()> = compiled.of("a", |_| {
                count += 1;
                Ok(())
            });
        }
        assert_eq!(count, 1);
        for n in 0..2 * MOST_COMPILED {
            let _: Result<_, ()> = compiled.of(&n.to_string(), |_| Ok(()));
        }
        assert!(compiled.all.len() <= MOST_COMPILED);
    }
}
