//! Formats of report files.

use nettare_core::report::Report;
use thiserror::Error;

use crate::json;

/// A format of report files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// The complete record.
    Json,
    /// A page for people.
    Html,
    /// Thresholds and checks as test cases, for continuous integration.
    Junit,
    /// A summary to paste into a discussion.
    Markdown,
    /// The intervals as a table.
    Csv,
}

/// Why a report was not encoded.
#[derive(Debug, Error)]
pub enum EncodeError {
    /// The format has a name, and no encoder yet.
    #[error("reports in .{} come later; this version writes .json", .0.extension())]
    Later(Format),
    /// The report could not be written as JSON.
    #[error("failed to encode the report as JSON")]
    Json(#[from] json::EncodeError),
}

impl Format {
    /// Every format there is or will be.
    pub const ALL: [Format; 5] = [
        Format::Json,
        Format::Html,
        Format::Junit,
        Format::Markdown,
        Format::Csv,
    ];

    /// The format of files with that extension, written without its dot and in any case.
    pub fn of_extension(extension: &str) -> Option<Format> {
        let matches = |format: &Format| format.extension().eq_ignore_ascii_case(extension);
        Format::ALL.into_iter().find(matches)
    }

    /// The extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Html => "html",
            Format::Junit => "xml",
            Format::Markdown => "md",
            Format::Csv => "csv",
        }
    }
}

/// Encodes a report.
///
/// # Errors
///
/// When the format comes later.
pub fn encode(format: Format, report: &Report) -> Result<Vec<u8>, EncodeError> {
    match format {
        Format::Json => Ok(json::encode(report)?),
        later => Err(EncodeError::Later(later)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn formats_are_told_by_their_extension() {
        let table = [
            ("the complete record", "json", Some(Format::Json)),
            (
                "capitals, as some systems have them",
                "JSON",
                Some(Format::Json),
            ),
            ("the extension of JUnit's files", "xml", Some(Format::Junit)),
            ("nothing we know", "pdf", None),
            ("none at all", "", None),
        ];
        for (sentence, extension, expected) in table {
            assert_eq!(Format::of_extension(extension), expected, "{sentence}");
        }
    }

    #[test]
    fn formats_to_come_say_later() {
        let report = fixtures::usual();
        for format in Format::ALL {
            match encode(format, &report) {
                Ok(_) => assert_eq!(format, Format::Json),
                Err(error) => assert!(error.to_string().contains("later"), "{error}"),
            }
        }
    }
}
