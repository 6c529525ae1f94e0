//! Failures as data, and the few errors that stop a run before it starts.

use std::io;

use nettare_core::sample::{ErrorKind, Failure};

/// Why the network could not be made ready. Each message names what to change.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// `--timestamps kernel` on a machine whose kernel gives none.
    #[error(
        "this kernel gives no receive timestamps ({reason}); use --timestamps auto or user, which says so in the report"
    )]
    NoKernelTimestamps {
        /// What the kernel answered.
        reason: String,
    },
    /// A certificate or key that cannot be used.
    #[error("failed to use {what}: {reason}")]
    Tls {
        /// Which of the options: `--cacert`, `--cert` or `--key`.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

/// Makes a failure; `code` is 0 where the kind has no finer number.
pub(crate) fn failure(kind: ErrorKind, code: u32, message: impl Into<String>) -> Failure {
    Failure {
        kind,
        code,
        message: message.into(),
    }
}

/// The number of an I/O error, 0 when it has none.
pub(crate) fn errno(error: &io::Error) -> u32 {
    error
        .raw_os_error()
        .and_then(|code| u32::try_from(code).ok())
        .unwrap_or(0)
}
