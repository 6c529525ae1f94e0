//! A program run to its end on one CPU, and what it used.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use super::cpus;

/// How often a running child's memory is looked at. The kernel keeps the highest value, so a look less loses only what is
/// allocated between the last look and the end.
const LOOK: Duration = Duration::from_millis(50);

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) spent: Spent,
}

/// What a program used of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    /// CPU time in user mode.
    pub(crate) user: Duration,
    /// CPU time in the kernel.
    pub(crate) system: Duration,
    /// The most memory that was resident at one time, with the page tables that it took.
    pub(crate) peak_kib: u64,
}

impl Ended {
    /// Fails unless the program succeeded; the error shows what it complained of.
    pub(crate) fn ok(self) -> anyhow::Result<Ended> {
        if self.status.success() {
            return Ok(self);
        }
        bail!("{}: {}", self.status, self.stderr.trim());
    }
}

/// Runs a program on one CPU. Its output goes to files: a pipe that fills up would make it wait for us.
pub(crate) fn run(command: &mut Command, cpu: usize, deadline: Duration) -> anyhow::Result<Ended> {
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    let before = children()?;
    let mut child = cpus::spawn_on(command, cpu)?;
    let (status, peak_kib) = watch(&mut child, deadline)?;
    let after = children()?;
    Ok(Ended {
        status,
        stdout: written(&mut stdout)?,
        stderr: written(&mut stderr)?,
        spent: Spent {
            user: after.0.saturating_sub(before.0),
            system: after.1.saturating_sub(before.1),
            peak_kib,
        },
    })
}

fn watch(child: &mut Child, deadline: Duration) -> anyhow::Result<(ExitStatus, u64)> {
    let started = Instant::now();
    let mut peak_kib = 0;
    loop {
        peak_kib = peak_kib.max(memory_kib(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait().context("failed to wait for the program")? {
            return Ok((status, peak_kib));
        }
        if started.elapsed() > deadline {
            child.kill().context("failed to end a program that hangs")?;
            child.wait().context("failed to wait for the program")?;
            bail!("it had not ended after {} s", deadline.as_secs());
        }
        thread::sleep(LOOK);
    }
}

/// User and system time of all children that were waited for. The difference over one child's life is that child's, since no
/// other is waited for meanwhile.
fn children() -> anyhow::Result<(Duration, Duration)> {
    let usage =
        getrusage(UsageWho::RUSAGE_CHILDREN).context("failed to read what children used")?;
    Ok((duration(usage.user_time()), duration(usage.system_time())))
}

fn duration(time: TimeVal) -> Duration {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let microseconds = u64::try_from(time.tv_usec()).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(microseconds)
}

fn memory_kib(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    Some(kib(&status, "VmHWM:")? + kib(&status, "VmPTE:")?)
}

fn kib(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn written(file: &mut File) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::cpus::Pair;

    fn run_here(program: &str, arguments: &[&str], deadline: Duration) -> anyhow::Result<Ended> {
        // A machine with one CPU has nothing to choose from, and no other test to disturb.
        let cpu = Pair::choose().map_or(0, |pair| pair.generator);
        run(Command::new(program).args(arguments), cpu, deadline)
    }

    #[test]
    fn output_and_status_are_the_programs_own() {
        let script = "echo out; echo err >&2; exit 3";
        let ended = run_here("sh", &["-c", script], Duration::from_secs(60)).expect("sh runs");
        assert_eq!(
            (ended.stdout.as_str(), ended.stderr.as_str()),
            ("out\n", "err\n")
        );
        let error = ended.ok().expect_err("3 is no success");
        assert_eq!(error.to_string(), "exit status: 3: err");
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let error = run_here("sleep", &["1000"], Duration::ZERO).expect_err("it hangs");
        assert!(error.to_string().contains("had not ended"), "{error}");
    }

    #[test]
    fn memory_is_resident_pages_and_their_tables() {
        let status = "Name:\tx\nVmPeak:\t  900 kB\nVmHWM:\t    1234 kB\nVmPTE:\t      66 kB\n";
        assert_eq!(
            (kib(status, "VmHWM:"), kib(status, "VmPTE:")),
            (Some(1234), Some(66))
        );
        assert_eq!(kib("Name:\tzombie\n", "VmHWM:"), None);
    }
}
