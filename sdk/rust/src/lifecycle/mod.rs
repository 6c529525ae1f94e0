//! What a guest gives: its scenarios, and what happens around them.
//!
//! [`main!`](crate::main) names functions; a [`Guest`] is made of them, and an [`Entry`] runs it behind the contract's exports:
//!
//! ```text
//!   describe              once, in an instance thrown away
//!   setup ──► bytes ─┬─► init ──► state      once a run, once a virtual user
//!                    │     run(&mut state)   once an iteration
//!                    └─► teardown            once a run
//! ```
//!
//! Set-up data crosses instances, so it is bytes in between: JSON, which a guest that has set-up data is likely to hold
//! code for anyway. A guest without it holds none of this.

use std::cell::Cell;
use std::time::Duration;

#[cfg(target_arch = "wasm32")]
mod exports;
mod guest;
mod main_macro;

#[cfg(target_arch = "wasm32")]
pub use exports::Exports;
pub use guest::Guest;

use crate::deferred;
use crate::error::{Context, Result};
use crate::http::Response;

/// When the running iteration was due, and when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arrival {
    /// Index of this iteration in the whole run, from 0.
    pub sequence: u64,
    /// When it should have started, from the run's start.
    pub due: Duration,
    /// When it did start.
    pub started: Duration,
}

thread_local! {
    static ARRIVAL: Cell<Arrival> =
        const { Cell::new(Arrival { sequence: 0, due: Duration::ZERO, started: Duration::ZERO }) };
}

/// The running iteration's. Outside an iteration it is the last one's, or zero.
pub fn arrival() -> Arrival {
    ARRIVAL.get()
}

/// What a guest says of itself.
#[derive(Debug, PartialEq, Eq)]
pub struct Description<'a> {
    pub(crate) scenarios: Vec<&'static str>,
    pub(crate) checks: &'static [&'static str],
    pub(crate) deferred: Vec<&'a str>,
    pub(crate) options: &'static str,
}

/// Implemented by [`main!`](crate::main).
pub trait Main {
    /// Makes what the exports call.
    fn hooks() -> Box<dyn Hooks>;
}

/// What the exports call, without the guest's types.
pub trait Hooks {
    /// Names of scenarios, of checks and of deferred checks, and options.
    fn describe(&self) -> Description<'_>;
    /// Set-up data, as bytes.
    fn setup(&self) -> Result<Vec<u8>>;
    /// Makes the state from set-up data.
    fn init(&mut self, data: &[u8]) -> Result;
    /// One iteration of one scenario.
    fn run(&mut self, scenario: u32, arrival: Arrival) -> Result;
    /// A deferred check, by its number; an error fails it.
    fn judge(&self, check: u32, response: &Response, context: &[u8]) -> Result<(), String>;
    /// The end, from set-up data.
    fn teardown(&self, data: &[u8]) -> Result;
}

/// A guest together with its one state: an instance serves one virtual user.
pub struct Entry<D, S> {
    guest: Guest<D, S>,
    state: Option<S>,
}

impl<D, S> Entry<D, S> {
    /// One whose state is made by [`Hooks::init`].
    pub fn new(guest: Guest<D, S>) -> Entry<D, S> {
        deferred::name_all(guest.deferred.iter().map(|check| check.type_id).collect());
        Entry { guest, state: None }
    }
}

