//! Pages of what arrives at Gn that leave through Gb: see [`gannet_demux::exchange`]. Here is when that is done, and what
//! becomes of a frame that no page comes for.
//!
//! A node that has time sends at once, through its socket. One that has hardly any left lets its frames wait for what arrives
//! next, which costs it a third of a microsecond less for each: the busier it is, the more it does. What
//! no page comes for, since nothing more arrives, goes through the socket a little later. Only what is patient waits at all
//! ([`gannet_machine::frame::Frame::set_patient`]), and leaves in its order: all of it that waits has been taken back before any
//! of it goes through the socket, and what was taken back is sent before the next poll. Where the kernel runs the program on
//! another core at that very moment a frame can overtake one that was taken back (some in a million were counted). No
//! packet overtakes another where the way in changes.

use crate::busy::BusyPoll;
use crate::netlink::{LOOK_EVERY, Netdev};
use crate::prefetch::PREFETCH;
use gannet_demux::Ring;
use gannet_demux::device::Received;
use gannet_demux::exchange::Exchange;
use gannet_demux::xsk::Statistics;
use gannet_machine::frame::StaticBuffer;
use gannet_machine::time::{Duration, Instant};

/// How long a frame waits for a page at the least where none comes, and half of what it waits at the most. Where as much leaves
/// as comes, what once waits goes on waiting, and costs nothing: sending it otherwise costs the time to keep up.
const HOLD: Duration = Duration::from_micros(400);
/// Packets of best effort that may wait for a machine in a hurry: what polls of all that a veth's queue holds bring.
/// What is too much is dropped before it is copied, so that it takes no time of what is urgent and nothing goes cold.
const BEST_EFFORT_IN_A_HURRY: u32 = 256;

/// What became of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeReport {
    /// Frames that left in pages of what arrived.
    pub carried: u64,
    /// Such that the device refused.
    pub refused: u32,
    /// They are exchanged now: the loop has hardly any time left.
    pub is_on: bool,
    /// The loop, and not the program at the driver, decides whose packet it is, since very many contexts are known.
    pub decides: bool,
}

/// The exchange with the two devices that it joins.
pub(crate) struct PageExchange {
    pub(crate) exchange: Exchange,
    /// Packets of best effort that may wait.
    best_effort: u32,
    /// Places in the table of devices.
    pub(crate) gn: usize,
    pub(crate) gb: Option<usize>,
    /// Their indices, where both were able to at the last look.
    pub(crate) ends: Option<(u32, u32)>,
    is_on: bool,
    /// Up to where frames have waited since then, and up to where they have waited long enough.
    waited: usize,
    waiting_since: Instant,
    due: usize,
    pub(crate) look_at: Instant,
    pub(crate) netdev: Option<Netdev>,
}

impl PageExchange {
    /// Does a loop that receives like this never sleep? Nothing that comes in slots wakes it.
    pub(crate) const fn fits(mode: BusyPoll) -> bool {
        matches!(mode, BusyPoll::Always)
    }

    /// For what arrives at the device at this place of the table; so many packets of best effort may wait.
    pub(crate) fn new(exchange: Exchange, gn: usize, best_effort: u32) -> Self {
        Self {
            exchange,
            best_effort,
            gn,
            gb: None,
            ends: None,
            is_on: false,
            waited: 0,
            waiting_since: Instant::ZERO,
            due: 0,
            look_at: Instant::ZERO,
            netdev: Netdev::open().ok(),
        }
    }

    /// What is sent leaves through this device.
    pub(crate) fn towards(&mut self, gb: usize) {
        if gb != self.gn && self.gb.is_none() {
            self.gb = Some(gb);
            self.look_at = Instant::ZERO;
        }
    }

    pub(crate) const fn is_on(&self) -> bool {
        self.is_on
    }

    pub(crate) const fn concerns(&self, place: usize) -> bool {
        place == self.gn || self.is_to(place)
    }

