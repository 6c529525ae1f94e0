//! What passes on an HTTP/2 connection, told apart by stream.
//!
//! Many exchanges share the connection, so its own ledger says nothing about any of them. The tap lies between the HTTP/2
//! library and the transport, above TLS, and reads the headers of the frames that pass: each frame's bytes, and the stamp of the
//! read or write that carried them, go into the ledger of its stream.
//!
//! A response ends with the frame that carries END_STREAM. If the same read has anything behind that frame, the kernel's stamp is
//! of that, and only a bound for the response.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::{cell::RefCell, collections::HashMap};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::client::Client;
use crate::clock;
use crate::frames::{FrameHeader, FramePiece, FrameScanner};
use crate::ledger::{Ledger, Receipt};
use crate::transport::Transport;

/// The streams of a connection, and what was said of the connection as a whole.
#[derive(Debug)]
pub(crate) struct Tap {
    incoming: FrameScanner,
    outgoing: FrameScanner,
    streams: HashMap<u32, Rc<Ledger>>,
    going_away: Option<GoingAway>,
    /// A head with END_STREAM that goes on in continuations ends its stream with the last of them.
    incoming_head: Option<u32>,
    outgoing_head: Option<u32>,
    client: Rc<Client>,
}

/// The peer's GOAWAY (RFC 9113, section 6.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct GoingAway {
    /// The first eight bytes of its payload: the last stream that it will answer, and the error code.
    payload: [u8; 8],
}

impl Tap {
    pub(crate) fn new(client: Rc<Client>) -> Tap {
        Tap {
            incoming: FrameScanner::default(),
            outgoing: FrameScanner::of_a_client(),
            streams: HashMap::new(),
            going_away: None,
            incoming_head: None,
            outgoing_head: None,
            client,
        }
    }

    /// From now on, what passes for `stream` is entered into `ledger`.
    pub(crate) fn register(&mut self, stream: u32, ledger: Rc<Ledger>) {
        self.streams.insert(stream, ledger);
    }

    pub(crate) fn forget(&mut self, stream: u32) {
        self.streams.remove(&stream);
    }

    /// Whether the peer said that it takes no more streams.
    pub(crate) fn is_going_away(&self) -> bool {
        self.going_away.is_some()
    }

    /// The error code it gave for that.
    pub(crate) fn going_away_code(&self) -> Option<u32> {
        self.going_away.map(|going| going.code())
    }

    /// Whether the peer said that it has not looked at `stream` and never will.
    pub(crate) fn was_left_out(&self, stream: u32) -> bool {
        self.going_away
            .is_some_and(|going| stream > going.last_stream())
    }

    /// Takes what one read brought. Behind all of it something lies unread if `receipt` is not alone.
    fn read(&mut self, bytes: &[u8], receipt: Receipt, window_limited: bool) {
        if window_limited {
            self.streams
                .values()
                .for_each(|ledger| ledger.mark_window_limited());
        }
        let Tap {
            incoming,
            streams,
            going_away,
            incoming_head,
            ..
        } = self;
        incoming.scan(bytes, |piece| {
            if piece.header.kind == FrameHeader::GOAWAY {
                going_away.get_or_insert_default().take(&piece);
            }
            let ends = ends_message(&piece, incoming_head);
            if let Some(ledger) = ledger_of(streams, &piece) {
                let alone = receipt.alone && piece.behind == 0;
                // Bytes of the same message behind a frame do not matter; those behind its end do.
                let receipt = Receipt {
                    alone: alone || !ends,
                    ..receipt
                };
                ledger.received(receipt, piece.bytes);
            }
        });
    }

    /// Takes what one write carried; `at_ns` was read before it.
    fn wrote(&mut self, bytes: &[u8], at_ns: u64) {
        let Tap {
            outgoing,
            streams,
            outgoing_head,
            client,
            ..
        } = self;
        outgoing.scan(bytes, |piece| {
            let ends = ends_message(&piece, outgoing_head);
            if let Some(ledger) = ledger_of(streams, &piece) {
                ledger.wrote(at_ns);
                ledger.data_written(piece.bytes as usize);
                if ends && ledger.mark_request_left() {
                    client.counters.sent.increment();
                }
            }
        });
    }
}

fn ledger_of<'a>(
    streams: &'a HashMap<u32, Rc<Ledger>>,
    piece: &FramePiece<'_>,
) -> Option<&'a Rc<Ledger>> {
    if piece.header.is_of_a_message() {
        streams.get(&piece.header.stream)
    } else {
        None
    }
}

