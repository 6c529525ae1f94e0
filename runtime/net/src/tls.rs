//! TLS by rustls, with `ring` for its cryptography.
//!
//! The system's authorities are read when the first `https` connection is made, on a thread of their own: reading them takes
//! tens of milliseconds, which a plain test need not spend and no I/O thread may. Sessions are never resumed: each connection
//! stands for a new visitor, and an abbreviated handshake would make the `tls` phase look better than a visitor's.

use std::io;
use std::sync::Arc;

use nettare_core::plan::HttpVersions;
use nettare_core::sample::{ErrorKind, Failure};
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore};
use tokio::sync::{OnceCell, oneshot};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::error::{errno, failure};
use crate::stream::WireStream;
use crate::trust::{AnyCertificate, Trust, is_authority};
use crate::{Identity, SetupError, TlsOptions};

/// The process's TLS: what was given is checked at once, what the system has is read when it is needed.
#[derive(Debug)]
pub(crate) struct Tls {
    /// Named by `--cacert`.
    known: Vec<CertificateDer<'static>>,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    insecure: bool,
    versions: HttpVersions,
    provider: Arc<CryptoProvider>,
    client: OnceCell<Arc<ClientConfig>>,
}

impl Tls {
    /// # Errors
    ///
    /// When a certificate or key cannot be read, or the two do not belong together.
    pub(crate) fn new(options: &TlsOptions, versions: HttpVersions) -> Result<Tls, SetupError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut known = Vec::new();
        for pem in &options.ca_pem {
            known.extend(certificates("--cacert", pem)?);
        }
        authorities_among(&known)?;
        let identity = options
            .identity
            .as_ref()
            .map(|identity| load_identity(identity, &provider))
            .transpose()?;
        Ok(Tls {
            known,
            identity,
            insecure: options.insecure,
            versions,
            provider,
            client: OnceCell::new(),
        })
    }

    /// Shakes hands with `host` over `stream`.
    ///
    /// # Errors
    ///
    /// Kind `tls`, with the alert's number as its code if the peer sent one.
    pub(crate) async fn connect(
        &self,
        host: &str,
        stream: WireStream,
    ) -> Result<TlsStream<WireStream>, Failure> {
        let client = self.client.get_or_try_init(|| self.make_client()).await?;
        let name = server_name(host)?;
        let connecting = TlsConnector::from(Arc::clone(client)).connect(name, stream);
        connecting.await.map_err(|error| explain(&error, host))
    }

    async fn make_client(&self) -> Result<Arc<ClientConfig>, Failure> {
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| failure(ErrorKind::Tls, 0, in_words(&error)))?;
        let builder = builder.dangerous();
        let builder = if self.insecure {
            let any = AnyCertificate(Arc::clone(&self.provider));
            builder.with_custom_certificate_verifier(Arc::new(any))
        } else {
            let trust = Trust::new(self.roots().await, &self.known, &self.provider);
            builder.with_custom_certificate_verifier(Arc::new(trust))
        };
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder
                .with_client_auth_cert(chain.clone(), key.clone_key())
                .map_err(|error| failure(ErrorKind::Tls, 0, in_words(&error)))?,
        };
        config.resumption = Resumption::disabled();
        config.alpn_protocols = alpn(self.versions);
        Ok(Arc::new(config))
    }

    async fn roots(&self) -> RootCertStore {
        let system = system_authorities().await;
        // Looked at when they were given: none is refused here.
        let mut roots = authorities_among(&self.known).unwrap_or_else(|_| RootCertStore::empty());
        roots.add_parsable_certificates(system);
        roots
    }
}

/// What the machine trusts; nothing if that cannot be read, and then every certificate is of an unknown authority, whose message
/// names `--cacert`.
async fn system_authorities() -> Vec<CertificateDer<'static>> {
    let (sender, receiver) = oneshot::channel();
    let reader = std::thread::Builder::new()
        .name("nettare-roots".to_owned())
        .spawn(move || {
            // A receiver that is gone means that the connection was given up; the next one reads again.
            let _ = sender.send(rustls_native_certs::load_native_certs().certs);
        });
    if reader.is_err() {
        return Vec::new();
    }
    receiver.await.unwrap_or_default()
}