    const fn is_to(&self, place: usize) -> bool {
        matches!(self.gb, Some(gb) if gb == place)
    }

    /// Looks at both devices again soon: one of them is being closed.
    pub(crate) fn close(&mut self) {
        self.ends = None;
        self.look_at = Instant::ZERO;
        self.switch(false);
    }

    pub(crate) fn switch(&mut self, on: bool) {
        self.is_on = match self.ends.filter(|_| on) {
            Some((gn, gb)) => {
                self.exchange.open(gn, gb);
                true
            }
            None => {
                self.exchange.close();
                false
            }
        };
    }

    /// A turn that began at `now` is nearly over; has the loop hardly any time left ([`gannet_machine::load`])?
    pub(crate) fn follow(&mut self, now: Instant, short_of_time: bool) {
        if self.is_on && !self.exchange.is_open() {
            // The device has refused a page, and is asked again later, whatever it says.
            self.close();
            self.look_at = now + LOOK_EVERY;
            return;
        }
        let on = short_of_time && self.ends.is_some();
        if on != self.is_on {
            self.switch(on);
        }
    }

    /// Takes packets of a ring of this device, like [`Device::receive`].
    pub(crate) fn receive(
        &mut self,
        place: usize,
        ring: Ring,
        max: usize,
        buffer: impl FnMut() -> Option<StaticBuffer>,
        take: impl FnMut(Received),
    ) -> usize {
        if place == self.gn { self.exchange.receive(ring, max, buffer, take) } else { 0 }
    }

    /// A machine is in a hurry, or no longer.
    pub(crate) fn set_hurry(&self, hurry: bool) {
        let len = if hurry { self.best_effort.min(BEST_EFFORT_IN_A_HURRY) } else { self.best_effort };
        self.exchange.set_length(Ring::BestEffort, len);
    }

    pub(crate) fn refill(&mut self) {
        if self.is_on {
            self.exchange.refill();
        }
    }

    /// Packets that wait in a ring of this device.
    pub(crate) fn waiting(&self, place: usize, ring: Ring) -> u32 {
        if place == self.gn { self.exchange.waiting(ring) } else { 0 }
    }

    /// Decides what the program has left to us.
    pub(crate) fn decide(&mut self) {
        self.exchange.decide(PREFETCH);
    }

    /// Packets of this device about which nothing is decided yet.
    pub(crate) fn left(&self, place: usize) -> u32 {
        if place == self.gn { self.exchange.left() } else { 0 }
    }

    /// Puts a frame where the next page that comes takes it; false where it has to go otherwise.
    pub(crate) fn put(&mut self, place: usize, frame: &[u8]) -> bool {
        self.is_on && self.is_to(place) && self.exchange.put(frame)
    }

    /// Would [`PageExchange::put`] take a frame?
    pub(crate) fn has_room(&mut self, place: usize) -> bool {
        self.is_on && self.is_to(place) && self.exchange.has_room()
    }

    /// Does a frame wait for a page?
    pub(crate) fn holds_some(&mut self, place: usize) -> bool {
        self.is_to(place) && !self.exchange.is_clear()
    }

    /// Up to where frames are not to wait any longer.
    pub(crate) fn waited(&mut self, now: Instant) -> usize {
        let position = self.exchange.position();
        if !self.is_on {
            return position;
        }
        if now >= self.waiting_since + HOLD {
            self.waiting_since = now;
            self.due = core::mem::replace(&mut self.waited, position);
        }
        self.due
    }

    pub(crate) fn statistics(&self, place: usize, ring: Ring) -> Statistics {
        if place == self.gn { self.exchange.statistics(ring) } else { Statistics::default() }
    }

    pub(crate) fn report(&self) -> ExchangeReport {
        ExchangeReport {
            carried: self.exchange.carried(),
            refused: self.exchange.refused(),
            is_on: self.is_on,
            decides: self.exchange.is_left(),
        }
    }
}
