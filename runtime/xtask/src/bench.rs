//! `cargo xtask bench`: what Nettare costs, beside the tools people use already.
//!
//! One run measures all of it, on one machine, one after the other: the server on one CPU, the generator alone on another, so
//! that neither takes time from the other and the generators can be compared by what they used. Rounds are interleaved, since
//! machines drift; figures are medians over rounds, ratios the medians of each round's ratios.
//!
//! - [`requests`]: CPU per request, requests per second, memory, over kept connections.
//! - [`crowd`]: memory of a virtual user, with ten thousand of them.
//! - [`arrivals`]: whether a constant arrival rate is kept to the last arrival.
//! - [`instances`]: how long it takes to start an instance of a guest.
//! - [`health`]: what a sample of the generator's health costs, with ten thousand sockets.
//! - [`generators`]: the programs compared, how they are started and what they say.
//! - [`page`]: the page docs/benchmarks.md.

mod arrivals;
mod crowd;
mod generators;
mod goals;
mod health;
mod instances;
mod page;
mod requests;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::measure::cpus::{self, Pair};
use crate::measure::server::Server;
use crate::{command, guests};
use goals::Goal;

/// Measure what Nettare costs, and write docs/benchmarks.md.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Interleaved rounds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of load in each run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Kept connections, and virtual users
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1000))]
    connections: u32,
    /// Virtual users of the crowd whose memory is measured
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    crowd: u32,
    /// Write nothing
    #[arg(long)]
    dry_run: bool,
    /// Fail when a goal is missed
    #[arg(long)]
    check: bool,
}

/// Where everything is.
struct Bench<'a> {
    arguments: &'a Arguments,
    pair: Pair,
    /// The generator, built with optimisations.
    nettare: PathBuf,
    /// One request, one check.
    hello: PathBuf,
    /// For reports and scripts.
    folder: TempDir,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let bench = Bench::prepare(arguments)?;
    let generators = generators::installed(&bench)?;
    let nginx = Server::nginx(bench.pair.server)?;
    let requests = requests::measure(&bench, &nginx.url, &generators)?;
    let crowd = crowd::measure(&bench, &nginx.url)?;
    let arrivals = arrivals::measure(&bench, &nginx.url)?;
    drop(nginx);
    let instances = instances::measure(&bench)?;
    let health = health::measure(&bench)?;

    let goals: Vec<Goal> = [
        requests.goals(),
        crowd.goals(),
        arrivals.goals(),
        instances.goals(),
        health.goals(),
    ]
    .concat();
    let page = page::render(
        &bench,
        &generators,
        [
            &requests.section(),
            &crowd.section(),
            &arrivals.section(),
            &instances.section(),
            &health.section(),
        ],
        &goals,
    )?;
    if arguments.dry_run {
        eprintln!("{page}");
    } else {
        let file = command::root().join("docs/benchmarks.md");
        fs::write(&file, page).with_context(|| format!("failed to write {}", file.display()))?;
        eprintln!("wrote docs/benchmarks.md");
    }
    conclude(&goals, arguments.check)
}

fn conclude(goals: &[Goal], check: bool) -> anyhow::Result<()> {
    for goal in goals {
        eprintln!("{goal}");
    }
    let missed = goals.iter().filter(|goal| !goal.is_reached()).count();
    if check && missed > 0 {
        bail!("{missed} of {} goals were missed", goals.len());
    }
    Ok(())
}

impl<'a> Bench<'a> {
    /// Builds what is measured. The guest is compiled to machine code and kept by the first run, which is not measured.
    fn prepare(arguments: &'a Arguments) -> anyhow::Result<Bench<'a>> {
        cpus::raise_descriptor_limit()?;
        let pair = Pair::choose()?;
        command::run(&mut command::cargo([
            "build",
            "--release",
            "--package",
            "nettare",
        ]))?;
        let hello = guest("hello")?;
        Ok(Bench {
            arguments,
            pair,
            nettare: command::target_folder("release").join("nettare"),
            hello,
            folder: tempfile::tempdir().context("failed to make a folder for reports")?,
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Builds the guests, and gives the one of this name.
pub(crate) fn guest(name: &str) -> anyhow::Result<PathBuf> {
    let guests = guests::build_all()?;
    let found = guests.into_iter().find(|guest| guest.name == name);
    let guest = found.with_context(|| format!("there is no guest `{name}` in examples"))?;
    Ok(guest.module)
}
