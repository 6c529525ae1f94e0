//! Reads thresholds as people write them.
//!
//! ```text
//!   selector    = metric [ "{" tag ":" value { "," tag ":" value } "}" ]
//!   expression  = aggregation ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) number [ unit ]
//!   aggregation = "p(" number ")" | "avg" | "med" | "min" | "max" | "rate" | "count" | "value"
//!   unit        = those of durations and sizes in crate::units | "%"
//! ```
//!
//! A tag's value may hold `/`, `:` and balanced braces: `{name:/orders/{id}}`. Blanks between words do not matter.

use std::collections::BTreeMap;

use super::condition::condition;
use super::suggest::near_miss;
use super::{Threshold, ThresholdError};
use crate::stats::builtin;

impl Threshold {
    /// Reads a threshold from a metric with its tags, `http_req_duration{name:login}`, and a condition, `p(95)<200`.
    ///
    /// # Errors
    ///
    /// When either is not well formed, when the metric is a near miss of a built-in one, or when the condition cannot be about
    /// the metric. Metrics of a scenario's own are not known before the run and taken on trust.
    pub fn parse(metric_selector: &str, expression: &str) -> Result<Threshold, ThresholdError> {
        let (metric, tags) = read_selector(metric_selector)?;
        let condition = condition(&metric, expression)?;
        Ok(Threshold {
            metric,
            tags,
            expression: expression.trim().to_owned(),
            abort_on_fail: false,
            delay_abort_eval_ns: 0,
            allow_no_data: false,
            condition,
        })
    }

    /// Reads a threshold as a flag has it: `http_req_duration{name:login}: p(95)<200`.
    ///
    /// # Errors
    ///
    /// As [`Threshold::parse`], and when there is no colon between the two parts.
    pub fn parse_flag(text: &str) -> Result<Threshold, ThresholdError> {
        // No condition contains a brace, so the last one ends the tags, whatever colons they hold.
        let tags_end = text.rfind('}').map_or(0, |at| at + 1);
        let Some(colon) = text[tags_end..].find(':').map(|at| tags_end + at) else {
            let problem = "there is no `:` between the metric and its condition";
            return Err(error(
                text,
                text.len(),
                problem,
                "http_req_duration: p(95)<200",
            ));
        };
        let at_offset = |mut e: ThresholdError, offset: usize| {
            e.position += text[..offset].chars().count();
            e.text = text.to_owned();
            e
        };
        let (metric, tags) = read_selector(&text[..colon]).map_err(|e| at_offset(e, 0))?;
        let condition =
            condition(&metric, &text[colon + 1..]).map_err(|e| at_offset(e, colon + 1))?;
        Ok(Threshold {
            metric,
            tags,
            expression: text[colon + 1..].trim().to_owned(),
            abort_on_fail: false,
            delay_abort_eval_ns: 0,
            allow_no_data: false,
            condition,
        })
    }
}

/// Reads `metric{tag:value,...}`.
fn read_selector(text: &str) -> Result<(String, BTreeMap<String, String>), ThresholdError> {
    const EXAMPLE: &str = "http_req_duration{name:login}";
    let (name, tags) = match text.find('{') {
        Some(brace) => (&text[..brace], Some(brace)),
        None => (text, None),
    };
    check_name(text, name)?;
    let Some(brace) = tags else {
        return Ok((name.trim().to_owned(), BTreeMap::new()));
    };
    let whole = text.trim_end();
    if !whole.ends_with('}') {
        return Err(error(
            text,
            whole.len(),
            "the tags are not closed by `}`",
            EXAMPLE,
        ));
    }
    let mut tags = BTreeMap::new();
    for (start, part) in split_tags(whole, brace + 1, whole.len() - 1) {
        let Some((tag, value)) = part.split_once(':') else {
            return Err(error(text, start, "this tag has no `:` and value", EXAMPLE));
        };
        let (tag, value) = (tag.trim(), value.trim());
        if tag.is_empty() || value.is_empty() {
            return Err(error(
                text,
                start,
                "this tag lacks its name or its value",
                EXAMPLE,
            ));
        }
        check_tag(text, start, name.trim(), tag)?;
        check_braces(text, start, part)?;
        if tags.insert(tag.to_owned(), value.to_owned()).is_some() {
            return Err(error(
                text,
                start,
                &format!("the tag `{tag}` is there twice"),
                EXAMPLE,
            ));
        }
    }
    Ok((name.trim().to_owned(), tags))
}

fn check_name(text: &str, name: &str) -> Result<(), ThresholdError> {
    const EXAMPLE: &str = "http_req_duration";
    if let Some(at) = name.find(['}', ':', '<', '>', '=', '!', '(']) {
        return Err(error(
            text,
            at,
            "this cannot be part of a metric's name",
            EXAMPLE,
        ));
    }
    let trimmed = name.trim();
    if trimmed.is_empty() {
        return Err(error(text, 0, "there is no metric", EXAMPLE));
    }
    match near_miss(trimmed) {
        Some(meant) => Err(error(
            text,
            0,
            &format!("`{trimmed}` looks like a misspelt built-in metric"),
            meant,
        )),
        None => Ok(()),
    }
}

/// Refuses tags that no series of a metric has: such a threshold could never be met.
fn check_tag(text: &str, at: usize, metric: &str, tag: &str) -> Result<(), ThresholdError> {
    match builtin(metric).and_then(|b| b.tags) {
        Some([]) => Err(error(text, at, &format!("`{metric}` has no tags"), metric)),
        Some(tags) if !tags.contains(&tag) => {
            let problem = format!("`{metric}` is kept by {} only", tags.join(" and "));
            Err(error(
                text,
                at,
                &problem,
                &format!("{metric}{{{}:checkout}}", tags[0]),
            ))
        }
        _ => Ok(()),
    }
}

/// Refuses a tag whose braces do not pair within itself: where it ended would depend on the tags beside it.
fn check_braces(text: &str, at: usize, tag: &str) -> Result<(), ThresholdError> {
    let mut depth = 0i32;
    for c in tag.chars() {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        if depth < 0 {
            break;
        }
    }
    if depth == 0 {
        return Ok(());
    }
    Err(error(
        text,
        at,
        "the braces of this tag do not pair",
        "http_reqs{name:/orders/{id}}",
    ))
}

/// Parts of `text[from..to]` between commas that are not within braces, with where each begins.
fn split_tags(text: &str, from: usize, to: usize) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (from, 0i32);
    for (at, c) in text[from..to].char_indices().map(|(at, c)| (from + at, c)) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push((start, &text[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push((start, &text[start..to]));
    parts
}

/// A refusal at a byte of the text.
pub(super) fn error(text: &str, at: usize, problem: &str, example: &str) -> ThresholdError {
    ThresholdError {
        text: text.to_owned(),
        position: text[..at.min(text.len())].chars().count() + 1,
        problem: problem.to_owned(),
        example: example.to_owned(),
    }
}
