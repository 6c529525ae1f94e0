//! Interface `log`: lines are kept for the test to look at.

use super::with;
use crate::testing::SeenLine;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

pub(crate) fn write(level: Level, message: &str) {
    let level = match level {
        Level::Debug => crate::log::Level::Debug,
        Level::Info => crate::log::Level::Info,
        Level::Warn => crate::log::Level::Warn,
        Level::Error => crate::log::Level::Error,
    };
    with(|world| {
        world.seen.log.push(SeenLine {
            level,
            message: message.to_owned(),
        })
    });
}
