//! A socket with stamps: what every connection reads from and writes to.
//!
//! It is registered with tokio through `AsyncFd` rather than as a `TcpStream`, because only `AsyncFd` lets us say "drained" after
//! a successful read: the unread count that comes with each read proves it, and so the next read need not fail first. That
//! saves one system call an exchange.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use hyper::rt::ReadBufCursor;
use rustix::net::{SendAncillaryBuffer, SendFlags, Shutdown};
use socket2::Socket;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

use crate::clock::{self, Converter};
use crate::frames::RecordScanner;
use crate::ledger::{Ledger, Receipt};
use crate::wire::{self, Control, Received, TcpInfo};

/// Below this many bytes waiting at a read the receive window cannot be near its end: the smallest buffer Linux begins with
/// (`tcp_rmem[1]`, 128 KiB) is four times as large.
const WINDOW_CHECK_FROM_BYTES: usize = 32 * 1024;

/// So many bytes may come before the end of a response's head, interim responses included. No head has as many: hyper takes a
/// fifth of it.
const BEFORE_HEAD_BYTES: u64 = 2 << 20;

/// What all sockets of a worker have in common.
#[derive(Debug)]
pub(crate) struct Stamping {
    pub(crate) control: Control,
    pub(crate) converter: Converter,
}

/// A connected socket. Clones are handles of the same one.
#[derive(Clone, Debug)]
pub(crate) struct WireStream {
    wire: Rc<Wire>,
}

#[derive(Debug)]
struct Wire {
    socket: AsyncFd<Socket>,
    stamping: Rc<Stamping>,
    ledger: Rc<Ledger>,
    /// Under TLS: whether a read ended with a record.
    records: RefCell<Option<RecordScanner>>,
    /// Reads ask the kernel even if the readiness known to tokio says that there is nothing.
    ask_anyway: Cell<bool>,
    /// What may come before the head that is waited for; `u64::MAX` while none is.
    head_bytes_left: Cell<u64>,
}

impl WireStream {
    /// Takes a connected socket that was made non-blocking and, if `stamping` says so, asked for control data.
    pub(crate) fn new(socket: AsyncFd<Socket>, stamping: Rc<Stamping>) -> WireStream {
        WireStream {
            wire: Rc::new(Wire {
                socket,
                stamping,
                ledger: Rc::default(),
                records: RefCell::default(),
                ask_anyway: Cell::new(false),
                head_bytes_left: Cell::new(u64::MAX),
            }),
        }
    }

    /// The record of what went over it.
    pub(crate) fn ledger(&self) -> &Rc<Ledger> {
        &self.wire.ledger
    }

    /// The head of a response is what comes next. Interim responses before it have no end of their own, and hyper reads them
    /// without a pause for as long as they come.
    pub(crate) fn await_head(&self) {
        self.wire.head_bytes_left.set(BEFORE_HEAD_BYTES);
    }

    /// The head is there.
    pub(crate) fn head_came(&self) {
        self.wire.head_bytes_left.set(u64::MAX);
    }

    /// From now on, what is read are TLS records.
    pub(crate) fn expect_records(&self) {
        *self.wire.records.borrow_mut() = Some(RecordScanner::default());
    }

    fn scan_records(&self, bytes: &[u8]) {
        if let Some(records) = &mut *self.wire.records.borrow_mut() {
            records.scan(bytes);
            if !records.at_end_of_record() {
                self.wire.ledger.mark_not_alone();
            }
        }
    }

    /// Whether something arrived that nobody has read, as far as the last turn of the event loop knows. For an idle connection
    /// that means it cannot be used again: the peer closed it, or broke the protocol. Costs no system call.
    pub(crate) fn is_readable(&self) -> bool {
        self.wire
            .socket
            .try_io(Interest::READABLE, |_| Ok(()))
            .is_ok()
    }

    /// The same, asked of the kernel this moment; for requests that must not be sent twice.
    pub(crate) fn is_readable_now(&self) -> bool {
        let mut byte = [0_u8; 1];
        let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
        !matches!(rustix::net::recv(self.fd(), &mut byte, flags), Err(error) if error == rustix::io::Errno::AGAIN)
    }

    /// Makes reads ask the kernel until it has nothing more: a deadline is judged by what has arrived, not by what tokio has noticed.
    pub(crate) fn ask_anyway(&self) {
        self.wire.ask_anyway.set(true);
    }

    /// The kernel's own figures of the connection.
    pub(crate) fn tcp_info(&self) -> io::Result<TcpInfo> {
        wire::tcp_info(self.fd())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.wire.socket.get_ref().as_fd()
    }

