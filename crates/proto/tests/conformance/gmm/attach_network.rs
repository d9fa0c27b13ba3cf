//! GPRS attach, the network's side: clauses 4.7.3.1.1 to 4.7.3.1.4, 4.7.3.1.6 and 4.7.3.2.

use crate::harness::*;
use gannet_machine::drops::Drop;
use gannet_proto::auth::AuthDecision;
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::network::{GmmAction, GmmEvent, GmmState};
use gannet_wire::DecodeErrorKind;
use gannet_wire::id::Tlli;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

const ATTACH_REQUEST: u8 = 0x01;

fn accept(network: &Network) -> AttachAccept {
    match network.only() {
        GmmMessage::AttachAccept(accept) => accept,
        other => panic!("{other:?}"),
    }
}

#[test]
fn c4_7_3_1_1_and_3_attach_by_imsi() {
    let mut network = Network::accepted();
    let answer = accept(&network);
    assert_eq!((answer.result, answer.gmm_cause, answer.rai), (AttachResult::Gprs, None, rai(7, 1)));
    assert_eq!(answer.allocated_ptmsi, network.context.new_ptmsi().map(MobileIdentity::PTmsi));
    assert!(answer.ptmsi_signature.is_some());
    assert_eq!(network.context.gmm_state(), GmmState::CommonProcedureInitiated);
    network.confirm(AttachComplete {});
    assert!(network.has(&GmmAction::Registered));
    assert_eq!(network.context.gmm_state(), GmmState::Registered);
    assert_eq!((network.context.mm_state(), network.context.new_ptmsi()), (MmState::Ready, None));
    network.pass(30);
    assert_eq!(network.actions, [], "T3350 is stopped");
}

#[test]
fn c4_7_3_1_1_attach_by_a_known_ptmsi() {
    let mut network = Network::attached();
    let ptmsi = network.context.ptmsi().unwrap();
    network.tlli = Tlli::foreign(ptmsi);
    let old_ptmsi_signature = Some(PTmsiSignature(1));
    network.message(AttachRequest { old_ptmsi_signature, ..attach_request(MobileIdentity::PTmsi(ptmsi)) });
    assert_eq!(network.sent(), ["AttachAccept"], "nobody asks who it is");
    network.confirm(AttachComplete {});
    assert!(network.has(&GmmAction::FreePtmsi(ptmsi)));
}

#[test]
fn c4_7_3_1_2_common_procedures_before_the_accept() {
    let mut network = Network::new();
    network.cfg.ask_imei = true;
    network.subscriber = AuthDecision::Challenge(challenge());
    network.message(attach_request(MobileIdentity::PTmsi(P2)));
    assert_eq!(network.only(), identity_request(IdentityType::Imsi).into());
    network.message(identity_response(MobileIdentity::Imsi(imsi())));
    let GmmMessage::AuthenticationRequest(request) = network.only() else { panic!() };
    network.message(AuthenticationResponse {
        reference: request.reference,
        response: Some(AuthParameterResponse([1, 2, 3, 4])),
        imeisv: None,
        extended_response: None,
    });
    assert_eq!(network.only(), identity_request(IdentityType::Imei).into());
    network.message(identity_response(MobileIdentity::Imei(imei())));
    assert_eq!(network.sent(), ["AttachAccept"]);
    assert_eq!((network.context.imsi(), network.context.imei()), (Some(imsi()), Some(imei())));
}

#[test]
fn c4_7_3_1_4_attach_not_accepted_with_each_cause() {
    for cause in CAUSES {
        let mut network = Network::new();
        network.subscriber = AuthDecision::Reject(cause);
        network.message(attach_by_imsi());
        assert_eq!(network.only(), attach_reject(cause).into());
        assert!(network.is_released());
        assert_eq!((network.drops(Drop::GmmRejected), network.context.deadlines().next()), (1, None));
    }
}

#[test]
fn c4_7_3_1_6_a_lower_layer_failure() {
    let mut network = Network::attached();
    let old = network.context.ptmsi().unwrap();
    network.message(AttachRequest {
        old_ptmsi_signature: Some(PTmsiSignature(1)),
        ..attach_request(MobileIdentity::PTmsi(old))
    });
    network.event(GmmEvent::LowerLayerFailure);
    assert_eq!(network.sent().len(), 0, "ATTACH ACCEPT is not sent again");
    let new = network.context.new_ptmsi().unwrap();
    assert_eq!(network.context.ptmsi(), Some(old), "both are valid");
    assert_eq!(network.pass(60), []);
    network.tlli = Tlli::local(new);
    network.frame();
    assert!(network.has(&GmmAction::Registered) && network.has(&GmmAction::FreePtmsi(old)));
}

