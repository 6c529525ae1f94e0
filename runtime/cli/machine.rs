//! What this machine allows, as far as a plan's defaults depend on it.

use nettare_core::plan::Defaults;
use rustix::process::{Resource, getrlimit};

/// Descriptors that a run needs besides one for each virtual user: files, workers' timers, the resolver.
const OWN_DESCRIPTORS: u64 = 100;

/// Memory set aside for a virtual user: about 80 KB measured for a small guest and its connection, and room for bodies.
const BYTES_PER_VU: u64 = 256 << 10;

/// What the machine has.
#[derive(Clone, Copy, Debug)]
struct Machine {
    /// Descriptors this process may open.
    descriptors: u64,
    /// Ports for outgoing connections to one destination; none where the system does not tell.
    ports: Option<u64>,
    /// Memory that can be had without swapping; none where the system does not tell.
    memory_bytes: Option<u64>,
}

/// What a plan is filled up with. `seed` is for runs that ask for none.
pub(crate) fn defaults(seed: u64) -> Defaults {
    Defaults {
        seed,
        max_vus: most_vus(look()),
    }
}

fn look() -> Machine {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    Machine {
        descriptors: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
        ports: read("/proc/sys/net/ipv4/ip_local_port_range").and_then(|text| ports(&text)),
        memory_bytes: read("/proc/meminfo").and_then(|text| memory_available(&text)),
    }
}

/// Virtual users that fit: a run that needs more says so with `--max-vus`, and then bears what comes of it.
fn most_vus(machine: Machine) -> u32 {
    let by_descriptors = machine.descriptors.saturating_sub(OWN_DESCRIPTORS);
    let by_ports = machine.ports.unwrap_or(u64::MAX);
    let by_memory = machine
        .memory_bytes
        .map_or(u64::MAX, |bytes| bytes / BYTES_PER_VU);
    let most = by_descriptors
        .min(by_ports)
        .min(by_memory)
        .clamp(1, u64::from(Defaults::MAX_VUS));
    u32::try_from(most).unwrap_or(Defaults::MAX_VUS)
}

/// The first and the last port, both usable: ip(7), `ip_local_port_range`.
fn ports(text: &str) -> Option<u64> {
    let mut bounds = text.split_whitespace().map(str::parse::<u64>);
    let (first, last) = (bounds.next()?.ok()?, bounds.next()?.ok()?);
    Some((last + 1).saturating_sub(first))
}

/// proc_meminfo(5), `MemAvailable`, in KiB.
fn memory_available(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_resource_decides() {
        let roomy = Machine {
            descriptors: 1 << 20,
            ports: Some(28_232),
            memory_bytes: Some(64 << 30),
        };
        let rows = [
            (
                "a roomy machine gives the most that is given unasked",
                roomy,
                10_000,
            ),
            (
                "few descriptors",
                Machine {
                    descriptors: 1_024,
                    ..roomy
                },
                924,
            ),
            (
                "hardly any descriptors",
                Machine {
                    descriptors: 64,
                    ..roomy
                },
                1,
            ),
            (
                "few ports",
                Machine {
                    ports: Some(500),
                    ..roomy
                },
                500,
            ),
            (
                "little memory",
                Machine {
                    memory_bytes: Some(256 << 20),
                    ..roomy
                },
                1_024,
            ),
            (
                "a system that tells nothing",
                Machine {
                    ports: None,
                    memory_bytes: None,
                    ..roomy
                },
                10_000,
            ),
        ];
        for (sentence, machine, expected) in rows {
            assert_eq!(most_vus(machine), expected, "{sentence}");
        }
    }

    #[test]
    fn the_systems_figures_are_read() {
        assert_eq!(ports("32768\t60999\n"), Some(28_232));
        assert_eq!(ports("60999\n"), None);
        assert_eq!(
            memory_available("MemTotal: 8 kB\nMemAvailable:    2 kB\n"),
            Some(2_048)
        );
        assert_eq!(memory_available("MemTotal: 8 kB\n"), None);
    }
}
