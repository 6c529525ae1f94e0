//! What each route answers. Nothing here waits: the request's body has been read, a delay has passed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use http::header::{ALLOW, AUTHORIZATION, CONNECTION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Response, StatusCode, request};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::body::Source;
use crate::catalog::Catalog;
use crate::count::Counters;
use crate::route::{Refusal, Route};
use crate::shop::{self, NAME_LENGTH, Order, QUANTITY, REMEMBERED, Refused, Shop};

/// The only password there is.
const PASSWORD: &str = "secret";
const GREETING: &str = "This is the demo target of Nettare.\n";

/// All that the target knows, shared by its threads.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) counters: Counters,
    catalog: Catalog,
    shop: Mutex<Shop>,
    /// Requests for `/flaky/{percent}` so far, by percentage.
    flaky: [AtomicU64; 101],
}

/// A response whose body is yet to be made.
pub(crate) type Answer = Response<Source>;

#[derive(Deserialize)]
struct Login {
    user: String,
    password: String,
}

#[derive(Deserialize)]
struct Addition {
    product: String,
    quantity: u32,
}

#[derive(Deserialize)]
struct Payment {
    cart: String,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: &'a str,
    hint: &'a str,
}

impl App {
    pub(crate) fn new(threads: usize) -> App {
        App {
            counters: Counters::new(threads),
            catalog: Catalog::default(),
            shop: Mutex::new(Shop::new(REMEMBERED)),
            flaky: [const { AtomicU64::new(0) }; 101],
        }
    }

    /// Answers a request whose body was `body`; empty for the routes that do not look at it.
    pub(crate) fn answer(&self, route: Route, head: &request::Parts, body: &[u8]) -> Answer {
        match route {
            Route::Index | Route::Delay { .. } => text(GREETING),
            Route::Products { count } => json_bytes(StatusCode::OK, self.catalog.list(count)),
            Route::Login => self.log_in(body),
            Route::Cart => self.add_to_cart(&head.headers, body),
            Route::Checkout => self.check_out(&head.headers, body),
            Route::Order { number } => self.order(&head.headers, number),
            Route::Bytes { count } => with_type(Source::Filler(count), "application/octet-stream"),
            Route::Stream { lines, ms } => with_type(
                Source::lines(lines, Duration::from_millis(ms)),
                "text/plain",
            ),
            Route::Status { code } => status(code),
            Route::Flaky { percent } => self.flaky(percent),
            Route::Redirect { left } => redirect(left),
            Route::Echo => json(StatusCode::OK, &echo(head, body)),
            Route::Headers => json(StatusCode::OK, &json!({ "headers": fields(&head.headers) })),
            Route::Close => closing(),
            Route::Counter => json(StatusCode::OK, &self.counters.counts()),
            Route::CounterReset => {
                self.counters.reset();
                status(StatusCode::NO_CONTENT)
            }
            // The door cuts the connection before it would ask for an answer.
            Route::Drop | Route::Reset => status(StatusCode::NO_CONTENT),
        }
    }

    fn log_in(&self, body: &[u8]) -> Answer {
        let login: Login = match parse(body, r#"{"user":"anna","password":"secret"}"#) {
            Ok(login) => login,
            Err(answer) => return *answer,
        };
        if login.user.is_empty() || login.user.len() > NAME_LENGTH {
            return error(
                StatusCode::BAD_REQUEST,
                "the user's name is empty or too long",
                &format!("use 1 to {NAME_LENGTH} bytes"),
            );
        }
        if login.password != PASSWORD {
            return error(
                StatusCode::UNAUTHORIZED,
                "wrong password",
                "every user's password is \"secret\"",
            );
        }
        let token = self.shop().log_in(&login.user);
        json(
            StatusCode::OK,
            &json!({ "token": format!("t-{token:016x}") }),
        )
    }

    fn add_to_cart(&self, headers: &HeaderMap, body: &[u8]) -> Answer {
        let addition: Addition = match parse(body, r#"{"product":"p-1","quantity":2}"#) {
            Ok(addition) => addition,
            Err(answer) => return *answer,
        };
        if !(1..=QUANTITY).contains(&addition.quantity) {
            return error(
                StatusCode::BAD_REQUEST,
                "quantity out of range",
                &format!("give a whole number from 1 to {QUANTITY}"),
            );
        }
        let Some(token) = bearer(headers) else {
            return refused(Refused::NoSession);
        };
        let product = addition
            .product
            .strip_prefix("p-")
            .and_then(|n| n.parse().ok())
            .unwrap_or(0);
        match self.shop().add(token, product, addition.quantity) {
            Err(why) => refused(why),
            Ok(cart) => {
                let (items, total) = (shop::items(&cart.lines), shop::total_cents(&cart.lines));
                json(
                    StatusCode::CREATED,
                    &json!({ "cart": format!("c-{}", cart.number), "items": items, "total_cents": total }),
                )
            }
        }
    }

    fn check_out(&self, headers: &HeaderMap, body: &[u8]) -> Answer {
        let payment: Payment = match parse(body, r#"{"cart":"c-1"}"#) {
            Ok(payment) => payment,
            Err(answer) => return *answer,
        };
        let Some(token) = bearer(headers) else {
            return refused(Refused::NoSession);
        };
        let cart = payment
            .cart
            .strip_prefix("c-")
            .and_then(|n| n.parse().ok())
            .unwrap_or(0);
        match self.shop().check_out(token, cart) {
            Err(why) => refused(why),
            Ok(order) => json(StatusCode::CREATED, &paid(&order)),
        }
    }