    /// Receives once, through `receive`, which is given the socket and how to ask.
    fn poll_receive(
        &self,
        context: &mut Context<'_>,
        mut receive: impl FnMut(BorrowedFd<'_>, Control) -> io::Result<Received>,
    ) -> Poll<io::Result<()>> {
        let control = self.wire.stamping.control;
        if self.wire.ask_anyway.get() {
            match unless_blocked(receive(self.fd(), control)) {
                Some(result) => {
                    return Poll::Ready(result.and_then(|received| self.enter(&received)));
                }
                None => self.wire.ask_anyway.set(false),
            }
        }
        loop {
            let mut guard = ready!(self.wire.socket.poll_read_ready(context))?;
            match unless_blocked(receive(self.fd(), control)) {
                Some(Ok(received)) => {
                    if received.unread == Some(0) && received.length > 0 {
                        guard.clear_ready();
                    }
                    return Poll::Ready(self.enter(&received));
                }
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => guard.clear_ready(),
            }
        }
    }

    /// Enters a read into the ledger.
    ///
    /// # Errors
    ///
    /// When more came before the head of a response than any head has.
    fn enter(&self, received: &Received) -> io::Result<()> {
        if received.length == 0 {
            return Ok(());
        }
        let reading = received
            .stamp_realtime_ns
            .map(|stamp_ns| self.wire.stamping.converter.convert(stamp_ns));
        let by_kernel = reading.and_then(|reading| reading.stamp_ns);
        let at_ns = by_kernel
            .or(reading.map(|reading| reading.now_ns))
            .unwrap_or_else(clock::monotonic_ns);
        let receipt = Receipt {
            at_ns,
            by_kernel: by_kernel.is_some(),
            alone: received.unread == Some(0),
        };
        self.wire
            .ledger
            .read(receipt, self.is_window_limited(received));
        self.count_before_head(received.length as u64)
    }

    fn count_before_head(&self, bytes: u64) -> io::Result<()> {
        let left = &self.wire.head_bytes_left;
        match (left.get(), left.get().checked_sub(bytes)) {
            (u64::MAX, _) => Ok(()),
            (_, Some(fewer)) => {
                left.set(fewer);
                Ok(())
            }
            (_, None) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "2 MiB of interim responses came and no final one",
            )),
        }
    }

    /// Whether the receive window was, or was about to become, what the sender waited for.
    fn is_window_limited(&self, received: &Received) -> bool {
        let waiting = received.length + received.unread.unwrap_or(0) as usize;
        waiting >= WINDOW_CHECK_FROM_BYTES && self.is_window_short(waiting)
    }

    #[cold]
    fn is_window_short(&self, waiting: usize) -> bool {
        if let Ok(buffer) = self.wire.socket.get_ref().recv_buffer_size()
            && waiting > buffer / 2
        {
            return true;
        }
        let info = self.tcp_info().unwrap_or_default();
        info.receive_window_bytes
            .is_some_and(|window| window < 2 * info.receive_segment_bytes)
    }

    fn poll_send(
        &self,
        context: &mut Context<'_>,
        mut send: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.wire.socket.poll_write_ready(context))?;
            let at_ns = clock::monotonic_ns();
            match unless_blocked(send(self.fd())) {
                Some(Ok(length)) => {
                    self.wire.ledger.wrote(at_ns);
                    return Poll::Ready(Ok(length));
                }
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => guard.clear_ready(),
            }
        }
    }

    fn send(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send(context, |fd| {
            Ok(rustix::net::send(fd, bytes, SendFlags::NOSIGNAL)?)
        })
    }

    fn send_vectored(
        &self,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_send(context, |fd| {
            Ok(rustix::net::sendmsg(
                fd,
                parts,
                &mut SendAncillaryBuffer::default(),
                SendFlags::NOSIGNAL,
            )?)
        })
    }

    fn shut_down(&self) -> io::Result<()> {
        match rustix::net::shutdown(self.fd(), Shutdown::Write) {
            // The peer was quicker; that is no failure of closing.
            Ok(()) | Err(rustix::io::Errno::NOTCONN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// None where the socket would have had to wait; interruptions by signals do not happen to non-blocking calls.
fn unless_blocked<T>(result: io::Result<T>) -> Option<io::Result<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        other => Some(other),
    }
}

impl AsyncRead for WireStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(self.poll_receive(context, |fd, control| wire::receive_into(
            fd, control, buffer
        )))?;
        self.scan_records(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for WireStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.send(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.shut_down())
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.send_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

impl WireStream {
    /// What hyper's read is made of.
    pub(crate) fn poll_read_cursor(
        &self,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<usize>> {
        let space = cursor.remaining();
        ready!(
            self.poll_receive(context, |fd, control| wire::receive_into_cursor(
                fd,
                control,
                &mut cursor
            ))
        )?;
        Poll::Ready(Ok(space - cursor.remaining()))
    }
}