#[test]
fn c4_7_3_1_6_b_protocol_error() {
    for (kind, cause) in [
        (DecodeErrorKind::Missing, GmmCause::InvalidMandatoryInformation),
        (DecodeErrorKind::BadLength(0), GmmCause::InvalidMandatoryInformation),
    ] {
        let mut network = Network::new();
        network.unreadable(ATTACH_REQUEST, kind);
        assert_eq!(network.only(), attach_reject(cause).into());
        assert!(network.is_released());
    }
    for mut network in [Network::attached(), Network::accepted()] {
        let before = network.context.gmm_state();
        network.unreadable(ATTACH_REQUEST, DecodeErrorKind::Missing);
        assert_eq!(network.only(), attach_reject(GmmCause::InvalidMandatoryInformation).into());
        assert_eq!((network.context.gmm_state(), network.is_released()), (before, false));
    }
}

#[test]
fn c4_7_3_1_6_c_t3350_time_out() {
    let mut network = Network::accepted();
    let first = network.only();
    let new = network.context.new_ptmsi();
    let sent = network.pass(29);
    assert_eq!(sent, [6, 12, 18, 24].map(|at| (at, "AttachAccept")));
    assert!(network.messages().iter().all(|message| **message == first), "the same message");
    assert_eq!(network.pass(1), [], "the fifth expiry");
    assert_eq!(network.drops(Drop::GmmNoAnswer), 1);
    assert_eq!((network.context.gmm_state(), network.context.new_ptmsi()), (GmmState::Deregistered, new));
    network.tlli = Tlli::local(new.unwrap());
    network.frame();
    assert!(network.has(&GmmAction::Registered), "it is valid");
}

/// The mobile comes back with either of its two P-TMSIs, and neither has it identified.
#[test]
fn c4_7_3_1_6_c_the_next_attach_names_either_ptmsi() {
    for takes_new in [false, true] {
        let mut network = Network::attached();
        let (old, tlli) = (network.context.ptmsi().unwrap(), network.tlli);
        network.message(attach_by_imsi());
        network.pass(30);
        let new = network.context.new_ptmsi().unwrap();
        assert_eq!(
            (network.context.ptmsi(), network.context.gmm_state()),
            (Some(old), GmmState::Deregistered)
        );
        let (taken, ends) = if takes_new { (new, old) } else { (old, new) };
        network.tlli = if takes_new { Tlli::foreign(new) } else { tlli };
        let old_ptmsi_signature = Some(PTmsiSignature(taken.0 & 0xffff));
        network
            .message(AttachRequest { old_ptmsi_signature, ..attach_request(MobileIdentity::PTmsi(taken)) });
        assert_eq!(network.sent(), ["AttachAccept"], "taken {taken}");
        assert!(network.has(&GmmAction::FreePtmsi(ends)) && !network.has(&GmmAction::FreePtmsi(taken)));
        assert_eq!(network.context.ptmsi(), Some(taken), "valid until the next one is confirmed");
        network.confirm(AttachComplete {});
        assert!(network.has(&GmmAction::FreePtmsi(taken)) && network.has(&GmmAction::Registered));
    }
}

#[test]
fn c4_7_3_1_6_c_a_mobile_that_never_answers_is_forgotten() {
    let mut network = Network::accepted();
    network.pass(30 + 60 * 60);
    assert!(network.is_released());
}

#[test]
fn c4_7_3_1_6_d1_the_same_request_after_the_accept() {
    let mut network = Network::accepted();
    let first = network.only();
    network.pass(10);
    network.message(attach_by_imsi());
    assert_eq!(network.only(), first);
    assert_eq!(network.pass(23), [6, 12, 18].map(|at| (at, "AttachAccept")), "T3350 began anew");
    network.pass(1);
    assert_eq!(network.context.gmm_state(), GmmState::Deregistered, "its counter did not");
}

#[test]
fn c4_7_3_1_6_d1_another_request_after_the_accept() {
    let mut network = Network::accepted();
    let former = network.context.new_ptmsi().unwrap();
    network.message(attach_with_another_element());
    assert_eq!(accept(&network).negotiated_ready_timer, Some(GprsTimer(3)));
    assert!(network.has(&GmmAction::FreePtmsi(former)));
    assert_eq!(network.pass(30).len(), 4, "the new attach has all its tries");
}

