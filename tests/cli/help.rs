//! What is printed before anything is run.

use insta::assert_snapshot;

use super::stable;
use crate::support::nettare::World;

/// Help as it is on a terminal of eighty columns.
fn help(arguments: &[&str]) -> String {
    let world = World::new();
    let mut command = world.command(arguments);
    let output = command
        .env("COLUMNS", "80")
        .output()
        .expect("the binary starts");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("help is UTF-8")
}

#[test]
fn the_program_introduces_itself() {
    stable().bind(|| assert_snapshot!("help", help(&["--help"])));
}

#[test]
fn each_command_has_help() {
    for command in [
        "run",
        "quick",
        "demo",
        "demo-target",
        "inspect",
        "doctor",
        "report",
        "generate",
    ] {
        stable().bind(|| assert_snapshot!(format!("help-{command}"), help(&[command, "--help"])));
    }
}

#[test]
fn help_fits_eighty_columns() {
    for arguments in [
        &["--help"][..],
        &["run", "--help"],
        &["quick", "--help"],
        &["inspect", "--help"],
        &["doctor", "--help"],
        &["demo-target", "--help"],
    ] {
        for line in help(arguments).lines() {
            assert!(line.chars().count() <= 80, "{arguments:?}: {line}");
        }
    }
}

#[test]
fn the_version_is_one_line() {
    assert_eq!(
        help(&["--version"]),
        concat!("nettare ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn completions_know_flags_and_their_words() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = help(&["generate", "completions", shell]);
        assert!(script.contains("max-redirects"), "{shell}");
        // The generator of these two completes flags alone.
        let words = !["elvish", "powershell"].contains(&shell);
        assert_eq!(script.contains("per-iteration"), words, "{shell}");
    }
}

#[test]
fn man_pages_are_roff() {
    for arguments in [&["generate", "man"][..], &["generate", "man", "run"]] {
        let page = help(arguments);
        assert!(page.contains(".TH") && page.contains(".SH"), "{page}");
    }
    assert!(help(&["generate", "man", "run"]).contains("nettare\\-run"));
}

#[test]
fn the_checked_in_reference_is_what_the_program_prints() {
    let pages = [
        ("commands", include_str!("../../docs/reference/commands.md")),
        (
            "exit-codes",
            include_str!("../../docs/reference/exit-codes.md"),
        ),
        ("metrics", include_str!("../../docs/reference/metrics.md")),
        ("verdict", include_str!("../../docs/reference/verdict.md")),
    ];
    for (page, checked_in) in pages {
        let printed = help(&["generate", "reference", page]);
        assert!(
            printed == checked_in,
            "docs/reference/{page}.md is out of date; `cargo xtask docs` writes it"
        );
    }
}
