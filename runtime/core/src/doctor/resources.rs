//! Descriptors, memory, memory maps, CPUs: what runs out by the number of virtual users.

use super::{Amount, Finding, Machine, Needs, Severity};
use crate::units::{Bytes, Count};

/// Descriptors that a run needs besides one for each connection: files, workers' timers, the resolver.
pub const OWN_DESCRIPTORS: u64 = 100;

/// `fs.nr_open` as it comes: no limit can be raised beyond it.
const MOST_DESCRIPTORS: u64 = 1 << 20;

/// Of the memory there is, in percent: with less left, the system begins to look for pages that it can take away.
const COMFORTABLE_MEMORY_PERCENT: u64 = 80;

/// Whether each connection can have one. A run raises its own limit as far as the hard limit, so that only this one counts.
pub(super) fn descriptors(machine: &Machine, needs: &Needs) -> Finding {
    const RULE: &str = "descriptors";
    let need = needs.connections.times_plus(1, OWN_DESCRIPTORS);
    let Some(limits) = machine.descriptors else {
        return Finding::unknown(RULE, in_words(need));
    };
    let Some(hard) = limits.hard else {
        return Finding::new(RULE, in_words(need), "no limit");
    };
    let has = match limits.soft {
        Some(soft) if soft < need.most.min(hard) => format!(
            "{} allowed (soft limit {}, which a run raises)",
            Count(hard),
            Count(soft)
        ),
        _ => format!("{} allowed", Count(hard)),
    };
    let limit = format!("the hard limit is {}", Count(hard));
    let advice = |number: u64| match number {
        0..=MOST_DESCRIPTORS => format!("sudo prlimit --pid $$ --nofile={number}:{number}"),
        _ => spread(number, hard),
    };
    let what = |number| format!("{} descriptors", Count(number));
    let finding = Finding::new(RULE, in_words(need), has);
    hold(finding, needs, need, hard, &what, &limit, &advice)
}

/// Whether there is enough for all virtual users.
pub(super) fn memory(machine: &Machine, needs: &Needs) -> Finding {
    const RULE: &str = "memory";
    let Some(each) = needs.bytes_per_vu else {
        return Finding::unknown(RULE, "not measured");
    };
    let need = needs.virtual_users.times_plus(each, 0);
    let bytes = |number: u64| Bytes(number).to_string();
    let needed = format!("{} at {} each", amount(need, bytes), Bytes(each));
    let Some(available) = machine.memory_bytes() else {
        return Finding::unknown(RULE, needed);
    };
    let by_group = machine.cgroup_memory_bytes == Some(available);
    let of_whom = if by_group {
        " to its control group"
    } else {
        ""
    };
    let finding = Finding::new(
        RULE,
        needed,
        format!("{} available{of_whom}", Bytes(available)),
    );
    let fit = Count(available / each.max(1));
    let advice = |_| match by_group {
        true => format!(
            "raise the memory limit of its control group, or ask for at most {fit} virtual users"
        ),
        false => {
            format!("ask for at most {fit} virtual users, or spread the load over several machines")
        }
    };
    let what = |number| format!("{} of memory", Bytes(number));
    let limit = format!("{} are available{of_whom}", Bytes(available));
    let comfortable = available / 100 * COMFORTABLE_MEMORY_PERCENT;
    if need.certain <= available && need.certain > comfortable {
        let sentence = format!(
            "{} needs {}, and {limit}",
            needs.subject,
            what(need.certain)
        );
        return finding.complain(Severity::Warning, sentence, advice(need.certain));
    }
    hold(finding, needs, need, available, &what, &limit, &advice)
}

/// Whether the kernel grants the process as many as its guests take.
pub(super) fn memory_maps(machine: &Machine, needs: &Needs) -> Finding {
    const RULE: &str = "memory-maps";
    let Some(need) = needs.memory_maps else {
        return Finding::new(RULE, "few: there is no guest", maps_there_are(machine));
    };
    let Some(maps) = machine.memory_maps else {
        return Finding::unknown(RULE, in_words(need));
    };
    let what = |number| format!("{} memory maps", Count(number));
    let limit = format!("vm.max_map_count is {}", Count(maps.most));
    let advice = |number| format!("sysctl -w vm.max_map_count={number}");
    let finding = Finding::new(RULE, in_words(need), maps_there_are(machine));
    hold(finding, needs, need, maps.most, &what, &limit, &advice)
}

fn maps_there_are(machine: &Machine) -> String {
    let most = machine.memory_maps.map(|maps| maps.most);
    most.map_or_else(
        || "unknown".to_owned(),
        |most| format!("{} allowed", Count(most)),
    )
}

/// Whether workers have a CPU each.
pub(super) fn cpus(machine: &Machine, needs: &Needs) -> Finding {
    const RULE: &str = "cpus";
    let Some(cpus) = machine.cpus else {
        return Finding::unknown(RULE, "one for each worker");
    };
    let workers = needs.workers.unwrap_or(cpus.allowed);
    let usable = cpus.usable();
    let has = match cpus.quota {
        Some(quota) if quota < f64::from(cpus.allowed) => {
            format!(
                "{}, of which the quota leaves {}",
                cpus.allowed,
                decimal(quota)
            )
        }
        _ => cpus.allowed.to_string(),
    };
    let finding = Finding::new(
        RULE,
        format!("one for each of {}", workers_in_words(workers)),
        has,
    );
    if usable < 1.0 {
        let sentence = format!(
            "the quota of its control group leaves {} CPUs: all threads are stopped for a part of each period, and starts come late",
            decimal(usable)
        );
        return finding.complain(
            Severity::Warning,
            sentence,
            "raise the quota (`cpu.max`) to one CPU or more",
        );
    }
    if f64::from(workers) <= usable {
        return finding;
    }
    let whole = usable as u32;
    let sentence = format!(
        "{} take turns on {} CPUs",
        workers_in_words(workers),
        decimal(usable)
    );
    finding.complain(Severity::Warning, sentence, format!("--workers {whole}"))
}

fn workers_in_words(workers: u32) -> String {
    match workers {
        1 => "1 worker".to_owned(),
        _ => format!("{workers} workers"),
    }
}

/// One digit after the point, none where it is a zero.
fn decimal(number: f64) -> String {
    format!("{number:.1}").trim_end_matches(".0").to_owned()
}

/// An error where more than the limit is certain to be needed, a warning where it may be.
fn hold(
    finding: Finding,
    needs: &Needs,
    need: Amount,
    limit: u64,
    what: &dyn Fn(u64) -> String,
    limit_in_words: &str,
    advice: &dyn Fn(u64) -> String,
) -> Finding {
    let (severity, verb, number) = match need {
        Amount { certain, .. } if certain > limit => (Severity::Error, "needs", certain),
        Amount { most, .. } if most > limit => (Severity::Warning, "may need up to", most),
        _ => return finding,
    };
    let sentence = format!(
        "{} {verb} {}, and {limit_in_words}",
        needs.subject,
        what(number)
    );
    finding.complain(severity, sentence, advice(number))
}

fn spread(number: u64, each: u64) -> String {
    let machines = number.div_ceil(each.clamp(1, MOST_DESCRIPTORS));
    format!("spread the load over {} machines", Count(machines))
}

fn in_words(need: Amount) -> String {
    amount(need, |number| Count(number).to_string())
}

fn amount(need: Amount, words: impl Fn(u64) -> String) -> String {
    match need {
        Amount { certain, most } if certain == most => words(most),
        Amount { most, .. } => format!("up to {}", words(most)),
    }
}
