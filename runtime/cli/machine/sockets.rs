//! Which local ports are taken, from the kernel's tables of TCP sockets.
//!
//! A port that somebody listens on is never given to an outgoing connection; one that is taken by a connection may be given to
//! another to a different address. So what is taken depends on where one wants to go. See proc_pid_net(5), and for the layout
//! `Documentation/networking/proc_net_tcp.rst` of the Linux kernel.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// `TCP_LISTEN`.
const LISTENING: &str = "0A";

/// Ports between `first` and `last` that a connection to the worst off of `destinations` cannot have.
pub(super) fn ports_in_use(
    tables: &[String],
    first: u16,
    last: u16,
    destinations: &[SocketAddr],
) -> u32 {
    let rows = || {
        let lines = tables.iter().flat_map(|table| table.lines().skip(1));
        lines
            .filter_map(row)
            .filter(move |row| (first..=last).contains(&row.local_port))
    };
    let taken = |destination: Option<SocketAddr>| {
        let taken = rows().filter(|row| row.is_listening || destination == Some(row.remote));
        let ports: HashSet<u16> = taken.map(|row| row.local_port).collect();
        u32::try_from(ports.len()).unwrap_or(u32::MAX)
    };
    let worst = destinations
        .iter()
        .map(|destination| taken(Some(*destination)));
    worst.max().unwrap_or_else(|| taken(None))
}

struct Row {
    local_port: u16,
    remote: SocketAddr,
    is_listening: bool,
}

/// `0: 0100007F:8599 00000000:0000 0A ...`
fn row(line: &str) -> Option<Row> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (local, remote, state) = (words.next()?, words.next()?, words.next()?);
    Some(Row {
        local_port: address(local)?.port(),
        remote: address(remote)?,
        is_listening: state == LISTENING,
    })
}

/// Addresses are printed as words of four bytes, each as this machine reads it; ports as numbers.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let word = u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let address = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut octets = [0; 16];
            for (at, part) in octets.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(at)?);
            }
            // A socket for both families shows what it says to the older one in the address of the newer.
            IpAddr::V6(Ipv6Addr::from(octets)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As on a machine that stores the least significant byte first: a listener on 40000, a connection from 40001 and one in
    /// TIME_WAIT from 40002 to 127.0.0.1:8080, one from 40003 to 10.0.0.1:443.
    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:9C40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0100007F:9C41 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 2 1
   2: 0100007F:9C42 0100007F:1F90 06 00000000:00000000 03:00001770 00000000     0        0 0 3
   3: 0200000A:9C43 0100000A:01BB 01 00000000:00000000 00:00000000 00000000     0        0 3 1
   4: 0100007F:1F90 0100007F:9C41 01 00000000:00000000 00:00000000 00000000     0        0 4 1
";

    /// A listener on [::]:40004, and a connection from 40005 to ::ffff:127.0.0.1, port 8080.
    const TABLE6: &str = "\
  sl  local_address                         remote_address                        st
   0: 00000000000000000000000000000000:9C44 00000000000000000000000000000000:0000 0A 00000000:00000000
   1: 0000000000000000FFFF00000100007F:9C45 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000
";

    fn in_use(destinations: &[&str]) -> u32 {
        let tables = [TABLE, TABLE6].map(|table| match cfg!(target_endian = "little") {
            true => table.to_owned(),
            false => swapped(table),
        });
        let destinations: Vec<SocketAddr> = destinations
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        ports_in_use(&tables, 32_768, 60_999, &destinations)
    }

    /// The table as the other kind of machine prints it.
    fn swapped(table: &str) -> String {
        let swap = |word: &str| match word.split_once(':') {
            Some((address, port)) if address.len() >= 8 => {
                let words = address
                    .as_bytes()
                    .chunks(8)
                    .flat_map(|word| word.chunks(2).rev().flatten());
                let bytes: Vec<u8> = words.copied().collect();
                format!("{}:{port}", String::from_utf8(bytes).unwrap())
            }
            _ => word.to_owned(),
        };
        let lines = table
            .lines()
            .map(|line| line.split(' ').map(swap).collect::<Vec<_>>().join(" "));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_is_taken_depends_on_where_one_wants_to_go() {
        assert_eq!(in_use(&[]), 2, "listeners alone");
        assert_eq!(in_use(&["10.0.0.1:443"]), 3, "and one connection");
        assert_eq!(
            in_use(&["127.0.0.1:8080"]),
            5,
            "those in TIME_WAIT, and those of sockets of the other family"
        );
        assert_eq!(
            in_use(&["127.0.0.1:8081"]),
            2,
            "another port is another destination"
        );
        assert_eq!(
            in_use(&["10.0.0.1:443", "127.0.0.1:8080"]),
            5,
            "the worst off counts"
        );
    }

    #[test]
    fn ports_out_of_the_range_do_not_count() {
        let destination = "127.0.0.1:40001".parse().unwrap();
        let tables = [TABLE.to_owned()];
        assert_eq!(ports_in_use(&tables, 32_768, 39_999, &[destination]), 0);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*", hex in "[0-9A-F: \n]*", first: u16, last: u16) {
            let destination = "127.0.0.1:80".parse().unwrap();
            let tables = [text, format!("head\n{hex}"), format!("head\n 0: {hex}:1 {hex}:2 0A\n")];
            let most = u32::from(last).saturating_sub(u32::from(first)) + 1;
            prop_assert!(ports_in_use(&tables, first, last, &[destination]) <= most);
        }
    }
}
