//! The network crate against real sockets on loopback: each test scripts the peer it talks to.

mod http1;
mod support;
