//! Keys as dense numbers, and figures by those numbers.
//!
//! A worker looks a key up once and then works with its number. What it records lies in a [`Ledger`], an array by number with
//! a list of those touched in the interval, so that handing an interval over costs what was recorded and not what exists.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

/// A hasher for keys made of small numbers: one multiplication a word.
///
/// The standard one costs three times as much, and guards against keys chosen by an enemy. These keys are numbers that we gave
/// out ourselves, and there are few of them.
pub(crate) type FastHasher = BuildHasherDefault<Mix>;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mix(u64);

impl Mix {
    fn add(&mut self, word: u64) {
        // 2^64 / φ, odd: spreads consecutive numbers evenly (Knuth, TAOCP vol. 3, 6.4).
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        // The multiplication leaves the low bits weak, and the table takes its place from those.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.add(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.add(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.add(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.add(value as u64);
    }
}

/// Keys and their numbers, in the order of arrival, at most `limit`.
#[derive(Debug)]
pub(crate) struct Index<K> {
    limit: usize,
    /// Shared with the deltas that were handed over, and copied when a key comes after one was: not again after warm-up.
    keys: Arc<Vec<K>>,
    numbers: HashMap<K, u32, FastHasher>,
}

impl<K: Copy + Eq + Hash> Index<K> {
    pub(crate) fn new(limit: usize) -> Index<K> {
        Index {
            limit,
            keys: Arc::default(),
            numbers: HashMap::default(),
        }
    }

    /// The key's number; none when it is new and the limit is reached.
    #[inline]
    pub(crate) fn number(&mut self, key: K) -> Option<u32> {
        match self.numbers.get(&key) {
            Some(&number) => Some(number),
            None if self.keys.len() >= self.limit => None,
            None => Some(self.insert(key)),
        }
    }

    /// The key's number, though the limit be reached: for the keys that stand for all past it.
    pub(crate) fn number_past_limit(&mut self, key: K) -> u32 {
        match self.numbers.get(&key) {
            Some(&number) => number,
            None => self.insert(key),
        }
    }

    pub(crate) fn keys(&self) -> &Arc<Vec<K>> {
        &self.keys
    }

    #[cold]
    fn insert(&mut self, key: K) -> u32 {
        let number = self.keys.len() as u32;
        Arc::make_mut(&mut self.keys).push(key);
        self.numbers.insert(key, number);
        number
    }
}

/// What can be recorded under a key, added up, and emptied for reuse.
pub(crate) trait Figures: Default {
    /// Adds another part's figures.
    fn merge(&mut self, other: &Self);
    /// Back to nothing; memory is kept.
    fn clear(&mut self);
}

/// Figures of one interval, by the number of their key.
#[derive(Debug)]
pub(crate) struct Ledger<F> {
    rows: Vec<Row<F>>,
    /// Numbers of the rows in use, each once.
    touched: Vec<u32>,
}

#[derive(Debug, Default)]
struct Row<F> {
    touched: bool,
    figures: F,
}

impl<F: Figures> Ledger<F> {
    /// The figures of a number, made if need be.
    #[inline]
    pub(crate) fn at(&mut self, number: u32) -> &mut F {
        let place = number as usize;
        if place >= self.rows.len() {
            self.grow(place);
        }
        let row = &mut self.rows[place];
        if !row.touched {
            row.touched = true;
            self.touched.push(number);
        }
        &mut row.figures
    }

    /// Hands every touched number's figures to `each`, then empties them.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(u32, &F)) {
        for number in self.touched.drain(..) {
            let row = &mut self.rows[number as usize];
            each(number, &row.figures);
            row.figures.clear();
            row.touched = false;
        }
    }

    #[cold]
    fn grow(&mut self, place: usize) {
        self.rows.resize_with(place + 1, Row::default);
    }
}

impl<F> Default for Ledger<F> {
    fn default() -> Self {
        Ledger {
            rows: Vec::new(),
            touched: Vec::new(),
        }
    }
}

/// Keys and the figures of the whole run, in the collector.
#[derive(Debug)]
pub(crate) struct Table<K, F> {
    pub(crate) index: Index<K>,
    figures: Vec<F>,
}

impl<K: Copy + Eq + Hash, F: Figures> Table<K, F> {
    pub(crate) fn new(limit: usize) -> Table<K, F> {
        Table {
            index: Index::new(limit),
            figures: Vec::new(),
        }
    }

    /// The figures of a number that the index gave out.
    pub(crate) fn at(&mut self, number: u32) -> &mut F {
        let place = number as usize;
        if place >= self.figures.len() {
            self.figures.resize_with(place + 1, F::default);
        }
        &mut self.figures[place]
    }

    /// Keys with their figures, in the order of arrival.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &F)> {
        self.index.keys().iter().zip(&self.figures)
    }
}
