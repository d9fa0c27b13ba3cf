//! GEA1: three registers after one of 64 cells (Beierle et al. 2021, section 2.2). See [`super::registers`].
//!
//! Of the 64 bits of its key 40 matter. It is here for mobiles that have nothing better.

use super::registers::{Linear, add, spread};
use super::{Cipher, Direction, Kc};

/// Of 31 cells.
pub(super) const A: Linear = Linear::new(
    31,
    &[30, 28, 27, 23, 22, 21, 19, 18, 15, 11, 10, 8, 7, 6, 4, 3, 2, 0],
    [22, 0, 13, 21, 25, 2, 7],
);
/// Of 32 cells.
pub(super) const B: Linear =
    Linear::new(32, &[31, 29, 25, 19, 18, 17, 16, 9, 8, 7, 3, 2, 1, 0], [12, 27, 0, 1, 29, 21, 5]);
/// Of 33 cells.
pub(super) const C: Linear =
    Linear::new(33, &[30, 27, 23, 21, 20, 19, 18, 17, 15, 14, 11, 10, 9, 4, 2, 0], [10, 30, 32, 3, 19, 0, 4]);

/// Cells of the register S.
const LENGTH: u8 = 64;
/// The cells of S that f reads.
const TAPS: [u8; 7] = [3, 12, 22, 38, 42, 55, 63];

/// GEA1.
#[derive(Debug, Clone, Copy)]
pub struct Gea1;

impl Cipher for Gea1 {
    fn apply(&self, kc: &Kc, input: u32, direction: Direction, octets: &mut [u8]) {
        let s = spread(LENGTH, TAPS, kc.number(), input, direction);
        let (mut a, mut b, mut c) =
            (A.loaded(s, LENGTH, 0), B.loaded(s, LENGTH, 16), C.loaded(s, LENGTH, 32));
        add(octets, || a.next() ^ b.next() ^ c.next());
    }
}
