//! Plan files, and the plan fragments that are a scenario's own options: the tables of TOML as they are written.
//!
//! Reading TOML is the command line's: [`PlanFile`] takes any serde deserializer. What it says is turned into [`Options`],
//! which [`Layers`](super::Layers) puts between the scenario's own and the environment's.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::entry::conditions;
use super::keyword::keywords;
use super::options::Options;
use super::strict;
use super::{
    ConnectionPolicy, DeferredQueue, ExecutorKind, GuestThread, HttpVersions, Meter, PlanError,
    Rate, Timestamps,
};
use crate::threshold::Threshold;
use crate::units::{duration, rate, size};

const SECOND_NS: u64 = 1_000_000_000;

/// A plan file as it is written.
#[derive(Clone, Debug, Default)]
pub struct PlanFile(Tables);

impl<'de> Deserialize<'de> for PlanFile {
    /// Unknown keys are refused with the one that was meant, or with the word that they come later.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PlanFile, D::Error> {
        strict::table(deserializer).map(PlanFile)
    }
}

#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename = "the plan", rename_all = "kebab-case", default)]
struct Tables {
    #[serde(deserialize_with = "strict::table")]
    run: RunTable,
    #[serde(deserialize_with = "strict::tables")]
    scenarios: BTreeMap<String, ScenarioTable>,
    #[serde(deserialize_with = "conditions")]
    thresholds: Vec<Threshold>,
    #[serde(deserialize_with = "strict::table")]
    limits: LimitsTable,
}

#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename = "[run]", rename_all = "kebab-case", default)]
struct RunTable {
    allow_hosts: Vec<String>,
    env: BTreeMap<String, String>,
    tags: BTreeMap<String, String>,
    connections: Option<ConnectionPolicy>,
    #[serde(deserialize_with = "some_duration")]
    warmup: Option<u64>,
    #[serde(deserialize_with = "some_duration")]
    graceful_stop: Option<u64>,
    seed: Option<u64>,
    workers: Option<u32>,
    guest_thread: Option<GuestThread>,
    meter: Option<Meter>,
    deferred_queue: Option<DeferredQueue>,
    check_sample: Option<f64>,
    timestamps: Option<Timestamps>,
    http: Option<HttpVersions>,
    #[serde(deserialize_with = "some_duration")]
    timeout: Option<u64>,
    max_redirects: Option<u32>,
    user_agent: Option<String>,
    insecure_skip_tls_verify: Option<bool>,
    #[serde(deserialize_with = "some_duration_or_never")]
    abort_unanswered: Option<Option<u64>>,
}

#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename = "[scenarios.NAME]", rename_all = "kebab-case", default)]
struct ScenarioTable {
    file: Option<String>,
    name: Option<String>,
    executor: Option<ExecutorKind>,
    vus: Option<u32>,
    iterations: Option<u64>,
    #[serde(deserialize_with = "some_duration")]
    duration: Option<u64>,
    #[serde(deserialize_with = "some_duration_or_forever")]
    max_duration: Option<u64>,
    rate: Option<RateText>,
    #[serde(deserialize_with = "some_duration")]
    time_unit: Option<u64>,
    pre_allocated_vus: Option<u32>,
    max_vus: Option<u32>,
    #[serde(deserialize_with = "some_duration")]
    graceful_stop: Option<u64>,
    env: BTreeMap<String, String>,
    tags: BTreeMap<String, String>,
    isolation: Option<Isolation>,
}

#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename = "[limits]", rename_all = "kebab-case", default)]
struct LimitsTable {
    #[serde(deserialize_with = "some_size")]
    guest_memory: Option<u64>,
    #[serde(deserialize_with = "some_duration")]
    guest_cpu: Option<u64>,
    #[serde(deserialize_with = "some_size")]
    body: Option<u64>,
    #[serde(deserialize_with = "some_size")]
    bodies: Option<u64>,
    deferred_checks: Option<u64>,
    series: Option<u32>,
    log_lines: Option<u64>,
}

keywords! {
    /// What has an instance of its own.
    #[derive(Default)]
    Isolation, "a kind of isolation" {
        #[default]
        /// A virtual user: what it keeps in memory lasts from iteration to iteration.
        Vu = "vu",
        /// Every iteration: it starts from the same memory each time, at the price of a new instance and its `init`.
        Iteration = "iteration",
    } later []
}

impl PlanFile {
    /// What the file says.
    pub fn options(self) -> Result<Options, PlanError> {
        let PlanFile(Tables {
            run,
            mut scenarios,
            thresholds,
            limits,
        }) = self;
        if scenarios.len() > 1 {
            let problem = format!(
                "has {} tables, and more than one comes with a later version",
                scenarios.len()
            );
            return Err(PlanError::about("scenarios", problem, "leave one"));
        }
        let mut options = Options::default();
        run.put_into(&mut options);
        limits.put_into(&mut options);
        if let Some((name, table)) = scenarios.pop_first() {
            options.scenario_name = Some(name);
            table.put_into(&mut options)?;
        }
        options.thresholds = thresholds;
        Ok(options)
    }

    /// What the fragment that is a scenario's own options says of the scenario `name`. Tables of other scenarios are theirs.
    ///
    /// Whoever wrote the guest decides how it is best run, not what this machine may contact, trust or spend: such keys are
    /// refused.
    pub fn own_options(self, name: &str) -> Result<Options, PlanError> {
        let PlanFile(Tables {
            run,
            mut scenarios,
            thresholds,
            limits,
        }) = self;
        let mut options = Options::default();
        run.put_into(&mut options);
        limits.put_into(&mut options);
        if let Some(table) = scenarios.remove(name) {
            table.put_into(&mut options)?;
        }
        options.thresholds = thresholds;
        refuse_what_is_not_its_own(&options)?;
        Ok(options)
    }
}

