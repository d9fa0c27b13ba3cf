//! A global allocator that counts, for the proof that nothing is allocated per packet.
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
}

/// How often the calling thread has allocated or enlarged memory so far. Zero for ever where [`Counting`] is not the
/// global allocator.
#[must_use]
pub fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

fn count() {
    // Fails only while the thread ends, when nobody looks any more.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

/// The system's allocator with a counter for each thread.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counting;

// SAFETY: every call goes to the system's allocator with the same arguments. The counter is a thread-local integer
// with a constant initial value and no destructor, so that counting never allocates.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}
