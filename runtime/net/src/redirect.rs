//! Which responses send a call elsewhere, and what the next request keeps of the last (RFC 9110, section 15.4, and the Fetch
//! standard, section "HTTP-redirect fetch", where the RFC leaves a choice).

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName};
use http::{Method, StatusCode};
use nettare_core::plan::{masked, names_a_secret};
use nettare_core::sample::{ErrorKind, Failure};

use crate::error::failure;
use crate::{Request, Target};

/// The request of one hop.
#[derive(Debug)]
pub(crate) struct Hop<'a> {
    pub(crate) method: Method,
    pub(crate) target: Arc<Target>,
    /// Borrowed from the call's request until a redirect takes some away.
    pub(crate) headers: Cow<'a, HeaderMap>,
    pub(crate) body: Bytes,
}

/// Fields that describe a body, gone with it.
const OF_THE_BODY: [HeaderName; 6] = [
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LENGTH,
    header::CONTENT_LOCATION,
    header::CONTENT_TYPE,
    header::TRANSFER_ENCODING,
];

impl<'a> Hop<'a> {
    pub(crate) fn first(request: &'a Request) -> Hop<'a> {
        Hop {
            method: request.method.clone(),
            target: Arc::clone(&request.target),
            headers: Cow::Borrowed(&request.headers),
            body: request.body.clone(),
        }
    }

    /// The next hop; none when the response is final: no redirect, or one that names no place to go to.
    ///
    /// # Errors
    ///
    /// When the place cannot be requested.
    pub(crate) fn follow(
        &self,
        status: u16,
        headers: &HeaderMap,
    ) -> Result<Option<Hop<'a>>, Failure> {
        let Some(location) = location_of(status, headers) else {
            return Ok(None);
        };
        let mut target = self.resolve(location)?;
        if target.origin == self.target.origin && target.authorization.is_none() {
            target.authorization.clone_from(&self.target.authorization);
        }
        let (method, keeps_body) = self.method_after(status);
        let mut next = Hop {
            method,
            target: Arc::new(target),
            headers: self.headers.clone(),
            body: self.body.clone(),
        };
        if !keeps_body {
            next.body = Bytes::new();
            next.remove(&OF_THE_BODY);
        }
        if next.target.origin != self.target.origin {
            next.remove_credentials();
            next.remove(&[header::HOST]);
        }
        Ok(Some(next))
    }

    fn resolve(&self, location: &str) -> Result<Target, Failure> {
        let unusable = |why: &str| {
            let message = format!(
                "{} redirects to {:?}, which cannot be requested: {why}",
                masked(self.target.as_str()),
                masked(location)
            );
            failure(ErrorKind::Protocol, 0, message)
        };
        let url = self
            .target
            .url()
            .join(location)
            .map_err(|error| unusable(&error.to_string()))?;
        Target::from_url(url).map_err(|failure| unusable(&failure.message))
    }

    fn method_after(&self, status: u16) -> (Method, bool) {
        let becomes_get = match status {
            303 => self.method != Method::GET && self.method != Method::HEAD,
            301 | 302 => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            (Method::GET, false)
        } else {
            (self.method.clone(), true)
        }
    }

    /// Removes the fields that tell who we are: the same that no report shows. Another origin has no business with them.
    fn remove_credentials(&mut self) {
        let telling = |name: &&HeaderName| names_a_secret(name.as_str());
        let names: Vec<HeaderName> = self.headers.keys().filter(telling).cloned().collect();
        self.remove(&names);
    }

    fn remove(&mut self, names: &[HeaderName]) {
        for name in names {
            if self.headers.contains_key(name) {
                self.headers.to_mut().remove(name);
            }
        }
    }
}

