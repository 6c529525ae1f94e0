//! HTTP/1.1 on one connection, through hyper's connection API.
//!
//! hyper splits a connection in two: a handle that takes requests, and a future that does the reading and writing. Usually the
//! future is spawned as a task of its own, and each response wakes first that task and then, through a channel, the caller's.
//! Here one connection serves one exchange at a time, so the exchange itself polls the future: one wake-up an exchange, and an
//! idle connection costs nothing. What happens to an idle connection is looked at when it is taken up again.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Response, response};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use nettare_core::sample::{ErrorKind, Failure, Protocol};

use crate::body::{Collector, RequestBody};
use crate::client::Client;
use crate::error::{errno, failure};
use crate::record::Record;
use crate::stream::WireStream;
use crate::tls::{explain_rustls, rustls_cause};
use crate::transport::Transport;

/// One connection.
#[derive(Debug)]
pub(crate) struct Http1 {
    sender: SendRequest<RequestBody>,
    connection: Connection<Transport, RequestBody>,
    wire: WireStream,
    /// The connection's future has ended and must not be polled again.
    ended: bool,
}

/// What an exchange needs besides its connection.
pub(crate) struct Conduct<'a> {
    pub(crate) client: &'a Client,
    pub(crate) record: &'a Record,
}

/// What hyper makes of a request: a response's head, or the request back.
type Sent = Result<Response<Incoming>, TrySendError<http::Request<RequestBody>>>;

/// An exchange that came to nothing.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) failure: Failure,
    /// The connection died before a byte of response; on a connection that had served before, it may have been dead already.
    pub(crate) died_unanswered: bool,
    /// No byte of the request reached the kernel.
    pub(crate) unsent: bool,
    /// The peer says that it has not looked at the request.
    pub(crate) unprocessed: bool,
}

/// A response that arrived whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: response::Parts,
    pub(crate) body: Bytes,
    pub(crate) body_length: u64,
}

impl Http1 {
    /// Speaks HTTP/1.1 on `transport` from now on. Nothing is sent yet.
    pub(crate) async fn start(transport: Transport) -> Result<Http1, Failure> {
        let wire = transport.wire().clone();
        let started = Builder::new().handshake(transport).await;
        let (sender, connection) = started.map_err(|error| explain(&error))?;
        Ok(Http1 {
            sender,
            connection,
            wire,
            ended: false,
        })
    }

    pub(crate) fn wire(&self) -> &WireStream {
        &self.wire
    }

    /// Whether another exchange may follow: the response left the connection in order, and nothing arrived since.
    pub(crate) fn is_idle(&self) -> bool {
        !self.ended && self.sender.is_ready() && !self.wire.is_readable()
    }

    /// Begins an exchange. What is given back goes to [`Http1::receive`]; nothing is sent before.
    pub(crate) fn send(
        &mut self,
        request: http::Request<RequestBody>,
        conduct: &Conduct<'_>,
    ) -> impl Future<Output = Sent> + use<> {
        self.wire.ledger().begin(!request.body().is_end_stream());
        conduct
            .record
            .begin_exchange(self.wire.ledger(), self.wire.clone());
        self.wire.await_head();
        self.sender.try_send_request(request)
    }

    /// Sends the request that `sending` stands for, and collects the response.
    pub(crate) async fn receive(
        &mut self,
        sending: impl Future<Output = Sent>,
        conduct: &Conduct<'_>,
        collector: impl FnOnce(Option<u64>) -> Result<Collector, Failure>,
    ) -> Result<Answer, Broken> {
        let response = match self.drive(conduct, pin!(sending)).await {
            Ok(response) => response,
            Err(mut error) => {
                let unsent = error.take_message().is_some();
                return Err(self.broken(&error.into_error(), unsent));
            }
        };
        self.wire.head_came();
        conduct
            .record
            .answered_by(protocol_of(response.version()), response.status().as_u16());
        self.collect(response, conduct, collector).await
    }

    async fn collect(
        &mut self,
        response: Response<Incoming>,
        conduct: &Conduct<'_>,
        collector: impl FnOnce(Option<u64>) -> Result<Collector, Failure>,
    ) -> Result<Answer, Broken> {
        let (head, mut body) = response.into_parts();
        let mut collector = collector(body.size_hint().exact()).map_err(Broken::given_up)?;
        while let Some(frame) = self.drive(conduct, pin!(body.frame())).await {
            let frame = frame.map_err(|error| self.broken(&error, false))?;
            if let Ok(piece) = frame.into_data() {
                collector.push(piece).map_err(Broken::given_up)?;
            }
        }
        let (body, body_length) = collector.finish();
        Ok(Answer {
            head,
            body,
            body_length,
        })
    }

