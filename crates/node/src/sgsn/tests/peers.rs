//! Who may say what of a tunnel, and which addresses of a GGSN are used. The stranger knows every endpoint.

use super::bench::*;
use crate::sgsn::*;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use gannet_machine::drops::Drop;
use gannet_proto::gtp::SourceCheck;
use gannet_wire::gtp::v1c::{
    CreateRequest, CreateResponse, DeleteRequest, DeleteResponse, EchoRequest, EchoResponse, ErrorIndication,
    PduNotificationRejectRequest, PduNotificationRequest, SupportedExtensionHeaders, UpdateRequest,
    UpdateResponse, VersionNotSupported, emit_datagram,
};
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::gtp::{Cause, EndUserAddress, Message as GtpMessage};
use gannet_wire::id::{Sapi, Teid};
use gannet_wire::l3::ie::SmCause;
use gannet_wire::l3::sm::SmMessage;

const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 66));
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 77));
const SIX: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
const OWN_SIX: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2));

fn datagram(teid: Teid, sequence: u16, message: impl Into<GtpMessage>) -> Vec<u8> {
    let mut octets = Vec::new();
    assert!(emit_datagram(teid, sequence, &message.into(), &mut octets));
    octets
}

fn g_pdu(teid: Teid, t_pdu: &[u8]) -> Vec<u8> {
    let header = GPdu { teid, sequence: Some(1), npdu_number: None };
    let mut octets = vec![0; header.buffer_len()];
    assert!(header.emit(t_pdu.len(), &mut octets));
    octets.extend(t_pdu);
    octets
}

const fn delete_request() -> DeleteRequest {
    DeleteRequest { teardown: Some(true), nsapi: NSAPI, pco: None, private_extension: None }
}

impl Bench {
    fn from(&mut self, port: Port, from: IpAddr, octets: &[u8]) {
        self.datagram(port, SocketAddr::new(from, 2123), octets);
    }

    /// What a datagram makes the SGSN drop.
    fn dropped_by(&mut self, port: Port, from: IpAddr, octets: &[u8]) -> Vec<(Drop, u64)> {
        let before = self.drops();
        self.from(port, from, octets);
        let of = |drops: &[(Drop, u64)], drop| drops.iter().find(|(it, _)| *it == drop).map_or(0, |it| it.1);
        let more = self.drops().into_iter().map(|(drop, count)| (drop, count - of(&before, drop)));
        more.filter(|(_, count)| *count > 0).collect()
    }

    /// All of the first mobile, and of the paths.
    fn all_kept(&self) -> (Option<Vec<u8>>, String, usize) {
        let gtp = self.sgsn.gtp();
        let paths: Vec<_> = gtp.paths().iter().collect();
        (self.sgsn.copy_out(self.slot(0)), format!("{paths:?}"), gtp.outstanding())
    }

    /// The mobile asks for a context, and the GGSN answers with what `change` makes of its answer.
    fn answered_with(&mut self, change: impl FnOnce(&mut CreateResponse)) -> SmMessage {
        self.sm(0, 0, activate_request(NSAPI));
        let (from, sequence, request) = self.next_create();
        let mut response = created(&request);
        change(&mut response);
        self.answer(from, request.teid_control.unwrap(), sequence, response);
        // A tunnel that is of no use is taken down before or after the mobile is told.
        let mut heard = None;
        while !self.sent.is_empty() {
            match self.sent.front() {
                Some(Sent::Control(..)) => self.delete_answer(NSAPI),
                _ => heard = Some(self.hear_sm(0)),
            }
        }
        heard.unwrap()
    }
}

