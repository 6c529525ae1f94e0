//! The rules, one row each: what is looked at, what is right, what to do.
//!
//! Limits are generous where a figure says little of the run by itself, so that a quiet machine is never suspected: each figure
//! is the mean over the run, or its worst second where one second is enough to spoil it.

use super::RunCounts;
use super::rule::{Bound, Evidence, Measure, Rule, Side, Test};
use crate::health::gauge;
use crate::sample::{ErrorKind, Funnel};
use crate::sched::{DropReason, IterationCounts};
use crate::stats::Counts;

const OUR_BUG: &str = "this is a bug in Nettare: please report it with the JSON report of the run";

/// Share of exchanges or arrivals that the generator's own limits may spoil.
const GENERATOR_SHARE: f64 = 0.001;

/// From here on the generator has little left to be on time with.
const BUSY_CPU: f64 = 0.8;

/// From here on it has nothing left.
const SATURATED_CPU: f64 = 0.95;

/// An iteration that starts later than this by the generator's fault is not the one that was asked for.
const LATE_START_NS: f64 = 50e6;

/// A share of memory below which it matters that the kernel has to look for free pages.
const SCARCE_MEMORY: f64 = 0.2;

/// Fewer exchanges than these say nothing about stamps.
const FEW_STAMPS: u64 = 5;

/// Share of arrivals that find no virtual user before the load is not what was asked for. A server that stalls for a moment should not
/// spoil a run: that a user would have waited, too, is in `iteration_response`.
const OFTEN_DROPPED: f64 = 0.1;

