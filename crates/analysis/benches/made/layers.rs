//! All layers of a frame, each by itself: nothing is remembered, put together or named.

use gannet_analysis::decode::link::{Inside, inside};
use gannet_analysis::decode::radio::{Tapped, tapped};
use gannet_analysis::decode::{gb, gtp, ip, tcp};
use gannet_analysis::source::Frame;
use gannet_wire::llc::{Control, Header as LlcHeader};
use gannet_wire::{gsmtap, l3, ns, sndcp};
use std::hint::black_box;

/// Reads a frame, and gives the number of its layers.
pub fn layers(frame: &Frame<'_>) -> u64 {
    match inside(frame.link, frame.octets) {
        Inside::Ip(octets) => outer(octets),
        Inside::Gsmtap(octets) => 1 + radio(octets),
        Inside::Llc(octets) => ll_pdu(octets),
        Inside::Other | Inside::UnknownLink => 0,
    }
}

fn outer(octets: &[u8]) -> u64 {
    let Some(packet) = ip::parse(octets) else { return 0 };
    let Some((from, to, payload)) = packet.udp() else { return inner(octets) };
    let is = |port| from == port || to == port;
    2 + if is(gsmtap::UDP_PORT) {
        1 + radio(payload)
    } else if is(ns::UDP_PORT) {
        gb_of(payload)
    } else if gtp::is_port(from) || gtp::is_port(to) {
        match black_box(gtp::parse(payload, 0)) {
            gtp::Gtp::GPdu { t_pdu, .. } => 1 + payload.get(t_pdu).map_or(0, inner),
            gtp::Gtp::Signalling(_) | gtp::Gtp::Unreadable(_) => 1,
        }
    } else {
        0
    }
}

fn radio(octets: &[u8]) -> u64 {
    let Ok((header, at)) = gsmtap::Header::parse(octets) else { return 0 };
    match black_box(tapped(&header, octets.get(at..).unwrap_or_default())) {
        Tapped::Block(..) => 1,
        Tapped::Llc(_, octets) => ll_pdu(octets),
        Tapped::Other => 0,
    }
}

fn gb_of(datagram: &[u8]) -> u64 {
    match black_box(gb::parse(datagram)) {
        gb::Gb::Bssgp(bssgp) => 2 + bssgp.ll_pdu.and_then(|range| datagram.get(range)).map_or(0, ll_pdu),
        gb::Gb::Ns(_) | gb::Gb::Unreadable(..) => 1,
    }
}

fn ll_pdu(octets: &[u8]) -> u64 {
    let Ok(layout) = LlcHeader::parse(octets) else { return 0 };
    if !black_box(layout.fcs_is_right(octets)) {
        return 1;
    }
    black_box(ip::digest(octets));
    let info = octets.get(layout.info()).unwrap_or_default();
    if !matches!(layout.header.control, Control::I { .. } | Control::Ui { .. }) {
        return 1;
    }
    if layout.header.sapi == gannet_wire::id::Sapi::GMM {
        let message = l3::L3Message::parse(l3::Direction::Uplink, info);
        return 1 + u64::from(black_box(message).is_ok());
    }
    match sndcp::Header::parse(info) {
        Ok((header, start)) => 2 + if header.more { 0 } else { info.get(start..).map_or(0, inner) },
        Err(_) => 1,
    }
}

fn inner(octets: &[u8]) -> u64 {
    let Some(packet) = ip::parse(octets) else { return 0 };
    black_box(packet.digest());
    let octets_behind = packet.octets.saturating_sub(packet.header_octets);
    let id = packet.summary.identification;
    1 + u64::from(black_box(tcp::parse(packet.payload, octets_behind, packet.octets, id)).is_some())
}
