//! Servers to load: nginx and the demo target, each pinned to a CPU and ended with the value that stands for it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::cpus;

/// How long a server may take to answer its first connection, and to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server that runs until it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    /// Without a slash at the end.
    pub(crate) url: String,
    child: Child,
    /// Kept open, so that the server does not write into a closed pipe.
    _stdout: Option<ChildStdout>,
    /// Holds the server's files.
    _folder: Option<TempDir>,
}

impl Server {
    /// nginx with a configuration of its own: one worker, no log, one small answer whatever the path.
    pub(crate) fn nginx(cpu: usize) -> anyhow::Result<Server> {
        let folder = tempfile::tempdir().context("failed to make a folder for nginx")?;
        let port = free_port()?;
        let path = folder.path().join("nginx.conf");
        fs::write(&path, nginx_configuration(folder.path(), port))
            .context("failed to write nginx's configuration")?;
        let mut command = Command::new("nginx");
        command
            .arg("-c")
            .arg(&path)
            .arg("-p")
            .arg(folder.path())
            .arg("-e")
            .arg(folder.path().join("error.log"));
        let child = cpus::spawn_on(command.stdin(Stdio::null()), cpu)
            .context("nginx is needed: `apt-get install nginx-light`")?;
        let mut server = Server {
            url: format!("http://127.0.0.1:{port}"),
            child,
            _stdout: None,
            _folder: Some(folder),
        };
        server.wait_until_connectable(port)?;
        Ok(server)
    }

    /// The demo target, with or without TLS.
    pub(crate) fn demo_target(nettare: &Path, cpu: usize, tls: bool) -> anyhow::Result<Server> {
        let mut command = Command::new(nettare);
        command
            .args(["demo-target", "--listen", "127.0.0.1:0"])
            .args(tls.then_some("--tls"));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = cpus::spawn_on(&mut command, cpu)?;
        let stdout = child
            .stdout
            .take()
            .context("the demo target has no standard output")?;
        let mut reader = BufReader::new(stdout);
        let mut url = String::new();
        reader
            .read_line(&mut url)
            .context("failed to read the demo target's URL")?;
        let server = Server {
            url: url.trim().to_owned(),
            child,
            _stdout: Some(reader.into_inner()),
            _folder: None,
        };
        ensure!(
            server.url.starts_with("http"),
            "the demo target did not say where it listens"
        );
        Ok(server)
    }

    fn wait_until_connectable(&mut self, port: u16) -> anyhow::Result<()> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended before it answered ({status})");
            }
            ensure!(
                started.elapsed() < PATIENCE,
                "the server does not answer on {address}"
            );
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Server {
    /// Asks for the end, so that a server ends its workers too; insists when it does not come.
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended by itself, which is what is wanted.
            let _ = kill_process(pid, Signal::TERM);
        }
        let started = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && started.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(10));
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A port that was free a moment ago. nginx cannot be told to take any; should another program be quicker, it says so and ends.
fn free_port() -> anyhow::Result<u16> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("failed to find a free port")?;
    Ok(listener.local_addr()?.port())
}

/// Connections are kept for good: a generator that has to reconnect every thousand requests would be measured for that.
fn nginx_configuration(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        "worker_processes 1;
daemon off;
pid {folder}/pid;
worker_rlimit_nofile 20000;
events {{ worker_connections 15000; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{ default_type text/plain; return 200 \"This is a small answer, as they go.\\n\"; }}
  }}
}}
"
    )
}

/// What nginx says of its version.
pub(crate) fn nginx_version() -> String {
    super::machine::version(Command::new("nginx").arg("-v")).replace("nginx version: ", "")
}
