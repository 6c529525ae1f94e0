//! HTTP/2 on one connection, which a virtual user's concurrent exchanges share.
//!
//! The connection is driven by a task of its own, since it has to answer its peer (settings, pings, windows) while no exchange
//! is under way. An exchange owns a stream: it waits for one where the peer's limit is reached (phase `blocked`), sends, and
//! collects. Dropping it resets the stream, not the connection.
//!
//! A deadline wants what has arrived to be looked at now, whatever the driver's task has got to. The connection therefore lies
//! in a cell that both may poll: the exchange polls it with the driver's own waker, so that no wake-up goes astray.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream, SendStream};
use http::{Response, header};
use nettare_core::sample::{ErrorKind, Failure};
use tokio::sync::Notify;

use crate::body::Collector;
use crate::client::Client;
use crate::error::failure;
use crate::http1::{Answer, Broken, Conduct, explain_io};
use crate::ledger::Ledger;
use crate::record::Stage;
use crate::stream::WireStream;
use crate::tap::{Tap, Tapped};
use crate::transport::Transport;

/// How much a server may send on one stream, and on all of them, ahead of what was taken. As large as browsers have it: the
/// window of a load tester must not be what a server waits for.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// One connection. The last handle closes it.
#[derive(Debug)]
pub(crate) struct Http2 {
    shared: Rc<Driven>,
    sender: SendRequest<Bytes>,
}

/// What the driver's task and the exchanges have in common.
#[derive(Debug)]
pub(crate) struct Driven {
    /// None once it has ended.
    connection: RefCell<Option<Connection<Tapped, Bytes>>>,
    /// The driver's waker, once it has run.
    waker: RefCell<Option<Waker>>,
    tap: Rc<RefCell<Tap>>,
    wire: WireStream,
    /// Streams under way, and who waits for one to end.
    streams: Cell<usize>,
    stream_ended: Notify,
}

/// A place among the streams under way.
struct Place<'a> {
    driven: &'a Driven,
    /// Whose it is, once the stream has a number.
    stream: Cell<Option<u32>>,
}

impl Http2 {
    /// Speaks HTTP/2 on `transport` from now on, and starts the driver's task.
    ///
    /// # Errors
    ///
    /// When the preface cannot be written.
    pub(crate) async fn start(
        transport: Transport,
        client: &Rc<Client>,
    ) -> Result<Rc<Http2>, Failure> {
        let wire = transport.wire().clone();
        let tap = Rc::new(RefCell::new(Tap::new(Rc::clone(client))));
        let handshake = Builder::new()
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .enable_push(false)
            .handshake(Tapped::new(transport, Rc::clone(&tap)));
        let (sender, connection) = handshake.await.map_err(|error| explain(&error))?;
        let shared = Rc::new(Driven {
            connection: RefCell::new(Some(connection)),
            waker: RefCell::default(),
            tap,
            wire,
            streams: Cell::new(0),
            stream_ended: Notify::new(),
        });
        let driven = Rc::clone(&shared);
        tokio::task::spawn_local(poll_fn(move |context| driven.drive(context)));
        Ok(Rc::new(Http2 { shared, sender }))
    }

    /// Whether it takes more streams, as far as is known.
    pub(crate) fn is_open(&self) -> bool {
        self.shared.connection.borrow().is_some() && !self.shared.tap.borrow().is_going_away()
    }

    /// Sends `request` with `body` on a stream of its own and collects the response.
    pub(crate) async fn exchange(
        &self,
        request: http::Request<()>,
        body: Bytes,
        conduct: &Conduct<'_>,
        collector: impl FnOnce(Option<u64>) -> Result<Collector, Failure>,
    ) -> Result<Answer, Broken> {
        let place = self.wait_for_a_place(conduct).await?;
        let ledger = Rc::new(Ledger::default());
        ledger.begin(!body.is_empty());
        conduct.record.begin_exchange(&ledger, self.shared.clone());
        let sent = self.sender.clone().send_request(request, body.is_empty());
        let (response, sending) = sent.map_err(|error| Broken::unprocessed(explain(&error)))?;
        place.is_for(response.stream_id().as_u32(), &ledger);
        let answered = answer(response, conduct, collector);
        alongside(send_body(sending, body), answered)
            .await
            .map_err(|ended| place.broken(ended, &ledger))
    }

