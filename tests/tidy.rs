//! The rules of the source tree, held by tests.
//!
//! Each rule is a value with its reason and its remedy, so that whoever breaks it learns both at once. A checker takes a [`Tree`]
//! and returns the breaches it found; each is itself tested on trees that keep and trees that break its rule, since a rule that
//! cannot fail is no rule.
//!
//! - [`manifests`]: who may depend on whom, and on what.
//! - [`mentions`]: which names may stand where: clocks, `unsafe`, printing, the environment.
//! - [`functions`]: how long a function may be.
//! - [`words`]: what shipped text does not say.
//! - [`pages`]: module documentation, links, and copies that must be equal.

mod functions;
mod manifests;
mod mentions;
mod pages;
mod tree;
mod words;

use std::fmt::Write as _;

use tree::Tree;

/// A rule, as it is told to whoever breaks it.
#[derive(Clone, Copy)]
struct Rule {
    /// One word or two, to speak of it by.
    name: &'static str,
    /// What the rule protects.
    why: &'static str,
    /// What to do instead.
    remedy: &'static str,
}

/// One place where a rule is broken.
#[derive(Debug, PartialEq, Eq)]
struct Breach {
    /// The file, from the repository's root.
    path: String,
    /// The line, from 1; 0 when the file as a whole is meant.
    line: usize,
    /// What stands there that may not, or what is missing.
    what: String,
}

impl Breach {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Breach {
        Breach {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

/// Fails, with everything one needs to mend it, unless there are no breaches.
#[track_caller]
fn hold(rule: &Rule, breaches: &[Breach]) {
    assert!(breaches.is_empty(), "{}", told(rule, breaches));
}

fn told(rule: &Rule, breaches: &[Breach]) -> String {
    let mut text = format!("rule `{}` is broken:\n", rule.name);
    for Breach { path, line, what } in breaches {
        let _ = match line {
            0 => writeln!(text, "  {path}: {what}"),
            _ => writeln!(text, "  {path}:{line}: {what}"),
        };
    }
    let _ = write!(text, "why: {}\ndo:  {}", rule.why, rule.remedy);
    text
}

#[test]
fn crates_depend_only_on_what_the_architecture_lets_them() {
    let tree = Tree::of_the_repository();
    hold(&manifests::OURS, &manifests::check_ours(&tree));
    hold(&manifests::RESERVED, &manifests::check_reserved(&tree));
    hold(&manifests::CLOSED, &manifests::check_closed(&tree));
}

#[test]
fn dependencies_and_lints_are_set_once_for_the_workspace() {
    hold(
        &manifests::INHERITED,
        &manifests::check_inherited(&Tree::of_the_repository()),
    );
}

#[test]
fn names_stand_only_where_the_architecture_lets_them() {
    let tree = Tree::of_the_repository();
    let index = mentions::Index::of(&tree);
    for reservation in mentions::RESERVATIONS {
        hold(&reservation.rule, &mentions::check(&index, reservation));
    }
}

#[test]
fn functions_are_short() {
    let tree = Tree::of_the_repository();
    hold(&functions::LENGTH, &functions::check(&tree));
    functions::report_the_longest(&tree);
}

#[test]
fn shipped_text_keeps_to_our_words() {
    let tree = Tree::of_the_repository();
    for ban in words::BANS {
        hold(&ban.rule, &words::check(&tree, ban));
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    hold(
        &pages::MODULE_DOCS,
        &pages::check_module_docs(&Tree::of_the_repository()),
    );
}

#[test]
fn links_between_pages_lead_somewhere() {
    let tree = Tree::of_the_repository();
    hold(&pages::LINKS, &pages::check_links(&tree));
    hold(&pages::SUMMARY, &pages::check_summary(&tree));
}

#[test]
fn the_copy_of_the_contract_equals_the_contract() {
    hold(
        &pages::CONTRACT,
        &pages::check_contract(&Tree::of_the_repository()),
    );
}

#[test]
fn a_broken_rule_says_which_where_why_and_what_to_do() {
    let rule = Rule {
        name: "clock",
        why: "a clock read anywhere is right nowhere.",
        remedy: "ask `clock.rs`.",
    };
    let breaches = [
        Breach::new("runtime/a.rs", 7, "`Instant::now`"),
        Breach::new("runtime/b.rs", 0, "no file"),
    ];
    assert_eq!(
        told(&rule, &breaches),
        "rule `clock` is broken:\n  runtime/a.rs:7: `Instant::now`\n  runtime/b.rs: no file\n\
         why: a clock read anywhere is right nowhere.\ndo:  ask `clock.rs`."
    );
}
