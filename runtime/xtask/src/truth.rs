//! `cargo xtask truth`: whether net stays the server's when the generator is hopelessly overloaded.
//!
//! The demo target runs on one CPU, Nettare on another. A guest checks every response by burning a stated CPU time. Arrivals come
//! at a constant rate, the same in both runs of a pair; at the baseline the checks ask for 5 % of the generator's CPU, overloaded
//! for once, ten and a hundred times the CPU there is. The server does the same work for a request either way, so net has to stay
//! what it was, while the time that a tool without kernel stamps would print (gross) grows with the load.
//!
//! Two things would show in net that are not the generator's, and are kept out. With fewer arrivals at the baseline, or with arrivals
//! that wait for a virtual user and then start in bursts, the server would be busier in one run than in the other: so both have the
//! same arrivals, and a virtual user for each. And the first responses of a connection take longer, while the overloaded run has as
//! many connections as responses: so connections are warmed up first, and those requests are not looked at.
//!
//! Pairs of a baseline and an overloaded run alternate, since machines drift; figures are medians over pairs, differences and
//! growth are taken within each pair.
//!
//! - [`plan`]: what is run, as values.
//! - [`pair`]: one pair, run and read.
//! - [`judge`]: the bounds.
//! - [`peer`]: wrk under the same burden, for the reader.
//! - [`page`]: the page docs/truth.md.

mod judge;
mod page;
mod pair;
mod peer;
mod plan;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::bench::guest;
use crate::command;
use crate::measure::cpus::{self, Pair as Cpus};
use judge::Judged;

/// Measure whether net stays the server's when the generator is overloaded, and write docs/truth.md.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Alternating pairs of a baseline and an overloaded run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pairs: u32,
    /// Seconds of load in each run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=600))]
    seconds: u32,
    /// Only what has this in its name (`TLS`, `800 KB`, `100×`), and no page: it would lack the rest
    #[arg(long, requires = "dry_run")]
    only: Option<String>,
    /// Write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Where everything is.
struct Bench {
    cpus: Cpus,
    /// The generator and the target, built with optimisations.
    nettare: PathBuf,
    /// Burns CPU in a check.
    burn: PathBuf,
    /// For reports and scripts.
    folder: TempDir,
    pairs: u32,
    seconds: u32,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let bench = Bench::prepare(arguments)?;
    let name_part = arguments.only.as_deref().unwrap_or_default();
    let mut judged = Vec::new();
    for case in plan::cases() {
        if case.to_string().contains(name_part) {
            judged.push(Judged::new(case, pair::run_all(&bench, &case)));
        }
    }
    let peers = peer::measure(&bench)?;
    let page = page::render(&bench, &judged, &peers)?;
    if arguments.dry_run {
        eprintln!("{page}");
    } else {
        let file = command::root().join("docs/truth.md");
        fs::write(&file, page).with_context(|| format!("failed to write {}", file.display()))?;
        eprintln!("wrote docs/truth.md");
    }
    conclude(&judged)
}

/// The page is written by now, whatever it says.
fn conclude(judged: &[Judged]) -> anyhow::Result<()> {
    let broken: Vec<String> = judged
        .iter()
        .filter(|j| !j.holds())
        .map(|j| format!("{}: {}", j.case, j.verdict()))
        .collect();
    if broken.is_empty() {
        eprintln!("every bound holds");
        return Ok(());
    }
    bail!(
        "{} of {} bounds are broken:\n  {}",
        broken.len(),
        judged.len(),
        broken.join("\n  ")
    )
}

impl Bench {
    fn prepare(arguments: &Arguments) -> anyhow::Result<Bench> {
        cpus::raise_descriptor_limit()?;
        command::run(&mut command::cargo([
            "build",
            "--release",
            "--package",
            "nettare",
        ]))?;
        Ok(Bench {
            cpus: Cpus::choose()?,
            nettare: command::target_folder("release").join("nettare"),
            burn: guest("burn")?,
            folder: tempfile::tempdir().context("failed to make a folder for reports")?,
            pairs: arguments.pairs,
            seconds: arguments.seconds,
        })
    }
}
