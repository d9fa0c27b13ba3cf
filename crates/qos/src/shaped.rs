//! Any discipline behind a rate: the queue of a line that is slower than the interface that leads to it.
//!
//! Packets leave at R octets/s, each with what the line adds to it, so that the discipline decides what waits and not a buffer
//! behind it. A packet goes where there is credit at all and may overdraw it
//! ([`TokenBucket`](crate::token_bucket::TokenBucket)): with a burst of 1 octet each packet waits until the one before it would have
//! left the line.

use crate::discipline::{Blocking, Discipline, Dropped, Offered, Packet, Taken, Waiting};
use crate::token_bucket::{Rate, TokenBucket};
use gannet_machine::time::Instant;

/// A discipline `D` whose packets leave at a rate.
#[derive(Debug)]
pub struct Shaped<D> {
    inner: D,
    bucket: TokenBucket,
    overhead: u32,
}

impl<D> Shaped<D> {
    /// A rate in octets/s with its burst in octets, and the octets that the line adds to each packet.
    #[must_use]
    pub fn new(now: Instant, rate: Rate, overhead: u32, inner: D) -> Self {
        Self { inner, bucket: TokenBucket::new(now, rate), overhead }
    }

    /// A new rate from `now` on.
    pub fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.bucket.reconfigure(now, rate);
    }

    /// Another number of octets that the line adds to each packet.
    pub const fn set_overhead(&mut self, overhead: u32) {
        self.overhead = overhead;
    }

    /// The next packet that leaves now and that `keep` gives back. Those before it that it does not give back are gone, and take
    /// nothing of the rate.
    pub fn take_kept<T>(&mut self, now: Instant, keep: &mut impl FnMut(T) -> Option<T>) -> Option<T>
    where
        D: Discipline<T>,
    {
        if !self.bucket.conforms(now) {
            return None;
        }
        while let Some(taken) = self.inner.take(now) {
            if let Some(item) = keep(taken.packet.item) {
                self.bucket.take(now, taken.packet.octets.saturating_add(self.overhead));
                return Some(item);
            }
        }
        None
    }

    /// What is behind the rate.
    #[must_use]
    pub const fn inner(&self) -> &D {
        &self.inner
    }

    /// The same, to be changed.
    pub const fn inner_mut(&mut self) -> &mut D {
        &mut self.inner
    }
}

impl<T, D: Discipline<T>> Discipline<T> for Shaped<D> {
    #[inline]
    fn offer(&mut self, now: Instant, packet: Packet<T>, dropped: &mut impl FnMut(Dropped<T>)) -> Offered {
        self.inner.offer(now, packet, dropped)
    }

    #[inline]
    fn take(&mut self, now: Instant) -> Option<Taken<T>> {
        if !self.bucket.conforms(now) {
            return None;
        }
        let taken = self.inner.take(now)?;
        self.bucket.take(now, taken.packet.octets.saturating_add(self.overhead));
        Some(taken)
    }

    #[inline]
    fn next_conforming(&self, now: Instant) -> Option<Instant> {
        self.inner.next_conforming(self.bucket.next_conforming(now)?)
    }

    #[inline]
    fn waiting(&self) -> Waiting {
        self.inner.waiting()
    }
}

impl<D: Blocking> Blocking for Shaped<D> {
    fn block(&mut self, flow: u32) {
        self.inner.block(flow);
    }

    fn unblock(&mut self, flow: u32) {
        self.inner.unblock(flow);
    }
}
