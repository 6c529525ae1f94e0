//! TLS: whom we trust, who we say we are, and what we say when it does not work out.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use nettare_core::sample::{ErrorKind, Protocol, Stamp};
use nettare_net::{Identity, NetConfig, SetupError, Shared, TlsOptions};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use crate::support::{Peer, User, config, run};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// A certificate authority of the test's own.
pub(crate) struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate it issued.
pub(crate) struct Issued {
    certificate: Certificate,
    key: KeyPair,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Authority {
            certificate,
            issuer: Issuer::new(params, key),
        }
    }

    pub(crate) fn issue(
        &self,
        names: &[&str],
        adjust: impl FnOnce(&mut CertificateParams),
    ) -> Issued {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        adjust(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Issued { certificate, key }
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.der().clone()).unwrap();
        roots
    }

    /// The usual settings, trusting this authority.
    pub(crate) fn trusting(&self) -> NetConfig {
        let mut config = config();
        config.tls.ca_pem = vec![self.certificate.pem().into_bytes()];
        config
    }
}

impl Issued {
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        let builder = ServerConfig::builder_with_provider(provider());
        let builder = builder
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth();
        Arc::new(
            builder
                .with_single_cert(vec![self.certificate.der().clone()], self.key())
                .unwrap(),
        )
    }

    /// A server that wants certificates of `authority` from its clients.
    fn server_for_clients_of(&self, authority: &Authority) -> Arc<ServerConfig> {
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(authority.roots()), provider());
        let builder = ServerConfig::builder_with_provider(provider());
        let builder = builder
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap());
        Arc::new(
            builder
                .with_single_cert(vec![self.certificate.der().clone()], self.key())
                .unwrap(),
        )
    }

    fn key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.serialize_der()).into()
    }

    fn identity(&self) -> Identity {
        Identity {
            cert_pem: self.certificate.pem().into_bytes(),
            key_pem: self.key.serialize_pem().into_bytes(),
        }
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// A TLS server that answers everything and notes the names it was asked for.
fn answering(server: Arc<ServerConfig>) -> (Peer, Arc<Mutex<Vec<Option<String>>>>) {
    let names = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&names);
    let peer = Peer::start_tls(server, move |talk| {
        while talk.read_request()?.is_some() {
            noted
                .lock()
                .unwrap()
                .push(talk.server_name().map(str::to_owned));
            talk.write(OK)?;
        }
        Ok(())
    });
    (peer, names)
}

fn url(host: &str, peer: &Peer) -> String {
    format!("https://{host}:{}/", peer.address().port())
}

#[test]
fn a_trusted_server_is_spoken_to_and_its_handshake_is_a_phase() {
    let authority = Authority::new("ours");
    let (peer, _) = answering(authority.issue(&["localhost"], |_| ()).server());
    run(async {
        let user = User::new(authority.trusting());
        for first in [true, false] {
            let call = user.get(&url("localhost", &peer)).await;
            let response = call.result.unwrap();
            assert_eq!(
                (response.version, &response.body[..]),
                (Protocol::Http11, &b"ok"[..])
            );
            let exchange = call.exchange.unwrap();
            assert_eq!(exchange.phases.tls_ns > 0, first);
            assert_eq!(exchange.opened_connection, first);
            assert_eq!(exchange.stamp, Stamp::Exact);
            assert!(
                exchange.received_bytes < 100,
                "plain bytes are counted, not TLS's"
            );
        }
    });
    assert_eq!(peer.connections(), 1);
}

#[test]
fn case_052_and_054_the_server_name_is_the_host_alone_and_none_for_addresses() {
    let authority = Authority::new("ours");
    let address = Ipv4Addr::LOCALHOST.to_string();
    let (peer, names) = answering(
        authority
            .issue(&["shop.localhost", &address], |_| ())
            .server(),
    );
    run(async {
        let user = User::new(authority.trusting());
        for host in [
            "shop.localhost",
            "SHOP.localhost",
            "shop.localhost.",
            "127.0.0.1",
        ] {
            user.get(&url(host, &peer))
                .await
                .result
                .unwrap_or_else(|f| panic!("{host}: {f:?}"));
        }
    });
    let shop = Some("shop.localhost".to_owned());
    assert_eq!(
        *names.lock().unwrap(),
        [shop.clone(), shop.clone(), shop, None]
    );
}

