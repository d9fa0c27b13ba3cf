//! V.42bis against Debian's libspandsp, both ways, and RFC 1144 against the reference code of its appendix (`headers`).
//! V.42bis also goes against a slow model of the recommendation (`model`), which has no limits of its own.
//!
//! libspandsp has room for 4096 codewords, whatever P1 is. In transparent mode it passes over the string that was added last even
//! where another string has ended since, by its length, which makes its dictionary another one than V.42bis clause 6.3 has;
//! with strings of 20 octets and more that does not come about here.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

mod headers;
mod model;
mod recommendation;
#[allow(dead_code, reason = "each test program uses its part")]
mod tcp;
mod text;

use fastrand::Rng;
use gannet_proto::sndcp::{N_PDU_MAX, v42bis};
use gannet_testkit::spandsp::{self, Mode, Spandsp};
use gannet_testkit::{Case, Need, slcompress};
use std::process::ExitCode;

const MODES: [Mode; 3] = [Mode::AsItDecides, Mode::Compressed, Mode::Transparent];

/// P1 and P2. The library has room for 4096 codewords.
const PARAMETERS: [(u16, u8); 4] = [(512, 20), (2048, 20), (4096, 20), (2048, 250)];

fn n_pdus(seed: u64) -> Vec<Vec<u8>> {
    let mut rng = Rng::with_seed(seed);
    let mut n_pdus: Vec<Vec<u8>> = (0..60)
        .map(|_| {
            let len = rng.usize(300..=N_PDU_MAX);
            text::any(&mut rng, len)
        })
        .collect();
    n_pdus.extend(text::n_pdus(&text::ENGLISH.as_bytes()[..3000]).map(<[u8]>::to_vec));
    n_pdus
}

fn data_from_spandsp() {
    for (codewords, string) in PARAMETERS {
        for mode in MODES {
            let parameters = v42bis::Parameters::new(codewords, string).unwrap();
            let mut peer = Spandsp::start(codewords, string, mode).unwrap();
            let mut own = v42bis::Decompressor::new(parameters);
            for (at, n_pdu) in n_pdus(1).iter().enumerate() {
                let mut out = [0; N_PDU_MAX];
                let len = own.decompress(&peer.compress(n_pdu).unwrap(), &mut out);
                let len = len.unwrap_or_else(|error| panic!("{parameters:?} {mode:?} {at}: {error}"));
                assert!(out[..len] == n_pdu[..], "{parameters:?} {mode:?} {at}");
            }
        }
    }
}

fn data_to_spandsp() {
    for (codewords, string) in PARAMETERS {
        let parameters = v42bis::Parameters::new(codewords, string).unwrap();
        let mut peer = Spandsp::start(codewords, string, Mode::AsItDecides).unwrap();
        let mut own = v42bis::Compressor::new(parameters);
        for (at, n_pdu) in n_pdus(2).iter().enumerate() {
            let mut out = [0; v42bis::compressed_max(N_PDU_MAX)];
            let len = own.compress(n_pdu, &mut out).unwrap();
            let found = peer.decompress(&out[..len]);
            let found = found.unwrap_or_else(|error| panic!("{parameters:?} {at}: {error}"));
            assert!(found == *n_pdu, "{parameters:?} {at}");
        }
    }
}

fn main() -> ExitCode {
    const SPANDSP: &[Need] = &[Need::That(spandsp::missing)];
    const REFERENCE: &[Need] = &[Need::That(slcompress::missing)];
    const CASES: &[Case] = &[
        ("data_of_libspandsp_is_restored", SPANDSP, data_from_spandsp),
        ("data_is_restored_by_libspandsp", SPANDSP, data_to_spandsp),
        ("data_is_restored_by_the_model", &[], model::data_is_restored),
        ("data_of_the_model_is_restored", &[], model::data_of_it_is_restored),
        ("data_alone_is_restored_by_the_model", &[], model::data_alone_is_restored),
        ("damage_is_noticed_as_by_the_model", &[], model::damage_is_noticed_alike),
        (
            "headers_are_compressed_as_the_reference_does",
            REFERENCE,
            headers::are_compressed_as_the_reference_does,
        ),
        ("headers_are_restored_by_the_reference", REFERENCE, headers::are_restored_by_the_reference),
        ("headers_of_the_reference_are_restored", REFERENCE, headers::of_the_reference_are_restored),
        ("headers_after_losses", REFERENCE, headers::are_restored_as_the_reference_does_after_losses),
        ("headers_with_damage", REFERENCE, headers::with_damage_are_restored_as_the_reference_does),
    ];
    gannet_testkit::main(CASES)
}
