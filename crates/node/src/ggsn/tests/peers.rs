//! Who may say what of a context. The stranger has an address of its own and knows every endpoint of the others.

use super::*;
use gannet_machine::drops::Drop;
use gannet_proto::gtp::{TeidKey, flow_label};
use gannet_wire::gtp::v0;
use gannet_wire::gtp::v1c::{
    EchoRequest, PduNotificationRejectRequest, PduNotificationRequest, SupportedExtensionHeaders,
    UpdateResponse, VersionNotSupported,
};
use gannet_wire::id::Tid;

const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 66));

fn datagram(teid: Teid, sequence: u16, message: impl Into<Message>) -> Vec<u8> {
    let mut octets = Vec::new();
    assert!(emit_datagram(teid, sequence, &message.into(), &mut octets));
    octets
}

/// A request whose message is sent from elsewhere than it names.
pub(super) fn at(n: u16, address: IpAddr) -> CreateRequest {
    CreateRequest { sgsn_control: address, sgsn_user: address, ..create_request(n, "internet") }
}

pub(super) fn update_to(address: IpAddr) -> UpdateRequest {
    UpdateRequest {
        teid_data: Some(Teid(0x888)),
        teid_control: Some(Teid(0x777)),
        sgsn_control: Some(address),
        sgsn_user: Some(address),
        qos: Some(qos()),
        ..UpdateRequest::new(Nsapi(5))
    }
}

fn cause_of(message: &Message) -> Cause {
    match message {
        Message::CreateResponse(response) => response.cause,
        Message::UpdateResponse(response) => response.cause,
        Message::DeleteResponse(response) => response.cause,
        other => panic!("{other:?}"),
    }
}

impl Net {
    /// Everything that a message could change: contexts, paths, addresses, counters.
    pub(super) fn state(&self) -> String {
        let contexts: Vec<_> = self.ggsn.contexts().collect();
        let paths: Vec<_> = self.ggsn.paths().iter().collect();
        let used: Vec<u32> = self.ggsn.access_points().map(|point| point.ipv4_use().0).collect();
        let GgsnCounters { created, updated, deleted, uplink, downlink, .. } = *self.ggsn.counters();
        format!("{contexts:?} {paths:?} {used:?} {created} {updated} {deleted} {uplink:?} {downlink:?}")
    }

    /// What a datagram makes the GGSN drop.
    fn dropped_by(&mut self, port: Port, from: IpAddr, octets: &[u8]) -> Vec<(Drop, u64)> {
        let before = self.drops();
        self.datagram(port, from, octets);
        let of = |drops: &[(Drop, u64)], drop| drops.iter().find(|(it, _)| *it == drop).map_or(0, |it| it.1);
        let more = self.drops().into_iter().map(|(drop, count)| (drop, count - of(&before, drop)));
        more.filter(|(_, count)| *count > 0).collect()
    }

    pub(super) fn ask(&mut self, from: IpAddr, teid: Teid, message: impl Into<Message>) -> Cause {
        cause_of(&self.control(from, teid, message).1)
    }

    fn ask_create(&mut self, from: IpAddr, n: u16) -> Created {
        self.create(at(n, from)).unwrap()
    }

    fn subscribers(&self) -> Vec<Imsi> {
        self.ggsn.contexts().map(|context| context.imsi).collect()
    }
}

