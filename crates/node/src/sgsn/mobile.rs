//! One mobile: a relocatable value, plain and serialisable, at most 1 KiB.
//!
//! No frame, no pointer and no index of another table's row is inside: what is held for a mobile lives in node-wide
//! tables that are reached by its slot, and the paths of its tunnels are named by address when it travels.

use super::directory::BvcAddress;
use gannet_proto::gmm::network::GmmContext;
use gannet_proto::gtp::GtpTunnel;
use gannet_proto::llc::{LlcContext, LlcRole};
use gannet_proto::sm::network::SmContext;
use gannet_proto::sndcp::SndcpNsapi;
use gannet_wire::id::{Imsi, Nsapi, Tlli};
use serde::{Deserialize, Serialize};

/// NSAPIs 5 to 15.
pub const NSAPIS: usize = 11;

/// One PDP context: session management, the tunnel to the GGSN, and SNDCP's counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PdpContext {
    /// The procedures and what was negotiated.
    pub sm: SmContext,
    /// The far end; `None` until the GGSN has answered.
    pub tunnel: Option<GtpTunnel>,
    /// The N-PDU counter.
    pub sndcp: SndcpNsapi,
    /// LL-PDUs are protected in all their octets: from the negotiated reliability class.
    pub protected: bool,
}

/// Everything about one mobile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mobile {
    /// Mobility management: identities, place, states and their timers.
    pub gmm: GmmContext,
    /// Logical links.
    pub llc: LlcContext,
    /// PDP contexts by NSAPI, the first is NSAPI 5.
    pub pdp: [Option<PdpContext>; NSAPIS],
    /// The foreign or random TLLI by which it is found, and the cell in which that holds.
    pub foreign: Option<(BvcAddress, Tlli)>,
}

impl Mobile {
    /// A mobile that nothing is known of yet.
    #[must_use]
    pub fn new(gmm: GmmContext, llc: Option<LlcContext>) -> Self {
        let llc = llc.unwrap_or_else(|| LlcContext::new(LlcRole::Sgsn));
        Self { gmm, llc, pdp: [const { None }; NSAPIS], foreign: None }
    }

    /// The subscriber, once known.
    #[must_use]
    pub const fn imsi(&self) -> Option<Imsi> {
        self.gmm.imsi()
    }

    /// Where it was heard last.
    #[must_use]
    pub const fn bvc(&self) -> BvcAddress {
        let cell = self.gmm.cell();
        BvcAddress { nsei: cell.nsei, bvci: cell.bvci }
    }

    /// The place of an NSAPI in [`Mobile::pdp`]; `None` outside 5 to 15.
    #[must_use]
    pub fn place_of(nsapi: Nsapi) -> Option<usize> {
        usize::from(nsapi.0).checked_sub(5).filter(|place| *place < NSAPIS)
    }

    /// The NSAPI of a place.
    #[must_use]
    pub fn nsapi_at(place: usize) -> Nsapi {
        Nsapi(u8::try_from(place + 5).unwrap_or(0))
    }

    /// The context of an NSAPI.
    #[must_use]
    pub fn pdp(&self, nsapi: Nsapi) -> Option<&PdpContext> {
        self.pdp.get(Self::place_of(nsapi)?)?.as_ref()
    }

    /// The same, to change it.
    pub fn pdp_mut(&mut self, nsapi: Nsapi) -> Option<&mut PdpContext> {
        self.pdp.get_mut(Self::place_of(nsapi)?)?.as_mut()
    }

    /// All contexts with their NSAPIs.
    pub fn contexts(&self) -> impl Iterator<Item = (Nsapi, &PdpContext)> {
        self.pdp.iter().enumerate().filter_map(|(place, pdp)| Some((Self::nsapi_at(place), pdp.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mobile_keeps_its_budget() {
        assert!(size_of::<Mobile>() <= 1024, "{} octets", size_of::<Mobile>());
    }
}
