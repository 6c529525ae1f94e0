//! What a plan needs of a machine.
//!
//! How many virtual users there are at one time is certain for some executors and a cap for others, and so is everything that
//! follows from it. A scenario is taken to send at least one request in an iteration, all to one address: what it does is known to
//! itself alone.

use serde::Serialize;

use crate::plan::{ConnectionPolicy, Defaults, Executor, Plan, Rate, Timestamps};

pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// Less than this, and a machine without a plan is not fit for any.
const LEAST_VUS: u64 = 100;

/// A number that is certain to be needed, and one that may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Needed whatever happens.
    pub certain: u64,
    /// Needed at most; the largest number stands for no bound.
    pub most: u64,
}

/// Connections that are closed soon after they were opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Churn {
    /// How often one is opened; none is as fast as they go.
    pub rate: Option<Rate>,
    /// Whether they are opened at this rate however slow the server is.
    pub is_certain: bool,
    /// How many in all; none is no bound.
    pub total: Option<u64>,
    /// How long they are opened.
    pub duration_ns: u64,
}

/// What a plan needs of a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Needs {
    /// Who needs it, at the beginning of a sentence: `the plan`.
    #[serde(skip)]
    pub subject: String,
    /// Connections to one address at one time.
    pub connections: Amount,
    /// Connections that are closed soon after they were opened; none when they are kept.
    #[serde(skip)]
    pub churn: Option<Churn>,
    /// Virtual users in memory at one time.
    pub virtual_users: Amount,
    /// Memory of one of them with its connection; none where nobody measured.
    pub bytes_per_vu: Option<u64>,
    /// Memory maps; none where there is no guest.
    pub memory_maps: Option<Amount>,
    /// Workers that the plan asks for; none is one for each CPU.
    pub workers: Option<u32>,
    /// Whether all that is known of the targets is on this machine.
    pub to_loopback: bool,
    /// Where receive stamps are to come from.
    #[serde(skip)]
    pub timestamps: Timestamps,
}

/// What is known besides the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// As in [`Needs`].
    pub bytes_per_vu: Option<u64>,
    /// As in [`Needs`].
    pub memory_maps: Option<u64>,
    /// As in [`Needs`].
    pub to_loopback: bool,
}

impl Needs {
    /// Those of a plan.
    pub fn of(plan: &Plan, asked: &Asked) -> Needs {
        let mut needs = Needs {
            subject: "the plan".to_owned(),
            connections: Amount::default(),
            churn: None,
            virtual_users: Amount::default(),
            bytes_per_vu: asked.bytes_per_vu,
            memory_maps: asked.memory_maps.map(Amount::exactly),
            workers: plan.run.workers,
            to_loopback: asked.to_loopback,
            timestamps: plan.run.timestamps,
        };
        for scenario in &plan.scenarios {
            needs.connections.add(connections(&scenario.executor));
            needs.virtual_users.add(virtual_users(&scenario.executor));
            if plan.run.connections != ConnectionPolicy::PerVu {
                needs.churn = Some(churn(&scenario.executor));
            }
        }
        needs
    }

    /// Those of a run with as many virtual users as a plan gets unasked: what a machine is held against where there is no plan.
    /// `memory_maps` is what one takes, and all others together.
    pub fn reference(bytes_per_vu: u64, memory_maps: (u64, u64)) -> Needs {
        let (maps_each, maps_elsewhere) = memory_maps;
        let vus = Amount {
            certain: LEAST_VUS,
            most: u64::from(Defaults::MAX_VUS),
        };
        Needs {
            subject: "a run of 100 to 10,000 virtual users".to_owned(),
            connections: vus,
            churn: None,
            virtual_users: vus,
            bytes_per_vu: Some(bytes_per_vu),
            memory_maps: Some(vus.times_plus(maps_each, maps_elsewhere)),
            workers: None,
            to_loopback: false,
            timestamps: Timestamps::Auto,
        }
    }

    /// Whether the machine is looked at for itself.
    pub fn is_reference(&self) -> bool {
        self.subject != "the plan"
    }
}

impl Amount {
    fn exactly(number: u64) -> Amount {
        Amount {
            certain: number,
            most: number,
        }
    }

    pub(super) fn add(&mut self, other: Amount) {
        self.certain = self.certain.saturating_add(other.certain);
        self.most = self.most.saturating_add(other.most);
    }

    /// So many times as much, and so much more.
    pub(super) fn times_plus(self, factor: u64, more: u64) -> Amount {
        let scale = |number: u64| number.saturating_mul(factor).saturating_add(more);
        Amount {
            certain: scale(self.certain),
            most: scale(self.most),
        }
    }
}

impl Churn {
    /// How many are opened within a time.
    pub(super) fn within(&self, span_ns: u64) -> Amount {
        let total = self.total.unwrap_or(u64::MAX);
        let Some(rate) = self.rate else {
            return Amount {
                certain: 0,
                most: total,
            };
        };
        let span_ns = u128::from(span_ns.min(self.duration_ns));
        let opened = (u128::from(rate.arrivals) * span_ns).div_ceil(u128::from(rate.per_ns.max(1)));
        let opened = u64::try_from(opened).unwrap_or(u64::MAX).min(total);
        Amount {
            certain: if self.is_certain { opened } else { 0 },
            most: opened,
        }
    }
}

/// Connections to one address at one time, one for each virtual user under way.
fn connections(executor: &Executor) -> Amount {
    match *executor {
        Executor::ConstantVus { vus, .. } | Executor::PerVuIterations { vus, .. } => {
            Amount::exactly(u64::from(vus))
        }
        Executor::SharedIterations {
            vus, iterations, ..
        } => Amount::exactly(u64::from(vus).min(iterations)),
        // How many are under way follows from how slow the server is.
        Executor::ConstantArrivalRate { max_vus, .. } => Amount {
            certain: 1,
            most: u64::from(max_vus),
        },
    }
}

fn virtual_users(executor: &Executor) -> Amount {
    match *executor {
        Executor::ConstantArrivalRate {
            pre_allocated_vus,
            max_vus,
            ..
        } => Amount {
            certain: u64::from(pre_allocated_vus),
            most: u64::from(max_vus),
        },
        _ => Amount::exactly(u64::from(executor.max_vus())),
    }
}

fn churn(executor: &Executor) -> Churn {
    let duration_ns = executor.duration_ns();
    let closed = |rate, total| Churn {
        rate,
        is_certain: false,
        total,
        duration_ns,
    };
    match *executor {
        Executor::ConstantVus { .. } => closed(None, None),
        Executor::SharedIterations {
            iterations, rate, ..
        } => closed(rate, Some(iterations)),
        Executor::PerVuIterations {
            vus, iterations, ..
        } => closed(None, Some(iterations.saturating_mul(u64::from(vus)))),
        Executor::ConstantArrivalRate { rate, .. } => Churn {
            is_certain: true,
            ..closed(Some(rate), None)
        },
    }
}
