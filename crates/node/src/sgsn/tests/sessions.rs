//! PDP contexts: what the mobile is told, what the GGSN is asked, and how both ends of it go.

use super::bench::*;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_wire::gtp::v1c::{CreateResponse, DeleteRequest, EchoResponse, ErrorIndication, emit_datagram};
use gannet_wire::gtp::value::EndUserAddress;
use gannet_wire::gtp::{Cause, Message};
use gannet_wire::id::{Sapi, Teid};
use gannet_wire::l3::gmm::AttachRequest;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;

fn cause_of_reject(bench: &mut Bench) -> SmCause {
    cause_of_reject_to(bench, 0)
}

fn cause_of_reject_to(bench: &mut Bench, phone: usize) -> SmCause {
    match bench.hear_sm(phone) {
        SmMessage::ActivateReject(reject) => reject.cause,
        other => panic!("{other:?}"),
    }
}

fn route(apn: &str, ggsn: usize) -> ApnRoute {
    ApnRoute { apn: apn.into(), imsi_prefix: String::new(), ggsn }
}

fn delete_request(nsapi: Nsapi) -> DeleteRequest {
    DeleteRequest { teardown: Some(true), nsapi, pco: None, private_extension: None }
}

fn detach(bench: &mut Bench) {
    bench.detach(0, true);
}

#[test]
fn activation_of_several_contexts() {
    let mut bench = Bench::attached(false);
    bench.sm(0, 3, activate_request(NSAPI));
    let (ggsn, sequence, request) = bench.next_create();
    assert_eq!(ggsn, GGSN);
    let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
    assert_eq!((request.teid_data, request.teid_control, request.nsapi), (teid, Some(teid), NSAPI));
    assert_eq!((request.imsi, request.rai, request.recovery), (Some(imsi(0)), Some(rai(1)), Some(3)));
    assert_eq!((request.sgsn_control, request.sgsn_user), (SGSN, SGSN));
    assert_eq!(request.end_user_address, Some(EndUserAddress::Ipv4(None)));
    assert_eq!(request.apn, "internet".parse().ok());
    bench.create_answer(ggsn, sequence, &request, Cause::RequestAccepted);
    let SmMessage::ActivateAccept(accept) = bench.hear_sm(0) else { panic!() };
    assert_eq!(accept.address, Some(PdpAddress::Ipv4(address(NSAPI))));
    assert_eq!((accept.sapi, accept.qos), (Sapi::DATA3, QosProfile::BEST_EFFORT));
    assert!(bench.is_silent(), "no XID where no other N201-U is wanted");
    for nsapi in [Nsapi(6), Nsapi(15)] {
        bench.activate(0, nsapi);
    }
    let bearers: Vec<Nsapi> = bench.mobile(0).bearers().map(|(nsapi, _)| nsapi).collect();
    assert_eq!(bearers, [Nsapi(5), Nsapi(6), Nsapi(15)]);
    assert_eq!(bench.sgsn.stats().activated, 3);
    // Each has a tunnel of its own.
    for nsapi in bearers {
        bench.downlink(0, nsapi, &[nsapi.0; 20]);
        let (_, sn_pdu) = bench.hear(0);
        assert_eq!((sn_pdu[0] & 0xf, &sn_pdu[4..]), (nsapi.0, &[nsapi.0; 20][..]));
    }
    assert_eq!(bench.drops(), []);
    detach(&mut bench);
    for nsapi in [Nsapi(5), Nsapi(6), Nsapi(15)] {
        bench.delete_answer(nsapi);
    }
    bench.assert_empty();
}

#[test]
fn what_a_ggsn_refuses_is_told_in_the_words_of_the_mobile() {
    for (gtp, sm) in [
        (Cause::NoResourcesAvailable, SmCause::InsufficientResources),
        (Cause::MissingOrUnknownApn, SmCause::MissingOrUnknownApn),
        (Cause::UserAuthenticationFailed, SmCause::UserAuthenticationFailed),
        (Cause::SystemFailure, SmCause::NetworkFailure),
        (Cause::ServiceNotSupported, SmCause::ServiceOptionNotSupported),
    ] {
        let mut bench = Bench::attached(false);
        bench.sm(0, 0, activate_request(NSAPI));
        let (from, sequence, request) = bench.next_create();
        bench.create_answer(from, sequence, &request, gtp);
        assert_eq!(cause_of_reject(&mut bench), sm);
        assert_eq!(bench.drops(), [(Drop::SmRejected, 1), (Drop::SgsnGgsnRefused, 1)]);
        assert_eq!((bench.mobile(0).bearers().count(), bench.mobile(0).sm().is_empty()), (0, true));
        detach(&mut bench);
        bench.assert_empty();
    }
}

