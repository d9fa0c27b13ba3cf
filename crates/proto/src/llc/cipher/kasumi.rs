//! KASUMI (35.202), over several blocks with a key each: the processor works at one while it waits for the tables of
//! another. `N` of 1 is the cipher as it is specified.

use core::array;

/// The S-box S7 (clause 4.5.1).
#[rustfmt::skip]
pub const S7: [u8; 128] = [
    54, 50, 62, 56, 22, 34, 94, 96, 38, 6, 63, 93, 2, 18, 123, 33, 55, 113, 39, 114, 21, 67, 65, 12, 47, 73,
    46, 27, 25, 111, 124, 81, 53, 9, 121, 79, 52, 60, 58, 48, 101, 127, 40, 120, 104, 70, 71, 43, 20, 122, 72,
    61, 23, 109, 13, 100, 77, 1, 16, 7, 82, 10, 105, 98, 117, 116, 76, 11, 89, 106, 0, 125, 118, 99, 86, 69,
    30, 57, 126, 87, 112, 51, 17, 5, 95, 14, 90, 84, 91, 8, 35, 103, 32, 97, 28, 66, 102, 31, 26, 45, 75, 4,
    85, 92, 37, 74, 80, 49, 68, 29, 115, 44, 64, 107, 108, 24, 110, 83, 36, 78, 42, 19, 15, 41, 88, 119, 59,
    3,
];

/// The S-box S9 (clause 4.5.2).
#[rustfmt::skip]
pub const S9: [u16; 512] = [
    167, 239, 161, 379, 391, 334, 9, 338, 38, 226, 48, 358, 452, 385, 90, 397, 183, 253, 147, 331, 415, 340,
    51, 362, 306, 500, 262, 82, 216, 159, 356, 177, 175, 241, 489, 37, 206, 17, 0, 333, 44, 254, 378, 58, 143,
    220, 81, 400, 95, 3, 315, 245, 54, 235, 218, 405, 472, 264, 172, 494, 371, 290, 399, 76, 165, 197, 395,
    121, 257, 480, 423, 212, 240, 28, 462, 176, 406, 507, 288, 223, 501, 407, 249, 265, 89, 186, 221, 428,
    164, 74, 440, 196, 458, 421, 350, 163, 232, 158, 134, 354, 13, 250, 491, 142, 191, 69, 193, 425, 152, 227,
    366, 135, 344, 300, 276, 242, 437, 320, 113, 278, 11, 243, 87, 317, 36, 93, 496, 27, 487, 446, 482, 41,
    68, 156, 457, 131, 326, 403, 339, 20, 39, 115, 442, 124, 475, 384, 508, 53, 112, 170, 479, 151, 126, 169,
    73, 268, 279, 321, 168, 364, 363, 292, 46, 499, 393, 327, 324, 24, 456, 267, 157, 460, 488, 426, 309, 229,
    439, 506, 208, 271, 349, 401, 434, 236, 16, 209, 359, 52, 56, 120, 199, 277, 465, 416, 252, 287, 246, 6,
    83, 305, 420, 345, 153, 502, 65, 61, 244, 282, 173, 222, 418, 67, 386, 368, 261, 101, 476, 291, 195, 430,
    49, 79, 166, 330, 280, 383, 373, 128, 382, 408, 155, 495, 367, 388, 274, 107, 459, 417, 62, 454, 132, 225,
    203, 316, 234, 14, 301, 91, 503, 286, 424, 211, 347, 307, 140, 374, 35, 103, 125, 427, 19, 214, 453, 146,
    498, 314, 444, 230, 256, 329, 198, 285, 50, 116, 78, 410, 10, 205, 510, 171, 231, 45, 139, 467, 29, 86,
    505, 32, 72, 26, 342, 150, 313, 490, 431, 238, 411, 325, 149, 473, 40, 119, 174, 355, 185, 233, 389, 71,
    448, 273, 372, 55, 110, 178, 322, 12, 469, 392, 369, 190, 1, 109, 375, 137, 181, 88, 75, 308, 260, 484,
    98, 272, 370, 275, 412, 111, 336, 318, 4, 504, 492, 259, 304, 77, 337, 435, 21, 357, 303, 332, 483, 18,
    47, 85, 25, 497, 474, 289, 100, 269, 296, 478, 270, 106, 31, 104, 433, 84, 414, 486, 394, 96, 99, 154,
    511, 148, 413, 361, 409, 255, 162, 215, 302, 201, 266, 351, 343, 144, 441, 365, 108, 298, 251, 34, 182,
    509, 138, 210, 335, 133, 311, 352, 328, 141, 396, 346, 123, 319, 450, 281, 429, 228, 443, 481, 92, 404,
    485, 422, 248, 297, 23, 213, 130, 466, 22, 217, 283, 70, 294, 360, 419, 127, 312, 377, 7, 468, 194, 2,
    117, 295, 463, 258, 224, 447, 247, 187, 80, 398, 284, 353, 105, 390, 299, 471, 470, 184, 57, 200, 348, 63,
    204, 188, 33, 451, 97, 30, 310, 219, 94, 160, 129, 493, 64, 179, 263, 102, 189, 207, 114, 402, 438, 477,
    387, 122, 192, 42, 381, 5, 145, 118, 180, 449, 293, 323, 136, 380, 43, 66, 60, 455, 341, 445, 202, 432, 8,
    237, 15, 376, 436, 464, 59, 461,
];

