//! Interface `metrics`: metrics of a guest's own.

use wasmtime::component::Linker;

use crate::contract::interface;
use crate::host::Context;
use crate::host::check::number_or_none;
use crate::host::values::{WitMetricKind, WitUnit};
use crate::record::Record;
use crate::registry::{Conflict, MetricInfo, NO_NUMBER, SeriesInfo};
use crate::state::{State, put};

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut metrics = linker.instance(&interface("metrics"))?;
    metrics.func_wrap(
        "register",
        |mut store: Context<'_>, (name, kind, unit): (String, WitMetricKind, WitUnit)| {
            Ok((register(store.data_mut(), name, kind, unit),))
        },
    )?;
    metrics.func_wrap(
        "series",
        |mut store: Context<'_>, (metric, tags): (u32, Vec<(String, String)>)| {
            Ok((series(store.data_mut(), metric, tags),))
        },
    )?;
    metrics.func_wrap(
        "add",
        |mut store: Context<'_>, (series, value): (u32, f64)| {
            add(store.data_mut(), series, value);
            Ok(())
        },
    )
}

fn register(state: &mut State, name: String, kind: WitMetricKind, unit: WitUnit) -> u32 {
    if !state.is_short(&name) {
        return number_or_none(state, None);
    }
    match state.run.registry.metric(&MetricInfo {
        name,
        kind: kind.into(),
        unit: unit.into(),
    }) {
        Ok(number) => number_or_none(state, number),
        Err(Conflict) => {
            state.misuse("metric-registered-otherwise");
            NO_NUMBER
        }
    }
}

fn series(state: &mut State, metric: u32, tags: Vec<(String, String)>) -> u32 {
    if !state.run.registry.has_metric(metric) {
        state.misuse("metric-unknown");
        return NO_NUMBER;
    }
    let mut sorted = Vec::with_capacity(tags.len());
    for (key, value) in tags {
        if !state.is_short(&key) || !state.is_short(&value) {
            return number_or_none(state, None);
        }
        put(&mut sorted, key, value);
    }
    if sorted.len() > usize::try_from(state.limits.tags).unwrap_or(usize::MAX) {
        state.limit_hit("tags");
        return NO_NUMBER;
    }
    let number = state.run.registry.series(&SeriesInfo {
        metric,
        tags: sorted,
    });
    number_or_none(state, number)
}

fn add(state: &mut State, series: u32, value: f64) {
    if !state.run.registry.has_series(series) {
        state.misuse("series-unknown");
    } else if !value.is_finite() {
        state.misuse("metric-value-not-finite");
    } else {
        state.record(Record::Custom { series, value });
    }
}
