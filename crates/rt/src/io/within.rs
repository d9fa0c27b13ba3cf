//! Datagrams from one machine of a loop to another do not enter the kernel.
//!
//! Both have UDP sockets. A datagram to an address at which a socket of the same loop is bound is an arrival there, from the
//! address that the sender's socket shows. Captures have it twice, as leaving and as coming. A socket that is bound to any
//! address is reached through the kernel.

use super::{Arrival, Endpoint, Io, Kind, Origin};
use core::net::SocketAddr;
use gannet_machine::Peer;
use gannet_machine::frame::Frame;
use gannet_trace::pcapng::Direction;

/// The sockets of a loop by their addresses.
#[derive(Debug, Default)]
pub(super) struct Within {
    /// Address, machine, endpoint; sorted. Empty while all sockets are one machine's.
    sockets: Vec<(SocketAddr, usize, usize)>,
}

impl Within {
    /// The endpoint at an address, where another machine than the sender's has it.
    pub(super) fn find(&self, to: SocketAddr, sender: usize) -> Option<usize> {
        let place = self.sockets.binary_search_by_key(&to, |(address, ..)| *address).ok()?;
        self.sockets.get(place).filter(|(_, machine, _)| *machine != sender).map(|(.., endpoint)| *endpoint)
    }
}

impl Io {
    /// A socket has come or gone.
    pub(super) fn know_sockets(&mut self) {
        let bound = |(index, endpoint): (usize, &Option<Endpoint>)| match endpoint {
            Some(Endpoint { owner, kind: Kind::Udp(udp), .. }) => {
                let address = udp.local.bound();
                (!address.ip().is_unspecified()).then_some((address, owner.machine, index))
            }
            _ => None,
        };
        let mut sockets: Vec<_> = self.endpoints.iter().enumerate().filter_map(bound).collect();
        sockets.sort_unstable();
        // Of those that share an address any hands over to the same port.
        sockets.dedup_by_key(|(address, ..)| *address);
        if sockets.iter().all(|(_, machine, _)| sockets.first().is_some_and(|(_, first, _)| first == machine))
        {
            sockets.clear();
        }
        self.within.sockets = sockets;
    }

    /// A datagram of the socket at `from` arrives at the one at `place`, whose address is `to`.
    pub(super) fn hand_over(&mut self, from: usize, place: usize, to: SocketAddr, mut frame: Frame) {
        let at_ns = self.clock.unix_ns(self.now);
        let Some(sender) = self.udp_at(from) else { return };
        let (address, record) = (sender.local.towards(to), sender.record);
        if let (Some(recorder), Some(interface)) = (self.recorder.as_mut(), record) {
            recorder.udp(interface, at_ns, Direction::Out, (address, to), &frame);
        }
        let Some(Some(Endpoint { owner, kind: Kind::Udp(receiver), .. })) = self.endpoints.get(place) else {
            return;
        };
        if let (Some(recorder), Some(interface)) = (self.recorder.as_mut(), receiver.record) {
            recorder.udp(interface, at_ns, Direction::In, (address, to), &frame);
        }
        // It has arrived, and the next one to send it says how.
        frame.set_dscp(0);
        frame.set_patient(false);
        let origin = Origin::Peer(Peer::Udp(address));
        self.arrivals.push_back(Arrival { machine: owner.machine, port: owner.port, origin, frame });
    }
}
