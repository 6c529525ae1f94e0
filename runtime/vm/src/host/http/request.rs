//! `http.request`: built once, sent many times.
//!
//! What is sent is shared with the host and never changed under it: a setter copies first when the host still holds it. Nonsense
//! given to a setter is remembered, since a setter has no result, and told by whoever sends.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Method};

use crate::doors::HttpRequest;
use crate::host::values::{WitBodyMode, WitError};
use crate::state::{State, Tags, put};
use crate::vu::VuLimits;

/// Statuses that count as expected unless the guest says otherwise.
const EXPECTED: (u16, u16) = (200, 399);

/// A guest's request.
#[derive(Debug)]
pub(crate) struct Request {
    /// What is sent next.
    built: Arc<HttpRequest>,
    /// The request's own tags, sorted by key.
    tags: Vec<(String, String)>,
    /// The group and the virtual user's tags that `built` was made for; none when what it is called by in metrics has changed.
    made_for: Option<(u32, u64)>,
    /// The first nonsense that a setter was given.
    nonsense: Option<String>,
}

impl Request {
    pub(crate) fn new(method: &str, url: String) -> Request {
        let (method, nonsense) = match Method::from_bytes(method.as_bytes()) {
            Ok(method) => (method, None),
            Err(_) => (Method::GET, Some(format!("`{method}` is not a method"))),
        };
        let built = HttpRequest {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            name: None,
            tags: Vec::new(),
            group: 0,
            timeout_ns: None,
            max_redirects: None,
            keep_body: true,
            expected: EXPECTED,
            id: 0,
        };
        Request {
            built: Arc::new(built),
            tags: Vec::new(),
            made_for: None,
            nonsense,
        }
    }

    /// What is sent now, under the virtual user's group and tags of now.
    pub(crate) fn ready(&mut self, group: u32, tags: &Tags) -> Result<Arc<HttpRequest>, WitError> {
        if let Some(nonsense) = &self.nonsense {
            return Err(WitError::invalid(nonsense.clone()));
        }
        let now = (group, tags.version);
        if self.made_for != Some(now) {
            let built = Arc::make_mut(&mut self.built);
            built.group = group;
            built.tags.clone_from(&tags.list);
            for (key, value) in &self.tags {
                put(&mut built.tags, key.clone(), value.clone());
            }
            built.id = identity(built);
            self.made_for = Some(now);
        }
        Ok(Arc::clone(&self.built))
    }

    pub(crate) fn set_url(&mut self, url: String) {
        self.renamed().url = url;
    }

    pub(crate) fn set_name(&mut self, name: String, state: &VuLimits) {
        if name.len() > limit(state.name_bytes) {
            self.refuse(|| format!("the name is longer than {} bytes", state.name_bytes));
            return;
        }
        self.renamed().name = Some(name);
    }

    pub(crate) fn set_tag(&mut self, key: String, value: String, limits: &VuLimits) {
        let longest = limit(limits.name_bytes);
        if key.is_empty() || key.len() > longest || value.len() > longest {
            self.refuse(|| {
                format!(
                    "the tag `{}` is empty, or longer than {longest} bytes",
                    shorten(&key)
                )
            });
            return;
        }
        if self.tags.len() >= limit(limits.tags) {
            self.refuse(|| format!("there are more than {} tags", limits.tags));
            return;
        }
        put(&mut self.tags, key, value);
        self.made_for = None;
    }

    pub(crate) fn set_expected_status(&mut self, first: u16, last: u16) {
        if !(100..=last).contains(&first) || last > 999 {
            self.refuse(|| format!("{first} to {last} is not a range of statuses"));
            return;
        }
        self.renamed().expected = (first, last);
    }

    pub(crate) fn set_header(&mut self, name: &str, value: &str) {
        let Some((name, value)) = self.header(name, value) else {
            return;
        };
        if Arc::make_mut(&mut self.built)
            .headers
            .try_insert(name, value)
            .is_err()
        {
            self.refuse(|| "there are too many headers".to_owned());
        }
    }

    pub(crate) fn add_header(&mut self, name: &str, value: &str) {
        let Some((name, value)) = self.header(name, value) else {
            return;
        };
        if Arc::make_mut(&mut self.built)
            .headers
            .try_append(name, value)
            .is_err()
        {
            self.refuse(|| "there are too many headers".to_owned());
        }
    }

    pub(crate) fn remove_header(&mut self, name: &str) {
        Arc::make_mut(&mut self.built).headers.remove(name);
    }

    pub(crate) fn set_body(&mut self, body: Bytes) {
        Arc::make_mut(&mut self.built).body = body;
    }

    pub(crate) fn set_timeout(&mut self, nanoseconds: u64) {
        if nanoseconds == 0 {
            self.refuse(|| "a timeout of 0 leaves no time at all".to_owned());
            return;
        }
        Arc::make_mut(&mut self.built).timeout_ns = Some(nanoseconds);
    }

    pub(crate) fn set_max_redirects(&mut self, limit: u32) {
        Arc::make_mut(&mut self.built).max_redirects = Some(limit);
    }

    pub(crate) fn set_body_mode(&mut self, mode: WitBodyMode) {
        Arc::make_mut(&mut self.built).keep_body = mode == WitBodyMode::Keep;
    }

    /// For a change of what the request is called by in metrics.
    fn renamed(&mut self) -> &mut HttpRequest {
        self.made_for = None;
        Arc::make_mut(&mut self.built)
    }

