//! Figures for reading: three significant digits, and the unit that needs no leading zeros.

use std::fmt;

/// A duration for reading: `0 s`, `840 ns`, `1.25 ms`, `4.1 s`, `2m5s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanoseconds(pub u64);

/// A size for reading: `512 B`, `800 KB`, `1.05 MB`, of 1,000 as networks count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// A count for reading, its thousands apart: `1,234,567`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u64);

const SECOND: u64 = 1_000_000_000;

impl fmt::Display for Count {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let mut text = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        formatter.pad(&text)
    }
}

impl fmt::Display for Nanoseconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = round_to_three_digits(self.0);
        let text = if rounded >= 60 * SECOND {
            super::duration::format(round_to_multiple(self.0, SECOND))
        } else if rounded == 0 {
            "0 s".to_owned()
        } else {
            in_largest_unit(
                rounded,
                &[("s", SECOND), ("ms", 1_000_000), ("µs", 1_000), ("ns", 1)],
            )
        };
        formatter.pad(&text)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 5] = [
            ("TB", 1_000_000_000_000),
            ("GB", 1_000_000_000),
            ("MB", 1_000_000),
            ("KB", 1_000),
            ("B", 1),
        ];
        formatter.pad(&in_largest_unit(round_to_three_digits(self.0), &UNITS))
    }
}

/// Rounds half up, before the unit is chosen: 999,600 ns is 1 ms, not 1000 µs.
fn round_to_three_digits(value: u64) -> u64 {
    let excess = value.checked_ilog10().unwrap_or(0).saturating_sub(2);
    round_to_multiple(value, 10u64.pow(excess))
}

fn round_to_multiple(value: u64, unit: u64) -> u64 {
    let below = value - value % unit;
    if value - below < unit.div_ceil(2) {
        below
    } else {
        below.saturating_add(unit)
    }
}

fn in_largest_unit(value: u64, units: &[(&str, u64)]) -> String {
    let fits = units
        .iter()
        .find(|(_, unit)| value >= *unit)
        .or(units.last());
    match fits {
        Some((name, unit)) => format!("{} {name}", super::decimal::format(value, *unit)),
        None => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_read_well() {
        let table = [
            (0, "0 s"),
            (1, "1 ns"),
            (840, "840 ns"),
            (1_250_000, "1.25 ms"),
            (999_499, "999 µs"),
            (999_500, "1 ms"),
            (4_096_000_000, "4.1 s"),
            (59_949_999_999, "59.9 s"),
            (59_950_000_000, "1m"),
            (125_400_000_000, "2m5s"),
            (3_600_000_000_000, "1h"),
        ];
        for (duration_ns, expected) in table {
            assert_eq!(
                Nanoseconds(duration_ns).to_string(),
                expected,
                "{duration_ns} ns"
            );
        }
    }

    #[test]
    fn sizes_read_well() {
        let table = [
            (0, "0 B"),
            (512, "512 B"),
            (800_000, "800 KB"),
            (1_048_576, "1.05 MB"),
            (999_999, "1 MB"),
        ];
        for (bytes, expected) in table {
            assert_eq!(Bytes(bytes).to_string(), expected, "{bytes} bytes");
        }
    }

    #[test]
    fn figures_can_be_aligned() {
        assert_eq!(
            format!("{:>8}|{:<8}|", Nanoseconds(1_250_000), Bytes(800_000)),
            " 1.25 ms|800 KB  |"
        );
    }

    proptest! {
        #[test]
        fn what_is_read_is_within_one_percent(duration_ns in 1u64..3_600_000_000_000) {
            let read = super::super::duration::parse(&Nanoseconds(duration_ns).to_string()).unwrap();
            prop_assert!(read.abs_diff(duration_ns) * 100 <= duration_ns.max(100), "{read} for {duration_ns}");
        }
    }
}
