//! `nettare quick`: one URL, without a scenario.

use std::collections::BTreeMap;

use nettare_core::plan::{
    ConnectionPolicy, Executor, Isolation, Limits, Plan, QuickRequest, Rate, RunOptions, Scenario,
    Work, masked,
};
use nettare_core::stats::{BUILTINS, GENERATOR_PREFIX, builtin};
use nettare_core::units;
use nettare_engine::net::Target;
use nettare_report::text;
use url::Url;

use crate::args::{QuickArgs, QuickLoadArgs, RequestArgs};
use crate::checkup;
use crate::exit::Cause;
use crate::failure::{Failure, OrFail};
use crate::prepare::{check_hosts, plan_failure};
use crate::session::{Request, Session, tls_options};
use crate::ui::Ui;
use crate::{input, layers};

/// Requests when neither `-n` nor `-z` says how many: hey's and oha's default.
const DEFAULT_REQUESTS: u64 = 200;

/// A body from a file may have so many bytes.
const MAX_BODY_BYTES: u64 = 1 << 30;

/// Connections when `-c` does not say how many: hey's and oha's default.
const DEFAULT_CONNECTIONS: u32 = 50;

/// Runs it.
pub(crate) fn quick(args: &QuickArgs, ui: &Ui) -> Result<u8, Failure> {
    let session = Session::prepare(ui, &args.output)?;
    let plan = plan(args, session.moment().seed())?;
    let tls = tls_options(&args.tls)?;
    ui.note(&understood(&plan));
    checkup::before_run(ui, &plan, None, args.judge.allow_invalid)?;
    let request = Request {
        plan,
        guest: None,
        tls,
        allow_invalid: args.judge.allow_invalid,
    };
    Ok(session.execute(request)?.code)
}

fn plan(args: &QuickArgs, seed: u64) -> Result<Plan, Failure> {
    let url = parse_url(&args.url)?;
    let scenario = Scenario {
        name: "quick".to_owned(),
        work: Work::Request(request(&args.request, &url)?),
        executor: executor(&args.load),
        graceful_stop_ns: args
            .load
            .graceful_stop
            .map_or(Scenario::DEFAULT_GRACEFUL_STOP_NS, |span| span.ns),
        isolation: Isolation::Vu,
        env: BTreeMap::new(),
        tags: BTreeMap::new(),
    };
    let limits = Limits::default();
    let plan = Plan {
        run: run_options(args, &url, seed),
        scenarios: vec![scenario],
        thresholds: args.judge.threshold.clone(),
        limits: Limits {
            body_bytes: args.network.body_limit.unwrap_or(limits.body_bytes),
            ..limits
        },
    };
    check_metrics(&plan)?;
    plan.validate().map_err(plan_failure)?;
    check_hosts(&plan)?;
    Ok(plan)
}

/// There is no scenario that could record a metric of its own: a threshold on an unknown one would have nothing to judge.
fn check_metrics(plan: &Plan) -> Result<(), Failure> {
    let is_known = |metric: &str| builtin(metric).is_some() || metric.starts_with(GENERATOR_PREFIX);
    match plan.thresholds.iter().find(|t| !is_known(&t.metric)) {
        None => Ok(()),
        Some(threshold) => {
            let known: Vec<&str> = BUILTINS.iter().map(|metric| metric.name).collect();
            let sentence = format!("`--threshold`: there is no metric `{}`", threshold.metric);
            Err(Failure::new(Cause::CommandLine, sentence)
                .hint(format!("there are {}", known.join(", "))))
        }
    }
}

/// The URL, when it can be loaded at all. What is wrong with its host is found by asking it, and is a measurement.
fn parse_url(text: &str) -> Result<Url, Failure> {
    let bad = |what: String| Failure::new(Cause::CommandLine, what);
    let shown = masked(text);
    let url = Url::parse(text).map_err(|error| not_a_url(&shown, error))?;
    match url.scheme() {
        "http" | "https" => match Target::parse(text) {
            Ok(_) => Ok(url),
            Err(unusable) => Err(bad(unusable.message)),
        },
        scheme if text.starts_with(&format!("{scheme}://")) => {
            Err(bad(format!("`{scheme}` URLs cannot be loaded")).hint("http:// and https:// can"))
        }
        // `localhost:8080/` reads as a scheme called localhost.
        _ => Err(without_scheme(&shown)),
    }
}

fn not_a_url(shown: &str, error: url::ParseError) -> Failure {
    use url::ParseError::{InvalidPort, RelativeUrlWithoutBase};
    match error {
        // An address before a port, or a path: what is missing is what stands before it.
        RelativeUrlWithoutBase if !shown.contains("://") => without_scheme(shown),
        InvalidPort => Failure::new(
            Cause::CommandLine,
            format!("`{shown}` is not a URL: its port is not a number from 0 to 65535"),
        )
        .hint("write the port after the host, for instance http://127.0.0.1:8080/"),
        _ => Failure::new(
            Cause::CommandLine,
            format!("`{shown}` is not a URL: {error}"),
        )
        .hint("begin with http:// or https://, for instance http://127.0.0.1:8080/"),
    }
}

fn without_scheme(shown: &str) -> Failure {
    Failure::new(Cause::CommandLine, format!("`{shown}` has no scheme"))
        .hint(format!("write http://{shown} or https://{shown}"))
}

