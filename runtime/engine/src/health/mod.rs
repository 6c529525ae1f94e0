//! How the generator itself fares: the machine and this process, sampled once a second while load runs.
//!
//! Each source is a small module: a pure parser of one of the kernel's texts (public, for whoever asks about the machine before
//! a run), and a watch that keeps the file open, remembers what it read last, and sets gauges from the difference. The gauges
//! are named and explained in [`nettare_core::health`].
//!
//! ```text
//!   Sampler::open ─► begin(now) ─► sample(now, set) ─► sample(now, set) ...
//!                     remembers      rates since the time before
//! ```
//!
//! What a sample costs does not depend on the number of virtual users: descriptors and sockets are counted by the kernel, never
//! listed here. A source that cannot be read sets no gauge and is named once, in [`Sampler::missing`].

pub mod cgroup;
pub mod cpu;
pub mod memory;
pub mod network;
pub mod sockets;

mod loops;
mod process;
mod source;
mod text;

use crate::clock;

pub(crate) use loops::{LOOK_EVERY_NS, LoopLag, Loops, WorkerLoops};
pub(crate) use process::{allowed_share, cpus_of};

/// What one sample sets gauges through.
pub(crate) struct Pass<'a> {
    /// Since the sample before; none in the first, which only remembers.
    seconds: Option<f64>,
    set: &'a mut dyn FnMut(&str, f64),
    missing: &'a mut Vec<&'static str>,
}

impl Pass<'_> {
    /// A level.
    fn level(&mut self, name: &str, value: f64) {
        if self.seconds.is_some() {
            (self.set)(name, value);
        }
    }

    /// Growth per second. A counter that went back was reset: it has not grown, as far as anybody knows.
    fn rate(&mut self, name: &str, before: u64, now: u64) {
        self.per_second(name, now.saturating_sub(before) as f64);
    }

    fn per_second(&mut self, name: &str, growth: f64) {
        if let Some(seconds) = self.seconds {
            (self.set)(name, growth / seconds);
        }
    }

    /// Time that passed in a state, as a share of all time.
    fn share_of_time(&mut self, name: &str, before_ns: u64, now_ns: u64) {
        if let Some(seconds) = self.seconds {
            let spent = now_ns.saturating_sub(before_ns) as f64 / 1e9;
            (self.set)(name, (spent / seconds).clamp(0.0, 1.0));
        }
    }

    /// Notes that something could not be read; once.
    fn miss(&mut self, what: &'static str) {
        if !self.missing.contains(&what) {
            self.missing.push(what);
        }
    }
}

/// Watches the machine and this process.
pub struct Sampler {
    cpu: cpu::Watch,
    cgroup: cgroup::Watch,
    memory: memory::Watch,
    sockets: sockets::Watch,
    network: network::Watch,
    process: process::Watch,
    sampled_at_ns: Option<u64>,
    missing: Vec<&'static str>,
}

/// Two samples closer than this tell more of the kernel's hundredths of a second than of the load.
const SHORTEST_NS: u64 = 200_000_000;

impl Sampler {
    /// Opens what there is to read. `workers` are what this process's CPU time is a share of, at most.
    pub fn open(workers: usize) -> Sampler {
        let cgroup = cgroup::Watch::open();
        Sampler {
            cpu: cpu::Watch::open(),
            memory: memory::Watch::open(),
            sockets: sockets::Watch::open(),
            network: network::Watch::open(),
            process: process::Watch::open(allowed_share(workers, cgroup.quota())),
            cgroup,
            sampled_at_ns: None,
            missing: Vec::new(),
        }
    }

    /// Remembers where every counter stands.
    pub fn begin(&mut self) {
        self.sampled_at_ns = None;
        self.take(None, &mut |_, _| {});
        self.sampled_at_ns = Some(clock::monotonic_ns());
    }

    /// Sets every gauge by what happened since the sample before, if that is long enough ago or this is the `first`; answers
    /// whether it did.
    pub fn sample(&mut self, first: bool, set: &mut dyn FnMut(&str, f64)) -> bool {
        let now_ns = clock::monotonic_ns();
        let since_ns = self.sampled_at_ns.map(|at_ns| now_ns.saturating_sub(at_ns));
        match since_ns {
            Some(since_ns) if since_ns >= SHORTEST_NS || (first && since_ns > 0) => {
                self.take(Some(since_ns as f64 / 1e9), set);
                self.sampled_at_ns = Some(now_ns);
                true
            }
            _ => false,
        }
    }

    /// What could not be read so far.
    pub fn missing(&self) -> &[&'static str] {
        &self.missing
    }

    fn take(&mut self, seconds: Option<f64>, set: &mut dyn FnMut(&str, f64)) {
        let mut pass = Pass {
            seconds,
            set,
            missing: &mut self.missing,
        };
        self.process.sample(&mut pass);
        self.cpu.sample(&mut pass);
        self.cgroup.sample(&mut pass);
        self.memory.sample(&mut pass);
        let descriptors = self.sockets.sample_descriptors(&mut pass);
        self.sockets.sample(descriptors, &mut pass);
        self.network.sample(&mut pass);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettare_core::health::gauge;
    use std::collections::BTreeMap;

    #[test]
    fn shares_are_shares_and_rates_are_not_negative_on_this_machine() {
        let mut sampler = Sampler::open(1);
        sampler.begin();
        let mut gauges = BTreeMap::new();
        sampler.sample(true, &mut |name, value| {
            gauges.insert(name.to_owned(), value);
        });
        assert!(gauges.contains_key(gauge::CPU), "{gauges:?}");
        for (name, value) in &gauges {
            let known = nettare_core::health::info(name);
            assert!(known.is_some(), "{name} is not in the table");
            assert!(value.is_finite() && *value >= 0.0, "{name} {value}");
        }
        for share in [
            gauge::CPU_STEAL,
            gauge::AVAILABLE,
            gauge::DESCRIPTORS_USED,
            gauge::THROTTLED,
        ] {
            if let Some(value) = gauges.get(share) {
                assert!(*value <= 1.0, "{share} {value}");
            }
        }
    }

    #[test]
    fn a_counter_that_went_back_has_not_grown() {
        let mut seen = Vec::new();
        let mut pass = Pass {
            seconds: Some(2.0),
            set: &mut |_, value| seen.push(value),
            missing: &mut Vec::new(),
        };
        pass.rate("grown", 10, 14);
        pass.rate("reset", 10, 3);
        pass.share_of_time("more than all", 0, 9_000_000_000);
        assert_eq!(seen, [2.0, 0.0, 1.0]);
    }

    #[test]
    fn the_first_pass_only_remembers_and_what_is_missing_is_named_once() {
        let mut missing = Vec::new();
        let mut pass = Pass {
            seconds: None,
            set: &mut |name, _| panic!("{name} was set"),
            missing: &mut missing,
        };
        pass.rate("grown", 10, 14);
        pass.level("level", 1.0);
        pass.miss("/proc/nothing");
        pass.miss("/proc/nothing");
        assert_eq!(missing, ["/proc/nothing"]);
    }
}
