//! What this process has used of its machine, from `/proc/self`.
//!
//! Formats: proc_pid_stat(5), proc_pid_status(5). On systems without them there is no figure, which is not the same as 0.

use std::fs;

/// `utime` and `stime` are counted in this unit, `USER_HZ`: 1/100 s on every architecture Linux runs on (time(7)).
const NANOSECONDS_PER_TICK: u64 = 10_000_000;

/// CPU time and memory of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessUse {
    /// CPU time in user mode, all threads, resolution 10 ms.
    pub user_cpu_ns: u64,
    /// CPU time in kernel mode, all threads, resolution 10 ms.
    pub system_cpu_ns: u64,
    /// The most memory that was resident at one time.
    pub peak_resident_bytes: u64,
}

impl ProcessUse {
    /// What this process has used up to now.
    pub(crate) fn now() -> Option<ProcessUse> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        let (user_cpu_ns, system_cpu_ns) = cpu_times(&stat)?;
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let peak_resident_bytes = status_bytes(&status, PEAK_RESIDENT)?;
        Some(ProcessUse {
            user_cpu_ns,
            system_cpu_ns,
            peak_resident_bytes,
        })
    }

    /// CPU used since `earlier`; memory is the later figure.
    pub(crate) fn since(self, earlier: ProcessUse) -> ProcessUse {
        ProcessUse {
            user_cpu_ns: self.user_cpu_ns.saturating_sub(earlier.user_cpu_ns),
            system_cpu_ns: self.system_cpu_ns.saturating_sub(earlier.system_cpu_ns),
            peak_resident_bytes: self.peak_resident_bytes,
        }
    }
}

/// Fields 14 and 15, counted from 1. Field 2 is the command in parentheses and may hold anything, spaces and parentheses too:
/// what follows its last one is regular.
pub(crate) fn cpu_times(stat: &str) -> Option<(u64, u64)> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut ticks = || {
        fields
            .next()?
            .parse::<u64>()
            .ok()?
            .checked_mul(NANOSECONDS_PER_TICK)
    };
    Some((ticks()?, ticks()?))
}

/// The most memory that was resident at one time, in `/proc/self/status`.
const PEAK_RESIDENT: &str = "VmHWM:";

/// A figure of `/proc/self/status` that is in kB there.
pub(crate) fn status_bytes(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_spaces_and_parentheses_shifts_nothing() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 100 0 0 0 250 75 0 0 20 0 3 0 100 1 1";
        assert_eq!(cpu_times(stat), Some((2_500_000_000, 750_000_000)));
    }

    #[test]
    fn what_is_not_there_is_not_zero() {
        assert_eq!(cpu_times(""), None);
        assert_eq!(cpu_times("7 (x) S 1"), None);
        assert_eq!(status_bytes("VmRSS:\t 10 kB\n", PEAK_RESIDENT), None);
    }

    #[test]
    fn the_peak_is_in_bytes() {
        assert_eq!(
            status_bytes("Name:\tx\nVmHWM:\t    2048 kB\n", PEAK_RESIDENT),
            Some(2 << 20)
        );
    }
}
