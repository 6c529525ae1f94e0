//! Starting, sharing out and stopping.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::{get, log_in, post, target};
use crate::{TargetOptions, spawn};

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
    let token = log_in(&target, "anna");
    for pieces in 1..=6 {
        let cart = post(
            &target,
            "/cart",
            &token,
            r#"{"product":"p-9","quantity":1}"#,
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
