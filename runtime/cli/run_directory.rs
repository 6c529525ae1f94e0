//! The directory that keeps a run: `$XDG_STATE_HOME/nettare/runs/<id>`, by default below `~/.local/state`.
//!
//! | file | holds | written |
//! |---|---|---|
//! | `report.json` | the complete report | at the end |
//! | `journal.ndjson` | a head line, then one line an interval | each second, so that a killed run leaves what it had |
//! | `log` | warnings, the scenario's log lines | as they come |
//!
//! The newest hundred are kept. `runs/last` is a symbolic link to the newest. Only the user may look inside: reports hold the plan, and plans hold what
//! was given by `-e`. That the directory cannot be made or written is a warning, never a reason not to run.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::ui;

/// One run's directory, while the run goes on.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    path: PathBuf,
    journal: File,
    log: File,
}

impl RunDirectory {
    /// Makes the directory of run `id` below `runs`, and points `last` at it.
    pub(crate) fn create(runs: &Path, id: &str) -> io::Result<RunDirectory> {
        private_directory().recursive(true).create(runs)?;
        let path = runs.join(id);
        private_directory().create(&path)?;
        let directory = RunDirectory {
            journal: File::create_new(path.join("journal.ndjson"))?,
            log: File::create_new(path.join("log"))?,
            path,
        };
        point_last_at(runs, id)?;
        Ok(directory)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line to the journal.
    pub(crate) fn journal(&mut self, entry: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.journal.write_all(&line)
    }

    /// Adds a line to the log; one line, whatever is in it.
    pub(crate) fn log(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.log, "{}", ui::shown(line))
    }

    /// Writes the report, whole or not at all: another program may be reading the one before.
    pub(crate) fn write_report(&self, json: &[u8]) -> io::Result<()> {
        let draft = self.path.join("report.json.draft");
        std::fs::write(&draft, json)?;
        std::fs::rename(&draft, self.report_path())
    }

    /// Where the report is once it is written.
    pub(crate) fn report_path(&self) -> PathBuf {
        self.path.join("report.json")
    }
}

/// So many runs are kept, the newest.
pub(crate) const KEPT: usize = 100;

/// Removes all but the newest runs, and says how many. What does not look like a run is somebody else's, and left alone; one
/// that cannot be removed stays.
pub(crate) fn remove_old(runs: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(runs) else {
        return 0;
    };
    let mut old: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_run(path))
        .collect();
    // Names begin with the time.
    old.sort_unstable();
    old.truncate(old.len().saturating_sub(KEPT));
    old.iter()
        .filter(|path| std::fs::remove_dir_all(path).is_ok())
        .count()
}

/// Whether this is a run's directory: named by its id, with a journal in it.
fn is_run(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_id = name.chars().all(|c| c.is_ascii_digit() || c == '-') && name.len() >= 15;
    let is_directory = path.symlink_metadata().is_ok_and(|known| known.is_dir());
    is_id && is_directory && path.join("journal.ndjson").is_file()
}

/// Where runs are kept, from what the environment says; none when it names no home.
///
/// Relative paths in `XDG_STATE_HOME` are invalid and ignored, as the XDG Base Directory Specification asks.
pub(crate) fn runs_folder(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let absolute = |name: &str| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("nettare/runs"))
}

fn private_directory() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Replaces the link in one step, so that `last` always leads somewhere.
fn point_last_at(runs: &Path, id: &str) -> io::Result<()> {
    let draft = runs.join(format!(".last-{id}"));
    symlink(id, &draft)?;
    std::fs::rename(&draft, runs.join("last"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_state_directory_decides_where_runs_are_kept() {
        let rows = [
            (
                "an absolute XDG_STATE_HOME wins",
                Some("/state"),
                Some("/h"),
                Some("/state/nettare/runs"),
            ),
            (
                "a relative one is ignored",
                Some("state"),
                Some("/h"),
                Some("/h/.local/state/nettare/runs"),
            ),
            (
                "an empty one is ignored",
                Some(""),
                Some("/h"),
                Some("/h/.local/state/nettare/runs"),
            ),
            ("without a home there is no place", None, None, None),
        ];
        for (sentence, state, home, expected) in rows {
            let variable = |name: &str| {
                let value = if name == "HOME" { home } else { state };
                value.map(str::to_owned)
            };
            assert_eq!(
                runs_folder(variable),
                expected.map(PathBuf::from),
                "{sentence}"
            );
        }
    }

    #[test]
    fn last_follows_the_newest_run() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("deep/runs");
        RunDirectory::create(&runs, "one").unwrap();
        let newest = RunDirectory::create(&runs, "two").unwrap();
        newest.write_report(b"{}").unwrap();
        assert_eq!(
            std::fs::read_link(runs.join("last")).unwrap(),
            Path::new("two")
        );
        assert_eq!(std::fs::read(runs.join("last/report.json")).unwrap(), b"{}");
    }

    #[test]
    fn nobody_else_may_look_into_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDirectory::create(&folder.path().join("runs"), "one").unwrap();
        assert_eq!(
            std::fs::metadata(run.path()).unwrap().permissions().mode() & 0o777,
            0o700
        );
    }

    #[test]
    fn a_run_is_never_written_over_another() {
        let folder = tempfile::tempdir().unwrap();
        RunDirectory::create(folder.path(), "one").unwrap();
        let again = RunDirectory::create(folder.path(), "one").unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn old_runs_go_and_what_is_no_run_stays() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path();
        let id = |n: usize| format!("20260101-000000-{n:06}");
        for n in 0..KEPT + 3 {
            RunDirectory::create(runs, &id(n)).unwrap();
        }
        for other in ["notes", "20250101-000000-000000"] {
            std::fs::create_dir(runs.join(other)).unwrap();
        }
        assert_eq!(remove_old(runs), 3);
        for (name, stays) in [
            (id(2), false),
            (id(3), true),
            (id(KEPT + 2), true),
            ("notes".to_owned(), true),
            ("20250101-000000-000000".to_owned(), true),
            ("last".to_owned(), true),
        ] {
            assert_eq!(runs.join(&name).exists(), stays, "{name}");
        }
        assert_eq!(remove_old(runs), 0);
    }

    #[test]
    fn the_journal_has_a_line_for_each_entry() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = RunDirectory::create(folder.path(), "one").unwrap();
        run.journal(&1).unwrap();
        run.journal(&"two\nlines").unwrap();
        let journal = std::fs::read_to_string(run.path().join("journal.ndjson")).unwrap();
        assert_eq!(journal, "1\n\"two\\nlines\"\n");
    }
}
