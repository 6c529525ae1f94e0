//! Scripted peers and a client's thread to meet them with.

use std::cell::RefCell;
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use http::{HeaderMap, Method};
use nettare_core::plan::{ConnectionPolicy, HttpVersions, Timestamps};
use nettare_core::sample::{Exchange, Funnel};
use nettare_net::{
    AllowList, Call, Client, NetConfig, Request, Session, Shared, Target, TlsOptions,
};

/// A peer that does to each connection what its script says, on a thread of its own per connection.
pub(crate) struct Peer {
    address: SocketAddr,
    scheme: &'static str,
    stopping: Arc<AtomicBool>,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
    acceptor: Option<JoinHandle<()>>,
}

/// One connection, as a script sees it.
pub(crate) struct Talk {
    /// None once it was reset.
    stream: Option<TcpStream>,
    tls: Option<rustls::ServerConnection>,
    unread: Vec<u8>,
    requests: Arc<Mutex<Vec<String>>>,
    /// How many connections there were before this one.
    pub(crate) index: usize,
}

type Script = dyn Fn(&mut Talk) -> io::Result<()> + Send + Sync;

impl Peer {
    pub(crate) fn start(
        script: impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static,
    ) -> Peer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        Peer::serve(listener, None, Arc::new(script))
    }

    /// On a listener of the caller's.
    pub(crate) fn start_on(
        listener: TcpListener,
        script: impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static,
    ) -> Peer {
        Peer::serve(listener, None, Arc::new(script))
    }

    /// Over TLS.
    pub(crate) fn start_tls(
        config: Arc<rustls::ServerConfig>,
        script: impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static,
    ) -> Peer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        Peer::serve(listener, Some(config), Arc::new(script))
    }

    fn serve(
        listener: TcpListener,
        tls: Option<Arc<rustls::ServerConfig>>,
        script: Arc<Script>,
    ) -> Peer {
        let address = listener.local_addr().unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let stopping = Arc::new(AtomicBool::new(false));
        let connections = Arc::new(AtomicUsize::new(0));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let acceptor = thread::spawn({
            let (stopping, connections) = (stopping.clone(), connections.clone());
            let requests = requests.clone();
            move || {
                while let Ok((stream, _)) = listener.accept() {
                    if stopping.load(Ordering::SeqCst) {
                        break;
                    }
                    stream.set_nodelay(true).unwrap();
                    let index = connections.fetch_add(1, Ordering::SeqCst);
                    let tls = tls
                        .clone()
                        .map(|tls| rustls::ServerConnection::new(tls).unwrap());
                    let requests = requests.clone();
                    let mut talk = Talk {
                        stream: Some(stream),
                        tls,
                        unread: Vec::new(),
                        requests,
                        index,
                    };
                    let script = script.clone();
                    // A client that goes away in mid-script is part of many tests.
                    thread::spawn(move || script(&mut talk).ok());
                }
            }
        });
        Peer {
            address,
            scheme,
            stopping,
            connections,
            requests,
            acceptor: Some(acceptor),
        }
    }

    /// Answers every request with `response`, byte for byte, on as many connections as there come.
    pub(crate) fn answering(response: impl Into<Vec<u8>>) -> Peer {
        let response = response.into();
        Peer::start(move |talk| {
            while talk.read_request()?.is_some() {
                talk.write(&response)?;
            }
            Ok(())
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Heads and bodies of all requests so far, in the order in which they were read.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().unwrap();
        }
    }
}

