//! GPRS attach, the mobile's side: clauses 4.7.3 and 4.7.3.1.1 to 4.7.3.1.5.

use crate::harness::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::ms::{GmmMsAction, GmmMsEvent, GmmMsState, Service};
use gannet_wire::id::{CellId, Plmn, Rai, Tlli, TlliKind};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

fn request(mobile: &Mobile) -> (AttachRequest, Tlli) {
    match mobile.only() {
        (GmmMessage::AttachRequest(request), tlli) => (request, tlli),
        other => panic!("{other:?}"),
    }
}

/// Switched off and on again, and attaching with the P-TMSI that it has.
fn attaching_by_ptmsi() -> Mobile {
    let mut mobile = Mobile::attached();
    mobile.event(GmmMsEvent::Detach { power_off: true });
    mobile.event(GmmMsEvent::Attach);
    mobile
}

#[test]
fn c4_7_3_1_1_and_3_attach_by_imsi() {
    let mut mobile = Mobile::attaching();
    let (first, tlli) = request(&mobile);
    assert_eq!((first.identity, tlli.kind()), (MobileIdentity::Imsi(imsi()), TlliKind::Random));
    assert_eq!(first.attach_type.kind, AttachKind::Gprs);
    mobile.message(attach_accept(P1));
    assert_eq!(mobile.only(), (AttachComplete {}.into(), Tlli::local(P1)));
    assert!(mobile.has(&GmmMsAction::Registered));
    assert_eq!((mobile.mobile.ptmsi(), mobile.mobile.routing_area()), (Some(P1), Some(rai(7, 1))));
    assert_eq!(mobile.mobile.mm_state(), MmState::Ready);
    assert_eq!(mobile.pass(43), [], "T3310 is stopped");
}

#[test]
fn c4_7_3_1_1_attach_by_ptmsi_and_signature() {
    let mut mobile = attaching_by_ptmsi();
    let (request, tlli) = request(&mobile);
    assert_eq!((request.identity, tlli), (MobileIdentity::PTmsi(P1), Tlli::foreign(P1)));
    assert_eq!((request.old_rai, request.old_ptmsi_signature), (rai(7, 1), Some(PTmsiSignature(0x1234))));
    // Without a new P-TMSI the old one is valid, and there is nothing to complete.
    mobile.message(AttachAccept { allocated_ptmsi: None, ptmsi_signature: None, ..attach_accept(P1) });
    assert_eq!((mobile.sent().len(), mobile.mobile.ptmsi()), (0, Some(P1)));
}

#[test]
fn c4_7_3_1_3_a_repeated_accept_is_completed_again() {
    let mut mobile = Mobile::attached();
    mobile.message(attach_accept(P1));
    assert_eq!(mobile.sent(), ["AttachComplete"]);
    assert!(!mobile.has(&GmmMsAction::Registered));
}

#[test]
fn c4_7_3_1_4_causes_3_6_7_and_8_end_the_service() {
    for cause in [
        GmmCause::IllegalMs,
        GmmCause::IllegalMe,
        GmmCause::GprsNotAllowed,
        GmmCause::GprsAndNonGprsNotAllowed,
    ] {
        let mut mobile = attaching_by_ptmsi();
        mobile.message(attach_reject(cause));
        assert_eq!(mobile.stands(), (GmmMsState::Deregistered, Service::NoImsi), "{cause}");
        assert_eq!((mobile.mobile.ptmsi(), mobile.mobile.routing_area()), (None, None), "{cause}");
        mobile.select(9, 1, 9);
        mobile.event(GmmMsEvent::Attach);
        assert_eq!(mobile.sent().len(), 0, "the card is invalid until the mobile is switched off");
        mobile.event(GmmMsEvent::Detach { power_off: true });
        mobile.event(GmmMsEvent::Attach);
        assert_eq!(mobile.sent(), ["AttachRequest"], "{cause}");
    }
}

#[test]
fn c4_7_3_1_4_causes_11_to_15_forbid_a_place() {
    let abroad = CellId { rai: Rai { plmn: Plmn::from_octets([0x00, 0xf2, 0x20]), ..rai(7, 1) }, ci: 1 };
    let (same_area, same_plmn) = (CellId { rai: rai(7, 2), ci: 2 }, CellId { rai: rai(8, 1), ci: 3 });
    for (cause, forbidden, free) in [
        (GmmCause::PlmnNotAllowed, same_plmn, abroad),
        (GmmCause::GprsNotAllowedInPlmn, same_plmn, abroad),
        (GmmCause::LocationAreaNotAllowed, same_area, same_plmn),
        (GmmCause::RoamingNotAllowed, same_area, same_plmn),
        (GmmCause::NoSuitableCells, same_area, same_plmn),
    ] {
        let mut mobile = attaching_by_ptmsi();
        mobile.message(attach_reject(cause));
        assert_eq!(mobile.stands(), (GmmMsState::Deregistered, Service::Limited), "{cause}");
        assert_eq!(mobile.mobile.ptmsi(), None, "{cause}");
        mobile.event(GmmMsEvent::CellSelected(forbidden));
        assert_eq!((mobile.sent().len(), mobile.mobile.service()), (0, Service::Limited), "{cause}");
        mobile.event(GmmMsEvent::CellSelected(free));
        assert_eq!(mobile.sent(), ["AttachRequest"], "{cause}");
    }
}