    fn order(&self, headers: &HeaderMap, number: Option<u64>) -> Answer {
        let Some(token) = bearer(headers) else {
            return refused(Refused::NoSession);
        };
        match self.shop().order(token, number.unwrap_or(0)) {
            Err(why) => refused(why),
            Ok(order) => {
                let mut value = paid(order);
                let line = |l: &shop::Line| json!({ "product": format!("p-{}", l.product), "quantity": l.quantity, "price_cents": l.price_cents });
                value["lines"] = order.lines.iter().map(line).collect();
                json(StatusCode::OK, &value)
            }
        }
    }

    /// Fails exactly `percent` of any hundred successive requests with that percentage, evenly spread: the n-th fails when
    /// n × percent / 100 passes a whole number.
    fn flaky(&self, percent: u64) -> Answer {
        let n = self.flaky[percent as usize].fetch_add(1, Ordering::Relaxed);
        if (n + 1) * percent / 100 > n * percent / 100 {
            return error(
                StatusCode::SERVICE_UNAVAILABLE,
                "this route fails on purpose",
                &format!("it fails {percent} of 100 requests"),
            );
        }
        text(GREETING)
    }

    fn shop(&self) -> std::sync::MutexGuard<'_, Shop> {
        self.shop.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer to a request that no route takes.
pub(crate) fn refuse(refusal: &Refusal) -> Answer {
    let mut answer = error(refusal.status, &refusal.error, &refusal.hint);
    if let Some(allow) = refusal.allow {
        answer
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static(allow));
    }
    answer
}

/// An error as JSON, with what to do about it.
pub(crate) fn error(status: StatusCode, error: &str, hint: &str) -> Answer {
    json(status, &ErrorBody { error, hint })
}

fn refused(why: Refused) -> Answer {
    let (status, what, hint) = match why {
        Refused::NoSession => (
            StatusCode::UNAUTHORIZED,
            "no such session",
            "send `Authorization: Bearer` with a token from POST /login",
        ),
        Refused::NoProduct => (
            StatusCode::NOT_FOUND,
            "no such product",
            "products are p-1 to p-10000",
        ),
        Refused::NoCart => (
            StatusCode::NOT_FOUND,
            "not this session's open cart",
            "take the cart from POST /cart; it can be paid once",
        ),
        Refused::NoOrder => (
            StatusCode::NOT_FOUND,
            "no such order of this user",
            "take the order from POST /checkout",
        ),
        Refused::CartFull => (
            StatusCode::CONFLICT,
            "the cart is full",
            "a cart holds 50 different products; POST /checkout first",
        ),
    };
    error(status, what, hint)
}

fn paid(order: &Order) -> Value {
    json!({ "order": format!("o-{}", order.number), "total_cents": shop::total_cents(&order.lines), "status": "paid" })
}

fn bearer(headers: &HeaderMap) -> Option<u64> {
    let token = headers
        .get(AUTHORIZATION)?
        .to_str()
        .ok()?
        .strip_prefix("Bearer t-")?;
    u64::from_str_radix(token, 16).ok()
}

/// The error is boxed only to keep the happy result small.
fn parse<'a, T: Deserialize<'a>>(body: &'a [u8], example: &str) -> Result<T, Box<Answer>> {
    serde_json::from_slice(body).map_err(|cause| {
        Box::new(error(
            StatusCode::BAD_REQUEST,
            &format!("the body is not as expected: {cause}"),
            &format!("send {example}"),
        ))
    })
}

fn echo(head: &request::Parts, body: &[u8]) -> Value {
    let mut value = json!({
        "method": head.method.as_str(),
        "path": head.uri.path(),
        "query": head.uri.query(),
        "version": format!("{:?}", head.version),
        "headers": fields(&head.headers),
    });
    match std::str::from_utf8(body) {
        Ok(text) => value["body"] = text.into(),
        Err(_) => {
            value["body_base64"] = base64::engine::general_purpose::STANDARD
                .encode(body)
                .into()
        }
    }
    value
}

/// Header fields by name; values of a repeated name are joined as RFC 9110, section 5.3, allows. Bytes past ASCII are replaced.
fn fields(headers: &HeaderMap) -> Value {
    let values = |name| {
        headers
            .get_all(name)
            .iter()
            .map(|v| String::from_utf8_lossy(v.as_bytes()))
            .collect::<Vec<_>>()
            .join(", ")
    };
    headers
        .keys()
        .map(|name| (name.as_str().to_owned(), Value::from(values(name))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn redirect(left: u64) -> Answer {
    if left == 0 {
        return text("You have arrived.\n");
    }
    let mut answer = status(StatusCode::FOUND);
    // Digits and a slash are a valid value, always.
    if let Ok(location) = HeaderValue::try_from(format!("/redirect/{}", left - 1)) {
        answer.headers_mut().insert(LOCATION, location);
    }
    answer
}

fn closing() -> Answer {
    let mut answer = text("This connection ends here.\n");
    answer
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

fn status(status: StatusCode) -> Answer {
    let mut answer = Response::new(Source::empty());
    *answer.status_mut() = status;
    answer
}

fn text(text: &'static str) -> Answer {
    with_type(
        Source::Whole(Bytes::from_static(text.as_bytes())),
        "text/plain",
    )
}

fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    // Strings, numbers and maps with string keys always have a JSON form.
    json_bytes(status, serde_json::to_vec(value).unwrap_or_default().into())
}

fn json_bytes(status: StatusCode, bytes: Bytes) -> Answer {
    let mut answer = with_type(Source::Whole(bytes), "application/json");
    *answer.status_mut() = status;
    answer
}

fn with_type(source: Source, content_type: &'static str) -> Answer {
    let mut answer = Response::new(source);
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}
