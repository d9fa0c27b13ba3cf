//! Input from those who mean no good, or whose octets were damaged.

use super::*;

#[test]
fn a_flood_of_unknown_endpoints_leaves_others_alone() {
    let mut net = Net::new(|config| config.answers_per_second = 1);
    let created = net.create(create_request(1, "internet")).unwrap();
    let good = packet(address_of(&created), HOST);
    let mut answers = 0;
    for teid in 0x1000..0x2000 {
        answers += net.uplink(Teid(teid), &good).len();
        assert_eq!(net.uplink(created.teid_data, &good).len(), 1);
    }
    assert_eq!(answers, 10);
    assert_eq!(net.drops(), [(Drop::GtpUnknownTeid, 0x1000), (Drop::GtpErrorIndicationLimited, 0x1000 - 10)]);
    assert_eq!(net.ggsn.counters().uplink.t_pdus, 0x1000);
}

#[test]
fn packets_that_do_not_belong() {
    let mut net = Net::new(|_| ());
    let created = net.create(create_request(1, "internet")).unwrap();
    let address = address_of(&created);
    // Another's source address, IPv6, too short, empty.
    assert!(net.uplink(created.teid_data, &packet(HOST, address)).is_empty());
    let mut six = packet(address, HOST);
    six[0] = 0x60;
    assert!(net.uplink(created.teid_data, &six).is_empty());
    assert!(net.uplink(created.teid_data, &[0x45; 19]).is_empty());
    assert!(net.uplink(created.teid_data, &[]).is_empty());
    // From the network: for nobody, for another access point's mobile, IPv6.
    assert!(net.downlink(Peer::Slot(0), &packet(HOST, Ipv4Addr::new(10, 0, 0, 77))).is_empty());
    assert!(net.downlink(Peer::Slot(1), &packet(HOST, address)).is_empty());
    assert!(net.downlink(Peer::Slot(9), &packet(HOST, address)).is_empty());
    assert!(net.downlink(Peer::Link, &packet(HOST, Ipv4Addr::BROADCAST)).is_empty());
    assert!(net.downlink(Peer::Slot(0), &six).is_empty());
    assert_eq!(net.drops(), [(Drop::GgsnSourceAddress, 1), (Drop::GgsnNotIp, 4), (Drop::GgsnNoContext, 4)]);
}

#[test]
fn garbage_and_malformed_requests() {
    let mut net = Net::new(|_| ());
    let created = net.create(create_request(1, "internet")).unwrap();
    for octets in [&b"garbage"[..], &[], &[0x32, 16, 0, 1], &[0x30, 200, 0, 0, 0, 0, 0, 0]] {
        assert!(net.datagram(PORT_GTP_C, SGSN, octets).is_empty());
        assert!(net.datagram(PORT_GTP_U, SGSN, octets).is_empty());
    }
    // A Delete PDP Context Request without NSAPI is refused to the endpoint of its context; one for nobody to 0.
    let [t0, t1, t2, t3] = created.teid_control.0.to_be_bytes();
    let request = [0x32, 20, 0, 4, t0, t1, t2, t3, 0, 9, 0, 0];
    let sent = net.datagram(PORT_GTP_C, SGSN, &request);
    let (header, message) = read(&sent[0].2);
    assert_eq!((header.teid, header.sequence), (Teid(0x101), Some(9)));
    let cause = Cause::MandatoryIeMissing;
    assert_eq!(message, DeleteResponse { cause, pco: None, private_extension: None }.into());
    let sent = net.datagram(PORT_GTP_C, SGSN, &[0x32, 20, 0, 4, 0, 0, 0, 0, 0, 10, 0, 0]);
    assert_eq!(read(&sent[0].2).0.teid, Teid(0));
    assert_eq!(net.ggsn.context_count(), 1);
    assert_eq!(
        net.drops(),
        [
            (Drop::GtpMalformed, 6),
            (Drop::GtpVersion, 2),
            (Drop::GtpUnknownMessage, 2),
            (Drop::GgsnRefused, 2)
        ]
    );
}

/// Damaged, cut and shuffled messages by the thousand: nothing panics, and nothing is left behind.
#[test]
fn damaged_messages() {
    let mut net = Net::new(|config| set_network(config, 0, None, 16));
    let mut dice = gannet_machine::rng::Rng::seeded(42);
    let update = UpdateRequest {
        teid_data: Some(Teid(1)),
        sgsn_control: Some(OTHER_SGSN),
        sgsn_user: Some(SGSN),
        qos: Some(qos()),
        ..UpdateRequest::new(Nsapi(5))
    };
    let below = |dice: &mut gannet_machine::rng::Rng, end: usize| {
        usize::try_from(dice.below(u64::try_from(end).unwrap())).unwrap()
    };
    for n in 0..20_000_u16 {
        let teid = net.ggsn.contexts().last().map_or(Teid(0), |context| context.teid);
        let mut octets = Vec::new();
        let message: Message = match n % 4 {
            0 | 1 => create_request(n % 64, "internet").into(),
            2 => update.clone().into(),
            _ => delete_request(5).into(),
        };
        let to = if n % 4 < 2 { Teid(0) } else { teid };
        assert!(emit_datagram(to, n, &message, &mut octets));
        for _ in 0..dice.below(3) {
            let at = below(&mut dice, octets.len());
            octets[at] = dice.u32().to_be_bytes()[0];
        }
        if dice.chance(0.1) {
            octets.truncate(below(&mut dice, octets.len() + 1));
        }
        let port = if dice.chance(0.1) { PORT_GTP_U } else { PORT_GTP_C };
        net.datagram(port, if dice.chance(0.5) { SGSN } else { OTHER_SGSN }, &octets);
        net.downlink(
            Peer::Slot(0),
            &packet(HOST, Ipv4Addr::new(10, 0, 0, octets.last().copied().unwrap_or(0))),
        );
    }
    assert!(net.ggsn.counters().created > 1000, "{:?}", net.ggsn.counters());
    assert!(net.ggsn.counters().updated > 100, "{:?}", net.ggsn.counters());
    net.give(Input::Command(GgsnCommand::DeleteAll));
    net.assert_empty();
}

#[test]
fn peers_without_an_extension_header_write_few_lines() {
    let mut net = Net::new(|_| ());
    for _ in 0..100 {
        net.datagram(PORT_GTP_C, SGSN, &[0x32, 31, 0, 6, 0, 0, 0, 0, 0, 9, 0, 0, 141, 0]);
    }
    let said = net.around.trace.lines.iter().filter(|line| line.contains("extension header")).count();
    assert!((1..=10).contains(&said), "{said}");
}
