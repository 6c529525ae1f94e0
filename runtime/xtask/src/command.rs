//! Starting other programs: announced before, checked after.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, bail};

/// The repository's root: every command runs from there, wherever it was typed.
///
/// cargo says where at run time too. What it said when this was compiled may be another clone, where two share a target folder.
pub(crate) fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
        let root = crate_folder.ancestors().nth(2);
        root.map_or_else(|| crate_folder.clone(), Path::to_owned)
    })
}

/// A program, to be run in the repository's root.
pub(crate) fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

/// Cargo with these arguments: the one that started us, so that `cargo +toolchain xtask` holds for what it starts.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Where cargo puts what it builds, with this profile's folder (`debug` or `release`).
pub(crate) fn target_folder(profile: &str) -> PathBuf {
    let base = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |folder| root().join(folder));
    base.join(profile)
}

/// Prints the command line, runs it with our terminal, and fails when it fails.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    eprintln!("$ {}", written(command));
    let status = command
        .status()
        .with_context(|| format!("failed to start `{}`", written(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", written(command));
    }
    Ok(())
}

/// Runs a program quietly and gives what it wrote to its standard output.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .output()
        .with_context(|| format!("failed to start `{}`", written(command)))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{}` failed ({}): {}",
            written(command),
            output.status,
            complaint.trim()
        );
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` did not write UTF-8", written(command)))
}

/// The command as one would type it in the repository's root.
fn written(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words
        .map(|word| quoted(&word.to_string_lossy()))
        .collect::<Vec<_>>()
        .join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_printed_as_one_would_type_it() {
        let mut command = Command::new("/usr/bin/env");
        command.args(["NAME=it's", "cargo", "--version", ""]);
        assert_eq!(written(&command), r"env 'NAME=it'\''s' cargo --version ''");
    }

    #[test]
    fn a_failure_names_the_command_and_its_status() {
        let error = run(program("false").arg("--really")).expect_err("`false` fails");
        assert_eq!(
            error.to_string(),
            "`false --really` failed (exit status: 1)"
        );
    }

    #[test]
    fn commands_run_in_the_root_of_the_workspace() {
        assert!(root().join("Cargo.lock").is_file());
        assert_eq!(
            output(&mut program("pwd")).expect("pwd runs").trim(),
            root().to_string_lossy()
        );
    }
}
