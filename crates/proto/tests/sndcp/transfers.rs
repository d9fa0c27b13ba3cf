//! A file of 200 kB through every combination of mode, cipher and compression, with and without loss.

use crate::harness::{BARE, Ends as _, SAPI, SURE, pair, path};
use crate::tcp::File;
use gannet_machine::drops::Drop;
use gannet_machine::fabric::link::LinkProfile;
use gannet_proto::llc::{Algorithm, Ciphering};
use gannet_proto::sndcp::SndcpConfig;
use gannet_proto::sndcp::compression::{CompressionConfig, Offer, V42bisLimits};

const FILE: usize = 200_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Case {
    acknowledged: bool,
    cipher: Algorithm,
    v42bis: bool,
    rfc1144: bool,
}

fn configs(case: Case) -> [SndcpConfig; 2] {
    let limits = V42bisLimits { p1: 4096, ..V42bisLimits::default() };
    let config = |active: bool| {
        let rfc1144 = if active { Offer::Active(15) } else { Offer::Passive(7) };
        let v42bis = if active { Offer::Active(limits) } else { Offer::Passive(V42bisLimits::default()) };
        let compression = CompressionConfig {
            rfc1144: if case.rfc1144 { rfc1144 } else { Offer::Refuse },
            v42bis: if case.v42bis { v42bis } else { Offer::Refuse },
        };
        SndcpConfig { compression, ..SndcpConfig::default() }
    };
    [config(false), config(true)]
}

fn ciphering(algorithm: Algorithm) -> Ciphering {
    let kc = [0x5a, 1, 2, 3, 4, 5, 6, 7];
    Ciphering::with_kc(algorithm, kc)
        .or_else(|| Ciphering::with_kc128(algorithm, [0xa5; 16]))
        .unwrap_or_else(|| panic!("no key of {algorithm}"))
}

fn holds(ll_pdu: &[u8], word: &[u8]) -> bool {
    ll_pdu.windows(word.len()).any(|octets| octets == word)
}

/// Octets on the path for the file, in LL-PDUs.
fn transfer(case: Case, loss: f64) -> usize {
    let mut pair = pair(7, configs(case));
    pair.cipher(ciphering(case.cipher));
    pair.activate(case.acknowledged, !case.acknowledged);
    let agreed = pair.ms.sndcp.compressions(SAPI).unwrap().agreed().count();
    assert_eq!(agreed, usize::from(case.v42bis) + usize::from(case.rfc1144), "{case:?}");
    pair.set_profile(LinkProfile { loss, ..path() });
    let before = pair.sgsn.octets;
    let mut file = File::new(FILE);
    let mut rounds = 0;
    while !file.is_whole() {
        rounds += 1;
        assert!(rounds < 20, "{case:?}");
        for n_pdu in file.missing() {
            if case.acknowledged {
                pair.sgsn.waiting.push_back(n_pdu);
            } else {
                pair.sgsn.send_bare(&n_pdu);
            }
        }
        pair.sgsn.send_sure();
        if !case.v42bis {
            let is_legible = pair.sgsn.sent.iter().any(|ll_pdu| holds(ll_pdu, b" acknowledged "));
            assert_eq!(is_legible, case.cipher == Algorithm::Gea0, "{case:?}");
        }
        pair.run();
        let nsapi = if case.acknowledged { SURE } else { BARE };
        for (of, n_pdu) in pair.ms.delivered.drain(..) {
            assert_eq!(of, nsapi);
            file.arrive(&n_pdu);
        }
    }
    if case.acknowledged {
        assert_eq!((rounds, pair.sgsn.confirmed.len()), (1, FILE / 1000), "{case:?}");
    } else {
        assert_eq!(rounds > 1, loss > 0.0, "{case:?}");
    }
    for end in [&pair.ms, &pair.sgsn] {
        for drop in [Drop::SndcpCompressed, Drop::SndcpGap, Drop::SndcpContradiction] {
            assert_eq!(end.drops(drop), 0, "{case:?}: {drop:?}");
        }
    }
    pair.assert_at_rest();
    pair.sgsn.octets - before
}

/// Of one cipher: both modes, every compression, with and without loss.
fn every_combination_carries_a_file(cipher: Algorithm) {
    for acknowledged in [true, false] {
        for loss in [0.0, 0.05] {
            let octets = |v42bis, rfc1144| transfer(Case { acknowledged, cipher, v42bis, rfc1144 }, loss);
            let plain = octets(false, false);
            let (headers, data) = (octets(false, true), octets(true, false));
            let both = octets(true, true);
            if loss > 0.0 {
                assert!(plain > FILE * 21 / 20, "what is lost goes again");
                continue;
            }
            assert!(plain - headers > 32 * FILE / 1000, "{plain} and {headers} octets");
            // Text of few words: in acknowledged mode the dictionary goes on from N-PDU to N-PDU.
            let most = if acknowledged { plain / 2 } else { plain * 4 / 5 };
            assert!(
                data < most && both < headers * data / plain + FILE / 50,
                "{plain}, {data}, {both} octets"
            );
        }
    }
}

#[test]
fn every_combination_carries_a_file_in_the_clear() {
    every_combination_carries_a_file(Algorithm::Gea0);
}

#[test]
fn every_combination_carries_a_file_with_gea1() {
    every_combination_carries_a_file(Algorithm::Gea1);
}

#[test]
fn every_combination_carries_a_file_with_gea2() {
    every_combination_carries_a_file(Algorithm::Gea2);
}

#[test]
fn every_combination_carries_a_file_with_gea3() {
    every_combination_carries_a_file(Algorithm::Gea3);
}

#[test]
fn every_combination_carries_a_file_with_gea4() {
    every_combination_carries_a_file(Algorithm::Gea4);
}

#[test]
fn both_modes_at_once() {
    let case = Case { acknowledged: true, cipher: Algorithm::Gea3, v42bis: true, rfc1144: true };
    let mut pair = pair(8, configs(case));
    pair.cipher(ciphering(case.cipher));
    pair.activate(true, true);
    assert_eq!(pair.ms.sndcp.compressions(SAPI).unwrap().agreed().count(), 4, "entities of each mode");
    pair.set_profile(LinkProfile { loss: 0.02, ..path() });
    let (mut sure, mut bare) = (File::new(50_000), File::new(50_000));
    while !sure.is_whole() || !bare.is_whole() {
        pair.sgsn.waiting.extend(sure.missing());
        for n_pdu in bare.missing() {
            pair.sgsn.send_bare(&n_pdu);
            pair.sgsn.send_sure();
            pair.step();
        }
        pair.run();
        for (nsapi, n_pdu) in pair.ms.delivered.drain(..) {
            if nsapi == SURE { sure.arrive(&n_pdu) } else { bare.arrive(&n_pdu) }
        }
        assert!(sure.is_whole(), "at once");
    }
    assert_eq!(pair.ms.drops(Drop::SndcpCompressed), 0);
    pair.assert_at_rest();
}
