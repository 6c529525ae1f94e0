//! Which CPU runs what, and how many descriptors a child may open.

use std::io;
use std::process::{Child, Command};
use std::thread;

use anyhow::{Context, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Descriptors that 10,000 connections take on one side, and some for everything else.
const DESCRIPTORS: u64 = 12_000;

/// A CPU for the server and another for the generator, so that neither takes time from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) server: usize,
    pub(crate) generator: usize,
}

impl Pair {
    /// The first two CPUs that this process may use, as far from each other as two numbers tell: on machines with threads that
    /// share a core, neighbours in number are mostly on different ones.
    pub(crate) fn choose() -> anyhow::Result<Pair> {
        let allowed = sched_getaffinity(None).context("failed to ask which CPUs may be used")?;
        let mut usable = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
        match (usable.next(), usable.next()) {
            (Some(generator), Some(server)) => Ok(Pair { server, generator }),
            _ => bail!(
                "one CPU for the server and one for the generator are needed; there is only one"
            ),
        }
    }
}

/// Starts a program on one CPU. A child inherits the affinity of the thread that starts it, so a thread that ends afterwards
/// takes it on; that needs no code between fork and exec, which would be unsafe.
pub(crate) fn spawn_on(command: &mut Command, cpu: usize) -> anyhow::Result<Child> {
    let pinned = || -> io::Result<Child> {
        let mut set = CpuSet::new();
        set.set(cpu);
        sched_setaffinity(None, &set)?;
        command.spawn()
    };
    let started = thread::scope(|scope| scope.spawn(pinned).join());
    let name = command.get_program().to_string_lossy().into_owned();
    match started {
        Ok(child) => child.with_context(|| format!("failed to start `{name}`")),
        Err(_) => bail!("the thread that starts `{name}` panicked"),
    }
}

/// Raises the limit of descriptors, for this process and so for its children, as far as the system lets it.
pub(crate) fn raise_descriptor_limit() -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).context("failed to raise the limit of open files")?;
    match limit.maximum {
        Some(most) if most < DESCRIPTORS => bail!(
            "{DESCRIPTORS} open files a process are needed and {most} allowed; raise it with `ulimit -Hn {DESCRIPTORS}` as root"
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_runs_on_the_cpu_it_was_given() {
        let allowed = sched_getaffinity(None).expect("the affinity can be read");
        let last = (0..CpuSet::MAX_CPU)
            .rfind(|&cpu| allowed.is_set(cpu))
            .expect("there is a CPU");
        let mut command = Command::new("cat");
        command
            .arg("/proc/self/status")
            .stdout(std::process::Stdio::piped());
        let child = spawn_on(&mut command, last).expect("cat starts");
        let output = child.wait_with_output().expect("cat ends");
        let status = String::from_utf8_lossy(&output.stdout);
        assert!(
            status.contains(&format!("Cpus_allowed_list:\t{last}\n")),
            "{status}"
        );
        assert_eq!(
            sched_getaffinity(None).expect("the affinity can be read"),
            allowed,
            "the caller stays where it was"
        );
    }
}
