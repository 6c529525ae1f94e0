//! Durations: `30s`, `1m30s`, `1.5h`, `200us`.
//!
//! Also a module for `#[serde(with = "...")]` on a `u64` of nanoseconds.

use serde::{Deserializer, Serializer};

use super::decimal::{self, Decimal};
use super::text::{Kind, Reader, UnitError};

const NANOSECOND: u64 = 1;
const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Parses a duration into nanoseconds: numbers with units, largest unit first. A bare `0` needs no unit.
///
/// Units are `d`, `h`, `m`, `s`, `ms`, `us` (or `µs`) and `ns`. Fractions are exact, and may not be finer than a nanosecond.
pub fn parse(text: &str) -> Result<u64, UnitError> {
    parse_parts(text.trim(), None).map_err(|why| Kind::Duration.error(text, why))
}

/// Like [`parse`], but a number without a unit is milliseconds: for the places where k6 reads it so, which are thresholds.
pub fn parse_or_milliseconds(text: &str) -> Result<u64, UnitError> {
    parse_parts(text.trim(), Some(MILLISECOND)).map_err(|why| Kind::Duration.error(text, why))
}

/// Prints exactly, in the largest units that fit: `1h30m`, `2m`, `1.5s`, `250us`. [`parse`] gives the same number back.
pub fn format(duration_ns: u64) -> String {
    match duration_ns {
        0 => "0s".to_owned(),
        1..MICROSECOND => format!("{duration_ns}ns"),
        MICROSECOND..MILLISECOND => decimal::format(duration_ns, MICROSECOND) + "us",
        MILLISECOND..SECOND => decimal::format(duration_ns, MILLISECOND) + "ms",
        SECOND.. => format_clock(duration_ns),
    }
}

/// For `#[serde(serialize_with)]`.
pub fn serialize<S: Serializer>(duration_ns: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format(*duration_ns))
}

/// For `#[serde(deserialize_with)]`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Reader {
        kind: Kind::Duration,
        parse,
        number: None,
    }
    .read(deserializer)
}

/// The same for a duration that may be without end: `forever` is the largest number of nanoseconds.
pub mod or_forever {
    use serde::{Deserializer, Serializer};

    use super::super::text::{Kind, Reader, UnitError};

    const WORD: &str = "forever";

    /// Parses a duration or `forever`.
    pub fn parse(text: &str) -> Result<u64, UnitError> {
        if text.trim() == WORD {
            Ok(u64::MAX)
        } else {
            super::parse(text)
        }
    }

    /// For `#[serde(serialize_with)]`.
    pub fn serialize<S: Serializer>(duration_ns: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        match *duration_ns {
            u64::MAX => serializer.serialize_str(WORD),
            duration_ns => serializer.serialize_str(&super::format(duration_ns)),
        }
    }

    /// For `#[serde(deserialize_with)]`.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        Reader {
            kind: Kind::Duration,
            parse,
            number: None,
        }
        .read(deserializer)
    }
}

/// The same for something that happens after a duration, or `never`.
pub mod or_never {
    use serde::{Deserializer, Serializer};

    use super::super::text::{Kind, Reader, UnitError};

    const WORD: &str = "never";

    /// Parses a duration or `never`.
    pub fn parse(text: &str) -> Result<Option<u64>, UnitError> {
        if text.trim() == WORD {
            Ok(None)
        } else {
            super::parse(text).map(Some)
        }
    }

    /// For `#[serde(serialize_with)]`.
    pub fn serialize<S: Serializer>(
        duration_ns: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration_ns {
            Some(duration_ns) => serializer.serialize_str(&super::format(*duration_ns)),
            None => serializer.serialize_str(WORD),
        }
    }

    /// For `#[serde(deserialize_with)]`.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        Reader {
            kind: Kind::Duration,
            parse,
            number: None,
        }
        .read(deserializer)
    }
}

fn parse_parts(text: &str, bare_unit: Option<u64>) -> Result<u64, &'static str> {
    let (mut rest, mut total, mut last_unit) = (text, 0u128, u64::MAX);
    while !rest.is_empty() || last_unit == u64::MAX {
        let (number, after) = Decimal::split_from(rest)?;
        let (name, after) = split_unit(after.trim_start());
        let unit = match (unit_named(name), bare_unit) {
            (Some(unit), _) => unit,
            (None, Some(unit)) if name.is_empty() && rest == text => unit,
            (None, _) if name.is_empty() && text.trim_matches('0').is_empty() => SECOND,
            (None, _) if name.is_empty() => return Err("it has no unit"),
            (None, _) => return Err("its unit is not one of d, h, m, s, ms, us, ns"),
        };
        if unit >= last_unit {
            return Err("larger units come first, each once");
        }
        total += number
            .times(unit)
            .map_err(|_| "it is finer than a nanosecond")?;
        (rest, last_unit) = (after.trim_start(), unit);
    }
    u64::try_from(total).map_err(|_| "it is longer than five centuries")
}