fn request(args: &RequestArgs, url: &Url) -> Result<QuickRequest, Failure> {
    let mut headers: Vec<(String, String)> = args
        .header
        .iter()
        .map(|field| (field.name.clone(), field.value.clone()))
        .collect();
    if let Some(content_type) = &args.content_type {
        if headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        {
            return Err(
                Failure::new(Cause::CommandLine, "-T and -H both set the content-type")
                    .hint("give one of them"),
            );
        }
        headers.push(("content-type".to_owned(), content_type.clone()));
    }
    let body = match (&args.body, &args.body_file) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(path)) => input::read_at_most(path, MAX_BODY_BYTES)
            .or_fail_with(Cause::Plan, || {
                format!("the body `{}`, given by -D, cannot be read", path.display())
            })?,
        (None, None) => Vec::new(),
    };
    let method = args.method.clone().unwrap_or_else(|| "GET".to_owned());
    Ok(QuickRequest {
        method,
        url: url.to_string(),
        headers,
        body,
    })
}

/// What `-n`, `-c`, `-z` and `-q` mean together.
///
/// | typed | executor |
/// |---|---|
/// | `-n`, or nothing | shared-iterations: a closed loop over `-c` connections |
/// | `-n -q` | the same, its starts spaced: a slow server slows the rate, as in hey and oha |
/// | `-z` | constant-vus |
/// | `-z -q` | constant-arrival-rate with at most `-c` at one time |
///
/// With `-z -q` hey and oha space the starts of a closed loop as well. Then a server that stalls is asked less while it
/// stalls, and the figures hide what users would have met; with due times they do not.
fn executor(load: &QuickLoadArgs) -> Executor {
    let vus = load.vus.unwrap_or(DEFAULT_CONNECTIONS);
    match (load.duration, load.rate) {
        (Some(span), Some(rate)) => Executor::ConstantArrivalRate {
            rate,
            duration_ns: span.ns,
            pre_allocated_vus: vus,
            max_vus: vus,
        },
        (Some(span), None) => Executor::ConstantVus {
            vus,
            duration_ns: span.ns,
        },
        (None, rate) => {
            let iterations = load.iterations.unwrap_or(DEFAULT_REQUESTS);
            // More virtual users than requests would have nothing to do.
            let vus = u32::try_from(iterations).map_or(vus, |iterations| vus.min(iterations));
            Executor::SharedIterations {
                vus,
                iterations,
                max_duration_ns: u64::MAX,
                rate,
            }
        }
    }
}

fn run_options(args: &QuickArgs, url: &Url, seed: u64) -> RunOptions {
    let network = &args.network;
    let defaults = RunOptions::default();
    let host = url.host_str().unwrap_or_default().to_owned();
    RunOptions {
        // Its host is allowed by having been typed.
        allow_hosts: std::iter::once(host)
            .chain(network.allow_host.iter().cloned())
            .collect(),
        tags: layers::map(&args.judge.tag),
        connections: connections(args),
        seed,
        workers: args.generator.workers,
        timestamps: args.generator.timestamps.unwrap_or(defaults.timestamps),
        http: layers::http_versions(network).unwrap_or(defaults.http),
        timeout_ns: network.timeout.map_or(defaults.timeout_ns, |span| span.ns),
        max_redirects: network.max_redirects.unwrap_or(defaults.max_redirects),
        user_agent: network.user_agent.clone().unwrap_or(defaults.user_agent),
        insecure_skip_tls_verify: args.tls.insecure_skip_tls_verify,
        ..defaults
    }
}

fn connections(args: &QuickArgs) -> ConnectionPolicy {
    match args.network.connections {
        Some(policy) => policy,
        None if args.disable_keepalive => ConnectionPolicy::PerRequest,
        None => ConnectionPolicy::PerVu,
    }
}

/// The plan in words: `GET http://127.0.0.1:8080/: 50 connections, 200 req/s in total, for 10 s`.
fn understood(plan: &Plan) -> String {
    let [
        Scenario {
            work: Work::Request(request),
            executor,
            ..
        },
    ] = plan.scenarios.as_slice()
    else {
        return String::new();
    };
    let body = match request.body.len() {
        0 => String::new(),
        1 => " with a body of 1 byte".to_owned(),
        length => format!(" with a body of {} bytes", text::count(length as u64)),
    };
    let load = match executor {
        Executor::ConstantVus { vus, duration_ns } => {
            format!(
                "{}, as fast as they go, for {}",
                connections_of(*vus),
                units::format_duration(*duration_ns)
            )
        }
        Executor::ConstantArrivalRate {
            rate,
            duration_ns,
            max_vus,
            ..
        } => format!(
            "{} in total, due by the clock, over at most {}, for {}",
            per_second(*rate),
            connections_of(*max_vus),
            units::format_duration(*duration_ns)
        ),
        Executor::SharedIterations {
            vus,
            iterations,
            rate: None,
            ..
        } => {
            format!(
                "{} in total over {}, as fast as they go",
                requests_of(*iterations),
                connections_of(*vus)
            )
        }
        Executor::SharedIterations {
            vus,
            iterations,
            rate: Some(rate),
            ..
        } => format!(
            "{} in total over {}, at most {} in total",
            requests_of(*iterations),
            connections_of(*vus),
            per_second(*rate)
        ),
        Executor::PerVuIterations {
            vus, iterations, ..
        } => {
            format!(
                "{} over each of {}",
                requests_of(*iterations),
                connections_of(*vus)
            )
        }
    };
    format!("{} {}{body}: {load}", request.method, masked(&request.url))
}

fn requests_of(iterations: u64) -> String {
    match iterations {
        1 => "1 request".to_owned(),
        _ => format!("{} requests", text::count(iterations)),
    }
}

fn connections_of(vus: u32) -> String {
    match vus {
        1 => "1 connection".to_owned(),
        _ => format!("{} connections", text::count(u64::from(vus))),
    }
}

fn per_second(rate: Rate) -> String {
    format!("{} req/s", rate.per_second())
}
