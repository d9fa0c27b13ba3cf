//! Authentication against Debian's libosmogsm on random input.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use gannet_machine::rng::Rng;
use gannet_proto::auth::aka::{Quintuplet, Res, UmtsKeys, auts, c2, c4, open_auts};
use gannet_proto::auth::card::{CardAnswer, Sim, Usim};
use gannet_proto::auth::comp128::Comp128;
use gannet_proto::auth::key::Key128;
use gannet_proto::auth::milenage::{Milenage, opc};
use gannet_proto::auth::sqn::Sqn;
use gannet_testkit::osmogsm::{Osmogsm, hex, missing};
use gannet_testkit::{Case, Need};
use std::process::ExitCode;

const ROUNDS: u64 = 500;

fn octets<const N: usize>(dice: &mut Rng) -> [u8; N] {
    core::array::from_fn(|_| dice.u32().to_be_bytes()[0])
}

/// Changes one bit.
fn flip(octets: &mut [u8], dice: &mut Rng) {
    let bit = usize::from(dice.u32().to_be_bytes()[0]) % (8 * octets.len());
    octets[bit / 8] ^= 1 << (bit % 8);
}

fn key(dice: &mut Rng) -> Key128 {
    Key128(octets(dice))
}

fn comp128() {
    let (mut peer, mut dice) = (Osmogsm::start().unwrap(), Rng::seeded(1));
    for _ in 0..ROUNDS {
        let (ki, rand) = (key(&mut dice), octets(&mut dice));
        for (name, version) in
            [("comp128", Comp128::V1), ("comp128v2", Comp128::V2), ("comp128v3", Comp128::V3)]
        {
            let (sres, kc) = version.run(&ki, &rand);
            assert_eq!(peer.ask(name, &[&ki.0, &rand]), [hex(&sres), hex(&kc.0)], "{name}");
        }
    }
}

fn milenage() {
    let (mut peer, mut dice) = (Osmogsm::start().unwrap(), Rng::seeded(2));
    for _ in 0..ROUNDS {
        let (k, op, rand) = (key(&mut dice), key(&mut dice), octets(&mut dice));
        let (sqn, amf) = (octets(&mut dice), octets(&mut dice));
        let own = opc(&k, &op);
        let functions = Milenage::new(&k, &own);
        let (mac_a, mac_s) = functions.f1(&rand, sqn, amf);
        let answer = functions.f2345(&rand);
        let keys = UmtsKeys { ck: answer.ck, ik: answer.ik };
        let expected = [
            hex(&own.0),
            hex(&mac_a),
            hex(&mac_s),
            hex(&answer.res),
            hex(&answer.ck.0),
            hex(&answer.ik.0),
            hex(&answer.ak),
            hex(&functions.f5_star(&rand)),
            hex(&c2(&Res::from_start(&answer.res))),
            hex(&keys.kc().0),
        ];
        assert_eq!(peer.ask("milenage", &[&op.0, &k.0, &rand, &sqn, &amf]), expected);
    }
}

fn vectors() {
    let (mut peer, mut dice) = (Osmogsm::start().unwrap(), Rng::seeded(3));
    for _ in 0..ROUNDS {
        let (k, opc, rand) = (key(&mut dice), key(&mut dice), octets(&mut dice));
        let (sqn, amf) = (Sqn::from_octets(octets(&mut dice)), octets(&mut dice));
        let functions = Milenage::new(&k, &opc);
        let vector = Quintuplet::generate(&functions, rand, sqn, amf);
        let UmtsKeys { ck, ik } = vector.keys;
        let expected = [hex(&vector.autn), hex(&ik.0), hex(&ck.0), hex(vector.xres.as_slice())];
        assert_eq!(peer.ask("generate", &[&opc.0, &amf, &k.0, &sqn.octets(), &rand]), expected);
        let ask = |peer: &mut Osmogsm, highest: Sqn, autn: &[u8; 16]| {
            peer.ask("check", &[&opc.0, &k.0, &highest.octets(), &rand, autn])
        };
        let own = hex(&auts(&functions, &rand, sqn));
        assert_eq!(ask(&mut peer, sqn, &vector.autn), ["auts".to_owned(), own], "its own SQN is not fresh");
        // As a card that has accepted nothing yet: that library looks at SQN before it has looked at MAC.
        let new = Sqn::default();
        assert_eq!(ask(&mut peer, new, &vector.autn), [hex(vector.xres.as_slice())]);
        let mut wrong = vector.autn;
        flip(&mut wrong, &mut dice);
        assert_eq!(ask(&mut peer, new, &wrong), ["refused"]);
        let mut card = Usim::new(k, opc);
        assert_eq!(card.answer(&rand, Some(&wrong)).answer, CardAnswer::MacFailure);
    }
}

fn resynchronisation() {
    let (mut peer, mut dice) = (Osmogsm::start().unwrap(), Rng::seeded(4));
    for _ in 0..ROUNDS {
        let (k, opc, rand) = (key(&mut dice), key(&mut dice), octets(&mut dice));
        let sqn = Sqn::from_octets(octets(&mut dice));
        let functions = Milenage::new(&k, &opc);
        let mut own = auts(&functions, &rand, sqn);
        assert_eq!(peer.ask("auts", &[&opc.0, &k.0, &rand, &own]), [hex(&sqn.octets())]);
        assert_eq!(open_auts(&functions, &rand, &own), Some(sqn));
        flip(&mut own, &mut dice);
        assert_eq!(peer.ask("auts", &[&opc.0, &k.0, &rand, &own]), ["refused"]);
        assert_eq!(open_auts(&functions, &rand, &own), None);
    }
}

fn keys() {
    let (mut peer, mut dice) = (Osmogsm::start().unwrap(), Rng::seeded(5));
    for _ in 0..ROUNDS {
        let keys = UmtsKeys { ck: key(&mut dice), ik: key(&mut dice) };
        let kc = keys.kc();
        let expected = [hex(&kc.0), hex(&keys.kc128().0), hex(&c4(&kc).0)];
        assert_eq!(peer.ask("keys", &[&keys.ck.0, &keys.ik.0]), expected);
    }
}

fn main() -> ExitCode {
    const NEEDS: &[Need] = &[Need::That(missing)];
    const CASES: &[Case] = &[
        ("comp128_agrees_with_libosmogsm", NEEDS, comp128),
        ("milenage_agrees_with_libosmogsm", NEEDS, milenage),
        ("vectors_agree_with_libosmogsm", NEEDS, vectors),
        ("resynchronisation_agrees_with_libosmogsm", NEEDS, resynchronisation),
        ("converted_keys_agree_with_libosmogsm", NEEDS, keys),
    ];
    gannet_testkit::main(CASES)
}
