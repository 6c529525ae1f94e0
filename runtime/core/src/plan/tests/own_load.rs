//! The scenario's own load: what its author thought fit gives way to what anybody else says.

use super::*;

/// A row: why, what is typed, what comes of it.
type Outcome = (&'static str, Options, Executor);

fn check(own: &Options, table: impl IntoIterator<Item = Outcome>) {
    for (why, flags, expected) in table {
        let resolved = resolve(Layers {
            scenario: own.clone(),
            flags,
            ..Layers::default()
        });
        assert_eq!(executor_of(&resolved), &expected, "{why}");
    }
}

#[test]
fn its_virtual_users_and_duration() {
    let own = Options {
        vus: Some(10),
        duration_ns: Some(MINUTE_NS),
        ..Options::default()
    };
    check(
        &own,
        [
            (
                "unasked they are the load",
                options(),
                constant(10, MINUTE_NS),
            ),
            (
                "they are replaced key by key",
                Options {
                    vus: Some(20),
                    ..options()
                },
                constant(20, MINUTE_NS),
            ),
            (
                "the duration serves arrivals too, the virtual users do not",
                Options {
                    rate: Some(per_second(200)),
                    ..options()
                },
                arrivals(per_second(200), MINUTE_NS, 20, 500),
            ),
            (
                "the duration does not cut a counted run short",
                Options {
                    iterations: Some(5),
                    ..options()
                },
                shared(10, 5, u64::MAX),
            ),
        ],
    );
}

#[test]
fn its_count() {
    let own = Options {
        vus: Some(10),
        iterations: Some(100),
        ..Options::default()
    };
    check(
        &own,
        [
            (
                "unasked it is the load",
                options(),
                shared(10, 100, u64::MAX),
            ),
            (
                "a duration limits it",
                Options {
                    duration_ns: Some(SECOND_NS),
                    ..options()
                },
                shared(10, 100, SECOND_NS),
            ),
            (
                "another load replaces it as a whole",
                Options {
                    vus: Some(3),
                    duration_ns: Some(SECOND_NS),
                    ..options()
                },
                constant(3, SECOND_NS),
            ),
        ],
    );
}

#[test]
fn its_rate() {
    let own = Options {
        rate: Some(per_second(50)),
        duration_ns: Some(MINUTE_NS),
        max_vus: Some(40),
        pre_allocated_vus: Some(4),
        ..Options::default()
    };
    check(
        &own,
        [
            (
                "it may be run for less time",
                Options {
                    duration_ns: Some(SECOND_NS),
                    ..options()
                },
                arrivals(per_second(50), SECOND_NS, 4, 40),
            ),
            (
                "its virtual users serve another rate",
                Options {
                    rate: Some(per_second(9)),
                    ..options()
                },
                arrivals(per_second(9), MINUTE_NS, 4, 40),
            ),
            (
                "it does not pace counted iterations",
                Options {
                    iterations: Some(5),
                    ..options()
                },
                shared(1, 5, u64::MAX),
            ),
        ],
    );
}

#[test]
fn what_gave_way_has_no_origin() {
    let scenario = Options {
        vus: Some(10),
        iterations: Some(100),
        ..Options::default()
    };
    let flags = Options {
        rate: Some(per_second(1)),
        duration_ns: Some(SECOND_NS),
        ..options()
    };
    let resolved = resolve(Layers {
        scenario,
        flags,
        ..Layers::default()
    });
    assert_eq!(
        ["rate", "vus", "iterations"].map(|key| resolved.origins.of(key)),
        [Origin::Flag, Origin::Default, Origin::Default]
    );
}

#[test]
fn a_flag_that_contradicts_the_scenarios_own_load_names_it() {
    let scenario = Options {
        rate: Some(per_second(1)),
        duration_ns: Some(SECOND_NS),
        ..Options::default()
    };
    let flags = Options {
        vus: Some(10),
        ..options()
    };
    assert_eq!(
        refused(Layers {
            scenario,
            flags,
            ..Layers::default()
        }),
        "`--vus` does not go with `rate` of the scenario's own options, which makes the executor constant-arrival-rate; \
         give `--max-vus` for the most virtual users there may be"
    );
}
