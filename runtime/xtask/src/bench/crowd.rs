//! Memory of a virtual user that has a connection, in a crowd of them.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use super::Bench;
use super::goals::Goal;
use crate::measure::child;
use crate::measure::figures::{grouped, short};
use crate::measure::report::Report;
use crate::measure::table::Table;

/// KiB of a virtual user, at most.
const LIMIT_KIB: f64 = 96.0;
/// Long enough for everybody to have connected and to have been served several times.
const SECONDS: u32 = 15;

/// What the crowd used, and what one alone did.
pub(crate) struct Crowd {
    vus: u32,
    connections: f64,
    answered: f64,
    crowd_kib: u64,
    alone_kib: u64,
}

pub(crate) fn measure(bench: &Bench<'_>, url: &str) -> anyhow::Result<Crowd> {
    let vus = bench.arguments.crowd;
    eprintln!("{vus} virtual users with a connection each, {SECONDS} s");
    let (alone_kib, _) = peak(bench, url, 1, 2)?;
    let (crowd_kib, report) = peak(bench, url, vus, SECONDS)?;
    ensure!(
        report.failed() == 0.0,
        "{} requests of the crowd failed",
        report.failed()
    );
    let connections = report.number(&["connections", "opened"])?;
    ensure!(
        connections >= f64::from(vus),
        "{connections} connections were opened for {vus} virtual users"
    );
    Ok(Crowd {
        vus,
        connections,
        answered: report.number(&["requests", "answered"])?,
        crowd_kib,
        alone_kib,
    })
}

fn peak(bench: &Bench<'_>, url: &str, vus: u32, seconds: u32) -> anyhow::Result<(u64, Report)> {
    let file = bench.file("crowd.json");
    let mut command = Command::new(&bench.nettare);
    command.arg("run").arg(&bench.hello).args([
        "-u",
        &vus.to_string(),
        "-d",
        &format!("{seconds}s"),
        "--quiet",
    ]);
    command
        .args(["-e", &format!("TARGET={url}")])
        .arg("--report")
        .arg(&file);
    let patience = Duration::from_secs(u64::from(seconds) + 120);
    let ended = child::run(&mut command, bench.pair.generator, patience)
        .and_then(child::Ended::ok)
        .with_context(|| format!("the run with {vus} virtual users failed"))?;
    Ok((ended.spent.peak_kib, Report::read(&file)?))
}

impl Crowd {
    /// All that the process used, by virtual users: the program itself is in it, so nothing is left out.
    fn each_kib(&self) -> f64 {
        self.crowd_kib as f64 / f64::from(self.vus)
    }

    /// What one more would use.
    fn marginal_kib(&self) -> f64 {
        self.crowd_kib.saturating_sub(self.alone_kib) as f64 / f64::from(self.vus - 1)
    }

    pub(crate) fn goals(&self) -> Vec<Goal> {
        let what = format!(
            "memory of a virtual user among {}",
            grouped(self.vus.into())
        );
        vec![Goal::at_most(what, self.each_kib(), LIMIT_KIB, " KiB")]
    }

    pub(crate) fn section(&self) -> String {
        let mut table = Table::new([
            "virtual users",
            "connections",
            "responses",
            "peak MiB",
            "KiB each",
            "KiB for one more",
        ]);
        table.row([
            grouped(self.vus.into()),
            grouped(self.connections),
            grouped(self.answered),
            short(self.crowd_kib as f64 / 1024.0),
            short(self.each_kib()),
            short(self.marginal_kib()),
        ]);
        format!(
            "## Memory of a virtual user

`hello.wasm` with a connection for every virtual user, {SECONDS} s. Memory is what was resident at most, with its page tables; `each` divides
all of it, the program included, and `one more` leaves out what a run with a single virtual user takes.

{}",
            table.render()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_divided_among_all_and_the_program_belongs_to_the_first() {
        let crowd = Crowd {
            vus: 1001,
            connections: 1001.0,
            answered: 5.0,
            crowd_kib: 120_120,
            alone_kib: 20_120,
        };
        assert_eq!((crowd.each_kib(), crowd.marginal_kib()), (120.0, 100.0));
        assert!(!crowd.goals()[0].is_reached());
    }
}
