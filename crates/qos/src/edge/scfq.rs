//! Self-clocked fair queueing of two queues, where the tag of each queue's first packet is all that is kept.
//!
//! A tag is T_S + L / R of its queue. All tags are held times R_EF · R_AF/BE, so that a packet adds its length times the *other*
//! queue's weight: whole numbers, no division, and the order is exact.

use super::Lane;

/// The most significant bit of a tag.
const TOP: u64 = 1 << 63;

/// The scheduler of two queues.
#[derive(Debug)]
pub(super) struct Scfq {
    /// R_EF and R_AF/BE, below 2³¹ each. Packets are as short, so a tag grows by less than 2⁶².
    weights: [u32; 2],
    /// T_EF and T_AF/BE, of the first packets.
    expedited: u64,
    assured: u64,
    /// T_S.
    now: u64,
}

impl Scfq {
    pub(super) const fn new(weights: [u32; 2]) -> Self {
        Self::starting_at(weights, 0)
    }

    /// The same with another virtual time.
    pub(super) const fn starting_at(weights: [u32; 2], now: u64) -> Self {
        Self { weights, expedited: now, assured: now, now }
    }

    /// A packet of `octets` is the first of its queue now.
    #[inline]
    pub(super) fn first_is(&mut self, lane: Lane, octets: u32) {
        let [expedited, assured] = self.weights;
        match lane {
            Lane::Expedited => self.expedited = self.now + u64::from(octets) * u64::from(assured),
            Lane::Assured => self.assured = self.now + u64::from(octets) * u64::from(expedited),
        }
    }

    /// Whose turn it is of two queues that are not empty: the smaller tag, EF where they are equal.
    #[inline]
    pub(super) const fn smaller(&self) -> Lane {
        if self.expedited <= self.assured { Lane::Expedited } else { Lane::Assured }
    }

    /// The first packet of a queue, which has the smallest tag, is sent.
    #[inline]
    pub(super) fn serves(&mut self, lane: Lane) {
        self.now = match lane {
            Lane::Expedited => self.expedited,
            Lane::Assured => self.assured,
        };
        if self.now & TOP != 0 {
            self.now &= !TOP;
            self.expedited &= !TOP;
            self.assured &= !TOP;
        }
    }

    /// Both queues are empty.
    #[inline]
    pub(super) const fn is_idle(&mut self) {
        self.now = 0;
    }
}