    /// Waits while as many streams are under way as the peer allows (RFC 9113, section 5.1.2).
    async fn wait_for_a_place(&self, conduct: &Conduct<'_>) -> Result<Place<'_>, Broken> {
        let driven = &*self.shared;
        let is_full = || driven.streams.get() >= self.sender.current_max_send_streams();
        if is_full() {
            conduct.record.enter(Stage::Blocked);
            while is_full() {
                driven.stream_ended.notified().await;
                if !self.is_open() {
                    return Err(Broken::unprocessed(closed()));
                }
            }
            conduct.record.leave(conduct.record.elapsed_ns());
        }
        driven.streams.set(driven.streams.get() + 1);
        Ok(Place {
            driven,
            stream: Cell::new(None),
        })
    }
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Driven {
    /// The driver's task.
    fn drive(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut waker = self.waker.borrow_mut();
        if waker
            .as_ref()
            .is_none_or(|waker| !waker.will_wake(context.waker()))
        {
            *waker = Some(context.waker().clone());
        }
        drop(waker);
        self.poll(context)
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut connection = self.connection.borrow_mut();
        let Some(driven) = connection.as_mut() else {
            return Poll::Ready(());
        };
        let ended = Pin::new(driven).poll(context).is_ready();
        if ended {
            *connection = None;
        }
        drop(connection);
        // Those who wait for a stream look for themselves: the peer may have raised its limit, or the connection ended.
        self.stream_ended.notify_waiters();
        if ended {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Reads whatever has arrived, now.
    pub(crate) fn look_again(&self) {
        self.wire.ask_anyway();
        let waker = self.waker.borrow().clone();
        if let Some(waker) = waker {
            let _ = self.poll(&mut Context::from_waker(&waker));
        }
    }

    fn close(&self) {
        self.connection.borrow_mut().take();
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

impl Place<'_> {
    fn is_for(&self, stream: u32, ledger: &Rc<Ledger>) {
        self.stream.set(Some(stream));
        self.driven
            .tap
            .borrow_mut()
            .register(stream, Rc::clone(ledger));
    }

    fn broken(&self, ended: Ended, ledger: &Ledger) -> Broken {
        let error = match ended {
            Ended::GivenUp(failure) => return Broken::given_up(failure),
            Ended::Broken(error) => error,
        };
        let failure = self.with_the_peers_code(explain(&error));
        let refused =
            error.is_reset() && error.is_remote() && error.reason() == Some(Reason::REFUSED_STREAM);
        Broken {
            died_unanswered: failure.kind == ErrorKind::Reset && !ledger.response_began(),
            unsent: !ledger.wrote_anything(),
            unprocessed: refused || self.was_left_out(),
            failure,
        }
    }
}

impl Place<'_> {
    /// What the peer said when it took its leave is a better reason than that the connection ended then.
    fn with_the_peers_code(&self, failure: Failure) -> Failure {
        match self.driven.tap.borrow().going_away_code() {
            Some(code) if code != 0 && failure.kind == ErrorKind::Reset && failure.code == 0 => {
                let reason = Reason::from(code);
                let message = format!(
                    "the peer closed the connection: {reason}; look at the target's log for why"
                );
                Failure {
                    code,
                    message,
                    ..failure
                }
            }
            _ => failure,
        }
    }

    fn was_left_out(&self) -> bool {
        self.stream
            .get()
            .is_some_and(|stream| self.driven.tap.borrow().was_left_out(stream))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.driven.streams.set(self.driven.streams.get() - 1);
        if let Some(stream) = self.stream.get() {
            self.driven.tap.borrow_mut().forget(stream);
        }
        self.driven.stream_ended.notify_one();
    }
}

/// Why an exchange came to no answer.
enum Ended {
    /// The peer, the network or the protocol.
    Broken(h2::Error),
    /// This side: a limit of the body.
    GivenUp(Failure),
}

impl From<h2::Error> for Ended {
    fn from(error: h2::Error) -> Ended {
        Ended::Broken(error)
    }
}

/// Does `aside` for as long as `main` is not done: a response may come, and even end, before its request has left whole.
async fn alongside<T>(aside: impl Future<Output = ()>, main: impl Future<Output = T>) -> T {
    let (mut aside, mut main) = (pin!(aside), pin!(main));
    let mut aside_done = false;
    poll_fn(|context| {
        aside_done = aside_done || aside.as_mut().poll(context).is_ready();
        main.as_mut().poll(context)
    })
    .await
}

/// Sends the body as the peer's window lets it. An error is not told here: the response's future has it too, or has something
/// better, a response that came early.
async fn send_body(mut stream: SendStream<Bytes>, mut body: Bytes) {
    while !body.is_empty() {
        stream.reserve_capacity(body.len());
        let Some(Ok(capacity)) = poll_fn(|context| stream.poll_capacity(context)).await else {
            return;
        };
        let piece = body.split_to(capacity.min(body.len()));
        if stream.send_data(piece, body.is_empty()).is_err() {
            return;
        }
    }
    // Dropping the stream before its response has come would reset it if the peer has said that it wants no more of the body.
    std::future::pending::<()>().await;
}

async fn answer(
    response: ResponseFuture,
    conduct: &Conduct<'_>,
    collector: impl FnOnce(Option<u64>) -> Result<Collector, Failure>,
) -> Result<Answer, Ended> {
    let response = response.await?;
    let protocol = crate::http1::protocol_of(http::Version::HTTP_2);
    conduct
        .record
        .answered_by(protocol, response.status().as_u16());
    let mut collector = collector(announced_bytes(&response)).map_err(Ended::GivenUp)?;
    let (mut head, mut body) = response.into_parts();
    head.version = http::Version::HTTP_2;
    while let Some(piece) = next_piece(&mut body).await? {
        let length = piece.len();
        collector.push(piece).map_err(Ended::GivenUp)?;
        body.flow_control().release_capacity(length)?;
    }
    let (body, body_length) = collector.finish();
    Ok(Answer {
        head,
        body,
        body_length,
    })
}

/// The next piece of the body, none at its end. A peer that resets the stream without an error after its response wants no more
/// of the request; the response stands (RFC 9113, section 8.1).
async fn next_piece(body: &mut RecvStream) -> Result<Option<Bytes>, h2::Error> {
    match body.data().await {
        Some(Ok(piece)) => Ok(Some(piece)),
        Some(Err(error)) if error.reason() == Some(Reason::NO_ERROR) => Ok(None),
        Some(Err(error)) => Err(error),
        None => Ok(None),
    }
}

fn announced_bytes(response: &Response<RecvStream>) -> Option<u64> {
    if response.body().is_end_stream() {
        return Some(0);
    }
    response
        .headers()
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

fn closed() -> Failure {
    failure(
        ErrorKind::Reset,
        0,
        "the peer closed the connection while a stream was waited for; look at the target's log",
    )
}

/// Makes a failure of the library's error, with the HTTP/2 error code (RFC 9113, section 7) as its number.
fn explain(error: &h2::Error) -> Failure {
    if let Some(cause) = error.get_io() {
        return explain_io(cause);
    }
    let code = error.reason().map_or(0, u32::from);
    if error.reason() == Some(Reason::HTTP_1_1_REQUIRED) {
        return failure(
            ErrorKind::Protocol,
            code,
            "the peer wants HTTP/1.1 for this request; use --http1",
        );
    }
    if error.is_remote() {
        let message =
            format!("the peer ended the exchange: {error}; look at the target's log for why");
        return failure(ErrorKind::Reset, code, message);
    }
    if error.is_library() || error.is_go_away() || error.is_reset() {
        let message = format!(
            "the peer does not speak HTTP/2 as it should: {error}; check that it speaks it, or use --http1"
        );
        return failure(ErrorKind::Protocol, code, message);
    }
    let message = format!("the request cannot be sent as HTTP/2: {error}");
    failure(ErrorKind::Invalid, code, message)
}
