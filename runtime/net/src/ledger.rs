//! What went over a connection and when: from the stamps of single reads and writes to the phases of an exchange.
//!
//! ```text
//!   write first      write last            rx first        rx last
//!       ├── sending ─────┤──── waiting ────────┤─ receiving ──┤
//!       └──────────────────────── net ────────────────────────┘
//! ```
//!
//! Two levels meet here. The stream below (`stream.rs`) enters what the socket did: ciphertext under TLS. The transport above
//! (`transport.rs`) enters when plain bytes came out of it. A response's first and last stamp are those of the socket read that
//! brought the plain bytes to light, so that a TLS session ticket is not taken for the response.

use std::cell::Cell;

use nettare_core::sample::Stamp;

/// The four stamps of an exchange, each on the monotonic clock, in any order and possibly missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// Before the first write of the request.
    pub write_first_ns: Option<u64>,
    /// Before the last write of the request.
    pub write_last_ns: Option<u64>,
    /// When the response's first byte was received.
    pub receive_first_ns: Option<u64>,
    /// When its last byte was received, or when the exchange was given up.
    pub receive_last_ns: Option<u64>,
}

/// Sending, waiting, receiving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetPhases {
    /// From the first write to the last, or to the response's first byte if that came sooner.
    pub sending_ns: u64,
    /// From the last write to the response's first byte.
    pub waiting_ns: u64,
    /// From the response's first byte to its last.
    pub receiving_ns: u64,
}

impl Stamps {
    /// Splits the exchange. Total: whatever the order of the stamps, no phase is negative, and the three add up to the time
    /// from the first write to the end.
    pub fn phases(&self) -> NetPhases {
        let Some(begin) = self.write_first_ns else {
            return NetPhases::default();
        };
        let end = self.receive_last_ns.unwrap_or(begin).max(begin);
        let write_last = self.write_last_ns.unwrap_or(begin).clamp(begin, end);
        let receive_first = self.receive_first_ns.unwrap_or(end).clamp(begin, end);
        NetPhases {
            sending_ns: write_last.min(receive_first) - begin,
            waiting_ns: receive_first.saturating_sub(write_last),
            receiving_ns: end - receive_first,
        }
    }
}

/// What one read of the socket was worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Receipt {
    /// When the last of its segments was received.
    pub(crate) at_ns: u64,
    /// Whether the kernel says so.
    pub(crate) by_kernel: bool,
    /// Whether nothing lay unread behind it: neither bytes nor the end of the stream.
    pub(crate) alone: bool,
}

impl Receipt {
    /// What its stamp says about the last byte of the read.
    pub(crate) fn stamp(&self) -> Stamp {
        match (self.by_kernel, self.alone) {
            (false, _) => Stamp::User,
            (true, true) => Stamp::Exact,
            (true, false) => Stamp::Bound,
        }
    }
}

/// How much of the request has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Leaving {
    /// The protocol has not taken all of the body yet.
    #[default]
    Body,
    /// All is taken; what is buffered leaves at the next flush.
    Flush,
    /// All of it is with the kernel.
    Whole,
}

/// The record of one connection, emptied as each exchange begins. Shared by the connection's layers on one thread.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    write_first_ns: Cell<Option<u64>>,
    write_last_ns: Cell<u64>,
    /// The latest read of the socket, whatever was in it.
    latest: Cell<Receipt>,
    /// The read that brought the first and the last plain byte.
    data_first_ns: Cell<Option<u64>>,
    data_last: Cell<Receipt>,
    /// The stamp of the read before: what `bound` has for its lower end.
    data_before_ns: Cell<u64>,
    leaving: Cell<Leaving>,
    window_limited: Cell<bool>,
    sent_bytes: Cell<u64>,
    received_bytes: Cell<u64>,
    flights: Flights,
}

/// The TLS handshake: each flight is a write and the answer to it.
#[derive(Debug, Default)]
struct Flights {
    /// All flights that were answered.
    before_ns: Cell<u64>,
    /// The flight under way, and how long its answer took as far as it has come.
    from_ns: Cell<u64>,
    answer_ns: Cell<u64>,
}