impl Talk {
    /// Reads one request with its body (by `content-length`); none at the end of the stream.
    pub(crate) fn read_request(&mut self) -> io::Result<Option<String>> {
        let head_length = loop {
            if let Some(at) = find(&self.unread, b"\r\n\r\n") {
                break at + 4;
            }
            if self.read_more()? == 0 {
                return Ok(None);
            }
        };
        let head = String::from_utf8_lossy(&self.unread[..head_length]).into_owned();
        let body_length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.trim().parse().unwrap());
        while self.unread.len() < head_length + body_length {
            if self.read_more()? == 0 {
                return Ok(None);
            }
        }
        let whole: Vec<u8> = self.unread.drain(..head_length + body_length).collect();
        let text = String::from_utf8_lossy(&whole).into_owned();
        self.requests.lock().unwrap().push(text.clone());
        Ok(Some(text))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        match &mut self.tls {
            None => stream.write_all(bytes),
            Some(tls) => rustls::Stream::new(tls, stream).write_all(bytes),
        }
    }

    /// Reads exactly `length` bytes; none at the end of the stream.
    pub(crate) fn read_exactly(&mut self, length: usize) -> io::Result<Option<Vec<u8>>> {
        while self.unread.len() < length {
            if self.read_more()? == 0 {
                return Ok(None);
            }
        }
        Ok(Some(self.unread.drain(..length).collect()))
    }

    /// Closes with a reset instead of an end.
    pub(crate) fn reset(&mut self) -> io::Result<()> {
        let stream = self.stream.take().ok_or(io::ErrorKind::NotConnected)?;
        socket2::SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO))
    }

    pub(crate) fn close(&mut self) {
        self.stream = None;
    }

    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        self.stream.as_mut().unwrap()
    }

    /// The name the client asked for, once something was read.
    pub(crate) fn server_name(&self) -> Option<&str> {
        self.tls.as_ref()?.server_name()
    }

    fn read_more(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 64 * 1024];
        let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let length = match &mut self.tls {
            None => stream.read(&mut buffer)?,
            Some(tls) => rustls::Stream::new(tls, stream).read(&mut buffer)?,
        };
        self.unread.extend_from_slice(&buffer[..length]);
        Ok(length)
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}

/// Settings that reach loopback alone and forbid nothing else.
pub(crate) fn config() -> NetConfig {
    NetConfig {
        timestamps: Timestamps::Auto,
        http: HttpVersions::Negotiated,
        tls: TlsOptions::default(),
        user_agent: "nettare-test".to_owned(),
        allow: AllowList::default(),
        timeout_ns: 10_000_000_000,
        max_redirects: 10,
        connections: ConnectionPolicy::PerVu,
        body_limit_bytes: 64 * 1024 * 1024,
        bodies_budget_bytes: 256 * 1024 * 1024,
    }
}

pub(crate) fn get(url: &str) -> Request {
    request(Method::GET, url, b"")
}

pub(crate) fn request(method: Method, url: &str, body: &'static [u8]) -> Request {
    Request {
        method,
        target: Arc::new(Target::parse(url).unwrap()),
        headers: HeaderMap::new(),
        body: Bytes::from_static(body),
        timeout_ns: None,
        max_redirects: None,
        keep_body: true,
    }
}

/// A worker with one session, which remembers every exchange.
pub(crate) struct User {
    pub(crate) client: Rc<Client>,
    pub(crate) session: Rc<Session>,
    pub(crate) exchanges: Rc<RefCell<Vec<Exchange>>>,
}

impl User {
    pub(crate) fn new(config: NetConfig) -> User {
        let client = Client::new(Shared::new(config).unwrap());
        let session = Session::new(&client);
        User {
            client,
            session,
            exchanges: Rc::default(),
        }
    }

    pub(crate) async fn call(&self, request: &Request) -> Call {
        let exchanges = self.exchanges.clone();
        self.session
            .call(request, &mut |exchange| {
                exchanges.borrow_mut().push(exchange.clone())
            })
            .await
    }

    pub(crate) async fn get(&self, url: &str) -> Call {
        self.call(&get(url)).await
    }

    pub(crate) fn funnel(&self) -> Funnel {
        let funnel = self.client.funnel();
        assert_eq!(
            funnel.attempted,
            funnel.answered + funnel.failed_total() + funnel.retried + funnel.in_flight,
            "{funnel:?}"
        );
        funnel
    }
}

/// Runs `work` as a worker's I/O thread does.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, work)
}

/// Runs `work` with a session under the usual settings.
pub(crate) fn run_user<T, F: Future<Output = T>>(work: impl FnOnce(User) -> F) -> T {
    run(async { work(User::new(config())).await })
}
