//! Octets without sense at the ports of every node.

use crate::bench::{Bench, MOBILES, Sent, bvci};
use crate::octets;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use gannet_machine::Peer;
use gannet_machine::drops::Drop;
use gannet_machine::rng::Rng;
use gannet_machine::time::Duration;
use gannet_node::bss::gb_port;
use gannet_node::ggsn::{PORT_GTP_C, PORT_GTP_U, PORT_TUN};
use gannet_node::sgsn::{GB, GTP_C, GTP_U};
use gannet_sim::gprs::{GGSN_GN, Node, SGSN_GB, SGSN_GN, bss_address};
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::Cause;
use gannet_wire::id::{Bvci, Teid};

/// Nobody's address.
fn stranger(port: u16) -> Peer {
    Peer::Udp(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7)), port))
}

pub fn random_octets(dice: &mut Rng) -> Vec<u8> {
    let length = usize::try_from(dice.below(1600)).unwrap();
    let length = if dice.chance(0.5) { length % 32 } else { length };
    (0..length).map(|_| dice.u32().to_be_bytes()[0]).collect()
}

/// One to three octets changed, cut short or made longer.
pub fn mutated(dice: &mut Rng, octets: &[u8]) -> Vec<u8> {
    let mut octets = octets.to_vec();
    let at = |dice: &mut Rng, length: usize| usize::try_from(dice.below(length as u64 + 1)).unwrap();
    for _ in 0..=dice.below(3) {
        if !octets.is_empty() {
            let at = at(dice, octets.len() - 1);
            octets[at] = dice.u32().to_be_bytes()[0];
        }
    }
    if dice.chance(0.3) {
        octets.truncate(at(dice, octets.len()));
    }
    octets
}

#[test]
fn garbage_from_strangers_at_every_port() {
    let mut bench = Bench::new();
    let mut dice = Rng::seeded(7);
    let before = bench.snapshot();
    for _ in 0..300 {
        for n in 0..10 {
            let octets = random_octets(&mut dice);
            let (node, port) = [
                (Node::Sgsn, GB),
                (Node::Sgsn, GTP_C),
                (Node::Sgsn, GTP_U),
                (Node::Ggsn, PORT_GTP_C),
                (Node::Ggsn, PORT_GTP_U),
            ][n % 5];
            assert!(bench.world.inject(node, port, stranger(4000), &octets));
        }
        bench.run_for(Duration::from_millis(10));
    }
    bench.assert_all_arrived(&[]);
    let moved = bench.moved(&before);
    let possible = [
        Drop::NsUnknownPeer,
        Drop::GtpMalformed,
        Drop::GtpVersion,
        Drop::GtpUnknownMessage,
        Drop::GtpExtensionHeader,
        Drop::GtpErrorIndicationLimited,
        Drop::GtpUnknownTeid,
        Drop::GtpUnexpectedResponse,
        Drop::GtpUnexpectedErrorIndication,
        Drop::GgsnRefused,
        Drop::GtpRepeatedRequest,
    ];
    assert!(moved.iter().all(|(_, drop, _)| possible.contains(drop)), "{moved:?}");
    assert!(moved.contains(&(Node::Sgsn, Drop::NsUnknownPeer, 600)), "one for each: {moved:?}");
    for node in [Node::Sgsn, Node::Ggsn] {
        let malformed = moved.iter().find(|(at, drop, _)| (*at, *drop) == (node, Drop::GtpMalformed));
        assert!(malformed.is_some_and(|(_, _, count)| *count > 50), "{moved:?}");
    }
    bench.end();
}

#[test]
fn unknown_endpoints_by_the_thousand() {
    let mut bench = Bench::new();
    bench.listen();
    let before = bench.snapshot();
    // A thousand answers at once, a hundred a second; of a GGSN ten, and one a second, since whoever guesses might learn from
    // its silence which endpoints there are.
    for teid in 0..3000 {
        let datagram = octets::g_pdu(Teid(0xaa00_0000 + teid), &[0x45; 40]);
        assert!(bench.world.inject(Node::Sgsn, GTP_U, stranger(2152), &datagram));
        assert!(bench.world.inject(Node::Ggsn, PORT_GTP_U, stranger(2152), &datagram));
    }
    let answers = |sent: &[Sent], node| {
        sent.iter().filter(|sent| sent.node == node && sent.peer == stranger(2152)).count()
    };
    let sent = bench.heard();
    assert_eq!((answers(&sent, Node::Sgsn), answers(&sent, Node::Ggsn)), (1000, 11));
    bench.assert_all_arrived(&[]);
    let expected = [(Node::Sgsn, 2000), (Node::Ggsn, 2989)]
        .into_iter()
        .flat_map(|(node, limited)| {
            [(node, Drop::GtpUnknownTeid, 3000), (node, Drop::GtpErrorIndicationLimited, limited)]
        })
        .collect::<Vec<_>>();
    assert_eq!(bench.moved(&before), expected);
    bench.end();
}

