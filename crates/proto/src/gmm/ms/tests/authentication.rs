//! Clause 4.7.7, from the mobile's side.

use super::*;
use crate::auth::{CardAnswer, Res};

const RAND: [u8; 16] = [9; 16];

fn challenge(rand: Option<[u8; 16]>, autn: Option<[u8; 16]>) -> AuthenticationRequest {
    AuthenticationRequest {
        ciphering: CipheringAlgorithm(3),
        imeisv_request: ImeisvRequest::NotRequested,
        force_to_standby: ForceToStandby::NotIndicated,
        reference: AcReference(5),
        rand: rand.map(Rand),
        cksn: Some(Cksn(1)),
        autn: autn.map(Autn),
    }
}

/// A challenge with AUTN, and the card's answer.
fn challenged(bench: &mut Mobile, rand: [u8; 16], answer: CardAnswer) {
    bench.message(challenge(Some(rand), Some([8; 16])));
    assert!(bench.has(&GmmMsAction::AskSim { rand, autn: Some([8; 16]) }));
    bench.event(GmmMsEvent::SimAnswer(answer));
}

fn res() -> CardAnswer {
    CardAnswer::Res(Res::from_start(&[1, 2, 3, 4, 5, 6, 7, 8]))
}

fn response(extended_response: Option<ExtendedResponse>) -> GmmMessage {
    AuthenticationResponse {
        reference: AcReference(5),
        response: Some(AuthParameterResponse([1, 2, 3, 4])),
        imeisv: None,
        extended_response,
    }
    .into()
}

fn umts_response() -> GmmMessage {
    response(Some(ExtendedResponse(Octets::from_start(&[5, 6, 7, 8]))))
}

fn messages(bench: &Mobile) -> Vec<&GmmMessage> {
    bench
        .actions
        .iter()
        .filter_map(|action| match action {
            GmmMsAction::Send { message, .. } => Some(message),
            _ => None,
        })
        .collect()
}

fn failure(cause: GmmCause, auts: Option<Auts>) -> GmmMessage {
    AuthenticationFailure { cause, auts }.into()
}

#[test]
fn gsm_authentication_of_clause_4_7_7_2() {
    let mut bench = Mobile::attaching();
    assert_eq!(bench.mobile.key_number(), None);
    bench.message(challenge(Some(RAND), None));
    assert_eq!(bench.actions, [GmmMsAction::AskSim { rand: RAND, autn: None }]);
    bench.event(GmmMsEvent::SimAnswer(CardAnswer::Sres([1, 2, 3, 4])));
    assert_eq!(messages(&bench), [&response(None)]);
    assert!(bench.has(&GmmMsAction::Authenticated { algorithm: 3 }));
    assert_eq!(bench.mobile.key_number(), Some(1));
    bench.event(GmmMsEvent::SimAnswer(CardAnswer::Sres([1, 2, 3, 4])));
    assert_eq!((bench.actions.len(), bench.drops(Drop::GmmIgnored)), (0, 1), "nobody asked");
    bench.message(challenge(Some(RAND), None));
    assert_eq!(bench.actions.len(), 1, "a GSM challenge is never answered from memory");
    bench.event(GmmMsEvent::SimAnswer(CardAnswer::Sres([1, 2, 3, 4])));
    bench.pass(15);
    assert!(
        bench.actions.iter().any(|action| matches!(
            action,
            GmmMsAction::Send { message: GmmMessage::AttachRequest(request), .. } if request.cksn == Cksn(1)
        )),
        "T3310: the next request says which key the mobile has"
    );
}

#[test]
fn umts_authentication_and_t3316_of_clause_4_7_7_2() {
    let mut bench = Mobile::attached();
    challenged(&mut bench, RAND, res());
    assert_eq!(messages(&bench), [&umts_response()]);
    bench.message(challenge(Some(RAND), Some([8; 16])));
    assert_eq!(messages(&bench), [&umts_response()], "the same RAND: the card is not asked again");
    assert!(bench.has(&GmmMsAction::Authenticated { algorithm: 3 }));
    bench.pass(30);
    challenged(&mut bench, RAND, res());
    challenged(&mut bench, [10; 16], res());
    challenged(&mut bench, RAND, res());
    // A routing area update has succeeded: RAND and RES are deleted.
    bench.event(GmmMsEvent::CellSelected(cell(7, 2, 2)));
    bench.message(update_accept(cell(7, 2, 2).rai, None));
    challenged(&mut bench, RAND, res());
}

#[test]
fn an_order_to_cipher_needs_a_key() {
    let mut bench = Mobile::attached();
    bench.message(challenge(None, None));
    assert_eq!((bench.sent(), bench.drops(Drop::GmmUnexpected)), (vec!["GmmStatus"], 1));
    challenged(&mut bench, RAND, res());
    bench.message(challenge(None, None));
    assert_eq!(bench.sent(), ["AuthenticationResponse"]);
    assert!(bench.has(&GmmMsAction::Authenticated { algorithm: 3 }));
    let mut plain = Mobile::attached();
    plain.message(AuthenticationRequest { ciphering: CipheringAlgorithm(0), ..challenge(None, None) });
    assert!(plain.has(&GmmMsAction::Authenticated { algorithm: 0 }));
}

