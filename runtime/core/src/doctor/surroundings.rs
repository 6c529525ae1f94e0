//! What spoils figures rather than stopping a run: the clock, stolen time, missing stamps, short queues.

use super::{Finding, Machine, Needs, Severity};
use crate::plan::Timestamps;
use crate::units::Count;

/// Above this share the hypervisor's other guests are felt in every percentile.
const STEAL_AT_MOST: f64 = 0.05;

/// Clock sources that take a microsecond or more a reading, or tick too coarsely, each read by leaving the processor.
const SLOW_CLOCKS: [&str; 6] = [
    "hpet",
    "acpi_pm",
    "pit",
    "jiffies",
    "refined-jiffies",
    "xen",
];

/// Linux's own value since 5.4; a machine with less was set up so, or is old.
const USUAL_ACCEPT_QUEUE: u64 = 4096;

pub(super) fn steal(machine: &Machine) -> Finding {
    const RULE: &str = "steal";
    let needs = "at most 5 % of CPU time";
    let Some(share) = machine.steal else {
        return Finding::unknown(RULE, needs).of_machine();
    };
    let percent = format!("{:.1} %", share * 100.0);
    let finding = Finding::new(RULE, needs, percent.clone()).of_machine();
    if share <= STEAL_AT_MOST {
        return finding;
    }
    let sentence = format!(
        "the hypervisor gives {percent} of this machine's CPU time to others: starts come late, and net times grow"
    );
    finding.complain(
        Severity::Warning,
        sentence,
        "use a machine with CPUs of its own",
    )
}

pub(super) fn clock_source(machine: &Machine) -> Finding {
    const RULE: &str = "clock-source";
    let needs = "one that is read without a system call";
    let Some(source) = &machine.clock_source else {
        return Finding::unknown(RULE, needs);
    };
    let unsteady = source == "tsc" && machine.invariant_tsc == Some(false);
    let has = if unsteady {
        format!("{source}, not invariant")
    } else {
        source.clone()
    };
    let finding = Finding::new(RULE, needs, has);
    if SLOW_CLOCKS.contains(&source.as_str()) {
        let sentence = format!(
            "the kernel's clock source is {source}: each reading takes a microsecond or more, and there are several a request"
        );
        let advice = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource";
        return finding.complain(Severity::Warning, sentence, advice);
    }
    if unsteady {
        let sentence =
            "the CPU's time stamp counter is not invariant: the CPU time of checks may be wrong"
                .to_owned();
        return finding.complain(
            Severity::Warning,
            sentence,
            "use a CPU with constant_tsc and nonstop_tsc, or --meter off",
        );
    }
    finding
}

pub(super) fn kernel_stamps(machine: &Machine, needs: &Needs) -> Finding {
    const RULE: &str = "kernel-stamps";
    let wanted = match needs.timestamps {
        Timestamps::User => {
            return Finding::new(RULE, "none: the plan takes user space's", "not looked at");
        }
        Timestamps::Kernel => "demanded by the plan",
        Timestamps::Auto => "wanted",
    };
    let finding = match machine.kernel_stamps {
        None => return Finding::unknown(RULE, wanted),
        Some(true) => return Finding::new(RULE, wanted, "given"),
        Some(false) => Finding::new(RULE, wanted, "not given"),
    };
    let severity = match needs.timestamps {
        Timestamps::Kernel => Severity::Error,
        _ => Severity::Warning,
    };
    let sentence = "this kernel gives no receive timestamps: net includes what the generator adds while it is busy".to_owned();
    finding.complain(severity, sentence, "run on Linux outside of sandboxes that replace its network stack, or with --timestamps user")
}

pub(super) fn accept_queue(machine: &Machine, needs: &Needs) -> Finding {
    const RULE: &str = "accept-queue";
    let connections = needs.connections.certain;
    let wanted = match (needs.to_loopback, needs.is_reference()) {
        (true, _) => connections,
        (false, true) => USUAL_ACCEPT_QUEUE,
        (false, false) => 0,
    };
    let in_words = match wanted {
        0 => "none: no target on this machine".to_owned(),
        _ => format!("{}, for a target on this machine", Count(wanted)),
    };
    let Some(queue) = machine.accept_queue else {
        return Finding::unknown(RULE, in_words);
    };
    let finding = Finding::new(RULE, in_words, Count(queue).to_string());
    if queue >= wanted {
        return finding;
    }
    let sentence = format!(
        "{} connections may be opened at one time, and a target on this machine can queue {} (net.core.somaxconn): the others wait a second",
        Count(wanted),
        Count(queue)
    );
    let advice = format!("sysctl -w net.core.somaxconn={wanted}, then start the target again");
    finding.complain(Severity::Warning, sentence, advice)
}

pub(super) fn cpu_frequency(machine: &Machine) -> Finding {
    const RULE: &str = "cpu-frequency";
    let needs = "a governor that keeps it high";
    let Some(governor) = &machine.governor else {
        return Finding::unknown(RULE, needs).of_machine();
    };
    let finding = Finding::new(RULE, needs, governor.clone()).of_machine();
    if governor != "powersave" {
        return finding;
    }
    let sentence = "the CPU's frequency follows the load (governor powersave): light load is measured at low speed".to_owned();
    finding.complain(
        Severity::Warning,
        sentence,
        "cpupower frequency-set --governor performance",
    )
}
