//! The rings of AF_XDP: each has one producer and one consumer, which meet in two counters.
//!
//! The producer writes entries and then moves its counter on with release; the consumer reads the counter with acquire
//! and then the entries; and the same the other way round for the room. Counters are 32 bits that wrap, the index of an
//! entry is the counter's low bits. What the other side claims is limited to the length of the ring, and every index is
//! masked, so that nothing outside of the ring's memory is touched whatever the other side writes.
#![expect(unsafe_code, reason = "memory that is shared with the kernel")]

use core::ffi::c_void;
use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;

/// What a ring is made of: for which any bits are a value.
pub trait Entry: Copy + 'static + private::Sealed {}

mod private {
    pub trait Sealed {}
    impl Sealed for u64 {}
    impl Sealed for super::Descriptor {}
}

impl Entry for u64 {}
impl Entry for Descriptor {}

/// An entry of the RX and TX rings (`struct xdp_desc`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Descriptor {
    /// Where the frame begins, in octets from the beginning of the UMEM.
    pub address: u64,
    /// Its octets.
    pub len: u32,
    /// `XDP_PKT_CONTD` and the like; 0 for a frame in one piece.
    pub options: u32,
}

/// Where the parts of a ring lie in its memory, in octets.
#[derive(Debug, Clone, Copy)]
pub struct Offsets {
    /// The producer's counter.
    pub producer: usize,
    /// The consumer's counter.
    pub consumer: usize,
    /// The flags.
    pub flags: usize,
    /// The first entry.
    pub entries: usize,
}

/// The memory of a ring: mapped from a socket, or plain memory for a ring within one process.
enum Memory {
    Mapped { at: NonNull<u8>, len: usize },
    Plain { at: NonNull<u8>, len: usize },
}

// SAFETY: the memory belongs to this value alone and is only reached through atomics and through the two ends of a ring.
unsafe impl Send for Memory {}
// SAFETY: as above; a shared `Memory` gives away nothing but its address.
unsafe impl Sync for Memory {}

impl Memory {
    fn map(socket: BorrowedFd<'_>, page_offset: i64, len: usize) -> io::Result<Self> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a mapping at an address of the kernel's choice touches no memory that exists.
        let at = unsafe {
            libc::mmap(core::ptr::null_mut(), len, protection, flags, socket.as_raw_fd(), page_offset)
        };
        match NonNull::new(at) {
            Some(at) if at.as_ptr() != libc::MAP_FAILED => Ok(Self::Mapped { at: at.cast(), len }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn plain(len: usize) -> Self {
        let words: Box<[u64]> = vec![0; len.div_ceil(8)].into_boxed_slice();
        let len = words.len() * 8;
        Self::Plain { at: NonNull::from(Box::leak(words)).cast(), len }
    }

    const fn extent(&self) -> (NonNull<u8>, usize) {
        match self {
            Self::Mapped { at, len } | Self::Plain { at, len } => (*at, *len),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match self {
            // SAFETY: this is the mapping made in `map`, whole; the ends that know of it hold it by an `Arc` and are gone.
            Self::Mapped { at, len } => drop(unsafe { libc::munmap(at.as_ptr().cast::<c_void>(), *len) }),
            Self::Plain { at, len } => {
                let words = core::ptr::slice_from_raw_parts_mut(at.as_ptr().cast::<u64>(), *len / 8);
                // SAFETY: the box leaked in `plain`, of the same type and length.
                drop(unsafe { Box::from_raw(words) });
            }
        }
    }
}

/// A ring as both ends see it.
struct Ring<T> {
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    mask: u32,
    _memory: Arc<Memory>,
}

// SAFETY: the pointers lead into the memory that is held by the `Arc`, which any thread may use.
unsafe impl<T: Entry> Send for Ring<T> {}

impl<T: Entry> Ring<T> {
    /// `None` where a part would not lie inside the memory, or where `len` is no power of two.
    fn new(memory: &Arc<Memory>, offsets: Offsets, len: u32) -> Option<Self> {
        let (at, octets) = memory.extent();
        let part = |offset: usize, len: usize, align: usize| {
            let end = offset.checked_add(len)?;
            (end <= octets && offset.is_multiple_of(align)).then_some(())?;
            // SAFETY: the part was just found to lie inside the memory.
            Some(unsafe { at.add(offset) })
        };
        let counter = |offset| part(offset, 4, 4).map(NonNull::cast::<AtomicU32>);
        let entries = usize::try_from(len).ok()?.checked_mul(size_of::<T>())?;
        len.is_power_of_two().then_some(())?;
        Some(Self {
            producer: counter(offsets.producer)?,
            consumer: counter(offsets.consumer)?,
            flags: counter(offsets.flags)?,
            entries: part(offsets.entries, entries, align_of::<T>())?.cast(),
            mask: len - 1,
            _memory: Arc::clone(memory),
        })
    }

    const fn producer(&self) -> &AtomicU32 {
        // SAFETY: inside the memory, aligned (checked by `new`), and only ever used as an atomic.
        unsafe { self.producer.as_ref() }
    }

    const fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.consumer.as_ref() }
    }

    const fn flags(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.flags.as_ref() }
    }

    const fn entry(&self, counter: u32) -> *mut T {
        // SAFETY: the mask keeps the index below the number of entries, all of which lie inside the memory.
        unsafe { self.entries.as_ptr().add((counter & self.mask) as usize) }
    }
}

/// The end that fills a ring.
pub struct Producer<T> {
    ring: Ring<T>,
    /// The counter of the next entry; the other side has seen it up to the last [`Producer::submit`].
    next: u32,
    /// Up to where there was room at the last look.
    limit: u32,
}

impl<T: Entry> Producer<T> {
    fn new(ring: Ring<T>) -> Self {
        let next = ring.producer().load(Ordering::Relaxed);
        Self { next, limit: next, ring }
    }

