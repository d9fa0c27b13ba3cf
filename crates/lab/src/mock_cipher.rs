//! The mock cipher of the early demultiplexing study: every downlink LL-PDU with user data costs the same time more, as a cipher
//! would. It reads all octets of the LL-PDU as often as it must and changes none of them. S frames have no cipher, and no work.

use core::hint::black_box;
use gannet_proto::llc::cipher::{BatchCipher, Job};
use std::time::Instant;

/// Octets of the LL-PDU with which work is calibrated: an N-PDU of 378 octets and its headers.
const LL_PDU_OCTETS: usize = 388;
/// Measurements of a calibration: some 30 ms.
const PROBES: usize = 1000;

/// How much work an LL-PDU costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Steps for each LL-PDU, whatever its length; each mixes 8 octets.
    pub steps: u32,
}

impl Work {
    /// Does it on the octets of one LL-PDU. Gives what came of it, so that nothing can be left out.
    pub fn spend(self, octets: &[u8]) -> u64 {
        let (words, rest) = octets.as_chunks::<8>();
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        let mut scratch = 0x9e37_79b9_7f4a_7c15;
        // Each step needs the result of the one before, as rounds of a cipher do.
        let mut all = words.iter().chain(core::iter::once(&last)).cycle();
        for _ in 0..self.steps {
            let word = all.next().map_or(0, |word| u64::from_le_bytes(*word));
            scratch = (black_box(scratch) ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(31);
        }
        black_box(scratch)
    }

    /// The work that takes about `ns` by a clock that says how many have gone by. Of many measurements a fast one counts:
    /// whatever disturbs the processor meanwhile, for milliseconds even, only makes them slower.
    pub fn calibrated(ns: u64, mut clock_ns: impl FnMut() -> u64) -> Self {
        const PROBE: Work = Work { steps: 1 << 14 };
        let octets = [0x5a; LL_PDU_OCTETS];
        let mut measure = || {
            let begin = clock_ns();
            black_box(PROBE.spend(black_box(&octets)));
            clock_ns().saturating_sub(begin)
        };
        let mut times: Vec<u64> = (0..PROBES).map(|_| measure()).collect();
        times.sort_unstable();
        let fast = times.get(times.len() / 20).copied().unwrap_or(1).max(1);
        let steps = ns.saturating_mul(PROBE.steps.into()).div_ceil(fast);
        Self { steps: u32::try_from(steps).unwrap_or(u32::MAX) }
    }
}

/// A cipher service that works on what leaves in the clear, and ciphers as another one does.
#[derive(Debug)]
pub struct MockCipher {
    work: Work,
    ciphers: &'static dyn BatchCipher,
}

impl MockCipher {
    /// Work of `ns` nanoseconds on this processor for each LL-PDU in the clear.
    #[must_use]
    pub fn calibrated(ns: u64, ciphers: &'static dyn BatchCipher) -> Self {
        let start = Instant::now();
        let clock_ns = || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Self { work: Work::calibrated(ns, clock_ns), ciphers }
    }

    /// Steps of the work for each LL-PDU.
    #[must_use]
    pub const fn steps(&self) -> u32 {
        self.work.steps
    }
}

impl BatchCipher for MockCipher {
    fn name(&self) -> &'static str {
        "mock"
    }

    fn apply(&self, jobs: &mut [Job<'_>]) {
        self.ciphers.apply(jobs);
    }

    fn in_clear(&self, ll_pdu: &[u8]) {
        self.work.spend(ll_pdu);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_octet_counts() {
        let octets = [7; 100];
        let whole = Work { steps: 13 };
        let result = whole.spend(&octets);
        for at in 0..octets.len() {
            let mut other = octets;
            other[at] ^= 1;
            assert_ne!(whole.spend(&other), result, "octet {at}");
        }
        assert_ne!(Work { steps: 14 }.spend(&octets), result);
        assert_eq!(Work { steps: 3 }.spend(&[]), Work { steps: 3 }.spend(&[0; 8]));
    }

    #[test]
    fn a_disturbed_calibration_is_as_good() {
        // Two thirds of it pass while the processor does something else.
        let (mut now_ns, mut looks) = (0, 0);
        let work = Work::calibrated(7500, || {
            looks += 1;
            if looks % 2 == 0 {
                now_ns += if looks % 3 == 0 { 16_384 * 2 } else { 1 << 40 };
            }
            now_ns
        });
        assert_eq!((work.steps, looks), (3750, 2 * PROBES));
    }
}