/// Splits off the letters that `text` begins with.
fn split_unit(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| c.is_ascii_digit() || c.is_whitespace())
        .unwrap_or(text.len());
    text.split_at(end)
}

/// The nanoseconds of a unit.
pub(super) fn unit_named(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => NANOSECOND,
        // The sign for micro has two code points: U+00B5 on keyboards, and the Greek letter U+03BC.
        "us" | "\u{b5}s" | "\u{3bc}s" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        _ => return None,
    })
}

/// A second or more, by the clock.
fn format_clock(duration_ns: u64) -> String {
    let (hours, minutes, rest_ns) = (
        duration_ns / HOUR,
        duration_ns % HOUR / MINUTE,
        duration_ns % MINUTE,
    );
    let mut text = String::new();
    if hours > 0 {
        text += &format!("{hours}h");
    }
    if minutes > 0 {
        text += &format!("{minutes}m");
    }
    if rest_ns > 0 {
        text += &decimal::format(rest_ns, SECOND);
        text.push('s');
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_read() {
        let table = [
            ("30s", 30 * SECOND, "a number and a unit"),
            ("1m30s", 90 * SECOND, "several, largest first"),
            ("1.5h", 90 * MINUTE, "a fraction"),
            (
                "0.1s",
                100 * MILLISECOND,
                "one that binary floating point cannot hold",
            ),
            ("200us", 200 * MICROSECOND, "the short way to write micro"),
            ("200µs", 200 * MICROSECOND, "the sign on keyboards"),
            ("200μs", 200 * MICROSECOND, "the Greek letter"),
            ("1.25 ms", 1_250 * MICROSECOND, "as printed for reading"),
            (" 1h 2m ", 62 * MINUTE, "with spaces"),
            ("1d", DAY, "days"),
            ("0", 0, "nothing, which needs no unit"),
            ("0s", 0, "nothing, with one"),
        ];
        for (text, expected, why) in table {
            assert_eq!(parse(text), Ok(expected), "{why}: {text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_in_one_sentence() {
        let table = [
            ("", "it does not begin with a number"),
            ("30", "it has no unit"),
            ("1m30", "it has no unit"),
            ("s", "it does not begin with a number"),
            ("-1s", "it does not begin with a number"),
            (".5s", "it does not begin with a number"),
            ("1.s", "it does not begin with a number"),
            ("1.2.3s", "it does not begin with a number"),
            ("1e3s", "its unit is not one of d, h, m, s, ms, us, ns"),
            ("10parsecs", "its unit is not one of d, h, m, s, ms, us, ns"),
            ("30s1m", "larger units come first, each once"),
            ("1s2s", "larger units come first, each once"),
            ("0.5ns", "it is finer than a nanosecond"),
            ("999999999999999999999s", "it has too many digits"),
            ("300000d", "it is longer than five centuries"),
        ];
        for (text, why) in table {
            let message = parse(text).expect_err(text).to_string();
            let expected = format!(
                "`{text}` is not a duration: {why}; write it like `30s`, `1m30s` or `500ms`"
            );
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn bare_numbers_are_milliseconds_only_where_that_is_asked_for() {
        assert_eq!(parse_or_milliseconds("200"), Ok(200 * MILLISECOND));
        assert_eq!(parse_or_milliseconds("1.5"), Ok(1_500 * MICROSECOND));
        assert_eq!(parse_or_milliseconds("2s"), Ok(2 * SECOND));
        assert!(
            parse_or_milliseconds("1s200").is_err(),
            "a bare number stands alone"
        );
        assert!(parse("200").is_err());
    }

    #[test]
    fn durations_are_printed_in_units_that_fit() {
        let table = [
            (0, "0s"),
            (999, "999ns"),
            (1_500, "1.5us"),
            (250 * MILLISECOND, "250ms"),
            (1_500 * MILLISECOND, "1.5s"),
            (MINUTE, "1m"),
            (90 * SECOND, "1m30s"),
            (HOUR + 1, "1h0.000000001s"),
            (36 * HOUR, "36h"),
        ];
        for (duration_ns, expected) in table {
            assert_eq!(format(duration_ns), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(duration_ns in any::<u64>(), shift in 0u32..64) {
            let duration_ns = duration_ns >> shift;
            prop_assert_eq!(parse(&format(duration_ns)), Ok(duration_ns));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9.]{0,4} ?[a-zµ]{0,2}\\PC{0,3}") {
            if let Ok(duration_ns) = parse(&text) {
                prop_assert_eq!(parse(&format(duration_ns)), Ok(duration_ns));
            }
        }
    }
}
