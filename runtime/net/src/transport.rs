//! What a protocol speaks over: the socket itself, or TLS on it. Plain bytes pass here, and are entered into the ledger.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

use crate::ledger::Ledger;
use crate::stream::WireStream;
use crate::wire;

/// A connection as protocols see it.
#[derive(Debug)]
pub(crate) enum Transport {
    /// The socket itself.
    Plain(WireStream),
    /// TLS on it. Boxed: its state is twenty times a socket's.
    Tls(Box<TlsStream<WireStream>>),
}

impl Transport {
    /// The socket below.
    pub(crate) fn wire(&self) -> &WireStream {
        match self {
            Transport::Plain(stream) => stream,
            Transport::Tls(stream) => stream.get_ref().0,
        }
    }

    fn ledger(&self) -> &Ledger {
        self.wire().ledger()
    }

    /// Whether the peer chose HTTP/2 during the handshake.
    pub(crate) fn chose_http2(&self) -> bool {
        match self {
            Transport::Plain(_) => false,
            Transport::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }

    /// Enters `length` plain bytes that were read. Under TLS some may be left inside, or its end was reached.
    fn read(&self, length: usize) {
        let drained = match self {
            Transport::Plain(_) => true,
            Transport::Tls(stream) => stream.get_ref().1.wants_read(),
        };
        if length > 0 {
            self.ledger().data_read(length, drained);
        }
    }

    fn wrote(&self, result: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(length)) = result {
            self.ledger().data_written(*length);
        }
    }
}

impl hyper::rt::Read for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let length = match this {
            Transport::Plain(stream) => ready!(stream.poll_read_cursor(context, cursor))?,
            Transport::Tls(stream) => {
                let (result, length) = wire::fill_cursor(&mut cursor, |buffer| {
                    Pin::new(stream).poll_read(context, buffer)
                });
                ready!(result)?;
                length
            }
        };
        this.read(length);
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write(self, context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(self, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_shutdown(self, context)
    }

    fn is_write_vectored(&self) -> bool {
        AsyncWrite::is_write_vectored(self)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write_vectored(self, context, parts)
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(match this {
            Transport::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Transport::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        })?;
        let length = buffer.filled().len() - before;
        this.read(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = match this {
            Transport::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Transport::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        };
        this.wrote(&result);
        result
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Transport::Tls(stream) = this {
            ready!(Pin::new(stream).poll_flush(context))?;
        }
        this.ledger().flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Transport::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Transport::Plain(stream) => stream.is_write_vectored(),
            Transport::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = match this {
            Transport::Plain(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Transport::Tls(stream) => Pin::new(stream).poll_write_vectored(context, parts),
        };
        this.wrote(&result);
        result
    }
}
