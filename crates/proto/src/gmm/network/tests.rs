//! Each procedure's normal case and its abnormal cases, from the network's side.

use super::*;
use crate::gmm::harness::{self, *};
use gannet_wire::id::Imei;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;
use gannet_wire::{DecodeError, DecodeErrorKind};

mod attach;
mod authentication;
mod detach;
mod update;

/// The service says this of everything that it is asked.
fn says(network: &mut Network, decision: AuthDecision) {
    (network.subscriber, network.verdict, network.remedy) = (decision, decision, decision);
}

fn update_request(kind: UpdateKind, signature: Option<PTmsiSignature>) -> RauRequest {
    RauRequest { old_ptmsi_signature: signature, ..harness::update_request(kind) }
}

#[test]
fn a_context_fits_its_budget() {
    assert!(size_of::<GmmContext>() + GmmContext::ELSEWHERE <= 176, "{} octets", size_of::<GmmContext>());
}

#[test]
fn ready_standby_and_paging_of_clause_4_7_9_1_1() {
    let mut bench = Network::attached();
    assert_eq!(bench.context.mm_state(), MmState::Ready);
    bench.event(GmmEvent::DownlinkData);
    assert_eq!(bench.actions, [], "READY needs no paging");
    bench.pass(43);
    bench.frame();
    bench.pass(43);
    assert_eq!(bench.context.mm_state(), MmState::Ready, "any LLC frame restarts T3314");
    bench.pass(1);
    assert_eq!(bench.actions, [GmmAction::MmStateChanged(MmState::Standby)]);
    bench.event(GmmEvent::DownlinkData);
    let page = GmmAction::Page {
        imsi: imsi(),
        ptmsi: bench.context.ptmsi(),
        rai: cell(1, 2).id.rai,
        drx: DrxParameter::default(),
    };
    assert_eq!(bench.actions, core::slice::from_ref(&page));
    bench.event(GmmEvent::DownlinkData);
    assert_eq!(bench.actions, [], "T3313 runs");
    bench.pass(10);
    assert_eq!(bench.actions, [page]);
    bench.frame();
    assert_eq!(bench.actions, [GmmAction::MmStateChanged(MmState::Ready)], "any LLC frame answers");
    bench.pass(43);
    assert_eq!(bench.actions, [], "T3313 is stopped");
}

#[test]
fn paging_without_an_answer_is_given_up() {
    let mut bench = Network::attached();
    bench.pass(44);
    bench.event(GmmEvent::DownlinkData);
    bench.pass(30);
    assert_eq!(bench.actions.len(), 3);
    assert_eq!(bench.actions.last(), Some(&GmmAction::PagingFailed));
    assert_eq!(bench.drops(Drop::GmmPagingFailed), 1);
    bench.event(GmmEvent::DownlinkData);
    assert!(matches!(bench.actions[..], [GmmAction::Page { .. }]), "the next data page anew");
}

#[test]
fn a_mobile_that_the_radio_has_lost_is_in_standby_and_is_paged() {
    let mut bench = Network::attached();
    bench.event(GmmEvent::RadioContactLost);
    assert_eq!(bench.actions, [GmmAction::MmStateChanged(MmState::Standby)]);
    bench.event(GmmEvent::RadioContactLost);
    assert_eq!(bench.actions, [], "it is there already");
    bench.event(GmmEvent::DownlinkData);
    assert!(matches!(bench.actions[..], [GmmAction::Page { .. }]));
    bench.frame();
    assert_eq!(bench.actions, [GmmAction::MmStateChanged(MmState::Ready)]);
}

#[test]
fn a_suspended_mobile_is_not_paged() {
    let mut bench = Network::attached();
    bench.event(GmmEvent::Suspend);
    bench.pass(44);
    bench.event(GmmEvent::DownlinkData);
    assert_eq!(bench.actions, []);
    assert!(bench.context.is_suspended());
    bench.event(GmmEvent::Resume);
    bench.event(GmmEvent::DownlinkData);
    assert!(matches!(bench.actions[..], [GmmAction::Page { .. }]));
}

