//! Of subscribers who are sampled all is recorded, of others nothing, at each node.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use core::num::NonZeroU32;
use gannet_trace::pcapng::{Direction, Packet};
use gannet_trace::sight::{Choice, Eyes, Layer, Place, Seen};
use gannet_wire::bssgp::ie::PduLifetime;
use gannet_wire::bssgp::{DlUnitdata, QosProfile, UlUnitdata};
use gannet_wire::id::{CellId, Imsi, Tlli};
use proptest::prelude::*;
use std::net::{Ipv4Addr, SocketAddr};

const SGSN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GGSN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const HOST: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

const GB_OF_SGSN: Place = Place { layer: Layer::Gb, sends_downlink: true };
const GB_OF_BSS: Place = Place { layer: Layer::Gb, sends_downlink: false };
const GN_OF_SGSN: Place = Place { layer: Layer::Gn, sends_downlink: false };
const GN_OF_GGSN: Place = Place { layer: Layer::Gn, sends_downlink: true };
const GI: Place = Place { layer: Layer::Gi, sends_downlink: false };

/// What a mobile and its nodes do.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A context is created; the trace may have begun before or after.
    Create,
    /// An N-PDU to the mobile, on its whole way.
    Downlink,
    /// One from it.
    Uplink,
    /// The context is asked about, as an update does.
    Update,
    /// The mobile has another P-TMSI, which the network names first.
    Renamed,
}

#[derive(Debug)]
struct Mobile {
    number: u32,
    p_tmsi: u32,
}

impl Mobile {
    fn imsi(&self) -> Imsi {
        format!("0010100{:08}", self.number).parse().unwrap()
    }

    fn address(&self) -> Ipv4Addr {
        Ipv4Addr::from(0x0a00_0000 | self.number)
    }

    fn tlli(&self, foreign: bool) -> Tlli {
        Tlli(self.p_tmsi & 0x3fff_ffff | if foreign { 0x8000_0000 } else { 0xc000_0000 })
    }

    fn teid(&self, kind: u32) -> u32 {
        self.number * 16 + kind + 1
    }
}

/// Two nodes, each with its own eyes; the SGSN's capture has Gb and Gn, the GGSN's Gn and Gi, a BSS's Gb.
struct World {
    bss: Eyes,
    sgsn: Eyes,
    ggsn: Eyes,
    choice: Choice,
    /// Of each mobile: packets that were its own, and those of them that were recorded.
    counts: Vec<(u32, u32)>,
}

impl World {
    fn see(&mut self, number: u32, seen: &Seen) {
        let count = &mut self.counts[number as usize];
        count.0 += 1;
        count.1 += u32::from(self.choice.keep(seen).is_some());
    }

    fn gb(&mut self, mobile: &Mobile, is_downlink: bool, datagram: &[u8]) {
        let ends = (SocketAddr::from((SGSN, 23000)), SocketAddr::from((SGSN, 23001)));
        let (out, back) = (Direction::Out, Direction::In);
        let ways = if is_downlink { (out, back) } else { (back, out) };
        let at_sgsn = self.sgsn.look(GB_OF_SGSN, ways.0, &Packet::Udp(ends, datagram));
        let at_bss = self.bss.look(GB_OF_BSS, ways.1, &Packet::Udp(ends, datagram));
        assert!(at_sgsn.ll_pdu.is_some() && at_sgsn.is_user);
        self.see(mobile.number, &at_sgsn);
        self.see(mobile.number, &at_bss);
    }

    fn gn(&mut self, mobile: &Mobile, to_ggsn: bool, datagram: &[u8]) {
        let ends = if to_ggsn { (SGSN, GGSN) } else { (GGSN, SGSN) };
        let ends = (SocketAddr::from((ends.0, 2152)), SocketAddr::from((ends.1, 2152)));
        let (near, far) =
            if to_ggsn { (Direction::Out, Direction::In) } else { (Direction::In, Direction::Out) };
        let at_sgsn = self.sgsn.look(GN_OF_SGSN, near, &Packet::Udp(ends, datagram));
        let at_ggsn = self.ggsn.look(GN_OF_GGSN, far, &Packet::Udp(ends, datagram));
        self.see(mobile.number, &at_sgsn);
        self.see(mobile.number, &at_ggsn);
    }

