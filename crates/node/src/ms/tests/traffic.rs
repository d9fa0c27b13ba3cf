use super::super::*;
use super::bench::*;
use gannet_machine::time::Duration;
use gannet_proto::llc::{Layer3Offer, XidRequest};
use gannet_proto::sndcp::{Reassembler, Receiver, SndcpNsapi, receive};
use gannet_proto::um::{BROADCAST, UmKind};
use gannet_wire::id::{Sapi, Tlli};
use gannet_wire::l3::SmMessage;
use gannet_wire::l3::sm::ActivateAccept;
use gannet_wire::ndp::{ALL_NODES, ALL_ROUTERS, RouterAdvertisement, RouterSolicitation};

/// An IPv4 packet of the mobile.
fn packet(octets: usize) -> Vec<u8> {
    let mut packet: Vec<u8> = (0..=255).cycle().take(octets).collect();
    packet[0] = 0x45;
    packet[12..16].copy_from_slice(&[10, 0, 0, 7]);
    packet
}

/// The SN-PDUs that the mobile sent, put together by the network's SNDCP.
fn n_pdus(bench: &mut Bench) -> (usize, Vec<Vec<u8>>) {
    let mut table = Reassembler::new(4, Duration::from_secs(10));
    let (mut pdus, mut whole) = (0, Vec::new());
    while let Some((_, up)) = bench.up.pop_front() {
        let Up::Sn(_, pdu) = up else { continue };
        pdus += 1;
        let frame = bench.around.frames.copy_of(&pdu).unwrap();
        let receiver = Receiver { slot: 0, whose: None, compresses: false };
        let n_pdu = receive(&mut bench.around.context(), &mut table, receiver, |_| true, frame);
        whole.extend(n_pdu.map(|n_pdu| n_pdu.frame.to_vec()));
    }
    (pdus, whole)
}

/// An N-PDU for the mobile, in segments of the network's SNDCP.
fn downlink(bench: &mut Bench, nsapi: &mut SndcpNsapi, n201_u: u16, n_pdu: &[u8]) -> usize {
    let frame = bench.around.frames.copy_of(n_pdu).unwrap();
    let mut out = Batch::default();
    nsapi.unitdata_request(&mut bench.around.context(), n201_u, frame, &mut out).unwrap();
    let mut segments = 0;
    while let Some(segment) = out.pop() {
        let octets = segment.to_vec();
        core::mem::drop(segment);
        bench.ll_unitdata(0, Sapi::DATA3, &octets);
        segments += 1;
    }
    segments
}

#[test]
fn n_pdus_pass_both_ways_whole_and_in_segments() {
    let mut bench = Bench::attached(true);
    let mut network = SndcpNsapi::new(NSAPI, Sapi::DATA3);
    for (octets, segments) in [(84, 1), (1500, 4)] {
        bench.packet(0, &packet(octets));
        assert_eq!(n_pdus(&mut bench), (segments, vec![packet(octets)]));
        assert_eq!(downlink(&mut bench, &mut network, 500, &packet(octets)), segments);
        assert_eq!(bench.tun.pop(), Some((0, packet(octets))));
    }
    let stats = bench.ms.stats();
    assert_eq!((stats.n_pdu_uplink, stats.n_pdu_downlink), (2, 2));
    assert_eq!(bench.drops(), []);
    bench.all_frames_are_back();
}

#[test]
fn a_simulator_gets_and_gives_n_pdus_by_context() {
    let mut bench = Bench::new(|config| config.delivery = NPduDelivery::Event);
    bench.attach(0);
    bench.activate(0);
    let frame = bench.around.frames.copy_of(b"not IP at all").unwrap();
    bench.order(MsCommand::SendNpdu { mobile: 0, nsapi: NSAPI, frame });
    assert_eq!(n_pdus(&mut bench), (1, vec![b"not IP at all".to_vec()]));
    downlink(&mut bench, &mut SndcpNsapi::new(NSAPI, Sapi::DATA3), 500, b"nor this");
    let event = bench.events.pop_front();
    assert!(
        matches!(&event, Some(MsEvent::NPdu { mobile: 0, nsapi: NSAPI, frame }) if **frame == *b"nor this"),
        "{event:?}"
    );
    core::mem::drop(event);
    bench.all_frames_are_back();
}

