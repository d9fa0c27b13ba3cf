//! A global allocator that counts, for the proof that nothing is allocated per packet, and of what a table takes.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: gannet_rt::alloc_count::Counting = gannet_rt::alloc_count::Counting;
//!
//! let before = gannet_rt::alloc_count::allocations();
//! let sum: u64 = (1..100).sum();
//! assert_eq!(gannet_rt::alloc_count::allocations(), before, "{sum}");
//! ```
#![expect(unsafe_code, reason = "an allocator cannot be written without")]

use core::cell::Cell;
use std::alloc::{GlobalAlloc, Layout, System};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static OCTETS: Cell<i64> = const { Cell::new(0) };
}

/// Octets that the calling thread has allocated and not given back. What one thread allocates and another gives back counts for
/// both of them. Zero for ever where [`Counting`] is not the global allocator.
#[must_use]
pub fn octets_held() -> i64 {
    OCTETS.with(Cell::get)
}

/// How often the calling thread has allocated or enlarged memory so far. Zero for ever where [`Counting`] is not the
/// global allocator.
#[must_use]
pub fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

fn count(octets: usize) {
    // Fails only while the thread ends, when nobody looks any more.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
    hold(octets, 0);
}

fn hold(more: usize, less: usize) {
    let signed = |octets: usize| i64::try_from(octets).unwrap_or(i64::MAX);
    let _ = OCTETS.try_with(|octets| octets.set(octets.get() + signed(more) - signed(less)));
}

/// The system's allocator with a counter for each thread.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counting;

// SAFETY: every call goes to the system's allocator with the same arguments. The counters are thread-local integers
// with constant initial values and no destructor, so that counting never allocates.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size);
        hold(0, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        hold(0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}
