//! The rules that are in force, kept by whoever has no tables of a kernel to put them into: a simulation, a test.
//!
//! It is strict where a driver is patient: what a node takes back it must have given, and what it unblocks it must have
//! blocked. So it shows whether a node's rules balance.

use super::classifier::{Block, Key, Rule, RuleChange};
use core::net::SocketAddr;
use gannet_wire::id::Nsei;
use std::collections::{BTreeMap, BTreeSet};

/// What a driver knows of one owner of packets: a PDP context, or for the uplink a mobile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The newest rule that names it.
    pub rule: Rule,
    /// Why it takes nothing now.
    pub blocked: BTreeSet<Block>,
    /// Keys that lead to it.
    pub keys: u32,
}

/// A change that does not fit what was said before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contradiction {
    /// There is no rule with this key.
    NoRule(Key),
    /// It was blocked for this reason already, or was not.
    Blocked(Key, Block),
    /// No NSE sends from there, as far as was told.
    NoPeer(SocketAddr),
}

/// All rules, by the names that packets carry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleBook {
    names: BTreeMap<Key, u32>,
    owners: BTreeMap<u32, Owner>,
    peers: BTreeMap<SocketAddr, Nsei>,
}

impl RuleBook {
    /// Takes a change.
    ///
    /// # Errors
    /// [`Contradiction`]; nothing has changed then.
    pub fn apply(&mut self, change: RuleChange) -> Result<(), Contradiction> {
        match change {
            RuleChange::Install(rule) => self.install(rule),
            RuleChange::Remove(key) => {
                let name = self.names.remove(&key).ok_or(Contradiction::NoRule(key))?;
                self.lose_key(name);
            }
            RuleChange::Block(key, reason) => {
                let owner = self.owner_mut(key).ok_or(Contradiction::NoRule(key))?;
                return owner.blocked.insert(reason).then_some(()).ok_or(Contradiction::Blocked(key, reason));
            }
            RuleChange::Unblock(key, reason) => {
                let owner = self.owner_mut(key).ok_or(Contradiction::NoRule(key))?;
                return owner
                    .blocked
                    .remove(&reason)
                    .then_some(())
                    .ok_or(Contradiction::Blocked(key, reason));
            }
            RuleChange::Peer { address, nsei: Some(nsei) } => drop(self.peers.insert(address, nsei)),
            RuleChange::Peer { address, nsei: None } => {
                self.peers.remove(&address).ok_or(Contradiction::NoPeer(address))?;
            }
        }
        Ok(())
    }

    fn install(&mut self, rule: Rule) {
        let former = self.names.insert(rule.key, rule.name);
        let owner = self.owners.entry(rule.name).or_insert(Owner { rule, blocked: BTreeSet::new(), keys: 0 });
        owner.rule = rule;
        owner.blocked.clear();
        if former != Some(rule.name) {
            owner.keys += 1;
            if let Some(former) = former {
                self.lose_key(former);
            }
        }
    }

    fn lose_key(&mut self, name: u32) {
        if let Some(owner) = self.owners.get_mut(&name) {
            owner.keys -= 1;
            if owner.keys == 0 {
                self.owners.remove(&name);
            }
        }
    }

    fn owner_mut(&mut self, key: Key) -> Option<&mut Owner> {
        let name = self.meant_by(key)?;
        self.owners.get_mut(&name)
    }

    fn meant_by(&self, key: Key) -> Option<u32> {
        match key {
            Key::Name(name) => Some(name),
            key => self.names.get(&key).copied(),
        }
    }

    /// Whose packets carry this key.
    #[must_use]
    pub fn owner(&self, key: Key) -> Option<&Owner> {
        self.owners.get(&self.meant_by(key)?)
    }

    /// All keys with the names of their owners, in their order.
    pub fn keys(&self) -> impl Iterator<Item = (Key, u32)> + '_ {
        self.names.iter().map(|(key, name)| (*key, *name))
    }

    /// All addresses with their NSEs, in their order.
    pub fn peers(&self) -> impl Iterator<Item = (SocketAddr, Nsei)> + '_ {
        self.peers.iter().map(|(address, nsei)| (*address, *nsei))
    }

    /// True where there is no rule; addresses may be known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.owners.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_qos::class::{Class, Precedence};
    use gannet_wire::id::{Bvci, Tlli};

    const LOCAL: Key = Key::LocalTlli(Tlli(0xc000_0001));
    const FOREIGN: Key = Key::CellTlli { nsei: Nsei(1), bvci: Bvci(2), tlli: Tlli(0x8000_0001) };

    fn install(key: Key, name: u32) -> RuleChange {
        let (class, precedence) = (Class::BestEffort, Precedence::Normal);
        RuleChange::Install(Rule { key, name, class, precedence, policer: None, source: None })
    }

    #[test]
    fn an_owner_goes_with_its_last_key() {
        let mut book = RuleBook::default();
        for change in [install(LOCAL, 5), install(FOREIGN, 5), RuleChange::Block(LOCAL, Block::QueueFull)] {
            assert_eq!(book.apply(change), Ok(()));
        }
        assert_eq!(book.owner(FOREIGN).map(|owner| (owner.keys, owner.blocked.len())), Some((2, 1)));
        assert_eq!(book.owner(Key::Name(5)), book.owner(FOREIGN));
        assert_eq!(book.apply(RuleChange::Unblock(Key::Name(5), Block::QueueFull)), Ok(()));
        assert_eq!(book.apply(RuleChange::Block(Key::Name(5), Block::QueueFull)), Ok(()));
        assert_eq!(book.apply(install(FOREIGN, 5)), Ok(()));
        assert_eq!(book.owner(LOCAL).map(|owner| (owner.keys, owner.blocked.len())), Some((2, 0)));
        // Another mobile comes with the same TLLI: the name is its own now.
        assert_eq!(book.apply(install(FOREIGN, 6)), Ok(()));
        assert_eq!(book.keys().collect::<Vec<_>>(), [(LOCAL, 5), (FOREIGN, 6)]);
        assert_eq!(book.apply(RuleChange::Remove(LOCAL)), Ok(()));
        assert_eq!(book.owners.len(), 1);
        assert_eq!(book.apply(RuleChange::Remove(FOREIGN)), Ok(()));
        assert!(book.is_empty());
    }

    #[test]
    fn contradictions_change_nothing() {
        let mut book = RuleBook::default();
        let (block, unblock) =
            (RuleChange::Block(LOCAL, Block::QueueFull), RuleChange::Unblock(LOCAL, Block::QueueFull));
        for change in [RuleChange::Remove(LOCAL), block, unblock] {
            assert_eq!(book.apply(change), Err(Contradiction::NoRule(LOCAL)));
        }
        book.apply(install(LOCAL, 5)).unwrap();
        assert_eq!(book.apply(unblock), Err(Contradiction::Blocked(LOCAL, Block::QueueFull)));
        book.apply(block).unwrap();
        assert_eq!(book.apply(block), Err(Contradiction::Blocked(LOCAL, Block::QueueFull)));
        let address = "192.0.2.1:22000".parse().unwrap();
        assert_eq!(book.apply(RuleChange::Peer { address, nsei: None }), Err(Contradiction::NoPeer(address)));
        book.apply(RuleChange::Peer { address, nsei: Some(Nsei(7)) }).unwrap();
        assert_eq!(book.peers().collect::<Vec<_>>(), [(address, Nsei(7))]);
    }
}
