//! Interface `http`: requests go to a closure, at once and without a network.

use std::cell::RefCell;

use super::errors::{Error, ErrorKind};
use super::with;
use crate::testing::{Reply, Sent};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyMode {
    Keep,
    Discard,
}

#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "only a kernel gives the others")]
pub(crate) enum Stamp {
    Exact,
    Bound,
    User,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) blocked: u64,
    pub(crate) dns: u64,
    pub(crate) connect: u64,
    pub(crate) tls: u64,
    pub(crate) sending: u64,
    pub(crate) waiting: u64,
    pub(crate) receiving: u64,
    pub(crate) net: u64,
    pub(crate) decode: u64,
    pub(crate) gross: u64,
    pub(crate) hops: u32,
    pub(crate) stamp: Stamp,
}

pub(crate) struct Request {
    sent: RefCell<Sent>,
}

impl Request {
    pub(crate) fn new(method: &str, url: &str) -> Request {
        Request {
            sent: RefCell::new(Sent::new(method, url)),
        }
    }

    pub(crate) fn set_url(&self, url: &str) {
        url.clone_into(&mut self.sent.borrow_mut().url);
    }

    pub(crate) fn set_header(&self, name: &str, value: &str) {
        self.remove_header(name);
        self.add_header(name, value);
    }

    pub(crate) fn add_header(&self, name: &str, value: &str) {
        self.sent
            .borrow_mut()
            .headers
            .push((name.to_ascii_lowercase(), value.to_owned()));
    }

    pub(crate) fn remove_header(&self, name: &str) {
        self.sent
            .borrow_mut()
            .headers
            .retain(|(present, _)| !present.eq_ignore_ascii_case(name));
    }

    pub(crate) fn set_body(&self, content: &[u8]) {
        content.clone_into(&mut self.sent.borrow_mut().body);
    }

    pub(crate) fn set_name(&self, name: &str) {
        self.sent.borrow_mut().name = Some(name.to_owned());
    }

    pub(crate) fn set_tag(&self, key: &str, value: &str) {
        self.sent
            .borrow_mut()
            .tags
            .push((key.to_owned(), value.to_owned()));
    }

    pub(crate) fn set_timeout(&self, nanoseconds: u64) {
        self.sent.borrow_mut().timeout_ns = Some(nanoseconds);
    }

    pub(crate) fn set_max_redirects(&self, limit: u32) {
        self.sent.borrow_mut().max_redirects = Some(limit);
    }

    pub(crate) fn set_body_mode(&self, mode: BodyMode) {
        self.sent.borrow_mut().keeps_body = mode == BodyMode::Keep;
    }

    pub(crate) fn set_expected_status(&self, first: u16, last: u16) {
        self.sent.borrow_mut().expected_status = first..=last;
    }

    pub(crate) fn send(&self) -> Result<Response, Error> {
        let mut sent = self.sent.borrow().clone();
        let (answer, group) = with(|world| (world.answer.take(), world.group()));
        sent.group = group;
        let Some(mut answer) = answer else {
            panic!("a request is answered by `Host::answer`, which sends none itself")
        };
        let reply = answer(&sent);
        let (url, keeps_body) = (sent.url.clone(), sent.keeps_body);
        with(|world| {
            world.answer = Some(answer);
            world.seen.requests.push(sent);
        });
        match reply.failed {
            None => Ok(Response {
                url,
                keeps_body,
                reply,
            }),
            Some(failed) => Err(Error::new(ErrorKind::of(failed), "as the test has it")),
        }
    }

    pub(crate) fn start(&self) -> Pending {
        Pending {
            result: RefCell::new(Some(self.send())),
        }
    }
}

pub(crate) struct Pending {
    result: RefCell<Option<Result<Response, Error>>>,
}

impl Pending {
    pub(crate) fn wait(&self) -> Result<Response, Error> {
        self.result
            .take()
            .unwrap_or_else(|| Err(Error::new(ErrorKind::Invalid, "waited for already")))
    }

