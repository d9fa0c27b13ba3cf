//! All AF_XDP sockets on one queue of one device, and the frames that they hold: the safe side of [`crate::xsk`].
//!
//! Frames are [`StaticBuffer`]s of the [`Umem`] that all devices of a process share, so that what one device received
//! leaves through another one without having been copied:
//!
//! ```text
//! pool ──refill──► fill ring ──► kernel ──► RX ring ──receive──► frame ──send──► TX ring of the other device
//!   ▲                                                                                     │ kick
//!   └──────────────────────────────── complete ◄── completion ring ◄── peer has freed it ◄┘
//! ```

use crate::layout::{ByRing, Ring};
use crate::rings::Descriptor;
use crate::umem::{Holder, Umem};
use crate::xsk::{Kick, Queue, Sizes, Statistics, TX_BUDGET, Xsk};
use gannet_machine::frame::{FRAME_SIZE, StaticBuffer};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// How the sockets of a device are to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceConfig {
    /// Entries of each RX ring; 0 for one that has no socket.
    pub rx: ByRing<u32>,
    /// Entries of the TX ring; 0 where nothing is to be sent.
    pub tx: u32,
    /// Empty frames that the kernel has at hand, whatever waits in the RX rings, so that a full ring starves no other.
    /// They are taken in turn: the fewer they are, the sooner each is in the cache again when it is written to.
    pub empty: u32,
}

impl DeviceConfig {
    /// Frames that the kernel may hold: those of all RX rings, the empty ones, and those that are being sent.
    #[must_use]
    pub fn frames(&self) -> usize {
        let sent = if self.tx > 0 { self.completion() } else { 0 };
        let waiting: u32 = self.rx.iter().sum();
        (waiting + self.empty() + sent) as usize
    }

    /// Empty frames to keep with the kernel: none where nothing is received.
    fn empty(&self) -> u32 {
        if self.rx.iter().all(|entries| *entries == 0) { 0 } else { self.empty }
    }

    /// A peer frees what it was sent when it has worked on it: as many may be under way as wait to be sent.
    const fn completion(&self) -> u32 {
        let entries = if self.tx == 0 { 64 } else { self.tx };
        entries.next_power_of_two()
    }
}

/// A frame that arrived.
#[derive(Debug)]
pub struct Received {
    /// Its buffer.
    pub buffer: StaticBuffer,
    /// Where in it the Ethernet frame begins; the metadata of the program stands before.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// The sockets.
#[derive(Debug)]
pub struct Device {
    at: Queue,
    holder: Holder,
    /// The one with the fill and completion rings.
    first: Xsk,
    /// The further ones, each with the ring that it has.
    beside: Vec<(Ring, Xsk)>,
    /// That of the first, where it receives.
    first_ring: Option<Ring>,
    /// Frames for receiving that are with the kernel, those in the RX rings among them.
    filled: u32,
    /// How many empty ones it is to have.
    empty: u32,
}

impl Device {
    /// Opens them. `other` is any device that is open on the same UMEM; the first one has none.
    ///
    /// # Errors
    /// What the kernel says about a socket; see [`Xsk::register`].
    pub fn open(
        umem: &Umem,
        other: Option<&Self>,
        holder: Holder,
        at: Queue,
        config: &DeviceConfig,
    ) -> io::Result<Self> {
        let mut rings = Ring::ALL.into_iter().zip(config.rx).filter(|(_, entries)| *entries > 0);
        let first_ring = rings.next();
        let sizes = Sizes {
            rx: first_ring.map_or(0, |(_, entries)| entries.next_power_of_two()),
            tx: if config.tx == 0 { 0 } else { config.tx.next_power_of_two() },
            fill: config.empty().max(64).next_power_of_two(),
            completion: config.completion(),
        };
        let first = match other {
            Some(other) => Xsk::share(&other.first, at, sizes)?,
            None => Xsk::register(umem, at, sizes)?,
        };
        let beside = rings
            .map(|(ring, entries)| Ok((ring, Xsk::beside(&first, at, entries.next_power_of_two())?)))
            .collect::<io::Result<Vec<_>>>()?;
        let first_ring = first_ring.map(|(ring, _)| ring);
        Ok(Self { at, holder, first, beside, first_ring, filled: 0, empty: config.empty() })
    }

    /// Where it is.
    #[must_use]
    pub const fn at(&self) -> Queue {
        self.at
    }

    /// Who holds its frames in the table of the UMEM.
    #[must_use]
    pub const fn holder(&self) -> Holder {
        self.holder
    }

    fn socket(&self, ring: Ring) -> Option<&Xsk> {
        if self.first_ring == Some(ring) {
            return Some(&self.first);
        }
        self.beside.iter().find(|(other, _)| *other == ring).map(|(_, socket)| socket)
    }

    fn socket_mut(&mut self, ring: Ring) -> Option<&mut Xsk> {
        if self.first_ring == Some(ring) {
            return Some(&mut self.first);
        }
        self.beside.iter_mut().find(|(other, _)| *other == ring).map(|(_, socket)| socket)
    }

    /// The sockets that receive: for the XSKMAP and for the poll.
    #[must_use]
    pub fn sockets(&self) -> ByRing<Option<BorrowedFd<'_>>> {
        Ring::ALL.map(|ring| self.socket(ring).map(AsFd::as_fd))
    }

