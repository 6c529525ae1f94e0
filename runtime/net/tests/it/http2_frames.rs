//! HTTP/2 frame by frame: what a peer may do that no library's server would do on demand.

use std::io;
use std::sync::mpsc;

use nettare_core::plan::HttpVersions;
use nettare_core::sample::{ErrorKind, Outcome, Stamp};
use nettare_net::NetConfig;

use crate::support::{Peer, Talk, User, config, get, run};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200`, an entry of HPACK's static table (RFC 7541, appendix A).
const STATUS_200: &[u8] = &[0x88];
const REFUSED_STREAM: u32 = 7;

struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

fn encode(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A whole response with a body.
fn response(stream: u32, body: &[u8]) -> Vec<u8> {
    [
        encode(HEADERS, END_HEADERS, stream, STATUS_200),
        encode(DATA, END_STREAM, stream, body),
    ]
    .concat()
}

fn goaway(last_stream: u32, code: u32) -> Vec<u8> {
    encode(
        GOAWAY,
        0,
        0,
        &[last_stream.to_be_bytes(), code.to_be_bytes()].concat(),
    )
}

fn read_frame(talk: &mut Talk) -> io::Result<Option<Frame>> {
    let Some(header) = talk.read_exactly(9)? else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
    let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
    let Some(payload) = talk.read_exactly(length)? else {
        return Ok(None);
    };
    Ok(Some(Frame {
        kind: header[3],
        flags: header[4],
        stream,
        payload,
    }))
}

/// Takes the client's preface and sends our settings.
fn greet(talk: &mut Talk, settings: &[(u16, u32)]) -> io::Result<()> {
    talk.read_exactly(24)?;
    let settings: Vec<u8> = settings
        .iter()
        .flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
        .collect();
    talk.write(&encode(SETTINGS, 0, 0, &settings))
}

/// The stream of the next request that is there in whole; none at the end of the connection.
fn next_request(talk: &mut Talk) -> io::Result<Option<u32>> {
    while let Some(frame) = read_frame(talk)? {
        match frame.kind {
            SETTINGS if frame.flags & ACK == 0 => talk.write(&encode(SETTINGS, ACK, 0, &[]))?,
            HEADERS | DATA if frame.flags & END_STREAM != 0 => return Ok(Some(frame.stream)),
            _ => {}
        }
    }
    Ok(None)
}

fn prior_knowledge() -> NetConfig {
    NetConfig {
        http: HttpVersions::Http2,
        ..config()
    }
}

fn outcomes(user: &User) -> Vec<Outcome> {
    let mut outcomes: Vec<_> = user
        .exchanges
        .borrow()
        .iter()
        .map(|exchange| exchange.outcome)
        .collect();
    outcomes.sort_by_key(|outcome| format!("{outcome:?}"));
    outcomes
}

#[test]
fn case_066_streams_above_goaway_are_retried_on_a_new_connection_and_not_failures() {
    let peer = Peer::start(|talk| {
        greet(talk, &[])?;
        if talk.index == 0 {
            let streams = [
                next_request(talk)?,
                next_request(talk)?,
                next_request(talk)?,
            ];
            assert_eq!(streams, [Some(1), Some(3), Some(5)]);
            talk.write(&goaway(1, 0))?;
            talk.write(&response(1, b"first"))?;
            talk.read_exactly(usize::MAX).map(|_| ())
        } else {
            while let Some(stream) = next_request(talk)? {
                talk.write(&response(stream, b"later"))?;
            }
            Ok(())
        }
    });
    run(async {
        let user = User::new(prior_knowledge());
        let request = get(&peer.url("/"));
        let calls = (0..3).map(|_| user.call(&request));
        let mut bodies = Vec::new();
        for call in futures_util::future::join_all(calls).await {
            bodies.push(String::from_utf8(call.result.unwrap().body.to_vec()).unwrap());
        }
        bodies.sort();
        assert_eq!(bodies, ["first", "later", "later"]);
        let funnel = user.funnel();
        assert_eq!(
            (
                funnel.attempted,
                funnel.answered,
                funnel.retried,
                funnel.failed_total()
            ),
            (5, 3, 2, 0)
        );
    });
    assert_eq!(peer.connections(), 2);
}

#[test]
fn a_refused_stream_is_tried_again_but_not_for_ever() {
    let reset = |stream| encode(RST_STREAM, 0, stream, &REFUSED_STREAM.to_be_bytes());
    for (refusals, retries, fails) in [(1, 1, false), (u32::MAX, 3, true)] {
        let peer = Peer::start(move |talk| {
            greet(talk, &[])?;
            let mut left = refusals;
            while let Some(stream) = next_request(talk)? {
                let refuse = left > 0;
                left = left.saturating_sub(1);
                talk.write(&if refuse {
                    reset(stream)
                } else {
                    response(stream, b"ok")
                })?;
            }
            Ok(())
        });
        run(async {
            let user = User::new(prior_knowledge());
            let result = user.get(&peer.url("/")).await.result;
            assert_eq!(
                result
                    .as_ref()
                    .err()
                    .map(|failure| (failure.kind, failure.code)),
                fails.then_some((ErrorKind::Reset, REFUSED_STREAM))
            );
            assert_eq!(user.funnel().retried, retries);
        });
    }
}

#[test]
fn the_peers_limit_on_streams_is_obeyed_and_waiting_for_it_is_blocked() {
    const MAX_CONCURRENT_STREAMS: u16 = 3;
    let peer = Peer::start(|talk| {
        greet(talk, &[(MAX_CONCURRENT_STREAMS, 1)])?;
        while let Some(stream) = next_request(talk)? {
            // Were there another stream, its head would be among what has arrived by the time of the answer's way.
            talk.write(&encode(HEADERS, END_HEADERS, stream, STATUS_200))?;
            talk.write(&encode(6, 0, 0, &[0; 8]))?;
            loop {
                let frame = read_frame(talk)?.ok_or(io::ErrorKind::UnexpectedEof)?;
                assert_ne!(frame.kind, HEADERS, "two streams at one time");
                if frame.kind == 6 && frame.flags & ACK != 0 {
                    break;
                }
            }
            talk.write(&encode(DATA, END_STREAM, stream, &[]))?;
        }
        Ok(())
    });
    run(async {
        let user = User::new(prior_knowledge());
        let request = get(&peer.url("/"));
        user.call(&request)
            .await
            .result
            .expect("the first, after which the settings are known");
        let calls = (0..4).map(|_| user.call(&request));
        let mut blocked = 0;
        for call in futures_util::future::join_all(calls).await {
            assert_eq!(call.result.unwrap().status, 200);
            blocked += u32::from(call.exchange.unwrap().phases.blocked_ns > 0);
        }
        assert_eq!(blocked, 3, "all but one waited");
    });
    assert_eq!(peer.connections(), 1);
}

#[test]
fn a_stream_whose_end_has_another_behind_it_in_one_read_has_a_bound() {
    let (arrived, has_arrived) = mpsc::channel();
    let (done, is_done) = mpsc::channel();
    let peer = Peer::start(move |talk| {
        greet(talk, &[])?;
        let streams = [next_request(talk)?.unwrap(), next_request(talk)?.unwrap()];
        arrived.send(()).unwrap();
        talk.write(&response(streams[0], b"a"))?;
        talk.write(&response(streams[1], b"b"))?;
        done.send(()).unwrap();
        talk.read_exactly(usize::MAX).map(|_| ())
    });
    run(async {
        let user = User::new(prior_knowledge());
        let calls: Vec<_> = (0..2)
            .map(|_| {
                let (session, request) = (user.session.clone(), get(&peer.url("/")));
                tokio::task::spawn_local(async move { session.call(&request, &mut |_| ()).await })
            })
            .collect();
        while has_arrived.try_recv().is_err() {
            tokio::task::yield_now().await;
        }
        is_done.recv().unwrap();
        let mut stamps = Vec::new();
        for call in calls {
            let call = call.await.unwrap();
            stamps.push((call.result.unwrap().body, call.exchange.unwrap().stamp));
        }
        stamps.sort();
        assert_eq!(
            stamps,
            [("a".into(), Stamp::Bound), ("b".into(), Stamp::Exact)]
        );
    });
}

#[test]
fn a_reset_stream_and_a_broken_connection_fail_with_the_peers_code() {
    const INTERNAL_ERROR: u32 = 2;
    type Bytes = fn(u32) -> Vec<u8>;
    let rows: &[(&str, Bytes, ErrorKind, u32)] = &[
        (
            "a reset stream",
            |stream| encode(RST_STREAM, 0, stream, &INTERNAL_ERROR.to_be_bytes()),
            ErrorKind::Reset,
            INTERNAL_ERROR,
        ),
        (
            "the end of the connection with an error",
            |stream| goaway(stream, INTERNAL_ERROR),
            ErrorKind::Reset,
            2,
        ),
        (
            "the end of the connection",
            |_| Vec::new(),
            ErrorKind::Reset,
            0,
        ),
        (
            "a frame on a stream that cannot be",
            |_| encode(DATA, 0, 1001, b"x"),
            ErrorKind::Protocol,
            1,
        ),
        (
            "a frame longer than allowed",
            |_| vec![0xff; 9],
            ErrorKind::Protocol,
            6,
        ),
    ];
    for (what, bytes, kind, code) in rows {
        let peer = Peer::start(move |talk| {
            greet(talk, &[])?;
            let stream = next_request(talk)?.unwrap();
            talk.write(&bytes(stream))
        });
        run(async {
            let user = User::new(prior_knowledge());
            let failure = user.get(&peer.url("/")).await.result.expect_err(what);
            assert_eq!(
                (failure.kind, failure.code),
                (*kind, *code),
                "{what}: {}",
                failure.message
            );
            assert_eq!(outcomes(&user), [Outcome::Failed(*kind)], "{what}");
        });
    }
}

#[test]
fn a_peer_that_speaks_http_1_is_told_from_one_that_breaks_http_2() {
    let peer = Peer::start(|talk| {
        talk.read_exactly(24)?;
        talk.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
    });
    run(async {
        let failure = User::new(prior_knowledge())
            .get(&peer.url("/"))
            .await
            .result
            .unwrap_err();
        assert_eq!(failure.kind, ErrorKind::Protocol);
        assert!(failure.message.contains("--http1"), "{}", failure.message);
    });
}

#[test]
fn a_shared_connection_that_dies_unanswered_is_replaced_once() {
    let peer = Peer::start(|talk| {
        greet(talk, &[])?;
        let stream = next_request(talk)?.unwrap();
        talk.write(&response(stream, b"ok"))?;
        if talk.index == 0 {
            next_request(talk)?;
            return Ok(());
        }
        while let Some(stream) = next_request(talk)? {
            talk.write(&response(stream, b"ok"))?;
        }
        Ok(())
    });
    run(async {
        let user = User::new(prior_knowledge());
        user.get(&peer.url("/")).await.result.unwrap();
        user.get(&peer.url("/")).await.result.unwrap();
        assert_eq!(
            outcomes(&user),
            [Outcome::Answered, Outcome::Answered, Outcome::Retried]
        );
    });
    assert_eq!(peer.connections(), 2);
}

#[test]
fn a_dropped_call_resets_its_stream_and_leaves_the_connection_to_others() {
    let (reset, was_reset) = mpsc::channel();
    let peer = Peer::start(move |talk| {
        greet(talk, &[])?;
        let first = next_request(talk)?.unwrap();
        loop {
            let frame = read_frame(talk)?.ok_or(io::ErrorKind::UnexpectedEof)?;
            if frame.kind == RST_STREAM {
                assert_eq!(
                    (frame.stream, &frame.payload[..]),
                    (first, &[0, 0, 0, 8][..]),
                    "CANCEL"
                );
                break;
            }
        }
        reset.send(()).unwrap();
        while let Some(stream) = next_request(talk)? {
            talk.write(&response(stream, b"ok"))?;
        }
        Ok(())
    });
    run(async {
        let user = User::new(prior_knowledge());
        let request = get(&peer.url("/"));
        {
            let mut call = std::pin::pin!(user.call(&request));
            while user.funnel().sent == 0 {
                let polled = std::future::poll_fn(|context| {
                    std::task::Poll::Ready(call.as_mut().poll(context))
                });
                assert!(polled.await.is_pending());
                tokio::task::yield_now().await;
            }
        }
        while was_reset.try_recv().is_err() {
            tokio::task::yield_now().await;
        }
        user.call(&request).await.result.unwrap();
        let funnel = user.funnel();
        assert_eq!(
            (
                funnel.connections_opened,
                funnel.answered,
                funnel.failed[ErrorKind::Cancelled as usize]
            ),
            (1, 1, 1)
        );
    });
}

#[test]
fn a_response_in_time_is_answered_however_late_the_shared_connection_is_looked_at() {
    let (arrived, has_arrived) = mpsc::channel();
    let (done, is_done) = mpsc::channel();
    let deadline_ns = 200_000_000;
    let peer = Peer::start(move |talk| {
        greet(talk, &[])?;
        let stream = next_request(talk)?.unwrap();
        let arrived_ns = nettare_net::clock::monotonic_ns();
        arrived.send(()).unwrap();
        talk.write(&response(stream, b"ok"))?;
        while nettare_net::clock::monotonic_ns() < arrived_ns + 2 * deadline_ns {}
        done.send(()).unwrap();
        talk.read_exactly(usize::MAX).map(|_| ())
    });
    run(async {
        let user = User::new(prior_knowledge());
        let (session, mut request) = (user.session.clone(), get(&peer.url("/")));
        request.timeout_ns = Some(deadline_ns);
        let call =
            tokio::task::spawn_local(async move { session.call(&request, &mut |_| ()).await });
        while has_arrived.try_recv().is_err() {
            tokio::task::yield_now().await;
        }
        is_done.recv().unwrap();
        assert_eq!(call.await.unwrap().result.unwrap().status, 200);
    });
}
