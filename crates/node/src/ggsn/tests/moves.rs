//! Contexts that are replaced or moved: who may do so, what it costs, and what is left where it is refused.

use super::peers::{at, listing, update_to};
use super::*;
use gannet_wire::gtp::v0;
use gannet_wire::id::{FlowLabel, Tid};

const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 66));

impl Net {
    fn line(&self) -> &str {
        self.around.trace.lines.last().map_or("", |line| line)
    }
}

/// The old context stays until nothing stands against the new one.
#[test]
fn a_create_that_is_refused_leaves_the_context_that_it_would_replace() {
    let mut net = Net::new(|config| {
        config.apns[0].static_addresses = false;
        set_network(config, 0, None, 16);
        set_network(config, 1, Some(Ipv4Addr::new(10, 1, 0, 0)), 30);
    });
    let created = net.create(create_request(1, "internet")).unwrap();
    net.create(create_request(2, "small")).unwrap();
    let before = net.state();
    let fixed = EndUserAddress::Ipv4(Some(Ipv4Addr::new(10, 0, 0, 9)));
    let refused = [
        (
            CreateRequest { end_user_address: Some(fixed), ..create_request(1, "internet") },
            Cause::UnknownPdpAddressOrType,
        ),
        (create_request(1, "small"), Cause::AllDynamicAddressesOccupied),
    ];
    for (request, cause) in refused {
        assert_eq!(net.create(request), Err(cause));
        assert_eq!(net.state(), before);
    }
    // The last address of a pool is that of the context that gives way.
    let again = net.create(create_request(2, "small")).unwrap();
    assert_eq!(address_of(&again), Ipv4Addr::new(10, 1, 0, 2));
    // No path is left.
    for n in 3..=1025_u16 {
        let [_, _, a, b] = u32::from(n).to_be_bytes();
        net.create(at(n, Ipv4Addr::new(198, 18, a, b).into())).unwrap();
    }
    let before = net.state();
    assert_eq!(net.ask(STRANGER, Teid(0), at(1, STRANGER)), Cause::NoResourcesAvailable);
    assert_eq!(net.state(), before);
    assert_eq!(net.uplink(created.teid_data, &packet(address_of(&created), HOST)).len(), 1);
    let down = packet(HOST, address_of(&created));
    assert_eq!(net.downlink(Peer::Slot(0), &down).len(), 1, "it has its address on");
}

#[test]
fn whoever_takes_a_context_over_has_one_more() {
    let mut net = Net::new(|config| listing(config, &[(SGSN, Some(1)), (OTHER_SGSN, None)]));
    let accepted = Cause::RequestAccepted;
    net.create(create_request(1, "internet")).unwrap();
    let control = net.create(at(2, OTHER_SGSN)).unwrap().teid_control;
    let before = net.state();
    assert_eq!(net.ask(SGSN, Teid(0), create_request(2, "internet")), Cause::NoResourcesAvailable);
    assert_eq!(net.ask(SGSN, control, update_to(SGSN)), Cause::NoResourcesAvailable);
    assert_eq!(net.state(), before);
    assert_eq!(net.around.trace.drops.get(Drop::GgsnPeerLimit), 2);
    assert_eq!(net.ask(SGSN, Teid(0), create_request(1, "internet")), accepted, "its own anew");
    assert_eq!(net.ask(OTHER_SGSN, Teid(0), at(1, OTHER_SGSN)), accepted);
    assert_eq!(net.ask(SGSN, control, update_to(SGSN)), accepted, "it has none any more");
}

#[test]
fn without_source_check_the_list_still_says_who_moves_and_replaces() {
    let mut net = Net::new(|config| {
        config.source_check = SourceCheck::Off;
        listing(config, &[(SGSN, None), (OTHER_SGSN, None)]);
    });
    let control = net.create(create_request(1, "internet")).unwrap().teid_control;
    let before = net.state();
    assert_eq!(net.ask(STRANGER, control, update_to(STRANGER)), Cause::NonExistent);
    assert_eq!(net.ask(STRANGER, Teid(0), at(1, STRANGER)), Cause::NoResourcesAvailable);
    assert_eq!(net.state(), before);
    assert_eq!(net.ask(OTHER_SGSN, control, update_to(OTHER_SGSN)), Cause::RequestAccepted);
}

