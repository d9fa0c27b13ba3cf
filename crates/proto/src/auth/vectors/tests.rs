//! Each vector once, each answer judged by what was asked.

use super::super::card::{Card, CardAnswer, GsmSim, Sim, Usim};
use super::super::comp128::Comp128;
use super::super::key::{Key64, Key128};
use super::super::milenage::Milenage;
use super::super::sqn::Sqn;
use super::*;
use gannet_wire::l3::ie::Octets;

const RULES: AuthRules = AuthRules { ciphers: Ciphers(0b1_1111), reuse_keys: true };
const K: Key128 = Key128([0x11; 16]);
const OPC: Key128 = Key128([0x22; 16]);

fn quintuplet(n: u8) -> Vector {
    let sqn = Sqn::new(u64::from(n), n);
    Vector::Umts(Quintuplet::generate(&Milenage::new(&K, &OPC), [n; 16], sqn, [0; 2]))
}

fn triplet(n: u8) -> Vector {
    Vector::Gsm(Triplet { rand: [n; 16], sres: [n; 4], kc: Key64([n; 8]) })
}

fn filled(vectors: impl IntoIterator<Item = Vector>) -> Vectors {
    let mut store = Vectors::default();
    for vector in vectors {
        store.add(vector).unwrap();
    }
    store
}

/// GEA1 to GEA3 with 0xe0, GEA4 too with 0xf0.
fn capability(second: u8) -> MsNetworkCapability {
    MsNetworkCapability(Octets::from_start(&[0xe5, second]))
}

fn claim(umts: bool, cksn: Option<u8>) -> AuthQuestion {
    AuthQuestion::Subscriber(Claim { cksn, umts, capability: capability(0xe0) })
}

fn challenge(next: Next) -> Challenge {
    let Next::Decide(AuthDecision::Challenge(challenge)) = next else { panic!("{next:?}") };
    challenge
}

fn answer(octets: &[u8]) -> AuthQuestion {
    AuthQuestion::Answer(Res::from_start(octets))
}

const ACCEPT: Next = Next::Decide(AuthDecision::Accept);
const MISMATCH: Next = Next::Decide(AuthDecision::Mismatch);

#[test]
fn a_vector_serves_once_and_for_its_repetition() {
    let mut store = filled([triplet(1), triplet(2)]);
    let first = challenge(store.decide(claim(false, None), RULES));
    assert_eq!((first.rand, first.autn, first.cksn, first.algorithm), ([1; 16], None, 0, 3));
    assert_eq!(challenge(store.decide(AuthQuestion::Repeat, RULES)), first);
    assert_eq!(store.decide(answer(&[1; 4]), RULES), ACCEPT);
    assert_eq!(store.key(), Some((0, Keys::Gsm(Key64([1; 8])))));
    assert_eq!(store.decide(answer(&[1; 4]), RULES), MISMATCH, "it was answered already");
    assert_eq!(store.decide(AuthQuestion::Repeat, RULES), MISMATCH);
    let second = challenge(store.decide(claim(false, None), RULES));
    assert_eq!((second.rand, second.cksn), ([2; 16], 1));
    assert_eq!(store.decide(claim(false, None), RULES), Next::Fetch(None), "that one was offered, too");
    assert_eq!(store.proceed(RULES), AuthDecision::Reject(GmmCause::NetworkFailure), "nothing came");
    assert_eq!(store.add(triplet(2)), Err(VectorRefused::Replayed));
    store.add(triplet(3)).unwrap();
    assert!(matches!(store.proceed(RULES), AuthDecision::Challenge(third) if third.rand == [3; 16]));
}

