//! Which of an SGSN's addresses a GGSN uses, and which it refuses (29.060 clauses 7.3.1 to 7.3.4).

use super::*;
use gannet_proto::gtp::ToldAddresses;

const SIX: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
const OWN_SIX: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2));

/// A request that names these: control, user, alternative control, alternative user.
fn naming(n: u16, named: [Option<IpAddr>; 4]) -> CreateRequest {
    let [control, user, alternative_control, alternative_user] = named;
    CreateRequest {
        sgsn_control: control.unwrap(),
        sgsn_user: user.unwrap(),
        alternative_control,
        alternative_user,
        ..create_request(n, "internet")
    }
}

impl Net {
    fn create_from(&mut self, from: IpAddr, request: CreateRequest) -> CreateResponse {
        let (_, Message::CreateResponse(response)) = self.control(from, Teid(0), request) else { panic!() };
        response
    }

    /// Where downlink packets of a subscriber go.
    fn way(&mut self, created: &CreateResponse) -> Option<(Port, IpAddr)> {
        let down = packet(HOST, address_of(&created.created().unwrap()));
        let sent = self.downlink(Peer::Slot(0), &down);
        let (port, Peer::Udp(to), _) = sent.first()? else { panic!() };
        Some((*port, to.ip()))
    }
}

#[test]
fn the_alternative_addresses_are_used_where_the_first_are_of_another_version_of_ip() {
    let mut net = Net::new(|_| ());
    let (four, six) = (Some(SGSN), Some(SIX));
    for (n, named) in
        [[six, six, four, four], [four, four, six, six], [four, four, six, None], [six, four, four, None]]
            .into_iter()
            .enumerate()
    {
        let created = net.create_from(SGSN, naming(u16::try_from(n).unwrap(), named));
        assert_eq!(created.cause, Cause::RequestAccepted, "{n}");
        assert_eq!((created.ggsn_control, created.alternative_control), (Some(GGSN), None));
        assert_eq!(net.way(&created), Some((PORT_GTP_U, SGSN)), "{n}");
    }
    assert_eq!(net.drops(), []);
}

#[test]
fn addresses_that_no_sgsn_can_have_are_refused() {
    let mut net = Net::new(|_| ());
    let v4 = |text: &str| Some(text.parse().unwrap());
    let nonsense = ["0.0.0.0", "255.255.255.255", "224.0.0.1", "127.0.0.1", "192.0.2.2", "2001:db8::1", "::"];
    let mut refused = 0;
    for address in nonsense.map(v4) {
        for named in [[address, Some(SGSN), None, None], [Some(SGSN), address, None, None]] {
            let response = net.create_from(SGSN, naming(1, named));
            assert_eq!(response.cause, Cause::MandatoryIeIncorrect, "{address:?}");
            refused += 1;
        }
    }
    assert_eq!(net.drops(), [(Drop::GtpUnreachable, refused), (Drop::GgsnRefused, refused)]);
    // An update is refused as well, and the tunnel stays.
    let created = net.create(create_request(1, "internet")).unwrap();
    let update = |address| UpdateRequest {
        teid_data: Some(Teid(0x888)),
        sgsn_control: address,
        sgsn_user: address,
        qos: Some(qos()),
        ..UpdateRequest::new(Nsapi(5))
    };
    for address in nonsense.map(v4) {
        let (_, message) = net.control(SGSN, created.teid_control, update(address));
        let Message::UpdateResponse(response) = message else { panic!() };
        assert_eq!(response.cause, Cause::MandatoryIeIncorrect, "{address:?}");
    }
    let sent = net.downlink(Peer::Slot(0), &packet(HOST, address_of(&created)));
    assert_eq!(GPdu::parse(&sent[0].2).unwrap().0.teid, Teid(0x201));
    let with_alternative =
        UpdateRequest { alternative_control: Some(SGSN), alternative_user: Some(SGSN), ..update(Some(SIX)) };
    let (_, Message::UpdateResponse(response)) = net.control(SGSN, created.teid_control, with_alternative)
    else {
        panic!()
    };
    assert_eq!(response.cause, Cause::RequestAccepted);
    assert_eq!(net.delete(created.teid_control, 5).1, Cause::RequestAccepted);
    net.assert_empty();
}

/// An emulator on the same machine is at a loopback address, as the GGSN itself is then.
#[test]
fn a_loopback_address_is_one_where_the_ggsn_has_one() {
    let mut net = Net::new(|config| config.address = Ipv4Addr::new(127, 0, 0, 2).into());
    let sgsn: IpAddr = Ipv4Addr::LOCALHOST.into();
    let named = [Some(sgsn), Some(sgsn), None, None];
    assert_eq!(net.create_from(sgsn, naming(1, named)).cause, Cause::RequestAccepted);
}

