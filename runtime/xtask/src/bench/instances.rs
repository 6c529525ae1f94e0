//! How long it takes to start an instance of a guest.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;

use super::Bench;
use super::goals::Goal;
use crate::command;
use crate::measure::child;
use crate::measure::figures::short;
use crate::measure::table::Table;

/// Microseconds, at most.
const LIMIT_US: f64 = 50.0;

/// Times of one start.
pub(crate) struct Instances {
    p50_us: f64,
    p99_us: f64,
    count: f64,
}

/// The runtime's own example does the timing: from outside a start cannot be told from everything around it.
pub(crate) fn measure(bench: &Bench<'_>) -> anyhow::Result<Instances> {
    eprintln!("instances");
    command::run(&mut command::cargo([
        "build",
        "--release",
        "--package",
        "nettare-vm",
        "--example",
        "instance_start",
    ]))?;
    let program = command::target_folder("release").join("examples/instance_start");
    let ended = child::run(
        command::program(program).arg(&bench.hello),
        bench.pair.generator,
        Duration::from_secs(120),
    )
    .and_then(child::Ended::ok)
    .context("the example that starts instances failed")?;
    Instances::of(&ended.stdout)
}

impl Instances {
    fn of(text: &str) -> anyhow::Result<Instances> {
        let value: Value = serde_json::from_str(text).context("the example did not print JSON")?;
        let number = |key: &str| {
            value[key]
                .as_f64()
                .with_context(|| format!("the example did not print {key}"))
        };
        Ok(Instances {
            p50_us: number("p50_ns")? / 1e3,
            p99_us: number("p99_ns")? / 1e3,
            count: number("instances")?,
        })
    }

    pub(crate) fn goals(&self) -> Vec<Goal> {
        vec![Goal::at_most(
            "start of an instance, p50",
            self.p50_us,
            LIMIT_US,
            " µs",
        )]
    }

    pub(crate) fn section(&self) -> String {
        let mut table = Table::new(["instances", "p50 µs", "p99 µs"]);
        table.row([
            format!("{:.0}", self.count),
            short(self.p50_us),
            short(self.p99_us),
        ]);
        format!(
            "## Start of an instance\n\nStores and instances of `hello.wasm`, made one after the other and all kept.\n\n{}",
            table.render()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_the_examples_json() {
        let instances = Instances::of(r#"{"instances": 1000, "p50_ns": 20500, "p99_ns": 90000}"#)
            .expect("it is all there");
        assert_eq!((instances.p50_us, instances.p99_us), (20.5, 90.0));
        assert!(instances.goals()[0].is_reached());
        assert!(Instances::of(r#"{"instances": 1000}"#).is_err());
    }
}