#[test]
fn each_move_and_replacement_is_told_with_both_addresses() {
    let mut net = Net::new(|config| listing(config, &[(SGSN, None), (OTHER_SGSN, None)]));
    net.create(create_request(1, "internet")).unwrap();
    let control = net.create(create_request(1, "internet")).unwrap().teid_control;
    assert_eq!(net.line(), "", "an SGSN replaces its own");
    assert_eq!(net.ask(SGSN, control, update_to(SGSN)), Cause::RequestAccepted);
    assert_eq!(net.line(), "", "nothing moves");
    // An address that the context knows names another SGSN.
    assert_eq!(net.ask(SGSN, control, update_to(OTHER_SGSN)), Cause::RequestAccepted);
    assert_eq!(
        net.line(),
        "IMSI 001010000000001 NSAPI 5: moved from 192.0.2.1 to 192.0.2.3, as 192.0.2.1 says"
    );
    let users = UpdateRequest { sgsn_user: Some(STRANGER), ..update_to(OTHER_SGSN) };
    assert_eq!(net.ask(OTHER_SGSN, control, users), Cause::RequestAccepted);
    let line = "IMSI 001010000000001 NSAPI 5: moved from 192.0.2.3 to 192.0.2.3, user traffic from 192.0.2.3 to 203.0.113.66";
    assert_eq!(net.line(), line);
    let theirs = CreateRequest { sgsn_control: STRANGER, ..create_request(1, "internet") };
    assert_eq!(net.ask(SGSN, Teid(0), theirs), Cause::RequestAccepted);
    let line =
        "IMSI 001010000000001 NSAPI 5: 192.0.2.1 replaces the context of 192.0.2.3 with one of 203.0.113.66";
    assert_eq!(net.line(), line);
}

/// 29.060 clause 7.3.3: the endpoint for signalling is named in one of the Updates.
#[test]
fn contexts_that_move_one_after_the_other_have_one_endpoint_for_signalling() {
    let mut net = Net::new(|_| ());
    let control = net.create(create_request(1, "internet")).unwrap().teid_control;
    let peers = |net: &Net| {
        [5, 6].map(|nsapi| net.ggsn.context(imsi(1), Nsapi(nsapi)).unwrap().tunnel.peer_control.0)
    };
    let secondary = CreateRequest {
        imsi: None,
        teid_control: None,
        nsapi: Nsapi(6),
        linked_nsapi: Some(Nsapi(5)),
        end_user_address: None,
        apn: None,
        tft: secondary::any_template(),
        ..create_request(1, "internet")
    };
    assert_eq!(net.ask(SGSN, control, secondary), Cause::RequestAccepted);
    assert_eq!(peers(&net), [0x101, 0x101]);
    assert_eq!(net.ask(OTHER_SGSN, control, update_to(OTHER_SGSN)), Cause::RequestAccepted);
    assert_eq!(peers(&net), [0x777, 0x101], "one is at each SGSN");
    let update = |nsapi, teid: Option<u32>| UpdateRequest {
        nsapi: Nsapi(nsapi),
        teid_control: teid.map(Teid),
        ..update_to(OTHER_SGSN)
    };
    assert_eq!(net.ask(OTHER_SGSN, control, update(6, None)), Cause::RequestAccepted);
    assert_eq!(peers(&net), [0x777, 0x777]);
    assert_eq!(net.ask(OTHER_SGSN, control, update(6, Some(0x999))), Cause::RequestAccepted);
    assert_eq!(peers(&net), [0x999, 0x999]);
}