#[test]
fn an_answer_that_grants_nothing_is_a_network_failure() {
    let mut bench = Bench::attached(false);
    bench.sm(0, 0, activate_request(NSAPI));
    let (from, sequence, request) = bench.next_create();
    // Accepted, but without endpoints; then one that can't be read at all.
    let empty = CreateResponse::refused(Cause::RequestAccepted);
    bench.answer(from, request.teid_control.unwrap(), sequence, empty);
    assert_eq!(cause_of_reject(&mut bench), SmCause::NetworkFailure);
    bench.sm(0, 0, activate_request(NSAPI));
    let (_, sequence, request) = bench.next_create();
    let teid = request.teid_control.unwrap().0.to_be_bytes();
    let [high, low] = sequence.to_be_bytes();
    let damaged = [&[0x32, 17, 0, 4][..], &teid, &[high, low, 0, 0]].concat();
    bench.datagram(GTP_C, core::net::SocketAddr::new(GGSN, 2123), &damaged);
    assert_eq!(cause_of_reject(&mut bench), SmCause::NetworkFailure);
    detach(&mut bench);
    bench.assert_empty();
}

#[test]
fn access_points_lead_to_their_ggsn() {
    let mut bench = Bench::new(|config| config.apns = vec![route("internet", 0), route("corporate", 1)]);
    bench.attach(0);
    let mut ggsn_of = |apn: Option<&str>| {
        let apn = apn.map(|apn| apn.parse().unwrap());
        bench.sm(0, 0, ActivateRequest { apn, ..activate_request(NSAPI) });
        match bench.next() {
            Sent::Control(to, header, Message::CreateRequest(request)) => {
                bench.create_answer(to, header.sequence.unwrap(), &request, Cause::SystemFailure);
                assert_eq!(cause_of_reject(&mut bench), SmCause::NetworkFailure);
                Ok((to, request.apn.unwrap().as_str().to_owned()))
            }
            Sent::Down(down) => {
                let (_, octets) = bench.open(0, &down.ll_pdu);
                Err(octets[2])
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(ggsn_of(Some("internet")), Ok((GGSN, "internet".into())));
    assert_eq!(ggsn_of(Some("CORPORATE")), Ok((OTHER_GGSN, "CORPORATE".into())));
    let whole = "Corporate.mnc001.mcc001.gprs";
    assert_eq!(ggsn_of(Some(whole)), Ok((OTHER_GGSN, whole.into())), "the network's part decides");
    assert_eq!(ggsn_of(Some("corporate.mnc001.mcc001.gsm")), Err(27), "no operator's part");
    assert_eq!(ggsn_of(None), Ok((GGSN, "internet".into())), "the first is the default");
    assert_eq!(ggsn_of(Some("elsewhere")), Err(27));
}

/// The longest prefix of the IMSI decides between routes of one name, and the name before the wildcard.
#[test]
fn an_access_point_leads_to_a_ggsn_by_the_imsi() {
    let route = |apn, prefix: &str, ggsn| ApnRoute { imsi_prefix: prefix.into(), ..route(apn, ggsn) };
    let of_phone = |phone: usize| imsi(phone).to_string();
    let mut bench = Bench::new(|config| {
        config.apns = vec![
            route("internet", "0010", 0),
            route("*", &of_phone(0), 0),
            route("internet", &of_phone(1), 1),
            route("internet", "", 1),
            route("corporate", "26201", 1),
        ];
    });
    let ggsn_of = |bench: &mut Bench, phone: usize, apn: &str| {
        bench.sm(phone, 0, ActivateRequest { apn: apn.parse().ok(), ..activate_request(NSAPI) });
        let Sent::Control(to, header, Message::CreateRequest(request)) = bench.next() else { return None };
        bench.create_answer(to, header.sequence.unwrap(), &request, Cause::SystemFailure);
        cause_of_reject_to(bench, phone);
        Some(to)
    };
    for phone in 0..2 {
        bench.attach(phone);
    }
    for (phone, apn, ggsn) in [
        (0, "internet", Some(GGSN)),
        (1, "internet", Some(OTHER_GGSN)),
        (0, "corporate", Some(GGSN)),
        (1, "corporate", None),
    ] {
        assert_eq!(ggsn_of(&mut bench, phone, apn), ggsn, "{phone} {apn}");
    }
}

#[test]
fn a_wildcard_is_for_every_other_access_point() {
    let apns = vec![route("*", 1), route("internet", 0), route("six.mnc001.mcc001.gprs", 0)];
    let mut bench = Bench::new(|config| config.apns = apns);
    bench.attach(0);
    for (apn, ggsn) in [
        ("internet", GGSN),
        ("INTERNET.mnc001.mcc001.gprs", GGSN),
        ("six", GGSN),
        ("six.mnc002.mcc001.gprs", OTHER_GGSN),
        ("whatever", OTHER_GGSN),
        ("whatever.mnc001.mcc001.gprs", OTHER_GGSN),
    ] {
        bench.sm(0, 0, ActivateRequest { apn: apn.parse().ok(), ..activate_request(NSAPI) });
        let (to, sequence, request) = bench.next_create();
        assert_eq!(to, ggsn);
        bench.create_answer(to, sequence, &request, Cause::SystemFailure);
        cause_of_reject(&mut bench);
    }
}

#[test]
fn who_names_no_access_point_gets_the_ggsn_that_is_there() {
    // One GGSN and no route is a complete configuration; and one route for all.
    for apns in [vec![], vec![route("*", 0)]] {
        let mut bench = Bench::new(|config| config.apns = apns);
        bench.attach(0);
        bench.sm(0, 0, ActivateRequest { apn: None, ..activate_request(NSAPI) });
        let (to, sequence, request) = bench.next_create();
        assert_eq!((to, request.apn.clone()), (GGSN, Some(Apn::UNNAMED)), "an element without octets");
        bench.create_answer(to, sequence, &request, Cause::RequestAccepted);
        assert!(matches!(bench.hear_sm(0), SmMessage::ActivateAccept(_)));
        assert_eq!(bench.drops(), []);
    }
}

#[test]
fn without_a_ggsn_no_access_point_is_known() {
    let mut bench = Bench::new(|config| config.ggsns.clear());
    bench.attach(0);
    bench.sm(0, 0, activate_request(NSAPI));
    assert_eq!(cause_of_reject(&mut bench), SmCause::MissingOrUnknownApn);
}

#[test]
fn deactivation_by_the_mobile() {
    let mut bench = Bench::attached(true);
    bench.sm(0, 0, DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None });
    assert_eq!(bench.sent.len(), 1, "the GGSN first (23.060 clause 9.2.4.1)");
    bench.delete_answer(NSAPI);
    assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateAccept(_)));
    assert_eq!(bench.events, [SgsnEvent::Deactivated { imsi: imsi(0), nsapi: NSAPI }]);
    assert_eq!(bench.mobile(0).bearers().count(), 0);
    assert_eq!(bench.drops(), []);
    bench.activate(0, NSAPI);
}

