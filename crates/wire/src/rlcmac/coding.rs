//! Coding schemes CS-1 to CS-4 and the sizes of their blocks: 04.60 (44.060) clause 10.2, 05.03 (45.003) clause 5.1.
//!
//! | | CS-1 | CS-2 | CS-3 | CS-4 |
//! |---|---|---|---|---|
//! | RLC data field, octets (N2 - 2 in clause 10.2) | 20 | 30 | 36 | 50 |
//! | with MAC header and RLC header, octets | 23 | 33 | 39 | 53 |
//! | spare bits behind them | 0 | 7 | 3 | 7 |
//! | bits that are coded | 184 | 271 | 315 | 431 |
//! | octets that hold these bits | 23 | 34 | 40 | 54 |

use core::fmt;

/// Octets of the MAC header and the RLC header of a data block: MAC octet, TFI octet, BSN octet.
pub const HEADER_LEN: usize = 3;
/// Octets of the longest RLC data field: CS-4.
pub const DATA_MAX: usize = 50;
/// Octets that hold the longest block: CS-4.
pub const BLOCK_MAX: usize = 54;
/// Octets of an RLC/MAC control block, which is always coded with CS-1.
pub const CONTROL_BLOCK: usize = 23;

/// A coding scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum CodingScheme {
    /// Rate 1/2.
    #[default]
    Cs1,
    /// About 2/3.
    Cs2,
    /// About 3/4.
    Cs3,
    /// No error correction.
    Cs4,
}

impl CodingScheme {
    /// All four, the best protected first.
    pub const ALL: [Self; 4] = [Self::Cs1, Self::Cs2, Self::Cs3, Self::Cs4];

    /// Octets of the RLC data field: length indicators, TLLI, LL-PDUs and filler.
    #[must_use]
    pub const fn data_octets(self) -> usize {
        match self {
            Self::Cs1 => 20,
            Self::Cs2 => 30,
            Self::Cs3 => 36,
            Self::Cs4 => DATA_MAX,
        }
    }

    /// Bits behind the RLC data field that belong to the block and mean nothing.
    #[must_use]
    pub const fn spare_bits(self) -> usize {
        match self {
            Self::Cs1 => 0,
            Self::Cs2 | Self::Cs4 => 7,
            Self::Cs3 => 3,
        }
    }

    /// Octets that hold a block: MAC header, RLC header, RLC data field and spare bits. A PCU and GSMTAP know a scheme by
    /// this length.
    #[must_use]
    pub const fn block_octets(self) -> usize {
        (8 * (HEADER_LEN + self.data_octets()) + self.spare_bits()).div_ceil(8)
    }

    /// Bits of RLC data field in a second on one PDCH: a block in each 20 ms (12 in the 240 ms of a 52-multiframe).
    #[must_use]
    pub const fn bits_per_second(self) -> u64 {
        (self.data_octets() * 8 * 50) as u64
    }

    /// The scheme of a block that is held in so many octets; `None` where no scheme has such blocks.
    #[must_use]
    pub const fn of_block(octets: usize) -> Option<Self> {
        match octets {
            23 => Some(Self::Cs1),
            34 => Some(Self::Cs2),
            40 => Some(Self::Cs3),
            54 => Some(Self::Cs4),
            _ => None,
        }
    }

    /// The two bits of CHANNEL_CODING_COMMAND (clause 11.2.28).
    #[must_use]
    pub const fn command(self) -> u8 {
        self as u8
    }

    /// The scheme of the two bits of CHANNEL_CODING_COMMAND; the other bits count for nothing.
    #[must_use]
    pub const fn of_command(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Cs1,
            1 => Self::Cs2,
            2 => Self::Cs3,
            _ => Self::Cs4,
        }
    }
}

impl fmt::Display for CodingScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CS-{}", self.command() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_channel_coding() {
        for (scheme, data, bits, octets, rate) in [
            (CodingScheme::Cs1, 20, 184, 23, 8_000),
            (CodingScheme::Cs2, 30, 271, 34, 12_000),
            (CodingScheme::Cs3, 36, 315, 40, 14_400),
            (CodingScheme::Cs4, 50, 431, 54, 20_000),
        ] {
            assert_eq!(scheme.data_octets(), data);
            assert_eq!(8 * (HEADER_LEN + data) + scheme.spare_bits(), bits);
            assert_eq!(scheme.block_octets(), octets);
            assert_eq!(scheme.bits_per_second(), rate);
            assert_eq!(CodingScheme::of_block(octets), Some(scheme));
            assert_eq!(CodingScheme::of_command(scheme.command() | 0xfc), scheme);
        }
        assert_eq!(CodingScheme::ALL.map(|scheme| scheme.to_string()), ["CS-1", "CS-2", "CS-3", "CS-4"]);
        for octets in (0..100).filter(|octets| ![23, 34, 40, 54].contains(octets)) {
            assert_eq!(CodingScheme::of_block(octets), None);
        }
    }
}
