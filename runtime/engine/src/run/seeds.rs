//! From a plan to what each worker is made from.

use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use nettare_core::plan::{Executor, Isolation, Plan, QuickRequest, Scenario, Work};
use nettare_core::segment::Segment;
use nettare_net::{Request, Target};
use nettare_vm::{Deferred, Guest, Registry, VuLimits};

use super::Job;
use crate::affinity;
use crate::clock::RunClock;
use crate::judge::{Judges, Queue};
use crate::recorder::Recorder;
use crate::worker::guest::GuestWork;
use crate::worker::{Seed, WorkSeed};

/// Splits a job's plan over workers: one for each CPU unless the plan says otherwise, and never more than virtual users.
pub(super) fn seeds(job: &Job, clock: &RunClock) -> anyhow::Result<Vec<Seed>> {
    let [scenario] = job.plan.scenarios.as_slice() else {
        bail!(
            "the plan has {} scenarios, and a run takes one",
            job.plan.scenarios.len()
        );
    };
    let work = work(job, scenario, clock)?;
    let cpus = affinity::allowed_cpus();
    let asked = job
        .plan
        .run
        .workers
        .map_or(cpus.len(), |workers| workers as usize);
    let count = asked.clamp(1, most_vus(&scenario.executor).max(1) as usize);
    let tags: Vec<_> = merged_tags(&job.plan, scenario);
    let segments = Segment::whole().split(u32::try_from(count).unwrap_or(u32::MAX));
    let seeds = segments
        .into_iter()
        .enumerate()
        .map(|(index, segment)| Seed {
            index,
            segment,
            scenario: scenario.clone(),
            tags: tags.clone(),
            max_series: job.plan.limits.series,
            clock: clock.clone(),
            network: job.network.clone(),
            work: work.clone(),
            // Two workers on one CPU would only take turns there, so pinning is for at most one each.
            cpu: (count <= cpus.len()).then(|| cpus[index]),
        });
    Ok(seeds.collect())
}

fn merged_tags(plan: &Plan, scenario: &Scenario) -> Vec<(String, String)> {
    let mut tags = plan.run.tags.clone();
    tags.extend(scenario.tags.clone());
    tags.into_iter().collect()
}

/// The most virtual users that an executor can have at one time.
pub(super) fn most_vus(executor: &Executor) -> u32 {
    match *executor {
        Executor::ConstantVus { vus, .. }
        | Executor::SharedIterations { vus, .. }
        | Executor::PerVuIterations { vus, .. } => vus,
        Executor::ConstantArrivalRate { max_vus, .. } => max_vus,
    }
}

fn work(job: &Job, scenario: &Scenario, clock: &RunClock) -> anyhow::Result<WorkSeed> {
    match (&scenario.work, &job.guest) {
        (Work::Request(quick), _) => Ok(WorkSeed::Native(Arc::new(native_request(quick)?))),
        (Work::Guest { scenario: name, .. }, Some(guest)) => {
            let mut env = job.plan.run.env.clone();
            env.extend(scenario.env.clone());
            let registry = Registry::new();
            let deferred = Deferred::of(guest, &registry, job.plan.run.check_sample);
            let work = GuestWork {
                guest: guest.clone(),
                judges: (!deferred.checks.is_empty()).then(|| queue(&job.plan)),
                deferred,
                registry: Arc::new(registry),
                scenario: scenario_index(guest, name.as_deref())?,
                env: Arc::new(env),
                seed: job.plan.run.seed,
                run_start: clock.start_mark(),
                limits: VuLimits::default(),
                is_isolated: scenario.isolation == Isolation::Iteration,
            };
            Ok(WorkSeed::Guest(Arc::new(work), job.plan.run.guest_thread))
        }
        (Work::Guest { file, .. }, None) => bail!("the guest `{file}` was not loaded"),
    }
}

/// Deferred checks may keep half of what all bodies may be: the other half is for responses that are still on their way.
fn queue(plan: &Plan) -> Arc<Queue> {
    let limits = &plan.limits;
    Queue::new(
        limits.deferred_checks,
        limits.bodies_bytes / 2,
        plan.run.deferred_queue,
    )
}

/// How many judges a run has: one for each CPU, since they run when nobody else does.
pub fn judge_count() -> usize {
    affinity::allowed_cpus().len()
}

/// The judges of a run.
pub(super) fn judges(seeds: &[Seed]) -> Option<Judges> {
    let seed = seeds.first()?;
    let WorkSeed::Guest(work, _) = &seed.work else {
        return None;
    };
    let recorders = (0..judge_count()).map(|_| {
        Recorder::new(
            seed.max_series,
            &seed.scenario,
            seed.tags.clone(),
            Some(work.registry.clone()),
        )
    });
    Judges::new(work, recorders.collect())
}

fn native_request(quick: &QuickRequest) -> anyhow::Result<Request> {
    let mut headers = http::HeaderMap::new();
    for (name, value) in &quick.headers {
        let header: http::HeaderName = name
            .parse()
            .with_context(|| format!("header name `{name}`"))?;
        headers.append(
            header,
            value
                .parse()
                .with_context(|| format!("value of header `{name}`"))?,
        );
    }
    let target = Target::parse(&quick.url).map_err(|failure| anyhow!(failure.message))?;
    Ok(Request {
        method: quick
            .method
            .parse()
            .with_context(|| format!("method `{}`", quick.method))?,
        target: Arc::new(target),
        headers,
        body: quick.body.clone().into(),
        timeout_ns: None,
        max_redirects: None,
        keep_body: false,
    })
}

fn scenario_index(guest: &Guest, name: Option<&str>) -> anyhow::Result<u32> {
    let Some(name) = name else { return Ok(0) };
    let known = &guest.describe().scenarios;
    match known.iter().position(|scenario| scenario == name) {
        Some(index) => Ok(u32::try_from(index)?),
        None => bail!(
            "the guest has no scenario `{name}`, it has {}",
            known.join(", ")
        ),
    }
}
