//! The running target, as clients see it: bytes over loopback.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio_rustls::TlsConnector;

use crate::{Counts, Target, TargetOptions, spawn};

fn target() -> Target {
    spawn(&TargetOptions::default()).unwrap()
}

/// A response as it came over the wire.
struct Raw {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Raw {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Sends the bytes on a connection of their own and reads until the target closes it.
fn exchange(target: &Target, request: &str) -> Raw {
    let bytes = exchange_bytes(target, request).unwrap();
    let end = bytes
        .windows(4)
        .position(|w| w == b"\r\n\r\n")
        .expect("a response has a head")
        + 4;
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    Raw {
        status: head[9..12].parse().unwrap(),
        head: head.to_lowercase(),
        body: bytes[end..].to_vec(),
    }
}

fn exchange_bytes(target: &Target, request: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(target.addr())?;
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn get(target: &Target, path: &str) -> Raw {
    exchange(
        target,
        &format!("GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n"),
    )
}

fn post(target: &Target, path: &str, token: &str, body: &Value) -> Raw {
    let body = body.to_string();
    let length = body.len();
    exchange(
        target,
        &format!(
            "POST {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\nauthorization: Bearer {token}\r\ncontent-length: {length}\r\n\r\n{body}"
        ),
    )
}

#[test]
fn every_simple_route_answers_with_its_status_and_length() {
    let target = target();
    let rows = [
        ("a line of text", "/", 200, Some(36)),
        ("no products at all", "/products?count=0", 200, Some(15)),
        ("a delay that is over at once", "/delay/0", 200, Some(36)),
        ("a delay", "/delay/3", 200, Some(36)),
        ("no bytes", "/bytes/0", 200, Some(0)),
        ("one byte", "/bytes/1", 200, Some(1)),
        (
            "more bytes than one piece",
            "/bytes/1000000",
            200,
            Some(1_000_000),
        ),
        ("a status without a body", "/status/204", 204, Some(0)),
        ("any other status", "/status/418", 418, Some(0)),
        ("the end of redirects", "/redirect/0", 200, Some(18)),
        ("never failing", "/flaky/0", 200, Some(36)),
        ("always failing", "/flaky/100", 503, None),
        ("no such path", "/nowhere", 404, None),
        ("no number", "/delay/soon", 400, None),
    ];
    for (sentence, path, status, length) in rows {
        let response = get(&target, path);
        assert_eq!(response.status, status, "{sentence}");
        match length {
            Some(length) => assert_eq!(response.body.len(), length, "{sentence}"),
            None => assert!(
                response.json()["hint"].is_string(),
                "{sentence} says what to do"
            ),
        }
    }
}

#[test]
fn the_shop_carries_a_token_a_cart_and_an_order_along() {
    let target = target();
    let products = get(&target, "/products?count=2").json();
    let price = products["products"][0]["price_cents"].as_u64().unwrap();

    let wrong = post(
        &target,
        "/login",
        "",
        &json!({"user": "anna", "password": "guess"}),
    );
    assert_eq!(wrong.status, 401);
    let login = post(
        &target,
        "/login",
        "",
        &json!({"user": "anna", "password": "secret"}),
    );
    assert_eq!(login.status, 200);
    let token = login.json()["token"].as_str().unwrap().to_owned();

    let cart = post(
        &target,
        "/cart",
        &token,
        &json!({"product": "p-1", "quantity": 3}),
    );
    assert_eq!(cart.status, 201);
    assert_eq!(
        (
            cart.json()["items"].as_u64(),
            cart.json()["total_cents"].as_u64()
        ),
        (Some(3), Some(3 * price))
    );

    let order = post(
        &target,
        "/checkout",
        &token,
        &json!({"cart": cart.json()["cart"]}),
    );
    assert_eq!(order.status, 201);
    assert_eq!(
        (
            &order.json()["status"],
            order.json()["total_cents"].as_u64()
        ),
        (&json!("paid"), Some(3 * price))
    );

    let path = format!("/orders/{}", order.json()["order"].as_str().unwrap());
    let ask = |token: &str| {
        exchange(
            &target,
            &format!(
                "GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
            ),
        )
    };
    assert_eq!(
        ask(&token).json()["lines"],
        json!([{"product": "p-1", "quantity": 3, "price_cents": price}])
    );
    assert_eq!(ask("t-0").status, 401);
}

#[test]
fn the_shop_refuses_what_is_not_in_order() {
    let target = target();
    let token = post(
        &target,
        "/login",
        "",
        &json!({"user": "u", "password": "secret"}),
    )
    .json()["token"]
        .as_str()
        .unwrap()
        .to_owned();
    let rows = [
        (
            "no token",
            "/cart",
            "",
            json!({"product": "p-1", "quantity": 1}),
            401,
        ),
        (
            "a field missing",
            "/cart",
            &*token,
            json!({"product": "p-1"}),
            400,
        ),
        (
            "nothing of it",
            "/cart",
            &token,
            json!({"product": "p-1", "quantity": 0}),
            400,
        ),
        (
            "a product that is none",
            "/cart",
            &token,
            json!({"product": "x", "quantity": 1}),
            404,
        ),
        (
            "a cart that is none",
            "/checkout",
            &token,
            json!({"cart": "c-99"}),
            404,
        ),
        (
            "a name too long",
            "/login",
            "",
            json!({"user": "u".repeat(65), "password": "secret"}),
            400,
        ),
    ];
    for (sentence, path, token, body, status) in rows {
        let response = post(&target, path, token, &body);
        assert_eq!(response.status, status, "{sentence}");
        assert!(response.json()["hint"].is_string(), "{sentence}");
    }
}

#[test]
fn an_echo_returns_method_fields_and_body() {
    let target = target();
    let request = "PUT /echo?a=1 HTTP/1.1\r\nhost: t\r\nconnection: close\r\nx-two: 1\r\nx-two: 2\r\ncontent-length: 5\r\n\r\nhello";
    let echo = exchange(&target, request).json();
    assert_eq!(
        (&echo["method"], &echo["query"], &echo["body"]),
        (&json!("PUT"), &json!("a=1"), &json!("hello"))
    );
    assert_eq!(echo["headers"]["x-two"], "1, 2");
    assert_eq!(get(&target, "/headers").json()["headers"]["host"], "t");
}

#[test]
fn a_body_longer_than_the_limit_is_refused_where_it_would_be_kept() {
    let target = target();
    let body = "x".repeat(1 << 20);
    let send = |path: &str| {
        let length = body.len() + 1;
        exchange(&target, &format!("POST {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}x")).status
    };
    assert_eq!(send("/echo"), 413);
    assert_eq!(send("/status/200"), 200);
}

#[test]
fn redirects_lead_one_step_down() {
    let target = target();
    let response = get(&target, "/redirect/2");
    assert_eq!(response.status, 302);
    assert!(
        response.head.contains("location: /redirect/1\r\n"),
        "{}",
        response.head
    );
}

#[test]
fn a_stream_comes_in_chunks_without_a_length() {
    let target = target();
    let response = get(&target, "/stream/2/1");
    assert!(
        response.head.contains("transfer-encoding: chunked"),
        "{}",
        response.head
    );
    assert_eq!(
        response.body,
        b"7\r\nline 1\n\r\n7\r\nline 2\n\r\n0\r\n\r\n"
    );
}

#[test]
fn a_flaky_route_fails_exactly_its_share() {
    let target = target();
    let failed = (0..20)
        .filter(|_| get(&target, "/flaky/25").status == 503)
        .count();
    assert_eq!(failed, 5);
}

#[test]
fn a_closing_response_ends_the_connection_unasked() {
    let target = target();
    // The request does not ask for the end; reading to it ends all the same.
    let response = exchange(&target, "GET /close HTTP/1.1\r\nhost: t\r\n\r\n");
    assert!(
        response.head.contains("connection: close"),
        "{}",
        response.head
    );
}

#[test]
fn dropped_and_reset_connections_end_without_a_response_and_count_as_aborted() {
    let target = target();
    let dropped = exchange_bytes(&target, "GET /drop HTTP/1.1\r\nhost: t\r\n\r\n");
    assert_eq!(dropped.unwrap(), b"");
    let reset = exchange_bytes(&target, "GET /reset HTTP/1.1\r\nhost: t\r\n\r\n");
    assert_eq!(reset.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let counts = target.stop();
    assert_eq!(
        (
            counts.routes["/drop"].aborted,
            counts.routes["/reset"].aborted,
            counts.finished
        ),
        (1, 1, 0)
    );
}

#[test]
fn a_response_that_was_read_whole_is_counted_by_route_and_status() {
    let target = target();
    for path in [
        "/",
        "/",
        "/status/404",
        "/bytes/300000",
        "/nowhere",
        "/products?count=x",
    ] {
        get(&target, path);
    }
    exchange(
        &target,
        "HEAD /products HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n",
    );
    let counted = get(&target, "/counter").json();
    assert_eq!(
        (
            counted["begun"].as_u64(),
            counted["finished"].as_u64(),
            counted["aborted"].as_u64()
        ),
        (Some(7), Some(7), Some(0))
    );
    let finished = |route: &str| counted["routes"][route]["finished"].clone();
    assert_eq!(finished("/"), json!({"200": 2}));
    assert_eq!(finished("/status/{code}"), json!({"404": 1}));
    assert_eq!(finished("/bytes/{n}"), json!({"200": 1}));
    assert_eq!(finished("other"), json!({"404": 1}));
    assert_eq!(finished("/products"), json!({"200": 1, "400": 1}));
    assert_eq!(
        counted["routes"].get("/counter"),
        None,
        "asking for the counts is not counted"
    );
}

#[test]
fn a_reset_of_the_counts_starts_from_zero() {
    let target = target();
    get(&target, "/");
    assert_eq!(
        exchange(
            &target,
            "POST /counter/reset HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n"
        )
        .status,
        204
    );
    get(&target, "/");
    assert_eq!(target.counts().begun, 1);
}

#[test]
fn a_response_that_the_client_never_reads_is_begun_and_not_finished() {
    let target = target();
    let mut stream = TcpStream::connect(target.addr()).unwrap();
    // More than any socket buffer takes.
    stream
        .write_all(b"GET /bytes/1073741824 HTTP/1.1\r\nhost: t\r\n\r\n")
        .unwrap();
    let mut first = [0; 1];
    stream.read_exact(&mut first).unwrap();
    let counts = target.counts();
    assert_eq!(
        (
            counts.begun,
            counts.finished,
            counts.aborted,
            counts.in_flight
        ),
        (1, 0, 0, 1)
    );
    drop(stream);
    let counts = target.stop();
    assert_eq!(
        (
            counts.begun,
            counts.finished,
            counts.aborted,
            counts.in_flight
        ),
        (1, 0, 1, 0)
    );
}

#[test]
fn head_announces_the_length_and_sends_nothing() {
    let target = target();
    let whole = get(&target, "/products?count=5").body.len();
    let response = exchange(
        &target,
        "HEAD /products?count=5 HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n",
    );
    assert!(
        response
            .head
            .contains(&format!("content-length: {whole}\r\n")),
        "{}",
        response.head
    );
    assert_eq!(response.body.len(), 0);
}

#[test]
fn a_stop_lets_the_response_under_way_end() {
    let target = target();
    let mut stream = TcpStream::connect(target.addr()).unwrap();
    stream
        .write_all(b"GET /stream/3/20 HTTP/1.1\r\nhost: t\r\n\r\n")
        .unwrap();
    let mut first = [0; 1];
    stream.read_exact(&mut first).unwrap();
    let counts = target.stop();
    assert_eq!((counts.finished, counts.aborted), (1, 0));
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("line 3\n\r\n0\r\n\r\n"), "{rest}");
}

#[test]
fn connections_are_dealt_to_threads_in_turn_and_share_one_shop_and_one_count() {
    let target = spawn(&TargetOptions {
        threads: 3,
        ..TargetOptions::default()
    })
    .unwrap();
    let token = post(
        &target,
        "/login",
        "",
        &json!({"user": "u", "password": "secret"}),
    )
    .json()["token"]
        .as_str()
        .unwrap()
        .to_owned();
    for pieces in 1..=6 {
        let cart = post(
            &target,
            "/cart",
            &token,
            &json!({"product": "p-9", "quantity": 1}),
        )
        .json();
        assert_eq!(cart["items"], pieces);
    }
    let counts = target.stop();
    assert_eq!(
        (
            counts.finished,
            counts.connections_accepted,
            counts.connections_open
        ),
        (7, 7, 0)
    );
}

#[test]
fn a_port_is_free_again_as_soon_as_its_target_was_stopped() {
    let first = target();
    get(&first, "/");
    let address = first.addr();
    first.stop();
    let second = spawn(&TargetOptions {
        addresses: vec![address],
        ..TargetOptions::default()
    })
    .unwrap();
    assert_eq!(get(&second, "/").status, 200);
}

/// What a client speaks.
#[derive(Clone, Copy, Debug)]
enum Speech {
    Http2,
    TlsHttp1,
    TlsHttp2,
}

#[test]
fn tls_and_http2_answer_and_count_like_plain_http() {
    for speech in [Speech::Http2, Speech::TlsHttp1, Speech::TlsHttp2] {
        let target = spawn(&TargetOptions {
            tls: !matches!(speech, Speech::Http2),
            ..TargetOptions::default()
        })
        .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let counts = runtime.block_on(speak(speech, &target));
        assert_eq!(
            (
                counts.begun,
                counts.finished,
                counts.aborted,
                counts.in_flight
            ),
            (5, 4, 1, 0),
            "{speech:?}"
        );
        assert_eq!(
            counts.routes["/bytes/{n}"].finished,
            [(200, 2)].into(),
            "{speech:?}"
        );
    }
}

async fn speak(speech: Speech, target: &Target) -> Counts {
    let send = |method: Method, path: &'static str| async move {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", target.url()))
            .body(Full::<Bytes>::default())
            .unwrap();
        let response = one_request(speech, target, request).await?;
        let (status, body) = (
            response.status(),
            response.into_body().collect().await?.to_bytes(),
        );
        Ok::<_, hyper::Error>((status, body.len()))
    };
    assert_eq!(
        send(Method::GET, "/").await.unwrap(),
        (StatusCode::OK, 36),
        "{speech:?}"
    );
    assert_eq!(
        send(Method::GET, "/bytes/800000").await.unwrap(),
        (StatusCode::OK, 800_000),
        "{speech:?}"
    );
    assert_eq!(
        send(Method::HEAD, "/bytes/800000").await.unwrap(),
        (StatusCode::OK, 0),
        "{speech:?}"
    );
    assert_eq!(
        send(Method::POST, "/status/503").await.unwrap(),
        (StatusCode::SERVICE_UNAVAILABLE, 0),
        "{speech:?}"
    );
    assert!(send(Method::GET, "/reset").await.is_err(), "{speech:?}");
    target.counts()
}

/// Sends one request on a connection of its own.
async fn one_request(
    speech: Speech,
    target: &Target,
    request: Request<Full<Bytes>>,
) -> hyper::Result<http::Response<hyper::body::Incoming>> {
    let stream = tokio::net::TcpStream::connect(target.addr()).await.unwrap();
    match speech {
        Speech::Http2 => over_http2(TokioIo::new(stream), request).await,
        Speech::TlsHttp2 => {
            over_http2(
                TokioIo::new(handshake(target, stream, b"h2").await),
                request,
            )
            .await
        }
        Speech::TlsHttp1 => {
            let io = TokioIo::new(handshake(target, stream, b"http/1.1").await);
            let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await?;
            tokio::spawn(connection);
            sender.send_request(request).await
        }
    }
}

async fn over_http2<T>(
    io: T,
    request: Request<Full<Bytes>>,
) -> hyper::Result<http::Response<hyper::body::Incoming>>
where
    T: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await?;
    tokio::spawn(connection);
    sender.send_request(request).await
}

/// A handshake that trusts the target's authority, and nothing else.
async fn handshake(
    target: &Target,
    stream: tokio::net::TcpStream,
    protocol: &[u8],
) -> tokio_rustls::client::TlsStream<tokio::net::TcpStream> {
    use rustls::pki_types::pem::PemObject as _;
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(
            rustls::pki_types::CertificateDer::from_pem_slice(target.ca_pem().unwrap().as_bytes())
                .unwrap(),
        )
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    TlsConnector::from(Arc::new(config))
        .connect("localhost".try_into().unwrap(), stream)
        .await
        .unwrap()
}
