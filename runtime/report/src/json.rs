//! The JSON report, schema `nettare.report/1`: the one complete record of a run.

use nettare_core::report::{Report, SCHEMA};
use serde::Deserialize;
use thiserror::Error;

/// Why a report could not be written as JSON.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct EncodeError(#[from] serde_json::Error);

/// Why bytes are not a report.
#[derive(Debug, Error)]
pub enum ParseError {
    /// Not JSON.
    #[error("this is not JSON")]
    Json(#[source] serde_json::Error),
    /// JSON, and not to its end.
    #[error("this ends in the middle of its JSON: the file is empty or was cut short")]
    CutShort(#[source] serde_json::Error),
    /// JSON, and no report.
    #[error("this is JSON, but no report of nettare: it has no `schema`")]
    NoSchema,
    /// A report that this version cannot read.
    #[error("this is `{0}`, and this version of nettare reads `{SCHEMA}`")]
    Schema(String),
    /// A report with something missing or of the wrong sort.
    #[error("this report is damaged")]
    Damaged(#[source] serde_json::Error),
}

/// Writes a report on one line.
///
/// # Errors
///
/// When a value has no JSON form, which no value of a report is without.
pub fn encode(report: &Report) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = serde_json::to_vec(report)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a report. Fields that are not known are ignored; another schema is refused, since the meaning of what is known may
/// have changed.
///
/// # Errors
///
/// When the bytes are not a report of this schema.
pub fn parse(bytes: &[u8]) -> Result<Report, ParseError> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }

    let head: Head = serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => ParseError::NoSchema,
        serde_json::error::Category::Eof => ParseError::CutShort(error),
        _ => ParseError::Json(error),
    })?;
    match head.schema {
        None => Err(ParseError::NoSchema),
        Some(schema) if schema != SCHEMA => Err(ParseError::Schema(schema)),
        Some(_) => serde_json::from_slice(bytes).map_err(ParseError::Damaged),
    }
}

#[cfg(test)]
mod tests {
    use nettare_core::report::{Figures, json_schema};
    use serde_json::{Value, json};

    use super::*;
    use crate::fixtures;

    fn value(report: &Report) -> Value {
        serde_json::from_slice(&encode(report).expect("a report can be encoded"))
            .expect("that is JSON")
    }

    #[test]
    fn parsing_undoes_encoding() {
        for (name, report) in fixtures::all() {
            let bytes = encode(&report).expect("a report can be encoded");
            assert_eq!(
                parse(&bytes).expect("it was just encoded"),
                report,
                "{name}"
            );
        }
    }

    #[test]
    fn every_report_fits_its_schema() {
        let schema = json_schema().to_value();
        let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
        for (name, report) in fixtures::all() {
            let errors: Vec<String> = validator
                .iter_errors(&value(&report))
                .map(|e| e.to_string())
                .collect();
            assert!(errors.is_empty(), "{name}: {errors:?}");
        }
        let mut broken = value(&fixtures::small());
        broken["requests"]["attempted"] = json!("six");
        assert!(
            !validator.is_valid(&broken),
            "the schema refuses what is no report"
        );
    }

    #[test]
    fn the_checked_in_schema_is_the_one_of_the_code() {
        let checked_in = include_str!("../../../docs/reference/report.schema.json");
        let checked_in: Value = serde_json::from_str(checked_in).expect("the file is JSON");
        assert_eq!(
            checked_in,
            json_schema().to_value(),
            "`cargo xtask schema` writes it anew"
        );
    }

    #[test]
    fn a_report_looks_like_this() {
        let mut report = value(&fixtures::usual());
        let metrics = report["metrics"].as_array_mut().expect("a list");
        metrics.retain(|m| m["tags"] == json!({}) || m["name"] == "http_req_duration");
        report["intervals"]
            .as_array_mut()
            .expect("a list")
            .truncate(1);
        report["run"]["plan"] = json!("(a plan)");
        shorten_distributions(&mut report);
        insta::assert_json_snapshot!(report);
    }

    /// Base64 in a snapshot tells nobody anything.
    fn shorten_distributions(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    match name.as_str() {
                        "hdr" | "hdr_negative" => *field = json!("(base64)"),
                        _ => shorten_distributions(field),
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(shorten_distributions),
            _ => {}
        }
    }

    #[test]
    fn fields_that_are_not_known_are_ignored() {
        let report = fixtures::usual();
        let mut value = value(&report);
        value["weather"] = json!("fair");
        value["run"]["mood"] = json!({ "of": ["the", "day"] });
        value["metrics"][0]["colour"] = json!(7);
        assert!(parse(value.to_string().as_bytes()).expect("still a report") == report);
    }

    #[test]
    fn what_is_no_report_of_this_schema_is_refused_each_for_its_reason() {
        let table = [
            (
                "nothing",
                "",
                "this ends in the middle of its JSON: the file is empty or was cut short",
            ),
            (
                "half a report",
                r#"{"schema":"nettare.report/1","run":{"id":"2"#,
                "this ends in the middle of its JSON: the file is empty or was cut short",
            ),
            (
                "another language",
                "schema: nettare.report/1",
                "this is not JSON",
            ),
            (
                "a list",
                "[]",
                "this is JSON, but no report of nettare: it has no `schema`",
            ),
            (
                "an object of something else",
                "{}",
                "this is JSON, but no report of nettare: it has no `schema`",
            ),
            (
                "a later schema",
                r#"{"schema":"nettare.report/2"}"#,
                "this is `nettare.report/2`, and this version of nettare reads `nettare.report/1`",
            ),
            (
                "the rest is missing",
                r#"{"schema":"nettare.report/1"}"#,
                "this report is damaged",
            ),
        ];
        for (sentence, bytes, expected) in table {
            let error = parse(bytes.as_bytes()).expect_err(sentence);
            assert_eq!(error.to_string(), expected, "{sentence}");
        }
    }

    /// What the seconds tell adds up to what the whole tells, metric by metric.
    #[test]
    fn case_041_seconds_sum_to_the_total() {
        for (name, report) in fixtures::all() {
            for (i, metric) in (0..).zip(&report.metrics) {
                let entries = report
                    .intervals
                    .iter()
                    .flat_map(|s| &s.metrics)
                    .filter(|m| m.i == i);
                let (count, value) = entries.fold((0, 0.0), |(count, value), entry| {
                    (
                        count + entry.count,
                        value + entry.value.map_or(0.0, |v| v.0),
                    )
                });
                match &metric.figures {
                    Figures::Counter { value: sum, .. } if count > 0 => {
                        assert_eq!(value, sum.0, "{name}: {metric:?}")
                    }
                    Figures::Rate { passes, fails, .. } if count > 0 => {
                        assert_eq!(
                            (value, count),
                            (*passes as f64, passes + fails),
                            "{name}: {metric:?}"
                        );
                    }
                    Figures::Trend(trend) if count > 0 => {
                        assert_eq!(count, trend.count, "{name}: {metric:?}")
                    }
                    _ => {}
                }
            }
            let reqs = report.total("http_reqs").expect("there were requests");
            assert!(report.intervals.iter().any(|s| {
                s.metrics
                    .iter()
                    .any(|m| report.metrics[m.i as usize] == *reqs)
            }));
        }
    }
}
