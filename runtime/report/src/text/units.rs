//! Numbers as people read them: three digits and a unit, thousands apart.

use nettare_core::stats::Unit;
use nettare_core::units::{Bytes, Count, Nanoseconds};

/// A time of so many nanoseconds, in three digits: `812 ns`, `1.23 ms`, `45.6 s`, `2m3s`.
pub fn time(ns: u64) -> String {
    Nanoseconds(ns).to_string()
}

/// A number of bytes, in three digits and powers of 1,000: `812 B`, `1.23 MB`.
pub fn bytes(bytes: u64) -> String {
    Bytes(bytes).to_string()
}

/// A count with its thousands apart: `1,234,567`.
pub fn count(count: u64) -> String {
    Count(count).to_string()
}

/// A share as a percentage: `0 %`, `< 0.1 %`, `2.8 %`, `100 %`. Only all is 100 %, and only nothing is 0 %.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match () {
        () if percent == 0.0 => "0 %".to_owned(),
        () if percent < 0.05 => "< 0.1 %".to_owned(),
        () if percent == 100.0 => "100 %".to_owned(),
        () if percent > 99.9 => "> 99.9 %".to_owned(),
        () => format!("{percent:.1} %"),
    }
}

/// A rate per second: three digits, or whole.
pub(super) fn rate(per_second: f64) -> String {
    match per_second {
        r if r >= 1000.0 => format!("{}/s", count(r.round() as u64)),
        r => format!("{}/s", three_digits(r)),
    }
}

/// A value of a metric.
pub(super) fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => signed(value, time),
        Unit::Bytes => signed(value, bytes),
        Unit::Plain if value.fract() == 0.0 && value.abs() < 1e15 => signed(value, count),
        Unit::Plain => number(value),
    }
}

/// The magnitude in words, with its sign.
fn signed(value: f64, words: fn(u64) -> String) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", words(value.abs() as u64))
}

/// A value that was judged: to a thousandth of its unit.
pub(super) fn exact_value(value: f64, unit: Unit) -> String {
    let units: &[(f64, &str)] = match unit {
        Unit::Nanoseconds => &[(1e0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")],
        Unit::Bytes => &[
            (1e0, "B"),
            (1e3, "KB"),
            (1e6, "MB"),
            (1e9, "GB"),
            (1e12, "TB"),
        ],
        Unit::Plain => &[(1e0, "")],
    };
    let fits = |(scale, _): &&(f64, &str)| value.abs() >= *scale;
    let (scale, unit) = units.iter().rev().find(fits).unwrap_or(&units[0]);
    exactly(value / scale, unit)
}

/// Three decimals at most, and a unit.
pub(super) fn exactly(value: f64, unit: &str) -> String {
    let digits = format!("{value:.3}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits} {unit}").trim_end().to_owned()
}

/// A number with fractions, or too large for its digits.
fn number(value: f64) -> String {
    match value.abs() {
        0.001..1e15 => three_digits(value),
        _ => format!("{value:.2e}"),
    }
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        v if v >= 999.5 => signed(value.round(), count),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_is_a_hundred_percent_and_only_nothing_is_none() {
        let table = [
            (0.0, "0 %"),
            (0.000_001, "< 0.1 %"),
            (0.028, "2.8 %"),
            (0.9999, "> 99.9 %"),
            (1.0, "100 %"),
        ];
        for (share, expected) in table {
            assert_eq!(percent(share), expected, "{share}");
        }
    }

    #[test]
    fn counts_and_sizes_are_read_at_a_glance() {
        assert_eq!(
            [count(0), count(999), count(1_000), count(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [bytes(0), bytes(999), bytes(1_500_000)],
            ["0 B", "999 B", "1.5 MB"]
        );
        assert_eq!(
            [rate(0.0), rate(0.5), rate(200.0), rate(12_345.6)],
            ["0.00/s", "0.50/s", "200/s", "12,346/s"]
        );
        assert_eq!(value(-3.25, Unit::Plain), "-3.25");
        assert_eq!(value(-1_250.0, Unit::Plain), "-1,250");
        assert_eq!(value(-1_250_000.0, Unit::Nanoseconds), "-1.25 ms");
        assert_eq!(value(0.000_001, Unit::Plain), "1.00e-6");
        assert_eq!(exact_value(200_409_000.0, Unit::Nanoseconds), "200.409 ms");
        assert_eq!(exact_value(1_500_000_000.0, Unit::Nanoseconds), "1.5 s");
        assert_eq!(exactly(0.0, "%"), "0 %");
    }
}