/// The constants that make K' of K (clause 4.6).
pub const KEY_CONSTANTS: [u16; 8] = [0x0123, 0x4567, 0x89ab, 0xcdef, 0xfedc, 0xba98, 0x7654, 0x3210];

/// The same word of `N` blocks or keys.
type Words<const N: usize> = [u16; N];

/// Subkeys of one round (clause 4.6).
#[derive(Clone, Copy)]
struct Round<const N: usize> {
    kl: [Words<N>; 2],
    ko: [Words<N>; 3],
    ki: [Words<N>; 3],
}

/// `N` keys, ready for use. They are never printed.
#[derive(Clone)]
pub struct Kasumi<const N: usize>([Round<N>; 8]);

impl<const N: usize> core::fmt::Debug for Kasumi<N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Kasumi(..)")
    }
}

impl<const N: usize> Kasumi<N> {
    /// With these keys.
    #[must_use]
    pub fn new(keys: [&[u8; 16]; N]) -> Self {
        let key = |word: usize| {
            keys.map(|key| key.as_chunks().0.get(word % 8).map_or(0, |octets| u16::from_be_bytes(*octets)))
        };
        let changed = |word: usize| {
            let constant = KEY_CONSTANTS.get(word % 8).copied().unwrap_or(0);
            key(word).map(|key| key ^ constant)
        };
        let rotated = |word: usize, by: u32| key(word).map(|key| key.rotate_left(by));
        Self(array::from_fn(|n| Round {
            kl: [rotated(n, 1), changed(n + 2)],
            ko: [rotated(n + 1, 5), rotated(n + 5, 8), rotated(n + 6, 13)],
            ki: [changed(n + 4), changed(n + 3), changed(n + 7)],
        }))
    }

    /// Enciphers a block with each key (clause 3.2).
    #[must_use]
    #[inline]
    pub fn encrypt(&self, blocks: [u64; N]) -> [u64; N] {
        let mut left = [word(blocks, 48), word(blocks, 32)];
        let mut right = [word(blocks, 16), word(blocks, 0)];
        for [odd, even] in self.0.as_chunks().0 {
            right = xor_pairs(right, fo(fl(left, &odd.kl), odd));
            left = xor_pairs(left, fl(fo(right, even), &even.kl));
        }
        let ([a, b], [c, d]) = (left, right);
        let mut words = a.into_iter().zip(b).zip(c).zip(d);
        array::from_fn(|_| {
            words.next().map_or(0, |(((a, b), c), d)| {
                u64::from(a) << 48 | u64::from(b) << 32 | u64::from(c) << 16 | u64::from(d)
            })
        })
    }
}

impl Kasumi<1> {
    /// The subkeys of each round in two words, for who enciphers elsewhere: KL1 KL2 KO1 KO2 and KO3 KI1 KI2 KI3, the first
    /// in the highest bits.
    #[must_use]
    pub fn subkeys(&self) -> [[u64; 2]; 8] {
        let word = |words: [Words<1>; 4]| {
            words.iter().flatten().fold(0, |word, subkey| word << 16 | u64::from(*subkey))
        };
        self.0.map(|Round { kl, ko, ki }| {
            [word([kl[0], kl[1], ko[0], ko[1]]), word([ko[2], ki[0], ki[1], ki[2]])]
        })
    }
}

/// Sixteen bits of each block.
#[inline]
fn word<const N: usize>(blocks: [u64; N], at: u32) -> Words<N> {
    #[expect(clippy::cast_possible_truncation, reason = "the lower sixteen bits are meant")]
    blocks.map(|block| (block >> at) as u16)
}

#[inline]
fn both<const N: usize>(a: Words<N>, b: Words<N>, with: impl Fn(u16, u16) -> u16) -> Words<N> {
    let mut pairs = a.into_iter().zip(b);
    array::from_fn(|_| pairs.next().map_or(0, |(a, b)| with(a, b)))
}

#[inline]
fn xor<const N: usize>(a: Words<N>, b: Words<N>) -> Words<N> {
    both(a, b, |a, b| a ^ b)
}