/// Whether the piece has the last byte of its stream's message. `open_head` remembers the stream whose head has END_STREAM but
/// goes on in continuations.
fn ends_message(piece: &FramePiece<'_>, open_head: &mut Option<u32>) -> bool {
    let header = &piece.header;
    if !piece.ends || !header.is_of_a_message() {
        return false;
    }
    if header.kind == FrameHeader::CONTINUATION {
        let ends = header.ends_headers() && *open_head == Some(header.stream);
        if header.ends_headers() {
            *open_head = None;
        }
        return ends;
    }
    if header.ends_stream() && !header.ends_headers() {
        *open_head = Some(header.stream);
    }
    header.ends_stream() && header.ends_headers()
}

impl GoingAway {
    fn take(&mut self, piece: &FramePiece<'_>) {
        for (index, byte) in (piece.offset as usize..).zip(piece.payload) {
            if let Some(place) = self.payload.get_mut(index) {
                *place = *byte;
            }
        }
    }

    fn last_stream(&self) -> u32 {
        let [s0, s1, s2, s3, ..] = self.payload;
        u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff
    }

    fn code(&self) -> u32 {
        let [.., c0, c1, c2, c3] = self.payload;
        u32::from_be_bytes([c0, c1, c2, c3])
    }
}

/// A transport with a tap on it.
#[derive(Debug)]
pub(crate) struct Tapped {
    transport: Transport,
    tap: Rc<RefCell<Tap>>,
}

impl Tapped {
    pub(crate) fn new(transport: Transport, tap: Rc<RefCell<Tap>>) -> Tapped {
        Tapped { transport, tap }
    }
}

impl AsyncRead for Tapped {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(AsyncRead::poll_read(
            Pin::new(&mut this.transport),
            context,
            buffer
        ))?;
        let ledger = this.transport.wire().ledger();
        let (receipt, _) = ledger.last_data();
        let window_limited = ledger.take_window_limited();
        this.tap
            .borrow_mut()
            .read(&buffer.filled()[before..], receipt, window_limited);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tapped {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let at_ns = clock::monotonic_ns();
        let length = ready!(AsyncWrite::poll_write(
            Pin::new(&mut this.transport),
            context,
            bytes
        ))?;
        this.tap.borrow_mut().wrote(&bytes[..length], at_ns);
        Poll::Ready(Ok(length))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(Pin::new(&mut self.get_mut().transport), context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_shutdown(Pin::new(&mut self.get_mut().transport), context)
    }

    fn is_write_vectored(&self) -> bool {
        AsyncWrite::is_write_vectored(&self.transport)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let at_ns = clock::monotonic_ns();
        let length = ready!(AsyncWrite::poll_write_vectored(
            Pin::new(&mut this.transport),
            context,
            parts
        ))?;
        let mut left = length;
        let mut tap = this.tap.borrow_mut();
        for part in parts {
            let here = left.min(part.len());
            tap.wrote(&part[..here], at_ns);
            left -= here;
        }
        Poll::Ready(Ok(length))
    }
}

#[cfg(test)]
mod tests {
    use nettare_core::plan::{ConnectionPolicy, HttpVersions, Timestamps};
    use nettare_core::sample::Stamp;
    use proptest::prelude::*;

    use super::*;
    use crate::{AllowList, NetConfig, Shared, TlsOptions};

