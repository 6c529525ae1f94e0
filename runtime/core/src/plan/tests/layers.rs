//! Which source wins, and how contradictions are told.

use super::*;
use crate::threshold::Threshold;

const RATE_FILE: &str = r#"{ "scenarios": { "checkout": {
    "file": "checkout.wasm", "executor": "constant-arrival-rate", "rate": "50/s", "duration": "5m", "max-vus": 40 } } }"#;

#[test]
fn the_stronger_source_wins_and_is_told() {
    let timeout = |seconds: u64| Options {
        timeout_ns: Some(seconds * SECOND_NS),
        ..Options::default()
    };
    let sources = [
        (
            Origin::Scenario,
            Layers {
                scenario: timeout(1),
                ..Layers::default()
            },
        ),
        (
            Origin::PlanFile,
            Layers {
                scenario: timeout(9),
                plan_file: timeout(1),
                ..Layers::default()
            },
        ),
        (
            Origin::Environment,
            Layers {
                plan_file: timeout(9),
                environment: timeout(1),
                ..Layers::default()
            },
        ),
        (
            Origin::Flag,
            Layers {
                environment: timeout(9),
                flags: timeout(1),
                ..Layers::default()
            },
        ),
    ];
    for (origin, mut layers) in sources {
        layers.flags.file = Some("checkout.wasm".to_owned());
        let resolved = resolve(layers);
        assert_eq!(
            (resolved.plan.run.timeout_ns, resolved.origins.of("timeout")),
            (SECOND_NS, origin)
        );
        assert_eq!(resolved.origins.of("max-redirects"), Origin::Default);
    }
}

#[test]
fn what_the_moment_gives_is_a_default() {
    let resolved = resolve(Layers {
        flags: options(),
        ..Layers::default()
    });
    assert_eq!(
        (resolved.plan.run.seed, resolved.origins.of("seed")),
        (7, Origin::Default)
    );
}

#[test]
fn a_seed_is_one_that_every_reader_holds() {
    let defaults = Defaults {
        seed: u64::MAX,
        max_vus: 1,
    };
    let resolved = Layers {
        flags: options(),
        ..Layers::default()
    }
    .resolve(&defaults)
    .unwrap();
    assert_eq!(resolved.plan.run.seed, Defaults::MAX_SEED);
    let flags = Options {
        seed: Some(1 << 53),
        ..options()
    };
    assert_eq!(
        refused(Layers {
            flags,
            ..Layers::default()
        }),
        "`--seed` is 9007199254740992; give at most 9007199254740991"
    );
}

#[test]
fn a_flag_replaces_a_value_of_the_same_load() {
    let flags = Options {
        duration_ns: Some(10 * SECOND_NS),
        ..Options::default()
    };
    let resolved = resolve(Layers {
        plan_file: file_options(RATE_FILE),
        flags,
        ..Layers::default()
    });
    let expected = Executor::ConstantArrivalRate {
        rate: per_second(50),
        duration_ns: 10 * SECOND_NS,
        pre_allocated_vus: 5,
        max_vus: 40,
    };
    assert_eq!(executor_of(&resolved), &expected);
    let origins =
        ["rate", "duration", "max-vus", "pre-allocated-vus"].map(|key| resolved.origins.of(key));
    assert_eq!(
        origins,
        [
            Origin::PlanFile,
            Origin::Flag,
            Origin::PlanFile,
            Origin::Default
        ]
    );
}

#[test]
fn a_flag_that_contradicts_the_plan_is_an_error_that_names_both() {
    let flags = Options {
        vus: Some(10),
        ..Options::default()
    };
    assert_eq!(
        refused(Layers {
            plan_file: file_options(RATE_FILE),
            flags,
            ..Layers::default()
        }),
        "`--vus` does not go with `executor` of the plan file, which is constant-arrival-rate; \
         give `--max-vus` for the most virtual users there may be"
    );
}

