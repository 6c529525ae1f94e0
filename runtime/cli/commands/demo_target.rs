//! `nettare demo-target`: the demo target alone, for examples, tests and first steps.

use anyhow::Context as _;
use nettare_target::TargetOptions;

use crate::args::DemoTargetArgs;
use crate::exit::{self, Cause};
use crate::failure::{Failure, OrFail};
use crate::ui::{self, Ui};

/// Serves until a signal stops it, which is how it is meant to end: code 0.
///
/// The URL is the only thing on standard output, so that a script can read it from there.
pub(crate) fn demo_target(args: &DemoTargetArgs, ui: &Ui) -> Result<u8, Failure> {
    let options = TargetOptions {
        addresses: vec![args.listen],
        tls: args.tls,
        ..TargetOptions::default()
    };
    let ready = |target: &nettare_target::Target| {
        // Before the URL: whoever reads that may use the file.
        if let (Some(path), Some(pem)) = (&args.ca_out, target.ca_pem()) {
            std::fs::write(path, pem).with_context(|| {
                format!("`{}`, given by --ca-out, cannot be written", path.display())
            })?;
        }
        // Whoever closed standard output has no use for the URL.
        let _ = ui::print(&format!("{}\n", target.url()));
        ui.note("the demo target listens; Ctrl-C ends it");
        Ok(())
    };
    let counts = nettare_target::serve_until(&options, nettare_target::interrupted(), ready)
        .or_fail_with(Cause::Plan, || "the demo target cannot be served")
        .map_err(|failure| {
            failure.hint("take another address with --listen; port 0 takes a free one")
        })?;
    ui.note(&format!("{} requests were answered", counts.finished));
    Ok(exit::OK)
}
