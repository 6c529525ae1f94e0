//! Sockets that listen, all of them or none.

use std::io;
use std::net::{SocketAddr, TcpListener};

use anyhow::Context as _;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, ipproto};

/// Connections the kernel keeps for us while we do not accept; `net.core.somaxconn` may lower it.
const BACKLOG: i32 = 4096;

/// Listens on every address. Those that leave the port open all get the port that the first of them was given, so that one URL
/// with `localhost` finds the target by whichever family the client tries first.
pub(crate) fn listen_all(addresses: &[SocketAddr]) -> anyhow::Result<Vec<TcpListener>> {
    let mut shared_port = None;
    let mut listeners = Vec::with_capacity(addresses.len());
    for &wanted in addresses {
        let mut address = wanted;
        if address.port() == 0 {
            address.set_port(shared_port.unwrap_or(0));
        }
        let listener = listen(address)
            .with_context(|| format!("failed to listen on {address}; is the port taken?"))?;
        if wanted.port() == 0 {
            shared_port.get_or_insert(
                listener
                    .local_addr()
                    .context("failed to read the listener's port")?
                    .port(),
            );
        }
        listeners.push(listener);
    }
    Ok(listeners)
}

/// Made by hand, because the standard library's listener leaves its queue at 128: too short for 10,000 virtual users who connect
/// at once.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    if address.is_ipv6() {
        net::sockopt::set_ipv6_v6only(&socket, true)?;
    }
    // A target that was stopped leaves connections in TIME_WAIT, which must not keep the next one from its port.
    net::sockopt::set_socket_reuseaddr(&socket, true)?;
    net::bind(&socket, &address)?;
    net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_ports_of_several_addresses_become_one_port() {
        let v4 = SocketAddr::from(([127, 0, 0, 1], 0));
        let other = SocketAddr::from(([127, 0, 0, 2], 0));
        let listeners = listen_all(&[v4, other]).unwrap();
        let ports: Vec<u16> = listeners
            .iter()
            .map(|l| l.local_addr().unwrap().port())
            .collect();
        assert_ne!(ports[0], 0);
        assert_eq!(ports[0], ports[1]);
    }

    #[test]
    fn a_taken_port_is_named_in_the_error() {
        let first = listen_all(&[SocketAddr::from(([127, 0, 0, 1], 0))]).unwrap();
        let taken = first[0].local_addr().unwrap();
        let error = listen_all(&[taken]).unwrap_err().to_string();
        assert!(error.contains(&taken.to_string()), "{error}");
    }
}
