//! The metrics there are: names, kinds and units. Names are k6's where the meaning is the same.

use serde::{Deserialize, Serialize};

/// What kind of figure a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MetricKind {
    /// A sum.
    Counter,
    /// A level: the last value, and the lowest and highest.
    Gauge,
    /// The share of samples that were true.
    Rate,
    /// A distribution.
    Trend,
}

impl MetricKind {
    /// Its name, as reports and messages have it.
    pub fn as_str(self) -> &'static str {
        match self {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Rate => "rate",
            MetricKind::Trend => "trend",
        }
    }
}

/// What a metric's values are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Unit {
    /// Nothing in particular.
    #[serde(rename = "plain")]
    Plain,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
}

/// A metric that Nettare records by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// What kind of figure it is.
    pub kind: MetricKind,
    /// What it is counted in.
    pub unit: Unit,
    /// What it tells, in one line.
    pub about: &'static str,
    /// Tags that its series are told apart by; none where the user's own tags are among them.
    pub tags: Option<&'static [&'static str]>,
}

/// What phases are told apart by: there are seven of them, so they are not kept for every series.
const PHASE: Option<&[&str]> = Some(&["scenario", "name"]);
/// What iterations are told apart by.
const ITERATION: Option<&[&str]> = Some(&["scenario"]);

/// Every metric that Nettare records by itself, in the order in which reports list them. The gauges of the generator's health,
/// `gen_*`, are as many as the machine has things to watch and not listed.
pub const BUILTINS: &[Builtin] = &[
    counter(
        "http_reqs",
        Unit::Plain,
        "exchanges that ended: answered, failed or cancelled",
    ),
    rate(
        "http_req_failed",
        "exchanges that failed or had an unexpected status; what the scenario cancelled did not fail",
    ),
    time(
        "http_req_duration",
        "net: sending + waiting + receiving, of exchanges whose response ended",
    ),
    time(
        "http_req_gross",
        "a call as the scenario saw it, with all its hops",
    ),
    time("http_req_tare", "the generator's own share of a call"),
    time(
        "http_req_blocked",
        "waiting for a connection because of a policy or limit",
    )
    .by(PHASE),
    time(
        "http_req_looking_up",
        "resolving the name, where that was needed",
    )
    .by(PHASE),
    time(
        "http_req_connecting",
        "the TCP handshake of exchanges that opened a connection",
    )
    .by(PHASE),
    time(
        "http_req_tls_handshaking",
        "the TLS handshake of exchanges that opened a connection",
    )
    .by(PHASE),
    time(
        "http_req_sending",
        "from the request's first byte written to its last",
    )
    .by(PHASE),
    time(
        "http_req_waiting",
        "from the request's last byte to the response's first",
    )
    .by(PHASE),
    time(
        "http_req_receiving",
        "from the response's first byte to its last",
    )
    .by(PHASE),
    counter(
        "iterations",
        Unit::Plain,
        "iterations that ended by themselves",
    )
    .by(ITERATION),
    time(
        "iteration_duration",
        "an iteration from its start to its end",
    )
    .by(ITERATION),
    time(
        "iteration_response",
        "an iteration from the time it was due to its end",
    )
    .by(ITERATION),
    time(
        "iteration_lateness",
        "from the time an iteration was due to its start",
    )
    .by(ITERATION),
    counter(
        "dropped_iterations",
        Unit::Plain,
        "arrivals that never started",
    )
    .by(Some(&["scenario", "reason"])),
    time(
        "scenario_cpu",
        "CPU time of an iteration in the scenario's own code",
    )
    .by(ITERATION),
    Builtin {
        unit: Unit::Plain,
        ..time(
            "scenario_instructions",
            "instructions of an iteration in the scenario's own code, where they are counted",
        )
    }
    .by(ITERATION),
    rate("checks", "checks that passed"),
    time("check_cpu", "CPU time of one evaluation of a check"),
    Builtin {
        unit: Unit::Plain,
        ..time(
            "check_instructions",
            "instructions of one evaluation of a check, where they are counted",
        )
    },
    time(
        "check_queue_wait",
        "from deferring a check to its evaluation",
    ),
    counter(
        "checks_skipped",
        Unit::Plain,
        "deferred checks that were not evaluated",
    ),
    time("group_duration", "one passage through a group"),
    counter("data_sent", Unit::Bytes, "bytes written for exchanges"),
    counter("data_received", Unit::Bytes, "bytes read for exchanges"),
    gauge("vus", "virtual users in an iteration").by(Some(&[])),
    gauge("vus_max", "virtual users that exist").by(Some(&[])),
];

impl Builtin {
    const fn by(self, tags: Option<&'static [&'static str]>) -> Builtin {
        Builtin { tags, ..self }
    }
}

/// The built-in metric of that name.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|b| b.name == name)
}

/// Start of the names of the generator's own health metrics, all gauges.
pub const GENERATOR_PREFIX: &str = "gen_";

const fn counter(name: &'static str, unit: Unit, about: &'static str) -> Builtin {
    Builtin {
        name,
        kind: MetricKind::Counter,
        unit,
        about,
        tags: None,
    }
}

const fn rate(name: &'static str, about: &'static str) -> Builtin {
    Builtin {
        name,
        kind: MetricKind::Rate,
        unit: Unit::Plain,
        about,
        tags: None,
    }
}

const fn time(name: &'static str, about: &'static str) -> Builtin {
    Builtin {
        name,
        kind: MetricKind::Trend,
        unit: Unit::Nanoseconds,
        about,
        tags: None,
    }
}

const fn gauge(name: &'static str, about: &'static str) -> Builtin {
    Builtin {
        name,
        kind: MetricKind::Gauge,
        unit: Unit::Plain,
        about,
        tags: None,
    }
}

/// The unit of a gauge, from the end of its name.
pub(crate) fn unit_of_gauge(name: &str) -> Unit {
    match name {
        _ if name.ends_with("_bytes") => Unit::Bytes,
        _ if name.ends_with("_ns") => Unit::Nanoseconds,
        _ => Unit::Plain,
    }
}
