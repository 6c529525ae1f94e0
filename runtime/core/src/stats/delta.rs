//! What a worker hands over to the collector.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::figures::{
    CheckFigures, CustomFigures, ExchangeFigures, GroupFigures, PhaseFigures, RunFigures,
    ScenarioFigures,
};
use super::index::Ledger;
use super::key::{CheckKey, CustomKey, ErrorKey, GroupKey, PhaseKey, SeriesKey};
use super::symbol::{Symbol, Tag};

/// One interval's figures, by number.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) run: RunFigures,
    pub(crate) exchanges: Ledger<ExchangeFigures>,
    pub(crate) phases: Ledger<PhaseFigures>,
    pub(crate) scenarios: Ledger<ScenarioFigures>,
    pub(crate) checks: Ledger<CheckFigures>,
    pub(crate) groups: Ledger<GroupFigures>,
    pub(crate) customs: Ledger<CustomFigures>,
    pub(crate) errors: Ledger<u64>,
    pub(crate) misuse: Ledger<u64>,
    /// Limits that were hit; a handful at most.
    pub(crate) limits: Vec<(&'static str, u64)>,
}

/// All that a shard recorded since the last time, to be absorbed by [`super::Totals`].
#[derive(Debug)]
pub struct ShardDelta {
    pub(crate) texts: Arc<Vec<Arc<str>>>,
    pub(crate) tag_sets: Arc<Vec<Arc<[Tag]>>>,
    pub(crate) series: Arc<Vec<SeriesKey>>,
    pub(crate) phases: Arc<Vec<PhaseKey>>,
    pub(crate) scenarios: Arc<Vec<Symbol>>,
    pub(crate) checks: Arc<Vec<CheckKey>>,
    pub(crate) groups: Arc<Vec<GroupKey>>,
    pub(crate) customs: Arc<Vec<CustomKey>>,
    pub(crate) errors: Arc<Vec<ErrorKey>>,
    pub(crate) error_examples: Arc<Vec<Arc<str>>>,
    pub(crate) misuse: Arc<Vec<Symbol>>,
    pub(crate) check_examples: Arc<Vec<(Symbol, Arc<str>)>>,
    pub(crate) book: Box<Book>,
    pub(super) home: Sender<Box<Book>>,
}

impl ShardDelta {
    /// Sends the emptied book back to its shard, if that still exists.
    pub(crate) fn return_book(self) {
        let _ = self.home.send(self.book);
    }

    #[cfg(test)]
    pub(crate) fn book_address(&self) -> usize {
        std::ptr::from_ref(&*self.book).addr()
    }
}