impl Ledger {
    /// Empties the record for another exchange.
    pub(crate) fn begin(&self, has_body: bool) {
        self.write_first_ns.set(None);
        self.data_first_ns.set(None);
        self.data_last.set(Receipt::default());
        self.data_before_ns.set(0);
        self.leaving.set(if has_body {
            Leaving::Body
        } else {
            Leaving::Flush
        });
        self.window_limited.set(false);
        self.sent_bytes.set(0);
        self.received_bytes.set(0);
    }

    /// The socket took bytes; `at_ns` was read before it was asked to.
    pub(crate) fn wrote(&self, at_ns: u64) {
        if self.write_first_ns.get().is_none() {
            self.write_first_ns.set(Some(at_ns));
        }
        self.write_last_ns.set(at_ns);
        self.flights.wrote(at_ns);
    }

    /// The socket gave bytes.
    pub(crate) fn read(&self, receipt: Receipt, window_limited: bool) {
        self.latest.set(receipt);
        if window_limited {
            self.window_limited.set(true);
        }
        self.flights.read(receipt.at_ns);
    }

    /// Plain bytes went into the transport.
    pub(crate) fn data_written(&self, length: usize) {
        self.sent_bytes.set(self.sent_bytes.get() + length as u64);
    }

    /// Plain bytes came out of the latest read; `drained` if all of them have.
    pub(crate) fn data_read(&self, length: usize, drained: bool) {
        let latest = self.latest.get();
        self.received(
            Receipt {
                alone: latest.alone && drained,
                ..latest
            },
            length as u32,
        );
    }

    /// What the latest read ended with is not whole: part of something later is among its bytes.
    pub(crate) fn mark_not_alone(&self) {
        self.latest.set(Receipt {
            alone: false,
            ..self.latest.get()
        });
    }

    /// Plain bytes were received.
    pub(crate) fn received(&self, receipt: Receipt, length: u32) {
        if self.data_first_ns.get().is_none() {
            self.data_first_ns.set(Some(receipt.at_ns));
        }
        self.data_before_ns.set(self.data_last.get().at_ns);
        self.data_last.set(receipt);
        self.received_bytes
            .set(self.received_bytes.get() + u64::from(length));
    }

    /// The protocol has taken all of the request's body.
    pub(crate) fn body_taken(&self) {
        if self.leaving.get() == Leaving::Body {
            self.leaving.set(Leaving::Flush);
        }
    }

    /// All that was buffered is with the kernel.
    pub(crate) fn flushed(&self) {
        if self.leaving.get() == Leaving::Flush && self.write_first_ns.get().is_some() {
            self.leaving.set(Leaving::Whole);
        }
    }

    /// The whole request is with the kernel; false if that was known.
    pub(crate) fn mark_request_left(&self) -> bool {
        self.leaving.replace(Leaving::Whole) != Leaving::Whole
    }

    /// Whether the whole request is with the kernel.
    pub(crate) fn request_left(&self) -> bool {
        self.leaving.get() == Leaving::Whole
    }

    /// Whether any byte of the request reached the kernel.
    pub(crate) fn wrote_anything(&self) -> bool {
        self.write_first_ns.get().is_some()
    }

    /// Whether any byte of a response came.
    pub(crate) fn response_began(&self) -> bool {
        self.data_first_ns.get().is_some()
    }

    /// The stamps of an exchange whose response ended with the last plain byte.
    pub(crate) fn stamps(&self) -> Stamps {
        let receive_last_ns = self.response_began().then(|| self.data_last.get().at_ns);
        self.stamps_until(receive_last_ns)
    }

    /// The stamps of an exchange that was given up at `end_ns`.
    pub(crate) fn stamps_until(&self, end_ns: Option<u64>) -> Stamps {
        Stamps {
            write_first_ns: self.write_first_ns.get(),
            write_last_ns: self.write_first_ns.get().map(|_| self.write_last_ns.get()),
            receive_first_ns: self.data_first_ns.get(),
            receive_last_ns: end_ns,
        }
    }

    /// What the last plain byte's stamp is worth, and when the byte came at the earliest.
    pub(crate) fn last_data(&self) -> (Receipt, u64) {
        (self.data_last.get(), self.data_before_ns.get())
    }

    pub(crate) fn window_limited(&self) -> bool {
        self.window_limited.get()
    }

    pub(crate) fn mark_window_limited(&self) {
        self.window_limited.set(true);
    }

