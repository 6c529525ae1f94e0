//! What plan files may say, and what is told to those who write something else.

use super::*;

/// Every key there is, each with a value that is not its default.
const EVERY_KEY: &str = r#"{
    "run": {
        "allow-hosts": ["shop.example"], "env": { "TARGET": "https://shop.example" }, "tags": { "team": "payments" },
        "connections": "per-request", "graceful-stop": "5s", "seed": 3, "workers": 2, "guest-thread": "split",
        "meter": "off", "deferred-queue": "skip", "check-sample": 0.5, "timestamps": "kernel", "http": "http2", "timeout": "2s", "max-redirects": 1,
        "user-agent": "me", "insecure-skip-tls-verify": true, "abort-unanswered": "never"
    },
    "scenarios": { "checkout": {
        "file": "a.wasm", "name": "b", "executor": "constant-arrival-rate", "rate": 50, "time-unit": "1m",
        "duration": "5m", "pre-allocated-vus": 1, "max-vus": 2, "graceful-stop": "1s", "isolation": "iteration",
        "env": { "SKU": "42" }, "tags": { "team": "orders" }
    } },
    "thresholds": {
        "http_req_duration": ["p(95)<200", { "check": "p(99)<500ms", "abort-on-fail": true, "delay-abort-eval": "10s" }]
    },
    "limits": {
        "guest-memory": "1MiB", "guest-cpu": "1s", "body": "2MB", "bodies": 3000000, "deferred-checks": 6, "series": 4, "log-lines": 5
    }
}"#;

fn plan_with_every_key() -> Plan {
    resolve(Layers {
        plan_file: file_options(EVERY_KEY),
        ..Layers::default()
    })
    .plan
}

#[test]
fn every_key_of_the_run_is_read() {
    let run = plan_with_every_key().run;
    assert_eq!(run.allow_hosts, ["shop.example"]);
    assert_eq!(
        (run.env["TARGET"].as_str(), run.tags["team"].as_str()),
        ("https://shop.example", "payments")
    );
    assert_eq!(run.connections, ConnectionPolicy::PerRequest);
    assert_eq!(
        (run.guest_thread, run.meter),
        (GuestThread::Split, Meter::Off)
    );
    assert_eq!(
        (run.deferred_queue, run.check_sample),
        (DeferredQueue::Skip, 0.5)
    );
    assert_eq!(
        (run.timestamps, run.http),
        (Timestamps::Kernel, HttpVersions::Http2)
    );
    assert_eq!((run.seed, run.workers, run.max_redirects), (3, Some(2), 1));
    assert_eq!(
        (run.timeout_ns, run.abort_unanswered_ns),
        (2 * SECOND_NS, None)
    );
    assert_eq!(
        (run.user_agent.as_str(), run.insecure_skip_tls_verify),
        ("me", true)
    );
}

#[test]
fn every_key_of_the_scenario_is_read() {
    let scenarios = plan_with_every_key().scenarios;
    let Scenario {
        executor,
        work,
        name,
        graceful_stop_ns,
        isolation,
        env,
        tags,
    } = &scenarios[0];
    assert_eq!(*isolation, Isolation::Iteration);
    let rate = Rate {
        arrivals: 50,
        per_ns: MINUTE_NS,
    };
    assert_eq!(
        (executor, name.as_str()),
        (&arrivals(rate, 5 * MINUTE_NS, 1, 2), "checkout")
    );
    assert_eq!(
        *graceful_stop_ns, SECOND_NS,
        "the scenario's stands above the run's"
    );
    assert_eq!(
        work,
        &Work::Guest {
            file: "a.wasm".to_owned(),
            scenario: Some("b".to_owned())
        }
    );
    assert_eq!(
        (env["SKU"].as_str(), tags["team"].as_str()),
        ("42", "orders")
    );
}

#[test]
fn every_limit_and_threshold_is_read() {
    let Plan {
        limits, thresholds, ..
    } = plan_with_every_key();
    assert_eq!(
        (limits.guest_memory_bytes, limits.guest_cpu_ns),
        (1 << 20, SECOND_NS)
    );
    assert_eq!(
        (limits.body_bytes, limits.bodies_bytes),
        (2_000_000, 3_000_000)
    );
    assert_eq!((limits.series, limits.log_lines), (4, 5));
    let [plain, full] = thresholds.as_slice() else {
        panic!("two thresholds")
    };
    assert_eq!(
        (plain.expression.as_str(), plain.abort_on_fail),
        ("p(95)<200", false)
    );
    assert_eq!(
        (full.abort_on_fail, full.delay_abort_eval_ns),
        (true, 10 * SECOND_NS)
    );
}

