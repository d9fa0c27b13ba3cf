//! 32 frames, by AVX2: sixteen octets are looked up by VPSHUFB, and the S-boxes are composed of that.
#![expect(unsafe_code, reason = "the instructions are not in every processor of this kind")]

use super::lanes::Planes;
use super::tables::{Nine, Quadratic, s7_pieces};
use core::arch::x86_64::{
    __m256i, _mm256_add_epi8, _mm256_and_si256, _mm256_blendv_epi8, _mm256_cmpgt_epi8, _mm256_loadu_si256,
    _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi16,
    _mm256_srli_epi16, _mm256_storeu_si256, _mm256_sub_epi8, _mm256_unpackhi_epi8, _mm256_unpackhi_epi16,
    _mm256_unpackhi_epi32, _mm256_unpacklo_epi8, _mm256_unpacklo_epi16, _mm256_unpacklo_epi32,
    _mm256_xor_si256,
};
use gannet_proto::llc::cipher::batch::{for_kgcore, interleaved};
use gannet_proto::llc::cipher::gea3::{BLOCK, KM, add_block};
use gannet_proto::llc::cipher::{BatchCipher, Job};

type Vector = __m256i;
const LANES: usize = 32;
/// Fewer jobs than this are done sooner without.
const WORTH: usize = 6;

/// The way of a processor that has AVX2.
#[derive(Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    /// `None` where this processor has not.
    pub(super) fn detected() -> Option<&'static Self> {
        std::arch::is_x86_feature_detected!("avx2").then_some(&Self(()))
    }
}

impl BatchCipher for Avx2 {
    fn name(&self) -> &'static str {
        "AVX2"
    }

    fn apply(&self, jobs: &mut [Job<'_>]) {
        for jobs in for_kgcore(jobs).chunks_mut(LANES) {
            if jobs.len() < WORTH {
                interleaved(jobs);
            } else {
                // SAFETY: there is no `Avx2` where the processor has not.
                unsafe { kgcore(jobs) }
            }
        }
    }
}

kgcore!("avx2");