#[test]
fn mac_failure_and_t3318_of_clause_4_7_7_6_f() {
    for (answer, cause) in [
        (CardAnswer::MacFailure, GmmCause::MacFailure),
        (CardAnswer::Unable, GmmCause::GsmAuthenticationUnacceptable),
    ] {
        let mut bench = Mobile::attaching();
        challenged(&mut bench, RAND, answer);
        assert_eq!(messages(&bench), [&failure(cause, None)]);
        bench.pass(19);
        assert_eq!(bench.actions, [], "T3310 is stopped");
        bench.pass(1);
        assert_eq!(bench.actions, [GmmMsAction::BarCell(cell(7, 1, 1))], "T3318");
        assert_eq!(bench.drops(Drop::GmmNotGenuine), 1);
        bench.pass(15);
        assert_eq!(bench.sent(), ["AttachRequest"], "T3310 began anew");
    }
}

#[test]
fn a_genuine_network_mends_a_mac_failure() {
    let mut bench = Mobile::attaching();
    challenged(&mut bench, RAND, CardAnswer::MacFailure);
    bench.pass(10);
    challenged(&mut bench, [10; 16], res());
    assert_eq!(messages(&bench), [&umts_response()]);
    bench.pass(14);
    assert_eq!(bench.actions, [], "T3318 is stopped");
    bench.pass(1);
    assert_eq!(bench.sent(), ["AttachRequest"], "T3310 went on from its beginning");
    assert_eq!(bench.drops(Drop::GmmNotGenuine), 0);
}

#[test]
fn synch_failure_and_t3320_of_clause_4_7_7_6_g() {
    let mut bench = Mobile::attached();
    challenged(&mut bench, RAND, CardAnswer::SynchFailure([6; 14]));
    assert_eq!(messages(&bench), [&failure(GmmCause::SynchFailure, Some(Auts([6; 14])))]);
    bench.pass(15);
    assert!(bench.has(&GmmMsAction::BarCell(cell(7, 1, 1))));
    assert_eq!(bench.stands(), (GmmMsState::Registered, Service::Normal), "nothing was in progress");
    challenged(&mut bench, RAND, CardAnswer::SynchFailure([6; 14]));
    challenged(&mut bench, [10; 16], res());
    bench.pass(29);
    assert!(!bench.has(&GmmMsAction::BarCell(cell(7, 1, 1))), "T3320 is stopped");
}

#[test]
fn the_third_failure_in_a_row_is_one_too_many_of_clause_4_7_7_6_f() {
    let mut bench = Mobile::attaching();
    challenged(&mut bench, RAND, CardAnswer::MacFailure);
    challenged(&mut bench, RAND, CardAnswer::SynchFailure([6; 14]));
    assert_eq!(bench.drops(Drop::GmmNotGenuine), 0);
    challenged(&mut bench, RAND, CardAnswer::MacFailure);
    assert_eq!(bench.sent(), ["AuthenticationFailure"]);
    assert!(bench.has(&GmmMsAction::BarCell(cell(7, 1, 1))) && bench.drops(Drop::GmmNotGenuine) == 1);
    challenged(&mut bench, RAND, CardAnswer::MacFailure);
    assert_eq!(bench.drops(Drop::GmmNotGenuine), 1, "counted from one again");
}

#[test]
fn authentication_reject_of_clause_4_7_7_5() {
    let mut bench = Mobile::attaching();
    challenged(&mut bench, RAND, res());
    bench.message(AuthenticationReject {});
    assert_eq!(bench.stands(), (GmmMsState::Deregistered, Service::NoImsi));
    assert_eq!(bench.drops(Drop::GmmAuthenticationFailed), 1);
    assert_eq!((bench.mobile.key_number(), bench.mobile.deadlines.next()), (None, None));
    bench.event(GmmMsEvent::Attach);
    assert_eq!(bench.actions, [], "not until the mobile was switched off");
    bench.event(GmmMsEvent::SimAnswer(CardAnswer::Unable));
    assert_eq!(bench.actions, [], "there is no link any more");
    bench.message(challenge(Some(RAND), None));
    assert_eq!((bench.actions.len(), bench.drops(Drop::GmmUnexpected)), (0, 1));
    bench.event(GmmMsEvent::Detach { power_off: true });
    bench.event(GmmMsEvent::Attach);
    assert_eq!(bench.sent(), ["AttachRequest"]);
}

#[test]
fn the_imeisv_is_told_where_it_is_asked_for() {
    let mut bench = Mobile::attached();
    let asked =
        |rand| AuthenticationRequest { imeisv_request: ImeisvRequest::Requested, ..challenge(rand, None) };
    let told = |bench: &Mobile| -> Option<MobileIdentity> {
        let Some(GmmMessage::AuthenticationResponse(response)) = messages(bench).pop() else { panic!() };
        response.imeisv
    };
    bench.message(asked(Some([1; 16])));
    bench.event(GmmMsEvent::SimAnswer(CardAnswer::Sres([1; 4])));
    assert_eq!(told(&bench), Some(MobileIdentity::Imeisv("4901542032375101".parse().unwrap())));
    bench.message(AuthenticationRequest { ciphering: CipheringAlgorithm(0), ..asked(None) });
    assert!(told(&bench).is_some());
    bench.message(AuthenticationRequest { ciphering: CipheringAlgorithm(0), ..challenge(None, None) });
    assert_eq!(told(&bench), None);
}
