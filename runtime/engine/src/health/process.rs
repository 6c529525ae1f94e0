//! This process: its CPU time, that of its busiest threads, and its memory.

use std::fs;

use nettare_core::health::gauge;

use super::Pass;
use super::source::Source;
use crate::affinity;
use crate::clock;
use crate::process::{cpu_times, status_bytes};

/// CPUs that so many workers may run on.
pub(crate) fn cpus_of(workers: usize) -> u32 {
    let cpus = workers.clamp(1, affinity::allowed_cpus().len());
    u32::try_from(cpus).unwrap_or(u32::MAX)
}

/// CPUs that this process may use: one for each worker, within affinity and quota.
pub(crate) fn allowed_share(workers: usize, quota: Option<f64>) -> f64 {
    let cpus = f64::from(cpus_of(workers));
    // A quota of nothing does not exist; a tiny one must not divide by 0.
    quota.map_or(cpus, |quota| quota.clamp(0.01, cpus))
}

/// The kinds of threads that are watched: the begin of their names, and the gauge.
const KINDS: [(&str, &str); 2] = [("io-", gauge::IO_CPU), ("guest-", gauge::GUEST_CPU)];

/// One thread.
struct Thread {
    gauge: &'static str,
    stat: Source,
    cpu_ns: u64,
}

/// Watches the process.
pub(super) struct Watch {
    /// CPUs that it may use.
    cpus: f64,
    status: Source,
    cpu_ns: u64,
    /// Listed at the first pass, when workers have their threads; there are two for each.
    threads: Vec<Thread>,
}

impl Watch {
    pub(super) fn open(cpus: f64) -> Watch {
        Watch {
            cpus,
            status: Source::open("/proc/self/status"),
            cpu_ns: 0,
            threads: Vec::new(),
        }
    }

    pub(super) fn sample(&mut self, pass: &mut Pass<'_>) {
        let cpu_ns = clock::process_cpu_ns();
        let used_ns = cpu_ns.saturating_sub(self.cpu_ns);
        self.cpu_ns = cpu_ns;
        match pass.seconds {
            None => self.threads = worker_threads(),
            Some(seconds) => {
                let used = used_ns as f64 / 1e9 / seconds;
                pass.level(gauge::CPUS_USED, used);
                pass.level(gauge::CPU, (used / self.cpus).min(1.0));
            }
        }
        self.sample_threads(pass);
        let status = self.status.read();
        match status.and_then(|text| status_bytes(text, "VmRSS:")) {
            Some(bytes) => pass.level(gauge::RESIDENT_BYTES, bytes as f64),
            None => pass.miss("/proc/self/status"),
        }
    }

    fn sample_threads(&mut self, pass: &mut Pass<'_>) {
        let mut busiest: [Option<u64>; KINDS.len()] = [None; KINDS.len()];
        for thread in &mut self.threads {
            let Some((user_ns, system_ns)) = thread.stat.read().and_then(cpu_times) else {
                continue;
            };
            let cpu_ns = user_ns.saturating_add(system_ns);
            let used_ns = cpu_ns.saturating_sub(thread.cpu_ns);
            thread.cpu_ns = cpu_ns;
            for (busiest, (_, gauge)) in busiest.iter_mut().zip(KINDS) {
                if thread.gauge == gauge {
                    *busiest = Some(busiest.unwrap_or(0).max(used_ns));
                }
            }
        }
        for (busiest, (_, gauge)) in busiest.into_iter().zip(KINDS) {
            if let Some(used_ns) = busiest {
                pass.share_of_time(gauge, 0, used_ns);
            }
        }
    }
}

fn worker_threads() -> Vec<Thread> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    tasks
        .filter_map(|task| {
            let path = task.ok()?.path();
            let name = fs::read_to_string(path.join("comm")).ok()?;
            let (_, gauge) = KINDS.iter().find(|(kind, _)| name.starts_with(kind))?;
            Some(Thread {
                gauge,
                stat: Source::open(path.join("stat")),
                cpu_ns: 0,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_a_cpu_but_not_past_affinity_and_quota() {
        let allowed = affinity::allowed_cpus().len();
        assert_eq!(allowed_share(1, None), 1.0);
        assert_eq!(allowed_share(allowed + 5, None), allowed as f64);
        assert_eq!(allowed_share(1, Some(0.5)), 0.5);
        assert_eq!(allowed_share(1, Some(64.0)), 1.0);
        assert!(allowed_share(1, Some(0.0)) > 0.0);
    }
}