/// Every rule there is.
pub const RULES: &[Rule] = &[
    Rule {
        name: "generator-limit",
        about: "exchanges that failed for want of ports, descriptors, memory or time on this machine",
        advice: "this machine ran out of what the errors name. Ports: `sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"`, or keep \
                 connections with --connections per-vu. Descriptors: `ulimit -n`. Memory: fewer virtual users",
        test: Test::Bound(Bound {
            figure: |it| {
                let failed = it.counts.funnel.failed[ErrorKind::GeneratorLimit as usize];
                Some(share(failed, it.counts.funnel.attempted))
            },
            measure: Measure::Share,
            of: "of exchanges failed by the generator's own limits",
            side: Side::AtMost,
            suspect: None,
            invalid: Some(GENERATOR_SHARE),
        }),
    },
    Rule {
        name: "generator-drops",
        about: "arrivals that the generator did not start in time, or for want of its own means",
        advice: "this machine could not start iterations in time: give it more CPU, or ask for less",
        test: Test::Bound(Bound {
            figure: |it| {
                let dropped = &it.counts.iterations.dropped;
                let own = dropped[DropReason::Lag as usize]
                    .saturating_add(dropped[DropReason::GeneratorLimit as usize]);
                Some(share(own, it.counts.iterations.offered))
            },
            measure: Measure::Share,
            of: "of arrivals dropped by the generator's own doing",
            side: Side::AtMost,
            suspect: None,
            invalid: Some(GENERATOR_SHARE),
        }),
    },
    Rule {
        name: "nothing-answered",
        about: "answers",
        advice: "check that the target is up and the address right: see the errors",
        test: Test::Law {
            limit: "at least 1 answer",
            broken: |counts| {
                let Funnel {
                    attempted,
                    answered,
                    ..
                } = counts.funnel;
                (attempted > 0 && answered == 0)
                    .then(|| format!("0 of {attempted} exchanges answered"))
            },
        },
    },
    Rule {
        name: "nothing-completed",
        about: "iterations that came to their end in good order",
        advice: "see the warnings for why iterations failed: a variable that the scenario needs, or a bug in it",
        test: Test::Law {
            limit: "at least 1 iteration completed where some failed",
            broken: |counts| {
                let IterationCounts {
                    started,
                    completed,
                    failed,
                    ..
                } = counts.iterations;
                (failed > 0 && completed == 0)
                    .then(|| format!("0 of {started} iterations completed"))
            },
        },
    },
    Rule {
        name: "arrivals-dropped",
        about: "arrivals that never started because every virtual user was busy",
        advice: "the load asked for was not offered: allow more virtual users (`max-vus`), or ask for less than the target can take",
        test: Test::Bound(Bound {
            figure: |it| {
                let dropped = it.counts.iterations.dropped[DropReason::NoVu as usize];
                Some(share(dropped, it.counts.iterations.offered))
            },
            measure: Measure::Share,
            of: "of arrivals dropped for want of a free virtual user",
            side: Side::AtMost,
            suspect: Some(OFTEN_DROPPED),
            invalid: None,
        }),
    },
    Rule {
        name: "lost-samples",
        about: "workers that ended without handing over what they had measured",
        advice: "part of the run is missing from its figures: run again, and report it if it stays so",
        test: Test::Law {
            limit: "every worker hands over its last samples",
            broken: |counts| {
                let lost = counts.lost_workers;
                (lost > 0).then(|| format!("{lost} workers did not"))
            },
        },
    },
    Rule {
        name: "ports",
        about: "ephemeral ports in use, at most: this process's TCP sockets and those in TIME_WAIT, against `ip_local_port_range`",
        advice: "ports are running out: keep connections open, widen `net.ipv4.ip_local_port_range`, or add local addresses or \
                 machines",
        test: Test::Bound(Bound {
            figure: |it| it.health.max(gauge::PORTS_USED),
            measure: Measure::Share,
            of: "of the ephemeral ports in use",
            side: Side::AtMost,
            suspect: Some(0.9),
            invalid: None,
        }),
    },
    Rule {
        name: "descriptors",
        about: "descriptors open in this process, against their limit",
        advice: "descriptors are running out: raise the limit with `ulimit -n`, or use fewer connections",
        test: Test::Bound(Bound {
            figure: |it| it.health.max(gauge::DESCRIPTORS_USED),
            measure: Measure::Share,
            of: "of the descriptors in use",
            side: Side::AtMost,
            suspect: Some(0.9),
            invalid: None,
        }),
    },
    Rule {
        name: "generator-cpu",
        about: "CPU time of this process, against the CPUs that its workers may use",
        advice: "the throughput may be this machine's and not the server's: give the generator more CPUs, spread the load, or ask \
                 for less",
        test: Test::Bound(Bound {
            figure: |it| it.health.mean(gauge::CPU),
            measure: Measure::Share,
            of: "of the CPUs it may use taken by the generator",
            side: Side::AtMost,
            suspect: Some(BUSY_CPU),
            invalid: None,
        }),
    },
    Rule {
        name: "saturated-and-late",
        about: "the same in a run at a rate whose iterations started over 50 ms late at p99 by the generator's fault",
        advice: "the rate asked for was not offered in time: ask for less, or spread it over more CPUs or machines",
        test: Test::Bound(Bound {
            figure: |it| {
                let late = it.counts.lag_p99_ns.map_or(0.0, |ns| ns as f64) > LATE_START_NS;
                let cpu = it.health.mean(gauge::CPU)?;
                Some(if it.counts.is_paced && late { cpu } else { 0.0 })
            },
            measure: Measure::Share,
            of: "of the CPUs taken, and iterations started late",
            side: Side::AtMost,
            suspect: None,
            invalid: Some(SATURATED_CPU),
        }),
    },
    Rule {
        name: "late-starts",
        about: "how late iterations started by the generator's own lag, p99",
        advice: "this machine was not on time: give it more CPU, stop what else runs on it, or ask for less",
        test: Test::Bound(Bound {
            figure: |it| Some(it.counts.lag_p99_ns.unwrap_or(0) as f64),
            measure: Measure::Nanoseconds,
            of: "late by lag at p99",
            side: Side::AtMost,
            suspect: Some(LATE_START_NS),
            invalid: None,
        }),
    },
    Rule {
        name: "assertions",
        about: "CPU time of checks as a share of the generator's, when the generator takes over 80 % of its CPUs",
        advice: "checks are what keeps this generator busy: sample them, defer them, or make them cheaper",
        test: Test::Bound(Bound {
            figure: assertions,
            measure: Measure::Share,
            of: "of this generator taken by assertions",
            side: Side::AtMost,
            suspect: Some(0.5),
            invalid: None,
        }),
    },
    Rule {
        name: "io-lag",
        about: "share of the time that I/O threads were over 10 ms late for their timer, and so for their sockets",
        advice: "something keeps the I/O threads from their sockets: give the generator CPUs of its own, or use fewer virtual users",
        test: Test::Bound(Bound {
            figure: |it| it.health.mean(gauge::IO_LATE),
            measure: Measure::Share,
            of: "of the time late for sockets",
            side: Side::AtMost,
            suspect: Some(0.05),
            invalid: Some(0.25),
        }),
    },
    Rule {
        name: "inline-guest",
        about: "share of the time that guests polled inline held an I/O thread for over 10 ms at a stretch",
        advice: "a heavy guest kept an I/O thread from its sockets: use `--guest-thread split`, or `auto`",
        test: Test::Bound(Bound {
            figure: |it| it.health.mean(gauge::INLINE_HELD),
            measure: Measure::Share,
            of: "of the time an I/O thread was held by guests",
            side: Side::AtMost,
            suspect: Some(0.01),
            invalid: Some(0.05),
        }),
    },
    Rule {
        name: "steal",
        about: "CPU time that the host of this virtual machine gave to others",
        advice: "this machine's host is busy with others: use one with CPUs of its own",
        test: Test::Bound(Bound {
            figure: |it| it.health.mean(gauge::CPU_STEAL),
            measure: Measure::Share,
            of: "of the CPU time stolen",
            side: Side::AtMost,
            suspect: Some(0.05),
            invalid: None,
        }),
    },
    Rule {
        name: "cgroup-throttling",
        about: "share of the time in periods of a control group's CPU quota that ended throttled: nothing at all runs meanwhile",
        advice: "a CPU quota stops the generator: raise or remove the limit of its container or service, or ask for less",
        test: Test::Bound(Bound {
            figure: |it| it.health.mean(gauge::THROTTLED),
            measure: Measure::Share,
            of: "of the time in throttled periods",
            side: Side::AtMost,
            suspect: Some(0.01),
            invalid: Some(0.5),
        }),
    },
    Rule {
        name: "memory-pressure",
        about: "share of the time that something on this machine waited for memory (PSI)",
        advice: "memory is short: stop what takes it, or use fewer virtual users and smaller bodies",
        test: Test::Bound(Bound {
            figure: |it| it.health.mean(gauge::PRESSURE_MEMORY),
            measure: Measure::Share,
            of: "of the time waited for memory",
            side: Side::AtMost,
            suspect: Some(0.05),
            invalid: Some(0.5),
        }),
    },
    Rule {
        name: "memory-available",
        about: "memory that the machine has available, at the least",
        advice: "memory is running out: stop what takes it, or use fewer virtual users and smaller bodies",
        test: Test::Bound(Bound {
            figure: |it| it.health.min(gauge::AVAILABLE),
            measure: Measure::Share,
            of: "of the memory available",
            side: Side::AtLeast,
            suspect: Some(0.05),
            invalid: None,
        }),
    },
    Rule {
        name: "kswapd",
        about: "how often `kswapd` met the low watermark again at once, when less than a fifth of the memory is available: it is \
                taken as fast as it is freed",
        advice: "memory is being reclaimed all the time: stop what takes it, or raise `vm.watermark_scale_factor`",
        test: Test::Bound(Bound {
            figure: kswapd,
            measure: Measure::PerSecond,
            of: "at the low watermark",
            side: Side::AtMost,
            suspect: Some(1.0),
            invalid: None,
        }),
    },
    Rule {
        name: "softnet-squeezed",
        about: "how often the kernel left received packets for later: their stamps are late",
        advice: "the CPUs that receive packets are busy: raise `net.core.netdev_budget`, or spread the load",
        test: Test::Bound(Bound {
            figure: |it| it.health.mean(gauge::SOFTNET_SQUEEZED),
            measure: Measure::PerSecond,
            of: "squeezed",
            side: Side::AtMost,
            suspect: Some(10.0),
            invalid: None,
        }),
    },
    Rule {
        name: "softnet-dropped",
        about: "received packets for which the kernel's backlog had no room",
        advice: "this machine drops what it receives: raise `net.core.netdev_max_backlog`, or spread the load",
        test: Test::Bound(Bound {
            figure: |it| it.health.mean(gauge::SOFTNET_DROPPED),
            measure: Measure::PerSecond,
            of: "dropped",
            side: Side::AtMost,
            suspect: Some(1.0),
            invalid: None,
        }),
    },
    Rule {
        name: "receive-queues",
        about: "packets dropped or pruned because a socket's receive queue was full",
        advice: "sockets are not drained in time: see the lag of the I/O threads, and raise `net.ipv4.tcp_rmem` for large bodies",
        test: Test::Bound(Bound {
            figure: |it| it.health.mean(gauge::RECEIVE_PRESSURE),
            measure: Measure::PerSecond,
            of: "dropped or pruned",
            side: Side::AtMost,
            suspect: Some(10.0),
            invalid: None,
        }),
    },
    Rule {
        name: "network-link",
        about: "the busier direction of the busiest network interface, against its speed, in its busiest second",
        advice: "the link is full, so the times are its own: ask for less, or use a faster link or more machines",
        test: Test::Bound(Bound {
            figure: |it| it.health.max(gauge::NIC_USED),
            measure: Measure::Share,
            of: "of the link's speed",
            side: Side::AtMost,
            suspect: Some(0.9),
            invalid: None,
        }),
    },
    Rule {
        name: "clock-set",
        about: "times that somebody set the realtime clock, by which the kernel stamps",
        advice: "the clock was set while the run measured: run again once it is right",
        test: Test::Bound(Bound {
            figure: |it| it.health.total(gauge::CLOCK_STEPS).map(f64::round),
            measure: Measure::Count,
            of: "times set",
            side: Side::AtMost,
            suspect: Some(0.0),
            invalid: None,
        }),
    },
    Rule {
        name: "stamps-bound",
        about: "answers whose kernel stamp is later than their end: their net is an upper bound",
        advice: "net is a bound more often than a measurement: see whether the target closes connections or answers in pieces, or \
                 lower the load",
        test: Test::Bound(Bound {
            figure: |it| Some(stamped(it.counts.totals.stamps, 1)),
            measure: Measure::Share,
            of: "of answers with a bound",
            side: Side::AtMost,
            suspect: Some(0.2),
            invalid: None,
        }),
    },
    Rule {
        name: "stamps-user",
        about: "answers without a kernel stamp: their net has the generator's own delay in it",
        advice: "net holds the generator's own delay: run with `--timestamps kernel` where the system has kernel stamps",
        test: Test::Bound(Bound {
            figure: |it| Some(stamped(it.counts.totals.stamps, 2)),
            measure: Measure::Share,
            of: "of answers without a kernel stamp",
            side: Side::AtMost,
            suspect: Some(0.2),
            invalid: None,
        }),
    },
    Rule {
        name: "window-limited",
        about: "answers during which the receive window was nearly closed: the server waited for this machine",
        advice: "the server had to wait for this machine to read: see the lag of the I/O threads, or raise `net.ipv4.tcp_rmem`",
        test: Test::Bound(Bound {
            figure: |it| {
                let [exact, bound, user] = it.counts.totals.stamps;
                let answered = exact.saturating_add(bound).saturating_add(user);
                Some(share(it.counts.totals.window_limited, answered))
            },
            measure: Measure::Share,
            of: "of answers limited by the receive window",
            side: Side::AtMost,
            suspect: Some(0.2),
            invalid: None,
        }),
    },
    Rule {
        name: "invariant-iterations",
        about: "Nettare's own sums",
        advice: OUR_BUG,
        test: Test::Law {
            limit: "offered = started + dropped",
            broken: |counts| {
                let it = &counts.iterations;
                let dropped = it.dropped_total();
                (it.offered != it.started + dropped).then(|| {
                    format!(
                        "offered {}, started {}, dropped {dropped}",
                        it.offered, it.started
                    )
                })
            },
        },
    },
    Rule {
        name: "invariant-iteration-ends",
        about: "Nettare's own sums",
        advice: OUR_BUG,
        test: Test::Law {
            limit: "started = completed + failed + interrupted",
            broken: |counts| {
                let IterationCounts {
                    started,
                    completed,
                    failed,
                    interrupted,
                    ..
                } = counts.iterations;
                (started != completed + failed + interrupted).then(|| {
                    format!("started {started}, completed {completed}, failed {failed}, interrupted {interrupted}")
                })
            },
        },
    },
    Rule {
        name: "invariant-iteration-samples",
        about: "Nettare's own sums",
        advice: OUR_BUG,
        test: Test::Law {
            limit: "iterations recorded = completed + failed",
            broken: |counts| {
                let ended = counts.iterations.completed + counts.iterations.failed;
                let recorded = counts.totals.iterations;
                (recorded != ended).then(|| format!("recorded {recorded}, ended {ended}"))
            },
        },
    },
    Rule {
        name: "invariant-exchanges",
        about: "Nettare's own sums",
        advice: OUR_BUG,
        test: Test::Law {
            limit: "attempted = answered + failed + retried + in flight at the stop",
            broken: |counts| {
                let funnel = &counts.funnel;
                let ended = funnel.answered + funnel.failed_total() + funnel.retried;
                let (attempted, in_flight) = (funnel.attempted, funnel.in_flight);
                (!funnel.adds_up())
                    .then(|| format!("attempted {attempted}, ended {ended}, in flight {in_flight}"))
            },
        },
    },
    Rule {
        name: "invariant-exchange-samples",
        about: "Nettare's own sums",
        advice: OUR_BUG,
        test: Test::Law {
            limit: "exchanges recorded = answered + failed",
            broken: |counts| {
                let ended = counts.funnel.answered + counts.funnel.failed_total();
                let recorded =
                    counts.totals.exchanges_with_aside + counts.hooks.exchanges_with_aside;
                (recorded != ended).then(|| format!("recorded {recorded}, ended {ended}"))
            },
        },
    },
    Rule {
        name: "invariant-tare-sum",
        about: "Nettare's own sums",
        advice: OUR_BUG,
        test: Test::Law {
            limit: "phases + tare = gross, within 1 %",
            broken: tare_sum,
        },
    },
    Rule {
        name: "invariant-request-within-iteration",
        about: "Nettare's own sums",
        advice: OUR_BUG,
        test: Test::Law {
            limit: "every call begins and ends within its iteration",
            broken: |counts| {
                let stray = counts.stray_iterations;
                (stray > 0).then(|| format!("{stray} iterations with calls that reach beyond them"))
            },
        },
    },
    Rule {
        name: "invariant-interval-sums",
        about: "Nettare's own sums",
        advice: OUR_BUG,
        test: Test::Law {
            limit: "intervals add up to totals",
            broken: interval_sums,
        },
    },
    Rule {
        name: "invariant-percentiles",
        about: "Nettare's own sums",
        advice: OUR_BUG,
        test: Test::Law {
            limit: "min <= p50 <= p90 <= p95 <= p99 <= p99.9 <= max",
            broken: |counts| {
                let disordered = counts.totals.disordered_trends;
                (disordered > 0).then(|| format!("{disordered} metrics out of order"))
            },
        },
    },
];

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Share of answers whose stamp is of that kind; none of note in a handful.
fn stamped(stamps: [u64; 3], kind: usize) -> f64 {
    match stamps[kind] {
        few if few < FEW_STAMPS => 0.0,
        many => share(many, stamps.iter().fold(0, |sum, n| sum.saturating_add(*n))),
    }
}

/// Whoever reads and writes files makes `kswapd` give up cached pages; only where memory is scarce does it say something.
fn kswapd(it: &Evidence<'_>) -> Option<f64> {
    let hits = it.health.mean(gauge::KSWAPD_HITS)?;
    let is_scarce = it.health.min(gauge::AVAILABLE)? < SCARCE_MEMORY;
    Some(if is_scarce { hits } else { 0.0 })
}

/// Nothing to say while the generator has CPU left; nothing to look at where nothing was metered.
fn assertions(it: &Evidence<'_>) -> Option<f64> {
    if it.health.mean(gauge::CPU)? <= BUSY_CPU {
        return Some(0.0);
    }
    let checks_ns = match it.counts.checks_cpu_ns {
        None if it.counts.totals.checks == 0 => 0,
        metered => metered?,
    };
    Some(share(checks_ns, it.counts.generator_cpu_ns?).min(1.0))
}

/// Sums are compared, so that one call's rounding or a stepped clock does not condemn a run.
fn tare_sum(counts: &RunCounts) -> Option<String> {
    let Counts {
        gross_ns,
        tare_ns,
        phases_ns,
        ..
    } = counts.totals;
    let parts = phases_ns.saturating_add(tare_ns);
    let slack = gross_ns / 100;
    // Exchanges whose call was cut short or cancelled have phases and no gross: the parts may be more by these, and are not
    // when all ended.
    let cancelled = counts.funnel.failed[ErrorKind::Cancelled as usize];
    let cut_short = counts.iterations.interrupted > 0 || counts.funnel.in_flight + cancelled > 0;
    let too_few = parts.saturating_add(slack) < gross_ns;
    let too_many = parts > gross_ns.saturating_add(slack) && !cut_short;
    (too_few || too_many)
        .then(|| format!("phases {phases_ns} ns, tare {tare_ns} ns, gross {gross_ns} ns"))
}

fn interval_sums(counts: &RunCounts) -> Option<String> {
    let (totals, intervals) = (&counts.totals, &counts.intervals);
    let pairs = [
        ("answered", totals.answered, intervals.answered),
        ("failed", totals.failed, intervals.failed),
        ("calls", totals.calls, intervals.calls),
        ("iterations", totals.iterations, intervals.iterations),
        ("dropped", totals.dropped, intervals.dropped),
        ("checks", totals.checks, intervals.checks),
    ];
    let wrong = pairs.into_iter().find(|(_, total, sum)| total != sum);
    wrong.map(|(what, total, sum)| format!("{what}: {total} in total, {sum} in intervals"))
}
