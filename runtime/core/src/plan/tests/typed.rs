//! What flags mean when nothing else is said.

use super::*;

fn typed(flags: Options) -> Result<Executor, String> {
    let layers = Layers {
        flags,
        ..Layers::default()
    };
    let resolved = layers
        .resolve(&DEFAULTS)
        .map_err(|error| error.to_string())?;
    Ok(executor_of(&resolved).clone())
}

#[test]
fn flags_alone_make_an_executor() {
    let shared = |vus, iterations, max_duration_ns| Executor::SharedIterations {
        vus,
        iterations,
        max_duration_ns,
        rate: None,
    };
    let table = [
        (
            "nothing is one virtual user, one iteration",
            options(),
            shared(1, 1, u64::MAX),
        ),
        (
            "-u -d is constant-vus",
            Options {
                vus: Some(10),
                duration_ns: Some(MINUTE_NS),
                ..options()
            },
            Executor::ConstantVus {
                vus: 10,
                duration_ns: MINUTE_NS,
            },
        ),
        (
            "-d is constant-vus with one",
            Options {
                duration_ns: Some(MINUTE_NS),
                ..options()
            },
            Executor::ConstantVus {
                vus: 1,
                duration_ns: MINUTE_NS,
            },
        ),
        (
            "-i is shared-iterations by one, however long it takes",
            Options {
                iterations: Some(100),
                ..options()
            },
            shared(1, 100, u64::MAX),
        ),
        (
            "-u -i is shared-iterations",
            Options {
                vus: Some(10),
                iterations: Some(100),
                ..options()
            },
            shared(10, 100, u64::MAX),
        ),
        (
            "-i -d is shared-iterations for that long at most",
            Options {
                iterations: Some(100),
                duration_ns: Some(MINUTE_NS),
                ..options()
            },
            shared(1, 100, MINUTE_NS),
        ),
        (
            "--rate -d is constant-arrival-rate, with as many virtual users as the machine allows",
            Options {
                rate: Some(per_second(200)),
                duration_ns: Some(MINUTE_NS),
                ..options()
            },
            Executor::ConstantArrivalRate {
                rate: per_second(200),
                duration_ns: MINUTE_NS,
                pre_allocated_vus: 20,
                max_vus: 500,
            },
        ),
        (
            "--rate -d --max-vus, which may be few",
            Options {
                rate: Some(per_second(200)),
                duration_ns: Some(MINUTE_NS),
                max_vus: Some(8),
                ..options()
            },
            Executor::ConstantArrivalRate {
                rate: per_second(200),
                duration_ns: MINUTE_NS,
                pre_allocated_vus: 8,
                max_vus: 8,
            },
        ),
        (
            "a rare arrival has a virtual user all the same",
            Options {
                rate: Some(Rate {
                    arrivals: 1,
                    per_ns: 3_600 * SECOND_NS,
                }),
                duration_ns: Some(MINUTE_NS),
                ..options()
            },
            Executor::ConstantArrivalRate {
                rate: Rate {
                    arrivals: 1,
                    per_ns: 3_600 * SECOND_NS,
                },
                duration_ns: MINUTE_NS,
                pre_allocated_vus: 1,
                max_vus: 500,
            },
        ),
    ];
    for (why, flags, expected) in table {
        assert_eq!(typed(flags), Ok(expected), "{why}");
    }
}

#[test]
fn other_mixes_are_errors_that_name_both() {
    let rate = Some(per_second(200));
    let duration_ns = Some(MINUTE_NS);
    let table = [
        (
            Options {
                rate,
                duration_ns,
                vus: Some(10),
                ..options()
            },
            "`--vus` does not go with `--rate`, which makes the executor constant-arrival-rate; \
             give `max-vus` for the most virtual users there may be",
        ),
        (
            Options {
                rate,
                iterations: Some(10),
                ..options()
            },
            "`--iterations` does not go with `--rate`, which makes the executor constant-arrival-rate; \
             leave one of them out",
        ),
        (
            Options {
                vus: Some(1),
                duration_ns,
                max_vus: Some(10),
                ..options()
            },
            "`--max-vus` does not go with `--duration`, which makes the executor constant-vus; \
             give `vus` for the number of virtual users",
        ),
        (
            Options {
                iterations: Some(1),
                max_vus: Some(10),
                ..options()
            },
            "`--max-vus` does not go with `--iterations`, which makes the executor shared-iterations; \
             give `vus` for the number of virtual users",
        ),
        (
            Options {
                max_vus: Some(10),
                ..options()
            },
            "`--max-vus` is for arrivals at a rate, and there is no `rate`; give `rate`, or `vus` instead",
        ),
        (
            Options {
                vus: Some(10),
                ..options()
            },
            "`--vus` says how many but not how long; give `duration` or `iterations` too",
        ),
        (
            Options { rate, ..options() },
            "`--rate` needs `duration`; give for instance 30s",
        ),
        (
            Options {
                vus: Some(0),
                duration_ns,
                ..options()
            },
            "`--vus` is 0; give for instance 10",
        ),
        (
            Options {
                iterations: Some(1),
                duration_ns: Some(0),
                ..options()
            },
            "`--duration` is 0; give for instance 10m",
        ),
        (
            Options::default(),
            "`file` is missing; give the scenario's file, or `file` in a table [scenarios.NAME] of the plan file",
        ),
    ];
    for (flags, expected) in table {
        assert_eq!(typed(flags), Err(expected.to_owned()));
    }
}