#[test]
fn certificates_that_are_not_accepted_are_told_apart_and_can_be_taken_all_the_same() {
    let (authority, stranger) = (Authority::new("ours"), Authority::new("theirs"));
    let expired = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
    };
    let early = |params: &mut CertificateParams| params.not_before = date_time_ymd(4000, 1, 1);
    let rows = [
        (
            authority.issue(&["other.test"], |_| ()),
            "is for another name",
            "the wrong name",
        ),
        (
            authority.issue(&["localhost"], expired),
            "has expired",
            "an old one",
        ),
        (
            authority.issue(&["localhost"], early),
            "not valid yet",
            "a future one",
        ),
        (
            stranger.issue(&["localhost"], |_| ()),
            "--cacert",
            "an unknown authority",
        ),
    ];
    for (issued, words, why) in rows {
        let (peer, _) = answering(issued.server());
        run(async {
            let failure = User::new(authority.trusting())
                .get(&url("localhost", &peer))
                .await
                .result;
            let failure = failure.unwrap_err();
            assert_eq!(failure.kind, ErrorKind::Tls, "{why}");
            assert!(
                failure.message.contains(words),
                "{why}: {}",
                failure.message
            );
            assert!(
                failure.message.contains("--insecure-skip-tls-verify"),
                "{}",
                failure.message
            );
            let mut config = config();
            config.tls.insecure = true;
            let insecure = User::new(config).get(&url("localhost", &peer)).await.result;
            assert_eq!(insecure.unwrap().status, 200, "{why}");
        });
    }
}

/// As `openssl req -x509` makes it: an authority, says the certificate, and the server shows it itself.
fn self_signed(names: &[&str], adjust: impl FnOnce(&mut CertificateParams)) -> Issued {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    adjust(&mut params);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    Issued { certificate, key }
}

#[test]
fn a_self_signed_certificate_is_trusted_as_itself_and_as_nothing_else() {
    type Adjust = fn(&mut CertificateParams);
    let rows: &[(&[&str], Adjust, Option<&str>, &str)] = &[
        (&["localhost"], |_| (), None, "an authority by its own word"),
        (
            &["localhost"],
            |p| p.is_ca = IsCa::NoCa,
            None,
            "no authority",
        ),
        (
            &["localhost"],
            |p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth],
            None,
            "a server's",
        ),
        (
            &["localhost"],
            |p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth],
            Some("not made for servers"),
            "a client's",
        ),
        (
            &["other.test"],
            |_| (),
            Some("another name"),
            "the wrong name",
        ),
        (
            &["localhost"],
            |p| p.not_after = date_time_ymd(2002, 1, 1),
            Some("has expired"),
            "an old one",
        ),
        (
            &["localhost"],
            |p| p.not_before = date_time_ymd(4000, 1, 1),
            Some("not valid yet"),
            "a future one",
        ),
    ];
    for (names, adjust, refused, why) in rows {
        let shown = self_signed(names, adjust);
        let (peer, _) = answering(shown.server());
        let mut trusting = config();
        trusting.tls.ca_pem = vec![shown.certificate.pem().into_bytes()];
        run(async {
            let call = User::new(trusting).get(&url("localhost", &peer)).await;
            match refused {
                None => assert_eq!(call.result.unwrap().status, 200, "{why}"),
                Some(words) => {
                    let message = call.result.unwrap_err().message;
                    assert!(message.contains(words), "{why}: {message}");
                }
            }
            let stranger = self_signed(names, adjust);
            let mut trusting = config();
            trusting.tls.ca_pem = vec![stranger.certificate.pem().into_bytes()];
            let call = User::new(trusting).get(&url("localhost", &peer)).await;
            let failure = call.result.unwrap_err();
            assert_eq!(
                failure.kind,
                ErrorKind::Tls,
                "another of the same name: {why}"
            );
            assert_no_source_names(&failure.message);
        });
    }
}