#[test]
fn what_a_stranger_says_of_others_changes_nothing() {
    use Drop::{
        GtpForeignUser, GtpMalformed, GtpNotServed, GtpUnexpectedErrorIndication, GtpUnexpectedResponse,
        GtpUnknownTeid, GtpVersion, SgsnForeignGgsn,
    };
    let mut bench = Bench::attached(true);
    let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
    let accepted = Cause::RequestAccepted;
    let indication = |address| ErrorIndication {
        teid: Teid(GGSN_USER + u32::from(NSAPI.0)),
        address,
        private_extension: None,
    };
    let end_user_address = EndUserAddress::Ipv4(Some(address(NSAPI)));
    let apn: gannet_wire::l3::ie::Apn = "internet".parse().unwrap();
    let notification = PduNotificationRequest {
        imsi: imsi(0),
        teid_control: Teid(1),
        end_user_address: end_user_address.clone(),
        apn: apn.clone(),
        pco: None,
        ggsn_control: STRANGER,
        private_extension: None,
    };
    let rejection = PduNotificationRejectRequest {
        cause: Cause::MsRefusesRequest,
        teid_control: Teid(1),
        end_user_address: end_user_address.clone(),
        apn: apn.clone(),
        pco: None,
        private_extension: None,
    };
    let create = CreateRequest { recovery: Some(99), ..create_request(end_user_address, apn) };
    let deleted = DeleteResponse { cause: accepted, pco: None, private_extension: None };
    let echoed = EchoResponse { recovery: 99, private_extension: None };
    let update = UpdateRequest { recovery: Some(99), ..UpdateRequest::new(NSAPI) };
    let table: Vec<(&str, Port, Vec<u8>, Vec<Drop>)> = vec![
        ("Create", GTP_C, datagram(Teid(0), 1, create), vec![GtpNotServed]),
        ("Update", GTP_C, datagram(teid, 2, update), vec![SgsnForeignGgsn]),
        ("Update without NSAPI", GTP_C, vec![0x32, 18, 0, 4, 1, 0, 0, 0, 0, 3, 0, 0], vec![GtpMalformed]),
        ("Delete", GTP_C, datagram(teid, 4, delete_request()), vec![SgsnForeignGgsn]),
        (
            "Create Response",
            GTP_C,
            datagram(teid, 5, CreateResponse::refused(accepted)),
            vec![GtpUnexpectedResponse],
        ),
        (
            "Update Response",
            GTP_C,
            datagram(teid, 5, UpdateResponse::refused(accepted)),
            vec![GtpUnexpectedResponse],
        ),
        ("Delete Response", GTP_C, datagram(teid, 6, deleted), vec![GtpUnexpectedResponse]),
        ("Echo Request", GTP_C, datagram(Teid(0), 7, EchoRequest { private_extension: None }), vec![]),
        ("Echo Response", GTP_C, datagram(Teid(0), 8, echoed.clone()), vec![GtpUnexpectedResponse]),
        ("Echo Response, user plane", GTP_U, datagram(Teid(0), 8, echoed), vec![GtpUnexpectedResponse]),
        ("Error Indication", GTP_U, datagram(Teid(0), 9, indication(GGSN)), vec![SgsnForeignGgsn]),
        ("Error Indication at GTP-C", GTP_C, datagram(Teid(0), 9, indication(GGSN)), vec![SgsnForeignGgsn]),
        (
            "Error Indication for itself",
            GTP_U,
            datagram(Teid(0), 9, indication(STRANGER)),
            vec![GtpUnexpectedErrorIndication],
        ),
        ("G-PDU", GTP_U, g_pdu(teid, &[1; 20]), vec![GtpForeignUser]),
        ("G-PDU for nobody", GTP_U, g_pdu(Teid(0x0700_0000), &[1; 20]), vec![GtpUnknownTeid]),
        ("PDU Notification", GTP_C, datagram(Teid(0), 10, notification), vec![SgsnForeignGgsn]),
        ("PDU Notification Reject", GTP_C, datagram(teid, 11, rejection), vec![GtpNotServed]),
        (
            "Version Not Supported",
            GTP_C,
            datagram(Teid(0), 12, VersionNotSupported {}),
            vec![GtpUnexpectedResponse],
        ),
        (
            "Supported Extension Headers",
            GTP_C,
            datagram(Teid(0), 13, SupportedExtensionHeaders { types: vec![1] }),
            vec![],
        ),
        ("another version", GTP_C, vec![0x48, 32, 0, 8, 1, 0, 0, 0, 0, 0, 1, 0], vec![GtpVersion]),
    ];
    let before = bench.all_kept();
    for (what, port, octets, expected) in table {
        let dropped = bench.dropped_by(port, STRANGER, &octets);
        assert_eq!(dropped, expected.into_iter().map(|drop| (drop, 1)).collect::<Vec<_>>(), "{what}");
        let sent = core::mem::take(&mut bench.sent);
        let is_gb = |sent: &Sent| !matches!(sent, Sent::Control(..) | Sent::UserPlane(..));
        assert!(!sent.iter().any(is_gb), "{what}: the mobile hears of it");
        assert_eq!(bench.all_kept(), before, "{what}");
    }
    // The GGSN's own packet comes through, and its Delete is obeyed.
    bench.downlink(0, NSAPI, &[7; 20]);
    assert_eq!(bench.hear(0).1[4..], [7; 20]);
    bench.ggsn_asks(teid, delete_request());
    assert!(
        matches!(bench.next_control().2, GtpMessage::DeleteResponse(response) if response.cause == accepted)
    );
}

