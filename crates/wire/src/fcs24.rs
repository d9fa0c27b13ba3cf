//! The 24-bit frame check sequence of LLC (04.64 clause 5.5 [44.064]).
//!
//! Generator x^24 + x^23 + x^21 + x^20 + x^19 + x^17 + x^16 + x^15 + x^13 + x^8 + x^7 + x^5 + x^4 + x^2 + 1. The
//! register starts with ones, the result is complemented and sent least significant octet first.
//!
//! It takes eight octets at a time through eight tables that the compiler works out. A caller whose processor multiplies
//! without carries hands in a [`Fold`]: it makes sixteen octets of a long run first.

/// Octets of the sequence.
pub const FCS_LEN: usize = 3;

/// The generator without its highest term, lowest term first.
const GENERATOR: u32 = 0x00ad_85dd;

/// Runs are folded from this length on: four times sixteen octets.
pub const FOLDED_MIN: usize = 64;

/// Folds the whole sixteens of a run, [`FOLDED_MIN`] octets at least, to sixteen octets that leave the same in an empty
/// register as the run does in the given one. Gives them, and how many octets it took.
///
/// It is handed [`FOLD_KEYS`].
pub type Fold = fn(register: u32, octets: &[u8], keys: &[[u64; 2]; 2]) -> ([u8; 16], usize);

/// The factors of a fold over 64 octets, and of one over sixteen.
pub const FOLD_KEYS: [[u64; 2]; 2] = [fold_keys(512), fold_keys(128)];

/// Sixteen octets that stand `bits` before others are multiplied by these two without carries, the first eight by the
/// first, and the sum of both products is what they add to the others. Lowest bit first, as the register.
const fn fold_keys(bits: u32) -> [u64; 2] {
    // A product of two numbers of 64 bits has 127, so that it stands one bit too far.
    [(power(bits + 63) as u64) << 40, (power(bits - 1) as u64) << 40]
}

/// The remainder of x^n.
const fn power(n: u32) -> u32 {
    let mut register = 1 << 23;
    let mut at = 0;
    while at < n {
        register = (register >> 1) ^ if register & 1 == 1 { GENERATOR } else { 0 };
        at += 1;
    }
    register
}

/// `TABLES[k][octet]`: what `octet` followed by `k` zero octets leaves in the register.
static TABLES: [[u32; 256]; 8] = tables();

#[expect(clippy::indexing_slicing, reason = "runs in the compiler, where an index out of bounds is an error")]
const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut octet: u32 = 0;
    while octet < 256 {
        let mut register = octet;
        let mut bit = 0;
        while bit < 8 {
            register = (register >> 1) ^ if register & 1 == 1 { GENERATOR } else { 0 };
            bit += 1;
        }
        tables[0][octet as usize] = register;
        octet += 1;
    }
    let mut k = 1;
    while k < 8 {
        octet = 0;
        while octet < 256 {
            let before = tables[k - 1][octet as usize];
            tables[k][octet as usize] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            octet += 1;
        }
        k += 1;
    }
    tables
}

#[expect(clippy::indexing_slicing, reason = "an octet is always below 256")]
const fn look_up(table: &[u32; 256], octet: u8) -> u32 {
    table[octet as usize]
}

/// What each octet leaves in the register: for who computes the sequence in a place where this module is not.
#[must_use]
pub const fn octet_table() -> &'static [u32; 256] {
    let [first, ..] = &TABLES;
    first
}

/// A sequence that grows with each call of [`Fcs24::update`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fcs24(u32);

impl Default for Fcs24 {
    fn default() -> Self {
        Self::new()
    }
}

impl Fcs24 {
    /// Before the first octet.
    #[must_use]
    pub const fn new() -> Self {
        Self(0x00ff_ffff)
    }

    /// Takes in `octets`, of which `fold` makes sixteen where there are many.
    #[must_use]
    pub fn update_folded(self, octets: &[u8], fold: Option<Fold>) -> Self {
        if octets.len() >= FOLDED_MIN
            && let Some(fold) = fold
        {
            let (sixteen, taken) = fold(self.0, octets, &FOLD_KEYS);
            return Self(0).update(&sixteen).update(octets.get(taken..).unwrap_or_default());
        }
        self.update(octets)
    }

    /// Takes in `octets`, by tables.
    #[must_use]
    pub fn update(self, octets: &[u8]) -> Self {
        let [t0, t1, t2, t3, t4, t5, t6, t7] = &TABLES;
        let mut register = self.0;
        let (eights, rest) = octets.as_chunks::<8>();
        for &[a, b, c, d, e, f, g, h] in eights {
            let [r0, r1, r2, _] = register.to_le_bytes();
            register = look_up(t7, a ^ r0)
                ^ look_up(t6, b ^ r1)
                ^ look_up(t5, c ^ r2)
                ^ look_up(t4, d)
                ^ look_up(t3, e)
                ^ look_up(t2, f)
                ^ look_up(t1, g)
                ^ look_up(t0, h);
        }
        for octet in rest {
            let [low, ..] = register.to_le_bytes();
            register = (register >> 8) ^ look_up(t0, low ^ octet);
        }
        Self(register)
    }

    /// The three octets in the order of sending.
    #[must_use]
    pub const fn finish(self) -> [u8; FCS_LEN] {
        let [a, b, c, _] = (!self.0).to_le_bytes();
        [a, b, c]
    }
}

/// The sequence of `octets` alone, by tables.
#[must_use]
pub fn fcs24(octets: &[u8]) -> [u8; FCS_LEN] {
    Fcs24::new().update(octets).finish()
}

/// The sequence of `octets` alone, of which `fold` makes sixteen where there are many.
#[must_use]
pub fn fcs24_folded(octets: &[u8], fold: Option<Fold>) -> [u8; FCS_LEN] {
    Fcs24::new().update_folded(octets, fold).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_a_real_phone_and_core() {
        for (frame, fcs) in [
            (&[0x41, 0xc0, 0x01, 0x08, 0x15, 0x02][..], [0xde, 0x8e, 0x9a]),
            (&[0x01, 0xc0, 0x11, 0x08, 0x03], [0xea, 0x67, 0x11]),
            (&[0x43, 0xfb, 0x01, 0x00, 0x16, 0x01, 0xf4, 0x1a, 0x05, 0xdf], [0x8c, 0x7c, 0x4e]),
            (&[0x01, 0xc0, 0x05, 0x08, 0x16, 0x08, 0x0a, 0, 0, 0, 0, 0, 0, 0], [0x18, 0xb2, 0x39]),
        ] {
            assert_eq!(fcs24(frame), fcs);
        }
    }

    #[test]
    fn any_split_gives_the_same() {
        let octets: Vec<u8> =
            (0..1_000_u32).map(|n| n.wrapping_mul(37).to_le_bytes()[0] ^ n.to_le_bytes()[1]).collect();
        let bitwise = {
            let mut register = 0x00ff_ffff_u32;
            for octet in &octets {
                register ^= u32::from(*octet);
                for _ in 0..8 {
                    register = (register >> 1) ^ if register & 1 == 1 { GENERATOR } else { 0 };
                }
            }
            let [a, b, c, _] = (!register).to_le_bytes();
            [a, b, c]
        };
        for split in 0..octets.len() {
            let (front, back) = octets.split_at(split);
            assert_eq!(Fcs24::new().update(front).update(back).finish(), bitwise);
        }
    }
}
