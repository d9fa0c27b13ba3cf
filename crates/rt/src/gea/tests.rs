//! Every way that this processor has, against one frame after the other in scalar code.

use super::{all, best};
use gannet_proto::llc::cipher::{Algorithm, Ciphering, Direction, Job};

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

#[test]
fn any_batch_is_as_one_by_one() {
    let mut rng = fastrand::Rng::with_seed(4);
    for cipher in all() {
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
}

#[test]
fn the_best_is_the_last_that_is_there() {
    let names: Vec<&str> = all().iter().map(|cipher| cipher.name()).collect();
    assert_eq!(names.last(), Some(&best().name()));
    let expected = ["portable", "AVX2", "AVX-512"];
    for missing in expected.iter().filter(|name| !names.contains(name)) {
        eprintln!("SKIPPED {missing}: this processor has it not, so that it is compiled here and not tested");
    }
    assert!(names.iter().all(|name| expected.contains(name)) && names.contains(&"portable"), "{names:?}");
}
