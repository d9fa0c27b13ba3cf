//! Our own tunnel endpoint identifiers: one access to a table finds a context, and nobody guesses them.
//!
//! Inside the node a context has a [`ContextName`]: its place in the table of contexts, and how often the place was used
//! before. On the wire it has a [`Teid`], which is a keyed permutation of that name: [`TeidKey`]. The program of a driver, and
//! whoever decides in its place, undo it.
//!
//! # What the permutation gives
//!
//! It is a Feistel network of six rounds over two halves of 16 bits. A round multiplies two keyed values of one half and takes
//! bits out of the middle of the product. The keys of the rounds come from a secret of 128 bits.
//!
//! - With N contexts, a TEID that somebody thinks of is that of a context with a probability of N/2^32.
//! - TEIDs of contexts that were made one after the other have no relation that a person, a difference, or a linear equation
//!   shows. Who knows some of them does not know others by arithmetic.
//! - No TEID is 0.
//!
//! It is no cipher that cryptanalysts have examined, and its block is 32 bits. Who can have very many contexts made, knows the
//! name of each, and computes for long may find the key. The permutation is one hurdle; which peer may use a TEID is another
//! one, and that does not depend upon it.

use core::fmt;
use gannet_wire::id::Teid;
use serde::{Deserialize, Serialize};

/// Places that a name can have.
pub const PLACES: u32 = 1 << 24;

/// What a PDP context is called inside the node: generation (8 bits), place (24 bits).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContextName(pub u32);

impl ContextName {
    /// The name of a place in its generation, which is never 0 in a name that is given out.
    #[must_use]
    pub const fn new(generation: u8, place: u32) -> Self {
        Self((generation as u32) << 24 | place & (PLACES - 1))
    }

    /// Tells it from an older one of the same place.
    #[must_use]
    pub const fn generation(self) -> u8 {
        let [generation, ..] = self.0.to_be_bytes();
        generation
    }

    /// The place in a table of contexts, below [`PLACES`].
    #[must_use]
    pub const fn place(self) -> u32 {
        self.0 & (PLACES - 1)
    }

    /// The generation that stands for a slot's generation of more bits: 1 to 255.
    #[must_use]
    pub fn generation_of(generation: u16) -> u8 {
        u8::try_from(generation % 255 + 1).unwrap_or(1)
    }
}

/// Rounds of the network.
pub const TEID_ROUNDS: usize = 6;

/// How names become TEIDs, and TEIDs names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TeidKey {
    secret: u128,
    rounds: [(u32, u32); TEID_ROUNDS],
    /// Which bits a round gives.
    mask: u32,
    /// What 0 would become: so that it stays 0.
    offset: u32,
}

impl TeidKey {
    /// Names are TEIDs: for whoever gives out TEIDs of its own.
    pub const TRANSPARENT: Self = Self { secret: 0, rounds: [(0, 0); TEID_ROUNDS], mask: 0, offset: 0 };

    /// A key for a secret of 128 random bits. Equal secrets are equal keys.
    #[must_use]
    pub fn new(secret: u128) -> Self {
        let mut key = Self { secret, mask: 0xffff, ..Self::TRANSPARENT };
        let [mut high, mut low] = halves(secret);
        for round in &mut key.rounds {
            (high, low) = (high.wrapping_add(GOLDEN), low.wrapping_add(mixed(high)));
            let [a, b] = halves_of_word(mixed(low));
            *round = (a, b);
        }
        key.offset = key.through(0);
        key
    }

    /// The secret, to be kept for the time after a restart.
    #[must_use]
    pub const fn secret(&self) -> u128 {
        self.secret
    }

    /// A number that is another one for nearly every other key, and does not tell the key.
    #[must_use]
    pub fn id(&self) -> u32 {
        let [high, low] = halves(self.secret);
        let [id, _] = halves_of_word(mixed(mixed(high ^ GOLDEN).wrapping_add(low.rotate_left(17))));
        id
    }

    /// The TEID of a name. 0 only for 0, which is no context's.
    #[must_use]
    pub fn teid(&self, name: ContextName) -> Teid {
        Teid(self.through(name.0) ^ self.offset)
    }

