//! A worker's part of the network.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use nettare_core::sample::Funnel;

use crate::Shared;

/// One worker's part: what its sessions share, and the counts of their exchanges.
#[derive(Debug)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
    pub(crate) funnel: Cell<Funnel>,
}

impl Client {
    /// A client for the calling thread.
    pub fn new(shared: Arc<Shared>) -> Rc<Client> {
        Rc::new(Client {
            shared,
            funnel: Cell::new(Funnel::default()),
        })
    }

    /// Where this worker's exchanges got to. A call that was dropped stays in flight.
    pub fn funnel(&self) -> Funnel {
        self.funnel.get()
    }
}
