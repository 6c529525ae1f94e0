//! The facts of a machine that the rules look at. Whatever could not be read is none.

use serde::Serialize;

use super::needs::SECOND_NS;

/// How long the kernel keeps a connection that this side closed first: `TCP_TIMEWAIT_LEN`, which no setting changes.
pub(super) const TIME_WAIT_NS: u64 = 60 * SECOND_NS;

/// The facts of a machine. `Machine::default()` knows nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Machine {
    /// Local ports for outgoing connections to one address.
    pub ports: Option<Ports>,
    /// `net.ipv4.tcp_tw_reuse`: 0 never, 1 always, 2 on loopback.
    pub time_wait_reuse: Option<u8>,
    /// After how many milliseconds a port in TIME_WAIT may be used again where that is allowed; a second before Linux 6.14.
    pub time_wait_reuse_ms: Option<u64>,
    /// `net.ipv4.tcp_max_tw_buckets`: more connections than this are not kept in TIME_WAIT.
    pub time_wait_most: Option<u64>,
    /// Descriptors of this process.
    pub descriptors: Option<Descriptors>,
    /// Memory that can be had without swapping.
    pub memory_available_bytes: Option<u64>,
    /// What the control groups of this process leave of their limits; none where they set none.
    pub cgroup_memory_bytes: Option<u64>,
    /// Memory maps of this process.
    pub memory_maps: Option<MemoryMaps>,
    /// What this process may run on.
    pub cpus: Option<Cpus>,
    /// The share of CPU time that the hypervisor gave to others, in a short sample just taken.
    pub steal: Option<f64>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// Whether the CPU's time stamp counter runs at one rate and never stops; none on other architectures than x86.
    pub invariant_tsc: Option<bool>,
    /// `net.core.somaxconn`: connections that a listening socket of this machine may queue.
    pub accept_queue: Option<u64>,
    /// Whether the kernel stamps what it receives.
    pub kernel_stamps: Option<bool>,
    /// The frequency governor of the first CPU that this process may run on.
    pub governor: Option<String>,
}

/// Local ports for outgoing connections to one address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ports {
    /// The first of `net.ipv4.ip_local_port_range`.
    pub first: u16,
    /// The last, which may be used too.
    pub last: u16,
    /// How many of these `net.ipv4.ip_local_reserved_ports` takes away.
    pub reserved: u32,
    /// How many of these are listened on, or taken by connections to the address in question, those in TIME_WAIT included.
    pub in_use: u32,
}

impl Ports {
    /// How many there are to be had.
    pub fn free(&self) -> u64 {
        let range = (u64::from(self.last) + 1).saturating_sub(u64::from(self.first));
        range.saturating_sub(u64::from(self.reserved) + u64::from(self.in_use))
    }
}

/// Descriptors of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Descriptors {
    /// What the process may raise its limit to by itself; none is no limit.
    pub hard: Option<u64>,
    /// The limit that holds; none is no limit.
    pub soft: Option<u64>,
}

/// Memory maps of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryMaps {
    /// `vm.max_map_count`.
    pub most: u64,
}

/// What this process may run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cpus {
    /// CPUs by its affinity.
    pub allowed: u32,
    /// CPUs' worth of time by the quota of its control groups; none where they set none.
    pub quota: Option<f64>,
}

impl Cpus {
    /// What is left by both.
    pub fn usable(&self) -> f64 {
        let allowed = f64::from(self.allowed);
        self.quota.map_or(allowed, |quota| quota.min(allowed))
    }
}

impl Machine {
    /// The memory there is, by the machine and by the control groups.
    pub fn memory_bytes(&self) -> Option<u64> {
        let figures = [self.memory_available_bytes, self.cgroup_memory_bytes];
        figures.into_iter().flatten().min()
    }

    /// How long a port is held by a connection that this machine closed.
    pub(super) fn port_is_held_ns(&self, to_loopback: bool) -> u64 {
        let reused = match self.time_wait_reuse {
            Some(1) => true,
            Some(2) => to_loopback,
            _ => false,
        };
        match reused {
            true => self
                .time_wait_reuse_ms
                .map_or(SECOND_NS, |ms| ms.saturating_mul(1_000_000)),
            false => TIME_WAIT_NS,
        }
    }
}