    /// Whether the window was short since this was asked last.
    pub(crate) fn take_window_limited(&self) -> bool {
        self.window_limited.take()
    }

    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes.get()
    }

    pub(crate) fn received_bytes(&self) -> u64 {
        self.received_bytes.get()
    }

    /// Receive minus write, summed over all flights so far.
    pub(crate) fn flights_ns(&self) -> u64 {
        self.flights.before_ns.get() + self.flights.answer_ns.get()
    }
}

impl Flights {
    fn wrote(&self, at_ns: u64) {
        self.before_ns
            .set(self.before_ns.get() + self.answer_ns.take());
        self.from_ns.set(at_ns);
    }

    fn read(&self, at_ns: u64) {
        self.answer_ns.set(at_ns.saturating_sub(self.from_ns.get()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stamp() -> impl Strategy<Value = Option<u64>> {
        prop_oneof![
            Just(None),
            (0..50_u64).prop_map(Some),
            any::<u64>().prop_map(Some)
        ]
    }

    proptest! {
        #[test]
        fn phases_are_never_negative_and_add_up_whatever_the_stamps(
            write_first_ns in stamp(), write_last_ns in stamp(), receive_first_ns in stamp(), receive_last_ns in stamp(),
        ) {
            let stamps = Stamps { write_first_ns, write_last_ns, receive_first_ns, receive_last_ns };
            let phases = stamps.phases();
            let whole_ns = match (write_first_ns, receive_last_ns) {
                (Some(begin), Some(end)) => end.saturating_sub(begin),
                _ => 0,
            };
            let sum = u128::from(phases.sending_ns) + u128::from(phases.waiting_ns) + u128::from(phases.receiving_ns);
            prop_assert_eq!(sum, u128::from(whole_ns));
        }
    }

    #[test]
    fn phases_are_split_as_the_drawing_shows() {
        let rows = [
            ((10, 12, 20, 25), (2, 8, 5), "the usual order"),
            ((10, 10, 20, 20), (0, 10, 0), "one write, one read"),
            (
                (10, 30, 20, 40),
                (10, 0, 20),
                "a response that begins before the request has ended",
            ),
            (
                (10, 10, 9, 9),
                (0, 0, 0),
                "a stamp before the write counts as at the write",
            ),
        ];
        for ((first, last, begin, end), (sending_ns, waiting_ns, receiving_ns), why) in rows {
            let stamps = Stamps {
                write_first_ns: Some(first),
                write_last_ns: Some(last),
                receive_first_ns: Some(begin),
                receive_last_ns: Some(end),
            };
            assert_eq!(
                stamps.phases(),
                NetPhases {
                    sending_ns,
                    waiting_ns,
                    receiving_ns
                },
                "{why}"
            );
        }
    }

    fn kernel(at_ns: u64) -> Receipt {
        Receipt {
            at_ns,
            by_kernel: true,
            alone: true,
        }
    }

    #[test]
    fn flights_sum_receive_minus_write_and_leave_out_our_own_time() {
        let ledger = Ledger::default();
        ledger.wrote(100); // the client's first flight
        ledger.read(kernel(110), false);
        ledger.read(kernel(130), false); // the answer came in two reads
        ledger.wrote(500); // 370 later: the time went into our own computing
        ledger.read(kernel(520), false);
        ledger.wrote(700); // the last flight has no answer
        assert_eq!(ledger.flights_ns(), 30 + 20);
    }

    #[test]
    fn bytes_without_plain_data_are_not_the_response() {
        let ledger = Ledger::default();
        ledger.begin(false);
        ledger.wrote(10);
        ledger.read(kernel(20), false); // a session ticket
        assert!(!ledger.response_began());
        ledger.read(kernel(30), false);
        ledger.data_read(5, true);
        assert_eq!(ledger.stamps().receive_first_ns, Some(30));
    }

    #[test]
    fn a_request_has_left_only_when_its_body_was_taken_and_flushed() {
        let ledger = Ledger::default();
        ledger.begin(true);
        ledger.wrote(10);
        ledger.flushed();
        assert!(!ledger.request_left(), "the head alone left");
        ledger.body_taken();
        assert!(!ledger.request_left(), "the body is still buffered");
        ledger.flushed();
        assert!(ledger.request_left());
        ledger.begin(false);
        ledger.flushed();
        assert!(!ledger.request_left(), "nothing was written yet");
    }
}