#[inline]
#[target_feature(enable = "avx2")]
fn load(octets: &[u8; LANES]) -> Vector {
    // SAFETY: so many octets are there, and they may be anywhere.
    unsafe { _mm256_loadu_si256(octets.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(octet: u8) -> Vector {
    _mm256_set1_epi8(octet.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor(a: Vector, b: Vector) -> Vector {
    _mm256_xor_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn and(a: Vector, b: Vector) -> Vector {
    _mm256_and_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn or(a: Vector, b: Vector) -> Vector {
    _mm256_or_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn add(a: Vector, b: Vector) -> Vector {
    _mm256_add_epi8(a, b)
}

/// Octets to the left by one, with the top bits of `next` coming in.
#[inline]
#[target_feature(enable = "avx2")]
fn doubled_with(octets: Vector, next: Vector) -> Vector {
    _mm256_sub_epi8(add(octets, octets), _mm256_cmpgt_epi8(_mm256_setzero_si256(), next))
}

/// Octets to the right by one.
#[inline]
#[target_feature(enable = "avx2")]
fn halved(octets: Vector) -> Vector {
    and(_mm256_srli_epi16::<1>(octets), splat(0x7f))
}

/// Bit 0 of each octet as its bit 7.
#[inline]
#[target_feature(enable = "avx2")]
fn lowest_to_top(octets: Vector) -> Vector {
    and(_mm256_slli_epi16::<7>(octets), splat(0x80))
}

/// In each octet, what stands in the table at its lower four bits; its top bit must be 0.
#[inline]
#[target_feature(enable = "avx2")]
fn look_up(table: &[u8; LANES], at: Vector) -> Vector {
    _mm256_shuffle_epi8(load(table), at)
}

/// `b` where the top bit of `by` is set, else `a`.
#[inline]
#[target_feature(enable = "avx2")]
fn choose(a: Vector, b: Vector, by: Vector) -> Vector {
    _mm256_blendv_epi8(a, b, by)
}

static S7: [[u8; LANES]; 8] = s7_pieces(0);
static S7_DOUBLED: [[u8; LANES]; 8] = s7_pieces(1);
static S9_LONE_LAST: Quadratic = Quadratic::new(Nine::LoneLast, 0x80);
static S9_LONE_FIRST: Quadratic = Quadratic::new(Nine::LoneFirst, 1);

#[inline]
#[target_feature(enable = "avx2")]
fn seven([a, b, c, d, e, f, g, h]: &[[u8; LANES]; 8], at: Vector) -> Vector {
    let (bit_4, bit_5, bit_6) = (_mm256_slli_epi16::<3>(at), _mm256_slli_epi16::<2>(at), add(at, at));
    let first = choose(look_up(a, at), look_up(b, at), bit_4);
    let second = choose(look_up(c, at), look_up(d, at), bit_4);
    let third = choose(look_up(e, at), look_up(f, at), bit_4);
    let fourth = choose(look_up(g, at), look_up(h, at), bit_4);
    choose(choose(first, second, bit_5), choose(third, fourth, bit_5), bit_6)
}

/// S7.
#[inline]
#[target_feature(enable = "avx2")]
fn s7(at: Vector) -> Vector {
    seven(&S7, at)
}

/// S7, to the left by one.
#[inline]
#[target_feature(enable = "avx2")]
fn s7_doubled(at: Vector) -> Vector {
    seven(&S7_DOUBLED, at)
}

#[inline]
#[target_feature(enable = "avx2")]
fn nine(s9: &Quadratic, octet: Vector, lone: Vector) -> (Vector, Vector) {
    let zero = _mm256_setzero_si256();
    let nibble = splat(15);
    let (upper, lower) = (and(_mm256_srli_epi16::<4>(octet), nibble), and(octet, nibble));
    let [a, b, c, d] = &s9.products;
    let parts = [
        xor(look_up(&s9.upper, upper), look_up(&s9.lower, lower)),
        choose(zero, xor(look_up(&s9.lone_upper, upper), look_up(&s9.lone_lower, lower)), lone),
        choose(zero, look_up(a, lower), _mm256_slli_epi16::<3>(octet)),
        choose(zero, look_up(b, lower), _mm256_slli_epi16::<2>(octet)),
        choose(zero, look_up(c, lower), add(octet, octet)),
        choose(zero, look_up(d, lower), octet),
    ];
    let eight = xor(xor(xor(parts[0], parts[1]), xor(parts[2], parts[3])), xor(parts[4], parts[5]));
    let [without, with] = &s9.ninth_lower;
    let terms =
        and(look_up(&s9.ninth_upper, upper), choose(look_up(without, lower), look_up(with, lower), lone));
    let folded = and(xor(terms, _mm256_srli_epi16::<4>(terms)), nibble);
    (eight, look_up(&s9.parity, folded))
}

/// S9 of the octet and, below it, the top bit of `lone`: its lower octet, and its ninth bit as the top one.
#[inline]
#[target_feature(enable = "avx2")]
fn s9_lone_last(octet: Vector, lone: Vector) -> (Vector, Vector) {
    nine(&S9_LONE_LAST, octet, lone)
}

/// S9 of the octet and, above it, the top bit of `lone`: its lower octet, and its ninth bit as the lowest one.
#[inline]
#[target_feature(enable = "avx2")]
fn s9_lone_first(octet: Vector, lone: Vector) -> (Vector, Vector) {
    nine(&S9_LONE_FIRST, octet, lone)
}

/// Puts the octets of each lane together, most significant first in memory.
#[inline]
#[target_feature(enable = "avx2")]
fn store([[a, b], [c, d], [e, f], [g, h]]: [Word; 4], blocks: &mut [u64; LANES]) {
    let words = [
        [
            _mm256_unpacklo_epi8(a, b),
            _mm256_unpacklo_epi8(c, d),
            _mm256_unpacklo_epi8(e, f),
            _mm256_unpacklo_epi8(g, h),
        ],
        [
            _mm256_unpackhi_epi8(a, b),
            _mm256_unpackhi_epi8(c, d),
            _mm256_unpackhi_epi8(e, f),
            _mm256_unpackhi_epi8(g, h),
        ],
    ];
    let (rows, _) = blocks.as_chunks_mut::<8>();
    for ([a, b, c, d], rows) in words.into_iter().zip(rows.as_chunks_mut::<2>().0) {
        let halves = [
            [_mm256_unpacklo_epi16(a, b), _mm256_unpacklo_epi16(c, d)],
            [_mm256_unpackhi_epi16(a, b), _mm256_unpackhi_epi16(c, d)],
        ];
        for ([a, b], row) in halves.into_iter().zip(rows) {
            let (first, second) = row.split_at_mut(4);
            for (out, whole) in [(first, _mm256_unpacklo_epi32(a, b)), (second, _mm256_unpackhi_epi32(a, b))]
            {
                // SAFETY: each half of a row has four times 64 bits, and they may be anywhere.
                unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), whole) };
            }
        }
    }
}
