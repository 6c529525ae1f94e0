//! A plan in a sentence: what was asked for, with units.

use nettare_core::plan::{ConnectionPolicy, Executor, HttpVersions, Plan, Scenario, Work};
use nettare_core::units::{format_duration, format_rate};

use super::units::count;

/// What a plan asks for, one sentence for each scenario and one for what they share.
pub fn plan_in_words(plan: &Plan) -> Vec<String> {
    let mut sentences: Vec<String> = plan.scenarios.iter().map(scenario).collect();
    sentences.push(shared(plan));
    sentences
}

fn scenario(scenario: &Scenario) -> String {
    let work = match &scenario.work {
        Work::Guest {
            file,
            scenario: Some(name),
        } => format!("{name} of {file}"),
        Work::Guest {
            file,
            scenario: None,
        } => file.clone(),
        Work::Request(request) => format!("{} {}", request.method, request.url),
    };
    format!("{work}: {}", executor(&scenario.executor))
}

fn executor(executor: &Executor) -> String {
    match *executor {
        Executor::ConstantVus { vus, duration_ns } => {
            format!("{} for {}", users(vus), format_duration(duration_ns))
        }
        Executor::SharedIterations {
            vus,
            iterations,
            max_duration_ns,
            rate,
        } => {
            let paced = rate.map_or_else(String::new, |rate| {
                format!(", due at {}", format_rate(rate))
            });
            let iterations = plural(iterations, "iteration");
            format!(
                "{iterations} shared by {}{paced}{}",
                users(vus),
                within(max_duration_ns)
            )
        }
        Executor::PerVuIterations {
            vus,
            iterations,
            max_duration_ns,
        } => {
            let iterations = plural(iterations, "iteration");
            format!(
                "{iterations} by each of {}{}",
                users(vus),
                within(max_duration_ns)
            )
        }
        Executor::ConstantArrivalRate {
            rate,
            duration_ns,
            max_vus,
            ..
        } => {
            let rate = format_rate(rate);
            format!(
                "{rate} for {}, by at most {}",
                format_duration(duration_ns),
                users(max_vus)
            )
        }
    }
}

fn shared(plan: &Plan) -> String {
    let connections = match plan.run.connections {
        ConnectionPolicy::PerVu => "connections kept by each virtual user",
        ConnectionPolicy::PerIteration => "new connections for each iteration",
        ConnectionPolicy::PerRequest => "a new connection for each request",
    };
    let versions = match plan.run.http {
        HttpVersions::Negotiated => "",
        HttpVersions::Http1 => ", HTTP/1.1 only",
        HttpVersions::Http2 => ", HTTP/2 only",
    };
    let timeout = format_duration(plan.run.timeout_ns);
    format!(
        "{connections}{versions}, timeout {timeout}, seed {}",
        plan.run.seed
    )
}

fn users(vus: u32) -> String {
    plural(u64::from(vus), "virtual user")
}

fn plural(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", count(number)),
    }
}

/// Within what time iterations must start; nothing when they may take for ever.
fn within(max_duration_ns: u64) -> String {
    match max_duration_ns {
        u64::MAX => String::new(),
        ns => format!(", within {}", format_duration(ns)),
    }
}

#[cfg(test)]
mod tests {
    use nettare_core::plan::Rate;

    use super::*;

    #[test]
    fn executors_are_told_with_units() {
        let rate = Rate {
            arrivals: 50,
            per_ns: 60_000_000_000,
        };
        let table = [
            (
                Executor::ConstantVus {
                    vus: 1,
                    duration_ns: 90_000_000_000,
                },
                "1 virtual user for 1m30s",
            ),
            (
                Executor::SharedIterations {
                    vus: 5,
                    iterations: 10_000,
                    max_duration_ns: u64::MAX,
                    rate: Some(rate),
                },
                "10,000 iterations shared by 5 virtual users, due at 50/m",
            ),
            (
                Executor::PerVuIterations {
                    vus: 2,
                    iterations: 1,
                    max_duration_ns: 1_000_000_000,
                },
                "1 iteration by each of 2 virtual users, within 1s",
            ),
            (
                Executor::ConstantArrivalRate {
                    rate,
                    duration_ns: 1_000_000_000,
                    pre_allocated_vus: 1,
                    max_vus: 9,
                },
                "50/m for 1s, by at most 9 virtual users",
            ),
        ];
        for (asked, expected) in table {
            assert_eq!(executor(&asked), expected);
        }
    }
}
