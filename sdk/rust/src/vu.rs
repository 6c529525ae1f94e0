//! The virtual user that runs the scenario.

use crate::error::{Error, Result};
use crate::host;

/// This virtual user's number: from 1, unique over the whole run, machines included. In `setup` and `teardown` it is 0.
pub fn id() -> u32 {
    host::vu::id()
}

/// This virtual user's own count of iterations, from 0.
pub fn iteration() -> u64 {
    host::vu::iteration()
}

/// A value given by `-e NAME=VALUE` or by the plan's `env`. Nothing else is visible: not the environment of the machine.
///
/// # Errors
///
/// When it was not given; `env("SKU").unwrap_or("42".into())` is a default.
pub fn env(name: &str) -> Result<String> {
    known_or_asked(name).ok_or_else(|| {
        Error::new(format_args!(
            "the variable {name} is not set: give it with -e {name}=VALUE"
        ))
    })
}

/// Variables do not change while an instance lives, and scenarios ask for the same one in each iteration: it comes from the host
/// once.
#[cfg(target_arch = "wasm32")]
fn known_or_asked(name: &str) -> Option<String> {
    use std::cell::RefCell;

    thread_local! {
        static KNOWN: RefCell<Vec<(String, String)>> = const { RefCell::new(Vec::new()) };
    }
    KNOWN.with_borrow_mut(|known| {
        if let Some((_, value)) = known.iter().find(|(other, _)| other == name) {
            return Some(value.clone());
        }
        let value = host::vu::env(name)?;
        known.push((name.to_owned(), value.clone()));
        Some(value)
    })
}

/// The host of a test may be another in the next test.
#[cfg(not(target_arch = "wasm32"))]
fn known_or_asked(name: &str) -> Option<String> {
    host::vu::env(name)
}

/// Puts a tag on every sample until the iteration ends. As each value makes new series, let there be few.
pub fn tag(key: &str, value: &str) {
    host::vu::tag(key, value);
}

/// Ends the whole run, in good order and with a full report, for this reason. Return from the scenario afterwards.
pub fn abort(why: &str) {
    host::vu::abort(why);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Host;

    #[test]
    fn a_missing_variable_names_the_flag_that_sets_it() {
        let (values, _) = Host::new()
            .env("TARGET", "http://shop")
            .run(|| (env("TARGET"), env("SKU")));
        assert_eq!(values.0.unwrap(), "http://shop");
        assert_eq!(
            values.1.unwrap_err().to_string(),
            "the variable SKU is not set: give it with -e SKU=VALUE"
        );
    }

    #[test]
    fn an_abort_reaches_the_host_with_its_reason() {
        let ((), log) = Host::new().run(|| abort("the shop is closed"));
        assert_eq!(log.aborted.as_deref(), Some("the shop is closed"));
    }
}
