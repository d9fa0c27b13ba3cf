//! Subscribers with addresses of their own, and SGSNs that are asked for them.

use super::*;
use gannet_proto::gtp::{ContextName, TeidKey};
use gannet_wire::gtp::v1c::{PduNotificationRejectRequest, PduNotificationRequest, PduNotificationResponse};

const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);

fn net() -> Net {
    let own = StaticMobile { apn: 0, address: OWN, imsi: imsi(1), sgsn: SGSN };
    Net::new(|config| config.static_mobiles = vec![own])
}

fn request(n: u16) -> CreateRequest {
    CreateRequest { end_user_address: Some(EndUserAddress::Ipv4(Some(OWN))), ..create_request(n, "internet") }
}

/// The one notification that was sent.
fn notification(sent: &[Sent]) -> (Header, PduNotificationRequest) {
    let [(PORT_GTP_C, peer, octets)] = sent else { panic!("{sent:?}") };
    assert_eq!(*peer, Peer::Udp(SocketAddr::new(SGSN, 2123)));
    match read(octets) {
        (header, Message::PduNotificationRequest(request)) => (header, request),
        (_, other) => panic!("{other:?}"),
    }
}

fn answer(net: &mut Net, to: &Header, cause: Cause) -> Vec<Sent> {
    let response = PduNotificationResponse { cause, private_extension: None };
    let mut octets = Vec::new();
    assert!(emit_datagram(Teid(0x00f0_0000), to.sequence.unwrap(), &response.into(), &mut octets));
    net.datagram(PORT_GTP_C, SGSN, &octets)
}

#[test]
fn an_sgsn_is_asked_for_an_address_without_a_context() {
    let mut net = net();
    let down = packet(HOST, OWN);
    let (header, request_sent) = notification(&net.downlink(Peer::Slot(0), &down));
    assert_eq!((header.teid, request_sent.imsi, request_sent.ggsn_control), (Teid(0), imsi(1), GGSN));
    assert_eq!(request_sent.end_user_address, EndUserAddress::Ipv4(Some(OWN)));
    assert_eq!(request_sent.apn.to_string(), "internet");
    assert!(answer(&mut net, &header, Cause::RequestAccepted).is_empty());
    // More that comes asks for nothing more, before its time; at other access points nobody has the address.
    assert!(net.downlink(Peer::Slot(0), &down).is_empty());
    assert!(net.downlink(Peer::Slot(1), &down).is_empty());
    let created = net.create(request(1)).unwrap();
    assert_eq!(created.end_user_address, EndUserAddress::Ipv4(Some(OWN)));
    assert_eq!(net.downlink(Peer::Slot(0), &down).len(), 1);
    assert_eq!(net.delete(created.teid_control, 5).1, Cause::RequestAccepted);
    net.run_until(net.around.now + NOTIFICATION_INTERVAL);
    notification(&net.downlink(Peer::Slot(0), &down));
    assert_eq!(net.ggsn.counters().notified, 2);
    assert_eq!(net.drops(), [(Drop::GgsnAwaitsContext, 3), (Drop::GgsnNoContext, 1)]);
}

#[test]
fn a_scan_of_the_network_asks_for_few() {
    let mut net = Net::new(|config| {
        let own = |n: u8| Ipv4Addr::new(10, 0, 0, n);
        let of = |n| StaticMobile { apn: 0, address: own(n), imsi: imsi(u16::from(n)), sgsn: SGSN };
        config.static_mobiles = (2..=201).map(of).collect();
        config.echo_interval = Duration::ZERO;
    });
    let mut sent = Vec::new();
    for n in 2..=201 {
        sent.extend(net.downlink(Peer::Slot(0), &packet(HOST, Ipv4Addr::new(10, 0, 0, n))));
    }
    let (asked, limited) = (NOTIFICATIONS_MAX as u64, 200 - NOTIFICATIONS_MAX as u64);
    assert_eq!((sent.len() as u64, net.ggsn.counters().notified), (asked, asked));
    assert_eq!(net.drops(), [(Drop::GgsnAwaitsContext, asked), (Drop::GgsnNotificationLimited, limited)]);
    // One answer is one place, for who was not asked for: his time has not begun.
    let (header, _) = notification(&sent[..1]);
    assert!(answer(&mut net, &header, Cause::RequestAccepted).is_empty());
    notification(&net.downlink(Peer::Slot(0), &packet(HOST, Ipv4Addr::new(10, 0, 0, 200))));
    assert!(net.downlink(Peer::Slot(0), &packet(HOST, Ipv4Addr::new(10, 0, 0, 201))).is_empty());
    // And so it is where no answer comes.
    net.run_until(net.around.now + Duration::from_secs(30));
    notification(&net.downlink(Peer::Slot(0), &packet(HOST, Ipv4Addr::new(10, 0, 0, 201))));
    assert_eq!(net.ggsn.counters().notified, asked + 2);
}

