//! A global allocator that puts large tables on huge pages.
//!
//! A table of a million mobiles touched at random misses the TLB at nearly every access on pages of 4 KiB. Allocations
//! of [`LARGE`] octets and more come straight from the kernel, aligned to huge pages and marked `MADV_HUGEPAGE`, which
//! Linux heeds in its usual mode `madvise`; all others are the system allocator's. Memory that nothing has written
//! to costs nothing, as before, but is taken 2 MiB at a time.
//!
//! What mobiles have of their own besides is in small pieces, no less at random: [`reserve_heap`] has these on huge pages as well.
#![expect(unsafe_code, reason = "an allocator cannot be written without")]

use core::sync::atomic::{AtomicBool, Ordering};
use std::alloc::{GlobalAlloc, Layout, System};

/// From how many octets on an allocation is large: a table that does not fit the first caches, and so profits of beginning with a
/// cache line and of needing few entries of the TLB.
pub const LARGE: usize = 1 << 20;
/// A huge page of x86-64 and of AArch64 with pages of 4 KiB, in octets.
const HUGE_PAGE: usize = 2 << 20;
/// A block that no heap has at hand when a process starts.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const PROBE: usize = 8 << 20;

/// Large allocations are to stand on usual pages.
static ON_SMALL_PAGES: AtomicBool = AtomicBool::new(false);

/// From now on large allocations stand on usual pages, of which those are taken that are written to: for a process of small tables.
pub fn use_small_ones() {
    ON_SMALL_PAGES.store(true, Ordering::Relaxed);
}

/// The allocator: `#[global_allocator] static ALLOCATOR: BigPages = BigPages;`
#[derive(Debug, Clone, Copy)]
pub struct BigPages;

/// Is this allocation large? An alignment above that of a huge page is left to the system.
const fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= HUGE_PAGE
}

/// What is taken from the kernel for `size` octets, in whole huge pages; `None` where that is no number any more.
fn rounded(size: usize) -> Option<usize> {
    size.checked_next_multiple_of(HUGE_PAGE)
}

/// Zeroed memory of whole huge pages, or null.
fn map(size: usize) -> *mut u8 {
    let Some((size, room)) = rounded(size).and_then(|size| Some((size, size.checked_add(HUGE_PAGE)?))) else {
        return core::ptr::null_mut();
    };
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory that exists.
    let start = unsafe { libc::mmap(core::ptr::null_mut(), room, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return core::ptr::null_mut();
    }
    let before = start.addr().wrapping_neg() & (HUGE_PAGE - 1);
    let aligned = start.wrapping_byte_add(before);
    // SAFETY: both ends lie inside the mapping just made and are whole pages that nobody knows of; `size` octets from
    // `aligned` on remain.
    unsafe {
        if before > 0 {
            libc::munmap(start, before);
        }
        if before < HUGE_PAGE {
            libc::munmap(aligned.wrapping_byte_add(size), HUGE_PAGE - before);
        }
        // A kernel without huge pages refuses, and the memory is as good as any.
        let small = ON_SMALL_PAGES.load(Ordering::Relaxed);
        libc::madvise(aligned, size, if small { libc::MADV_NOHUGEPAGE } else { libc::MADV_HUGEPAGE });
    }
    aligned.cast()
}

// SAFETY: large blocks come from `map`, zeroed, unique, aligned to 2 MiB and of at least the size asked for, and go
// back by `munmap` with the size they were made with, since `is_large` and `rounded` depend on the layout alone, which
// the caller repeats. All others are the system allocator's from beginning to end. `realloc` is the trait's own, which
// allocates, copies and frees by these.
unsafe impl GlobalAlloc for BigPages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return map(layout.size());
        }
        // SAFETY: the caller keeps the promises of this call to us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return map(layout.size());
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        match rounded(layout.size()).filter(|_| is_large(layout)) {
            // SAFETY: `at` was returned by `map` for this size, and the caller uses it no more.
            Some(size) => drop(unsafe { libc::munmap(at.cast(), size) }),
            // SAFETY: as above.
            None => unsafe { System.dealloc(at, layout) },
        }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller promises that `new_size` does not overflow when rounded up to the alignment.
        let new = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        if !is_large(layout) && !is_large(new) {
            // SAFETY: the block is the system's and stays there.
            return unsafe { System.realloc(at, layout, new_size) };
        }
        // SAFETY: `new` is a valid layout, `at` is a block of `layout`, and the two do not overlap.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                core::ptr::copy_nonoverlapping(at, moved, layout.size().min(new_size));
                self.dealloc(at, layout);
            }
            moved
        }
    }
}

