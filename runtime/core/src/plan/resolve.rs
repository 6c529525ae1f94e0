//! From what every source says to one plan, with the origin of each value.
//!
//! ```text
//!   default  <  the scenario's own options  <  plan file  <  environment  <  flags
//! ```
//!
//! A stronger source's value replaces a weaker one's, key by key. Environment and tags are merged entry by entry, hosts are
//! added up, and thresholds replace those on the same metric.

use super::load;
use super::options::{LOAD_KEYS, Options};
use super::origin::{Origin, Origins};
use super::{Limits, Plan, PlanError, RunOptions, Scenario, Work};

/// The sources of a plan.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// The scenario's own options.
    pub scenario: Options,
    /// The plan file.
    pub plan_file: Options,
    /// Variables that begin with `NETTARE_`.
    pub environment: Options,
    /// Flags.
    pub flags: Options,
}

/// What the machine and the moment give, where no source says anything.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// Seed of everything random.
    pub seed: u64,
    /// Virtual users that arrivals at a rate may have at most: what memory, ports and descriptors allow.
    pub max_vus: u32,
}

impl Defaults {
    /// Seeds are no larger, so that every reader of a report or a printed plan holds them exactly: JSON numbers are doubles to
    /// many (RFC 8259, section 6), and TOML's have 63 bits.
    pub const MAX_SEED: u64 = (1 << 53) - 1;

    /// However much the machine allows, an arrival executor gets no more virtual users than this unasked.
    pub const MAX_VUS: u32 = 10_000;
}

/// A plan, and where its values came from.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The plan; valid.
    pub plan: Plan,
    /// The source of each value.
    pub origins: Origins,
}

impl Layers {
    /// Makes the plan.
    pub fn resolve(self, defaults: &Defaults) -> Result<Resolved, PlanError> {
        let Layers {
            mut scenario,
            plan_file,
            environment,
            flags,
        } = self;
        let mut origins = Origins::default();
        let own_load = scenario.split_off(|key| LOAD_KEYS.contains(&key));
        for key in own_load.given() {
            origins.note(key, Origin::Scenario);
        }
        let mut stated = Options::default();
        let sources = [
            (Origin::Scenario, scenario),
            (Origin::PlanFile, plan_file),
            (Origin::Environment, environment),
            (Origin::Flag, flags),
        ];
        for (origin, source) in sources {
            stated.overlay(source, &mut |key| origins.note(key, origin));
        }
        grant_hosts_of_urls(&mut stated, &mut origins);
        let load = stated.split_off(|key| LOAD_KEYS.contains(&key));
        let executor =
            load::executor(load, own_load, &mut origins, defaults).map_err(PlanError::in_flags)?;
        let plan = Plan {
            scenarios: vec![scenario_of(&mut stated, executor)?],
            thresholds: thresholds_of(&mut stated),
            limits: limits_of(&stated),
            run: run_of(stated, defaults),
        };
        seed_is_exact(&plan)
            .and_then(|()| plan.validate())
            .map_err(|error| {
                let place = origins.place(error.key);
                error.at(place).in_flags()
            })?;
        Ok(Resolved { plan, origins })
    }
}

fn scenario_of(stated: &mut Options, executor: super::Executor) -> Result<Scenario, PlanError> {
    let Some(file) = stated.file.take() else {
        let remedy =
            "give the scenario's file, or `file` in a table [scenarios.NAME] of the plan file";
        return Err(PlanError::about("file", "is missing", remedy));
    };
    let scenario = stated.scenario.take();
    let name = stated
        .scenario_name
        .take()
        .or_else(|| scenario.clone())
        .unwrap_or_else(|| stem_of(&file));
    Ok(Scenario {
        name,
        work: Work::Guest { file, scenario },
        executor,
        graceful_stop_ns: stated
            .graceful_stop_ns
            .unwrap_or(Scenario::DEFAULT_GRACEFUL_STOP_NS),
        isolation: stated.isolation.unwrap_or_default(),
        env: std::mem::take(&mut stated.scenario_env),
        tags: std::mem::take(&mut stated.scenario_tags),
    })
}

/// `checkout` of `scenarios/checkout.wasm`. Paths are text here: core knows no files.
fn stem_of(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if stem.is_empty() {
        "default".to_owned()
    } else {
        stem.to_owned()
    }
}

/// In the order of their metrics, as a printed plan has them.
fn thresholds_of(stated: &mut Options) -> Vec<crate::threshold::Threshold> {
    let mut thresholds = std::mem::take(&mut stated.thresholds);
    thresholds.sort_by_cached_key(crate::threshold::Threshold::selector);
    thresholds
}