    /// The socket that sends, for the poll.
    #[must_use]
    pub fn sender(&self) -> BorrowedFd<'_> {
        self.first.as_fd()
    }

    // ------------------------------------------------------------------ receiving

    /// Frames that wait in a ring.
    pub fn waiting(&mut self, ring: Ring) -> u32 {
        self.socket_mut(ring)
            .and_then(|socket| socket.rx.as_mut())
            .map_or(0, crate::rings::Consumer::available)
    }

    /// Takes up to `max` frames of a ring, in their order, and says how many there were.
    pub fn receive(
        &mut self,
        umem: &mut Umem,
        ring: Ring,
        max: usize,
        mut take: impl FnMut(Received),
    ) -> usize {
        let holder = self.holder;
        let Some(rx) = self.socket_mut(ring).and_then(|socket| socket.rx.as_mut()) else { return 0 };
        let mut count = 0;
        while count < max {
            let Some(Descriptor { address, len, .. }) = rx.pop() else { break };
            count += 1;
            // An address that the kernel should not have is left alone: there is nothing to give back.
            let Some((buffer, start)) = umem.take(address, holder) else { continue };
            let end = (start + len as usize).min(FRAME_SIZE);
            take(Received { buffer, start, end });
        }
        if count > 0 {
            rx.release();
            self.filled = self.filled.saturating_sub(u32::try_from(count).unwrap_or(u32::MAX));
        }
        count
    }

    /// Frames that the fill ring lacks.
    pub fn lacking(&mut self) -> u32 {
        let waiting: u32 = Ring::ALL.into_iter().map(|ring| self.waiting(ring)).sum();
        (self.empty + waiting).saturating_sub(self.filled)
    }

    /// Gives empty frames to the fill ring until it has enough or there are no more.
    pub fn refill(&mut self, umem: &mut Umem, mut more: impl FnMut() -> Option<StaticBuffer>) {
        let (lacking, holder) = (self.lacking(), self.holder);
        let Some(fill) = self.first.fill.as_mut() else { return };
        let mut given = 0;
        while given < lacking && fill.room(1) > 0 {
            // A buffer of another region would be lost; the pool has none.
            let Some(Ok(address)) = more().map(|buffer| umem.give(buffer, holder)) else { break };
            if !fill.push(address) {
                break;
            }
            given += 1;
        }
        if given > 0 {
            self.filled += given;
            fill.submit();
        }
    }

    // ------------------------------------------------------------------ sending

    /// Frames that can be put now.
    pub fn room(&mut self) -> u32 {
        self.first.tx.as_mut().map_or(0, |tx| tx.room(1))
    }

    /// Puts an Ethernet frame, the octets `start..end` of the buffer, behind the others; [`Device::kick`] sends them.
    ///
    /// # Errors
    /// The buffer, where there is no room, or where it is none of the UMEM.
    pub fn send(
        &mut self,
        umem: &mut Umem,
        buffer: StaticBuffer,
        start: usize,
        end: usize,
    ) -> Result<(), StaticBuffer> {
        let Some(tx) = self.first.tx.as_mut() else { return Err(buffer) };
        if tx.room(1) == 0 {
            return Err(buffer);
        }
        let address = umem.give(buffer, self.holder)?;
        let len = u32::try_from(end.saturating_sub(start)).unwrap_or(0);
        let sent = tx.push(Descriptor { address: address + start as u64, len, options: 0 });
        debug_assert!(sent, "there was room");
        Ok(())
    }

    /// Frames that were put and that the kernel has not taken.
    #[must_use]
    pub fn unsent(&self) -> u32 {
        self.first.tx.as_ref().map_or(0, crate::rings::Producer::waiting)
    }

    /// Sends what was put, all of it if the device takes it; says how many frames remain.
    ///
    /// # Errors
    /// Where the device is down or gone; the frames remain then.
    pub fn kick(&mut self) -> io::Result<u32> {
        let Some(tx) = self.first.tx.as_mut() else { return Ok(0) };
        tx.submit();
        let mut remaining = tx.waiting();
        // Each kick that goes on sends one frame at the least.
        while remaining > 0 {
            let result = self.first.kick()?;
            let now = self.unsent();
            if result == Kick::Busy || now == remaining {
                return Ok(now);
            }
            remaining = now;
        }
        Ok(0)
    }

    /// Takes back the frames that have left.
    pub fn complete(&mut self, umem: &mut Umem, mut back: impl FnMut(StaticBuffer)) -> usize {
        let Some(completion) = self.first.completion.as_mut() else { return 0 };
        let mut count = 0;
        while let Some(address) = completion.pop() {
            count += 1;
            if let Some((buffer, _)) = umem.take(address, self.holder) {
                back(buffer);
            }
        }
        if count > 0 {
            completion.release();
        }
        count
    }

    // ------------------------------------------------------------------ watching

    /// What the kernel counted at the socket of a ring; `None` where there is none. The fill ring is one for all of them, and
    /// the kernel says with each what it lacked: here that stands with the first ring alone.
    #[must_use]
    pub fn statistics(&self, ring: Ring) -> Option<Statistics> {
        let counted = self.socket(ring)?.statistics().ok()?;
        let lacked = if self.first_ring == Some(ring) { counted.rx_fill_ring_empty } else { 0 };
        Some(Statistics { rx_fill_ring_empty: lacked, ..counted })
    }

    /// Has the device gone?
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.first.has_failed()
    }

    /// Closes the sockets and takes back every frame that they had.
    pub fn close(self, umem: &mut Umem, mut back: impl FnMut(StaticBuffer)) {
        let holder = self.holder;
        // When the descriptors are closed the kernel writes to none of the frames any more.
        drop(self);
        let mut at = 0;
        while let Some(buffer) = umem.reclaim(holder, &mut at) {
            back(buffer);
        }
    }
}

/// Frames of one batch: a kick sends no more at once, and a poll of the device brings no more.
pub const BATCH: usize = TX_BUDGET as usize;
