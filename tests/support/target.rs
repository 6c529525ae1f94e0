//! A server to load: in this process, where its counts can be read, or in one of its own, where it can be killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use nettare_target::{Target, TargetOptions};
use rustix::process::Signal;

use super::nettare::{World, signal};

/// A target on threads of this process.
pub(crate) fn spawn() -> Target {
    nettare_target::spawn(&TargetOptions::default())
        .expect("a target can be started on a free port of loopback")
}

/// A target that is a process, `nettare demo-target`; it is killed when it is dropped.
pub(crate) struct TargetProcess {
    child: Child,
    url: String,
}

impl TargetProcess {
    /// Starts it and waits until it says where it listens.
    pub(crate) fn spawn(world: &World) -> TargetProcess {
        TargetProcess::start(&mut world.command(["demo-target"]))
    }

    /// Starts it by a command of the caller's.
    pub(crate) fn start(command: &mut Command) -> TargetProcess {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let stdout = child.stdout.take().expect("the standard output is piped");
        let url = BufReader::new(stdout)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| url_in(&line));
        TargetProcess {
            child,
            url: url.expect("the target says where it listens"),
        }
    }

    /// Where it listens, without a slash at the end.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, which: Signal) {
        signal(&self.child, which);
    }

    /// What it has counted under a name, asked over a connection of its own.
    pub(crate) fn counted(&self, name: &str) -> u64 {
        let address = self.url.trim_start_matches("http://");
        let mut connection = TcpStream::connect(address).expect("the target takes connections");
        let request =
            format!("GET /counter HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        connection
            .write_all(request.as_bytes())
            .expect("the target takes requests");
        let mut response = String::new();
        connection
            .read_to_string(&mut response)
            .expect("the target answers");
        let body = response
            .split("\r\n\r\n")
            .nth(1)
            .expect("the response has a body");
        let counts = serde_json::from_str::<serde_json::Value>(body).expect("the counts are JSON");
        counts[name]
            .as_u64()
            .unwrap_or_else(|| panic!("`{name}` is not counted: {counts}"))
    }

    /// Kills it as the kernel would: no handler, no farewell.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the process is ours to kill");
        self.child.wait().expect("the process can be waited for");
    }
}

impl Drop for TargetProcess {
    fn drop(&mut self) {
        // It may have been killed already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn url_in(line: &str) -> Option<String> {
    let start = line.find("http://").or_else(|| line.find("https://"))?;
    let url = line[start..].split_whitespace().next()?;
    Some(url.trim_end_matches(['/', '.', ',', '`']).to_owned())
}