impl RunTable {
    fn put_into(self, options: &mut Options) {
        options.allow_hosts = self.allow_hosts;
        options.env = self.env;
        options.tags = self.tags;
        options.connections = self.connections;
        options.warmup_ns = self.warmup;
        options.graceful_stop_ns = self.graceful_stop;
        options.seed = self.seed;
        options.workers = self.workers;
        options.guest_thread = self.guest_thread;
        options.meter = self.meter;
        options.deferred_queue = self.deferred_queue;
        options.check_sample = self.check_sample;
        options.timestamps = self.timestamps;
        options.http = self.http;
        options.timeout_ns = self.timeout;
        options.max_redirects = self.max_redirects;
        options.user_agent = self.user_agent;
        options.insecure_skip_tls_verify = self.insecure_skip_tls_verify;
        options.abort_unanswered_ns = self.abort_unanswered;
    }
}

impl ScenarioTable {
    fn put_into(self, options: &mut Options) -> Result<(), PlanError> {
        options.rate = match self.rate {
            Some(rate) => Some(rate.with(self.time_unit)?),
            None if self.time_unit.is_some() => {
                return Err(PlanError::about(
                    "time-unit",
                    "is of no use without `rate`",
                    "give `rate`, or leave it out",
                ));
            }
            None => None,
        };
        options.file = self.file;
        options.scenario = self.name;
        options.executor = self.executor;
        options.vus = self.vus;
        options.iterations = self.iterations;
        options.duration_ns = self.duration;
        options.max_duration_ns = self.max_duration;
        options.pre_allocated_vus = self.pre_allocated_vus;
        options.max_vus = self.max_vus;
        options.graceful_stop_ns = self.graceful_stop.or(options.graceful_stop_ns);
        options.isolation = self.isolation;
        options.scenario_env = self.env;
        options.scenario_tags = self.tags;
        Ok(())
    }
}

impl LimitsTable {
    fn put_into(self, options: &mut Options) {
        options.guest_memory_bytes = self.guest_memory;
        options.guest_cpu_ns = self.guest_cpu;
        options.body_bytes = self.body;
        options.bodies_bytes = self.bodies;
        options.deferred_checks = self.deferred_checks;
        options.series = self.series;
        options.log_lines = self.log_lines;
    }
}

fn refuse_what_is_not_its_own(options: &Options) -> Result<(), PlanError> {
    const OTHERS: [&str; 15] = [
        "file",
        "scenario",
        "seed",
        "workers",
        "guest-thread",
        "meter",
        "timestamps",
        "insecure-skip-tls-verify",
        "guest-memory",
        "guest-cpu",
        "body",
        "bodies",
        "deferred-checks",
        "series",
        "log-lines",
    ];
    let hosts = (!options.allow_hosts.is_empty()).then_some("allow-hosts");
    let given = options.given().into_iter().find(|key| OTHERS.contains(key));
    match hosts.or(given) {
        Some(key) => {
            let place = format!("`{key}` of the scenario's own options");
            let problem = "is not the scenario's to decide";
            Err(PlanError::about(key, problem, "give it in a plan file or by a flag").at(place))
        }
        None => Ok(()),
    }
}

/// `rate` as it is written: `"50/s"`, or a number that goes with `time-unit`.
#[derive(Clone, Debug)]
struct RateText(String);

impl RateText {
    fn with(&self, time_unit_ns: Option<u64>) -> Result<Rate, PlanError> {
        let RateText(text) = self;
        let parsed = match (text.contains('/'), time_unit_ns) {
            (true, Some(_)) => {
                let problem = format!("says the time again that `rate` = \"{text}\" has");
                return Err(PlanError::about(
                    "time-unit",
                    problem,
                    "leave one of them out",
                ));
            }
            (_, Some(0)) => {
                return Err(PlanError::about(
                    "time-unit",
                    "is 0",
                    "give for instance 1s",
                ));
            }
            (_, time_unit_ns @ Some(_)) => {
                rate::parse_with_time_unit(text, time_unit_ns.unwrap_or(SECOND_NS))
            }
            (_, None) => rate::parse(text),
        };
        parsed.map_err(|error| {
            PlanError::about(
                "rate",
                format!("cannot be understood: {error}"),
                "correct it",
            )
        })
    }
}

impl<'de> Deserialize<'de> for RateText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RateText, D::Error> {
        struct Rates;

        impl Visitor<'_> for Rates {
            type Value = RateText;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a rate like \"50/s\", or a number")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<RateText, E> {
                Ok(RateText(text.to_owned()))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<RateText, E> {
                Ok(RateText(number.to_string()))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<RateText, E> {
                Ok(RateText(number.to_string()))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<RateText, E> {
                Ok(RateText(number.to_string()))
            }
        }

        deserializer.deserialize_any(Rates)
    }
}

fn some_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    duration::deserialize(deserializer).map(Some)
}

fn some_duration_or_forever<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    duration::or_forever::deserialize(deserializer).map(Some)
}

fn some_duration_or_never<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<u64>>, D::Error> {
    duration::or_never::deserialize(deserializer).map(Some)
}

fn some_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    size::deserialize(deserializer).map(Some)
}
