//! `nettare generate`: what is made from the command line's own definition.

use crate::args::{Generate, GenerateArgs, ReferencePage, definition};
use crate::exit::{self, Cause};
use crate::failure::{Failure, OrFail};
use crate::{reference, ui};

/// Prints it to standard output.
pub(crate) fn generate(args: &GenerateArgs) -> Result<u8, Failure> {
    let text = match &args.what {
        Generate::Completions { shell } => completions(*shell),
        Generate::Man { command } => man_page(command.as_deref())?,
        Generate::Reference {
            page: ReferencePage::Commands,
        } => reference::commands_page(&definition()),
        Generate::Reference {
            page: ReferencePage::ExitCodes,
        } => reference::exit_codes_page(),
        Generate::Reference {
            page: ReferencePage::Metrics,
        } => reference::metrics_page(),
        Generate::Reference {
            page: ReferencePage::Verdict,
        } => reference::verdict_page(),
    };
    ui::print(&text).or_fail_with(Cause::OutputLost, || "failed to write to standard output")?;
    Ok(exit::OK)
}

fn completions(shell: clap_complete::Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition(), "nettare", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The page of `nettare` itself, or of one of its commands under its full name.
fn man_page(command: Option<&str>) -> Result<String, Failure> {
    let mut whole = definition();
    whole.build();
    let page = match command {
        None => whole,
        Some(name) => named(&whole, name)?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(anyhow::Error::from)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn named(whole: &clap::Command, name: &str) -> Result<clap::Command, Failure> {
    let unknown = || {
        Failure::new(
            Cause::CommandLine,
            format!("there is no command `{name}` to print the page of"),
        )
        .hint("`nettare --help` lists the commands")
    };
    let command = whole.find_subcommand(name).ok_or_else(unknown)?;
    Ok(command.clone().name(format!("nettare-{name}")))
}
