//! A printed plan is read back, as a plan and as a plan file.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::threshold::Threshold;

fn any_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    proptest::sample::select(all)
}

fn any_count() -> impl Strategy<Value = u32> {
    1u32..10_000
}

fn any_duration() -> impl Strategy<Value = u64> {
    (1u64..=u64::MAX >> 1, 0u32..40).prop_map(|(duration_ns, shift)| (duration_ns >> shift).max(1))
}

fn any_rate() -> impl Strategy<Value = Rate> {
    (1u64..1_000_000, any_duration()).prop_map(|(arrivals, per_ns)| Rate {
        arrivals,
        per_ns: per_ns.max(arrivals),
    })
}

fn any_executor() -> impl Strategy<Value = Executor> {
    let longest = prop_oneof![Just(u64::MAX), any_duration()];
    prop_oneof![
        (any_count(), any_duration())
            .prop_map(|(vus, duration_ns)| Executor::ConstantVus { vus, duration_ns }),
        (
            any_count(),
            1u64..1 << 40,
            longest.clone(),
            option::of(any_rate())
        )
            .prop_map(|(vus, iterations, max_duration_ns, rate)| {
                Executor::SharedIterations {
                    vus,
                    iterations,
                    max_duration_ns,
                    rate,
                }
            }),
        (any_count(), 1u64..1 << 40, longest).prop_map(|(vus, iterations, max_duration_ns)| {
            Executor::PerVuIterations {
                vus,
                iterations,
                max_duration_ns,
            }
        }),
        (any_rate(), any_duration(), any_count(), any_count()).prop_map(
            |(rate, duration_ns, one, other)| {
                Executor::ConstantArrivalRate {
                    rate,
                    duration_ns,
                    pre_allocated_vus: one.min(other),
                    max_vus: one.max(other),
                }
            }
        ),
    ]
}

/// Tags stand in every result, so control characters are refused in them.
fn any_tags() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map("[A-Z]{1,4}", "\\PC{0,8}", 0..3)
}

fn any_entries() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map("[A-Z]{1,4}", "[^\\PC/]{0,8}", 0..3)
}

fn any_run() -> impl Strategy<Value = RunOptions> {
    let words = (
        any_of(ConnectionPolicy::ALL),
        any_of(GuestThread::ALL),
        any_of(Meter::ALL),
        any_of(Timestamps::ALL),
        any_of(HttpVersions::ALL),
        any_of(DeferredQueue::ALL),
    );
    let numbers = (
        0..=Defaults::MAX_SEED,
        option::of(1u32..1_024),
        any_duration(),
        any::<u32>(),
        option::of(any_duration()),
    );
    let texts = (
        vec("[a-z]{1,6}\\.example", 0..3),
        any_entries(),
        any_tags(),
        "[ -~]{0,10}",
        any::<bool>(),
    );
    (words, numbers, texts).prop_map(|(words, numbers, texts)| {
        let (mut allow_hosts, env, tags, user_agent, insecure_skip_tls_verify) = texts;
        allow_hosts.sort();
        allow_hosts.dedup();
        RunOptions {
            allow_hosts,
            env,
            tags,
            connections: words.0,
            warmup_ns: 0,
            seed: numbers.0,
            workers: numbers.1,
            guest_thread: words.1,
            meter: words.2,
            deferred_queue: words.5,
            check_sample: f64::from(numbers.3 % 1001) / 1000.0,
            timestamps: words.3,
            http: words.4,
            timeout_ns: numbers.2,
            max_redirects: numbers.3,
            user_agent,
            insecure_skip_tls_verify,
            abort_unanswered_ns: numbers.4,
        }
    })
}

fn any_limits() -> impl Strategy<Value = Limits> {
    (
        64u64 << 10..=4 << 30,
        any_duration().prop_map(|ns| ns.max(1_000_000)),
        1u64..1 << 40,
        any::<u32>(),
        1u32..,
        any::<u64>(),
    )
        .prop_map(
            |(guest_memory_bytes, guest_cpu_ns, body_bytes, more, series, log_lines)| Limits {
                guest_memory_bytes,
                guest_cpu_ns,
                body_bytes,
                bodies_bytes: body_bytes + u64::from(more),
                deferred_checks: u64::from(series),
                series,
                log_lines,
            },
        )
}

