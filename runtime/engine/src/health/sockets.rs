//! Descriptors, sockets and ephemeral ports: how many, and of how many.
//!
//! Nothing is listed. The kernel counts descriptors (`st_size` of `/proc/self/fd`, Linux 6.2) and sockets (`/proc/net/sockstat`);
//! listing ten thousand of either each second would cost more than the load. Ports are therefore known as a bound only: each TCP
//! socket of this process and each in TIME_WAIT holds one at most, whatever its destination.

use std::fs;
use std::os::fd::AsRawFd;

use nettare_core::health::gauge;
use rustix::process::{Resource, getrlimit};

use super::Pass;
use super::source::Source;
use super::text::field_after;

/// Sockets of a network namespace by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// TCP over IPv4, in use.
    pub tcp: u64,
    /// TCP that no process holds any more.
    pub orphan: u64,
    /// TCP in TIME_WAIT.
    pub time_wait: u64,
    /// UDP in use.
    pub udp: u64,
}

/// Reads `/proc/net/sockstat`.
pub fn parse_sockstat(text: &str) -> Option<Sockets> {
    let line = |key: &str| text.lines().find(|line| line.starts_with(key));
    let tcp = line("TCP:")?;
    Some(Sockets {
        tcp: field_after(tcp, "inuse")?,
        orphan: field_after(tcp, "orphan")?,
        time_wait: field_after(tcp, "tw")?,
        udp: line("UDP:")
            .and_then(|udp| field_after(udp, "inuse"))
            .unwrap_or(0),
    })
}

/// Reads `/proc/net/sockstat6`: TCP and UDP sockets in use over IPv6; TIME_WAIT is counted in the other file.
pub fn parse_sockstat6(text: &str) -> Option<(u64, u64)> {
    let inuse = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key))?;
        field_after(line, "inuse")
    };
    Some((inuse("TCP6:")?, inuse("UDP6:")?))
}

/// Reads `/proc/sys/net/ipv4/ip_local_port_range`: how many ports there are.
pub fn parse_port_range(text: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    let (first, last): (u16, u16) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (first <= last).then(|| u64::from(last - first) + 1)
}

/// The limit of this process's descriptors; none without one.
pub fn descriptor_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Descriptors open in this process.
pub fn open_descriptors() -> Option<u64> {
    let counted = fs::metadata("/proc/self/fd").ok()?.len();
    if counted > 0 {
        return Some(counted);
    }
    // Before Linux 6.2 nobody counts. A new descriptor gets the lowest free number, which is the count where there are no holes.
    let lowest = fs::File::open("/dev/null").ok()?.as_raw_fd();
    u64::try_from(lowest).ok()
}

/// Watches descriptors, sockets and ports.
pub(super) struct Watch {
    sockstat: Source,
    sockstat6: Source,
    /// Ephemeral ports, for each local address and destination.
    ports: Option<u64>,
    descriptor_limit: Option<u64>,
}

impl Watch {
    pub(super) fn open() -> Watch {
        Watch {
            sockstat: Source::open("/proc/net/sockstat"),
            // Not there where IPv6 is turned off.
            sockstat6: Source::open("/proc/net/sockstat6"),
            ports: Source::open("/proc/sys/net/ipv4/ip_local_port_range")
                .read()
                .and_then(parse_port_range),
            descriptor_limit: descriptor_limit(),
        }
    }

    /// Counts descriptors, and says how many there are.
    pub(super) fn sample_descriptors(&mut self, pass: &mut Pass<'_>) -> Option<u64> {
        let Some(open) = open_descriptors() else {
            pass.miss("/proc/self/fd");
            return None;
        };
        pass.level(gauge::DESCRIPTORS, open as f64);
        // Without a limit none of it is used up.
        let limit = self
            .descriptor_limit
            .map_or(f64::INFINITY, |limit| limit.max(1) as f64);
        pass.level(gauge::DESCRIPTORS_USED, (open as f64 / limit).min(1.0));
        Some(open)
    }

    pub(super) fn sample(&mut self, descriptors: Option<u64>, pass: &mut Pass<'_>) {
        let Some(sockets) = self.sockstat.read().and_then(parse_sockstat) else {
            return pass.miss("/proc/net/sockstat");
        };
        let (tcp6, udp6) = self
            .sockstat6
            .read()
            .and_then(parse_sockstat6)
            .unwrap_or_default();
        let tcp = sockets.tcp.saturating_add(tcp6);
        pass.level(gauge::SOCKETS_TCP, tcp as f64);
        pass.level(gauge::SOCKETS_ORPHAN, sockets.orphan as f64);
        pass.level(gauge::SOCKETS_TIME_WAIT, sockets.time_wait as f64);
        pass.level(gauge::SOCKETS_UDP, sockets.udp.saturating_add(udp6) as f64);
        let Some(ports) = self.ports else {
            return pass.miss("/proc/sys/net/ipv4/ip_local_port_range");
        };
        let used = ports_in_use(tcp, sockets.time_wait, descriptors) as f64;
        pass.level(gauge::PORTS, used);
        pass.level(gauge::PORTS_USED, (used / ports.max(1) as f64).min(1.0));
    }
}

/// The most ports that this process's connections can hold: sockets of others on this machine are not among its descriptors.
fn ports_in_use(tcp: u64, time_wait: u64, descriptors: Option<u64>) -> u64 {
    let own = descriptors.map_or(tcp, |descriptors| tcp.min(descriptors));
    own.saturating_add(time_wait)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sockets_are_read_by_state() {
        let text = "sockets: used 24\nTCP: inuse 5 orphan 1 tw 35 alloc 7 mem 334\nUDP: inuse 2 mem 0\nRAW: inuse 0\n";
        let sockets = Sockets {
            tcp: 5,
            orphan: 1,
            time_wait: 35,
            udp: 2,
        };
        assert_eq!(parse_sockstat(text), Some(sockets));
        assert_eq!(parse_sockstat("sockets: used 24\n"), None);
        assert_eq!(
            parse_sockstat6("TCP6: inuse 3\nUDP6: inuse 1\n"),
            Some((3, 1))
        );
    }

    #[test]
    fn a_range_has_its_ends_in_it() {
        assert_eq!(parse_port_range("32768\t60999\n"), Some(28_232));
        assert_eq!(parse_port_range("60999 32768\n"), None);
        assert_eq!(parse_port_range("1 99999\n"), None);
    }

    #[test]
    fn ports_of_other_processes_are_not_counted() {
        assert_eq!(ports_in_use(10_000, 50, Some(64)), 114);
        assert_eq!(ports_in_use(10, 50, Some(64)), 60);
        assert_eq!(ports_in_use(10, 50, None), 60);
    }

    #[test]
    fn an_open_file_is_one_descriptor_more_or_the_machine_does_not_tell() {
        // Other tests open files meanwhile, so only the order of magnitude is certain.
        assert!(open_descriptors().is_none_or(|open| open > 2));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "((TCP|UDP|TCP6|UDP6): (inuse|orphan|tw|alloc)? ?[0-9]{0,21}\n|\\PC{0,30}\n){0,6}") {
            parse_sockstat(&text);
            parse_sockstat6(&text);
            parse_port_range(&text);
        }
    }
}
