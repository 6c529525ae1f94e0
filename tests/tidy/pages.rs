//! Module documentation, links between pages, and copies that must be equal.

use regex::Regex;

use super::tree::{File, Tree};
use super::{Breach, Rule};

pub(super) const MODULE_DOCS: Rule = Rule {
    name: "module documentation",
    why: "whoever opens a file should learn from its first lines what it is for, before reading on.",
    remedy: "begin the file with `//!` and a whole sentence: its purpose, and the protocol if it has one.",
};

pub(super) const LINKS: Rule = Rule {
    name: "links",
    why: "a link to a page that moved sends the reader away with nothing.",
    remedy: "mend the path; it is relative to the page it stands on.",
};

pub(super) const SUMMARY: Rule = Rule {
    name: "summary",
    why: "a page that docs/SUMMARY.md does not list is not in the book, and nobody finds it.",
    remedy: "add a line to docs/SUMMARY.md.",
};

pub(super) const CONTRACT: Rule = Rule {
    name: "one contract",
    why: "guests are built against sdk/wit and the host against its copy; where they differ, a guest that compiles does not load.",
    remedy: "edit sdk/wit and copy it: `cp sdk/wit/*.wit runtime/vm/wit/`.",
};

/// Rust files whose first lines do not say what they are for.
pub(super) fn check_module_docs(tree: &Tree) -> Vec<Breach> {
    let undocumented = tree.rust().filter(|file| !is_documented(file));
    undocumented
        .map(|file| Breach::new(&file.path, 1, "no sentence that says what the file is for"))
        .collect()
}

/// A sentence is a paragraph of twenty characters or more that ends like one.
fn is_documented(file: &File) -> bool {
    let lines = file
        .text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim);
    let paragraph = lines
        .take_while(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    paragraph.len() >= 20 && paragraph.ends_with(['.', ':', '?', '!'])
}

/// Relative links of Markdown pages to what does not exist.
pub(super) fn check_links(tree: &Tree) -> Vec<Breach> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").expect("the pattern is a regular expression");
    let mut breaches = Vec::new();
    for page in tree.files().filter(|file| file.path.ends_with(".md")) {
        for (index, line) in page.text.lines().enumerate() {
            for target in link
                .captures_iter(line)
                .map(|captures| captures[1].to_owned())
            {
                let path = target.split('#').next().unwrap_or_default();
                if !path.is_empty()
                    && !path.contains(':')
                    && !tree.holds(&resolved(&page.path, path))
                {
                    breaches.push(Breach::new(
                        &page.path,
                        index + 1,
                        format!("`{target}` leads nowhere"),
                    ));
                }
            }
        }
    }
    breaches
}

/// The path that a relative link on a page leads to, from the root.
fn resolved(page: &str, link: &str) -> String {
    let mut segments = page.split('/').collect::<Vec<_>>();
    segments.pop();
    for segment in link.trim_end_matches('/').split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            name => segments.push(name),
        }
    }
    segments.join("/")
}

/// Pages of the book that its summary does not list.
pub(super) fn check_summary(tree: &Tree) -> Vec<Breach> {
    let summary = tree
        .file("docs/SUMMARY.md")
        .map_or("", |file| file.text.as_str());
    let pages = tree
        .below("docs")
        .filter(|file| file.path.ends_with(".md") && file.path != "docs/SUMMARY.md");
    let unlisted = pages
        .filter(|page| !summary.contains(&format!("({})", page.path.trim_start_matches("docs/"))));
    unlisted
        .map(|page| Breach::new(&page.path, 0, "not in the book"))
        .collect()
}

/// Files of the contract that differ from their copy, or that only one side has.
pub(super) fn check_contract(tree: &Tree) -> Vec<Breach> {
    let (contract, copy) = ("sdk/wit", "runtime/vm/wit");
    let mut breaches = differences(tree, contract, copy);
    breaches.extend(
        differences(tree, copy, contract)
            .into_iter()
            .filter(|breach| !breach.what.starts_with("differs")),
    );
    if tree.below(contract).next().is_none() {
        breaches.push(Breach::new(contract, 0, "holds no contract"));
    }
    breaches
}

