//! Frames: buffers with headroom and tailroom that come from a pool and go back to it by themselves.
//!
//! A frame is written once. Every layer takes its header off the front ([`Frame::pull`]) or puts it there
//! ([`Frame::push`]); the FCS goes to the back ([`Frame::append`]). The code above does not notice where a frame
//! has its home: on the heap, or in memory that the kernel shares (the UMEM of AF_XDP sockets).

use crate::kept::{self, Keeper};
use crate::prefetch::Prefetch;
use core::cell::{Cell, RefCell};
use core::fmt;
use core::ops::{Deref, DerefMut};
use std::rc::Rc;

/// Octets of one buffer.
pub const FRAME_SIZE: usize = 2048;
const _: () = assert!(kept::LARGEST == FRAME_SIZE);
/// Octets in front of the payload of a fresh frame, for Ethernet, IP, UDP, NS, BSSGP, LLC and SNDCP headers.
pub const HEADROOM: usize = 256;
/// Octets of a datagram that fit behind the headroom.
pub const FRAME_PAYLOAD_MAX: usize = FRAME_SIZE - HEADROOM;

/// Memory of one frame that lives as long as the process, such as a chunk of a UMEM.
pub type StaticBuffer = &'static mut [u8; FRAME_SIZE];

/// Where a frame has its home.
enum Buffer {
    Heap(Box<[u8; FRAME_SIZE]>),
    Static(StaticBuffer),
}

impl Buffer {
    #[inline]
    fn octets(&self) -> &[u8; FRAME_SIZE] {
        match self {
            Self::Heap(octets) => octets,
            Self::Static(octets) => octets,
        }
    }

    #[inline]
    fn octets_mut(&mut self) -> &mut [u8; FRAME_SIZE] {
        match self {
            Self::Heap(octets) => octets,
            Self::Static(octets) => octets,
        }
    }
}

struct Shared {
    free: RefCell<Vec<Buffer>>,
    capacity: usize,
    exhausted: Cell<u64>,
    keeper: Keeper,
}

/// A fixed number of buffers, all allocated when the pool is made.
#[derive(Clone)]
pub struct FramePool(Rc<Shared>);

impl FramePool {
    /// A pool of `capacity` frames.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self::of((0..capacity).map(|_| Buffer::Heap(Box::new([0; FRAME_SIZE]))).collect())
    }

    /// A pool whose frames have their home in memory that outlives it: a driver that shares the memory with the kernel
    /// takes buffers out with [`Frame::into_static`] and puts them back with [`FramePool::adopt`].
    #[must_use]
    pub fn with_buffers(buffers: impl IntoIterator<Item = StaticBuffer>) -> Self {
        Self::of(buffers.into_iter().map(Buffer::Static).collect())
    }

    fn of(free: Vec<Buffer>) -> Self {
        let capacity = free.len();
        Self(Rc::new(Shared {
            free: RefCell::new(free),
            capacity,
            exhausted: Cell::new(0),
            keeper: Keeper::default(),
        }))
    }

    /// A frame from a buffer that was taken out of this pool, with the octets `start..end` in its window; `None`, and
    /// the buffer is back in the pool, where that is no range inside.
    #[must_use]
    pub fn adopt(&self, buffer: StaticBuffer, start: usize, end: usize) -> Option<Frame> {
        let buffer = Buffer::Static(buffer);
        if start > end || end > FRAME_SIZE {
            self.0.free.borrow_mut().push(buffer);
            return None;
        }
        let (start, end) = (position(start), position(end));
        Some(Frame { buffer: Some(buffer), pool: Rc::clone(&self.0), start, end, is_patient: false, dscp: 0 })
    }

    /// An empty frame with [`HEADROOM`] octets in front, or `None` when all frames are out (counted).
    #[must_use]
    #[inline]
    pub fn alloc(&self) -> Option<Frame> {
        let Some(buffer) = self.0.free.borrow_mut().pop() else {
            self.0.exhausted.set(self.0.exhausted.get() + 1);
            return None;
        };
        let at = position(HEADROOM);
        Some(Frame {
            buffer: Some(buffer),
            pool: Rc::clone(&self.0),
            start: at,
            end: at,
            is_patient: false,
            dscp: 0,
        })
    }

    /// A frame that holds a copy of `octets`; `None` when none is free or they do not fit.
    #[must_use]
    pub fn copy_of(&self, octets: &[u8]) -> Option<Frame> {
        let mut frame = self.alloc()?;
        frame.append(octets).then_some(frame)
    }

    /// Frames in the pool now.
    #[must_use]
    pub fn free(&self) -> usize {
        self.0.free.borrow().len()
    }

    /// Frames in all.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.0.capacity
    }

    /// Keeps the octets of PDUs for longer than their frames may be held.
    #[must_use]
    pub fn keeper(&self) -> &Keeper {
        &self.0.keeper
    }

    /// How often a frame was asked for when none was free.
    #[must_use]
    pub fn exhausted(&self) -> u64 {
        self.0.exhausted.get()
    }
}