#[test]
fn mobile_reachable_and_implicit_detach_of_03_60_clause_6_6_1() {
    let mut bench = Network::attached();
    bench.context.rest.active_nsapis.set(gannet_wire::id::Nsapi(5));
    bench.pass(44 + 58 * 60);
    bench.event(GmmEvent::DownlinkData);
    assert_eq!(bench.actions, [GmmAction::PagingFailed], "the paging proceed flag is cleared");
    assert_eq!(bench.drops(Drop::GmmUnreachable), 1);
    bench.pass(60 * 60);
    assert!(bench.has(&GmmAction::Released) && bench.drops(Drop::GmmImplicitDetach) == 1);
    assert!(bench.has(&GmmAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
    assert_eq!(bench.context.rest.deadlines.next(), None);
    bench.event(GmmEvent::DownlinkData);
    assert_eq!(bench.actions, [GmmAction::PagingFailed]);
    bench.frame();
    assert_eq!(bench.drops(Drop::GmmNotAttached), 2);
}

#[test]
fn a_frame_in_time_makes_the_mobile_reachable_again() {
    let mut bench = Network::attached();
    bench.pass(44 + 58 * 60 + 10);
    bench.frame();
    bench.pass(44 + 57 * 60);
    assert!(!bench.has(&GmmAction::Released));
    bench.event(GmmEvent::DownlinkData);
    assert!(matches!(bench.actions[..], [GmmAction::Page { .. }]));
}

#[test]
fn negotiated_ready_timers() {
    for (asked, granted, ready_after_an_hour) in
        [(GprsTimer(5), GprsTimer(5), false), (GprsTimer(0), GprsTimer(0), false)]
    {
        let mut bench = Network::new();
        bench.message(AttachRequest { requested_ready_timer: Some(asked), ..attach_by_imsi() });
        let Some(GmmMessage::AttachAccept(accept)) = bench.messages().first().copied().cloned() else {
            panic!()
        };
        assert_eq!(accept.negotiated_ready_timer, Some(granted));
        bench.confirm(AttachComplete {});
        bench.pass(3600);
        assert_eq!(bench.context.mm_state() == MmState::Ready, ready_after_an_hour);
    }
    let mut bench = Network::new();
    bench.cfg.t3314_max = GprsTimer(10);
    bench.message(AttachRequest { requested_ready_timer: Some(GprsTimer::DEACTIVATED), ..attach_by_imsi() });
    assert_eq!(bench.context.ready_timer(), GprsTimer(10), "the operator's limit holds");
    bench.cfg.t3314_max = GprsTimer::DEACTIVATED;
    bench.context = GmmContext::new(bench.tlli, cell(1, 2));
    bench.message(AttachRequest { requested_ready_timer: Some(GprsTimer::DEACTIVATED), ..attach_by_imsi() });
    bench.confirm(AttachComplete {});
    bench.pass(1_000_000);
    assert_eq!(bench.context.mm_state(), MmState::Ready, "a deactivated T3314 never ends READY");
}

#[test]
fn a_cell_update_is_any_frame_from_another_cell() {
    let mut bench = Network::attached();
    bench.cell = cell(1, 3);
    bench.frame();
    assert_eq!(bench.actions, [GmmAction::CellChanged { old: cell(1, 2), new: cell(1, 3) }]);
    assert_eq!(bench.context.cell(), cell(1, 3));
    bench.frame();
    assert_eq!(bench.actions, []);
}

#[test]
fn p_tmsi_reallocation_of_clause_4_7_6() {
    let mut bench = Network::attached();
    let old = bench.context.ptmsi().unwrap();
    let old_tlli = bench.tlli;
    bench.event(GmmEvent::ReallocatePtmsi);
    assert_eq!(bench.sent(), ["PTmsiReallocationCommand"]);
    assert_eq!(bench.context.gmm_state(), GmmState::CommonProcedureInitiated);
    bench.pass(6);
    assert_eq!(bench.sent(), ["PTmsiReallocationCommand"], "T3350");
    bench.confirm(PTmsiReallocationComplete {});
    assert!(bench.has(&GmmAction::FreePtmsi(old)) && bench.has(&GmmAction::UnassignTlli { old: old_tlli }));
    assert_eq!(bench.context.gmm_state(), GmmState::Registered);
    assert!(!bench.has(&GmmAction::Registered), "it was so all the time");
    bench.event(GmmEvent::PtmsiAllocated(Some(TemporaryIdentity::new(PTmsi(9), None))));
    assert_eq!(bench.actions, [GmmAction::FreePtmsi(PTmsi(9))], "nobody asked for it");
}

#[test]
fn p_tmsi_reallocation_without_an_answer_keeps_both_p_tmsis() {
    let mut bench = Network::attached();
    bench.event(GmmEvent::ReallocatePtmsi);
    bench.event(GmmEvent::ReallocatePtmsi);
    assert_eq!(bench.drops(Drop::GmmIgnored), 1);
    let (old, new) = (bench.context.ptmsi().unwrap(), bench.context.new_ptmsi().unwrap());
    bench.pass(30);
    assert_eq!(bench.sent().len(), 4);
    assert_eq!(bench.drops(Drop::GmmNoAnswer), 1);
    assert_eq!((bench.context.ptmsi(), bench.context.new_ptmsi()), (Some(old), Some(new)));
    assert_eq!(bench.context.gmm_state(), GmmState::Registered);
    bench.tlli = Tlli::local(new);
    bench.frame();
    assert_eq!((bench.context.ptmsi(), bench.context.new_ptmsi()), (Some(new), None), "the mobile uses it");
    assert!(bench.has(&GmmAction::FreePtmsi(old)));
}

#[test]
fn gmm_status_is_told_and_never_answered() {
    let mut bench = Network::attached();
    bench.message(GmmStatus { cause: GmmCause::MessageTypeIncompatible });
    assert_eq!(bench.actions, []);
    assert_eq!(bench.drops(Drop::GmmStatusReceived), 1);
}

#[test]
fn illegal_pairs_are_counted_and_answered_with_gmm_status() {
    let mut bench = Network::attached();
    let response = IdentityResponse { identity: MobileIdentity::Imsi(imsi()) };
    let illegal: [GmmMessage; 8] = [
        AttachComplete {}.into(),
        RauComplete { receive_npdu_numbers: None }.into(),
        PTmsiReallocationComplete {}.into(),
        DetachAcceptMt {}.into(),
        response.into(),
        AuthenticationResponse {
            reference: AcReference(0),
            response: None,
            imeisv: None,
            extended_response: None,
        }
        .into(),
        AuthenticationFailure { cause: GmmCause::MacFailure, auts: None }.into(),
        ServiceRequest {
            cksn: Cksn::NO_KEY,
            service_type: ServiceType::Data,
            ptmsi: MobileIdentity::None,
            pdp_context_status: None,
        }
        .into(),
    ];
    for (count, message) in illegal.into_iter().enumerate() {
        let before = bench.context.clone();
        bench.message(message.clone());
        let status: GmmMessage = GmmStatus { cause: GmmCause::MessageTypeIncompatible }.into();
        assert_eq!(bench.messages(), [&status], "{}", message.name());
        assert_eq!(bench.drops(Drop::GmmUnexpected), count as u64 + 1);
        assert_eq!(bench.context, before, "and otherwise ignored");
    }
}

#[test]
fn a_message_of_the_other_direction_is_not_defined() {
    let mut bench = Network::attached();
    bench.message(AttachReject { cause: GmmCause::IllegalMs, t3302: None });
    let status: GmmMessage = GmmStatus { cause: GmmCause::MessageTypeNonExistent }.into();
    assert_eq!(bench.messages(), [&status]);
    assert_eq!(bench.drops(Drop::GmmMalformed), 1);
}

#[test]
fn unreadable_messages_of_clause_8() {
    let failed = |kind, message_type, bench: &mut Network| {
        let error = DecodeError::new("MS Network Capability", 2, kind);
        let from = bench.from();
        bench.event(GmmEvent::DecodeFailed { message_type, error, from });
    };
    let mut bench = Network::attached();
    failed(DecodeErrorKind::UnknownMessage(0x7f), Some(0x7f), &mut bench);
    let status: GmmMessage = GmmStatus { cause: GmmCause::MessageTypeNonExistent }.into();
    assert_eq!(bench.messages(), [&status]);
    failed(DecodeErrorKind::UnknownProtocol(3), None, &mut bench);
    assert_eq!(bench.actions, []);
    // Clause 4.7.5.1.6 b.
    failed(DecodeErrorKind::Missing, Some(8), &mut bench);
    assert!(matches!(
        bench.messages()[..],
        [GmmMessage::RauReject(RauReject { cause: GmmCause::InvalidMandatoryInformation, .. })]
    ));
    assert_eq!(bench.context.gmm_state(), GmmState::Registered);
    // Clause 4.7.3.1.6 b.
    let mut bench = Network::new();
    failed(DecodeErrorKind::BadLength(0), Some(1), &mut bench);
    assert!(matches!(
        bench.messages()[..],
        [GmmMessage::AttachReject(AttachReject { cause: GmmCause::InvalidMandatoryInformation, .. })]
    ));
    assert!(bench.has(&GmmAction::Released));
}

#[test]
fn a_context_survives_serialisation() {
    let bench = Network::attached();
    let octets = postcard::to_allocvec(&bench.context).unwrap();
    let back: GmmContext = postcard::from_bytes(&octets).unwrap();
    assert_eq!(back.imsi(), Some(imsi()));
    assert_eq!(back.deadlines().next(), bench.context.rest.deadlines.next());
    assert_eq!(back.network_capability(), MsNetworkCapability::typical());
}

#[test]
fn strangers_are_answered_without_a_context() {
    let update: GmmMessage = update_request(UpdateKind::Ra, None).into();
    let answer = answer_to_stranger(Stranger::Message { message: &update });
    let cause = GmmCause::ImplicitlyDetached;
    assert!(matches!(answer, Some(GmmMessage::RauReject(reject)) if reject.cause == cause));
    assert!(matches!(answer_to_stranger(Stranger::LlcFrame), Some(GmmMessage::DetachRequestMt(_))));
    for (power_off, answered) in [(true, false), (false, true)] {
        let detach: GmmMessage = DetachRequestMo {
            detach_type: DetachTypeMo { kind: DetachKindMo::Gprs, power_off },
            ptmsi: None,
            ptmsi_signature: None,
        }
        .into();
        let answer = answer_to_stranger(Stranger::Message { message: &detach });
        assert_eq!(answer.is_some(), answered);
    }
    let status: GmmMessage = GmmStatus { cause: GmmCause::ProtocolError }.into();
    assert_eq!(answer_to_stranger(Stranger::Message { message: &status }), None);
}
