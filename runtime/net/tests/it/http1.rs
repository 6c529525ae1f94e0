//! HTTP/1.1: where responses end, and what becomes of their connections.

use http::Method;
use nettare_core::sample::{ErrorKind, Outcome, Protocol, Stamp};

use crate::support::{Peer, User, config, get, request, run, run_user};

#[test]
fn case_070_keep_alive_opens_one_connection_for_all_requests() {
    let peer = Peer::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    let user = run_user(async |user| {
        for _ in 0..50 {
            let response = user.get(&peer.url("/")).await.result.unwrap();
            assert_eq!((response.status, &response.body[..]), (200, &b"ok"[..]));
        }
        user
    });
    assert_eq!(peer.connections(), 1);
    let funnel = user.funnel();
    assert_eq!(
        (
            funnel.attempted,
            funnel.answered,
            funnel.sent,
            funnel.connected
        ),
        (50, 50, 50, 50)
    );
    assert_eq!(
        (funnel.connections_opened, funnel.connections_reused),
        (1, 49)
    );
}

/// What is special, the method, the response, its body, and whether the connection can be used again.
const RESPONSES: &[(&str, Method, &str, &str, bool)] = &[
    (
        "content-length",
        Method::GET,
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc",
        "abc",
        true,
    ),
    (
        "chunked",
        Method::GET,
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\ntrailer: t\r\n\r\n",
        "abcde",
        true,
    ),
    (
        "an empty body",
        Method::GET,
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        "",
        true,
    ),
    (
        "case 49: HEAD with content-length",
        Method::HEAD,
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n",
        "",
        true,
    ),
    (
        "case 49: HEAD with chunked",
        Method::HEAD,
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        "",
        true,
    ),
    (
        "204 has no body",
        Method::GET,
        "HTTP/1.1 204 No Content\r\n\r\n",
        "",
        true,
    ),
    (
        "304 has no body, whatever its length says",
        Method::GET,
        "HTTP/1.1 304 Not Modified\r\ncontent-length: 10\r\n\r\n",
        "",
        true,
    ),
    (
        "case 78: interim responses are not the response",
        Method::GET,
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na",
        "a",
        true,
    ),
    (
        "HTTP/1.0 without keep-alive",
        Method::GET,
        "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na",
        "a",
        false,
    ),
    (
        "case 50: connection: close",
        Method::GET,
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\na",
        "a",
        false,
    ),
];

#[test]
fn responses_end_where_their_framing_says() {
    for (what, method, response, body, reusable) in RESPONSES {
        let peer = Peer::answering(*response);
        let user = run_user(async |user| {
            for _ in 0..2 {
                let call = user
                    .call(&request(method.clone(), &peer.url("/"), b""))
                    .await;
                let response = call
                    .result
                    .unwrap_or_else(|failure| panic!("{what}: {failure:?}"));
                assert_eq!(&response.body[..], body.as_bytes(), "{what}");
                assert_eq!(response.body_length, body.len() as u64, "{what}");
            }
            user
        });
        assert_eq!(peer.connections(), if *reusable { 1 } else { 2 }, "{what}");
        assert_eq!(user.funnel().answered, 2, "{what}");
    }
}

#[test]
fn a_body_without_framing_ends_with_the_connection() {
    let peer = Peer::start(|talk| {
        talk.read_request()?;
        talk.write(b"HTTP/1.1 200 OK\r\n\r\nall of it")
    });
    run_user(async |user| {
        for _ in 0..2 {
            let response = user.get(&peer.url("/")).await.result.unwrap();
            assert_eq!(&response.body[..], b"all of it");
            assert_eq!(response.version, Protocol::Http11);
        }
    });
    assert_eq!(peer.connections(), 2);
}

#[test]
fn a_plain_response_has_an_exact_stamp_and_phases_within_the_call() {
    let peer = Peer::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    run_user(async |user| {
        for _ in 0..20 {
            let before_ns = nettare_net::clock::monotonic_ns();
            let call = user.get(&peer.url("/")).await;
            let exchange = call.exchange.unwrap();
            assert_eq!(exchange.outcome, Outcome::Answered);
            assert_eq!(exchange.stamp, Stamp::Exact);
            assert!(exchange.phases.net_ns() > 0);
            assert!(exchange.phases.sum_ns() <= call.timing.ready_at_ns - before_ns);
            assert_eq!(call.timing.sum, exchange.phases);
            assert_eq!(call.timing.hops, 1);
        }
    });
}

#[test]
fn a_refused_connection_is_a_connect_failure() {
    let url = {
        let peer = Peer::answering("");
        peer.url("/")
    };
    run_user(async |user| {
        let call = user.get(&url).await;
        assert_eq!(call.result.unwrap_err().kind, ErrorKind::Connect);
        let funnel = user.funnel();
        assert_eq!(
            (funnel.attempted, funnel.connected, funnel.failed_total()),
            (1, 0, 1)
        );
    });
}

#[test]
fn a_missed_deadline_is_a_timeout_of_exactly_its_length() {
    let peer = Peer::start(|talk| {
        talk.read_request()?;
        talk.read_request().map(|_| ())
    });
    run_user(async |user| {
        let mut request = get(&peer.url("/"));
        request.timeout_ns = Some(20_000_000);
        let exchange = until_punctual(&user, &request).await;
        assert_eq!(exchange.outcome, Outcome::Failed(ErrorKind::Timeout));
        assert!(exchange.phases.sum_ns() <= 20_000_000, "{exchange:?}");
    });
}

/// Repeats a call that runs into its deadline until this thread looked in time: on a busy machine it may be late, and then
/// rightly says so.
async fn until_punctual(
    user: &User,
    request: &nettare_net::Request,
) -> nettare_core::sample::Exchange {
    for _ in 0..100 {
        let exchange = user.call(request).await.exchange.unwrap();
        if exchange.outcome != Outcome::Failed(ErrorKind::GeneratorLimit) {
            return exchange;
        }
    }
    panic!("this thread looked late a hundred times");
}

#[test]
fn user_stamps_are_said_to_be_users() {
    let peer = Peer::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    let mut config = config();
    config.timestamps = nettare_core::plan::Timestamps::User;
    run(async {
        let user = User::new(config);
        let call = user.get(&peer.url("/")).await;
        assert_eq!(call.exchange.unwrap().stamp, Stamp::User);
    });
}