    /// Entries that find room now; looks at the other side only where it knows of fewer than `wanted`.
    pub fn room(&mut self, wanted: u32) -> u32 {
        let known = self.limit.wrapping_sub(self.next);
        if known >= wanted {
            return known;
        }
        let waiting = self.waiting();
        self.limit = self.next.wrapping_add(self.len() - waiting);
        self.len() - waiting
    }

    /// Puts an entry behind the others; false where there is no room. The other side sees it after
    /// [`Producer::submit`].
    #[must_use]
    pub fn push(&mut self, entry: T) -> bool {
        if self.room(1) == 0 {
            return false;
        }
        // SAFETY: valid and aligned, and the other side does not read it: it lies outside of what was submitted and
        // inside of what it has released (`room`).
        unsafe { self.ring.entry(self.next).write(entry) };
        self.next = self.next.wrapping_add(1);
        true
    }

    /// Shows the other side all that was put.
    pub fn submit(&mut self) {
        self.ring.producer().store(self.next, Ordering::Release);
    }

    /// Entries that the other side has not taken yet.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        let taken = self.ring.consumer().load(Ordering::Acquire);
        self.next.wrapping_sub(taken).min(self.len())
    }

    /// Does the kernel want a system call before it looks?
    #[must_use]
    pub fn needs_wakeup(&self) -> bool {
        self.ring.flags().load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// Entries in all.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.ring.mask + 1
    }

    /// True where the other side has taken all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting() == 0
    }
}

/// The end that empties a ring.
pub struct Consumer<T> {
    ring: Ring<T>,
    /// The counter of the next entry; the other side knows it up to the last [`Consumer::release`].
    next: u32,
    /// Up to where entries were there at the last look.
    limit: u32,
}

impl<T: Entry> Consumer<T> {
    fn new(ring: Ring<T>) -> Self {
        let next = ring.consumer().load(Ordering::Relaxed);
        Self { next, limit: next, ring }
    }

    /// Entries that can be taken; looks at the other side.
    pub fn available(&mut self) -> u32 {
        let produced = self.ring.producer().load(Ordering::Acquire);
        let count = produced.wrapping_sub(self.next).min(self.ring.mask + 1);
        self.limit = self.next.wrapping_add(count);
        count
    }

    /// Takes the first entry; `None` where there is none. The other side may use its place after
    /// [`Consumer::release`].
    pub fn pop(&mut self) -> Option<T> {
        if self.limit == self.next && self.available() == 0 {
            return None;
        }
        // SAFETY: valid and aligned; the other side has submitted it (`available`) and does not write to it before it
        // is released. Any bits are a value of an `Entry`.
        let entry = unsafe { self.ring.entry(self.next).read() };
        self.next = self.next.wrapping_add(1);
        Some(entry)
    }

    /// Gives the places of all that was taken back to the other side.
    pub fn release(&mut self) {
        self.ring.consumer().store(self.next, Ordering::Release);
    }
}

/// Maps the ring of a socket that the kernel fills.
pub(crate) fn map_consumer<T: Entry>(
    socket: BorrowedFd<'_>,
    page_offset: i64,
    offsets: Offsets,
    len: u32,
) -> io::Result<Consumer<T>> {
    map(socket, page_offset, offsets, len).map(Consumer::new)
}

