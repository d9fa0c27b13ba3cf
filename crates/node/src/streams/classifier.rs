//! The fast path in front of the rule base: what was decided for exactly these fields is decided for the next packet too.
//!
//! The table has sets of two. One access finds the set, in which the flow that was put there last stands first; a third flow puts
//! the older one out. An entry holds as long as its epoch: a change of rules or routes begins another, and no entry is searched.

use super::header::Flow;
use super::rules::{Rule, RuleBase, Verdict};
use core::hash::BuildHasher as _;
use foldhash::fast::FixedState;

#[derive(Debug, Clone, Copy)]
struct Entry<T> {
    flow: Flow,
    epoch: u64,
    decided: T,
}

/// What was found for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<T> {
    /// What was remembered.
    Fast(T),
    /// What the rules say.
    Slow(Verdict),
}

/// How often which path was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paths {
    /// Packets of remembered flows.
    pub fast: u64,
    /// Packets for which the rules were asked.
    pub slow: u64,
    /// Flows that were put out while they held.
    pub evicted: u64,
}

/// Rules with their fast path, which remembers a `T` for each flow.
#[derive(Debug)]
pub struct Classifier<T> {
    rules: RuleBase,
    sets: Box<[[Option<Entry<T>>; 2]]>,
    hasher: FixedState,
    epoch: u64,
    paths: Paths,
}

impl<T: Copy> Classifier<T> {
    /// Room for at least `flows` flows, two at the least. Who does not know `seed` cannot choose flows that put each other out.
    #[must_use]
    pub fn new(rules: RuleBase, flows: usize, seed: u64) -> Self {
        let sets = flows.div_ceil(2).max(1).next_power_of_two();
        Self {
            rules,
            sets: vec![[None, None]; sets].into_boxed_slice(),
            hasher: FixedState::with_seed(seed),
            epoch: 0,
            paths: Paths::default(),
        }
    }

    /// The rules.
    #[must_use]
    pub const fn rules(&self) -> &RuleBase {
        &self.rules
    }

    /// How often which path was taken.
    #[must_use]
    pub const fn paths(&self) -> Paths {
        self.paths
    }

    /// Puts a rule at its number, or takes that away.
    pub fn set_rule(&mut self, number: u32, rule: Option<Rule>) {
        match rule {
            Some(rule) => self.rules.set(number, rule),
            None => self.rules.remove(number),
        }
        self.forget_all();
    }

    /// Other rules.
    pub fn set_rules(&mut self, rules: RuleBase) {
        self.rules = rules;
        self.forget_all();
    }

    /// Nothing that was remembered holds any more. O(1).
    pub const fn forget_all(&mut self) {
        self.epoch += 1;
    }

    fn set_of(&mut self, flow: &Flow) -> Option<&mut [Option<Entry<T>>; 2]> {
        let mask = self.sets.len() as u64 - 1;
        let at = usize::try_from(self.hasher.hash_one(flow) & mask).ok()?;
        self.sets.get_mut(at)
    }

    /// What becomes of a packet.
    pub fn find(&mut self, flow: &Flow) -> Found<T> {
        let epoch = self.epoch;
        let holds = |entry: &&Entry<T>| entry.epoch == epoch && entry.flow == *flow;
        let remembered =
            self.set_of(flow).and_then(|set| set.iter().flatten().find(holds).map(|of| of.decided));
        match remembered {
            Some(decided) => {
                self.paths.fast += 1;
                Found::Fast(decided)
            }
            None => {
                self.paths.slow += 1;
                Found::Slow(self.rules.verdict(flow))
            }
        }
    }

    /// Remembers what follows from the verdict of the rules for a flow, until they change.
    pub fn remember(&mut self, flow: &Flow, decided: T) {
        let epoch = self.epoch;
        let Some(set) = self.set_of(flow) else { return };
        set.swap(0, 1);
        let [first, _] = set;
        let evicts = first.as_ref().is_some_and(|entry| entry.epoch == epoch && entry.flow != *flow);
        *first = Some(Entry { flow: *flow, epoch, decided });
        self.paths.evicted += u64::from(evicts);
    }
}
