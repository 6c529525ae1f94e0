//! What the server itself counted: the second opinion on a load generator's figures.
//!
//! A request is *begun* when its head was read, *finished* when the last byte of its response was handed over to be sent, and
//! *aborted* when neither can happen any more: the connection broke, or the route broke it on purpose. Until then it is in
//! flight, so `begun = finished + aborted + in flight` at any time. The end is counted before the bytes that carry it are
//! written, so whoever has read a whole response finds it counted.
//!
//! Each thread counts in a table of its own, so that no two write to one cache line; reading adds the tables up. Counts never go
//! back: a reset remembers what they were, so it disturbs nobody who is counting.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::route::Name;

/// The lowest status a route gives.
const LOWEST_STATUS: u16 = 200;
/// Statuses that are counted: 200 to 599.
const STATUSES: usize = 400;

/// What was counted since the start or the last reset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Connections accepted.
    pub connections_accepted: u64,
    /// Connections open now, the one that asks included.
    pub connections_open: u64,
    /// Requests whose head was read; those to `/counter` are not counted, here or below.
    pub begun: u64,
    /// Requests whose whole response was handed over to be sent.
    pub finished: u64,
    /// Requests that will never be answered whole.
    pub aborted: u64,
    /// Requests begun, whenever that was, and not ended yet.
    pub in_flight: u64,
    /// The same by route; routes that nobody asked for are left out. A path without a route is under `other`.
    pub routes: BTreeMap<&'static str, RouteCounts>,
}

/// What was counted of one route.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RouteCounts {
    /// Requests whose head was read.
    pub begun: u64,
    /// Requests that will never be answered whole.
    pub aborted: u64,
    /// Responses handed over whole, by status.
    pub finished: BTreeMap<u16, u64>,
}

/// The counts of all threads.
#[derive(Debug)]
pub(crate) struct Counters {
    tables: Vec<Arc<Table>>,
    /// What had been counted when the counts were last reset.
    baseline: Mutex<Raw>,
}

/// One thread's counts, which only grow.
#[derive(Debug)]
pub(crate) struct Table {
    opened: AtomicU64,
    closed: AtomicU64,
    routes: Vec<RouteTable>,
}

#[derive(Debug)]
struct RouteTable {
    begun: AtomicU64,
    aborted: AtomicU64,
    /// By status, from [`LOWEST_STATUS`].
    finished: Vec<AtomicU64>,
}

/// All tables added up.
#[derive(Clone, Debug)]
struct Raw {
    opened: u64,
    closed: u64,
    routes: Vec<RawRoute>,
}

#[derive(Clone, Debug)]
struct RawRoute {
    begun: u64,
    aborted: u64,
    finished: Vec<u64>,
}

impl Counters {
    pub(crate) fn new(threads: usize) -> Counters {
        let tables: Vec<Arc<Table>> = (0..threads).map(|_| Arc::new(Table::new())).collect();
        let baseline = Mutex::new(Raw::zero());
        Counters { tables, baseline }
    }

    /// The table of one thread.
    pub(crate) fn table(&self, thread: usize) -> Arc<Table> {
        self.tables[thread].clone()
    }

    /// Counts from now on.
    pub(crate) fn reset(&self) {
        let now = self.raw();
        *self.baseline.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// What was counted since the last reset.
    pub(crate) fn counts(&self) -> Counts {
        let now = self.raw();
        let base = self
            .baseline
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut counts = Counts {
            connections_accepted: now.opened - base.opened,
            connections_open: now.opened.saturating_sub(now.closed),
            ..Counts::default()
        };
        for ((name, now), base) in Name::ALL.into_iter().zip(&now.routes).zip(&base.routes) {
            let route = now.since(base);
            counts.begun += route.begun;
            counts.aborted += route.aborted;
            counts.finished += route.finished.values().sum::<u64>();
            counts.in_flight += now.in_flight();
            if route != RouteCounts::default() {
                counts.routes.insert(name.template(), route);
            }
        }
        counts
    }

    fn raw(&self) -> Raw {
        let mut raw = Raw::zero();
        for table in &self.tables {
            table.add_to(&mut raw);
        }
        raw
    }
}

impl Table {
    fn new() -> Table {
        let zeros = |n: usize| (0..n).map(|_| AtomicU64::new(0)).collect();
        let route = |_| RouteTable {
            begun: AtomicU64::new(0),
            aborted: AtomicU64::new(0),
            finished: zeros(STATUSES),
        };
        Table {
            opened: AtomicU64::new(0),
            closed: AtomicU64::new(0),
            routes: Name::ALL.into_iter().map(route).collect(),
        }
    }

