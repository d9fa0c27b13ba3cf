//! Clause 4.7.7, from the network's side.

use super::*;
use crate::auth::{AuthFailure, Challenge, Claim, Res};

const GSM: AuthDecision =
    AuthDecision::Challenge(Challenge { rand: [7; 16], autn: None, cksn: 2, algorithm: 3 });
const UMTS: AuthDecision =
    AuthDecision::Challenge(Challenge { rand: [7; 16], autn: Some([8; 16]), cksn: 2, algorithm: 3 });

fn challenged(decision: AuthDecision) -> Network {
    let mut bench = Network::new();
    says(&mut bench, decision);
    bench.message(attach_by_imsi());
    assert_eq!(bench.sent(), ["AuthenticationRequest"]);
    assert_eq!(bench.context.gmm_state(), GmmState::CommonProcedureInitiated);
    bench
}

/// A mobile that attaches with the P-TMSI that it was given.
fn known_by_ptmsi(decision: AuthDecision) -> Network {
    let mut bench = Network::attached();
    let old_ptmsi_signature = bench.context.rest.current.and_then(TemporaryIdentity::signature);
    let request = attach_request(MobileIdentity::PTmsi(bench.context.ptmsi().unwrap()));
    says(&mut bench, decision);
    bench.message(AttachRequest { old_ptmsi_signature, ..request });
    assert_eq!(bench.sent(), ["AuthenticationRequest"]);
    bench
}

fn response(bench: &Network, octets: &[u8]) -> AuthenticationResponse {
    AuthenticationResponse {
        reference: AcReference(bench.context.rest.ticket.0 & 0x0f),
        response: octets.first_chunk().copied().map(AuthParameterResponse),
        imeisv: None,
        extended_response: octets
            .get(4..)
            .filter(|more| !more.is_empty())
            .map(|more| ExtendedResponse(Octets::from_start(more))),
    }
}

fn failure(cause: GmmCause, auts: Option<Auts>) -> AuthenticationFailure {
    AuthenticationFailure { cause, auts }
}

fn questions(bench: &Network) -> Vec<AuthQuestion> {
    bench
        .actions
        .iter()
        .filter_map(|action| match action {
            GmmAction::AskAuth { question, .. } => Some(*question),
            _ => None,
        })
        .collect()
}

#[test]
fn the_service_learns_what_the_mobile_says_of_itself() {
    let mut bench = Network::new();
    bench.message(AttachRequest { cksn: Cksn(4), ..attach_by_imsi() });
    let capability = MsNetworkCapability::typical();
    let claim = Claim { cksn: Some(4), umts: true, capability };
    assert_eq!(questions(&bench), [AuthQuestion::Subscriber(claim)]);
    let mut bench = Network::new();
    let capability = MsNetworkCapability(Octets::from_start(&[0xe4]));
    bench.message(AttachRequest { ms_network_capability: capability, ..attach_by_imsi() });
    assert_eq!(questions(&bench), [AuthQuestion::Subscriber(Claim { cksn: None, umts: false, capability })]);
}

#[test]
fn gsm_authentication_of_clause_4_7_7() {
    let mut bench = challenged(GSM);
    let Some(GmmMessage::AuthenticationRequest(first)) = bench.messages().first().copied().cloned() else {
        panic!()
    };
    assert_eq!((first.rand, first.cksn, first.autn), (Some(Rand([7; 16])), Some(Cksn(2)), None));
    assert_eq!(first.ciphering, CipheringAlgorithm(3));
    bench.pass(6);
    assert_eq!(questions(&bench), [AuthQuestion::Repeat], "T3360: the service is asked again");
    assert_eq!(bench.messages(), [&first.into()], "with the same A&C reference number");
    says(&mut bench, AuthDecision::Accept);
    let response = response(&bench, &[1, 2, 3, 4]);
    bench.message(response);
    assert_eq!(questions(&bench), [AuthQuestion::Answer(Res::from_start(&[1, 2, 3, 4]))]);
    assert!(bench.has(&GmmAction::Authenticated));
    assert_eq!(bench.sent(), ["AttachAccept"]);
}

