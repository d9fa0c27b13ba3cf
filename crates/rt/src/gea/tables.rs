//! KASUMI's S-boxes in the shapes in which vector instructions look them up.
//!
//! S9 takes nine bits, which come in two ways: the first time as the upper octet of a word and the top bit of its lower
//! one, the second time as the lower octet of what came out and a ninth bit. Either way it is an octet and a *lone* bit,
//! which stands in bit 7 of an octet of its own.

use gannet_proto::llc::cipher::kasumi::{S7, S9};

/// The octet that S9 takes gets its place in the nine bits.
#[derive(Clone, Copy)]
pub(super) enum Nine {
    /// octet · 2 + lone bit.
    LoneLast,
    /// lone bit · 256 + octet.
    LoneFirst,
}

impl Nine {
    /// S9 of an octet and a lone bit.
    pub(super) const fn s9(self, octet: u8, lone: bool) -> u16 {
        let (octet, lone) = (octet as usize, lone as usize);
        let at = match self {
            Self::LoneLast => octet << 1 | lone,
            Self::LoneFirst => lone << 8 | octet,
        };
        let (_, from) = S9.split_at(at);
        match from {
            [value, ..] => *value,
            [] => 0,
        }
    }
}

pub(super) const fn s7(seven: u8) -> u8 {
    let (_, from) = S7.split_at((seven & 0x7f) as usize);
    match from {
        [value, ..] => *value,
        [] => 0,
    }
}

/// Sixteen octets, once in each lane of 128 bits of a vector of 256.
type Twice = [u8; 32];

const fn twice(octets: [u8; 16]) -> Twice {
    let mut out = [0; 32];
    let (first, second) = out.split_at_mut(16);
    first.copy_from_slice(&octets);
    second.copy_from_slice(&octets);
    out
}

/// S9 as sixteen octets at a time can tell it. Its bits are of degree two in those that it takes (35.202 clause 4.5.2):
/// what four upper bits give, what four lower bits give, what the lone bit adds to both, and a product of each upper bit
/// with something linear in the lower ones.
///
/// For eight of its nine bits each part is looked up and they are added. The ninth is the parity of an AND of two octets,
/// one looked up by the upper bits and one by the lower ones and the lone bit.
pub(super) struct Quadratic {
    /// By the upper bits, with zeros elsewhere.
    pub(super) upper: Twice,
    /// What lower bits add to that.
    pub(super) lower: Twice,
    /// By the upper bits: what the lone bit changes.
    pub(super) lone_upper: Twice,
    /// By the lower bits: what the lone bit changes besides.
    pub(super) lone_lower: Twice,
    /// By the lower bits: what goes with upper bit n.
    pub(super) products: [Twice; 4],
    /// One side of the ninth bit: by the upper bits.
    pub(super) ninth_upper: Twice,
    /// The other side: by the lower bits, without and with the lone bit.
    pub(super) ninth_lower: [Twice; 2],
    /// The parity of four bits, where the ninth bit is to stand.
    pub(super) parity: Twice,
}

/// Bit 8.
const fn ninth(value: u16) -> u8 {
    (value >> 8 & 1).to_be_bytes()[1]
}

const fn eight(value: u16) -> u8 {
    value.to_be_bytes()[1]
}

impl Quadratic {
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which says so where it fails")]
    pub(super) const fn new(nine: Nine, ninth_at: u8) -> Self {
        let zero = nine.s9(0, false);
        let lone_zero = nine.s9(0, true) ^ zero;
        let [mut upper, mut lower, mut lone_upper, mut lone_lower] = [[0; 16]; 4];
        let [mut ninth_upper, mut ninth_without, mut ninth_with, mut parity] = [[0; 16]; 4];
        let mut products = [[0; 16]; 4];
        let mut n = 0_u8;
        while n < 16 {
            let at = n as usize;
            let (of_upper, of_lower) = (nine.s9(n << 4, false), nine.s9(n, false) ^ zero);
            let by_lone_upper = nine.s9(n << 4, true) ^ of_upper;
            let by_lone_lower = nine.s9(n, true) ^ nine.s9(n, false) ^ lone_zero;
            upper[at] = eight(of_upper);
            lower[at] = eight(of_lower);
            lone_upper[at] = eight(by_lone_upper);
            lone_lower[at] = eight(by_lone_lower);
            let mut linear = 0;
            let mut bit = 0;
            while bit < 4 {
                let product = nine.s9(n | 0x10 << bit, false) ^ nine.s9(0x10 << bit, false) ^ of_lower;
                products[bit][at] = eight(product);
                linear |= ninth(product) << bit;
                bit += 1;
            }
            ninth_upper[at] = n | ninth(of_upper) << 4 | 1 << 5 | ninth(by_lone_upper) << 6;
            ninth_without[at] = linear | 1 << 4 | ninth(of_lower) << 5;
            ninth_with[at] = linear | 1 << 4 | ninth(of_lower ^ by_lone_lower) << 5 | 1 << 6;
            parity[at] = if n.count_ones() % 2 == 1 { ninth_at } else { 0 };
            n += 1;
        }
        let [a, b, c, d] = products;
        Self {
            upper: twice(upper),
            lower: twice(lower),
            lone_upper: twice(lone_upper),
            lone_lower: twice(lone_lower),
            products: [twice(a), twice(b), twice(c), twice(d)],
            ninth_upper: twice(ninth_upper),
            ninth_lower: [twice(ninth_without), twice(ninth_with)],
            parity: twice(parity),
        }
    }
}

