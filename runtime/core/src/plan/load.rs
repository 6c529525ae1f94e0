//! From what was said of the load to an executor.
//!
//! | said | executor |
//! |---|---|
//! | nothing | shared-iterations: one virtual user, one iteration |
//! | `duration`, with or without `vus` | constant-vus |
//! | `iterations`, with or without `vus` | shared-iterations; `duration` is how long at most |
//! | `rate` and `duration` | constant-arrival-rate |
//! | `executor` | that one |
//!
//! A key that the executor has no use for is an error that names it and what it contradicts: nothing is ignored. Only the
//! scenario's own options give way: they are what its author thought fit, and fill what nobody else has said.

use super::options::{LOAD_KEYS, Options};
use super::origin::{Origin, Origins};
use super::{Defaults, Executor, ExecutorKind, PlanError, Rate};

const SECOND_NS: u64 = 1_000_000_000;

/// An executor, and the key that decided on it.
#[derive(Clone, Copy)]
struct Decision {
    kind: ExecutorKind,
    by: &'static str,
}

/// Makes the executor that `stated` and, where that leaves something open, the scenario's `own` options describe.
pub(super) fn executor(
    mut stated: Options,
    mut own: Options,
    origins: &mut Origins,
    defaults: &Defaults,
) -> Result<Executor, PlanError> {
    let decision = match decide(&stated) {
        Some(decision) => decision,
        None => {
            let mut all = own.clone();
            all.overlay(load_of(&mut stated.clone()), &mut |_| ());
            match decide(&all) {
                Some(decision) => decision,
                None => decide_without_a_key(&all, origins)?,
            }
        }
    };
    refuse_what_does_not_go_with(decision, &stated, origins)?;
    give_way(&mut own, decision.kind, origins);
    if counts_iterations(decision.kind) {
        as_longest(&mut own);
        if as_longest(&mut stated) {
            origins.rename("duration", "max-duration");
        }
    }
    own.overlay(load_of(&mut stated), &mut |_| ());
    build(decision, &own, origins, defaults)
}

/// Which executor is meant, when a key says so.
fn decide(options: &Options) -> Option<Decision> {
    let decision = |kind, by| Some(Decision { kind, by });
    match options {
        Options {
            executor: Some(kind),
            ..
        } => decision(*kind, "executor"),
        Options { rate: Some(_), .. } => decision(ExecutorKind::ConstantArrivalRate, "rate"),
        Options {
            iterations: Some(_),
            ..
        } => decision(ExecutorKind::SharedIterations, "iterations"),
        Options {
            duration_ns: Some(_),
            vus: Some(_),
            ..
        } => decision(ExecutorKind::ConstantVus, "duration"),
        _ => None,
    }
}

/// Which executor is meant by what is left: a duration alone, or nothing.
fn decide_without_a_key(options: &Options, origins: &Origins) -> Result<Decision, PlanError> {
    let refuse = |key, problem: &str, remedy: &str| {
        Err(PlanError::about(key, problem, remedy).at(origins.place(key)))
    };
    if options.max_vus.is_some() {
        return refuse(
            "max-vus",
            "is for arrivals at a rate, and there is no `rate`",
            "give `rate`, or `vus` instead",
        );
    }
    if options.pre_allocated_vus.is_some() {
        return refuse(
            "pre-allocated-vus",
            "is for arrivals at a rate, and there is no `rate`",
            "give `rate`",
        );
    }
    if options.max_duration_ns.is_some() {
        return refuse(
            "max-duration",
            "is for counted iterations, and there are no `iterations`",
            "give `duration` instead",
        );
    }
    if options.duration_ns.is_some() {
        return Ok(Decision {
            kind: ExecutorKind::ConstantVus,
            by: "duration",
        });
    }
    if options.vus.is_some() {
        return refuse(
            "vus",
            "says how many but not how long",
            "give `duration` or `iterations` too",
        );
    }
    Ok(Decision {
        kind: ExecutorKind::SharedIterations,
        by: "iterations",
    })
}

/// The keys that an executor understands.
fn keys_of(kind: ExecutorKind) -> &'static [&'static str] {
    match kind {
        ExecutorKind::ConstantVus => &["executor", "vus", "duration"],
        ExecutorKind::SharedIterations => &[
            "executor",
            "vus",
            "iterations",
            "duration",
            "max-duration",
            "rate",
        ],
        ExecutorKind::PerVuIterations => {
            &["executor", "vus", "iterations", "duration", "max-duration"]
        }
        ExecutorKind::ConstantArrivalRate => &[
            "executor",
            "rate",
            "duration",
            "pre-allocated-vus",
            "max-vus",
        ],
    }
}

