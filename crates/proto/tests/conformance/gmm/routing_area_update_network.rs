//! Routing area updating, the network's side: clauses 4.7.5.1.1 to 4.7.5.1.4, 4.7.5.1.6 and 4.7.5.2.

use crate::harness::*;
use gannet_machine::drops::Drop;
use gannet_proto::auth::AuthDecision;
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::network::{GmmAction, GmmEvent, GmmState, Stranger, answer_to_stranger};
use gannet_wire::DecodeErrorKind;
use gannet_wire::id::Tlli;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

const RAU_REQUEST: u8 = 0x08;

fn accept(network: &Network) -> RauAccept {
    match network.only() {
        GmmMessage::RauAccept(accept) => accept,
        other => panic!("{other:?}"),
    }
}

/// An attached mobile that has come to another routing area.
fn moved() -> Network {
    let mut network = Network::attached();
    network.tlli = Tlli::foreign(network.context.ptmsi().unwrap());
    network.cell = cell(2, 3);
    network
}

/// ROUTING AREA UPDATE ACCEPT with a new P-TMSI was sent.
fn accepted() -> Network {
    let mut network = moved();
    network.message(update_request(UpdateKind::Ra));
    assert_eq!(network.sent(), ["RauAccept"]);
    network
}

fn with_another_element() -> RauRequest {
    RauRequest { requested_ready_timer: Some(GprsTimer(3)), ..update_request(UpdateKind::Ra) }
}

#[test]
fn c4_7_5_1_1_and_3_a_normal_update() {
    let mut network = moved();
    let old = network.context.ptmsi().unwrap();
    network.message(update_request(UpdateKind::Ra));
    let answer = accept(&network);
    assert_eq!((answer.result, answer.gmm_cause, answer.rai), (UpdateResult::Ra, None, rai(7, 2)));
    assert_eq!(answer.allocated_ptmsi, network.context.new_ptmsi().map(MobileIdentity::PTmsi));
    assert_eq!(network.context.gmm_state(), GmmState::CommonProcedureInitiated);
    network.confirm(RauComplete { receive_npdu_numbers: None });
    assert_eq!(network.context.gmm_state(), GmmState::Registered);
    assert!(network.has(&GmmAction::FreePtmsi(old)));
    assert_eq!((network.context.routing_area(), network.context.mm_state()), (rai(7, 2), MmState::Ready));
    network.pass(30);
    assert_eq!(network.actions, [], "T3350 is stopped");
}

#[test]
fn c4_7_5_1_1_and_3_a_periodic_update_keeps_the_ptmsi() {
    let mut network = Network::standby();
    network.message(update_request(UpdateKind::Periodic));
    assert_eq!(accept(&network).allocated_ptmsi, None);
    assert_eq!(network.context.gmm_state(), GmmState::Registered, "there is nothing to complete");
    assert_eq!(network.context.mm_state(), MmState::Ready);
}

#[test]
fn c4_7_5_1_2_authentication_and_identification_before_the_accept() {
    let mut network = moved();
    network.cfg.authenticate_updates = true;
    network.subscriber = AuthDecision::Challenge(challenge());
    network.message(update_request(UpdateKind::Ra));
    assert_eq!(network.sent(), ["AuthenticationRequest"]);
    let mut network = moved();
    network.message(RauRequest {
        old_ptmsi_signature: Some(PTmsiSignature(9)),
        ..update_request(UpdateKind::Ra)
    });
    assert_eq!(network.only(), identity_request(IdentityType::Imsi).into());
    network.message(identity_response(MobileIdentity::Imsi(imsi())));
    assert_eq!(network.sent(), ["RauAccept"]);
}

#[test]
fn c4_7_5_1_3_pdp_context_status_is_compared() {
    let mut network = moved();
    network.context.set_active_nsapis(PdpContextStatus(1 << 5 | 1 << 6));
    let pdp_context_status = Some(PdpContextStatus(1 << 6 | 1 << 7));
    network.message(RauRequest { pdp_context_status, ..update_request(UpdateKind::Ra) });
    assert!(network.has(&GmmAction::DeletePdpContexts(PdpContextStatus(1 << 5))));
    assert_eq!(accept(&network).pdp_context_status, Some(PdpContextStatus(1 << 6)));
}

