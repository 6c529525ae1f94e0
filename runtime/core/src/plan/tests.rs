//! How plans come about: what is typed, what is written, what wins, and what is printed.

mod files;
mod invalid;
mod layers;
mod own_load;
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

fn constant(vus: u32, duration_ns: u64) -> Executor {
    Executor::ConstantVus { vus, duration_ns }
}

fn shared(vus: u32, iterations: u64, max_duration_ns: u64) -> Executor {
    Executor::SharedIterations {
        vus,
        iterations,
        max_duration_ns,
        rate: None,
    }
}

fn arrivals(rate: Rate, duration_ns: u64, pre_allocated_vus: u32, max_vus: u32) -> Executor {
    Executor::ConstantArrivalRate {
        rate,
        duration_ns,
        pre_allocated_vus,
        max_vus,
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

fn resolve(layers: Layers) -> Resolved {
    layers.resolve(&DEFAULTS).unwrap()
}

fn refused(layers: Layers) -> String {
    layers.resolve(&DEFAULTS).unwrap_err().to_string()
}

fn executor_of(resolved: &Resolved) -> &Executor {
    &resolved.plan.scenarios[0].executor
}
