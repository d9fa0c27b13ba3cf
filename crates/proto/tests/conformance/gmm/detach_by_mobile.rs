//! GPRS detach by the mobile, both sides: clause 4.7.4.1.

use crate::harness::*;
use gannet_machine::drops::Drop;
use gannet_proto::auth::{AuthDecision, AuthQuestion};
use gannet_proto::gmm::ms::{GmmMsAction, GmmMsEvent, GmmMsState, Service};
use gannet_proto::gmm::network::{GmmAction, GmmEvent, GmmState, Signatures};
use gannet_proto::gmm::{Cell, MmState};
use gannet_wire::id::{Bvci, Nsei, Tlli};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

#[test]
fn c4_7_4_1_1_the_mobile_asks() {
    let mobile = Mobile::detaching();
    let (GmmMessage::DetachRequestMo(request), tlli) = mobile.only() else { panic!() };
    assert_eq!(request.detach_type, DetachTypeMo { kind: DetachKindMo::Gprs, power_off: false });
    assert_eq!((request.ptmsi, tlli), (Some(MobileIdentity::PTmsi(P1)), Tlli::local(P1)));
    assert_eq!(request.ptmsi_signature, Some(PTmsiSignature(0x1234)));
    assert_eq!(mobile.mobile.state(), GmmMsState::DeregisteredInitiated);
}

