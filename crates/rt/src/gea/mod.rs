//! GEA3 and GEA4 over many frames at once, with what this processor has.
//!
//! The blocks of one frame depend upon each other, so that what runs side by side are frames. Each lane is one octet
//! wide: a word of sixteen bits stands in two vectors, its higher and its lower octets, because KASUMI's S-boxes take
//! seven and nine bits and give as many, and what looks up octets ([`avx2`], [`avx512`]) looks up one in each lane.
//! Which lanes are filled changes nothing of what a call costs; the longest frame does.
//!
//! The machines know none of this: [`best`] is handed to them as a [`BatchCipher`].

use gannet_proto::llc::cipher::{BatchCipher, Portable};
use std::sync::LazyLock;

// The macro of `lanes` is used by both of them.
#[cfg(target_arch = "x86_64")]
#[macro_use]
mod lanes;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod tables;

/// What [`best`] has found, once.
static BEST: LazyLock<&'static dyn BatchCipher> =
    LazyLock::new(|| all().last().copied().unwrap_or(&Portable));

/// The fastest that this processor can do.
#[must_use]
pub fn best() -> &'static dyn BatchCipher {
    *BEST
}

/// All that this processor can do, slowest first.
#[must_use]
pub fn all() -> Vec<&'static dyn BatchCipher> {
    let mut found: Vec<&'static dyn BatchCipher> = vec![&Portable];
    #[cfg(target_arch = "x86_64")]
    {
        found.extend(avx2::Avx2::detected().map(|it| it as &dyn BatchCipher));
        found.extend(avx512::Avx512::detected().map(|it| it as &dyn BatchCipher));
    }
    found
}