fn run_of(stated: Options, defaults: &Defaults) -> RunOptions {
    let otherwise = RunOptions::default();
    RunOptions {
        allow_hosts: stated.allow_hosts,
        env: stated.env,
        tags: stated.tags,
        connections: stated.connections.unwrap_or(otherwise.connections),
        warmup_ns: stated.warmup_ns.unwrap_or(otherwise.warmup_ns),
        seed: stated.seed.unwrap_or(defaults.seed & Defaults::MAX_SEED),
        workers: stated.workers,
        guest_thread: stated.guest_thread.unwrap_or(otherwise.guest_thread),
        meter: stated.meter.unwrap_or(otherwise.meter),
        deferred_queue: stated.deferred_queue.unwrap_or(otherwise.deferred_queue),
        check_sample: stated.check_sample.unwrap_or(otherwise.check_sample),
        timestamps: stated.timestamps.unwrap_or(otherwise.timestamps),
        http: stated.http.unwrap_or(otherwise.http),
        timeout_ns: stated.timeout_ns.unwrap_or(otherwise.timeout_ns),
        max_redirects: stated.max_redirects.unwrap_or(otherwise.max_redirects),
        user_agent: stated.user_agent.unwrap_or(otherwise.user_agent),
        insecure_skip_tls_verify: stated
            .insecure_skip_tls_verify
            .unwrap_or(otherwise.insecure_skip_tls_verify),
        abort_unanswered_ns: stated
            .abort_unanswered_ns
            .unwrap_or(otherwise.abort_unanswered_ns),
    }
}

fn seed_is_exact(plan: &Plan) -> Result<(), PlanError> {
    match plan.run.seed {
        ..=Defaults::MAX_SEED => Ok(()),
        seed => Err(PlanError::about(
            "seed",
            format!("is {seed}"),
            format!("give at most {}", Defaults::MAX_SEED),
        )),
    }
}

fn limits_of(stated: &Options) -> Limits {
    let otherwise = Limits::default();
    Limits {
        guest_memory_bytes: stated
            .guest_memory_bytes
            .unwrap_or(otherwise.guest_memory_bytes),
        guest_cpu_ns: stated.guest_cpu_ns.unwrap_or(otherwise.guest_cpu_ns),
        body_bytes: stated.body_bytes.unwrap_or(otherwise.body_bytes),
        bodies_bytes: stated.bodies_bytes.unwrap_or(otherwise.bodies_bytes),
        deferred_checks: stated.deferred_checks.unwrap_or(otherwise.deferred_checks),
        series: stated.series.unwrap_or(otherwise.series),
        log_lines: stated.log_lines.unwrap_or(otherwise.log_lines),
    }
}

/// Allows the host of every URL that a person put into the environment, in the plan file or by a flag. A URL among the
/// scenario's own defaults grants nothing: whoever wrote the guest does not decide what this machine may contact.
fn grant_hosts_of_urls(stated: &mut Options, origins: &mut Origins) {
    let given = stated.env.iter().chain(&stated.scenario_env);
    let granted = given.filter_map(|(name, value)| {
        let origin = origins.of(&format!("env.{name}"));
        let host = host_of(value).filter(|_| origin > Origin::Scenario)?;
        Some((host, origin))
    });
    for (host, origin) in granted.collect::<Vec<_>>() {
        if !stated.allow_hosts.contains(&host) {
            origins.note(&format!("allow-hosts.{host}"), origin);
            origins.note("allow-hosts", origin.max(origins.of("allow-hosts")));
            stated.allow_hosts.push(host);
        }
    }
}

/// The host of a URL, in lower case and without the brackets of an IPv6 address; none when `text` is not a URL.
fn host_of(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    // The backslash ends the authority in browsers and in URL parsers that follow them.
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host_and_port = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let host = match host_and_port.strip_prefix('[') {
        Some(address) => address.split_once(']')?.0,
        None => host_and_port
            .split_once(':')
            .map_or(host_and_port, |(host, _)| host),
    };
    let is_host = !host.is_empty()
        && host
            .chars()
            .all(|c| c.is_alphanumeric() || "-._:".contains(c));
    (is_scheme && is_host).then(|| host.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_urls_are_found() {
        let table = [
            (
                "https://shop.example",
                Some("shop.example"),
                "the plain case",
            ),
            (
                "http://Shop.Example:8080/a?b#c",
                Some("shop.example"),
                "port, path, query; capitals do not matter",
            ),
            (
                "http://user:pass@shop.example/",
                Some("shop.example"),
                "who asks is not where",
            ),
            ("http://[::1]:8080/", Some("::1"), "an IPv6 address"),
            (
                "http://good.example\\@evil.example/",
                Some("good.example"),
                "a backslash ends the host",
            ),
            ("grpc+tls://10.0.0.1:50051", Some("10.0.0.1"), "any scheme"),
            ("shop.example", None, "no URL"),
            ("://shop.example", None, "no scheme"),
            ("http://", None, "no host"),
            ("http://a,b/", None, "no host that a name could be"),
        ];
        for (text, expected, why) in table {
            assert_eq!(host_of(text).as_deref(), expected, "{why}: {text}");
        }
    }

    #[test]
    fn a_scenario_without_a_name_is_called_like_its_file() {
        let table = [
            ("a/checkout.wasm", "checkout"),
            ("checkout", "checkout"),
            ("x.y.wasm", "x.y"),
            (".wasm", "default"),
        ];
        for (file, expected) in table {
            assert_eq!(stem_of(file), expected);
        }
    }
}