#[test]
fn replays_and_too_many_are_refused() {
    let mut store = filled((0..5).map(triplet));
    assert_eq!(store.add(triplet(4)), Err(VectorRefused::Replayed));
    assert_eq!(store.add(triplet(5)), Err(VectorRefused::Full));
    challenge(store.decide(claim(false, None), RULES));
    assert_eq!(store.add(triplet(0)), Err(VectorRefused::Replayed));
    assert_eq!((store.add(triplet(5)), store.unused()), (Ok(()), 5));
    for n in 6..100 {
        challenge(store.decide(claim(false, None), RULES));
        store.add(triplet(n)).unwrap();
    }
    assert_eq!((store.unused(), store.recent.len()), (VECTORS_MAX, RECENT_MAX), "bounded");
    assert!(VectorRefused::Full.to_string() != VectorRefused::Replayed.to_string());
}

#[test]
fn a_wrong_answer_ends_the_vector_and_the_key() {
    let mut store = filled([triplet(1), triplet(2), triplet(3)]);
    challenge(store.decide(claim(false, None), RULES));
    assert_eq!(store.decide(answer(&[1; 4]), RULES), ACCEPT);
    for wrong in [&[2, 2, 2, 3][..], &[2; 3], &[]] {
        let mut store = store.clone();
        challenge(store.decide(claim(false, None), RULES));
        assert_eq!(store.decide(answer(wrong), RULES), MISMATCH);
        assert_eq!((store.key(), store.unused()), (None, 1));
    }
}

#[test]
fn a_gsm_mobile_of_a_umts_subscriber_answers_with_sres() {
    let mut store = filled([quintuplet(1)]);
    let asked = challenge(store.decide(claim(false, None), RULES));
    assert_eq!(asked.autn, None);
    let mut card = Usim::new(K, OPC);
    let outcome = card.answer(&asked.rand, None);
    let CardAnswer::Sres(sres) = outcome.answer else { panic!() };
    assert_eq!(store.decide(answer(&sres), RULES), ACCEPT);
    assert_eq!(store.key().map(|(_, keys)| keys), outcome.keys);
}

fn res_of(challenge: &Challenge) -> (Res, Keys) {
    let outcome = Usim::new(K, OPC).answer(&challenge.rand, challenge.autn.as_ref());
    let CardAnswer::Res(res) = outcome.answer else { panic!() };
    (res, outcome.keys.unwrap())
}

#[test]
fn a_umts_challenge_is_answered_with_all_of_res() {
    let mut store = filled([quintuplet(1)]);
    let first = challenge(store.decide(claim(true, None), RULES));
    let (res, keys) = res_of(&first);
    assert!(store.asks_umts());
    for wrong in [&res.as_slice()[..4], &res.as_slice()[..5], &[0; 4], &[]] {
        let mut store = store.clone();
        assert_eq!(store.decide(answer(wrong), RULES), MISMATCH);
        assert_eq!((store.key(), store.knows_umts()), (None, false));
    }
    assert_eq!(store.decide(AuthQuestion::Answer(res), RULES), ACCEPT);
    assert_eq!((store.key(), store.knows_umts()), (Some((first.cksn, keys)), true));
}

/// 33.102 clause 6.8.1.1: the mobile does not read AUTN.
#[test]
fn a_mobile_without_umts_aka_answers_a_umts_challenge_with_sres() {
    let mut store = filled([quintuplet(1)]);
    let asked = challenge(store.decide(claim(true, None), RULES));
    let CardAnswer::Sres(sres) = Usim::new(K, OPC).answer(&asked.rand, None).answer else { panic!() };
    assert_eq!(sres, super::super::aka::c2(&res_of(&asked).0));
    assert_eq!(store.decide(answer(&sres), RULES), ACCEPT);
    let Some((cksn, Keys::Gsm(kc))) = store.key() else { panic!() };
    assert_eq!((cksn, kc), (asked.cksn, res_of(&asked).1.kc()), "Kc by c3");
    assert!(!store.knows_umts());
}

