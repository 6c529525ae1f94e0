//! Assertions, each metered under its name.

use std::fmt::Display;

use crate::error::Result;
use crate::host;
use crate::names::Names;

thread_local! {
    static CHECKS: Names = const { Names::new() };
}

/// Judges something, and counts whether it held. Returns whether it did.
///
/// All CPU time that the closure takes is this check's, so do in it what serves the assertion only: parsing a body, looking
/// through it. A failed check fails nothing else; the iteration goes on, unless the scenario decides by the returned value.
///
/// The closure may return a `bool`, `()` or an `Option` (there or not), or a `Result` of one of these: then an error fails
/// the check, and its words are kept as a sample of why.
///
/// Checks nest; the innermost is charged. The name is a metric tag: a fixed text, without ids or values.
///
/// ```
/// # use nettare::{Response, Result, check, ensure};
/// # use serde::Deserialize;
/// # #[derive(Deserialize)]
/// # struct Catalog { products: Vec<String> }
/// # fn judge(response: Response) {
/// check("status is 200", || response.status() == 200);
/// check("catalog is whole", || -> Result {
///     let catalog: Catalog = response.json()?;
///     ensure!(catalog.products.len() == 2000, "{} products", catalog.products.len());
///     Ok(())
/// });
/// # }
/// ```
pub fn check<F: IntoFinding>(name: &str, judge: impl FnOnce() -> F) -> bool {
    let number = open(name);
    let finding = judge().into_finding();
    let passed = finding == Finding::Passed;
    close(number, finding);
    passed
}

/// Counts whether the closure came to a value, and hands the result on: for what is checked and needed afterwards.
///
/// ```
/// # use nettare::{Response, Result, check_ok};
/// # #[derive(serde::Deserialize)]
/// # struct Login { token: String }
/// # fn token(response: Response) -> Result<String> {
/// let login: Login = check_ok("login gives a token", || response.json())?;
/// # Ok(login.token)
/// # }
/// ```
///
/// # Errors
///
/// The closure's, untouched.
pub fn check_ok<T, E: Display>(name: &str, produce: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let number = open(name);
    let produced = produce();
    close(number, produced.as_ref().map(|_| ()).into_finding());
    produced
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It held.
    Passed,
    /// It did not.
    Failed,
    /// It did not, and this is a sample of why.
    FailedBecause(String),
}

/// What a check's closure may return.
#[diagnostic::on_unimplemented(
    message = "a check's closure cannot return `{Self}`",
    note = "it returns `bool`, `()`, an `Option`, or a `Result` of one of these; `check_ok` takes any `Result` and hands it on"
)]
pub trait IntoFinding {
    /// The value as a check sees it.
    fn into_finding(self) -> Finding;
}

impl IntoFinding for Finding {
    fn into_finding(self) -> Finding {
        self
    }
}

impl IntoFinding for bool {
    fn into_finding(self) -> Finding {
        if self {
            Finding::Passed
        } else {
            Finding::Failed
        }
    }
}

impl IntoFinding for () {
    fn into_finding(self) -> Finding {
        Finding::Passed
    }
}

impl<T: IntoFinding> IntoFinding for Option<T> {
    fn into_finding(self) -> Finding {
        self.map_or(Finding::Failed, T::into_finding)
    }
}

impl<T: IntoFinding, E: Display> IntoFinding for Result<T, E> {
    fn into_finding(self) -> Finding {
        match self {
            Ok(found) => found.into_finding(),
            Err(why) => Finding::FailedBecause(why.to_string()),
        }
    }
}

fn open(name: &str) -> u32 {
    let number = CHECKS.with(|checks| checks.number(name, host::check::register));
    host::check::begin(number);
    number
}

fn close(number: u32, finding: Finding) {
    match finding {
        Finding::Passed => host::check::end(number, true),
        Finding::Failed => host::check::end(number, false),
        Finding::FailedBecause(why) => host::check::fail(number, &why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::testing::Host;

    #[test]
    fn a_check_passes_by_what_its_closure_returns() {
        let table = [
            (
                true.into_finding(),
                Finding::Passed,
                "a bool says it itself",
            ),
            (
                false.into_finding(),
                Finding::Failed,
                "a bool says it itself",
            ),
            (
                ().into_finding(),
                Finding::Passed,
                "coming to the end is passing",
            ),
            (
                Some(()).into_finding(),
                Finding::Passed,
                "what is there is there",
            ),
            (
                None::<()>.into_finding(),
                Finding::Failed,
                "what is not there is not",
            ),
            (
                Some(false).into_finding(),
                Finding::Failed,
                "what is found false is false",
            ),
            (
                Ok::<_, Error>(true).into_finding(),
                Finding::Passed,
                "no error, and true",
            ),
            (
                Ok::<_, Error>(false).into_finding(),
                Finding::Failed,
                "no error, yet false",
            ),
            (
                Err::<(), _>("no token").into_finding(),
                Finding::FailedBecause("no token".to_owned()),
                "an error says why",
            ),
        ];
        for (found, expected, sentence) in table {
            assert_eq!(found, expected, "{sentence}");
        }
    }

    #[test]
    fn scopes_are_opened_and_closed_around_the_closure() {
        let (passed, log) = Host::new().run(|| {
            check("outer", || {
                check("inner", || false);
                true
            })
        });
        assert!(passed);
        let seen: Vec<_> = log
            .checks
            .iter()
            .map(|check| (check.name.as_str(), check.passed))
            .collect();
        assert_eq!(seen, [("inner", false), ("outer", true)]);
        assert_eq!(
            log.misuse, [""; 0],
            "every scope that was opened was closed in order"
        );
    }

    #[test]
    fn check_ok_hands_on_what_was_made() {
        let (value, log) = Host::new().run(|| {
            let value = check_ok("is a number", || "17".parse::<u32>());
            let _ = check_ok("is a number", || "x".parse::<u32>());
            value
        });
        assert_eq!(value, Ok(17));
        assert_eq!(
            log.checks
                .iter()
                .map(|check| check.passed)
                .collect::<Vec<_>>(),
            [true, false]
        );
        assert_eq!(
            log.checks[1].why.as_deref(),
            Some("invalid digit found in string")
        );
    }
}
