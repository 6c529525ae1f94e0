//! What one virtual user's guest did with its CPU time: samples of its call stack, as they are collected, and folded.
//!
//! A sample is taken about once in every millisecond of the guest's running; what the virtual user waited is not in it. Names and
//! stacks are interned, so that a sample costs a few words; and both samples and stacks are bounded, since a run may last a day.

use std::collections::{BTreeMap, HashMap};

/// Samples that are kept: half an hour of nothing but guest CPU. More are counted and left out.
pub const SAMPLES_MOST: usize = 2_000_000;

/// Different stacks that are kept. Samples with others are counted and left out.
pub const STACKS_MOST: usize = 50_000;

/// What a sample is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameKind {
    /// A function of the guest whose name is known.
    Named,
    /// A function of the guest without a name.
    Unnamed,
    /// The host, answering the guest at once.
    Host,
}

/// A function that was seen in a stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function {
    /// As people wrote it, or its index in words.
    pub name: String,
    /// What it is.
    pub kind: FrameKind,
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackSample {
    /// When, in nanoseconds since the first iteration that was sampled.
    pub at_ns: u64,
    /// CPU time of the guest since the sample before, in nanoseconds of the thread's clock.
    pub cpu_ns: u64,
    /// Ticks that it stands for: 1, but more after a long host call, in which no sample can be taken.
    pub weight: u32,
    /// The stack, as an index into [`Profile::stacks`].
    pub stack: u32,
}

/// All that was sampled of one virtual user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Whose it is.
    pub vu: u32,
    /// When its first iteration began, in nanoseconds since the Unix epoch.
    pub started_unix_ns: u64,
    /// How long the sampling lasted, in nanoseconds, waits included.
    pub duration_ns: u64,
    /// From one sample to the next, in nanoseconds of running.
    pub interval_ns: u64,
    /// CPU time of the guest, and of the host calls that it did not wait for, in nanoseconds.
    pub cpu_ns: u64,
    /// Every function in any stack.
    pub functions: Vec<Function>,
    /// Every stack, the outermost function first, as indices into `functions`.
    pub stacks: Vec<Vec<u32>>,
    /// In the order in which they were taken.
    pub samples: Vec<StackSample>,
    /// Samples beyond [`SAMPLES_MOST`] or with stacks beyond [`STACKS_MOST`].
    pub left_out: u64,
}

impl Profile {
    /// Whether functions of the guest were seen and none of them has a name.
    pub fn is_nameless(&self) -> bool {
        let seen = |kind| self.functions.iter().any(|function| function.kind == kind);
        seen(FrameKind::Unnamed) && !seen(FrameKind::Named)
    }

    /// The sum of all weights.
    pub fn weight(&self) -> u64 {
        self.samples
            .iter()
            .map(|sample| u64::from(sample.weight))
            .sum()
    }

    /// The stacks with the weight that each has in all, in the order of their functions' names.
    pub fn folded(&self) -> Vec<Folded<'_>> {
        let mut weights: BTreeMap<u32, u64> = BTreeMap::new();
        for sample in &self.samples {
            *weights.entry(sample.stack).or_default() += u64::from(sample.weight);
        }
        let mut folded: Vec<Folded<'_>> = weights
            .into_iter()
            .map(|(stack, weight)| Folded {
                stack: self.stack(stack),
                weight,
            })
            .collect();
        folded.sort();
        folded
    }

    /// A stack's functions, the outermost first.
    pub fn stack(&self, stack: u32) -> Vec<&Function> {
        let functions = get(&self.stacks, stack).into_iter().flatten();
        functions
            .filter_map(|&function| get(&self.functions, function))
            .collect()
    }
}

/// A stack and how much of the samples it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Folded<'a> {
    /// Its functions, the outermost first.
    pub stack: Vec<&'a Function>,
    /// The sum of its samples' weights.
    pub weight: u64,
}

/// A profile in the making.
#[derive(Debug, Default)]
pub struct Recording {
    profile: Profile,
    /// CPU time since the last sample.
    since_sample_ns: u64,
    functions: HashMap<Function, u32>,
    stacks: HashMap<Vec<u32>, u32>,
}

impl Recording {
    /// A recording of virtual user `vu`, whose first iteration begins at `started_unix_ns` by the calendar.
    pub fn new(vu: u32, started_unix_ns: u64, interval_ns: u64) -> Recording {
        Recording {
            profile: Profile {
                vu,
                started_unix_ns,
                interval_ns,
                ..Profile::default()
            },
            ..Recording::default()
        }
    }

