//! Finds the names in a file.

use std::collections::HashMap;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::visit::Visit;

use crate::tidy::tree::File;

/// A name as it stands in a file.
pub(super) struct Mention {
    /// The line of its first segment.
    pub(super) line: usize,
    /// `a::b::c`, `.method`, `a::b!` or `#[attribute]`, with imports resolved.
    pub(super) name: String,
}

impl Mention {
    /// Whether it mentions this name: the segments in a row, anywhere in a path; macros and methods alike at the end.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.match_indices(name).any(|(start, _)| {
            let (before, after) = (&self.name[..start], &self.name[start + name.len()..]);
            (before.is_empty() || before.ends_with("::"))
                && (after.is_empty() || after.starts_with("::"))
        })
    }
}

/// Every name in the file.
pub(super) fn mentions(file: &File) -> Vec<Mention> {
    let parsed = syn::parse_file(&file.text)
        .unwrap_or_else(|error| panic!("{} cannot be parsed: {error}", file.path));
    let mut imports = Imports::default();
    imports.visit_file(&parsed);
    let tokens = file
        .text
        .parse::<TokenStream>()
        .expect("what syn parsed is made of tokens");
    let mut scanner = Scanner {
        imports: &imports.names,
        found: imports.mentions,
    };
    scanner.group(tokens);
    scanner.found
}

/// What the `use` declarations of a file bring in, wherever in the file they stand.
#[derive(Default)]
struct Imports {
    /// Local name -> full path.
    names: HashMap<String, String>,
    /// Each imported path is itself a mention.
    mentions: Vec<Mention>,
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add("", &item.tree);
    }
}

impl Imports {
    fn add(&mut self, prefix: &str, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => self.add(&format!("{prefix}{}::", path.ident), &path.tree),
            syn::UseTree::Name(name) => self.leaf(prefix, &name.ident, &name.ident),
            syn::UseTree::Rename(rename) => self.leaf(prefix, &rename.ident, &rename.rename),
            syn::UseTree::Glob(glob) => {
                self.mention(glob.star_token.spans[0].start().line, format!("{prefix}*"))
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add(prefix, tree))
            }
        }
    }

    fn leaf(&mut self, prefix: &str, ident: &syn::Ident, local: &syn::Ident) {
        // `use a::b::{self}` imports `a::b` as `b`.
        let own_name = ident == "self";
        let path = if own_name {
            prefix.trim_end_matches("::").to_owned()
        } else {
            format!("{prefix}{ident}")
        };
        let local = if local == "self" {
            path.rsplit("::").next().unwrap_or_default().to_owned()
        } else {
            local.to_string()
        };
        self.names.insert(local, path.clone());
        self.mention(ident.span().start().line, path);
    }

    fn mention(&mut self, line: usize, name: String) {
        self.mentions.push(Mention { line, name });
    }
}

struct Scanner<'a> {
    imports: &'a HashMap<String, String>,
    found: Vec<Mention>,
}

impl Scanner<'_> {
    /// Walks the tokens of one group, and of the groups in it.
    fn group(&mut self, tokens: TokenStream) {
        let tokens = tokens.into_iter().collect::<Vec<_>>();
        let mut at = 0;
        while at < tokens.len() {
            at = match &tokens[at] {
                TokenTree::Group(group) => {
                    if at > 0 && is_punct(tokens.get(at - 1), '#') {
                        self.attribute(group);
                    }
                    self.group(group.stream());
                    at + 1
                }
                TokenTree::Ident(ident) if ident == "use" && !is_punct(tokens.get(at + 1), '<') => {
                    end_of_use(&tokens, at)
                }
                TokenTree::Ident(_) => self.name(&tokens, at),
                TokenTree::Punct(_) | TokenTree::Literal(_) => at + 1,
            };
        }
    }

    /// Takes the name of an attribute as `#[name]`, besides what its tokens mention.
    fn attribute(&mut self, group: &Group) {
        if let Some(TokenTree::Ident(name)) = group.stream().into_iter().next() {
            self.found.push(Mention {
                line: name.span().start().line,
                name: format!("#[{name}]"),
            });
        }
    }

    /// Takes the path that begins here and gives the index after it.
    fn name(&mut self, tokens: &[TokenTree], start: usize) -> usize {
        let mut segments = vec![tokens[start].to_string()];
        let mut at = start + 1;
        while is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':') {
            let Some(TokenTree::Ident(segment)) = tokens.get(at + 2) else {
                break;
            };
            segments.push(segment.to_string());
            at += 3;
        }
        let line = tokens[start].span().start().line;
        if start > 0 && is_punct(tokens.get(start - 1), '.') {
            if is_call(&tokens[at..]) {
                self.found.push(Mention {
                    line,
                    name: format!(".{}", segments[0]),
                });
            }
            return at;
        }
        if let Some(path) = self.imports.get(&segments[0]) {
            segments[0].clone_from(path);
        }
        let mut name = segments.join("::");
        if is_punct(tokens.get(at), '!') && !is_punct(tokens.get(at + 1), '=') {
            name.push('!');
        }
        self.found.push(Mention { line, name });
        at
    }
}

/// Whether a method's name is followed by arguments, with or without a turbofish.
fn is_call(rest: &[TokenTree]) -> bool {
    match rest.first() {
        Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Parenthesis,
        Some(TokenTree::Punct(punct)) => punct.as_char() == ':' && is_punct(rest.get(1), ':'),
        _ => false,
    }
}

/// The index after the semicolon of the `use` declaration that begins at `start`: its names were taken already.
fn end_of_use(tokens: &[TokenTree], start: usize) -> usize {
    let rest = &tokens[start..];
    start
        + rest
            .iter()
            .position(|token| is_punct(Some(token), ';'))
            .map_or(rest.len(), |semicolon| semicolon + 1)
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}
