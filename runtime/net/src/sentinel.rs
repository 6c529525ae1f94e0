//! The socket that keeps the kernel's receive stamping switched on.
//!
//! The kernel stamps what it receives only while some socket asks for it, and the switch is slow: it is thrown by a worker of
//! the kernel, which rewrites code on all processors. A process that opens and closes connections would throw it again and
//! again and miss a good part of its stamps. One idle socket that asks for stamps as long as the process lives prevents that.
//! It is the process's, not a run's, since the switch is not a run's either.

use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use crate::wire::{self, Control};

/// So many stamps in a row, so far apart, and the switch is believed to be on and to stay on: another process that just ended
/// may have asked for it to be switched off, and that takes effect only now.
const IN_A_ROW: u32 = 10;
const APART: Duration = Duration::from_micros(500);

/// After so many bytes the kernel is believed never to stamp.
const ATTEMPTS: u32 = 200;

static SENTINEL: OnceLock<Result<Socket, String>> = OnceLock::new();

/// Makes sure that the kernel stamps what this process receives, from now on.
///
/// # Errors
///
/// Why it does not.
pub fn keep_stamping() -> Result<(), String> {
    let sentinel = SENTINEL.get_or_init(|| working_sentinel().map_err(|error| error.to_string()));
    sentinel.as_ref().map(|_| ()).map_err(Clone::clone)
}

/// A socket that asks for stamps, once it is known that asking brings any.
fn working_sentinel() -> io::Result<Socket> {
    let sentinel = Socket::new(Domain::IPV4, Type::STREAM.cloexec(), None)?;
    wire::ask_for_control_data(sentinel.as_fd())?;
    prove_stamps()?;
    Ok(sentinel)
}

/// Sends bytes to ourselves until enough of them are stamped. Some sandboxes accept the option and never stamp.
#[expect(
    clippy::disallowed_methods,
    reason = "there is no I/O thread yet that could be kept from its sockets"
)]
fn prove_stamps() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let receiver = Socket::new(Domain::IPV4, Type::STREAM.cloexec(), None)?;
    wire::ask_for_control_data(receiver.as_fd())?;
    receiver.connect(&listener.local_addr()?.into())?;
    receiver.set_read_timeout(Some(Duration::from_secs(1)))?;
    // Ends with a reset: otherwise the listener's port would stay in TIME_WAIT for a minute, which a run with few ports would miss.
    receiver.set_linger(Some(Duration::ZERO))?;
    let (mut sender, _) = listener.accept()?;
    sender.set_nodelay(true)?;
    let mut in_a_row = 0;
    for _ in 0..ATTEMPTS {
        sender.write_all(b"?")?;
        let mut space = [MaybeUninit::uninit(); 1];
        let received = wire::receive(receiver.as_fd(), Control::Kernel, &mut space)?;
        in_a_row = if received.stamp_realtime_ns.is_some() {
            in_a_row + 1
        } else {
            0
        };
        if in_a_row == IN_A_ROW {
            return Ok(());
        }
        std::thread::sleep(APART);
    }
    Err(io::Error::other("it accepts the option but does not stamp"))
}
