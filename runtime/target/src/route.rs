//! From a method and a path to what is asked for. Pure.

use http::{Method, StatusCode};

use crate::catalog::PRODUCTS;

/// Longest pause of `/delay` and between the lines of `/stream`, in milliseconds.
const LONGEST_MS: u64 = 60_000;
/// Most bytes of `/bytes`: 1 GiB. They are never all in memory.
const MOST_BYTES: u64 = 1 << 30;
/// Most lines of `/stream`.
const MOST_LINES: u64 = 100_000;
/// Longest chain of `/redirect`.
const MOST_REDIRECTS: u64 = 1_000;
/// Products listed when `/products` is asked for without a count.
const USUAL_PRODUCTS: u32 = 20;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Index,
    Products {
        count: u32,
    },
    Login,
    Cart,
    Checkout,
    /// None when the id is none that the shop gives.
    Order {
        number: Option<u64>,
    },
    Delay {
        ms: u64,
    },
    Bytes {
        count: u64,
    },
    Stream {
        lines: u32,
        ms: u64,
    },
    Status {
        code: StatusCode,
    },
    Flaky {
        percent: u64,
    },
    Redirect {
        left: u64,
    },
    Echo,
    Headers,
    Close,
    Drop,
    Reset,
    Counter,
    CounterReset,
}

/// A request that no route takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Whose route it would have been.
    pub(crate) name: Name,
    pub(crate) status: StatusCode,
    pub(crate) error: String,
    pub(crate) hint: String,
    /// The methods of the route, when it is the method that was wrong.
    pub(crate) allow: Option<&'static str>,
}

/// Names of routes, as they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Index,
    Products,
    Login,
    Cart,
    Checkout,
    Order,
    Delay,
    Bytes,
    Stream,
    Status,
    Flaky,
    Redirect,
    Echo,
    Headers,
    Close,
    Drop,
    Reset,
    Counter,
    Other,
}

impl Name {
    /// Every name, in the order of declaration, so that `ALL[name as usize] == name`.
    pub(crate) const ALL: [Name; 19] = [
        Name::Index,
        Name::Products,
        Name::Login,
        Name::Cart,
        Name::Checkout,
        Name::Order,
        Name::Delay,
        Name::Bytes,
        Name::Stream,
        Name::Status,
        Name::Flaky,
        Name::Redirect,
        Name::Echo,
        Name::Headers,
        Name::Close,
        Name::Drop,
        Name::Reset,
        Name::Counter,
        Name::Other,
    ];

    /// The route's template, as clients would name it.
    pub(crate) fn template(self) -> &'static str {
        match self {
            Name::Index => "/",
            Name::Products => "/products",
            Name::Login => "/login",
            Name::Cart => "/cart",
            Name::Checkout => "/checkout",
            Name::Order => "/orders/{id}",
            Name::Delay => "/delay/{ms}",
            Name::Bytes => "/bytes/{n}",
            Name::Stream => "/stream/{chunks}/{ms}",
            Name::Status => "/status/{code}",
            Name::Flaky => "/flaky/{percent}",
            Name::Redirect => "/redirect/{n}",
            Name::Echo => "/echo",
            Name::Headers => "/headers",
            Name::Close => "/close",
            Name::Drop => "/drop",
            Name::Reset => "/reset",
            Name::Counter => "/counter",
            Name::Other => "other",
        }
    }

    /// The methods a route takes, in the form of an `Allow` field (RFC 9110, section 10.2.1); none means all of them.
    fn allow(self) -> Option<&'static str> {
        match self {
            Name::Index | Name::Products | Name::Order => Some("GET, HEAD"),
            Name::Login | Name::Cart | Name::Checkout => Some("POST"),
            _ => None,
        }
    }
}

impl Route {
    /// The name it is counted under.
    pub(crate) fn name(self) -> Name {
        match self {
            Route::Index => Name::Index,
            Route::Products { .. } => Name::Products,
            Route::Login => Name::Login,
            Route::Cart => Name::Cart,
            Route::Checkout => Name::Checkout,
            Route::Order { .. } => Name::Order,
            Route::Delay { .. } => Name::Delay,
            Route::Bytes { .. } => Name::Bytes,
            Route::Stream { .. } => Name::Stream,
            Route::Status { .. } => Name::Status,
            Route::Flaky { .. } => Name::Flaky,
            Route::Redirect { .. } => Name::Redirect,
            Route::Echo => Name::Echo,
            Route::Headers => Name::Headers,
            Route::Close => Name::Close,
            Route::Drop => Name::Drop,
            Route::Reset => Name::Reset,
            Route::Counter | Route::CounterReset => Name::Counter,
        }
    }

