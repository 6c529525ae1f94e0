//! The contract's exports, in front of [`Hooks`].

use std::cell::RefCell;
use std::marker::PhantomData;
use std::time::Duration;

use super::{Arrival, Hooks, Main};
use crate::bindings::exports::nettare::load::lifecycle::Guest;
use crate::bindings::nettare::load::types;
use crate::host;
use crate::http::Response;

thread_local! {
    /// Made by the first export that is called.
    static HOOKS: RefCell<Option<Box<dyn Hooks>>> = const { RefCell::new(None) };
}

/// The exports of the guest that `M` names.
pub struct Exports<M>(PhantomData<M>);

impl<M: Main> Guest for Exports<M> {
    fn describe() -> types::Description {
        with_hooks::<M, _>(|hooks| {
            let described = hooks.describe();
            types::Description {
                scenarios: described.scenarios.into_iter().map(String::from).collect(),
                checks: described.checks.iter().copied().map(String::from).collect(),
                deferred_checks: described.deferred.into_iter().map(String::from).collect(),
                options: described.options.to_owned(),
            }
        })
    }

    fn setup() -> Result<Vec<u8>, String> {
        with_hooks::<M, _>(|hooks| hooks.setup()).map_err(|error| error.to_string())
    }

    fn init(setup_data: Vec<u8>) -> Result<(), String> {
        with_hooks::<M, _>(|hooks| hooks.init(&setup_data)).map_err(|error| error.to_string())
    }

    fn run(arrival: types::Arrival) -> Result<(), String> {
        let scenario = arrival.scenario;
        let arrival = Arrival {
            sequence: arrival.sequence,
            due: Duration::from_nanos(arrival.due),
            started: Duration::from_nanos(arrival.started),
        };
        with_hooks::<M, _>(|hooks| hooks.run(scenario, arrival)).map_err(|error| error.to_string())
    }

    fn judge(check: u32, response: host::http::Response, context: Vec<u8>) -> Result<(), String> {
        let response = Response::from_host(response);
        with_hooks::<M, _>(|hooks| hooks.judge(check, &response, &context))
    }

    fn teardown(setup_data: Vec<u8>) -> Result<(), String> {
        with_hooks::<M, _>(|hooks| hooks.teardown(&setup_data)).map_err(|error| error.to_string())
    }
}

fn with_hooks<M: Main, T>(call: impl FnOnce(&mut dyn Hooks) -> T) -> T {
    HOOKS.with_borrow_mut(|hooks| {
        let hooks = hooks.get_or_insert_with(|| {
            log_panics();
            M::hooks()
        });
        call(hooks.as_mut())
    })
}

/// A panic ends in a trap, which tells where in the WebAssembly but not why; standard error leads nowhere.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        host::log::write(host::log::Level::Error, &panic.to_string())
    }));
}
