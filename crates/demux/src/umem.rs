//! The memory that this process and the kernel share: chunks of [`FRAME_SIZE`] octets, each the home of one frame.
//!
//! The chunks do not stand close to each other: an odd number of cache lines lies from one to the next. At a power of two
//! the lines that packets use would be the same few in every chunk, and fight for a quarter of the cache's sets while the
//! others stood empty. The kernel calls such a region unaligned, and then has its own notes on a chunk from a stack
//! of those used last, instead of a cold table with one for each chunk.
//!
//! A chunk belongs to this process, as a [`StaticBuffer`], or to one [`Holder`] in the kernel: the sockets of one device.
//! [`Umem::give`] and [`Umem::take`] move it. The table of who holds what makes every misuse harmless: an address that
//! the kernel returns though it does not hold the chunk is refused.
#![expect(unsafe_code, reason = "memory that is shared with the kernel")]

use core::fmt;
use core::ptr::NonNull;
use gannet_machine::frame::{FRAME_SIZE, StaticBuffer};
use std::io;

/// From one chunk to the next, in octets.
const STRIDE: usize = FRAME_SIZE + 64;
const _: () = assert!(STRIDE % 128 == 64, "an odd number of lines");
/// Where an address of the kernel has the offset of the data from the address given to it.
const OFFSET_SHIFT: u32 = 48;
/// A huge page, in octets.
const HUGE_PAGE: usize = 2 << 20;

/// Whose sockets hold a chunk. Numbers are the caller's, one for each device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Holder(core::num::NonZeroU8);

impl Holder {
    /// `None` for 0, which is this process.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        match core::num::NonZeroU8::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }
}

/// The region. It is never unmapped: its buffers live as long as the process.
pub struct Umem {
    base: NonNull<u8>,
    /// For each chunk the number of its holder in the kernel, 0 for this process.
    holders: Vec<u8>,
    huge: bool,
}

/// The buffers of a new region, each once.
pub struct Buffers {
    base: NonNull<u8>,
    next: usize,
    end: usize,
}

impl Iterator for Buffers {
    type Item = StaticBuffer;

    fn next(&mut self) -> Option<StaticBuffer> {
        let index = self.next;
        if index >= self.end {
            return None;
        }
        self.next += 1;
        // SAFETY: the chunk lies inside the region, which is never unmapped, and is given out here for the first time.
        Some(unsafe { &mut *self.base.as_ptr().add(index * STRIDE).cast::<[u8; FRAME_SIZE]>() })
    }
}

impl Umem {
    /// A region of `chunks` chunks and their buffers. It lies on huge pages where the machine has some, and all of it
    /// is there at once.
    ///
    /// # Errors
    /// Where the kernel has not so much memory.
    pub fn new(chunks: usize) -> io::Result<(Self, Buffers)> {
        let len = chunks
            .max(1)
            .checked_mul(STRIDE)
            .and_then(|len| len.checked_next_multiple_of(HUGE_PAGE))
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let reserved = map(len, libc::MAP_HUGETLB | libc::MAP_POPULATE);
        let huge = reserved.is_ok();
        let base = reserved.or_else(|_| map_aligned(len))?;
        let umem = Self { base, holders: vec![0; chunks], huge };
        Ok((umem, Buffers { base, next: 0, end: chunks }))
    }

    /// Gives a buffer to the kernel and returns the address of its first octet in the region.
    ///
    /// # Errors
    /// The buffer, where it is none of this region.
    pub fn give(&mut self, buffer: StaticBuffer, to: Holder) -> Result<u64, StaticBuffer> {
        let offset = buffer.as_ptr().addr().wrapping_sub(self.base.addr().get());
        match self.holders.get_mut(offset / STRIDE) {
            Some(holder) => {
                *holder = to.0.get();
                Ok(offset as u64)
            }
            None => Err(buffer),
        }
    }

    /// Takes the buffer that holds `address` back from the kernel, and says where in it the address lies. `None` where
    /// `from` does not hold it.
    pub fn take(&mut self, address: u64, from: Holder) -> Option<(StaticBuffer, usize)> {
        let place = (address & ((1 << OFFSET_SHIFT) - 1)) + (address >> OFFSET_SHIFT);
        let place = usize::try_from(place).ok()?;
        let (index, offset) = (place / STRIDE, place % STRIDE);
        let holder = self.holders.get_mut(index)?;
        if *holder != from.0.get() {
            return None;
        }
        *holder = 0;
        Some((self.buffer(index), offset))
    }

    /// Takes one buffer back that `from` holds, after its sockets have been closed: the search goes on from chunk
    /// `at`. `None` where there is no further one.
    pub fn reclaim(&mut self, from: Holder, at: &mut usize) -> Option<StaticBuffer> {
        let rest = self.holders.get_mut(*at..)?;
        let found = rest.iter().position(|holder| *holder == from.0.get())?;
        *rest.get_mut(found)? = 0;
        let index = *at + found;
        *at = index + 1;
        Some(self.buffer(index))
    }

