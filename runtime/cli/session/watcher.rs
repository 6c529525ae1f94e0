//! The observer of a run: hands each event to progress, journal and log, and remembers what the report needs of them.

use nettare_core::event::RunEvent;
use nettare_core::plan::Plan;
use serde::Serialize;

use crate::clock::Moment;
use crate::run_directory::RunDirectory;
use crate::ui::{Progress, Ui};

/// Lines of the scenario's log that are printed without `-v`: enough to see what is wrong, too few to bury the progress.
const PRINTED_LOG_LINES: u64 = 20;

/// The observer.
#[derive(Debug)]
pub(super) struct Watcher {
    ui: Ui,
    progress: Progress,
    directory: Option<RunDirectory>,
    /// Whether journal and log could not be written: said once, then left alone until the report is to be kept.
    given_up: bool,
    warnings: Vec<String>,
    log: LogBudget,
}

/// What is left of an observer when the run has ended.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) directory: Option<RunDirectory>,
    pub(super) warnings: Vec<String>,
}

/// How many log lines were let through, and where.
#[derive(Debug)]
struct LogBudget {
    /// Lines that the run directory keeps.
    keep: u64,
    kept: u64,
    printed: u64,
}

/// The first line of a journal: with it a report can be made from the rest.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
struct Head<'a> {
    schema: &'static str,
    id: &'a str,
    version: &'static str,
    started: String,
    plan: &'a Plan,
}

impl Watcher {
    pub(super) fn new(
        ui: Ui,
        progress: Progress,
        directory: Option<RunDirectory>,
        log_lines: u64,
    ) -> Watcher {
        let log = LogBudget {
            keep: log_lines,
            kept: 0,
            printed: 0,
        };
        Watcher {
            ui,
            progress,
            directory,
            given_up: false,
            warnings: Vec::new(),
            log,
        }
    }

    /// Writes the journal's head.
    pub(super) fn begin(&mut self, id: &str, started: Moment, plan: &Plan) {
        let head = Head {
            schema: "nettare.journal/1",
            id,
            version: env!("CARGO_PKG_VERSION"),
            started: started.rfc3339(),
            plan: &plan.without_secrets(),
        };
        self.keep(|directory| directory.journal(&head));
    }

    /// Takes in one event.
    pub(super) fn observe(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Log { vu, level, text } => self.log(*vu, level, text),
            RunEvent::Warning(sentence) => self.warn(sentence),
            _ => {
                self.progress.observe(event);
                self.keep(|directory| directory.journal(event));
            }
        }
    }

    /// Ends the display.
    pub(super) fn end(mut self) -> Seen {
        self.progress.end();
        if self.log.kept > self.log.keep {
            let lost = self.log.kept - self.log.keep;
            self.warn(&format!(
                "{lost} log lines of the scenario were not kept: the limit `log-lines` is {}",
                self.log.keep
            ));
        }
        Seen {
            directory: self.directory,
            warnings: self.warnings,
        }
    }

    fn warn(&mut self, sentence: &str) {
        self.progress.aside(|| self.ui.warn(sentence));
        self.keep(|directory| {
            directory.log(&format!("{} warning {sentence}", Moment::now().rfc3339()))
        });
        self.warnings.push(sentence.to_owned());
    }

    fn log(&mut self, vu: u32, level: &str, text: &str) {
        self.log.kept += 1;
        if self.log.kept <= self.log.keep {
            self.keep(|directory| {
                directory.log(&format!(
                    "{} {level} vu {vu}: {text}",
                    Moment::now().rfc3339()
                ))
            });
        }
        if self.is_printed(level) {
            self.log.printed += 1;
            self.progress
                .aside(|| self.ui.note(&format!("{level} (vu {vu}): {text}")));
        } else if self.log.printed == PRINTED_LOG_LINES && self.is_grave(level) {
            self.log.printed += 1;
            self.progress.aside(|| {
                self.ui
                    .note("more of the scenario's log is in the run directory; -v prints all of it")
            });
        }
    }

    fn is_printed(&self, level: &str) -> bool {
        match self.ui.verbosity {
            0 => self.is_grave(level) && self.log.printed < PRINTED_LOG_LINES,
            1 => level != "debug",
            _ => true,
        }
    }

    fn is_grave(&self, level: &str) -> bool {
        matches!(level, "warn" | "error")
    }

    /// Writes to the run directory; gives journal and log up, with a warning, when that fails.
    fn keep(&mut self, write: impl FnOnce(&mut RunDirectory) -> std::io::Result<()>) {
        let Some(directory) = self.directory.as_mut().filter(|_| !self.given_up) else {
            return;
        };
        if let Err(error) = write(directory) {
            let sentence = format!(
                "the run directory `{}` cannot be written: {error}",
                directory.path().display()
            );
            self.given_up = true;
            self.progress.aside(|| self.ui.warn(&sentence));
            self.warnings.push(sentence);
        }
    }
}
