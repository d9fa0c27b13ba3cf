//! GGSNs that restart, are silent, refuse, or say things twice; and others who speak in their name.

use crate::bench::{Bench, HOST, MOBILES, NSAPI, imsi};
use crate::octets;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::{Peer, Port};
use gannet_node::ggsn::{ApnConfig, Ggsn, GgsnConfig, PORT_GTP_C};
use gannet_node::ms::{Failure, MsCommand, MsEvent, Procedure};
use gannet_node::sgsn::{ApnRoute, GTP_C, GTP_U, GgsnPeer, SgsnEvent};
use gannet_sim::gprs::{GGSN_GN, Node, SGSN_GN, WorldConfig};
use gannet_sim::link::LinkProfile;
use gannet_wire::gtp::Message;
use gannet_wire::gtp::header::message_type;
use gannet_wire::gtp::v1c::{DeleteRequest, EchoResponse, ErrorIndication};
use gannet_wire::id::{Nsapi, Teid};
use gannet_wire::l3::ie::SmCause;

fn gn(address: IpAddr, port: u16) -> Peer {
    Peer::Udp(SocketAddr::new(address, port))
}

fn stranger(port: u16) -> Peer {
    gn(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7)), port)
}

/// A GGSN that nobody has ever seen answers for one access point.
const SILENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 99));

fn with_a_silent_ggsn(config: &mut WorldConfig) {
    config.sgsn.ggsns.push(GgsnPeer { number: 1, address: SILENT, version: gannet_proto::gtp::Version::V1 });
    config.sgsn.apns = vec![
        ApnRoute { apn: "silent".to_owned(), imsi_prefix: String::new(), ggsn: 1 },
        ApnRoute { apn: "*".to_owned(), imsi_prefix: String::new(), ggsn: 0 },
    ];
}

fn activate(bench: &mut Bench, mobile: u32, nsapi: u8, apn: &str) {
    let (apn, nsapi) = (Some(apn.parse().unwrap()), Nsapi(nsapi));
    bench.world.order_ms(MsCommand::Activate { mobile, nsapi, apn, qos: None, address: None });
}

fn rejections(bench: &Bench) -> Vec<(u32, Procedure, Failure)> {
    let rejection = |event: &MsEvent| match event {
        MsEvent::Rejected { mobile, procedure, cause } => Some((*mobile, *procedure, *cause)),
        _ => None,
    };
    bench.ms_events.iter().filter_map(rejection).collect()
}

#[test]
fn a_restart_ends_the_contexts_of_that_ggsn_and_they_come_back() {
    let mut bench = Bench::with(|config| config.sgsn.echo_interval = Duration::from_secs(5));
    bench.interval = None;
    bench.run(1);
    let before = bench.snapshot();
    let apn = ApnConfig::with_ipv4("internet".parse().unwrap(), Ipv4Addr::new(10, 1, 0, 0), 24);
    let restarted = GgsnConfig { restart_counter: 1, ..GgsnConfig::new(GGSN_GN, vec![apn]) };
    bench.world.restart_ggsn(Ggsn::new(restarted).unwrap());
    bench.ms_events.clear();
    bench.run(10);
    let deactivated = bench.ms_events.iter().filter(|event| matches!(event, MsEvent::Deactivated { .. }));
    assert_eq!(deactivated.count(), MOBILES as usize);
    assert!(bench.sgsn_events.contains(&SgsnEvent::GgsnRestarted { peer: GGSN_GN }));
    assert_eq!(bench.moved(&before), [(Node::Sgsn, Drop::SgsnTunnelLost, u64::from(MOBILES))]);
    for mobile in 0..MOBILES {
        bench.activate(mobile);
    }
    bench.interval = Some(Duration::from_millis(200));
    bench.run(5);
    assert_eq!(bench.active(), MOBILES as usize);
    bench.assert_all_arrived(&[]);
    bench.end();
}

#[test]
fn a_restart_that_somebody_else_tells_of_is_none() {
    let mut bench = Bench::new();
    let before = bench.snapshot();
    let echo: Message = EchoResponse { recovery: 77, private_extension: None }.into();
    for sequence in 0..100 {
        let octets = octets::gtp(Teid(0), sequence, &echo);
        assert!(bench.world.inject(Node::Sgsn, GTP_C, stranger(2123), &octets));
        assert!(bench.world.inject(Node::Sgsn, GTP_C, gn(GGSN_GN, 2123), &octets));
        assert!(bench.world.inject(Node::Ggsn, PORT_GTP_C, gn(SGSN_GN, 2123), &octets));
    }
    bench.run(1);
    bench.assert_all_arrived(&[]);
    let expected =
        [(Node::Sgsn, Drop::GtpUnexpectedResponse, 200), (Node::Ggsn, Drop::GtpUnexpectedResponse, 100)];
    assert_eq!(bench.moved(&before), expected);
    bench.end();
}

