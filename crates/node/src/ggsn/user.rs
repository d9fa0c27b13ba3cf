//! User traffic: from G-PDU to N-PDU and back. Each packet reaches its context by index and allocates nothing.

use super::context::PdpContext;
use super::inside::Way;
use super::neighbours::stays_on_link;
use super::police::Policer;
use super::{AccessPoint, Ggsn};
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_machine::{Context, Peer};
use gannet_proto::about::About as _;
use gannet_proto::gtp::{Endpoint, ReceivedGPdu};
use gannet_wire::tcp_mss;

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

impl PdpContext {
    /// The buckets that hold its maximum bit rate, made with the first packet.
    fn policer(&mut self, now: Instant) -> &mut Policer {
        self.policer.get_or_insert_with(|| Box::new(Policer::new(now, &self.qos)))
    }
}

impl AccessPoint {
    /// Holds the segments of TCP connections to what the access point says.
    fn clamp(&self, frame: &mut Frame) {
        if let Some(mss) = self.config.mss {
            tcp_mss::clamp(frame, mss.v4, mss.v6);
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
        if self.is_from_sgsn(cx, slot, peer) {
            self.n_pdu_uplink(cx, slot, g_pdu.frame);
        }
    }

    /// A packet of a mobile.
    fn n_pdu_uplink(&mut self, cx: &mut Context<'_>, slot: Slot, mut frame: Frame) {
        let Some(context) = self.contexts.get(slot) else { return };
        let (imsi, apn) = (context.imsi, context.apn);
        let Some((source, destination)) = addresses(&frame) else {
            cx.drop_of(Drop::GgsnNotIp, Some(imsi));
            return;
        };
        if context.address.v6.is_some() && stays_on_link(source, destination) {
            self.on_link(cx, slot, &frame);
            return;
        }
        let way = if !context.address.contains(source) {
            Err(Drop::GgsnSourceAddress)
        } else if self.gtp.is_own(destination) {
            // A mobile speaks to no socket of GTP: what it says there would pass for what an SGSN says.
            Err(Drop::GgsnToGtp)
        } else {
            match self.way(apn, destination) {
                Way::Refused => Err(Drop::GgsnToMobile),
                way => Ok(way),
            }
        };
        let Some(point) = self.access_points.get_mut(usize::from(apn)) else { return };
        let way = match way {
            Ok(way) => way,
            Err(why) => {
                point.counters.uplink_dropped += 1;
                cx.drop_of(why, Some(imsi));
                return;
            }
        };
        let Some(context) = self.contexts.get_mut(slot) else { return };
        if point.config.police && !context.policer(cx.now).passes_uplink(cx.now, frame.len()) {
            point.counters.over_rate += 1;
            cx.drop_of(Drop::GgsnOverRate, Some(imsi));
            return;
        }
        point.clamp(&mut frame);
        context.last_active = cx.now;
        for volume in [&mut context.uplink, &mut point.counters.uplink, &mut self.counters.uplink] {
            volume.add(frame.len());
        }
        match way {
            Way::Inside(index) => self.turn_round(cx, imsi, index, frame),
            Way::Network | Way::Refused => self.transmit_to_network(apn, frame),
        }
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
        match owner.and_then(|index| self.contexts.by_index(index)) {
            Some(first) => self.n_pdu_downlink(cx, first, frame),
            None => self.no_context(cx, peer, destination),
        }
    }

    /// A packet to a mobile, of whose contexts with that address this is the first.
    pub(super) fn n_pdu_downlink(&mut self, cx: &mut Context<'_>, first: Slot, mut frame: Frame) {
        let Some(slot) = self.classify(cx, first, &frame) else { return };
        let Some(context) = self.contexts.get_mut(slot) else { return };
        let Some(point) = self.access_points.get_mut(usize::from(context.apn)) else { return };
        if point.config.police && !context.policer(cx.now).passes_downlink(cx.now, frame.len()) {
            point.counters.over_rate += 1;
            cx.drop_of(Drop::GgsnOverRate, Some(context.imsi));
            return;
        }
        point.clamp(&mut frame);
        frame.set_dscp(self.config.code_points.of(&context.qos));
        context.tunnel.sequenced = point.config.sequence_numbers;
        context.last_active = cx.now;
        for volume in [&mut context.downlink, &mut point.counters.downlink, &mut self.counters.downlink] {
            volume.add(frame.len());
        }
        self.gtp.send_user(cx, context.tid(), &mut context.tunnel, frame, &mut self.gtp_outputs);
        let sequence = context.tunnel.next_sequence;
        self.counted(slot, sequence);
    }
}
