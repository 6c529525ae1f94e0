//! A place in a condition, and the words of conditions.

use super::parse::error;
use super::{Aggregation, Comparison, Scale, ThresholdError};
use crate::units::{parse_duration, parse_size};

/// A place in a condition.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    example: &'static str,
}

impl<'a> Cursor<'a> {
    /// The begin of a condition; `example` is shown to whoever writes a wrong one.
    pub(super) fn new(text: &'a str, example: &'static str) -> Cursor<'a> {
        Cursor {
            text,
            at: 0,
            example,
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Goes to the next word, and says where that is.
    pub(super) fn skip_blanks(&mut self) -> usize {
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

    /// Reads what of the metric is compared.
    pub(super) fn aggregation(&mut self) -> Result<Aggregation, ThresholdError> {
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

    /// Reads how it is compared.
    pub(super) fn comparison(&mut self) -> Result<Comparison, ThresholdError> {
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

    /// Reads the number at the end, and what it counts.
    pub(super) fn limit(&mut self) -> Result<(f64, Scale), ThresholdError> {
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

    /// A refusal at a byte of the condition.
    pub(super) fn error_at(&self, at: usize, problem: &str) -> ThresholdError {
        error(self.text, at, problem, self.example)
    }
}