#[test]
fn who_has_shown_umts_aka_does_not_pass_with_sres() {
    let mut store = filled([quintuplet(1), quintuplet(2)]);
    let first = challenge(store.decide(claim(true, None), RULES));
    assert_eq!(store.decide(AuthQuestion::Answer(res_of(&first).0), RULES), ACCEPT);
    let second = challenge(store.decide(claim(true, None), RULES));
    let CardAnswer::Sres(sres) = Usim::new(K, OPC).answer(&second.rand, None).answer else { panic!() };
    assert_eq!(store.decide(answer(&sres), RULES), MISMATCH);
    assert_eq!(store.key(), None);
    // In another context of the same subscriber, too.
    let mut other = filled([quintuplet(3)]);
    other.note_umts(store.knows_umts());
    let third = challenge(other.decide(claim(true, None), RULES));
    let CardAnswer::Sres(sres) = Usim::new(K, OPC).answer(&third.rand, None).answer else { panic!() };
    assert_eq!(other.decide(answer(&sres), RULES), MISMATCH);
}

#[test]
fn a_gsm_security_context_never_has_gea4() {
    let with_gea4 = AuthQuestion::Subscriber(Claim { cksn: None, umts: true, capability: capability(0xf0) });
    let mut store = filled([quintuplet(1)]);
    let asked = challenge(store.decide(with_gea4, RULES));
    assert_eq!(asked.algorithm, 4);
    let CardAnswer::Sres(sres) = Usim::new(K, OPC).answer(&asked.rand, None).answer else { panic!() };
    let mut gea4_alone = store.clone();
    let cipher = Next::Decide(AuthDecision::SetCipher { algorithm: 3 });
    assert_eq!(store.decide(answer(&sres), RULES), cipher);
    assert_eq!(store.decide(AuthQuestion::Repeat, RULES), cipher);
    assert!(matches!(store.key(), Some((_, Keys::Gsm(_)))));
    let rules = AuthRules { ciphers: Ciphers(0b1_0000), ..RULES };
    let refused = Next::Decide(AuthDecision::Reject(GmmCause::ProtocolError));
    assert_eq!(gea4_alone.decide(answer(&sres), rules), refused);
}

#[test]
fn key_numbers_go_from_0_to_6_and_never_meet_the_mobiles() {
    let mut store = Vectors::default();
    let mut given = Vec::new();
    for n in 0..16 {
        store.add(triplet(n)).unwrap();
        given.push(challenge(store.decide(claim(false, None), RULES)).cksn);
    }
    assert_eq!(given, [0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 0, 1]);
    store.add(triplet(16)).unwrap();
    assert_eq!(challenge(store.decide(claim(false, Some(2)), RULES)).cksn, 3);
}

#[test]
fn a_key_that_both_have_is_used_again() {
    let mut store = filled([quintuplet(1)]);
    let first = challenge(store.decide(claim(false, None), RULES));
    let CardAnswer::Sres(sres) = Usim::new(K, OPC).answer(&first.rand, None).answer else { panic!() };
    assert_eq!(store.decide(answer(&sres), RULES), ACCEPT);
    let cipher = Next::Decide(AuthDecision::SetCipher { algorithm: 3 });
    assert_eq!(store.decide(claim(false, Some(0)), RULES), cipher);
    assert_eq!(store.decide(AuthQuestion::Repeat, RULES), cipher);
    assert_eq!(store.decide(answer(&sres), RULES), MISMATCH, "nothing was asked");
    let plain = AuthRules { ciphers: Ciphers::NONE, ..RULES };
    assert_eq!(store.decide(claim(false, Some(0)), plain), ACCEPT);
    for (cksn, rules) in
        [(Some(1), RULES), (None, RULES), (Some(0), AuthRules { reuse_keys: false, ..RULES })]
    {
        assert_eq!(store.decide(claim(false, cksn), rules), Next::Fetch(None));
    }
}

