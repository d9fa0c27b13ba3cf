//! What the devices have to do with the exchange of pages ([`crate::page_exchange`]).

use super::Xdp;
use crate::netlink::LOOK_EVERY;
use crate::page_exchange::PageExchange;
use gannet_machine::time::{Duration, Instant};

/// Of the frames that have waited for a page long enough, so many are sent through the socket in a turn. It takes some 13 µs, for which what is
/// urgent waits.
const AT_ONCE: usize = 16;
/// Contexts from which on those of the next packets are in no cache: the program then leaves it to the loop to decide.
const MANY_CONTEXTS: usize = 65_536;
/// How often is looked while the devices cannot: a veth can as soon as its other end has a program.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl Xdp {
    /// Looks whether both devices can exchange pages; says what has changed.
    pub(crate) fn look_across(&mut self, now: Instant) -> Option<bool> {
        let pages = self.pages.as_mut().filter(|pages| now >= pages.look_at)?;
        let index = |place: usize| {
            let device = self.devices.get(place).filter(|device| device.sockets.is_some())?;
            Some(device.link.index)
        };
        let ends = index(pages.gn).zip(pages.gb.and_then(index));
        let target = self.devices.get(pages.gn).and_then(|device| device.target);
        let program = target.and_then(|target| self.programs.get(target.program));
        if program.is_some_and(|program| program.contexts() >= MANY_CONTEXTS) {
            pages.exchange.leave();
        }
        let PageExchange { netdev: Some(netdev), .. } = pages else { return None };
        let able = ends.filter(|(_, gb)| netdev.takes_redirected(*gb).unwrap_or(false));
        let before = core::mem::replace(&mut pages.ends, able);
        if pages.is_on() && able != before {
            pages.switch(false);
        }
        pages.look_at = now + if able.is_some() { LOOK_EVERY } else { LOOK_AGAIN };
        (able.is_some() != before.is_some()).then_some(able.is_some())
    }

    /// A turn that began at `now` is nearly over; has the loop hardly any time left ([`gannet_machine::load`])?
    pub(crate) fn follow(&mut self, now: Instant, short_of_time: bool) {
        if let Some(pages) = &mut self.pages {
            pages.follow(now, short_of_time);
        }
    }

    /// Sends those frames through the socket that have waited for a page long enough.
    pub(crate) fn send_what_waited(&mut self, now: Instant) {
        if let Some(before) = self.pages.as_mut().map(|pages| pages.waited(now)) {
            self.take_back(before, AT_ONCE);
        }
    }

    /// What waits for a page goes to the socket.
    pub(crate) fn take_all_back(&mut self) {
        self.take_back(usize::MAX, usize::MAX);
    }

    fn take_back(&mut self, before: usize, most: usize) {
        let Self { pages: Some(pages), devices, umem, pool, .. } = self else { return };
        let Some(device) = pages.gb.and_then(|gb| devices.get_mut(gb)) else { return };
        // What the socket has no room for waits on; with a device that is gone its frames are gone.
        let room = device.sockets.as_mut().map_or(usize::MAX, |sockets| sockets.room() as usize);
        let mut room = room.min(most);
        let buffer = || {
            room = room.checked_sub(1)?;
            pool.alloc()?.into_static().ok().map(|(buffer, ..)| buffer)
        };
        pages.exchange.take_back(before, buffer, |buffer, len| {
            let sent = if len > 0 { device.send(umem, buffer, (0, len), true) } else { Err(buffer) };
            if let Err(buffer) = sent {
                drop(pool.adopt(buffer, 0, 0));
            }
        });
    }
}