#[test]
fn with_a_second_address_both_versions_of_ip_are_served() {
    let mut net = Net::new(|config| config.second_address = Some(OWN_SIX));
    let (four, six) = (Some(SGSN), Some(SIX));
    let created = net.create_from(SGSN, naming(1, [four, four, six, six]));
    assert_eq!((created.ggsn_user, created.alternative_user), (Some(GGSN), Some(OWN_SIX)));
    assert_eq!(net.way(&created), Some((PORT_GTP_U, SGSN)));
    // Over IPv6, at its ports.
    let mut octets = Vec::new();
    assert!(emit_datagram(Teid(0), 77, &naming(2, [six, six, four, four]).into(), &mut octets));
    let sent = net.datagram(PORT_GTP_C_SECOND, SIX, &octets);
    assert_eq!((sent[0].0, sent[0].1), (PORT_GTP_C_SECOND, Peer::Udp(SocketAddr::new(SIX, 2123))));
    let (_, Message::CreateResponse(created)) = read(&sent[0].2) else { panic!() };
    assert_eq!((created.cause, created.ggsn_control), (Cause::RequestAccepted, Some(OWN_SIX)));
    assert_eq!(created.alternative_control, Some(GGSN));
    assert_eq!(net.way(&created), Some((PORT_GTP_U_SECOND, SIX)));
    let up = packet(address_of(&created.created().unwrap()), HOST);
    let teid = created.teid_data.unwrap();
    assert_eq!(net.datagram(PORT_GTP_U_SECOND, SIX, &g_pdu(teid, &up)).len(), 1);
    // An unknown endpoint is answered with the address that the G-PDU came to.
    let sent = net.datagram(PORT_GTP_U_SECOND, SIX, &g_pdu(Teid(0x7777_0000), &up));
    let (_, Message::ErrorIndication(indication)) = read(&sent[0].2) else { panic!() };
    assert_eq!((sent[0].0, indication.address), (PORT_GTP_U_SECOND, OWN_SIX));
    for address in ["fe80::1", "ff02::1", "::1", "::ffff:192.0.2.9", "2001:db8::2"] {
        let address = Some(address.parse().unwrap());
        let response = net.create_from(SGSN, naming(3, [address, address, None, None]));
        assert_eq!(response.cause, Cause::MandatoryIeIncorrect, "{address:?}");
    }
}

#[test]
fn sgsns_are_told_the_addresses_by_which_they_reach_us() {
    let v4 = |last| Ipv4Addr::new(203, 0, 113, last);
    let (control, user) = (Some(IpAddr::from(v4(1))), Some(IpAddr::from(v4(2))));
    let mut net = Net::new(|config| {
        config.second_address = Some(OWN_SIX);
        config.told = ToldAddresses { control: Some(v4(1)), user: Some(v4(2)) };
    });
    let (four, six) = (Some(SGSN), Some(SIX));
    let created = net.create_from(SGSN, naming(1, [four, four, None, None]));
    assert_eq!((created.ggsn_control, created.ggsn_user), (control, user));
    assert_eq!((created.alternative_control, created.alternative_user), (Some(OWN_SIX), Some(OWN_SIX)));
    let teid = created.teid_control.unwrap();
    let (_, Message::UpdateResponse(updated)) = net.control(SGSN, teid, update_request(1)) else { panic!() };
    assert_eq!((updated.gsn_first, updated.gsn_second), (control, user));
    // Over IPv6, its own address, and the others beside it.
    let mut octets = Vec::new();
    assert!(emit_datagram(Teid(0), 77, &naming(2, [six, six, None, None]).into(), &mut octets));
    let sent = net.datagram(PORT_GTP_C_SECOND, SIX, &octets);
    let (_, Message::CreateResponse(created)) = read(&sent[0].2) else { panic!() };
    assert_eq!((created.ggsn_control, created.alternative_control), (Some(OWN_SIX), control));
    assert_eq!((created.ggsn_user, created.alternative_user), (Some(OWN_SIX), user));
    // An Error Indication names the address that the tunnel has for its SGSN.
    let up = packet(Ipv4Addr::new(10, 0, 0, 2), HOST);
    let sent = net.datagram(PORT_GTP_U, SGSN, &g_pdu(Teid(0x7777_0000), &up));
    let (_, Message::ErrorIndication(indication)) = read(&sent[0].2) else { panic!() };
    assert_eq!(Some(indication.address), user);
    // They are ours: no SGSN has them, and no mobile speaks to them.
    for own in [control, user] {
        let response = net.create_from(SGSN, naming(3, [own, own, None, None]));
        assert_eq!(response.cause, Cause::MandatoryIeIncorrect);
    }
    net.uplink(net.ggsn.context(imsi(1), Nsapi(5)).unwrap().teid, &packet(Ipv4Addr::new(10, 0, 0, 2), v4(1)));
    assert_eq!(net.drops().last(), Some(&(Drop::GgsnToGtp, 1)));
}