#[test]
fn a_variable_that_contradicts_a_flag_is_an_error_that_names_both() {
    let environment = Options {
        vus: Some(10),
        ..Options::default()
    };
    let flags = Options {
        rate: Some(per_second(1)),
        duration_ns: Some(SECOND_NS),
        ..options()
    };
    assert_eq!(
        refused(Layers {
            environment,
            flags,
            ..Layers::default()
        }),
        "`NETTARE_VUS` does not go with `--rate`, which makes the executor constant-arrival-rate; \
         give `--max-vus` for the most virtual users there may be"
    );
}

fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn environment_is_merged_entry_by_entry() {
    let plan_file = Options {
        env: map(&[("A", "run"), ("B", "run")]),
        scenario_env: map(&[("B", "scenario"), ("C", "scenario")]),
        ..options()
    };
    let flags = Options {
        env: map(&[("C", "flag"), ("D", "flag")]),
        ..Options::default()
    };
    let resolved = resolve(Layers {
        plan_file,
        flags,
        ..Layers::default()
    });
    let Plan { run, scenarios, .. } = &resolved.plan;
    let mut seen = run.env.clone();
    seen.extend(scenarios[0].env.clone());
    assert_eq!(
        seen,
        map(&[
            ("A", "run"),
            ("B", "scenario"),
            ("C", "flag"),
            ("D", "flag")
        ])
    );
    assert_eq!(
        ["env.B", "env.C"].map(|key| resolved.origins.of(key)),
        [Origin::PlanFile, Origin::Flag]
    );
}

#[test]
fn hosts_of_urls_that_a_person_gave_are_allowed() {
    let scenario = Options {
        env: map(&[("A", "http://from-the-guest.example")]),
        ..Options::default()
    };
    let plan_file = Options {
        env: map(&[("B", "http://from-the-plan.example")]),
        ..options()
    };
    let flags = Options {
        env: map(&[("C", "http://from-a-flag.example")]),
        allow_hosts: vec!["10.0.0.0/8".to_owned()],
        ..Options::default()
    };
    let resolved = resolve(Layers {
        scenario,
        plan_file,
        flags,
        ..Layers::default()
    });
    assert_eq!(
        resolved.origins.of("allow-hosts.from-the-plan.example"),
        Origin::PlanFile
    );
    assert_eq!(
        resolved.plan.run.allow_hosts,
        ["10.0.0.0/8", "from-the-plan.example", "from-a-flag.example"]
    );
}

#[test]
fn thresholds_replace_weaker_ones_on_the_same_metric() {
    let thresholds = |texts: &[&str]| Options {
        thresholds: texts
            .iter()
            .map(|text| Threshold::parse_flag(text).unwrap())
            .collect(),
        ..options()
    };
    let plan_file = thresholds(&[
        "http_req_duration: p(95)<200",
        "http_req_duration: max<1s",
        "checks: rate>0.9",
    ]);
    let flags = thresholds(&[
        "http_req_duration: p(99)<500",
        "http_req_duration{name:login}: p(95)<300",
    ]);
    let resolved = resolve(Layers {
        plan_file,
        flags,
        ..Layers::default()
    });
    let seen: Vec<String> = resolved
        .plan
        .thresholds
        .iter()
        .map(|one| format!("{}: {}", one.selector(), one.expression))
        .collect();
    assert_eq!(
        seen,
        [
            "checks: rate>0.9",
            "http_req_duration: p(99)<500",
            "http_req_duration{name:login}: p(95)<300"
        ]
    );
}

#[test]
fn a_reader_of_two_sources_can_tell_them_apart() {
    let mut both = Options {
        vus: Some(1),
        timeout_ns: Some(SECOND_NS),
        env: map(&[("A", "1")]),
        allow_hosts: vec!["a.example".to_owned()],
        ..Options::default()
    };
    let environment = both.split_off(|key| ["vus", "env"].contains(&key));
    assert_eq!(
        environment,
        Options {
            vus: Some(1),
            env: map(&[("A", "1")]),
            ..Options::default()
        }
    );
    assert_eq!(
        (
            both.vus,
            both.timeout_ns,
            both.env.len(),
            both.allow_hosts.len()
        ),
        (None, Some(SECOND_NS), 0, 1)
    );
}
