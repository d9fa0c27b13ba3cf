//! Every way that this processor has, against one frame after the other in scalar code.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_proto::llc::cipher::{Algorithm, BatchCipher, Ciphering, Direction, Job};
use gannet_rt::gea::{all, best};
use gannet_testkit::{Case, Need};
use std::process::ExitCode;

struct Frame {
    ciphering: Ciphering,
    input: u32,
    direction: Direction,
    octets: Vec<u8>,
}

fn frame(rng: &mut fastrand::Rng, longest: usize) -> Frame {
    let algorithm = Algorithm::ALL[rng.usize(..5)];
    let algorithm = if rng.bool() { algorithm } else { Algorithm::Gea3 };
    let ciphering = Ciphering::with_kc128(algorithm, core::array::from_fn(|_| rng.u8(..)))
        .or_else(|| Ciphering::with_kc(algorithm, core::array::from_fn(|_| rng.u8(..))));
    let len = rng.usize(..=longest);
    Frame {
        ciphering: ciphering.unwrap(),
        input: rng.u32(..),
        direction: if rng.bool() { Direction::Uplink } else { Direction::Downlink },
        octets: core::iter::repeat_with(|| rng.u8(..)).take(len).collect(),
    }
}

fn found(name: &str) -> Option<&'static dyn BatchCipher> {
    all().into_iter().find(|cipher| cipher.name() == name)
}

/// Any batch is as one by one.
fn agrees(name: &str) {
    let mut rng = fastrand::Rng::with_seed(4);
    let cipher = found(name).unwrap();
    for size in (0..=70).chain([128, 200]) {
        let longest = if size % 7 == 0 { 1523 } else { 60 };
        let mut frames: Vec<Frame> = (0..size).map(|_| frame(&mut rng, longest)).collect();
        let expected: Vec<Vec<u8>> = frames
            .iter()
            .map(|frame| {
                let mut octets = frame.octets.clone();
                frame.ciphering.apply(frame.input, frame.direction, &mut octets);
                octets
            })
            .collect();
        let mut jobs: Vec<Job<'_>> = frames
            .iter_mut()
            .map(|frame| Job {
                ciphering: &frame.ciphering,
                input: frame.input,
                direction: frame.direction,
                octets: &mut frame.octets,
            })
            .collect();
        cipher.apply(&mut jobs);
        for (frame, expected) in frames.iter().zip(&expected) {
            assert_eq!(&frame.octets, expected, "{} frames by {}", size, cipher.name());
        }
    }
}

fn the_best_is_the_last_that_is_there() {
    let names: Vec<&str> = all().iter().map(|cipher| cipher.name()).collect();
    let known: Vec<&str> =
        ["portable", "AVX2", "AVX-512"].into_iter().filter(|name| found(name).is_some()).collect();
    assert_eq!((names.last(), &names), (Some(&best().name()), &known));
}

fn avx2_missing() -> Option<String> {
    found("AVX2").is_none().then(|| "this processor has no AVX2".to_owned())
}

fn avx512_missing() -> Option<String> {
    found("AVX-512")
        .is_none()
        .then(|| "this processor has no AVX-512 with VBMI: compiled, not tested".to_owned())
}

fn main() -> ExitCode {
    const CASES: &[Case] = &[
        ("portable_agrees_with_one_by_one", &[], || agrees("portable")),
        ("avx2_agrees_with_one_by_one", &[Need::That(avx2_missing)], || agrees("AVX2")),
        ("avx512_agrees_with_one_by_one", &[Need::That(avx512_missing)], || agrees("AVX-512")),
        ("the_best_is_the_last_that_is_there", &[], the_best_is_the_last_that_is_there),
    ];
    gannet_testkit::main(CASES)
}