    /// Whether the answer depends on the request's body.
    pub(crate) fn reads_body(self) -> bool {
        matches!(
            self,
            Route::Login | Route::Cart | Route::Checkout | Route::Echo
        )
    }

    /// Finds the route.
    pub(crate) fn find(method: &Method, path: &str, query: Option<&str>) -> Result<Route, Refusal> {
        let name = name_of(path);
        if let Some(allow) = name
            .allow()
            .filter(|allow| !allow.split(", ").any(|m| m == method.as_str()))
        {
            return Err(Refusal::wrong_method(name, method, allow));
        }
        let last = path.rsplit('/').next().unwrap_or_default();
        Ok(match name {
            Name::Index => Route::Index,
            Name::Products => Route::Products {
                count: count_in(query)?,
            },
            Name::Login => Route::Login,
            Name::Cart => Route::Cart,
            Name::Checkout => Route::Checkout,
            Name::Order => Route::Order {
                number: last.strip_prefix("o-").and_then(|n| n.parse().ok()),
            },
            Name::Delay => Route::Delay {
                ms: number(name, last, 0, LONGEST_MS)?,
            },
            Name::Bytes => Route::Bytes {
                count: number(name, last, 0, MOST_BYTES)?,
            },
            Name::Stream => stream(path)?,
            Name::Status => status(last)?,
            Name::Flaky => Route::Flaky {
                percent: number(name, last, 0, 100)?,
            },
            Name::Redirect => Route::Redirect {
                left: number(name, last, 0, MOST_REDIRECTS)?,
            },
            Name::Echo => Route::Echo,
            Name::Headers => Route::Headers,
            Name::Close => Route::Close,
            Name::Drop => Route::Drop,
            Name::Reset => Route::Reset,
            Name::Counter => return counter(method, path),
            Name::Other => return Err(Refusal::unknown(path)),
        })
    }
}

fn name_of(path: &str) -> Name {
    let mut segments = path.split('/').skip(1);
    let segment = [
        segments.next(),
        segments.next(),
        segments.next(),
        segments.next(),
    ];
    match segment {
        [Some(first), None, ..] => match first {
            "" => Name::Index,
            "products" => Name::Products,
            "login" => Name::Login,
            "cart" => Name::Cart,
            "checkout" => Name::Checkout,
            "echo" => Name::Echo,
            "headers" => Name::Headers,
            "close" => Name::Close,
            "drop" => Name::Drop,
            "reset" => Name::Reset,
            "counter" => Name::Counter,
            _ => Name::Other,
        },
        [Some(first), Some(second), None, _] => match first {
            "orders" => Name::Order,
            "delay" => Name::Delay,
            "bytes" => Name::Bytes,
            "status" => Name::Status,
            "flaky" => Name::Flaky,
            "redirect" => Name::Redirect,
            "counter" if second == "reset" => Name::Counter,
            _ => Name::Other,
        },
        [Some("stream"), Some(_), Some(_), None] => Name::Stream,
        _ => Name::Other,
    }
}

fn count_in(query: Option<&str>) -> Result<u32, Refusal> {
    let count = query
        .unwrap_or_default()
        .split('&')
        .find_map(|pair| pair.strip_prefix("count="));
    count.map_or(Ok(USUAL_PRODUCTS), |text| {
        number(Name::Products, text, 0, PRODUCTS.into()).map(|n| n as u32)
    })
}

fn stream(path: &str) -> Result<Route, Refusal> {
    let mut segments = path.split('/').skip(2);
    let mut next = |most| number(Name::Stream, segments.next().unwrap_or_default(), 0, most);
    Ok(Route::Stream {
        lines: next(MOST_LINES)? as u32,
        ms: next(LONGEST_MS)?,
    })
}

/// 1xx are no final responses (RFC 9110, section 15.2), and past 599 nothing is a status.
fn status(text: &str) -> Result<Route, Refusal> {
    let code = number(Name::Status, text, 200, 599)?;
    StatusCode::from_u16(code as u16)
        .map(|code| Route::Status { code })
        .map_err(|_| Refusal::bad_number(Name::Status, text, 200, 599))
}

fn counter(method: &Method, path: &str) -> Result<Route, Refusal> {
    match path {
        "/counter" if method == Method::GET => Ok(Route::Counter),
        "/counter/reset" if method == Method::POST => Ok(Route::CounterReset),
        "/counter" => Err(Refusal::wrong_method(Name::Counter, method, "GET")),
        _ => Err(Refusal::wrong_method(Name::Counter, method, "POST")),
    }
}