impl fmt::Debug for FramePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FramePool({} of {} free)", self.free(), self.capacity())
    }
}

/// A buffer with a window of valid octets. Dropping it gives the buffer back to its pool.
///
/// It is moved through a dozen queues on its way, so that its size counts.
pub struct Frame {
    buffer: Option<Buffer>,
    pool: Rc<Shared>,
    start: u16,
    end: u16,
    /// It may wait a little on its last way.
    is_patient: bool,
    /// Differentiated services code point of the IP packet that carries it.
    dscp: u8,
}

const _: () = assert!(size_of::<Frame>() == 32 && size_of::<Option<Frame>>() == 32);

/// A position in a buffer; no buffer has one beyond [`FRAME_SIZE`].
#[expect(clippy::cast_possible_truncation, reason = "at most 2048")]
const fn position(at: usize) -> u16 {
    debug_assert!(at <= FRAME_SIZE);
    at as u16
}

impl Frame {
    #[inline]
    fn octets(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], |buffer| buffer.octets())
    }

    #[inline]
    fn octets_mut(&mut self) -> &mut [u8] {
        self.buffer.as_mut().map_or(&mut [], |buffer| buffer.octets_mut())
    }

    /// Where the window begins and ends.
    #[inline]
    const fn window(&self) -> (usize, usize) {
        (self.start as usize, self.end as usize)
    }

    /// Octets in the window.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// True where the window has no octet.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.end == self.start
    }

    /// Says that a driver may keep it for a fraction of a millisecond where that costs the node less: user data of best
    /// effort. It may be overtaken then by frames that are not patient.
    pub const fn set_patient(&mut self, is_patient: bool) {
        self.is_patient = is_patient;
    }

    /// May a driver keep it for a little?
    #[must_use]
    pub const fn is_patient(&self) -> bool {
        self.is_patient
    }

    /// Says with which differentiated services code point (RFC 2474, 0 to 63; its low six bits count) a driver sends it as a UDP
    /// datagram. With 0, as the socket has it.
    pub const fn set_dscp(&mut self, dscp: u8) {
        self.dscp = dscp & 0x3f;
    }

    /// The code point to send it with; 0 for the socket's.
    #[must_use]
    pub const fn dscp(&self) -> u8 {
        self.dscp
    }

    /// The buffer itself and where its window begins and ends, for a driver that hands it to the kernel.
    ///
    /// # Errors
    /// The frame, where its home is the heap.
    pub fn into_static(mut self) -> Result<(StaticBuffer, usize, usize), Self> {
        match self.buffer.take() {
            Some(Buffer::Static(buffer)) => Ok((buffer, self.start.into(), self.end.into())),
            other => {
                self.buffer = other;
                Err(self)
            }
        }
    }

    /// Asks for the window, and for the line before it, where headers will stand.
    #[inline]
    pub fn prefetch(&self, prefetch: Prefetch) {
        prefetch.octets_and_before(self);
    }

    /// Octets free in front.
    #[must_use]
    #[inline]
    pub const fn headroom(&self) -> usize {
        self.window().0
    }

    /// Octets free behind.
    #[must_use]
    #[inline]
    pub const fn tailroom(&self) -> usize {
        FRAME_SIZE - self.window().1
    }

    /// Opens `n` octets at the front and returns them for writing; `None` where the headroom is too small.
    /// The octets have undefined content until they are written.
    #[must_use]
    #[inline]
    pub fn push(&mut self, n: usize) -> Option<&mut [u8]> {
        let start = self.window().0.checked_sub(n)?;
        self.start = position(start);
        self.octets_mut().get_mut(start..start + n)
    }

    /// Puts `octets` in front; false where the headroom is too small, and then nothing changed.
    #[must_use]
    #[inline]
    pub fn prepend(&mut self, octets: &[u8]) -> bool {
        self.push(octets.len()).is_some_and(|room| {
            room.copy_from_slice(octets);
            true
        })
    }

    /// Takes `n` octets off the front; false where there are fewer, and then nothing changed.
    #[must_use]
    #[inline]
    pub const fn pull(&mut self, n: usize) -> bool {
        if n > self.len() {
            return false;
        }
        self.start += position(n);
        true
    }

    /// Puts `octets` behind; false where the tailroom is too small, and then nothing changed.
    #[must_use]
    #[inline]
    pub fn append(&mut self, octets: &[u8]) -> bool {
        let (_, end) = self.window();
        let new_end = end + octets.len();
        match self.octets_mut().get_mut(end..new_end) {
            Some(room) => {
                room.copy_from_slice(octets);
                self.end = position(new_end);
                true
            }
            None => false,
        }
    }

    /// Keeps the first `n` octets; nothing changes where there are fewer.
    #[inline]
    pub const fn truncate(&mut self, n: usize) {
        if n < self.len() {
            self.end = self.start + position(n);
        }
    }

    /// Keeps only the octets `from..to` of the present window; false where they are not all inside.
    #[must_use]
    #[inline]
    pub const fn narrow(&mut self, from: usize, to: usize) -> bool {
        if from > to || to > self.len() {
            return false;
        }
        self.end = self.start + position(to);
        self.start += position(from);
        true
    }

    /// The whole free space behind the front mark, for a driver that receives into it; [`Frame::set_len`] then says
    /// how much was filled.
    pub fn spare_mut(&mut self) -> &mut [u8] {
        let (start, _) = self.window();
        self.octets_mut().get_mut(start..).unwrap_or_default()
    }

    /// Declares that the first `n` octets behind the front mark are valid; false where they do not fit.
    #[must_use]
    #[inline]
    pub const fn set_len(&mut self, n: usize) -> bool {
        if n > FRAME_SIZE - self.window().0 {
            return false;
        }
        self.end = self.start + position(n);
        true
    }
}

