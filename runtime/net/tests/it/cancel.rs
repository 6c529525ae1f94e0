//! Calls that are dropped, and the funnel's identity whatever happens.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use nettare_core::sample::{ErrorKind, Outcome};
use proptest::prelude::*;

use crate::support::{Peer, User, config, get, run, run_user};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Polls `work` at most `polls` times, letting the event loop run in between, and drops it then.
async fn at_most<T>(polls: u32, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    for _ in 0..polls {
        let polled = std::future::poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
        if let Poll::Ready(output) = polled {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}

#[test]
fn a_dropped_call_closes_its_connection_and_counts_as_cancelled() {
    let (gone, is_gone) = std::sync::mpsc::channel();
    let peer = Peer::start(move |talk| {
        talk.read_request()?;
        if talk.index == 0 {
            let rest = talk.read_request();
            gone.send(rest.is_ok_and(|request| request.is_none()))
                .unwrap();
            return Ok(());
        }
        talk.write(OK)
    });
    run_user(async |user| {
        let request = get(&peer.url("/"));
        {
            let mut call = pin!(user.call(&request));
            while peer.requests().is_empty() {
                let polled =
                    std::future::poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
                assert!(polled.is_pending());
                tokio::task::yield_now().await;
            }
        }
        assert!(
            is_gone.recv().unwrap(),
            "the peer saw the end of the connection"
        );
        let funnel = user.funnel();
        assert_eq!(
            (
                funnel.failed[ErrorKind::Cancelled as usize],
                funnel.in_flight
            ),
            (1, 0)
        );
        assert_eq!(
            user.exchanges.borrow()[0].outcome,
            Outcome::Failed(ErrorKind::Cancelled)
        );
        user.call(&request).await.result.unwrap();
        let funnel = user.funnel();
        assert_eq!(
            (funnel.connections_opened, funnel.connections_reused),
            (2, 0)
        );
        assert_eq!(
            (funnel.attempted, funnel.answered, funnel.failed_total()),
            (2, 1, 1)
        );
    });
}

#[test]
fn a_call_that_the_runs_stop_cuts_short_was_in_flight() {
    let peer = Peer::start(|talk| talk.read_request().map(|_| ()));
    run_user(async |user| {
        let request = get(&peer.url("/"));
        {
            let mut call = pin!(user.call(&request));
            let polled =
                std::future::poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
            assert!(polled.is_pending());
            assert_eq!(user.funnel().in_flight, 1, "while it lasts");
            user.session.cut_short();
        }
        let funnel = user.funnel();
        assert_eq!((funnel.attempted, funnel.in_flight), (1, 1));
        assert!(user.exchanges.borrow().is_empty());
    });
}

#[test]
fn calls_of_one_session_may_overlap() {
    let peer = Peer::answering(OK);
    run_user(async |user| {
        let request = get(&peer.url("/"));
        let calls: Vec<_> = (0..8).map(|_| user.call(&request)).collect();
        for call in futures_util::future::join_all(calls).await {
            call.result.unwrap();
        }
        assert_eq!(user.funnel().connections_opened, 8);
        let calls: Vec<_> = (0..8).map(|_| user.call(&request)).collect();
        futures_util::future::join_all(calls).await;
        assert_eq!(user.funnel().connections_opened, 8, "all eight were kept");
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn the_funnel_adds_up_under_random_endings_and_cancellations(
        calls in prop::collection::vec((0..6_u8, 0..40_u32, any::<bool>()), 1..30),
    ) {
        let peer = Peer::start(|talk| {
            while let Some(request) = talk.read_request()? {
                match request.split(' ').nth(1).unwrap() {
                    "/0" => talk.reset()?,
                    "/1" => return Ok(()),
                    "/2" => talk.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")?,
                    "/3" => talk.write(b"nonsense\r\n\r\n")?,
                    _ => talk.write(OK)?,
                }
            }
            Ok(())
        });
        let mut config = config();
        config.timeout_ns = 20_000_000;
        run(async {
            let user = User::new(config);
            let mut dropped = 0;
            for (path, polls, patient) in calls {
                let request = get(&peer.url(&format!("/{path}")));
                let polls = if patient { u32::MAX } else { polls };
                dropped += u64::from(at_most(polls, user.call(&request)).await.is_none() && polls > 0);
            }
            let funnel = user.funnel();
            assert_eq!(funnel.failed[ErrorKind::Cancelled as usize], dropped, "{funnel:?}");
            assert_eq!(funnel.in_flight, 0, "{funnel:?}");
            let ended = user.exchanges.borrow().len() as u64;
            assert_eq!(ended, funnel.answered + funnel.failed_total() + funnel.retried);
            assert!(funnel.sent <= funnel.connected && funnel.connected <= funnel.attempted);
            assert_eq!(funnel.failed[ErrorKind::Invalid as usize], 0);
        });
    }
}