#[test]
fn c4_7_5_1_4_update_not_accepted_with_each_cause() {
    for cause in CAUSES {
        let mut network = moved();
        network.cfg.authenticate_updates = true;
        network.subscriber = AuthDecision::Reject(cause);
        network.message(update_request(UpdateKind::Ra));
        assert_eq!(network.only(), update_reject(cause).into());
        assert!(network.is_released());
    }
}

#[test]
fn c4_7_5_1_4_a_mobile_without_context_is_told_cause_10() {
    let update: GmmMessage = update_request(UpdateKind::Ra).into();
    let answer = answer_to_stranger(Stranger::Message { message: &update });
    assert_eq!(answer, Some(update_reject(GmmCause::ImplicitlyDetached).into()));
}

#[test]
fn c4_7_5_1_4_another_mobile_with_this_ptmsi_is_refused_and_the_context_stays() {
    let mut network = moved();
    network.message(RauRequest { old_ptmsi_signature: None, ..update_request(UpdateKind::Ra) });
    network.message(identity_response(MobileIdentity::Imsi(another_imsi())));
    assert_eq!(network.only(), update_reject(GmmCause::IdentityUnknown).into());
    assert_eq!((network.context.gmm_state(), network.context.imsi()), (GmmState::Registered, Some(imsi())));
}

/// Whoever knows the TLLI of a mobile, and not its signature, says other things of it: that it has no cipher, that it listens
/// to paging at other times, that it is READY for ever. None of that holds, whether it names another subscriber or is silent.
#[test]
fn c4_7_5_1_4_what_an_update_says_of_the_mobile_holds_once_it_is_accepted() {
    let forged = || RauRequest {
        old_ptmsi_signature: Some(PTmsiSignature(9)),
        ms_network_capability: Some(MsNetworkCapability(Octets::from_start(&[0, 0]))),
        drx: Some(DrxParameter { split_pg_cycle: 98, ..DrxParameter::default() }),
        requested_ready_timer: Some(GprsTimer(0)),
        ms_radio_access_capability: MsRadioAccessCapability(vec![1, 2, 3]),
        ..update_request(UpdateKind::Periodic)
    };
    let of = |network: &Network| {
        let context = &network.context;
        (context.network_capability(), context.drx(), context.ready_timer())
    };
    let told = GmmAction::RadioAccessCapability(MsRadioAccessCapability(vec![1, 2, 3]));
    for is_silent in [false, true] {
        let mut network = Network::attached();
        let before = of(&network);
        network.message(forged());
        assert_eq!(network.only(), identity_request(IdentityType::Imsi).into());
        assert!(!network.has(&told));
        if is_silent {
            network.pass(31);
        } else {
            network.message(identity_response(MobileIdentity::Imsi(another_imsi())));
            assert!(!network.has(&told));
        }
        assert_eq!((network.context.gmm_state(), of(&network)), (GmmState::Registered, before));
        // Nor later, when the mobile itself says nothing of it.
        network.message(update_request(UpdateKind::Periodic));
        let (capability, drx, _) = of(&network);
        assert_eq!((network.sent(), capability, drx), (vec!["RauAccept"], before.0, before.1));
        assert!(!network.has(&told));
    }
    let mut network = Network::attached();
    network.message(forged());
    network.message(identity_response(MobileIdentity::Imsi(imsi())));
    assert!(network.has(&told), "the mobile has shown who it is");
    assert_eq!((of(&network).0, of(&network).2), (forged().ms_network_capability.unwrap(), GprsTimer(0)));
}

#[test]
fn c4_7_5_1_6_a_lower_layer_failure() {
    let mut network = accepted();
    let (old, new) = (network.context.ptmsi(), network.context.new_ptmsi());
    network.event(GmmEvent::LowerLayerFailure);
    assert_eq!(network.sent().len(), 0, "the ACCEPT is not sent again");
    assert_eq!(network.pass(30), []);
    assert_eq!((network.context.ptmsi(), network.context.new_ptmsi()), (old, new), "both are valid");
    network.tlli = Tlli::local(new.unwrap());
    network.frame();
    assert_eq!((network.context.ptmsi(), network.context.new_ptmsi()), (new, None));
}

#[test]
fn c4_7_5_1_6_b_protocol_error() {
    for mut network in [Network::attached(), accepted()] {
        let before = network.context.gmm_state();
        network.unreadable(RAU_REQUEST, DecodeErrorKind::Missing);
        assert_eq!(network.only(), update_reject(GmmCause::InvalidMandatoryInformation).into());
        assert_eq!((network.context.gmm_state(), network.is_released()), (before, false));
    }
}

