//! From an origin to a connection: resolve, connect, shake hands.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use nettare_core::sample::{ErrorKind, Failure};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::unix::AsyncFd;

use crate::client::Client;
use crate::error::{errno, failure};
use crate::record::{Record, Stage};
use crate::stream::WireStream;
use crate::target::Origin;
use crate::transport::Transport;
use crate::wire::{self, Control};

/// Opens a connection to `origin`. Its phases go into `record`.
///
/// # Errors
///
/// Kinds `denied`, `dns`, `connect`, `tls`, `generator-limit`.
pub(crate) async fn dial(
    client: &Client,
    origin: &Origin,
    record: &Record,
) -> Result<Transport, Failure> {
    let addresses = addresses_of(client, origin, record).await?;
    let stream = connect_to_any(client, origin, &addresses, record).await?;
    client.counters.connections_opened.increment();
    record.mark_opened();
    if !origin.secure {
        return Ok(Transport::Plain(stream));
    }
    record.enter(Stage::Handshaking);
    let wire = stream.clone();
    wire.expect_records();
    let stream = client.shared.tls.connect(&origin.host, stream).await?;
    record.leave(wire.ledger().flights_ns());
    Ok(Transport::Tls(Box::new(stream)))
}

/// The addresses to try, in order; all of them allowed, by the name or each by itself.
async fn addresses_of(
    client: &Client,
    origin: &Origin,
    record: &Record,
) -> Result<Vec<IpAddr>, Failure> {
    let allow = &client.shared.config.allow;
    let named = allow.allows_host(&origin.host);
    if let Ok(address) = origin.host.parse::<IpAddr>() {
        return if named {
            Ok(vec![address])
        } else {
            Err(denied(&origin.host))
        };
    }
    // Without a network to match, no address can let the name in; asking the resolver would only tell others what a guest
    // wanted to tell them.
    if !named && !allow.has_networks() {
        return Err(denied(&origin.host));
    }
    record.enter(Stage::Resolving);
    let resolved = client.shared.dns.resolve(&origin.host).await?;
    record.leave(resolved.waited_ns);
    let mut addresses = resolved.addresses;
    addresses.retain(|&address| named || allow.allows_address(address));
    if addresses.is_empty() {
        Err(denied(&origin.host))
    } else {
        Ok(addresses)
    }
}

fn denied(host: &str) -> Failure {
    let message =
        format!("{host} is not among the hosts that may be reached; add --allow-host {host}");
    failure(ErrorKind::Denied, 0, message)
}

/// Tries the addresses in turn. Of several failures the first is told, since it is of the address that was preferred.
async fn connect_to_any(
    client: &Client,
    origin: &Origin,
    addresses: &[IpAddr],
    record: &Record,
) -> Result<WireStream, Failure> {
    record.enter(Stage::Connecting);
    let mut first_failure = None;
    for &address in addresses {
        match connect(client, SocketAddr::new(address, origin.port)).await {
            Ok(stream) => {
                end_connecting(record, &stream, first_failure.is_some());
                return Ok(stream);
            }
            Err(error) => {
                let failed = connect_failure(&error, SocketAddr::new(address, origin.port));
                let is_ours = failed.kind == ErrorKind::GeneratorLimit;
                let told = first_failure.get_or_insert(failed);
                if is_ours {
                    return Err(told.clone());
                }
            }
        }
    }
    Err(first_failure.unwrap_or_else(|| {
        failure(
            ErrorKind::Dns,
            0,
            format!("{} has no address that may be connected to", origin.host),
        )
    }))
}

/// The kernel's round trip of the handshake, unless it had to send something twice: then that figure is of the last try alone,
/// and the time from the first is all that is known.
fn end_connecting(record: &Record, stream: &WireStream, tried_others: bool) {
    let elapsed_ns = record.elapsed_ns();
    match stream.tcp_info() {
        Ok(info) if info.retransmits == 0 && !tried_others => {
            record.leave((u64::from(info.round_trip_us) * 1_000).min(elapsed_ns));
        }
        _ => {
            record.leave(elapsed_ns);
            record.mark_connect_as_bound();
        }
    }
}

async fn connect(client: &Client, address: SocketAddr) -> io::Result<WireStream> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM.nonblocking().cloexec(),
        Some(Protocol::TCP),
    )?;
    socket.set_tcp_nodelay(true)?;
    if client.stamping.control == Control::Kernel {
        wire::ask_for_control_data(socket.as_fd())?;
    }
    match socket.connect(&address.into()) {
        Ok(()) => {}
        Err(error) if is_in_progress(&error) => {}
        Err(error) => return Err(error),
    }
    let socket = wire::register(socket)?;
    wait_until_connected(&socket).await?;
    Ok(WireStream::new(socket, client.stamping.clone()))
}

fn is_in_progress(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    code == Some(libc::EINPROGRESS) || error.kind() == io::ErrorKind::WouldBlock
}

/// See connect(2), `EINPROGRESS`: writable without a pending error means connected; writable may also be spurious.
async fn wait_until_connected(socket: &AsyncFd<Socket>) -> io::Result<()> {
    loop {
        let mut guard = socket.writable().await?;
        if let Some(error) = socket.get_ref().take_error()? {
            return Err(error);
        }
        match socket.get_ref().peer_addr() {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => guard.clear_ready(),
            Err(error) => return Err(error),
        }
    }
}

/// Tells what this machine ran out of from what the peer or the network did.
fn connect_failure(error: &io::Error, address: SocketAddr) -> Failure {
    let code = errno(error);
    let Some(remedy) = own_limit(error.raw_os_error()) else {
        let message =
            format!("failed to connect to {address}: {error}; check that the target listens there");
        return failure(ErrorKind::Connect, code, message);
    };
    let message =
        format!("this machine could not open a connection to {address}: {error}; {remedy}");
    failure(ErrorKind::GeneratorLimit, code, message)
}

/// For an errno that means a limit of this machine, what to do about it; see connect(2), socket(2).
fn own_limit(errno: Option<i32>) -> Option<&'static str> {
    match errno? {
        libc::EADDRNOTAVAIL => Some(
            "no local port is free: run `sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"`, or keep connections with --connections per-vu",
        ),
        libc::EMFILE => Some("raise the limit on open files (ulimit -n)"),
        libc::ENFILE => Some("raise fs.file-max"),
        libc::ENOBUFS | libc::ENOMEM => {
            Some("it is out of memory for sockets: lower the number of connections")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_machine_ran_out_of_is_never_the_targets_fault() {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        let rows = [
            (
                libc::EADDRNOTAVAIL,
                ErrorKind::GeneratorLimit,
                "no free port",
            ),
            (
                libc::EMFILE,
                ErrorKind::GeneratorLimit,
                "descriptors of the process",
            ),
            (
                libc::ENFILE,
                ErrorKind::GeneratorLimit,
                "descriptors of the machine",
            ),
            (libc::ENOBUFS, ErrorKind::GeneratorLimit, "buffers"),
            (libc::ENOMEM, ErrorKind::GeneratorLimit, "memory"),
            (libc::ECONNREFUSED, ErrorKind::Connect, "nobody listens"),
            (libc::EHOSTUNREACH, ErrorKind::Connect, "no way there"),
            (libc::ETIMEDOUT, ErrorKind::Connect, "no answer to any SYN"),
        ];
        for (code, kind, why) in rows {
            let failure = connect_failure(&io::Error::from_raw_os_error(code), address);
            assert_eq!((failure.kind, failure.code), (kind, code as u32), "{why}");
        }
    }
}
