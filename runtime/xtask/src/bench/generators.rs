//! The programs compared: how each is started, and what it says of what it did.
//!
//! Everyone is given the same URL, connections and time, and one thread where that can be said. A program that is not installed
//! is left out, and the page says so.

mod said;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use super::Bench;
use crate::measure::child::Ended;
use crate::measure::machine::version;
use crate::measure::report::Report;

/// What k6 runs: the counterpart of the `hello` example, a request and a check of its status.
const K6_SCRIPT: &str = "\
import http from 'k6/http';
import { check } from 'k6';
export default function () {
  check(http.get(__ENV.TARGET + '/products?count=3'), { 'status is 200': (r) => r.status === 200 });
}
";

/// One program with one way of using it.
pub(crate) struct Generator {
    /// As it stands in the table.
    pub(crate) name: String,
    /// What it says of its version.
    pub(crate) version: String,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Wrk,
    Hey,
    Oha,
    K6,
    Quick,
    /// The `hello` guest, with this placement.
    Hello(&'static str),
}

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Served {
    /// Responses.
    pub(crate) requests: f64,
    /// The time they took.
    pub(crate) seconds: f64,
}

/// The load of one run.
pub(crate) struct Load<'a> {
    pub(crate) url: &'a str,
    pub(crate) seconds: u32,
    pub(crate) connections: u32,
}

/// The programs that are installed, wrk first: the others are compared to it. Says what could be installed.
pub(crate) fn installed(bench: &Bench<'_>) -> anyhow::Result<Vec<Generator>> {
    let wrk = found("wrk")
        .context("wrk is needed, the others are compared to it: `apt-get install wrk`")?;
    let mut generators = vec![Generator::new(
        "wrk",
        version(Command::new(&wrk).arg("-v")),
        Kind::Wrk,
    )];
    let optional = [
        ("hey", Kind::Hey, "`apt-get install hey`"),
        ("oha", Kind::Oha, "`cargo install oha`"),
        ("k6", Kind::K6, "see k6's documentation"),
    ];
    for (name, kind, remedy) in optional {
        match found(name) {
            Some(_) => generators.push(Generator::new(name, packaged_version(name), kind)),
            None => eprintln!(
                "{name} is not installed and stays out of the table; to have it in: {remedy}"
            ),
        }
    }
    let nettare = version(Command::new(&bench.nettare).arg("--version"));
    generators.push(Generator::new(
        "nettare quick",
        nettare.clone(),
        Kind::Quick,
    ));
    for placement in ["inline", "auto", "split"] {
        let name = format!("nettare run hello.wasm, {placement}");
        generators.push(Generator::new(
            &name,
            nettare.clone(),
            Kind::Hello(placement),
        ));
    }
    fs::write(bench.file("k6.js"), K6_SCRIPT).context("failed to write the script for k6")?;
    Ok(generators)
}

impl Generator {
    fn new(name: &str, version: String, kind: Kind) -> Generator {
        Generator {
            name: name.to_owned(),
            version,
            kind,
        }
    }

    /// What `cargo xtask bench` runs for this row.
    pub(crate) fn command(&self, bench: &Bench<'_>, load: &Load<'_>) -> Command {
        let Load {
            url,
            seconds,
            connections,
        } = *load;
        let (time, count) = (format!("{seconds}s"), connections.to_string());
        let page = format!("{url}/products?count=3");
        let mut command = Command::new(self.program(bench));
        match self.kind {
            Kind::Wrk => command.args(["-t", "1", "-c", &count, "-d", &time, &page]),
            Kind::Hey => command.args(["-cpus", "1", "-c", &count, "-z", &time, &page]),
            Kind::Oha => command.args([
                "--no-tui",
                "--output-format",
                "json",
                "-c",
                &count,
                "-z",
                &time,
                &page,
            ]),
            Kind::K6 => {
                command.args(["run", "--quiet", "--vus", &count, "--duration", &time]);
                command.args(["--env", &format!("TARGET={url}"), "--summary-export"]);
                command.arg(bench.file("k6.json")).arg(bench.file("k6.js"))
            }
            Kind::Quick => {
                command.args([
                    "quick",
                    &page,
                    "-c",
                    &count,
                    "-z",
                    &time,
                    "--quiet",
                    "--timestamps",
                    "kernel",
                ]);
                command.arg("--report").arg(bench.file("report.json"))
            }
            Kind::Hello(placement) => {
                command.arg("run").arg(&bench.hello).args([
                    "-u",
                    &count,
                    "-d",
                    &time,
                    "--quiet",
                    "--timestamps",
                    "kernel",
                ]);
                command.args(["-e", &format!("TARGET={url}"), "--guest-thread", placement]);
                command.arg("--report").arg(bench.file("report.json"))
            }
        };
        command
    }

    /// What the program says that it did.
    pub(crate) fn served(&self, bench: &Bench<'_>, ended: &Ended) -> anyhow::Result<Served> {
        match self.kind {
            Kind::Wrk => said::wrk(&ended.stdout),
            Kind::Hey => said::hey(&ended.stdout),
            Kind::Oha => said::oha(&ended.stdout),
            Kind::K6 => said::k6(&fs::read_to_string(bench.file("k6.json"))?),
            Kind::Quick | Kind::Hello(_) => {
                let report = Report::read(&bench.file("report.json"))?;
                anyhow::ensure!(
                    report.failed() == 0.0,
                    "{} requests failed",
                    report.failed()
                );
                Ok(Served {
                    requests: report.number(&["requests", "answered"])?,
                    seconds: report.seconds()?,
                })
            }
        }
    }

    fn program(&self, bench: &Bench<'_>) -> PathBuf {
        match self.kind {
            Kind::Wrk => "wrk".into(),
            Kind::Hey => "hey".into(),
            Kind::Oha => "oha".into(),
            Kind::K6 => "k6".into(),
            Kind::Quick | Kind::Hello(_) => bench.nettare.clone(),
        }
    }

    /// Whether this is the row that `quick`'s goal is about.
    pub(crate) fn is_quick(&self) -> bool {
        matches!(self.kind, Kind::Quick)
    }

    /// Whether this is the row that the scripted goal is about.
    pub(crate) fn is_scripted_auto(&self) -> bool {
        matches!(self.kind, Kind::Hello("auto"))
    }
}

/// A program on the search path.
fn found(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// What the program says, or, for those that have no flag for it, its package.
fn packaged_version(name: &str) -> String {
    if name != "hey" {
        return version(Command::new(name).arg("--version"));
    }
    let package =
        version(Command::new("dpkg-query").args(["--show", "--showformat", "${Version}", name]));
    format!("{name} {package}")
}
