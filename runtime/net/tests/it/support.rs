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
    stopping: Arc<AtomicBool>,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
    acceptor: Option<JoinHandle<()>>,
}

/// One connection, as a script sees it.
pub(crate) struct Talk {
    stream: TcpStream,
    unread: Vec<u8>,
    requests: Arc<Mutex<Vec<String>>>,
    /// How many connections there were before this one.
    pub(crate) index: usize,
}

impl Peer {
    pub(crate) fn start(
        script: impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static,
    ) -> Peer {
        Peer::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), script)
    }

    pub(crate) fn start_at(
        address: SocketAddr,
        script: impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static,
    ) -> Peer {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let stopping = Arc::new(AtomicBool::new(false));
        let connections = Arc::new(AtomicUsize::new(0));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(script);
        let acceptor = thread::spawn({
            let (stopping, connections, requests) =
                (stopping.clone(), connections.clone(), requests.clone());
            move || {
                while let Ok((stream, _)) = listener.accept() {
                    if stopping.load(Ordering::SeqCst) {
                        break;
                    }
                    stream.set_nodelay(true).unwrap();
                    let index = connections.fetch_add(1, Ordering::SeqCst);
                    let (script, requests) = (script.clone(), requests.clone());
                    thread::spawn(move || {
                        let mut talk = Talk {
                            stream,
                            unread: Vec::new(),
                            requests,
                            index,
                        };
                        // A client that goes away in mid-script is part of many tests.
                        let _ = script(&mut talk);
                    });
                }
            }
        });
        Peer {
            address,
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
        format!("http://{}{path}", self.address)
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
        self.stream.write_all(bytes)
    }

    /// Closes with a reset instead of an end.
    pub(crate) fn reset(self: &mut Talk) -> io::Result<()> {
        let socket = socket2::SockRef::from(&self.stream);
        socket.set_linger(Some(std::time::Duration::ZERO))?;
        self.stream = TcpStream::connect(self.stream.local_addr()?)?;
        Ok(())
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    fn read_more(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 64 * 1024];
        let length = self.stream.read(&mut buffer)?;
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
            funnel.answered + funnel.failed_total() + funnel.retried + funnel.in_flight(),
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
