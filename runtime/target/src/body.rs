//! Response bodies: made while they are sent, and counted at their end.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::count::Ticket;

/// At most so many bytes are handed over at one time, so that the end of a large response is counted when it is near, not when
/// the first byte leaves.
const PIECE: usize = 64 * 1024;

/// What `/bytes` is made of: letters, so that a person can look at it.
static FILLER: [u8; PIECE] = filler();

/// Where a response's bytes come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// Bytes that lie ready.
    Whole(Bytes),
    /// So many letters.
    Filler(u64),
    /// Numbered lines, one after each pause; no length is announced.
    Lines(Lines),
}

/// See [`Source::Lines`].
#[derive(Debug)]
pub(crate) struct Lines {
    next: u32,
    end: u32,
    pause: Duration,
    /// Ends when the next line is due; none before the first poll of a line, and always none without a pause.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Source {
    pub(crate) fn empty() -> Source {
        Source::Whole(Bytes::new())
    }

    pub(crate) fn lines(count: u32, pause: Duration) -> Source {
        Source::Lines(Lines {
            next: 0,
            end: count,
            pause,
            sleep: None,
        })
    }

    fn is_at_end(&self) -> bool {
        match self {
            Source::Whole(bytes) => bytes.is_empty(),
            Source::Filler(left) => *left == 0,
            Source::Lines(lines) => lines.next == lines.end,
        }
    }

    /// Bytes still to come, where known.
    pub(crate) fn left(&self) -> Option<u64> {
        match self {
            Source::Whole(bytes) => Some(bytes.len() as u64),
            Source::Filler(left) => Some(*left),
            Source::Lines(_) => None,
        }
    }

    /// The next piece; only called before the end.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        match self {
            Source::Whole(bytes) => Poll::Ready(bytes.split_to(bytes.len().min(PIECE))),
            Source::Filler(left) => {
                let piece = (*left).min(PIECE as u64);
                *left -= piece;
                Poll::Ready(Bytes::from_static(&FILLER[..piece as usize]))
            }
            Source::Lines(lines) => lines.poll_line(cx),
        }
    }
}

impl Lines {
    fn poll_line(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        if !self.pause.is_zero() {
            let sleep = self
                .sleep
                .get_or_insert_with(|| Box::pin(tokio::time::sleep(self.pause)));
            ready!(sleep.as_mut().poll(cx));
            self.sleep = None;
        }
        self.next += 1;
        Poll::Ready(Bytes::from(format!("line {}\n", self.next)))
    }
}

/// A response body that tells the counters when its last byte was handed over.
#[derive(Debug)]
pub(crate) struct Counted {
    source: Source,
    /// None for requests that are not counted.
    ticket: Option<Ticket>,
    status: u16,
}

impl Counted {
    pub(crate) fn new(source: Source, ticket: Option<Ticket>, status: u16) -> Counted {
        Counted {
            source,
            ticket,
            status,
        }
    }

    fn finish(&mut self) {
        if let Some(ticket) = &mut self.ticket {
            ticket.finish(self.status);
        }
    }
}

impl Body for Counted {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if this.source.is_at_end() {
            return Poll::Ready(None);
        }
        let piece = ready!(this.source.poll_piece(cx));
        if this.source.is_at_end() {
            this.finish();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.source.is_at_end()
    }

    fn size_hint(&self) -> SizeHint {
        self.source
            .left()
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Counted {
    /// hyper drops an empty body, without asking for it, when it has taken the head.
    fn drop(&mut self) {
        if self.source.is_at_end() {
            self.finish();
        }
    }
}

const fn filler() -> [u8; PIECE] {
    let mut bytes = [b'\n'; PIECE];
    let mut at = 0;
    while at < PIECE {
        if at % 64 != 63 {
            bytes[at] = b'a' + (at % 64 % 26) as u8;
        }
        at += 1;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;
    use crate::count::Counters;
    use crate::route::Name;

    fn poll(body: &mut Counted) -> Option<usize> {
        let mut cx = Context::from_waker(Waker::noop());
        match Pin::new(body).poll_frame(&mut cx) {
            Poll::Ready(Some(Ok(frame))) => frame.data_ref().map(Bytes::len),
            _ => None,
        }
    }

    #[test]
    fn the_end_is_counted_with_the_last_piece_and_not_before() {
        let counters = Counters::new(1);
        let ticket = counters.table(0).begin(Name::Bytes);
        let mut body = Counted::new(Source::Filler(PIECE as u64 + 1), Some(ticket), 200);
        assert_eq!(body.size_hint().exact(), Some(PIECE as u64 + 1));
        assert_eq!(poll(&mut body), Some(PIECE));
        assert_eq!(counters.counts().finished, 0);
        assert_eq!(poll(&mut body), Some(1));
        assert_eq!(counters.counts().finished, 1);
        drop(body);
        assert_eq!(
            (counters.counts().finished, counters.counts().aborted),
            (1, 0)
        );
    }

    #[test]
    fn a_body_dropped_in_the_middle_is_aborted_and_an_empty_one_is_finished_unasked() {
        let rows = [
            ("a connection that broke", Source::Filler(5), (0, 1)),
            ("nothing to send", Source::empty(), (1, 0)),
        ];
        for (sentence, source, expected) in rows {
            let counters = Counters::new(1);
            drop(Counted::new(
                source,
                Some(counters.table(0).begin(Name::Bytes)),
                200,
            ));
            let counts = counters.counts();
            assert_eq!((counts.finished, counts.aborted), expected, "{sentence}");
        }
    }
}
