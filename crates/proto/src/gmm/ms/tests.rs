//! Each procedure's normal case and its abnormal cases, from the mobile's side.

use super::*;
use crate::gmm::harness::*;
use gannet_wire::id::{Imei, Nsapi, Plmn, Rai, TlliKind};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;
use gannet_wire::{DecodeError, DecodeErrorKind};

mod attach;
mod authentication;
mod detach;
mod update;

fn cell(lac: u16, rac: u8, ci: u16) -> CellId {
    CellId { rai: Rai { plmn: Plmn::from_octets([0x00, 0xf1, 0x10]), lac, rac }, ci }
}

/// What was sent: the name of each message, and its TLLI.
fn named(mobile: &Mobile) -> Vec<(&'static str, Tlli)> {
    mobile.messages().into_iter().map(|(message, tlli)| (message.name(), tlli)).collect()
}

#[test]
fn a_context_fits_its_budget() {
    assert!(size_of::<GmmMsContext>() <= 232, "{} octets", size_of::<GmmMsContext>());
}

#[test]
fn ready_and_standby_of_clause_4_7_2_1() {
    let mut bench = Mobile::attached();
    assert_eq!(bench.mobile.mm_state(), MmState::Ready);
    bench.pass(40);
    bench.event(GmmMsEvent::LlcFrameSent);
    bench.pass(40);
    assert_eq!(bench.mobile.mm_state(), MmState::Ready);
    bench.pass(4);
    assert_eq!(bench.actions, [GmmMsAction::MmStateChanged(MmState::Standby)]);
    let mut forced = Mobile::attaching();
    forced.message(AttachAccept { force_to_standby: ForceToStandby::Indicated, ..attach_accept(P1) });
    assert_eq!(forced.mobile.mm_state(), MmState::Standby);
    let mut at_once = Mobile::attaching();
    at_once.message(AttachAccept { negotiated_ready_timer: Some(GprsTimer(0)), ..attach_accept(P1) });
    assert_eq!(at_once.mobile.mm_state(), MmState::Standby);
    let mut always = Mobile::attaching();
    always
        .message(AttachAccept { negotiated_ready_timer: Some(GprsTimer::DEACTIVATED), ..attach_accept(P1) });
    assert_eq!(always.mobile.deadlines.next(), None);
}

#[test]
fn paging_by_p_tmsi_is_answered_with_any_frame_of_clause_4_7_9_1_1() {
    let mut bench = Mobile::attached();
    bench.pass(44);
    bench.event(GmmMsEvent::Paged(PagedBy::PTmsi));
    assert_eq!(bench.actions, [GmmMsAction::SendCellUpdate, GmmMsAction::MmStateChanged(MmState::Ready)]);
}

