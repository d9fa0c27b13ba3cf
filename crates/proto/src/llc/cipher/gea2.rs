//! GEA2: the registers of GEA1 and one more, after one of 97 cells (Beierle et al. 2021, section 2.3).

use super::gea1::{A, B, C};
use super::registers::{Linear, add, spread};
use super::{Cipher, Direction, Kc};

/// Of 29 cells.
const D: Linear = Linear::new(
    29,
    &[28, 25, 24, 23, 22, 21, 20, 19, 17, 15, 13, 12, 9, 8, 6, 3, 1, 0],
    [12, 23, 3, 0, 10, 27, 17],
);

/// Cells of the register W.
const LENGTH: u8 = 97;
/// The cells of W that f reads.
const TAPS: [u8; 7] = [4, 18, 33, 57, 63, 83, 96];

/// GEA2.
#[derive(Debug, Clone, Copy)]
pub struct Gea2;

impl Cipher for Gea2 {
    fn apply(&self, kc: &Kc, input: u32, direction: Direction, octets: &mut [u8]) {
        let w = spread(LENGTH, TAPS, kc.number(), input, direction);
        let (mut d, mut a) = (D.loaded(w, LENGTH, 0), A.loaded(w, LENGTH, 16));
        let (mut b, mut c) = (B.loaded(w, LENGTH, 33), C.loaded(w, LENGTH, 51));
        add(octets, || a.next() ^ b.next() ^ c.next() ^ d.next());
    }
}
