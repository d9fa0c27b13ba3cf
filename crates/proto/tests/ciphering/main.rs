//! GEA1 to GEA4 and the inputs of annex A, against Debian's libosmogsm on random input.
//!
//! The library is under the GPL and is no part of our programs: a process of its own answers ([`gannet_testkit::osmogsm`]).

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_proto::llc::cipher::{BatchCipher, Job, Portable, i_input, ui_input};
use gannet_proto::llc::{Algorithm, Ciphering, Direction};
use gannet_testkit::osmogsm::{Osmogsm, hex, missing};
use gannet_testkit::{Case, Need};
use gannet_wire::id::Sapi;
use std::process::ExitCode;

/// Octets of keystream that annex A wants, and that the library gives.
const LONGEST: usize = 1523;

struct Frame {
    ciphering: Ciphering,
    key: [u8; 16],
    input: u32,
    direction: Direction,
    octets: Vec<u8>,
}

/// A frame of zeros, which becomes its keystream.
fn frame(rng: &mut fastrand::Rng, algorithms: [Algorithm; 2]) -> Frame {
    let algorithm = algorithms[rng.usize(..2)];
    let mut key: [u8; 16] = core::array::from_fn(|_| rng.u8(..));
    let ciphering = Ciphering::with_kc128(algorithm, key).unwrap_or_else(|| {
        key[8..].fill(0);
        Ciphering::with_kc(algorithm, key[..8].try_into().unwrap()).unwrap()
    });
    let (input, len) = (rng.u32(..), rng.usize(1..=LONGEST));
    let direction = if rng.bool() { Direction::Uplink } else { Direction::Downlink };
    Frame { ciphering, key, input, direction, octets: vec![0; len] }
}

/// What the library says that a frame's keystream is.
fn keystream(peer: &mut Osmogsm, number: u8, frame: &Frame) -> Vec<String> {
    let length = u16::try_from(frame.octets.len()).unwrap().to_be_bytes();
    let input = frame.input.to_be_bytes();
    peer.ask("keystream", &[&[number], &[frame.direction as u8], &input, &length, &frame.key])
}

/// Versions of libosmocore up to 1.7 have GEA3 and GEA4 alone.
fn older_missing() -> Option<String> {
    if let Some(missing) = missing() {
        return Some(missing);
    }
    let frame = frame(&mut fastrand::Rng::with_seed(1), [Algorithm::Gea1; 2]);
    let answer = keystream(&mut Osmogsm::start().unwrap(), Algorithm::Gea1.number(), &frame);
    (answer == ["refused"]).then(|| "this libosmogsm has no GEA1 and GEA2".to_owned())
}

fn keystreams_of(algorithms: [Algorithm; 2]) {
    let (mut rng, mut peer) = (fastrand::Rng::with_seed(44_064), Osmogsm::start().unwrap());
    let mut frames: Vec<Frame> = (0..400).map(|_| frame(&mut rng, algorithms)).collect();
    // Half of them one by one, half of them in a batch.
    let (alone, batch) = frames.split_at_mut(200);
    for frame in alone {
        frame.ciphering.apply(frame.input, frame.direction, &mut frame.octets);
    }
    let mut jobs: Vec<Job<'_>> = batch
        .iter_mut()
        .map(|frame| Job {
            ciphering: &frame.ciphering,
            input: frame.input,
            direction: frame.direction,
            octets: &mut frame.octets,
        })
        .collect();
    Portable.apply(&mut jobs);
    for frame in &frames {
        let algorithm = frame.ciphering.algorithm;
        let answer = keystream(&mut peer, algorithm.number(), frame);
        assert_eq!(answer, [hex(&frame.octets)], "{algorithm}: input {:#x}", frame.input);
    }
}

fn inputs() {
    let (mut rng, mut peer) = (fastrand::Rng::with_seed(1), Osmogsm::start().unwrap());
    for _ in 0..400 {
        let (iov, lfn, oc) = (rng.u32(..), rng.u32(..512), rng.u32(..) & !511);
        // SAPI 15 · 2^27 + 2^31 is the largest SX that has 32 bits.
        let sapi = Sapi(rng.u8(1..16));
        let [iov_octets, lfn_octets, oc_octets] = [iov, lfn, oc].map(u32::to_be_bytes);
        let answer = peer.ask("input_ui", &[&iov_octets, &[sapi.0], &lfn_octets, &oc_octets]);
        assert_eq!(answer, [hex(&ui_input(iov, sapi, oc.wrapping_add(lfn)).to_be_bytes())]);
        let answer = peer.ask("input_i", &[&iov_octets, &lfn_octets, &oc_octets]);
        assert_eq!(answer, [hex(&i_input(iov, oc.wrapping_add(lfn)).to_be_bytes())]);
    }
}

const NEEDS: &[Need] = &[Need::That(missing)];

fn main() -> ExitCode {
    const CASES: &[Case] = &[
        ("gea3_and_gea4_are_those_of_libosmogsm", NEEDS, || {
            keystreams_of([Algorithm::Gea3, Algorithm::Gea4])
        }),
        ("gea1_and_gea2_are_those_of_libosmogsm", &[Need::That(older_missing)], || {
            keystreams_of([Algorithm::Gea1, Algorithm::Gea2]);
        }),
        ("inputs_are_those_of_libosmogsm", NEEDS, inputs),
    ];
    gannet_testkit::main(CASES)
}
