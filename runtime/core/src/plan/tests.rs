//! How plans come about: what is typed, what is written, what wins, and what is printed.

mod files;
mod layers;
mod printed;
mod typed;

use super::*;

const SECOND_NS: u64 = 1_000_000_000;
const MINUTE_NS: u64 = 60 * SECOND_NS;

const DEFAULTS: Defaults = Defaults {
    seed: 7,
    max_vus: 500,
};

fn per_second(arrivals: u64) -> Rate {
    Rate {
        arrivals,
        per_ns: SECOND_NS,
    }
}

/// Options with a file, so that only what a test is about is missing.
fn options() -> Options {
    Options {
        file: Some("checkout.wasm".to_owned()),
        ..Options::default()
    }
}

/// Reads a plan file. JSON stands for TOML here: the model takes any format, and the command line brings TOML.
fn file(json: &str) -> Result<PlanFile, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

fn file_options(json: &str) -> Options {
    file(json).unwrap().options().unwrap()
}

fn executor_of(resolved: &Resolved) -> &Executor {
    &resolved.plan.scenarios[0].executor
}
