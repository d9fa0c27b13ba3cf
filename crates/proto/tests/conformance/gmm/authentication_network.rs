//! Authentication and ciphering, the network's side: clauses 4.7.7.1, 4.7.7.3, 4.7.7.5 and 4.7.7.6.

use crate::harness::*;
use gannet_machine::drops::Drop;
use gannet_proto::auth::{AuthDecision, AuthFailure, AuthQuestion};
use gannet_proto::gmm::network::{GmmAction, GmmEvent, GmmState};
use gannet_wire::id::Tlli;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

fn with_challenges(mut network: Network) -> Network {
    network.subscriber = AuthDecision::Challenge(challenge());
    network
}

/// A mobile that attaches by its IMSI was challenged.
fn attaching() -> Network {
    let mut network = with_challenges(Network::new());
    network.message(attach_by_imsi());
    assert_eq!(network.sent(), ["AuthenticationRequest"]);
    network
}

/// A mobile that is attached, known by its P-TMSI, was challenged by order.
fn ordered() -> Network {
    let mut network = with_challenges(Network::attached());
    network.event(GmmEvent::Authenticate);
    assert_eq!(network.sent(), ["AuthenticationRequest"]);
    assert_eq!(network.context.gmm_state(), GmmState::CommonProcedureInitiated);
    network
}

fn request(network: &Network) -> AuthenticationRequest {
    match network.only() {
        GmmMessage::AuthenticationRequest(request) => request,
        other => panic!("{other:?}"),
    }
}

fn response(reference: AcReference) -> AuthenticationResponse {
    AuthenticationResponse {
        reference,
        response: Some(AuthParameterResponse([1, 2, 3, 4])),
        imeisv: None,
        extended_response: None,
    }
}

fn failure(cause: GmmCause, auts: Option<Auts>) -> AuthenticationFailure {
    AuthenticationFailure { cause, auts }
}

#[test]
fn c4_7_7_1_and_3_a_challenge_and_its_answer() {
    let mut network = attaching();
    let asked = request(&network);
    assert_eq!((asked.rand, asked.autn), (Some(Rand([7; 16])), Some(Autn([8; 16]))));
    assert_eq!((asked.cksn, asked.ciphering), (Some(Cksn(2)), CipheringAlgorithm(3)));
    network.message(response(asked.reference));
    assert!(matches!(network.questions.last(), Some(AuthQuestion::Answer(_))));
    assert!(network.has(&GmmAction::Authenticated));
    assert_eq!(network.sent(), ["AttachAccept"], "T3360 is stopped");
}

#[test]
fn c4_7_7_1_the_cipher_alone_is_set() {
    let mut network = Network::new();
    network.subscriber = AuthDecision::SetCipher { algorithm: 3 };
    network.message(attach_by_imsi());
    let asked = request(&network);
    assert_eq!((asked.rand, asked.ciphering), (None, CipheringAlgorithm(3)));
    network.message(AuthenticationResponse { response: None, ..response(asked.reference) });
    assert!(network.has(&GmmAction::Authenticated));
    assert_eq!(network.sent(), ["AttachAccept"]);
}

#[test]
fn c4_7_7_1_again_by_order() {
    let mut network = ordered();
    // The mobile's own key is of no account.
    assert!(
        matches!(network.questions.last(), Some(AuthQuestion::Subscriber(claim)) if claim.cksn.is_none())
    );
    let asked = request(&network);
    network.message(response(asked.reference));
    assert!(network.has(&GmmAction::Authenticated));
    assert_eq!((network.sent().len(), network.context.gmm_state()), (0, GmmState::Registered));
    let mut network = with_challenges(Network::standby());
    network.event(GmmEvent::Authenticate);
    assert_eq!((network.pages(), network.sent().len()), (1, 0), "in STANDBY it is paged first");
    network.frame();
    assert_eq!(network.sent(), ["AuthenticationRequest"]);
    let mut network = Network::attached();
    network.subscriber = AuthDecision::Reject(GmmCause::GprsNotAllowed);
    network.event(GmmEvent::Authenticate);
    let told = detach_by_network(DetachTypeMt::ReattachNotRequired, Some(GmmCause::GprsNotAllowed));
    assert_eq!(network.only(), told.into(), "no more served");
}

