//! Jobs against a target in this process.

use nettare_core::plan::{Executor, Limits, Plan, RunOptions, Scenario, Work};
use nettare_engine::net::{AllowList, NetConfig, Shared, TlsOptions};
use nettare_engine::vm::Guest;
use nettare_engine::{Job, RunResult, Stopper, run};
use nettare_target::{Target, TargetOptions, spawn};

pub(crate) const SECOND_NS: u64 = 1_000_000_000;

pub(crate) fn target() -> Target {
    spawn(&TargetOptions::default()).expect("a target on loopback")
}

pub(crate) fn plan_of(work: Work, executor: Executor, workers: u32) -> Plan {
    let scenario = Scenario {
        name: "scenario".to_owned(),
        work,
        executor,
        graceful_stop_ns: 30 * SECOND_NS,
        isolation: Default::default(),
        env: Default::default(),
        tags: Default::default(),
    };
    Plan {
        run: RunOptions {
            workers: Some(workers),
            ..RunOptions::default()
        },
        scenarios: vec![scenario],
        thresholds: Vec::new(),
        limits: Limits::default(),
    }
}

pub(crate) fn with_network(plan: Plan, guest: Option<Guest>) -> Job {
    let network = Shared::new(NetConfig {
        timestamps: plan.run.timestamps,
        http: plan.run.http,
        tls: TlsOptions::default(),
        user_agent: plan.run.user_agent.clone(),
        allow: AllowList::new(&[]).expect("an empty list is right"),
        timeout_ns: plan.run.timeout_ns,
        max_redirects: plan.run.max_redirects,
        connections: plan.run.connections,
        body_limit_bytes: plan.limits.body_bytes,
        bodies_budget_bytes: plan.limits.bodies_bytes,
    })
    .expect("a network");
    Job {
        plan,
        guest,
        network,
    }
}

pub(crate) fn carry_out(job: &Job) -> RunResult {
    run(job, &Stopper::default(), &mut |_| ()).expect("the job can begin")
}

pub(crate) fn shared(vus: u32, iterations: u64) -> Executor {
    Executor::SharedIterations {
        vus,
        iterations,
        max_duration_ns: 600 * SECOND_NS,
        rate: None,
    }
}
