//! What the files of `/proc` hold, from their text. Each function answers none for text that it does not understand.

/// Ticks of CPU time since the machine started, all CPUs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuTicks {
    total: u64,
    stolen: u64,
}

impl CpuTicks {
    /// The share that was stolen since `earlier`.
    pub(super) fn steal_since(self, earlier: CpuTicks) -> f64 {
        let stolen = self.stolen.saturating_sub(earlier.stolen);
        let total = self.total.saturating_sub(earlier.total);
        (stolen as f64 / total.max(1) as f64).min(1.0)
    }
}

/// The first and the last port, both usable: ip(7), `ip_local_port_range`.
pub(super) fn port_range(text: &str) -> Option<(u16, u16)> {
    let mut bounds = text.split_whitespace().map(str::parse::<u16>);
    let (first, last) = (bounds.next()?.ok()?, bounds.next()?.ok()?);
    (first <= last).then_some((first, last))
}

/// How many ports of a range are reserved: ip(7), `ip_local_reserved_ports`, as in `8080,9000-9010`. Ranges do not overlap.
pub(super) fn ports_reserved(text: &str, first: u16, last: u16) -> u32 {
    let parts = text.trim().split(',').filter_map(|part| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (
            from.trim().parse::<u16>().ok()?,
            to.trim().parse::<u16>().ok()?,
        );
        let (from, to) = (from.max(first), to.min(last));
        Some((u32::from(to) + 1).saturating_sub(u32::from(from)))
    });
    parts.fold(0, u32::saturating_add)
}

/// proc_meminfo(5), `MemAvailable`, in KiB.
pub(super) fn memory_available(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Whether the time stamp counter runs at one rate and never stops; none where there are no such flags, as on other
/// architectures than x86.
pub(super) fn invariant_tsc(cpuinfo: &str) -> Option<bool> {
    let line = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
    let has = |flag: &str| line.split_whitespace().any(|word| word == flag);
    Some(has("constant_tsc") && has("nonstop_tsc"))
}

/// proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal; what follows is counted in these.
pub(super) fn cpu_ticks(stat: &str) -> Option<CpuTicks> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let mut ticks = [0_u64; 8];
    let mut words = line.split_whitespace();
    for tick in &mut ticks {
        *tick = words.next()?.parse().ok()?;
    }
    Some(CpuTicks {
        total: ticks.iter().fold(0, |sum, tick| sum.saturating_add(*tick)),
        stolen: ticks[7],
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_systems_figures_are_read() {
        assert_eq!(port_range("32768\t60999\n"), Some((32_768, 60_999)));
        assert_eq!(port_range("60999\n"), None);
        assert_eq!(port_range("7 6\n"), None, "no range at all");
        let available = memory_available("MemTotal: 8 kB\nMemAvailable:    2 kB\n");
        assert_eq!(available, Some(2_048));
        assert_eq!(memory_available("MemTotal: 8 kB\n"), None);
        assert_eq!(
            invariant_tsc("flags\t\t: fpu constant_tsc nonstop_tsc sse\n"),
            Some(true)
        );
        assert_eq!(
            invariant_tsc("flags\t\t: fpu constant_tsc sse\n"),
            Some(false)
        );
        assert_eq!(invariant_tsc("Features\t: fp asimd\n"), None, "no x86");
    }

    #[test]
    fn reserved_ports_count_within_the_range_alone() {
        let rows = [
            ("\n", 0, "none"),
            ("100\n", 1, "one"),
            ("99,100-109,200\n", 11, "only what lies within"),
            ("90-300\n", 101, "more than all"),
            ("x,5-,-\n", 0, "nonsense"),
        ];
        for (text, expected, why) in rows {
            assert_eq!(ports_reserved(text, 100, 200), expected, "{why}");
        }
    }

    #[test]
    fn stolen_time_is_a_share_of_all_time_since() {
        let ticks = |text| cpu_ticks(text).unwrap();
        let before = ticks("cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
        let after = ticks("cpu  20 0 20 140 0 0 0 20 9 9\n");
        assert_eq!(after.steal_since(before), 0.2);
        assert_eq!(before.steal_since(after), 0.0, "a counter that went back");
        assert_eq!(
            cpu_ticks("cpu  1 2 3\n"),
            None,
            "a kernel before steal was counted"
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in ".*", numbers in "[0-9 \t\n,-]*", first: u16, last: u16) {
            for text in [&text, &numbers, &format!("cpu {numbers}"), &format!("MemAvailable: {numbers} kB")] {
                let _ = (port_range(text), memory_available(text), invariant_tsc(text), cpu_ticks(text));
                let _ = ports_reserved(text, first, last);
            }
        }
    }
}
