//! Which sockets are polled, and what the kernel is told about it ([`crate::busy`]).

use super::{Endpoint, Io, Kind};
use crate::busy::{BusyPoll, CHOOSE_EVERY, POLL_US, Poller};
use crate::netlink::{Link, Netlink};
use crate::sys;
use crate::udp::Udp;
use core::fmt;
use core::net::IpAddr;
use gannet_machine::trace::Level;

impl Io {
    /// A machine is in a hurry now, or no longer.
    pub(crate) fn set_hurry(&mut self, hurry: bool) {
        if core::mem::replace(&mut self.busy.hurry, hurry) == hurry || self.busy.mode == BusyPoll::Off {
            return;
        }
        if let Some(pages) = self.xdp.as_ref().and_then(|xdp| xdp.pages.as_ref()) {
            pages.set_hurry(hurry);
        }
        for index in 0..self.endpoints.len() {
            let budget = self.busy.budget(index);
            if let Some(udp) = udp_at(&mut self.endpoints, index).filter(|udp| udp.pollable) {
                // Where the kernel refuses, polls stay as long as they were.
                let _ =
                    sys::set_socket_option(&udp.socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL_BUDGET, budget);
            }
        }
    }

    /// A turn is nearly over, in which there was something to do beside polling, or `unfinished` work.
    pub(crate) fn follow(&mut self, unfinished: bool) {
        // How long a loop sleeps is not known here, but that one which sleeps has time.
        if self.busy.mode != BusyPoll::Always {
            return;
        }
        self.load.follow(self.now, unfinished || self.busy.had_some);
        self.busy.short_of_time = self.load.is_short_of_time();
        if let Some(xdp) = &mut self.xdp {
            xdp.follow(self.now, self.load.is_short_of_time());
        }
    }

    /// Chooses the sockets to poll: of each NAPI the one that received most.
    pub(crate) fn choose_pollers(&mut self) {
        if self.busy.mode == BusyPoll::Off || self.now < self.busy.choose_at {
            return;
        }
        self.busy.choose_at = self.now + CHOOSE_EVERY;
        self.busy.forget_polls();
        self.find_napis();
        let Self { endpoints, busy, xdp, .. } = self;
        busy.pollers.clear();
        for index in 0..endpoints.len() {
            let Some((napi, received)) = udp_at(endpoints, index).map(|udp| (udp.napi, udp.received)) else {
                continue;
            };
            // Of those that share a port all are asked: none of them hears of the others' packets.
            let best = (0..endpoints.len()).all(|other| {
                other == index
                    || udp_at(endpoints, other)
                        .is_none_or(|udp| udp.napi != napi || (udp.received, other) < (received, index))
            });
            let Some(udp) = udp_at(endpoints, index) else { continue };
            udp.polls = napi != 0 && udp.pollable && (best || udp.config.shared_port);
            if udp.polls {
                let address = udp.local.bound().ip();
                let program = xdp.as_ref().and_then(|xdp| xdp.program_at(address));
                busy.pollers.push(Poller::new(index, program));
            }
        }
        for index in 0..endpoints.len() {
            if let Some(udp) = udp_at(endpoints, index) {
                udp.received /= 2;
            }
        }
    }

    /// Asks the sockets that do not know theirs yet for the NAPI of their packets.
    fn find_napis(&mut self) {
        for index in 0..self.endpoints.len() {
            let Some(udp) = udp_at(&mut self.endpoints, index).filter(|udp| udp.napi == 0) else { continue };
            let level = libc::SOL_SOCKET;
            let found = sys::socket_option(&udp.socket, level, libc::SO_INCOMING_NAPI_ID).unwrap_or(0);
            if found == 0 {
                continue;
            }
            let options = [
                (libc::SO_BUSY_POLL, POLL_US),
                (libc::SO_PREFER_BUSY_POLL, 1),
                (libc::SO_BUSY_POLL_BUDGET, self.busy.budget(index)),
            ];
            let set = options.map(|(name, value)| sys::set_socket_option(&udp.socket, level, name, value));
            let address = udp.local.bound().ip();
            // Without the right to poll the socket stays as it is.
            udp.napi = u32::from_ne_bytes(found.to_ne_bytes());
            udp.pollable = set.iter().all(Result::is_ok);
            if let Some(error) = set.into_iter().find_map(Result::err) {
                self.say_once(format_args!(
                    "busy polling is not permitted ({error}): it needs CAP_NET_ADMIN; interrupts do the work"
                ));
                continue;
            }
            let Some(link) = self.device_with(address) else { continue };
            if let Err(error) = self.busy.defer(&link.name) {
                self.say_once(format_args!(
                    "interrupts of {} cannot be deferred ({error}); busy polling competes with them",
                    link.name
                ));
            } else {
                self.note(Level::Info, format_args!("{}: polled through NAPI {found}", link.name));
            }
        }
    }

    fn device_with(&mut self, address: IpAddr) -> Option<Link> {
        if self.busy.netlink.is_none() {
            self.busy.netlink = Netlink::open().ok();
        }
        let netlink = self.busy.netlink.as_mut()?;
        let index = netlink.device_of(address).ok().flatten()?;
        netlink.link(index).ok().flatten()
    }

    fn say_once(&mut self, line: fmt::Arguments<'_>) {
        if !core::mem::replace(&mut self.busy.said, true) {
            self.note(Level::Notice, line);
        }
    }
}

fn udp_at(endpoints: &mut [Option<Endpoint>], index: usize) -> Option<&mut Udp> {
    match &mut endpoints.get_mut(index)?.as_mut()?.kind {
        Kind::Udp(udp) => Some(udp),
        Kind::Tun { .. } | Kind::Tcp(_) | Kind::Packets(_) => None,
    }
}
