//! The network as this machine's kernel sees it: interfaces (`/proc/net/dev`), the receive path (`/proc/net/softnet_stat`) and TCP
//! (`/proc/net/snmp`, `/proc/net/netstat`).

use std::collections::HashMap;
use std::fs;

use nettare_core::health::gauge;

use super::Pass;
use super::source::Source;
use super::text::growth_of_32_bits;

/// Bytes of one interface since it came up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
}

/// Reads `/proc/net/dev`; the loopback interface is no link and is left out.
pub fn parse_interfaces(text: &str) -> Vec<Interface> {
    let interface = |line: &str| {
        let (name, figures) = line.split_once(':')?;
        let mut figures = figures.split_ascii_whitespace();
        let received_bytes = figures.next()?.parse().ok()?;
        let sent_bytes = figures.nth(7)?.parse().ok()?;
        Some(Interface {
            name: name.trim().to_owned(),
            received_bytes,
            sent_bytes,
        })
    };
    text.lines()
        .filter_map(interface)
        .filter(|interface| interface.name != "lo")
        .collect()
}

/// Reads `/sys/class/net/NAME/speed`, in bytes per second; none where the interface does not know, which is -1 or an error.
pub fn parse_speed(text: &str) -> Option<u64> {
    const BYTES_IN_A_MEGABIT: u64 = 125_000;
    let megabits: u64 = text.trim().parse().ok().filter(|mbit| *mbit > 0)?;
    // A bridge without a link says 2^32-1.
    (megabits < u64::from(u32::MAX)).then(|| megabits * BYTES_IN_A_MEGABIT)
}

/// What one CPU says of the packets it received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Softnet {
    /// The CPU; its line's number in kernels that do not say.
    pub cpu: u64,
    /// Packets for which the backlog had no room.
    pub dropped: u64,
    /// Times that packets were left for later.
    pub squeezed: u64,
}

/// Reads `/proc/net/softnet_stat`: hexadecimal counters of 32 bits, a line a CPU.
pub fn parse_softnet(text: &str) -> Vec<Softnet> {
    let line = |(number, line): (u64, &str)| {
        let mut words = line.split_ascii_whitespace();
        let mut hexadecimal = |skip| u64::from_str_radix(words.nth(skip)?, 16).ok();
        let (dropped, squeezed) = (hexadecimal(1)?, hexadecimal(0)?);
        Some(Softnet {
            dropped: dropped & u64::from(u32::MAX),
            squeezed: squeezed & u64::from(u32::MAX),
            cpu: hexadecimal(9).unwrap_or(number),
        })
    };
    (0..).zip(text.lines()).filter_map(line).collect()
}

/// One counter of `/proc/net/snmp` or `/proc/net/netstat`: pairs of lines, names and figures, both behind the group's name.
pub fn parse_counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| {
        let (of, rest) = line.split_once(':')?;
        (of == group).then_some(rest)
    });
    let (names, figures) = (lines.next()?, lines.next()?);
    let place = names.split_ascii_whitespace().position(|n| n == name)?;
    figures.split_ascii_whitespace().nth(place)?.parse().ok()
}

/// Where a counter of TCP stands: its group and name.
type Counter = (&'static str, &'static str);

/// Gauges of TCP, each the growth of a sum of counters; those that this kernel does not have are not in it.
const SNMP: [(&str, &[Counter]); 2] = [
    (gauge::TCP_SENT, &[("Tcp", "OutSegs")]),
    (gauge::TCP_RETRANSMITS, &[("Tcp", "RetransSegs")]),
];
const NETSTAT: [(&str, &[Counter]); 2] = [
    (gauge::LISTEN_DROPS, &[("TcpExt", "ListenDrops")]),
    (
        gauge::RECEIVE_PRESSURE,
        &[
            ("TcpExt", "RcvPruned"),
            ("TcpExt", "TCPRcvQDrop"),
            ("TcpExt", "TCPBacklogDrop"),
        ],
    ),
];

/// Watches the network.
pub(super) struct Watch {
    dev: Source,
    softnet: Source,
    snmp: Source,
    netstat: Source,
    interfaces: Vec<Interface>,
    /// In bytes per second, of interfaces that were looked up; none for those that do not know.
    speeds: HashMap<String, Option<u64>>,
    softnet_before: Vec<Softnet>,
    tcp: HashMap<&'static str, u64>,
}

impl Watch {
    pub(super) fn open() -> Watch {
        Watch {
            dev: Source::open("/proc/net/dev"),
            softnet: Source::open("/proc/net/softnet_stat"),
            snmp: Source::open("/proc/net/snmp"),
            netstat: Source::open("/proc/net/netstat"),
            interfaces: Vec::new(),
            speeds: HashMap::new(),
            softnet_before: Vec::new(),
            tcp: HashMap::new(),
        }
    }

    pub(super) fn sample(&mut self, pass: &mut Pass<'_>) {
        self.sample_interfaces(pass);
        match self.softnet.read().map(parse_softnet) {
            Some(now) if !now.is_empty() => {
                let (dropped, squeezed) = softnet_growth(&self.softnet_before, &now);
                pass.per_second(gauge::SOFTNET_DROPPED, dropped as f64);
                pass.per_second(gauge::SOFTNET_SQUEEZED, squeezed as f64);
                self.softnet_before = now;
            }
            _ => pass.miss("/proc/net/softnet_stat"),
        }
        let tcp = &mut self.tcp;
        match self.snmp.read() {
            Some(text) => sample_counters(text, &SNMP, tcp, pass),
            None => pass.miss("/proc/net/snmp"),
        }
        match self.netstat.read() {
            Some(text) => sample_counters(text, &NETSTAT, tcp, pass),
            None => pass.miss("/proc/net/netstat"),
        }
    }

