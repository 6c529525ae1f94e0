//! One request, from its head to the response that hyper sends: counted, routed, its body read, answered.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{Method, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::service::Service;
use thiserror::Error;

use crate::answer::{Answer, App, error, refuse};
use crate::body::{Counted, Source};
use crate::count::{Table, Ticket};
use crate::route::{Name, Route};
use crate::wire::{Cut, Link};

/// Longest request body of the routes that look at it; the others take any length and throw it away.
const LONGEST_BODY: usize = 1 << 20;

/// What hyper calls for each request of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(crate) app: Arc<App>,
    /// The serving thread's.
    pub(crate) table: Arc<Table>,
    pub(crate) link: Arc<Link>,
}

/// Why a request gets no response. hyper closes the connection (HTTP/1) or resets the stream (HTTP/2).
#[derive(Debug, Error)]
pub(crate) enum Unanswered {
    #[error("cut on purpose")]
    Cut,
    #[error("the request's body broke off")]
    Body,
}

type Outcome = Result<Response<Counted>, Unanswered>;

/// A response that is there, or one that waits for a body or a delay. Most are there, and cost no allocation and no second poll.
pub(crate) enum Reply {
    Now(Option<Outcome>),
    Later(Pin<Box<dyn Future<Output = Outcome> + Send>>),
}

impl Future for Reply {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        match &mut *self {
            // hyper does not poll a future that was ready; should it do so, it learns that there is nothing more.
            Reply::Now(outcome) => Poll::Ready(outcome.take().unwrap_or(Err(Unanswered::Cut))),
            Reply::Later(future) => future.as_mut().poll(cx),
        }
    }
}

impl Service<Request<Incoming>> for Door {
    type Response = Response<Counted>;
    type Error = Unanswered;
    type Future = Reply;

    fn call(&self, request: Request<Incoming>) -> Reply {
        let uri = request.uri();
        let found = Route::find(request.method(), uri.path(), uri.query());
        let name = found
            .as_ref()
            .map_or_else(|refusal| refusal.name, |route| route.name());
        let ticket = (name != Name::Counter).then(|| self.table.begin(name));
        let pass = Pass {
            ticket,
            head_only: request.method() == Method::HEAD,
        };
        match found {
            Ok(Route::Drop) => self.cut(Cut::Close),
            Ok(Route::Reset) => self.cut(Cut::Reset),
            Ok(route)
                if request.body().is_end_stream() && !matches!(route, Route::Delay { .. }) =>
            {
                Reply::Now(Some(Ok(pass.respond(self.app.answer(
                    route,
                    &request.into_parts().0,
                    &[],
                )))))
            }
            Ok(route) => Reply::Later(Box::pin(answer_later(
                self.app.clone(),
                route,
                request,
                pass,
            ))),
            Err(refusal) => Reply::Now(Some(Ok(pass.respond(refuse(&refusal))))),
        }
    }
}

impl Door {
    fn cut(&self, how: Cut) -> Reply {
        self.link.cut(how);
        Reply::Now(Some(Err(Unanswered::Cut)))
    }
}

async fn answer_later(
    app: Arc<App>,
    route: Route,
    request: Request<Incoming>,
    pass: Pass,
) -> Outcome {
    let (head, body) = request.into_parts();
    let body = match read(body, route.reads_body()).await? {
        Some(body) => body,
        None => return Ok(pass.respond(too_long())),
    };
    if let Route::Delay { ms } = route {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
    Ok(pass.respond(app.answer(route, &head, &body)))
}

/// Reads the body to its end, so that the connection can serve on; keeps it if asked to. None when it is too long to keep.
async fn read(mut body: Incoming, keep: bool) -> Result<Option<Bytes>, Unanswered> {
    if keep {
        return match Limited::new(body, LONGEST_BODY).collect().await {
            Ok(collected) => Ok(Some(collected.to_bytes())),
            Err(cause) if cause.is::<http_body_util::LengthLimitError>() => Ok(None),
            Err(_) => Err(Unanswered::Body),
        };
    }
    while let Some(frame) = body.frame().await {
        frame.map_err(|_| Unanswered::Body)?;
    }
    Ok(Some(Bytes::new()))
}

fn too_long() -> Answer {
    error(
        StatusCode::PAYLOAD_TOO_LARGE,
        "the body is too long",
        &format!("send at most {LONGEST_BODY} bytes"),
    )
}

/// What a request carries along until its response leaves.
struct Pass {
    ticket: Option<Ticket>,
    head_only: bool,
}

impl Pass {
    /// To HEAD the body's length is announced and the body left out; hyper does so by itself for HTTP/1, but not for HTTP/2.
    fn respond(self, answer: Answer) -> Response<Counted> {
        let (mut head, mut source) = answer.into_parts();
        if self.head_only {
            if let Some(length) = source.left() {
                head.headers.insert(CONTENT_LENGTH, length.into());
            }
            source = Source::empty();
        }
        let status = head.status.as_u16();
        Response::from_parts(head, Counted::new(source, self.ticket, status))
    }
}
