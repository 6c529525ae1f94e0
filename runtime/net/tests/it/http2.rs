//! HTTP/2 against a server that speaks it by a library: negotiation, sharing, flow control.

use std::future::{Future, poll_fn};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Method, Request, Response};
use nettare_core::plan::{ConnectionPolicy, HttpVersions};
use nettare_core::sample::{ErrorKind, Protocol, Stamp};
use nettare_net::NetConfig;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;

use crate::support::{Peer, User, config, get, request, run};
use crate::tls::Authority;

type Handling = Pin<Box<dyn Future<Output = Result<(), h2::Error>>>>;
type Handler = fn(Request<RecvStream>, SendResponse<Bytes>) -> Handling;

/// A server that runs until its handle is dropped.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    heads: Heads,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Method, URI and fields of all requests.
type Heads = Arc<Mutex<Vec<(Method, String, HeaderMap)>>>;

impl Server {
    fn start(tls: Option<Arc<ServerConfig>>, handler: Handler) -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (connections, heads) = (Arc::new(AtomicUsize::new(0)), Heads::default());
        let (stop, stopped) = oneshot::channel();
        let (counter, noted) = (Arc::clone(&connections), Arc::clone(&heads));
        let thread = std::thread::spawn(move || {
            run(async {
                tokio::select! {
                    () = accept(listener, tls, handler, counter, noted) => {}
                    _ = stopped => {}
                }
            });
        });
        Server {
            address,
            connections,
            heads,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    fn url(&self, scheme: &str, host: &str, path: &str) -> String {
        format!("{scheme}://{host}:{}{path}", self.address.port())
    }

    fn plain_url(&self) -> String {
        self.url("http", "127.0.0.1", "/")
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

async fn accept(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    handler: Handler,
    connections: Arc<AtomicUsize>,
    heads: Heads,
) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    while let Ok((stream, _)) = listener.accept().await {
        connections.fetch_add(1, Ordering::SeqCst);
        let (tls, heads) = (tls.clone(), Arc::clone(&heads));
        tokio::task::spawn_local(async move {
            match tls {
                None => serve(stream, handler, heads).await,
                Some(tls) => {
                    if let Ok(stream) = tokio_rustls::TlsAcceptor::from(tls).accept(stream).await {
                        serve(stream, handler, heads).await;
                    }
                }
            }
        });
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, handler: Handler, heads: Heads) {
    let Ok(mut connection) = h2::server::handshake(stream).await else {
        return;
    };
    while let Some(Ok((request, respond))) = connection.accept().await {
        let head = (
            request.method().clone(),
            request.uri().to_string(),
            request.headers().clone(),
        );
        heads.lock().unwrap().push(head);
        tokio::task::spawn_local(handler(request, respond));
    }
}

async fn send_all(mut stream: SendStream<Bytes>, mut body: Bytes) -> Result<(), h2::Error> {
    while !body.is_empty() {
        stream.reserve_capacity(body.len());
        let Some(capacity) = poll_fn(|context| stream.poll_capacity(context)).await else {
            return Ok(());
        };
        stream.send_data(body.split_to(capacity?.min(body.len())), false)?;
    }
    stream.send_data(Bytes::new(), true)
}

/// Answers with the request's body.
fn echo(request: Request<RecvStream>, mut respond: SendResponse<Bytes>) -> Handling {
    Box::pin(async move {
        let mut body = request.into_body();
        let stream = respond.send_response(Response::new(()), false)?;
        let mut all = Vec::new();
        while let Some(piece) = body.data().await {
            let piece = piece?;
            body.flow_control().release_capacity(piece.len())?;
            all.extend_from_slice(&piece);
        }
        send_all(stream, all.into()).await
    })
}

fn ok(_: Request<RecvStream>, mut respond: SendResponse<Bytes>) -> Handling {
    Box::pin(async move {
        respond
            .send_response(Response::new(()), false)?
            .send_data(Bytes::from_static(b"ok"), true)
    })
}

fn prior_knowledge() -> NetConfig {
    NetConfig {
        http: HttpVersions::Http2,
        ..config()
    }
}

fn offering(authority: &Authority, protocols: &[&[u8]]) -> Arc<ServerConfig> {
    let mut server = Arc::unwrap_or_clone(
        authority
            .issue(&["localhost", "127.0.0.1"], |_| ())
            .server(),
    );
    server.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Arc::new(server)
}

#[test]
fn one_connection_serves_one_call_after_another() {
    let server = Server::start(None, ok);
    run(async {
        let user = User::new(prior_knowledge());
        for _ in 0..20 {
            let call = user.get(&server.plain_url()).await;
            let response = call.result.unwrap();
            assert_eq!(
                (response.version, &response.body[..]),
                (Protocol::Http2, &b"ok"[..])
            );
            let exchange = call.exchange.unwrap();
            assert_eq!(
                (exchange.protocol, exchange.stamp),
                (Some(Protocol::Http2), Stamp::Exact)
            );
            assert!(exchange.phases.net_ns() > 0);
        }
        let funnel = user.funnel();
        assert_eq!(
            (funnel.answered, funnel.sent, funnel.connected),
            (20, 20, 20)
        );
        assert_eq!(
            (funnel.connections_opened, funnel.connections_reused),
            (1, 19)
        );
    });
    assert_eq!(server.connections(), 1);
}

#[test]
fn concurrent_calls_share_one_connection_even_while_it_is_opened() {
    let server = Server::start(None, ok);
    run(async {
        let user = User::new(prior_knowledge());
        let request = get(&server.plain_url());
        for _ in 0..3 {
            let calls = (0..30).map(|_| user.call(&request));
            for call in futures_util::future::join_all(calls).await {
                call.result.unwrap();
            }
        }
        assert_eq!(user.funnel().answered, 90);
    });
    assert_eq!(server.connections(), 1);
}

#[test]
fn large_bodies_pass_both_ways_within_the_peers_windows() {
    let server = Server::start(None, echo);
    let body: &'static [u8] = Box::leak((0..5_000_000).map(|index| (index % 251) as u8).collect());
    run(async {
        let user = User::new(prior_knowledge());
        for _ in 0..3 {
            let call = user
                .call(&request(Method::POST, &server.plain_url(), body))
                .await;
            assert!(call.result.unwrap().body == body);
            let exchange = call.exchange.unwrap();
            assert!(
                exchange.sent_bytes > body.len() as u64
                    && exchange.received_bytes > body.len() as u64
            );
        }
        assert_eq!(user.funnel().sent, 3);
    });
}

#[test]
fn a_response_before_the_request_has_left_is_a_response() {
    let early: Handler = |_, mut respond| {
        Box::pin(async move {
            respond.send_response(Response::builder().status(413).body(()).unwrap(), true)?;
            Ok(())
        })
    };
    let server = Server::start(None, early);
    let body: &'static [u8] = Box::leak(vec![0; 5_000_000].into_boxed_slice());
    run(async {
        let user = User::new(prior_knowledge());
        let call = user
            .call(&request(Method::POST, &server.plain_url(), body))
            .await;
        assert_eq!(call.result.unwrap().status, 413);
    });
}

#[test]
fn case_067_what_is_spoken_is_negotiated_and_falls_back() {
    let authority = Authority::new("ours");
    let h2_server = Server::start(Some(offering(&authority, &[b"h2", b"http/1.1"])), ok);
    let h1_server = Peer::start_tls(offering(&authority, &[b"http/1.1"]), |talk| {
        while talk.read_request()?.is_some() {
            talk.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
        Ok(())
    });
    run(async {
        let user = User::new(authority.trusting());
        for host in ["localhost", "127.0.0.1"] {
            let (h2_url, h1_url) = (
                h2_server.url("https", host, "/"),
                format!("https://{host}:{}/", h1_server.address().port()),
            );
            for (url, protocol) in [(&h2_url, Protocol::Http2), (&h1_url, Protocol::Http11)] {
                let request = get(url);
                let calls = (0..5).map(|_| user.call(&request));
                for call in futures_util::future::join_all(calls).await {
                    assert_eq!(call.result.unwrap().version, protocol, "{url}");
                    assert_ne!(call.exchange.unwrap().stamp, Stamp::User);
                }
            }
        }
    });
    assert_eq!(h2_server.connections(), 2, "one for each name of the host");
    assert_eq!(h1_server.connections(), 10, "one for each call at one time");
}

#[test]
fn asked_for_one_version_alone_no_other_is_spoken() {
    let authority = Authority::new("ours");
    let both = Server::start(Some(offering(&authority, &[b"h2"])), ok);
    let old = Peer::start_tls(offering(&authority, &[]), |talk| {
        talk.read_request().map(|_| ())
    });
    run(async {
        let only_http1 = NetConfig {
            http: HttpVersions::Http1,
            ..authority.trusting()
        };
        let failure = User::new(only_http1)
            .get(&both.url("https", "localhost", "/"))
            .await
            .result;
        assert_eq!(
            failure.unwrap_err().kind,
            ErrorKind::Tls,
            "the server knows no HTTP/1.1"
        );
        let only_http2 = NetConfig {
            http: HttpVersions::Http2,
            ..authority.trusting()
        };
        let url = format!("https://localhost:{}/", old.address().port());
        let failure = User::new(only_http2).get(&url).await.result.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::Protocol);
        assert!(failure.message.contains("--http2"), "{}", failure.message);
    });
}

#[test]
fn the_target_goes_into_pseudo_fields_and_connection_fields_are_dropped() {
    let server = Server::start(None, ok);
    run(async {
        let user = User::new(prior_knowledge());
        let mut request = get(&server.url("http", "localhost", "/path?query"));
        for (name, value) in [
            ("connection", "keep-alive"),
            ("keep-alive", "1"),
            ("x-mine", "kept"),
        ] {
            request.headers.insert(name, value.parse().unwrap());
        }
        user.call(&request).await.result.unwrap();
        request
            .headers
            .insert("host", "other.example".parse().unwrap());
        user.call(&request).await.result.unwrap();
    });
    let heads = server.heads.lock().unwrap();
    let port = server.address.port();
    assert_eq!(heads[0].1, format!("http://localhost:{port}/path?query"));
    let fields: Vec<_> = heads[0]
        .2
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    assert_eq!(fields, ["user-agent: nettare-test", "x-mine: kept"]);
    assert_eq!(heads[1].1, "http://other.example/path?query");
}

#[test]
fn policies_decide_how_long_shared_connections_are_kept() {
    let rows = [
        (
            ConnectionPolicy::PerVu,
            1,
            "kept from iteration to iteration",
        ),
        (
            ConnectionPolicy::PerIteration,
            2,
            "kept within each of the two iterations",
        ),
        (
            ConnectionPolicy::PerRequest,
            4,
            "one for each of the four requests",
        ),
    ];
    for (connections, opened, why) in rows {
        let server = Server::start(None, ok);
        run(async {
            let user = User::new(NetConfig {
                connections,
                ..prior_knowledge()
            });
            for _ in 0..2 {
                user.get(&server.plain_url()).await.result.unwrap();
                user.get(&server.plain_url()).await.result.unwrap();
                user.session.end_iteration();
            }
        });
        assert_eq!(server.connections(), opened, "{why}");
    }
}

#[test]
fn a_body_over_its_limit_resets_the_stream_alone() {
    let server = Server::start(None, echo);
    let body: &'static [u8] = Box::leak(vec![0; 100_000].into_boxed_slice());
    run(async {
        let user = User::new(NetConfig {
            body_limit_bytes: 1000,
            ..prior_knowledge()
        });
        let failure = user
            .call(&request(Method::POST, &server.plain_url(), body))
            .await
            .result;
        assert_eq!(failure.unwrap_err().kind, ErrorKind::BodyLimit);
        user.get(&server.plain_url()).await.result.unwrap();
    });
    assert_eq!(server.connections(), 1);
}
