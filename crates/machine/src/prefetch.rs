//! Memory that will be needed, asked for before it is: where a million mobiles are known, hardly anything of the next one
//! is in the cache, and a processor that waits for one line could have worked on another packet meanwhile.
//!
//! A hint: it changes nothing but the time that things take, and who drives the machines gives what its processor has.

use core::fmt;
use std::collections::VecDeque;

/// Octets of a cache line.
const LINE: usize = 64;

/// What a driver does to have the lines from an address on, so many octets, loaded without waiting for them. The address
/// is never read through.
pub type Load = fn(*const u8, usize);

/// Asks for memory.
#[derive(Clone, Copy)]
pub struct Prefetch {
    load: Load,
    /// The same of what is needed once, and not for long after that.
    load_once: Load,
}

impl Prefetch {
    /// Does nothing, as in a simulation.
    pub const NONE: Self = Self::new(|_, _| {}, |_, _| {});

    /// As the driver can.
    #[must_use]
    pub const fn new(load: Load, load_once: Load) -> Self {
        Self { load, load_once }
    }

    /// Asks for a whole value.
    #[inline]
    pub fn value<T: ?Sized>(self, value: &T) {
        (self.load)(core::ptr::from_ref(value).cast(), size_of_val(value));
    }

    /// Asks for a whole value that is needed once, soon, and then not for long: nothing else should make room for it.
    #[inline]
    pub fn once<T: ?Sized>(self, value: &T) {
        (self.load_once)(core::ptr::from_ref(value).cast(), size_of_val(value));
    }

    /// Asks for the beginning of a value: at least so many octets.
    #[inline]
    pub fn beginning<T>(self, value: &T, octets: usize) {
        (self.load)(core::ptr::from_ref(value).cast(), octets.min(size_of::<T>()));
    }

    /// Asks for so many octets of memory where the next elements of a queue will stand, as far as they are behind those that it
    /// has.
    #[inline]
    pub fn end_of<T>(self, queue: &VecDeque<T>, octets: usize) {
        let (front, back) = queue.as_slices();
        let last = if back.is_empty() { front } else { back };
        (self.load)(last.as_ptr_range().end.cast(), octets);
    }

    /// Asks for octets and for the line in front of them.
    #[inline]
    pub fn octets_and_before(self, octets: &[u8]) {
        (self.load)(octets.as_ptr().wrapping_sub(LINE), octets.len() + LINE);
    }
}

impl fmt::Debug for Prefetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prefetch")
    }
}
