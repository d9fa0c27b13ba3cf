//! What the kernel keeps of the memory that packets leave in.
//!
//! A packet that is sent is copied to memory of its own, which the SGSN's core takes and the load's core gives back. The
//! kernel keeps but a few pages of given-back pieces for the next taker (`min_partial`); beyond them it returns whole pages
//! as soon as they are empty, and has to cut up new ones a moment later. Where the two cores hand packets on in
//! batches, that is every batch: up to 0.25 µs a packet, for whoever is measured.

use crate::settings::Changed;
use std::path::{Path, PathBuf};

/// Pieces that hold a packet's description, and its octets with all that stands around them.
const CACHES: [&str; 6] =
    ["skbuff_head_cache", "skbuff_small_head", "kmalloc-512", "kmalloc-1k", "kmalloc-2k", "kmalloc-4k"];
/// Pages to keep: more than all packets on their way fill.
const KEEP: u32 = 1_000;

/// As long as this lives the kernel keeps them.
#[derive(Debug)]
pub struct Slabs {
    _kept: Vec<Changed>,
}

impl Slabs {
    /// Has them kept, where this kernel can be told to.
    #[must_use]
    pub fn keep() -> Self {
        Self::keep_in(Path::new("/sys/kernel/slab"))
    }

    fn keep_in(directory: &Path) -> Self {
        let files = CACHES.iter().map(|cache| directory.join(cache).join("min_partial"));
        let keep = |path: PathBuf| {
            let pages: u32 = std::fs::read_to_string(&path).ok()?.trim().parse().ok()?;
            (pages < KEEP).then(|| Changed::make(&path, &KEEP.to_string())).flatten()
        };
        Self { _kept: files.filter_map(keep).collect() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn what_was_there_comes_back() {
        let directory = gannet_testkit::TempDir::new("slabs");
        let file = |cache: &str| directory.path().join(cache).join("min_partial");
        for (cache, pages) in [("kmalloc-1k", "5\n"), ("kmalloc-2k", "2000\n")] {
            std::fs::create_dir(directory.path().join(cache)).unwrap();
            std::fs::write(file(cache), pages).unwrap();
        }
        let read = |cache: &str| std::fs::read_to_string(file(cache)).unwrap();
        let slabs = Slabs::keep_in(directory.path());
        assert_eq!((read("kmalloc-1k").as_str(), read("kmalloc-2k").as_str()), ("1000", "2000\n"));
        drop(slabs);
        assert_eq!(read("kmalloc-1k"), "5");
    }
}
