//! Sizes: `64MiB` (of 1,024), `2GB` (of 1,000), `800` (bytes).
//!
//! Also a module for `#[serde(with = "...")]` on a `u64` of bytes.

use serde::{Deserializer, Serializer};

use super::decimal::Decimal;
use super::text::{Kind, Reader, UnitError};

/// Names of units and their bytes. A bare `K` or `M` is not among them: people disagree about what it means.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
    ("B", 1),
];

/// Parses a size into bytes. Capitals do not matter; a number without a unit is bytes.
pub fn parse(text: &str) -> Result<u64, UnitError> {
    parse_bytes(text.trim()).map_err(|why| Kind::Size.error(text, why))
}

/// Prints exactly, in the unit that needs the smallest number: `64MiB`, `2GB`, `1234B`. [`parse`] gives the same number back.
pub fn format(bytes: u64) -> String {
    let fits = UNITS
        .iter()
        .find(|(_, unit)| bytes != 0 && bytes.is_multiple_of(*unit));
    match fits {
        Some((name, unit)) => format!("{}{name}", bytes / unit),
        None => "0B".to_owned(),
    }
}

/// For `#[serde(serialize_with)]`.
pub fn serialize<S: Serializer>(bytes: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format(*bytes))
}

/// For `#[serde(deserialize_with)]`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Reader {
        kind: Kind::Size,
        parse,
        number: Some(|bytes| bytes),
    }
    .read(deserializer)
}

fn parse_bytes(text: &str) -> Result<u64, &'static str> {
    let (number, name) = Decimal::split_from(text)?;
    let name = name.trim();
    let unit = match UNITS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
    {
        Some((_, unit)) => *unit,
        None if name.is_empty() => 1,
        None => return Err("its unit is not one of B, KB, MB, GB, TB, KiB, MiB, GiB, TiB"),
    };
    let bytes = number
        .times(unit)
        .map_err(|_| "it is not a whole number of bytes")?;
    u64::try_from(bytes).map_err(|_| "it is larger than any memory")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_are_read() {
        let table = [
            ("64MiB", 64 << 20, "a power of two"),
            ("2GB", 2_000_000_000, "a power of ten"),
            ("1.5KiB", 1_536, "a fraction that is whole in bytes"),
            ("800 kb", 800_000, "in small letters, with a space"),
            ("800", 800, "bytes"),
            ("0B", 0, "nothing"),
        ];
        for (text, expected, why) in table {
            assert_eq!(parse(text), Ok(expected), "{why}: {text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused_in_one_sentence() {
        let table = [
            (
                "64M",
                "its unit is not one of B, KB, MB, GB, TB, KiB, MiB, GiB, TiB",
            ),
            ("MiB", "it does not begin with a number"),
            ("0.5B", "it is not a whole number of bytes"),
            ("18000000TiB", "it is larger than any memory"),
        ];
        for (text, why) in table {
            let message = parse(text).expect_err(text).to_string();
            assert_eq!(
                message,
                format!("`{text}` is not a size: {why}; write it like `64MiB`, `2GB` or `800`")
            );
        }
    }

    #[test]
    fn sizes_are_printed_in_the_unit_that_fits() {
        let table = [
            (64 << 20, "64MiB"),
            (2_000_000_000, "2GB"),
            (64_000_000, "64MB"),
            (1_234, "1234B"),
            (0, "0B"),
        ];
        for (bytes, expected) in table {
            assert_eq!(format(bytes), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(bytes in any::<u64>(), zeros in 0u32..64) {
            let bytes = bytes >> zeros << (zeros / 2);
            prop_assert_eq!(parse(&format(bytes)), Ok(bytes));
        }
    }
}
