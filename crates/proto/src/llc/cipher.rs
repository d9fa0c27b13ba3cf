//! Ciphering of LLC frames: the place where an algorithm is put in (04.64 clause 4.6 and annex A [44.064]).
//!
//! Information and FCS of a UI frame are ciphered, the header is not. Which algorithm serves a TLLI is said by
//! LLGMM-ASSIGN. Today there is GEA0, which is none.

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

/// The key Kc. It is never printed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Kc(pub [u8; 8]);

impl fmt::Debug for Kc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kc(..)")
    }
}

/// An algorithm's number in the messages of GMM (04.08 clause 10.5.5.3 [24.008]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Algorithm {
    /// No ciphering.
    #[default]
    Gea0,
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
    pub const NONE: Self = Self { algorithm: Algorithm::Gea0, kc: Kc([0; 8]) };

    /// The algorithm for a frame that is or is to be ciphered; `None` where it goes in the clear.
    pub(super) fn cipher_for(&self, ciphered: bool) -> Option<&'static dyn Cipher> {
        match (ciphered, self.algorithm) {
            (false, _) | (true, Algorithm::Gea0) => None,
        }
    }
}

/// The input of a UI frame: ((IOV-UI ⊕ SX) + LFN + OC) modulo 2^32 with SX = 2^27 · SAPI + 2^31 (annex A.2.1).
/// `count` is LFN + OC.
#[must_use]
pub fn ui_input(iov_ui: u32, sapi: Sapi, count: u32) -> u32 {
    let sx = (u32::from(sapi.0) << 27).wrapping_add(1 << 31);
    (iov_ui ^ sx).wrapping_add(count)
}
