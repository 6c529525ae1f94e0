//! What a run asks of the network, gathered before the first socket is opened.

use nettare_core::plan::{ConnectionPolicy, HttpVersions, Timestamps};

use crate::tls::Tls;
use crate::{AllowList, SetupError};

/// Settings of all connections of a process.
#[derive(Clone, Debug)]
pub struct NetConfig {
    /// Where receive stamps come from.
    pub timestamps: Timestamps,
    /// Which HTTP versions may be spoken.
    pub http: HttpVersions,
    /// Whom to trust, and who we are.
    pub tls: TlsOptions,
    /// The `user-agent` of requests that set none; empty for none at all.
    pub user_agent: String,
    /// What may be reached.
    pub allow: AllowList,
    /// Deadline of a call that sets none, in nanoseconds.
    pub timeout_ns: u64,
    /// Redirects followed by a call that sets no limit.
    pub max_redirects: u32,
    /// Whose connections are whose.
    pub connections: ConnectionPolicy,
    /// The most bytes one response body may have.
    pub body_limit_bytes: u64,
    /// The most bytes that all response bodies may hold at one time in the process.
    pub bodies_budget_bytes: u64,
}

/// Whom to trust, and who we are.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// Certificates in PEM, trusted besides the system's: as authorities, and as themselves. Each entry may hold several.
    pub ca_pem: Vec<Vec<u8>>,
    /// The certificate shown to servers that ask for one.
    pub identity: Option<Identity>,
    /// Takes any certificate unverified: no name, no expiry, no authority.
    pub insecure: bool,
}

impl TlsOptions {
    /// Looks at what was given, before anything is made of it.
    ///
    /// # Errors
    ///
    /// When a certificate or key cannot be used, or the two do not belong together.
    pub fn check(&self) -> Result<(), SetupError> {
        Tls::new(self, HttpVersions::Negotiated).map(drop)
    }
}

/// A client certificate and its key.
#[derive(Clone)]
pub struct Identity {
    /// The certificate chain in PEM, leaf first.
    pub cert_pem: Vec<u8>,
    /// The private key in PEM: PKCS #8, PKCS #1 or SEC 1.
    pub key_pem: Vec<u8>,
}

/// Written by hand so that the key never reaches a log.
impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}
