//! What GEA1 and GEA2 are made of: a Boolean function of seven variables, shift registers with linear feedback that it
//! reads, and one with nonlinear feedback that spreads key and input over them at the beginning.
//!
//! After Beierle, Derbez, Leander, Leurent, Raddum, Rotella, Rupprecht, Stennes: Cryptanalysis of the GPRS Encryption
//! Algorithms GEA-1 and GEA-2, Eurocrypt 2021, sections 2.1 and 2.2. Cell i of a register is bit i of a word.

use super::Direction;

/// The monomials of f in algebraic normal form (section 2.1): bit i for the variable x_i.
const MONOMIALS: [u8; 33] = [
    0b110_0101, 0b110_1001, 0b110_0011, 0b110_0110, 0b100_1101, 0b101_1010, 0b110_1010, 0b001_0101,
    0b000_1101, 0b000_1011, 0b100_0101, 0b001_0011, 0b100_0011, 0b100_0110, 0b110_0100, 0b010_1001,
    0b101_0010, 0b010_0110, 0b000_1001, 0b010_0001, 0b000_1010, 0b010_0010, 0b100_0010, 0b000_0101,
    0b000_0010, 0b000_1100, 0b010_0100, 0b100_0100, 0b011_0000, 0b110_0000, 0b000_0100, 0b000_1000,
    0b010_0000,
];

/// The values of f: bit x for f(x).
const F: u128 = {
    let mut values = 0;
    let mut at = 0;
    while at < 1 << 7 {
        let mut monomials: &[u8] = &MONOMIALS;
        while let Some((&monomial, rest)) = monomials.split_first() {
            if at & monomial == monomial {
                values ^= 1_u128 << at;
            }
            monomials = rest;
        }
        at += 1;
    }
    values
};

/// The lowest bit of a word that a register of either kind stands in.
fn bit(word: u128) -> u64 {
    u64::from(word & 1 != 0)
}

fn f(x: u64) -> u64 {
    bit(F >> x)
}

/// A register with linear feedback, in Galois mode.
#[derive(Debug, Clone, Copy)]
pub(super) struct Linear {
    cells: u64,
    /// What comes in behind the others where the first cell holds a one.
    feedback: u64,
    /// The cells that f reads.
    taps: [u8; 7],
}

impl Linear {
    /// One of `length` cells; the exponents of its polynomial without `length` itself.
    pub(super) const fn new(length: u8, mut exponents: &[u8], taps: [u8; 7]) -> Self {
        let mut feedback = 0;
        while let Some((&exponent, rest)) = exponents.split_first() {
            feedback |= 1 << (length - 1 - exponent);
            exponents = rest;
        }
        Self { cells: 0, feedback, taps }
    }

    /// One step, with a bit added to what the first cell gives.
    fn step(&mut self, input: u64) {
        let first = (self.cells ^ input) & 1;
        self.cells = (self.cells >> 1) ^ (self.feedback & first.wrapping_neg());
    }

    /// Loads the cells of the register of the beginning, from `from` on round to the one before it. Where all cells are
    /// zero thereafter, the first becomes a one.
    pub(super) fn loaded(mut self, cells: u128, length: u8, from: u8) -> Self {
        for n in 0..length {
            self.step(bit(cells >> ((from + n) % length)));
        }
        if self.cells == 0 {
            self.cells = 1;
        }
        self
    }

    /// The next bit.
    pub(super) fn next(&mut self) -> u64 {
        let [a, b, c, d, e, f, g] = self.taps;
        let cell = |tap: u8, to: u8| (self.cells >> tap & 1) << to;
        let bit =
            self::f(cell(a, 0) | cell(b, 1) | cell(c, 2) | cell(d, 3) | cell(e, 4) | cell(f, 5) | cell(g, 6));
        self.step(0);
        bit
    }
}

/// The register of the beginning after it has taken in the input, the direction, the key, and `2 · length` zeros, each
/// from its least significant bit on (section 2.2).
pub(super) fn spread(length: u8, taps: [u8; 7], kc: u64, input: u32, direction: Direction) -> u128 {
    let taken = u128::from(input) | (direction as u128) << 32 | u128::from(kc) << 33;
    let mut cells = 0_u128;
    for step in 0..32 + 1 + 64 + 2 * u32::from(length) {
        let x = taps.iter().zip(0..).fold(0, |x, (tap, to)| x | bit(cells >> tap) << to);
        let next = bit(cells) ^ f(x) ^ bit(taken.checked_shr(step).unwrap_or(0));
        cells = cells >> 1 | u128::from(next) << (length - 1);
    }
    cells
}

/// Adds a keystream, each octet from its least significant bit on.
pub(super) fn add(octets: &mut [u8], mut next: impl FnMut() -> u64) {
    for octet in octets {
        let keystream = (0..8).fold(0, |octet, bit| octet | next() << bit);
        *octet ^= keystream.to_le_bytes()[0];
    }
}