#[test]
fn elements_that_cannot_be_read_are_incorrect_and_not_missing() {
    let mut net = Net::new(|_| ());
    let mut octets = Vec::new();
    assert!(emit_datagram(Teid(0), 9, &create_request(1, "internet").into(), &mut octets));
    // The IMSI stands first, behind its type: 16 digits, none, and letters.
    assert_eq!(octets[12], 2);
    for (n, tbcd) in [[0x12; 8], [0xff; 8], [0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0, 0x11]].iter().enumerate()
    {
        octets[9] = u8::try_from(n).unwrap();
        octets[13..21].copy_from_slice(tbcd);
        let sent = net.datagram(PORT_GTP_C, SGSN, &octets);
        let (header, Message::CreateResponse(response)) = read(&sent[0].2) else { panic!() };
        assert_eq!((header.teid, response.cause), (Teid(0x101), Cause::MandatoryIeIncorrect));
    }
    assert_eq!(net.drops(), [(Drop::GtpMalformed, 3), (Drop::GgsnRefused, 3)]);
}

/// The address of a mobile, its own or a neighbour's, is none of an SGSN, in Create and Update and whatever access point has it.
#[test]
fn an_address_of_a_mobile_is_none_of_an_sgsn() {
    let six: IpAddr = "2001:db8:17::2".parse().unwrap();
    let mut net = Net::new(|config| {
        config.second_address = Some(OWN_SIX);
        config.apns[1].v6 = Ranges::dynamic("2001:db8:17::".parse().unwrap(), 48);
    });
    let created = net.create(create_request(1, "internet")).unwrap();
    let own = IpAddr::from(address_of(&created));
    for mobile in [own, Ipv4Addr::new(10, 0, 0, 77).into(), Ipv4Addr::new(10, 0, 1, 1).into(), six] {
        for named in [[Some(mobile), Some(SGSN), None, None], [Some(SGSN), Some(mobile), None, None]] {
            assert_eq!(
                net.create_from(SGSN, naming(2, named)).cause,
                Cause::MandatoryIeIncorrect,
                "{mobile}"
            );
        }
        let update = UpdateRequest {
            teid_data: Some(Teid(0x888)),
            sgsn_control: Some(SGSN),
            sgsn_user: Some(mobile),
            qos: Some(qos()),
            ..UpdateRequest::new(Nsapi(5))
        };
        let (_, Message::UpdateResponse(response)) = net.control(SGSN, created.teid_control, update) else {
            panic!()
        };
        assert_eq!(response.cause, Cause::MandatoryIeIncorrect, "{mobile}");
    }
    assert_eq!((net.ggsn.context_count(), net.ggsn.paths().len()), (1, 1));
    assert_eq!(net.drops(), [(Drop::GtpUnreachable, 12), (Drop::GgsnRefused, 12)]);
}

/// A mobile writes packets as it likes, and has an address: it is heard as nobody on Gn, and its packets do not go there.
#[test]
fn a_mobile_is_no_peer_on_gn() {
    let mut net = Net::new(|_| ());
    let created = net.create(create_request(1, "internet")).unwrap();
    let own = address_of(&created);
    let mut deletion = Vec::new();
    assert!(emit_datagram(created.teid_control, 9, &delete_request(5).into(), &mut deletion));
    assert!(net.datagram(PORT_GTP_C, own.into(), &deletion).is_empty());
    let up = packet(own, HOST);
    assert!(net.datagram(PORT_GTP_U, own.into(), &g_pdu(created.teid_data, &up)).is_empty());
    let IpAddr::V4(ggsn) = GGSN else { panic!() };
    assert!(net.uplink(created.teid_data, &packet(own, ggsn)).is_empty());
    assert_eq!(net.uplink(created.teid_data, &up).len(), 1);
    assert_eq!(net.ggsn.context_count(), 1);
    assert_eq!(net.drops(), [(Drop::GtpFromMobile, 2), (Drop::GgsnToGtp, 1)]);
}

/// An update that changes nothing of subscriber `n`.
pub(super) fn update_request(n: u16) -> UpdateRequest {
    UpdateRequest {
        teid_data: Some(Teid(0x200 + u32::from(n))),
        sgsn_control: Some(SGSN),
        sgsn_user: Some(SGSN),
        qos: Some(qos()),
        ..UpdateRequest::new(Nsapi(5))
    }
}
