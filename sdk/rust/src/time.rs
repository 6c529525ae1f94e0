//! The run's clock, and waiting.

use std::time::{Duration, SystemTime};

use crate::error::{Error, Result};
use crate::host;

/// Waits. Costs no CPU time, and other virtual users go on meanwhile.
///
/// # Errors
///
/// [`Cancelled`](crate::ErrorKind::Cancelled) when the run stops: pass it up with `?`.
pub fn sleep(duration: Duration) -> Result {
    host::time::sleep(nanoseconds(duration)).map_err(Error::from_host)
}

/// Time since the start of the run; never goes back. `std::time::Instant` does not exist in a guest.
pub fn now() -> Duration {
    Duration::from_nanos(host::time::now())
}

/// The date and time of day.
pub fn wall_clock() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(host::time::wall_clock())
}

/// Durations longer than 584 years are as good as 584 years.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Host;

    #[test]
    fn sleeping_is_seen_on_the_clock() {
        let (slept, log) = Host::new().run(|| {
            let before = now();
            sleep(Duration::from_millis(250)).map(|()| now() - before)
        });
        assert_eq!(slept.unwrap(), Duration::from_millis(250));
        assert_eq!(log.slept, Duration::from_millis(250));
    }

    #[test]
    fn endless_durations_do_not_wrap() {
        assert_eq!(nanoseconds(Duration::MAX), u64::MAX);
    }
}
