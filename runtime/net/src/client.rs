//! A worker's part of the network.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use http::HeaderValue;
use nettare_core::plan::Timestamps;
use nettare_core::sample::{ErrorKind, Funnel, Outcome};

use crate::Shared;
use crate::budget::Pool;
use crate::clock::Converter;
use crate::stream::Stamping;
use crate::wire::Control;

/// One worker's part: what its sessions share, and the counts of their exchanges.
#[derive(Debug)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
    pub(crate) stamping: Rc<Stamping>,
    pub(crate) bodies: Arc<Pool>,
    pub(crate) counters: Counters,
    /// The `user-agent` of requests that set none.
    pub(crate) user_agent: Option<HeaderValue>,
}

/// The funnel as it is counted, one cell a figure: a whole `Funnel` would be copied at each step of each exchange.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    attempted: Counter,
    /// Begun and not ended. Kept by itself, so that the sum of the others can be held against what was attempted.
    in_flight: Cell<u64>,
    pub(crate) connected: Counter,
    pub(crate) sent: Counter,
    answered: Counter,
    failed: [Counter; ErrorKind::ALL.len()],
    retried: Counter,
    pub(crate) connections_opened: Counter,
    pub(crate) connections_reused: Counter,
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(Cell<u64>);

impl Client {
    /// A client for the calling thread.
    pub fn new(shared: Arc<Shared>) -> Rc<Client> {
        let kernel = shared.kernel_stamps() && shared.config.timestamps != Timestamps::User;
        let control = if kernel {
            Control::Kernel
        } else {
            Control::Plain
        };
        Rc::new(Client {
            stamping: Rc::new(Stamping {
                control,
                converter: Converter::new(),
            }),
            bodies: Pool::new(&shared.budget),
            counters: Counters::default(),
            user_agent: user_agent(&shared.config.user_agent),
            shared,
        })
    }

    /// Where this worker's exchanges got to. Those of a call that the run's stop cut short stay in flight.
    pub fn funnel(&self) -> Funnel {
        self.counters.funnel()
    }

    /// How often this worker saw that the realtime clock had been set. Stamps of the reads concerned are not the kernel's.
    pub fn clock_steps(&self) -> u64 {
        self.stamping.converter.steps()
    }
}

/// None for an empty text, and for one that cannot be a field's value.
fn user_agent(text: &str) -> Option<HeaderValue> {
    (!text.is_empty())
        .then(|| HeaderValue::from_str(text).ok())
        .flatten()
}

impl Counter {
    pub(crate) fn increment(&self) {
        self.0.set(self.0.get() + 1);
    }

    fn get(&self) -> u64 {
        self.0.get()
    }
}

impl Counters {
    pub(crate) fn begun(&self) {
        self.attempted.increment();
        self.in_flight.set(self.in_flight.get() + 1);
    }

    pub(crate) fn ended(&self, outcome: Outcome) {
        // Without one in flight this would be a second end; the sum then shows it.
        self.in_flight.set(self.in_flight.get().saturating_sub(1));
        match outcome {
            Outcome::Answered => self.answered.increment(),
            Outcome::Failed(kind) => self.failed[index_of(kind)].increment(),
            Outcome::Retried => self.retried.increment(),
        }
    }

    fn funnel(&self) -> Funnel {
        Funnel {
            attempted: self.attempted.get(),
            connected: self.connected.get(),
            sent: self.sent.get(),
            answered: self.answered.get(),
            failed: std::array::from_fn(|index| self.failed[index].get()),
            retried: self.retried.get(),
            in_flight: self.in_flight.get(),
            connections_opened: self.connections_opened.get(),
            connections_reused: self.connections_reused.get(),
        }
    }
}

/// The place of `kind` in [`ErrorKind::ALL`], which is in the order of its variants.
fn index_of(kind: ErrorKind) -> usize {
    kind as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_under_their_own_kind() {
        for (index, kind) in ErrorKind::ALL.into_iter().enumerate() {
            assert_eq!(index_of(kind), index, "{kind:?}");
            let counters = Counters::default();
            counters.begun();
            counters.ended(Outcome::Failed(kind));
            assert_eq!(counters.funnel().failed[index], 1);
            assert_eq!(counters.funnel().in_flight, 0);
        }
    }
}