    pub(crate) fn cancel(&self) {
        self.result.replace(Some(Err(Error::new(
            ErrorKind::Cancelled,
            "cancelled by the scenario",
        ))));
    }
}

pub(crate) fn wait_any(pending: &[&Pending], _timeout: Option<u64>) -> Option<u32> {
    if pending.is_empty() { None } else { Some(0) }
}

pub(crate) struct Response {
    url: String,
    keeps_body: bool,
    reply: Reply,
}

impl Response {
    pub(crate) fn status(&self) -> u16 {
        self.reply.status
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let found = self
            .reply
            .headers
            .iter()
            .find(|(present, _)| present.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone())
    }

    pub(crate) fn headers(&self) -> Vec<(String, Vec<u8>)> {
        self.reply
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into_bytes()))
            .collect()
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    pub(crate) fn timing(&self) -> Timing {
        let none = 0;
        Timing {
            blocked: none,
            dns: none,
            connect: none,
            tls: none,
            sending: none,
            waiting: none,
            receiving: none,
            net: none,
            decode: none,
            gross: none,
            hops: 1,
            stamp: Stamp::User,
        }
    }

    pub(crate) fn length(&self) -> u64 {
        self.reply.body.len() as u64
    }

    pub(crate) fn bytes(&self, offset: u64, length: u32) -> Result<Vec<u8>, Error> {
        let body = self.body()?;
        let from = (offset as usize).min(body.len());
        let to = from.saturating_add(length as usize).min(body.len());
        Ok(body[from..to].to_vec())
    }

    pub(crate) fn text(&self) -> Result<String, Error> {
        String::from_utf8(self.body()?.to_vec())
            .map_err(|_| Error::new(ErrorKind::Decode, "the body is not UTF-8"))
    }

    pub(crate) fn contains(&self, needle: &[u8]) -> Result<bool, Error> {
        Ok(needle.is_empty()
            || self
                .body()?
                .windows(needle.len())
                .any(|window| window == needle))
    }

    pub(crate) fn matches(&self, pattern: &Pattern) -> Result<bool, Error> {
        Ok(pattern.0.is_match(self.body()?))
    }

    pub(crate) fn capture(&self, pattern: &Pattern) -> Result<Option<String>, Error> {
        let Some(captures) = pattern.0.captures(self.body()?) else {
            return Ok(None);
        };
        let found = captures.get(usize::from(pattern.0.captures_len() > 1));
        let text = |found: regex::bytes::Match<'_>| String::from_utf8(found.as_bytes().to_vec());
        found
            .map(text)
            .transpose()
            .map_err(|_| Error::new(ErrorKind::Decode, "what was captured is not UTF-8"))
    }

    pub(crate) fn json(&self, path: &JsonPath) -> Result<Vec<String>, Error> {
        let body: serde_json::Value = serde_json::from_slice(self.body()?)
            .map_err(|_| Error::new(ErrorKind::Decode, "the body is not JSON"))?;
        Ok(path
            .0
            .query(&body)
            .into_iter()
            .map(ToString::to_string)
            .collect())
    }

    fn body(&self) -> Result<&[u8], Error> {
        if self.keeps_body {
            Ok(&self.reply.body)
        } else {
            Err(Error::new(ErrorKind::Invalid, "the body was discarded"))
        }
    }
}

pub(crate) struct Pattern(regex::bytes::Regex);

impl Pattern {
    pub(crate) fn compile(expression: &str) -> Result<Pattern, Error> {
        regex::bytes::Regex::new(expression)
            .map(Pattern)
            .map_err(|_| Error::new(ErrorKind::Invalid, "no regular expression"))
    }
}

pub(crate) struct JsonPath(serde_json_path::JsonPath);

impl JsonPath {
    pub(crate) fn compile(expression: &str) -> Result<JsonPath, Error> {
        serde_json_path::JsonPath::parse(expression)
            .map(JsonPath)
            .map_err(|_| Error::new(ErrorKind::Invalid, "no JSON path"))
    }
}