#[test]
fn paging_by_imsi_makes_the_mobile_attach_anew_of_clause_4_7_9_1_2() {
    let mut bench = Mobile::attached();
    bench.mobile.active_nsapis.set(Nsapi(5));
    bench.event(GmmMsEvent::Paged(PagedBy::Imsi));
    assert!(bench.has(&GmmMsAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
    assert_eq!(bench.mobile.ptmsi(), None);
    assert!(matches!(named(&bench)[..], [("AttachRequest", tlli)] if tlli.kind() == TlliKind::Random));
    bench.event(GmmMsEvent::Paged(PagedBy::PTmsi));
    assert_eq!((bench.actions.len(), bench.drops(Drop::GmmIgnored)), (0, 1));
}

#[test]
fn identities_are_told_of_clause_4_7_8_2() {
    let imei: Imei = "490154203237518".parse().unwrap();
    for (identity_type, told) in [
        (IdentityType::Imsi, MobileIdentity::Imsi(imsi())),
        (IdentityType::Imei, MobileIdentity::Imei(imei)),
        (IdentityType::Imeisv, MobileIdentity::Imeisv("4901542032375101".parse().unwrap())),
        (IdentityType::Tmsi, MobileIdentity::PTmsi(P1)),
    ] {
        let mut bench = Mobile::attached();
        bench.message(IdentityRequest { identity_type, force_to_standby: ForceToStandby::NotIndicated });
        let message = IdentityResponse { identity: told }.into();
        assert!(bench.has(&GmmMsAction::Send { message, tlli: Tlli::local(P1) }));
    }
}

#[test]
fn p_tmsi_reallocation_of_clause_4_7_6_2() {
    let command = |allocated_ptmsi| PTmsiReallocationCommand {
        allocated_ptmsi,
        rai: cell(7, 1, 1).rai,
        force_to_standby: ForceToStandby::NotIndicated,
        ptmsi_signature: None,
    };
    let mut bench = Mobile::attached();
    bench.message(command(MobileIdentity::PTmsi(P2)));
    assert_eq!(named(&bench), [("PTmsiReallocationComplete", Tlli::local(P2))]);
    assert!(bench.has(&GmmMsAction::AssignTlli { new: Tlli::local(P2), old: Some(Tlli::local(P1)) }));
    bench.message(command(MobileIdentity::None));
    assert_eq!(bench.sent(), ["GmmStatus"]);
    let mut bench = Mobile::attaching();
    bench.message(command(MobileIdentity::PTmsi(P2)));
    assert_eq!((bench.sent().len(), bench.drops(Drop::GmmIgnored)), (0, 1), "it gives way");
}

#[test]
fn illegal_pairs_are_counted_and_answered_with_gmm_status() {
    let mut bench = Mobile::attached();
    let illegal: [GmmMessage; 5] = [
        AttachReject { cause: GmmCause::IllegalMs, t3302: None }.into(),
        RauReject { cause: GmmCause::IllegalMs, force_to_standby: ForceToStandby::NotIndicated, t3302: None }
            .into(),
        DetachAcceptMo { force_to_standby: ForceToStandby::NotIndicated }.into(),
        ServiceAccept { pdp_context_status: None }.into(),
        ServiceReject { cause: GmmCause::IllegalMs }.into(),
    ];
    for (count, message) in illegal.into_iter().enumerate() {
        let status: GmmMessage = GmmStatus { cause: GmmCause::MessageTypeIncompatible }.into();
        bench.message(message);
        assert!(bench.has(&GmmMsAction::Send { message: status, tlli: Tlli::local(P1) }));
        assert_eq!(bench.drops(Drop::GmmUnexpected), count as u64 + 1);
        assert_eq!(bench.mobile.state(), GmmMsState::Registered);
    }
    bench.message(AttachComplete {});
    let status: GmmMessage = GmmStatus { cause: GmmCause::MessageTypeNonExistent }.into();
    assert!(bench.has(&GmmMsAction::Send { message: status, tlli: Tlli::local(P1) }));
}

#[test]
fn gmm_status_and_information_are_taken_without_an_answer() {
    let mut bench = Mobile::attached();
    bench.message(GmmStatus { cause: GmmCause::ProtocolError });
    assert_eq!((bench.sent().len(), bench.drops(Drop::GmmStatusReceived)), (0, 1));
    bench.message(GmmInformation {
        full_name: None,
        short_name: None,
        time_zone: None,
        universal_time: None,
        lsa_identity: None,
        daylight_saving: None,
    });
    assert_eq!(bench.sent().len(), 0);
}

#[test]
fn unreadable_messages_of_clause_8() {
    let mut bench = Mobile::attached();
    let error = DecodeError::new("Routing Area Identification", 5, DecodeErrorKind::Missing);
    bench.event(GmmMsEvent::DecodeFailed(error));
    let status: GmmMessage = GmmStatus { cause: GmmCause::InvalidMandatoryInformation }.into();
    assert!(bench.has(&GmmMsAction::Send { message: status, tlli: Tlli::local(P1) }));
    assert_eq!(bench.drops(Drop::GmmMalformed), 1);
}

#[test]
fn a_context_survives_serialisation() {
    let bench = Mobile::attached();
    let octets = postcard::to_allocvec(&bench.mobile).unwrap();
    let back: GmmMsContext = postcard::from_bytes(&octets).unwrap();
    assert_eq!((back.ptmsi(), back.state()), (Some(P1), GmmMsState::Registered));
    assert_eq!(back.deadlines.next(), bench.mobile.deadlines.next());
}
