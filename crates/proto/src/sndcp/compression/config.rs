//! What an end wants of compression, and what it takes from its peer.

use core::fmt;
use gannet_machine::drops::Drop;
use gannet_wire::sndcp::algorithms::{NsapiSet, Rfc1144, V42bis};
use serde::{Deserialize, Serialize};

/// What an end does about one algorithm; the value is the most that it agrees to, and what it proposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Offer<T> {
    /// Refuses it.
    #[default]
    Refuse,
    /// Takes it where the peer proposes it.
    Passive(T),
    /// Proposes it.
    Active(T),
}

impl<T: Copy> Offer<T> {
    /// The most that is agreed to.
    #[must_use]
    pub const fn limit(&self) -> Option<T> {
        match self {
            Self::Refuse => None,
            Self::Passive(limit) | Self::Active(limit) => Some(*limit),
        }
    }

    /// What is proposed.
    #[must_use]
    pub const fn proposal(&self) -> Option<T> {
        match self {
            Self::Refuse | Self::Passive(_) => None,
            Self::Active(proposal) => Some(*proposal),
        }
    }
}

/// Parameters of V.42bis (04.65 clause 6.6.2.1 [44.065]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct V42bisLimits {
    /// P0: which directions, [`V42bis::P0_MS`] and [`V42bis::P0_SGSN`].
    pub p0: u8,
    /// P1: codewords, 512 to 65535.
    pub p1: u16,
    /// P2: octets of the longest string, 6 to 250.
    pub p2: u8,
}

impl Default for V42bisLimits {
    fn default() -> Self {
        Self { p0: V42bis::P0_MS | V42bis::P0_SGSN, p1: 2048, p2: 20 }
    }
}

/// Which compression an end proposes and agrees to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompressionConfig {
    /// RFC 1144; the value is S0 − 1: slots less one.
    pub rfc1144: Offer<u8>,
    /// V.42bis.
    pub v42bis: Offer<V42bisLimits>,
}

/// Whether an entity compresses protocol control information or data. Each kind counts its entities for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Clause 6.5.
    Protocol,
    /// Clause 6.6.
    Data,
}

/// An algorithm with the parameters that both ends have agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Agreed {
    /// RFC 1144.
    Rfc1144 {
        /// PCOMP of an uncompressed and of a compressed TCP/IP header.
        pcomps: [u8; 2],
        /// Slots less one.
        s0_minus_1: u8,
    },
    /// V.42bis.
    V42bis {
        /// DCOMP of compressed data.
        dcomp: u8,
        /// Its parameters.
        limits: V42bisLimits,
    },
}

