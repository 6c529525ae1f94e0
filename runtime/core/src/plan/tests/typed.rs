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

/// A row: why, what is typed, what it means.
type Meaning = (&'static str, Options, Executor);

fn check(table: impl IntoIterator<Item = Meaning>) {
    for (why, flags, expected) in table {
        assert_eq!(typed(flags), Ok(expected), "{why}");
    }
}

#[test]
fn a_duration_makes_constant_vus() {
    let duration_ns = Some(MINUTE_NS);
    check([
        (
            "-u -d",
            Options {
                vus: Some(10),
                duration_ns,
                ..options()
            },
            constant(10, MINUTE_NS),
        ),
        (
            "-d is one virtual user",
            Options {
                duration_ns,
                ..options()
            },
            constant(1, MINUTE_NS),
        ),
    ]);
}

#[test]
fn a_count_makes_shared_iterations() {
    let iterations = Some(100);
    let duration_ns = Some(MINUTE_NS);
    check([
        (
            "nothing is one virtual user, one iteration",
            options(),
            shared(1, 1, u64::MAX),
        ),
        (
            "-i takes as long as it takes",
            Options {
                iterations,
                ..options()
            },
            shared(1, 100, u64::MAX),
        ),
        (
            "-u -i",
            Options {
                vus: Some(10),
                iterations,
                ..options()
            },
            shared(10, 100, u64::MAX),
        ),
        (
            "-i -d takes that long at most",
            Options {
                iterations,
                duration_ns,
                ..options()
            },
            shared(1, 100, MINUTE_NS),
        ),
    ]);
}

#[test]
fn a_rate_makes_arrivals() {
    let duration_ns = Some(MINUTE_NS);
    let rate = Some(per_second(200));
    let rare = Rate {
        arrivals: 1,
        per_ns: 3_600 * SECOND_NS,
    };
    check([
        (
            "as many virtual users as the machine allows, and at first enough for iterations of 0.1 s",
            Options {
                rate,
                duration_ns,
                ..options()
            },
            arrivals(per_second(200), MINUTE_NS, 20, 500),
        ),
        (
            "as few virtual users as are wanted",
            Options {
                rate,
                duration_ns,
                max_vus: Some(8),
                ..options()
            },
            arrivals(per_second(200), MINUTE_NS, 8, 8),
        ),
        (
            "a rare arrival has a virtual user all the same",
            Options {
                rate: Some(rare),
                duration_ns,
                ..options()
            },
            arrivals(rare, MINUTE_NS, 1, 500),
        ),
    ]);
}

fn check_refused(table: &[(Options, &str)]) {
    for (flags, expected) in table {
        assert_eq!(typed(flags.clone()), Err((*expected).to_owned()));
    }
}

#[test]
fn other_mixes_are_errors_that_name_both() {
    let rate = Some(per_second(200));
    let duration_ns = Some(MINUTE_NS);
    check_refused(&[
        (
            Options {
                rate,
                duration_ns,
                vus: Some(10),
                ..options()
            },
            "`--vus` does not go with `--rate`, which makes the executor constant-arrival-rate; \
             give `--max-vus` for the most virtual users there may be",
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
             give `--vus` for the number of virtual users",
        ),
        (
            Options {
                iterations: Some(1),
                max_vus: Some(10),
                ..options()
            },
            "`--max-vus` does not go with `--iterations`, which makes the executor shared-iterations; \
             give `--vus` for the number of virtual users",
        ),
    ]);
}

#[test]
fn what_is_missing_is_asked_for() {
    check_refused(&[
        (
            Options {
                max_vus: Some(10),
                ..options()
            },
            "`--max-vus` is for arrivals at a rate, and there is no `--rate`; give `--rate`, or `--vus` instead",
        ),
        (
            Options {
                vus: Some(10),
                ..options()
            },
            "`--vus` says how many but not how long; give `--duration` or `--iterations` too",
        ),
        (
            Options {
                rate: Some(per_second(200)),
                ..options()
            },
            "`--rate` needs `--duration`; give for instance 30s",
        ),
        (
            Options::default(),
            "`file` is missing; give the scenario's file, or `file` in a table [scenarios.NAME] of the plan file",
        ),
    ]);
}

#[test]
fn nothing_where_something_is_needed_is_refused_by_the_flag_that_was_typed() {
    check_refused(&[
        (
            Options {
                vus: Some(0),
                duration_ns: Some(MINUTE_NS),
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
    ]);
}
