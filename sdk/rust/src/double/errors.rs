//! Interface `errors`: the types of the contract.

/// As in the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    Invalid,
    Denied,
    Dns,
    Connect,
    Tls,
    Timeout,
    Reset,
    Protocol,
    BodyLimit,
    Decode,
    TooManyRedirects,
    Cancelled,
    GeneratorLimit,
}

/// As in the contract.
#[derive(Clone, Debug)]
pub(crate) struct Error {
    pub(crate) kind: ErrorKind,
    pub(crate) code: u32,
    pub(crate) message: String,
}

impl Error {
    pub(super) fn new(kind: ErrorKind, message: &str) -> Error {
        Error {
            kind,
            code: 0,
            message: message.to_owned(),
        }
    }
}

impl ErrorKind {
    /// The host's kind for one that a test chose.
    pub(super) fn of(kind: crate::ErrorKind) -> ErrorKind {
        use crate::ErrorKind as Chosen;
        match kind {
            Chosen::Invalid => ErrorKind::Invalid,
            Chosen::Denied => ErrorKind::Denied,
            Chosen::Dns => ErrorKind::Dns,
            Chosen::Connect => ErrorKind::Connect,
            Chosen::Tls => ErrorKind::Tls,
            Chosen::Timeout => ErrorKind::Timeout,
            Chosen::Reset => ErrorKind::Reset,
            Chosen::Protocol => ErrorKind::Protocol,
            Chosen::BodyLimit => ErrorKind::BodyLimit,
            Chosen::Decode => ErrorKind::Decode,
            Chosen::TooManyRedirects => ErrorKind::TooManyRedirects,
            Chosen::Cancelled => ErrorKind::Cancelled,
            Chosen::GeneratorLimit => ErrorKind::GeneratorLimit,
            Chosen::Scenario => panic!("a scenario's own errors do not come from a server"),
        }
    }
}