impl<D, S> Hooks for Entry<D, S> {
    fn describe(&self) -> Description<'_> {
        let guest = &self.guest;
        Description {
            scenarios: guest.scenarios.iter().map(|(name, _)| *name).collect(),
            checks: guest.checks,
            deferred: guest
                .deferred
                .iter()
                .map(|check| check.name.as_str())
                .collect(),
            options: guest.options,
        }
    }

    fn setup(&self) -> Result<Vec<u8>> {
        (self.guest.setup)()
    }

    fn init(&mut self, data: &[u8]) -> Result {
        let data = (self.guest.decode)(data)?;
        self.state = Some((self.guest.init)(data)?);
        Ok(())
    }

    fn run(&mut self, scenario: u32, arrival: Arrival) -> Result {
        ARRIVAL.set(arrival);
        let state = self
            .state
            .as_mut()
            .context("the host ran a scenario before `init`")?;
        let (_, scenario) = self
            .guest
            .scenarios
            .get(scenario as usize)
            .context("there is no scenario of that number")?;
        scenario(state)
    }

    fn judge(&self, check: u32, response: &Response, context: &[u8]) -> Result<(), String> {
        let check = self.guest.deferred.get(check as usize);
        let check = check.ok_or("there is no deferred check of that number")?;
        let finding = (check.judge)(response, context).map_err(|error| error.to_string())?;
        deferred::answer(finding)
    }

    fn teardown(&self, data: &[u8]) -> Result {
        (self.guest.teardown)((self.guest.decode)(data)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::{check, testing::Host};

    const AT_ZERO: Arrival = Arrival {
        sequence: 0,
        due: Duration::ZERO,
        started: Duration::ZERO,
    };

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Shop {
        products: u32,
    }

    struct Shopper {
        shop: Shop,
        visits: u32,
    }

    fn prepare() -> Result<Shop> {
        Ok(Shop { products: 3 })
    }

    fn enter(shop: Shop) -> Result<Shopper> {
        Ok(Shopper { shop, visits: 0 })
    }

    fn visit(shopper: &mut Shopper) -> Result {
        shopper.visits += 1;
        crate::ensure!(
            shopper.visits <= shopper.shop.products,
            "visit {} finds nothing",
            shopper.visits
        );
        Ok(())
    }

    fn look() {
        check("the shop is there", || true);
    }

    #[test]
    fn the_set_up_data_reaches_the_state_and_the_state_lasts() {
        let guest = || {
            Entry::new(
                Guest::new()
                    .setup(prepare)
                    .init(enter)
                    .scenario("visit", visit)
                    .scenario("look", look),
            )
        };
        let data = guest().setup().unwrap();
        let mut entry = guest();
        entry.init(&data).unwrap();
        for _ in 0..3 {
            entry.run(0, AT_ZERO).unwrap();
        }
        assert_eq!(
            entry.run(0, AT_ZERO).unwrap_err().to_string(),
            "visit 4 finds nothing"
        );
        let (looked, log) = Host::new().run(|| entry.run(1, AT_ZERO));
        assert!(looked.is_ok());
        assert_eq!(log.checks.len(), 1);
    }

    #[test]
    fn without_init_the_state_is_the_set_up_data() {
        let count = |shop: &mut Shop| shop.products += 1;
        let close = |shop: Shop| {
            if shop.products == 3 {
                Ok(())
            } else {
                Err(Error::new("not what set-up made"))
            }
        };
        let mut entry = Entry::new(
            Guest::new()
                .setup(prepare)
                .scenario("count", count)
                .teardown(close),
        );
        let data = entry.setup().unwrap();
        entry.init(&data).unwrap();
        entry.run(0, AT_ZERO).unwrap();
        assert_eq!(entry.state.as_ref().map(|shop| shop.products), Some(4));
        entry.teardown(&data).unwrap();
    }

    #[test]
    fn a_guest_of_one_function_has_everything_else_by_default() {
        let mut entry = Entry::new(Guest::new().scenario("look", || Ok::<(), Error>(())));
        let data = entry.setup().unwrap();
        assert!(data.is_empty());
        entry.init(&data).unwrap();
        let arrival = Arrival {
            sequence: 7,
            ..AT_ZERO
        };
        entry.run(0, arrival).unwrap();
        assert_eq!(super::arrival(), arrival);
        entry.teardown(&data).unwrap();
        let described = Description {
            scenarios: vec!["look"],
            checks: &[],
            deferred: Vec::new(),
            options: "",
        };
        assert_eq!(entry.describe(), described);
    }

    #[test]
    fn a_host_that_breaks_the_order_is_told_so() {
        let mut entry = Entry::new(Guest::new().scenario("look", look));
        assert_eq!(
            entry.run(0, AT_ZERO).unwrap_err().to_string(),
            "the host ran a scenario before `init`"
        );
        entry.init(&[]).unwrap();
        assert_eq!(
            entry.run(5, AT_ZERO).unwrap_err().to_string(),
            "there is no scenario of that number"
        );
    }

    #[test]
    fn broken_set_up_data_is_an_error_that_says_so() {
        let mut entry = Entry::new(Guest::new().setup(prepare).scenario("look", look));
        assert!(
            entry
                .init(b"{}")
                .unwrap_err()
                .to_string()
                .starts_with("reading the set-up data: missing field `products`")
        );
    }
}