fn any_thresholds() -> impl Strategy<Value = Vec<Threshold>> {
    let one = (
        any_of(&[
            "checks",
            "http_req_failed",
            "http_req_failed{name:/orders/{id}}",
        ]),
        any_of(&["rate<0.5", "rate>0.9"]),
        any::<[bool; 2]>(),
        prop_oneof![Just(0), any_duration()],
    );
    vec(one, 0..4).prop_map(|rows| {
        let mut thresholds: Vec<Threshold> = rows
            .into_iter()
            .map(
                |(selector, expression, [abort_on_fail, allow_no_data], delay_abort_eval_ns)| {
                    Threshold {
                        abort_on_fail,
                        allow_no_data,
                        delay_abort_eval_ns,
                        ..Threshold::parse(selector, expression).unwrap()
                    }
                },
            )
            .collect();
        thresholds.sort_by_cached_key(Threshold::selector);
        thresholds
    })
}

fn any_guest() -> impl Strategy<Value = Work> {
    ("[a-z/]{1,8}\\.wasm", option::of("[a-z ]{1,8}"))
        .prop_map(|(file, scenario)| Work::Guest { file, scenario })
}

fn any_request() -> impl Strategy<Value = Work> {
    (
        "[A-Z]{3,5}",
        "http://[a-z]{1,5}/",
        vec(("[a-z]{1,4}", "[ -~]{0,4}"), 0..3),
        vec(any::<u8>(), 0..6),
    )
        .prop_map(|(method, url, headers, body)| {
            Work::Request(QuickRequest {
                method,
                url,
                headers,
                body,
            })
        })
}

fn any_plan(work: impl Strategy<Value = Work>) -> impl Strategy<Value = Plan> {
    let scenario = (
        "[a-z][a-z ]{0,6}",
        work,
        any_executor(),
        0u64..1 << 50,
        any_of(Isolation::ALL),
        any_entries(),
        any_tags(),
    )
        .prop_map(
            |(name, work, executor, graceful_stop_ns, isolation, env, tags)| Scenario {
                name,
                work,
                executor,
                graceful_stop_ns,
                isolation,
                env,
                tags,
            },
        );
    (any_run(), scenario, any_thresholds(), any_limits()).prop_map(
        |(run, scenario, thresholds, limits)| Plan {
            run,
            scenarios: vec![scenario],
            thresholds,
            limits,
        },
    )
}

proptest! {
    #[test]
    fn a_printed_plan_is_read_back(plan in any_plan(prop_oneof![any_guest(), any_request()])) {
        let json = serde_json::to_string(&plan).unwrap();
        prop_assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
    }

    #[test]
    fn a_printed_plan_is_a_plan_file(plan in any_plan(any_guest())) {
        prop_assert_eq!(plan.validate(), Ok(()));
        let plan_file = file_options(&serde_json::to_string(&plan).unwrap());
        let resolved = Layers { plan_file, ..Layers::default() }.resolve(&DEFAULTS).unwrap();
        prop_assert_eq!(resolved.plan, plan);
    }
}

#[test]
fn a_printed_plan_reads_well() {
    let options = Options {
        rate: Some(per_second(200)),
        duration_ns: Some(5 * MINUTE_NS),
        user_agent: Some("curl".to_owned()),
        thresholds: vec![Threshold::parse("http_req_duration", "p(95)<200").unwrap()],
        ..options()
    };
    let plan = Layers {
        flags: options,
        ..Layers::default()
    }
    .resolve(&DEFAULTS)
    .unwrap()
    .plan;
    insta::assert_snapshot!(serde_json::to_string_pretty(&plan).unwrap(), @r#"
    {
      "run": {
        "connections": "per-vu",
        "warmup": "0s",
        "seed": 7,
        "guest-thread": "auto",
        "meter": "time",
        "deferred-queue": "wait",
        "check-sample": 1.0,
        "timestamps": "auto",
        "http": "negotiated",
        "timeout": "1m",
        "max-redirects": 10,
        "user-agent": "curl",
        "insecure-skip-tls-verify": false,
        "abort-unanswered": "10s"
      },
      "scenarios": {
        "checkout": {
          "file": "checkout.wasm",
          "executor": "constant-arrival-rate",
          "rate": "200/s",
          "duration": "5m",
          "pre-allocated-vus": 20,
          "max-vus": 500,
          "graceful-stop": "30s",
          "isolation": "vu"
        }
      },
      "thresholds": {
        "http_req_duration": [
          "p(95)<200"
        ]
      },
      "limits": {
        "guest-memory": "64MiB",
        "guest-cpu": "10s",
        "body": "64MiB",
        "bodies": "2GiB",
        "deferred-checks": 10000,
        "series": 1000,
        "log-lines": 10000
      }
    }
    "#);
}
