//! Redirects: each hop an exchange of its own.

use http::Method;
use nettare_core::sample::{ErrorKind, Outcome};

use crate::support::{Peer, Talk, get, request, run_user};

/// Answers `/n` with a redirect of `status` to `/n-1`, and `/0` with 200.
fn counting_down(status: u16) -> Peer {
    Peer::start(move |talk| {
        while let Some(request) = talk.read_request()? {
            let left: u32 = path_of(&request)[1..].parse().unwrap();
            if left == 0 {
                talk.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone")?;
            } else {
                redirect(talk, status, &format!("/{}", left - 1))?;
            }
        }
        Ok(())
    })
}

fn path_of(request: &str) -> &str {
    request.split(' ').nth(1).unwrap()
}

fn redirect(talk: &mut Talk, status: u16, location: &str) -> std::io::Result<()> {
    talk.write(
        format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
            .as_bytes(),
    )
}

#[test]
fn every_hop_is_an_exchange_and_the_call_sums_them() {
    let peer = counting_down(302);
    run_user(async |user| {
        let call = user.get(&peer.url("/3")).await;
        let response = call.result.unwrap();
        assert_eq!((response.status, &response.body[..]), (200, &b"done"[..]));
        assert_eq!(response.target.as_str(), peer.url("/0"));
        let exchanges = user.exchanges.borrow();
        assert_eq!(
            exchanges.iter().map(|e| e.status).collect::<Vec<_>>(),
            [302, 302, 302, 200]
        );
        assert!(exchanges.iter().all(|e| e.outcome == Outcome::Answered));
        assert_eq!(call.timing.hops, 4);
        let sum: u64 = exchanges.iter().map(|e| e.phases.sum_ns()).sum();
        assert_eq!(call.timing.sum.sum_ns(), sum);
        assert_eq!(call.timing.last, exchanges[3].phases);
    });
    assert_eq!(peer.connections(), 1, "all hops go to one origin");
}

#[test]
fn the_limit_on_redirects_is_exact() {
    let peer = counting_down(307);
    run_user(async |user| {
        let mut request = get(&peer.url("/3"));
        request.max_redirects = Some(3);
        assert_eq!(
            user.call(&request).await.result.unwrap().status,
            200,
            "three are enough"
        );
        request.max_redirects = Some(2);
        let failure = user.call(&request).await.result.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::TooManyRedirects);
        request.max_redirects = Some(0);
        assert_eq!(
            user.call(&request).await.result.unwrap().status,
            307,
            "none are followed"
        );
    });
}

#[test]
fn a_call_that_its_redirects_fail_has_failed_with_its_last_exchange() {
    let rows = [
        ("/", Some(2), ErrorKind::TooManyRedirects, 3, "a loop"),
        (
            "/",
            None,
            ErrorKind::TooManyRedirects,
            11,
            "a loop, by the default limit",
        ),
        (
            "file:///etc/passwd",
            None,
            ErrorKind::Protocol,
            1,
            "to a file",
        ),
        ("http://[broken", None, ErrorKind::Protocol, 1, "to no URL"),
        ("http://a b/", None, ErrorKind::Protocol, 1, "to no host"),
    ];
    for (location, max_redirects, kind, hops, sentence) in rows {
        let peer = Peer::start(move |talk| {
            while talk.read_request()?.is_some() {
                redirect(talk, 302, location)?;
            }
            Ok(())
        });
        run_user(async |user| {
            let mut request = get(&peer.url("/"));
            request.max_redirects = max_redirects;
            let call = user.call(&request).await;
            assert_eq!(call.result.unwrap_err().kind, kind, "{sentence}");
            let exchanges = user.exchanges.borrow();
            let (last, before) = exchanges.split_last().unwrap();
            assert_eq!(
                (last.outcome, last.status),
                (Outcome::Failed(kind), 302),
                "{sentence}"
            );
            assert!(
                before.iter().all(|e| e.outcome == Outcome::Answered),
                "{sentence}"
            );
            let funnel = user.funnel();
            assert_eq!(
                (
                    funnel.attempted,
                    funnel.answered,
                    funnel.failed[kind as usize]
                ),
                (hops, hops - 1, 1),
                "{sentence}"
            );
        });
    }
}

#[test]
fn case_058_an_empty_location_ends_the_call_with_that_response() {
    let peer = Peer::start(|talk| {
        while talk.read_request()?.is_some() {
            redirect(talk, 302, "")?;
        }
        Ok(())
    });
    run_user(async |user| {
        assert_eq!(user.get(&peer.url("/")).await.result.unwrap().status, 302);
    });
}

#[test]
fn case_065_a_body_is_replayed_or_dropped_as_the_status_says() {
    for (status, line, replayed) in [
        (307, "POST /0 HTTP/1.1", true),
        (308, "POST /0 HTTP/1.1", true),
        (303, "GET /0 HTTP/1.1", false),
    ] {
        let peer = counting_down(status);
        run_user(async |user| {
            let call = user
                .call(&request(Method::POST, &peer.url("/1"), b"the body"))
                .await;
            call.result.unwrap();
        });
        let last = peer.requests().pop().unwrap();
        assert!(last.starts_with(line), "{status}: {last}");
        assert_eq!(last.ends_with("the body"), replayed, "{status}: {last}");
        assert_eq!(
            last.contains("content-length"),
            replayed,
            "{status}: {last}"
        );
    }
}

#[test]
fn a_user_in_the_url_is_told_to_its_origin_and_to_nobody_else() {
    let other = Peer::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let elsewhere = other.url("/");
    let peer = Peer::start(move |talk| {
        for location in ["/again", elsewhere.as_str()] {
            talk.read_request()?;
            redirect(talk, 302, location)?;
        }
        Ok(())
    });
    run_user(async |user| {
        let url = peer.url("/").replace("http://", "http://anna:hush@");
        let response = user.get(&url).await.result.unwrap();
        assert_eq!(response.target.as_str(), other.url("/"));
    });
    // `anna:hush`, by RFC 7617.
    let basic = "authorization: Basic YW5uYTpodXNo";
    for request in peer.requests() {
        assert!(request.contains(basic), "{request}");
        assert!(!request.contains("anna"), "{request}");
    }
    assert_eq!(peer.requests().len(), 2);
    assert!(!other.requests()[0].contains("uthorization"));
}

#[test]
fn credentials_stay_with_their_origin() {
    let other = Peer::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let elsewhere = other.url("/");
    let peer = Peer::start(move |talk| {
        while talk.read_request()?.is_some() {
            redirect(talk, 302, &elsewhere)?;
        }
        Ok(())
    });
    run_user(async |user| {
        let mut request = get(&peer.url("/"));
        request
            .headers
            .insert("authorization", "Bearer secret".parse().unwrap());
        request
            .headers
            .insert("cookie", "session=secret".parse().unwrap());
        user.call(&request).await.result.unwrap();
    });
    assert!(peer.requests()[0].contains("secret"));
    assert!(
        !other.requests()[0].contains("secret"),
        "{:?}",
        other.requests()
    );
}

#[test]
fn a_redirect_to_where_nothing_may_go_is_denied() {
    let peer = Peer::start(|talk| {
        talk.read_request()?;
        redirect(talk, 302, "http://192.0.2.1/")
    });
    run_user(async |user| {
        let call = user.get(&peer.url("/")).await;
        assert_eq!(call.result.unwrap_err().kind, ErrorKind::Denied);
        assert_eq!(call.timing.hops, 2);
        let funnel = user.funnel();
        assert_eq!(
            (funnel.attempted, funnel.answered, funnel.failed_total()),
            (2, 1, 1)
        );
    });
}
