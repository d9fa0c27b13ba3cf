//! Buffer control of one queue: allocated buffers for each stream, and shared ones for what exceeds them.

use super::{Accounting, Excess};
use gannet_machine::drops::Drop;

/// What a stream has of a queue's buffers, in counted octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Share {
    /// B_k: its allocation, as far as it was granted.
    pub(super) granted: u32,
    /// b_k: what its packets occupy.
    pub(super) occupied: u32,
}

impl Share {
    /// What it occupies of the shared buffers: s = max(0, b_k − B_k).
    #[inline]
    pub(super) const fn excess(self) -> u32 {
        self.occupied.saturating_sub(self.granted)
    }
}

/// The buffers of a queue. At any time `octets` = all grants + what is used of the shared buffers + `free`.
#[derive(Debug)]
pub(super) struct Pool {
    octets: u32,
    granted: u32,
    /// F: what is free of the shared buffers.
    free: u32,
    /// A shorter packet counts as one of so many octets.
    unit: u32,
    rule: Excess,
}

impl Pool {
    pub(super) fn new(accounting: Accounting, rule: Excess) -> Self {
        let (octets, unit) = (accounting.pool_octets(), accounting.unit());
        Self { octets, granted: 0, free: octets, unit, rule }
    }

    /// The octets that a packet counts.
    #[inline]
    fn counts(&self, octets: u32) -> u32 {
        octets.max(self.unit)
    }

    /// Counts a packet of a stream, or says why it finds no room.
    #[inline]
    pub(super) fn admit(&mut self, share: &mut Share, octets: u32) -> Result<(), Drop> {
        let counted = self.counts(octets);
        let after = u64::from(share.occupied) + u64::from(counted);
        if after > share.granted.into() {
            if counted > self.free {
                return Err(Drop::EdgeSharedFull);
            }
            let shared = share.excess();
            if !self.rule.admits(shared, counted, self.free) {
                return Err(Drop::EdgeShareTaken);
            }
            // What is left of its own is used first.
            let own = share.granted.saturating_sub(share.occupied);
            self.free -= counted - own;
        }
        share.occupied += counted;
        Ok(())
    }

    /// A packet of a stream has left: the stream's shared buffers are released first.
    #[inline]
    pub(super) fn release(&mut self, share: &mut Share, octets: u32) {
        let counted = self.counts(octets);
        self.free += share.excess().min(counted);
        share.occupied -= counted;
    }

    /// Takes a part of a stream's allocation back; what it occupied of that becomes shared.
    pub(super) fn lower(&mut self, share: &mut Share, to: u32) {
        let Some(less) = share.granted.checked_sub(to) else { return };
        let before = share.excess();
        share.granted = to;
        self.granted -= less;
        self.free += less - (share.excess() - before);
    }

    /// Gives a stream what it occupies of the shared buffers for its own, up to an allocation of `to`.
    pub(super) fn keep(&mut self, share: &mut Share, to: u32) {
        let own = share.excess().min(to.saturating_sub(share.granted));
        share.granted += own;
        self.granted += own;
    }

    /// Gives a stream free shared buffers for its own, up to an allocation of `to`; true where it has that now.
    pub(super) fn raise(&mut self, share: &mut Share, to: u32) -> bool {
        let more = to.saturating_sub(share.granted).min(self.free);
        share.granted += more;
        self.granted += more;
        self.free -= more;
        share.granted >= to
    }

    pub(super) const fn octets(&self) -> u32 {
        self.octets
    }

    pub(super) const fn granted(&self) -> u32 {
        self.granted
    }

    pub(super) const fn free(&self) -> u32 {
        self.free
    }
}
