//! Ciphering of LLC frames (04.64 clause 4.6 and annex A [44.064]).
//!
//! Information and FCS of a UI frame are ciphered, the header is not. Which algorithm serves a TLLI is said by
//! LLGMM-ASSIGN.
//!
//! | algorithm | Kc | what it is |
//! |---|---|---|
//! | GEA0 | none | no ciphering |
//! | GEA1 | 64 bits | three registers ([`gea1`]), 40 bits of security |
//! | GEA2 | 64 bits | four registers ([`gea2`]), 45 bits of security |
//! | GEA3 | 64 bits | KGCORE of [`kasumi`] ([`gea3`]) |
//! | GEA4 | 128 bits | the same |
//!
//! One frame is ciphered by [`Ciphering::apply`]. As the blocks of a frame depend upon each other, a processor does far
//! better with many frames at once: [`batch`].

pub mod batch;
pub mod gea1;
pub mod gea2;
pub mod gea3;
pub mod kasumi;
mod registers;

pub use batch::{BatchCipher, Job, Portable};
pub use gea1::Gea1;
pub use gea2::Gea2;
pub use gea3::Gea3;

use super::LlcRole;
use core::fmt;
use gannet_wire::id::Sapi;
use serde::{Deserialize, Serialize};

/// Direction of a ciphered frame, an input of every algorithm (annex A).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the mobile: 0.
    Uplink = 0,
    /// To the mobile: 1.
    Downlink = 1,
}

impl Direction {
    pub(super) const fn sent_by(role: LlcRole) -> Self {
        match role {
            LlcRole::Ms => Self::Uplink,
            LlcRole::Sgsn => Self::Downlink,
        }
    }

    pub(super) const fn received_by(role: LlcRole) -> Self {
        match role {
            LlcRole::Ms => Self::Downlink,
            LlcRole::Sgsn => Self::Uplink,
        }
    }
}

/// One algorithm.
pub trait Cipher {
    /// Ciphers or deciphers `octets` in place (both are the same operation). `input` is that of annex A, made by
    /// [`ui_input`] for a UI frame.
    fn apply(&self, kc: &Kc, input: u32, direction: Direction, octets: &mut [u8]);
}

/// GEA0: changes nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoCipher;

impl Cipher for NoCipher {
    fn apply(&self, _: &Kc, _: u32, _: Direction, _: &mut [u8]) {}
}

/// The key Kc, of 64 bits or of 128 (03.20 clause 4.3 [43.020]). It is never printed.
///
/// One of 64 bits stands here twice, which is how KGCORE takes it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Kc([u8; 16]);

impl Kc {
    /// A key of 64 bits, for GEA1 to GEA3.
    #[must_use]
    pub const fn of_64([a, b, c, d, e, f, g, h]: [u8; 8]) -> Self {
        Self([a, b, c, d, e, f, g, h, a, b, c, d, e, f, g, h])
    }

    /// A key of 128 bits, for GEA4.
    #[must_use]
    pub const fn of_128(octets: [u8; 16]) -> Self {
        Self(octets)
    }

    /// CK of KGCORE (55.216 clause 7 and 55.226 clause 7).
    #[must_use]
    pub const fn ck(&self) -> &[u8; 16] {
        &self.0
    }

    /// The 64 bits of the older algorithms as a number: the last octet has the least significant bit of Kc (11.11
    /// clause 10.3.3 [51.011]).
    const fn number(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}

impl fmt::Debug for Kc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kc(..)")
    }
}

/// Bits of a Kc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KcLength {
    /// Kc.
    Bits64,
    /// Kc128.
    Bits128,
}

