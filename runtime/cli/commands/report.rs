//! `nettare report`: the summary of a saved run, as it was printed when it ended.

use nettare_report::json;

use crate::args::ReportArgs;
use crate::exit::{self, Cause};
use crate::failure::{Failure, OrFail};
use crate::ui::{self, Ui};

/// Prints it. The exit code is about this command, not about the run that the report tells of.
pub(crate) fn report(args: &ReportArgs, ui: &Ui) -> Result<u8, Failure> {
    let path = args.file.display();
    let bytes = std::fs::read(&args.file)
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
