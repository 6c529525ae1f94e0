//! Records and enums of the contract, as they cross the border.

use nettare_core::sample::{CallTiming, ErrorKind, Failure, Phases, Stamp};
use nettare_core::stats::{MetricKind, Unit};
use wasmtime::component::{ComponentType, Lift, Lower};

use crate::doors::LogLevel;

/// `errors.error-kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
pub(crate) enum WitErrorKind {
    #[component(name = "invalid")]
    Invalid,
    #[component(name = "denied")]
    Denied,
    #[component(name = "dns")]
    Dns,
    #[component(name = "connect")]
    Connect,
    #[component(name = "tls")]
    Tls,
    #[component(name = "timeout")]
    Timeout,
    #[component(name = "reset")]
    Reset,
    #[component(name = "protocol")]
    Protocol,
    #[component(name = "body-limit")]
    BodyLimit,
    #[component(name = "decode")]
    Decode,
    #[component(name = "too-many-redirects")]
    TooManyRedirects,
    #[component(name = "cancelled")]
    Cancelled,
    #[component(name = "generator-limit")]
    GeneratorLimit,
}

impl From<ErrorKind> for WitErrorKind {
    fn from(kind: ErrorKind) -> WitErrorKind {
        match kind {
            ErrorKind::Invalid => WitErrorKind::Invalid,
            ErrorKind::Denied => WitErrorKind::Denied,
            ErrorKind::Dns => WitErrorKind::Dns,
            ErrorKind::Connect => WitErrorKind::Connect,
            ErrorKind::Tls => WitErrorKind::Tls,
            ErrorKind::Timeout => WitErrorKind::Timeout,
            ErrorKind::Reset => WitErrorKind::Reset,
            ErrorKind::Protocol => WitErrorKind::Protocol,
            ErrorKind::BodyLimit => WitErrorKind::BodyLimit,
            ErrorKind::Decode => WitErrorKind::Decode,
            ErrorKind::TooManyRedirects => WitErrorKind::TooManyRedirects,
            ErrorKind::Cancelled => WitErrorKind::Cancelled,
            ErrorKind::GeneratorLimit => WitErrorKind::GeneratorLimit,
        }
    }
}

/// `errors.error`.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub(crate) struct WitError {
    kind: WitErrorKind,
    code: u32,
    message: String,
}

impl WitError {
    pub(crate) fn new(kind: WitErrorKind, message: impl Into<String>) -> WitError {
        WitError {
            kind,
            code: 0,
            message: message.into(),
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> WitError {
        WitError::new(WitErrorKind::Invalid, message)
    }

    pub(crate) fn denied(message: impl Into<String>) -> WitError {
        WitError::new(WitErrorKind::Denied, message)
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn cancelled() -> WitError {
        WitError::new(WitErrorKind::Cancelled, "the run is stopping")
    }
}

impl From<Failure> for WitError {
    fn from(failure: Failure) -> WitError {
        WitError {
            kind: failure.kind.into(),
            code: failure.code,
            message: failure.message,
        }
    }
}

/// `http.body-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
#[expect(
    dead_code,
    reason = "wasmtime makes its values, from what a guest passes"
)]
pub(crate) enum WitBodyMode {
    #[component(name = "keep")]
    Keep,
    #[component(name = "discard")]
    Discard,
}

/// `http.stamp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
pub(crate) enum WitStamp {
    #[component(name = "exact")]
    Exact,
    #[component(name = "bound")]
    Bound,
    #[component(name = "user")]
    User,
}

/// `http.timing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub(crate) struct WitTiming {
    blocked: u64,
    dns: u64,
    connect: u64,
    tls: u64,
    sending: u64,
    waiting: u64,
    receiving: u64,
    net: u64,
    decode: u64,
    gross: u64,
    hops: u32,
    stamp: WitStamp,
}

impl WitTiming {
    pub(crate) fn new(timing: &CallTiming, gross_ns: u64) -> WitTiming {
        let Phases {
            blocked_ns,
            dns_ns,
            connect_ns,
            tls_ns,
            sending_ns,
            waiting_ns,
            receiving_ns,
        } = timing.last;
        WitTiming {
            blocked: blocked_ns,
            dns: dns_ns,
            connect: connect_ns,
            tls: tls_ns,
            sending: sending_ns,
            waiting: waiting_ns,
            receiving: receiving_ns,
            net: timing.last.net_ns(),
            decode: timing.decode_ns,
            gross: gross_ns,
            hops: timing.hops,
            stamp: match timing.stamp {
                Stamp::Exact => WitStamp::Exact,
                Stamp::Bound => WitStamp::Bound,
                Stamp::User => WitStamp::User,
            },
        }
    }
}

/// `metrics.kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
#[expect(
    dead_code,
    reason = "wasmtime makes its values, from what a guest passes"
)]
pub(crate) enum WitMetricKind {
    #[component(name = "counter")]
    Counter,
    #[component(name = "gauge")]
    Gauge,
    #[component(name = "rate")]
    Rate,
    #[component(name = "trend")]
    Trend,
}

impl From<WitMetricKind> for MetricKind {
    fn from(kind: WitMetricKind) -> MetricKind {
        match kind {
            WitMetricKind::Counter => MetricKind::Counter,
            WitMetricKind::Gauge => MetricKind::Gauge,
            WitMetricKind::Rate => MetricKind::Rate,
            WitMetricKind::Trend => MetricKind::Trend,
        }
    }
}

/// `metrics.unit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
#[expect(
    dead_code,
    reason = "wasmtime makes its values, from what a guest passes"
)]
pub(crate) enum WitUnit {
    #[component(name = "plain")]
    Plain,
    #[component(name = "bytes")]
    Bytes,
    #[component(name = "nanoseconds")]
    Nanoseconds,
}

impl From<WitUnit> for Unit {
    fn from(unit: WitUnit) -> Unit {
        match unit {
            WitUnit::Plain => Unit::Plain,
            WitUnit::Bytes => Unit::Bytes,
            WitUnit::Nanoseconds => Unit::Nanoseconds,
        }
    }
}

/// `log.level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
#[expect(
    dead_code,
    reason = "wasmtime makes its values, from what a guest passes"
)]
pub(crate) enum WitLevel {
    #[component(name = "debug")]
    Debug,
    #[component(name = "info")]
    Info,
    #[component(name = "warn")]
    Warn,
    #[component(name = "error")]
    Error,
}

impl From<WitLevel> for LogLevel {
    fn from(level: WitLevel) -> LogLevel {
        match level {
            WitLevel::Debug => LogLevel::Debug,
            WitLevel::Info => LogLevel::Info,
            WitLevel::Warn => LogLevel::Warn,
            WitLevel::Error => LogLevel::Error,
        }
    }
}

/// `types.description`.
#[derive(Clone, Debug, Default, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub(crate) struct WitDescription {
    pub(crate) scenarios: Vec<String>,
    pub(crate) checks: Vec<String>,
    #[component(name = "deferred-checks")]
    pub(crate) deferred_checks: Vec<String>,
    pub(crate) options: String,
}

/// `types.arrival`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub(crate) struct WitArrival {
    pub(crate) scenario: u32,
    pub(crate) sequence: u64,
    pub(crate) due: u64,
    pub(crate) started: u64,
}
