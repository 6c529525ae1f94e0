//! The gauges of the generator's health, one row each.

/// Which end of a figure is the bad one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worse {
    /// Much of it is.
    High,
    /// Little of it is.
    Low,
}

/// One gauge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GaugeInfo {
    /// Its name. `#` stands for the number of a CPU or a worker.
    pub name: &'static str,
    /// What it tells, in one line.
    pub about: &'static str,
    /// Which end of it is the bad one.
    pub worse: Worse,
}

/// What is known of a gauge; names with numbers in them are found by their pattern.
pub fn info(name: &str) -> Option<&'static GaugeInfo> {
    GAUGES.iter().find(|info| is_named(info.name, name))
}

fn is_named(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('#') else {
        return pattern == name;
    };
    let number = name
        .strip_prefix(before)
        .and_then(|rest| rest.strip_suffix(after));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

macro_rules! gauges {
    ($($constant:ident = $name:literal $worse:ident $about:literal)+) => {
        /// The names of gauges, where code has to name them.
        pub mod gauge {
            $(
                #[doc = $about]
                pub const $constant: &str = $name;
            )+
        }

        /// Every gauge of the generator's health, in the order of the reference.
        pub const GAUGES: &[GaugeInfo] = &[
            $(GaugeInfo { name: $name, about: $about, worse: Worse::$worse },)+
        ];
    };
}

gauges! {
    CPU = "gen_cpu" High "CPU time of this process as a share of the CPUs it may use: its workers', within affinity and quota"
    CPUS_USED = "gen_cpus_used" High "CPU time of this process, in CPUs"
    IO_CPU = "gen_io_cpu" High "CPU time of the busiest I/O thread, as a share of a CPU"
    GUEST_CPU = "gen_guest_cpu" High "CPU time of the busiest guest thread, as a share of a CPU"
    IO_LATE = "gen_io_late" High "share of the time that I/O threads were over 10 ms late for their timer"
    IO_LAG_P99_NS = "gen_io_lag_p99_ns" High "how late I/O threads came to their timer, p99"
    IO_LAG_MAX_NS = "gen_io_lag_max_ns" High "how late I/O threads came to their timer, the worst"
    ONE_IO_LAG_MAX_NS = "gen_io#_lag_max_ns" High "the same of one worker"
    GUEST_WAIT_P99_NS = "gen_guest_wait_p99_ns" High "from a guest being woken to its turn on the guest thread, the longest wait of each turn, p99"
    GUEST_WAIT_MAX_NS = "gen_guest_wait_max_ns" High "the same, the worst"
    ONE_GUEST_WAIT_MAX_NS = "gen_guest#_wait_max_ns" High "the same of one worker"
    INLINE_HELD = "gen_inline_held" High "share of the time that guests polled inline held an I/O thread for over 10 ms at a stretch"
    CLOCK_STEPS = "gen_clock_steps" High "times that the realtime clock was set"
    MACHINE_BUSY = "gen_machine_busy" High "share of the machine's CPU time that was not idle"
    CPU_USER = "gen_cpu_user" High "user time of the machine's CPUs, mean"
    CPU_SYSTEM = "gen_cpu_system" High "system time of the machine's CPUs, mean"
    CPU_SOFTIRQ = "gen_cpu_softirq" High "softirq time of the machine's CPUs, mean"
    CPU_STEAL = "gen_cpu_steal" High "time stolen from the machine's CPUs by its host, mean"
    CPU_USER_MAX = "gen_cpu_user_max" High "user time of the CPU that has most of it"
    CPU_SYSTEM_MAX = "gen_cpu_system_max" High "system time of the CPU that has most of it"
    CPU_SOFTIRQ_MAX = "gen_cpu_softirq_max" High "softirq time of the CPU that has most of it"
    CPU_STEAL_MAX = "gen_cpu_steal_max" High "stolen time of the CPU that has most of it"
    ONE_CPU_USER = "gen_cpu#_user" High "user time of one CPU"
    ONE_CPU_SYSTEM = "gen_cpu#_system" High "system time of one CPU"
    ONE_CPU_SOFTIRQ = "gen_cpu#_softirq" High "softirq time of one CPU"
    ONE_CPU_STEAL = "gen_cpu#_steal" High "stolen time of one CPU"
    CONTEXT_SWITCHES = "gen_context_switches" High "context switches of the machine, per second"
    INTERRUPTS = "gen_interrupts" High "interrupts of the machine, per second"
    QUOTA = "gen_cpu_quota" Low "CPUs that the quota of a control group allows"
    THROTTLED = "gen_throttled" High "share of the time in periods of the quota in which the control group was throttled"
    THROTTLED_NS = "gen_throttled_ns" High "time for which the control group was throttled, summed over CPUs, per second"
    PRESSURE_CPU = "gen_pressure_cpu" High "share of the time that something waited for a CPU (PSI)"
    PRESSURE_MEMORY = "gen_pressure_memory" High "share of the time that something waited for memory (PSI)"
    RESIDENT_BYTES = "gen_resident_bytes" High "resident memory of this process"
    AVAILABLE_BYTES = "gen_available_bytes" Low "memory that the machine has available"
    AVAILABLE = "gen_available" Low "the same as a share of the machine's memory"
    ZONE_FREE = "gen_zone_free" Low "free pages of the scarcest memory zone, as a multiple of its low watermark"
    KSWAPD_HITS = "gen_kswapd_hits" High "times that `kswapd` met the low watermark again at once, per second"
    DESCRIPTORS = "gen_descriptors" High "descriptors open in this process"
    DESCRIPTORS_USED = "gen_descriptors_used" High "the same as a share of their limit"
    SOCKETS_TCP = "gen_sockets_tcp" High "TCP sockets in use in this network namespace"
    SOCKETS_ORPHAN = "gen_sockets_orphan" High "TCP sockets that no process holds any more"
    SOCKETS_TIME_WAIT = "gen_sockets_time_wait" High "TCP sockets in TIME_WAIT"
    SOCKETS_UDP = "gen_sockets_udp" High "UDP sockets in use"
    PORTS = "gen_ports" High "ephemeral ports in use, at most: this process's sockets and those in TIME_WAIT"
    PORTS_USED = "gen_ports_used" High "the same as a share of `ip_local_port_range`"
    NIC_RECEIVED_BYTES = "gen_nic_received_bytes" High "bytes received by the busiest network interface, per second"
    NIC_SENT_BYTES = "gen_nic_sent_bytes" High "bytes sent by the busiest network interface, per second"
    NIC_USED = "gen_nic_used" High "the busier direction of the busiest network interface as a share of its speed"
    SOFTNET_SQUEEZED = "gen_softnet_squeezed" High "times that the kernel left received packets for later, per second"
    SOFTNET_DROPPED = "gen_softnet_dropped" High "received packets that the kernel's backlog had no room for, per second"
    TCP_SENT = "gen_tcp_sent" High "TCP segments sent, per second"
    TCP_RETRANSMITS = "gen_tcp_retransmits" High "TCP segments sent again, per second"
    LISTEN_DROPS = "gen_listen_drops" High "connections that this machine's listeners dropped, per second"
    RECEIVE_PRESSURE = "gen_receive_pressure" High "packets dropped or pruned because a socket's receive queue was full, per second"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_numbers_are_found_by_their_pattern() {
        let found = |name| info(name).map(|info| info.name);
        assert_eq!(found("gen_cpu12_steal"), Some("gen_cpu#_steal"));
        assert_eq!(found("gen_cpu_steal"), Some("gen_cpu_steal"));
        assert_eq!(found("gen_cpux_steal"), None);
        assert_eq!(found("gen_cpu#_steal"), None);
    }

    #[test]
    fn every_gauge_has_a_name_of_its_own_with_the_prefix() {
        let mut names: Vec<&str> = GAUGES.iter().map(|info| info.name).collect();
        assert!(names.iter().all(|name| name.starts_with("gen_")));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), GAUGES.len());
    }
}
