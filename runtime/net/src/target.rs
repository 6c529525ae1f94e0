//! Where a request goes: a URL, parsed once.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::HeaderValue;
use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use nettare_core::plan::masked;
use nettare_core::sample::{ErrorKind, Failure};
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::error::failure;

/// A parsed URL with all that a request needs of it, so that sending it again parses and formats nothing.
#[derive(Clone, Debug)]
pub struct Target {
    pub(crate) origin: Arc<Origin>,
    /// Origin form (RFC 9112, section 3.2.1): what an HTTP/1.1 request line carries.
    pub(crate) uri: Uri,
    /// The `host` field: brackets around IPv6, the port only where it is not the scheme's own (RFC 9110, section 7.2).
    pub(crate) host_header: HeaderValue,
    /// Absolute form with its authority: what HTTP/2 takes its pseudo-fields from.
    pub(crate) absolute: Uri,
    /// What a user name and password in the URL stand for (RFC 7617).
    pub(crate) authorization: Option<HeaderValue>,
    /// Without user name, password and fragment: it is shown, logged and kept.
    url: Url,
}

/// Scheme, host and port: what a connection is made to, and what it may be used again for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub(crate) secure: bool,
    /// In lower case, IPv6 without brackets.
    pub(crate) host: Box<str>,
    pub(crate) port: u16,
}

impl Target {
    /// Parses an absolute URL with scheme `http` or `https`. The fragment is dropped, percent-encoding stays as it is given.
    ///
    /// # Errors
    ///
    /// Kind `invalid`, with a message that quotes the URL, but for what is secret in it.
    pub fn parse(url: &str) -> Result<Target, Failure> {
        let parsed = Url::parse(url).map_err(|error| invalid(url, &error.to_string()))?;
        Target::from_url(parsed)
    }

    /// The URL in normal form, without user name and password.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn from_url(mut url: Url) -> Result<Target, Failure> {
        let authorization = authorization(&url);
        remove_user(&mut url);
        let secure = match url.scheme() {
            "http" => false,
            "https" => true,
            other => {
                return Err(invalid(
                    url.as_str(),
                    &format!("its scheme is {other}, not http or https"),
                ));
            }
        };
        url.set_fragment(None);
        let origin = Arc::new(Origin::of(&url, secure)?);
        let host_header = host_header(&url)?;
        let uri = origin_form(&url)?;
        let absolute = absolute_form(&url, &host_header, &uri)?;
        Ok(Target {
            origin,
            uri,
            host_header,
            absolute,
            authorization,
            url,
        })
    }
}

impl Origin {
    fn of(url: &Url, secure: bool) -> Result<Origin, Failure> {
        let host = match url.host() {
            Some(Host::Domain(name)) => name.into(),
            Some(Host::Ipv4(address)) => address.to_string().into_boxed_str(),
            Some(Host::Ipv6(address)) => address.to_string().into_boxed_str(),
            None => return Err(invalid(url.as_str(), "it has no host")),
        };
        let port = url
            .port_or_known_default()
            .ok_or_else(|| invalid(url.as_str(), "it has no port"))?;
        Ok(Origin { secure, host, port })
    }
}

fn host_header(url: &Url) -> Result<HeaderValue, Failure> {
    let host = url.host_str().unwrap_or_default();
    let text = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    HeaderValue::try_from(text).map_err(|error| invalid(url.as_str(), &error.to_string()))
}

fn origin_form(url: &Url) -> Result<Uri, Failure> {
    let text = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let path =
        PathAndQuery::try_from(text).map_err(|error| invalid(url.as_str(), &error.to_string()))?;
    Ok(Uri::from(path))
}

fn absolute_form(url: &Url, host_header: &HeaderValue, origin_form: &Uri) -> Result<Uri, Failure> {
    let mut parts = origin_form.clone().into_parts();
    parts.scheme = Some(if url.scheme() == "https" {
        Scheme::HTTPS
    } else {
        Scheme::HTTP
    });
    let authority = Authority::try_from(host_header.as_bytes());
    parts.authority = Some(authority.map_err(|error| invalid(url.as_str(), &error.to_string()))?);
    Uri::from_parts(parts).map_err(|error| invalid(url.as_str(), &error.to_string()))
}

fn authorization(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    let pair = [
        &decoded(url.username())[..],
        b":",
        &decoded(url.password().unwrap_or_default()),
    ]
    .concat();
    let mut value =
        HeaderValue::try_from(format!("Basic {}", BASE64_STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn remove_user(url: &mut Url) {
    // Refused only where there is no host, which `Origin::of` finds out.
    let _ = url.set_username("");
    let _ = url.set_password(None);
}

fn invalid(url: &str, why: &str) -> Failure {
    let url = masked(url);
    failure(
        ErrorKind::Invalid,
        0,
        format!("the URL {url:?} cannot be requested: {why}; give an absolute http or https URL"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_sent_and_never_shown() {
        let target = Target::parse("http://anna:hu%20sh@shop.example/a?b#c").unwrap();
        assert_eq!(target.as_str(), "http://shop.example/a?b");
        assert_eq!(
            target.authorization.as_ref().unwrap(),
            "Basic YW5uYTpodSBzaA=="
        );
        assert_eq!(target.absolute.to_string(), "http://shop.example/a?b");
        assert!(!format!("{target:?}").contains("hu"), "{target:?}");
        for bad in [
            "ftp://anna:hush@shop.example/",
            "http://anna:hush@shop.example:99999/",
        ] {
            let failure = Target::parse(bad).unwrap_err();
            assert!(!failure.message.contains("hush"), "{}", failure.message);
        }
    }
}
