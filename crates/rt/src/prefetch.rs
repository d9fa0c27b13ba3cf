//! How this processor loads memory ahead of its use.
#![expect(unsafe_code, reason = "the instruction takes an address")]

use gannet_machine::prefetch::Prefetch;

/// By the processor's own instruction, where Rust has it; otherwise not at all.
pub const PREFETCH: Prefetch = Prefetch::new(load, load_once);

/// Octets of a cache line.
const LINE: usize = 64;

#[cfg(target_arch = "x86_64")]
fn load(at: *const u8, octets: usize) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction is a hint, which no address makes fault.
    lines(at, octets).for_each(|line| unsafe { _mm_prefetch::<_MM_HINT_T0>(line) });
}

/// Into the first cache alone, as far as the processor can, so that nothing leaves the others for it.
#[cfg(target_arch = "x86_64")]
fn load_once(at: *const u8, octets: usize) {
    use core::arch::x86_64::{_MM_HINT_NTA, _mm_prefetch};
    // SAFETY: as above.
    lines(at, octets).for_each(|line| unsafe { _mm_prefetch::<_MM_HINT_NTA>(line) });
}

/// Where the lines are in which these octets stand.
#[cfg(target_arch = "x86_64")]
fn lines(at: *const u8, octets: usize) -> impl Iterator<Item = *const i8> {
    let before = at.addr() % LINE;
    let first = at.wrapping_sub(before);
    (0..(before + octets).div_ceil(LINE)).map(move |line| first.wrapping_add(line * LINE).cast())
}

#[cfg(not(target_arch = "x86_64"))]
const fn load(_: *const u8, _: usize) {}

#[cfg(not(target_arch = "x86_64"))]
const fn load_once(_: *const u8, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_address_may_be_asked_for() {
        load(core::ptr::null(), 1000);
        load_once(core::ptr::null(), 1000);
        PREFETCH.once(&[0_u8; 300]);
        PREFETCH.value(&[0_u8; 300]);
        PREFETCH.octets_and_before(&[]);
    }
}