/// One Delete Request, one answer; and SM STATUS, which ends the procedure at the mobile, where that answer was lost.
#[test]
fn a_deactivation_that_the_mobile_repeats() {
    let mut bench = Bench::attached(true);
    let request = || DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None };
    for _ in 0..2 {
        bench.sm(0, 0, request());
    }
    assert_eq!((bench.sent.len(), bench.drops()), (1, vec![(Drop::SmRepeated, 1)]));
    bench.delete_answer(NSAPI);
    assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateAccept(_)));
    assert!(bench.is_silent());
    bench.sm(0, 0, request());
    let SmMessage::SmStatus(status) = bench.hear_sm(0) else { panic!() };
    assert_eq!((status.cause, bench.is_silent()), (SmCause::InvalidTi, true));
}

#[test]
fn deactivation_by_the_operator() {
    let mut bench = Bench::attached(true);
    bench.order(SgsnCommand::Deactivate { imsi: imsi(0), nsapi: NSAPI });
    bench.delete_answer(NSAPI);
    let SmMessage::DeactivateRequest(request) = bench.hear_sm(0) else { panic!() };
    assert_eq!(request.cause, SmCause::RegularDeactivation);
    bench.sm(0, 0, DeactivateAccept {});
    assert_eq!(bench.events, [SgsnEvent::Deactivated { imsi: imsi(0), nsapi: NSAPI }]);
    assert_eq!(bench.drops(), []);
    // A mobile that does not answer is asked five times.
    bench.activate(0, NSAPI);
    bench.order(SgsnCommand::Deactivate { imsi: imsi(0), nsapi: NSAPI });
    bench.delete_answer(NSAPI);
    bench.sent.clear();
    for _ in 0..10 {
        bench.pass_secs(8);
        bench.beacon(0);
    }
    assert_eq!(bench.sent.len(), 4);
    assert_eq!(bench.drops(), [(Drop::SmNoAnswer, 1)]);
    assert!(bench.mobile(0).sm().is_empty());
}

