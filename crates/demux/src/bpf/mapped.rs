//! A map of the kernel in this process's memory: read and written with plain atomic loads and stores.
#![expect(unsafe_code, reason = "mmap, and references into memory that the kernel shares")]

use super::Error;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A value that a kernel program and this process may touch at the same time.
///
/// # Safety
/// The type is made of atomic integers alone, `repr(C)`, without padding, so that any octets are a valid value and
/// every access to them is atomic.
pub unsafe trait Shared: Sync {}

// SAFETY: an atomic integer.
unsafe impl Shared for AtomicU8 {}
// SAFETY: an atomic integer.
unsafe impl Shared for AtomicU16 {}
// SAFETY: an atomic integer.
unsafe impl Shared for AtomicU32 {}
// SAFETY: an atomic integer.
unsafe impl Shared for AtomicU64 {}
// SAFETY: an array has no padding of its own.
unsafe impl<T: Shared, const N: usize> Shared for [T; N] {}

/// The values of an array map with `BPF_F_MMAPABLE`, in this process's memory. The map lives as long as this.
#[derive(Debug)]
pub struct MappedArray<T: Shared> {
    base: NonNull<T>,
    entries: usize,
    octets: usize,
    values: PhantomData<T>,
}

// SAFETY: it owns the mapping, and what is in it is shared by atomics only.
unsafe impl<T: Shared> Send for MappedArray<T> {}
// SAFETY: as above.
unsafe impl<T: Shared> Sync for MappedArray<T> {}

impl<T: Shared> MappedArray<T> {
    /// Maps the map of `fd`, which has `entries` values of `value_size` octets.
    pub(super) fn map(
        fd: BorrowedFd<'_>,
        name: &str,
        value_size: usize,
        entries: usize,
    ) -> Result<Self, Error> {
        // The kernel puts each value at a multiple of eight octets.
        let stride = value_size.next_multiple_of(8);
        if stride != size_of::<T>() {
            return Err(Error::ValueSize { map: name.to_owned(), kernel: stride, here: size_of::<T>() });
        }
        let octets = stride * entries;
        // SAFETY: a new shared mapping of a file, at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                octets,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(base.cast::<T>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => {
                Ok(Self { base, entries, octets, values: PhantomData })
            }
            _ => Err(Error::of_call(
                format!("mapping the map '{name}' into memory"),
                io::Error::last_os_error(),
            )),
        }
    }

    /// How many values it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries
    }

    /// True where it has none; no map of the kernel is so.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// A value by its index.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: within the mapping, which is page-aligned and lives as long as `self`; `T` permits any octets and
        // changes by others.
        (index < self.entries).then(|| unsafe { self.base.add(index).as_ref() })
    }

    /// All values in their order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.entries).filter_map(|index| self.get(index))
    }
}

impl<T: Shared> Drop for MappedArray<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping that `map` made; no reference into it outlives `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.octets) };
    }
}