#[test]
fn umts_authentication_of_clause_4_7_7() {
    let mut bench = challenged(UMTS);
    assert!(matches!(
        bench.messages()[..],
        [GmmMessage::AuthenticationRequest(AuthenticationRequest { autn: Some(Autn([8, ..])), .. })]
    ));
    says(&mut bench, AuthDecision::Accept);
    let response = response(&bench, &[1, 2, 3, 4, 5, 6, 7, 8]);
    bench.message(response);
    assert_eq!(questions(&bench), [AuthQuestion::Answer(Res::from_start(&[1, 2, 3, 4, 5, 6, 7, 8]))]);
    assert_eq!(bench.sent(), ["AttachAccept"]);
}

#[test]
fn only_the_cipher_is_set_where_both_have_the_key() {
    let mut bench = challenged(AuthDecision::SetCipher { algorithm: 2 });
    let request = |message: &GmmMessage| {
        let GmmMessage::AuthenticationRequest(request) = message else { panic!() };
        (request.rand, request.cksn, request.ciphering.0)
    };
    assert_eq!(request(bench.messages()[0]), (None, None, 2));
    bench.pass(6);
    assert_eq!(
        (questions(&bench), request(bench.messages()[0])),
        (vec![AuthQuestion::Repeat], (None, None, 2))
    );
    let response = response(&bench, &[]);
    bench.message(response);
    assert_eq!(questions(&bench), [], "there is nothing to compare");
    assert!(bench.has(&GmmAction::Authenticated));
    assert_eq!(bench.sent(), ["AttachAccept"]);
}

#[test]
fn a_response_to_an_earlier_request_is_none_of_clause_10_5_5_19() {
    let mut bench = challenged(GSM);
    let mut early = response(&bench, &[1, 2, 3, 4]);
    early.reference.0 ^= 1;
    bench.message(early);
    assert_eq!((bench.actions.len(), bench.drops(Drop::GmmIgnored)), (0, 1));
    bench.pass(6);
    assert_eq!(bench.sent(), ["AuthenticationRequest"], "T3360 goes on");
}

#[test]
fn a_wrong_answer_is_rejected_of_clause_4_7_7_5() {
    let mut bench = challenged(GSM);
    says(&mut bench, AuthDecision::Mismatch);
    let response = response(&bench, &[0; 4]);
    bench.message(response);
    assert_eq!(bench.sent(), ["AuthenticationReject"]);
    assert!(!bench.has(&GmmAction::Authenticated));
    assert!(bench.has(&GmmAction::Released) && bench.drops(Drop::GmmAuthenticationFailed) == 1);
}

#[test]
fn a_mobile_known_by_its_p_tmsi_is_asked_who_it_is_of_clause_4_7_7_5() {
    for by_failure in [false, true] {
        let mut bench = known_by_ptmsi(UMTS);
        says(&mut bench, AuthDecision::Mismatch);
        let wrong = response(&bench, &[0; 8]);
        if by_failure {
            bench.message(failure(GmmCause::MacFailure, None));
        } else {
            bench.message(wrong);
        }
        assert_eq!(bench.sent(), ["IdentityRequest"]);
        let mut same = bench;
        let mut other = known_by_ptmsi(UMTS);
        same.message(IdentityResponse { identity: MobileIdentity::Imsi(imsi()) });
        assert_eq!(same.sent(), ["AuthenticationReject"], "the P-TMSI was its own");
        other.message(failure(GmmCause::MacFailure, None));
        let imsi = "001010000000043".parse().unwrap();
        other.message(IdentityResponse { identity: MobileIdentity::Imsi(imsi) });
        assert_eq!(other.sent(), ["AuthenticationRequest"], "the right subscriber's challenge");
        assert!(other.has(&GmmAction::IdentityIsKnown { imsi }));
        says(&mut other, AuthDecision::Mismatch);
        other.message(failure(GmmCause::MacFailure, None));
        assert_eq!(questions(&other), [AuthQuestion::Failure(AuthFailure::MacFailure)]);
        assert_eq!(other.sent(), ["AuthenticationReject"]);
    }
}