#[test]
fn deactivation_by_the_ggsn() {
    let mut bench = Bench::attached(true);
    let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
    bench.ggsn_asks(teid, delete_request(NSAPI));
    let (to, header, message) = bench.next_control();
    let Message::DeleteResponse(response) = message else { panic!() };
    assert_eq!((to, header.teid), (GGSN, Teid(GGSN_CONTROL + 5)));
    assert_eq!(response.cause, Cause::RequestAccepted);
    assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateRequest(_)));
    bench.sm(0, 0, DeactivateAccept {});
    assert!(bench.is_silent(), "nothing is left to delete at the GGSN");
    assert!(bench.mobile(0).sm().is_empty());
    // Once more, and for a context that never was.
    bench.ggsn_asks(teid, delete_request(NSAPI));
    bench.ggsn_asks(Teid(0x0100_0009), delete_request(NSAPI));
    for _ in 0..2 {
        let (_, _, message) = bench.next_control();
        let Message::DeleteResponse(response) = message else { panic!() };
        assert_eq!(response.cause, Cause::NonExistent);
    }
    assert_eq!(bench.drops(), []);
}

#[test]
fn a_ggsn_that_never_answers() {
    let mut bench = Bench::attached(false);
    bench.silent_ggsn = true;
    bench.sm(0, 0, activate_request(NSAPI));
    for _ in 0..12 {
        bench.pass_secs(5);
        bench.beacon(0);
    }
    let asked = bench.sent.iter().filter(|sent| matches!(sent, Sent::Control(..))).count();
    assert_eq!(asked, 3, "N3-REQUESTS");
    bench.sent.retain(|sent| matches!(sent, Sent::Down(_)));
    assert_eq!(cause_of_reject(&mut bench), SmCause::NetworkFailure);
    assert_eq!(bench.dropped(Drop::GtpNoResponse), 1);
    // Nor to a delete: the mobile is let go all the same.
    bench.silent_ggsn = false;
    bench.activate(0, NSAPI);
    bench.silent_ggsn = true;
    bench.sm(0, 0, DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None });
    for _ in 0..12 {
        bench.pass_secs(5);
        bench.beacon(0);
    }
    bench.sent.retain(|sent| matches!(sent, Sent::Down(_)));
    assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateAccept(_)));
}

#[test]
fn a_tunnel_that_is_made_too_late_is_taken_down_again() {
    let mut bench = Bench::attached(false);
    bench.sm(0, 0, activate_request(NSAPI));
    let (from, sequence, request) = bench.next_create();
    detach(&mut bench);
    assert!(bench.is_silent());
    assert_eq!(bench.sgsn.mobiles().count(), 0);
    bench.create_answer(from, sequence, &request, Cause::RequestAccepted);
    bench.delete_answer(NSAPI);
    bench.assert_empty();
    assert_eq!(bench.drops(), []);
}

