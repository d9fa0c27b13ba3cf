//! COMP128: the A3/A8 of most SIM cards (03.20 annexes C.1 and C.2 [43.020], where an operator may choose its own).
//!
//! Version 1 compresses key and challenge through five levels, eight times. Its Kc ends in ten zero bits. Versions 2
//! and 3 share one function that keeps its key and works on the challenge; version 2 clears the same ten bits, and
//! version 3 leaves all 64. None of them was ever published by those who made them; the tables stand in
//! [`super::comp128_tables`].

use super::comp128_tables::{INNER, OUTER, T0, T1, T2, T3, T4};
use super::key::{Key64, Key128};
use serde::{Deserialize, Serialize};

/// Which version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Comp128 {
    /// COMP128-1. Its Ki can be found by asking the card often enough.
    V1,
    /// COMP128-2: a Kc of 54 bits.
    V2,
    /// COMP128-3: a Kc of 64 bits.
    V3,
}

impl Comp128 {
    /// A3 and A8: SRES and Kc.
    #[must_use]
    pub fn run(self, ki: &Key128, rand: &[u8; 16]) -> ([u8; 4], Key64) {
        match self {
            Self::V1 => version1(ki, rand),
            Self::V2 => {
                let (sres, Key64([a, b, c, d, e, f, g, _])) = version3(ki, rand);
                (sres, Key64([a, b, c, d, e, f, g & 0xfc, 0]))
            }
            Self::V3 => version3(ki, rand),
        }
    }
}

/// An entry of a table that is as long as the index can be large.
fn entry(table: &[u8], index: usize) -> u8 {
    table.get(index).copied().unwrap_or(0)
}

/// Eight rounds; each begins with the key in front of what the one before has left of the challenge.
fn version1(ki: &Key128, rand: &[u8; 16]) -> ([u8; 4], Key64) {
    let mut behind = *rand;
    let mut nibbles = [0; 32];
    for _ in 0..8 {
        nibbles = compress(&ki.0, &behind);
        behind = permute(&nibbles);
    }
    let packed = |from: usize, shift: usize| {
        // Octet `from` of the 128 bits that the nibbles are, `shift` bits later.
        let bits = (0..3).fold(0_u16, |bits, n| bits << 4 | u16::from(entry(&nibbles, 2 * from + n)));
        u8::try_from(bits >> (4 - shift) & 0xff).unwrap_or(0)
    };
    let sres = core::array::from_fn(|octet| packed(octet, 0));
    // The last 54 bits, and behind them there are only zeros.
    (sres, Key64(core::array::from_fn(|octet| packed(octet + 9, 2))))
}

/// The five levels: 32 octets in pairs of halves, each pair through a table that is half as long as the one before.
fn compress(key: &[u8; 16], behind: &[u8; 16]) -> [u8; 32] {
    let mut octets = [0; 32];
    for (to, from) in octets.iter_mut().zip(key.iter().chain(behind)) {
        *to = *from;
    }
    for (table, half) in [(&T0[..], 16), (&T1, 8), (&T2, 4), (&T3, 2), (&T4, 1)] {
        for block in octets.chunks_exact_mut(2 * half) {
            let (left, right) = block.split_at_mut(half);
            for (left, right) in left.iter_mut().zip(right) {
                let (m, n) = (usize::from(*left), usize::from(*right));
                *left = entry(table, (m + 2 * n) % table.len());
                *right = entry(table, (2 * m + n) % table.len());
            }
        }
    }
    octets
}

/// The 128 bits of 32 nibbles, each 17 places after the one before.
fn permute(nibbles: &[u8; 32]) -> [u8; 16] {
    let bit = |index: usize| entry(nibbles, index / 4) >> (3 - index % 4) & 1;
    core::array::from_fn(|octet| (0..8).fold(0, |value, n| value << 1 | bit((8 * octet + n) * 17 % 128)))
}

fn version3(ki: &Key128, rand: &[u8; 16]) -> ([u8; 4], Key64) {
    let mut state = *rand;
    state.reverse();
    let mut key = ki.0;
    key.reverse();
    for (key, state) in key.iter_mut().zip(&state) {
        *key ^= state;
    }
    for _ in 0..8 {
        state = mix(&state, &key);
    }
    state.reverse();
    let [a, b, c, d, _, _, _, _, kc @ ..] = state;
    ([a, b, c, d], Key64(kc))
}

/// Five levels of a butterfly whose two halves change each other through both permutations, and a permutation of the
/// 256 bits, of which every second one is taken.
fn mix(state: &[u8; 16], key: &[u8; 16]) -> [u8; 16] {
    let through = |under: u8, over: u8| entry(&OUTER, usize::from(entry(&INNER, usize::from(under)) ^ over));
    let (mut low, mut high) = (*state, *key);
    for run in [1, 2, 4, 8, 16] {
        let first: [u8; 16] = core::array::from_fn(|n| through(entry(&high, n), entry(&low, n)));
        let second: [u8; 16] = core::array::from_fn(|n| through(entry(&first, n), entry(&high, n)));
        let mut woven =
            first.chunks(run).zip(second.chunks(run)).flat_map(|(a, b)| a.iter().chain(b)).copied();
        low = core::array::from_fn(|_| woven.next().unwrap_or(0));
        high = core::array::from_fn(|_| woven.next().unwrap_or(0));
    }
    let bit = |index: usize| {
        let half = if index < 128 { &low } else { &high };
        entry(half, index % 128 / 8) >> (index % 8) & 1
    };
    core::array::from_fn(|octet| {
        (0..8).rev().fold(0, |value, n| value << 1 | bit(19 * (8 * octet + n + 1) % 256))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_tables_are_what_their_levels_need() {
        for (table, bits) in [(&T0[..], 8), (&T1, 7), (&T2, 6), (&T3, 5), (&T4, 4)] {
            assert_eq!(table.len(), 2 << bits);
            let values: BTreeSet<u8> = table.iter().copied().collect();
            assert!(values.iter().all(|value| u32::from(*value) < 1 << bits), "{bits} bits");
        }
        // The upper half of the first is the lower one with neighbours exchanged.
        assert!((0..256).all(|index| T0[256 + index] == T0[index ^ 1]));
        for permutation in [INNER, OUTER] {
            assert_eq!(permutation.iter().collect::<BTreeSet<_>>().len(), 256);
        }
    }
}
