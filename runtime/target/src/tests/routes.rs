//! The awkward routes, one by one.

use serde_json::json;

use super::{exchange, get, target};

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