#[test]
fn c4_7_5_1_6_c_t3350_time_out() {
    let mut network = accepted();
    let first = network.only();
    let (old, new) = (network.context.ptmsi(), network.context.new_ptmsi());
    assert_eq!(network.pass(29), [6, 12, 18, 24].map(|at| (at, "RauAccept")));
    assert!(network.messages().iter().all(|message| **message == first), "the same message");
    assert_eq!(network.pass(1), [], "the fifth expiry");
    assert_eq!(network.drops(Drop::GmmNoAnswer), 1);
    assert_eq!((network.context.ptmsi(), network.context.new_ptmsi()), (old, new), "both are valid");
    assert_eq!(network.context.gmm_state(), GmmState::Registered);
}

/// The next update under either P-TMSI: the one that the mobile does not use ends, and it is given another one where
/// it has not taken the last.
#[test]
fn c4_7_5_1_6_c_the_next_update_names_either_ptmsi() {
    for takes_new in [false, true] {
        let mut network = accepted();
        network.pass(30);
        let (old, new) = (network.context.ptmsi().unwrap(), network.context.new_ptmsi().unwrap());
        let (taken, ends) = if takes_new { (new, old) } else { (old, new) };
        network.tlli = Tlli::local(taken);
        network.frame();
        let still_two = network.context.new_ptmsi().is_some();
        assert_eq!((network.context.ptmsi(), still_two), (Some(taken), !takes_new), "served under it");
        let old_ptmsi_signature = Some(PTmsiSignature(taken.0 & 0xffff));
        network.message(RauRequest {
            old_ptmsi_signature,
            old_rai: network.context.routing_area(),
            ..update_request(UpdateKind::Periodic)
        });
        assert_eq!(accept(&network).allocated_ptmsi.is_some(), !takes_new);
        assert_eq!(
            network.has(&GmmAction::FreePtmsi(ends)),
            !takes_new,
            "the new one ended the old one before"
        );
        if !takes_new {
            network.confirm(RauComplete { receive_npdu_numbers: None });
            assert!(network.has(&GmmAction::FreePtmsi(old)));
        }
        assert_eq!((network.context.new_ptmsi(), network.context.gmm_state()), (None, GmmState::Registered));
    }
}

#[test]
fn c4_7_5_1_6_d_the_same_request_after_the_accept() {
    let mut network = accepted();
    let first = network.only();
    network.pass(10);
    network.message(update_request(UpdateKind::Ra));
    assert_eq!(network.only(), first);
    assert_eq!(
        network.pass(29),
        [6, 12, 18].map(|at| (at, "RauAccept")),
        "T3350 began anew, its counter did not"
    );
}

#[test]
fn c4_7_5_1_6_d_another_request_after_the_accept() {
    let mut network = accepted();
    network.message(with_another_element());
    assert_eq!(accept(&network).negotiated_ready_timer, Some(GprsTimer(3)));
    assert_eq!(network.pass(30).len(), 4, "the new update has all its tries");
}

#[test]
fn c4_7_5_1_6_e_the_same_request_before_an_answer() {
    let mut network = moved();
    network.cfg.authenticate_updates = true;
    network.subscriber = AuthDecision::Challenge(challenge());
    network.message(update_request(UpdateKind::Ra));
    network.message(update_request(UpdateKind::Ra));
    assert_eq!((network.sent().len(), network.drops(Drop::GmmIgnored)), (0, 1));
    assert_eq!(network.context.gmm_state(), GmmState::CommonProcedureInitiated, "the first one goes on");
}

#[test]
fn c4_7_5_1_6_e_another_request_before_an_answer() {
    let mut network = moved();
    network.cfg.authenticate_updates = true;
    network.subscriber = AuthDecision::Challenge(challenge());
    network.message(update_request(UpdateKind::Ra));
    network.subscriber = AuthDecision::Accept;
    network.message(with_another_element());
    assert_eq!(accept(&network).negotiated_ready_timer, Some(GprsTimer(3)));
}

#[test]
fn c4_7_5_2_3_2_combined_updates_are_accepted_for_gprs_only() {
    for kind in [UpdateKind::Combined, UpdateKind::CombinedWithImsiAttach] {
        let mut network = moved();
        network.message(update_request(kind));
        let answer = accept(&network);
        assert_eq!((answer.result, answer.gmm_cause), (UpdateResult::Ra, Some(GmmCause::MscNotReachable)));
        network.confirm(RauComplete { receive_npdu_numbers: None });
        assert_eq!(network.context.gmm_state(), GmmState::Registered);
    }
}

