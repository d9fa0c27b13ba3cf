//! How this processor multiplies without carries, for the FCS of LLC over long frames.

use gannet_machine::Fold;

/// What the processor has; `None` where it has none. To ask costs a look at a flag.
#[must_use]
pub fn fold() -> Option<Fold> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("pclmulqdq") && std::arch::is_x86_feature_detected!("sse4.1") {
        return Some(x86_64::fold);
    }
    None
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    #![expect(unsafe_code, reason = "the instruction is not in every processor of this kind")]

    use core::arch::x86_64::{
        __m128i, _mm_clmulepi64_si128, _mm_cvtsi32_si128, _mm_extract_epi64, _mm_set_epi64x, _mm_xor_si128,
    };

    /// Four lanes side by side: the processor begins the next multiplication before the last has ended.
    const LANES: usize = 4;

    /// As [`gannet_machine::Fold`] says.
    pub(super) fn fold(register: u32, octets: &[u8], keys: &[[u64; 2]; 2]) -> ([u8; 16], usize) {
        // SAFETY: it is given out only where the processor has what it needs.
        unsafe { folded(register, octets, keys) }
    }

    #[target_feature(enable = "pclmulqdq,sse4.1")]
    fn folded(register: u32, octets: &[u8], [far, near]: &[[u64; 2]; 2]) -> ([u8; 16], usize) {
        let (sixteens, _) = octets.as_chunks::<16>();
        let taken = sixteens.len() * 16;
        let (fours, rest) = sixteens.as_chunks::<LANES>();
        let (far, near) = (keys(*far), keys(*near));
        let Some((first, fours)) = fours.split_first() else { return ([0; 16], 0) };
        let [mut a, mut b, mut c, mut d] = lanes(first);
        a = _mm_xor_si128(a, _mm_cvtsi32_si128(register.cast_signed()));
        for four in fours {
            let [next_a, next_b, next_c, next_d] = lanes(four);
            a = _mm_xor_si128(times(a, far), next_a);
            b = _mm_xor_si128(times(b, far), next_b);
            c = _mm_xor_si128(times(c, far), next_c);
            d = _mm_xor_si128(times(d, far), next_d);
        }
        let mut sum = a;
        for next in [b, c, d] {
            sum = _mm_xor_si128(times(sum, near), next);
        }
        for sixteen in rest {
            sum = _mm_xor_si128(times(sum, near), lane(sixteen));
        }
        let mut out = [0; 16];
        let (low, high) = out.split_at_mut(8);
        low.copy_from_slice(&_mm_extract_epi64::<0>(sum).to_le_bytes());
        high.copy_from_slice(&_mm_extract_epi64::<1>(sum).to_le_bytes());
        (out, taken)
    }

    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    fn times(lane: __m128i, keys: __m128i) -> __m128i {
        _mm_xor_si128(_mm_clmulepi64_si128::<0x00>(lane, keys), _mm_clmulepi64_si128::<0x11>(lane, keys))
    }

    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    fn lanes([a, b, c, d]: &[[u8; 16]; LANES]) -> [__m128i; LANES] {
        [lane(a), lane(b), lane(c), lane(d)]
    }

    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    fn lane(octets: &[u8; 16]) -> __m128i {
        let halves = octets.as_chunks::<8>().0;
        let half = |at: usize| halves.get(at).map_or(0, |half| u64::from_le_bytes(*half));
        keys([half(0), half(1)])
    }

    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    fn keys([low, high]: [u64; 2]) -> __m128i {
        _mm_set_epi64x(high.cast_signed(), low.cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use gannet_wire::fcs24::{Fcs24, fcs24, fcs24_folded};

    #[test]
    fn what_is_folded_leaves_the_same() {
        let Some(fold) = super::fold() else {
            eprintln!("SKIPPED: this processor does not multiply without carries");
            return;
        };
        let fold = Some(fold);
        let mut rng = fastrand::Rng::with_seed(1);
        for len in (0..700).chain([1503, 1520, 1560]) {
            let octets: Vec<u8> = core::iter::repeat_with(|| rng.u8(..)).take(len).collect();
            assert_eq!(fcs24_folded(&octets, fold), fcs24(&octets), "{len} octets");
            // With something in the register before.
            let (front, back) = octets.split_at(rng.usize(0..=len));
            let both = Fcs24::new().update_folded(front, fold).update_folded(back, fold);
            assert_eq!(both.finish(), fcs24(&octets), "{len} octets");
        }
    }
}
