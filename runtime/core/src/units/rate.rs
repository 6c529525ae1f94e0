//! Rates: `200/s`, `50/m`, `0.5/s`, `3/10s`, `5000` (per second).
//!
//! A [`Rate`] stands in a serialised plan as such text.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::decimal::Decimal;
use super::duration;
use super::text::{Kind, Reader, UnitError};
use crate::plan::Rate;

const SECOND: u64 = 1_000_000_000;

/// Parses a rate: a number, and after a `/` a unit of time or a duration. Without that it is per second.
pub fn parse(text: &str) -> Result<Rate, UnitError> {
    let (number, per) = text.split_once('/').unwrap_or((text, "s"));
    let parsed = parse_per(per.trim()).and_then(|per_ns| parse_number(number.trim(), per_ns));
    parsed.map_err(|why| Kind::Rate.error(text, why))
}

/// Parses the number of a rate whose unit of time stands elsewhere, as in k6's `rate` and `timeUnit`.
pub fn parse_with_time_unit(text: &str, time_unit_ns: u64) -> Result<Rate, UnitError> {
    parse_number(text.trim(), time_unit_ns).map_err(|why| Kind::Rate.error(text, why))
}

/// Prints exactly: `200/s`, `50/m`, `1/2s`. [`parse`] gives the same rate back.
pub fn format(rate: Rate) -> String {
    let per = duration::format(rate.per_ns);
    // One of a unit is written without its number: `/s`, not `/1s`.
    let per = per
        .strip_prefix('1')
        .filter(|unit| duration::unit_named(unit).is_some())
        .unwrap_or(&per);
    format!("{}/{per}", rate.arrivals)
}

fn parse_per(text: &str) -> Result<u64, &'static str> {
    let per_ns = match duration::unit_named(text) {
        Some(unit_ns) => unit_ns,
        None => duration::parse(text).map_err(|_| "what stands after the `/` is no time")?,
    };
    if per_ns == 0 {
        Err("what stands after the `/` is no time")
    } else {
        Ok(per_ns)
    }
}

/// `digits / 10^scale` in `per_ns` is `digits` in `per_ns * 10^scale`.
fn parse_number(text: &str, per_ns: u64) -> Result<Rate, &'static str> {
    let (number, rest) = Decimal::split_from(text)?;
    if !rest.is_empty() {
        return Err("it does not begin with a number and nothing else");
    }
    if number.scale == 0 {
        return Ok(Rate {
            arrivals: number.digits,
            per_ns,
        });
    }
    let per_ns = 10u64
        .checked_pow(number.scale)
        .and_then(|factor| factor.checked_mul(per_ns))
        .ok_or("it is too fine")?;
    Ok(Rate {
        arrivals: number.digits,
        per_ns,
    }
    .reduced())
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format(*self))
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rate, D::Error> {
        let per_second = |arrivals| Rate {
            arrivals,
            per_ns: SECOND,
        };
        Reader {
            kind: Kind::Rate,
            parse,
            number: Some(per_second),
        }
        .read(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rates_are_read_exactly() {
        let table = [
            ("200/s", 200, SECOND, "per second"),
            (
                "50/m",
                50,
                60 * SECOND,
                "per minute, and not turned into a fraction of a second",
            ),
            ("0.5/s", 1, 2 * SECOND, "less than one"),
            ("5000", 5_000, SECOND, "without a time it is per second"),
            ("3/10s", 3, 10 * SECOND, "per duration"),
            (
                "1.25/ms",
                1,
                800_000,
                "a fraction per millisecond, in lowest terms",
            ),
            ("2 / 1m30s", 2, 90 * SECOND, "with spaces"),
        ];
        for (text, arrivals, per_ns, why) in table {
            assert_eq!(parse(text), Ok(Rate { arrivals, per_ns }), "{why}: {text}");
        }
    }

    #[test]
    fn what_is_no_rate_is_refused_in_one_sentence() {
        let table = [
            ("fast", "it does not begin with a number"),
            ("200/", "what stands after the `/` is no time"),
            ("200/0s", "what stands after the `/` is no time"),
            ("200/week", "what stands after the `/` is no time"),
            ("200rps", "it does not begin with a number and nothing else"),
            ("0.0000000001/1000000h", "it is too fine"),
        ];
        for (text, why) in table {
            let message = parse(text).expect_err(text).to_string();
            assert_eq!(
                message,
                format!("`{text}` is not a rate: {why}; write it like `200/s`, `50/m` or `0.5/s`")
            );
        }
    }

    #[test]
    fn rates_are_printed_as_people_write_them() {
        let table = [
            (200, SECOND, "200/s"),
            (50, 60 * SECOND, "50/m"),
            (1, 2 * SECOND, "1/2s"),
            (7, 1_000_000, "7/ms"),
        ];
        for (arrivals, per_ns, expected) in table {
            assert_eq!(format(Rate { arrivals, per_ns }), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(arrivals in any::<u64>(), per_ns in 1u64.., shift in 0u32..63) {
            let rate = Rate { arrivals: arrivals >> shift, per_ns: (per_ns >> shift).max(1) };
            prop_assert_eq!(parse(&format(rate)), Ok(rate));
        }
    }
}
