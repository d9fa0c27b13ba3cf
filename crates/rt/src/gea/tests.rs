//! Every way that this processor has, against one frame after the other in scalar code.

use super::tables::{Nine, Quadratic, Whole, s7, s7_halves, s7_pieces};
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

/// What instructions that no processor here may have would find in the tables.
#[test]
fn tables_tell_the_s_boxes() {
    let (pieces, halves) = ([s7_pieces(0), s7_pieces(1)], [s7_halves(0), s7_halves(1)]);
    for n in 0..128_u8 {
        let at = usize::from(n);
        for by in 0..2 {
            assert_eq!(pieces[by][at / 16][at % 16], s7(n) << by);
            assert_eq!(pieces[by][at / 16][at % 16 + 16], s7(n) << by);
            assert_eq!(halves[by][at / 64][at % 64], s7(n) << by);
        }
    }
    for (nine, ninth_at) in [(Nine::LoneLast, 0x80), (Nine::LoneFirst, 1)] {
        let (quadratic, whole) = (Quadratic::new(nine, ninth_at), Whole::new(nine));
        for (octet, lone) in (0..=255_u8).flat_map(|octet| [(octet, false), (octet, true)]) {
            let expected = nine.s9(octet, lone);
            let (upper, lower) = (usize::from(octet >> 4), usize::from(octet & 15));
            let mut eight = quadratic.upper[upper] ^ quadratic.lower[lower];
            if lone {
                eight ^= quadratic.lone_upper[upper] ^ quadratic.lone_lower[lower];
            }
            for (bit, product) in
                quadratic.products.iter().enumerate().filter(|(bit, _)| upper >> bit & 1 == 1)
            {
                assert!(bit < 4);
                eight ^= product[lower];
            }
            assert_eq!(u16::from(eight), expected & 0xff);
            let terms = quadratic.ninth_upper[upper] & quadratic.ninth_lower[usize::from(lone)][lower];
            let ninth = quadratic.parity[usize::from((terms ^ terms >> 4) & 15)];
            assert_eq!(ninth, if expected > 0xff { ninth_at } else { 0 });
            let at = usize::from(octet & 63);
            assert_eq!(
                u16::from(whole.eight[usize::from(lone)][usize::from(octet >> 6)][at]),
                expected & 0xff
            );
            let bit = (octet >> 6) + 4 * u8::from(lone);
            assert_eq!(u16::from(whole.ninth[at] >> bit & 1), expected >> 8);
        }
    }
}