/// What the nodes say to each other, recorded, damaged, and said again from the same addresses.
#[test]
fn mutated_datagrams_from_the_real_peers() {
    let mut bench = Bench::idle(1, |_| ());
    bench.listen();
    bench.interval = Some(Duration::from_secs(1));
    bench.join(0..MOBILES);
    let recorded = bench.heard();
    assert!(recorded.len() > 200, "{}", recorded.len());
    let mut dice = Rng::seeded(11);
    let gn = |address, port| Peer::Udp(SocketAddr::new(address, port));
    for round in 0..10 {
        for sent in &recorded {
            let (to, port, peer) = match (sent.node, sent.port) {
                (Node::Ms, _) => (Node::Bss, gannet_node::bss::UM, sent.peer),
                (Node::Bss, gannet_node::bss::UM) => (Node::Ms, gannet_node::ms::BEARER, sent.peer),
                (Node::Bss, port) => (Node::Sgsn, GB, Peer::Udp(bss_address(port.0 - gb_port(0).0))),
                (Node::Sgsn, GB) => (Node::Bss, gb_port(round % 2), Peer::Udp(SGSN_GB)),
                (Node::Sgsn, GTP_C) => (Node::Ggsn, PORT_GTP_C, gn(SGSN_GN, 2123)),
                (Node::Sgsn, _) => (Node::Ggsn, PORT_GTP_U, gn(SGSN_GN, 2152)),
                (Node::Ggsn, PORT_GTP_C) => (Node::Sgsn, GTP_C, gn(GGSN_GN, 2123)),
                (Node::Ggsn, PORT_GTP_U) => (Node::Sgsn, GTP_U, gn(GGSN_GN, 2152)),
                (Node::Ggsn, _) => (Node::Ggsn, PORT_TUN, Peer::Link),
            };
            let octets = mutated(&mut dice, &sent.octets);
            assert!(bench.world.inject(to, port, peer, &octets));
        }
        bench.run(1);
    }
    let drops = bench.drops();
    for drop in [
        Drop::NsMalformed,
        Drop::BssgpMalformed,
        Drop::LlcBadFcs,
        Drop::GtpMalformed,
        Drop::GtpUnexpectedResponse,
        Drop::UmMalformed,
    ] {
        assert!(drops.iter().any(|(_, raised, _)| *raised == drop), "{drop:?}: {drops:?}");
    }
    // Strangers' attaches, half made, are given up; mobiles that were detached by a forged message come back.
    bench.heard();
    bench.run(60);
    bench.end_after(2 * 3600 + 300);
}

/// An LL-PDU that ends too early is one thing, an element of BSSGP another: that is answered with STATUS.
#[test]
fn bssgp_cut_short_is_answered_with_status() {
    let mut bench = Bench::new();
    bench.listen();
    let before = bench.snapshot();
    let whole = octets::ul_unitdata(0, bench.tlli(0), &octets::ui(gannet_wire::id::Sapi::GMM, 50, &[8, 1]));
    let mut cut = 0;
    for length in 5..whole.len() {
        bench.gb(&whole[..length]);
        cut += 1;
    }
    let discarded = Message::LlcDiscarded(gannet_wire::bssgp::signalling::LlcDiscarded {
        tlli: bench.tlli(0),
        frames: 1,
        bvci: bvci(0),
        octets: 5,
    });
    let whole = octets::bssgp(Bvci::SIGNALLING, &discarded);
    for length in 5..whole.len() {
        bench.gb(&whole[..length]);
        cut += 1;
    }
    bench.run(1);
    let statuses: Vec<Cause> = bench
        .heard()
        .iter()
        .filter(|sent| sent.node == Node::Sgsn && sent.port == GB)
        .filter_map(|sent| match octets::bssgp_in(&sent.octets) {
            Some(Message::Status(status)) => Some(status.cause),
            _ => None,
        })
        .collect();
    assert_eq!(statuses.len(), cut);
    let missing = statuses.iter().filter(|cause| **cause == Cause::MissingMandatoryIe).count();
    let invalid = statuses.iter().filter(|cause| **cause == Cause::InvalidMandatoryInformation).count();
    assert!(missing > 10 && missing + invalid == cut, "{statuses:?}");
    bench.assert_all_arrived(&[]);
    let cut = cut as u64;
    let expected = [(Node::Bss, Drop::BssgpStatusReceived, cut), (Node::Sgsn, Drop::BssgpMalformed, cut)];
    assert_eq!(bench.moved(&before), expected);
    bench.end();
}