#[test]
fn c4_7_5_2_6_combined_updates_have_the_abnormal_cases_of_a_normal_one() {
    let mut network = moved();
    network.message(update_request(UpdateKind::Combined));
    let first = network.only();
    network.message(update_request(UpdateKind::Combined));
    assert_eq!(network.only(), first, "case d");
    assert_eq!(network.pass(30).len(), 4, "case c");
    network.subscriber = AuthDecision::Reject(GmmCause::GprsAndNonGprsNotAllowed);
    network.cfg.authenticate_updates = true;
    network.message(RauRequest { old_ptmsi_signature: None, ..update_request(UpdateKind::Combined) });
    network.message(identity_response(MobileIdentity::Imsi(imsi())));
    assert_eq!(network.only(), update_reject(GmmCause::GprsAndNonGprsNotAllowed).into());
}

/// A P-TMSI is valid in its routing area (03.03 clause 2.4 [23.003]): who names another one is identified first, whatever
/// TLLI and signature it has.
#[test]
fn c4_7_5_1_2_an_update_from_where_the_mobile_was_not() {
    let elsewhere = RauRequest { old_rai: rai(7, 9), ..update_request(UpdateKind::Ra) };
    let mut network = Network::attached();
    network.message(elsewhere.clone());
    let GmmMessage::IdentityRequest(request) = network.only() else { panic!() };
    assert_eq!(request.identity_type, IdentityType::Imsi);
    network.message(identity_response(MobileIdentity::Imsi(imsi())));
    assert_eq!(network.sent(), ["RauAccept"]);
    // Authenticated, where the service wants that.
    let mut network = Network::attached();
    network.subscriber = AuthDecision::Challenge(challenge());
    network.message(elsewhere.clone());
    network.message(identity_response(MobileIdentity::Imsi(imsi())));
    assert_eq!(network.sent(), ["AuthenticationRequest"]);
    // Another mobile that has the same P-TMSI from elsewhere.
    let mut network = Network::attached();
    network.message(elsewhere);
    network.message(identity_response(MobileIdentity::Imsi(another_imsi())));
    assert_eq!(network.only(), update_reject(GmmCause::IdentityUnknown).into());
    assert_eq!(network.context.gmm_state(), GmmState::Registered, "ours stays");
}

/// Until it has confirmed its new P-TMSI, a mobile that has moved may name the routing area that it comes from.
#[test]
fn c4_7_5_1_6_d_an_update_that_is_begun_anew_names_the_same_old_routing_area() {
    let mut network = Network::attached();
    network.cell = cell(2, 3);
    network.message(update_request(UpdateKind::Ra));
    assert_eq!(network.sent(), ["RauAccept"]);
    let other = RauRequest { requested_ready_timer: Some(GprsTimer(3)), ..update_request(UpdateKind::Ra) };
    network.message(other.clone());
    assert_eq!(network.sent(), ["RauAccept"]);
    network.confirm(RauComplete { receive_npdu_numbers: None });
    network.message(other);
    assert_eq!(network.sent(), ["IdentityRequest"], "no longer");
}

/// A signature that is missing is not made up for by an update that assigns no P-TMSI.
#[test]
fn c4_7_5_1_3_a_ptmsi_that_stays_has_another_signature() {
    let mut network = Network::attached();
    network.message(update_request(UpdateKind::Periodic));
    let GmmMessage::RauAccept(accept) = network.only() else { panic!() };
    assert!(accept.allocated_ptmsi.is_none() && accept.ptmsi_signature.is_some());
    let unsigned = RauRequest { old_ptmsi_signature: None, ..update_request(UpdateKind::Periodic) };
    network.message(unsigned);
    assert_eq!(network.sent(), ["IdentityRequest"]);
    let mut network = Network::attached();
    network.message(update_request(UpdateKind::Periodic));
    let GmmMessage::RauAccept(accept) = network.only() else { panic!() };
    let old_ptmsi_signature = accept.ptmsi_signature;
    network.message(RauRequest { old_ptmsi_signature, ..update_request(UpdateKind::Periodic) });
    assert_eq!(network.sent(), ["RauAccept"]);
}
