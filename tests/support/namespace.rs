//! A network of its own, with settings of its own, for tests of what happens where these run out.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::geteuid;

/// A network namespace with its loopback interface up; it goes when it is dropped.
pub(crate) struct Namespace {
    ip: &'static str,
    name: String,
}

impl Namespace {
    /// Makes one; none where this machine does not allow it, which is said aloud.
    pub(crate) fn make() -> Option<Namespace> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let Some(ip) = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"]
            .into_iter()
            .find(|path| Path::new(path).exists())
        else {
            skipped("there is no `ip`; iproute2 has it");
            return None;
        };
        if !geteuid().is_root() {
            skipped("only root may make network namespaces");
            return None;
        }
        let name = format!(
            "nettare-test-{}-{}",
            std::process::id(),
            MADE.fetch_add(1, Ordering::Relaxed)
        );
        let made = Command::new(ip)
            .args(["netns", "add", &name])
            .output()
            .expect("`ip` starts");
        if !made.status.success() {
            skipped(&format!(
                "this system makes no network namespaces: {}",
                String::from_utf8_lossy(&made.stderr)
            ));
            return None;
        }
        let namespace = Namespace { ip, name };
        namespace.run(&["sh", "-c", "PATH=$PATH:/sbin:/usr/sbin ip link set lo up"]);
        Some(namespace)
    }

    /// Sets a kernel setting of the namespace, by its path below `/proc/sys`.
    pub(crate) fn set(&self, setting: &str, value: &str) {
        self.run(&["sh", "-c", &format!("echo '{value}' > /proc/sys/{setting}")]);
    }

    /// What a command is put behind to run in the namespace.
    pub(crate) fn within(&self) -> [&str; 4] {
        [self.ip, "netns", "exec", &self.name]
    }

    fn run(&self, command: &[&str]) {
        let [ip, within @ ..] = self.within();
        let output = Command::new(ip)
            .args(within)
            .args(command)
            .output()
            .expect("`ip` starts");
        assert!(
            output.status.success(),
            "{command:?} in {}: {output:?}",
            self.name
        );
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Whatever still runs in it keeps it until it ends; the name is gone at once.
        let _ = Command::new(self.ip)
            .args(["netns", "del", &self.name])
            .status();
    }
}

/// Says that a test tested nothing, and why; past the harness, which would keep it to itself.
pub(crate) fn skipped(why: &str) {
    let said = writeln!(
        std::io::stderr(),
        "SKIPPED, nothing was tested: {}",
        why.trim()
    );
    said.expect("the standard error takes a line");
}