fn differences(tree: &Tree, from: &str, to: &str) -> Vec<Breach> {
    let files = tree.below(from).filter(|file| file.path.ends_with(".wit"));
    let judged = files.filter_map(|file| {
        let other = file.path.replacen(from, to, 1);
        match tree.file(&other) {
            None => Some(Breach::new(
                &file.path,
                0,
                format!("has no counterpart at {other}"),
            )),
            Some(there) if there.text != file.text => {
                Some(Breach::new(&file.path, 0, format!("differs from {other}")))
            }
            Some(_) => None,
        }
    });
    judged.collect()
}

mod tests {
    use super::*;

    fn whats(breaches: Vec<Breach>) -> Vec<String> {
        breaches
            .into_iter()
            .map(|breach| format!("{}: {}", breach.path, breach.what))
            .collect()
    }

    #[test]
    fn a_file_must_begin_with_a_whole_sentence() {
        for (sentence, text, documented) in [
            (
                "a sentence will do",
                "//! Reads the control messages.\nfn f() {}",
                true,
            ),
            (
                "over two lines, too",
                "//! Reads the control\n//! messages of a socket.\n//!\n//! More",
                true,
            ),
            (
                "and one that opens a list",
                "//! What the tests share, in three parts:\n//!\n//! - x",
                true,
            ),
            ("nothing is not enough", "fn f() {}", false),
            (
                "nor is a plain comment",
                "// Reads the control messages.\nfn f() {}",
                false,
            ),
            ("nor are a few words", "//! Control\nfn f() {}", false),
            (
                "nor is a fragment",
                "//! Reads the control messages\nfn f() {}",
                false,
            ),
        ] {
            assert_eq!(
                check_module_docs(&Tree::of(&[("a.rs", text)])).is_empty(),
                documented,
                "{sentence}"
            );
        }
    }

    #[test]
    fn a_relative_link_must_lead_to_a_file_or_folder() {
        let page = "[a](b.md) [b](../README.md#x) [c](../sdk/) [d](#here) [e](https://host.example/x) [f](gone.md) [g](../docs)";
        let tree = Tree::of(&[
            ("docs/a.md", page),
            ("docs/b.md", ""),
            ("README.md", ""),
            ("sdk/rust/x.rs", ""),
        ]);
        assert_eq!(
            whats(check_links(&tree)),
            ["docs/a.md: `gone.md` leads nowhere"]
        );
    }

    #[test]
    fn every_page_must_be_in_the_summary() {
        let tree = Tree::of(&[
            ("docs/SUMMARY.md", "- [A](a.md)"),
            ("docs/a.md", ""),
            ("docs/x/b.md", ""),
            ("docs/book.toml", ""),
        ]);
        assert_eq!(
            whats(check_summary(&tree)),
            ["docs/x/b.md: not in the book"]
        );
    }

    #[test]
    fn the_contract_and_its_copy_must_be_equal_file_by_file() {
        let (a, b) = ("sdk/wit/load.wit", "runtime/vm/wit/load.wit");
        assert_eq!(
            whats(check_contract(&Tree::of(&[(a, "x"), (b, "x")]))),
            [""; 0]
        );
        let differs = format!("{a}: differs from {b}");
        assert_eq!(
            whats(check_contract(&Tree::of(&[(a, "x"), (b, "y")]))),
            [differs]
        );
        let alone = format!("{a}: has no counterpart at {b}");
        assert_eq!(whats(check_contract(&Tree::of(&[(a, "x")]))), [alone]);
        let only_copied = check_contract(&Tree::of(&[
            (a, "x"),
            (b, "x"),
            ("runtime/vm/wit/more.wit", ""),
        ]));
        assert_eq!(
            whats(only_copied),
            ["runtime/vm/wit/more.wit: has no counterpart at sdk/wit/more.wit"]
        );
        assert_eq!(
            whats(check_contract(&Tree::of(&[]))),
            ["sdk/wit: holds no contract"]
        );
    }
}
