//! Authentication and ciphering, the mobile's side: clauses 4.7.7.2, 4.7.7.4, 4.7.7.5, 4.7.7.5.1 and 4.7.7.6.

use crate::harness::*;
use gannet_machine::drops::Drop;
use gannet_proto::auth::{CardAnswer, Res};
use gannet_proto::gmm::ms::{GmmMsAction, GmmMsEvent, GmmMsState, Service};
use gannet_wire::id::CellId;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

const RAND: [u8; 16] = [1; 16];

fn res() -> CardAnswer {
    CardAnswer::Res(Res::from_start(&[1, 2, 3, 4, 5, 6, 7, 8]))
}

fn challenged(mobile: &mut Mobile, rand: [u8; 16], answer: CardAnswer) {
    mobile.message(authentication_request(rand));
    assert!(mobile.has(&GmmMsAction::AskSim { rand, autn: Some([8; 16]) }));
    mobile.event(GmmMsEvent::SimAnswer(answer));
}

fn barred() -> GmmMsAction {
    GmmMsAction::BarCell(CellId { rai: rai(7, 1), ci: 1 })
}

#[test]
fn c4_7_7_2_a_umts_challenge_in_each_state_with_a_link() {
    for mut mobile in [Mobile::attaching(), Mobile::attached(), Mobile::updating(), Mobile::detaching()] {
        challenged(&mut mobile, RAND, res());
        let GmmMessage::AuthenticationResponse(response) = mobile.only().0 else { panic!() };
        assert_eq!(response.reference, AcReference(5));
        assert_eq!(response.response, Some(AuthParameterResponse([1, 2, 3, 4])));
        assert_eq!(response.extended_response, Some(ExtendedResponse(Octets::from_start(&[5, 6, 7, 8]))));
        assert!(mobile.has(&GmmMsAction::Authenticated { algorithm: 0 }));
        assert_eq!(mobile.mobile.key_number(), Some(2), "clause 4.7.7.4: the key has this number");
    }
}

#[test]
fn c4_7_7_2_a_gsm_challenge() {
    let mut mobile = Mobile::attaching();
    mobile.message(AuthenticationRequest { autn: None, ..authentication_request(RAND) });
    assert_eq!(mobile.actions, [GmmMsAction::AskSim { rand: RAND, autn: None }]);
    mobile.event(GmmMsEvent::SimAnswer(CardAnswer::Sres([4, 3, 2, 1])));
    let GmmMessage::AuthenticationResponse(response) = mobile.only().0 else { panic!() };
    assert_eq!(response.response, Some(AuthParameterResponse([4, 3, 2, 1])));
    assert_eq!(response.extended_response, None);
}

#[test]
fn c4_7_7_2_t3316_keeps_the_answer_to_the_last_challenge() {
    let mut mobile = Mobile::attaching();
    challenged(&mut mobile, RAND, res());
    let first = mobile.only();
    mobile.message(authentication_request(RAND));
    assert_eq!(mobile.only(), first, "the card would take it for a replay");
    mobile.pass(30);
    mobile.message(authentication_request(RAND));
    assert_eq!(
        mobile.actions,
        [GmmMsAction::AskSim { rand: RAND, autn: Some([8; 16]) }],
        "T3316 has expired"
    );
}

#[test]
fn c4_7_7_2_an_order_to_cipher_without_a_challenge_needs_a_key() {
    let order = AuthenticationRequest {
        ciphering: CipheringAlgorithm(3),
        rand: None,
        cksn: None,
        autn: None,
        ..authentication_request(RAND)
    };
    let mut mobile = Mobile::attached();
    mobile.message(order.clone());
    assert_eq!(mobile.sent(), ["GmmStatus"]);
    challenged(&mut mobile, RAND, res());
    mobile.message(order);
    assert_eq!(mobile.sent(), ["AuthenticationResponse"]);
    assert!(mobile.has(&GmmMsAction::Authenticated { algorithm: 3 }));
}

