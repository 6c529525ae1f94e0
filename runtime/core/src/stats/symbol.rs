//! Text as numbers: names are hashed once, when they are first seen, and never on the way of a request.
//!
//! Each worker has its own numbers, so that interning needs no lock; the collector translates them by text. Some texts have
//! the same number everywhere.

use std::collections::HashMap;
use std::sync::Arc;

use super::index::FastHasher;

/// A text, by its number on one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(u32);

impl Symbol {
    /// No text.
    pub const NONE: Symbol = Symbol(0);
    /// `__other__`: the name of all that is past a limit.
    pub const OTHER: Symbol = Symbol(1);
    /// `::setup`: the group of what is done before the run, outside totals and thresholds.
    pub const SETUP: Symbol = Symbol(2);
    /// `::teardown`: the group of what is done after it, likewise.
    pub const TEARDOWN: Symbol = Symbol(3);

    /// Texts that have the same number on every worker, in the order of their numbers.
    const FIXED: [&'static str; 4] = ["", "__other__", "::setup", "::teardown"];

    /// Whether this is a group whose samples stay out of totals and thresholds.
    pub fn is_aside(self) -> bool {
        self == Symbol::SETUP || self == Symbol::TEARDOWN
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of user tags, by its number on one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TagSet(u32);

impl TagSet {
    /// No tags.
    pub const EMPTY: TagSet = TagSet(0);
    /// `name = __other__`: the tags of all that is past a limit.
    pub const OTHER: TagSet = TagSet(1);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A tag: its name and its value.
pub(crate) type Tag = (Symbol, Symbol);

/// Texts and tag sets with their numbers, at most `limit` of each.
#[derive(Debug)]
pub(crate) struct Interner {
    limit: usize,
    /// This and `tag_sets` are shared with the deltas that were handed over, and copied when something new comes after.
    texts: Arc<Vec<Arc<str>>>,
    symbols: HashMap<Arc<str>, Symbol>,
    tag_sets: Arc<Vec<Arc<[Tag]>>>,
    sets: HashMap<Arc<[Tag]>, TagSet, FastHasher>,
    /// Reused while a tag set is looked up.
    scratch: Vec<Tag>,
}

impl Interner {
    pub(crate) fn new(limit: usize) -> Interner {
        let mut interner = Interner {
            limit: usize::MAX,
            texts: Arc::default(),
            symbols: HashMap::new(),
            tag_sets: Arc::default(),
            sets: HashMap::default(),
            scratch: Vec::new(),
        };
        for text in Symbol::FIXED {
            interner.symbol(text);
        }
        interner.tag_set(&[]);
        interner.tag_set(&[("name", "__other__")]);
        interner.limit = limit;
        interner
    }

    /// The symbol of a text; none when it is new and the limit is reached.
    pub(crate) fn symbol(&mut self, text: &str) -> Option<Symbol> {
        if let Some(&symbol) = self.symbols.get(text) {
            return Some(symbol);
        }
        if self.texts.len() >= self.limit {
            return None;
        }
        let symbol = Symbol(self.texts.len() as u32);
        let text: Arc<str> = Arc::from(text);
        Arc::make_mut(&mut self.texts).push(text.clone());
        self.symbols.insert(text, symbol);
        Some(symbol)
    }

    /// The number of a tag set, whatever the order of its tags; of tags with one name the last counts. None when it, or a text
    /// in it, is new and the limit is reached.
    pub(crate) fn tag_set(&mut self, tags: &[(&str, &str)]) -> Option<TagSet> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let mut whole = true;
        for (name, value) in tags {
            match (self.symbol(name), self.symbol(value)) {
                (Some(name), Some(value)) => set_tag(&mut scratch, (name, value)),
                _ => whole = false,
            }
        }
        let set = if whole {
            self.tag_set_of(&mut scratch)
        } else {
            None
        };
        self.scratch = scratch;
        set
    }

    /// The number of a set of interned tags with distinct names, which it sorts.
    pub(crate) fn tag_set_of(&mut self, tags: &mut [Tag]) -> Option<TagSet> {
        tags.sort_unstable();
        if let Some(&set) = self.sets.get(&*tags) {
            return Some(set);
        }
        if self.tag_sets.len() >= self.limit {
            return None;
        }
        let set = TagSet(self.tag_sets.len() as u32);
        let tags: Arc<[Tag]> = Arc::from(&*tags);
        Arc::make_mut(&mut self.tag_sets).push(tags.clone());
        self.sets.insert(tags, set);
        Some(set)
    }

    pub(crate) fn text(&self, symbol: Symbol) -> &str {
        &self.texts[symbol.index()]
    }

    pub(crate) fn tags(&self, set: TagSet) -> &[Tag] {
        &self.tag_sets[set.index()]
    }

    /// Texts in the order of their numbers.
    pub(crate) fn texts(&self) -> &Arc<Vec<Arc<str>>> {
        &self.texts
    }

    /// Tag sets in the order of their numbers.
    pub(crate) fn tag_sets(&self) -> &Arc<Vec<Arc<[Tag]>>> {
        &self.tag_sets
    }
}

fn set_tag(tags: &mut Vec<Tag>, tag: Tag) {
    match tags.iter_mut().find(|(name, _)| *name == tag.0) {
        Some(same) => same.1 = tag.1,
        None => tags.push(tag),
    }
}
