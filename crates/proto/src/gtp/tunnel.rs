//! One GTP tunnel, and the layout of our own tunnel endpoint identifiers (29.060 clauses 6 and 9.2).

use gannet_wire::id::Teid;
use serde::{Deserialize, Serialize};

/// What is known of the far end of one PDP context's tunnel: plain data that moves with its mobile.
///
/// Made by [`super::GtpEntity::open`], which counts it at its paths, and given back with [`super::GtpEntity::close`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GtpTunnel {
    /// The peer's endpoint for signalling; 0 where it has named none.
    pub peer_control: Teid,
    /// The peer's endpoint for G-PDUs.
    pub peer_user: Teid,
    /// The path to the peer's address for signalling.
    pub control_path: u16,
    /// The path to the peer's address for user traffic.
    pub user_path: u16,
    /// Sequence number of the next G-PDU (29.060 clause 9.3.1.1).
    pub next_sequence: u16,
    /// G-PDUs carry sequence numbers.
    pub sequenced: bool,
}

/// G-PDUs that may have gone out since the sequence number was kept.
const LEAD: u16 = 2 * crate::llc::KEPT_EVERY;

impl GtpTunnel {
    /// Goes on after a restart of this end, from what was kept last. A peer that keeps G-PDUs in order sees a gap, and no
    /// number twice (29.060 clause 9.3.1.1); LLC says how far behind that may be: [`crate::llc::LlcContext::restore`].
    pub const fn restore(&mut self) {
        self.next_sequence = self.next_sequence.wrapping_add(LEAD);
    }
}

/// Places that a TEID can name.
pub const PLACES: u32 = 1 << 24;

/// What our own TEIDs consist of, so that one access to a table finds the context, here as in the kernel's map:
/// generation (8 bits), place of the context (24 bits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TeidParts {
    /// Tells a TEID from an older one of the same place. Never 0 in a TEID that is given out, so that no TEID is 0.
    pub generation: u8,
    /// The place in a table of contexts, below [`PLACES`].
    pub place: u32,
}

impl TeidParts {
    /// The parts of a TEID.
    #[must_use]
    pub const fn of(teid: Teid) -> Self {
        let [generation, ..] = teid.0.to_be_bytes();
        Self { generation, place: teid.0 & (PLACES - 1) }
    }

    /// The TEID of these parts.
    #[must_use]
    pub const fn teid(self) -> Teid {
        Teid((self.generation as u32) << 24 | self.place & (PLACES - 1))
    }

    /// The generation that stands for a slot's generation of more bits: 1 to 255.
    #[must_use]
    pub fn generation_of(generation: u16) -> u8 {
        u8::try_from(generation % 255 + 1).unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_keeps_its_budget() {
        assert!(size_of::<GtpTunnel>() <= 16);
    }

    #[test]
    fn the_parts_of_a_teid() {
        let parts = TeidParts { generation: 0xab, place: 0xcd_ef05 };
        assert_eq!(parts.teid(), Teid(0xabcd_ef05));
        assert_eq!(TeidParts::of(Teid(0xabcd_ef05)), parts);
        assert_eq!(TeidParts::of(TeidParts { place: PLACES - 1, ..parts }.teid()).place, PLACES - 1);
        assert!((0..=u16::MAX).all(|generation| TeidParts::generation_of(generation) > 0));
    }
}