#[test]
fn c4_7_7_5_not_accepted_by_the_network() {
    for mut mobile in [Mobile::attaching(), Mobile::attached(), Mobile::updating(), Mobile::detaching()] {
        mobile.message(AuthenticationReject {});
        assert_eq!(mobile.stands(), (GmmMsState::Deregistered, Service::NoImsi));
        assert_eq!((mobile.mobile.ptmsi(), mobile.mobile.key_number()), (None, None));
        assert_eq!(mobile.mobile.deadlines.next(), None);
        assert_eq!(mobile.drops(Drop::GmmAuthenticationFailed), 1);
    }
}

#[test]
fn c4_7_7_5_1_not_accepted_by_the_mobile() {
    for (answer, cause, auts) in [
        (CardAnswer::MacFailure, GmmCause::MacFailure, None),
        (CardAnswer::Unable, GmmCause::GsmAuthenticationUnacceptable, None),
        (CardAnswer::SynchFailure([9; 14]), GmmCause::SynchFailure, Some(Auts([9; 14]))),
    ] {
        let mut mobile = Mobile::attaching();
        challenged(&mut mobile, RAND, answer);
        assert_eq!(mobile.only().0, AuthenticationFailure { cause, auts }.into());
    }
}

#[test]
fn c4_7_7_6_f_t3318_time_out() {
    for answer in [CardAnswer::MacFailure, CardAnswer::Unable] {
        let mut mobile = Mobile::attaching();
        challenged(&mut mobile, RAND, answer);
        assert_eq!(mobile.pass(19), [], "T3310 is stopped");
        mobile.pass(1);
        assert_eq!(mobile.actions, [barred()]);
        assert_eq!(mobile.drops(Drop::GmmNotGenuine), 1);
        assert_eq!(mobile.pass(15), [(15, "AttachRequest")], "T3310 runs again");
    }
}

#[test]
fn c4_7_7_6_f_a_genuine_network_in_time() {
    let mut mobile = Mobile::attaching();
    challenged(&mut mobile, RAND, CardAnswer::MacFailure);
    mobile.pass(10);
    challenged(&mut mobile, [2; 16], res());
    assert_eq!(mobile.sent(), ["AuthenticationResponse"]);
    assert_eq!(mobile.pass(15), [(15, "AttachRequest")], "T3318 is stopped, T3310 runs again");
}

#[test]
fn c4_7_7_6_f_the_third_failure_in_a_row() {
    let mut mobile = Mobile::attaching();
    challenged(&mut mobile, [1; 16], CardAnswer::MacFailure);
    challenged(&mut mobile, [2; 16], CardAnswer::SynchFailure([0; 14]));
    assert!(!mobile.has(&barred()));
    challenged(&mut mobile, [3; 16], CardAnswer::MacFailure);
    assert!(mobile.has(&barred()));
}

#[test]
fn c4_7_7_6_g_t3320_time_out() {
    let mut mobile = Mobile::updating();
    challenged(&mut mobile, RAND, CardAnswer::SynchFailure([9; 14]));
    assert_eq!(mobile.pass(14), [], "T3330 is stopped");
    mobile.pass(1);
    assert_eq!(mobile.actions, [GmmMsAction::BarCell(CellId { rai: rai(7, 2), ci: 3 })]);
    assert_eq!(mobile.pass(15), [(15, "RauRequest")], "T3330 runs again");
}

#[test]
fn c4_7_7_6_g_resynchronised_in_time() {
    let mut mobile = Mobile::attaching();
    challenged(&mut mobile, RAND, CardAnswer::SynchFailure([9; 14]));
    challenged(&mut mobile, [2; 16], res());
    mobile.pass(14);
    assert_eq!(mobile.actions, [], "T3320 is stopped");
}

#[test]
fn c4_7_7_without_a_link_nothing_is_answered() {
    let mut mobile = Mobile::new();
    mobile.message(authentication_request(RAND));
    mobile.message(AuthenticationReject {});
    assert_eq!((mobile.actions.len(), mobile.drops(Drop::GmmUnexpected)), (0, 2));
}