#[test]
fn nobody_else_is_given_the_address() {
    let mut net = net();
    assert_eq!(net.create(request(2)), Err(Cause::UnknownPdpAddressOrType));
    for n in 3..=10 {
        let created = net.create(create_request(n, "internet")).unwrap();
        assert_ne!(created.end_user_address, EndUserAddress::Ipv4(Some(OWN)));
    }
    // Its owner has it again and again, and once at a time.
    for _ in 0..2 {
        let created = net.create(request(1)).unwrap();
        let another = CreateRequest { nsapi: Nsapi(6), ..request(1) };
        assert_eq!(net.create(another), Err(Cause::UnknownPdpAddressOrType));
        assert_eq!(net.delete(created.teid_control, 5).1, Cause::RequestAccepted);
        assert_eq!(net.create(request(2)), Err(Cause::UnknownPdpAddressOrType));
    }
}

#[test]
fn a_mobile_that_is_not_reached_is_counted() {
    let mut net = net();
    let (header, asked) = notification(&net.downlink(Peer::Slot(0), &packet(HOST, OWN)));
    assert!(answer(&mut net, &header, Cause::ImsiNotKnown).is_empty());
    let reject = PduNotificationRejectRequest {
        cause: Cause::MsRefusesRequest,
        teid_control: Teid(7),
        end_user_address: EndUserAddress::Ipv4(Some(OWN)),
        apn: "internet".parse().unwrap(),
        pco: None,
        private_extension: None,
    };
    // Its endpoint, and that which another notification would have.
    let [own, another] = [0x00f0_0000, 0x00f0_0001].map(|name| TeidKey::default().teid(ContextName(name)));
    assert_eq!(asked.teid_control, own);
    let (to, response) = net.control(SGSN, own, reject.clone());
    let Message::PduNotificationRejectResponse(response) = response else { panic!("{response:?}") };
    assert_eq!((to.teid, response.cause), (Teid(7), Cause::RequestAccepted));
    // From elsewhere, or about nobody.
    for (from, teid) in [(OTHER_SGSN, own), (SGSN, another)] {
        let (_, response) = net.control(from, teid, reject.clone());
        let Message::PduNotificationRejectResponse(response) = response else { panic!("{response:?}") };
        assert_eq!(response.cause, Cause::NonExistent);
    }
    // And one that says nothing at all.
    net.run_until(net.around.now + NOTIFICATION_INTERVAL);
    notification(&net.downlink(Peer::Slot(0), &packet(HOST, OWN)));
    net.run_until(net.around.now + Duration::from_secs(30));
    let counts = net.drops();
    assert!(counts.contains(&(Drop::GgsnNotReached, 3)), "{counts:?}");
}

#[test]
fn a_static_address_belongs_to_one_subscriber_and_to_the_prefix() {
    let with = |addresses: &[Ipv4Addr]| {
        let mut config = GgsnConfig::new(GGSN, vec![apn("internet", 0, 24)]);
        let of = |(n, address): (u16, &Ipv4Addr)| StaticMobile {
            apn: 0,
            address: *address,
            imsi: imsi(n),
            sgsn: SGSN,
        };
        config.static_mobiles = (1..).zip(addresses).map(of).collect();
        Ggsn::new(config).map(drop)
    };
    assert_eq!(with(&[OWN]), Ok(()));
    assert_eq!(with(&[OWN, OWN]), Err(GgsnConfigError::StaticAddress(OWN)));
    assert_eq!(with(&[HOST]), Err(GgsnConfigError::StaticAddress(HOST)));
}
