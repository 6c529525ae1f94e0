//! `cargo xtask docs`: the reference pages that the program itself can write.
//!
//! Commands, flags, exit codes, metrics and the rules of the verdict are defined once, as data; `nettare generate reference` prints a page from
//! that data, and here the page is put into the book.

use crate::command;
use crate::generated::{Arguments, Generated};

/// The pages, by their name on the command line and their path in the repository.
const PAGES: [(&str, &str); 4] = [
    ("commands", "docs/reference/commands.md"),
    ("exit-codes", "docs/reference/exit-codes.md"),
    ("metrics", "docs/reference/metrics.md"),
    ("verdict", "docs/reference/verdict.md"),
];

/// Builds the program, asks it for each page, and writes or checks them.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    // The tests are built along: with them the dependencies have the features that they have in `cargo test`, and are not
    // built once more without.
    command::run(&mut command::cargo([
        "test",
        "--workspace",
        "--test",
        "it",
        "--no-run",
    ]))?;
    let nettare = command::target_folder("debug").join("nettare");
    for (page, path) in PAGES {
        let content =
            command::output(command::program(&nettare).args(["generate", "reference", page]))?;
        Generated { path, content }.settle(arguments, "cargo xtask docs")?;
    }
    Ok(())
}