    /// Polls `work`, a future that only the connection can bring forward, together with the connection.
    ///
    /// `work` gets a waker that does nothing: whatever makes it ready happens inside the poll of the connection, which is woken
    /// by the socket, and `work` is asked again right after.
    async fn drive<F: Future>(
        &mut self,
        conduct: &Conduct<'_>,
        mut work: Pin<&mut F>,
    ) -> F::Output {
        let mut silent = Context::from_waker(Waker::noop());
        std::future::poll_fn(|context| {
            if let Poll::Ready(output) = work.as_mut().poll(&mut silent) {
                return Poll::Ready(output);
            }
            self.poll_connection(context);
            conduct.record.note_sent(conduct.client, self.wire.ledger());
            work.as_mut().poll(&mut silent)
        })
        .await
    }

    /// Once the connection has ended, hyper has given every piece of work its result, errors included.
    fn poll_connection(&mut self, context: &mut Context<'_>) {
        if !self.ended {
            self.ended = Pin::new(&mut self.connection).poll(context).is_ready();
        }
    }

    fn broken(&self, error: &hyper::Error, unsent: bool) -> Broken {
        let ledger = self.wire.ledger();
        let failure = explain(error);
        Broken {
            died_unanswered: failure.kind == ErrorKind::Reset && !ledger.response_began(),
            unsent: unsent || !ledger.wrote_anything(),
            unprocessed: false,
            failure,
        }
    }
}

impl Broken {
    /// It was us who gave up; trying again would not help.
    pub(crate) fn given_up(failure: Failure) -> Broken {
        Broken {
            failure,
            died_unanswered: false,
            unsent: false,
            unprocessed: false,
        }
    }

    /// The peer never looked at the request.
    pub(crate) fn unprocessed(failure: Failure) -> Broken {
        Broken {
            failure,
            died_unanswered: false,
            unsent: true,
            unprocessed: true,
        }
    }
}

pub(crate) fn protocol_of(version: http::Version) -> Protocol {
    match version {
        http::Version::HTTP_09 | http::Version::HTTP_10 => Protocol::Http10,
        http::Version::HTTP_2 => Protocol::Http2,
        _ => Protocol::Http11,
    }
}

/// The limits are those of the library that reads heads, with its buffer as it is by default.
const HEAD_TOO_LARGE: &str = "the head of the response has more than 100 fields or more than 408 KiB, the most that is read of \
                              one over HTTP/1.1; have the target send less";

/// Makes a failure of hyper's error: whose fault, and the number of the cause if it has one.
fn explain(error: &hyper::Error) -> Failure {
    if let Some(cause) = io_cause(error) {
        return explain_io(cause);
    }
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return failure(
            ErrorKind::Reset,
            0,
            "the peer closed the connection before its response was whole; look at the target's log for why",
        );
    }
    if error.is_parse_too_large() {
        return failure(ErrorKind::Protocol, 0, HEAD_TOO_LARGE);
    }
    if error.is_user() {
        return failure(
            ErrorKind::Invalid,
            0,
            format!("the request cannot be sent as HTTP/1.1: {}", chain(error)),
        );
    }
    let message = format!(
        "the peer does not speak HTTP/1.1 as it should: {}; check the URL's scheme and port",
        chain(error)
    );
    failure(ErrorKind::Protocol, 0, message)
}

/// Makes a failure of an I/O error in mid-exchange.
pub(crate) fn explain_io(error: &io::Error) -> Failure {
    if let Some(cause) = rustls_cause(error) {
        return explain_rustls(cause, "the peer");
    }
    let kind = match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput, _) => ErrorKind::Protocol,
        (_, Some(libc::ENOBUFS | libc::ENOMEM)) => ErrorKind::GeneratorLimit,
        _ => ErrorKind::Reset,
    };
    let message = match kind {
        ErrorKind::Protocol => format!("the peer broke the protocol: {error}"),
        ErrorKind::GeneratorLimit => {
            format!("this machine is out of memory for sockets: {error}; lower the load on it")
        }
        _ => format!(
            "the connection broke in mid-exchange: {error}; look at the target's log for why"
        ),
    };
    failure(kind, errno(error), message)
}

fn io_cause(error: &hyper::Error) -> Option<&io::Error> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref() {
            return Some(error);
        }
        cause = error.source();
    }
    None
}

fn chain(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