/// A path that lives on by what came from it fails as often as somebody uses it.
#[test]
fn a_plane_fails_for_those_who_come_later_too() {
    let mut net = Net::new(|_| ());
    let elsewhere = CreateRequest { sgsn_control: OTHER_SGSN, sgsn_user: OTHER_SGSN, ..at(1, SGSN) };
    assert_eq!(net.ask(SGSN, Teid(0), elsewhere), Cause::RequestAccepted);
    for n in 2..4 {
        net.create(create_request(n, "internet")).unwrap();
        assert_eq!(net.ggsn.context_count(), 2);
        for _ in 0..8 {
            for (port, peer, octets) in net.run_until(net.around.now + Duration::from_secs(20)) {
                let Peer::Udp(peer) = peer else { panic!() };
                if peer.ip() == OTHER_SGSN {
                    let sequence = Header::parse(&octets).unwrap().sequence.unwrap();
                    let mut answer = Vec::new();
                    let echoed = EchoResponse { recovery: 1, private_extension: None }.into();
                    assert!(emit_datagram(Teid(0), sequence, &echoed, &mut answer));
                    net.datagram(port, OTHER_SGSN, &answer);
                }
            }
        }
        assert_eq!(net.ggsn.context_count(), 1, "the {n}th is lost");
    }
}

#[test]
fn version_0_takes_no_address_of_ipv6() {
    let six: IpAddr = "2001:db8::1".parse().unwrap();
    let mut net = Net::new(|config| config.second_address = "2001:db8::2".parse().ok());
    for (address, cause) in [(six, 201), (SGSN, 128)] {
        let creation = v0::message::CreateRequest {
            qos: gannet_wire::gtp::value::QosR97::of(&qos()),
            recovery: Some(1),
            selection_mode: gannet_wire::gtp::value::SelectionMode::Verified,
            flow_data: FlowLabel(0x201),
            flow_signalling: FlowLabel(0x101),
            end_user_address: EndUserAddress::Ipv4(None),
            apn: "internet".parse().unwrap(),
            pco: None,
            sgsn_control: address,
            sgsn_user: address,
            msisdn: gannet_wire::gtp::Msisdn { nature_and_plan: 0x91, tbcd: Octets::EMPTY },
            private_extension: None,
        };
        let mut octets = Vec::new();
        let header = v0::Header::of_tunnel(16, 1, Tid { imsi: imsi(1), nsapi: Nsapi(5) }, FlowLabel(0));
        assert!(v0::emit_datagram(header, &creation.into(), &mut octets));
        let sent = net.datagram(PORT_GTP_V0, SGSN, &octets);
        // The cause stands first, behind the header and its type.
        assert_eq!(sent[0].2[v0::LEN..][..2], [1, cause], "{address}");
    }
}

/// Those who are not listed have half of the prefixes of IPv6 as of the addresses of IPv4, and half of the paths.
#[test]
fn who_is_not_listed_has_half_of_prefixes_and_paths() {
    let mut net = Net::new(|config| {
        listing(config, &[(SGSN, None)]);
        set_network(config, 0, None, 16);
        set_network(config, 1, Some(Ipv4Addr::new(10, 1, 0, 0)), 30);
        config.apns[1].v6 = Ranges::dynamic("2001:db8:17::".parse().unwrap(), 61);
        set_network(config, 1, None, 24);
    });
    let six = |n, from| CreateRequest {
        end_user_address: Some(EndUserAddress::Ipv6(None)),
        apn: "small".parse().ok(),
        ..at(n, from)
    };
    let accepted = Cause::RequestAccepted;
    assert_eq!(net.ask(STRANGER, Teid(0), six(1, STRANGER)), accepted);
    assert_eq!(net.ask(STRANGER, Teid(0), six(2, STRANGER)), accepted);
    assert_eq!(net.ask(STRANGER, Teid(0), six(3, STRANGER)), Cause::AllDynamicAddressesOccupied);
    assert_eq!(net.ask(SGSN, Teid(0), six(4, SGSN)), accepted);
    // One path is the stranger's already.
    let named = |n: u16| -> IpAddr {
        let [_, _, a, b] = u32::from(n).to_be_bytes();
        Ipv4Addr::new(198, 18, a, b).into()
    };
    for n in 1..=511 {
        assert_eq!(net.ask(STRANGER, Teid(0), at(100 + n, named(n))), accepted, "{n}");
    }
    assert_eq!(net.ask(STRANGER, Teid(0), at(1000, named(1000))), Cause::NoResourcesAvailable);
    assert_eq!(net.around.trace.drops.get(Drop::GtpPathTableFull), 1);
    assert_eq!(net.ask(STRANGER, Teid(0), at(1000, named(1))), accepted, "to one that is there");
    assert_eq!(net.ask(SGSN, Teid(0), at(1001, named(1001))), accepted, "who is listed has room");
}
