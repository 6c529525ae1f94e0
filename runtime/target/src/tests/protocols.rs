//! The same answers over TLS and over HTTP/2.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio_rustls::TlsConnector;

use crate::{Counts, Target, TargetOptions, spawn};

/// What a client speaks.
#[derive(Clone, Copy, Debug)]
enum Speech {
    Http2,
    TlsHttp1,
    TlsHttp2,
}

#[test]
fn tls_and_http2_answer_and_count_like_plain_http() {
    for speech in [Speech::Http2, Speech::TlsHttp1, Speech::TlsHttp2] {
        let target = spawn(&TargetOptions {
            tls: !matches!(speech, Speech::Http2),
            ..TargetOptions::default()
        })
        .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let counts = runtime.block_on(speak(speech, &target));
        assert_eq!(
            (
                counts.begun,
                counts.finished,
                counts.aborted,
                counts.in_flight
            ),
            (5, 4, 1, 0),
            "{speech:?}"
        );
        assert_eq!(
            counts.routes["/bytes/{n}"].finished,
            [(200, 2)].into(),
            "{speech:?}"
        );
    }
}

async fn speak(speech: Speech, target: &Target) -> Counts {
    let send = |method: Method, path: &'static str| async move {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", target.url()))
            .body(Full::<Bytes>::default())
            .unwrap();
        let response = one_request(speech, target, request).await?;
        let (status, body) = (
            response.status(),
            response.into_body().collect().await?.to_bytes(),
        );
        Ok::<_, hyper::Error>((status, body.len()))
    };
    assert_eq!(
        send(Method::GET, "/").await.unwrap(),
        (StatusCode::OK, 36),
        "{speech:?}"
    );
    assert_eq!(
        send(Method::GET, "/bytes/800000").await.unwrap(),
        (StatusCode::OK, 800_000),
        "{speech:?}"
    );
    assert_eq!(
        send(Method::HEAD, "/bytes/800000").await.unwrap(),
        (StatusCode::OK, 0),
        "{speech:?}"
    );
    assert_eq!(
        send(Method::POST, "/status/503").await.unwrap(),
        (StatusCode::SERVICE_UNAVAILABLE, 0),
        "{speech:?}"
    );
    assert!(send(Method::GET, "/reset").await.is_err(), "{speech:?}");
    target.counts()
}

/// Sends one request on a connection of its own.
async fn one_request(
    speech: Speech,
    target: &Target,
    request: Request<Full<Bytes>>,
) -> hyper::Result<http::Response<hyper::body::Incoming>> {
    let stream = tokio::net::TcpStream::connect(target.addr()).await.unwrap();
    match speech {
        Speech::Http2 => over_http2(TokioIo::new(stream), request).await,
        Speech::TlsHttp2 => {
            over_http2(
                TokioIo::new(handshake(target, stream, b"h2").await),
                request,
            )
            .await
        }
        Speech::TlsHttp1 => {
            let io = TokioIo::new(handshake(target, stream, b"http/1.1").await);
            let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await?;
            tokio::spawn(connection);
            sender.send_request(request).await
        }
    }
}

async fn over_http2<T>(
    io: T,
    request: Request<Full<Bytes>>,
) -> hyper::Result<http::Response<hyper::body::Incoming>>
where
    T: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await?;
    tokio::spawn(connection);
    sender.send_request(request).await
}

/// A handshake that trusts the target's authority, and nothing else.
async fn handshake(
    target: &Target,
    stream: tokio::net::TcpStream,
    protocol: &[u8],
) -> tokio_rustls::client::TlsStream<tokio::net::TcpStream> {
    use rustls::pki_types::pem::PemObject as _;
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(
            rustls::pki_types::CertificateDer::from_pem_slice(target.ca_pem().unwrap().as_bytes())
                .unwrap(),
        )
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    TlsConnector::from(Arc::new(config))
        .connect("localhost".try_into().unwrap(), stream)
        .await
        .unwrap()
}
