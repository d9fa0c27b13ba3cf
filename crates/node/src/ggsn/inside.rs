//! Packets from one mobile to another: turned round inside, dropped, or left to the network, as their access points say.

use super::Ggsn;
use super::config::MobileToMobile;
use super::shaping::INGRESS_GN;
use core::net::IpAddr;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_proto::about::About as _;
use gannet_wire::id::Imsi;

/// Where a packet of a mobile goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// To the network of the access point.
    Network,
    /// To the context at this place.
    Inside(u32),
    /// Nowhere.
    Refused,
}

impl Ggsn {
    /// Where a packet from a mobile of an access point goes. Another access point is another network: between the two the network
    /// decides, unless one of them has its mobiles reach no other.
    pub(super) fn way(&self, apn: u16, destination: IpAddr) -> Way {
        let point = |apn: usize| self.access_points.get(apn);
        let Some(own) = point(usize::from(apn)) else { return Way::Network };
        if own.config.mobile_to_mobile == MobileToMobile::Network && !self.some_refuse {
            return Way::Network;
        }
        if let Some(index) = own.owner(destination) {
            return match own.config.mobile_to_mobile {
                MobileToMobile::Network => Way::Network,
                MobileToMobile::Inside => Way::Inside(index),
                MobileToMobile::Refused => Way::Refused,
            };
        }
        if !self.some_refuse {
            return Way::Network;
        }
        let refuses = |point: &super::AccessPoint| point.config.mobile_to_mobile == MobileToMobile::Refused;
        let other = self.access_points.iter().find(|point| point.owner(destination).is_some());
        match other {
            Some(other) if refuses(own) || refuses(other) => Way::Refused,
            Some(_) | None => Way::Network,
        }
    }

    /// A packet from one mobile to another of the same access point. The GGSN is a router between them (RFC 1812 clause 5.3.1, RFC 8200
    /// clause 3): the packet has one hop less.
    pub(super) fn turn_round(&mut self, cx: &mut Context<'_>, from: Imsi, index: u32, mut frame: Frame) {
        if !take_hop(&mut frame) {
            cx.drop_of(Drop::GgsnHopLimit, Some(from));
            return;
        }
        match self.contexts.by_index(index) {
            Some(first) => self.n_pdu_downlink(cx, first, INGRESS_GN, frame),
            None => cx.drop(Drop::GgsnNoContext, None),
        }
    }
}

/// Takes one from the hop limit, and corrects the header's checksum (RFC 1624). False where none is left.
fn take_hop(packet: &mut [u8]) -> bool {
    match packet {
        [0x40..=0x4f, _, _, _, _, _, _, _, hops, _, high, low, ..] if *hops > 1 => {
            *hops -= 1;
            let sum = u32::from(u16::from_be_bytes([*high, *low])) + 0x100;
            let folded = (sum & 0xffff) + (sum >> 16);
            [*high, *low] = u16::try_from(folded).unwrap_or(u16::MAX).to_be_bytes();
            true
        }
        [0x60..=0x6f, _, _, _, _, _, _, hops, ..] if *hops > 1 => {
            *hops -= 1;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_is_taken_and_the_checksum_is_right() {
        let sum = |packet: &[u8]| {
            let words = packet.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
            let sum: u32 = words.sum();
            (sum & 0xffff) + (sum >> 16)
        };
        for identification in 0..=255_u8 {
            let mut packet =
                [0x45, 0, 0, 20, 0, identification, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 3];
            let checksum = !u16::try_from(sum(&packet)).unwrap();
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            assert!(take_hop(&mut packet));
            assert_eq!((packet[8], sum(&packet)), (63, 0xffff), "{identification}");
        }
        let mut last = [0x45, 0, 0, 20, 0, 0, 0, 0, 1, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 3];
        assert!(!take_hop(&mut last));
        let mut v6 = [0x60, 0, 0, 0, 0, 0, 17, 2];
        assert!(take_hop(&mut v6) && v6[7] == 1 && !take_hop(&mut v6));
    }
}
