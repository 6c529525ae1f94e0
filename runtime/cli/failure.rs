//! What stops a command: one sentence, perhaps a hint, and the cause that decides the exit code.
//!
//! The cause is set where the error is understood, nearest to it, and travels with it. An error that reaches [`Failure`]
//! by `?` alone was expected by nobody: it is a bug, and says so.

use std::fmt::Display;

use crate::exit::Cause;

/// What stops a command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Decides the exit code.
    pub(crate) cause: Cause,
    /// What went wrong; its chain of sources is printed on one line.
    pub(crate) error: anyhow::Error,
    /// What to do about it, where the sentence does not say so already.
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// A failure in words of our own.
    pub(crate) fn new(cause: Cause, message: impl Display) -> Failure {
        Failure {
            cause,
            error: anyhow::anyhow!("{message}"),
            hint: None,
        }
    }

    /// Adds what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        let hint = concat!(
            "this is a bug in nettare; please report it at ",
            env!("CARGO_PKG_REPOSITORY"),
            "/issues with the command line and this message"
        );
        Failure {
            cause: Cause::Internal,
            error,
            hint: Some(hint.to_owned()),
        }
    }
}

/// Gives an error its cause.
pub(crate) trait OrFail<T> {
    /// The error as it is, for `cause`.
    fn or_fail(self, cause: Cause) -> Result<T, Failure>;
    /// The error below a sentence that says what was being done, for `cause`.
    fn or_fail_with<C>(self, cause: Cause, context: impl FnOnce() -> C) -> Result<T, Failure>
    where
        C: Display + Send + Sync + 'static;
}

impl<T, E: Into<anyhow::Error>> OrFail<T> for Result<T, E> {
    fn or_fail(self, cause: Cause) -> Result<T, Failure> {
        self.map_err(|error| Failure {
            cause,
            error: error.into(),
            hint: None,
        })
    }

    fn or_fail_with<C>(self, cause: Cause, context: impl FnOnce() -> C) -> Result<T, Failure>
    where
        C: Display + Send + Sync + 'static,
    {
        self.map_err(|error| Failure {
            cause,
            error: error.into().context(context()),
            hint: None,
        })
    }
}
