//! The machine's memory: `/proc/meminfo`, `/proc/zoneinfo`, `/proc/vmstat` and `/proc/pressure/memory` (proc(5), PSI).

use nettare_core::health::gauge;

use super::Pass;
use super::cpu::parse_pressure;
use super::source::Source;
use super::text::number_after;

/// The machine's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub total_bytes: u64,
    /// What a program can have without swapping.
    pub available_bytes: u64,
}

/// Reads `/proc/meminfo`.
pub fn parse_meminfo(text: &str) -> Option<Memory> {
    let bytes = |key| number_after(text, key)?.checked_mul(1024);
    Some(Memory {
        total_bytes: bytes("MemTotal")?,
        available_bytes: bytes("MemAvailable")?,
    })
}

/// Reads `/proc/zoneinfo`: free pages of the scarcest zone, as a multiple of its low watermark. Below 1 the kernel reclaims.
pub fn parse_zoneinfo(text: &str) -> Option<f64> {
    let zones = text.split("Node ").skip(1);
    let multiple = |zone: &str| {
        let managed = number_after(zone, "managed")?;
        let low = number_after(zone, "low").filter(|low| *low > 0)?;
        let free = number_after(zone, "pages free")?;
        (managed > 0).then_some(free as f64 / low as f64)
    };
    zones.filter_map(multiple).min_by(f64::total_cmp)
}

/// Reads `/proc/vmstat`: how often `kswapd` met the low watermark again right after it had freed memory.
pub fn parse_kswapd_hits(text: &str) -> Option<u64> {
    number_after(text, "kswapd_low_wmark_hit_quickly")
}

/// Watches the memory.
pub(super) struct Watch {
    meminfo: Source,
    zoneinfo: Source,
    vmstat: Source,
    pressure: Source,
    hits: u64,
    waited_ns: u64,
}

impl Watch {
    pub(super) fn open() -> Watch {
        Watch {
            meminfo: Source::open("/proc/meminfo"),
            zoneinfo: Source::open("/proc/zoneinfo"),
            vmstat: Source::open("/proc/vmstat"),
            pressure: Source::open("/proc/pressure/memory"),
            hits: 0,
            waited_ns: 0,
        }
    }

    pub(super) fn sample(&mut self, pass: &mut Pass<'_>) {
        match self.meminfo.read().and_then(parse_meminfo) {
            Some(memory) => {
                let available = memory.available_bytes as f64;
                let share = available / memory.total_bytes.max(1) as f64;
                pass.level(gauge::AVAILABLE_BYTES, available);
                pass.level(gauge::AVAILABLE, share.min(1.0));
            }
            None => pass.miss("/proc/meminfo"),
        }
        match self.zoneinfo.read().and_then(parse_zoneinfo) {
            Some(multiple) => pass.level(gauge::ZONE_FREE, multiple),
            None => pass.miss("/proc/zoneinfo"),
        }
        match self.vmstat.read().and_then(parse_kswapd_hits) {
            Some(hits) => {
                pass.rate(gauge::KSWAPD_HITS, self.hits, hits);
                self.hits = hits;
            }
            None => pass.miss("/proc/vmstat"),
        }
        match self.pressure.read().and_then(parse_pressure) {
            Some(waited_ns) => {
                pass.share_of_time(gauge::PRESSURE_MEMORY, self.waited_ns, waited_ns);
                self.waited_ns = waited_ns;
            }
            None => pass.miss("/proc/pressure/memory"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn memory_is_in_bytes() {
        let text = "MemTotal:       2000 kB\nMemFree:        100 kB\nMemAvailable:   1500 kB\n";
        let memory = Memory {
            total_bytes: 2000 << 10,
            available_bytes: 1500 << 10,
        };
        assert_eq!(parse_meminfo(text), Some(memory));
        assert_eq!(
            parse_meminfo("MemTotal: 2000 kB\n"),
            None,
            "a kernel before 3.14"
        );
    }

    #[test]
    fn the_scarcest_zone_with_memory_counts() {
        let text = "Node 0, zone      DMA\n  per-node stats\n      nr_inactive_anon 1\n  pages free     40\n        boost    0\n        \
                    min      8\n        low      10\n        high     12\n        managed  100\nNode 0, zone   Normal\n  pages \
                    free     30\n        min      8\n        low      20\n        high     12\n        managed  100\nNode 0, \
                    zone  Movable\n  pages free     0\n        min      0\n        low      0\n        managed  0\n";
        assert_eq!(parse_zoneinfo(text), Some(1.5));
        assert_eq!(parse_zoneinfo(""), None);
    }

    #[test]
    fn hits_of_kswapd_are_one_line_of_many() {
        let text = "kswapd_inodesteal 3\nkswapd_low_wmark_hit_quickly 12\nkswapd_high_wmark_hit_quickly 1\n";
        assert_eq!(parse_kswapd_hits(text), Some(12));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "((MemTotal|MemAvailable|Node 0,| low|managed|pages free):? {0,2}[0-9]{0,21}( kB)?\n|\\PC{0,30}\n){0,8}") {
            parse_meminfo(&text);
            parse_kswapd_hits(&text);
            if let Some(multiple) = parse_zoneinfo(&text) {
                prop_assert!(multiple.is_finite());
            }
        }
    }
}
