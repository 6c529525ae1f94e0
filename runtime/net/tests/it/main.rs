//! The network crate against real sockets on loopback: each test scripts the peer it talks to.

mod bodies;
mod cancel;
mod failures;
mod http1;
mod http2;
mod http2_frames;
mod keep_alive;
mod redirects;
mod stamps;
mod support;
mod tls;
