//! Which names may stand where.
//!
//! A file is read as tokens rather than as a syntax tree, so that what stands inside a macro call counts too. A path is taken
//! with its first segment replaced by what a `use` of the same file brings in under this name: `Instant::now` after
//! `use tokio::time::Instant` is `tokio::time::Instant::now`, and renaming hides nothing.

mod reservations;
mod scan;

use super::tree::Tree;
use super::{Breach, Rule};

pub(super) use reservations::RESERVATIONS;

/// Names that may stand in few places.
pub(super) struct Reservation {
    /// The rule as it is told.
    pub(super) rule: Rule,
    /// The names: `Instant::now` is a path or the end or the middle of one, `.elapsed` a method,
    /// `println!` a macro, `#[ignore]` an attribute.
    names: &'static [&'static str],
    /// The folders and files the rule is about.
    about: &'static [&'static str],
    /// The folders and files where the names may stand.
    allowed: &'static [&'static str],
}

/// The names in each file, found once for all rules.
pub(super) struct Index<'a> {
    files: Vec<(&'a str, Vec<scan::Mention>)>,
}

impl Index<'_> {
    /// Reads every Rust file of the tree.
    pub(super) fn of(tree: &Tree) -> Index<'_> {
        Index {
            files: tree
                .rust()
                .map(|file| (file.path.as_str(), scan::mentions(file)))
                .collect(),
        }
    }
}

/// Every mention of a reserved name out of its place.
pub(super) fn check(index: &Index, reservation: &Reservation) -> Vec<Breach> {
    let is_judged =
        |path: &str| lies_in(path, reservation.about) && !lies_in(path, reservation.allowed);
    let mut breaches = Vec::new();
    for (path, mentions) in index.files.iter().filter(|(path, _)| is_judged(path)) {
        let reserved =
            |mention: &&scan::Mention| reservation.names.iter().any(|name| mention.is(name));
        breaches.extend(
            mentions
                .iter()
                .filter(reserved)
                .map(|m| Breach::new(path, m.line, format!("`{}`", m.name))),
        );
    }
    breaches
}

/// Whether a file is one of these, or lies in one of these folders; `*` stands for one folder's name.
fn lies_in(path: &str, places: &[&str]) -> bool {
    places.iter().any(|place| {
        let mut segments = path.split('/');
        place.split('/').all(|wanted| {
            segments
                .next()
                .is_some_and(|segment| wanted == "*" || wanted == segment)
        })
    })
}

mod tests {
    use super::*;

    const CLOCKS: Reservation = Reservation {
        rule: Rule {
            name: "clocks",
            why: "",
            remedy: "",
        },
        names: &[
            "Instant::now",
            ".elapsed",
            "quanta",
            "print!",
            "unsafe",
            "#[ignore]",
        ],
        about: &["runtime"],
        allowed: &["runtime/engine/src/clock.rs", "runtime/*/examples"],
    };

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&Index::of(&Tree::of(&[(path, text)])), &CLOCKS)
            .into_iter()
            .map(|breach| format!("{} {}", breach.line, breach.what))
            .collect()
    }

    #[test]
    fn a_reserved_name_is_found_however_it_is_written() {
        for (sentence, text, expected) in [
            (
                "as a whole path",
                "fn f() {\n std::time::Instant::now();\n}",
                "2 `std::time::Instant::now`",
            ),
            (
                "by its imported name",
                "use tokio::time::Instant;\nfn f() { Instant::now(); }",
                "2 `tokio::time::Instant::now`",
            ),
            (
                "under another name",
                "use std::time::Instant as T;\nfn f() { T::now(); }",
                "2 `std::time::Instant::now`",
            ),
            (
                "out of a group",
                "use std::{time::{Instant as T, Duration}, io};\nfn f() { T::now(); }",
                "2 `std::time::Instant::now`",
            ),
            (
                "as a function value",
                "use std::time::Instant;\nfn f() { g(Instant::now) }",
                "2 `std::time::Instant::now`",
            ),
            (
                "inside a macro call",
                "fn f() { vec![Instant::now()]; }",
                "1 `Instant::now`",
            ),
            (
                "inside an imported function",
                "fn f() { use std::time::Instant as T; T::now(); }",
                "1 `std::time::Instant::now`",
            ),
            ("as a method", "fn f(i: T) { i.elapsed(); }", "1 `.elapsed`"),
            ("in a use", "use quanta::Clock;", "1 `quanta::Clock`"),
            ("as a macro", "fn f() { print!(\"\"); }", "1 `print!`"),
            (
                "as an attribute",
                "#[ignore = \"slow\"]\nfn f() {}",
                "1 `#[ignore]`",
            ),
            ("as a keyword", "fn f() { unsafe { g() } }", "1 `unsafe`"),
        ] {
            assert_eq!(
                found("runtime/net/src/http.rs", text),
                [expected],
                "{sentence}"
            );
        }
    }

    #[test]
    fn what_only_resembles_a_reserved_name_is_left_alone() {
        for (sentence, text) in [
            ("a comment", "// Instant::now is reserved.\nfn f() {}"),
            ("a string", "const S: &str = \"Instant::now, unsafe\";"),
            (
                "a longer name",
                "fn f() { MyInstant::now(); Instant::nowhere(); println!(); }",
            ),
            ("a local name", "fn f(ignore: T) { ignore(); }"),
            ("a field", "fn f(s: S) { s.elapsed; s.elapsed_ns(); }"),
            ("a lint's name", "#![deny(unsafe_code)]"),
            ("a capture", "fn f<'a>() -> impl Sized + use<'a> { g() }"),
        ] {
            assert_eq!(
                found("runtime/net/src/http.rs", text),
                [""; 0],
                "{sentence}"
            );
        }
    }

    #[test]
    fn a_reserved_name_may_stand_where_it_is_allowed_and_where_the_rule_does_not_reach() {
        let text = "fn f() { std::time::Instant::now(); }";
        for path in [
            "runtime/engine/src/clock.rs",
            "runtime/net/examples/cost.rs",
            "tests/run.rs",
        ] {
            assert_eq!(found(path, text), [""; 0], "{path}");
        }
        assert_eq!(found("runtime/engine/src/clock.rs.d/a.rs", text).len(), 1);
    }
}
