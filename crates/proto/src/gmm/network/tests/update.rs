//! Clause 4.7.5.

use super::*;

fn accept(bench: &Network) -> RauAccept {
    match bench.messages().last() {
        Some(GmmMessage::RauAccept(accept)) => accept.clone(),
        other => panic!("no ROUTING AREA UPDATE ACCEPT but {other:?}"),
    }
}

fn signature(bench: &Network) -> Option<PTmsiSignature> {
    bench.context.rest.current.unwrap().signature()
}

/// Into another routing area, with a foreign TLLI.
fn moved() -> (Network, RauRequest) {
    let mut bench = Network::attached();
    let request = update_request(UpdateKind::Ra, signature(&bench));
    bench.tlli = Tlli::foreign(bench.context.ptmsi().unwrap());
    bench.cell = cell(2, 4);
    (bench, request)
}

#[test]
fn a_normal_update_of_clause_4_7_5_1() {
    let (mut bench, request) = moved();
    let old = bench.context.ptmsi().unwrap();
    bench.message(request);
    assert_eq!(bench.actions.first(), Some(&GmmAction::CellChanged { old: cell(1, 2), new: cell(2, 4) }));
    let new = bench.context.new_ptmsi().unwrap();
    let accept = accept(&bench);
    assert_eq!((accept.rai, accept.allocated_ptmsi), (cell(2, 4).id.rai, Some(MobileIdentity::PTmsi(new))));
    assert_eq!(accept.pdp_context_status, None, "the mobile has not sent its own");
    assert_eq!(bench.context.gmm_state(), GmmState::CommonProcedureInitiated);
    let foreign = bench.tlli;
    bench.confirm(RauComplete { receive_npdu_numbers: None });
    let done = [GmmAction::UnassignTlli { old: foreign }, GmmAction::FreePtmsi(old), GmmAction::Updated];
    assert_eq!(bench.actions, done);
    assert_eq!((bench.context.routing_area(), bench.context.ptmsi()), (cell(2, 4).id.rai, Some(new)));
    assert_eq!(bench.around.trace.drops.total(), 0);
}

#[test]
fn how_far_the_mobile_has_received_is_told_first_and_only_where_the_complete_is_awaited() {
    let (mut bench, request) = moved();
    bench.message(request);
    let numbers = ReceiveNpduNumbers(vec![(gannet_wire::id::Nsapi(5), 77)]);
    let complete = RauComplete { receive_npdu_numbers: Some(numbers.clone()) };
    bench.confirm(complete.clone());
    let told = GmmAction::NPduNumbers(numbers);
    assert_eq!(bench.actions.first(), Some(&told));
    assert_eq!(bench.actions.last(), Some(&GmmAction::Updated));
    bench.message(complete);
    assert!(!bench.actions.contains(&told), "a second one is not expected");
}

#[test]
fn a_periodic_update_of_clause_4_7_2_2_keeps_the_p_tmsi() {
    let mut bench = Network::attached();
    let ptmsi = bench.context.ptmsi();
    bench.pass(44 + 54 * 60);
    bench.message(update_request(UpdateKind::Periodic, signature(&bench)));
    let accept = accept(&bench);
    assert_eq!(accept.allocated_ptmsi, None);
    assert_eq!((bench.context.gmm_state(), bench.context.mm_state()), (GmmState::Registered, MmState::Ready));
    assert_eq!(bench.context.ptmsi(), ptmsi);
    // Without signatures the mobile deletes the one that it has, and so do we.
    bench.cfg.signatures = Signatures::Unused;
    bench.message(update_request(UpdateKind::Periodic, accept.ptmsi_signature));
    assert_eq!(bench.sent(), ["RauAccept"]);
    bench.cfg.signatures = Signatures::Demanded;
    bench.message(update_request(UpdateKind::Periodic, None));
    assert_eq!(bench.sent(), ["RauAccept"]);
    bench.cfg.reallocate_always = true;
    bench.message(update_request(UpdateKind::Ra, signature(&bench)));
    assert!(bench.context.new_ptmsi().is_some());
}