/// RFC 7301. The order is the preference.
fn alpn(versions: HttpVersions) -> Vec<Vec<u8>> {
    match versions {
        HttpVersions::Negotiated => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        HttpVersions::Http1 => vec![b"http/1.1".to_vec()],
        HttpVersions::Http2 => vec![b"h2".to_vec()],
    }
}

/// The name that goes into SNI and is looked for in the certificate: the host without port, brackets or the root's dot. For an
/// address rustls sends no SNI (RFC 6066, section 3) and looks for the address.
fn server_name(host: &str) -> Result<ServerName<'static>, Failure> {
    let host = host.strip_suffix('.').unwrap_or(host);
    ServerName::try_from(host.to_owned()).map_err(|_| {
        failure(
            ErrorKind::Tls,
            0,
            format!("{host} cannot be the name of a TLS server; correct the URL"),
        )
    })
}

fn certificates(
    what: &'static str,
    pem: &[u8],
) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let unusable = |reason: String| SetupError::Tls { what, reason };
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| unusable(error.to_string()))?;
    if found.is_empty() {
        return Err(unusable("it holds no certificate in PEM".to_owned()));
    }
    Ok(found)
}

/// Those of the certificates that may sign others.
fn authorities_among(known: &[CertificateDer<'static>]) -> Result<RootCertStore, SetupError> {
    let unusable = |reason: String| SetupError::Tls {
        what: "--cacert",
        reason,
    };
    let mut roots = RootCertStore::empty();
    for certificate in known {
        if is_authority(certificate).map_err(|why| unusable(why.to_owned()))? {
            roots
                .add(certificate.clone())
                .map_err(|error| unusable(in_words(&error)))?;
        }
    }
    Ok(roots)
}

type LoadedIdentity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn load_identity(
    identity: &Identity,
    provider: &CryptoProvider,
) -> Result<LoadedIdentity, SetupError> {
    let chain = certificates("--cert", &identity.cert_pem)?;
    let unusable_key = |reason: String| SetupError::Tls {
        what: "--key",
        reason,
    };
    let key = PrivateKeyDer::from_pem_slice(&identity.key_pem).map_err(|error| {
        unusable_key(match error {
            pem::Error::NoItemsFound => "it holds no private key in PEM".to_owned(),
            other => other.to_string(),
        })
    })?;
    CertifiedKey::from_der(chain.clone(), key.clone_key(), provider).map_err(|error| {
        unusable_key(match error {
            rustls::Error::InconsistentKeys(_) => {
                "it is not the key of the certificate given by --cert".to_owned()
            }
            other => in_words(&other),
        })
    })?;
    Ok((chain, key))
}

/// Makes a failure of a broken handshake, and says what to do about it.
fn explain(error: &io::Error, host: &str) -> Failure {
    if let Some(cause) = rustls_cause(error) {
        return explain_rustls(cause, host);
    }
    let message = match error.kind() {
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe => format!(
            "{host} closed the connection during the TLS handshake ({error}); check that it speaks TLS on this port, and \
             whether it wants a client certificate (--cert, --key)"
        ),
        _ => format!(
            "the TLS handshake with {host} failed: {error}; check that it speaks TLS on this port"
        ),
    };
    failure(ErrorKind::Tls, errno(error), message)
}

/// The TLS error inside an I/O error: also in mid-exchange, since a TLS 1.3 server looks at the client's certificate only after
/// the client's handshake is over.
pub(crate) fn rustls_cause(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Makes a failure of a TLS error.
pub(crate) fn explain_rustls(error: &rustls::Error, host: &str) -> Failure {
    let (code, message) = match error {
        rustls::Error::InvalidCertificate(cause) => (0, explain_certificate(cause, host)),
        rustls::Error::AlertReceived(alert) => {
            (u32::from(u8::from(*alert)), explain_alert(*alert, host))
        }
        rustls::Error::InvalidMessage(_) => (
            0,
            format!(
                "{host} does not answer in TLS ({}); check the port, or whether the URL should begin with http://",
                in_words(error)
            ),
        ),
        rustls::Error::NoApplicationProtocol => (
            0,
            format!("{host} does not speak the HTTP version asked for; drop --http1 or --http2"),
        ),
        other => (
            0,
            format!(
                "the TLS handshake with {host} failed: {}; compare what TLS versions it offers",
                in_words(other)
            ),
        ),
    };
    failure(ErrorKind::Tls, code, message)
}

fn explain_certificate(error: &CertificateError, host: &str) -> String {
    let skip = "or test it anyway with --insecure-skip-tls-verify";
    match error {
        CertificateError::NotValidForName => format!(
            "the certificate of {host} is for another name; use that name in the URL, {skip}"
        ),
        CertificateError::NotValidForNameContext { .. } => format!(
            "the certificate of {host} is for another name: {error}; use that name in the URL, {skip}"
        ),
        CertificateError::Expired => {
            format!("the certificate of {host} has expired; renew it, {skip}")
        }
        CertificateError::ExpiredContext { .. } => {
            format!("the certificate of {host} has expired: {error}; renew it, {skip}")
        }
        CertificateError::NotValidYet => format!(
            "the certificate of {host} is not valid yet; check this machine's clock, {skip}"
        ),
        CertificateError::NotValidYetContext { .. } => format!(
            "the certificate of {host} is not valid yet: {error}; check this machine's clock, {skip}"
        ),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            format!(
                "the certificate of {host} is not made for servers; correct its extended key usage, {skip}"
            )
        }
        CertificateError::UnknownIssuer => format!(
            "the certificate of {host} is of an authority unknown to this machine; name its certificate with --cacert, {skip}"
        ),
        // Mostly a self-signed one that says that it is an authority, as `openssl req -x509` makes it.
        CertificateError::Other(cause) => format!(
            "the certificate of {host} is not accepted ({}); if it is self-signed, name exactly this certificate with \
             --cacert, {skip}",
            spelt(&cause.to_string())
        ),
        other => format!(
            "the certificate of {host} is not accepted: {}; correct it, {skip}",
            spelt(&other.to_string())
        ),
    }
}

/// An error of the TLS library for people; it names its causes as its source does.
fn in_words(error: &rustls::Error) -> String {
    spelt(&error.to_string())
}

/// A text with `CamelCase` spelt as words.
fn spelt(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    for c in text.chars() {
        if c.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit()) {
            words.push(' ');
        }
        words.push(c);
        before = c;
    }
    words.to_lowercase()
}