#[test]
fn c4_7_7_1_on_attach_and_update_as_the_operator_wants() {
    let mut network = Network::attached();
    let before = network.questions.len();
    network.message(update_request(UpdateKind::Periodic));
    let GmmMessage::RauAccept(accept) = network.only() else { panic!() };
    assert_eq!(network.questions.len(), before);
    network.cfg.authenticate_updates = true;
    network.subscriber = AuthDecision::Challenge(challenge());
    network.message(RauRequest {
        old_ptmsi_signature: accept.ptmsi_signature,
        cksn: Cksn(4),
        ..update_request(UpdateKind::Periodic)
    });
    assert!(
        matches!(network.questions.last(), Some(AuthQuestion::Subscriber(claim)) if claim.cksn == Some(4))
    );
    let asked = request(&network);
    network.message(response(asked.reference));
    assert_eq!(network.sent(), ["RauAccept"]);
}

#[test]
fn c4_7_7_5_not_accepted_by_the_network() {
    let mut network = attaching();
    network.verdict = AuthDecision::Mismatch;
    let asked = request(&network);
    network.message(response(asked.reference));
    assert_eq!(network.sent(), ["AuthenticationReject"], "the IMSI was used");
    assert!(network.is_released());
    assert_eq!(network.drops(Drop::GmmAuthenticationFailed), 1);
}

#[test]
fn c4_7_7_5_not_accepted_where_the_ptmsi_was_used() {
    let mut network = ordered();
    network.verdict = AuthDecision::Mismatch;
    let asked = request(&network);
    network.message(response(asked.reference));
    assert_eq!(network.only(), identity_request(IdentityType::Imsi).into());
    network.message(identity_response(MobileIdentity::Imsi(imsi())));
    assert_eq!(network.sent(), ["AuthenticationReject"], "the P-TMSI was right");
    assert!(network.is_released());
    // It was another mobile's: that one has to attach, and ours stays.
    let mut network = ordered();
    network.verdict = AuthDecision::Mismatch;
    let asked = request(&network);
    network.message(response(asked.reference));
    network.message(identity_response(MobileIdentity::Imsi(another_imsi())));
    assert_eq!(
        network.only(),
        detach_by_network(DetachTypeMt::ReattachRequired, Some(GmmCause::IdentityUnknown)).into()
    );
    assert_eq!((network.context.imsi(), network.context.gmm_state()), (Some(imsi()), GmmState::Registered));
}

#[test]
fn c4_7_7_6_a_lower_layer_failure() {
    let mut network = attaching();
    network.event(GmmEvent::LowerLayerFailure);
    assert!(network.is_released(), "the attach ends with it");
    let mut network = ordered();
    network.event(GmmEvent::LowerLayerFailure);
    assert_eq!((network.sent().len(), network.context.gmm_state()), (0, GmmState::Registered));
    assert_eq!(network.pass(30), []);
}

#[test]
fn c4_7_7_6_b_t3360_time_out() {
    let mut network = attaching();
    let first = network.only();
    assert_eq!(network.pass(29), [6, 12, 18, 24].map(|at| (at, "AuthenticationRequest")));
    assert!(network.messages().iter().all(|message| **message == first), "the same message");
    assert_eq!(network.pass(1), [(1, "AttachReject")], "the fifth expiry");
    let cause = GmmCause::NetworkFailure;
    assert_eq!(network.only(), AttachReject { cause, t3302: None }.into());
    assert!(network.is_released());
    assert_eq!((network.drops(Drop::GmmNoAnswer), network.drops(Drop::GmmRejected)), (1, 1));
    let mut network = ordered();
    assert_eq!(network.pass(30).len(), 4, "nobody is told what it has not asked for");
    assert_eq!(network.context.gmm_state(), GmmState::Registered);
    // A routing area update.
    let mut network = Network::attached();
    network.cfg.authenticate_updates = true;
    network.subscriber = AuthDecision::Challenge(challenge());
    network.message(update_request(UpdateKind::Ra));
    assert_eq!(network.sent(), ["AuthenticationRequest"]);
    assert_eq!(network.pass(30).last(), Some(&(30, "RauReject")));
    assert_eq!(network.context.gmm_state(), GmmState::Registered);
}

#[test]
fn c4_7_7_6_c_collision_with_attach() {
    let mut network = ordered();
    network.subscriber = AuthDecision::Accept;
    network.message(attach_by_imsi());
    assert_eq!(network.sent(), ["AttachAccept"], "the authentication is aborted");
}

