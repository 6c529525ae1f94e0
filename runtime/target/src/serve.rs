//! Threads, connections, and their orderly end.
//!
//! Each thread runs a single-threaded runtime of its own. The first one also accepts, for all of them, and deals connections out
//! in turn; sharing the listening sockets by `SO_REUSEPORT` would spread them by hash, unevenly, and lose those that wait in a
//! closed listener's queue.
//!
//! The end: the stop signal makes the first thread drop the listeners and every connection finish what it is answering; a thread
//! ends when its connections have, or after [`GRACE`].

use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::TargetOptions;
use crate::answer::App;
use crate::count::{OpenConnection, Table};
use crate::door::Door;
use crate::wire::{Link, Socket};

/// How long responses under way may take to end when the target is stopped.
const GRACE: Duration = Duration::from_secs(2);
/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long to leave the listener alone when there is no descriptor for another connection.
const NO_DESCRIPTOR_PAUSE: Duration = Duration::from_millis(20);

/// The serving threads. Dropping it stops them and waits for their end.
#[derive(Debug)]
pub(crate) struct Crew {
    /// Dropped to give the stop signal.
    stop: Option<watch::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

/// A connection on its way to the thread that will serve it.
struct Accepted {
    stream: std::net::TcpStream,
    /// Given back when the connection ends.
    permit: OwnedSemaphorePermit,
    /// Counted in the serving thread's table from the accept on.
    open: OpenConnection,
}

/// What a thread serves its connections with.
#[derive(Clone)]
struct Station {
    app: Arc<App>,
    table: Arc<Table>,
    tls: Option<TlsAcceptor>,
    http: auto::Builder<TokioExecutor>,
    stop: watch::Receiver<()>,
}

impl Crew {
    pub(crate) fn start(
        listeners: Vec<TcpListener>,
        tls: Option<&TlsAcceptor>,
        app: &Arc<App>,
        options: &TargetOptions,
    ) -> anyhow::Result<Crew> {
        let (stop, stopped) = watch::channel(());
        let mut crew = Crew {
            stop: Some(stop),
            threads: Vec::new(),
        };
        let (desks, inboxes): (Vec<_>, Vec<_>) = (0..options.threads.max(1))
            .map(|n| Desk::new(app.counters.table(n)))
            .unzip();
        let mut dealer = Some(Dealer {
            listeners,
            desks,
            permits: Arc::new(Semaphore::new(options.max_connections.max(1))),
        });
        for (n, inbox) in inboxes.into_iter().enumerate() {
            let station = Station {
                app: app.clone(),
                table: app.counters.table(n),
                tls: tls.cloned(),
                http: auto::Builder::new(TokioExecutor::new()),
                stop: stopped.clone(),
            };
            let thread = start_thread(n, station, inbox, dealer.take())?;
            crew.threads.push(thread);
        }
        Ok(crew)
    }

    /// Stops all threads and waits for them.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
        for thread in self.threads.drain(..) {
            // A thread that panicked has told so on stderr; there is nothing to add.
            drop(thread.join());
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.stop();
    }
}

fn start_thread(
    number: usize,
    station: Station,
    inbox: mpsc::UnboundedReceiver<Accepted>,
    dealer: Option<Dealer>,
) -> anyhow::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start a serving runtime")?;
    std::thread::Builder::new()
        .name(format!("target-{number}"))
        .spawn(move || runtime.block_on(run(station, inbox, dealer)))
        .context("failed to start a serving thread")
}

/// One thread's whole life.
async fn run(
    station: Station,
    mut inbox: mpsc::UnboundedReceiver<Accepted>,
    dealer: Option<Dealer>,
) {
    let mut connections = JoinSet::new();
    let mut stop = station.stop.clone();
    let accepting = dealer.map(|dealer| dealer.start());
    loop {
        tokio::select! {
            accepted = inbox.recv() => match accepted {
                Some(accepted) => drop(connections.spawn(station.clone().serve(accepted))),
                None => break,
            },
            _ = stop.changed() => break,
            Some(_) = connections.join_next() => {}
        }
    }
    drop(accepting);
    drop(inbox);
    // What is still open after the grace time is dropped with the runtime.
    drop(
        tokio::time::timeout(GRACE, async {
            while connections.join_next().await.is_some() {}
        })
        .await,
    );
}

/// Accepts for all threads.
struct Dealer {
    listeners: Vec<TcpListener>,
    desks: Vec<Desk>,
    /// As many as connections may be open.
    permits: Arc<Semaphore>,
}

/// Where one thread's connections are handed over.
#[derive(Clone)]
struct Desk {
    table: Arc<Table>,
    sender: mpsc::UnboundedSender<Accepted>,
}

impl Desk {
    /// A desk, and where what is handed over arrives.
    fn new(table: Arc<Table>) -> (Desk, mpsc::UnboundedReceiver<Accepted>) {
        let (sender, inbox) = mpsc::unbounded_channel();
        (Desk { table, sender }, inbox)
    }
}

impl Dealer {
    /// Accepts on every listener until what is returned is dropped.
    fn start(self) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for listener in self.listeners {
            tasks.spawn(accept(listener, self.desks.clone(), self.permits.clone()));
        }
        tasks
    }
}

async fn accept(listener: TcpListener, desks: Vec<Desk>, permits: Arc<Semaphore>) {
    // The listener is non-blocking and this is a runtime with I/O, so it cannot fail; were it to, nothing would be accepted.
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    for desk in desks.iter().cycle() {
        let Ok(permit) = permits.clone().acquire_owned().await else {
            return;
        };
        let stream = loop {
            match listener
                .accept()
                .await
                .and_then(|(stream, _)| stream.into_std())
            {
                Ok(stream) => break stream,
                // Out of descriptors, most likely: the listener stays readable, so without a pause this would spin.
                Err(_) => tokio::time::sleep(NO_DESCRIPTOR_PAUSE).await,
            }
        };
        let open = desk.table.open_connection();
        if desk
            .sender
            .send(Accepted {
                stream,
                permit,
                open,
            })
            .is_err()
        {
            return;
        }
    }
}

impl Station {
    /// Serves one connection to its end.
    async fn serve(self, accepted: Accepted) {
        let Accepted {
            stream,
            permit,
            open,
        } = accepted;
        let Ok(stream) = TcpStream::from_std(stream) else {
            return;
        };
        // Without it a response written in two pieces waits for the client's delayed acknowledgement.
        drop(stream.set_nodelay(true));
        let link = Arc::new(Link::default());
        let socket = Socket::new(stream, link.clone());
        match self.tls.clone() {
            None => self.serve_http(socket, link).await,
            Some(tls) => {
                if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, tls.accept(socket)).await {
                    self.serve_http(stream, link).await;
                }
            }
        }
        drop((permit, open));
    }

    async fn serve_http(
        self,
        io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        link: Arc<Link>,
    ) {
        let door = Door {
            app: self.app,
            table: self.table,
            link: link.clone(),
        };
        let mut connection = pin!(self.http.serve_connection(TokioIo::new(io), door));
        let mut stop = self.stop;
        let mut stopping = pin!(stop.changed());
        let mut stopped = false;
        std::future::poll_fn(|cx| {
            if !stopped && stopping.as_mut().poll(cx).is_ready() {
                stopped = true;
                connection.as_mut().graceful_shutdown();
            }
            // How a connection ended is the client's to judge; the requests it carried are counted already.
            let ended = connection.as_mut().poll(cx).is_ready();
            if ended || link.asked().is_some() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}