/// What a stranger says, through which port, and what is counted for it.
type Said = (&'static str, Port, Vec<u8>, Vec<Drop>);

/// Says it all beside a context of the SGSN: nothing but the counters moves, and the SGSN goes on.
fn says(said: impl FnOnce(&Created) -> Vec<Said>) -> Net {
    let mut net = Net::new(|_| ());
    let created = net.create(create_request(1, "internet")).unwrap();
    let before = net.state();
    for (what, port, octets, expected) in said(&created) {
        let mut dropped = net.dropped_by(port, STRANGER, &octets);
        let mut expected: Vec<_> = expected.into_iter().map(|drop| (drop, 1)).collect();
        dropped.sort_by_key(|(drop, _)| drop.index());
        expected.sort_by_key(|(drop, _)| drop.index());
        assert_eq!(dropped, expected, "{what}");
        assert_eq!(net.state(), before, "{what}");
    }
    let up = packet(address_of(&created), HOST);
    assert_eq!(net.uplink(created.teid_data, &up).len(), 1);
    assert_eq!(net.delete(created.teid_control, 5).1, Cause::RequestAccepted);
    net
}

#[test]
fn requests_of_a_stranger_change_nothing() {
    use Drop::{GgsnForeignSgsn, GgsnRefused, GtpMalformed, GtpNotServed};
    let net = says(|created| {
        let control = created.teid_control;
        let (end_user_address, apn) = (created.end_user_address.clone(), "internet".parse().unwrap());
        let secondary = CreateRequest {
            imsi: None,
            nsapi: Nsapi(6),
            linked_nsapi: Some(Nsapi(5)),
            end_user_address: None,
            apn: None,
            recovery: Some(99),
            ..at(1, STRANGER)
        };
        let notification = PduNotificationRequest {
            imsi: imsi(1),
            teid_control: Teid(1),
            end_user_address: end_user_address.clone(),
            apn,
            pco: None,
            ggsn_control: STRANGER,
            private_extension: None,
        };
        let rejection = PduNotificationRejectRequest {
            cause: Cause::MsRefusesRequest,
            teid_control: Teid(1),
            end_user_address,
            apn: notification.apn.clone(),
            pco: None,
            private_extension: None,
        };
        let torn_down = DeleteRequest { teardown: Some(true), ..delete_request(5) };
        let foreign = || vec![GgsnForeignSgsn, GgsnRefused];
        let c = PORT_GTP_C;
        let incomplete = vec![0x32, 18, 0, 4, 1, 0, 0, 0, 0, 3, 0, 0];
        vec![
            ("Create, secondary", c, datagram(control, 1, secondary), foreign()),
            ("Update without NSAPI", c, incomplete, vec![GtpMalformed, GgsnRefused]),
            ("Delete", c, datagram(control, 4, delete_request(5)), foreign()),
            ("Delete, teardown", c, datagram(control, 5, torn_down), foreign()),
            ("PDU Notification", c, datagram(Teid(0), 6, notification), vec![GtpNotServed, GgsnRefused]),
            ("PDU Notification Reject", c, datagram(control, 7, rejection), vec![GgsnRefused]),
        ]
    });
    let lines = &net.around.trace.lines;
    let line =
        "IMSI 001010000000001: Delete request from 203.0.113.66 refused, the tunnel's peer is 192.0.2.1";
    assert!(lines.iter().any(|it| it == line), "{lines:?}");
}

#[test]
fn responses_and_path_messages_of_a_stranger_change_nothing() {
    use Drop::{GtpUnexpectedResponse, GtpVersion};
    says(|created| {
        let control = created.teid_control;
        let accepted = Cause::RequestAccepted;
        let deleted = DeleteResponse { cause: accepted, pco: None, private_extension: None };
        let echoed = EchoResponse { recovery: 99, private_extension: None };
        let echo = EchoRequest { private_extension: None };
        let headers = SupportedExtensionHeaders { types: vec![1] };
        let unexpected = || vec![GtpUnexpectedResponse];
        let (c, u) = (PORT_GTP_C, PORT_GTP_U);
        vec![
            ("Create Response", c, datagram(control, 1, CreateResponse::refused(accepted)), unexpected()),
            ("Update Response", c, datagram(control, 2, UpdateResponse::refused(accepted)), unexpected()),
            ("Delete Response", c, datagram(control, 3, deleted), unexpected()),
            ("Echo Request", c, datagram(Teid(0), 4, echo), vec![]),
            ("Echo Response", c, datagram(Teid(0), 5, echoed.clone()), unexpected()),
            ("Echo Response, user plane", u, datagram(Teid(0), 6, echoed), unexpected()),
            ("Version Not Supported", c, datagram(Teid(0), 7, VersionNotSupported {}), unexpected()),
            ("Supported Extension Headers", c, datagram(Teid(0), 8, headers), vec![]),
            ("another version", c, vec![0x48, 32, 0, 8, 1, 0, 0, 0, 0, 0, 1, 0], vec![GtpVersion]),
        ]
    });
}

#[test]
fn user_plane_messages_of_a_stranger_change_nothing() {
    use Drop::{
        GtpExtensionHeader, GtpForeignErrorIndication, GtpForeignUser, GtpUnexpectedErrorIndication,
        GtpUnknownTeid,
    };
    let net = says(|created| {
        let (user, up) = (created.teid_data, packet(address_of(created), HOST));
        let indication = |address| {
            let indication = ErrorIndication { teid: Teid(0x201), address, private_extension: None };
            datagram(Teid(0), 9, indication)
        };
        let mut with_extension = vec![0x34, 255, 0, 8 + u8::try_from(up.len()).unwrap()];
        with_extension.extend(user.0.to_be_bytes());
        with_extension.extend([0, 1, 0, 0xc9, 1, 0, 0, 0]);
        with_extension.extend(&up);
        let (c, u) = (PORT_GTP_C, PORT_GTP_U);
        vec![
            ("Error Indication", u, indication(SGSN), vec![GtpForeignErrorIndication]),
            ("Error Indication at GTP-C", c, indication(SGSN), vec![GtpForeignErrorIndication]),
            ("Error Indication for itself", u, indication(STRANGER), vec![GtpUnexpectedErrorIndication]),
            ("G-PDU", u, g_pdu(user, &up), vec![GtpForeignUser]),
            ("G-PDU for nobody", u, g_pdu(Teid(0x0700_0000), &up), vec![GtpUnknownTeid]),
            ("G-PDU with an unknown extension header", u, with_extension, vec![GtpExtensionHeader]),
        ]
    });
    assert_eq!(net.around.trace.drops.get(GtpForeignErrorIndication), 2);
}

#[test]
fn messages_of_version_0_of_a_stranger_change_nothing() {
    use Drop::{GgsnRefused, GtpUnexpectedErrorIndication, GtpUnknownTeid};
    says(|created| {
        let tid = Tid { imsi: imsi(1), nsapi: Nsapi(5) };
        let up = packet(address_of(created), HOST);
        let v0_of = |kind, payload: &[u8]| {
            let header = v0::Header::of_tunnel(kind, 1, tid, flow_label(created.teid_control));
            let mut octets = vec![0; v0::LEN];
            assert!(header.emit(payload.len(), &mut octets));
            octets.extend_from_slice(payload);
            octets
        };
        let v = PORT_GTP_V0;
        vec![
            ("G-PDU", v, v0_of(255, &up), vec![GtpUnknownTeid]),
            ("Delete", v, v0_of(20, &[]), vec![GgsnRefused]),
            ("Error Indication", v, v0_of(26, &[]), vec![GtpUnexpectedErrorIndication]),
            ("Echo Request", v, v0_of(1, &[]), vec![]),
        ]
    });
}

/// The same of a context of GTPv0, whose endpoint is its subscriber's IMSI and a flow label that the stranger knows.
#[test]
fn contexts_of_version_0_belong_to_their_sgsn_too() {
    let mut net = Net::new(|_| ());
    let request = create_request(1, "internet");
    let tid = Tid { imsi: imsi(1), nsapi: Nsapi(5) };
    let creation = v0::message::CreateRequest {
        qos: gannet_wire::gtp::value::QosR97::of(&request.qos),
        recovery: Some(1),
        selection_mode: gannet_wire::gtp::value::SelectionMode::Verified,
        flow_data: gannet_wire::id::FlowLabel(0x201),
        flow_signalling: gannet_wire::id::FlowLabel(0x101),
        end_user_address: EndUserAddress::Ipv4(None),
        apn: "internet".parse().unwrap(),
        pco: None,
        sgsn_control: SGSN,
        sgsn_user: SGSN,
        msisdn: gannet_wire::gtp::Msisdn { nature_and_plan: 0x91, tbcd: Octets::EMPTY },
        private_extension: None,
    };
    let mut octets = Vec::new();
    let header = v0::Header::of_tunnel(16, 1, tid, gannet_wire::id::FlowLabel(0));
    assert!(v0::emit_datagram(header, &creation.into(), &mut octets));
    assert_eq!(net.datagram(PORT_GTP_V0, SGSN, &octets).len(), 1);
    let context = net.ggsn.context(imsi(1), Nsapi(5)).unwrap();
    let (label, own) = (flow_label(context.teid), context.address.v4.unwrap());
    let said = |kind, payload: &[u8]| {
        let header = v0::Header::of_tunnel(kind, 2, tid, label);
        let mut octets = vec![0; v0::LEN];
        assert!(header.emit(payload.len(), &mut octets));
        octets.extend_from_slice(payload);
        octets
    };
    let before = net.state();
    for (octets, expected) in [
        (said(255, &packet(own, HOST)), vec![(Drop::GtpForeignUser, 1)]),
        (said(20, &[]), vec![(Drop::GgsnRefused, 1), (Drop::GgsnForeignSgsn, 1)]),
        (said(26, &[]), vec![(Drop::GtpUnexpectedErrorIndication, 1)]),
    ] {
        let mut dropped = net.dropped_by(PORT_GTP_V0, STRANGER, &octets);
        dropped.sort_by_key(|(drop, _)| *drop != Drop::GgsnRefused);
        assert_eq!(dropped, expected);
        assert_eq!(net.state(), before);
    }
    assert_eq!(net.datagram(PORT_GTP_V0, SGSN, &said(255, &packet(own, HOST))).len(), 1);
    net.datagram(PORT_GTP_V0, SGSN, &said(26, &[]));
    assert_eq!(net.ggsn.context_count(), 0);
}

#[test]
fn a_context_that_names_another_sgsn_takes_nothing_of_it() {
    let mut net = Net::new(|_| ());
    net.create(create_request(1, "internet")).unwrap();
    // The stranger has a context whose addresses and endpoints are those of the SGSN, under another counter.
    let theirs =
        CreateRequest { recovery: Some(77), teid_data: Teid(0x201), ..create_request(2, "internet") };
    assert_eq!(net.ask(STRANGER, Teid(0), theirs.clone()), Cause::RequestAccepted);
    net.create(create_request(3, "internet")).unwrap();
    assert_eq!(net.subscribers(), [imsi(1), imsi(2), imsi(3)], "the SGSN has not restarted");
    // What the SGSN does not know is its own, and what the stranger made in its name besides.
    let indication = ErrorIndication { teid: Teid(0x201), address: SGSN, private_extension: None };
    net.datagram(PORT_GTP_U, SGSN, &datagram(Teid(0), 0, indication));
    assert_eq!(net.subscribers(), [imsi(3)]);
    // The stranger restarts: it loses what it made, and nobody else does.
    assert_eq!(net.ask(STRANGER, Teid(0), theirs), Cause::RequestAccepted);
    let again = CreateRequest { recovery: Some(78), ..at(4, STRANGER) };
    assert_eq!(net.ask(STRANGER, Teid(0), again), Cause::RequestAccepted);
    let mut left = net.subscribers();
    left.sort_unstable();
    assert_eq!(left, [imsi(3), imsi(4)]);
    // The SGSN restarts.
    net.create(CreateRequest { recovery: Some(2), ..create_request(5, "internet") }).unwrap();
    let mut left = net.subscribers();
    left.sort_unstable();
    assert_eq!(left, [imsi(4), imsi(5)]);
}

/// An SGSN asks from one address and names another: it is one SGSN, which has restarted once.
#[test]
fn an_sgsn_of_two_addresses_loses_its_contexts_once() {
    let mut net = Net::new(|config| config.echo_interval = Duration::from_secs(60));
    assert_eq!(net.ask(OTHER_SGSN, Teid(0), create_request(1, "internet")), Cause::RequestAccepted);
    let answer = |net: &mut Net, recovery| {
        for (port, peer, octets) in net.run_until(net.around.now + Duration::from_secs(60)) {
            let Peer::Udp(peer) = peer else { panic!() };
            assert_eq!(peer.ip(), SGSN, "only the address that it named is tested");
            let sequence = Header::parse(&octets).unwrap().sequence.unwrap();
            let echoed = EchoResponse { recovery, private_extension: None };
            net.datagram(port, SGSN, &datagram(Teid(0), sequence, echoed));
        }
    };
    answer(&mut net, 1);
    let restarted = CreateRequest { recovery: Some(2), ..create_request(2, "internet") };
    assert_eq!(net.ask(OTHER_SGSN, Teid(0), restarted), Cause::RequestAccepted);
    assert_eq!(net.subscribers(), [imsi(2)]);
    answer(&mut net, 2);
    assert_eq!(net.subscribers(), [imsi(2)], "it was made after the restart");
    answer(&mut net, 3);
    assert_eq!(net.ggsn.context_count(), 0);
    net.assert_empty();
}

#[test]
fn a_plane_that_fails_takes_those_who_use_it() {
    let mut net = Net::new(|_| ());
    // This one has its user plane elsewhere; another claims that it is there.
    let split = CreateRequest { sgsn_user: OTHER_SGSN, ..create_request(1, "internet") };
    net.create(split).unwrap();
    let claimed = CreateRequest { sgsn_user: SGSN, sgsn_control: STRANGER, ..create_request(2, "internet") };
    assert_eq!(net.ask(STRANGER, Teid(0), claimed), Cause::RequestAccepted);
    for round in 0..10 {
        for (port, peer, octets) in net.run_until(net.around.now + Duration::from_secs(20)) {
            let Peer::Udp(peer) = peer else { panic!() };
            let is_answered = round < 3 || (port, peer.ip()) != (PORT_GTP_U, SGSN);
            let sequence = Header::parse(&octets).unwrap().sequence.unwrap();
            let echoed = EchoResponse { recovery: 1, private_extension: None };
            if is_answered {
                net.datagram(port, peer.ip(), &datagram(Teid(0), sequence, echoed));
            }
        }
    }
    assert_eq!(net.subscribers(), [imsi(1)]);
}

#[test]
fn addresses_that_an_sgsn_named_may_speak_for_its_contexts() {
    let mut net = Net::new(|_| ());
    let alternative: IpAddr = Ipv4Addr::new(192, 0, 2, 9).into();
    for n in 1..=4 {
        let request = CreateRequest {
            sgsn_user: Ipv4Addr::new(192, 0, 2, 8).into(),
            alternative_control: Some(alternative),
            ..create_request(n, "internet")
        };
        assert_eq!(net.ask(OTHER_SGSN, Teid(0), request), Cause::RequestAccepted);
    }
    let all: Vec<(Teid, Ipv4Addr)> =
        net.ggsn.contexts().map(|context| (context.teid, context.address.v4.unwrap())).collect();
    let known = [OTHER_SGSN, SGSN, Ipv4Addr::new(192, 0, 2, 8).into(), alternative];
    for ((teid, own), from) in all.into_iter().zip(known) {
        assert_eq!(net.datagram(PORT_GTP_U, from, &g_pdu(teid, &packet(own, HOST))).len(), 1, "{from}");
        assert_eq!(net.ask(from, teid, delete_request(5)), Cause::RequestAccepted, "{from}");
    }
    assert_eq!(net.drops(), []);
}

#[test]
fn how_much_is_checked_is_configured() {
    for (source_check, g_pdus, deletes) in [
        (SourceCheck::Strict, 0, Cause::NonExistent),
        (SourceCheck::Control, 1, Cause::NonExistent),
        (SourceCheck::Off, 1, Cause::RequestAccepted),
    ] {
        let mut net = Net::new(|config| config.source_check = source_check);
        let created = net.create(create_request(1, "internet")).unwrap();
        let up = g_pdu(created.teid_data, &packet(address_of(&created), HOST));
        assert_eq!(net.datagram(PORT_GTP_U, STRANGER, &up).len(), g_pdus, "{source_check:?}");
        assert_eq!(net.ask(STRANGER, created.teid_control, delete_request(5)), deletes, "{source_check:?}");
    }
}

pub(super) fn listing(config: &mut GgsnConfig, addresses: &[(IpAddr, Option<u32>)]) {
    let listed = addresses.iter();
    config.peers = listed
        .map(|(address, contexts_max)| ListedPeer { address: *address, contexts_max: *contexts_max })
        .collect();
}

/// 29.060 clause 7.3.3. The old SGSN has nothing to do with the context any more.
#[test]
fn an_update_from_another_sgsn_moves_the_context_and_is_told() {
    let mut net = Net::new(|_| ());
    let created = net.create(create_request(1, "internet")).unwrap();
    let control = created.teid_control;
    assert_eq!(net.ask(OTHER_SGSN, control, update_to(OTHER_SGSN)), Cause::RequestAccepted);
    let line = "IMSI 001010000000001 NSAPI 5: moved from 192.0.2.1 to 192.0.2.3";
    assert_eq!(net.around.trace.lines, [line]);
    assert_eq!(net.ask(SGSN, control, delete_request(5)), Cause::NonExistent);
    net.create(CreateRequest { recovery: Some(9), ..create_request(2, "internet") }).unwrap();
    assert_eq!(net.ggsn.context_count(), 2, "the old one has restarted");
    assert_eq!(
        net.ask(OTHER_SGSN, Teid(0), CreateRequest { recovery: Some(4), ..at(3, OTHER_SGSN) }),
        Cause::RequestAccepted
    );
    assert_eq!(
        net.ask(OTHER_SGSN, Teid(0), CreateRequest { recovery: Some(5), ..at(4, OTHER_SGSN) }),
        Cause::RequestAccepted
    );
    assert_eq!(net.subscribers().len(), 2, "the new one has restarted");
}

#[test]
fn a_create_for_an_active_context_replaces_it_and_is_told() {
    let mut net = Net::new(|_| ());
    net.create(create_request(1, "internet")).unwrap();
    net.create(at(1, OTHER_SGSN)).unwrap();
    let line = "IMSI 001010000000001 NSAPI 5: 192.0.2.3 replaces the context of 192.0.2.1";
    assert_eq!(
        (net.around.trace.lines.as_slice(), net.ggsn.context_count()),
        ([line.to_owned()].as_slice(), 1)
    );
}

#[test]
fn where_sgsns_are_listed_the_others_neither_move_nor_replace() {
    let mut net = Net::new(|config| listing(config, &[(SGSN, None), (OTHER_SGSN, None)]));
    let created = net.create(create_request(1, "internet")).unwrap();
    let before = net.state();
    assert_eq!(net.ask(STRANGER, created.teid_control, update_to(STRANGER)), Cause::NonExistent);
    assert_eq!(net.ask(STRANGER, Teid(0), at(1, STRANGER)), Cause::NoResourcesAvailable);
    assert_eq!(net.state(), before);
    assert_eq!(net.drops(), [(Drop::GgsnMoveRefused, 2), (Drop::GgsnRefused, 2)]);
    // A listed one may move it, and the stranger has its own contexts.
    assert_eq!(net.ask(OTHER_SGSN, created.teid_control, update_to(OTHER_SGSN)), Cause::RequestAccepted);
    assert_eq!(net.ask(STRANGER, Teid(0), at(2, STRANGER)), Cause::RequestAccepted);
    assert_eq!(net.ask(STRANGER, Teid(0), at(2, STRANGER)), Cause::RequestAccepted, "its own anew");
}

#[test]
fn who_guesses_endpoints_moves_nothing_for_ten_minutes() {
    let up = packet(HOST, HOST);
    let guesses: [fn(&mut Net, u32, &[u8]); 2] = [
        |net, n, up| drop(net.datagram(PORT_GTP_U, STRANGER, &g_pdu(Teid(0x5000_0000 + n), up))),
        |net, n, _| {
            assert_eq!(net.ask(STRANGER, Teid(0x5000_0000 + n), update_to(STRANGER)), Cause::NonExistent)
        },
    ];
    for guess in guesses {
        let mut net = Net::new(|config| config.echo_interval = Duration::ZERO);
        let control = net.create(create_request(1, "internet")).unwrap().teid_control;
        (0..11).for_each(|n| guess(&mut net, n, &up));
        assert_eq!(net.ask(STRANGER, control, update_to(STRANGER)), Cause::NonExistent);
        assert_eq!(net.around.trace.drops.get(Drop::GgsnMoveRefused), 1);
        // Nobody else is concerned, and the SGSN itself is none that moves.
        assert_eq!(net.ask(SGSN, control, update_to(SGSN)), Cause::RequestAccepted);
        assert_eq!(net.ask(OTHER_SGSN, control, update_to(OTHER_SGSN)), Cause::RequestAccepted);
        net.run_until(net.around.now + Duration::from_secs(600));
        assert_eq!(net.ask(STRANGER, control, update_to(STRANGER)), Cause::RequestAccepted);
    }
}

/// An SGSN does not know yet that its tunnels are gone, and goes on with them: it is told, also where others have their places.
#[test]
fn endpoints_that_existed_lately_are_no_guesses() {
    let up = packet(HOST, HOST);
    let mut net = Net::new(|config| {
        config.echo_interval = Duration::ZERO;
        config.context_limit = 3;
    });
    let kept = net.ask_create(OTHER_SGSN, 1);
    let gone = net.create(create_request(2, "internet")).unwrap();
    let replaced = net.create(create_request(3, "internet")).unwrap();
    net.create(create_request(3, "internet")).unwrap();
    assert_eq!(net.delete(gone.teid_control, 5).1, Cause::RequestAccepted);
    for _ in 0..100 {
        for teid in [gone.teid_data, replaced.teid_data] {
            let sent = net.uplink(teid, &up);
            assert_eq!(read(&sent[0].2).0.message, message_type::ERROR_INDICATION);
        }
        assert_eq!(net.delete(gone.teid_control, 5).1, Cause::NonExistent);
        // Its own endpoint, and none of its contexts.
        assert_eq!(net.ask(OTHER_SGSN, kept.teid_control, delete_request(9)), Cause::NonExistent);
    }
    assert_eq!(net.around.trace.drops.get(Drop::GtpErrorIndicationLimited), 0);
    // One of the first SGSN's mobiles moves there.
    assert_eq!(net.ask(SGSN, kept.teid_control, update_to(SGSN)), Cause::RequestAccepted);
    assert_eq!(net.ask(OTHER_SGSN, kept.teid_control, update_to(OTHER_SGSN)), Cause::RequestAccepted);
}

#[test]
fn who_guesses_is_told_once_a_second_and_others_always() {
    let up = packet(HOST, HOST);
    let mut net = Net::new(|config| {
        listing(config, &[(OTHER_SGSN, None)]);
        config.echo_interval = Duration::ZERO;
    });
    let mut told = |from, count: u32| {
        let guesses = (0..count).map(|n| g_pdu(Teid(0x5000_0000 + n), &up));
        guesses.map(|guess| net.datagram(PORT_GTP_U, from, &guess).len()).sum::<usize>()
    };
    assert_eq!((told(STRANGER, 100), told(STRANGER, 100)), (11, 0));
    assert_eq!((told(SGSN, 5), told(OTHER_SGSN, 100)), (5, 100), "listed");
    net.run_until(net.around.now + Duration::from_secs(1));
    assert_eq!(net.datagram(PORT_GTP_U, STRANGER, &g_pdu(Teid(7), &up)).len(), 1);
    assert_eq!(net.around.trace.drops.get(Drop::GtpErrorIndicationLimited), 189);
}

/// A GGSN that has begun anew knows none of its former endpoints: an SGSN that goes on with them takes nothing over from others
/// for a while, and hears of the restart with the first answer.
#[test]
fn after_a_restart_former_endpoints_are_unknown() {
    let up = packet(HOST, HOST);
    let mut before = Net::new(|config| config.teid_key = TeidKey::new(1));
    let former: Vec<Teid> =
        (1..=20).map(|n| before.create(create_request(n, "internet")).unwrap().teid_data).collect();
    let mut net = Net::new(|config| config.teid_key = TeidKey::new(2));
    let told: usize = former.iter().map(|teid| net.uplink(*teid, &up).len()).sum();
    assert_eq!(told, 11);
    let others = net.ask_create(OTHER_SGSN, 1).teid_control;
    let own = net.create(create_request(2, "internet")).unwrap();
    assert_eq!(net.ask(SGSN, others, update_to(SGSN)), Cause::NonExistent);
    assert_eq!(net.ask(SGSN, own.teid_control, update_to(SGSN)), Cause::RequestAccepted);
}

#[test]
fn contexts_of_a_peer_are_limited_and_those_who_are_not_listed_have_half() {
    let mut net = Net::new(|config| {
        listing(config, &[(SGSN, Some(2)), (OTHER_SGSN, None)]);
        set_network(config, 0, None, 29);
        set_network(config, 1, None, 24);
        config.context_limit = 8;
    });
    let accepted = Cause::RequestAccepted;
    assert_eq!(net.ask(SGSN, Teid(0), create_request(1, "small")), accepted);
    assert_eq!(net.ask(SGSN, Teid(0), create_request(2, "small")), accepted);
    assert_eq!(net.ask(SGSN, Teid(0), create_request(3, "small")), Cause::NoResourcesAvailable);
    assert_eq!(net.ask(SGSN, Teid(0), create_request(2, "small")), accepted, "in the place of its own");
    // Five addresses: two for those who are not listed, whoever they are.
    let invented: IpAddr = Ipv4Addr::new(203, 0, 113, 67).into();
    assert_eq!(net.ask(STRANGER, Teid(0), at(11, STRANGER)), accepted);
    assert_eq!(net.ask(invented, Teid(0), at(12, invented)), accepted);
    assert_eq!(net.ask(STRANGER, Teid(0), at(13, STRANGER)), Cause::AllDynamicAddressesOccupied);
    // Four of the eight contexts.
    let elsewhere = |n| CreateRequest { apn: "small".parse().ok(), ..at(n, STRANGER) };
    assert_eq!(net.ask(STRANGER, Teid(0), elsewhere(14)), accepted);
    assert_eq!(net.ask(STRANGER, Teid(0), elsewhere(15)), accepted);
    assert_eq!(net.ask(STRANGER, Teid(0), elsewhere(16)), Cause::NoResourcesAvailable);
    assert_eq!(net.ask(OTHER_SGSN, Teid(0), at(21, OTHER_SGSN)), accepted);
    assert_eq!(net.around.trace.drops.get(Drop::GgsnPeerLimit), 3);
    // What they give back they may have again.
    let control = net.ggsn.context(imsi(11), Nsapi(5)).unwrap().control_teid;
    assert_eq!(net.ask(STRANGER, control, delete_request(5)), accepted);
    assert_eq!(net.ask(STRANGER, Teid(0), at(13, STRANGER)), accepted);
}
