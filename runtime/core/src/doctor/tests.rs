//! Plans held against machines.

use proptest::prelude::*;

use super::*;
use crate::plan::{
    ConnectionPolicy, Executor, Limits, Plan, QuickRequest, Rate, RunOptions, Scenario, Timestamps,
    Work,
};

const SECOND_NS: u64 = 1_000_000_000;

fn rate(arrivals: u64) -> Rate {
    Rate {
        arrivals,
        per_ns: SECOND_NS,
    }
}

fn arrivals(per_second: u64, seconds: u64, max_vus: u32) -> Executor {
    Executor::ConstantArrivalRate {
        rate: rate(per_second),
        duration_ns: seconds.saturating_mul(SECOND_NS),
        pre_allocated_vus: max_vus.min(10),
        max_vus,
    }
}

fn users(vus: u32) -> Executor {
    Executor::ConstantVus {
        vus,
        duration_ns: 60 * SECOND_NS,
    }
}

fn plan(executor: Executor, connections: ConnectionPolicy) -> Plan {
    let request = QuickRequest {
        method: "GET".to_owned(),
        url: "http://127.0.0.1/".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    let scenario = Scenario {
        name: "quick".to_owned(),
        work: Work::Request(request),
        executor,
        isolation: Default::default(),
        graceful_stop_ns: 0,
        env: Default::default(),
        tags: Default::default(),
    };
    Plan {
        run: RunOptions {
            connections,
            ..RunOptions::default()
        },
        scenarios: vec![scenario],
        thresholds: Vec::new(),
        limits: Limits::default(),
    }
}

fn needs(executor: Executor, connections: ConnectionPolicy) -> Needs {
    let asked = Asked {
        bytes_per_vu: Some(100_000),
        ..Asked::default()
    };
    Needs::of(&plan(executor, connections), &asked)
}

/// A machine that lacks nothing for a plan of a usual size.
fn machine() -> Machine {
    Machine {
        ports: Some(Ports {
            first: 32_768,
            last: 60_999,
            ..Ports::default()
        }),
        time_wait_reuse: Some(2),
        descriptors: Some(Descriptors {
            hard: Some(524_288),
            soft: Some(1_024),
        }),
        memory_available_bytes: Some(24_000_000_000),
        memory_maps: Some(MemoryMaps { most: 65_530 }),
        cpus: Some(Cpus {
            allowed: 2,
            quota: None,
        }),
        steal: Some(0.0),
        clock_source: Some("kvm-clock".to_owned()),
        accept_queue: Some(4_096),
        kernel_stamps: Some(true),
        governor: Some("performance".to_owned()),
        ..Machine::default()
    }
}

fn found(machine: &Machine, needs: &Needs, rule: &str) -> Finding {
    let diagnosis = examine(machine, needs);
    let mut findings = diagnosis.findings.into_iter();
    findings.find(|finding| finding.rule == rule).unwrap()
}

/// The finding as it is told.
fn told(finding: &Finding) -> String {
    let severity = finding.severity.as_str();
    match &finding.complaint {
        Some(complaint) => format!("{severity}: {}: {}", complaint.sentence, complaint.advice),
        None => format!("{severity}: {} needed, {}", finding.needs, finding.has),
    }
}

fn kept(executor: Executor) -> Needs {
    needs(executor, ConnectionPolicy::PerVu)
}

fn churning(executor: Executor) -> Needs {
    needs(executor, ConnectionPolicy::PerRequest)
}

/// The usual machine with other ports.
fn with_ports(first: u16, last: u16, reserved: u32, in_use: u32) -> Machine {
    Machine {
        ports: Some(Ports {
            first,
            last,
            reserved,
            in_use,
        }),
        ..machine()
    }
}

/// What a rule says in each case, under the case's sentence.
fn cases(rule: &str, rows: &[(&str, Machine, Needs)]) -> String {
    let text: Vec<String> = rows
        .iter()
        .map(|(why, machine, needs)| format!("# {why}\n{}\n", told(&found(machine, needs, rule))))
        .collect();
    text.join("\n")
}

#[test]
fn kept_connections_take_a_port_each() {
    let in_use = with_ports(32_768, 60_999, 8_000, 20_000);
    let rows = [
        ("one each", machine(), kept(users(500))),
        ("more users than ports", machine(), kept(users(40_000))),
        ("than there are at all", machine(), kept(users(100_000))),
        ("what others hold", in_use, kept(users(500))),
        ("a cap", machine(), kept(arrivals(10, 60, 30_000))),
    ];
    insta::assert_snapshot!("ports-kept", cases("ports", &rows));
}

#[test]
fn connections_that_are_closed_hold_their_ports() {
    let narrow = || with_ports(32_768, 32_967, 0, 0);
    let at = |per_second, seconds| churning(arrivals(per_second, seconds, 100));
    let counted = |iterations| {
        churning(Executor::SharedIterations {
            vus: 10,
            iterations,
            max_duration_ns: u64::MAX,
            rate: None,
        })
    };
    let rows = [
        ("a rate that can be borne", machine(), at(400, 600)),
        ("with a wider range", machine(), at(1_000, 600)),
        ("with ports used again sooner", machine(), at(10_000, 600)),
        ("and more of them", machine(), at(40_000, 600)),
        ("beyond all ports", machine(), at(200_000, 600)),
        ("a short run", machine(), at(1_000, 10)),
        ("few ports", narrow(), at(100, 3)),
        ("as fast as they go", machine(), churning(users(10))),
        ("counted, and few", narrow(), counted(150)),
        ("counted, and many", narrow(), counted(2_000)),
        ("nobody tells", Machine::default(), churning(users(10))),
    ];
    insta::assert_snapshot!("ports-closed", cases("ports", &rows));
}

#[test]
fn a_port_is_free_again_after_a_second_where_the_kernel_may_reuse_it() {
    let needs = |to_loopback| Needs {
        to_loopback,
        ..churning(arrivals(10_000, 600, 100))
    };
    let severity = |reuse, buckets, to_loopback| {
        let machine = Machine {
            time_wait_reuse: reuse,
            time_wait_most: buckets,
            ..machine()
        };
        found(&machine, &needs(to_loopback), "ports").severity
    };
    assert_eq!(severity(Some(2), None, true), Severity::Ok, "on loopback");
    assert_eq!(
        severity(Some(2), None, false),
        Severity::Error,
        "and not elsewhere"
    );
    assert_eq!(
        severity(Some(1), None, false),
        Severity::Ok,
        "unless told to"
    );
    assert_eq!(
        severity(Some(0), None, true),
        Severity::Error,
        "or told not to"
    );
    assert_eq!(
        severity(None, None, true),
        Severity::Error,
        "the unknown is no help"
    );
    assert_eq!(
        severity(Some(0), Some(8_192), true),
        Severity::Ok,
        "a kernel that keeps few in TIME_WAIT"
    );
}

#[test]
fn descriptors_are_held_against_the_hard_limit() {
    let limited = |hard, soft| Machine {
        descriptors: Some(Descriptors { hard, soft }),
        ..machine()
    };
    let few = || limited(Some(4_096), Some(1_024));
    let rows = [
        ("the soft limit is raised", few(), kept(users(2_000))),
        ("the hard one is not", few(), kept(users(4_000))),
        ("a cap", few(), kept(arrivals(10, 60, 5_000))),
        ("no limit", limited(None, None), kept(users(4_000))),
        ("ten million", machine(), kept(users(10_000_000))),
    ];
    insta::assert_snapshot!("descriptors", cases("descriptors", &rows));
}

#[test]
fn memory_is_held_against_what_is_left_of_it() {
    let in_a_group = Machine {
        cgroup_memory_bytes: Some(100_000_000),
        ..machine()
    };
    let unmeasured = Needs {
        bytes_per_vu: None,
        ..kept(users(10))
    };
    let rows = [
        ("enough", machine(), kept(users(1_000))),
        ("nearly all", machine(), kept(users(220_000))),
        ("ten million", machine(), kept(users(10_000_000))),
        ("a cap", machine(), kept(arrivals(10, 60, 1_000_000))),
        ("little in the group", in_a_group, kept(users(2_000))),
        ("nobody measured", machine(), unmeasured),
        ("nobody tells", Machine::default(), kept(users(10))),
    ];
    insta::assert_snapshot!("memory", cases("memory", &rows));
}

#[test]
fn memory_maps_are_held_against_the_kernels_limit() {
    let guests = |number| Needs {
        memory_maps: Some(Amount {
            certain: number,
            most: number,
        }),
        ..kept(users(10))
    };
    let rows = [
        ("enough", machine(), guests(3_000)),
        ("ten million guests", machine(), guests(60_002_096)),
        ("no guest", machine(), kept(users(10))),
        ("nobody tells", Machine::default(), guests(3_000)),
    ];
    insta::assert_snapshot!("memory-maps", cases("memory-maps", &rows));
}

#[test]
fn cpus_are_held_against_affinity_and_quota() {
    let cpus = |allowed, quota| Machine {
        cpus: Some(Cpus { allowed, quota }),
        ..machine()
    };
    let four_workers = Needs {
        workers: Some(4),
        ..kept(users(10))
    };
    let rows = [
        ("one each", cpus(2, None), kept(users(10))),
        ("half a CPU", cpus(2, Some(0.5)), kept(users(10))),
        ("a smaller quota", cpus(4, Some(2.5)), kept(users(10))),
        ("more workers than CPUs", cpus(2, None), four_workers),
    ];
    insta::assert_snapshot!("cpus", cases("cpus", &rows));
}

#[test]
fn what_spoils_figures_is_warned_of() {
    let usual = || needs(users(200), ConnectionPolicy::PerVu);
    let near = Needs {
        to_loopback: true,
        ..usual()
    };
    let demanding = Needs {
        timestamps: Timestamps::Kernel,
        ..usual()
    };
    let clock = |source: &str, invariant| Machine {
        clock_source: Some(source.to_owned()),
        invariant_tsc: invariant,
        ..machine()
    };
    let stampless = Machine {
        kernel_stamps: Some(false),
        ..machine()
    };
    let short_queue = Machine {
        accept_queue: Some(128),
        ..machine()
    };
    let stolen = Machine {
        steal: Some(0.07),
        ..machine()
    };
    let saving = Machine {
        governor: Some("powersave".to_owned()),
        ..machine()
    };
    let rows = [
        ("clock-source", clock("tsc", Some(true)), usual()),
        ("clock-source", clock("tsc", Some(false)), usual()),
        ("clock-source", clock("hpet", Some(true)), usual()),
        ("clock-source", clock("arch_sys_counter", None), usual()),
        ("kernel-stamps", stampless.clone(), usual()),
        ("kernel-stamps", stampless, demanding),
        ("accept-queue", short_queue.clone(), usual()),
        ("accept-queue", short_queue, near),
        ("steal", stolen, usual()),
        ("cpu-frequency", saving, usual()),
    ];
    let text: Vec<String> = rows
        .iter()
        .map(|(rule, machine, needs)| format!("# {rule}\n{}\n", told(&found(machine, needs, rule))))
        .collect();
    insta::assert_snapshot!("surroundings", text.join("\n"));
}

#[test]
fn a_machine_that_tells_nothing_is_neither_good_nor_bad() {
    let diagnosis = examine(
        &Machine::default(),
        &needs(users(10), ConnectionPolicy::PerVu),
    );
    assert_eq!(diagnosis.result, Severity::Ok);
    let unknown: Vec<_> = diagnosis
        .of(Severity::Unknown)
        .map(|finding| finding.rule)
        .collect();
    assert_eq!(
        unknown.len(),
        diagnosis.findings.len() - 1,
        "all but the maps of no guest: {unknown:?}"
    );
}

fn executor() -> impl Strategy<Value = Executor> {
    let number = || prop_oneof![0..1_000_u64, any::<u64>()];
    let vus = || prop_oneof![1..1_000_u32, any::<u32>()];
    prop_oneof![
        (vus(), number()).prop_map(|(vus, duration_ns)| Executor::ConstantVus { vus, duration_ns }),
        (vus(), number(), number(), any::<bool>()).prop_map(
            |(vus, iterations, max_duration_ns, paced)| {
                Executor::SharedIterations {
                    vus,
                    iterations,
                    max_duration_ns,
                    rate: paced.then_some(rate(iterations)),
                }
            }
        ),
        (vus(), number(), number()).prop_map(|(vus, iterations, max_duration_ns)| {
            Executor::PerVuIterations {
                vus,
                iterations,
                max_duration_ns,
            }
        }),
        (number(), number(), number(), vus()).prop_map(
            |(arrivals, per_ns, duration_ns, max_vus)| {
                Executor::ConstantArrivalRate {
                    rate: Rate { arrivals, per_ns },
                    duration_ns,
                    pre_allocated_vus: max_vus,
                    max_vus,
                }
            }
        ),
    ]
}

prop_compose! {
    fn any_machine()(
        ports in proptest::option::of(any::<(u16, u16, u32, u32)>()),
        numbers in proptest::collection::vec(proptest::option::of(any::<u64>()), 7),
        reuse in proptest::option::of(any::<u8>()),
        cpus in proptest::option::of((any::<u32>(), proptest::option::of(any::<f64>()))),
        steal in proptest::option::of(any::<f64>()),
    ) -> Machine {
        Machine {
            ports: ports.map(|(first, last, reserved, in_use)| Ports { first, last, reserved, in_use }),
            time_wait_reuse: reuse,
            time_wait_reuse_ms: numbers[0],
            time_wait_most: numbers[1],
            descriptors: Some(Descriptors { hard: numbers[2], soft: numbers[3] }),
            memory_available_bytes: numbers[4],
            memory_maps: numbers[5].map(|most| MemoryMaps { most }),
            accept_queue: numbers[6],
            cpus: cpus.map(|(allowed, quota)| Cpus { allowed, quota }),
            steal,
            ..Machine::default()
        }
    }
}

proptest! {
    #[test]
    fn every_plan_on_every_machine_has_an_answer(
        executor in executor(), machine in any_machine(), bytes in any::<u64>(), maps in any::<u64>(),
        policy in 0..ConnectionPolicy::ALL.len(), to_loopback: bool,
    ) {
        let asked = Asked { bytes_per_vu: Some(bytes), memory_maps: Some(maps), to_loopback };
        let needs = Needs::of(&plan(executor, ConnectionPolicy::ALL[policy]), &asked);
        let diagnosis = examine(&machine, &needs);
        for finding in &diagnosis.findings {
            let grave = matches!(finding.severity, Severity::Warning | Severity::Error);
            prop_assert_eq!(finding.complaint.is_some(), grave, "{:?}", finding);
            prop_assert!(!finding.needs.is_empty() && !finding.has.is_empty(), "{:?}", finding);
        }
    }

    #[test]
    fn more_of_a_resource_never_makes_it_worse(vus in 1..100_000_u32, few in 0..60_000_u16, more in 0..60_000_u16) {
        let severity = |first: u16| {
            let ports = Some(Ports { first, last: 60_999, ..Ports::default() });
            found(&Machine { ports, ..machine() }, &needs(users(vus), ConnectionPolicy::PerRequest), "ports").severity
        };
        prop_assert!(severity(few.min(more)) <= severity(few.max(more)));
    }
}