/// What a certificate signs is believed only if it says that it may sign.
#[test]
fn a_known_certificate_that_is_no_authority_signs_nothing() {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let known = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let leaf_key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let issued = Issued {
        certificate: leaf.signed_by(&leaf_key, &issuer).unwrap(),
        key: leaf_key,
    };
    let (peer, _) = answering(issued.server());
    run(async {
        let mut trusting = config();
        trusting.tls.ca_pem = vec![known.pem().into_bytes()];
        let call = User::new(trusting).get(&url("localhost", &peer)).await;
        assert_eq!(call.result.unwrap_err().kind, ErrorKind::Tls);
    });
}

/// Names of the library's source have no place in a message.
fn assert_no_source_names(message: &str) {
    let is_name = |word: &str| {
        let mut pairs = word.chars().zip(word.chars().skip(1));
        pairs.any(|(a, b)| a.is_ascii_lowercase() && b.is_ascii_uppercase())
    };
    let named = message
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| is_name(word));
    assert_eq!(named, None, "{message}");
}

#[test]
fn a_server_that_wants_a_certificate_gets_ours_or_a_failure_that_says_so() {
    let authority = Authority::new("ours");
    let server = authority.issue(&["localhost"], |_| ());
    let (peer, _) = answering(server.server_for_clients_of(&authority));
    run(async {
        let mut config = authority.trusting();
        config.tls.identity = Some(authority.issue(&["client"], |_| ()).identity());
        User::new(config)
            .get(&url("localhost", &peer))
            .await
            .result
            .unwrap();

        let failure = User::new(authority.trusting())
            .get(&url("localhost", &peer))
            .await
            .result;
        let failure = failure.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::Tls, "{}", failure.message);
        assert_eq!(
            failure.code, 116,
            "the alert's number, RFC 8446 section 6: {}",
            failure.message
        );
        assert!(failure.message.contains("--cert"), "{}", failure.message);
    });
}

#[test]
fn a_server_without_tls_is_not_taken_for_a_broken_one() {
    let peer = Peer::start(|talk| {
        let _ = talk.stream();
        talk.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    });
    run(async {
        let failure = User::new(config())
            .get(&url("localhost", &peer))
            .await
            .result
            .unwrap_err();
        assert_eq!(failure.kind, ErrorKind::Tls);
        assert!(
            failure.message.contains("does not answer in TLS"),
            "{}",
            failure.message
        );
    });
}

#[test]
fn unusable_certificates_and_keys_stop_the_run_before_it_starts() {
    let authority = Authority::new("ours");
    let (mine, other) = (
        authority.issue(&["a"], |_| ()),
        authority.issue(&["b"], |_| ()),
    );
    let mixed = Identity {
        key_pem: other.identity().key_pem,
        ..mine.identity()
    };
    let no_key = Identity {
        key_pem: b"nothing".to_vec(),
        ..mine.identity()
    };
    let rows = [
        (
            TlsOptions {
                ca_pem: vec![b"nothing".to_vec()],
                ..TlsOptions::default()
            },
            "--cacert",
        ),
        (
            TlsOptions {
                identity: Some(no_key),
                ..TlsOptions::default()
            },
            "--key",
        ),
        (
            TlsOptions {
                identity: Some(mixed),
                ..TlsOptions::default()
            },
            "--key",
        ),
    ];
    for (tls, flag) in rows {
        let error = Shared::new(NetConfig { tls, ..config() }).unwrap_err();
        assert!(
            matches!(error, SetupError::Tls { what, .. } if what == flag),
            "{error}"
        );
    }
}
