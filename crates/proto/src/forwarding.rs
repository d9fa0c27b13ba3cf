//! Rules by which the driver of a GGSN forwards the packets of a PDP context by itself, and what it counts for the context.
//!
//! A rule is a short cut and no more: a packet that needs more than a router's own work comes to the node as if there were
//! no rule, and so does each packet of a context without one. A driver that forwards nothing ignores all rules.

use crate::classifier::{Policer, RuleChange};
use crate::gtp::ContextName;
use core::convert::Infallible;
use core::net::{Ipv4Addr, Ipv6Addr};
use gannet_wire::id::Teid;

/// How the packets of a PDP context are forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForwardRule {
    /// The context; the node's key makes its TEID of it ([`TeidKey`](crate::gtp::TeidKey)).
    pub name: ContextName,
    /// The mobile's address, the only source of what it sends over IPv4.
    pub v4: Option<Ipv4Addr>,
    /// An address out of the mobile's prefix of 64 bits.
    pub v6: Option<Ipv6Addr>,
    /// The network behind the access point, by the access point's index in the node.
    pub network: u16,
    /// From where its G-PDUs come; those from elsewhere are left to the node. `None` where everybody may send them.
    pub source: Option<Ipv4Addr>,
    /// To where its G-PDUs go.
    pub peer: Ipv4Addr,
    /// The SGSN's endpoint for them.
    pub peer_teid: Teid,
    /// Every packet to its addresses is its own. False where it shares them with other contexts: the node then tells
    /// them apart.
    pub takes_downlink: bool,
    /// Its G-PDUs carry sequence numbers.
    pub sequenced: bool,
    /// Differentiated services code point of its G-PDUs, 0 to 63.
    pub dscp: u8,
    /// What exceeds it from the mobile is dropped, in octets of N-PDUs.
    pub uplink: Option<Policer>,
    /// The same to the mobile.
    pub downlink: Option<Policer>,
    /// What opens a TCP connection goes to the node, which changes it.
    pub syn_to_node: bool,
    /// Its packets go to the AF_XDP ring of their receive queue, and are not forwarded.
    pub to_ring: bool,
}

/// A change of the rules. Changes take effect in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForwardChange {
    /// A new rule, or one in place of that with the same name. What was counted for that name goes on; a bucket is empty
    /// where its policer is new.
    Install(ForwardRule),
    /// No rule any more. What was counted can be read until another context has the place.
    Remove(ContextName),
}

/// What was forwarded in one direction since the rule's first installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    /// N-PDUs; starts again at 2^32.
    pub packets: u32,
    /// Their octets.
    pub octets: u64,
    /// N-PDUs that the policer dropped; starts again at 2^32.
    pub over_rate: u32,
}

impl Carried {
    /// What came since `earlier`, less than 2^32 packets ago.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            packets: self.packets.wrapping_sub(earlier.packets),
            octets: self.octets.wrapping_sub(earlier.octets),
            over_rate: self.over_rate.wrapping_sub(earlier.over_rate),
        }
    }
}

/// What a driver counted for one context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Forwarded {
    /// From the mobile.
    pub uplink: Carried,
    /// To the mobile.
    pub downlink: Carried,
    /// N-PDUs of the mobile with a source that is not its own, which were dropped; starts again at 2^32.
    pub foreign: u32,
}

impl Forwarded {
    /// What came since `earlier`.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            uplink: self.uplink.since(earlier.uplink),
            downlink: self.downlink.since(earlier.downlink),
            foreign: self.foreign.wrapping_sub(earlier.foreign),
        }
    }

    /// True where the context has carried something.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.uplink.packets > 0 || self.downlink.packets > 0
    }
}

/// A change of any kind of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriverRule {
    /// Whose a packet is.
    Classify(RuleChange),
    /// Where a packet goes without the node.
    Forward(ForwardChange),
}

impl From<RuleChange> for DriverRule {
    fn from(change: RuleChange) -> Self {
        Self::Classify(change)
    }
}

impl From<ForwardChange> for DriverRule {
    fn from(change: ForwardChange) -> Self {
        Self::Forward(change)
    }
}

impl From<Infallible> for DriverRule {
    /// A node without rules changes none.
    fn from(none: Infallible) -> Self {
        match none {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_start_again_are_subtracted_all_the_same() {
        let carried = |packets, octets| Carried { packets, octets, over_rate: packets };
        assert_eq!(carried(3, 1200).since(carried(u32::MAX, 1000)), carried(4, 200));
        let before = Forwarded { uplink: carried(1, 40), downlink: carried(2, 80), foreign: u32::MAX };
        let after = Forwarded { uplink: carried(1, 40), downlink: carried(2, 80), foreign: 1 };
        let news = after.since(before);
        assert_eq!((news.foreign, news.is_active()), (2, false));
        assert!(Forwarded { uplink: carried(2, 90), ..after }.since(before).is_active());
    }
}