    /// Adds a sample: `stack` has the outermost function first.
    pub fn add(&mut self, at_ns: u64, weight: u32, stack: Vec<Function>) {
        let cpu_ns = std::mem::take(&mut self.since_sample_ns);
        if self.profile.samples.len() >= SAMPLES_MOST {
            self.profile.left_out += 1;
            return;
        }
        let functions = stack
            .into_iter()
            .map(|function| self.function(function))
            .collect();
        let Some(stack) = self.stack(functions) else {
            self.profile.left_out += 1;
            return;
        };
        self.profile.samples.push(StackSample {
            at_ns,
            cpu_ns,
            weight,
            stack,
        });
    }

    /// The guest ran until then, and used that much CPU time since this was said last.
    pub fn ran(&mut self, at_ns: u64, cpu_ns: u64) {
        self.since_sample_ns = self.since_sample_ns.saturating_add(cpu_ns);
        self.profile.duration_ns = self.profile.duration_ns.max(at_ns);
        self.profile.cpu_ns = self.profile.cpu_ns.saturating_add(cpu_ns);
    }

    /// What has been recorded.
    pub fn into_profile(self) -> Profile {
        self.profile
    }

    fn function(&mut self, function: Function) -> u32 {
        if let Some(&index) = self.functions.get(&function) {
            return index;
        }
        let index = next(self.profile.functions.len());
        self.profile.functions.push(function.clone());
        self.functions.insert(function, index);
        index
    }

    fn stack(&mut self, functions: Vec<u32>) -> Option<u32> {
        if let Some(&index) = self.stacks.get(&functions) {
            return Some(index);
        }
        if self.profile.stacks.len() >= STACKS_MOST {
            return None;
        }
        let index = next(self.profile.stacks.len());
        self.profile.stacks.push(functions.clone());
        self.stacks.insert(functions, index);
        Some(index)
    }
}

fn get<T>(list: &[T], index: u32) -> Option<&T> {
    list.get(usize::try_from(index).ok()?)
}

/// The index of what comes next in a list. A guest's functions are numbered in 32 bits, and stacks are bounded.
fn next(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn functions(names: &[&str]) -> Vec<Function> {
        let function = |name: &&str| Function {
            name: (*name).to_owned(),
            kind: FrameKind::Named,
        };
        names.iter().map(function).collect()
    }

    #[test]
    fn equal_stacks_are_folded() {
        let mut recording = Recording::new(3, 7, 1_000_000);
        recording.ran(10, 5);
        recording.add(10, 1, functions(&["run", "parse"]));
        recording.ran(15, 6);
        recording.ran(20, 7);
        recording.add(20, 2, functions(&["run"]));
        recording.add(30, 4, functions(&["run", "parse"]));
        recording.ran(40, 8);
        let profile = recording.into_profile();
        let folded: Vec<(String, u64)> = profile
            .folded()
            .iter()
            .map(|folded| {
                let names: Vec<&str> = folded.stack.iter().map(|f| f.name.as_str()).collect();
                (names.join(";"), folded.weight)
            })
            .collect();
        assert_eq!(folded, [("run".to_owned(), 2), ("run;parse".to_owned(), 5)]);
        assert_eq!((profile.functions.len(), profile.stacks.len()), (2, 2));
        let cpu: Vec<u64> = profile.samples.iter().map(|sample| sample.cpu_ns).collect();
        assert_eq!(cpu, [5, 13, 0]);
        assert_eq!((profile.cpu_ns, profile.duration_ns), (26, 40));
    }

    #[test]
    fn a_guest_with_endless_stacks_is_bounded_and_counted() {
        let mut recording = Recording::new(1, 0, 1);
        for n in 0..STACKS_MOST + 3 {
            recording.add(0, 1, functions(&[&n.to_string()]));
        }
        recording.add(0, 1, functions(&["0"]));
        let profile = recording.into_profile();
        assert_eq!(profile.samples.len(), STACKS_MOST + 1);
        assert_eq!(profile.left_out, 3);
    }

    proptest! {
        #[test]
        fn folding_conserves_weight(
            samples in prop::collection::vec((prop::collection::vec("[ab]", 0..4), 0..9_u32), 0..30),
        ) {
            let mut recording = Recording::new(1, 0, 1);
            for (names, weight) in &samples {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                recording.add(0, *weight, functions(&names));
            }
            let profile = recording.into_profile();
            let folded: u64 = profile.folded().iter().map(|folded| folded.weight).sum();
            let given: u64 = samples.iter().map(|(_, weight)| u64::from(*weight)).sum();
            prop_assert_eq!((folded, profile.weight()), (given, given));
        }
    }
}