    fn header(&mut self, name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
        let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
            self.refuse(|| format!("`{}` is not a header's name", shorten(name)));
            return None;
        };
        let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) else {
            self.refuse(|| {
                format!("the value of the header `{name}` has a control character in it")
            });
            return None;
        };
        Some((name, value))
    }

    fn refuse(&mut self, why: impl FnOnce() -> String) {
        self.nonsense.get_or_insert_with(why);
    }
}

/// What all requests have that are called the same in metrics. A hash rather than a count: a guest that builds its request anew
/// in each iteration gets the same number each time, and the host's cache stays as small as the scenario.
fn identity(request: &HttpRequest) -> u64 {
    let HttpRequest {
        method,
        url,
        name,
        tags,
        group,
        expected,
        ..
    } = request;
    let mut hasher = DefaultHasher::new();
    (method, url, name, tags, group, expected).hash(&mut hasher);
    hasher.finish()
}

fn limit(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The request of a state's table, with its context.
pub(crate) fn ready(
    state: &mut State,
    request: &wasmtime::component::Resource<Request>,
) -> wasmtime::Result<Result<Arc<HttpRequest>, WitError>> {
    let group = state.group();
    let State { table, tags, .. } = state;
    Ok(table.get_mut(request)?.ready(group, tags))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request::new("GET", "http://x.test/".to_owned())
    }

    fn sent(request: &mut Request) -> Arc<HttpRequest> {
        request.ready(0, &Tags::default()).unwrap()
    }

    #[test]
    fn what_was_sent_does_not_change_with_the_request() {
        let mut request = request();
        request.set_header("a", "1");
        let first = sent(&mut request);
        request.set_header("a", "2");
        request.set_body(Bytes::from_static(b"body"));
        request.set_url("http://y.test/".to_owned());
        let second = sent(&mut request);
        assert_eq!(
            (
                first.url.as_str(),
                first.headers["a"].to_str().unwrap(),
                first.body.len()
            ),
            ("http://x.test/", "1", 0)
        );
        assert_eq!(
            (second.url.as_str(), second.headers["a"].to_str().unwrap()),
            ("http://y.test/", "2")
        );
        assert_eq!(second.body, "body");
    }

    #[test]
    fn nothing_is_copied_between_two_sendings_of_the_same() {
        let mut request = request();
        let first = sent(&mut request);
        assert!(Arc::ptr_eq(&first, &sent(&mut request)));
    }

    #[test]
    fn requests_called_the_same_have_the_same_id() {
        let mut one = request();
        let mut other = request();
        one.set_header("a", "1");
        one.set_body(Bytes::from_static(b"x"));
        assert_eq!(
            sent(&mut one).id,
            sent(&mut other).id,
            "headers and body are not part of a name"
        );
        let plain = sent(&mut one).id;
        #[expect(
            clippy::type_complexity,
            reason = "a table of what is done and what comes of it"
        )]
        let changes: [(&str, fn(&mut Request)); 4] = [
            ("url", |request| {
                request.set_url("http://x.test/2".to_owned())
            }),
            ("name", |request| {
                request.set_name("n".to_owned(), &VuLimits::default())
            }),
            ("tag", |request| {
                request.set_tag("k".to_owned(), "v".to_owned(), &VuLimits::default())
            }),
            ("expected", |request| request.set_expected_status(200, 299)),
        ];
        for (what, change) in changes {
            let mut changed = request();
            change(&mut changed);
            assert_ne!(sent(&mut changed).id, plain, "{what}");
        }
        assert_ne!(one.ready(3, &Tags::default()).unwrap().id, plain, "group");
        assert_eq!(
            one.ready(0, &Tags::default()).unwrap().id,
            plain,
            "back in no group"
        );
    }

    #[test]
    fn the_requests_own_tags_stand_above_the_users() {
        let mut tags = Tags::default();
        tags.put("a".to_owned(), "user".to_owned());
        tags.put("b".to_owned(), "user".to_owned());
        let mut request = request();
        request.set_tag("b".to_owned(), "request".to_owned(), &VuLimits::default());
        let sent = request.ready(0, &tags).unwrap();
        let expected = [("a", "user"), ("b", "request")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(sent.tags, expected);
    }

    #[test]
    fn nonsense_is_told_when_it_is_sent() {
        let long = "x".repeat(2000);
        #[expect(
            clippy::type_complexity,
            reason = "a table of what is done and what comes of it"
        )]
        let rows: [(&str, &dyn Fn(&mut Request)); 8] = [
            ("header's name", &|request| request.set_header("a b", "1")),
            ("control character", &|request| {
                request.add_header("a", "1\r\nb: 2")
            }),
            ("timeout", &|request| request.set_timeout(0)),
            ("range of statuses", &|request| {
                request.set_expected_status(300, 200)
            }),
            ("range of statuses", &|request| {
                request.set_expected_status(0, 200)
            }),
            ("name is longer", &|request| {
                request.set_name(long.clone(), &VuLimits::default())
            }),
            ("tag", &|request| {
                request.set_tag(String::new(), String::new(), &VuLimits::default())
            }),
            ("more than 32 tags", &|request| {
                for n in 0..33 {
                    request.set_tag(n.to_string(), String::new(), &VuLimits::default());
                }
            }),
        ];
        for (expected, spoil) in rows {
            let mut request = request();
            spoil(&mut request);
            request.set_header("good", "1");
            let error = request.ready(0, &Tags::default()).unwrap_err();
            assert!(
                format!("{error:?}").contains(expected),
                "{expected}: {error:?}"
            );
        }
        assert!(
            Request::new("G T", String::new())
                .ready(0, &Tags::default())
                .is_err()
        );
    }
}
