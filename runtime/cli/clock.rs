//! The wall clock: for a run's name, its start in the report, and the lines of its log. Durations come from the engine.

use std::time::{SystemTime, UNIX_EPOCH};

/// A moment of the wall clock, in UTC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    since_epoch_ns: u64,
}

impl Moment {
    /// Now. A clock before 1970 reads as 1970.
    pub(crate) fn now() -> Moment {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Moment {
            since_epoch_ns: u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    /// As RFC 3339 has it, to the millisecond: `2026-03-01T09:30:00.125Z`.
    pub(crate) fn rfc3339(self) -> String {
        let (year, month, day) = self.date();
        let (hour, minute, second) = self.time();
        let millisecond = self.since_epoch_ns / 1_000_000 % 1_000;
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
    }

    /// A name for a run that starts at this moment: sorts by time, is a good file name, and differs from that of another
    /// run in the same second by the last digits.
    pub(crate) fn run_id(self) -> String {
        let (year, month, day) = self.date();
        let (hour, minute, second) = self.time();
        let within_second = self.since_epoch_ns % 1_000_000_000 / 1_000;
        format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{within_second:06}")
    }

    /// Random enough to seed a run whose user asked for no seed: it is printed, and can be given again.
    pub(crate) fn seed(self) -> u64 {
        // The finaliser of SplitMix64 (Steele, Lea, Flood 2014): neighbouring moments give unlike seeds.
        let mut mixed = self.since_epoch_ns ^ (u64::from(std::process::id()) << 40);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn time(self) -> (u64, u64, u64) {
        let second_of_day = self.since_epoch_ns / 1_000_000_000 % 86_400;
        (
            second_of_day / 3_600,
            second_of_day / 60 % 60,
            second_of_day % 60,
        )
    }

    /// The date in the Gregorian calendar. Years are counted from 1 March, so that the leap day is the last of its year
    /// and the months before it have lengths in a fixed pattern of 153 days in five; eras are 400 years of 146,097 days.
    fn date(self) -> (u64, u64, u64) {
        let days = self.since_epoch_ns / 86_400_000_000_000 + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 {
            month_from_march + 3
        } else {
            month_from_march - 9
        };
        (era * 400 + year_of_era + u64::from(month <= 2), month, day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        let rows = [
            (0, "1970-01-01T00:00:00.000Z", "the epoch itself"),
            (
                951_782_400,
                "2000-02-29T00:00:00.000Z",
                "a leap day in a year divisible by 400",
            ),
            (
                1_709_251_199,
                "2024-02-29T23:59:59.000Z",
                "the last second of a leap day",
            ),
            (
                1_709_251_200,
                "2024-03-01T00:00:00.000Z",
                "the first second after it",
            ),
            (
                1_767_225_599,
                "2025-12-31T23:59:59.000Z",
                "the last second of a year",
            ),
            (
                4_107_542_400,
                "2100-03-01T00:00:00.000Z",
                "no leap day in a year divisible by 100 alone",
            ),
        ];
        for (seconds, expected, sentence) in rows {
            assert_eq!(
                Moment {
                    since_epoch_ns: seconds * 1_000_000_000
                }
                .rfc3339(),
                expected,
                "{sentence}"
            );
        }
    }

    #[test]
    fn the_names_of_runs_sort_by_time() {
        let earlier = Moment {
            since_epoch_ns: 1_709_251_199_999_999_000,
        };
        let later = Moment {
            since_epoch_ns: 1_709_251_200_000_001_000,
        };
        assert_eq!(earlier.run_id(), "20240229-235959-999999");
        assert!(earlier.run_id() < later.run_id());
    }
}