    fn step(&mut self, mobile: &mut Mobile, step: Step) {
        match step {
            Step::Create => {
                self.gn(mobile, true, &gtp(16, 0, &request(mobile)));
                self.gn(mobile, false, &gtp(17, mobile.teid(0), &response(mobile)));
                // The accept of the activation, so to speak: Gb learns the name.
                let downlink = dl(mobile, &[0x41, 0xc0, 1, 8, 2, 0, 0, 0]);
                let ends = (SocketAddr::from((SGSN, 23000)), SocketAddr::from((SGSN, 23001)));
                for (eyes, place, way) in
                    [(&mut self.sgsn, GB_OF_SGSN, Direction::Out), (&mut self.bss, GB_OF_BSS, Direction::In)]
                {
                    let seen = eyes.look(place, way, &Packet::Udp(ends, &downlink));
                    assert!(!seen.is_user && seen.whose.is_some());
                }
            }
            Step::Update => self.gn(mobile, true, &gtp(18, mobile.teid(2), &[])),
            Step::Downlink => {
                let packet = ip(HOST, mobile.address());
                let at_gi = self.ggsn.look(GI, Direction::In, &Packet::Ip(&packet));
                self.see(mobile.number, &at_gi);
                self.gn(mobile, false, &gtp(255, mobile.teid(1), &packet));
                let frame = [&[0x43, 0xc0, 1, 0x65, 0, 0, 1][..], &packet, &[0; 3]].concat();
                self.gb(mobile, true, &dl(mobile, &frame));
            }
            Step::Uplink => {
                let packet = ip(mobile.address(), HOST);
                let frame = [&[0x03, 0xc0, 1, 0x65, 0, 0, 1][..], &packet, &[0; 3]].concat();
                let datagram = ul(mobile, mobile.number.is_multiple_of(3), &frame);
                self.gb(mobile, false, &datagram);
                self.gn(mobile, true, &gtp(255, mobile.teid(3), &packet));
                let at_gi = self.ggsn.look(GI, Direction::Out, &Packet::Ip(&packet));
                self.see(mobile.number, &at_gi);
            }
            Step::Renamed => {
                mobile.p_tmsi = mobile.p_tmsi.wrapping_mul(0x9e37_79b1).wrapping_add(7) & 0x3fff_ffff;
                self.step(mobile, Step::Downlink);
            }
        }
    }
}

fn ns(pdu: Vec<u8>) -> Vec<u8> {
    [&[0, 0, 0, 2][..], &pdu].concat()
}

fn dl(mobile: &Mobile, frame: &[u8]) -> Vec<u8> {
    let qos = QosProfile::from_octets([0, 0, 0]);
    let header = DlUnitdata {
        imsi: Some(mobile.imsi()),
        ..DlUnitdata::new(mobile.tlli(false), qos, PduLifetime(100))
    };
    let mut pdu = vec![0; header.buffer_len(frame.len())];
    assert!(header.emit(frame.len(), &mut pdu));
    pdu.extend_from_slice(frame);
    ns(pdu)
}

fn ul(mobile: &Mobile, foreign: bool, frame: &[u8]) -> Vec<u8> {
    let qos = QosProfile::from_octets([0, 0, 0]);
    let header = UlUnitdata::new(mobile.tlli(foreign), qos, CellId::from_octets([0; 8]));
    let mut pdu = vec![0; header.buffer_len(frame.len())];
    assert!(header.emit(frame.len(), &mut pdu));
    pdu.extend_from_slice(frame);
    ns(pdu)
}

fn gtp(message: u8, teid: u32, payload: &[u8]) -> Vec<u8> {
    let is_user = message == 255;
    let flags = if is_user { 0x30 } else { 0x32 };
    let len = u16::try_from(payload.len() + if is_user { 0 } else { 4 }).unwrap();
    let mut octets = vec![flags, message];
    octets.extend(len.to_be_bytes());
    octets.extend(teid.to_be_bytes());
    if !is_user {
        octets.extend([0, 7, 0, 0]);
    }
    octets.extend_from_slice(payload);
    octets
}

fn endpoints(mobile: &Mobile, first: u32, at: Ipv4Addr, between: &[u8]) -> Vec<u8> {
    let mut octets = vec![16];
    octets.extend(mobile.teid(first + 1).to_be_bytes());
    octets.push(17);
    octets.extend(mobile.teid(first).to_be_bytes());
    octets.extend_from_slice(between);
    for _ in 0..2 {
        octets.extend([133, 0, 4]);
        octets.extend(at.octets());
    }
    octets
}

/// IMSI, endpoints of the SGSN.
fn request(mobile: &Mobile) -> Vec<u8> {
    let mut octets = vec![2];
    octets.extend(mobile.imsi().tbcd());
    octets.extend(endpoints(mobile, 0, SGSN, &[128, 0, 2, 0xf1, 0x21]));
    octets
}

/// Cause, endpoints of the GGSN, the mobile's address.
fn response(mobile: &Mobile) -> Vec<u8> {
    let address = [&[128, 0, 6, 0xf1, 0x21][..], &mobile.address().octets()].concat();
    [vec![1, 128], endpoints(mobile, 2, GGSN, &address)].concat()
}

fn ip(source: Ipv4Addr, destination: Ipv4Addr) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 128, 0, 0, 0x40, 0, 64, 17, 0, 0];
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.resize(128, 0);
    packet
}

fn steps() -> impl Strategy<Value = Vec<(u32, Step)>> {
    let step = prop_oneof![
        Just(Step::Downlink),
        Just(Step::Uplink),
        Just(Step::Update),
        Just(Step::Renamed),
        Just(Step::Create),
    ];
    proptest::collection::vec((0..40_u32, step), 1..400)
}