    fn tap() -> Tap {
        let config = NetConfig {
            timestamps: Timestamps::User,
            http: HttpVersions::Http2,
            tls: TlsOptions::default(),
            user_agent: String::new(),
            allow: AllowList::default(),
            timeout_ns: 1,
            max_redirects: 0,
            connections: ConnectionPolicy::PerVu,
            body_limit_bytes: 0,
            bodies_budget_bytes: 0,
        };
        Tap::new(Client::new(Shared::new(config).unwrap()))
    }

    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream];
        bytes.extend(payload);
        bytes
    }

    fn receipt(at_ns: u64) -> Receipt {
        Receipt {
            at_ns,
            by_kernel: true,
            alone: true,
        }
    }

    fn registered(tap: &mut Tap, stream: u32) -> Rc<Ledger> {
        let ledger = Rc::new(Ledger::default());
        ledger.begin(false);
        tap.register(stream, Rc::clone(&ledger));
        ledger
    }

    const END_STREAM: u8 = 1;
    const END_HEADERS: u8 = 4;

    #[test]
    fn a_streams_stamp_is_a_bound_as_soon_as_the_read_has_anything_behind_its_end() {
        let end = frame(FrameHeader::DATA, END_STREAM, 1, b"end");
        let other = frame(FrameHeader::DATA, 0, 3, b"other");
        let ping = frame(6, 0, 0, &[0; 8]);
        let rows: &[(&[&[u8]], Stamp, &str)] = &[
            (&[&end], Stamp::Exact, "the end is the read's last byte"),
            (
                &[&[&other[..], &end].concat()],
                Stamp::Exact,
                "others before it do no harm",
            ),
            (
                &[&[&end[..], &other].concat()],
                Stamp::Bound,
                "another stream's data behind it",
            ),
            (
                &[&[&end[..], &ping].concat()],
                Stamp::Bound,
                "a control frame behind it",
            ),
            (
                &[&[&end[..], &other[..4]].concat()],
                Stamp::Bound,
                "half a header behind it",
            ),
            (
                &[&end, &other],
                Stamp::Exact,
                "what comes in a later read does no harm",
            ),
            (&[&end[..5], &end[5..]], Stamp::Exact, "an end in two reads"),
        ];
        for (reads, stamp, why) in rows {
            let mut tap = tap();
            let ledger = registered(&mut tap, 1);
            for (at_ns, read) in (1..).zip(*reads) {
                tap.read(read, receipt(at_ns), false);
            }
            assert_eq!(ledger.last_data().0.stamp(), *stamp, "{why}");
        }
    }

    #[test]
    fn each_stream_has_the_stamps_of_its_own_frames() {
        let mut tap = tap();
        let (one, three) = (registered(&mut tap, 1), registered(&mut tap, 3));
        tap.wrote(&[0; 24], 5); // the preface
        tap.wrote(
            &frame(FrameHeader::HEADERS, END_STREAM | END_HEADERS, 1, b"head"),
            10,
        );
        tap.wrote(&frame(FrameHeader::HEADERS, END_HEADERS, 3, b"head"), 11);
        tap.wrote(&frame(FrameHeader::DATA, END_STREAM, 3, b"body"), 12);
        tap.read(
            &frame(FrameHeader::HEADERS, END_HEADERS, 3, b"head"),
            receipt(20),
            false,
        );
        tap.read(
            &frame(FrameHeader::HEADERS, END_HEADERS, 1, b"head"),
            receipt(21),
            false,
        );
        tap.read(
            &frame(FrameHeader::DATA, END_STREAM, 1, b"12345"),
            receipt(22),
            false,
        );
        tap.read(
            &frame(FrameHeader::DATA, END_STREAM, 3, b""),
            receipt(23),
            false,
        );
        let phases = |ledger: &Ledger| {
            let phases = ledger.stamps().phases();
            (phases.sending_ns, phases.waiting_ns, phases.receiving_ns)
        };
        assert_eq!(phases(&one), (0, 11, 1));
        assert_eq!(phases(&three), (1, 8, 3));
        assert_eq!(one.received_bytes(), 9 + 4 + 9 + 5);
        assert_eq!(three.sent_bytes(), 9 + 4 + 9 + 4);
        assert_eq!(tap.client.funnel().sent, 2);
    }

    #[test]
    fn a_head_that_goes_on_in_continuations_ends_with_the_last() {
        let mut tap = tap();
        let ledger = registered(&mut tap, 1);
        let head = frame(FrameHeader::HEADERS, END_STREAM, 1, b"a");
        let more = frame(FrameHeader::CONTINUATION, 0, 1, b"b");
        let last = frame(FrameHeader::CONTINUATION, END_HEADERS, 1, b"c");
        tap.read(&[&head[..], &more].concat(), receipt(1), false);
        tap.read(
            &[&last[..], &frame(4, 0, 0, b"")].concat(),
            receipt(2),
            false,
        );
        assert_eq!(
            ledger.last_data().0.stamp(),
            Stamp::Bound,
            "the settings behind the last one count"
        );
        assert_eq!(ledger.stamps().receive_last_ns, Some(2));
    }

    #[test]
    fn going_away_leaves_out_the_streams_above_the_last() {
        let goaway = frame(
            FrameHeader::GOAWAY,
            0,
            0,
            &[0, 0, 0, 5, 0, 0, 0, 0, b'b', b'y', b'e'],
        );
        for cut in 0..=goaway.len() {
            let mut tap = tap();
            tap.read(&goaway[..cut], receipt(1), false);
            tap.read(&goaway[cut..], receipt(1), false);
            assert!(tap.is_going_away());
            assert!(!tap.was_left_out(5) && tap.was_left_out(7), "cut at {cut}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_pass_the_tap_without_panic(
            reads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..10),
        ) {
            let mut tap = tap();
            let ledger = registered(&mut tap, 1);
            for read in reads {
                tap.read(&read, receipt(1), true);
                tap.wrote(&read, 1);
            }
            ledger.stamps().phases();
        }
    }
}
