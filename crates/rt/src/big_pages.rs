//! A global allocator that puts large tables on huge pages.
//!
//! A table of a million mobiles touched at random misses the TLB at nearly every access on pages of 4 KiB. Allocations
//! of [`LARGE`] octets and more come straight from the kernel, aligned to huge pages and marked `MADV_HUGEPAGE`, which
//! Linux heeds in its usual mode `madvise`; all others are the system allocator's. Memory that nothing has written
//! to costs nothing, as before, but is taken 2 MiB at a time.
//!
//! What mobiles have of their own besides is in small pieces, no less at random: [`reserve_heap`] has these on huge pages as well.
#![expect(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};

/// From how many octets on an allocation is large: a table that does not fit the first caches, and so profits of beginning with a
/// cache line and of needing few entries of the TLB.
pub const LARGE: usize = 1 << 20;
/// A huge page of x86-64 and of AArch64 with pages of 4 KiB, in octets.
const HUGE_PAGE: usize = 2 << 20;

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
        libc::madvise(aligned, size, libc::MADV_HUGEPAGE);
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

/// Has what is allocated in pieces that are not large stand on huge pages too, as far as so many octets of it go. They are an address
/// range alone until they are written to, and stay this process's when they are given back. False where the C library or the kernel
/// has none to give, and all stays as it was. For the main thread at its start: other threads have heaps of their own.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn reserve_heap(octets: usize) -> bool {
    let number = |octets: usize| libc::c_int::try_from(octets).unwrap_or(libc::c_int::MAX);
    // SAFETY: these set how the C library grows its heap and what it gives back; what it has allocated stays where it is.
    unsafe {
        // What is larger does not come here.
        libc::mallopt(libc::M_MMAP_THRESHOLD, number(LARGE));
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        libc::mallopt(libc::M_TOP_PAD, number(octets));
    }
    // SAFETY: a block of our own, which nobody writes to, and which goes back at once. It makes the heap grow.
    let grown = unsafe { libc::malloc(LARGE / 2) };
    // SAFETY: as above, for what follows.
    unsafe { libc::mallopt(libc::M_TOP_PAD, number(HUGE_PAGE)) };
    // SAFETY: with 0 it moves nothing and says where the heap ends.
    let end = unsafe { libc::sbrk(0) };
    let from = grown.addr().next_multiple_of(HUGE_PAGE);
    let len = end.addr().saturating_sub(from);
    let is_there = !grown.is_null() && grown.addr() < end.addr() && len >= octets.saturating_sub(HUGE_PAGE);
    // SAFETY: whole pages of the heap; the advice changes what they are made of and not what they hold. The block is given back once.
    unsafe {
        let advised = is_there && libc::madvise(end.wrapping_byte_sub(len), len, libc::MADV_HUGEPAGE) == 0;
        libc::free(grown);
        advised
    }
}

/// The C library says nothing of its heap.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
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