#[test]
fn c4_7_3_forbidden_location_areas_are_a_list() {
    let mut mobile = Mobile::attaching();
    mobile.message(attach_reject(GmmCause::RoamingNotAllowed));
    mobile.select(8, 1, 1);
    mobile.message(attach_reject(GmmCause::LocationAreaNotAllowed));
    mobile.select(9, 1, 1);
    mobile.message(AttachAccept { rai: rai(9, 1), ..attach_accept(P1) });
    for lac in [7, 8] {
        mobile.select(lac, 1, 1);
        assert_eq!((mobile.sent().len(), mobile.mobile.service()), (0, Service::Limited), "{lac}");
    }
    mobile.select(10, 1, 1);
    assert_eq!(mobile.sent(), ["RauRequest"]);
    mobile.event(GmmMsEvent::Detach { power_off: true });
    mobile.select(7, 1, 1);
    mobile.event(GmmMsEvent::Attach);
    assert_eq!(mobile.sent(), ["AttachRequest"], "the lists end when the mobile is switched off");
}

#[test]
fn c4_7_3_1_5_a_access_barred() {
    let mut mobile = Mobile::new();
    mobile.select(7, 1, 1);
    mobile.event(GmmMsEvent::Access { barred: true });
    mobile.event(GmmMsEvent::Attach);
    assert_eq!((mobile.sent().len(), mobile.stands()), (0, (GmmMsState::Deregistered, Service::Limited)));
    assert_eq!(mobile.mobile.deadlines.next(), None);
    mobile.event(GmmMsEvent::Access { barred: false });
    assert_eq!(mobile.sent(), ["AttachRequest"], "access is granted");
    let mut mobile = Mobile::new();
    mobile.select(7, 1, 1);
    mobile.event(GmmMsEvent::Access { barred: true });
    mobile.event(GmmMsEvent::Attach);
    mobile.select(7, 1, 2);
    assert_eq!(mobile.sent(), ["AttachRequest"], "another cell");
}

#[test]
fn c4_7_3_1_5_b_lower_layer_failure() {
    let mut mobile = Mobile::attaching();
    mobile.event(GmmMsEvent::LowerLayerFailure);
    assert_eq!(mobile.stands(), (GmmMsState::Deregistered, Service::Attempting));
    assert_eq!(mobile.pass(15), [(15, "AttachRequest")], "T3311");
}

#[test]
fn c4_7_3_1_5_c_t3310_time_out() {
    let mut mobile = attaching_by_ptmsi();
    let first = mobile.only();
    let sent = mobile.pass(74);
    assert_eq!(sent, [15, 30, 45, 60].map(|at| (at, "AttachRequest")));
    assert!(mobile.messages().iter().all(|(message, tlli)| (*message, *tlli) == (&first.0, first.1)));
    assert_eq!(mobile.pass(1), [], "the fifth expiry");
    assert_eq!(mobile.stands(), (GmmMsState::Deregistered, Service::Attempting));
    assert_eq!(mobile.drops(Drop::GmmNoAnswer), 1);
    assert_eq!(mobile.pass(15), [(15, "AttachRequest")], "T3311");
}

#[test]
fn c4_7_3_1_5_d_other_causes_t3311_and_t3302() {
    let mut mobile = attaching_by_ptmsi();
    for attempt in 1..=5 {
        assert_eq!(mobile.mobile.ptmsi(), Some(P1), "attempt {attempt}");
        mobile.message(attach_reject(GmmCause::NetworkFailure));
        assert_eq!(mobile.stands(), (GmmMsState::Deregistered, Service::Attempting));
        if attempt < 5 {
            assert_eq!(mobile.pass(15), [(15, "AttachRequest")], "T3311");
        }
    }
    assert_eq!((mobile.mobile.ptmsi(), mobile.mobile.routing_area()), (None, None), "after the fifth");
    assert_eq!(mobile.pass(720), [(720, "AttachRequest")], "T3302");
    mobile.message(attach_reject(GmmCause::NetworkFailure));
    assert_eq!(mobile.pass(15), [(15, "AttachRequest")], "T3302 has set the counter back");
}

#[test]
fn c4_7_3_1_5_d_each_other_cause() {
    for (cause, wait) in CAUSES.into_iter().filter_map(|cause| Some((cause, wait_after(cause)?))) {
        let mut mobile = Mobile::attaching();
        mobile.message(attach_reject(cause));
        assert_eq!(mobile.stands(), (GmmMsState::Deregistered, Service::Attempting), "{cause}");
        assert_eq!(mobile.pass(wait), [(wait, "AttachRequest")], "{cause}");
    }
}