    /// The name behind a TEID, whoever may have thought of it.
    #[inline]
    #[must_use]
    pub fn name(&self, teid: Teid) -> ContextName {
        let permuted = teid.0 ^ self.offset;
        let ends = (permuted >> 16, permuted & 0xffff);
        let undo = |(left, right), round| (right ^ self.round(round, left), left);
        let (left, right) = self.rounds.iter().rev().fold(ends, undo);
        ContextName(left << 16 | right)
    }

    fn through(&self, value: u32) -> u32 {
        let ends = (value >> 16, value & 0xffff);
        let step = |(left, right), round| (right, left ^ self.round(round, right));
        let (left, right) = self.rounds.iter().fold(ends, step);
        left << 16 | right
    }

    /// One round of `half`, 16 bits.
    #[inline]
    fn round(&self, (a, b): &(u32, u32), half: u32) -> u32 {
        let product = (u64::from(half) + u64::from(*a)).wrapping_mul(u64::from(half ^ b));
        let [_, middle] = halves_of_word(product >> 24);
        middle & self.mask
    }

    /// What a driver's program needs: two words for each round, in their order, the mask and the offset.
    pub fn words(&self) -> impl Iterator<Item = u32> + '_ {
        let rounds = self.rounds.iter().flat_map(|(a, b)| [*a, *b]);
        rounds.chain([self.mask, self.offset])
    }
}

impl Default for TeidKey {
    /// A key that everybody knows: for tests, and until a node has thrown its own.
    fn default() -> Self {
        Self::new(0x6761_6e6e_6574_2d30_0000_0000_0000_0001)
    }
}

impl fmt::Debug for TeidKey {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TeidKey({:08x})", self.id())
    }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn halves(secret: u128) -> [u64; 2] {
    [secret >> 64, secret & u128::from(u64::MAX)].map(|half| u64::try_from(half).unwrap_or(0))
}

const fn halves_of_word(word: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_be_bytes();
    [u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])]
}