#[test]
fn error_indications_for_a_live_tunnel_an_unknown_one_and_from_a_stranger() {
    let mut bench = Bench::new();
    bench.silent.insert(0);
    bench.run(1);
    let before = bench.snapshot();
    let teid = bench.world.ggsn.machine.context(imsi(0), NSAPI).unwrap().teid;
    let indication = |teid| {
        octets::gtp(Teid(0), 0, &ErrorIndication { teid, address: GGSN_GN, private_extension: None }.into())
    };
    for (teid, from) in [(Teid(1), gn(GGSN_GN, 2152)), (teid, stranger(2152))] {
        assert!(bench.world.inject(Node::Sgsn, GTP_U, from, &indication(teid)));
    }
    let refused =
        [(Node::Sgsn, Drop::SgsnForeignGgsn, 1), (Node::Sgsn, Drop::GtpUnexpectedErrorIndication, 1)];
    assert_eq!(bench.moved(&before), refused);
    bench.ms_events.clear();
    assert!(bench.world.inject(Node::Sgsn, GTP_U, gn(GGSN_GN, 2152), &indication(teid)));
    bench.run(2);
    let told = bench.ms_events.iter().map(|event| format!("{event:?}")).collect::<String>();
    assert!(told.starts_with("Deactivated { mobile: 0, nsapi: Nsapi(5)"), "{told}");
    bench.assert_all_arrived(&[]);
    let [foreign, unknown] = refused;
    let expected = [foreign, unknown, (Node::Sgsn, Drop::SgsnTunnelLost, 1)];
    assert_eq!(bench.moved(&before), expected);
    // At the GGSN its context stands until the mobile asks anew: the new one takes its place.
    bench.silent.clear();
    bench.activate(0);
    bench.run(2);
    assert_eq!((bench.active(), bench.world.ggsn.machine.context_count()), (8, 8));
    bench.assert_all_arrived(&[]);
    bench.end();
}

#[test]
fn a_silent_ggsn_is_told_as_network_failure() {
    let mut bench = Bench::with(with_a_silent_ggsn);
    let before = bench.snapshot();
    activate(&mut bench, 0, 6, "silent");
    bench.run(20);
    let failure = Failure::Sm(SmCause::NetworkFailure);
    assert_eq!(rejections(&bench), [(0, Procedure::Activate(Nsapi(6)), failure)]);
    bench.assert_all_arrived(&[]);
    let expected = [(Node::Sgsn, Drop::SmRejected, 1), (Node::Sgsn, Drop::GtpNoResponse, 1)];
    let mut moved = bench.moved(&before);
    moved.retain(|(node, ..)| *node == Node::Sgsn);
    assert_eq!(moved, expected);
    bench.end();
}

#[test]
fn a_path_that_fails_and_comes_back() {
    let mut bench = Bench::with(|config| config.sgsn.echo_interval = Duration::from_secs(5));
    bench.interval = None;
    bench.run(1);
    let before = bench.snapshot();
    bench.world.set_gn(LinkProfile { loss: 1.0, ..LinkProfile::default() });
    bench.run(30);
    assert!(bench.world.drops(Node::Sgsn).get(Drop::SgsnPathFailed) >= 1, "{:?}", bench.drops());
    bench.world.set_gn(LinkProfile::default());
    bench.run(10);
    let possible = [Drop::SgsnPathFailed, Drop::GtpNoResponse];
    assert!(bench.moved(&before).iter().all(|(_, drop, _)| possible.contains(drop)), "{:?}", bench.drops());
    bench.interval = Some(Duration::from_millis(200));
    bench.run(3);
    bench.assert_all_arrived(&[]);
    assert_eq!(bench.active(), 8);
    bench.end();
}

#[test]
fn a_full_ggsn_refuses() {
    let mut bench = Bench::with(|config| config.ggsn.context_limit = MOBILES);
    let before = bench.snapshot();
    activate(&mut bench, 0, 6, "internet");
    bench.run(2);
    let failure = Failure::Sm(SmCause::InsufficientResources);
    assert_eq!(rejections(&bench), [(0, Procedure::Activate(Nsapi(6)), failure)]);
    bench.assert_all_arrived(&[]);
    let mut moved = bench.moved(&before);
    moved.retain(|(node, ..)| *node != Node::Ms);
    let expected = [
        (Node::Sgsn, Drop::SmRejected, 1),
        (Node::Sgsn, Drop::SgsnGgsnRefused, 1),
        (Node::Ggsn, Drop::GgsnRefused, 1),
    ];
    assert_eq!(moved, expected);
    bench.end();
}