#[inline]
fn xor_pairs<const N: usize>([a, b]: [Words<N>; 2], [c, d]: [Words<N>; 2]) -> [Words<N>; 2] {
    [xor(a, c), xor(b, d)]
}

/// FL (clause 4.2).
#[inline]
fn fl<const N: usize>([left, right]: [Words<N>; 2], kl: &[Words<N>; 2]) -> [Words<N>; 2] {
    let right = xor(right, both(left, kl[0], |left, kl| (left & kl).rotate_left(1)));
    let left = xor(left, both(right, kl[1], |right, kl| (right | kl).rotate_left(1)));
    [left, right]
}

/// FO (clause 4.3).
#[inline]
fn fo<const N: usize>([left, right]: [Words<N>; 2], round: &Round<N>) -> [Words<N>; 2] {
    let Round { ko, ki, .. } = round;
    let first = xor(fi(xor(left, ko[0]), ki[0]), right);
    let second = xor(fi(xor(right, ko[1]), ki[1]), first);
    let third = xor(fi(xor(first, ko[2]), ki[2]), second);
    [second, third]
}

/// FI (clause 4.4).
#[inline]
fn fi<const N: usize>(words: Words<N>, ki: Words<N>) -> Words<N> {
    both(words, ki, |word, ki| {
        let (nine, seven) = (word >> 7, word & 0x7f);
        let nine = s9(nine) ^ seven;
        let seven = s7(seven) ^ nine & 0x7f ^ ki >> 9;
        let nine = s9(nine ^ ki & 0x1ff) ^ seven;
        let seven = s7(seven) ^ nine & 0x7f;
        seven << 9 | nine
    })
}

#[inline]
fn s7(seven: u16) -> u16 {
    S7.get(usize::from(seven & 0x7f)).map_or(0, |seven| u16::from(*seven))
}

#[inline]
fn s9(nine: u16) -> u16 {
    S9.get(usize::from(nine & 0x1ff)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex<const N: usize>(digits: u128) -> [u8; N] {
        digits.to_be_bytes()[16 - N..].try_into().unwrap()
    }

    /// 35.203 clause 3, test sets 1 to 4: key, block, times, block.
    const CONFORMANCE: [(u128, u64, usize, u64); 4] = [
        (0x2bd6_459f_82c5_b300_952c_4910_4881_ff48, 0xea02_4714_ad5c_4d84, 1, 0xdf1f_9b25_1c0b_f45f),
        (0x8ce3_3e2c_c3c0_b5fc_1f3d_e8a6_dc66_b1f3, 0xd3c5_d592_327f_b11c, 1, 0xde55_1988_ceb2_f9b7),
        (0x4035_c668_0af8_c6d1_a8ff_8667_b171_4013, 0x62a5_4098_1ba6_f9b7, 1, 0x4592_b0e7_8690_f71b),
        (0x3a3b_39b5_c3f2_376d_69f7_d546_e5f8_5d43, 0xca49_c1c7_5771_ab0b, 50, 0x738b_ad4c_4a69_0802),
    ];
    /// Blocks of zeros under keys of one bit (NESSIE's test vectors of KASUMI, set 1).
    const ONE_BIT: [(u128, u64); 5] = [
        (1 << 127, 0x4b58_a771_afc7_e5e8),
        (1 << 119, 0x7eef_113c_95bb_5a77),
        (1 << 111, 0x5f14_0686_d7ad_5a39),
        (1, 0x2e14_91cf_70aa_465d),
        (1 << 8, 0xb545_86f4_ab9a_e546),
    ];

    #[test]
    fn known_answers() {
        for (key, block, times, expected) in CONFORMANCE {
            let kasumi = Kasumi::new([&hex(key)]);
            let [block] = (0..times).fold([block], |block, _| kasumi.encrypt(block));
            assert_eq!(block, expected, "{key:032x}");
        }
        for (key, expected) in ONE_BIT {
            assert_eq!(Kasumi::new([&hex(key)]).encrypt([0]), [expected], "{key:032x}");
        }
    }

    #[test]
    fn several_at_once_are_as_one_by_one() {
        let keys = CONFORMANCE.map(|(key, ..)| hex(key));
        let [a, b, c, _] = CONFORMANCE.map(|(_, block, ..)| block);
        let [x, y, z, _] = CONFORMANCE.map(|(.., block)| block);
        let [key_a, key_b, key_c, _] = &keys;
        assert_eq!(Kasumi::new([key_a, key_b, key_c]).encrypt([a, b, c]), [x, y, z]);
        assert_eq!(format!("{:?}", Kasumi::new([key_a])), "Kasumi(..)");
    }
}