#[test]
fn pdp_context_status_is_compared_on_both_sides() {
    let mut bench = Network::attached();
    bench.context.rest.active_nsapis = PdpContextStatus(1 << 5 | 1 << 6);
    let pdp_context_status = Some(PdpContextStatus(1 << 6 | 1 << 7));
    let request = update_request(UpdateKind::Ra, signature(&bench));
    bench.message(RauRequest { pdp_context_status, ..request });
    assert!(bench.has(&GmmAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
    assert_eq!(accept(&bench).pdp_context_status, Some(PdpContextStatus(1 << 6)), "7 ends in the mobile");
    assert_eq!(bench.context.rest.active_nsapis, PdpContextStatus(1 << 6));
}

#[test]
fn a_combined_update_without_msc_is_gprs_only() {
    let (mut bench, request) = moved();
    let update_type = UpdateType { kind: UpdateKind::CombinedWithImsiAttach, follow_on: false };
    bench.message(RauRequest { update_type, ..request });
    let accept = accept(&bench);
    assert_eq!((accept.result, accept.gmm_cause), (UpdateResult::Ra, Some(GmmCause::MscNotReachable)));
}

#[test]
fn a_wrong_signature_asks_for_the_imsi() {
    let (mut bench, request) = moved();
    let wrong = RauRequest { old_ptmsi_signature: Some(PTmsiSignature(0xbad)), ..request };
    bench.message(wrong.clone());
    assert_eq!(bench.sent(), ["IdentityRequest"]);
    bench.message(IdentityResponse { identity: MobileIdentity::Imsi(imsi()) });
    assert_eq!(bench.sent(), ["RauAccept"]);
    // Someone else: rejected, and the context stays the subscriber's.
    let (mut bench, _) = moved();
    bench.context.rest.active_nsapis = PdpContextStatus(1 << 5);
    let ptmsi = bench.context.ptmsi().unwrap();
    bench.message(wrong);
    let other = "001010000000666".parse().unwrap();
    bench.message(IdentityResponse { identity: MobileIdentity::Imsi(other) });
    assert!(matches!(
        bench.messages()[..],
        [GmmMessage::RauReject(RauReject { cause: GmmCause::IdentityUnknown, .. })]
    ));
    assert!(!bench.has(&GmmAction::Released));
    assert_eq!((bench.context.imsi(), bench.context.tlli()), (Some(imsi()), Tlli::local(ptmsi)));
    assert_eq!(bench.context.rest.active_nsapis, PdpContextStatus(1 << 5));
    assert_eq!(bench.context.gmm_state(), GmmState::Registered);
}

#[test]
fn an_update_is_authenticated_where_the_operator_wants_it() {
    let (mut bench, request) = moved();
    bench.cfg.authenticate_updates = true;
    bench.message(request.clone());
    assert!(bench.actions.iter().any(|action| {
        matches!(action, GmmAction::AskAuth { question: AuthQuestion::Subscriber(_), .. })
    }));
    assert_eq!(bench.sent(), ["RauAccept"]);
    let (mut bench, _) = moved();
    bench.cfg.authenticate_updates = true;
    says(&mut bench, AuthDecision::Reject(GmmCause::PlmnNotAllowed));
    bench.message(request);
    assert!(matches!(
        bench.messages()[..],
        [GmmMessage::RauReject(RauReject { cause: GmmCause::PlmnNotAllowed, .. })]
    ));
    assert!(bench.has(&GmmAction::Released));
}

#[test]
fn t3350_repeats_the_accept_and_keeps_both_p_tmsis_of_case_c() {
    let (mut bench, request) = moved();
    let old = bench.context.ptmsi();
    bench.message(request);
    bench.pass(30);
    assert_eq!(bench.sent(), ["RauAccept"; 4]);
    assert_eq!(bench.context.gmm_state(), GmmState::Registered);
    assert!(bench.context.ptmsi() == old && bench.context.new_ptmsi().is_some());
}

#[test]
fn a_repeated_request_is_case_d_and_e() {
    let (mut bench, request) = moved();
    bench.message(request.clone());
    let first = accept(&bench);
    bench.message(request.clone());
    assert_eq!(accept(&bench), first, "d, the same elements");
    let new = bench.context.new_ptmsi().unwrap();
    bench.message(RauRequest { requested_ready_timer: Some(GprsTimer(9)), ..request.clone() });
    assert!(bench.has(&GmmAction::FreePtmsi(new)), "d, other elements");
    assert_eq!(accept(&bench).negotiated_ready_timer, Some(GprsTimer(9)));
    let (mut bench, _) = moved();
    let wrong = RauRequest { old_ptmsi_signature: Some(PTmsiSignature(0xbad)), ..request };
    bench.message(wrong.clone());
    bench.message(wrong);
    assert_eq!((bench.actions.len(), bench.drops(Drop::GmmIgnored)), (0, 1), "e, the same elements");
}

#[test]
fn an_update_ends_a_p_tmsi_reallocation_of_clause_4_7_6_4() {
    let (mut bench, request) = moved();
    bench.event(GmmEvent::ReallocatePtmsi);
    let unused = bench.context.new_ptmsi().unwrap();
    bench.message(request);
    assert!(bench.has(&GmmAction::FreePtmsi(unused)));
    assert_eq!(bench.sent(), ["RauAccept"]);
}

#[test]
fn an_update_ends_a_suspension() {
    let mut bench = Network::attached();
    bench.event(GmmEvent::Suspend);
    bench.message(update_request(UpdateKind::Ra, signature(&bench)));
    assert!(!bench.context.is_suspended());
}
