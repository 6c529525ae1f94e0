//! The machine's CPUs: `/proc/stat` (proc_stat(5)), and how long something waited for one: `/proc/pressure/cpu` (PSI).

use nettare_core::health::gauge;

use super::Pass;
use super::source::Source;

/// CPUs that are told apart one by one; those past it are in means and maxima only.
const MAX_CPUS: u32 = 256;

/// Time of one CPU by what it did, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// The CPU's number.
    pub cpu: u32,
    /// In user mode, niced or not.
    pub user: u64,
    /// In the kernel.
    pub system: u64,
    /// In softirqs: where packets are received.
    pub softirq: u64,
    /// Given to other machines by the host of this one.
    pub steal: u64,
    /// With nothing to do.
    pub idle: u64,
    /// In interrupts.
    pub irq: u64,
}

/// What `/proc/stat` tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// CPUs that are online.
    pub cpus: Vec<CpuTimes>,
    /// Context switches since boot.
    pub context_switches: Option<u64>,
    /// Interrupts since boot.
    pub interrupts: Option<u64>,
}

/// Reads `/proc/stat`.
pub fn parse_stat(text: &str) -> Stat {
    let mut stat = Stat::default();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(key) = words.next() else { continue };
        match key {
            "ctxt" => stat.context_switches = words.next().and_then(|n| n.parse().ok()),
            // The sum comes first; the rest, one figure for each interrupt, may be thousands.
            "intr" => stat.interrupts = words.next().and_then(|n| n.parse().ok()),
            _ => {
                let cpu = key.strip_prefix("cpu").and_then(|n| n.parse().ok());
                stat.cpus.extend(cpu.and_then(|cpu| times(cpu, words)));
            }
        }
    }
    stat
}

/// `user nice system idle iowait irq softirq steal`; guests' time is in `user` already.
fn times<'a>(cpu: u32, mut words: impl Iterator<Item = &'a str>) -> Option<CpuTimes> {
    let mut next = || words.next()?.parse::<u64>().ok();
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    let (iowait, irq, softirq) = (next()?, next()?, next()?);
    Some(CpuTimes {
        cpu,
        user: user.saturating_add(nice),
        system,
        softirq,
        steal: next().unwrap_or(0),
        idle: idle.saturating_add(iowait),
        irq,
    })
}

/// The total of "some" in a file of `/proc/pressure`, in ns.
pub fn parse_pressure(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some"))?;
    let total = some
        .split_ascii_whitespace()
        .find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1_000)
}

impl CpuTimes {
    fn since(&self, before: &CpuTimes) -> CpuTimes {
        CpuTimes {
            cpu: self.cpu,
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            softirq: self.softirq.saturating_sub(before.softirq),
            steal: self.steal.saturating_sub(before.steal),
            idle: self.idle.saturating_sub(before.idle),
            irq: self.irq.saturating_sub(before.irq),
        }
    }

