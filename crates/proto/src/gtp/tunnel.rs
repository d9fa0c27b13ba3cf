//! One GTP tunnel, and how each version names its ends (29.060 clauses 6 and 9.2).

use super::path::Plane;
use super::version::Version;
use gannet_wire::id::{FlowLabel, Teid, Tid};
use serde::{Deserialize, Serialize};

/// One end of a tunnel, as a header names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// Of version 1; 0 in a first Create PDP Context Request.
    Teid(Teid),
    /// Of version 0: both ends have the same TID, and each a flow label of its own; 0 in a Create PDP Context Request.
    Tid {
        /// The tunnel.
        tid: Tid,
        /// The flow.
        flow: FlowLabel,
    },
}

impl Endpoint {
    /// A peer's end of the tunnel `tid`: as version 1 has it by its TEID, as version 0 by the flow label in the low half
    /// of that.
    #[must_use]
    pub fn of_peer(version: Version, tid: Tid, teid: Teid) -> Self {
        match version {
            Version::V1 => Self::Teid(teid),
            Version::V0 => Self::Tid { tid, flow: flow_in(teid) },
        }
    }
}

/// The flow label that stands for a TEID of a peer that has none.
pub(super) fn flow_in(teid: Teid) -> FlowLabel {
    let [_, _, high, low] = teid.0.to_be_bytes();
    FlowLabel(u16::from_be_bytes([high, low]))
}

/// Our flow label in version 0 for a context that has this TEID, both for signalling and data: the halves of the TEID folded
/// together. Never 0. That of a tunnel which is made anew at the same place is another one but for one in 2^16.
#[must_use]
pub fn flow_label(teid: Teid) -> FlowLabel {
    let [a, b, c, d] = teid.0.to_be_bytes();
    let folded = u16::from_be_bytes([a, b]) ^ u16::from_be_bytes([c, d]);
    FlowLabel(if folded == 0 { u16::MAX } else { folded })
}

/// What is known of the far end of one PDP context's tunnel: plain data that moves with its mobile.
///
/// Made by [`super::GtpEntity::open`], which counts it at its paths, and given back with [`super::GtpEntity::close`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GtpTunnel {
    /// The peer's endpoint for signalling; 0 where it has named none. Of version 0 the flow label, as in
    /// [`GtpTunnel::peer_user`].
    pub peer_control: Teid,
    /// The peer's endpoint for G-PDUs.
    pub peer_user: Teid,
    /// The path to the peer's address for signalling.
    pub control_path: u16,
    /// The path to the peer's address for user traffic.
    pub user_path: u16,
    /// Sequence number of the next G-PDU (29.060 clause 9.3.1.1).
    pub next_sequence: u16,
    /// G-PDUs carry sequence numbers; those of version 0 always do.
    pub sequenced: bool,
    /// Which version the peer speaks.
    pub version: Version,
}

/// G-PDUs that may have gone out since the sequence number was kept.
const LEAD: u16 = 2 * crate::llc::KEPT_EVERY;

impl GtpTunnel {
    /// Does it use this plane of a path? Version 0 has one port for both planes.
    #[must_use]
    pub fn uses(&self, path: u16, plane: Plane) -> bool {
        let is_v0 = self.version == Version::V0;
        (self.control_path == path && (is_v0 || plane == Plane::Control))
            || (self.user_path == path && (is_v0 || plane == Plane::User))
    }

    /// Goes on after a restart of this end, from what was kept last. A peer that keeps G-PDUs in order sees a gap, and no
    /// number twice (29.060 clause 9.3.1.1); LLC says how far behind that may be: [`crate::llc::LlcContext::restore`].
    pub const fn restore(&mut self) {
        self.next_sequence = self.next_sequence.wrapping_add(LEAD);
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
    fn flow_labels_fold_the_teid() {
        assert_eq!(flow_label(Teid(0x0100_0005)), FlowLabel(0x0105));
        assert_eq!(flow_label(Teid(0x0200_0005)), FlowLabel(0x0205));
        assert_eq!(flow_label(Teid(0x0103_0103)), FlowLabel(0xffff), "never 0");
        assert_eq!(flow_in(Teid(0x0001_0005)), FlowLabel(5));
        let tid = Tid { imsi: "24001".parse().unwrap(), nsapi: gannet_wire::id::Nsapi(5) };
        assert_eq!(Endpoint::of_peer(Version::V1, tid, Teid(7)), Endpoint::Teid(Teid(7)));
        let flow = FlowLabel(7);
        assert_eq!(Endpoint::of_peer(Version::V0, tid, Teid(7)), Endpoint::Tid { tid, flow });
    }
}