impl Deref for Frame {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        let (start, end) = self.window();
        self.octets().get(start..end).unwrap_or_default()
    }
}

impl DerefMut for Frame {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        let (start, end) = self.window();
        self.octets_mut().get_mut(start..end).unwrap_or_default()
    }
}

impl Drop for Frame {
    #[inline]
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.pool.free.borrow_mut().push(buffer);
        }
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame[{}]", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_push_and_pull() {
        let pool = FramePool::new(2);
        let mut frame = pool.copy_of(b"payload").unwrap();
        assert!(frame.prepend(b"hdr"));
        assert!(frame.append(b"fcs"));
        assert_eq!(&*frame, b"hdrpayloadfcs");
        assert!(frame.pull(3));
        frame.truncate(7);
        assert_eq!(&*frame, b"payload");
        assert!(!frame.pull(8));
        assert!(frame.push(HEADROOM + 1).is_none());
        assert!(frame.narrow(3, 7));
        assert_eq!(&*frame, b"load");
    }

    #[test]
    fn a_buffer_leaves_its_pool_and_comes_back() {
        let chunk: StaticBuffer = Box::leak(Box::new([0; FRAME_SIZE]));
        let pool = FramePool::with_buffers([chunk]);
        let frame = pool.copy_of(b"abc").unwrap();
        let (chunk, start, end) = frame.into_static().unwrap();
        assert_eq!((start, end, pool.free()), (HEADROOM, HEADROOM + 3, 0));
        let frame = pool.adopt(chunk, start + 1, end).unwrap();
        assert_eq!(&*frame, b"bc");
        let (chunk, ..) = frame.into_static().unwrap();
        assert!(pool.adopt(chunk, 1, FRAME_SIZE + 1).is_none());
        assert_eq!((pool.free(), pool.capacity()), (1, 1));
        assert!(FramePool::new(1).alloc().unwrap().into_static().is_err());
    }

    #[test]
    fn frames_return_and_exhaustion_counts() {
        let pool = FramePool::new(1);
        let frame = pool.alloc().unwrap();
        assert!(pool.alloc().is_none());
        assert_eq!((pool.free(), pool.exhausted()), (0, 1));
        drop(frame);
        assert_eq!(pool.free(), 1);
        assert!(pool.copy_of(&[0; FRAME_PAYLOAD_MAX]).is_some());
        assert!(pool.copy_of(&[0; FRAME_PAYLOAD_MAX + 1]).is_none());
        assert_eq!(pool.free(), 1);
    }
}
