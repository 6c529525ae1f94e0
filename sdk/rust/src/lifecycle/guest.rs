//! The functions of a guest, with their types.
//!
//! Functions may take what they have no use for, or leave it out: a scenario with or without the state, `init` with or without
//! the set-up data. Each form is an implementation of one trait; a marker parameter keeps them from overlapping.

use std::any::TypeId;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::deferred::{AnyJudge, Judge, name_of};
use crate::error::{Context, Error, Result};

/// The functions that [`main!`](crate::main) names, with set-up data `D` and state `S`.
pub struct Guest<D, S> {
    pub(super) options: &'static str,
    pub(super) checks: &'static [&'static str],
    pub(super) deferred: Vec<DeferredCheck>,
    pub(super) setup: Box<dyn Fn() -> Result<Vec<u8>>>,
    pub(super) decode: fn(&[u8]) -> Result<D>,
    pub(super) init: Box<dyn Fn(D) -> Result<S>>,
    pub(super) scenarios: Vec<NamedScenario<S>>,
    pub(super) teardown: Box<dyn Fn(D) -> Result>,
}

/// A function that judges responses later.
pub(super) struct DeferredCheck {
    pub(super) name: String,
    pub(super) type_id: TypeId,
    pub(super) judge: AnyJudge,
}

type NamedScenario<S> = (&'static str, Box<dyn Fn(&mut S) -> Result>);

impl Guest<(), ()> {
    /// One that has nothing yet.
    #[expect(clippy::new_without_default, reason = "only the macro makes one")]
    pub fn new() -> Guest<(), ()> {
        Guest {
            options: "",
            checks: &[],
            deferred: Vec::new(),
            setup: Box::new(|| Ok(Vec::new())),
            decode: |_| Ok(()),
            init: Box::new(Ok),
            scenarios: Vec::new(),
            teardown: Box::new(|()| Ok(())),
        }
    }

    /// The scenarios' own defaults.
    pub fn options(self, options: &'static str) -> Guest<(), ()> {
        Guest { options, ..self }
    }

    /// Names of checks that are known beforehand.
    pub fn checks(self, checks: &'static [&'static str]) -> Guest<(), ()> {
        Guest { checks, ..self }
    }

    /// Adds a deferred check.
    pub fn deferred<Takes, F: Judge<Takes>>(mut self, judge: F) -> Guest<(), ()> {
        self.deferred.push(DeferredCheck {
            name: name_of::<F>(),
            type_id: TypeId::of::<F>(),
            judge: Box::new(move |response, context| judge.judge(response, context)),
        });
        self
    }

    /// Makes the set-up data, which is the state as well until there is an `init`.
    pub fn setup<D, E>(self, setup: impl Fn() -> Result<D, E> + 'static) -> Guest<D, D>
    where
        D: Serialize + DeserializeOwned + 'static,
        E: Into<Error>,
    {
        Guest {
            options: self.options,
            checks: self.checks,
            deferred: self.deferred,
            setup: Box::new(move || {
                serde_json::to_vec(&setup().map_err(Into::into)?).context("writing the set-up data")
            }),
            decode: |data| serde_json::from_slice(data).context("reading the set-up data"),
            init: Box::new(Ok),
            scenarios: Vec::new(),
            teardown: Box::new(|_| Ok(())),
        }
    }
}

impl<D: 'static, S: 'static> Guest<D, S> {
    /// Makes a virtual user's state.
    pub fn init<T, Takes>(self, init: impl Hook<D, T, Takes> + 'static) -> Guest<D, T> {
        Guest {
            options: self.options,
            checks: self.checks,
            deferred: self.deferred,
            setup: self.setup,
            decode: self.decode,
            init: Box::new(move |data| init.call(data)),
            scenarios: Vec::new(),
            teardown: self.teardown,
        }
    }

    /// Adds a scenario.
    pub fn scenario<Takes>(
        mut self,
        name: &'static str,
        scenario: impl Scenario<S, Takes> + 'static,
    ) -> Guest<D, S> {
        self.scenarios
            .push((name, Box::new(move |state| scenario.call(state))));
        self
    }

    /// Ends the run.
    pub fn teardown<Takes>(mut self, teardown: impl Hook<D, (), Takes> + 'static) -> Guest<D, S> {
        self.teardown = Box::new(move |data| teardown.call(data));
        self
    }
}

/// A function that takes the set-up data or nothing. `Takes` only tells the two apart.
#[diagnostic::on_unimplemented(
    message = "`init` and `teardown` take the set-up data by value, or nothing, and return a `Result`"
)]
pub trait Hook<D, T, Takes> {
    /// Calls it.
    fn call(&self, data: D) -> Result<T>;
}

impl<D, T, E: Into<Error>, F: Fn() -> Result<T, E>> Hook<D, T, fn() -> E> for F {
    fn call(&self, _data: D) -> Result<T> {
        self().map_err(Into::into)
    }
}

impl<D, T, E: Into<Error>, F: Fn(D) -> Result<T, E>> Hook<D, T, fn(D) -> E> for F {
    fn call(&self, data: D) -> Result<T> {
        self(data).map_err(Into::into)
    }
}

/// A function that takes the state or nothing. `Takes` only tells the two apart.
#[diagnostic::on_unimplemented(
    message = "a scenario takes the state by `&mut`, or nothing, and returns a `Result` or nothing"
)]
pub trait Scenario<S, Takes> {
    /// Calls it.
    fn call(&self, state: &mut S) -> Result;
}

impl<S, R: IntoResult, F: Fn() -> R> Scenario<S, fn() -> R> for F {
    fn call(&self, _state: &mut S) -> Result {
        self().into_result()
    }
}

impl<S, R: IntoResult, F: Fn(&mut S) -> R> Scenario<S, fn(&mut S) -> R> for F {
    fn call(&self, state: &mut S) -> Result {
        self(state).into_result()
    }
}

/// What a scenario may return.
pub trait IntoResult {
    /// The value as the host sees it.
    fn into_result(self) -> Result;
}

impl IntoResult for () {
    fn into_result(self) -> Result {
        Ok(())
    }
}

impl<E: Into<Error>> IntoResult for Result<(), E> {
    fn into_result(self) -> Result {
        self.map_err(Into::into)
    }
}
