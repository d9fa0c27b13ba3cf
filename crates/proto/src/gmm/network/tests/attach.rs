//! Clause 4.7.3, with identification and authentication.

use super::*;

fn accept(bench: &Network) -> AttachAccept {
    match bench.messages().last() {
        Some(GmmMessage::AttachAccept(accept)) => accept.clone(),
        other => panic!("no ATTACH ACCEPT but {other:?}"),
    }
}

#[test]
fn attach_by_imsi_of_clause_4_7_3_1() {
    let mut bench = Network::new();
    let random = bench.tlli;
    bench.message(attach_by_imsi());
    let new = bench.context.new_ptmsi().unwrap();
    assert!(bench.has(&GmmAction::IdentityIsKnown { imsi: imsi() }));
    assert!(bench.has(&GmmAction::AssignTlli { new: Tlli::local(new), old: random }));
    assert!(bench.has(&GmmAction::RadioAccessCapability(MsRadioAccessCapability(vec![0x17]))));
    let accept = accept(&bench);
    assert_eq!(accept.allocated_ptmsi, Some(MobileIdentity::PTmsi(new)));
    assert_eq!((accept.result, accept.gmm_cause), (AttachResult::Gprs, None));
    assert_eq!(accept.rai, cell(1, 2).id.rai);
    assert!(matches!(bench.actions.last(), Some(GmmAction::Send { tlli, .. }) if *tlli == random));
    assert_eq!(bench.context.gmm_state(), GmmState::CommonProcedureInitiated);
    assert_eq!(bench.context.mm_state(), MmState::Idle);
    bench.confirm(AttachComplete {});
    assert_eq!(
        bench.actions,
        [
            GmmAction::UnassignTlli { old: random },
            GmmAction::MmStateChanged(MmState::Ready),
            GmmAction::Registered
        ]
    );
    assert_eq!((bench.context.ptmsi(), bench.context.tlli()), (Some(new), Tlli::local(new)));
    assert_eq!(bench.context.rest.deadlines.next(), Some(bench.around.now + Duration::from_secs(44)));
    assert_eq!(bench.around.trace.drops.total(), 0);
}

#[test]
fn attach_by_an_unknown_p_tmsi_asks_for_the_imsi_of_clause_4_7_8() {
    let mut bench = Network::new();
    bench.message(attach_request(MobileIdentity::PTmsi(PTmsi(0xc0ff_eeee))));
    assert_eq!(bench.sent(), ["IdentityRequest"]);
    assert_eq!(bench.context.gmm_state(), GmmState::CommonProcedureInitiated);
    bench.pass(6);
    assert_eq!(bench.sent(), ["IdentityRequest"], "T3370");
    bench.message(IdentityResponse { identity: MobileIdentity::None });
    let status: GmmMessage = GmmStatus { cause: GmmCause::SemanticallyIncorrect }.into();
    assert_eq!(bench.messages(), [&status], "not what was asked for");
    bench.message(IdentityResponse { identity: MobileIdentity::Imsi(imsi()) });
    assert_eq!(bench.sent(), ["AttachAccept"]);
}

#[test]
fn attach_by_a_known_p_tmsi_of_a_detached_mobile() {
    let mut bench = Network::attached();
    let ptmsi = bench.context.ptmsi().unwrap();
    let signature = bench.context.rest.current.unwrap().signature();
    bench.tlli = Tlli::foreign(ptmsi);
    let request = attach_request(MobileIdentity::PTmsi(ptmsi));
    bench.message(AttachRequest { old_ptmsi_signature: signature, ..request.clone() });
    assert_eq!(bench.sent(), ["AttachAccept"]);
    // Another signature, or another routing area: that may be anybody.
    for request in [request.clone(), AttachRequest { old_rai: cell(9, 9).id.rai, ..request.clone() }] {
        let mut bench = Network::attached();
        bench.message(request);
        assert_eq!(bench.sent(), ["IdentityRequest"]);
    }
    let mut bench = Network::attached();
    bench.cfg.signatures = Signatures::Unused;
    bench.message(request);
    assert_eq!(bench.sent(), ["AttachAccept"]);
}

#[test]
fn a_context_is_claimed_by_p_tmsi_routing_area_and_signature() {
    let bench = Network::attached();
    let current = bench.context.rest.current.unwrap();
    let right = AttachRequest {
        old_ptmsi_signature: current.signature(),
        ..attach_request(MobileIdentity::PTmsi(current.ptmsi))
    };
    let claims = |request: &AttachRequest| bench.context.is_claimed_by(&bench.cfg, request);
    assert!(claims(&right) && claims(&attach_by_imsi()));
    assert!(!claims(&AttachRequest { old_rai: cell(9, 9).id.rai, ..right.clone() }));
    assert!(!claims(&AttachRequest { old_ptmsi_signature: None, ..right.clone() }));
    assert!(!claims(&AttachRequest { identity: MobileIdentity::PTmsi(PTmsi(1)), ..right.clone() }));
    assert!(!claims(&AttachRequest { identity: MobileIdentity::None, ..right }));
}