#[test]
fn responses_and_requests_that_are_replayed() {
    let mut bench = Bench::idle(1, |_| ());
    bench.listen();
    bench.join(0..MOBILES);
    let recorded = bench.heard();
    bench.interval = Some(Duration::from_millis(200));
    bench.run(1);
    let before = bench.snapshot();
    let of = |node, port: Port, kind| {
        let matches = move |sent: &&crate::bench::Sent| {
            (sent.node, sent.port) == (node, port) && sent.octets.get(1) == Some(&kind)
        };
        recorded.iter().filter(matches).map(|sent| sent.octets.clone()).collect::<Vec<_>>()
    };
    let responses = of(Node::Ggsn, PORT_GTP_C, message_type::CREATE_RESPONSE);
    let requests = of(Node::Sgsn, GTP_C, message_type::CREATE_REQUEST);
    assert_eq!((responses.len(), requests.len()), (8, 8));
    for response in &responses {
        assert!(bench.world.inject(Node::Sgsn, GTP_C, gn(GGSN_GN, 2123), response));
        assert!(bench.world.inject(Node::Sgsn, GTP_C, stranger(2123), response));
    }
    bench.listen();
    for request in &requests {
        assert!(bench.world.inject(Node::Ggsn, PORT_GTP_C, gn(SGSN_GN, 2123), request));
    }
    let again: Vec<_> = bench.heard().into_iter().filter(|sent| sent.port == PORT_GTP_C).collect();
    assert_eq!(
        again.iter().map(|sent| sent.octets.clone()).collect::<Vec<_>>(),
        responses,
        "the same octets"
    );
    bench.run(1);
    bench.assert_all_arrived(&[]);
    // Eight of the GGSN's answers to replayed requests are responses to nothing, too.
    let expected = [(Node::Sgsn, Drop::GtpUnexpectedResponse, 24), (Node::Ggsn, Drop::GtpRepeatedRequest, 8)];
    assert_eq!(bench.moved(&before), expected);
    assert_eq!(bench.world.ggsn.machine.context_count(), 8);
    bench.end();
}

#[test]
fn requests_of_strangers_to_the_sgsn_delete_nothing() {
    let mut bench = Bench::new();
    let before = bench.snapshot();
    let request: Message =
        DeleteRequest { teardown: Some(true), nsapi: NSAPI, pco: None, private_extension: None }.into();
    for teid in 0..50 {
        let octets = octets::gtp(Teid(0x5500_0000 + teid), 7, &request);
        assert!(bench.world.inject(Node::Sgsn, GTP_C, stranger(2123), &octets));
        assert!(bench.world.inject(Node::Ggsn, PORT_GTP_C, stranger(2123), &octets));
    }
    bench.run(1);
    bench.assert_all_arrived(&[]);
    assert_eq!(bench.moved(&before), [(Node::Ggsn, Drop::GgsnRefused, 50)]);
    assert_eq!(bench.active(), 8);
    bench.end();
}

#[test]
fn n_pdus_for_nobody_end_at_the_ggsn() {
    let mut bench = Bench::new();
    let before = bench.snapshot();
    for (source, destination) in [(HOST, Ipv4Addr::new(10, 0, 0, 200)), (HOST, HOST)] {
        let mut packet = octets::n_pdu((0, false, 1), destination, 60);
        packet[12..16].copy_from_slice(&source.octets());
        let frame = bench.world.frames.copy_of(&packet).unwrap();
        bench.world.internet(frame);
    }
    for packet in [&[0x50; 60][..], &[0x45; 19], &[]] {
        let frame = bench.world.frames.copy_of(packet).unwrap();
        bench.world.internet(frame);
    }
    bench.assert_all_arrived(&[]);
    let expected = [(Node::Ggsn, Drop::GgsnNotIp, 3), (Node::Ggsn, Drop::GgsnNoContext, 2)];
    assert_eq!(bench.moved(&before), expected);
    bench.end();
}

/// An endpoint of a mobile that has gone, and that of the mobile which has its place in the table now.
#[test]
fn an_endpoint_of_the_former_generation_is_unknown() {
    let mut bench = Bench::new();
    bench.silent.insert(0);
    let teid = bench.teid(0);
    bench.world.order_ms(MsCommand::Detach { mobile: 0, power_off: false });
    bench.run(2);
    bench.join(0..1);
    let now = bench.teid(0);
    assert_ne!(teid, now);
    let before = bench.snapshot();
    let datagram = octets::g_pdu(teid, &[0x45; 40]);
    assert!(bench.world.inject(Node::Sgsn, GTP_U, gn(GGSN_GN, 2152), &datagram));
    bench.run(1);
    bench.assert_all_arrived(&[]);
    let expected =
        [(Node::Sgsn, Drop::GtpUnknownTeid, 1), (Node::Ggsn, Drop::GtpUnexpectedErrorIndication, 1)];
    assert_eq!(bench.moved(&before), expected);
    bench.end();
}
