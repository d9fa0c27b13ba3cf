//! How this processor loads memory ahead of its use.
#![expect(unsafe_code, reason = "the instruction takes an address")]

use gannet_proto::prefetch::Prefetch;

/// By the processor's own instruction, where Rust has it; otherwise not at all.
pub const PREFETCH: Prefetch = Prefetch::new(load);

/// Octets of a cache line.
const LINE: usize = 64;

/// Into the second-level cache: that keeps track of about three times as many lines under way as the first, which fills up
/// before the memory has answered, and then the hint waits. (T1 took half the time of T0 for five lines each of a million random
/// places, on an Intel Xeon.)
#[cfg(target_arch = "x86_64")]
fn load(at: *const u8, octets: usize) {
    use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
    let before = at.addr() % LINE;
    let first = at.wrapping_sub(before);
    for line in 0..(before + octets).div_ceil(LINE) {
        // SAFETY: the instruction is a hint, which no address makes fault.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(first.wrapping_add(line * LINE).cast()) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
const fn load(_: *const u8, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_address_may_be_asked_for() {
        load(core::ptr::null(), 1000);
        PREFETCH.value(&[0_u8; 300]);
        PREFETCH.octets_and_before(&[]);
    }
}