/// A request as an SGSN would send it.
fn create_request(end_user_address: EndUserAddress, apn: gannet_wire::l3::ie::Apn) -> CreateRequest {
    let mut bench = Bench::attached(false);
    bench.sm(0, 0, activate_request(NSAPI));
    let (_, _, request) = bench.next_create();
    CreateRequest { end_user_address: Some(end_user_address), apn: Some(apn), ..request }
}

/// A GGSN that a Create tells another counter has not restarted: it says so in what it says to an SGSN.
#[test]
fn a_create_request_of_a_ggsn_is_no_restart() {
    let mut bench = Bench::attached(true);
    let create = create_request(EndUserAddress::Ipv4(None), "internet".parse().unwrap());
    bench.from(GTP_C, GGSN, &datagram(Teid(0), 1, CreateRequest { recovery: Some(99), ..create }));
    let (_, _, message) = bench.next_control();
    assert!(
        matches!(message, GtpMessage::CreateResponse(response) if response.cause == Cause::ServiceNotSupported)
    );
    assert_eq!((bench.mobile(0).bearers().count(), bench.drops()), (1, vec![(Drop::GtpNotServed, 1)]));
}

#[test]
fn how_much_is_checked_is_configured() {
    for (source_check, heard, drops) in
        [(SourceCheck::Strict, 0, 1), (SourceCheck::Control, 1, 1), (SourceCheck::Off, 1, 0)]
    {
        let mut bench = Bench::new(|config| config.source_check = source_check);
        bench.attach(0);
        bench.activate(0, NSAPI);
        let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
        bench.from(GTP_U, STRANGER, &g_pdu(teid, &[1; 20]));
        assert_eq!(bench.sent.len(), heard, "{source_check:?}");
        assert_eq!(bench.dropped(Drop::GtpForeignUser), u64::from(heard == 0));
        bench.from(GTP_C, STRANGER, &datagram(teid, 1, delete_request()));
        assert_eq!(bench.dropped(Drop::SgsnForeignGgsn), drops, "{source_check:?}");
    }
}