/// Where a redirect leads. An empty or unreadable `location` leads nowhere, and the response is taken as it is.
fn location_of(status: u16, headers: &HeaderMap) -> Option<&str> {
    let redirects = matches!(
        StatusCode::from_u16(status).ok()?,
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    if !redirects {
        return None;
    }
    let location = std::str::from_utf8(headers.get(header::LOCATION)?.as_bytes()).ok()?;
    (!location.is_empty()).then_some(location)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const CREDENTIALS: [&str; 6] = [
        "authorization",
        "cookie",
        "proxy-authorization",
        "x-api-key",
        "x-auth-token",
        "api-secret",
    ];

    fn request(method: Method) -> Request {
        let mut headers = HeaderMap::new();
        for name in CREDENTIALS {
            headers.insert(name, HeaderValue::from_static("secret"));
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        headers.insert("x-mine", HeaderValue::from_static("kept"));
        Request {
            method,
            target: Arc::new(Target::parse("http://shop.example/a/b?c").unwrap()),
            headers,
            body: Bytes::from_static(b"body"),
            timeout_ns: None,
            max_redirects: None,
            keep_body: true,
        }
    }

    fn located(location: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(
            header::LOCATION,
            HeaderValue::from_bytes(location.as_bytes()).unwrap(),
        );
        headers
    }

    #[test]
    fn case_065_the_method_and_the_body_survive_where_they_should() {
        let rows = [
            (
                301,
                Method::POST,
                Method::GET,
                false,
                "what every browser does, and RFC 9110 allows",
            ),
            (302, Method::POST, Method::GET, false, "likewise"),
            (
                302,
                Method::PUT,
                Method::PUT,
                true,
                "only POST is rewritten",
            ),
            (303, Method::POST, Method::GET, false, "see other: by GET"),
            (
                303,
                Method::PUT,
                Method::GET,
                false,
                "whatever the method was",
            ),
            (303, Method::HEAD, Method::HEAD, true, "but HEAD stays HEAD"),
            (307, Method::POST, Method::POST, true, "307 replays"),
            (308, Method::POST, Method::POST, true, "308 replays"),
        ];
        for (status, method, next_method, keeps_body, why) in rows {
            let request = request(method);
            let next = Hop::first(&request)
                .follow(status, &located("/next"))
                .unwrap()
                .unwrap();
            assert_eq!(next.method, next_method, "{status}: {why}");
            assert_eq!(!next.body.is_empty(), keeps_body, "{status}: {why}");
            assert_eq!(
                next.headers.contains_key(header::CONTENT_TYPE),
                keeps_body,
                "{status}: {why}"
            );
            assert!(next.headers.contains_key("x-mine"));
        }
    }

    #[test]
    fn locations_are_resolved_against_the_request() {
        let rows = [
            ("/x", "http://shop.example/x", "an absolute path"),
            ("x", "http://shop.example/a/x", "a relative path"),
            ("?q", "http://shop.example/a/b?q", "a query alone"),
            (
                "//other.example/",
                "http://other.example/",
                "another host, the same scheme",
            ),
            (
                "https://shop.example/#f",
                "https://shop.example/",
                "the fragment is not sent",
            ),
            (
                "/b\u{fc}cher",
                "http://shop.example/b%C3%BCcher",
                "raw UTF-8 is encoded",
            ),
        ];
        for (location, url, why) in rows {
            let request = request(Method::GET);
            let next = Hop::first(&request)
                .follow(302, &located(location))
                .unwrap()
                .unwrap();
            assert_eq!(next.target.as_str(), url, "{why}");
        }
    }

    #[test]
    fn credentials_do_not_cross_origins() {
        let rows = [
            ("/next", true, "the same origin"),
            (
                "http://shop.example:80/next",
                true,
                "the same port, written out",
            ),
            ("http://shop.example:81/", false, "another port"),
            ("https://shop.example/", false, "another scheme"),
            ("http://evil.example/", false, "another host"),
        ];
        for (location, kept, why) in rows {
            let request = request(Method::GET);
            let next = Hop::first(&request)
                .follow(302, &located(location))
                .unwrap()
                .unwrap();
            for name in CREDENTIALS {
                assert_eq!(next.headers.contains_key(name), kept, "{name}: {why}");
            }
            assert!(next.headers.contains_key("x-mine"), "{why}");
        }
    }

    #[test]
    fn case_058_a_redirect_to_nowhere_is_the_final_response() {
        let request = request(Method::GET);
        let hop = Hop::first(&request);
        assert!(
            hop.follow(302, &located("")).unwrap().is_none(),
            "an empty location"
        );
        assert!(
            hop.follow(302, &HeaderMap::new()).unwrap().is_none(),
            "no location"
        );
        assert!(
            hop.follow(304, &located("/x")).unwrap().is_none(),
            "304 is no redirect"
        );
        assert!(
            hop.follow(200, &located("/x")).unwrap().is_none(),
            "nor is 200"
        );
    }

    #[test]
    fn a_redirect_to_another_scheme_is_the_servers_fault() {
        let request = request(Method::GET);
        let failure = Hop::first(&request)
            .follow(302, &located("ftp://shop.example/"))
            .unwrap_err();
        assert_eq!(failure.kind, ErrorKind::Protocol);
        assert!(
            failure.message.contains("ftp://shop.example/"),
            "{}",
            failure.message
        );
    }
}