impl Agreed {
    /// Which kind.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Rfc1144 { .. } => Kind::Protocol,
            Self::V42bis { .. } => Kind::Data,
        }
    }

    /// Does a value of DCOMP or PCOMP, as its kind has it, stand for this algorithm?
    #[must_use]
    pub fn has_comp(&self, comp: u8) -> bool {
        match self {
            Self::Rfc1144 { pcomps, .. } => pcomps.contains(&comp),
            Self::V42bis { dcomp, .. } => *dcomp == comp,
        }
    }

    /// The same algorithm under the same values of DCOMP or PCOMP?
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Rfc1144 { pcomps, .. }, Self::Rfc1144 { pcomps: others, .. }) => pcomps == others,
            (Self::V42bis { dcomp, .. }, Self::V42bis { dcomp: other, .. }) => dcomp == other,
            (Self::Rfc1144 { .. }, Self::V42bis { .. }) | (Self::V42bis { .. }, Self::Rfc1144 { .. }) => {
                false
            }
        }
    }

    /// The parameters, as they go into an XID block.
    #[must_use]
    pub fn emit(&self, nsapis: NsapiSet) -> Vec<u8> {
        let nsapis = Some(nsapis);
        match *self {
            Self::Rfc1144 { s0_minus_1, .. } => Rfc1144 { nsapis, s0_minus_1: Some(s0_minus_1) }.emit(),
            Self::V42bis { limits: V42bisLimits { p0, p1, p2 }, .. } => {
                V42bis { nsapis, p0: Some(p0), p1: Some(p1), p2: Some(p2) }.emit()
            }
        }
    }

    /// The same with the parameters that `fields` say; the others stay. Gives the applicable NSAPIs where they are said.
    pub(super) fn with(&self, fields: &[u8]) -> Result<(Self, Option<NsapiSet>), Drop> {
        match *self {
            Self::Rfc1144 { pcomps, s0_minus_1 } => {
                let said = Rfc1144::parse(fields).map_err(|_| Drop::SndcpBadParameters)?;
                let s0_minus_1 = said.s0_minus_1.unwrap_or(s0_minus_1);
                Ok((Self::Rfc1144 { pcomps, s0_minus_1 }, said.nsapis))
            }
            Self::V42bis { dcomp, limits } => {
                let said = V42bis::parse(fields).ok().filter(V42bis::is_valid);
                let said = said.ok_or(Drop::SndcpBadParameters)?;
                let limits = V42bisLimits {
                    p0: said.p0.unwrap_or(limits.p0),
                    p1: said.p1.unwrap_or(limits.p1),
                    p2: said.p2.unwrap_or(limits.p2),
                };
                Ok((Self::V42bis { dcomp, limits }, said.nsapis))
            }
        }
    }

    /// True where no parameter is above that of `other`: every one is negotiated down.
    pub(super) const fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Rfc1144 { s0_minus_1, .. }, Self::Rfc1144 { s0_minus_1: most, .. }) => {
                *s0_minus_1 <= *most
            }
            (Self::V42bis { limits, .. }, Self::V42bis { limits: most, .. }) => {
                limits.p0 & !most.p0 == 0 && limits.p1 <= most.p1 && limits.p2 <= most.p2
            }
            (Self::Rfc1144 { .. }, Self::V42bis { .. }) | (Self::V42bis { .. }, Self::Rfc1144 { .. }) => {
                false
            }
        }
    }
}

impl fmt::Display for Agreed {
    /// In the words of the configuration.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Rfc1144 { s0_minus_1, .. } => write!(f, "rfc1144 slots {}", u16::from(s0_minus_1) + 1),
            Self::V42bis { limits, .. } => write!(f, "v42bis {limits}"),
        }
    }
}

impl fmt::Display for V42bisLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.p0 {
            V42bis::P0_MS => "ms",
            V42bis::P0_SGSN => "sgsn",
            _ => "both",
        };
        write!(f, "direction {direction} codewords {} strlen {}", self.p1, self.p2)
    }
}

impl CompressionConfig {
    /// What this end agrees to of a proposal: each parameter no higher than its own.
    ///
    /// # Errors
    /// `SndcpAlgorithmRefused` where it does not want the algorithm, `SndcpEntityRefused` where nothing is left of it.
    pub fn agree(&self, proposed: &Agreed) -> Result<Agreed, Drop> {
        match *proposed {
            Agreed::Rfc1144 { pcomps, s0_minus_1 } => {
                let most = self.rfc1144.limit().ok_or(Drop::SndcpAlgorithmRefused)?;
                Ok(Agreed::Rfc1144 { pcomps, s0_minus_1: s0_minus_1.min(most) })
            }
            Agreed::V42bis { dcomp, limits: V42bisLimits { p0, p1, p2 } } => {
                let most = self.v42bis.limit().ok_or(Drop::SndcpAlgorithmRefused)?;
                let limits = V42bisLimits { p0: p0 & most.p0, p1: p1.min(most.p1), p2: p2.min(most.p2) };
                if limits.p0 == 0 {
                    return Err(Drop::SndcpEntityRefused);
                }
                Ok(Agreed::V42bis { dcomp, limits })
            }
        }
    }
}