/// The Create goes to one address, is answered from there, and the answer names others (29.060 clause 7.3.2).
#[test]
fn every_address_of_a_ggsn_may_speak_for_its_tunnel() {
    let (control, user, alternative) = (OTHER, Ipv4Addr::new(192, 0, 2, 78), Ipv4Addr::new(192, 0, 2, 79));
    for from in [GGSN, control, user.into(), alternative.into()] {
        let mut bench = Bench::attached(false);
        let heard = bench.answered_with(|response| {
            (response.ggsn_control, response.ggsn_user) = (Some(control), Some(user.into()));
            response.alternative_control = Some(alternative.into());
        });
        assert!(matches!(heard, SmMessage::ActivateAccept(_)));
        let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
        bench.from(GTP_U, from, &g_pdu(teid, &[1; 20]));
        assert_eq!(bench.hear(0).1[4..], [1; 20]);
        // The same after it has moved to another core, or come back from a store.
        let slot = bench.slot(0);
        let octets = bench.sgsn.copy_out(slot).unwrap();
        let mut elsewhere = Bench::new(|_| ());
        let at = elsewhere.sgsn.import(&mut elsewhere.around.context(), &octets).unwrap();
        elsewhere.collect();
        elsewhere.sent.clear();
        assert_eq!(elsewhere.sgsn.teid(at, NSAPI), Some(teid));
        for bench in [&mut bench, &mut elsewhere] {
            bench.from(GTP_C, from, &datagram(teid, 1, delete_request()));
            let (to, _, message) = bench.next_control();
            let GtpMessage::DeleteResponse(response) = message else { panic!("{message:?}") };
            assert_eq!((to, response.cause), (from, Cause::RequestAccepted));
            assert_eq!(bench.dropped(Drop::SgsnForeignGgsn), 0);
            assert_eq!(bench.sgsn.ggsn_addresses.len(), 0);
        }
    }
}

/// One that the operator lists may answer for another.
#[test]
fn an_answer_from_a_listed_address_is_taken() {
    for (listed, is_taken) in [(vec![OTHER], true), (vec![], false)] {
        let mut bench = Bench::new(|config| config.gtp_peers = listed);
        bench.attach(0);
        bench.sm(0, 0, activate_request(NSAPI));
        let (_, sequence, request) = bench.next_create();
        bench.create_answer(OTHER, sequence, &request, Cause::RequestAccepted);
        assert_eq!(bench.dropped(Drop::GtpUnexpectedResponse), u64::from(!is_taken));
        assert_eq!(bench.sent.is_empty(), !is_taken);
    }
}

#[test]
fn addresses_that_no_ggsn_can_have_are_refused() {
    let nonsense = ["0.0.0.0", "255.255.255.255", "224.0.0.1", "127.0.0.1", "2001:db8::1", "::"]
        .map(|it| it.parse().unwrap());
    for address in nonsense.into_iter().chain([SGSN]) {
        for at in 0..2 {
            let mut bench = Bench::attached(false);
            let heard = bench.answered_with(|response| match at {
                0 => response.ggsn_control = Some(address),
                _ => response.ggsn_user = Some(address),
            });
            let SmMessage::ActivateReject(reject) = heard else { panic!("{address}: {heard:?}") };
            assert_eq!(reject.cause, SmCause::NetworkFailure, "{address}");
            assert_eq!(bench.dropped(Drop::GtpUnreachable), 1, "{address}");
            assert_eq!(bench.mobile(0).bearers().count(), 0);
        }
    }
}

#[test]
fn the_alternative_addresses_are_used_where_the_first_are_of_another_version_of_ip() {
    for (first, second) in [(SIX, GGSN), (GGSN, SIX)] {
        let mut bench = Bench::attached(false);
        let heard = bench.answered_with(|response| {
            (response.ggsn_control, response.ggsn_user) = (Some(first), Some(first));
            (response.alternative_control, response.alternative_user) = (Some(second), Some(second));
        });
        assert!(matches!(heard, SmMessage::ActivateAccept(_)));
        bench.unitdata(0, Sapi::DATA3, &[0x65, 0, 0, 0, b'u', b'p']);
        assert_eq!(bench.next_user().0, GGSN);
    }
}

