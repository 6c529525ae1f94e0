//! A connection's socket, and the ways in which a request can have it cut.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How a connection is to end without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Closed as usual (FIN).
    Close,
    /// Reset (RST): what was in flight is lost, in both directions.
    Reset,
}

/// What a connection's requests tell the connection. A request cannot reach the socket itself, which lies under hyper and TLS.
#[derive(Debug, Default)]
pub(crate) struct Link {
    /// 0 while the connection may go on, else 1 + the [`Cut`]. Written by a request, read by the connection after each turn.
    cut: AtomicU8,
}

impl Link {
    /// Asks for the connection to be cut as soon as hyper hands control back.
    pub(crate) fn cut(&self, how: Cut) {
        self.cut.store(1 + how as u8, Ordering::Relaxed);
    }

    /// Whether and how the connection is to be cut.
    pub(crate) fn asked(&self) -> Option<Cut> {
        match self.cut.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(Cut::Close),
            _ => Some(Cut::Reset),
        }
    }
}

/// A TCP connection that resets its peer when it is dropped, if its [`Link`] says so.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    link: Arc<Link>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, link: Arc<Link>) -> Socket {
        Socket { stream, link }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.link.asked() == Some(Cut::Reset) {
            // A lingering time of zero makes close(2) send a RST. Should it fail, the peer sees a FIN: still no response.
            drop(self.stream.set_zero_linger());
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