#[test]
fn another_subscriber_in_the_same_context_gets_nothing_of_the_first() {
    let mut bench = Network::attached();
    let ptmsi = bench.context.ptmsi().unwrap();
    bench.message(attach_request(MobileIdentity::PTmsi(ptmsi)));
    bench.message(IdentityResponse { identity: MobileIdentity::Imsi("001010000000666".parse().unwrap()) });
    assert!(bench.has(&GmmAction::FreePtmsi(ptmsi)));
    assert_eq!(bench.context.ptmsi(), None);
    assert_eq!(bench.sent(), ["AttachAccept"]);
}

#[test]
fn identification_without_an_answer_ends_the_attach_of_clause_4_7_8_4() {
    let mut bench = Network::new();
    bench.message(attach_request(MobileIdentity::PTmsi(PTmsi(1))));
    bench.pass(29);
    assert_eq!(bench.sent(), ["IdentityRequest"; 4]);
    bench.pass(1);
    assert_eq!(bench.sent(), ["AttachReject"]);
    assert_eq!(bench.actions.last(), Some(&GmmAction::Released));
    assert_eq!(bench.drops(Drop::GmmNoAnswer), 1);
    assert_eq!(bench.context.rest.deadlines.next(), None);
}

#[test]
fn the_imei_is_asked_for_where_the_operator_wants_it() {
    let imei: Imei = "490154203237518".parse().unwrap();
    for (answer, known) in [(MobileIdentity::Imei(imei), Some(imei)), (MobileIdentity::None, None)] {
        let mut bench = Network::new();
        bench.cfg.ask_imei = true;
        bench.message(attach_by_imsi());
        let asked = IdentityRequest {
            identity_type: IdentityType::Imei,
            force_to_standby: ForceToStandby::NotIndicated,
        };
        assert_eq!(bench.messages(), [&asked.into()]);
        bench.pass(6);
        assert_eq!(bench.sent(), ["IdentityRequest"]);
        bench.message(IdentityResponse { identity: answer });
        assert_eq!((bench.sent(), bench.context.imei()), (vec!["AttachAccept"], known));
    }
}

#[test]
fn a_rejected_subscriber_of_clause_4_7_3_1_4() {
    let mut bench = Network::new();
    says(&mut bench, AuthDecision::Reject(GmmCause::GprsNotAllowed));
    bench.message(attach_by_imsi());
    let reject: GmmMessage = AttachReject { cause: GmmCause::GprsNotAllowed, t3302: None }.into();
    assert_eq!(bench.messages(), [&reject]);
    assert!(bench.has(&GmmAction::Released));
    assert_eq!(bench.drops(Drop::GmmRejected), 1);
}

#[test]
fn no_p_tmsi_left_is_a_network_failure() {
    let mut bench = Network::new();
    says(&mut bench, AuthDecision::Pending);
    bench.message(attach_by_imsi());
    assert_eq!(bench.context.rest.deadlines.next(), None, "the service answers in any case");
    let mut out = Batch::default();
    let accept = GmmEvent::AuthAnswer { ticket: bench.context.rest.ticket, decision: AuthDecision::Accept };
    bench.context.handle(&mut bench.around.context(), &bench.cfg, accept, &mut out);
    assert_eq!(out.pop(), Some(GmmAction::AllocatePtmsi));
    bench.event(GmmEvent::PtmsiAllocated(None));
    let reject: GmmMessage = AttachReject { cause: GmmCause::NetworkFailure, t3302: None }.into();
    assert_eq!(bench.messages(), [&reject]);
}

#[test]
fn a_combined_attach_without_msc_is_gprs_only_of_clause_4_7_3_2_3_2() {
    let mut bench = Network::new();
    let attach_type = AttachType { kind: AttachKind::Combined, follow_on: false };
    bench.message(AttachRequest { attach_type, ..attach_by_imsi() });
    let accept = accept(&bench);
    assert_eq!((accept.result, accept.gmm_cause), (AttachResult::Gprs, Some(GmmCause::MscNotReachable)));
}

