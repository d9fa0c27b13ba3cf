//! Combined procedures and IMSI detach, the mobile's side: clauses 4.7.3.2, 4.7.4.1 and 4.7.5.2.

use crate::harness::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::ms::{GmmMsAction, GmmMsEvent, GmmMsState, NonGprs, Service};
use gannet_proto::gmm::network::GmmEvent;
use gannet_wire::id::{PTmsi, Tlli};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

/// T3312 runs out after T3314.
const PERIODIC: u64 = 44 + 54 * 60;

const ATTEMPTING: (GmmMsState, Service) = (GmmMsState::Registered, Service::AttemptingMm);
const NORMAL: (GmmMsState, Service) = (GmmMsState::Registered, Service::Normal);

fn attach_kind(mobile: &Mobile) -> AttachKind {
    match mobile.only().0 {
        GmmMessage::AttachRequest(request) => request.attach_type.kind,
        other => panic!("{other:?}"),
    }
}

fn update(mobile: &Mobile) -> RauRequest {
    match mobile.only().0 {
        GmmMessage::RauRequest(request) => request,
        other => panic!("{other:?}"),
    }
}

fn detach_type(mobile: &Mobile) -> DetachTypeMo {
    match mobile.only().0 {
        GmmMessage::DetachRequestMo(request) => request.detach_type,
        other => panic!("{other:?}"),
    }
}

fn for_gprs_only(cause: Option<GmmCause>) -> AttachAccept {
    AttachAccept { gmm_cause: cause, ..attach_accept(P1) }
}

/// Attached for GPRS only, and trying again.
fn attempting() -> Mobile {
    let mut mobile = Mobile::attaching_combined();
    mobile.message(for_gprs_only(Some(GmmCause::MscNotReachable)));
    assert_eq!(mobile.stands(), ATTEMPTING);
    mobile
}

fn updated(rac: u8, both: bool, cause: Option<GmmCause>) -> RauAccept {
    let result = if both { UpdateResult::Combined } else { UpdateResult::Ra };
    RauAccept { result, gmm_cause: cause, ..update_accept(rai(7, rac), None) }
}

fn imsi_detaching() -> Mobile {
    let mut mobile = Mobile::attached_combined();
    mobile.event(GmmMsEvent::ImsiDetach);
    assert_eq!(mobile.stands(), (GmmMsState::Registered, Service::ImsiDetachInitiated));
    mobile
}

fn standing(standing: NonGprs, cause: Option<GmmCause>) -> GmmMsAction {
    GmmMsAction::NonGprs { standing, cause }
}

#[test]
fn c4_7_3_2_1_a_combined_attach_is_asked_for() {
    let mobile = Mobile::attaching_combined();
    let (GmmMessage::AttachRequest(request), _) = mobile.only() else { panic!() };
    assert_eq!(request.attach_type.kind, AttachKind::Combined);
    assert_eq!(request.tmsi_status, Some(TmsiStatus::NotAvailable));
}

#[test]
fn c4_7_3_2_3_1_both_services_are_accepted() {
    let mut mobile = Mobile::attaching_combined();
    let accept = AttachAccept { result: AttachResult::Combined, ..attach_accept(P1) };
    mobile.message(AttachAccept { ms_identity: Some(MobileIdentity::PTmsi(PTmsi(7))), ..accept.clone() });
    assert_eq!(mobile.sent(), ["AttachComplete"]);
    assert!(mobile.has(&standing(NonGprs::Attached, None)));
    assert_eq!((mobile.stands(), mobile.pass(43)), (NORMAL, vec![]));
    mobile.select(7, 2, 2);
    assert_eq!(update(&mobile).tmsi_status, None, "it has a TMSI");
    // A TMSI alone is completed too, and an IMSI in its place takes it away.
    let mut mobile = Mobile::attaching_combined();
    let none = AttachAccept { allocated_ptmsi: None, ptmsi_signature: None, ..accept };
    mobile.message(AttachAccept { ms_identity: Some(MobileIdentity::PTmsi(PTmsi(7))), ..none.clone() });
    assert_eq!(mobile.sent(), ["AttachComplete"]);
    mobile.message(AttachAccept { ms_identity: Some(MobileIdentity::Imsi(imsi())), ..none });
    assert_eq!(mobile.sent().len(), 0);
    mobile.select(7, 2, 2);
    assert_eq!(update(&mobile).tmsi_status, Some(TmsiStatus::NotAvailable));
}

