//! 64 frames, by AVX-512 with VBMI: 128 octets are looked up by one VPERMI2B.
#![expect(unsafe_code, reason = "the instructions are not in every processor of this kind")]

use super::lanes::Planes;
use super::tables::{Nine, Whole, s7_halves};
use core::arch::x86_64::{
    __m512i, _mm512_add_epi8, _mm512_and_si512, _mm512_loadu_si512, _mm512_mask_blend_epi8,
    _mm512_mask_sub_epi8, _mm512_maskz_mov_epi8, _mm512_movepi8_mask, _mm512_or_si512,
    _mm512_permutex2var_epi8, _mm512_permutexvar_epi8, _mm512_set1_epi8, _mm512_shuffle_epi8,
    _mm512_slli_epi16, _mm512_srli_epi16, _mm512_storeu_si512, _mm512_test_epi8_mask, _mm512_unpackhi_epi8,
    _mm512_unpackhi_epi16, _mm512_unpackhi_epi32, _mm512_unpacklo_epi8, _mm512_unpacklo_epi16,
    _mm512_unpacklo_epi32, _mm512_xor_si512,
};
use gannet_proto::llc::cipher::batch::{for_kgcore, interleaved};
use gannet_proto::llc::cipher::gea3::{BLOCK, KM, add_block};
use gannet_proto::llc::cipher::{BatchCipher, Job};

type Vector = __m512i;
const LANES: usize = 64;
/// Fewer jobs than this are done sooner without.
const WORTH: usize = 6;

/// The way of a processor that has AVX-512 with BW and VBMI.
#[derive(Debug)]
pub(super) struct Avx512(());

impl Avx512 {
    /// `None` where this processor has not.
    pub(super) fn detected() -> Option<&'static Self> {
        (std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512vbmi"))
        .then_some(&Self(()))
    }
}

impl BatchCipher for Avx512 {
    fn name(&self) -> &'static str {
        "AVX-512"
    }

    fn apply(&self, jobs: &mut [Job<'_>]) {
        for jobs in for_kgcore(jobs).chunks_mut(LANES) {
            if jobs.len() < WORTH {
                interleaved(jobs);
            } else {
                // SAFETY: there is no `Avx512` where the processor has not.
                unsafe { kgcore(jobs) }
            }
        }
    }
}