    /// Counts a connection from its acceptance to the drop of what is returned.
    pub(crate) fn open_connection(self: &Arc<Table>) -> OpenConnection {
        increment(&self.opened);
        OpenConnection(self.clone())
    }

    /// Counts a request whose head was read.
    pub(crate) fn begin(self: &Arc<Table>, name: Name) -> Ticket {
        increment(&self.routes[name as usize].begun);
        Ticket {
            table: self.clone(),
            name,
            ended: false,
        }
    }

    /// Ends are read before beginnings: what ends in between is then in flight, rather than ended without having begun.
    fn add_to(&self, raw: &mut Raw) {
        raw.closed += self.closed.load(Ordering::Acquire);
        raw.opened += self.opened.load(Ordering::Acquire);
        for (route, sum) in self.routes.iter().zip(&mut raw.routes) {
            sum.aborted += route.aborted.load(Ordering::Acquire);
            for (status, sum) in route.finished.iter().zip(&mut sum.finished) {
                *sum += status.load(Ordering::Acquire);
            }
            sum.begun += route.begun.load(Ordering::Acquire);
        }
    }
}

impl Raw {
    fn zero() -> Raw {
        let route = |_| RawRoute {
            begun: 0,
            aborted: 0,
            finished: vec![0; STATUSES],
        };
        Raw {
            opened: 0,
            closed: 0,
            routes: Name::ALL.into_iter().map(route).collect(),
        }
    }
}

impl RawRoute {
    fn in_flight(&self) -> u64 {
        self.begun
            .saturating_sub(self.aborted + self.finished.iter().sum::<u64>())
    }

    fn since(&self, base: &RawRoute) -> RouteCounts {
        let statuses = (LOWEST_STATUS..).zip(self.finished.iter().zip(&base.finished));
        let finished = statuses
            .map(|(status, (now, then))| (status, now - then))
            .filter(|&(_, n)| n > 0)
            .collect();
        RouteCounts {
            begun: self.begun - base.begun,
            aborted: self.aborted - base.aborted,
            finished,
        }
    }
}

/// A connection that is open.
#[derive(Debug)]
pub(crate) struct OpenConnection(Arc<Table>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        increment(&self.0.closed);
    }
}

/// A request in flight. It ends exactly once: finished with a status, or, when dropped before that, aborted.
#[derive(Debug)]
pub(crate) struct Ticket {
    table: Arc<Table>,
    name: Name,
    ended: bool,
}

impl Ticket {
    /// Counts the response as handed over whole. Later calls do nothing.
    pub(crate) fn finish(&mut self, status: u16) {
        if !std::mem::replace(&mut self.ended, true) {
            let last = STATUSES - 1;
            increment(
                &self.table.routes[self.name as usize].finished
                    [usize::from(status.saturating_sub(LOWEST_STATUS)).min(last)],
            );
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.ended {
            increment(&self.table.routes[self.name as usize].aborted);
        }
    }
}

fn increment(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_exactly_once_as_finished_or_aborted() {
        let counters = Counters::new(2);
        let mut answered = counters.table(0).begin(Name::Index);
        answered.finish(200);
        answered.finish(200);
        drop(answered);
        drop(counters.table(1).begin(Name::Index));
        let _pending = counters.table(1).begin(Name::Delay);

        let counts = counters.counts();
        assert_eq!(
            (
                counts.begun,
                counts.finished,
                counts.aborted,
                counts.in_flight
            ),
            (3, 1, 1, 1)
        );
        assert_eq!(
            counts.routes["/"],
            RouteCounts {
                begun: 2,
                aborted: 1,
                finished: [(200, 1)].into()
            }
        );
        assert_eq!(
            counts.routes.len(),
            2,
            "routes nobody asked for are left out"
        );
    }

    #[test]
    fn a_reset_starts_from_zero_and_keeps_what_is_in_flight() {
        let counters = Counters::new(1);
        let table = counters.table(0);
        let connection = table.open_connection();
        let mut pending = table.begin(Name::Echo);
        counters.reset();
        let counts = counters.counts();
        assert_eq!(
            (
                counts.begun,
                counts.in_flight,
                counts.connections_accepted,
                counts.connections_open
            ),
            (0, 1, 0, 1)
        );

        pending.finish(599);
        drop(connection);
        let counts = counters.counts();
        assert_eq!(
            (
                counts.begun,
                counts.finished,
                counts.in_flight,
                counts.connections_open
            ),
            (0, 1, 0, 0)
        );
        assert_eq!(counts.routes["/echo"].finished, [(599, 1)].into());
    }
}
