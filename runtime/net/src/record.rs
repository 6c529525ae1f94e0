//! The record of one exchange as it comes about. It outlives the work it records: when a deadline or an error ends the work in
//! the middle, what is known up to there is still told.

use std::cell::{Cell, RefCell};

use nettare_core::sample::{Exchange, Outcome, Phases, Protocol, Stamp};

use crate::client::Client;
use crate::clock;
use crate::ledger::Stamps;
use crate::stream::WireStream;

/// What an exchange is doing. Each stage is a phase, but for the last, whose phases come from the wire's stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    #[default]
    Begun,
    Resolving,
    Connecting,
    Handshaking,
    Exchanging,
}

/// One exchange, as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Record {
    stage: Cell<Stage>,
    since_ns: Cell<u64>,
    /// The stages that are over.
    phases: Cell<Phases>,
    connect_is_bound: Cell<bool>,
    opened_connection: Cell<bool>,
    protocol: Cell<Option<Protocol>>,
    status: Cell<u16>,
    sent: Cell<bool>,
    wire: RefCell<Option<WireStream>>,
}

impl Record {
    /// Begins a stage; what the stage before took is lost unless it was ended.
    pub(crate) fn enter(&self, stage: Stage) {
        self.stage.set(stage);
        self.since_ns.set(clock::monotonic_ns());
    }

    /// How long the stage has lasted, by this thread's clock.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        clock::monotonic_ns().saturating_sub(self.since_ns.get())
    }

    /// Ends the stage, which took `took_ns` on the wire.
    pub(crate) fn leave(&self, took_ns: u64) {
        let mut phases = self.phases.get();
        match self.stage.replace(Stage::Begun) {
            Stage::Resolving => phases.dns_ns += took_ns,
            Stage::Connecting => phases.connect_ns += took_ns,
            Stage::Handshaking => phases.tls_ns += took_ns,
            Stage::Begun | Stage::Exchanging => {}
        }
        self.phases.set(phases);
    }

    /// `connect` is only known to be at most what it says.
    pub(crate) fn mark_connect_as_bound(&self) {
        self.connect_is_bound.set(true);
    }

    pub(crate) fn mark_opened(&self) {
        self.opened_connection.set(true);
    }

    /// Begins the exchange proper, on a connection that is there.
    pub(crate) fn begin_exchange(&self, wire: &WireStream, has_body: bool) {
        wire.ledger().begin(has_body);
        self.stage.set(Stage::Exchanging);
        *self.wire.borrow_mut() = Some(wire.clone());
    }

    /// Looks whether the request has left whole by now, and counts it once.
    pub(crate) fn note_sent(&self, client: &Client, wire: &WireStream) {
        if !self.sent.get() && wire.ledger().request_left() {
            self.sent.set(true);
            client.counters.sent.increment();
        }
    }

    pub(crate) fn answered_by(&self, protocol: Protocol, status: u16) {
        self.protocol.set(Some(protocol));
        self.status.set(status);
    }

    /// The connection it is exchanging on, if it has got that far.
    pub(crate) fn wire(&self) -> Option<WireStream> {
        self.wire.borrow().clone()
    }

    /// The exchange whose response ended with the last byte read.
    pub(crate) fn whole(&self) -> Exchange {
        let Some(wire) = self.wire() else {
            return self.broken(Outcome::Answered, self.since_ns.get());
        };
        let (last, _) = wire.ledger().last_data();
        self.exchange(Outcome::Answered, &wire.ledger().stamps(), last.stamp())
    }

    /// The exchange that was given up at `at_ns`.
    pub(crate) fn broken(&self, outcome: Outcome, at_ns: u64) -> Exchange {
        if self.stage.get() != Stage::Exchanging {
            self.leave(at_ns.saturating_sub(self.since_ns.get()));
        }
        let wire = self.wire();
        let stamps = wire
            .map(|wire| wire.ledger().stamps_until(Some(at_ns)))
            .unwrap_or_default();
        self.exchange(outcome, &stamps, Stamp::User)
    }

    fn exchange(&self, outcome: Outcome, stamps: &Stamps, stamp: Stamp) -> Exchange {
        let net = stamps.phases();
        let phases = Phases {
            sending_ns: net.sending_ns,
            waiting_ns: net.waiting_ns,
            receiving_ns: net.receiving_ns,
            ..self.phases.get()
        };
        let wire = self.wire.borrow();
        let ledger = wire.as_ref().map(WireStream::ledger);
        Exchange {
            outcome,
            status: self.status.get(),
            protocol: self.protocol.get(),
            phases,
            stamp,
            connect_is_bound: self.connect_is_bound.get(),
            window_limited: ledger.is_some_and(|ledger| ledger.window_limited()),
            opened_connection: self.opened_connection.get(),
            sent_bytes: ledger.map_or(0, |ledger| ledger.sent_bytes()),
            received_bytes: ledger.map_or(0, |ledger| ledger.received_bytes()),
        }
    }
}
