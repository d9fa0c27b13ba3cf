//! GPRS mobility management: 04.08 clause 4.7 [24.008], and the MM states of 03.60 clause 6.1 [23.060].
//!
//! [`network`] is the SGSN's side and [`ms`] the mobile's. Each is one plain value for each mobile and one
//! `handle(event)` that appends actions. Neither knows a frame: an event carries a decoded message together with
//! the TLLI and the cell it came with, and an action carries the message to be sent and the TLLI to be used. What the
//! two have in common stands here: the MM state, temporary identities, and the coding of the negotiated timers.
//!
//! Two machines, not one: the *MM state* (IDLE, STANDBY, READY) says how exactly a mobile's place is known and is
//! moved by any LLC frame and by T3314; the *GMM state* (GMM-DEREGISTERED, GMM-REGISTERED and their like) is moved by
//! the procedures. Clause numbers below are those of 04.08 [24.008] unless another document is named.

mod ciphered;
mod consequence;
/// One side alone: the conformance tests' own harness, for the tests of both sides here.
#[cfg(test)]
#[path = "../../tests/conformance/gmm/harness.rs"]
#[allow(missing_docs, missing_debug_implementations, clippy::new_without_default, reason = "tests")]
pub mod harness;
pub mod ms;
pub mod network;

pub use ciphered::{goes_ciphered, message_goes_ciphered};
pub(crate) use consequence::Consequence;

use gannet_machine::time::Duration;
use gannet_wire::id::{Bvci, CellId, Nsei, PTmsi};
use gannet_wire::l3::ie::{GprsTimer, PTmsiSignature, PdpContextStatus};
use serde::{Deserialize, Serialize};

/// The MM state of 03.60 clause 6.1 [23.060], the same at both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum MmState {
    /// Not attached: no valid location is known.
    #[default]
    Idle,
    /// Attached, the place is known to the routing area. Downlink data need paging.
    Standby,
    /// Attached, the place is known to the cell. T3314 runs.
    Ready,
}

impl core::fmt::Display for MmState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Idle => "IDLE",
            Self::Standby => "STANDBY",
            Self::Ready => "READY",
        })
    }
}

/// Where a mobile was heard: the cell, and the BVC that serves it, which stands first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[repr(C)]
pub struct Cell {
    /// The network service entity behind which the cell lies.
    pub nsei: Nsei,
    /// The cell's BVC.
    pub bvci: Bvci,
    /// The cell's own name.
    pub id: CellId,
}

/// A P-TMSI with its signature (03.03 clause 2.4 [23.003]; clause 10.5.5.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemporaryIdentity {
    /// The P-TMSI.
    pub ptmsi: PTmsi,
    /// The signature's 24 bits, as three octets to save space in every mobile.
    signature: Option<[u8; 3]>,
}

impl TemporaryIdentity {
    /// A P-TMSI, and its signature where it has one. Of the signature 24 bits count.
    #[must_use]
    pub const fn new(ptmsi: PTmsi, signature: Option<PTmsiSignature>) -> Self {
        let signature = match signature {
            Some(PTmsiSignature(bits)) => {
                let [_, a, b, c] = bits.to_be_bytes();
                Some([a, b, c])
            }
            None => None,
        };
        Self { ptmsi, signature }
    }

    /// The signature.
    #[must_use]
    pub fn signature(self) -> Option<PTmsiSignature> {
        self.signature.map(|[a, b, c]| PTmsiSignature(u32::from_be_bytes([0, a, b, c])))
    }
}

/// The defaults of clause 11.2.2: 44 s, 54 min and 12 min.
const T3314_DEFAULT: GprsTimer = GprsTimer(0x16);
const T3312_DEFAULT: GprsTimer = GprsTimer(0x49);
const T3302_DEFAULT: GprsTimer = GprsTimer(0x2c);

/// The span of a negotiated timer; `None` where it is deactivated.
fn span(timer: GprsTimer) -> Option<Duration> {
    timer.seconds().map(|seconds| Duration::from_secs(u64::from(seconds)))
}

/// The contexts that are active in `these` and not in `others`.
const fn without(these: PdpContextStatus, others: PdpContextStatus) -> PdpContextStatus {
    PdpContextStatus(these.0 & !others.0 & NSAPIS)
}

/// NSAPIs 5 to 15.
const NSAPIS: u16 = 0xffe0;

/// The requests of a mobile told apart: a number that is the same for the same information elements (FNV-1a).
///
/// A repeated ATTACH REQUEST or ROUTING AREA UPDATE REQUEST is compared with the one in progress "in one or more of
/// its information elements" (clauses 4.7.3.1.6 d, 4.7.5.1.6 d and e). The number stands in for the message, which
/// would be too long to keep.
#[must_use]
pub(crate) fn fingerprint(octets: &[u8]) -> u32 {
    octets.iter().fold(0x811c_9dc5, |hash, octet| (hash ^ u32::from(*octet)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_of_clause_11_2_2() {
        for (timer, secs) in [(T3314_DEFAULT, 44), (T3312_DEFAULT, 54 * 60), (T3302_DEFAULT, 12 * 60)] {
            assert_eq!(span(timer), Some(Duration::from_secs(secs)));
        }
        assert_eq!(span(GprsTimer::DEACTIVATED), None);
    }

    #[test]
    fn pdp_context_status_compares_both_sides() {
        let (network, mobile) = (PdpContextStatus(1 << 5 | 1 << 6), PdpContextStatus(1 << 6 | 1 << 7 | 1));
        assert_eq!(without(network, mobile), PdpContextStatus(1 << 5));
        assert_eq!(without(mobile, network), PdpContextStatus(1 << 7), "bits below NSAPI 5 mean nothing");
    }
}
