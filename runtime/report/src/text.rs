//! The summary of a run for a terminal, 40 to 120 columns wide.
//!
//! It reads from what was asked to what came of it: the plan in words, the verdict (which comes first when it speaks against the
//! figures), where iterations and exchanges got to, how the generator fared and where the load fell short, the server's time (net) beside what the scenario saw (gross) and what the generator added (tare), and then the details. Parts
//! about what a run did not have are left out. Colour only repeats what the words say.

use nettare_core::report::Report;

mod capacity;
mod checks;
mod diagnosis;
mod generator;
mod head;
mod histogram;
mod latency;
mod outcome;
mod page;
mod plan;
mod units;

use page::Page;

pub use diagnosis::diagnosis;
pub use plan::plan_in_words;
pub use units::{bytes, count, percent, time};

/// How a summary is to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns there are; taken as at least 40 and at most 120. Tables of figures are not broken, and may need 80.
    pub width: usize,
    /// Whether to use colour (ANSI escape sequences).
    pub colour: bool,
    /// Whether to draw the distribution of net times.
    pub histogram: bool,
    /// Whether to tell the warnings; the report has them all the same.
    pub warnings: bool,
    /// Files that were written, to be named at the end.
    pub files: Vec<String>,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            width: 100,
            colour: false,
            histogram: false,
            warnings: true,
            files: Vec::new(),
        }
    }
}

/// The summary of a run, ending with a newline.
pub fn summary(report: &Report, options: &TextOptions) -> String {
    let mut page = Page::new(options.width.clamp(40, 120), options.colour);
    head::head(&mut page, report);
    head::iterations(&mut page, report);
    head::requests(&mut page, report);
    generator::generator(&mut page, report);
    latency::latency(&mut page, report);
    if options.histogram {
        histogram::histogram(&mut page, report);
    }
    outcome::statuses(&mut page, report);
    outcome::errors(&mut page, report);
    checks::checks(&mut page, report);
    capacity::capacity(&mut page, report);
    latency::own_metrics(&mut page, report);
    checks::thresholds(&mut page, report);
    outcome::limits(&mut page, report);
    if options.warnings {
        outcome::warnings(&mut page, report);
    }
    outcome::files(&mut page, &options.files);
    page.finish()
}

#[cfg(test)]
mod tests;
