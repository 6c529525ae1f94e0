//! Whom a TLS client believes: the authorities it knows, the certificates it was shown beforehand, or anybody.
//!
//! A certificate named by `--cacert` is trusted in two roles. As an *authority*, if it says that it is one (X.509 version 1 cannot
//! say): what it signed is believed. As *itself*: a server that shows exactly this certificate, byte for byte, is believed
//! without an authority, as self-signed certificates want it; its dates, its purpose and its names are looked at all the same,
//! and that the server holds its key the handshake proves. A server's certificate is never taken for an authority.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;
use x509_parser::x509::X509Version;

/// Whether a certificate may sign others.
///
/// # Errors
///
/// When it cannot be read; in words.
pub(crate) fn is_authority(certificate: &CertificateDer<'_>) -> Result<bool, &'static str> {
    let parsed = parse(certificate).ok_or("it holds a certificate that cannot be read")?;
    Ok(parsed.is_ca() || parsed.version() == X509Version::V1)
}

fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Option<X509Certificate<'a>> {
    match X509Certificate::from_der(certificate) {
        Ok(([], parsed)) => Some(parsed),
        _ => None,
    }
}

/// Believes known authorities, and known certificates themselves.
#[derive(Debug)]
pub(crate) struct Trust {
    known: Vec<CertificateDer<'static>>,
    /// None where no authority is known at all.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl Trust {
    pub(crate) fn new(
        authorities: RootCertStore,
        known: &[CertificateDer<'static>],
        provider: &Arc<CryptoProvider>,
    ) -> Trust {
        let verifier = WebPkiServerVerifier::builder_with_provider(
            Arc::new(authorities),
            Arc::clone(provider),
        );
        Trust {
            known: known.to_vec(),
            // Refused for want of authorities only: there are no revocation lists to be wrong.
            authorities: verifier.build().ok(),
            provider: Arc::clone(provider),
        }
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self
            .known
            .iter()
            .any(|known| known.as_ref() == shown.as_ref())
        {
            return verify_known(shown, name, now);
        }
        match &self.authorities {
            Some(authorities) => authorities.verify_server_cert(shown, between, name, ocsp, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// What remains to be asked of a certificate that is trusted as itself: is it in time, is it a server's, is it this server's.
fn verify_known(
    shown: &CertificateDer<'_>,
    name: &ServerName<'_>,
    now: UnixTime,
) -> Result<ServerCertVerified, Error> {
    let parsed = parse(shown).ok_or(CertificateError::BadEncoding)?;
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let time = ASN1Time::from_timestamp(seconds).map_err(|_| CertificateError::BadEncoding)?;
    let validity = parsed.validity();
    if time < validity.not_before {
        return Err(CertificateError::NotValidYet.into());
    }
    if time > validity.not_after {
        return Err(CertificateError::Expired.into());
    }
    let purposes = parsed
        .extended_key_usage()
        .map_err(|_| CertificateError::BadEncoding)?;
    // RFC 5280, section 4.2.1.12: without the extension it is for any purpose.
    if purposes.is_some_and(|usage| !usage.value.server_auth && !usage.value.any) {
        return Err(CertificateError::InvalidPurpose.into());
    }
    verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
    Ok(ServerCertVerified::assertion())
}

/// `--insecure-skip-tls-verify`: neither certificates nor what they sign are looked at.
#[derive(Debug)]
pub(crate) struct AnyCertificate(pub(crate) Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
