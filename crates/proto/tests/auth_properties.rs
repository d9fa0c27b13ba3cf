//! Card and network agree for every key, challenge and sequence number.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use gannet_proto::auth::aka::{Quintuplet, UmtsKeys, open_auts};
use gannet_proto::auth::card::{CardAnswer, GsmSim, Keys, Sim, Usim};
use gannet_proto::auth::comp128::Comp128;
use gannet_proto::auth::key::Key128;
use gannet_proto::auth::milenage::Milenage;
use gannet_proto::auth::sqn::{Sqn, SqnCounter};
use proptest::prelude::*;

fn key() -> impl Strategy<Value = Key128> {
    any::<[u8; 16]>().prop_map(Key128)
}

/// SQNs that a new card accepts: SEQ is not 0 and does not jump too far.
fn sqn() -> impl Strategy<Value = Sqn> {
    (1_u64..=1 << 28, any::<u8>()).prop_map(|(seq, ind)| Sqn::new(seq, ind))
}

proptest! {
    #[test]
    fn a_card_accepts_its_network_once(k in key(), opc in key(), rand: [u8; 16], sqn in sqn(), amf: [u8; 2]) {
        let functions = Milenage::new(&k, &opc);
        let vector = Quintuplet::generate(&functions, rand, sqn, amf);
        let mut card = Usim::new(k, opc);
        let outcome = card.answer(&rand, Some(&vector.autn));
        prop_assert_eq!(outcome.answer, CardAnswer::Res(vector.xres));
        prop_assert_eq!(outcome.keys, Some(Keys::Umts(vector.keys)));
        prop_assert_eq!(outcome.keys.unwrap().kc128(), Some(vector.keys.kc128()));
        // A replay: AUTS says which SQN the card has, and brings the network back into step.
        let CardAnswer::SynchFailure(auts) = card.answer(&rand, Some(&vector.autn)).answer else {
            panic!("a replay was accepted")
        };
        prop_assert_eq!(open_auts(&functions, &rand, &auts), Some(sqn));
    }

    #[test]
    fn a_network_that_is_behind_is_brought_into_step(
        k in key(), opc in key(), rand: [u8; 16], sqn in sqn(), behind in 0_u64..1 << 28, ind: u8,
    ) {
        let functions = Milenage::new(&k, &opc);
        let mut card = Usim::new(k, opc);
        let first = Quintuplet::generate(&functions, rand, sqn, [0; 2]);
        prop_assert!(matches!(card.answer(&rand, Some(&first.autn)).answer, CardAnswer::Res(_)));
        // Where the network's next SQN is fresh by chance, for another IND, there is nothing to be mended.
        let mut network = SqnCounter::after(Sqn::new(behind.min(sqn.seq() - 1), ind));
        let mut agreed = false;
        for _ in 0..2 {
            let vector = Quintuplet::generate(&functions, rand, network.advance().unwrap(), [0; 2]);
            match card.answer(&rand, Some(&vector.autn)).answer {
                CardAnswer::Res(res) => {
                    prop_assert_eq!(res, vector.xres);
                    agreed = true;
                    break;
                }
                CardAnswer::SynchFailure(auts) => {
                    network.resynchronise(open_auts(&functions, &rand, &auts).unwrap());
                }
                other => panic!("{other:?}"),
            }
        }
        prop_assert!(agreed, "AUTS did not help");
    }

    #[test]
    fn a_flipped_bit_is_a_mac_failure(
        k in key(), opc in key(), rand: [u8; 16], sqn in sqn(), bit in 0_usize..256,
    ) {
        let functions = Milenage::new(&k, &opc);
        let vector = Quintuplet::generate(&functions, rand, sqn, [0x80, 0]);
        let (mut rand, mut autn) = (rand, vector.autn);
        let octet = if bit < 128 { &mut rand[bit / 8] } else { &mut autn[bit / 8 - 16] };
        *octet ^= 1 << (bit % 8);
        let mut card = Usim::new(k, opc);
        let outcome = card.answer(&rand, Some(&autn));
        prop_assert_eq!((outcome.answer, outcome.keys), (CardAnswer::MacFailure, None));
        prop_assert_eq!(card.sqn(), Sqn::default(), "nothing was accepted");
    }

    #[test]
    fn auts_with_a_flipped_bit_is_refused(k in key(), opc in key(), rand: [u8; 16], bit in 0_usize..112) {
        let functions = Milenage::new(&k, &opc);
        let mut card = Usim::new(k, opc);
        let stale = Quintuplet::generate(&functions, rand, Sqn::new(0, 1), [0; 2]);
        let CardAnswer::SynchFailure(mut auts) = card.answer(&rand, Some(&stale.autn)).answer else { panic!() };
        auts[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(open_auts(&functions, &rand, &auts), None);
    }

    #[test]
    fn a_umts_card_and_a_gsm_network_agree(k in key(), opc in key(), rand: [u8; 16], sqn in sqn()) {
        let triplet = Quintuplet::generate(&Milenage::new(&k, &opc), rand, sqn, [0; 2]).triplet();
        let outcome = Usim::new(k, opc).answer(&rand, None);
        prop_assert_eq!(outcome.answer, CardAnswer::Sres(triplet.sres));
        prop_assert_eq!(outcome.keys, Some(Keys::Gsm(triplet.kc)));
    }

    #[test]
    fn kc_of_comp128_ends_as_its_version_has_it(ki in key(), rand: [u8; 16]) {
        let answer = |algorithm| GsmSim { algorithm, ki }.answer(&rand, None);
        for algorithm in [Comp128::V1, Comp128::V2] {
            let kc = answer(algorithm).keys.unwrap().kc().0;
            prop_assert_eq!((kc[6] & 3, kc[7]), (0, 0), "ten zero bits");
        }
        let (two, three) = (answer(Comp128::V2), answer(Comp128::V3));
        prop_assert_eq!(two.answer, three.answer);
        prop_assert_eq!(two.keys.unwrap().kc().0[..6].to_vec(), three.keys.unwrap().kc().0[..6].to_vec());
    }

    #[test]
    fn kc128_depends_on_both_keys(ck in key(), ik in key(), bit in 0_usize..256) {
        let keys = UmtsKeys { ck, ik };
        let mut other = keys;
        let octet = if bit < 128 { &mut other.ck.0[bit / 8] } else { &mut other.ik.0[bit / 8 - 16] };
        *octet ^= 1 << (bit % 8);
        prop_assert_ne!(keys.kc128(), other.kc128());
    }
}
