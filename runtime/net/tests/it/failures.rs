//! What goes wrong on the wire, told by kind.

use std::net::{Ipv6Addr, TcpListener};

use nettare_core::sample::ErrorKind;
use nettare_net::Target;

use crate::support::{Peer, User, config, get, run, run_user};

#[test]
fn broken_responses_fail_by_whose_fault_it_was() {
    let rows: &[(&str, &[u8], ErrorKind)] = &[
        ("nothing at all", b"", ErrorKind::Reset),
        (
            "half a head",
            b"HTTP/1.1 200 OK\r\ncontent-le",
            ErrorKind::Reset,
        ),
        (
            "half a body",
            b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
            ErrorKind::Reset,
        ),
        (
            "half a chunk",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\na\r\nhalf",
            ErrorKind::Reset,
        ),
        ("no HTTP", b"SSH-2.0-OpenSSH_9.2\r\n", ErrorKind::Protocol),
        (
            "a status that is no number",
            b"HTTP/1.1 abc OK\r\n\r\n",
            ErrorKind::Protocol,
        ),
        (
            "another version",
            b"HTTP/3.0 200 OK\r\n\r\n",
            ErrorKind::Protocol,
        ),
        (
            "a chunk without length",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
            ErrorKind::Protocol,
        ),
        (
            "two lengths",
            b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
            ErrorKind::Protocol,
        ),
    ];
    for (what, response, kind) in rows {
        let response = response.to_vec();
        let peer = Peer::start(move |talk| {
            talk.read_request()?;
            talk.write(&response)
        });
        run_user(async |user| {
            let failure = user.get(&peer.url("/")).await.result.expect_err(what);
            assert_eq!(failure.kind, *kind, "{what}: {}", failure.message);
            let funnel = user.funnel();
            assert_eq!(
                (funnel.attempted, funnel.failed_total(), funnel.sent),
                (1, 1, 1),
                "{what}"
            );
        });
    }
}

#[test]
fn a_reset_in_mid_body_is_a_reset() {
    let peer = Peer::start(|talk| {
        talk.read_request()?;
        talk.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")?;
        talk.reset()
    });
    run_user(async |user| {
        let call = user.get(&peer.url("/")).await;
        assert_eq!(call.result.unwrap_err().kind, ErrorKind::Reset);
    });
}

#[test]
fn a_head_without_end_is_a_protocol_failure() {
    let peer = Peer::start(|talk| {
        talk.read_request()?;
        talk.write(b"HTTP/1.1 200 OK\r\n")?;
        while talk.write(&[b'x'; 4096]).is_ok() {}
        Ok(())
    });
    run_user(async |user| {
        let failure = user.get(&peer.url("/")).await.result.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::Protocol);
    });
}

#[test]
fn what_is_not_allowed_is_denied_and_says_how_to_allow_it() {
    run_user(async |user| {
        for host in ["192.0.2.1", "shop.invalid"] {
            let failure = user
                .get(&format!("http://{host}/"))
                .await
                .result
                .unwrap_err();
            assert_eq!(failure.kind, ErrorKind::Denied);
            assert!(
                failure.message.contains(&format!("--allow-host {host}")),
                "{}",
                failure.message
            );
        }
        assert_eq!(user.funnel().failed[ErrorKind::Denied as usize], 2);
    });
}

#[test]
fn urls_that_cannot_be_requested_are_invalid() {
    for url in [
        "",
        "/path",
        "ftp://host/",
        "http://",
        "http://host:99999/",
        "mailto:a@b",
        "http://a b/",
    ] {
        assert_eq!(
            Target::parse(url).unwrap_err().kind,
            ErrorKind::Invalid,
            "{url:?}"
        );
    }
}

#[test]
fn case_053_an_ipv6_host_stands_in_brackets() {
    // A machine without IPv6 has nothing to show here.
    let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        return;
    };
    let peer = Peer::start_on(listener, |talk| {
        talk.read_request()?;
        talk.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    });
    let port = peer.address().port();
    run_user(async |user| {
        user.get(&format!("http://[::1]:{port}/"))
            .await
            .result
            .unwrap();
    });
    assert!(
        peer.requests()[0].contains(&format!("host: [::1]:{port}\r\n")),
        "{:?}",
        peer.requests()
    );
}