#[test]
fn c4_7_7_6_d_collision_with_the_attach_that_caused_it() {
    let mut network = attaching();
    network.message(attach_by_imsi());
    assert_eq!((network.sent().len(), network.drops(Drop::GmmIgnored)), (0, 1), "the same: it goes on");
    assert_eq!(network.pass(6), [(6, "AuthenticationRequest")]);
    network.message(attach_with_another_element());
    assert_eq!(network.sent(), ["AuthenticationRequest"], "another one: it begins anew");
    assert_eq!(network.pass(29).len(), 4);
}

#[test]
fn c4_7_7_6_e_collision_with_detach() {
    for mut network in [attaching(), ordered()] {
        network.message(detach(DetachKindMo::Gprs, true));
        assert!(network.is_released(), "power off: the authentication is aborted");
    }
    for mut network in [attaching(), ordered()] {
        let asked = request(&network);
        network.message(detach(DetachKindMo::Gprs, false));
        assert_eq!(network.sent().len(), 0, "it is completed first");
        network.message(response(asked.reference));
        assert_eq!(network.sent(), ["DetachAcceptMo"]);
        assert!(network.is_released());
    }
    let mut network = attaching();
    network.message(detach(DetachKindMo::Gprs, false));
    network.pass(30);
    assert!(network.is_released(), "nothing stays of a mobile that was not attached");
    let mut network = ordered();
    network.message(detach(DetachKindMo::Gprs, false));
    network.pass(30);
    assert_eq!(network.context.gmm_state(), GmmState::Registered, "nobody has shown who it is");
}

#[test]
fn c4_7_7_6_collision_with_update() {
    let mut network = ordered();
    network.message(update_request(UpdateKind::Ra));
    assert_eq!(network.sent(), ["AuthenticationRequest"], "both are progressed");
    let asked = request(&network);
    network.message(response(asked.reference));
    assert_eq!(network.sent(), ["RauAccept"]);
}

#[test]
fn c4_7_7_6_f_mac_failure_and_gsm_authentication_unacceptable() {
    let mut network = attaching();
    network.message(failure(GmmCause::MacFailure, None));
    assert_eq!(network.questions.last(), Some(&AuthQuestion::Failure(AuthFailure::MacFailure)));
    assert_eq!(network.sent(), ["AuthenticationReject"]);
    let mut network = attaching();
    network.remedy = AuthDecision::Challenge(challenge());
    network.message(failure(GmmCause::GsmAuthenticationUnacceptable, None));
    assert_eq!(network.questions.last(), Some(&AuthQuestion::Failure(AuthFailure::GsmUnacceptable)));
    assert_eq!(network.sent(), ["AuthenticationRequest"], "with AUTN");
    // Known by its P-TMSI: is it the one?
    let mut network = ordered();
    network.message(failure(GmmCause::MacFailure, None));
    assert_eq!(network.only(), identity_request(IdentityType::Imsi).into());
}

#[test]
fn c4_7_7_6_g_synch_failure() {
    let mut network = attaching();
    network.remedy = AuthDecision::Challenge(challenge());
    network.message(failure(GmmCause::SynchFailure, Some(Auts([9; 14]))));
    assert_eq!(network.questions.last(), Some(&AuthQuestion::Failure(AuthFailure::Synch([9; 14]))));
    assert_eq!(network.sent(), ["AuthenticationRequest"]);
    network.message(failure(GmmCause::SynchFailure, Some(Auts([9; 14]))));
    assert_eq!(network.sent(), ["AuthenticationReject"], "a second one in a row");
    let mut network = attaching();
    network.message(failure(GmmCause::SynchFailure, None));
    assert_eq!(network.only(), GmmStatus { cause: GmmCause::ConditionalIeError }.into());
    assert_eq!(network.pass(6), [(6, "AuthenticationRequest")], "without AUTS it is no answer");
}

#[test]
fn c10_5_5_19_a_response_to_an_earlier_request() {
    let mut network = attaching();
    let asked = request(&network);
    network.message(response(AcReference(asked.reference.0 ^ 1)));
    assert_eq!((network.sent().len(), network.drops(Drop::GmmIgnored)), (0, 1));
    network.tlli = Tlli::random(1);
    network.message(response(asked.reference));
    assert_eq!(network.sent(), ["AttachAccept"]);
}