/// An algorithm, with its number in the messages of GMM (04.08 clause 10.5.5.3 [24.008]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[repr(u8)]
pub enum Algorithm {
    /// No ciphering.
    #[default]
    Gea0 = 0,
    /// GPRS encryption algorithm 1.
    Gea1 = 1,
    /// GPRS encryption algorithm 2.
    Gea2 = 2,
    /// GPRS encryption algorithm 3 (55.216).
    Gea3 = 3,
    /// GPRS encryption algorithm 4 (55.226).
    Gea4 = 4,
}

impl Algorithm {
    /// All that there are here, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Gea0, Self::Gea1, Self::Gea2, Self::Gea3, Self::Gea4];

    /// Its number in "Ciphering algorithm" (clause 10.5.5.3).
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The algorithm with a number; `None` for GEA5 to GEA7, which are not here.
    #[must_use]
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The key that it takes; `None` where it takes none.
    #[must_use]
    pub const fn kc_length(self) -> Option<KcLength> {
        match self {
            Self::Gea0 => None,
            Self::Gea1 | Self::Gea2 | Self::Gea3 => Some(KcLength::Bits64),
            Self::Gea4 => Some(KcLength::Bits128),
        }
    }

    /// What does it.
    #[must_use]
    pub fn cipher(self) -> &'static dyn Cipher {
        match self {
            Self::Gea0 => &NoCipher,
            Self::Gea1 => &Gea1,
            Self::Gea2 => &Gea2,
            Self::Gea3 | Self::Gea4 => &Gea3,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GEA{}", self.number())
    }
}

/// Algorithm and key of one TLLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ciphering {
    /// Which algorithm.
    pub algorithm: Algorithm,
    /// Its key.
    pub kc: Kc,
}

impl Ciphering {
    /// None.
    pub const NONE: Self = Self { algorithm: Algorithm::Gea0, kc: Kc([0; 16]) };

    /// With a Kc of 64 bits; `None` for an algorithm that takes another key.
    #[must_use]
    pub fn with_kc(algorithm: Algorithm, kc: [u8; 8]) -> Option<Self> {
        match algorithm.kc_length() {
            None => Some(Self::NONE),
            Some(KcLength::Bits64) => Some(Self { algorithm, kc: Kc::of_64(kc) }),
            Some(KcLength::Bits128) => None,
        }
    }

    /// With a Kc128; `None` for an algorithm that takes another key.
    #[must_use]
    pub fn with_kc128(algorithm: Algorithm, kc128: [u8; 16]) -> Option<Self> {
        match algorithm.kc_length() {
            None => Some(Self::NONE),
            Some(KcLength::Bits64) => None,
            Some(KcLength::Bits128) => Some(Self { algorithm, kc: Kc::of_128(kc128) }),
        }
    }

    /// Ciphers or deciphers in place.
    pub fn apply(&self, input: u32, direction: Direction, octets: &mut [u8]) {
        self.algorithm.cipher().apply(&self.kc, input, direction, octets);
    }

    /// The algorithm.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The key, for who ciphers elsewhere.
    #[must_use]
    pub const fn kc(&self) -> &Kc {
        &self.kc
    }

    /// True where something is ciphered at all.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        !matches!(self.algorithm, Algorithm::Gea0)
    }
}

/// The input of a UI frame: ((IOV-UI ⊕ SX) + LFN + OC) modulo 2^32 with SX = 2^27 · SAPI + 2^31 (annex A.2.1).
/// `count` is LFN + OC.
#[must_use]
pub fn ui_input(iov_ui: u32, sapi: Sapi, count: u32) -> u32 {
    let sx = (u32::from(sapi.0) << 27).wrapping_add(1 << 31);
    (iov_ui ^ sx).wrapping_add(count)
}

/// The input of an I frame: (IOV-I + LFN + OC) modulo 2^32 (annex A.2.1). `count` is LFN + OC, and IOV-I belongs to the
/// SAPI, so that this stands nowhere else.
#[must_use]
pub const fn i_input(iov_i: u32, count: u32) -> u32 {
    iov_i.wrapping_add(count)
}

#[cfg(test)]
mod tests;