kgcore!("avx512f,avx512bw,avx512vbmi");

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn load(octets: &[u8; LANES]) -> Vector {
    // SAFETY: so many octets are there, and they may be anywhere.
    unsafe { _mm512_loadu_si512(octets.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn splat(octet: u8) -> Vector {
    _mm512_set1_epi8(octet.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn xor(a: Vector, b: Vector) -> Vector {
    _mm512_xor_si512(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn and(a: Vector, b: Vector) -> Vector {
    _mm512_and_si512(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn or(a: Vector, b: Vector) -> Vector {
    _mm512_or_si512(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn add(a: Vector, b: Vector) -> Vector {
    _mm512_add_epi8(a, b)
}

/// Octets to the left by one, with the top bits of `next` coming in.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn doubled_with(octets: Vector, next: Vector) -> Vector {
    let doubled = add(octets, octets);
    _mm512_mask_sub_epi8(doubled, _mm512_movepi8_mask(next), doubled, splat(0xff))
}

/// Octets to the right by one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn halved(octets: Vector) -> Vector {
    and(_mm512_srli_epi16::<1>(octets), splat(0x7f))
}

/// Bit 0 of each octet as its bit 7.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn lowest_to_top(octets: Vector) -> Vector {
    and(_mm512_slli_epi16::<7>(octets), splat(0x80))
}

/// In each octet, what stands in the table of 128 at its lower seven bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn look_up(first: &[u8; LANES], second: &[u8; LANES], at: Vector) -> Vector {
    _mm512_permutex2var_epi8(load(first), at, load(second))
}

/// `b` where the top bit of `by` is set, else `a`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn choose(a: Vector, b: Vector, by: Vector) -> Vector {
    _mm512_mask_blend_epi8(_mm512_movepi8_mask(by), a, b)
}

static S7: [[u8; LANES]; 2] = s7_halves(0);
static S7_DOUBLED: [[u8; LANES]; 2] = s7_halves(1);
static S9_LONE_LAST: Whole = Whole::new(Nine::LoneLast);
static S9_LONE_FIRST: Whole = Whole::new(Nine::LoneFirst);
/// 2^n at n.
static POWERS: [u8; LANES] = {
    let mut powers = [0; LANES];
    let mut from: &mut [u8] = &mut powers;
    while let [a, b, c, d, e, f, g, h, rest @ ..] = from {
        [*a, *b, *c, *d, *e, *f, *g, *h] = [1, 2, 4, 8, 16, 32, 64, 128];
        from = rest;
    }
    powers
};

/// S7.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn s7(at: Vector) -> Vector {
    let [first, second] = &S7;
    look_up(first, second, at)
}

/// S7, to the left by one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn s7_doubled(at: Vector) -> Vector {
    let [first, second] = &S7_DOUBLED;
    look_up(first, second, at)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn nine(s9: &Whole, octet: Vector, lone: Vector, ninth_at: u8) -> (Vector, Vector) {
    let [[a, b, c, d], [e, f, g, h]] = &s9.eight;
    let without = choose(look_up(a, b, octet), look_up(c, d, octet), octet);
    let with = choose(look_up(e, f, octet), look_up(g, h, octet), octet);
    let bits = _mm512_permutexvar_epi8(octet, load(&s9.ninth));
    let number =
        or(and(_mm512_srli_epi16::<6>(octet), splat(3)), and(_mm512_srli_epi16::<5>(lone), splat(4)));
    let is_set = _mm512_test_epi8_mask(bits, _mm512_shuffle_epi8(load(&POWERS), number));
    (choose(without, with, lone), _mm512_maskz_mov_epi8(is_set, splat(ninth_at)))
}

/// S9 of the octet and, below it, the top bit of `lone`: its lower octet, and its ninth bit as the top one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn s9_lone_last(octet: Vector, lone: Vector) -> (Vector, Vector) {
    nine(&S9_LONE_LAST, octet, lone, 0x80)
}

/// S9 of the octet and, above it, the top bit of `lone`: its lower octet, and its ninth bit as the lowest one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn s9_lone_first(octet: Vector, lone: Vector) -> (Vector, Vector) {
    nine(&S9_LONE_FIRST, octet, lone, 1)
}

/// Puts the octets of each lane together, most significant first in memory.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn store([[a, b], [c, d], [e, f], [g, h]]: [Word; 4], blocks: &mut [u64; LANES]) {
    let words = [
        [
            _mm512_unpacklo_epi8(a, b),
            _mm512_unpacklo_epi8(c, d),
            _mm512_unpacklo_epi8(e, f),
            _mm512_unpacklo_epi8(g, h),
        ],
        [
            _mm512_unpackhi_epi8(a, b),
            _mm512_unpackhi_epi8(c, d),
            _mm512_unpackhi_epi8(e, f),
            _mm512_unpackhi_epi8(g, h),
        ],
    ];
    let (rows, _) = blocks.as_chunks_mut::<16>();
    for ([a, b, c, d], rows) in words.into_iter().zip(rows.as_chunks_mut::<2>().0) {
        let halves = [
            [_mm512_unpacklo_epi16(a, b), _mm512_unpacklo_epi16(c, d)],
            [_mm512_unpackhi_epi16(a, b), _mm512_unpackhi_epi16(c, d)],
        ];
        for ([a, b], row) in halves.into_iter().zip(rows) {
            let (first, second) = row.split_at_mut(8);
            for (out, whole) in [(first, _mm512_unpacklo_epi32(a, b)), (second, _mm512_unpackhi_epi32(a, b))]
            {
                // SAFETY: each half of a row has eight times 64 bits, and they may be anywhere.
                unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), whole) };
            }
        }
    }
}
