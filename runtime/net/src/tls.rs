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
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore,
    SignatureScheme,
};
use tokio::sync::{OnceCell, oneshot};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::error::{errno, failure};
use crate::stream::WireStream;
use crate::{Identity, SetupError, TlsOptions};

/// The process's TLS: what was given is checked at once, what the system has is read when it is needed.
#[derive(Debug)]
pub(crate) struct Tls {
    authorities: Vec<CertificateDer<'static>>,
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
        let mut authorities = Vec::new();
        for pem in &options.ca_pem {
            authorities.extend(certificates("--cacert", pem)?);
        }
        check_authorities(&authorities)?;
        let identity = options
            .identity
            .as_ref()
            .map(|identity| load_identity(identity, &provider))
            .transpose()?;
        Ok(Tls {
            authorities,
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
            .map_err(|error| failure(ErrorKind::Tls, 0, error.to_string()))?;
        let builder = if self.insecure {
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyCertificate(Arc::clone(
                    &self.provider,
                ))))
        } else {
            builder.with_root_certificates(self.roots().await)
        };
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder
                .with_client_auth_cert(chain.clone(), key.clone_key())
                .map_err(|error| failure(ErrorKind::Tls, 0, error.to_string()))?,
        };
        config.resumption = Resumption::disabled();
        config.alpn_protocols = alpn(self.versions);
        Ok(Arc::new(config))
    }

    async fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(system_authorities().await);
        roots.add_parsable_certificates(self.authorities.iter().cloned());
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

fn check_authorities(authorities: &[CertificateDer<'static>]) -> Result<(), SetupError> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots
            .add(authority.clone())
            .map_err(|error| SetupError::Tls {
                what: "--cacert",
                reason: error.to_string(),
            })?;
    }
    Ok(())
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
    let key = PrivateKeyDer::from_pem_slice(&identity.key_pem)
        .map_err(|error| unusable_key(error.to_string()))?;
    CertifiedKey::from_der(chain.clone(), key.clone_key(), provider)
        .map_err(|error| unusable_key(error.to_string()))?;
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
                "{host} does not answer in TLS: {error}; check the port, or whether the URL should begin with http://"
            ),
        ),
        rustls::Error::NoApplicationProtocol => (
            0,
            format!("{host} does not speak the HTTP version asked for; drop --http1 or --http2"),
        ),
        other => (
            0,
            format!(
                "the TLS handshake with {host} failed: {other}; compare what TLS versions it offers"
            ),
        ),
    };
    failure(ErrorKind::Tls, code, message)
}

fn explain_certificate(error: &CertificateError, host: &str) -> String {
    let skip = "or test it anyway with --insecure-skip-tls-verify";
    match error {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!(
                "the certificate of {host} is for another name: {error}; use that name in the URL, {skip}"
            )
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the certificate of {host} has expired: {error}; renew it, {skip}")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!(
                "the certificate of {host} is not valid yet: {error}; check this machine's clock, {skip}"
            )
        }
        CertificateError::UnknownIssuer => format!(
            "the certificate of {host} is of an authority unknown to this machine; name its certificate with --cacert, {skip}"
        ),
        other => format!("the certificate of {host} is not accepted: {other}; correct it, {skip}"),
    }
}

fn explain_alert(alert: AlertDescription, host: &str) -> String {
    match alert {
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
                "{host} does not accept our client certificate (alert {alert:?}); check --cert and --key"
            )
        }
        AlertDescription::UnrecognisedName => {
            format!(
                "{host} serves nothing under that name (alert {alert:?}); check the host in the URL"
            )
        }
        AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure => format!(
            "{host} and this client have no TLS version or cipher in common (alert {alert:?}); it must speak TLS 1.2 or 1.3"
        ),
        AlertDescription::NoApplicationProtocol => {
            format!(
                "{host} does not speak the HTTP version asked for (alert {alert:?}); drop --http1 or --http2"
            )
        }
        other => {
            format!("{host} ended the TLS handshake (alert {other:?}); look at its log for why")
        }
    }
}

/// `--insecure-skip-tls-verify`: neither certificates nor what they sign are looked at.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
