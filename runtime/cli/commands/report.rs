//! `nettare report`: the summary of a saved run, as it was printed when it ended.

use nettare_report::json;

use crate::args::ReportArgs;
use crate::exit::{self, Cause};
use crate::failure::{Failure, OrFail};
use crate::input;
use crate::ui::{self, Ui};

/// A report may have so many bytes; one of ten thousand series has some hundred million.
const MAX_REPORT_BYTES: u64 = 4 << 30;

/// Prints it. The exit code is about this command, not about the run that the report tells of.
pub(crate) fn report(args: &ReportArgs, ui: &Ui) -> Result<u8, Failure> {
    let path = args.file.display();
    let bytes = input::read_at_most(&args.file, MAX_REPORT_BYTES)
        .or_fail_with(Cause::Plan, || {
            format!("the report `{path}` cannot be read")
        })
        .map_err(|failure| {
            failure.hint("reports are written by --report FILE.json and kept in the run directory")
        })?;
    let report = json::parse(&bytes).or_fail_with(Cause::Plan, || format!("`{path}`"))?;
    ui::print(&ui.summary(&report, &[]))
        .or_fail_with(Cause::OutputLost, || "the summary could not be printed")?;
    Ok(exit::OK)
}