#[test]
fn t3350_repeats_attach_accept_and_keeps_both_p_tmsis_of_case_c() {
    let mut bench = Network::new();
    bench.message(attach_by_imsi());
    let first = accept(&bench);
    bench.pass(29);
    assert_eq!(bench.sent(), ["AttachAccept"; 4]);
    assert_eq!(accept(&bench), first);
    bench.pass(1);
    assert_eq!(bench.context.gmm_state(), GmmState::Deregistered);
    assert_eq!(bench.drops(Drop::GmmNoAnswer), 1);
    let new = bench.context.new_ptmsi().unwrap();
    // The mobile has it after all: its first frame shows so.
    let mut known = Network::new();
    known.context = bench.context.clone();
    known.tlli = Tlli::local(new);
    known.frame();
    assert!(known.has(&GmmAction::Registered));
    assert_eq!((known.context.ptmsi(), known.context.gmm_state()), (Some(new), GmmState::Registered));
    // Nothing more is heard of it.
    bench.pass(60 * 60);
    assert!(bench.has(&GmmAction::Released));
    assert_eq!(bench.context.rest.deadlines.next(), None);
}

#[test]
fn a_lower_layer_failure_is_case_a() {
    let mut bench = Network::new();
    bench.message(attach_by_imsi());
    bench.event(GmmEvent::LowerLayerFailure);
    assert_eq!(bench.sent().len(), 0, "ATTACH ACCEPT is not sent again");
    assert!(bench.context.new_ptmsi().is_some());
    bench.pass(20);
    assert_eq!(bench.sent().len(), 0);
    let mut bench = Network::attached();
    bench.event(GmmEvent::LowerLayerFailure);
    assert_eq!((bench.actions.len(), bench.context.gmm_state()), (0, GmmState::Registered));
}

#[test]
fn a_repeated_attach_request_with_the_same_elements_is_case_d() {
    let mut bench = Network::new();
    bench.message(attach_by_imsi());
    let first = accept(&bench);
    bench.pass(4);
    bench.message(attach_by_imsi());
    assert_eq!(accept(&bench), first, "d.1: the same ATTACH ACCEPT");
    bench.pass(5);
    assert_eq!(bench.sent().len(), 0, "T3350 began anew");
    bench.pass(1);
    assert_eq!(bench.sent(), ["AttachAccept"]);
    // d.2: before the ACCEPT.
    let mut bench = Network::new();
    bench.message(attach_request(MobileIdentity::PTmsi(PTmsi(1))));
    bench.message(attach_request(MobileIdentity::PTmsi(PTmsi(1))));
    assert_eq!((bench.actions.len(), bench.drops(Drop::GmmIgnored)), (0, 1));
}

#[test]
fn an_attach_request_with_other_elements_starts_anew_of_case_d() {
    let mut bench = Network::new();
    bench.message(attach_by_imsi());
    let first = bench.context.new_ptmsi().unwrap();
    bench.message(AttachRequest { requested_ready_timer: Some(GprsTimer(3)), ..attach_by_imsi() });
    assert!(bench.has(&GmmAction::FreePtmsi(first)));
    assert_ne!(bench.context.new_ptmsi(), Some(first));
    // The same elements from another routing area are another request: the mobile has moved on.
    bench.cell = cell(2, 5);
    bench.message(AttachRequest { requested_ready_timer: Some(GprsTimer(3)), ..attach_by_imsi() });
    assert_eq!(accept(&bench).rai, cell(2, 5).id.rai);
}

#[test]
fn an_attach_request_of_an_attached_mobile_is_case_e() {
    let mut bench = Network::attached();
    bench.context.rest.active_nsapis = PdpContextStatus(1 << 5 | 1 << 7);
    bench.message(attach_by_imsi());
    assert_eq!(bench.actions.first(), Some(&GmmAction::DeletePdpContexts(PdpContextStatus(1 << 5 | 1 << 7))));
    assert_eq!(bench.sent(), ["AttachAccept"]);
    assert_eq!(bench.context.mm_state(), MmState::Idle);
    bench.confirm(AttachComplete {});
    assert!(bench.has(&GmmAction::Registered));
}

#[test]
fn an_update_before_attach_complete_is_case_f() {
    let mut bench = Network::new();
    bench.message(attach_by_imsi());
    let new = bench.context.rest.new.unwrap();
    bench.tlli = Tlli::foreign(new.ptmsi);
    bench.cell = cell(2, 4);
    bench.message(update_request(UpdateKind::Ra, new.signature()));
    assert!(bench.has(&GmmAction::Registered));
    assert_eq!(bench.context.ptmsi(), Some(new.ptmsi), "it is valid");
    assert_eq!(bench.sent(), ["RauAccept"]);
}

#[test]
fn an_update_while_not_attached_is_implicitly_detached() {
    let mut bench = Network::new();
    bench.message(attach_request(MobileIdentity::PTmsi(PTmsi(1))));
    bench.message(update_request(UpdateKind::Ra, None));
    assert!(matches!(
        bench.messages()[..],
        [GmmMessage::RauReject(RauReject { cause: GmmCause::ImplicitlyDetached, .. })]
    ));
    assert!(bench.has(&GmmAction::Released));
}
