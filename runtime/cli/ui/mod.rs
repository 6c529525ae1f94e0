//! What a person sees: colours, messages, progress. The summary goes to standard output; all else to standard error.

mod palette;
mod progress;
mod trace;

use std::io::{self, IsTerminal, Write};

use nettare_core::plan::masked;
use nettare_core::report::Report;
use nettare_report::text::{self, TextOptions};

use crate::failure::Failure;

pub(crate) use palette::Palette;
pub(crate) use progress::Progress;
pub(crate) use trace::install as install_trace;

/// What was found out once about the two streams and how much to say on them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ui {
    /// Colours of standard output.
    pub(crate) out: Palette,
    /// Colours of standard error.
    pub(crate) err: Palette,
    /// Whether standard error can redraw a line.
    pub(crate) live: bool,
    /// Whether progress and warnings are left out.
    pub(crate) quiet: bool,
    /// How often `-v` was given.
    pub(crate) verbosity: u8,
}

/// What the command line says of the output.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wishes {
    pub(crate) quiet: bool,
    pub(crate) no_color: bool,
    pub(crate) verbosity: u8,
}

impl Wishes {
    /// Of commands that say something of colours alone.
    pub(crate) fn of_colour(no_color: bool) -> Wishes {
        Wishes {
            no_color,
            ..Wishes::default()
        }
    }
}

impl Ui {
    /// Looks at the streams and the environment (`NO_COLOR`, see <https://no-color.org>, and `TERM`).
    pub(crate) fn detect(wishes: Wishes) -> Ui {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colours = !wishes.no_color && !refused && !dumb;
        let err_is_terminal = io::stderr().is_terminal();
        Ui {
            out: Palette::new(colours && io::stdout().is_terminal()),
            err: Palette::new(colours && err_is_terminal),
            live: err_is_terminal && !dumb,
            quiet: wishes.quiet,
            verbosity: wishes.verbosity,
        }
    }

    /// Prints what stopped the command, and gives its exit code.
    pub(crate) fn failure(&self, failure: &Failure) -> u8 {
        let sentence = shown(&format!("{:#}", failure.error));
        self.line(&format!("{} {sentence}", self.err.bad("error:")));
        if let Some(hint) = &failure.hint {
            self.line(&format!("\n{} {}", self.err.bold("hint:"), shown(hint)));
        }
        failure.cause.code()
    }

    /// Says what went wrong without ending the command at once; with `--quiet` too.
    pub(crate) fn problem(&self, sentence: &str) {
        self.line(&format!("{} {}", self.err.bad("error:"), shown(sentence)));
    }

    /// The summary of a run as it fits standard output.
    pub(crate) fn summary(&self, report: &Report, files: &[String]) -> String {
        let options = TextOptions {
            files: files.to_vec(),
            warnings: !self.quiet,
            ..self.text_options()
        };
        text::summary(report, &options)
    }

    /// How a text is to look on standard output.
    pub(crate) fn text_options(&self) -> TextOptions {
        // A person's word before the terminal's, as with help.
        let width = std::env::var("COLUMNS")
            .ok()
            .and_then(|columns| columns.parse().ok())
            .or_else(|| {
                let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
                Some(usize::from(size.ws_col))
            });
        let options = TextOptions::default();
        TextOptions {
            colour: self.out.is_on(),
            width: width.unwrap_or(options.width),
            ..options
        }
    }

    /// Says what deserves attention but stops nothing; not with `--quiet`.
    pub(crate) fn warn(&self, sentence: &str) {
        if !self.quiet {
            self.line(&format!(
                "{} {}",
                self.err.caution("warning:"),
                shown(sentence)
            ));
        }
    }

    /// Says what was understood or is being done; not with `--quiet`.
    pub(crate) fn note(&self, sentence: &str) {
        if !self.quiet {
            self.line(&shown(sentence));
        }
    }

    /// One line on standard error. That nobody reads it is not an error.
    fn line(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }
}

/// A sentence as it may stand on a terminal and in a log: in one line, without secrets, and with its control characters spelt
/// out. Sentences quote what was typed, what servers said and what scenarios log; none of that may move the cursor, and all
/// of them pass through here.
pub(crate) fn shown(sentence: &str) -> String {
    let mut line = String::with_capacity(sentence.len());
    for c in masked(sentence).chars() {
        match c.is_control() {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
}

/// Writes `text` to standard output. A reader that went away (a closed pipe) has seen enough: that is not an error.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_one_line_without_secrets_and_moves_no_cursor() {
        let rows = [
            ("a plain sentence", "a plain sentence", "as it is"),
            ("a\nb\r\tc", "a\\nb\\r\\tc", "what would begin a line"),
            (
                "\x1b[2J\x07\u{9b}",
                "\\u{1b}[2J\\u{7}\\u{9b}",
                "what a terminal obeys",
            ),
            (
                "caf\u{e9} \u{65e5}",
                "caf\u{e9} \u{65e5}",
                "letters of any script",
            ),
            ("`http://u:p@a/` failed", "`http://a/` failed", "a password"),
        ];
        for (said, expected, sentence) in rows {
            assert_eq!(shown(said), expected, "{sentence}");
        }
    }
}
