//! From a worker's numbers to the collector's.

use super::delta::ShardDelta;
use super::key::{CheckKey, CustomKey, GroupKey, PhaseKey, SeriesKey};
use super::symbol::{Symbol, Tag, TagSet};
use super::totals::Totals;

/// The collector's numbers for one worker's, each list by the worker's number.
#[derive(Debug, Default)]
pub(crate) struct Translation {
    symbols: Vec<Symbol>,
    tag_sets: Vec<TagSet>,
    pub(crate) series: Vec<u32>,
    pub(crate) phases: Vec<u32>,
    pub(crate) scenarios: Vec<u32>,
    pub(crate) checks: Vec<u32>,
    pub(crate) groups: Vec<u32>,
    /// None for a metric whose name means something else to another worker.
    pub(crate) customs: Vec<Option<u32>>,
}

impl Translation {
    /// Takes in the names and keys of a delta that are new here: the lists of one worker only ever grow.
    pub(crate) fn learn(&mut self, totals: &mut Totals, delta: &ShardDelta) {
        for text in delta.texts.iter().skip(self.symbols.len()) {
            let symbol = totals.names.symbol(text).unwrap_or(Symbol::OTHER);
            self.symbols.push(symbol);
        }
        for tags in delta.tag_sets.iter().skip(self.tag_sets.len()) {
            let mut tags: Vec<Tag> = tags
                .iter()
                .map(|(n, v)| (self.symbol(*n), self.symbol(*v)))
                .collect();
            let set = totals.names.tag_set_of(&mut tags).unwrap_or(TagSet::OTHER);
            self.tag_sets.push(set);
        }
        self.learn_exchanges(totals, delta);
        for scenario in delta.scenarios.iter().skip(self.scenarios.len()) {
            let number = totals
                .scenarios
                .index
                .number_past_limit(self.symbol(*scenario));
            self.scenarios.push(number);
        }
        self.learn_checks(totals, delta);
        for key in delta.customs.iter().skip(self.customs.len()) {
            let number = self.custom(totals, key);
            self.customs.push(number);
        }
    }

    fn learn_exchanges(&mut self, totals: &mut Totals, delta: &ShardDelta) {
        for key in delta.series.iter().skip(self.series.len()) {
            let key = self.series_key(key);
            let index = &mut totals.exchanges.index;
            let number = index
                .number(key)
                .unwrap_or_else(|| index.number_past_limit(key.other()));
            self.series.push(number);
        }
        for key in delta.phases.iter().skip(self.phases.len()) {
            let PhaseKey {
                scenario,
                aside,
                name,
            } = *key;
            let key = PhaseKey {
                scenario: self.symbol(scenario),
                aside,
                name: self.symbol(name),
            };
            self.phases.push(totals.phases.index.number_past_limit(key));
        }
    }

    fn learn_checks(&mut self, totals: &mut Totals, delta: &ShardDelta) {
        for key in delta.checks.iter().skip(self.checks.len()) {
            let key = CheckKey {
                scenario: self.symbol(key.scenario),
                group: self.symbol(key.group),
                check: self.symbol(key.check),
                tags: self.tag_set(key.tags),
            };
            let index = &mut totals.checks.index;
            self.checks.push(
                index
                    .number(key)
                    .unwrap_or_else(|| index.number_past_limit(key.other())),
            );
        }
        for key in delta.groups.iter().skip(self.groups.len()) {
            let key = GroupKey {
                scenario: self.symbol(key.scenario),
                group: self.symbol(key.group),
                tags: self.tag_set(key.tags),
            };
            let index = &mut totals.groups.index;
            self.groups.push(
                index
                    .number(key)
                    .unwrap_or_else(|| index.number_past_limit(key.other())),
            );
        }
    }

    fn custom(&self, totals: &mut Totals, key: &CustomKey) -> Option<u32> {
        let key = CustomKey {
            metric: self.symbol(key.metric),
            tags: self.tag_set(key.tags),
            ..*key
        };
        if !totals.agrees(&key) {
            return None;
        }
        let index = &mut totals.customs.index;
        Some(
            index
                .number(key)
                .unwrap_or_else(|| index.number_past_limit(key.other())),
        )
    }

    fn series_key(&self, key: &SeriesKey) -> SeriesKey {
        SeriesKey {
            scenario: self.symbol(key.scenario),
            group: self.symbol(key.group),
            name: self.symbol(key.name),
            method: self.symbol(key.method),
            tags: self.tag_set(key.tags),
            ..*key
        }
    }

    pub(crate) fn symbol(&self, theirs: Symbol) -> Symbol {
        self.symbols[theirs.index()]
    }

    fn tag_set(&self, theirs: TagSet) -> TagSet {
        self.tag_sets[theirs.index()]
    }
}