/// Maps the ring of a socket that this process fills.
pub(crate) fn map_producer<T: Entry>(
    socket: BorrowedFd<'_>,
    page_offset: i64,
    offsets: Offsets,
    len: u32,
) -> io::Result<Producer<T>> {
    map(socket, page_offset, offsets, len).map(Producer::new)
}

fn map<T: Entry>(
    socket: BorrowedFd<'_>,
    page_offset: i64,
    offsets: Offsets,
    len: u32,
) -> io::Result<Ring<T>> {
    let octets = usize::try_from(len).unwrap_or(usize::MAX).saturating_mul(size_of::<T>());
    let memory = Arc::new(Memory::map(socket, page_offset, offsets.entries.saturating_add(octets))?);
    Ring::new(&memory, offsets, len).ok_or_else(|| io::Error::other("the kernel's ring is not where it says"))
}

/// Both ends of a ring in plain memory with room for `len` entries, a power of two, whose counters stand at `first`.
///
/// For tests and for rings between threads.
#[must_use]
pub fn pair<T: Entry>(len: u32, first: u32) -> Option<(Producer<T>, Consumer<T>)> {
    let offsets = Offsets { producer: 0, consumer: 64, flags: 128, entries: 192 };
    let octets = usize::try_from(len).ok()?.checked_mul(size_of::<T>())?;
    let memory = Arc::new(Memory::plain(offsets.entries + octets));
    let (one, other) = (Ring::new(&memory, offsets, len)?, Ring::new(&memory, offsets, len)?);
    one.producer().store(first, Ordering::Relaxed);
    one.consumer().store(first, Ordering::Relaxed);
    Some((Producer::new(one), Consumer::new(other)))
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Producer(next {} of {})", self.next, self.ring.mask + 1)
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Consumer(next {} of {})", self.next, self.ring.mask + 1)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn what_goes_in_comes_out_in_order_across_the_wrap() {
        for first in [0, 3, u32::MAX - 2] {
            let (mut put, mut take) = pair::<u64>(4, first).unwrap();
            for number in 0..40_u64 {
                assert!(put.push(number));
                assert_eq!(take.available(), 0, "not submitted yet");
                put.submit();
                assert_eq!(put.waiting(), 1);
                assert_eq!(take.pop(), Some(number));
                take.release();
                assert_eq!(take.pop(), None);
            }
        }
    }

    #[test]
    fn a_full_ring_takes_nothing_until_a_place_is_released() {
        let (mut put, mut take) = pair::<Descriptor>(2, u32::MAX).unwrap();
        let entry = |address| Descriptor { address, len: 1, options: 0 };
        assert!(put.push(entry(1)) && put.push(entry(2)) && !put.push(entry(3)));
        put.submit();
        assert_eq!(take.pop(), Some(entry(1)));
        assert_eq!(put.room(1), 0);
        take.release();
        assert_eq!(put.room(1), 1);
        assert!(put.push(entry(3)));
        put.submit();
        assert_eq!((take.pop(), take.pop(), take.pop()), (Some(entry(2)), Some(entry(3)), None));
    }

    #[test]
    fn lies_of_the_other_side_stay_inside_the_ring() {
        let (put, mut take) = pair::<u64>(4, 0).unwrap();
        put.ring.producer().store(1000, Ordering::Relaxed);
        assert_eq!(take.available(), 4);
        let (mut put, take) = pair::<u64>(4, 0).unwrap();
        take.ring.consumer().store(77, Ordering::Relaxed);
        assert!(put.room(9) <= 4);
    }

    #[test]
    fn a_ring_that_does_not_fit_is_refused() {
        assert!(pair::<u64>(3, 0).is_none());
        let memory = Arc::new(Memory::plain(64));
        let at = |producer, entries| Offsets { producer, consumer: 4, flags: 8, entries };
        assert!(Ring::<u64>::new(&memory, at(0, 16), 4).is_some());
        assert!(Ring::<u64>::new(&memory, at(0, 40), 4).is_none());
        assert!(Ring::<u64>::new(&memory, at(2, 16), 4).is_none());
        assert!(Ring::<u64>::new(&memory, at(64, 16), 4).is_none());
    }

    #[test]
    fn two_threads_meet_in_the_counters() {
        let (mut put, mut take) = pair::<u64>(64, u32::MAX - 1000).unwrap();
        const COUNT: u64 = 200_000;
        let thread = std::thread::spawn(move || {
            for number in 0..COUNT {
                while !put.push(number) {
                    std::thread::yield_now();
                }
                put.submit();
            }
        });
        for number in 0..COUNT {
            let got = loop {
                if let Some(got) = take.pop() {
                    break got;
                }
                std::thread::yield_now();
            };
            assert_eq!(got, number);
            take.release();
        }
        thread.join().unwrap();
    }
}