fn explain_alert(received: AlertDescription, host: &str) -> String {
    let alert = spelt(&format!("alert {received:?}"));
    match received {
        AlertDescription::CertificateRequired => {
            format!("{host} wants a client certificate; give one with --cert and --key")
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA => {
            format!(
                "{host} does not accept our client certificate ({alert}); check --cert and --key"
            )
        }
        AlertDescription::UnrecognisedName => {
            format!("{host} serves nothing under that name ({alert}); check the host in the URL")
        }
        AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure => format!(
            "{host} and this client have no TLS version or cipher in common ({alert}); it must speak TLS 1.2 or 1.3"
        ),
        AlertDescription::NoApplicationProtocol => {
            format!(
                "{host} does not speak the HTTP version asked for ({alert}); drop --http1 or --http2"
            )
        }
        _ => {
            format!("{host} ended the TLS handshake ({alert}); look at its log for why")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_librarys_source_are_spelt_as_words() {
        for (name, words) in [
            ("CaUsedAsEndEntity", "ca used as end entity"),
            ("UnknownCA", "unknown ca"),
            (
                "received corrupt message of type InvalidContentType",
                "received corrupt message of type invalid content type",
            ),
            ("Tls12NotOffered", "tls12 not offered"),
        ] {
            assert_eq!(spelt(name), words);
        }
    }
}
