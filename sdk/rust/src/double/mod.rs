//! A host for tests that are not WebAssembly, of the very shape that generated bindings have.
//!
//! Everything above this module is written once, against `crate::host`; so the contract is the seam, and whatever does not
//! fit it does not compile. There is one world a thread, and it is there while [`testing::Host::run`](crate::testing::Host::run)
//! runs.

pub(crate) mod check;
pub(crate) mod errors;
pub(crate) mod http;
pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod random;
pub(crate) mod time;
pub(crate) mod vu;

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::testing::{Reply, Seen, Sent};

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Everything the double knows.
pub(crate) struct World {
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) vu: u32,
    pub(crate) iteration: u64,
    /// Taken out while it runs, so that it may use this crate itself.
    pub(crate) answer: Option<Answer>,
    /// State of the random sequence.
    pub(crate) random: u64,
    /// The virtual clock; only sleeping moves it.
    pub(crate) now_ns: u64,
    /// Names of checks and groups, by number.
    pub(crate) names: Vec<String>,
    /// Metrics and series, by number.
    pub(crate) metrics: Vec<metrics::Metric>,
    pub(crate) series: Vec<metrics::Series>,
    /// Open checks, innermost last.
    pub(crate) scopes: Vec<u32>,
    /// Open groups, innermost last.
    pub(crate) groups: Vec<u32>,
    pub(crate) seen: Seen,
}

/// What stands for the server.
pub(crate) type Answer = Box<dyn FnMut(&Sent) -> Reply>;

impl World {
    fn name(&self, number: u32) -> String {
        self.names[number as usize].clone()
    }

    fn group(&self) -> String {
        self.groups
            .iter()
            .map(|&group| self.name(group))
            .collect::<Vec<_>>()
            .join("::")
    }

    fn number(&mut self, name: &str) -> u32 {
        self.seen.registrations += 1;
        self.names.push(name.to_owned());
        self.names.len() as u32 - 1
    }
}

/// Puts a world in place for as long as `scenario` runs, and gives it back.
pub(crate) fn inhabit<T>(world: World, scenario: impl FnOnce() -> T) -> (T, World) {
    let before = WORLD.replace(Some(world));
    assert!(
        before.is_none(),
        "one `Host::run` cannot run inside another"
    );
    let value = scenario();
    let world = WORLD
        .take()
        .unwrap_or_else(|| unreachable!("nothing else takes the world away"));
    (value, world)
}

fn with<T>(ask: impl FnOnce(&mut World) -> T) -> T {
    WORLD.with_borrow_mut(|world| match world {
        Some(world) => ask(world),
        None => {
            panic!("outside of WebAssembly this works inside `nettare::testing::Host::run` only")
        }
    })
}
