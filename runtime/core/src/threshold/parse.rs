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

use super::suggest::near_miss;
use super::{Aggregation, Comparison, Condition, Scale, Threshold, ThresholdError};
use crate::stats::{Builtin, GENERATOR_PREFIX, MetricKind, Unit, builtin};
use crate::units::{parse_duration, parse_size};

/// A millisecond in nanoseconds: what a bare number of a time counts, as in k6.
pub(super) const MILLISECOND: f64 = 1e6;

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

/// Reads a condition on a metric.
pub(super) fn condition(metric: &str, text: &str) -> Result<Condition, ThresholdError> {
    let metric = Metric::of(metric);
    let mut cursor = Cursor {
        text,
        at: 0,
        example: metric.example(),
    };
    let start = cursor.skip_blanks();
    let aggregation = cursor.aggregation()?;
    if let Some(kind) = metric.kind.filter(|kind| !aggregation.fits(*kind)) {
        let problem = format!("a {} has no `{aggregation}`", kind_name(kind));
        return Err(cursor.error_at(start, &problem));
    }
    let comparison = cursor.comparison()?;
    cursor.skip_blanks();
    let number_at = cursor.at;
    let (limit, scale) = cursor.limit()?;
    if !metric.counts(scale, aggregation) {
        let unit = text[number_at..].trim_start_matches(|c: char| !c.is_alphabetic() && c != '%');
        let problem = format!("this metric is not counted in `{}`", unit.trim_end());
        return Err(cursor.error_at(number_at, &problem));
    }
    metric
        .check_limit(limit, scale, aggregation)
        .map_err(|problem| cursor.error_at(number_at, &problem))?;
    Ok(Condition {
        aggregation,
        comparison,
        limit,
        scale,
    })
}

/// What is known of a metric before the run.
struct Metric {
    kind: Option<MetricKind>,
    unit: Option<Unit>,
}

impl Metric {
    fn of(name: &str) -> Metric {
        match builtin(name) {
            Some(&Builtin { kind, unit, .. }) => Metric {
                kind: Some(kind),
                unit: Some(unit),
            },
            None if name.starts_with(GENERATOR_PREFIX) => Metric {
                kind: Some(MetricKind::Gauge),
                unit: None,
            },
            None => Metric {
                kind: None,
                unit: None,
            },
        }
    }

    fn example(&self) -> &'static str {
        match self.kind {
            Some(MetricKind::Counter) => "count>1000",
            Some(MetricKind::Gauge) => "value<100",
            Some(MetricKind::Rate) => "rate<0.01",
            Some(MetricKind::Trend) | None => "p(95)<200",
        }
    }

    /// Refuses limits that no value of the metric could ever be on either side of.
    fn check_limit(
        &self,
        limit: f64,
        scale: Scale,
        aggregation: Aggregation,
    ) -> Result<(), String> {
        if self.kind.is_some() && self.kind != Some(MetricKind::Gauge) && limit < 0.0 {
            return Err(format!(
                "the {aggregation} of this metric is never below zero"
            ));
        }
        let highest = if scale == Scale::Percent { 100.0 } else { 1.0 };
        if self.kind == Some(MetricKind::Rate) && limit > highest {
            return Err("a rate is between 0 and 1, or 0% and 100%".to_owned());
        }
        Ok(())
    }

    fn counts(&self, scale: Scale, aggregation: Aggregation) -> bool {
        match (scale, self.unit) {
            (Scale::Bare, _) => true,
            (Scale::Percent, _) => {
                aggregation == Aggregation::Rate
                    && matches!(self.kind, Some(MetricKind::Rate) | None)
            }
            (_, None) => true,
            (Scale::Nanoseconds, Some(unit)) => unit == Unit::Nanoseconds,
            (Scale::Bytes, Some(unit)) => unit == Unit::Bytes,
        }
    }
}

fn kind_name(kind: MetricKind) -> &'static str {
    match kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Rate => "rate",
        MetricKind::Trend => "trend",
    }
}

