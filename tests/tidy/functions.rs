//! How long a function may be.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::tree::{File, Tree};
use super::{Breach, Rule};

/// Lines from `fn` to the closing brace, both counted. Forty is the aim; past seventy a function does two things.
const LIMIT: usize = 70;

pub(super) const LENGTH: Rule = Rule {
    name: "function length",
    why: "a function that does not fit a screen cannot be checked by reading it.",
    remedy: "keep the control flow and move the leaves out into functions of their own.",
};

/// The functions over the limit, the longest first.
pub(super) fn check(tree: &Tree) -> Vec<Breach> {
    let mut long = lengths(tree);
    long.retain(|function| function.lines > LIMIT);
    long.iter()
        .map(|f| {
            Breach::new(
                &f.path,
                f.line,
                format!("`{}` has {} lines of at most {LIMIT}", f.name, f.lines),
            )
        })
        .collect()
}

/// Shows, to whoever runs the test with `--nocapture`, what comes closest to the limit.
#[expect(
    clippy::print_stdout,
    reason = "a test speaks through its standard output"
)]
pub(super) fn report_the_longest(tree: &Tree) {
    for Function {
        path,
        line,
        name,
        lines,
    } in lengths(tree).iter().take(5)
    {
        println!("{lines} lines: {path}:{line} `{name}`");
    }
}

struct Function {
    path: String,
    line: usize,
    name: String,
    lines: usize,
}

/// All functions, the longest first.
fn lengths(tree: &Tree) -> Vec<Function> {
    let mut functions = tree.rust().flat_map(of_file).collect::<Vec<_>>();
    functions.sort_by_key(|function| std::cmp::Reverse(function.lines));
    functions
}

fn of_file(file: &File) -> Vec<Function> {
    let parsed = syn::parse_file(&file.text)
        .unwrap_or_else(|error| panic!("{} cannot be parsed: {error}", file.path));
    let mut finder = Finder {
        path: &file.path,
        found: Vec::new(),
    };
    finder.visit_file(&parsed);
    finder.found
}

struct Finder<'a> {
    path: &'a str,
    found: Vec<Function>,
}

impl Finder<'_> {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let (first, last) = (
            signature.fn_token.span().start().line,
            block.brace_token.span.close().end().line,
        );
        let (path, name) = (self.path.to_owned(), signature.ident.to_string());
        self.found.push(Function {
            path,
            line: first,
            name,
            lines: last - first + 1,
        });
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

mod tests {
    use super::*;

    /// A function of so many lines, `fn` and closing brace counted.
    fn function(lines: usize) -> String {
        format!(
            "/// Doc lines do not count.\nfn long() {{\n{}}}\n",
            "    work();\n".repeat(lines - 2)
        )
    }

    #[test]
    fn a_function_may_have_seventy_lines_and_no_more() {
        assert_eq!(check(&Tree::of(&[("a.rs", &function(70))])), []);
        let expected = Breach::new("a.rs", 2, "`long` has 71 lines of at most 70");
        assert_eq!(check(&Tree::of(&[("a.rs", &function(71))])), [expected]);
    }

    #[test]
    fn methods_and_default_methods_and_nested_functions_count_as_functions() {
        let long = function(80);
        for around in [
            "impl S {\nBODY}\n",
            "trait T {\nBODY}\n",
            "fn outer() {\nBODY}\n",
            "mod m {\nimpl S {\nBODY}\n}\n",
        ] {
            let found = check(&Tree::of(&[("a.rs", &around.replace("BODY", &long))]));
            assert!(
                found
                    .iter()
                    .any(|breach| breach.what.starts_with("`long` has 80 lines")),
                "{around}: {found:?}"
            );
        }
    }
}
