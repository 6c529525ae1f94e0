//! Asks a guest to describe itself, before anything else, and looks whether its hooks are of the contract's types.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use wasmtime::component::{
    ComponentExportIndex, ComponentNamedList, Instance, Lift, Lower, Resource,
};

use crate::error::LoadError;
use crate::guest::{Description, Loaded};
use crate::host::{Response, WitArrival, WitDescription};
use crate::limits::Limiter;
use crate::live::Live;
use crate::meter::Meter;
use crate::state::State;

/// The one scenario of a guest that names none.
const DEFAULT_SCENARIO: &str = "default";

pub(crate) fn describe(loaded: &Arc<Loaded>) -> Result<Description, LoadError> {
    let options = &loaded.options;
    let mut state = State::hollow();
    state.cpu_budget_ns = options.guest_cpu_ns;
    state.limiter = Limiter::new(options.guest_memory_bytes, loaded.table_elements);
    state.meter = Meter::new(options.meter, state.limits.depth);
    let mut live = Live::new(Arc::clone(loaded), state);
    drive(live.instantiate()).map_err(LoadError::Describe)?;
    check_types(&mut live)?;
    let description = match loaded.hooks.describe {
        Some(hook) => {
            drive(live.call_by_index::<(), (WitDescription,)>(hook, ()))
                .map_err(LoadError::Describe)?
                .0
        }
        None => WitDescription::default(),
    };
    Ok(described(description))
}

fn described(description: WitDescription) -> Description {
    let WitDescription {
        mut scenarios,
        checks,
        deferred_checks,
        options,
    } = description;
    if scenarios.is_empty() {
        scenarios.push(DEFAULT_SCENARIO.to_owned());
    }
    Description {
        scenarios,
        checks,
        deferred_checks,
        options,
    }
}

type Said<T> = (Result<T, String>,);

fn check_types(live: &mut Live) -> Result<(), LoadError> {
    let loaded = Arc::clone(live.loaded());
    let hooks = &loaded.hooks;
    check_type::<(), (WitDescription,)>(live, "describe", hooks.describe)?;
    check_type::<(), Said<Vec<u8>>>(live, "setup", hooks.setup)?;
    check_type::<(Vec<u8>,), Said<()>>(live, "init", hooks.init)?;
    check_type::<(WitArrival,), Said<()>>(live, "run", hooks.run)?;
    check_type::<(u32, Resource<Response>, Vec<u8>), Said<()>>(live, "judge", hooks.judge)?;
    check_type::<(Vec<u8>,), Said<()>>(live, "teardown", hooks.teardown)
}

fn check_type<P, R>(
    live: &mut Live,
    name: &str,
    hook: Option<ComponentExportIndex>,
) -> Result<(), LoadError>
where
    P: ComponentNamedList + Lower,
    R: ComponentNamedList + Lift,
{
    let Some(hook) = hook else { return Ok(()) };
    let wrong = |why: String| LoadError::WrongExport {
        name: name.to_owned(),
        why,
    };
    let (instance, store) = live
        .parts()
        .ok_or_else(|| wrong("there is no instance".to_owned()))?;
    Instance::get_typed_func::<P, R>(&instance, store, &hook)
        .map_err(|error| wrong(format!("{error:#}")))?;
    Ok(())
}

/// Polls to the end. Nothing in here waits for the world: a guest that is pending has only been made to yield.
pub(crate) fn drive<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return value;
        }
        std::thread::yield_now();
    }
}