/// The finalizer of SplitMix64: each bit of the result depends upon all.
const fn mixed(mut word: u64) -> u64 {
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::rng::Rng;
    use std::collections::BTreeSet;

    fn keys() -> impl Iterator<Item = TeidKey> {
        (1..=4_u64).map(|seed| {
            let mut dice = Rng::seeded(seed);
            TeidKey::new(u128::from(dice.u64()) << 64 | u128::from(dice.u64()))
        })
    }

    #[test]
    fn the_parts_of_a_name() {
        let name = ContextName::new(0xab, 0xcd_ef05);
        assert_eq!((name, name.generation(), name.place()), (ContextName(0xabcd_ef05), 0xab, 0xcd_ef05));
        assert_eq!(ContextName::new(1, PLACES - 1).place(), PLACES - 1);
        assert!((0..=u16::MAX).all(|generation| ContextName::generation_of(generation) > 0));
    }

    #[test]
    fn a_key_is_undone_and_has_no_zero() {
        for key in keys().chain([TeidKey::default(), TeidKey::TRANSPARENT]) {
            let mut dice = Rng::seeded(1);
            for _ in 0..10_000 {
                let word = dice.u32();
                assert_eq!(key.name(key.teid(ContextName(word))), ContextName(word));
                assert_eq!(key.teid(key.name(Teid(word))), Teid(word));
            }
            assert_eq!((key.teid(ContextName(0)), key.name(Teid(0))), (Teid(0), ContextName(0)));
            assert_eq!(TeidKey::new(key.secret()).secret(), key.secret());
        }
        assert_eq!(TeidKey::TRANSPARENT.teid(ContextName(0x0102_0304)), Teid(0x0102_0304));
        let ids: BTreeSet<u32> = keys().map(|key| key.id()).collect();
        assert_eq!(ids.len(), keys().count());
    }

    #[test]
    fn a_million_places_have_a_million_teids() {
        let key = TeidKey::default();
        let teids =
            |generation| (0..1 << 20).map(move |place| key.teid(ContextName::new(generation, place)).0);
        let mut all: Vec<u32> = teids(1).chain(teids(2)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!((all.len(), all.contains(&0)), (2 << 20, false));
    }

    /// With 2^16 contexts, one of 2^16 TEIDs that somebody thinks of is right.
    #[test]
    fn a_guess_is_right_as_often_as_there_are_contexts() {
        const PLACES: u32 = 1 << 16;
        let hits = |key: TeidKey, mut guess: Box<dyn FnMut() -> u32>| {
            let is_context = |name: ContextName| name.generation() == 1 && name.place() < PLACES;
            (0..1 << 20).filter(|_| is_context(key.name(Teid(guess())))).count()
        };
        let (mut at_random, mut beside, mut counted) = (0, 0, 0);
        for key in keys() {
            let mut dice = Rng::seeded(u64::from(key.id()));
            at_random += hits(key, Box::new(move || dice.u32()));
            // Beside one that was seen, above and below it.
            let Teid(seen) = key.teid(ContextName::new(1, 77));
            let mut step = 0_u32;
            beside += hits(
                key,
                Box::new(move || {
                    step += 1;
                    seen.wrapping_add(step)
                }),
            );
            // By steps of the difference of two that were seen one after the other.
            let Teid(next) = key.teid(ContextName::new(1, 78));
            let (mut at, difference) = (next, next.wrapping_sub(seen) | 1);
            counted += hits(
                key,
                Box::new(move || {
                    at = at.wrapping_add(difference);
                    at
                }),
            );
        }
        // 4 keys with 2^20 guesses each: 64 are to be expected, and four standard deviations are 32.
        for (how, hits) in [("at random", at_random), ("beside", beside), ("counted", counted)] {
            assert!((32..=96).contains(&hits), "{how}: {hits}");
        }
    }

    #[test]
    fn every_bit_of_a_name_changes_half_of_the_bits_of_its_teid() {
        const SAMPLES: u32 = 1000;
        for key in keys() {
            let mut dice = Rng::seeded(u64::from(key.id()));
            for bit in 0..32 {
                let (mut flipped, mut of_each) = (0, [0_u32; 32]);
                for _ in 0..SAMPLES {
                    let name = dice.u32();
                    let change = key.teid(ContextName(name)).0 ^ key.teid(ContextName(name ^ 1 << bit)).0;
                    flipped += change.count_ones();
                    of_each.iter_mut().zip(0..).for_each(|(count, at)| *count += change >> at & 1);
                }
                let mean = f64::from(flipped) / f64::from(SAMPLES);
                assert!((14.0..=18.0).contains(&mean), "bit {bit}: {mean}");
                let even = (SAMPLES * 2 / 5..=SAMPLES * 3 / 5).contains(of_each.iter().min().unwrap())
                    && of_each.iter().all(|count| *count < SAMPLES * 3 / 5);
                assert!(even, "bit {bit}: {of_each:?}");
            }
        }
    }

    /// TEIDs of places that follow upon each other: neither their bits nor their differences follow anything.
    #[test]
    fn contexts_that_are_made_one_after_the_other_have_unrelated_teids() {
        const PLACES: u32 = 1 << 13;
        for key in keys() {
            let teid = |place| key.teid(ContextName::new(1, place)).0;
            let differences: BTreeSet<u32> =
                (1..PLACES).map(|place| teid(place).wrapping_sub(teid(place - 1))).collect();
            assert!(differences.len() > PLACES as usize - 20, "{}", differences.len());
            let xors: BTreeSet<u32> = (1..PLACES).map(|place| teid(place) ^ teid(place - 1)).collect();
            assert!(xors.len() > PLACES as usize - 20, "{}", xors.len());
            // No bit of a place shows in a bit of its TEID, nor in the next TEID's.
            for (from, to) in (0..13).flat_map(|from| (0..32).map(move |to| (from, to))) {
                let equal = (0..PLACES).filter(|place| place >> from & 1 == teid(*place) >> to & 1).count();
                let off = (f64::from(u32::try_from(equal).unwrap()) / f64::from(PLACES) - 0.5).abs();
                // Six standard deviations of 2^13 throws.
                assert!(off < 6.0 / 181.0, "bits {from} and {to}: {off}");
            }
        }
    }
}
