//! The `nettare` binary, run with an empty environment and folders of its own.
//!
//! Nothing of the developer's machine reaches it: no variables, no configuration, no cache, no saved runs. What it leaves behind is
//! looked at through [`World`] and goes when the world is dropped.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::report::Report;

/// How long a run that ought to end may take, whatever the machine is doing besides. Only a run that hangs gets here.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder that holds everything one test's runs read and write.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    /// A fresh world with nothing in it.
    pub(crate) fn new() -> World {
        let folder = tempfile::Builder::new()
            .prefix("nettare-test-")
            .tempdir()
            .expect("a temporary folder can be made");
        for name in ["home", "state", "cache", "config", "work"] {
            fs::create_dir(folder.path().join(name)).expect("a folder can be made in a fresh one");
        }
        World { folder }
    }

    /// The folder the commands run in: relative paths are relative to it.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Where runs are kept.
    pub(crate) fn runs(&self) -> PathBuf {
        self.folder.path().join("state/nettare/runs")
    }

    /// Writes a file into the working folder and gives its path.
    pub(crate) fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        fs::write(&path, content).expect("a file can be written into the working folder");
        path
    }

    /// The text of a file in the working folder.
    pub(crate) fn read(&self, name: impl AsRef<Path>) -> String {
        let path = self.work().join(name);
        fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()))
    }

    /// The command, ready to run: an empty environment but for this world's folders, and no terminal.
    pub(crate) fn command<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Command {
        self.prepared(Command::new(env!("CARGO_BIN_EXE_nettare")), arguments)
    }

    /// The command, to be run by another that takes it as its last arguments.
    pub(crate) fn command_under<A: AsRef<OsStr>>(
        &self,
        by: &[&str],
        arguments: impl IntoIterator<Item = A>,
    ) -> Command {
        let mut command = Command::new(by[0]);
        command.args(&by[1..]).arg(env!("CARGO_BIN_EXE_nettare"));
        self.prepared(command, arguments)
    }

    fn prepared<A: AsRef<OsStr>>(
        &self,
        mut command: Command,
        arguments: impl IntoIterator<Item = A>,
    ) -> Command {
        command
            .args(arguments)
            .current_dir(self.work())
            .stdin(Stdio::null())
            .env_clear();
        let folders = [
            ("HOME", "home"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_CONFIG_HOME", "config"),
        ];
        command.envs(folders.map(|(name, folder)| (name, self.folder.path().join(folder))));
        command
    }

    /// Runs the command to its end.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Finished {
        self.start(arguments).finish()
    }

    /// Starts the command and goes on.
    pub(crate) fn start<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Running {
        Running::start(&mut self.command(arguments))
    }

    /// The report that a run was told to write into the working folder.
    pub(crate) fn report(&self, name: &str) -> Report {
        Report::read(&self.work().join(name))
    }
}

/// A run of the binary that goes on.
pub(crate) struct Running(Child);

impl Running {
    /// Starts a command with its output piped.
    pub(crate) fn start(command: &mut Command) -> Running {
        Running(
            command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the binary starts"),
        )
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, which: Signal) {
        signal(&self.0, which);
    }

    /// Waits for the end. One that hangs is killed, and fails the test.
    pub(crate) fn finish(self) -> Finished {
        let id = Pid::from_child(&self.0);
        let (sender, receiver) = mpsc::channel();
        let waiting = std::thread::spawn(move || sender.send(self.0.wait_with_output()).is_ok());
        let output = receiver.recv_timeout(PATIENCE);
        if output.is_err() {
            kill_process(id, Signal::KILL).expect("it has not ended");
        }
        waiting
            .join()
            .expect("the thread that waits does not panic");
        let output = output.unwrap_or_else(|_| panic!("the run did not end within {PATIENCE:?}"));
        Finished::from(output.expect("the run can be waited for"))
    }
}

/// Sends a signal to a process that we started.
pub(crate) fn signal(process: &Child, signal: Signal) {
    kill_process(Pid::from_child(process), signal)
        .expect("a process that was not waited for can be signalled");
}

/// A run of the binary that has ended.
pub(crate) struct Finished {
    /// The exit code; none when a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it wrote to its standard output.
    pub(crate) stdout: String,
    /// What it wrote to its standard error.
    pub(crate) stderr: String,
}

impl Finished {
    /// Fails unless the run ended with this code, showing what it said.
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Finished {
        let Finished {
            code: got,
            stdout,
            stderr,
        } = &self;
        assert_eq!(
            *got,
            Some(code),
            "exit code\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        );
        self
    }
}

impl From<Output> for Finished {
    fn from(output: Output) -> Finished {
        Finished {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("the standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("the standard error is UTF-8"),
        }
    }
}
