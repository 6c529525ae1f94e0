//! The socket calls that no safe crate offers: receiving with control data, two socket options, `TCP_INFO`.
//!
//! All `unsafe` of the crate is here, and nothing else is. See tcp(7), socket(7), cmsg(3), and for the stamps
//! `Documentation/networking/timestamping.rst` of the Linux kernel.
//!
//! One `recvmsg` brings three things at once: the bytes, the kernel's receive stamp of the last segment among them
//! (`SO_TIMESTAMPING`), and how many bytes lie behind them unread (`TCP_INQ`, where an end of stream counts as one). The last
//! tells for free what would otherwise cost two more system calls: whether the stamp can have been moved by something later,
//! and how near the receive window is to closing.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use hyper::rt::ReadBufCursor;
use rustix::net::RecvFlags;
use socket2::Socket;
use tokio::io::ReadBuf;
use tokio::io::unix::AsyncFd;

/// What one read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// How many bytes; 0 is the end of the stream.
    pub(crate) length: usize,
    /// The kernel's stamp of the last segment among them, on `CLOCK_REALTIME`.
    pub(crate) stamp_realtime_ns: Option<u64>,
    /// How many bytes lie unread behind them, an end of stream counting as one; none when the kernel does not say.
    pub(crate) unread: Option<u32>,
}

/// Of `struct tcp_info`, what the phases need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// Smoothed round trip; on a fresh socket that of the handshake alone.
    pub(crate) round_trip_us: u32,
    /// Segments sent again in the connection's life, SYN included.
    pub(crate) retransmits: u32,
    /// The peer's segment size as seen in what it sent.
    pub(crate) receive_segment_bytes: u32,
    /// The receive window now advertised; none before Linux 6.2.
    pub(crate) receive_window_bytes: Option<u32>,
}

/// Whether a socket is asked for control data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// Stamps and the unread count.
    Kernel,
    /// None: a plain `recv`, cheaper by the control data.
    Plain,
}

/// Registers a socket with the event loop of the calling thread's runtime, which then owns it.
pub(crate) fn register(socket: Socket) -> io::Result<AsyncFd<Socket>> {
    // SAFETY: a `Socket` owns its descriptor, names the same one for as long as it lives, and nobody can take it out of the
    // `AsyncFd` but by ending the registration.
    Ok(unsafe { AsyncFd::register(socket) }?)
}

/// Receives into a buffer of tokio.
pub(crate) fn receive_into(
    fd: BorrowedFd<'_>,
    control: Control,
    buffer: &mut ReadBuf<'_>,
) -> io::Result<Received> {
    // SAFETY: `receive` writes initialised bytes only and never reads or de-initialises the others.
    let received = receive(fd, control, unsafe { buffer.unfilled_mut() })?;
    // SAFETY: the kernel wrote this many bytes at the start of the unfilled part.
    unsafe { buffer.assume_init(received.length) };
    buffer.advance(received.length);
    Ok(received)
}

/// Receives into a buffer of hyper.
pub(crate) fn receive_into_cursor(
    fd: BorrowedFd<'_>,
    control: Control,
    cursor: &mut ReadBufCursor<'_>,
) -> io::Result<Received> {
    // SAFETY: `receive` writes initialised bytes only and never de-initialises the others.
    let received = receive(fd, control, unsafe { cursor.as_mut() })?;
    // SAFETY: the kernel wrote this many bytes at the start of the unfilled part.
    unsafe { cursor.advance(received.length) };
    Ok(received)
}

