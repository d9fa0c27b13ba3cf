//! N-PDUs and messages held for a mobile that is being paged: bounded for each mobile and for the node, and not for ever.

use crate::slots::Slot;
use foldhash::quality::SeedableRandomState;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_wire::id::Nsapi;
use std::collections::HashMap;

/// One PDU that waits.
#[derive(Debug)]
pub struct HeldPdu {
    /// What it is.
    pub kind: HeldKind,
    /// After this it is too old to be sent.
    pub until: Instant,
    /// Its octets.
    pub frame: Frame,
}

/// What waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldKind {
    /// An N-PDU of this context.
    NPdu(Nsapi),
    /// A layer 3 message, not yet in an LL-PDU.
    Layer3,
}

#[derive(Debug)]
struct Node {
    pdu: Option<HeldPdu>,
    next: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
    count: u32,
}

/// All N-PDUs that wait, in order within each mobile. Memory is taken when it is made.
#[derive(Debug)]
pub struct Held {
    nodes: Vec<Node>,
    free: Vec<u32>,
    lists: HashMap<Slot, List, SeedableRandomState>,
    per_mobile_max: u32,
}

impl Held {
    /// Room for `total_max` N-PDUs, `per_mobile_max` of one mobile.
    #[must_use]
    pub fn new(total_max: u32, per_mobile_max: u32) -> Self {
        let state = SeedableRandomState::with_seed(1, foldhash::SharedSeed::global_fixed());
        Self {
            nodes: (0..total_max).map(|_| Node { pdu: None, next: None }).collect(),
            free: (0..total_max).rev().collect(),
            lists: HashMap::with_capacity_and_hasher(total_max as usize, state),
            per_mobile_max,
        }
    }

    /// Holds an N-PDU; gives it back where the mobile's share or the whole room is used up.
    ///
    /// # Errors
    /// The N-PDU itself.
    pub fn hold(&mut self, mobile: Slot, pdu: HeldPdu) -> Result<(), HeldPdu> {
        let list = self.lists.get(&mobile).copied();
        if list.is_some_and(|list| list.count >= self.per_mobile_max) {
            return Err(pdu);
        }
        let Some(index) = self.free.pop() else { return Err(pdu) };
        let Some(node) = self.nodes.get_mut(index as usize) else { return Err(pdu) };
        *node = Node { pdu: Some(pdu), next: None };
        let list = match list {
            Some(List { head, tail, count }) => {
                if let Some(last) = self.nodes.get_mut(tail as usize) {
                    last.next = Some(index);
                }
                List { head, tail: index, count: count + 1 }
            }
            None => List { head: index, tail: index, count: 1 },
        };
        self.lists.insert(mobile, list);
        Ok(())
    }

    /// Takes out what is too old, of all mobiles, and gives how many there were of each.
    pub fn expire(&mut self, now: Instant) -> Vec<(Slot, u32)> {
        let mut mobiles: Vec<Slot> = self.lists.keys().copied().collect();
        mobiles.sort_unstable();
        let mut expired = Vec::new();
        for mobile in mobiles {
            let mut count = 0;
            while self.oldest(mobile).is_some_and(|until| until < now) {
                self.take(mobile);
                count += 1;
            }
            if count > 0 {
                expired.push((mobile, count));
            }
        }
        expired
    }

    /// Until when the oldest N-PDU of a mobile may wait.
    fn oldest(&self, mobile: Slot) -> Option<Instant> {
        let list = self.lists.get(&mobile)?;
        self.nodes.get(list.head as usize)?.pdu.as_ref().map(|pdu| pdu.until)
    }

    /// True where no more room is left for anybody.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Takes the oldest N-PDU of a mobile.
    pub fn take(&mut self, mobile: Slot) -> Option<HeldPdu> {
        let list = self.lists.get_mut(&mobile)?;
        let node = self.nodes.get_mut(list.head as usize)?;
        let pdu = node.pdu.take();
        self.free.push(list.head);
        match node.next.take() {
            Some(next) => {
                list.head = next;
                list.count -= 1;
            }
            None => {
                self.lists.remove(&mobile);
            }
        }
        pdu
    }

    /// How many N-PDUs of a mobile wait.
    #[must_use]
    pub fn count(&self, mobile: Slot) -> u32 {
        self.lists.get(&mobile).map_or(0, |list| list.count)
    }

    /// How many wait in all.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// True when none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::frame::FramePool;

    #[test]
    fn order_limits_and_return_of_room() {
        let pool = FramePool::new(4);
        let mobile = |index| Slot { index, generation: 0 };
        let pdu = |n: u8| HeldPdu {
            kind: HeldKind::NPdu(Nsapi(5)),
            until: Instant(9),
            frame: pool.copy_of(&[n]).unwrap(),
        };
        let mut held = Held::new(3, 2);
        held.hold(mobile(1), pdu(1)).unwrap();
        held.hold(mobile(2), pdu(9)).unwrap();
        held.hold(mobile(1), pdu(2)).unwrap();
        assert!(held.hold(mobile(1), pdu(3)).is_err(), "its share is two");
        assert!(held.hold(mobile(3), pdu(3)).is_err(), "the room is three");
        let taken: Vec<u8> = core::iter::from_fn(|| held.take(mobile(1))).map(|pdu| pdu.frame[0]).collect();
        assert_eq!(taken, [1, 2]);
        assert_eq!((held.count(mobile(1)), held.count(mobile(2)), held.len()), (0, 1, 1));
        assert_eq!(held.take(mobile(2)).map(|pdu| pdu.frame[0]), Some(9));
        assert!(held.is_empty());
        assert_eq!(pool.free(), 4);
    }

    #[test]
    fn what_is_too_old_makes_room() {
        let pool = FramePool::new(4);
        let mobile = |index| Slot { index, generation: 0 };
        let pdu = |until| HeldPdu {
            kind: HeldKind::Layer3,
            until: Instant(until),
            frame: pool.copy_of(&[1]).unwrap(),
        };
        let mut held = Held::new(3, 2);
        for (index, until) in [(1, 5), (1, 20), (2, 6)] {
            held.hold(mobile(index), pdu(until)).unwrap();
        }
        assert!(held.is_full());
        assert_eq!(held.expire(Instant(5)), []);
        assert_eq!(held.expire(Instant(10)), [(mobile(1), 1), (mobile(2), 1)]);
        assert_eq!((held.count(mobile(1)), held.count(mobile(2))), (1, 0));
    }
}
