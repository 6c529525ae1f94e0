//! A certificate for loopback, made afresh at every start: its key never touches a disk.

use std::sync::Arc;

use anyhow::Context as _;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

/// Names a client may call the target by.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// What the target shows to prove who it is, and what a client has to trust to believe it.
pub(crate) struct Identity {
    /// Does the server's side of handshakes; offers HTTP/2 and HTTP/1.1 by ALPN.
    pub(crate) acceptor: TlsAcceptor,
    /// The signing authority's certificate.
    pub(crate) ca_pem: String,
}

/// Makes an authority and a certificate signed by it. One self-signed certificate for both would do for OpenSSL, but verifiers
/// that tell authorities from servers by the basic constraints refuse it in one role or the other.
pub(crate) fn identity() -> anyhow::Result<Identity> {
    let ca_key = KeyPair::generate().context("failed to make the authority's key")?;
    let mut ca = CertificateParams::default();
    ca.distinguished_name
        .push(DnType::CommonName, "Nettare demo authority");
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    let ca_pem = ca
        .self_signed(&ca_key)
        .context("failed to sign the authority's certificate")?
        .pem();
    let issuer = Issuer::new(ca, ca_key);

    let key = KeyPair::generate().context("failed to make the target's key")?;
    let mut leaf = CertificateParams::new(NAMES.map(String::from))
        .context("failed to name the certificate")?;
    leaf.distinguished_name
        .push(DnType::CommonName, "Nettare demo target");
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    let certificate = leaf
        .signed_by(&key, &issuer)
        .context("failed to sign the target's certificate")?;

    let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
    let mut config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .context("failed to choose TLS versions")?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .context("failed to use the certificate")?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Identity {
        acceptor: TlsAcceptor::from(Arc::new(config)),
        ca_pem,
    })
}
