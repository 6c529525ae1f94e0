//! The `nettare` binary, run with an empty environment and folders of its own.
//!
//! Nothing of the developer's machine reaches it: no variables, no configuration, no cache, no saved runs. What it leaves behind is
//! looked at through [`World`] and goes when the world is dropped.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

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
        let mut command = Command::new(env!("CARGO_BIN_EXE_nettare"));
        command
            .args(arguments)
            .current_dir(self.work())
            .stdin(Stdio::null());
        command.env_clear();
        for (name, folder) in [
            ("HOME", "home"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_CONFIG_HOME", "config"),
        ] {
            command.env(name, self.folder.path().join(folder));
        }
        command
    }

    /// Runs the command to its end.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Finished {
        Finished::from(self.command(arguments).output().expect("the binary starts"))
    }

    /// Starts the command and goes on; its output is piped.
    pub(crate) fn start<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Child {
        self.command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts")
    }
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