    fn all(&self) -> u64 {
        [
            self.user,
            self.system,
            self.softirq,
            self.steal,
            self.idle,
            self.irq,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}

/// What each CPU that was online both times did between them.
fn between(before: &[CpuTimes], now: &[CpuTimes]) -> Vec<CpuTimes> {
    now.iter()
        .filter_map(|now| {
            let before = before.iter().find(|before| before.cpu == now.cpu)?;
            Some(now.since(before))
        })
        .filter(|times| times.all() > 0)
        .collect()
}

/// A part of a CPU's time and the gauges that tell it.
struct Part {
    of: fn(&CpuTimes) -> u64,
    mean: &'static str,
    max: &'static str,
    word: &'static str,
}

const PARTS: [Part; 4] = [
    Part {
        of: |times| times.user,
        mean: gauge::CPU_USER,
        max: gauge::CPU_USER_MAX,
        word: "user",
    },
    Part {
        of: |times| times.system,
        mean: gauge::CPU_SYSTEM,
        max: gauge::CPU_SYSTEM_MAX,
        word: "system",
    },
    Part {
        of: |times| times.softirq,
        mean: gauge::CPU_SOFTIRQ,
        max: gauge::CPU_SOFTIRQ_MAX,
        word: "softirq",
    },
    Part {
        of: |times| times.steal,
        mean: gauge::CPU_STEAL,
        max: gauge::CPU_STEAL_MAX,
        word: "steal",
    },
];

/// Watches the CPUs.
pub(super) struct Watch {
    stat: Source,
    pressure: Source,
    before: Stat,
    waited_ns: u64,
}

impl Watch {
    pub(super) fn open() -> Watch {
        Watch {
            stat: Source::open("/proc/stat"),
            pressure: Source::open("/proc/pressure/cpu"),
            before: Stat::default(),
            waited_ns: 0,
        }
    }

    pub(super) fn sample(&mut self, pass: &mut Pass<'_>) {
        match self.stat.read().map(parse_stat) {
            Some(now) if !now.cpus.is_empty() => {
                tell(&self.before, &now, pass);
                self.before = now;
            }
            _ => pass.miss("/proc/stat"),
        }
        match self.pressure.read().and_then(parse_pressure) {
            Some(waited_ns) => {
                pass.share_of_time(gauge::PRESSURE_CPU, self.waited_ns, waited_ns);
                self.waited_ns = waited_ns;
            }
            None => pass.miss("/proc/pressure/cpu"),
        }
    }
}

fn tell(before: &Stat, now: &Stat, pass: &mut Pass<'_>) {
    let pairs = [
        (
            gauge::CONTEXT_SWITCHES,
            before.context_switches,
            now.context_switches,
        ),
        (gauge::INTERRUPTS, before.interrupts, now.interrupts),
    ];
    for (name, before, now) in pairs {
        if let (Some(before), Some(now)) = (before, now) {
            pass.rate(name, before, now);
        }
    }
    let cpus = between(&before.cpus, &now.cpus);
    let all: f64 = cpus.iter().map(|cpu| cpu.all() as f64).sum();
    if all == 0.0 {
        return;
    }
    let sum = |of: fn(&CpuTimes) -> u64| cpus.iter().map(|cpu| of(cpu) as f64).sum::<f64>();
    pass.level(gauge::MACHINE_BUSY, 1.0 - sum(|cpu| cpu.idle) / all);
    for part in &PARTS {
        pass.level(part.mean, sum(part.of) / all);
        let shares = cpus
            .iter()
            .map(|cpu| (part.of)(cpu) as f64 / cpu.all() as f64);
        pass.level(part.max, shares.clone().fold(0.0, f64::max));
        for (cpu, share) in cpus
            .iter()
            .zip(shares)
            .filter(|(cpu, _)| cpu.cpu < MAX_CPUS)
        {
            pass.level(&format!("gen_cpu{}_{}", cpu.cpu, part.word), share);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "cpu  30 3 12 300 1 0 6 2 0 0\ncpu0 10 1 5 100 1 0 4 2 0 0\ncpu3 20 2 7 200 0 0 2 0 0 0\n\
                        intr 4444 0 1 2\nctxt 8438\nbtime 1796041453\nprocesses 419\n";

    #[test]
    fn each_cpu_is_read_by_its_number() {
        let stat = parse_stat(TEXT);
        assert_eq!(
            stat.cpus,
            [
                CpuTimes {
                    cpu: 0,
                    user: 11,
                    system: 5,
                    softirq: 4,
                    steal: 2,
                    idle: 101,
                    irq: 0
                },
                CpuTimes {
                    cpu: 3,
                    user: 22,
                    system: 7,
                    softirq: 2,
                    steal: 0,
                    idle: 200,
                    irq: 0
                },
            ]
        );
        assert_eq!(
            (stat.context_switches, stat.interrupts),
            (Some(8438), Some(4444))
        );
    }

    #[test]
    fn a_cpu_that_comes_or_goes_is_left_out_and_a_counter_that_went_back_is_still() {
        let at = |cpu, user, idle| CpuTimes {
            cpu,
            user,
            idle,
            ..CpuTimes::default()
        };
        let before = [at(0, 10, 100), at(1, 10, 100), at(2, 50, 100)];
        let now = [at(0, 20, 190), at(2, 40, 200), at(9, 5, 5)];
        assert_eq!(between(&before, &now), [at(0, 10, 90), at(2, 0, 100)]);
    }

    #[test]
    fn pressure_is_the_total_of_some() {
        let text = "some avg10=2.30 avg60=4.38 avg300=8.41 total=10003\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(parse_pressure(text), Some(10_003_000));
        assert_eq!(parse_pressure("full total=7"), None);
        assert_eq!(parse_pressure("some total=99999999999999999999"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "(cpu[0-9]{0,3}( [0-9]{0,21}){0,11}\n|some total=[0-9]{0,21}\n|\\PC{0,40}\n){0,8}") {
            let stat = parse_stat(&text);
            for cpu in between(&stat.cpus, &parse_stat(&text).cpus) {
                prop_assert_eq!(cpu.all(), 0);
            }
            parse_pressure(&text);
        }
    }
}
