//! From what was typed to what it says about a plan. What the plan then is, [`nettare_core::plan`] decides.

use std::collections::BTreeMap;

use nettare_core::plan::{HttpVersions, Options};

use crate::args::{KeyValue, NetworkArgs, PlanArgs};

/// What the flags about a plan, or the variables that stand for them, say.
pub(crate) fn options(args: &PlanArgs) -> Options {
    let PlanArgs {
        load,
        scenario,
        judge,
        network,
        tls,
        generator,
    } = args;
    Options {
        vus: load.vus,
        iterations: load.iterations,
        duration_ns: load.duration.map(|span| span.ns),
        rate: load.rate,
        max_vus: load.max_vus,
        pre_allocated_vus: load.pre_allocated_vus,
        graceful_stop_ns: load.graceful_stop.map(|span| span.ns),
        scenario: scenario.scenario.clone(),
        connections: network.connections,
        seed: scenario.seed,
        workers: generator.workers,
        guest_thread: generator.guest_thread,
        meter: generator.meter,
        deferred_queue: generator.deferred_queue,
        check_sample: generator.check_sample,
        isolation: generator.isolation,
        timestamps: generator.timestamps,
        http: http_versions(network),
        timeout_ns: network.timeout.map(|span| span.ns),
        max_redirects: network.max_redirects,
        user_agent: network.user_agent.clone(),
        body_bytes: network.body_limit,
        insecure_skip_tls_verify: tls.insecure_skip_tls_verify.then_some(true),
        allow_hosts: network.allow_host.clone(),
        env: map(&scenario.env),
        tags: map(&judge.tag),
        thresholds: judge.threshold.clone(),
        ..Options::default()
    }
}

/// `--http1` and `--http2`, which exclude each other.
pub(crate) fn http_versions(network: &NetworkArgs) -> Option<HttpVersions> {
    match (network.http1, network.http2) {
        (true, _) => Some(HttpVersions::Http1),
        (_, true) => Some(HttpVersions::Http2),
        _ => None,
    }
}

/// Pairs by name. Of two with one name the later stands, as if it had been typed alone.
pub(crate) fn map(pairs: &[KeyValue]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|pair| (pair.key.clone(), pair.value.clone()))
        .collect()
}
