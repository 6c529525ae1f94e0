//! The record of one exchange as it comes about. It outlives the work it records: when a deadline or an error ends the work in
//! the middle, what is known up to there is still told.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use nettare_core::sample::{Exchange, Outcome, Phases, Protocol, Stamp};

use crate::client::Client;
use crate::clock;
use crate::http2::Driven;
use crate::ledger::{Ledger, Stamps};
use crate::stream::WireStream;

/// What an exchange is doing. Each stage is a phase, but for the last, whose phases come from the wire's stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    #[default]
    Begun,
    Blocked,
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
    reused_connection: Cell<bool>,
    /// What passed for this exchange: the connection's own ledger, or its stream's.
    ledger: RefCell<Option<Rc<Ledger>>>,
    lookout: RefCell<Option<Lookout>>,
}

/// Where to look for what has arrived.
#[derive(Debug)]
pub(crate) enum Lookout {
    Wire(WireStream),
    Driven(Rc<Driven>),
}

impl From<WireStream> for Lookout {
    fn from(wire: WireStream) -> Lookout {
        Lookout::Wire(wire)
    }
}

impl From<Rc<Driven>> for Lookout {
    fn from(driven: Rc<Driven>) -> Lookout {
        Lookout::Driven(driven)
    }
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
            Stage::Blocked => phases.blocked_ns += took_ns,
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

    pub(crate) fn mark_reused(&self) {
        self.reused_connection.set(true);
    }

    pub(crate) fn reused_connection(&self) -> bool {
        self.reused_connection.get()
    }

    /// Begins the exchange proper, on a connection that is there. `ledger` was begun for it.
    pub(crate) fn begin_exchange(&self, ledger: &Rc<Ledger>, lookout: impl Into<Lookout>) {
        self.stage.set(Stage::Exchanging);
        *self.ledger.borrow_mut() = Some(Rc::clone(ledger));
        *self.lookout.borrow_mut() = Some(lookout.into());
    }

    /// Looks whether the request has left whole by now, and counts it once.
    pub(crate) fn note_sent(&self, client: &Client, ledger: &Ledger) {
        if !self.sent.get() && ledger.request_left() {
            self.sent.set(true);
            client.counters.sent.increment();
        }
    }

    /// Has whatever has arrived looked at at the next poll, or at once.
    pub(crate) fn look_again(&self) {
        match &*self.lookout.borrow() {
            None => {}
            Some(Lookout::Wire(wire)) => wire.ask_anyway(),
            Some(Lookout::Driven(driven)) => driven.look_again(),
        }
    }

    pub(crate) fn answered_by(&self, protocol: Protocol, status: u16) {
        self.protocol.set(Some(protocol));
        self.status.set(status);
    }

    /// What passed for it, if it has got a connection.
    pub(crate) fn ledger(&self) -> Option<Rc<Ledger>> {
        self.ledger.borrow().clone()
    }

    /// The exchange whose response ended with the last byte read.
    pub(crate) fn whole(&self, ledger: &Ledger) -> Exchange {
        let (last, _) = ledger.last_data();
        self.exchange(Outcome::Answered, &ledger.stamps(), last.stamp())
    }

    /// The exchange that was given up at `at_ns`.
    pub(crate) fn broken(&self, outcome: Outcome, at_ns: u64) -> Exchange {
        if self.stage.get() != Stage::Exchanging {
            self.leave(at_ns.saturating_sub(self.since_ns.get()));
        }
        let stamps = self
            .ledger()
            .map(|ledger| ledger.stamps_until(Some(at_ns)))
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
        let ledger = self.ledger.borrow();
        let ledger = ledger.as_deref();
        Exchange {
            outcome,
            status: self.status.get(),
            protocol: self.protocol.get(),
            phases,
            stamp,
            connect_is_bound: self.connect_is_bound.get(),
            window_limited: ledger.is_some_and(Ledger::window_limited),
            opened_connection: self.opened_connection.get(),
            sent_bytes: ledger.map_or(0, Ledger::sent_bytes),
            received_bytes: ledger.map_or(0, Ledger::received_bytes),
        }
    }
}