#[test]
fn the_sgsn_negotiates_a_longer_n201_u() {
    let mut bench = Bench::attached(true);
    bench.llc_says(0, |llc, cx, out| {
        let request = XidRequest { n201_u: Some(1520), n201_i: Some(1503), layer3: Layer3Offer::Sndcp };
        llc.xid_request(cx, Sapi::DATA3, request, out);
    });
    assert!(matches!(bench.up.pop_front(), Some((0, Up::Other(..)))), "the response");
    assert_eq!(bench.network[0].n201_u(Sapi::DATA3), 1520);
    bench.packet(0, &packet(1500));
    assert_eq!(n_pdus(&mut bench), (1, vec![packet(1500)]));
    bench.llc_says(0, |llc, cx, out| llc.reset_request(cx, out));
    assert_eq!(bench.ms.mobile(0).unwrap().llc.n201_u(Sapi::DATA3), 500);
    let sndcp = bench.ms.mobile(0).unwrap().bearer(NSAPI).unwrap().sndcp;
    assert_eq!(sndcp, SndcpNsapi::new(NSAPI, Sapi::DATA3), "N-PDU numbers start again");
    assert_eq!(bench.drops(), []);
}

#[test]
fn the_mobile_negotiates_where_it_is_told_to() {
    let mut bench = Bench::new(|config| config.n201_u = Some(1000));
    bench.attach(0);
    bench.order_context(0, NSAPI);
    bench.next_sm(0);
    bench.sm(0, 0, activate_accept());
    assert!(matches!(bench.up.pop_front(), Some((0, Up::Other(..)))), "XID");
    bench.up.clear();
    bench.pass(Duration::from_secs(5));
    assert!(matches!(bench.up.pop_front(), Some((0, Up::Other(..)))), "T200");
}

#[test]
fn data_make_a_mobile_ready() {
    let mut bench = Bench::attached(true);
    bench.pass(Duration::from_secs(45));
    assert_eq!(bench.ms.view(0).unwrap().mm, "standby");
    bench.packet(0, &packet(84));
    assert_eq!(bench.ms.view(0).unwrap().mm, "ready");
    bench.pass(Duration::from_secs(43));
    assert_eq!(bench.ms.view(0).unwrap().mm, "ready");
    bench.pass(Duration::from_secs(1));
    assert_eq!(bench.ms.view(0).unwrap().mm, "standby");
}

#[test]
fn segments_that_never_become_whole_are_given_up() {
    let mut bench = Bench::attached(true);
    bench.ll_unitdata(0, Sapi::DATA3, &[0x75, 0, 0, 0, 1]);
    assert_eq!(bench.ms.reassembling(), 1);
    bench.pass(Duration::from_secs(63));
    assert_eq!(bench.ms.reassembling(), 1, "a base station may hold the rest for as long");
    bench.pass(Duration::from_secs(1));
    assert_eq!((bench.ms.reassembling(), bench.drops()), (0, vec![(Drop::SndcpTimeout, 1)]));
    bench.ll_unitdata(0, Sapi::DATA3, &[0x75, 0, 0, 1, 1]);
    bench.order(MsCommand::Detach { mobile: 0, power_off: true });
    assert_eq!(bench.ms.reassembling(), 0);
    bench.all_frames_are_back();
}