#[test]
fn synch_failure_is_mended_once_of_clause_4_7_7_6_g() {
    let mut bench = challenged(UMTS);
    bench.message(failure(GmmCause::SynchFailure, Some(Auts([9; 14]))));
    assert_eq!(questions(&bench), [AuthQuestion::Failure(AuthFailure::Synch([9; 14]))]);
    assert_eq!(bench.sent(), ["AuthenticationRequest"], "with a fresh vector");
    bench.message(failure(GmmCause::SynchFailure, Some(Auts([9; 14]))));
    assert_eq!((questions(&bench), bench.sent()), (vec![], vec!["AuthenticationReject"]));
    let mut pending = challenged(UMTS);
    says(&mut pending, AuthDecision::Pending);
    pending.message(failure(GmmCause::SynchFailure, Some(Auts([9; 14]))));
    assert_eq!(pending.context.rest.deadlines.next(), None, "the service answers in any case");
    let late = GmmEvent::AuthAnswer { ticket: pending.context.rest.ticket, decision: UMTS };
    pending.event(late);
    assert_eq!(pending.sent(), ["AuthenticationRequest"]);
}

#[test]
fn synch_failure_without_auts_is_no_answer() {
    let mut bench = challenged(UMTS);
    bench.message(failure(GmmCause::SynchFailure, None));
    let status: GmmMessage = GmmStatus { cause: GmmCause::ConditionalIeError }.into();
    assert_eq!((bench.messages(), bench.drops(Drop::GmmMalformed)), (vec![&status], 1));
    bench.pass(6);
    assert_eq!(bench.sent(), ["AuthenticationRequest"], "T3360 goes on");
}

#[test]
fn gsm_authentication_unacceptable_of_clause_4_7_7_6_f() {
    let mut bench = challenged(GSM);
    says(&mut bench, UMTS);
    bench.message(failure(GmmCause::GsmAuthenticationUnacceptable, None));
    assert_eq!(questions(&bench), [AuthQuestion::Failure(AuthFailure::GsmUnacceptable)]);
    assert_eq!(bench.sent(), ["AuthenticationRequest"]);
    bench.message(failure(GmmCause::GsmAuthenticationUnacceptable, None));
    assert_eq!(bench.sent(), ["AuthenticationReject"], "once is enough");
    let mut other = challenged(GSM);
    other.message(failure(GmmCause::ProtocolError, None));
    assert_eq!(other.sent(), ["AuthenticationReject"]);
}

#[test]
fn authentication_without_an_answer_ends_the_attach_of_clause_4_7_7_6_b() {
    let mut bench = challenged(GSM);
    bench.pass(29);
    assert_eq!(bench.sent(), ["AuthenticationRequest"; 4]);
    bench.pass(1);
    assert_eq!(bench.sent(), ["AttachReject"]);
    assert!(bench.has(&GmmAction::Released));
    let mut failed = challenged(GSM);
    failed.event(GmmEvent::LowerLayerFailure);
    assert!(failed.has(&GmmAction::Released), "case a");
}

#[test]
fn a_new_attach_ends_the_authentication_of_the_former_of_clause_4_7_7_6_c() {
    let mut bench = challenged(GSM);
    let former = response(&bench, &[1; 4]);
    bench.message(AttachRequest { cksn: Cksn(1), ..attach_by_imsi() });
    assert_eq!(bench.sent(), ["AuthenticationRequest"]);
    bench.message(former);
    assert_eq!((bench.actions.len(), bench.drops(Drop::GmmIgnored)), (0, 1));
}

#[test]
fn a_late_answer_of_the_service_is_ignored() {
    let mut bench = Network::attached();
    let decision = AuthDecision::Reject(GmmCause::IllegalMs);
    bench.event(GmmEvent::AuthAnswer { ticket: bench.context.rest.ticket, decision });
    assert_eq!((bench.actions.len(), bench.drops(Drop::GmmIgnored)), (0, 1));
    let mut bench = Network::new();
    says(&mut bench, AuthDecision::Pending);
    bench.message(attach_by_imsi());
    let former = bench.context.rest.ticket;
    bench.message(AttachRequest { cksn: Cksn(1), ..attach_by_imsi() });
    bench.event(GmmEvent::AuthAnswer { ticket: former, decision: AuthDecision::Accept });
    assert_eq!((bench.actions.len(), bench.drops(Drop::GmmIgnored)), (0, 1), "the question was another one");
    bench.event(GmmEvent::AuthAnswer { ticket: bench.context.rest.ticket, decision: AuthDecision::Accept });
    assert_eq!(bench.sent(), ["AttachAccept"]);
}
