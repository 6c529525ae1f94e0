//! Lines for people, in the run's log.
//!
//! ```
//! use nettare::log;
//!
//! # fn paid(order: &str) {
//! log::info!("order {order} is paid");
//! # }
//! ```
//!
//! Lines are limited in number and length by the host. What is wanted for every iteration is a metric or a check.

use std::fmt::Arguments;

use crate::host;

/// Writes a line for those who look for the cause of something.
pub use crate::__log_debug as debug;
/// Writes a line that says something went wrong.
pub use crate::__log_error as error;
/// Writes a line worth knowing.
pub use crate::__log_info as info;
/// Writes a line that someone should look at.
pub use crate::__log_warn as warn;

/// How urgent a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For those who look for the cause of something.
    Debug,
    /// Worth knowing.
    Info,
    /// Someone should look at it.
    Warn,
    /// Something went wrong.
    Error,
}

/// What the macros call.
pub fn write(level: Level, message: Arguments<'_>) {
    let level = match level {
        Level::Debug => host::log::Level::Debug,
        Level::Info => host::log::Level::Info,
        Level::Warn => host::log::Level::Warn,
        Level::Error => host::log::Level::Error,
    };
    // A message without values is passed as it stands, without formatting it into a new string.
    match message.as_str() {
        Some(text) => host::log::write(level, text),
        None => host::log::write(level, &message.to_string()),
    }
}

#[doc(hidden)]
#[macro_export]
macro_rules! __log_debug {
    ($($message:tt)+) => { $crate::log::write($crate::log::Level::Debug, ::core::format_args!($($message)+)) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __log_info {
    ($($message:tt)+) => { $crate::log::write($crate::log::Level::Info, ::core::format_args!($($message)+)) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __log_warn {
    ($($message:tt)+) => { $crate::log::write($crate::log::Level::Warn, ::core::format_args!($($message)+)) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __log_error {
    ($($message:tt)+) => { $crate::log::write($crate::log::Level::Error, ::core::format_args!($($message)+)) };
}

#[cfg(test)]
mod tests {
    use crate::log;
    use crate::testing::Host;

    #[test]
    fn lines_carry_their_level_and_values() {
        let ((), seen) = Host::new().run(|| {
            log::debug!("plain");
            log::info!("order {} is paid", 17);
            log::warn!("{}", "slow");
            log::error!("gone");
        });
        let lines: Vec<_> = seen
            .log
            .iter()
            .map(|line| (line.level, line.message.as_str()))
            .collect();
        use log::Level::{Debug, Error, Info, Warn};
        assert_eq!(
            lines,
            [
                (Debug, "plain"),
                (Info, "order 17 is paid"),
                (Warn, "slow"),
                (Error, "gone")
            ]
        );
    }
}
