//! User traffic: from G-PDU to N-PDU and back. Each packet reaches its context by index and allocates nothing.

use super::advertise::stays_on_link;
use super::{AccessPoint, Ggsn};
use core::net::IpAddr;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::{Context, Peer};
use gannet_proto::about::About as _;
use gannet_proto::gtp::{Endpoint, ReceivedGPdu};

/// Source and destination of an IP packet; `None` where it is none.
fn addresses(octets: &[u8]) -> Option<(IpAddr, IpAddr)> {
    match octets.first()? >> 4 {
        4 => {
            let [.., s0, s1, s2, s3, d0, d1, d2, d3] = octets.first_chunk::<20>()?;
            Some(([*s0, *s1, *s2, *s3].into(), [*d0, *d1, *d2, *d3].into()))
        }
        6 => {
            let both = octets.first_chunk::<40>()?.get(8..)?;
            let (source, destination) = both.split_first_chunk::<16>()?;
            Some(((*source).into(), (*destination.first_chunk::<16>()?).into()))
        }
        _ => None,
    }
}

impl AccessPoint {
    fn owner(&self, address: IpAddr) -> Option<u32> {
        match address {
            IpAddr::V4(address) => self.pool.owner(address),
            IpAddr::V6(address) => self.ipv6.as_ref()?.owner(address),
        }
    }
}

impl Ggsn {
    /// A datagram from the user plane of an SGSN.
    pub(super) fn uplink(&mut self, cx: &mut Context<'_>, peer: Peer, frame: Frame) {
        if let Some(g_pdu) = self.gtp.receive_user(cx, peer, frame, &mut self.gtp_outputs) {
            self.g_pdu(cx, peer, g_pdu);
        }
    }

    /// A datagram at the port of GTPv0.
    pub(super) fn uplink_v0(&mut self, cx: &mut Context<'_>, peer: Peer, frame: Frame) {
        if let Some(g_pdu) = self.gtp.receive_v0(cx, peer, frame, &mut self.gtp_outputs) {
            self.g_pdu(cx, peer, g_pdu);
        }
    }

    fn g_pdu(&mut self, cx: &mut Context<'_>, peer: Peer, g_pdu: ReceivedGPdu) {
        let Some(slot) = self.contexts.by_endpoint(g_pdu.endpoint) else {
            // A G-PDU of version 0 names a subscriber and no endpoint of ours.
            let is_guess = match (g_pdu.endpoint, peer) {
                (Endpoint::Teid(_), Peer::Udp(from)) => self.is_guess(g_pdu.endpoint, from.ip()),
                (Endpoint::Tid { .. }, _) | (_, Peer::Link | Peer::Slot(_) | Peer::Ethernet(_)) => false,
            };
            let missing = (g_pdu.endpoint, is_guess);
            return self.gtp.unknown_endpoint(cx, peer, missing, &mut self.gtp_outputs);
        };
        if !self.is_from_sgsn(cx, slot, peer) {
            return;
        }
        let Some(context) = self.contexts.get_mut(slot) else { return };
        let Some((source, destination)) = addresses(&g_pdu.frame) else {
            cx.drop_of(Drop::GgsnNotIp, Some(context.imsi));
            return;
        };
        if context.address.v6.is_some() && stays_on_link(source, destination) {
            self.on_link(cx, slot, &g_pdu.frame);
            return;
        }
        if !context.address.contains(source) {
            cx.drop_of(Drop::GgsnSourceAddress, Some(context.imsi));
            return;
        }
        // A mobile speaks to no socket of GTP: what it says there would pass for what an SGSN says.
        if self.gtp.is_own(destination) {
            cx.drop_of(Drop::GgsnToGtp, Some(context.imsi));
            return;
        }
        context.uplink.add(g_pdu.frame.len());
        self.counters.uplink.add(g_pdu.frame.len());
        let apn = context.apn;
        self.transmit_to_network(apn, g_pdu.frame);
    }

    /// A packet from the network of an access point.
    pub(super) fn downlink(&mut self, cx: &mut Context<'_>, peer: Peer, frame: Frame) {
        let Some((_, destination)) = addresses(&frame) else {
            cx.drop(Drop::GgsnNotIp, None);
            return;
        };
        let owner = match peer {
            Peer::Slot(apn) => usize::try_from(apn)
                .ok()
                .and_then(|apn| self.access_points.get(apn))
                .and_then(|point| point.owner(destination)),
            Peer::Link | Peer::Udp(_) | Peer::Ethernet(_) => {
                self.access_points.iter().find_map(|point| point.owner(destination))
            }
        };
        let Some(first) = owner.and_then(|index| self.contexts.by_index(index)) else {
            self.no_context(cx, peer, destination);
            return;
        };
        let slot = self.classify(cx, first, &frame);
        let Some(context) = slot.and_then(|slot| self.contexts.get_mut(slot)) else { return };
        let point = self.access_points.get(usize::from(context.apn));
        context.tunnel.sequenced = point.is_none_or(|point| point.config.sequence_numbers);
        context.downlink.add(frame.len());
        self.counters.downlink.add(frame.len());
        self.gtp.send_user(cx, context.tid(), &mut context.tunnel, frame, &mut self.gtp_outputs);
    }
}
