//! Bodies: sent, received, limited, and held against a budget.

use bytes::Bytes;
use http::Method;
use nettare_core::sample::ErrorKind;

use crate::support::{Peer, User, config, get, request, run, run_user};

fn with_length(body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn chunked(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n",
        body.len()
    );
    [head.as_bytes(), body, b"\r\n0\r\n\r\n"].concat()
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8).collect()
}

#[test]
fn large_bodies_arrive_whole_and_in_one_piece() {
    let body = pattern(3_000_000);
    for response in [with_length(&body), chunked(&body)] {
        let peer = Peer::answering(response);
        run_user(async |user| {
            let response = user.get(&peer.url("/")).await.result.unwrap();
            assert!(response.body == body);
            assert_eq!(response.body_length, body.len() as u64);
        });
    }
}

#[test]
fn large_requests_leave_whole() {
    let peer = Peer::answering(with_length(b""));
    let body: &'static [u8] = Box::leak(pattern(3_000_000).into_boxed_slice());
    run_user(async |user| {
        let call = user
            .call(&request(Method::POST, &peer.url("/"), body))
            .await;
        call.result.unwrap();
        assert_eq!(user.funnel().sent, 1);
        assert!(call.exchange.unwrap().sent_bytes > body.len() as u64);
    });
    assert!(peer.requests()[0].contains("content-length: 3000000\r\n"));
}

#[test]
fn a_response_before_the_request_has_left_is_a_response() {
    let peer = Peer::start(|talk| {
        talk.write(b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")?;
        talk.read_request().map(|_| ())
    });
    let body: &'static [u8] = Box::leak(vec![0; 20_000_000].into_boxed_slice());
    run_user(async |user| {
        let call = user
            .call(&request(Method::POST, &peer.url("/"), body))
            .await;
        assert_eq!(call.result.unwrap().status, 413);
        assert_eq!(user.funnel().answered, 1);
    });
}

#[test]
fn a_discarded_body_is_counted_and_takes_no_budget() {
    let peer = Peer::answering(with_length(&pattern(200_000)));
    let mut config = config();
    config.bodies_budget_bytes = 0;
    run(async {
        let user = User::new(config);
        let mut request = get(&peer.url("/"));
        request.keep_body = false;
        let response = user.call(&request).await.result.unwrap();
        assert_eq!((response.body.len(), response.body_length), (0, 200_000));
    });
}

#[test]
fn a_body_over_its_limit_fails_whether_it_is_announced_kept_or_not() {
    for response in [with_length(&[0; 1001]), chunked(&[0; 1001])] {
        let peer = Peer::answering(response);
        for keep_body in [true, false] {
            let mut config = config();
            config.body_limit_bytes = 1000;
            run(async {
                let user = User::new(config);
                let mut request = get(&peer.url("/"));
                request.keep_body = keep_body;
                let failure = user.call(&request).await.result.unwrap_err();
                assert_eq!(failure.kind, ErrorKind::BodyLimit);
                assert!(
                    failure.message.contains("its limit of 1KB"),
                    "{}",
                    failure.message
                );
            });
        }
    }
    let peer = Peer::answering(with_length(&[0; 1000]));
    let mut config = config();
    config.body_limit_bytes = 1000;
    run(async { User::new(config).get(&peer.url("/")).await.result.unwrap() });
}

#[test]
fn bodies_over_the_process_budget_are_this_generators_limit() {
    for response in [with_length(&[0; 600]), chunked(&[0; 600])] {
        let peer = Peer::answering(response);
        let mut config = config();
        config.bodies_budget_bytes = 1000;
        run(async {
            let user = User::new(config);
            let held = user.get(&peer.url("/")).await.result.unwrap();
            let failure = user.get(&peer.url("/")).await.result.unwrap_err();
            assert_eq!(failure.kind, ErrorKind::GeneratorLimit);
            let body: Bytes = held.body;
            drop(body);
            user.get(&peer.url("/"))
                .await
                .result
                .expect("a dropped body gives its bytes back");
        });
    }
}
