//! A map that forgets what was not used for long, so that its size is bounded whatever clients do.

use std::collections::HashMap;

/// Keeps at least the `generation` values used last, and never more than twice as many.
///
/// Two generations: a value that is put in or looked at moves to the young one; when the young one is full it becomes the old
/// one, and the old one is forgotten. A true least-recently-used list would forget in exact order, for a linked list's worth of
/// bookkeeping on every look-up; nobody here asks for the order.
#[derive(Debug)]
pub(crate) struct Recent<V> {
    young: HashMap<u64, V>,
    old: HashMap<u64, V>,
    generation: usize,
}

impl<V> Recent<V> {
    pub(crate) fn new(generation: usize) -> Recent<V> {
        Recent {
            young: HashMap::new(),
            old: HashMap::new(),
            generation: generation.max(1),
        }
    }

    /// Puts a value in. An older one under the same key is replaced.
    pub(crate) fn insert(&mut self, key: u64, value: V) {
        self.old.remove(&key);
        if self.young.len() >= self.generation && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    /// The value, which counts as used now.
    pub(crate) fn get_mut(&mut self, key: u64) -> Option<&mut V> {
        if let Some(value) = self.old.remove(&key) {
            self.insert(key, value);
        }
        self.young.get_mut(&key)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_values_used_last_are_kept_and_the_size_is_bounded(
            generation in 1..20_usize,
            uses in prop::collection::vec((0..60_u64, any::<bool>()), 0..400),
        ) {
            let mut recent = Recent::new(generation);
            let mut order: Vec<u64> = Vec::new();
            for (key, insert) in uses {
                if insert {
                    recent.insert(key, key * 7);
                } else if recent.get_mut(key).is_none() {
                    continue;
                }
                order.retain(|&k| k != key);
                order.push(key);
                prop_assert!(recent.len() <= 2 * generation);
            }
            for &key in order.iter().rev().take(generation) {
                // Looking at one may push out others, so the look is at the maps.
                let kept = recent.young.get(&key).or_else(|| recent.old.get(&key));
                prop_assert_eq!(kept, Some(&(key * 7)));
            }
        }
    }
}