#[test]
fn with_a_second_address_both_versions_of_ip_are_spoken() {
    let mut bench = Bench::new(|config| config.gtp_second_address = Some(OWN_SIX));
    bench.attach(0);
    let heard = bench.answered_with(|response| {
        (response.ggsn_control, response.ggsn_user) = (Some(SIX), Some(SIX));
        (response.alternative_control, response.alternative_user) = (Some(GGSN), Some(GGSN));
    });
    assert!(matches!(heard, SmMessage::ActivateAccept(_)));
    bench.unitdata(0, Sapi::DATA3, &[0x65, 0, 0, 0, b'u', b'p']);
    assert_eq!(bench.next_user().0, SIX);
    let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
    bench.from(GTP_U_SECOND, SIX, &g_pdu(teid, &[1; 20]));
    assert_eq!(bench.hear(0).1[4..], [1; 20]);
    bench.from(GTP_C_SECOND, SIX, &datagram(teid, 1, delete_request()));
    assert_eq!(bench.next_control().0, SIX);
}

#[test]
fn an_answer_without_an_endpoint_is_counted_and_named() {
    let without: [fn(&mut CreateResponse); 2] =
        [|response| response.teid_data = None, |response| response.teid_control = None];
    for (n, change) in without.into_iter().enumerate() {
        let mut bench = Bench::attached(false);
        let heard = bench.answered_with(change);
        assert!(matches!(heard, SmMessage::ActivateReject(_)), "{n}: {heard:?}");
        assert_eq!(bench.dropped(Drop::GtpIncomplete), 1, "{n}");
    }
}

/// 29.060 clause 7.2.3: nothing is gained by asking again.
#[test]
fn a_ggsn_of_another_version_ends_the_activation_at_once() {
    let vns = |sequence: u16| {
        let [high, low] = sequence.to_be_bytes();
        [
            datagram(Teid(0), sequence, VersionNotSupported {}),
            datagram(Teid(0), 0, VersionNotSupported {}),
            [&[0x1e, 3, 0, 0, high, low, 0, 0, 0xff, 0xff, 0xff, 0xff][..], &[0; 8]].concat(),
            vec![0x40, 3, 0, 4, 0, high, low, 0],
        ]
    };
    for n in 0..4 {
        let mut bench = Bench::attached(false);
        bench.sm(0, 0, activate_request(NSAPI));
        let (from, sequence, _) = bench.next_create();
        // From anybody else it means nothing.
        bench.from(GTP_C, OTHER, &vns(sequence)[n]);
        assert!(bench.is_silent(), "{n}");
        bench.from(GTP_C, from, &vns(sequence)[n]);
        assert!(matches!(bench.hear_sm(0), SmMessage::ActivateReject(_)), "{n}");
        assert_eq!(bench.dropped(Drop::GtpVersionRefused), 1, "{n}");
    }
}

/// GGSNs that name the same user plane and endpoint: each speaks for its own.
#[test]
fn an_error_indication_ends_the_tunnels_of_who_says_so() {
    let mut bench = Bench::new(|config| {
        config.apns = vec![
            ApnRoute { apn: "internet".into(), imsi_prefix: String::new(), ggsn: 0 },
            ApnRoute { apn: "corporate".into(), imsi_prefix: String::new(), ggsn: 1 },
        ];
    });
    bench.attach(0);
    bench.attach(1);
    bench.activate(0, NSAPI);
    let mut request = activate_request(NSAPI);
    request.apn = "corporate".parse().ok();
    bench.sm(1, 0, request);
    let (from, sequence, request) = bench.next_create();
    // The other GGSN names the first one's address and endpoint.
    let response = CreateResponse { ggsn_control: Some(from), ..created(&request) };
    bench.answer(from, request.teid_control.unwrap(), sequence, response);
    assert!(matches!(bench.hear_sm(1), SmMessage::ActivateAccept(_)));
    let teid = Teid(GGSN_USER + u32::from(NSAPI.0));
    let indication = ErrorIndication { teid, address: GGSN, private_extension: None };
    bench.from(GTP_U, from, &datagram(Teid(0), 0, indication));
    let left: Vec<usize> = (0..2)
        .map(|phone| bench.mobile(phone).bearers().filter(|(_, it)| it.tunnel.is_some()).count())
        .collect();
    assert_eq!(left, [1, 0]);
}
