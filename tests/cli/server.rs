//! Servers that misbehave in one known way, and say when they were first asked.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Something that listens on loopback until the test ends.
pub(crate) struct Server {
    address: SocketAddr,
    /// Hears of each request as it is read.
    asked: Receiver<()>,
}

/// What is done with a request that has been read.
#[derive(Clone, Copy)]
pub(crate) enum Manner {
    /// It is answered.
    Answer,
    /// It is read, and the connection held open for ever.
    Hold,
    /// The connection is closed.
    HangUp,
}

impl Server {
    /// Starts one. Its threads end with the process.
    pub(crate) fn start(manner: Manner) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let (sender, asked) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                thread::spawn(move || {
                    serve(stream, manner, || {
                        // Nobody may be left who waits for it.
                        let _ = sender.send(());
                    });
                });
            }
        });
        Server { address, asked }
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Waits for the next request.
    pub(crate) fn wait_for_a_request(&self) {
        self.asked
            .recv()
            .expect("the server lives as long as the test");
    }

    /// How many requests it has read that nobody waited for.
    pub(crate) fn requests(&self) -> usize {
        self.asked.try_iter().count()
    }
}

/// A URL on loopback where nothing listens: the port was free a moment ago.
pub(crate) fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a listener has an address");
    format!("http://{address}/")
}

fn serve(mut stream: TcpStream, manner: Manner, heard: impl Fn()) {
    while read_request(&mut stream) {
        heard();
        let answered = match manner {
            Manner::Answer => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"),
            Manner::Hold => Ok(()),
            Manner::HangUp => return,
        };
        if answered.is_err() {
            return;
        }
    }
}

/// Reads up to the empty line that ends a request's head; requests here have no body.
fn read_request(stream: &mut TcpStream) -> bool {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        // A client that speaks TLS greets first (RFC 8446, section 5.1: record type 22), and no empty line will come.
        if head.first() == Some(&22) {
            return true;
        }
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    true
}