#[test]
fn an_activation_that_the_operator_ends_before_the_ggsn_has_answered() {
    let mut bench = Bench::attached(false);
    bench.sm(0, 0, activate_request(NSAPI));
    let (from, sequence, request) = bench.next_create();
    bench.order(SgsnCommand::Deactivate { imsi: imsi(0), nsapi: NSAPI });
    assert_eq!(cause_of_reject(&mut bench), SmCause::RegularDeactivation);
    assert!(bench.is_silent());
    // The mobile tries again at once; the answer to its first try does not concern the second. The GGSN puts the second
    // into the place of the first, here under the same endpoints: nothing is to be deleted.
    bench.sm(0, 0, activate_request(NSAPI));
    let (_, again, second) = bench.next_create();
    bench.create_answer(from, sequence, &request, Cause::RequestAccepted);
    assert!(bench.is_silent());
    bench.create_answer(from, again, &second, Cause::RequestAccepted);
    assert!(matches!(bench.hear_sm(0), SmMessage::ActivateAccept(_)));
    assert_eq!(bench.drops(), [(Drop::SmRejected, 1), (Drop::GtpUnexpectedResponse, 1)]);
}

/// The GGSN that hears the first request late, since it was lost at first, would put the context of the first into the place
/// of the second.
#[test]
fn a_request_for_a_context_that_was_given_up_is_not_repeated_after_another() {
    for has_left in [false, true] {
        let mut bench = Bench::attached(false);
        bench.sm(0, 0, activate_request(NSAPI));
        bench.next_create();
        if has_left {
            detach(&mut bench);
            bench.phones[0] = Phone::new(0);
            bench.attach(0);
        } else {
            bench.order(SgsnCommand::Deactivate { imsi: imsi(0), nsapi: NSAPI });
            assert_eq!(cause_of_reject(&mut bench), SmCause::RegularDeactivation);
        }
        bench.activate(0, NSAPI);
        for _ in 0..6 {
            bench.pass_secs(5);
            assert!(bench.is_silent(), "has left: {has_left}");
        }
        bench.downlink(0, NSAPI, b"down");
        assert_eq!(bench.hear(0).1[4..], *b"down");
    }
}

#[test]
fn a_ggsn_that_restarted_has_lost_its_contexts() {
    for cause in [SmCause::ReactivationRequired, SmCause::NetworkFailure] {
        a_restart_is_told_with(cause);
    }
}

fn a_restart_is_told_with(cause: SmCause) {
    let mut bench = Bench::new(|config| {
        if cause != SmCause::ReactivationRequired {
            config.ggsn_restart_cause = cause;
        }
    });
    bench.attach(0);
    bench.activate(0, NSAPI);
    bench.activate(0, Nsapi(6));
    let mut echo = Vec::new();
    let message = EchoResponse { recovery: 10, private_extension: None }.into();
    bench.silent_ggsn = true;
    bench.pass_secs(61);
    let (_, header, request) = bench.next_control();
    assert!(matches!(request, Message::EchoRequest(_)));
    assert!(emit_datagram(Teid(0), header.sequence.unwrap(), &message, &mut echo));
    bench.sent.clear();
    bench.beacon(0);
    bench.sent.clear();
    bench.datagram(GTP_C, core::net::SocketAddr::new(GGSN, 2123), &echo);
    for _ in 0..2 {
        let SmMessage::DeactivateRequest(request) = bench.hear_sm(0) else { panic!("no deactivation") };
        assert_eq!(request.cause, cause);
    }
    assert!(bench.is_silent());
    assert_eq!(bench.events.last(), Some(&SgsnEvent::GgsnRestarted { peer: GGSN }));
    assert_eq!(bench.drops(), [(Drop::SgsnTunnelLost, 2)]);
}

#[test]
fn an_error_indication_ends_its_context_alone() {
    let mut bench = Bench::attached(true);
    bench.activate(0, Nsapi(6));
    let mut octets = Vec::new();
    let indication =
        ErrorIndication { teid: Teid(GGSN_USER + 6), address: GGSN, private_extension: None }.into();
    assert!(emit_datagram(Teid(0), 1, &indication, &mut octets));
    bench.datagram(GTP_U, core::net::SocketAddr::new(GGSN, 2152), &octets);
    let SmMessage::DeactivateRequest(request) = bench.hear_sm(0) else { panic!() };
    assert_eq!(
        request.cause,
        SmCause::ReactivationRequired,
        "a restarted GGSN says so with the next Echo Response"
    );
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::SgsnTunnelLost, 1)]);
    assert!(bench.mobile(0).bearer(NSAPI).is_some());
}

