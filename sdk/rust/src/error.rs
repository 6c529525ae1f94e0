//! Why something failed, with `?` from everywhere.

use std::fmt::{self, Debug, Display};

use crate::host;

/// What functions of a scenario return. `Result` alone is a result without a value.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// Why a call, or the scenario itself, failed.
///
/// Every standard error turns into one by `?`. For that reason it is not one itself; [`Context`] and
/// [`Error::new`] make what `std::error::Error` would be wanted for.
pub struct Error {
    kind: ErrorKind,
    code: u32,
    message: String,
    /// What was being done, outermost first, each followed by a colon and a space.
    context: String,
}

/// What sort of failure. All but [`ErrorKind::Scenario`] are the host's own, and labels of the metric `http_req_failed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The scenario asked for what cannot be: a bad URL, a header name with a space.
    Invalid,
    /// Not granted by the plan, or outside the allow-list.
    Denied,
    /// The name could not be resolved.
    Dns,
    /// No connection could be made.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// The deadline passed.
    Timeout,
    /// The peer closed or reset the connection in mid-exchange.
    Reset,
    /// The peer broke the protocol.
    Protocol,
    /// The response body passed its limit.
    BodyLimit,
    /// The body is not what was asked for: not text, not JSON, or not JSON of that shape.
    Decode,
    /// More redirects than allowed.
    TooManyRedirects,
    /// The run is stopping. Return soon.
    Cancelled,
    /// The generating machine ran out of ports, descriptors or memory. Never the server's fault.
    GeneratorLimit,
    /// The scenario's own doing: [`Error::new`], [`bail!`](crate::bail), or a standard error passed up by `?`.
    Scenario,
}

impl Error {
    /// A failure of the scenario's own making.
    pub fn new(message: impl Display) -> Error {
        Error::of_kind(ErrorKind::Scenario, message)
    }

    pub(crate) fn of_kind(kind: ErrorKind, message: impl Display) -> Error {
        Error::with_code(kind, 0, message)
    }

    pub(crate) fn with_code(kind: ErrorKind, code: u32, message: impl Display) -> Error {
        Error {
            kind,
            code,
            message: message.to_string(),
            context: String::new(),
        }
    }

    /// What sort of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// A finer number within the kind (an errno, a TLS alert, an HTTP/2 error code); 0 when there is none.
    pub fn code(&self) -> u32 {
        self.code
    }

    /// The bare cause, one sentence, without kind and context.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl ErrorKind {
    /// The label as it stands in metrics and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Invalid => "invalid",
            ErrorKind::Denied => "denied",
            ErrorKind::Dns => "dns",
            ErrorKind::Connect => "connect",
            ErrorKind::Tls => "tls",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Reset => "reset",
            ErrorKind::Protocol => "protocol",
            ErrorKind::BodyLimit => "body-limit",
            ErrorKind::Decode => "decode",
            ErrorKind::TooManyRedirects => "too-many-redirects",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::GeneratorLimit => "generator-limit",
            ErrorKind::Scenario => "scenario",
        }
    }
}

impl Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.context)?;
        if self.kind != ErrorKind::Scenario {
            f.write_str(self.kind.as_str())?;
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}

/// As `Display`, with the code. Scenarios that print an error with `{:?}` want to read it, not its fields.
impl Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)?;
        if self.code != 0 {
            write!(f, " (code {})", self.code)?;
        }
        Ok(())
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(cause: E) -> Error {
        Error::new(cause)
    }
}

impl Error {
    /// Not a `From`: the host's error is a standard error in generated bindings, and would be one twice.
    pub(crate) fn from_host(error: host::errors::Error) -> Error {
        Error {
            kind: kind_from_host(error.kind),
            code: error.code,
            message: error.message,
            context: String::new(),
        }
    }
}