/// Leaves of the scenario's own options what the executor can use and the author meant so: all of a load of the same kind,
/// and of another kind the number of virtual users and how long it takes.
fn give_way(own: &mut Options, kind: ExecutorKind, origins: &mut Origins) {
    let same_kind = decide(own).is_some_and(|decision| decision.kind == kind);
    let fits = |key: &str| {
        let understood = keys_of(kind).contains(&key);
        let meant_so = same_kind || key == "vus" || (key == "duration" && !counts_iterations(kind));
        understood && meant_so
    };
    let given_up = own.split_off(|key| !fits(key));
    for key in given_up.given() {
        if origins.of(key) == Origin::Scenario {
            origins.forget(key);
        }
    }
}

fn counts_iterations(kind: ExecutorKind) -> bool {
    matches!(
        kind,
        ExecutorKind::SharedIterations | ExecutorKind::PerVuIterations
    )
}

fn refuse_what_does_not_go_with(
    decision: Decision,
    stated: &Options,
    origins: &Origins,
) -> Result<(), PlanError> {
    let Decision { kind, by } = decision;
    let keys = keys_of(kind);
    let given = stated.given();
    let alien = given
        .into_iter()
        .find(|key| LOAD_KEYS.contains(key) && !keys.contains(key));
    if let Some(key) = alien {
        let decider = match by {
            "executor" => format!("{}, which is {kind}", origins.place(by)),
            by => format!("{}, which makes the executor {kind}", origins.place(by)),
        };
        let remedy = match (key, kind) {
            ("vus", ExecutorKind::ConstantArrivalRate) => {
                "give `max-vus` for the most virtual users there may be"
            }
            ("max-vus" | "pre-allocated-vus", _) => "give `vus` for the number of virtual users",
            _ => "leave one of them out",
        };
        let problem = format!("does not go with {decider}");
        return Err(PlanError::about(key, problem, remedy).at(origins.place(key)));
    }
    if counts_iterations(kind) && stated.duration_ns.is_some() && stated.max_duration_ns.is_some() {
        let problem = format!("says the same as {}", origins.place("max-duration"));
        return Err(
            PlanError::about("duration", problem, "leave one of them out")
                .at(origins.place("duration")),
        );
    }
    Ok(())
}

/// Where iterations are counted, a duration is the longest they may take. Answers whether there was one.
fn as_longest(options: &mut Options) -> bool {
    let duration_ns = options.duration_ns.take();
    options.max_duration_ns = options.max_duration_ns.or(duration_ns);
    duration_ns.is_some()
}

fn load_of(options: &mut Options) -> Options {
    options.split_off(|key| LOAD_KEYS.contains(&key))
}

fn build(
    decision: Decision,
    load: &Options,
    origins: &Origins,
    defaults: &Defaults,
) -> Result<Executor, PlanError> {
    let vus = load.vus.unwrap_or(1);
    let iterations = load.iterations.unwrap_or(1);
    let max_duration_ns = load.max_duration_ns.unwrap_or(u64::MAX);
    let needs = |key: &str, example: &str| {
        let remedy = format!("give for instance {example}");
        PlanError::about(decision.by, format!("needs `{key}`"), remedy)
            .at(origins.place(decision.by))
    };
    Ok(match decision.kind {
        ExecutorKind::ConstantVus => {
            let duration_ns = load.duration_ns.ok_or_else(|| needs("duration", "30s"))?;
            Executor::ConstantVus { vus, duration_ns }
        }
        ExecutorKind::SharedIterations => Executor::SharedIterations {
            vus,
            iterations,
            max_duration_ns,
            rate: load.rate,
        },
        ExecutorKind::PerVuIterations => Executor::PerVuIterations {
            vus,
            iterations,
            max_duration_ns,
        },
        ExecutorKind::ConstantArrivalRate => {
            let rate = load.rate.ok_or_else(|| needs("rate", "200/s"))?;
            let duration_ns = load.duration_ns.ok_or_else(|| needs("duration", "30s"))?;
            let (pre_allocated_vus, max_vus) = size(rate, load, defaults);
            Executor::ConstantArrivalRate {
                rate,
                duration_ns,
                pre_allocated_vus,
                max_vus,
            }
        }
    })
}

/// How many virtual users an arrival executor starts with, and how many it may have.
///
/// Unless the plan says so, it starts with as many as iterations of a tenth of a second would keep busy: the run makes the
/// rest as it needs them, and one that is never needed costs its memory only.
fn size(rate: Rate, load: &Options, defaults: &Defaults) -> (u32, u32) {
    let busy = u128::from(rate.arrivals) * u128::from(SECOND_NS / 10);
    let busy = busy.div_ceil(u128::from(rate.per_ns.max(1)));
    let guess = u32::try_from(busy).unwrap_or(u32::MAX).max(1);
    let max_vus = load
        .max_vus
        .unwrap_or_else(|| defaults.max_vus.max(load.pre_allocated_vus.unwrap_or(1)));
    (
        load.pre_allocated_vus.unwrap_or_else(|| guess.min(max_vus)),
        max_vus,
    )
}