/// Reserves so many octets of the C library's heap on huge pages, for allocations below [`LARGE`]. They are an address range, which counts
/// towards limits of address space, until they are written to; then they are taken 2 MiB at a time, and stay this process's when they are
/// given back. For the start, while there is one thread: others have heaps of their own.
///
/// False where there are more threads, or the C library or the kernel has none to give. The heap is on usual pages then.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[must_use]
pub fn reserve_heap(octets: usize) -> bool {
    let number = |octets: usize| libc::c_int::try_from(octets).unwrap_or(libc::c_int::MAX);
    let is_alone = std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1);
    // SAFETY: no other thread allocates. These set how the heap grows and what it gives back; what it has allocated stays where it is.
    let is_set = is_alone
        && unsafe {
            // For now: the block below is to be the heap's.
            libc::mallopt(libc::M_MMAP_THRESHOLD, number(2 * PROBE)) == 1
                && libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX) == 1
                && libc::mallopt(libc::M_TOP_PAD, number(octets)) == 1
        };
    if !is_set {
        return false;
    }
    // SAFETY: a block of our own, larger than what the heap has at hand, so that it grows; nobody writes to it, and it goes back below.
    let grown = unsafe { libc::malloc(PROBE) };
    // SAFETY: as above; and with 0, `sbrk` moves nothing and says where the heap ends.
    let end = unsafe {
        // What is larger does not come here.
        libc::mallopt(libc::M_MMAP_THRESHOLD, number(LARGE));
        libc::mallopt(libc::M_TOP_PAD, number(HUGE_PAGE));
        libc::sbrk(0)
    };
    let len = end.addr().saturating_sub(grown.addr().next_multiple_of(HUGE_PAGE));
    // Anything else is a block that stands elsewhere.
    let is_there = !grown.is_null() && (octets..octets + 2 * PROBE).contains(&len);
    // SAFETY: the pages from the block to the end of the heap, which are the heap's: the advice changes what they are made of and not what
    // they hold. The block is given back once.
    unsafe {
        let is_advised = is_there && libc::madvise(end.wrapping_byte_sub(len), len, libc::MADV_HUGEPAGE) == 0;
        libc::free(grown);
        is_advised
    }
}

/// The C library says nothing of its heap.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
#[must_use]
pub const fn reserve_heap(_octets: usize) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn large_blocks_are_aligned_zeroed_and_keep_their_octets_when_they_grow() {
        let start = layout(LARGE - 64, 64);
        // SAFETY: the layouts are those of the blocks, and every access lies inside them.
        unsafe {
            let small = BigPages.alloc_zeroed(start);
            small.write_bytes(7, start.size());
            let large = BigPages.realloc(small, start, LARGE + 1);
            assert_eq!(large.addr() % HUGE_PAGE, 0);
            assert!((0..start.size()).step_by(999).all(|at| large.add(at).read() == 7));
            assert_eq!(large.add(LARGE).read(), 0);
            let larger = BigPages.realloc(large, layout(LARGE + 1, 64), 5 * LARGE);
            assert!((0..start.size()).step_by(999).all(|at| larger.add(at).read() == 7));
            larger.add(5 * LARGE - 1).write(1);
            let small = BigPages.realloc(larger, layout(5 * LARGE, 64), 100);
            assert_eq!(small.add(99).read(), 7);
            BigPages.dealloc(small, layout(100, 64));
        }
    }

    #[test]
    fn what_cannot_be_had_is_null() {
        assert!(map(usize::MAX).is_null());
        assert!(map(1 << 62).is_null());
        assert!(!is_large(layout(LARGE, 2 * HUGE_PAGE)));
    }
}
