//! Identification, both sides: clause 4.7.8.

use crate::harness::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::network::{GmmEvent, GmmState};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

/// A mobile with a P-TMSI that nobody knows was asked for its IMSI.
fn attaching() -> Network {
    let mut network = Network::new();
    network.message(attach_request(MobileIdentity::PTmsi(P2)));
    assert_eq!(network.only(), identity_request(IdentityType::Imsi).into());
    network
}

/// An attached mobile was asked for its IMSI, since the signature of its update is not right.
fn updating() -> Network {
    let mut network = Network::attached();
    network.message(RauRequest { old_ptmsi_signature: None, ..update_request(UpdateKind::Ra) });
    assert_eq!(network.only(), identity_request(IdentityType::Imsi).into());
    network
}

#[test]
fn c4_7_8_1_and_3_the_imsi() {
    let mut network = attaching();
    assert_eq!(network.context.gmm_state(), GmmState::CommonProcedureInitiated);
    network.message(identity_response(MobileIdentity::Imsi(imsi())));
    assert_eq!((network.sent(), network.context.imsi()), (vec!["AttachAccept"], Some(imsi())));
}

#[test]
fn c4_7_8_1_and_3_the_imei() {
    for (identity, told) in [
        (MobileIdentity::Imei(imei()), Some(imei())),
        // A mobile without IMEI is served all the same.
        (MobileIdentity::None, None),
    ] {
        let mut network = Network::new();
        network.cfg.ask_imei = true;
        network.message(attach_by_imsi());
        assert_eq!(network.only(), identity_request(IdentityType::Imei).into());
        network.message(identity_response(identity));
        assert_eq!((network.sent(), network.context.imei()), (vec!["AttachAccept"], told));
    }
}

#[test]
fn c4_7_8_3_an_identity_that_was_not_asked_for() {
    let mut network = attaching();
    network.message(identity_response(MobileIdentity::Imei(imei())));
    assert_eq!(network.only(), GmmStatus { cause: GmmCause::SemanticallyIncorrect }.into());
    assert_eq!(network.pass(6), [(6, "IdentityRequest")], "T3370 goes on");
}

#[test]
fn c4_7_8_2_the_mobile_answers_in_each_state_with_a_link() {
    let software_version = "4901542032375101".parse().unwrap();
    for (identity_type, identity) in [
        (IdentityType::Imsi, MobileIdentity::Imsi(imsi())),
        (IdentityType::Imei, MobileIdentity::Imei(imei())),
        (IdentityType::Imeisv, MobileIdentity::Imeisv(software_version)),
        (IdentityType::Tmsi, MobileIdentity::PTmsi(P1)),
    ] {
        for mut mobile in [Mobile::attached(), Mobile::updating(), Mobile::detaching()] {
            let before = mobile.mobile.state();
            mobile.message(identity_request(identity_type));
            assert_eq!(mobile.only().0, identity_response(identity).into());
            assert_eq!(mobile.mobile.state(), before);
        }
    }
    let mut mobile = Mobile::attaching();
    mobile.message(identity_request(IdentityType::Tmsi));
    assert_eq!(mobile.only().0, identity_response(MobileIdentity::None).into(), "it has none");
    let mut mobile = Mobile::new();
    mobile.message(identity_request(IdentityType::Imsi));
    assert_eq!((mobile.actions.len(), mobile.drops(Drop::GmmUnexpected)), (0, 1), "there is no link");
}

#[test]
fn c4_7_8_4_a_lower_layer_failure() {
    let mut network = attaching();
    network.event(GmmEvent::LowerLayerFailure);
    assert!(network.is_released());
    let mut network = updating();
    network.event(GmmEvent::LowerLayerFailure);
    assert_eq!((network.sent().len(), network.context.gmm_state()), (0, GmmState::Registered));
}

#[test]
fn c4_7_8_4_b_t3370_time_out() {
    let mut network = attaching();
    assert_eq!(network.pass(29), [6, 12, 18, 24].map(|at| (at, "IdentityRequest")));
    assert_eq!(network.pass(1), [(1, "AttachReject")], "the fifth expiry");
    let cause = GmmCause::IdentityUnknown;
    assert_eq!(network.only(), AttachReject { cause, t3302: None }.into());
    assert!(network.is_released(), "the attach is aborted");
    assert_eq!((network.drops(Drop::GmmNoAnswer), network.drops(Drop::GmmRejected)), (1, 1));
    let mut network = updating();
    assert_eq!(network.pass(30).last(), Some(&(30, "RauReject")));
    assert_eq!(network.messages().last(), Some(&&reject_of_update(cause)));
    assert_eq!(network.context.gmm_state(), GmmState::Registered, "the update is aborted");
    let mut network = Network::new();
    network.cfg.ask_imei = true;
    network.message(attach_by_imsi());
    assert_eq!(network.pass(30).last(), Some(&(30, "AttachReject")));
    assert!(network.is_released());
}

fn reject_of_update(cause: GmmCause) -> GmmMessage {
    RauReject { cause, force_to_standby: NOT_INDICATED, t3302: None }.into()
}

/// Nobody is told anything where the mobile has asked for nothing.
#[test]
fn c4_7_8_4_b_t3370_time_out_after_a_doubted_detach() {
    let mut network = Network::attached();
    network.message(unsigned_detach(DetachKindMo::Gprs, true));
    assert_eq!(network.sent(), ["IdentityRequest"]);
    assert_eq!(network.pass(30), [6, 12, 18, 24].map(|at| (at, "IdentityRequest")));
    assert_eq!((network.context.gmm_state(), network.is_released()), (GmmState::Registered, false));
}

#[test]
fn c4_7_8_4_c_collision_with_attach() {
    let mut network = updating();
    network.message(attach_by_imsi());
    assert_eq!(network.sent(), ["AttachAccept"], "the attach is progressed");
}

#[test]
fn c4_7_8_4_d_collision_with_the_attach_that_caused_it() {
    let mut network = attaching();
    network.message(attach_request(MobileIdentity::PTmsi(P2)));
    assert_eq!((network.sent().len(), network.drops(Drop::GmmIgnored)), (0, 1), "the same: it goes on");
    network.message(attach_by_imsi());
    assert_eq!(network.sent(), ["AttachAccept"], "another one: the identification is aborted");
}

#[test]
fn c4_7_8_4_e_collision_with_detach() {
    for mut network in [attaching(), updating()] {
        network.message(detach(DetachKindMo::Gprs, true));
        assert!(network.is_released(), "power off: the identification is aborted");
    }
    for mut network in [attaching(), updating()] {
        network.message(detach(DetachKindMo::Gprs, false));
        assert_eq!(network.sent().len(), 0, "it is completed first");
        network.message(identity_response(MobileIdentity::Imsi(imsi())));
        assert_eq!(network.sent(), ["DetachAcceptMo"]);
        assert!(network.is_released());
    }
    let mut network = updating();
    network.message(detach(DetachKindMo::Gprs, false));
    network.message(identity_response(MobileIdentity::Imsi(another_imsi())));
    assert_eq!(network.sent(), ["DetachAcceptMo"]);
    assert_eq!(network.context.gmm_state(), GmmState::Registered, "ours has not left");
}

#[test]
fn c4_7_8_4_f_collision_with_update() {
    let mut network = updating();
    network.message(update_request(UpdateKind::Ra));
    assert_eq!(network.sent(), ["RauAccept"], "the update says who it is");
}
