//! The few figures of a `nettare.report/1` that are held against limits.
//!
//! It is read as plain JSON: linking the crate that defines it would make every developer command wait for its build, and a
//! reader from outside is what the format is for.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::Value;

/// A run's report.
#[derive(Debug)]
pub(crate) struct Report(Value);

impl Report {
    /// Reads a report from its file.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Report> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("failed to read {}", path.display()))?;
        Report::parse(&text).with_context(|| format!("failed to read {}", path.display()))
    }

    pub(crate) fn parse(text: &str) -> anyhow::Result<Report> {
        let value: Value = serde_json::from_str(text).context("it is no JSON")?;
        ensure!(
            value["schema"] == "nettare.report/1",
            "its schema is {}",
            value["schema"]
        );
        Ok(Report(value))
    }

    /// The number at a path of keys: `["requests", "answered"]`.
    pub(crate) fn number(&self, path: &[&str]) -> anyhow::Result<f64> {
        let found = path.iter().fold(&self.0, |value, key| &value[*key]);
        found
            .as_f64()
            .with_context(|| format!("the report has no {}", path.join(".")))
    }

    /// Failed exchanges of every kind.
    pub(crate) fn failed(&self) -> f64 {
        let kinds = self.0["requests"]["failed"].as_object();
        kinds
            .into_iter()
            .flatten()
            .filter_map(|(_, count)| count.as_f64())
            .sum()
    }

    /// How long load was offered, in seconds.
    pub(crate) fn seconds(&self) -> anyhow::Result<f64> {
        Ok(self.number(&["run", "duration_ns"])? / 1e9)
    }

    /// A figure of a distribution over the whole run: ("http_req_duration", "p99").
    pub(crate) fn trend(&self, metric: &str, figure: &str) -> anyhow::Result<f64> {
        let whole = |tags: &Value| tags.as_object().is_none_or(serde_json::Map::is_empty);
        self.figure(metric, figure, whole)
    }

    /// The same, of the requests of one name that were answered as expected.
    pub(crate) fn trend_of(&self, name: &str, metric: &str, figure: &str) -> anyhow::Result<f64> {
        let named = |tags: &Value| tags["name"] == name && tags["expected_response"] == "true";
        self.figure(metric, figure, named)
    }

    fn figure(
        &self,
        metric: &str,
        figure: &str,
        fits: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<f64> {
        let metrics = self.0["metrics"]
            .as_array()
            .context("the report has no metrics")?;
        let found = metrics
            .iter()
            .find(|m| m["name"] == metric && fits(&m["tags"]))
            .with_context(|| format!("the report has no {metric}"))?;
        found[figure]
            .as_f64()
            .with_context(|| format!("{metric} has no {figure}"))
    }

    /// The share of receive stamps that are exact, from 0 to 1; 0 without any.
    pub(crate) fn exact_stamps(&self) -> f64 {
        let count = |kind: &str| self.0["run"]["timestamps"][kind].as_f64().unwrap_or(0.0);
        let all = count("exact") + count("bound") + count("user");
        if all > 0.0 { count("exact") / all } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
        "schema": "nettare.report/1",
        "run": {"duration_ns": 2500000000, "timestamps": {"exact": 3, "bound": 1, "user": 0}},
        "requests": {"answered": 12, "failed": {"reset": 2, "timeout": 1}},
        "metrics": [
            {"name": "http_req_duration", "kind": "trend", "tags": {"name": "/", "expected_response": "true"}, "p50": 1},
            {"name": "http_req_duration", "kind": "trend", "tags": {}, "p50": 7}
        ]
    }"#;

    #[test]
    fn figures_are_found_by_name_and_totals_are_told_from_series() {
        let report = Report::parse(TEXT).expect("it is a report");
        assert_eq!(
            report
                .number(&["requests", "answered"])
                .expect("it is there"),
            12.0
        );
        assert_eq!(report.failed(), 3.0);
        assert_eq!(report.seconds().expect("it is there"), 2.5);
        assert_eq!(
            report
                .trend("http_req_duration", "p50")
                .expect("it is there"),
            7.0
        );
        assert_eq!(
            report
                .trend_of("/", "http_req_duration", "p50")
                .expect("it is there"),
            1.0
        );
        assert_eq!(report.exact_stamps(), 0.75);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let report = Report::parse(TEXT).expect("it is a report");
        let error = |e: anyhow::Result<f64>| e.expect_err("it is not there").to_string();
        assert_eq!(
            error(report.number(&["requests", "sent"])),
            "the report has no requests.sent"
        );
        assert_eq!(
            error(report.trend("iterations", "p50")),
            "the report has no iterations"
        );
        assert_eq!(
            error(report.trend("http_req_duration", "p77")),
            "http_req_duration has no p77"
        );
        assert!(Report::parse(r#"{"schema": "other/1"}"#).is_err());
    }
}
