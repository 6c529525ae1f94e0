//! What watching the generator's own health costs.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;

use super::Bench;
use super::goals::Goal;
use crate::command;
use crate::measure::child;
use crate::measure::figures::short;
use crate::measure::table::Table;

/// Sockets that are open meanwhile.
const SOCKETS: u32 = 10_000;

/// Per cent of a core at one sample a second, at most.
const LIMIT_PERCENT: f64 = 1.0;

/// The cost of a sample.
pub(crate) struct Health {
    sockets: f64,
    gauges: f64,
    cpu_us: f64,
}

/// The runtime's own example does the timing: beside a load the sampler's share could not be told from the rest.
pub(crate) fn measure(bench: &Bench<'_>) -> anyhow::Result<Health> {
    eprintln!("health");
    command::run(&mut command::cargo([
        "build",
        "--release",
        "--package",
        "nettare-engine",
        "--example",
        "health_sample",
    ]))?;
    let program = command::target_folder("release").join("examples/health_sample");
    let ended = child::run(
        command::program(program).arg(SOCKETS.to_string()),
        bench.pair.generator,
        Duration::from_secs(120),
    )
    .and_then(child::Ended::ok)
    .context("the example that samples health failed")?;
    Health::of(&ended.stdout)
}

impl Health {
    fn of(text: &str) -> anyhow::Result<Health> {
        let value: Value = serde_json::from_str(text).context("the example did not print JSON")?;
        let number = |key: &str| {
            value[key]
                .as_f64()
                .with_context(|| format!("the example did not print {key}"))
        };
        Ok(Health {
            sockets: number("sockets")?,
            gauges: number("gauges")?,
            cpu_us: number("cpu_ns")? / 1e3,
        })
    }

    /// Per cent of a core, at one sample a second.
    fn percent(&self) -> f64 {
        self.cpu_us / 1e6 * 100.0
    }

    pub(crate) fn goals(&self) -> Vec<Goal> {
        vec![Goal::at_most(
            "watching the generator's health, share of a core",
            self.percent(),
            LIMIT_PERCENT,
            " %",
        )]
    }

    pub(crate) fn section(&self) -> String {
        let mut table = Table::new(["sockets open", "gauges", "CPU µs a sample", "% of a core"]);
        table.row([
            format!("{:.0}", self.sockets),
            format!("{:.0}", self.gauges),
            short(self.cpu_us),
            short(self.percent()),
        ]);
        format!(
            "## Watching the generator\n\nOne sample of the generator's health a second, with many sockets open.\n\n{}",
            table.render()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_a_sample_a_second() {
        let text = r#"{"sockets": 10000, "samples": 200, "gauges": 60, "cpu_ns": 400000}"#;
        let health = Health::of(text).expect("it is all there");
        assert!((health.percent() - 0.04).abs() < 1e-9);
        assert!(health.goals()[0].is_reached());
        assert!(Health::of(r#"{"sockets": 10000}"#).is_err());
    }
}
