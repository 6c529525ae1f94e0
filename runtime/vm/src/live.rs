//! A store with an instance in it, and calls into that: what a virtual user is beneath its hooks.
//!
//! An instance is lost by a trap, by a panic of the host, and by dropping a call that was pending: wasmtime does not let anybody
//! in again. Then a new store takes the state over, and a new instance is made in it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use nettare_core::plan::Meter;
use wasmtime::component::{
    ComponentExportIndex, ComponentNamedList, Instance, Lift, Lower, TypedFunc,
};
use wasmtime::{CallHook, Store, StoreContextMut};

use crate::error::GuestFailure;
use crate::guest::Loaded;
use crate::meter::Usage;
use crate::state::State;
use crate::{epoch, profile};

pub(crate) struct Live {
    loaded: Arc<Loaded>,
    store: Store<State>,
    /// None when it was lost, or not made yet.
    instance: Option<Instance>,
    /// What the last call took.
    usage: Usage,
}

impl Live {
    /// A store without an instance.
    pub(crate) fn new(loaded: Arc<Loaded>, state: State) -> Live {
        let store = store(&loaded, state);
        Live {
            loaded,
            store,
            instance: None,
            usage: Usage::default(),
        }
    }

    pub(crate) fn loaded(&self) -> &Arc<Loaded> {
        &self.loaded
    }

    pub(crate) fn state(&mut self) -> &mut State {
        self.store.data_mut()
    }

    pub(crate) fn peek(&self) -> &State {
        self.store.data()
    }

    pub(crate) fn into_state(self) -> State {
        self.store.into_data()
    }

    /// The instance, and the store it is in.
    pub(crate) fn parts(&mut self) -> Option<(Instance, &mut Store<State>)> {
        self.instance.map(|instance| (instance, &mut self.store))
    }

    /// What the last call took.
    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// Puts a store without an instance in place of this one. The state goes on, but for what the instance had.
    pub(crate) fn renew_store(&mut self) {
        let mut state = std::mem::replace(self.store.data_mut(), State::hollow());
        state.forget_instance();
        self.instance = None;
        // The old store is dropped here, and gives back its room before the new instance asks for some.
        self.store = store(&self.loaded, state);
    }

    /// Makes an instance.
    pub(crate) async fn instantiate(&mut self) -> Result<(), GuestFailure> {
        self.begin(None);
        let loaded = Arc::clone(&self.loaded);
        let made = AssertUnwindSafe(loaded.pre.instantiate_async(&mut self.store))
            .catch_unwind()
            .await;
        self.instance = Some(self.end(made)?);
        Ok(())
    }

    /// Calls a hook by its place in the component.
    pub(crate) async fn call_by_index<P, R>(
        &mut self,
        hook: ComponentExportIndex,
        params: P,
    ) -> Result<R, GuestFailure>
    where
        P: ComponentNamedList + Lower + Send + Sync,
        R: ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let function = self.function::<P, R>(hook)?;
        self.call(&function, params, None).await
    }

    /// A hook of the instance.
    pub(crate) fn function<P, R>(
        &mut self,
        hook: ComponentExportIndex,
    ) -> Result<TypedFunc<P, R>, GuestFailure>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        let lost = || GuestFailure::Instantiate("it was lost, and no new one was made".to_owned());
        let (instance, store) = self.parts().ok_or_else(lost)?;
        instance
            .get_typed_func::<P, R>(store, &hook)
            .map_err(|error| GuestFailure::Instantiate(format!("{error:#}")))
    }

    /// Calls a hook. `iteration` is the iteration's index, if it is one.
    pub(crate) async fn call<P, R>(
        &mut self,
        function: &TypedFunc<P, R>,
        params: P,
        iteration: Option<u64>,
    ) -> Result<R, GuestFailure>
    where
        P: ComponentNamedList + Lower + Send + Sync,
        R: ComponentNamedList + Lift + Send + Sync + 'static,
    {
        self.begin(iteration);
        let called = AssertUnwindSafe(function.call_async(&mut self.store, params))
            .catch_unwind()
            .await;
        self.end(called)
    }

    fn begin(&mut self, iteration: Option<u64>) {
        self.store.set_epoch_deadline(epoch::TICKS);
        self.store.data_mut().begin_call(iteration);
    }

    fn end<T>(
        &mut self,
        called: std::thread::Result<wasmtime::Result<T>>,
    ) -> Result<T, GuestFailure> {
        let budget_ns = self.store.data().cpu_budget_ns;
        let result = match called {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(GuestFailure::of(&error, budget_ns)),
            Err(panic) => Err(GuestFailure::of_panic(panic.as_ref())),
        };
        let state = self.store.data_mut();
        if let Err(failure) = &result {
            self.instance = None;
            if let Some(limit) = failure.limit() {
                state.limit_hit(limit);
            }
        }
        self.usage = state.end_call();
        result
    }
}

/// Costs all but the one virtual user whose guest is profiled a look.
fn sample(store: StoreContextMut<'_, State>, hook: CallHook) {
    if store.data().sampler.is_some() {
        profile::cross(store, hook);
    }
}

fn store(loaded: &Loaded, state: State) -> Store<State> {
    let mut store = Store::new(loaded.pre.engine(), state);
    store.limiter(|state| &mut state.limiter);
    if loaded.options.meter == Meter::Instructions {
        // More than any guest executes: fuel only counts here, budgets are of time.
        let _ = store.set_fuel(u64::MAX);
        store.call_hook(|mut store, hook| {
            let fuel = store.get_fuel()?;
            store.data_mut().meter.cross_with_fuel(hook, fuel);
            sample(store, hook);
            Ok(())
        });
    } else {
        store.call_hook(|mut store, hook| {
            store.data_mut().meter.cross(hook);
            sample(store, hook);
            Ok(())
        });
    }
    store.set_hostcall_fuel(loaded.options.hostcall_bytes);
    epoch::watch(&mut store);
    store
}
