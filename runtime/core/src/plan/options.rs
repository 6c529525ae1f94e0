//! What one source says about a run, and nothing else.
//!
//! The command line, the environment, a plan file and a scenario each fill an [`Options`]; what they leave out stays open.
//! [`super::resolve`] puts them on top of each other and makes a plan of them.

use std::collections::BTreeMap;

use super::{
    ConnectionPolicy, DeferredQueue, ExecutorKind, GuestThread, HttpVersions, Isolation, Meter,
    Rate, Timestamps,
};
use crate::threshold::Threshold;

/// Keys that say how many iterations there are, and when; they are understood together, by [`super::load`].
pub(super) const LOAD_KEYS: [&str; 8] = [
    "executor",
    "vus",
    "iterations",
    "duration",
    "max-duration",
    "rate",
    "pre-allocated-vus",
    "max-vus",
];

/// Defines [`Options`]: each row is a field, its type, and the key by which plans, origins and messages name it.
macro_rules! options {
    ($( $(#[$doc:meta])* $field:ident: $type:ty = $key:literal, )+) => {
        /// What one source says. Every field may be left open.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Options {
            $( $(#[$doc])* pub $field: Option<$type>, )+
            /// Hosts, addresses and networks that guests may reach; those of all sources count.
            pub allow_hosts: Vec<String>,
            /// What guests see as their environment.
            pub env: BTreeMap<String, String>,
            /// Tags on every sample.
            pub tags: BTreeMap<String, String>,
            /// A plan file's environment of the one scenario, above `env` of the same source.
            pub scenario_env: BTreeMap<String, String>,
            /// A plan file's tags of the one scenario, above `tags` of the same source.
            pub scenario_tags: BTreeMap<String, String>,
            /// What the totals are judged by. Those on a metric replace those of weaker sources on the same.
            pub thresholds: Vec<Threshold>,
        }

        impl Options {
            /// Keys of the single values that are given.
            pub(super) fn given(&self) -> Vec<&'static str> {
                let mut keys = Vec::new();
                $( if self.$field.is_some() { keys.push($key); } )+
                keys
            }

            /// Takes away the single values whose keys belong there.
            fn take_values(&mut self, belongs: &dyn Fn(&str) -> bool) -> Options {
                Options {
                    $( $field: if belongs($key) { self.$field.take() } else { None }, )+
                    ..Options::default()
                }
            }

            /// Puts the single values of a stronger source on top, and tells their keys.
            fn put_values(&mut self, above: &mut Options, tell: &mut dyn FnMut(&str)) {
                $( if let Some(value) = above.$field.take() {
                    self.$field = Some(value);
                    tell($key);
                } )+
            }
        }
    };
}

options! {
    /// Which executor; where it is left open it follows from the other keys.
    executor: ExecutorKind = "executor",
    /// Virtual users.
    vus: u32 = "vus",
    /// Iterations, in all or of each virtual user.
    iterations: u64 = "iterations",
    /// How long iterations start.
    duration_ns: u64 = "duration",
    /// How long at most, where iterations are counted.
    max_duration_ns: u64 = "max-duration",
    /// Arrivals per unit of time.
    rate: Rate = "rate",
    /// Virtual users made before the start, where arrivals have a rate.
    pre_allocated_vus: u32 = "pre-allocated-vus",
    /// Virtual users at most, where arrivals have a rate.
    max_vus: u32 = "max-vus",
    /// How long iterations under way may take to end once no more are started.
    graceful_stop_ns: u64 = "graceful-stop",
    /// The scenario's name in metrics.
    scenario_name: String = "scenario-name",
    /// The guest's file.
    file: String = "file",
    /// Which of the guest's scenarios.
    scenario: String = "scenario",
    /// Whose connections are whose.
    connections: ConnectionPolicy = "connections",
    /// Load before the measured time.
    warmup_ns: u64 = "warmup",
    /// Seed of everything random.
    seed: u64 = "seed",
    /// How many workers.
    workers: u32 = "workers",
    /// Where guests are polled.
    guest_thread: GuestThread = "guest-thread",
    /// What guests are metered by.
    meter: Meter = "meter",
    /// What becomes of a deferred check when the queue is full.
    deferred_queue: DeferredQueue = "deferred-queue",
    /// The share of deferred checks that are evaluated, from 0 to 1.
    check_sample: f64 = "check-sample",
    /// What has an instance of its own.
    isolation: Isolation = "isolation",
    /// Where receive stamps come from.
    timestamps: Timestamps = "timestamps",
    /// Which HTTP versions may be spoken.
    http: HttpVersions = "http",
    /// Deadline of a call that sets none.
    timeout_ns: u64 = "timeout",
    /// Redirects followed by a call that sets no limit.
    max_redirects: u32 = "max-redirects",
    /// Value of the `user-agent` header of requests that set none.
    user_agent: String = "user-agent",
    /// Whether certificates are taken unverified.
    insecure_skip_tls_verify: bool = "insecure-skip-tls-verify",
    /// The run ends when nothing was answered for so long; inside, none means never.
    abort_unanswered_ns: Option<u64> = "abort-unanswered",
    /// Linear memory of one guest.
    guest_memory_bytes: u64 = "guest-memory",
    /// CPU time of one iteration.
    guest_cpu_ns: u64 = "guest-cpu",
    /// Body of one response.
    body_bytes: u64 = "body",
    /// Bodies of all responses held at one time.
    bodies_bytes: u64 = "bodies",
    /// Deferred checks that wait at one time.
    deferred_checks: u64 = "deferred-checks",
    /// Series, after which samples go to `__other__`.
    series: u32 = "series",
    /// Log lines kept of a run.
    log_lines: u64 = "log-lines",
}

impl Options {
    /// Takes away what belongs elsewhere, told by its key: for a source that reads two at once, as a parser of flags may read
    /// the environment too. Collections have the keys `allow-hosts`, `env`, `tags` and `thresholds`.
    pub fn split_off(&mut self, belongs: impl Fn(&str) -> bool) -> Options {
        let mut off = self.take_values(&belongs);
        if belongs("allow-hosts") {
            off.allow_hosts = std::mem::take(&mut self.allow_hosts);
        }
        if belongs("env") {
            off.env = std::mem::take(&mut self.env);
            off.scenario_env = std::mem::take(&mut self.scenario_env);
        }
        if belongs("tags") {
            off.tags = std::mem::take(&mut self.tags);
            off.scenario_tags = std::mem::take(&mut self.scenario_tags);
        }
        if belongs("thresholds") {
            off.thresholds = std::mem::take(&mut self.thresholds);
        }
        off
    }

    /// Puts a stronger source on top, and tells the key of everything taken from it.
    pub(super) fn overlay(&mut self, mut above: Options, tell: &mut dyn FnMut(&str)) {
        self.put_values(&mut above, tell);
        for host in above.allow_hosts {
            if !self.allow_hosts.contains(&host) {
                tell(&format!("allow-hosts.{host}"));
                self.allow_hosts.push(host);
            }
        }
        put_entries(
            "env",
            &mut self.env,
            &mut self.scenario_env,
            above.env,
            tell,
        );
        put_entries(
            "tags",
            &mut self.tags,
            &mut self.scenario_tags,
            above.tags,
            tell,
        );
        put_scenario_entries("env", &mut self.scenario_env, above.scenario_env, tell);
        put_scenario_entries("tags", &mut self.scenario_tags, above.scenario_tags, tell);
        self.put_thresholds(above.thresholds, tell);
    }

    /// Keeps those of the metrics that the stronger source says nothing about.
    fn put_thresholds(&mut self, above: Vec<Threshold>, tell: &mut dyn FnMut(&str)) {
        self.thresholds
            .retain(|weak| !above.iter().any(|strong| same_series(weak, strong)));
        for threshold in above {
            tell(&format!("thresholds.{}", threshold.selector()));
            self.thresholds.push(threshold);
        }
    }
}

fn same_series(a: &Threshold, b: &Threshold) -> bool {
    a.metric == b.metric && a.tags == b.tags
}

/// Entries for the whole run; they stand above a weaker source's for the scenario alone.
fn put_entries(
    key: &str,
    run: &mut BTreeMap<String, String>,
    scenario: &mut BTreeMap<String, String>,
    above: BTreeMap<String, String>,
    tell: &mut dyn FnMut(&str),
) {
    for (name, value) in above {
        tell(&format!("{key}.{name}"));
        scenario.remove(&name);
        run.insert(name, value);
    }
}

fn put_scenario_entries(
    key: &str,
    scenario: &mut BTreeMap<String, String>,
    above: BTreeMap<String, String>,
    tell: &mut dyn FnMut(&str),
) {
    for (name, value) in above {
        tell(&format!("{key}.{name}"));
        scenario.insert(name, value);
    }
}
