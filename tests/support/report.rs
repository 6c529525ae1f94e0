//! A run's JSON report, read as a stranger would: by its documented names.

use std::path::Path;

use serde_json::Value;

/// A report that is valid by its schema.
pub(crate) struct Report(Value);

impl Report {
    /// Reads a report and holds it against the checked-in schema.
    pub(crate) fn read(path: &Path) -> Report {
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let value = serde_json::from_str::<Value>(&text).expect("a report is JSON");
        let errors = schema()
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect::<Vec<_>>();
        assert!(
            errors.is_empty(),
            "the report is not valid by its schema:\n{}",
            errors.join("\n")
        );
        Report(value)
    }

    /// The value at a JSON pointer (RFC 6901).
    #[track_caller]
    pub(crate) fn value(&self, pointer: &str) -> &Value {
        self.0
            .pointer(pointer)
            .unwrap_or_else(|| panic!("the report has no {pointer}"))
    }

    /// The count at a JSON pointer.
    #[track_caller]
    pub(crate) fn count(&self, pointer: &str) -> u64 {
        self.value(pointer)
            .as_u64()
            .unwrap_or_else(|| panic!("{pointer} is no count: {}", self.value(pointer)))
    }

    /// The sum of the counts in the object at a JSON pointer.
    #[track_caller]
    pub(crate) fn sum(&self, pointer: &str) -> u64 {
        self.value(pointer)
            .as_object()
            .expect("an object of counts")
            .values()
            .map(|n| n.as_u64().expect("a count"))
            .sum()
    }

    /// Failed exchanges of one kind.
    pub(crate) fn failed(&self, kind: &str) -> u64 {
        self.0
            .pointer(&format!("/requests/failed/{kind}"))
            .and_then(Value::as_u64)
            .unwrap_or(0)
    }

    /// The total of a metric: the one without tags.
    #[track_caller]
    pub(crate) fn total(&self, name: &str) -> &Value {
        let mut of_that_name = self.metrics().filter(|metric| metric["name"] == name);
        let total = of_that_name.find(|metric| {
            metric["tags"]
                .as_object()
                .is_none_or(|tags| tags.is_empty())
        });
        total.unwrap_or_else(|| panic!("the report has no total of `{name}`"))
    }

    /// The check of that name.
    #[track_caller]
    pub(crate) fn check(&self, name: &str) -> &Value {
        let checks = self.value("/checks").as_array().expect("a list of checks");
        let found = checks.iter().find(|check| check["name"] == name);
        found.unwrap_or_else(|| panic!("the report has no check `{name}`: {checks:?}"))
    }

    /// One figure of a metric's total, `p50` or `mean` or `value`.
    #[track_caller]
    pub(crate) fn figure(&self, metric: &str, figure: &str) -> f64 {
        self.total(metric)[figure]
            .as_f64()
            .unwrap_or_else(|| panic!("`{metric}` has no `{figure}`: {}", self.total(metric)))
    }

    /// All metrics, totals and submetrics.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = &Value> {
        self.value("/metrics")
            .as_array()
            .expect("metrics are a list")
            .iter()
    }

    /// Holds the report against what must be true of every run, whatever happened in it.
    #[track_caller]
    pub(crate) fn assert_balanced(&self) {
        let iterations = |name: &str| self.count(&format!("/iterations/{name}"));
        assert_eq!(
            iterations("offered"),
            iterations("started") + self.sum("/iterations/dropped"),
            "offered = started + dropped"
        );
        let ended = iterations("completed") + iterations("failed") + iterations("interrupted");
        assert_eq!(
            iterations("started"),
            ended,
            "started = completed + failed + interrupted"
        );
        let requests = |name: &str| self.count(&format!("/requests/{name}"));
        let accounted = requests("answered")
            + self.sum("/requests/failed")
            + self.retried()
            + requests("in_flight_at_stop");
        assert_eq!(
            requests("attempted"),
            accounted,
            "attempted = answered + failed + retried + in flight at stop"
        );
        assert!(
            requests("connected") <= requests("attempted")
                && requests("answered") <= requests("sent")
        );
        for metric in self.metrics().filter(|metric| metric["kind"] == "trend") {
            let names = ["min", "p50", "p90", "p95", "p99", "p99_9", "max"];
            let figures = names.map(|name| {
                metric[name]
                    .as_f64()
                    .unwrap_or_else(|| panic!("no `{name}`: {metric}"))
            });
            assert!(
                figures.is_sorted(),
                "percentiles rise, within minimum and maximum: {metric}"
            );
        }
    }

    /// Exchanges given up for another on a fresh connection.
    pub(crate) fn retried(&self) -> u64 {
        self.0
            .pointer("/requests/retried")
            .and_then(Value::as_u64)
            .unwrap_or(0)
    }
}

/// The checked-in schema, ready to judge.
fn schema() -> &'static jsonschema::Validator {
    static SCHEMA: std::sync::LazyLock<jsonschema::Validator> = std::sync::LazyLock::new(|| {
        let text = include_str!("../../docs/reference/report.schema.json");
        let schema = serde_json::from_str(text).expect("the schema is JSON");
        jsonschema::validator_for(&schema).expect("the schema is a schema")
    });
    &SCHEMA
}