/// Seconds to the next attempt; `None` where clause 4.7.3.1.4 says something else.
fn wait_after(cause: GmmCause) -> Option<u64> {
    match cause {
        GmmCause::IllegalMs
        | GmmCause::IllegalMe
        | GmmCause::GprsNotAllowed
        | GmmCause::GprsAndNonGprsNotAllowed
        | GmmCause::PlmnNotAllowed
        | GmmCause::LocationAreaNotAllowed
        | GmmCause::RoamingNotAllowed
        | GmmCause::GprsNotAllowedInPlmn
        | GmmCause::NoSuitableCells => None,
        // 95, 96, 97, 99 and 111: the counter is set to five.
        GmmCause::SemanticallyIncorrect
        | GmmCause::InvalidMandatoryInformation
        | GmmCause::MessageTypeNonExistent
        | GmmCause::IeNonExistent
        | GmmCause::ProtocolError => Some(720),
        _ => Some(15),
    }
}

#[test]
fn c4_7_3_1_5_d_the_network_chooses_t3302() {
    let mut mobile = Mobile::attaching();
    // Ten seconds.
    let t3302 = Some(GprsTimer(5));
    mobile.message(AttachReject { t3302, ..attach_reject(GmmCause::ProtocolError) });
    assert_eq!(mobile.pass(10), [(10, "AttachRequest")]);
    let mut mobile = Mobile::attaching();
    mobile.message(AttachAccept { t3302, ..attach_accept(P1) });
    mobile.select(7, 2, 1);
    mobile.message(update_reject(GmmCause::ProtocolError));
    assert_eq!(mobile.pass(10), [(10, "RauRequest")], "an ACCEPT may say it too");
}

#[test]
fn c4_7_3_a_new_routing_area_and_the_user_reset_the_counter() {
    let mut mobile = Mobile::attaching();
    for _ in 0..4 {
        mobile.message(attach_reject(GmmCause::Congestion));
        mobile.pass(15);
    }
    mobile.message(attach_reject(GmmCause::Congestion));
    mobile.select(7, 1, 2);
    assert_eq!(mobile.sent().len(), 0, "the same routing area: T3302 goes on");
    mobile.select(7, 2, 2);
    assert_eq!(mobile.sent(), ["AttachRequest"]);
    mobile.message(attach_reject(GmmCause::Congestion));
    assert_eq!(mobile.pass(15), [(15, "AttachRequest")], "T3311 again");
    mobile.message(attach_reject(GmmCause::ProtocolError));
    mobile.event(GmmMsEvent::Attach);
    assert_eq!(mobile.sent(), ["AttachRequest"]);
    mobile.message(attach_reject(GmmCause::Congestion));
    assert_eq!(mobile.pass(15), [(15, "AttachRequest")]);
}

#[test]
fn c4_7_3_1_5_e_change_of_cell_into_a_new_routing_area() {
    let mut mobile = Mobile::attaching();
    mobile.select(7, 1, 2);
    assert_eq!(mobile.sent().len(), 0, "the same routing area");
    mobile.pass(10);
    mobile.select(7, 2, 3);
    assert_eq!(mobile.sent(), ["AttachRequest"], "aborted, and begun again at once");
    assert_eq!(mobile.pass(15), [(15, "AttachRequest")], "T3310 began anew");
}

#[test]
fn c4_7_3_1_5_f_mobile_originated_detach_required() {
    for (power_off, state) in [(false, GmmMsState::DeregisteredInitiated), (true, GmmMsState::Null)] {
        let mut mobile = Mobile::attaching();
        mobile.event(GmmMsEvent::Detach { power_off });
        assert_eq!((mobile.sent(), mobile.mobile.state()), (vec!["DetachRequestMo"], state));
        mobile.pass(14);
        assert_eq!(mobile.actions, [], "T3310 is stopped");
    }
}

#[test]
fn c4_7_3_1_5_g_detach_procedure_collision() {
    let mut mobile = Mobile::attaching();
    mobile.message(detach_by_network(DetachTypeMt::ReattachNotRequired, None));
    assert_eq!(mobile.sent(), ["DetachAcceptMt"]);
    assert_eq!(mobile.mobile.state(), GmmMsState::Deregistered);
    assert_eq!(mobile.pass(3600), [], "the attach is over");
    for kind in [DetachTypeMt::ReattachRequired, DetachTypeMt::Imsi] {
        let mut mobile = Mobile::attaching();
        mobile.message(detach_by_network(kind, None));
        assert_eq!((mobile.sent().len(), mobile.drops(Drop::GmmIgnored)), (0, 1));
        assert_eq!(mobile.mobile.state(), GmmMsState::RegisteredInitiated, "the attach goes on");
    }
}