fn kind_from_host(kind: host::errors::ErrorKind) -> ErrorKind {
    use host::errors::ErrorKind as Host;
    match kind {
        Host::Invalid => ErrorKind::Invalid,
        Host::Denied => ErrorKind::Denied,
        Host::Dns => ErrorKind::Dns,
        Host::Connect => ErrorKind::Connect,
        Host::Tls => ErrorKind::Tls,
        Host::Timeout => ErrorKind::Timeout,
        Host::Reset => ErrorKind::Reset,
        Host::Protocol => ErrorKind::Protocol,
        Host::BodyLimit => ErrorKind::BodyLimit,
        Host::Decode => ErrorKind::Decode,
        Host::TooManyRedirects => ErrorKind::TooManyRedirects,
        Host::Cancelled => ErrorKind::Cancelled,
        Host::GeneratorLimit => ErrorKind::GeneratorLimit,
    }
}

/// Says what was being done when something failed, or was not there.
///
/// ```
/// use nettare::{Context, Result};
///
/// fn quantity(text: &str) -> Result<u32> {
///     text.parse().context("reading the quantity")
/// }
///
/// assert_eq!(quantity("2x").unwrap_err().to_string(), "reading the quantity: invalid digit found in string");
/// ```
pub trait Context<T> {
    /// The value, or an error that begins with these words.
    ///
    /// # Errors
    ///
    /// Whatever `self` was, if it was no value.
    fn context(self, doing: impl Display) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, doing: impl Display) -> Result<T> {
        self.map_err(|cause| {
            let mut error = cause.into();
            error.context.insert_str(0, &format!("{doing}: "));
            error
        })
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, doing: impl Display) -> Result<T> {
        self.ok_or_else(|| Error::new(doing))
    }
}

/// Returns from the function with an [`Error`] of these words.
#[macro_export]
macro_rules! bail {
    ($($message:tt)+) => {
        return ::core::result::Result::Err($crate::Error::new(::core::format_args!($($message)+)))
    };
}

/// Returns from the function with an [`Error`] of these words unless the condition holds. Inside a
/// [`check`](crate::check()), the words are the sample of why it failed.
///
/// ```
/// use nettare::{Result, check, ensure};
///
/// # let prices = [3, 0];
/// # nettare::testing::Host::new().run(|| {
/// check("every price is positive", || -> Result {
///     for (place, price) in prices.iter().enumerate() {
///         ensure!(*price > 0, "price {price} at place {place}");
///     }
///     Ok(())
/// });
/// # });
/// ```
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            $crate::bail!($($message)+);
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeout() -> Error {
        Error::from_host(host::errors::Error {
            kind: host::errors::ErrorKind::Timeout,
            code: 110,
            message: "no answer within 5 s".to_owned(),
        })
    }

    #[test]
    fn an_error_reads_as_context_kind_and_cause() {
        assert_eq!(timeout().to_string(), "timeout: no answer within 5 s");
        assert_eq!(
            format!("{:?}", timeout()),
            "timeout: no answer within 5 s (code 110)"
        );
        let deep = Err::<(), _>(timeout())
            .context("logging in")
            .context("preparing the shop")
            .unwrap_err();
        assert_eq!(
            deep.to_string(),
            "preparing the shop: logging in: timeout: no answer within 5 s"
        );
        assert_eq!(
            (deep.kind(), deep.code(), deep.message()),
            (ErrorKind::Timeout, 110, "no answer within 5 s")
        );
    }

    #[test]
    fn the_scenarios_own_errors_are_their_words_alone() {
        let missing = None::<u8>.context("the order has no id").unwrap_err();
        assert_eq!(missing.to_string(), "the order has no id");
        assert_eq!(format!("{missing:?}"), "the order has no id");
        assert_eq!(missing.kind(), ErrorKind::Scenario);
    }

    #[test]
    fn standard_errors_pass_up_by_question_mark() {
        fn parse() -> Result<u8> {
            Ok("300".parse::<u8>()?)
        }
        assert_eq!(
            parse().unwrap_err().to_string(),
            "number too large to fit in target type"
        );
    }
}
