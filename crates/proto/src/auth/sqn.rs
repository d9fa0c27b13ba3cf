//! Sequence numbers and their freshness (33.102 annex C), with the profile of annex C.3: five bits of IND, an array of
//! 32 entries in the card, Δ = 2^28 and no limit on age.

use serde::{Deserialize, Serialize};

/// Bits of IND.
const IND_BITS: u32 = 5;
/// Entries of a card's array, a (annex C.2.2).
const ENTRIES: usize = 1 << IND_BITS;
const IND_MASK: u8 = (1 << IND_BITS) - 1;
/// Bits of SQN.
const SQN_BITS: u32 = 48;
/// The largest SEQ.
const SEQ_MAX: u64 = (1 << (SQN_BITS - IND_BITS)) - 1;
/// How far SEQ may jump, so that nobody can wear it out (annex C.2.1).
const DELTA: u64 = 1 << 28;

/// SQN: SEQ in front of IND (annex C.1.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Sqn(u64);

impl Sqn {
    /// Of `seq` 43 bits count and of `ind` five.
    #[must_use]
    pub const fn new(seq: u64, ind: u8) -> Self {
        Self((seq & SEQ_MAX) << IND_BITS | (ind & IND_MASK) as u64)
    }

    /// As in AUTN.
    #[must_use]
    pub const fn from_octets([a, b, c, d, e, f]: [u8; 6]) -> Self {
        Self(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    /// As in AUTN.
    #[must_use]
    pub const fn octets(self) -> [u8; 6] {
        let [_, _, octets @ ..] = self.0.to_be_bytes();
        octets
    }

    /// SEQ.
    #[must_use]
    pub const fn seq(self) -> u64 {
        self.0 >> IND_BITS
    }

    /// IND.
    #[must_use]
    pub const fn ind(self) -> u8 {
        let [.., last] = self.0.to_be_bytes();
        last & IND_MASK
    }
}

/// The authentication centre's counter: SEQ and IND both go up by one for each vector (annex C.1.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SqnCounter(Sqn);

impl SqnCounter {
    /// A counter that has given `last`.
    #[must_use]
    pub const fn after(last: Sqn) -> Self {
        Self(last)
    }

    /// The next SQN. `None` where SEQ is used up: the subscriber needs a new key.
    pub fn advance(&mut self) -> Option<Sqn> {
        let seq = Some(self.0.seq() + 1).filter(|seq| *seq <= SEQ_MAX)?;
        self.0 = Sqn::new(seq, self.0.ind().wrapping_add(1));
        Some(self.0)
    }

    /// The card said by AUTS that its highest SQN is `card`. The counter stays where its next SQN will be fresh in any
    /// case, and goes there otherwise (clause 6.3.5).
    pub fn resynchronise(&mut self, card: Sqn) {
        let ahead = self.0.seq().checked_sub(card.seq());
        if ahead.is_none_or(|ahead| ahead >= DELTA) {
            self.0 = card;
        }
    }
}

/// The SEQ that a card accepted last for each IND (annex C.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SqnArray([u64; ENTRIES]);

impl SqnArray {
    /// Is this one fresh? Where it is, it never will be again. It must be higher than what was accepted for its IND, and
    /// not too far above the highest of all.
    #[must_use]
    pub fn accept(&mut self, sqn: Sqn) -> bool {
        let highest = self.highest().seq();
        match self.0.get_mut(usize::from(sqn.ind())) {
            Some(seq) if sqn.seq() > *seq && sqn.seq().saturating_sub(highest) <= DELTA => {
                *seq = sqn.seq();
                true
            }
            Some(_) | None => false,
        }
    }

    /// SQN_MS, which goes into AUTS: the highest that was accepted.
    #[must_use]
    pub fn highest(&self) -> Sqn {
        let all = (0_u8..).zip(&self.0).map(|(ind, seq)| Sqn::new(*seq, ind));
        all.max().filter(|highest| highest.seq() > 0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqn_has_48_bits() {
        let sqn = Sqn::from_octets([0xff, 0x9b, 0xb4, 0xd0, 0xb6, 0x07]);
        assert_eq!((sqn.seq(), sqn.ind()), (0xff9b_b4d0_b607 >> 5, 7));
        assert_eq!(Sqn::new(sqn.seq(), sqn.ind()), sqn);
        assert_eq!(Sqn::new(u64::MAX, u8::MAX).octets(), [0xff; 6]);
    }

    #[test]
    fn each_ind_has_its_own_order_of_annex_c_2_2() {
        let mut card = SqnArray::default();
        assert_eq!(card.highest(), Sqn::default());
        assert!(card.accept(Sqn::new(10, 1)));
        assert!(!card.accept(Sqn::new(10, 1)), "a replay");
        assert!(!card.accept(Sqn::new(9, 1)), "older for the same IND");
        assert!(card.accept(Sqn::new(9, 2)), "out of order, for another IND");
        assert!(!card.accept(Sqn::new(0, 3)));
        assert_eq!(card.highest(), Sqn::new(10, 1));
    }

    #[test]
    fn seq_does_not_jump_of_annex_c_2_1() {
        let mut card = SqnArray::default();
        assert!(!card.accept(Sqn::new(DELTA + 1, 0)));
        assert!(card.accept(Sqn::new(DELTA, 0)));
        assert!(card.accept(Sqn::new(2 * DELTA, 1)));
        assert!(!card.accept(Sqn::new(3 * DELTA + 1, 2)));
    }

    #[test]
    fn a_counter_goes_on_behind_the_card() {
        let mut network = SqnCounter::after(Sqn::new(3, 31));
        assert_eq!(network.advance(), Some(Sqn::new(4, 0)));
        network.resynchronise(Sqn::new(100, 7));
        assert_eq!(network.advance(), Some(Sqn::new(101, 8)), "the card is ahead");
        network.resynchronise(Sqn::new(50, 7));
        assert_eq!(network.advance(), Some(Sqn::new(102, 9)), "what comes next is fresh already");
        let mut far = SqnCounter::after(Sqn::new(DELTA + 50, 0));
        far.resynchronise(Sqn::new(50, 3));
        assert_eq!(far.advance(), Some(Sqn::new(51, 4)), "too far ahead for the card");
        assert_eq!(SqnCounter::after(Sqn::new(SEQ_MAX, 0)).advance(), None);
    }
}
