//! Connections that died while they were kept.

use std::io;

use http::Method;
use nettare_core::sample::{ErrorKind, Outcome};
use tokio::sync::mpsc;

use crate::support::{Peer, Talk, User, get, request, run_user};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Answers once; then `ending` happens to the first connection, while all later ones go on in good order.
fn dying_peer(ending: impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static) -> Peer {
    Peer::start(move |talk| {
        talk.read_request()?;
        talk.write(OK)?;
        if talk.index == 0 {
            return ending(talk);
        }
        while talk.read_request()?.is_some() {
            talk.write(OK)?;
        }
        Ok(())
    })
}

fn outcomes(user: &User) -> Vec<Outcome> {
    user.exchanges
        .borrow()
        .iter()
        .map(|exchange| exchange.outcome)
        .collect()
}

#[test]
fn case_069_a_connection_closed_while_idle_is_replaced_before_anything_is_sent() {
    let (closed, mut was_closed) = mpsc::unbounded_channel();
    let peer = dying_peer(move |talk| {
        talk.close();
        closed.send(()).unwrap();
        Ok(())
    });
    run_user(async |user| {
        user.get(&peer.url("/")).await.result.unwrap();
        // Woken by the script after it closed, so the event loop has seen the end of the stream by now.
        was_closed.recv().await.unwrap();
        let post = request(Method::POST, &peer.url("/"), b"body");
        assert_eq!(
            user.call(&post).await.result.unwrap().status,
            200,
            "not even POST is at risk"
        );
        assert_eq!(outcomes(&user), [Outcome::Answered, Outcome::Answered]);
        assert_eq!(user.funnel().connections_opened, 2);
    });
}

#[test]
fn case_069_a_connection_that_dies_unanswered_is_retried_once_on_a_fresh_one() {
    type Ending = fn(&mut Talk) -> io::Result<()>;
    let rows: &[(&str, Ending)] = &[
        ("closed when the request came", |talk| {
            talk.read_request()?;
            talk.close();
            Ok(())
        }),
        ("reset when the request came", |talk| {
            talk.read_request()?;
            talk.reset()
        }),
    ];
    for (what, ending) in rows {
        let peer = dying_peer(*ending);
        run_user(async |user| {
            user.get(&peer.url("/")).await.result.unwrap();
            let call = user.get(&peer.url("/")).await;
            assert_eq!(call.result.unwrap().status, 200, "{what}");
            assert_eq!(call.timing.hops, 2, "{what}");
            assert_eq!(
                outcomes(&user),
                [Outcome::Answered, Outcome::Retried, Outcome::Answered],
                "{what}"
            );
            let funnel = user.funnel();
            assert_eq!(
                (funnel.attempted, funnel.retried, funnel.failed_total()),
                (3, 1, 0),
                "{what}"
            );
        });
    }
}

#[test]
fn a_request_that_must_not_be_sent_twice_is_not() {
    let peer = dying_peer(|talk| {
        talk.read_request()?;
        talk.close();
        Ok(())
    });
    run_user(async |user| {
        user.get(&peer.url("/")).await.result.unwrap();
        let call = user
            .call(&request(Method::POST, &peer.url("/"), b"order"))
            .await;
        assert_eq!(call.result.unwrap_err().kind, ErrorKind::Reset);
        assert_eq!(outcomes(&user)[1..], [Outcome::Failed(ErrorKind::Reset)]);
    });
    let orders = peer
        .requests()
        .iter()
        .filter(|request| request.contains("order"))
        .count();
    assert_eq!(orders, 1);
}

#[test]
fn a_second_death_is_a_failure() {
    let peer = Peer::start(|talk| {
        talk.read_request()?;
        if talk.index == 0 {
            talk.write(OK)?;
            talk.read_request()?;
        }
        Ok(())
    });
    run_user(async |user| {
        user.get(&peer.url("/")).await.result.unwrap();
        let failure = user.get(&peer.url("/")).await.result.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::Reset);
        let expected = [
            Outcome::Answered,
            Outcome::Retried,
            Outcome::Failed(ErrorKind::Reset),
        ];
        assert_eq!(outcomes(&user), expected);
    });
}

#[test]
fn a_fresh_connection_that_dies_is_a_failure_at_once() {
    let peer = Peer::start(|talk| talk.read_request().map(|_| ()));
    run_user(async |user| {
        assert_eq!(
            user.get(&peer.url("/")).await.result.unwrap_err().kind,
            ErrorKind::Reset
        );
        assert_eq!(user.funnel().attempted, 1);
    });
}

#[test]
fn bytes_after_the_response_make_a_connection_unfit() {
    let peer = Peer::answering([OK, b"more"].concat());
    run_user(async |user| {
        for _ in 0..3 {
            assert_eq!(
                &user.get(&peer.url("/")).await.result.unwrap().body[..],
                b"ok"
            );
        }
    });
    assert_eq!(peer.connections(), 3);
}

#[test]
fn a_request_that_says_close_is_the_last_on_its_connection() {
    let peer = Peer::answering(OK);
    run_user(async |user| {
        let mut closing = get(&peer.url("/"));
        closing
            .headers
            .insert("connection", "close".parse().unwrap());
        user.call(&closing).await.result.unwrap();
        user.call(&closing).await.result.unwrap();
    });
    assert_eq!(peer.connections(), 2);
}

#[test]
fn policies_decide_how_long_connections_are_kept() {
    use nettare_core::plan::ConnectionPolicy;
    let rows = [
        (
            ConnectionPolicy::PerVu,
            1,
            "kept from iteration to iteration",
        ),
        (
            ConnectionPolicy::PerIteration,
            2,
            "kept within each of the two iterations",
        ),
        (
            ConnectionPolicy::PerRequest,
            4,
            "one for each of the four requests",
        ),
    ];
    for (policy, connections, why) in rows {
        let peer = Peer::answering(OK);
        let mut config = crate::support::config();
        config.connections = policy;
        crate::support::run(async {
            let user = User::new(config);
            for _ in 0..2 {
                user.get(&peer.url("/")).await.result.unwrap();
                user.get(&peer.url("/")).await.result.unwrap();
                user.session.end_iteration();
            }
        });
        assert_eq!(peer.connections(), connections, "{why}");
    }
}
