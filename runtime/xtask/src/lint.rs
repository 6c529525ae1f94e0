//! `cargo xtask lint`: formatting, lints, and the rules for dependencies.

use crate::command;

/// Runs every lint; the first that finds something ends it.
pub(crate) fn run() -> anyhow::Result<()> {
    command::run(&mut command::cargo(["fmt", "--all", "--", "--check"]))?;
    command::run(&mut command::cargo([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ]))?;
    if deny_is_installed() {
        command::run(&mut command::cargo([
            "deny",
            "--workspace",
            "check",
            "bans",
            "licenses",
            "sources",
        ]))
    } else {
        eprintln!(
            "skipped: `cargo deny` is not installed; `cargo install --locked cargo-deny` adds it"
        );
        Ok(())
    }
}

fn deny_is_installed() -> bool {
    command::output(&mut command::cargo(["deny", "--version"])).is_ok()
}