#[test]
fn the_cipher_is_the_highest_that_both_have() {
    let mobile = capability(0xe0);
    let gea4 = capability(0xf0);
    for (allowed, capability, umts, chosen) in [
        (0b1_1111, mobile, true, Some(3)),
        (0b1_1111, gea4, true, Some(4)),
        (0b1_1111, gea4, false, Some(3)),
        (0b0_0111, gea4, true, Some(2)),
        (0b0_0001, gea4, true, Some(0)),
        (0b1_0000, mobile, true, None),
        (0b1_0000, gea4, false, None),
    ] {
        assert_eq!(Ciphers(allowed).choose(&capability, umts), chosen, "{allowed:b}");
    }
    let mut store = filled([triplet(1)]);
    let rules = AuthRules { ciphers: Ciphers(0b1_0000), reuse_keys: true };
    let refused = Next::Decide(AuthDecision::Reject(GmmCause::ProtocolError));
    assert_eq!(store.decide(claim(true, None), rules), refused);
    assert_eq!(store.unused(), 1, "nothing was used up");
}

#[test]
fn a_card_that_is_out_of_step_deletes_what_is_unused() {
    let mut store = filled([quintuplet(1), quintuplet(2)]);
    let first = challenge(store.decide(claim(true, None), RULES));
    let resynchronisation = Resynchronisation { rand: first.rand, auts: [9; 14] };
    let synch = AuthQuestion::Failure(AuthFailure::Synch([9; 14]));
    assert_eq!(store.decide(synch, RULES), Next::Fetch(Some(resynchronisation)));
    assert_eq!(store.unused(), 0);
    assert_eq!(store.add(quintuplet(1)), Err(VectorRefused::Replayed));
    store.add(quintuplet(3)).unwrap();
    assert!(matches!(store.proceed(RULES), AuthDecision::Challenge(second) if second.autn.is_some()));
    let mut gsm = filled([triplet(1), triplet(2)]);
    challenge(gsm.decide(claim(true, None), RULES));
    assert_eq!(gsm.decide(synch, RULES), MISMATCH, "there was no AUTN to be out of step with");
    assert_eq!(gsm.decide(synch, RULES), MISMATCH, "nothing is outstanding");
    assert_eq!(gsm.unused(), 1);
}

#[test]
fn a_card_without_gsm_access_gets_autn() {
    let failure = AuthQuestion::Failure(AuthFailure::GsmUnacceptable);
    let mut store = filled([quintuplet(1), quintuplet(2)]);
    assert_eq!(challenge(store.decide(claim(false, None), RULES)).autn, None);
    assert!(challenge(store.decide(failure, RULES)).autn.is_some());
    assert_eq!(store.decide(failure, RULES), MISMATCH, "it had AUTN");
    let mut gsm = filled([triplet(1), triplet(2)]);
    challenge(gsm.decide(claim(true, None), RULES));
    assert_eq!(gsm.decide(failure, RULES), MISMATCH, "there is no AUTN");
    let mut failed = filled([quintuplet(1), quintuplet(2)]);
    challenge(failed.decide(claim(true, None), RULES));
    assert_eq!(failed.decide(AuthQuestion::Failure(AuthFailure::MacFailure), RULES), MISMATCH);
}

#[test]
fn a_store_survives_a_restart_and_prints_no_secret() {
    let mut store = filled([triplet(0xa5), quintuplet(1)]);
    challenge(store.decide(claim(true, None), RULES));
    assert_eq!(store.decide(answer(&[0xa5; 4]), RULES), ACCEPT);
    let octets = postcard::to_allocvec(&store).unwrap();
    assert_eq!(postcard::from_bytes::<Vectors>(&octets).unwrap(), store);
    let printed = format!("{store:?}");
    assert!(printed.contains("Umts(Quintuplet(..))") && printed.contains("Gsm(Key64(..))"), "{printed}");
    let card = Card::Sim(GsmSim { algorithm: Comp128::V3, ki: K });
    assert_eq!(postcard::from_bytes::<Card>(&postcard::to_allocvec(&card).unwrap()).unwrap(), card);
}