fn number(name: Name, text: &str, least: u64, most: u64) -> Result<u64, Refusal> {
    text.parse()
        .ok()
        .filter(|n| (least..=most).contains(n))
        .ok_or_else(|| Refusal::bad_number(name, text, least, most))
}

impl Refusal {
    fn unknown(path: &str) -> Refusal {
        Refusal {
            name: Name::Other,
            status: StatusCode::NOT_FOUND,
            error: format!("there is no route {path}"),
            hint: Name::ALL.map(Name::template)[..Name::Other as usize].join(" "),
            allow: None,
        }
    }

    fn wrong_method(name: Name, method: &Method, allow: &'static str) -> Refusal {
        Refusal {
            name,
            status: StatusCode::METHOD_NOT_ALLOWED,
            error: format!("{} does not take {method}", name.template()),
            hint: format!("use {allow}"),
            allow: Some(allow),
        }
    }

    fn bad_number(name: Name, text: &str, least: u64, most: u64) -> Refusal {
        Refusal {
            name,
            status: StatusCode::BAD_REQUEST,
            error: format!("{text:?} is no number for {}", name.template()),
            hint: format!("give a whole number from {least} to {most}"),
            allow: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(method: &str, path: &str) -> Result<Route, u16> {
        let (path, query) = path
            .split_once('?')
            .map_or((path, None), |(p, q)| (p, Some(q)));
        Route::find(&method.parse().unwrap(), path, query)
            .map_err(|refusal| refusal.status.as_u16())
    }

    #[test]
    fn names_count_under_their_own_number() {
        for (n, name) in Name::ALL.into_iter().enumerate() {
            assert_eq!(name as usize, n);
        }
    }

    #[test]
    fn paths_lead_to_routes() {
        let rows = [
            ("GET", "/", Route::Index),
            ("HEAD", "/", Route::Index),
            ("GET", "/products", Route::Products { count: 20 }),
            (
                "GET",
                "/products?sort=price&count=7",
                Route::Products { count: 7 },
            ),
            ("GET", "/products?count=0", Route::Products { count: 0 }),
            ("POST", "/login", Route::Login),
            ("GET", "/orders/o-12", Route::Order { number: Some(12) }),
            ("GET", "/orders/12", Route::Order { number: None }),
            ("PUT", "/delay/0", Route::Delay { ms: 0 }),
            ("GET", "/bytes/1073741824", Route::Bytes { count: 1 << 30 }),
            ("GET", "/stream/3/10", Route::Stream { lines: 3, ms: 10 }),
            (
                "GET",
                "/status/204",
                Route::Status {
                    code: StatusCode::NO_CONTENT,
                },
            ),
            (
                "GET",
                "/status/599",
                Route::Status {
                    code: StatusCode::from_u16(599).unwrap(),
                },
            ),
            ("GET", "/flaky/100", Route::Flaky { percent: 100 }),
            ("DELETE", "/echo", Route::Echo),
            ("GET", "/counter", Route::Counter),
            ("POST", "/counter/reset", Route::CounterReset),
        ];
        for (method, path, route) in rows {
            assert_eq!(find(method, path), Ok(route), "{method} {path}");
        }
    }

    #[test]
    fn what_no_route_takes_is_refused_with_the_fitting_status() {
        let rows = [
            ("an unknown path", "GET", "/nowhere", 404),
            ("a path that goes on", "GET", "/products/", 404),
            ("a path that goes on further", "GET", "/stream/1/2/3", 404),
            ("letters for a number", "GET", "/delay/soon", 400),
            ("a negative number", "GET", "/bytes/-1", 400),
            ("a number too large", "GET", "/bytes/1073741825", 400),
            (
                "a number past all numbers",
                "GET",
                "/delay/99999999999999999999999",
                400,
            ),
            ("no number", "GET", "/delay/", 400),
            ("an empty count", "GET", "/products?count=", 400),
            (
                "an informational status, which is no response",
                "GET",
                "/status/100",
                400,
            ),
            ("a percentage past all", "GET", "/flaky/101", 400),
            ("reading what only takes writing", "GET", "/login", 405),
            ("writing what only gives", "POST", "/products", 405),
            ("reading the reset", "GET", "/counter/reset", 405),
        ];
        for (sentence, method, path, status) in rows {
            assert_eq!(find(method, path), Err(status), "{sentence}");
        }
    }
}