#[test]
fn packets_without_a_way_are_dropped_by_name() {
    let mut bench = Bench::attached(false);
    bench.packet(0, &packet(84));
    bench.packet(9, &packet(84));
    assert_eq!(bench.drops(), [(Drop::MsUnknownMobile, 1), (Drop::MsNoContext, 1)]);
    bench.activate(0);
    bench.packet(0, &[0x60; 48]);
    assert_eq!(bench.around.trace.drops.get(Drop::MsOtherAddressType), 1);
    let mut frame = bench.around.frames.copy_of(&packet(84)).unwrap();
    assert!(frame.prepend(&[0x45; gannet_machine::frame::HEADROOM - 8]));
    bench.order(MsCommand::SendNpdu { mobile: 0, nsapi: NSAPI, frame });
    assert_eq!(bench.around.trace.drops.get(Drop::MsNoRoom), 1);
    bench.packet(0, &packet(1521));
    assert_eq!(bench.around.trace.drops.get(Drop::SndcpTooLong), 1);
    assert!(bench.is_silent());
    bench.all_frames_are_back();
}

#[test]
fn what_a_mobile_cannot_hear_or_need_not_is_dropped_by_name() {
    let mut bench = Bench::attached(true);
    let local = Tlli::local(PTMSI);
    bench.um(0, UmKind::LlPdu, 1, local, &[0x41, 0, 0]);
    bench.um(0, UmKind::LlPdu, 0, Tlli(0xc123_4567), &[0x41, 0, 0]);
    bench.um(BROADCAST, UmKind::LlPdu, 0, Tlli(0xc123_4567), &[0x41, 0, 0]);
    bench.um(9, UmKind::LlPdu, 0, local, &[0x41, 0, 0]);
    bench.um(0, UmKind::CampOn, 0, local, &[]);
    bench.raw_um(Peer::Slot(0), &[0xff; 8]);
    bench.raw_um(Peer::Slot(0), &[0; 7]);
    bench.raw_um(Peer::Link, &[0; 8]);
    bench.um(BROADCAST, UmKind::LlPdu, 0, local, &[0x41, 0, 0]);
    let expected = [
        (Drop::LlcMalformed, 1),
        (Drop::UmMalformed, 3),
        (Drop::MsUnknownMobile, 2),
        (Drop::MsUnknownTlli, 2),
        (Drop::MsOtherCell, 1),
    ];
    assert_eq!(bench.drops(), expected);
    bench.all_frames_are_back();
}

#[test]
fn routers_are_asked_for_three_times_until_one_answers() {
    let v6 = |text: &str| text.parse::<core::net::Ipv6Addr>().unwrap();
    let asks = RouterSolicitation { source: v6("fe80::2"), destination: ALL_ROUTERS }.to_vec();
    for (lifetime_s, after, asked_again) in [(0, 0, 2), (64_800, 0, 0), (64_800, 1, 1)] {
        let mut bench = Bench::attached(false);
        bench.order_context(0, NSAPI);
        assert!(matches!(bench.next_sm(0), SmMessage::ActivateRequest(_)));
        let address = Some(PdpAddress::Ipv6(v6("2001:db8::2")));
        bench.sm(0, 0, ActivateAccept { address, ..activate_accept() });
        assert_eq!(n_pdus(&mut bench).1, core::slice::from_ref(&asks));
        bench.pass(Duration::from_millis(3999));
        assert!(n_pdus(&mut bench).1.is_empty());
        bench.pass(Duration::from_secs(4 * after));
        let (source, destination, hop_limit, prefixes) = (v6("fe80::1"), ALL_NODES, 64, Vec::new());
        let told = RouterAdvertisement {
            source,
            destination,
            hop_limit,
            lifetime_s,
            mtu: None,
            prefixes,
            dns: None,
        };
        downlink(&mut bench, &mut SndcpNsapi::new(NSAPI, Sapi::DATA3), 500, &told.to_vec());
        bench.pass(Duration::from_secs(40));
        assert_eq!(n_pdus(&mut bench).1, vec![asks.clone(); asked_again], "{lifetime_s} {after}");
        bench.all_frames_are_back();
    }
}
