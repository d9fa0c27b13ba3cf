//! Routing area updating, the mobile's side: clauses 4.7.5.1.1 to 4.7.5.1.5.

use crate::harness::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::ms::{GmmMsAction, GmmMsEvent, GmmMsState, PagedBy, Service};
use gannet_wire::id::Tlli;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

/// T3312 runs out after T3314.
const PERIODIC: u64 = 44 + 54 * 60;

/// ROUTING AREA UPDATE REQUEST was sent where the mobile is registered.
fn updating_periodically() -> Mobile {
    let mut mobile = Mobile::attached();
    assert_eq!(mobile.pass(PERIODIC), [(PERIODIC, "RauRequest")]);
    mobile
}

#[test]
fn c4_7_5_1_1_and_3_a_normal_update() {
    let mut mobile = Mobile::updating();
    let (GmmMessage::RauRequest(request), tlli) = mobile.only() else { panic!() };
    assert_eq!((request.update_type.kind, tlli), (UpdateKind::Ra, Tlli::foreign(P1)));
    assert_eq!((request.old_rai, request.old_ptmsi_signature), (rai(7, 1), Some(PTmsiSignature(0x1234))));
    assert_eq!(request.pdp_context_status, Some(PdpContextStatus(1 << 5)));
    let pdp_context_status = Some(PdpContextStatus(0));
    mobile.message(RauAccept { pdp_context_status, ..update_accept(rai(7, 2), Some(P2)) });
    assert_eq!(mobile.only().0, RauComplete { receive_npdu_numbers: None }.into());
    assert!(mobile.has(&GmmMsAction::Updated));
    assert!(mobile.has(&GmmMsAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
    assert_eq!((mobile.mobile.ptmsi(), mobile.mobile.routing_area()), (Some(P2), Some(rai(7, 2))));
    assert_eq!(mobile.pass(43), [], "T3330 is stopped");
}

#[test]
fn c4_7_5_1_1_and_3_a_periodic_update() {
    let mut mobile = updating_periodically();
    let (GmmMessage::RauRequest(request), tlli) = mobile.only() else { panic!() };
    assert_eq!((request.update_type.kind, tlli), (UpdateKind::Periodic, Tlli::local(P1)));
    mobile.message(update_accept(rai(7, 1), None));
    assert_eq!((mobile.sent().len(), mobile.stands()), (0, (GmmMsState::Registered, Service::Normal)));
}

#[test]
fn c4_7_5_1_3_a_repeated_accept_is_completed_again() {
    let mut mobile = Mobile::updating();
    for _ in 0..2 {
        mobile.message(update_accept(rai(7, 2), Some(P2)));
        assert_eq!(mobile.sent(), ["RauComplete"]);
    }
    mobile.message(update_accept(rai(7, 2), None));
    assert_eq!((mobile.sent().len(), mobile.drops(Drop::GmmIgnored)), (0, 1), "nothing to complete");
}

#[test]
fn c4_7_5_1_4_each_cause() {
    for cause in CAUSES {
        let (stands, sent, ptmsi) = match cause {
            GmmCause::IllegalMs
            | GmmCause::IllegalMe
            | GmmCause::GprsNotAllowed
            | GmmCause::GprsAndNonGprsNotAllowed => ((GmmMsState::Deregistered, Service::NoImsi), None, None),
            GmmCause::IdentityUnknown => {
                ((GmmMsState::RegisteredInitiated, Service::Normal), Some("AttachRequest"), None)
            }
            GmmCause::ImplicitlyDetached => {
                ((GmmMsState::RegisteredInitiated, Service::Normal), Some("AttachRequest"), Some(P1))
            }
            GmmCause::PlmnNotAllowed | GmmCause::LocationAreaNotAllowed | GmmCause::GprsNotAllowedInPlmn => {
                ((GmmMsState::Deregistered, Service::Limited), None, None)
            }
            GmmCause::RoamingNotAllowed | GmmCause::NoSuitableCells => {
                ((GmmMsState::Registered, Service::Limited), None, Some(P1))
            }
            _ => ((GmmMsState::Registered, Service::Attempting), None, Some(P1)),
        };
        let mut mobile = Mobile::updating();
        mobile.message(update_reject(cause));
        assert_eq!(mobile.stands(), stands, "{cause}");
        assert_eq!((mobile.sent().first().copied(), mobile.mobile.ptmsi()), (sent, ptmsi), "{cause}");
        assert_eq!(mobile.drops(Drop::GmmRejected), 1);
    }
}

#[test]
fn c4_7_5_1_4_causes_13_and_15_forbid_the_location_area_alone() {
    let mut mobile = Mobile::updating();
    mobile.message(update_reject(GmmCause::RoamingNotAllowed));
    mobile.select(7, 3, 4);
    assert_eq!(mobile.sent().len(), 0);
    mobile.select(8, 1, 5);
    assert_eq!(mobile.sent(), ["RauRequest"]);
}

#[test]
fn c4_7_5_1_5_a_access_barred() {
    let mut mobile = Mobile::attached();
    mobile.event(GmmMsEvent::Access { barred: true });
    assert_eq!(mobile.pass(PERIODIC), [], "the periodic update does not start");
    assert_eq!(mobile.stands(), (GmmMsState::Registered, Service::Limited));
    mobile.event(GmmMsEvent::Access { barred: false });
    let (GmmMessage::RauRequest(request), _) = mobile.only() else { panic!() };
    assert_eq!(request.update_type.kind, UpdateKind::Periodic, "access is granted");
    let mut mobile = Mobile::attached();
    mobile.event(GmmMsEvent::Access { barred: true });
    mobile.pass(PERIODIC);
    mobile.select(7, 1, 2);
    assert_eq!(mobile.sent(), ["RauRequest"], "another cell");
}

#[test]
fn c4_7_5_1_5_b_lower_layer_failure() {
    let mut mobile = Mobile::updating();
    mobile.event(GmmMsEvent::LowerLayerFailure);
    assert_eq!(mobile.stands(), (GmmMsState::Registered, Service::Attempting));
    assert_eq!(mobile.pass(15), [(15, "RauRequest")], "T3311");
}

#[test]
fn c4_7_5_1_5_c_t3330_time_out() {
    let mut mobile = Mobile::updating();
    let first = mobile.only();
    assert_eq!(mobile.pass(74), [15, 30, 45, 60].map(|at| (at, "RauRequest")));
    assert!(mobile.messages().iter().all(|(message, tlli)| (*message, *tlli) == (&first.0, first.1)));
    assert_eq!(mobile.pass(1), [], "the fifth expiry");
    assert_eq!(mobile.stands(), (GmmMsState::Registered, Service::Attempting));
    assert_eq!(mobile.drops(Drop::GmmNoAnswer), 1);
    assert_eq!(mobile.pass(15), [(15, "RauRequest")], "T3311");
}

#[test]
fn c4_7_5_1_5_d_other_causes_t3311_and_t3302() {
    let mut mobile = Mobile::updating();
    for attempt in 1..=5 {
        mobile.message(update_reject(GmmCause::NetworkFailure));
        assert_eq!(mobile.stands(), (GmmMsState::Registered, Service::Attempting));
        if attempt < 5 {
            assert_eq!(mobile.pass(15), [(15, "RauRequest")], "T3311 after attempt {attempt}");
        }
    }
    assert_eq!(mobile.pass(720), [(720, "RauRequest")], "T3302");
    mobile.message(update_reject(GmmCause::NetworkFailure));
    assert_eq!(mobile.pass(15), [(15, "RauRequest")], "T3302 has set the counter back");
}

#[test]
fn c4_7_5_1_5_d_causes_95_96_97_99_and_111_set_the_counter_to_five() {
    for cause in [
        GmmCause::SemanticallyIncorrect,
        GmmCause::InvalidMandatoryInformation,
        GmmCause::MessageTypeNonExistent,
        GmmCause::IeNonExistent,
        GmmCause::ProtocolError,
    ] {
        let mut mobile = Mobile::updating();
        mobile.message(update_reject(cause));
        assert_eq!(mobile.pass(720), [(720, "RauRequest")], "{cause}");
    }
}

#[test]
fn c4_7_5_1_5_an_update_that_fails_where_the_mobile_is_registered_keeps_normal_service() {
    let mut mobile = updating_periodically();
    for attempt in 1..5 {
        mobile.message(update_reject(GmmCause::NetworkFailure));
        assert_eq!(mobile.stands(), (GmmMsState::Registered, Service::Normal), "attempt {attempt}");
        mobile.select(7, 1, 10 + attempt);
        assert_eq!(mobile.actions, [GmmMsAction::SendCellUpdate], "it is served");
        assert_eq!(mobile.pass(15), [(15, "RauRequest")], "T3311");
    }
    mobile.message(update_reject(GmmCause::NetworkFailure));
    assert_eq!(mobile.stands(), (GmmMsState::Registered, Service::Attempting));
    assert_eq!(mobile.pass(720), [(720, "RauRequest")], "T3302");
}

#[test]
fn c4_7_5_a_new_routing_area_resets_the_counter() {
    let mut mobile = Mobile::updating();
    mobile.message(update_reject(GmmCause::ProtocolError));
    mobile.select(7, 2, 4);
    assert_eq!(mobile.sent().len(), 0, "T3302 goes on");
    mobile.select(7, 3, 5);
    assert_eq!(mobile.sent(), ["RauRequest"]);
    mobile.message(update_reject(GmmCause::NetworkFailure));
    assert_eq!(mobile.pass(15), [(15, "RauRequest")], "T3311 again");
}

#[test]
fn c4_7_5_1_5_e_a_routing_area_border_is_crossed() {
    let mut mobile = Mobile::updating();
    mobile.pass(10);
    mobile.select(7, 3, 4);
    assert_eq!(mobile.sent(), ["RauRequest"], "aborted, and begun again at once");
    assert_eq!(mobile.pass(15), [(15, "RauRequest")], "T3330 began anew");
    // An ACCEPT for the area before is not the last word.
    mobile.message(update_accept(rai(7, 2), Some(P2)));
    assert_eq!(mobile.sent(), ["RauComplete", "RauRequest"]);
}

#[test]
fn c4_7_5_1_5_f_a_cell_change_within_the_routing_area() {
    let mut mobile = Mobile::updating();
    mobile.select(7, 2, 4);
    assert_eq!(mobile.actions, [GmmMsAction::SendCellUpdate]);
    assert_eq!(mobile.mobile.state(), GmmMsState::RoutingAreaUpdatingInitiated);
    mobile.message(update_accept(rai(7, 2), Some(P2)));
    assert_eq!(mobile.sent(), ["RauComplete"]);
}

#[test]
fn c4_7_5_1_5_g_update_and_detach_collision() {
    let mut mobile = Mobile::updating();
    mobile.message(detach_by_network(DetachTypeMt::ReattachNotRequired, None));
    assert_eq!((mobile.sent(), mobile.mobile.state()), (vec!["DetachAcceptMt"], GmmMsState::Deregistered));
    let mut mobile = Mobile::updating();
    mobile.message(detach_by_network(DetachTypeMt::ReattachRequired, None));
    assert_eq!(mobile.sent(), ["DetachAcceptMt", "AttachRequest"]);
    let mut mobile = Mobile::updating();
    mobile.message(detach_by_network(DetachTypeMt::Imsi, None));
    assert_eq!((mobile.sent().len(), mobile.drops(Drop::GmmIgnored)), (0, 1));
    assert_eq!(mobile.mobile.state(), GmmMsState::RoutingAreaUpdatingInitiated, "the update goes on");
}

#[test]
fn c4_7_5_1_5_h_update_and_ptmsi_reallocation_collision() {
    let mut mobile = Mobile::updating();
    mobile.message(reallocation(P2));
    assert_eq!((mobile.sent().len(), mobile.drops(Drop::GmmIgnored)), (0, 1));
    assert_eq!(mobile.mobile.ptmsi(), Some(P1));
}

#[test]
fn c4_7_5_1_5_mobile_originated_detach_required() {
    let mut mobile = Mobile::updating();
    mobile.event(GmmMsEvent::Detach { power_off: false });
    assert_eq!(mobile.sent(), ["DetachRequestMo"]);
    assert_eq!(mobile.mobile.state(), GmmMsState::DeregisteredInitiated);
}

#[test]
fn c4_7_5_1_an_update_answers_paging() {
    let mut mobile = Mobile::updating();
    mobile.event(GmmMsEvent::Paged(PagedBy::PTmsi));
    assert_eq!((mobile.actions.len(), mobile.drops(Drop::GmmIgnored)), (0, 1), "its request is on the way");
}

#[test]
fn c4_7_2_2_a_periodic_update_without_a_cell_is_made_up_for() {
    let mut mobile = Mobile::attached();
    mobile.event(GmmMsEvent::CellLost);
    assert_eq!(mobile.pass(PERIODIC), []);
    mobile.select(7, 1, 1);
    assert_eq!(mobile.sent(), ["RauRequest"]);
}