#[test]
fn c4_7_4_1_2_the_mobile_is_answered() {
    let mut mobile = Mobile::detaching();
    mobile.message(detach_accepted());
    assert!(mobile.has(&GmmMsAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
    assert_eq!((mobile.mobile.state(), mobile.mobile.mm_state()), (GmmMsState::Deregistered, MmState::Idle));
    assert_eq!(mobile.mobile.deadlines.next(), None, "T3321 is stopped");
    assert_eq!(mobile.mobile.ptmsi(), Some(P1), "for the next attach");
}

#[test]
fn c4_7_4_1_1_a_mobile_that_is_switched_off_waits_for_nothing() {
    let mut mobile = Mobile::attached();
    mobile.event(GmmMsEvent::Detach { power_off: true });
    let (GmmMessage::DetachRequestMo(request), _) = mobile.messages()[0] else { panic!() };
    assert!(request.detach_type.power_off);
    assert_eq!((mobile.mobile.state(), mobile.mobile.deadlines.next()), (GmmMsState::Null, None));
}

#[test]
fn c4_7_4_1_2_the_network_answers_unless_the_mobile_is_switched_off() {
    for kind in [DetachKindMo::Gprs, DetachKindMo::Combined] {
        for (power_off, answer) in [(false, vec!["DetachAcceptMo"]), (true, vec![])] {
            let mut network = Network::attached();
            network.message(detach(kind, power_off));
            assert_eq!(network.sent(), answer);
            assert!(network.has(&GmmAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
            assert!(network.is_released());
            assert_eq!(network.context.deadlines().next(), None);
        }
    }
}

#[test]
fn c4_7_4_1_3_an_imsi_detach_without_msc_is_accepted_and_changes_nothing() {
    let mut network = Network::attached();
    network.message(detach(DetachKindMo::Imsi, false));
    assert_eq!(network.sent(), ["DetachAcceptMo"]);
    assert_eq!(network.context.gmm_state(), GmmState::Registered);
    assert_eq!(network.context.active_nsapis(), PdpContextStatus(1 << 5));
    network.message(detach(DetachKindMo::Imsi, true));
    assert_eq!((network.sent().len(), network.context.gmm_state()), (0, GmmState::Registered));
}

fn with_signature(signature: u32, power_off: bool) -> DetachRequestMo {
    DetachRequestMo {
        ptmsi_signature: Some(PTmsiSignature(signature)),
        ..detach(DetachKindMo::Gprs, power_off)
    }
}

#[test]
fn c23_060_6_6_1_the_signature_of_a_detach_request() {
    let mut network = Network::attached();
    network.message(with_signature(1, false));
    assert_eq!(network.sent(), ["DetachAcceptMo"]);
    // Another one: the mobile shows first who it is.
    let mut network = Network::attached();
    network.subscriber = AuthDecision::Challenge(challenge());
    network.message(with_signature(9, false));
    let GmmMessage::AuthenticationRequest(request) = network.only() else { panic!() };
    let response = AuthenticationResponse {
        reference: request.reference,
        response: Some(AuthParameterResponse([1; 4])),
        imeisv: None,
        extended_response: None,
    };
    network.message(response);
    assert!(matches!(network.questions.last(), Some(AuthQuestion::Answer(_))));
    assert_eq!(network.sent(), ["DetachAcceptMo"]);
    assert!(network.is_released());
    // It does not answer: nothing has happened to the mobile.
    let mut network = Network::attached();
    network.subscriber = AuthDecision::Challenge(challenge());
    network.message(with_signature(9, false));
    network.pass(30);
    assert_eq!((network.context.gmm_state(), network.is_released()), (GmmState::Registered, false));
    // One that is switched off can't show it, nor can one that has sent none: the mobile is asked who it is.
    for doubted in [
        with_signature(9, true),
        unsigned_detach(DetachKindMo::Combined, true),
        unsigned_detach(DetachKindMo::Gprs, true),
    ] {
        network.subscriber = AuthDecision::Accept;
        network.message(doubted);
        assert_eq!(network.sent(), ["IdentityRequest"]);
        network.message(identity_response(MobileIdentity::Imsi(imsi())));
        assert_eq!((network.context.gmm_state(), network.is_released()), (GmmState::Registered, false));
    }
    assert_eq!(network.drops(Drop::GmmDetachDoubted), 3);
    network.message(with_signature(1, true));
    assert_eq!((network.sent().len(), network.is_released()), (0, true));
}

/// Before R99 the message has no signature (clause 9.4.5.2 of R97): the mobile is authenticated before it leaves.
#[test]
fn c23_060_6_6_1_a_detach_request_without_a_signature() {
    let mut network = Network::attached();
    network.subscriber = AuthDecision::Challenge(challenge());
    network.message(unsigned_detach(DetachKindMo::Gprs, false));
    assert_eq!(network.sent(), ["AuthenticationRequest"]);
    assert!(!network.is_released());
    // Where nobody is challenged it says at least who it is.
    let mut network = Network::attached();
    network.message(unsigned_detach(DetachKindMo::Gprs, false));
    assert_eq!((network.sent(), network.is_released()), (vec!["IdentityRequest"], false));
    network.message(identity_response(MobileIdentity::Imsi(imsi())));
    assert_eq!((network.sent(), network.is_released()), (vec!["DetachAcceptMo"], true));
    // Where signatures are not used that is no hindrance.
    for power_off in [false, true] {
        let mut network = Network::attached();
        network.cfg.signatures = Signatures::Unused;
        network.message(unsigned_detach(DetachKindMo::Gprs, power_off));
        assert!(network.is_released());
    }
}

/// A key that the mobile had when it attached is no proof.
#[test]
fn c23_060_6_6_1_a_doubted_detach_is_challenged_whatever_key_the_mobile_had() {
    let mut network = Network::new();
    network.message(AttachRequest { cksn: Cksn(2), ..attach_by_imsi() });
    network.confirm(AttachComplete {});
    network.message(unsigned_detach(DetachKindMo::Gprs, false));
    let Some(AuthQuestion::Subscriber(claim)) = network.questions.last() else { panic!() };
    assert_eq!(claim.cksn, None);
}

#[test]
fn c23_060_6_6_1_what_comes_ciphered_needs_no_signature() {
    for (ciphered, released) in [(true, true), (false, false)] {
        for power_off in [true, false] {
            let mut network = Network::attached();
            let (message, from) = (unsigned_detach(DetachKindMo::Gprs, power_off).into(), network.from());
            network.event(GmmEvent::Message { message, from, ciphered });
            assert_eq!(network.is_released(), released);
        }
    }
}

/// In STANDBY the mobile is paged, and authenticated when it answers.
#[test]
fn c23_060_6_6_1_a_doubted_power_off_in_standby() {
    let mut network = Network::standby();
    network.subscriber = AuthDecision::Challenge(challenge());
    network.message(unsigned_detach(DetachKindMo::Gprs, true));
    assert_eq!((network.pages(), network.sent().len()), (1, 0));
    network.frame();
    assert_eq!(network.sent(), ["AuthenticationRequest"]);
}

#[test]
fn c23_060_6_6_1_a_detach_request_from_an_nse_in_which_the_mobile_is_not() {
    let mut network = Network::attached();
    network.subscriber = AuthDecision::Challenge(challenge());
    let here = network.context.cell();
    network.cell = Cell { nsei: Nsei(9), ..network.cell };
    network.message(with_signature(1, true));
    assert_eq!((network.drops(Drop::GmmDetachDoubted), network.is_released()), (1, false));
    assert_eq!(network.context.cell(), here, "who is not believed does not move the mobile");
    let mut network = Network::attached();
    network.subscriber = AuthDecision::Challenge(challenge());
    network.cell = Cell { nsei: Nsei(9), ..network.cell };
    network.message(with_signature(1, false));
    assert_eq!(network.sent(), ["AuthenticationRequest"], "who can show who it is, does");
    // Another cell of the same NSE is no reason for doubt.
    let mut network = Network::attached();
    network.cell = Cell { bvci: Bvci(99), ..network.cell };
    network.message(with_signature(1, true));
    assert!(network.is_released());
}

#[test]
fn c4_7_4_1_4_a_t3321_time_out() {
    let mut mobile = Mobile::detaching();
    assert_eq!(mobile.pass(74), [15, 30, 45, 60].map(|at| (at, "DetachRequestMo")));
    assert_eq!(mobile.pass(1), [], "the fifth expiry");
    assert_eq!((mobile.mobile.state(), mobile.mobile.deadlines.next()), (GmmMsState::Deregistered, None));
    assert_eq!(mobile.drops(Drop::GmmNoAnswer), 1);
}

#[test]
fn c4_7_4_1_4_b_lower_layer_failure() {
    let mut mobile = Mobile::detaching();
    mobile.event(GmmMsEvent::LowerLayerFailure);
    assert_eq!((mobile.sent().len(), mobile.mobile.state()), (0, GmmMsState::Deregistered));
}

#[test]
fn c4_7_4_1_4_c_detach_procedure_collision() {
    for kind in [DetachTypeMt::ReattachRequired, DetachTypeMt::ReattachNotRequired, DetachTypeMt::Imsi] {
        let mut mobile = Mobile::detaching();
        mobile.message(detach_by_network(kind, None));
        assert_eq!(mobile.sent(), ["DetachAcceptMt"]);
        assert_eq!(mobile.mobile.state(), GmmMsState::DeregisteredInitiated, "its own goes on");
        mobile.message(detach_accepted());
        assert_eq!(mobile.mobile.state(), GmmMsState::Deregistered);
        assert_eq!(mobile.pass(3600), [], "nobody wants it attached");
    }
}

#[test]
fn c4_7_4_1_4_d_common_procedures_during_the_detach() {
    let mut mobile = Mobile::detaching();
    mobile.message(reallocation(P2));
    assert_eq!((mobile.sent().len(), mobile.mobile.ptmsi()), (0, Some(P1)), "ignored");
    mobile.message(GmmStatus { cause: GmmCause::ProtocolError });
    assert_eq!(mobile.sent().len(), 0);
    mobile.message(identity_request(IdentityType::Imei));
    assert_eq!(mobile.sent(), ["IdentityResponse"], "answered");
    mobile.message(authentication_request([1; 16]));
    assert_eq!(mobile.actions, [GmmMsAction::AskSim { rand: [1; 16], autn: Some([8; 16]) }]);
    assert_eq!(mobile.mobile.state(), GmmMsState::DeregisteredInitiated);
}

#[test]
fn c4_7_4_1_4_d_a_mobile_that_is_switched_off_ignores_everything() {
    let mut mobile = Mobile::attached();
    mobile.event(GmmMsEvent::Detach { power_off: true });
    for message in [
        reallocation(P2).into(),
        GmmMessage::from(identity_request(IdentityType::Imsi)),
        authentication_request([1; 16]).into(),
    ] {
        mobile.message(message);
        assert_eq!(mobile.actions, []);
    }
}

#[test]
fn c4_7_4_1_4_e_change_of_cell_into_a_new_routing_area() {
    let mut mobile = Mobile::detaching();
    mobile.select(7, 1, 2);
    assert_eq!(mobile.sent().len(), 0, "the same routing area");
    mobile.select(7, 2, 3);
    assert_eq!(mobile.sent(), ["RauRequest"], "the detach is aborted");
    mobile.message(update_accept(rai(7, 2), Some(P2)));
    assert_eq!(mobile.sent(), ["RauComplete", "DetachRequestMo"]);
    let mut mobile = Mobile::detaching();
    mobile.select(7, 2, 3);
    mobile.message(update_reject(GmmCause::NetworkFailure));
    assert_eq!(mobile.mobile.state(), GmmMsState::Deregistered, "it can't be told");
}

#[test]
fn c4_7_4_1_4_f_access_barred() {
    for (power_off, state) in [(false, GmmMsState::Deregistered), (true, GmmMsState::Null)] {
        let mut mobile = Mobile::attached();
        mobile.event(GmmMsEvent::Access { barred: true });
        mobile.event(GmmMsEvent::Detach { power_off });
        assert_eq!((mobile.sent().len(), mobile.mobile.state()), (0, state), "a local detach");
    }
}

#[test]
fn c4_7_4_1_an_attach_waits_for_the_end_of_the_detach() {
    let mut mobile = Mobile::detaching();
    mobile.event(GmmMsEvent::Attach);
    assert_eq!(mobile.sent().len(), 0);
    mobile.message(detach_accepted());
    assert_eq!(mobile.sent(), ["AttachRequest"]);
    assert_eq!(mobile.stands(), (GmmMsState::RegisteredInitiated, Service::Normal));
}
