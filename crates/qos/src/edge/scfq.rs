//! Self-clocked fair queueing of two queues, where the tag of each queue's first packet is all that is kept.
//!
//! A tag is T_S + L / R of its queue. All tags are held times R_EF · R_AF/BE, so that a packet adds its length times the *other*
//! queue's weight: whole numbers, no division, and the order is exact.

/// The most significant bit of a tag.
const TOP: u64 = 1 << 63;

/// T_EF or T_AF/BE: the tag of the first packet of a queue.
#[derive(Debug)]
pub(super) struct Tag {
    /// The highest value where the queue is empty: it has no turn.
    at: u64,
    /// What an octet adds: the weight of the other queue, below 2³¹. Packets are as short, so a tag grows by less than 2⁶².
    step: u64,
}

impl Tag {
    pub(super) fn new(weight_of_other: u32) -> Self {
        Self { at: u64::MAX, step: weight_of_other.into() }
    }

    /// The turn is this queue's and not the other's: the smaller tag, and this one where they are equal.
    #[inline]
    pub(super) const fn is_before(&self, other: &Self) -> bool {
        self.at <= other.at
    }

    /// A packet of `octets` is the first of the queue now.
    #[inline]
    pub(super) fn first_is(&mut self, now: &VirtualTime, octets: u32) {
        self.at = now.0 + u64::from(octets) * self.step;
    }

    /// The queue is empty.
    #[inline]
    pub(super) const fn has_none(&mut self) {
        self.at = u64::MAX;
    }

    /// Virtual time has lost its highest bit.
    const fn wrap(&mut self) {
        if self.at != u64::MAX {
            self.at &= !TOP;
        }
    }
}

/// T_S: the tag of the packet that was served last.
#[derive(Debug)]
pub(super) struct VirtualTime(u64);

impl VirtualTime {
    pub(super) const ZERO: Self = Self(0);

    #[cfg(test)]
    pub(super) const fn starting_at(at: u64) -> Self {
        Self(at)
    }

    /// The first packet of the queue with the smallest tag is sent. True where that comes to the highest bit: both tags are to
    /// lose it too ([`VirtualTime::wrap`]).
    #[inline]
    pub(super) const fn serves(&mut self, tag: &Tag) -> bool {
        self.0 = tag.at;
        self.0 & TOP != 0
    }

    /// Takes the highest bit off virtual time and both tags, where virtual time has it.
    pub(super) const fn wrap(&mut self, tags: [&mut Tag; 2]) {
        if self.0 & TOP == 0 {
            return;
        }
        self.0 &= !TOP;
        let [one, other] = tags;
        one.wrap();
        other.wrap();
    }
}
