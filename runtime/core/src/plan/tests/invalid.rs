//! What no plan may say.

use super::*;

const RATE: Rate = Rate {
    arrivals: 10,
    per_ns: SECOND_NS,
};

fn plan(executor: Executor) -> Plan {
    let mut plan = resolve(Layers {
        flags: options(),
        ..Layers::default()
    })
    .plan;
    plan.scenarios[0].executor = executor;
    plan
}

fn check_refused(table: &[(Executor, &str)]) {
    for (executor, expected) in table {
        let error = plan(executor.clone()).validate().expect_err(expected);
        assert_eq!(error.to_string(), *expected);
    }
}

#[test]
fn closed_models_need_virtual_users_and_an_end() {
    let each = |iterations, max_duration_ns| Executor::PerVuIterations {
        vus: 1,
        iterations,
        max_duration_ns,
    };
    check_refused(&[
        (constant(0, 1), "`vus` is 0; give for instance 10"),
        (
            constant(2_000_000, 1),
            "`vus` is 2000000, and each virtual user needs memory and a connection of its own; give at most 1000000",
        ),
        (constant(1, 0), "`duration` is 0; give for instance 30s"),
        (shared(1, 0, 1), "`iterations` is 0; give for instance 100"),
        (each(0, 1), "`iterations` is 0; give for instance 100"),
        (each(1, 0), "`max-duration` is 0; give for instance 10m"),
    ]);
}

#[test]
fn arrivals_need_a_rate_and_room() {
    check_refused(&[
        (
            arrivals(
                Rate {
                    arrivals: 0,
                    per_ns: 1,
                },
                1,
                1,
                1,
            ),
            "`rate` is 0; give for instance 200/s",
        ),
        (
            arrivals(
                Rate {
                    arrivals: 1,
                    per_ns: 0,
                },
                1,
                1,
                1,
            ),
            "`rate` is 0; give for instance 200/s",
        ),
        (
            arrivals(
                Rate {
                    arrivals: 2,
                    per_ns: 1,
                },
                1,
                1,
                1,
            ),
            "`rate` is more than one in a nanosecond, the unit of time; give a lower one",
        ),
        (
            arrivals(RATE, 0, 1, 1),
            "`duration` is 0; give for instance 30s",
        ),
        (
            arrivals(RATE, 1, 0, 0),
            "`max-vus` is 0; give for instance 10",
        ),
        (
            arrivals(RATE, 1, 20, 10),
            "`max-vus` is 10, less than the 20 of `pre-allocated-vus`; raise the one or lower the other",
        ),
    ]);
}

#[test]
fn unusual_loads_are_legal() {
    let table = [
        (
            shared(10, 3, u64::MAX),
            "fewer iterations than virtual users",
        ),
        (
            arrivals(RATE, 1, 0, 10),
            "no virtual user before the first arrival",
        ),
        (
            arrivals(RATE, 1, 10, 10),
            "all virtual users before the first arrival",
        ),
    ];
    for (executor, why) in table {
        assert_eq!(plan(executor).validate(), Ok(()), "{why}");
    }
}

/// Which key a change of a valid plan is refused for.
fn refused_for(change: fn(&mut Plan)) -> Option<&'static str> {
    let mut plan = plan(constant(1, 1));
    change(&mut plan);
    plan.validate().err().map(|error| error.key)
}

#[test]
fn settings_of_the_run_have_a_meaning() {
    assert_eq!(refused_for(|_| ()), None);
    assert_eq!(refused_for(|plan| plan.run.timeout_ns = 0), Some("timeout"));
    assert_eq!(
        refused_for(|plan| plan.run.workers = Some(0)),
        Some("workers")
    );
    assert_eq!(
        refused_for(|plan| plan.run.workers = Some(2_000)),
        Some("workers")
    );
    assert_eq!(
        refused_for(|plan| plan.run.abort_unanswered_ns = Some(0)),
        Some("abort-unanswered")
    );
    assert_eq!(refused_for(|plan| plan.run.warmup_ns = 1), Some("warmup"));
    assert_eq!(
        refused_for(|plan| plan.run.user_agent = "a\r\nb: c".to_owned()),
        Some("user-agent")
    );
    assert_eq!(
        refused_for(|plan| drop(plan.run.tags.insert("status".to_owned(), String::new()))),
        Some("tags")
    );
    assert_eq!(
        refused_for(|plan| drop(plan.run.env.insert("A=B".to_owned(), String::new()))),
        Some("env")
    );
}

#[test]
fn limits_have_a_meaning() {
    assert_eq!(
        refused_for(|plan| plan.limits.guest_memory_bytes = 1),
        Some("guest-memory")
    );
    assert_eq!(
        refused_for(|plan| plan.limits.guest_memory_bytes = 5 << 30),
        Some("guest-memory")
    );
    assert_eq!(
        refused_for(|plan| plan.limits.guest_cpu_ns = 999_999),
        Some("guest-cpu")
    );
    assert_eq!(refused_for(|plan| plan.limits.body_bytes = 0), Some("body"));
    assert_eq!(
        refused_for(|plan| plan.limits.bodies_bytes = 1),
        Some("bodies")
    );
    assert_eq!(refused_for(|plan| plan.limits.series = 0), Some("series"));
}

#[test]
fn a_plan_has_one_scenario_with_a_name() {
    assert_eq!(
        refused_for(|plan| plan.scenarios[0].name.clear()),
        Some("scenario-name")
    );
    assert_eq!(
        refused_for(|plan| plan.scenarios.clear()),
        Some("scenarios")
    );
    assert_eq!(
        refused_for(|plan| plan.scenarios.push(plan.scenarios[0].clone())),
        Some("scenarios")
    );
}
