//! From a hop to the request that a protocol library takes.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::{Authority, Uri};
use http::{Method, Request, Version};

use crate::body::RequestBody;
use crate::redirect::Hop;
use crate::stream::WireStream;

/// Fields that are about an HTTP/1.1 connection and forbidden in HTTP/2 (RFC 9113, section 8.2.2).
const OF_THE_CONNECTION: [HeaderName; 4] = [
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// For HTTP/1.1: the target in origin form, `host` as the first field (RFC 9110, section 7.2).
pub(crate) fn http1(
    hop: &Hop<'_>,
    agent: Option<&HeaderValue>,
    wire: &WireStream,
) -> Request<RequestBody> {
    let mut fields = room_for(hop);
    fields.insert(header::HOST, hop.target.host_header.clone());
    add_fields(&mut fields, hop, agent, |_| true);
    let mut request = Request::new(RequestBody::new(&hop.body, wire));
    *request.method_mut() = hop.method.clone();
    *request.uri_mut() = hop.target.uri.clone();
    *request.headers_mut() = fields;
    request
}

/// For HTTP/2: the target in absolute form, from which the library takes the pseudo-fields, and no `host`.
pub(crate) fn http2(hop: &Hop<'_>, agent: Option<&HeaderValue>) -> Request<()> {
    let mut fields = room_for(hop);
    if !hop.body.is_empty() || hop.method == Method::POST || hop.method == Method::PUT {
        fields.insert(header::CONTENT_LENGTH, HeaderValue::from(hop.body.len()));
    }
    let allowed = |name: &HeaderName| {
        *name != header::HOST && *name != PROXY_CONNECTION && !OF_THE_CONNECTION.contains(name)
    };
    add_fields(&mut fields, hop, agent, allowed);
    let mut request = Request::new(());
    *request.method_mut() = hop.method.clone();
    *request.uri_mut() = absolute(hop);
    *request.version_mut() = Version::HTTP_2;
    *request.headers_mut() = fields;
    request
}

/// Room for a usual response too: hyper parses the response into the map of the request.
fn room_for(hop: &Hop<'_>) -> HeaderMap {
    HeaderMap::with_capacity(hop.headers.len().max(10) + 2)
}

/// Adds our `user-agent` and the request's own fields in their order.
fn add_fields(
    fields: &mut HeaderMap,
    hop: &Hop<'_>,
    agent: Option<&HeaderValue>,
    allowed: impl Fn(&HeaderName) -> bool,
) {
    if let Some(agent) = agent {
        fields.insert(header::USER_AGENT, agent.clone());
    }
    if let Some(credentials) = &hop.target.authorization {
        fields.insert(header::AUTHORIZATION, credentials.clone());
    }
    // A field that we add ourselves gives way to the request's own; further ones of that name are kept.
    let mut replaceable = [
        Some(header::HOST),
        Some(header::USER_AGENT),
        Some(header::AUTHORIZATION),
    ];
    for (name, value) in hop.headers.iter().filter(|(name, _)| allowed(name)) {
        // The length is the body's, whatever a request says.
        if *name == header::CONTENT_LENGTH {
            continue;
        }
        match replaceable
            .iter_mut()
            .find(|ours| ours.as_ref() == Some(name))
        {
            Some(ours) => {
                *ours = None;
                fields.insert(name.clone(), value.clone());
            }
            None => {
                fields.append(name.clone(), value.clone());
            }
        }
    }
}

/// The target's own, unless the request names another host.
fn absolute(hop: &Hop<'_>) -> Uri {
    let own = &hop.target.absolute;
    let Some(host) = hop.headers.get(header::HOST) else {
        return own.clone();
    };
    let Ok(authority) = Authority::try_from(host.as_bytes()) else {
        return own.clone();
    };
    let mut parts = own.clone().into_parts();
    parts.authority = Some(authority);
    Uri::from_parts(parts).unwrap_or_else(|_| own.clone())
}