#[test]
fn c4_7_3_2_3_2_causes_16_17_and_22_are_tried_again() {
    for cause in [GmmCause::MscNotReachable, GmmCause::NetworkFailure, GmmCause::Congestion] {
        let mut mobile = Mobile::attaching_combined();
        mobile.message(for_gprs_only(Some(cause)));
        assert_eq!(mobile.sent(), ["AttachComplete"], "{cause}");
        assert!(mobile.has(&GmmMsAction::Registered), "{cause}");
        assert!(mobile.has(&standing(NonGprs::Wanted, Some(cause))), "{cause}");
        assert_eq!(mobile.stands(), ATTEMPTING, "{cause}");
        assert_eq!(mobile.pass(15), [(15, "RauRequest")], "T3311");
        assert_eq!(update(&mobile).update_type.kind, UpdateKind::CombinedWithImsiAttach, "{cause}");
        mobile.message(updated(1, true, None));
        assert_eq!((mobile.stands(), mobile.mobile.non_gprs()), (NORMAL, NonGprs::Attached), "{cause}");
        assert_eq!(mobile.pass(43), []);
    }
}

#[test]
fn c4_7_3_2_3_2_the_attach_attempt_counter_goes_on() {
    let mut mobile = Mobile::attaching_combined();
    for _ in 0..4 {
        mobile.message(attach_reject(GmmCause::Congestion));
        assert_eq!(mobile.pass(15), [(15, "AttachRequest")]);
    }
    mobile.message(for_gprs_only(Some(GmmCause::MscNotReachable)));
    assert_eq!(mobile.stands(), ATTEMPTING);
    assert_eq!(mobile.pass(720), [(720, "RauRequest")], "the fifth: T3302");
}

#[test]
fn c4_7_3_2_3_2_causes_2_and_18_end_it() {
    for cause in [GmmCause::ImsiUnknownInHlr, GmmCause::CsDomainNotAvailable] {
        let mut mobile = Mobile::attaching_combined();
        mobile.message(for_gprs_only(Some(cause)));
        assert!(mobile.has(&standing(NonGprs::Refused, Some(cause))));
        assert_eq!(mobile.stands(), NORMAL, "{cause}");
        mobile.select(7, 2, 2);
        assert_eq!(update(&mobile).update_type.kind, UpdateKind::Ra, "{cause}");
        mobile.message(updated(2, false, None));
        assert_eq!(mobile.pass(43), [], "{cause}");
        mobile.event(GmmMsEvent::ImsiAttach);
        assert_eq!((mobile.sent().len(), mobile.drops(Drop::GmmIgnored)), (0, 1), "{cause}");
        mobile.event(GmmMsEvent::Detach { power_off: true });
        mobile.event(GmmMsEvent::Attach);
        assert_eq!(attach_kind(&mobile), AttachKind::Combined, "until it was switched off");
    }
}

#[test]
fn c4_7_3_2_4_not_accepted_as_a_normal_one() {
    for cause in CAUSES {
        let mut normal = Mobile::attaching();
        let mut combined = Mobile::attaching_combined();
        for mobile in [&mut normal, &mut combined] {
            mobile.message(attach_reject(cause));
        }
        assert_eq!(combined.stands(), normal.stands(), "{cause}");
        assert_eq!(combined.pass(720), normal.pass(720), "{cause}");
    }
}

