//! The running target, as clients see it: bytes over loopback.

mod counts;
mod life;
mod protocols;
mod routes;
mod shop;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::{Target, TargetOptions, spawn};

fn target() -> Target {
    spawn(&TargetOptions::default()).unwrap()
}

/// A response as it came over the wire.
struct Raw {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Raw {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Sends the bytes on a connection of their own and reads until the target closes it.
fn exchange(target: &Target, request: &str) -> Raw {
    let bytes = exchange_bytes(target, request).unwrap();
    let end = bytes
        .windows(4)
        .position(|w| w == b"\r\n\r\n")
        .expect("a response has a head")
        + 4;
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    Raw {
        status: head[9..12].parse().unwrap(),
        head: head.to_lowercase(),
        body: bytes[end..].to_vec(),
    }
}

fn exchange_bytes(target: &Target, request: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(target.addr())?;
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn get(target: &Target, path: &str) -> Raw {
    exchange(
        target,
        &format!("GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n"),
    )
}

fn post(target: &Target, path: &str, token: &str, body: &str) -> Raw {
    let length = body.len();
    let fields = format!("authorization: Bearer {token}\r\ncontent-length: {length}");
    exchange(
        target,
        &format!("POST {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n{fields}\r\n\r\n{body}"),
    )
}

/// A session's token.
fn log_in(target: &Target, user: &str) -> String {
    let login = post(
        target,
        "/login",
        "",
        &json!({"user": user, "password": "secret"}).to_string(),
    );
    assert_eq!(login.status, 200);
    login.json()["token"].as_str().unwrap().to_owned()
}
