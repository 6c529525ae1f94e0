//! What this machine has, as facts: for the rules of [`nettare_core::doctor`], and for a plan's defaults.
//!
//! Whatever cannot be read is left out: a container without `/proc`, another system, a kernel that is older. What the files of
//! `/proc` and `/sys` hold is read by pure functions, in [`proc`], [`sockets`] and [`cgroup`].

mod cgroup;
mod proc;
mod sockets;

use std::fs::read_to_string;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use nettare_core::doctor::{Cpus, Descriptors, Machine, MemoryMaps, OWN_DESCRIPTORS, Ports};
use nettare_core::plan::Defaults;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Memory set aside for a virtual user where nobody measured: about 80 KB for a small guest and its connection, and room for bodies.
pub(crate) const BYTES_PER_VU: u64 = 256 << 10;

/// How long CPU time is watched to see how much of it is stolen: a hundred ticks of the kernel's counter on two CPUs.
const STEAL_SAMPLE: Duration = Duration::from_millis(500);

/// What is to be looked at.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// Addresses that are connected to: which ports are taken is asked for each.
    pub(crate) destinations: Vec<SocketAddr>,
    /// Whether to take the samples that need half a second.
    pub(crate) samples: bool,
}

/// What a plan is filled up with. `seed` is for runs that ask for none.
pub(crate) fn defaults(seed: u64) -> Defaults {
    Defaults {
        seed,
        max_vus: most_vus(&look(&Look::default())),
    }
}

/// The facts of this machine.
pub(crate) fn look(look: &Look) -> Machine {
    let groups = cgroup::Groups::of_this_process();
    Machine {
        ports: ports(&look.destinations),
        time_wait_reuse: setting("net/ipv4/tcp_tw_reuse"),
        time_wait_reuse_ms: setting("net/ipv4/tcp_tw_reuse_delay"),
        time_wait_most: setting("net/ipv4/tcp_max_tw_buckets"),
        descriptors: Some(descriptors()),
        memory_available_bytes: read("/proc/meminfo")
            .and_then(|text| proc::memory_available(&text)),
        cgroup_memory_bytes: groups.memory_bytes(),
        memory_maps: setting("vm/max_map_count").map(|most| MemoryMaps { most }),
        cpus: Some(Cpus {
            allowed: u32::try_from(nettare_engine::allowed_cpus().len()).unwrap_or(u32::MAX),
            quota: groups.cpus(),
        }),
        steal: look.samples.then(steal).flatten(),
        clock_source: read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .map(|text| text.trim().to_owned()),
        invariant_tsc: read("/proc/cpuinfo").and_then(|text| proc::invariant_tsc(&text)),
        accept_queue: setting("net/core/somaxconn"),
        kernel_stamps: look
            .samples
            .then(|| nettare_engine::net::keep_stamping().is_ok()),
        governor: governor(),
    }
}

/// Raises the limit on descriptors to what is needed, as far as this process may.
pub(crate) fn raise_descriptors(needed: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(needed, |maximum| needed.min(maximum));
    if current.is_some_and(|current| current < wanted) {
        let raised = Rlimit {
            current: Some(wanted),
            maximum,
        };
        // Where that is refused, the limit stays, and connections beyond it fail by name.
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

/// Virtual users that fit: a run that needs more says so with `--max-vus`, and then bears what comes of it.
fn most_vus(machine: &Machine) -> u32 {
    let by_descriptors = machine
        .descriptors
        .and_then(|descriptors| descriptors.hard)
        .map_or(u64::MAX, |hard| hard.saturating_sub(OWN_DESCRIPTORS));
    let by_ports = machine.ports.map_or(u64::MAX, |ports| ports.free());
    let by_memory = machine
        .memory_bytes()
        .map_or(u64::MAX, |bytes| bytes / BYTES_PER_VU);
    let most = by_descriptors
        .min(by_ports)
        .min(by_memory)
        .clamp(1, u64::from(Defaults::MAX_VUS));
    u32::try_from(most).unwrap_or(Defaults::MAX_VUS)
}

fn ports(destinations: &[SocketAddr]) -> Option<Ports> {
    let (first, last) = proc::port_range(&read("/proc/sys/net/ipv4/ip_local_port_range")?)?;
    let reserved = read("/proc/sys/net/ipv4/ip_local_reserved_ports");
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| read(path).unwrap_or_default());
    Some(Ports {
        first,
        last,
        reserved: reserved.map_or(0, |text| proc::ports_reserved(&text, first, last)),
        in_use: sockets::ports_in_use(&tables, first, last, destinations),
    })
}

fn descriptors() -> Descriptors {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    Descriptors {
        hard: maximum,
        soft: current,
    }
}

/// The share of CPU time stolen while this waits.
fn steal() -> Option<f64> {
    let before = proc::cpu_ticks(&read("/proc/stat")?)?;
    std::thread::sleep(STEAL_SAMPLE);
    let after = proc::cpu_ticks(&read("/proc/stat")?)?;
    Some(after.steal_since(before))
}

fn governor() -> Option<String> {
    let cpu = nettare_engine::allowed_cpus().into_iter().next()?;
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    read(path).map(|text| text.trim().to_owned())
}

/// A setting of the kernel, by its path below `/proc/sys`.
fn setting<N: std::str::FromStr>(name: &str) -> Option<N> {
    read(Path::new("/proc/sys").join(name))?.trim().parse().ok()
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptors(hard: u64) -> Option<Descriptors> {
        Some(Descriptors {
            hard: Some(hard),
            soft: Some(1_024.min(hard)),
        })
    }

    fn ports(first: u16) -> Option<Ports> {
        Some(Ports {
            first,
            last: 60_999,
            ..Ports::default()
        })
    }

    #[test]
    fn the_scarcest_resource_decides() {
        let roomy = |change: fn(&mut Machine)| {
            let mut machine = Machine {
                descriptors: descriptors(1 << 20),
                ports: ports(32_768),
                memory_available_bytes: Some(64 << 30),
                ..Machine::default()
            };
            change(&mut machine);
            machine
        };
        let rows = [
            ("the most that is given unasked", roomy(|_| ()), 10_000),
            (
                "few descriptors",
                roomy(|it| it.descriptors = descriptors(1_024)),
                924,
            ),
            (
                "hardly any",
                roomy(|it| it.descriptors = descriptors(64)),
                1,
            ),
            ("few ports", roomy(|it| it.ports = ports(60_500)), 500),
            (
                "little memory",
                roomy(|it| it.memory_available_bytes = Some(256 << 20)),
                1_024,
            ),
            (
                "less in the group",
                roomy(|it| it.cgroup_memory_bytes = Some(64 << 20)),
                256,
            ),
            ("a system that tells nothing", Machine::default(), 10_000),
        ];
        for (sentence, machine, expected) in rows {
            assert_eq!(most_vus(&machine), expected, "{sentence}");
        }
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        let machine = look(&Look::default());
        assert!(machine.descriptors.is_some() && machine.cpus.is_some_and(|cpus| cpus.allowed > 0));
        assert_eq!(
            (machine.steal, machine.kernel_stamps),
            (None, None),
            "nothing that takes time"
        );
    }
}