/// A place in a condition.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
    example: &'static str,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) -> usize {
        self.at += self.rest().len() - self.rest().trim_start().len();
        self.at
    }

    fn accept(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn aggregation(&mut self) -> Result<Aggregation, ThresholdError> {
        let start = self.skip_blanks();
        let name = self.word(|c| c.is_alphanumeric() || c == '_');
        match name {
            "p" => self.percentile(),
            "avg" => Ok(Aggregation::Average),
            "med" => Ok(Aggregation::Median),
            "min" => Ok(Aggregation::Min),
            "max" => Ok(Aggregation::Max),
            "rate" => Ok(Aggregation::Rate),
            "count" => Ok(Aggregation::Count),
            "value" => Ok(Aggregation::Value),
            "" => Err(self.error_at(
                start,
                "there is no aggregation (p(N), avg, med, min, max, rate, count or value)",
            )),
            _ => {
                let problem =
                    format!("`{name}` is none of p(N), avg, med, min, max, rate, count, value");
                Err(self.error_at(start, &problem))
            }
        }
    }

    fn percentile(&mut self) -> Result<Aggregation, ThresholdError> {
        self.skip_blanks();
        if !self.accept("(") {
            return Err(self.error_at(self.at, "`p` wants a percentile in parentheses"));
        }
        let start = self.skip_blanks();
        let n = self.number()?;
        if !(0.0..=100.0).contains(&n) {
            return Err(self.error_at(start, "a percentile is from 0 to 100"));
        }
        self.skip_blanks();
        match self.accept(")") {
            true => Ok(Aggregation::Percentile(n)),
            false => Err(self.error_at(self.at, "the percentile is not closed by `)`")),
        }
    }

    fn comparison(&mut self) -> Result<Comparison, ThresholdError> {
        let start = self.skip_blanks();
        // The longer ones first, each being the start of none that follows.
        let table = [
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let found = table.into_iter().find(|(token, _)| self.accept(token));
        found
            .map(|(_, comparison)| comparison)
            .ok_or_else(|| self.error_at(start, "there is none of < <= > >= == !="))
    }

    fn number(&mut self) -> Result<f64, ThresholdError> {
        let start = self.at;
        let negative = self.accept("-");
        let digits = self.word(|c| c.is_ascii_digit() || c == '.');
        let number = digits.parse::<f64>().ok().filter(|n| n.is_finite());
        match number {
            Some(number) => Ok(if negative { -number } else { number }),
            None => Err(self.error_at(start, "there is no number")),
        }
    }

    /// The number at the end, and what it counts.
    fn limit(&mut self) -> Result<(f64, Scale), ThresholdError> {
        let start = self.at;
        let bare = self.number()?;
        let unit_at = self.skip_blanks();
        let unit = self.rest().trim_end();
        match unit {
            "" => return Ok((bare, Scale::Bare)),
            "%" => return Ok((bare, Scale::Percent)),
            _ => {}
        }
        let (sign, text) = match self.text[start..].strip_prefix('-') {
            Some(magnitude) => (-1.0, magnitude),
            None => (1.0, &self.text[start..]),
        };
        if let Ok(ns) = parse_duration(text) {
            return Ok((sign * ns as f64, Scale::Nanoseconds));
        }
        match parse_size(text) {
            Ok(bytes) => Ok((sign * bytes as f64, Scale::Bytes)),
            Err(_) => Err(self.error_at(unit_at, &format!("`{unit}` is no unit"))),
        }
    }

    fn error_at(&self, at: usize, problem: &str) -> ThresholdError {
        error(self.text, at, problem, self.example)
    }
}

fn error(text: &str, at: usize, problem: &str, example: &str) -> ThresholdError {
    ThresholdError {
        text: text.to_owned(),
        position: text[..at.min(text.len())].chars().count() + 1,
        problem: problem.to_owned(),
        example: example.to_owned(),
    }
}