#[test]
fn c4_7_3_1_6_d2_the_same_request_before_an_answer() {
    let mut network = Network::new();
    network.subscriber = AuthDecision::Challenge(challenge());
    network.message(attach_by_imsi());
    assert_eq!(network.sent(), ["AuthenticationRequest"]);
    network.message(attach_by_imsi());
    assert_eq!((network.sent().len(), network.drops(Drop::GmmIgnored)), (0, 1));
    assert_eq!(network.context.gmm_state(), GmmState::CommonProcedureInitiated, "the first one goes on");
    let mut network = Network::new();
    network.subscriber = AuthDecision::Pending;
    network.message(attach_by_imsi());
    network.message(attach_by_imsi());
    assert_eq!((network.questions.len(), network.drops(Drop::GmmIgnored)), (1, 1));
}

#[test]
fn c4_7_3_1_6_d2_another_request_before_an_answer() {
    let mut network = Network::new();
    network.subscriber = AuthDecision::Challenge(challenge());
    network.message(attach_by_imsi());
    network.subscriber = AuthDecision::Accept;
    network.message(attach_with_another_element());
    assert_eq!(accept(&network).negotiated_ready_timer, Some(GprsTimer(3)));
}

#[test]
fn c4_7_3_1_6_e_attach_request_of_a_registered_mobile() {
    let mut network = Network::attached();
    network.message(attach_by_imsi());
    assert!(network.has(&GmmAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
    assert_eq!(network.sent(), ["AttachAccept"]);
    assert_eq!(network.context.mm_state(), MmState::Idle);
    network.confirm(AttachComplete {});
    assert_eq!(network.context.gmm_state(), GmmState::Registered);
}

#[test]
fn c4_7_3_1_6_f_update_request_before_attach_complete() {
    let mut network = Network::accepted();
    let new = network.context.new_ptmsi();
    network.tlli = Tlli::foreign(new.unwrap());
    network.cell = cell(2, 3);
    network.message(update_request(UpdateKind::Ra));
    assert_eq!(network.sent(), ["RauAccept"]);
    assert!(network.has(&GmmAction::Registered));
    assert_eq!(network.context.ptmsi(), new, "the P-TMSI of the attach is valid");
}

#[test]
fn c4_7_3_1_6_g_detach_request_before_attach_complete() {
    let mut network = Network::accepted();
    network.message(detach(DetachKindMo::Gprs, false));
    assert_eq!(network.sent(), ["DetachAcceptMo"]);
    assert!(network.is_released());
    assert_eq!(network.context.deadlines().next(), None, "T3350 is stopped");
}

#[test]
fn c4_7_3_2_3_2_combined_attach_is_accepted_for_gprs_only() {
    let mut network = Network::new();
    let attach_type = AttachType { kind: AttachKind::Combined, follow_on: false };
    network.message(AttachRequest { attach_type, ..attach_by_imsi() });
    let answer = accept(&network);
    assert_eq!((answer.result, answer.gmm_cause), (AttachResult::Gprs, Some(GmmCause::MscNotReachable)));
    network.confirm(AttachComplete {});
    assert_eq!(network.context.gmm_state(), GmmState::Registered);
}

#[test]
fn c4_7_3_2_4_combined_attach_is_rejected_as_a_normal_one() {
    let mut network = Network::new();
    network.subscriber = AuthDecision::Reject(GmmCause::GprsAndNonGprsNotAllowed);
    let attach_type = AttachType { kind: AttachKind::Combined, follow_on: false };
    network.message(AttachRequest { attach_type, ..attach_by_imsi() });
    assert_eq!(network.only(), attach_reject(GmmCause::GprsAndNonGprsNotAllowed).into());
}

#[test]
fn c4_7_3_2_6_combined_attach_has_the_abnormal_cases_of_a_normal_one() {
    let attach_type = AttachType { kind: AttachKind::Combined, follow_on: false };
    let request = AttachRequest { attach_type, ..attach_by_imsi() };
    let mut network = Network::new();
    network.message(request.clone());
    let first = network.only();
    network.message(request);
    assert_eq!(network.only(), first, "case d.1");
    assert_eq!(network.pass(30).len(), 4, "case c");
    let mut other = Network::accepted();
    other.message(AttachRequest { attach_type, ..attach_by_imsi() });
    assert_eq!(accept(&other).gmm_cause, Some(GmmCause::MscNotReachable), "another element");
}
