//! GEA3 (55.216) and GEA4 (55.226): the core function KGCORE over KASUMI, with a key of 64 bits twice or with one of 128.
//!
//! KGCORE's output mode feeds each block of keystream into the next, so that one frame has nothing to do at once.

use super::kasumi::Kasumi;
use super::{Cipher, Direction, Kc};
use core::array;

/// The octet of KM, by which the key of the first block differs (55.216 clause 4.4).
pub const KM: u8 = 0x55;
/// CA for GPRS (55.216 clause 7).
const CA: u64 = 0xff;

/// Octets of a block of keystream.
pub const BLOCK: usize = 8;

/// The register A before the first block: CC ∥ CB ∥ CD ∥ 00 ∥ CA ∥ CE (55.216 clause 4.4), CB and CE being 0 for GPRS.
#[must_use]
pub const fn register(input: u32, direction: Direction) -> u64 {
    (input as u64) << 32 | (direction as u64) << 26 | CA << 16
}

/// CK ⊕ KM.
#[must_use]
pub fn modified(ck: &[u8; 16]) -> [u8; 16] {
    ck.map(|octet| octet ^ KM)
}

/// Adds a block of keystream to what stands at `at`, which may be less than a block or nothing.
#[inline]
pub fn add_block(octets: &mut [u8], at: usize, keystream: u64) {
    let Some(rest) = octets.get_mut(at..) else { return };
    match rest.first_chunk_mut::<BLOCK>() {
        Some(block) => *block = (u64::from_be_bytes(*block) ^ keystream).to_be_bytes(),
        None => rest.iter_mut().zip(keystream.to_be_bytes()).for_each(|(octet, key)| *octet ^= key),
    }
}

/// One of several frames that go through KGCORE side by side.
#[derive(Debug)]
pub struct Lane<'a> {
    /// The key.
    pub kc: &'a Kc,
    /// INPUT.
    pub input: u32,
    /// DIRECTION.
    pub direction: Direction,
    /// What is ciphered.
    pub octets: &'a mut [u8],
}

/// KGCORE over `N` frames, interleaved; the longest sets what it costs.
pub fn kgcore<const N: usize>(mut lanes: [Lane<'_>; N]) {
    let mut words = lanes.iter().map(|lane| register(lane.input, lane.direction));
    let words = array::from_fn(|_| words.next().unwrap_or(0));
    let first = lanes.each_ref().map(|lane| modified(lane.kc.ck()));
    let registers = Kasumi::new(first.each_ref()).encrypt(words);
    let kasumi = Kasumi::new(lanes.each_ref().map(|lane| lane.kc.ck()));
    let longest = lanes.iter().map(|lane| lane.octets.len()).max().unwrap_or(0);
    let mut keystream = [0; N];
    for (count, at) in (0..).zip((0..longest).step_by(BLOCK)) {
        let mut pairs = registers.iter().zip(keystream);
        keystream = kasumi.encrypt(array::from_fn(|_| {
            pairs.next().map_or(0, |(register, keystream)| register ^ count ^ keystream)
        }));
        for (lane, keystream) in lanes.iter_mut().zip(keystream) {
            add_block(lane.octets, at, keystream);
        }
    }
}

/// GEA3, and GEA4 with a longer key.
#[derive(Debug, Clone, Copy)]
pub struct Gea3;

impl Cipher for Gea3 {
    fn apply(&self, kc: &Kc, input: u32, direction: Direction, octets: &mut [u8]) {
        kgcore([Lane { kc, input, direction, octets }]);
    }
}