#[test]
fn a_ggsn_that_makes_what_it_does_not_know_is_not_tried_for_ever() {
    let mut bench = Bench::attached(true);
    let six = Nsapi(6);
    let ends = |bench: &mut Bench| {
        bench.activate(0, six);
        let indication =
            ErrorIndication { teid: Teid(GGSN_USER + 6), address: GGSN, private_extension: None }.into();
        let mut octets = Vec::new();
        assert!(emit_datagram(Teid(0), 1, &indication, &mut octets));
        bench.datagram(GTP_U, core::net::SocketAddr::new(GGSN, 2152), &octets);
        let SmMessage::DeactivateRequest(request) = bench.hear_sm(0) else { panic!() };
        bench.sm(0, 1, DeactivateAccept {});
        assert!(bench.is_silent() && bench.mobile(0).bearer(six).is_none());
        request.cause
    };
    assert_eq!(ends(&mut bench), SmCause::ReactivationRequired);
    for _ in 0..5 {
        assert_eq!(ends(&mut bench), SmCause::RegularDeactivation);
    }
    bench.pass_secs(60);
    bench.sent.clear();
    bench.beacon(0);
    bench.sent.clear();
    assert_eq!(ends(&mut bench), SmCause::ReactivationRequired, "a GGSN may restart more than once");
}

#[test]
fn an_operator_may_ask_for_longer_frames() {
    let mut bench = Bench::new(|config| config.n201_u = Some(1520));
    bench.attach(0);
    bench.sm(0, 0, activate_request(NSAPI));
    let (from, sequence, request) = bench.next_create();
    bench.create_answer(from, sequence, &request, Cause::RequestAccepted);
    // The links are made ready before the mobile knows that it may send.
    let xid = bench.next_down();
    assert_eq!(xid.ll_pdu[..2], [0x43, 0xfb], "XID command on SAPI 3");
    assert!(matches!(bench.hear_sm(0), SmMessage::ActivateAccept(_)));
    // A segment at a time until the mobile has agreed.
    bench.downlink(0, NSAPI, &[1; 1000]);
    assert_eq!(bench.sent.len(), 3);
    bench.sent.clear();
    // N201-U 1520.
    bench.xid_response(0, &xid.ll_pdu);
    assert_eq!(bench.mobile(0).llc.n201_u(Sapi::DATA3), 1520);
    bench.downlink(0, NSAPI, &[1; 1000]);
    assert_eq!(bench.hear(0).1.len(), 1004);
    assert!(bench.is_silent());
}

#[test]
fn a_second_attach_of_the_subscriber_elsewhere_ends_the_first() {
    let mut bench = Bench::attached(true);
    bench.phones[1].cell = 2;
    let request: AttachRequest = attach_request(MobileIdentity::Imsi(imsi(0)));
    bench.gmm(1, request);
    bench.delete_answer(NSAPI);
    bench.accept_attach(1);
    assert_eq!(bench.mobile(0).gmm.cell(), cell(2));
    assert_eq!(bench.sgsn.mobiles().count(), 1);
    assert_eq!(bench.drops(), []);
}

#[test]
fn a_full_table_of_contexts() {
    let mut bench = Bench::new(|config| config.contexts_max = Some(1));
    for phone in 0..2 {
        bench.attach(phone);
    }
    bench.activate(0, NSAPI);
    bench.sm(1, 0, activate_request(NSAPI));
    assert_eq!(cause_of_reject_to(&mut bench, 1), SmCause::NetworkFailure);
    assert_eq!(bench.drops(), [(Drop::SmRejected, 1), (Drop::SgsnContextTableFull, 1)]);
    let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
    detach(&mut bench);
    bench.delete_answer(NSAPI);
    // The place is free again, and the old name of it stays old.
    bench.activate(1, NSAPI);
    assert_ne!(bench.sgsn.teid(bench.slot(1), NSAPI), Some(teid));
    assert_eq!(bench.sgsn.contexts().find(bench.sgsn.teid_key().name(teid)), None);
    bench.downlink(1, NSAPI, b"down");
    assert_eq!(bench.hear(1).1[4..], *b"down");
}