    /// The buffer of a chunk that nobody holds any more.
    fn buffer(&self, index: usize) -> StaticBuffer {
        debug_assert_eq!(self.holders.get(index), Some(&0));
        // SAFETY: the chunk lies inside the region, which is never unmapped. Its buffer was consumed by `give`, which
        // set the holder; both callers have just found and cleared that mark, so that no other reference exists, and
        // the kernel has given the chunk up: it returned its address, or its sockets are closed.
        unsafe { &mut *self.base.as_ptr().add(index * STRIDE).cast::<[u8; FRAME_SIZE]>() }
    }

    /// Chunks that `holder` has.
    #[must_use]
    pub fn held(&self, holder: Holder) -> usize {
        self.holders.iter().filter(|other| **other == holder.0.get()).count()
    }

    /// Chunks in all.
    #[must_use]
    pub const fn chunks(&self) -> usize {
        self.holders.len()
    }

    /// Lies it on reserved huge pages? If not, the kernel may still have found transparent ones.
    #[must_use]
    pub const fn on_huge_pages(&self) -> bool {
        self.huge
    }

    /// Its first octet and its length in octets, to register it with a socket.
    pub(crate) const fn extent(&self) -> (NonNull<u8>, usize) {
        (self.base, self.holders.len() * STRIDE)
    }
}

fn map(len: usize, flags: libc::c_int) -> io::Result<NonNull<u8>> {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags);
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory that exists.
    let at = unsafe { libc::mmap(core::ptr::null_mut(), len, protection, flags, -1, 0) };
    match NonNull::new(at) {
        Some(at) if at.as_ptr() != libc::MAP_FAILED => Ok(at.cast()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ordinary memory at the beginning of a huge page, so that the kernel may use transparent ones.
fn map_aligned(len: usize) -> io::Result<NonNull<u8>> {
    let room = map(len + HUGE_PAGE, libc::MAP_NORESERVE)?;
    let before = room.addr().get().wrapping_neg() & (HUGE_PAGE - 1);
    // SAFETY: `before` is less than a huge page, and the mapping is longer than that by `len`.
    let base = unsafe { room.add(before) };
    // SAFETY: the advice concerns `len` octets of the mapping just made, of which nobody else knows.
    unsafe {
        libc::madvise(base.as_ptr().cast(), len, libc::MADV_HUGEPAGE);
        if libc::madvise(base.as_ptr().cast(), len, libc::MADV_POPULATE_WRITE) != 0 {
            // Before Linux 5.14: a write to each page does it.
            for page in (0..len).step_by(4096) {
                base.add(page).write_volatile(0);
            }
        }
    }
    Ok(base)
}

impl fmt::Debug for Umem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Umem({} chunks)", self.holders.len())
    }
}

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffers({}..{})", self.next, self.end)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
    use super::*;

    const GN: Holder = Holder::new(1).unwrap();
    const GB: Holder = Holder::new(2).unwrap();

    #[test]
    fn a_buffer_goes_to_the_kernel_and_comes_back_once() {
        let (mut umem, buffers) = Umem::new(4).unwrap();
        let mut buffers: Vec<StaticBuffer> = buffers.collect();
        assert_eq!((buffers.len(), umem.chunks()), (4, 4));
        let third = buffers.remove(2);
        third[7] = 9;
        let address = umem.give(third, GN).unwrap();
        assert_eq!(address, 2 * STRIDE as u64);
        assert!(umem.take(address, GB).is_none(), "another's");
        assert_eq!(umem.held(GN), 1);
        let (third, offset) = umem.take(address | 256 << OFFSET_SHIFT, GN).unwrap();
        assert_eq!((offset, third[7]), (256, 9));
        assert!(umem.take(address, GN).is_none(), "only once");
        assert!(umem.take(u64::MAX, GN).is_none() && umem.take(4 * STRIDE as u64, GN).is_none());
    }

    #[test]
    fn what_closed_sockets_held_is_reclaimed() {
        let (mut umem, buffers) = Umem::new(6).unwrap();
        for (number, buffer) in buffers.enumerate() {
            umem.give(buffer, if number % 2 == 0 { GN } else { GB }).unwrap();
        }
        let mut at = 0;
        let reclaimed = core::iter::from_fn(|| umem.reclaim(GN, &mut at)).count();
        assert_eq!(reclaimed, 3);
        assert_eq!((umem.held(GN), umem.held(GB)), (0, 3));
    }

    #[test]
    fn a_strange_buffer_is_not_given() {
        let (mut umem, _buffers) = Umem::new(1).unwrap();
        let strange: StaticBuffer = Box::leak(Box::new([0; FRAME_SIZE]));
        assert!(umem.give(strange, GN).is_err());
    }
}