#[test]
fn localhost_tries_ipv4_and_then_ipv6() {
    let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        return;
    };
    let peer = Peer::start_on(listener, |talk| {
        talk.read_request()?;
        talk.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    });
    run_user(async |user| {
        let call = user
            .get(&format!("http://localhost:{}/", peer.address().port()))
            .await;
        call.result.unwrap();
        assert!(
            call.exchange.unwrap().connect_is_bound,
            "the time of the refused address is in it"
        );
    });
}

#[test]
fn case_075_each_request_carries_one_host_first_and_one_user_agent() {
    let peer = Peer::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    run_user(async |user| {
        user.get(&peer.url("/a?b=%zz")).await.result.unwrap();
        let mut own = get(&peer.url("/"));
        own.headers.insert("x-colon", "a:b:c".parse().unwrap());
        own.headers.insert("host", "other.example".parse().unwrap());
        own.headers.insert("user-agent", "mine".parse().unwrap());
        own.headers.insert("content-length", "99".parse().unwrap());
        own.headers.append("x-twice", "1".parse().unwrap());
        own.headers.append("x-twice", "2".parse().unwrap());
        user.call(&own).await.result.unwrap();
    });
    let requests = peer.requests();
    let address = peer.address();
    assert_eq!(
        requests[0],
        format!("GET /a?b=%zz HTTP/1.1\r\nhost: {address}\r\nuser-agent: nettare-test\r\n\r\n"),
        "case 74: a malformed escape is sent as it was given"
    );
    assert_eq!(
        requests[1],
        "GET / HTTP/1.1\r\nhost: other.example\r\nuser-agent: mine\r\nx-colon: a:b:c\r\nx-twice: 1\r\nx-twice: 2\r\n\r\n"
    );
}

#[test]
fn no_user_agent_is_sent_where_none_is_set() {
    let peer = Peer::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let mut config = config();
    config.user_agent = String::new();
    run(async {
        User::new(config).get(&peer.url("/")).await.result.unwrap();
    });
    assert!(!peer.requests()[0].contains("user-agent"));
}

#[test]
fn heads_beyond_all_limits_are_told_with_the_limit() {
    let fields = |count: usize, length: usize| {
        let field = format!("x: {}\r\n", "a".repeat(length)).repeat(count);
        format!("HTTP/1.1 200 OK\r\n{field}content-length: 0\r\n\r\n").into_bytes()
    };
    for (head, why) in [
        (fields(200, 1), "many fields"),
        (fields(60, 10_000), "large ones"),
    ] {
        let peer = Peer::start(move |talk| {
            talk.read_request()?;
            talk.write(&head)
        });
        run_user(async |user| {
            let failure = user.get(&peer.url("/")).await.result.unwrap_err();
            assert_eq!(failure.kind, ErrorKind::Protocol, "{why}");
            for limit in ["100 fields", "408 KiB"] {
                assert!(
                    failure.message.contains(limit),
                    "{why}: {}",
                    failure.message
                );
            }
        });
    }
}

/// The peer never comes to the point, and never lets go of the thread that reads.
#[test]
fn interim_responses_without_an_end_are_the_peers_fault() {
    let peer = Peer::start(|talk| {
        talk.read_request()?;
        let many = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000);
        while talk.write(&many).is_ok() {}
        Ok(())
    });
    run_user(async |user| {
        let failure = user.get(&peer.url("/")).await.result.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::Protocol, "{}", failure.message);
        assert!(failure.message.contains("interim"), "{}", failure.message);
    });
}

#[test]
fn a_few_interim_responses_are_passed_over() {
    let answer = [
        &b"HTTP/1.1 100 Continue\r\n\r\n".repeat(3)[..],
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
    ]
    .concat();
    let peer = Peer::answering(answer);
    run_user(async |user| {
        for _ in 0..2 {
            assert_eq!(user.get(&peer.url("/")).await.result.unwrap().status, 200);
        }
    });
}