fn world(one_in: u32) -> World {
    let eyes = || {
        let mut eyes = Eyes::new();
        eyes.knows_users = true;
        eyes
    };
    let choice = Choice { headers: true, one_in: NonZeroU32::new(one_in) };
    World { bss: eyes(), sgsn: eyes(), ggsn: eyes(), choice, counts: vec![(0, 0); 1000] }
}

proptest! {
    /// Each who has a context when the trace begins, or gets one afterwards.
    #[test]
    fn a_subscriber_is_recorded_whole_or_not_at_all(steps in steps(), one_in in 1..20_u32) {
        let mut world = world(one_in);
        let mut mobiles: Vec<Mobile> = (0..40).map(|number| Mobile { number, p_tmsi: number * 77 + 5 }).collect();
        mobiles.iter_mut().for_each(|mobile| world.step(mobile, Step::Create));
        for (number, step) in steps {
            world.step(&mut mobiles[number as usize], step);
        }
        for (number, (own, recorded)) in world.counts.iter().enumerate() {
            prop_assert!(*recorded == 0 || recorded == own, "mobile {number}: {recorded} of {own}");
            prop_assert!(one_in > 1 || recorded == own);
        }
    }

    /// Whatever it is that comes: nothing fails, and no more is kept than there is.
    #[test]
    fn nothing_that_comes_is_too_strange(octets in proptest::collection::vec(any::<u8>(), 0..200), kind in 0..5_usize) {
        let mut eyes = Eyes::new();
        eyes.knows_users = true;
        let place = [GB_OF_SGSN, GN_OF_SGSN, GN_OF_GGSN, GI, GB_OF_BSS][kind];
        let ends = (SocketAddr::from((SGSN, 1)), SocketAddr::from((GGSN, 2)));
        for packet in [Packet::Udp(ends, &octets), Packet::Ip(&octets)] {
            let seen = eyes.look(place, Direction::In, &packet);
            if let Some(range) = seen.ll_pdu {
                prop_assert!(range.end <= octets.len());
            }
            if seen.is_user {
                prop_assert!(seen.headers <= octets.len());
            }
        }
    }
}

/// A context that was there before the trace: on Gn and Gi its address names it.
#[test]
fn who_was_there_before_is_known_by_address() {
    let mut world = world(3);
    for number in 0..300 {
        let mobile = Mobile { number, p_tmsi: number };
        for (is_downlink, packet) in [(true, ip(HOST, mobile.address())), (false, ip(mobile.address(), HOST))]
        {
            let way = if is_downlink { Direction::In } else { Direction::Out };
            let seen = world.ggsn.look(GI, way, &Packet::Ip(&packet));
            world.see(number, &seen);
            world.gn(&mobile, !is_downlink, &gtp(255, mobile.teid(if is_downlink { 1 } else { 3 }), &packet));
        }
    }
    let sampled = world.counts[..300].iter().filter(|(own, recorded)| own == recorded).count();
    assert!(world.counts.iter().all(|(own, recorded)| *recorded == 0 || own == recorded));
    assert!((70..130).contains(&sampled), "{sampled} of 300 are a third or so");
}

/// Headers end behind UDP within GTP, and within SNDCP.
#[test]
fn headers_end_where_the_payload_begins() {
    let mobile = Mobile { number: 1, p_tmsi: 9 };
    let mut eyes = Eyes::new();
    let ends = (SocketAddr::from((GGSN, 2152)), SocketAddr::from((SGSN, 2152)));
    let packet = ip(HOST, mobile.address());
    let seen = eyes.look(GN_OF_SGSN, Direction::In, &Packet::Udp(ends, &gtp(255, 1, &packet)));
    assert_eq!((seen.headers, seen.is_user), (8 + 28, true));
    let frame = |first: &[u8]| [first, &packet, &[0; 3]].concat();
    let mut headers = |first: &[u8]| {
        let datagram = dl(&mobile, &frame(first));
        let seen = eyes.look(GB_OF_SGSN, Direction::Out, &Packet::Udp(ends, &datagram));
        assert!(seen.is_user);
        seen.headers - seen.ll_pdu.unwrap().start
    };
    assert_eq!(headers(&[0x43, 0xc0, 1, 0x65, 0, 0, 1]), 7 + 28, "UI, first segment");
    assert_eq!(headers(&[0x43, 0xc0, 3, 0x65, 0, 0, 1]), 7, "ciphered");
    assert_eq!(headers(&[0x43, 0xc0, 1, 0x65, 1, 0, 1]), 7, "compressed");
    assert_eq!(headers(&[0x43, 0xc0, 1, 0x25, 0, 1]), 6, "a later segment");
    let signalling =
        eyes.look(GN_OF_SGSN, Direction::Out, &Packet::Udp(ends, &gtp(16, 0, &request(&mobile))));
    assert_eq!(signalling.headers, usize::MAX);
}