    fn sample_interfaces(&mut self, pass: &mut Pass<'_>) {
        let Some(now) = self.dev.read().map(parse_interfaces) else {
            return pass.miss("/proc/net/dev");
        };
        let (mut received, mut sent) = (0, 0);
        let mut used: Option<f64> = None;
        for interface in &now {
            let before = self.interfaces.iter().find(|b| b.name == interface.name);
            let Some(before) = before else { continue };
            let down = interface
                .received_bytes
                .saturating_sub(before.received_bytes);
            let up = interface.sent_bytes.saturating_sub(before.sent_bytes);
            (received, sent) = (down.max(received), up.max(sent));
            let speed = *self
                .speeds
                .entry(interface.name.clone())
                .or_insert_with(|| speed_of(&interface.name));
            if let (Some(speed), Some(seconds)) = (speed, pass.seconds) {
                let share = down.max(up) as f64 / seconds / speed as f64;
                used = Some(used.unwrap_or(0.0).max(share));
            }
        }
        pass.per_second(gauge::NIC_RECEIVED_BYTES, received as f64);
        pass.per_second(gauge::NIC_SENT_BYTES, sent as f64);
        if let Some(used) = used {
            pass.level(gauge::NIC_USED, used.min(1.0));
        }
        self.interfaces = now;
    }
}

fn speed_of(interface: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/sys/class/net/{interface}/speed")).ok()?;
    parse_speed(&text)
}

fn sample_counters(
    text: &str,
    gauges: &[(&'static str, &[Counter])],
    before: &mut HashMap<&'static str, u64>,
    pass: &mut Pass<'_>,
) {
    for (name, counters) in gauges {
        let known = counters
            .iter()
            .filter_map(|(group, counter)| parse_counter(text, group, counter));
        let Some(now) = known.reduce(u64::saturating_add) else {
            continue;
        };
        if let Some(before) = before.insert(name, now) {
            pass.rate(name, before, now);
        }
    }
}

/// Dropped and squeezed since the time before, over CPUs that were there both times.
fn softnet_growth(before: &[Softnet], now: &[Softnet]) -> (u64, u64) {
    now.iter().fold((0, 0), |(dropped, squeezed), now| {
        let Some(before) = before.iter().find(|before| before.cpu == now.cpu) else {
            return (dropped, squeezed);
        };
        (
            dropped + growth_of_32_bits(before.dropped, now.dropped),
            squeezed + growth_of_32_bits(before.squeezed, now.squeezed),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn interfaces_are_read_but_for_the_loopback() {
        let text = "Inter-|   Receive                    |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes\n    \
                    lo: 77 16 0 0 0 0 0 0 77 16 0 0 0 0 0 0\n  eth0: 651 31 0 0 0 0 0 0 197 22 0 0 0 0 0 0\n";
        let eth0 = Interface {
            name: "eth0".to_owned(),
            received_bytes: 651,
            sent_bytes: 197,
        };
        assert_eq!(parse_interfaces(text), [eth0]);
    }

    #[test]
    fn a_speed_that_is_not_known_is_none() {
        assert_eq!(parse_speed("10000\n"), Some(1_250_000_000));
        for unknown in ["-1\n", "0\n", "4294967295\n", ""] {
            assert_eq!(parse_speed(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn softnet_is_hexadecimal_and_says_which_cpu_it_is() {
        let text = "04cb7bf5 0000000a 00000002 0 0 0 0 0 0 0 0 00000000 00000003 0 0\n04d7c465 00000000 00000010\n";
        let rows = [
            Softnet {
                cpu: 3,
                dropped: 10,
                squeezed: 2,
            },
            Softnet {
                cpu: 1,
                dropped: 0,
                squeezed: 16,
            },
        ];
        assert_eq!(parse_softnet(text), rows);
    }

    #[test]
    fn a_cpu_that_came_has_not_dropped_all_it_ever_did() {
        let at = |cpu, dropped| Softnet {
            cpu,
            dropped,
            squeezed: 0,
        };
        let before = [at(0, 0xffff_ffff)];
        assert_eq!(softnet_growth(&before, &[at(0, 1), at(1, 1_000)]), (2, 0));
    }

    #[test]
    fn a_counter_is_found_by_its_name() {
        let text = "Ip: Forwarding InReceives\nIp: 1 2\nTcp: OutSegs RetransSegs\nTcp: 900 7\n";
        assert_eq!(parse_counter(text, "Tcp", "RetransSegs"), Some(7));
        assert_eq!(parse_counter(text, "Tcp", "InErrs"), None);
        assert_eq!(parse_counter(text, "TcpExt", "RetransSegs"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "((Tcp|eth0|TcpExt): {0,2}([A-Za-z0-9]{0,21} ?){0,14}\n|[0-9a-f ]{0,140}\n|\\PC{0,30}\n){0,6}") {
            parse_interfaces(&text);
            parse_counter(&text, "Tcp", "OutSegs");
            parse_speed(&text);
            let mut softnet = parse_softnet(&text);
            softnet.sort_by_key(|line| line.cpu);
            softnet.dedup_by_key(|line| line.cpu);
            prop_assert_eq!(softnet_growth(&softnet, &softnet).0, 0);
        }
    }
}