/// Lends the unfilled part of hyper's buffer to something that reads as tokio does (TLS), without a copy in between.
pub(crate) fn fill_cursor<T>(
    cursor: &mut ReadBufCursor<'_>,
    fill: impl FnOnce(&mut ReadBuf<'_>) -> T,
) -> (T, usize) {
    // SAFETY: a `ReadBuf` never de-initialises what it is given.
    let mut buffer = ReadBuf::uninit(unsafe { cursor.as_mut() });
    let result = fill(&mut buffer);
    let length = buffer.filled().len();
    // SAFETY: `buffer` began at the start of the unfilled part and vouches that this many bytes are filled.
    unsafe { cursor.advance(length) };
    (result, length)
}

/// Receives into raw space; the first `length` bytes of it are initialised then.
pub(crate) fn receive(
    fd: BorrowedFd<'_>,
    control: Control,
    space: &mut [MaybeUninit<u8>],
) -> io::Result<Received> {
    match control {
        Control::Kernel => kernel::receive(fd, space),
        Control::Plain => {
            let (_, length) = rustix::net::recv(fd, space, RecvFlags::empty())?;
            Ok(Received {
                length,
                stamp_realtime_ns: None,
                unread: None,
            })
        }
    }
}

pub(crate) use kernel::{ask_for_control_data, tcp_info};

#[cfg(target_os = "linux")]
mod kernel {
    use std::os::fd::AsRawFd;
    use std::{mem, ptr};

    use super::*;

    /// Room for the stamps (three `timespec`) and the unread count, each with its header, and to spare. In words, because
    /// control data must be aligned like a `cmsghdr`.
    type ControlSpace = [u64; 16];

    pub(crate) fn receive(
        fd: BorrowedFd<'_>,
        space: &mut [MaybeUninit<u8>],
    ) -> io::Result<Received> {
        let mut part = libc::iovec {
            iov_base: space.as_mut_ptr().cast(),
            iov_len: space.len(),
        };
        let mut control = MaybeUninit::<ControlSpace>::uninit();
        // SAFETY: all-zero is a valid `msghdr`: null pointers with zero lengths.
        let mut header: libc::msghdr = unsafe { mem::zeroed() };
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of::<ControlSpace>();
        // SAFETY: the header points to one live iovec over `space` and to live control space of the stated length.
        let length = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut header, 0) };
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        // SAFETY: the kernel filled in the header, its control part included.
        Ok(unsafe { with_control_data(&header, length) })
    }

    /// # Safety
    ///
    /// `header` must have been filled in by a successful `recvmsg`, and its control space must still be alive.
    unsafe fn with_control_data(header: &libc::msghdr, length: usize) -> Received {
        let mut received = Received {
            length,
            stamp_realtime_ns: None,
            unread: None,
        };
        // SAFETY: by the contract, the kernel wrote well-formed control messages of `msg_controllen` bytes; the macros
        // walk them within that length, and unaligned reads assume nothing of where the data lie.
        unsafe {
            let mut message = libc::CMSG_FIRSTHDR(header);
            while !message.is_null() {
                let data = libc::CMSG_DATA(message);
                match ((*message).cmsg_level, (*message).cmsg_type) {
                    (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) => {
                        // The first of three is the software stamp; zero means there is none.
                        received.stamp_realtime_ns = nanoseconds(ptr::read_unaligned(data.cast()));
                    }
                    (libc::SOL_TCP, libc::TCP_CM_INQ) => {
                        let unread: libc::c_int = ptr::read_unaligned(data.cast());
                        received.unread = u32::try_from(unread).ok();
                    }
                    _ => {}
                }
                message = libc::CMSG_NXTHDR(header, message);
            }
        }
        received
    }

    fn nanoseconds(time: libc::timespec) -> Option<u64> {
        let total = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        (total != 0).then_some(total)
    }

    /// Asks for receive stamps and unread counts. To be called before `connect`: stamping is a lazy switch in the kernel, and a
    /// socket that asks for it only once data are under way misses its first stamps.
    pub(crate) fn ask_for_control_data(fd: BorrowedFd<'_>) -> io::Result<()> {
        let stamps = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, stamps)?;
        set_option(fd, libc::SOL_TCP, libc::TCP_INQ, 1)
    }

    fn set_option(
        fd: BorrowedFd<'_>,
        level: i32,
        name: i32,
        value: libc::c_uint,
    ) -> io::Result<()> {
        let length = size_of::<libc::c_uint>() as libc::socklen_t;
        // SAFETY: the value is a live integer of the stated length.
        let result = unsafe {
            libc::setsockopt(
                fd.as_raw_fd(),
                level,
                name,
                (&raw const value).cast(),
                length,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// The kernel's own figures of a connection.
    pub(crate) fn tcp_info(fd: BorrowedFd<'_>) -> io::Result<TcpInfo> {
        let mut bytes = [0_u8; 256];
        let mut length = bytes.len() as libc::socklen_t;
        let (level, name) = (libc::SOL_TCP, libc::TCP_INFO);
        // SAFETY: `bytes` has room for the stated length; the kernel writes at most that and says how much.
        let result = unsafe {
            libc::getsockopt(
                fd.as_raw_fd(),
                level,
                name,
                bytes.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(parse_tcp_info(&bytes[..bytes.len().min(length as usize)]))
    }

    /// Reads fields at their offsets in `struct tcp_info` of `linux/tcp.h`, which only grows at its end. The `libc` crate's
    /// struct stops short of the window, and an older kernel writes less than a newer struct has.
    pub(super) fn parse_tcp_info(bytes: &[u8]) -> TcpInfo {
        let field = |offset: usize| {
            let bytes = bytes.get(offset..offset + 4)?;
            Some(u32::from_ne_bytes(bytes.try_into().ok()?))
        };
        TcpInfo {
            receive_segment_bytes: field(20).unwrap_or_default(),
            round_trip_us: field(68).unwrap_or_default(),
            retransmits: field(100).unwrap_or_default(),
            receive_window_bytes: field(232),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod kernel {
    use super::*;

    pub(crate) fn receive(_: BorrowedFd<'_>, _: &mut [MaybeUninit<u8>]) -> io::Result<Received> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn ask_for_control_data(_: BorrowedFd<'_>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn tcp_info(_: BorrowedFd<'_>) -> io::Result<TcpInfo> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
