//! What the target counts, against what a client did.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use super::{exchange, exchange_bytes, get, target};

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
