//! V.42bis against the slow model of `recommendation`, with whatever P1 and P2 may be.

use crate::recommendation::{Decoder, Encoder, Seen};
use crate::text;
use fastrand::Rng;
use gannet_proto::sndcp::{N_PDU_MAX, v42bis};

const P1: [u16; 7] = [512, 513, 1000, 2048, 4097, 20_000, 65_535];
const P2: [u8; 5] = [6, 7, 19, 32, 250];

/// Data enough to fill the dictionary of P1 codewords more than once, in N-PDUs of several kinds.
fn n_pdus(rng: &mut Rng, codewords: u16) -> Vec<Vec<u8>> {
    let mut octets = 2 * usize::from(codewords) + 20_000;
    let mut n_pdus = Vec::new();
    while octets > 0 {
        let len = rng.usize(1..=N_PDU_MAX);
        n_pdus.push(text::any(rng, len));
        octets = octets.saturating_sub(len);
    }
    n_pdus
}

fn for_all_parameters(mut test: impl FnMut(v42bis::Parameters, &mut Rng)) {
    for codewords in P1 {
        // The large ones take long to fill, and differ in no way by their strings.
        for string in P2.into_iter().filter(|string| codewords < 10_000 || matches!(string, 6 | 250)) {
            let mut rng = Rng::with_seed(u64::from(codewords) << 8 | u64::from(string));
            test(v42bis::Parameters::new(codewords, string).unwrap(), &mut rng);
        }
    }
}

/// What we compress the model restores.
pub fn data_is_restored() {
    let mut seen = Seen::default();
    for_all_parameters(|parameters, rng| {
        let mut own = v42bis::Compressor::new(parameters);
        let mut model = Decoder::new(parameters.codewords(), parameters.string());
        for (at, n_pdu) in n_pdus(rng, parameters.codewords()).iter().enumerate() {
            let mut out = [0; v42bis::compressed_max(N_PDU_MAX)];
            let len = own.compress(n_pdu, &mut out).unwrap();
            let found = model.decode(&out[..len]);
            let found = found.unwrap_or_else(|error| panic!("{parameters:?} {at}: {error}"));
            assert!(found == *n_pdu, "{parameters:?} {at}");
        }
        seen = seen.and(model.seen);
    });
    assert!(seen.all_more_than(5), "{seen:?}");
}

/// What the model compresses we restore, wherever it changes modes.
pub fn data_of_it_is_restored() {
    let mut seen = Seen::default();
    for_all_parameters(|parameters, rng| {
        let (codewords, string) = (parameters.codewords(), parameters.string());
        let mut model = Encoder::new(codewords, string);
        let mut check = Decoder::new(codewords, string);
        let mut own = v42bis::Decompressor::new(parameters);
        for (at, n_pdu) in n_pdus(rng, codewords).iter().enumerate() {
            let seldom = [4, 50, 2000][rng.usize(..3)];
            // What is sent transparently may be longer than it was, so that the N-PDU would not be sent so.
            let sent = model.encode(n_pdu, |_| rng.u32(..seldom) == 0);
            assert!(
                check.decode(&sent).as_ref() == Ok(n_pdu),
                "{parameters:?} {at}: the model is at odds with itself"
            );
            let mut out = [0; N_PDU_MAX];
            let len = own.decompress(&sent, &mut out);
            let len = len.unwrap_or_else(|error| panic!("{parameters:?} {at}: {error}"));
            assert!(out[..len] == n_pdu[..], "{parameters:?} {at}");
        }
        seen = seen.and(check.seen);
    });
    assert!(seen.all_more_than(20), "{seen:?}");
}

/// N-PDUs that stand alone, as in unacknowledged mode.
pub fn data_alone_is_restored() {
    for_all_parameters(|parameters, rng| {
        let mut own = v42bis::Compressor::new(parameters);
        let mut model = Decoder::new(parameters.codewords(), parameters.string());
        let mut count = 0;
        for _ in 0..20 {
            let n_pdu = {
                let len = rng.usize(1..=N_PDU_MAX);
                text::any(rng, len)
            };
            let mut out = [0; v42bis::compressed_max(N_PDU_MAX)];
            if let Some(len) = own.compress_alone(&n_pdu, &mut out).unwrap() {
                model.init();
                assert!(model.decode(&out[..len]) == Ok(n_pdu), "{parameters:?}");
                count += 1;
            }
        }
        assert!(count > 5, "{parameters:?}: {count}");
    });
}

/// Damage: what both restore is the same, and where one of them notices it so does the other.
pub fn damage_is_noticed_alike() {
    let (mut both, mut noticed) = (0, 0);
    for_all_parameters(|parameters, rng| {
        let (codewords, string) = (parameters.codewords(), parameters.string());
        let mut source = Encoder::new(codewords, string);
        let mut model = Decoder::new(codewords, string);
        let mut own = v42bis::Decompressor::new(parameters);
        for at in 0..60 {
            let n_pdu = {
                let len = rng.usize(1..=400);
                text::any(rng, len)
            };
            let mut sent = source.encode(&n_pdu, |_| rng.u32(..100) == 0);
            if rng.u8(..4) == 0 {
                let place = rng.usize(..sent.len());
                sent[place] ^= 1 << rng.u8(..8);
            }
            let mut out = [0; N_PDU_MAX];
            let found = own.decompress(&sent, &mut out).map(|len| out[..len].to_vec());
            match (model.decode(&sent), found) {
                (Ok(expected), Ok(found)) => {
                    assert!(expected == found, "{parameters:?} {at}");
                    both += 1;
                }
                (Err(_), Err(_)) => {
                    noticed += 1;
                    source = Encoder::new(codewords, string);
                    model.init();
                    own.init();
                }
                (Ok(expected), Err(v42bis::Error::TooLong)) => {
                    assert!(expected.len() > N_PDU_MAX, "{parameters:?} {at}");
                    source = Encoder::new(codewords, string);
                    model.init();
                    own.init();
                }
                (expected, found) => panic!("{parameters:?} {at}: {expected:?} {found:?}"),
            }
        }
    });
    assert!(both > 500 && noticed > 100, "{both} {noticed}");
}
