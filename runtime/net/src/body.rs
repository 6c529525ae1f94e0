//! Bodies: the one that is sent, and the collecting of the one that comes.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use nettare_core::sample::{ErrorKind, Failure};
use nettare_core::units::format_size;

use crate::budget::Lease;
use crate::error::failure;
use crate::stream::WireStream;

/// A request's body, which tells the ledger when the protocol has taken it; none once that was done, or when it is empty. It is
/// small, because hyper keeps room for 32 requests at every connection.
#[derive(Debug)]
pub(crate) struct RequestBody(Option<Box<Untaken>>);

#[derive(Debug)]
struct Untaken {
    bytes: Bytes,
    wire: WireStream,
}

impl RequestBody {
    pub(crate) fn new(bytes: &Bytes, wire: &WireStream) -> RequestBody {
        let is_there = !bytes.is_empty();
        RequestBody(is_there.then(|| {
            Box::new(Untaken {
                bytes: bytes.clone(),
                wire: wire.clone(),
            })
        }))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.get_mut().0.take().map(|untaken| {
            untaken.wire.ledger().body_taken();
            Ok(Frame::data(untaken.bytes))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let length = self.0.as_ref().map_or(0, |untaken| untaken.bytes.len());
        SizeHint::with_exact(length as u64)
    }
}

/// What bounds a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimits {
    pub(crate) limit_bytes: u64,
    pub(crate) keep: bool,
}

/// Collects a response's body. One that comes in a single piece is not copied; any other goes into one contiguous buffer,
/// reserved at once where its length is announced.
#[derive(Debug)]
pub(crate) struct Collector {
    limits: BodyLimits,
    lease: Lease,
    announced_bytes: Option<u64>,
    length_bytes: u64,
    body: Collected,
}

#[derive(Debug)]
enum Collected {
    /// Nothing yet, or nothing is kept.
    Nothing,
    Whole(Bytes),
    Joined(BytesMut),
}

impl Collector {
    /// For a body of `announced_bytes`, where the response says so.
    ///
    /// # Errors
    ///
    /// When that is already more than the limit or the budget allows.
    pub(crate) fn new(
        limits: BodyLimits,
        lease: Lease,
        announced_bytes: Option<u64>,
    ) -> Result<Collector, Failure> {
        let mut collector = Collector {
            limits,
            lease,
            announced_bytes,
            length_bytes: 0,
            body: Collected::Nothing,
        };
        if let Some(announced_bytes) = announced_bytes {
            collector.check_limit(announced_bytes)?;
            collector.lease_to(announced_bytes)?;
        }
        Ok(collector)
    }

    /// Takes the next piece.
    ///
    /// # Errors
    ///
    /// When the body passed its limit or the process's budget.
    pub(crate) fn push(&mut self, piece: Bytes) -> Result<(), Failure> {
        self.length_bytes += piece.len() as u64;
        self.check_limit(self.length_bytes)?;
        if !self.limits.keep || piece.is_empty() {
            return Ok(());
        }
        if self.announced_bytes.is_none() {
            self.lease_to(self.length_bytes)?;
        }
        self.body = match std::mem::replace(&mut self.body, Collected::Nothing) {
            Collected::Nothing if self.is_last(piece.len()) => Collected::Whole(piece),
            Collected::Nothing => Collected::Joined(self.join(&[], &piece)),
            Collected::Whole(first) => Collected::Joined(self.join(&first, &piece)),
            Collected::Joined(mut joined) => {
                joined.extend_from_slice(&piece);
                Collected::Joined(joined)
            }
        };
        Ok(())
    }

    /// The body, tied to its lease, and its length, discarded bytes included.
    pub(crate) fn finish(self) -> (Bytes, u64) {
        let body = match self.body {
            Collected::Nothing => return (Bytes::new(), self.length_bytes),
            Collected::Whole(body) => body,
            Collected::Joined(joined) => joined.freeze(),
        };
        (self.lease.attach(body), self.length_bytes)
    }

    /// Without an announced length any first piece may be the last; it is copied if it was not.
    fn is_last(&self, piece_bytes: usize) -> bool {
        self.announced_bytes
            .is_none_or(|announced| announced <= piece_bytes as u64)
    }

    fn join(&self, first: &[u8], second: &[u8]) -> BytesMut {
        // Both lengths are within the limit and the budget by now.
        let capacity = self
            .announced_bytes
            .unwrap_or(0)
            .max(2 * (first.len() + second.len()) as u64);
        let mut joined = BytesMut::with_capacity(usize::try_from(capacity).unwrap_or(0));
        joined.extend_from_slice(first);
        joined.extend_from_slice(second);
        joined
    }

    fn check_limit(&self, length_bytes: u64) -> Result<(), Failure> {
        if length_bytes <= self.limits.limit_bytes {
            return Ok(());
        }
        let limit = format_size(self.limits.limit_bytes);
        let message = format!(
            "the response's body passed its limit of {limit}; raise that with --body-limit, or by `body` under [limits] in a plan"
        );
        Err(failure(ErrorKind::BodyLimit, 0, message))
    }

    fn lease_to(&mut self, length_bytes: u64) -> Result<(), Failure> {
        let more_bytes = length_bytes.saturating_sub(self.lease.bytes());
        if !self.limits.keep || self.lease.extend(more_bytes) {
            return Ok(());
        }
        let message = "the bodies held in this process passed their budget; raise [limits] bodies in the plan, keep fewer \
                       bodies, or discard those that are not looked at";
        Err(failure(ErrorKind::GeneratorLimit, 0, message))
    }
}
