//! What an operator chooses of the negotiable parameters of acknowledged mode, SAPI by SAPI (04.64 clause 8.9, table 9 [44.064]).
//!
//! Who establishes a link proposes what is chosen; who answers goes along as far as the sense of negotiation of table 6 allows
//! it what he has chosen. What nobody has chosen is neither proposed nor said, and holds as it was agreed before, at the
//! beginning with the values of table 9; but m and k go together. Where m alone is chosen, k is said as table 9 has it. Where k alone is
//! chosen, m has room for so many frames: 1520 octets each, as table 9 has for its own k.

use super::{Options, Retransmission, Timing, Windows};
use crate::llc::LlcRole;
use gannet_wire::id::Sapi;
use gannet_wire::llc::xid::Parameter;

/// SAPIs that may be in acknowledged mode, in the order of their places (04.64 clause 8.9, table 9).
pub const ABM_SAPIS: [Sapi; 4] = [Sapi::DATA3, Sapi::DATA5, Sapi::DATA9, Sapi::DATA11];

/// The place of a SAPI in [`ABM_SAPIS`]; `None` without acknowledged mode.
#[must_use]
pub fn place_of(sapi: Sapi) -> Option<usize> {
    ABM_SAPIS.iter().position(|known| *known == sapi)
}

/// What is chosen of one SAPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkConfig {
    /// kD and kU, 1 to 255 I frames each.
    pub k: Option<(u8, u8)>,
    /// mD and mU in units of 16 octets: 9 to 24320, or 0 for no limit.
    pub m: Option<(u16, u16)>,
    /// What unacknowledged mode has as well.
    pub shared: Shared,
    /// What is sent again; it is not negotiated.
    pub retransmission: Option<Retransmission>,
    /// How long T201 runs; the same.
    pub timing: Option<Timing>,
}

/// Units of 16 octets of m for each frame of k (04.64 clause 8.9, table 9).
const M_OF_A_FRAME: u16 = 95;

/// Parameters that stand beside those of unacknowledged mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shared {
    /// N201-I, 140 to 1520 octets.
    pub n201_i: Option<u16>,
    /// T200, 1 to 4095 tenths of a second.
    pub t200_tenths: Option<u16>,
    /// N200, 1 to 15.
    pub n200: Option<u8>,
}

impl Shared {
    /// With which parameters these are proposed.
    pub fn proposal(self) -> impl Iterator<Item = Parameter> {
        let t200 = self.t200_tenths.map(Parameter::T200);
        let n200 = self.n200.map(Parameter::N200);
        let n201_i = self.n201_i.map(Parameter::N201I);
        [t200, n200, n201_i].into_iter().flatten()
    }
}

impl LinkConfig {
    /// What is not negotiated: as chosen, and otherwise as in `usual`.
    #[must_use]
    pub fn options(&self, usual: Options) -> Options {
        Options {
            retransmission: self.retransmission.unwrap_or(usual.retransmission),
            timing: self.timing.unwrap_or(usual.timing),
            ..usual
        }
    }

    /// k and m as one end sees them; `None` where neither is chosen, and for a SAPI without acknowledged mode.
    #[must_use]
    pub fn windows(&self, role: LlcRole, sapi: Sapi) -> Option<Windows> {
        let default = Windows::defaults(sapi).filter(|_| self.k.is_some() || self.m.is_some())?;
        let (kd, ku) = self.k.unwrap_or((default.k_sent, default.k_received));
        let (md, mu) = self.m.unwrap_or_else(|| {
            let room = |k: u8, least: u16| (u16::from(k) * M_OF_A_FRAME).max(least);
            (room(kd, default.m_sent), room(ku, default.m_received))
        });
        Some(match role {
            LlcRole::Sgsn => Windows { iov_i: 0, m_sent: md, m_received: mu, k_sent: kd, k_received: ku },
            LlcRole::Ms => Windows { iov_i: 0, m_sent: mu, m_received: md, k_sent: ku, k_received: kd },
        })
    }
}

/// What is chosen of all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinksConfig([LinkConfig; ABM_SAPIS.len()]);

impl LinksConfig {
    /// That of a SAPI; nothing is chosen of one without acknowledged mode.
    #[must_use]
    pub fn of(&self, sapi: Sapi) -> LinkConfig {
        place_of(sapi).and_then(|place| self.0.get(place)).copied().unwrap_or_default()
    }

    /// The same, to change it; `None` for a SAPI without acknowledged mode.
    pub fn of_mut(&mut self, sapi: Sapi) -> Option<&mut LinkConfig> {
        self.0.get_mut(place_of(sapi)?)
    }

    /// All with their SAPIs.
    pub fn iter(&self) -> impl Iterator<Item = (Sapi, LinkConfig)> + '_ {
        ABM_SAPIS.into_iter().zip(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m_has_room_for_the_frames_of_k() {
        let of = |k, m| {
            let link = LinkConfig { k, m, ..LinkConfig::default() };
            link.windows(LlcRole::Sgsn, Sapi::DATA3)
                .map(|it| (it.k_sent, it.m_sent, it.k_received, it.m_received))
        };
        assert_eq!(of(Some((255, 16)), None), Some((255, 24_225, 16, 1520)));
        assert_eq!(of(Some((1, 17)), None), Some((1, 1520, 17, 1615)), "never less than table 9 has");
        assert_eq!(of(Some((255, 255)), Some((9, 0))), Some((255, 9, 255, 0)), "what is chosen holds");
        assert_eq!(of(None, Some((100, 200))), Some((16, 100, 16, 200)));
        assert_eq!(of(None, None), None);
        for sapi in ABM_SAPIS {
            let Windows { k_sent, m_sent, .. } = Windows::defaults(sapi).unwrap_or_else(|| unreachable!());
            assert_eq!(u16::from(k_sent) * M_OF_A_FRAME, m_sent, "table 9, SAPI {sapi}");
        }
    }

    #[test]
    fn what_is_chosen_of_retransmission_and_t201_holds_and_the_rest_stays() {
        let before = Options { frame_max: 700, ..Options::default() };
        assert_eq!(LinkConfig::default().options(before), before);
        let link = LinkConfig {
            retransmission: Some(Retransmission::GoBackN),
            timing: Some(Timing::Fixed),
            ..LinkConfig::default()
        };
        let after = Options { retransmission: Retransmission::GoBackN, timing: Timing::Fixed, ..before };
        assert_eq!(link.options(before), after);
    }
}
