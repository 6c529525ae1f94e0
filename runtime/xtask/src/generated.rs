//! Checked-in files that are made from code: written, or compared with what would be written.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use crate::command;

/// Whether to write the files, or to fail where they differ.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing; fail if a file is not what it would be
    #[arg(long)]
    pub(crate) check: bool,
}

/// A file's path from the repository's root, and what must stand in it.
pub(crate) struct Generated {
    pub(crate) path: &'static str,
    pub(crate) content: String,
}

impl Generated {
    /// Writes the file, or checks it; `by` is the command that writes it.
    pub(crate) fn settle(&self, arguments: &Arguments, by: &str) -> anyhow::Result<()> {
        self.settle_in(command::root(), arguments, by)
    }

    fn settle_in(&self, root: &Path, arguments: &Arguments, by: &str) -> anyhow::Result<()> {
        let file = root.join(self.path);
        let there = fs::read_to_string(&file).unwrap_or_default();
        if there == self.content {
            return Ok(());
        }
        if arguments.check {
            bail!(
                "{} is out of date{}; `{by}` writes it",
                self.path,
                difference(&there, &self.content)
            );
        }
        fs::create_dir_all(file.parent().unwrap_or(root))
            .with_context(|| format!("failed to make the folder of {}", self.path))?;
        fs::write(&file, &self.content)
            .with_context(|| format!("failed to write {}", self.path))?;
        eprintln!("wrote {}", self.path);
        Ok(())
    }
}

/// Where two texts part, in words to be put after a statement.
fn difference(there: &str, wanted: &str) -> String {
    let first = there.lines().zip(wanted.lines()).position(|(a, b)| a != b);
    match first {
        Some(line) => format!(" from line {} on", line + 1),
        None => " at its end".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generated(content: &str) -> Generated {
        Generated {
            path: "pages/a.md",
            content: content.to_owned(),
        }
    }

    #[test]
    fn a_file_is_written_once_and_then_found_up_to_date() {
        let root = tempfile::tempdir().expect("a temporary folder can be made");
        let settle = |content: &str, check| {
            generated(content).settle_in(root.path(), &Arguments { check }, "cargo xtask docs")
        };
        let missing = settle("a\nb\n", true).expect_err("the file is not there");
        assert_eq!(
            missing.to_string(),
            "pages/a.md is out of date at its end; `cargo xtask docs` writes it"
        );
        settle("a\nb\n", false).expect("the file can be written");
        settle("a\nb\n", true).expect("the file is up to date");
        let changed = settle("a\nc\n", true).expect_err("the file is out of date");
        assert_eq!(
            changed.to_string(),
            "pages/a.md is out of date from line 2 on; `cargo xtask docs` writes it"
        );
        assert_eq!(
            fs::read_to_string(root.path().join("pages/a.md")).expect("it is there"),
            "a\nb\n",
            "a check writes nothing"
        );
    }
}
