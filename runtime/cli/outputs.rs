//! Files asked for by `--report` and the like: opened before the run, so that an hour of load is not followed by "permission denied".
//!
//! An older report under the same name stays whole until the new one is there to replace it; a file made here and never
//! written is removed again.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use nettare_report::Format;

use crate::args::ReportFile;
use crate::exit::Cause;
use crate::failure::Failure;

/// One report file, open and not yet written.
#[derive(Debug)]
pub(crate) struct Output {
    format: Format,
    file: OpenFile,
}

/// A file that is open and not yet written.
#[derive(Debug)]
pub(crate) struct OpenFile {
    path: PathBuf,
    file: File,
    /// Whether the file was made here and holds nothing yet.
    made_and_empty: bool,
}

/// Opens every file, or says which cannot be written.
pub(crate) fn open_all(files: &[ReportFile]) -> Result<Vec<Output>, Failure> {
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut outputs = Vec::new();
    for file in files {
        let output = Output::open(file)?;
        // By what it leads to: `a.json` and `./a.json` are one file.
        let leads_to = output
            .path()
            .canonicalize()
            .unwrap_or_else(|_| output.path().to_owned());
        if seen.contains(&leads_to) {
            let path = output.path().display();
            let sentence = format!("the report `{path}` is asked for twice");
            return Err(Failure::new(Cause::CommandLine, sentence)
                .hint("give each --report a file of its own"));
        }
        seen.push(leads_to);
        outputs.push(output);
    }
    Ok(outputs)
}

impl Output {
    fn open(wanted: &ReportFile) -> Result<Output, Failure> {
        let file = OpenFile::open(&wanted.path, "report", "--report")?;
        Ok(Output {
            format: wanted.format,
            file,
        })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// What it is to hold.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Replaces the file's content.
    pub(crate) fn write(self, content: &[u8]) -> io::Result<()> {
        self.file.write(content)
    }
}

impl OpenFile {
    /// Opens the file that `flag` names, or says why this `what` cannot be written.
    pub(crate) fn open(path: &Path, what: &str, flag: &str) -> Result<OpenFile, Failure> {
        let path = path.to_owned();
        let made_and_empty = !path.exists();
        // Not truncated here: see the module's promise about older reports.
        match OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
        {
            Ok(file) => Ok(OpenFile {
                path,
                file,
                made_and_empty,
            }),
            Err(error) => Err(unwritable(&path, what, flag, &error)),
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file's content. What is not a regular file (a pipe, a terminal) is only written to.
    pub(crate) fn write(mut self, content: &[u8]) -> io::Result<()> {
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
            self.file.rewind()?;
        }
        self.made_and_empty = false;
        self.file.write_all(content)?;
        self.file.flush()
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if self.made_and_empty {
            // An empty file left behind is untidy, no more: nothing to report.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn unwritable(path: &Path, what: &str, flag: &str, error: &io::Error) -> Failure {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let failure = Failure::new(
        Cause::Plan,
        format!("the {what} `{}` cannot be written: {error}", path.display()),
    );
    match folder {
        Some(folder) if !folder.exists() => failure.hint(format!(
            "make the directory first: mkdir -p {}",
            folder.display()
        )),
        _ => failure.hint(format!("name a file that may be written with {flag}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(path: PathBuf) -> ReportFile {
        ReportFile {
            path,
            format: Format::Json,
        }
    }

    #[test]
    fn an_older_report_stays_until_it_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        std::fs::write(&path, "an older and longer report").unwrap();
        let output = open_all(&[report(path.clone())]).unwrap().remove(0);
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "an older and longer report"
        );
        output.write(b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_file_never_written_is_removed_and_an_older_one_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (fresh, older) = (
            folder.path().join("fresh.json"),
            folder.path().join("older.json"),
        );
        std::fs::write(&older, "kept").unwrap();
        drop(open_all(&[report(fresh.clone()), report(older.clone())]).unwrap());
        assert!(!fresh.exists());
        assert_eq!(std::fs::read_to_string(&older).unwrap(), "kept");
    }

    #[test]
    fn a_file_is_no_report_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let same = folder.path().join(".").join("run.json");
        let failure = open_all(&[report(path.clone()), report(same)]).unwrap_err();
        assert_eq!(failure.cause, Cause::CommandLine);
        assert!(!path.exists(), "and nothing is left of it");
    }

    #[test]
    fn an_absent_directory_is_found_before_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let failure = open_all(&[report(folder.path().join("absent/run.json"))]).unwrap_err();
        assert_eq!(failure.cause, Cause::Plan);
        assert!(
            failure
                .hint
                .unwrap()
                .starts_with("make the directory first: mkdir -p ")
        );
    }
}