#[test]
fn an_empty_file_says_nothing() {
    assert_eq!(file_options("{}"), Options::default());
}

/// A scenario table with one more key.
fn scenario_with(key: &str, value: &str) -> String {
    format!(r#"{{ "scenarios": {{ "a": {{ "file": "a.wasm", "{key}": {value} }} }} }}"#)
}

#[test]
fn unknown_keys_are_refused_with_the_one_that_was_meant() {
    let table = [
        (
            r#"{ "runs": {} }"#.to_owned(),
            "the plan has no `runs`; did you mean `run`?",
        ),
        (
            r#"{ "run": { "time-out": "1s" } }"#.to_owned(),
            "[run] has no `time-out`; did you mean `timeout`?",
        ),
        (
            scenario_with("max_vus", "1"),
            "[scenarios.NAME] has no `max_vus`; did you mean `max-vus`?",
        ),
        (
            scenario_with("duratoin", "1"),
            "[scenarios.NAME] has no `duratoin`; did you mean `duration`?",
        ),
        (
            r#"{ "limits": { "colour": "1s" } }"#.to_owned(),
            "[limits] has no `colour`; it has guest-memory, guest-cpu, body, bodies, deferred-checks, series, log-lines",
        ),
        (
            r#"{ "thresholds": { "checks": [{ "check": "rate>0.9", "abort-on-fial": true }] } }"#
                .to_owned(),
            "a threshold has no `abort-on-fial`; did you mean `abort-on-fail`?",
        ),
    ];
    for (json, expected) in table {
        let message = file(&json).expect_err(expected);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn what_comes_later_says_so() {
    let keys = [
        (
            r#"{ "data": { "users": { "file": "users.csv" } } }"#.to_owned(),
            "`data`",
        ),
        (r#"{ "run": { "deny": ["tcp"] } }"#.to_owned(), "`deny`"),
        (
            r#"{ "run": { "connections": "shared:8" } }"#.to_owned(),
            "`shared:8`",
        ),
        (
            scenario_with("executor", "\"ramping-vus\""),
            "`ramping-vus`",
        ),
        (
            scenario_with("executor", "\"ramping-arrival-rate\""),
            "`ramping-arrival-rate`",
        ),
        (scenario_with("stages", "[]"), "`stages`"),
        (scenario_with("poisson", "true"), "`poisson`"),
        (scenario_with("replay", "\"log\""), "`replay`"),
        (scenario_with("sweep", "{}"), "`sweep`"),
        (scenario_with("start-time", "\"1s\""), "`start-time`"),
        (scenario_with("cookies", "\"vu\""), "`cookies`"),
        (
            scenario_with("min-iteration-duration", "\"1s\""),
            "`min-iteration-duration`",
        ),
    ];
    for (json, word) in keys {
        let message = file(&json).expect_err(word);
        assert!(
            message.contains(word) && message.contains("later"),
            "{message}"
        );
    }
}

#[test]
fn what_is_understood_together_is_refused_together() {
    let refused = |json: &str| {
        let options = file(json).unwrap().options();
        let resolved = options.and_then(|plan_file| {
            Layers {
                plan_file,
                ..Layers::default()
            }
            .resolve(&DEFAULTS)
        });
        resolved
            .map(|resolved| resolved.plan)
            .expect_err(json)
            .to_string()
    };
    let table = [
        (
            r#"{ "scenarios": { "a": { "file": "a" }, "b": { "file": "b" } } }"#.to_owned(),
            "`scenarios` has 2 tables, and more than one comes with a later version; leave one",
        ),
        (
            r#"{ "run": { "warmup": "10s" }, "scenarios": { "a": { "file": "a" } } }"#.to_owned(),
            "`warmup` of the plan file comes with a later version; leave it out",
        ),
        (
            scenario_with("time-unit", "\"1s\""),
            "`time-unit` is of no use without `rate`; give `rate`, or leave it out",
        ),
        (
            scenario_with("rate\": \"1/s\", \"time-unit", "\"1s\""),
            "`time-unit` says the time again that `rate` = \"1/s\" has; leave one of them out",
        ),
        (
            scenario_with("executor", "\"constant-arrival-rate\""),
            "`executor` of the plan file needs `rate`; give for instance 200/s",
        ),
        (
            scenario_with(
                "duration\": \"1s\", \"iterations\": 1, \"max-duration",
                "\"1s\"",
            ),
            "`duration` of the plan file says the same as `max-duration` of the plan file; leave one of them out",
        ),
        (
            scenario_with("vus\": 0, \"duration", "\"1s\""),
            "`vus` of the plan file is 0; give for instance 10",
        ),
        (
            r#"{ "run": { "tags": { "status": "x" } }, "scenarios": { "a": { "file": "a" } } }"#
                .to_owned(),
            "`tags` has the name `status`, which samples have from what was measured; choose another name",
        ),
    ];
    for (json, expected) in table {
        assert_eq!(refused(&json), expected);
    }
}

#[test]
fn a_threshold_that_cannot_be_understood_is_refused_before_the_run() {
    let rows = [
        (
            r#"["p(150)<1"]"#,
            "the condition of `http_req_duration` cannot be understood: ",
            "a percentile that is none",
        ),
        (
            r#"[{ "check": "p95<1" }]"#,
            "the condition of `http_req_duration` cannot be understood: ",
            "in a table as well",
        ),
        (
            "[]",
            "`http_req_duration` has no condition",
            "no condition at all",
        ),
        (
            r#""p(95)<1""#,
            "a list of conditions of `http_req_duration`",
            "no list",
        ),
    ];
    for (conditions, told, sentence) in rows {
        let text = format!(r#"{{ "thresholds": {{ "http_req_duration": {conditions} }} }}"#);
        let error = file(&text).unwrap_err().to_string();
        assert!(error.contains(told), "{sentence}: {error}");
    }
}

#[test]
fn durations_and_sizes_are_written_with_their_units() {
    let message = file(&scenario_with("duration", "30")).unwrap_err();
    assert!(
        message.contains("a duration in quotes, like `30s`"),
        "{message}"
    );
    let message = file(&scenario_with("duration", "\"30 parsecs\"")).unwrap_err();
    assert!(
        message.starts_with("`30 parsecs` is not a duration: its unit is not one of"),
        "{message}"
    );
}

#[test]
fn a_rate_may_be_a_number_with_its_unit_elsewhere() {
    let table = [
        (
            "\"50/m\"",
            None,
            Rate {
                arrivals: 50,
                per_ns: MINUTE_NS,
            },
        ),
        ("50", None, per_second(50)),
        ("\"50\"", None, per_second(50)),
        (
            "0.5",
            None,
            Rate {
                arrivals: 1,
                per_ns: 2 * SECOND_NS,
            },
        ),
        (
            "50",
            Some("1m"),
            Rate {
                arrivals: 50,
                per_ns: MINUTE_NS,
            },
        ),
        (
            "50",
            Some("90s"),
            Rate {
                arrivals: 50,
                per_ns: 90 * SECOND_NS,
            },
        ),
    ];
    for (rate, time_unit, expected) in table {
        let time_unit =
            time_unit.map_or(String::new(), |unit| format!(r#", "time-unit": "{unit}""#));
        let options = file_options(&format!(
            r#"{{ "scenarios": {{ "a": {{ "rate": {rate}{time_unit} }} }} }}"#
        ));
        assert_eq!(options.rate, Some(expected), "{rate} {time_unit}");
    }
}

#[test]
fn a_scenario_takes_its_own_table_only() {
    let json = r#"{ "scenarios": { "browse": { "vus": 3, "duration": "1m" }, "buy": { "iterations": 5 } } }"#;
    let own = |name: &str| file(json).unwrap().own_options(name).unwrap();
    assert_eq!(
        own("browse"),
        Options {
            vus: Some(3),
            duration_ns: Some(MINUTE_NS),
            ..Options::default()
        }
    );
    assert_eq!(
        own("buy"),
        Options {
            iterations: Some(5),
            ..Options::default()
        }
    );
    assert_eq!(own("other"), Options::default());
}

#[test]
fn a_scenario_does_not_decide_what_the_machine_may_do() {
    let table = [
        (
            r#"{ "run": { "allow-hosts": ["evil.example"] } }"#,
            "allow-hosts",
        ),
        (
            r#"{ "run": { "insecure-skip-tls-verify": true } }"#,
            "insecure-skip-tls-verify",
        ),
        (r#"{ "run": { "workers": 64 } }"#, "workers"),
        (
            r#"{ "limits": { "guest-memory": "4GiB" } }"#,
            "guest-memory",
        ),
        (
            r#"{ "scenarios": { "a": { "file": "other.wasm" } } }"#,
            "file",
        ),
    ];
    for (json, key) in table {
        let error = file(json).unwrap().own_options("a").expect_err(key);
        let expected = format!(
            "`{key}` of the scenario's own options is not the scenario's to decide; give it in a plan file or by a flag"
        );
        assert_eq!(error.to_string(), expected);
    }
}