/// S7 in eight pieces by its three upper bits, shifted to the left by `by`.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which says so where it fails")]
pub(super) const fn s7_pieces(by: u8) -> [Twice; 8] {
    let mut pieces = [[0; 32]; 8];
    let mut n = 0_u8;
    while n < 128 {
        let (piece, at) = (n as usize / 16, n as usize % 16);
        pieces[piece][at] = s7(n) << by;
        pieces[piece][at + 16] = s7(n) << by;
        n += 1;
    }
    pieces
}

/// S7 in two pieces by its upper bit, shifted to the left by `by`.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which says so where it fails")]
pub(super) const fn s7_halves(by: u8) -> [[u8; 64]; 2] {
    let mut halves = [[0; 64]; 2];
    let mut n = 0_u8;
    while n < 128 {
        halves[n as usize / 64][n as usize % 64] = s7(n) << by;
        n += 1;
    }
    halves
}

/// S9 as 64 octets at a time can tell it.
pub(super) struct Whole {
    /// Eight of its bits: by the lone bit, then by the octet's two upper bits, then by the others.
    pub(super) eight: [[[u8; 64]; 4]; 2],
    /// The ninth, by the octet's six lower bits; bit n is for its two upper bits and four times the lone bit.
    pub(super) ninth: [u8; 64],
}

impl Whole {
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which says so where it fails")]
    pub(super) const fn new(nine: Nine) -> Self {
        let mut whole = Self { eight: [[[0; 64]; 4]; 2], ninth: [0; 64] };
        let mut n = 0_u16;
        while n < 512 {
            let (octet, lone) = (n.to_be_bytes()[1], n >= 256);
            let (piece, at) = (octet as usize / 64, octet as usize % 64);
            let value = nine.s9(octet, lone);
            whole.eight[lone as usize][piece][at] = eight(value);
            whole.ninth[at] |= ninth(value) << (piece + 4 * lone as usize);
            n += 1;
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What instructions that no processor here may have would find in the tables.
    #[test]
    fn tables_tell_the_s_boxes() {
        let (pieces, halves) = ([s7_pieces(0), s7_pieces(1)], [s7_halves(0), s7_halves(1)]);
        for n in 0..128_u8 {
            let at = usize::from(n);
            for by in 0..2 {
                assert_eq!(pieces[by][at / 16][at % 16], s7(n) << by);
                assert_eq!(pieces[by][at / 16][at % 16 + 16], s7(n) << by);
                assert_eq!(halves[by][at / 64][at % 64], s7(n) << by);
            }
        }
        for (nine, ninth_at) in [(Nine::LoneLast, 0x80), (Nine::LoneFirst, 1)] {
            let (quadratic, whole) = (Quadratic::new(nine, ninth_at), Whole::new(nine));
            for (octet, lone) in (0..=255_u8).flat_map(|octet| [(octet, false), (octet, true)]) {
                let expected = nine.s9(octet, lone);
                let (upper, lower) = (usize::from(octet >> 4), usize::from(octet & 15));
                let mut eight = quadratic.upper[upper] ^ quadratic.lower[lower];
                if lone {
                    eight ^= quadratic.lone_upper[upper] ^ quadratic.lone_lower[lower];
                }
                for (bit, product) in
                    quadratic.products.iter().enumerate().filter(|(bit, _)| upper >> bit & 1 == 1)
                {
                    assert!(bit < 4);
                    eight ^= product[lower];
                }
                assert_eq!(u16::from(eight), expected & 0xff);
                let terms = quadratic.ninth_upper[upper] & quadratic.ninth_lower[usize::from(lone)][lower];
                let ninth = quadratic.parity[usize::from((terms ^ terms >> 4) & 15)];
                assert_eq!(ninth, if expected > 0xff { ninth_at } else { 0 });
                let at = usize::from(octet & 63);
                assert_eq!(
                    u16::from(whole.eight[usize::from(lone)][usize::from(octet >> 6)][at]),
                    expected & 0xff
                );
                let bit = (octet >> 6) + 4 * u8::from(lone);
                assert_eq!(u16::from(whole.ninth[at] >> bit & 1), expected >> 8);
            }
        }
    }
}