/// Attached for both, with a TMSI.
fn with_tmsi() -> Mobile {
    let mut mobile = Mobile::attached_combined();
    mobile.select(7, 2, 2);
    mobile
        .message(RauAccept { ms_identity: Some(MobileIdentity::PTmsi(PTmsi(7))), ..updated(2, true, None) });
    mobile
}

/// Whether a mobile has a TMSI shows in the next combined request.
fn has_tmsi(mobile: &mut Mobile) -> bool {
    if mobile.mobile.state() != GmmMsState::RegisteredInitiated {
        mobile.event(GmmMsEvent::Detach { power_off: true });
        mobile.select(9, 1, 1);
        mobile.event(GmmMsEvent::Attach);
    }
    match mobile.only().0 {
        GmmMessage::AttachRequest(request) => request.tmsi_status.is_none(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn c4_7_3_2_4_and_4_7_5_2_4_the_causes_that_delete_the_tmsi() {
    let invalid = [GmmCause::IllegalMs, GmmCause::IllegalMe, GmmCause::GprsAndNonGprsNotAllowed];
    let elsewhere = [GmmCause::PlmnNotAllowed, GmmCause::LocationAreaNotAllowed];
    let of_an_attach = [GmmCause::RoamingNotAllowed, GmmCause::NoSuitableCells];
    for cause in CAUSES {
        let always = invalid.contains(&cause) || elsewhere.contains(&cause);
        let mut mobile = with_tmsi();
        mobile.event(GmmMsEvent::Detach { power_off: true });
        mobile.event(GmmMsEvent::Attach);
        assert!(has_tmsi(&mut mobile));
        mobile.message(attach_reject(cause));
        assert_eq!(has_tmsi(&mut mobile), !(always || of_an_attach.contains(&cause)), "attach: {cause}");
        let mut mobile = with_tmsi();
        mobile.select(7, 3, 3);
        mobile.message(update_reject(cause));
        assert_eq!(has_tmsi(&mut mobile), !always, "update: {cause}");
    }
    let mut mobile = with_tmsi();
    mobile.message(AuthenticationReject {});
    assert!(!has_tmsi(&mut mobile), "4.7.7.5");
}

#[test]
fn c4_7_3_2_5_without_a_known_cause_it_is_tried_again() {
    for cause in [None, Some(GmmCause::ProtocolError)] {
        let mut mobile = Mobile::attaching_combined();
        mobile.message(for_gprs_only(cause));
        assert_eq!(mobile.stands(), ATTEMPTING);
        assert_eq!(mobile.pass(15), [(15, "RauRequest")]);
    }
}

#[test]
fn c4_7_3_2_5_a_repeated_accept_does_not_count() {
    let mut mobile = attempting();
    mobile.pass(10);
    mobile.message(for_gprs_only(Some(GmmCause::MscNotReachable)));
    assert_eq!((mobile.sent(), mobile.stands()), (vec!["AttachComplete"], ATTEMPTING));
    assert_eq!(mobile.pass(5), [(5, "RauRequest")], "T3311 runs on");
}

#[test]
fn c4_7_3_2_5_the_abnormal_cases_of_a_normal_one() {
    let mut mobile = Mobile::attaching_combined();
    assert_eq!(mobile.pass(74), [15, 30, 45, 60].map(|at| (at, "AttachRequest")), "T3310");
    mobile.pass(1);
    assert_eq!(mobile.stands(), (GmmMsState::Deregistered, Service::Attempting));
    assert_eq!(mobile.pass(15), [(15, "AttachRequest")], "T3311");
    assert_eq!(attach_kind(&mobile), AttachKind::Combined);
    mobile.event(GmmMsEvent::Detach { power_off: false });
    let both = DetachTypeMo { kind: DetachKindMo::Combined, power_off: false };
    assert_eq!(detach_type(&mobile), both, "it may have been accepted for both");
}

#[test]
fn c4_7_5_2_1_a_combined_update_into_a_new_routing_area() {
    let mut mobile = Mobile::attached_combined();
    mobile.select(7, 2, 2);
    let request = update(&mobile);
    assert_eq!(request.update_type.kind, UpdateKind::Combined);
    assert_eq!(request.tmsi_status, Some(TmsiStatus::NotAvailable));
    mobile
        .message(RauAccept { ms_identity: Some(MobileIdentity::PTmsi(PTmsi(7))), ..updated(2, true, None) });
    assert_eq!((mobile.sent(), mobile.stands()), (vec!["RauComplete"], NORMAL));
    assert_eq!(mobile.pass(PERIODIC), [(PERIODIC, "RauRequest")]);
    assert_eq!(update(&mobile).update_type.kind, UpdateKind::Periodic, "a periodic one is as ever");
    mobile.message(updated(2, false, None));
    assert_eq!((mobile.stands(), mobile.mobile.non_gprs()), (NORMAL, NonGprs::Attached));
}

#[test]
fn c4_7_5_2_3_2_gprs_only_and_the_update_attempt_counter() {
    let mut mobile = Mobile::attached_combined();
    mobile.select(7, 2, 2);
    let unreachable = Some(GmmCause::MscNotReachable);
    mobile.message(updated(2, false, unreachable));
    assert!(mobile.has(&standing(NonGprs::Wanted, unreachable)));
    assert_eq!(mobile.stands(), ATTEMPTING);
    for attempt in 2..=5 {
        assert_eq!(mobile.pass(15), [(15, "RauRequest")], "attempt {attempt}");
        assert_eq!(update(&mobile).update_type.kind, UpdateKind::CombinedWithImsiAttach);
        mobile.message(updated(2, false, unreachable));
    }
    assert_eq!(mobile.pass(720), [(720, "RauRequest")], "T3302");
    mobile.message(updated(2, false, unreachable));
    assert_eq!(mobile.pass(15), [(15, "RauRequest")], "it has set the counter back");
    mobile.message(updated(2, false, Some(GmmCause::CsDomainNotAvailable)));
    assert_eq!((mobile.stands(), mobile.pass(43)), (NORMAL, vec![]));
}

#[test]
fn c4_7_5_2_the_attempts_begin_anew_after_an_attach_and_in_a_new_routing_area() {
    let mut mobile = attempting();
    let unreachable = Some(GmmCause::MscNotReachable);
    for _ in 0..4 {
        assert_eq!(mobile.pass(15), [(15, "RauRequest")]);
        mobile.message(updated(1, false, unreachable));
    }
    assert_eq!(mobile.pass(15), [(15, "RauRequest")], "the counter of attaches is another");
    mobile.message(updated(1, false, unreachable));
    mobile.select(7, 1, 2);
    assert_eq!((mobile.sent().len(), mobile.stands()), (0, ATTEMPTING), "the same routing area");
    mobile.select(7, 2, 3);
    assert_eq!(update(&mobile).update_type.kind, UpdateKind::CombinedWithImsiAttach);
    mobile.message(updated(2, false, unreachable));
    assert_eq!(mobile.pass(15), [(15, "RauRequest")], "T3311 again");
}

#[test]
fn c4_7_5_2_an_imsi_attach_is_made_up_for() {
    // T3311 runs out where there is no cell.
    let mut mobile = attempting();
    mobile.event(GmmMsEvent::CellLost);
    assert_eq!(mobile.pass(60), []);
    mobile.select(7, 1, 1);
    assert_eq!(update(&mobile).update_type.kind, UpdateKind::CombinedWithImsiAttach);
    // T3312 runs out before T3302.
    let mut mobile = Mobile::attaching_combined();
    let t3302 = Some(GprsTimer::DEACTIVATED);
    for _ in 0..4 {
        mobile.message(attach_reject(GmmCause::Congestion));
        mobile.pass(15);
    }
    mobile.message(AttachAccept { t3302, ..for_gprs_only(Some(GmmCause::MscNotReachable)) });
    assert_eq!(mobile.pass(PERIODIC), [(PERIODIC, "RauRequest")]);
    assert_eq!(update(&mobile).update_type.kind, UpdateKind::CombinedWithImsiAttach);
}

#[test]
fn c4_7_5_2_4_and_5_as_a_normal_one() {
    for cause in CAUSES {
        let mut normal = Mobile::updating();
        let mut combined = Mobile::attached_combined();
        combined.select(7, 2, 3);
        for mobile in [&mut normal, &mut combined] {
            mobile.message(update_reject(cause));
        }
        assert_eq!(combined.stands(), normal.stands(), "{cause}");
        assert_eq!(combined.pass(720), normal.pass(720), "{cause}");
    }
    let mut mobile = Mobile::attached_combined();
    mobile.select(7, 2, 3);
    assert_eq!(mobile.pass(74), [15, 30, 45, 60].map(|at| (at, "RauRequest")), "T3330");
    mobile.pass(1);
    assert_eq!(mobile.pass(15), [(15, "RauRequest")], "T3311");
    assert_eq!(update(&mobile).update_type.kind, UpdateKind::Combined);
}

#[test]
fn c4_7_4_1_1_a_combined_detach_leaves_both() {
    for power_off in [false, true] {
        let mut mobile = Mobile::attached_combined();
        mobile.event(GmmMsEvent::Detach { power_off });
        assert_eq!(detach_type(&mobile), DetachTypeMo { kind: DetachKindMo::Combined, power_off });
    }
    let mut mobile = Mobile::attached_combined();
    mobile.event(GmmMsEvent::Detach { power_off: false });
    assert_eq!(mobile.pass(15), [(15, "DetachRequestMo")], "T3321");
    assert_eq!(detach_type(&mobile).kind, DetachKindMo::Combined);
    mobile.message(detach_accepted());
    assert_eq!(mobile.mobile.state(), GmmMsState::Deregistered);
    assert_eq!(mobile.mobile.non_gprs(), NonGprs::Wanted, "for the next attach");
    let mut mobile = attempting();
    mobile.event(GmmMsEvent::Detach { power_off: false });
    assert_eq!(detach_type(&mobile).kind, DetachKindMo::Gprs, "of what it is attached for");
}

#[test]
fn c4_7_4_1_3_an_imsi_detach_keeps_gprs() {
    let mut mobile = imsi_detaching();
    assert_eq!(detach_type(&mobile), DetachTypeMo { kind: DetachKindMo::Imsi, power_off: false });
    mobile.message(detach_accepted());
    assert!(mobile.has(&standing(NonGprs::Detached, None)));
    assert_eq!((mobile.stands(), mobile.mobile.active_nsapis), (NORMAL, PdpContextStatus(1 << 5)));
    assert_eq!(mobile.pass(43), [], "T3321 is stopped");
    mobile.select(7, 2, 2);
    assert_eq!(update(&mobile).update_type.kind, UpdateKind::Ra);
    mobile.message(updated(2, false, None));
    mobile.event(GmmMsEvent::ImsiAttach);
    assert_eq!(update(&mobile).update_type.kind, UpdateKind::CombinedWithImsiAttach);
    mobile.message(updated(2, true, None));
    assert_eq!((mobile.stands(), mobile.mobile.non_gprs()), (NORMAL, NonGprs::Attached));
    mobile.message(detach_accepted());
    assert_eq!(mobile.drops(Drop::GmmUnexpected), 1);
}

#[test]
fn c4_7_4_1_3_an_imsi_detach_of_a_mobile_that_is_attached_for_gprs_only() {
    let mut mobile = attempting();
    mobile.event(GmmMsEvent::ImsiDetach);
    assert_eq!((mobile.sent().len(), mobile.stands()), (0, NORMAL), "nobody has to be told");
    assert_eq!(mobile.pass(43), [], "T3311 is stopped");
    // One that asks is told first what becomes of it.
    let mut mobile = Mobile::attaching_combined();
    mobile.event(GmmMsEvent::ImsiDetach);
    assert_eq!(mobile.sent().len(), 0);
    mobile.message(AttachAccept { result: AttachResult::Combined, ..attach_accept(P1) });
    assert_eq!(mobile.sent(), ["AttachComplete", "DetachRequestMo"]);
    let mut mobile = Mobile::attached();
    mobile.event(GmmMsEvent::ImsiDetach);
    assert_eq!((mobile.sent().len(), mobile.drops(Drop::GmmIgnored)), (0, 1), "operation mode C");
    // Where the attach fails the order is carried out all the same.
    let mut mobile = Mobile::attaching_combined();
    mobile.event(GmmMsEvent::ImsiDetach);
    mobile.message(attach_reject(GmmCause::Congestion));
    assert!(mobile.has(&standing(NonGprs::Detached, None)));
    mobile.pass(15);
    assert_eq!(attach_kind(&mobile), AttachKind::Gprs);
}

#[test]
fn c4_7_4_1_3_an_imsi_detach_ends_the_attempts_and_their_count() {
    let mut mobile = attempting();
    for _ in 0..4 {
        assert_eq!(mobile.pass(15), [(15, "RauRequest")]);
        mobile.message(updated(1, false, Some(GmmCause::MscNotReachable)));
    }
    mobile.event(GmmMsEvent::ImsiDetach);
    assert_eq!(mobile.pass(PERIODIC), [(PERIODIC, "RauRequest")]);
    mobile.message(update_reject(GmmCause::Congestion));
    assert_eq!(mobile.stands(), NORMAL, "the first attempt of this update");
    assert_eq!(mobile.pass(15), [(15, "RauRequest")], "T3311");
}

#[test]
fn c4_7_4_1_3_the_last_order_holds() {
    let mut mobile = imsi_detaching();
    mobile.event(GmmMsEvent::ImsiAttach);
    assert_eq!((mobile.sent().len(), mobile.drops(Drop::GmmIgnored)), (0, 0));
    mobile.message(detach_accepted());
    assert!(mobile.has(&standing(NonGprs::Detached, None)));
    assert_eq!(update(&mobile).update_type.kind, UpdateKind::CombinedWithImsiAttach);
    mobile.message(updated(1, true, None));
    assert_eq!((mobile.stands(), mobile.mobile.non_gprs()), (NORMAL, NonGprs::Attached));
    // No answer, and no cell.
    for lost in [false, true] {
        let mut mobile = imsi_detaching();
        mobile.event(GmmMsEvent::ImsiAttach);
        if lost {
            mobile.event(GmmMsEvent::CellLost);
            mobile.select(7, 1, 1);
        } else {
            mobile.pass(74);
            assert_eq!(mobile.pass(1), [(1, "RauRequest")]);
        }
        assert_eq!(update(&mobile).update_type.kind, UpdateKind::CombinedWithImsiAttach);
    }
    // A new routing area.
    let mut mobile = imsi_detaching();
    mobile.event(GmmMsEvent::ImsiAttach);
    mobile.select(7, 2, 3);
    assert_eq!(update(&mobile).update_type.kind, UpdateKind::CombinedWithImsiAttach);
    mobile.message(updated(2, true, None));
    assert_eq!((mobile.stands(), mobile.mobile.non_gprs()), (NORMAL, NonGprs::Attached));
    // And an order after that.
    let mut mobile = imsi_detaching();
    mobile.event(GmmMsEvent::ImsiAttach);
    mobile.event(GmmMsEvent::ImsiDetach);
    mobile.message(detach_accepted());
    assert_eq!((mobile.sent().len(), mobile.mobile.non_gprs()), (0, NonGprs::Detached));
}

#[test]
fn c4_7_4_1_3_an_imsi_detach_waits_for_the_update_that_is_tried_again() {
    let mut mobile = Mobile::attached_combined();
    mobile.select(7, 2, 3);
    mobile.event(GmmMsEvent::ImsiDetach);
    mobile.pass(75);
    assert_eq!(mobile.mobile.non_gprs(), NonGprs::Attached, "the network has not been told");
    assert_eq!(mobile.pass(15), [(15, "RauRequest")], "T3311");
    mobile.message(updated(2, true, None));
    assert_eq!(detach_type(&mobile).kind, DetachKindMo::Imsi);
    // Nothing is tried again.
    let mut mobile = Mobile::attached_combined();
    mobile.select(7, 2, 3);
    mobile.event(GmmMsEvent::ImsiDetach);
    let t3302 = Some(GprsTimer::DEACTIVATED);
    mobile.message(RauReject { t3302, ..update_reject(GmmCause::ProtocolError) });
    assert_eq!(mobile.mobile.non_gprs(), NonGprs::Detached);
}

#[test]
fn c4_7_4_1_3_an_imsi_detach_is_made_up_for_where_the_mobile_is_registered() {
    // The update before it ends for want of a cell.
    let mut mobile = Mobile::attached_combined();
    assert_eq!(mobile.pass(PERIODIC), [(PERIODIC, "RauRequest")]);
    mobile.event(GmmMsEvent::ImsiDetach);
    mobile.event(GmmMsEvent::CellLost);
    mobile.select(7, 1, 1);
    assert_eq!(detach_type(&mobile).kind, DetachKindMo::Imsi);
    mobile.message(detach_accepted());
    assert_eq!((mobile.stands(), mobile.mobile.non_gprs()), (NORMAL, NonGprs::Detached));
    // It is interrupted by a cell where nothing may be sent.
    for cause in [GmmCause::RoamingNotAllowed, GmmCause::NoSuitableCells] {
        let mut mobile = Mobile::attached_combined();
        mobile.select(8, 1, 3);
        mobile.message(update_reject(cause));
        mobile.select(7, 1, 1);
        mobile.event(GmmMsEvent::ImsiDetach);
        mobile.select(8, 1, 3);
        assert_eq!((mobile.sent().len(), mobile.mobile.service()), (0, Service::Limited), "{cause}");
        mobile.select(7, 1, 1);
        assert_eq!(detach_type(&mobile).kind, DetachKindMo::Imsi, "{cause}");
    }
}

#[test]
fn c4_7_4_1_4_a_and_b_an_imsi_detach_without_an_answer() {
    let mut mobile = imsi_detaching();
    assert_eq!(mobile.pass(74), [15, 30, 45, 60].map(|at| (at, "DetachRequestMo")), "T3321");
    mobile.pass(1);
    assert_eq!((mobile.stands(), mobile.mobile.non_gprs()), (NORMAL, NonGprs::Detached));
    assert_eq!(mobile.drops(Drop::GmmNoAnswer), 1);
    let mut mobile = imsi_detaching();
    mobile.event(GmmMsEvent::LowerLayerFailure);
    assert_eq!((mobile.stands(), mobile.mobile.non_gprs()), (NORMAL, NonGprs::Detached));
    assert_eq!(mobile.pass(43), []);
}

#[test]
fn c4_7_4_1_4_c_an_imsi_detach_and_a_detach_by_the_network() {
    let mut mobile = imsi_detaching();
    mobile.message(detach_by_network(DetachTypeMt::Imsi, None));
    assert_eq!((mobile.sent(), mobile.stands()), (vec!["DetachAcceptMt"], NORMAL));
    assert_eq!(mobile.mobile.non_gprs(), NonGprs::Detached);
    let mut mobile = imsi_detaching();
    let is_unknown = Some(GmmCause::ImsiUnknownInHlr);
    mobile.message(detach_by_network(DetachTypeMt::Imsi, is_unknown));
    assert!(mobile.has(&standing(NonGprs::Refused, is_unknown)));
    assert_eq!((mobile.sent(), mobile.stands()), (vec!["DetachAcceptMt"], NORMAL));
    assert_eq!(mobile.pass(43), [], "T3321 is stopped");
    let mut mobile = imsi_detaching();
    mobile.message(detach_by_network(DetachTypeMt::ReattachRequired, None));
    assert_eq!(mobile.sent(), ["DetachAcceptMt", "AttachRequest"]);
    let Some((GmmMessage::AttachRequest(request), _)) = mobile.messages().pop() else { panic!() };
    assert_eq!(request.attach_type.kind, AttachKind::Gprs, "its user does not want the other any more");
}

#[test]
fn c4_7_4_1_4_d_common_procedures_during_an_imsi_detach() {
    let mut mobile = imsi_detaching();
    mobile.message(reallocation(P2));
    assert_eq!((mobile.sent().len(), mobile.drops(Drop::GmmIgnored)), (0, 1));
    mobile.message(identity_request(IdentityType::Imsi));
    assert_eq!(mobile.sent(), ["IdentityResponse"]);
    mobile.message(attach_accept(P1));
    assert_eq!(mobile.stands(), (GmmMsState::Registered, Service::ImsiDetachInitiated));
    assert_eq!(mobile.pass(15), [(15, "DetachRequestMo")], "T3321 runs on");
}

#[test]
fn c4_7_4_1_4_e_an_imsi_detach_and_a_new_routing_area() {
    let mut mobile = imsi_detaching();
    mobile.select(7, 2, 3);
    assert_eq!(update(&mobile).update_type.kind, UpdateKind::Combined, "aborted");
    mobile.message(updated(2, true, None));
    assert_eq!(detach_type(&mobile).kind, DetachKindMo::Imsi, "and begun again");
    assert_eq!(mobile.only().1, Tlli::local(P1));
    let mut mobile = imsi_detaching();
    mobile.event(GmmMsEvent::CellLost);
    assert_eq!(mobile.mobile.non_gprs(), NonGprs::Detached);
    mobile.select(7, 1, 1);
    assert_eq!((mobile.stands(), mobile.pass(43)), (NORMAL, vec![]));
}

#[test]
fn c4_7_4_1_4_f_access_is_barred() {
    let mut mobile = Mobile::attached_combined();
    mobile.event(GmmMsEvent::Access { barred: true });
    mobile.event(GmmMsEvent::ImsiDetach);
    assert_eq!((mobile.sent().len(), mobile.mobile.non_gprs()), (0, NonGprs::Detached));
}

#[test]
fn c4_7_4_2_2_imsi_detach_by_the_network() {
    let mut mobile = Mobile::attached_combined();
    mobile.message(detach_by_network(DetachTypeMt::Imsi, None));
    assert_eq!(mobile.sent(), ["DetachAcceptMt", "RauRequest"]);
    let Some((GmmMessage::RauRequest(request), _)) = mobile.messages().pop() else { panic!() };
    assert_eq!(request.update_type.kind, UpdateKind::CombinedWithImsiAttach);
    let mut mobile = Mobile::attached_combined();
    mobile.message(detach_by_network(DetachTypeMt::Imsi, Some(GmmCause::ImsiUnknownInHlr)));
    assert_eq!((mobile.sent(), mobile.stands()), (vec!["DetachAcceptMt"], NORMAL));
    assert_eq!(mobile.mobile.non_gprs(), NonGprs::Refused);
    let mut mobile = attempting();
    mobile.message(detach_by_network(DetachTypeMt::Imsi, None));
    assert_eq!((mobile.sent(), mobile.stands()), (vec!["DetachAcceptMt"], ATTEMPTING));
}

#[test]
fn c4_7_3_2_both_sides_without_an_msc() {
    let mut mobile = Mobile::attaching_combined();
    let (request, tlli) = mobile.only();
    let mut network = Network::new();
    network.tlli = tlli;
    let from = network.from();
    network.event(GmmEvent::Message { message: request, from, ciphered: false });
    mobile.message(network.only());
    assert_eq!(mobile.stands(), ATTEMPTING);
    network.confirm(AttachComplete {});
    mobile.pass(15);
    network.message(update(&mobile));
    mobile.message(network.only());
    assert_eq!(mobile.stands(), ATTEMPTING, "and goes on with GPRS");
}
