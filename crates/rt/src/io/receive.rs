//! Receiving: one batch of each socket and device that has something, then what the rings hold.

use super::{Arrival, ENDPOINT_TOKENS, Endpoint, Io, Kind, Origin, packet_rings};
use crate::busy::BusyPoll;
use crate::ether;
use crate::messages::BATCH;
use crate::sys;
use crate::udp::{self, Received};
use crate::xdp::{Deliver, Xdp};
use gannet_demux::Ring;
use gannet_machine::Peer;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Level, TraceSink};
use gannet_qos::class::Class;
use gannet_trace::pcapng::Direction;
use mio::unix::SourceFd;
use mio::{Interest, Token};

/// Rings that are emptied first, and those that wait for them.
const URGENT: [Ring; 2] = [Ring::Signalling, Ring::RealTime];
const PATIENT: [Ring; 2] = [Ring::High, Ring::BestEffort];
/// Those that must not overflow in a long turn: what else is too much may be lost where it has no precedence.
const PRECIOUS: [Ring; 3] = [Ring::Signalling, Ring::RealTime, Ring::High];

impl Io {
    /// The poll said that endpoint `index` may be read or written.
    pub(crate) fn ready(&mut self, index: usize, readable: bool, writable: bool) {
        let Some(Some(endpoint)) = self.endpoints.get_mut(index) else { return };
        // What a device has does not stay in the kernel: it waits here in better order.
        let is_wanted = !endpoint.held || matches!(endpoint.kind, Kind::Tun(_));
        if readable && !endpoint.readable && is_wanted {
            endpoint.readable = true;
            self.readable.push_back(index);
        }
        match &mut endpoint.kind {
            Kind::Udp(udp) if writable && udp.queue.blocked => {
                udp.queue.blocked = false;
                self.watch(index, Interest::READABLE);
            }
            Kind::Packets(packets) if writable && packets.blocked => {
                packets.blocked = false;
                self.watch(index, Interest::READABLE);
                // What waits goes before more is taken that is for the same device.
                self.flush_packets(index);
            }
            Kind::Tcp(_) if writable => self.stream_writable(index),
            Kind::Udp(_) | Kind::Tun { .. } | Kind::Tcp(_) | Kind::Packets(_) => {}
        }
    }

    /// Changes what is polled of an endpoint. A socket is asked whether it is writable only while its queue is blocked:
    /// else every datagram that has left would wake the loop.
    pub(super) fn watch(&mut self, index: usize, interest: Interest) {
        let Some(Some(endpoint)) = self.endpoints.get(index) else { return };
        let Some(fd) = endpoint.fd() else { return };
        let token = Token(ENDPOINT_TOKENS + index);
        if let Err(error) = self.registry.reregister(&mut SourceFd(&fd), token, interest) {
            self.note(Level::Error, format_args!("endpoint {index} cannot be polled: {error}"));
        }
    }

    /// Is there something to receive, as far as is known?
    pub(crate) fn has_readable(&mut self) -> bool {
        !self.readable.is_empty() || self.xdp.as_mut().is_some_and(|xdp| xdp.more || xdp.has_waiting())
    }

    /// Gives each readable endpoint one turn of one batch, in the order of what is steered to them, and then takes what the
    /// rings have that is urgent; says whether there was something of that.
    pub(crate) fn receive_first(&mut self) -> bool {
        let before = self.arrivals.len();
        let began = self.clock.now();
        if self.busy.is_spinning(self.now) {
            for position in 0..self.busy.pollers.len() {
                let poller = self.busy.pollers.get(position).copied();
                if let Some(poller) = poller.filter(|poller| !self.busy.is_idle(self.now, poller)) {
                    self.ready(poller.index, true, false);
                }
            }
        }
        for ring in Ring::ALL {
            for _ in 0..self.readable.len() {
                let Some(index) = self.readable.pop_front() else { break };
                if self.udp_at(index).map_or(Ring::BestEffort, |udp| udp.ring) != ring {
                    self.readable.push_back(index);
                    continue;
                }
                let more = self.receive(index);
                let Some(Some(endpoint)) = self.endpoints.get_mut(index) else { continue };
                endpoint.readable = more;
                if more {
                    self.readable.push_back(index);
                }
            }
        }
        self.busy.polled(began, self.clock.now());
        if let Some(xdp) = &mut self.xdp {
            xdp.more = false;
        }
        let urgent = self.receive_classified(&URGENT, false);
        let arrived = self.arrivals.len().saturating_sub(before);
        self.busy.found(arrived);
        if arrived > 0 {
            self.busy.traffic(self.now);
        }
        urgent > 0
    }

    /// Polls those devices once more that had more than one poll takes, and says whether something urgent has come.
    pub(crate) fn poll_on(&mut self) -> Option<bool> {
        let began = self.clock.now();
        let mut polled = false;
        for position in 0..self.busy.pollers.len() {
            let Some(poller) = self.busy.pollers.get_mut(position) else { break };
            let index = poller.index;
            if core::mem::take(&mut poller.is_full) {
                polled = true;
                if self.receive(index) {
                    self.ready(index, true, false);
                }
            }
        }
        if !polled {
            return None;
        }
        self.busy.polled(began, self.clock.now());
        let urgent = self.receive_classified(&URGENT, false);
        self.busy.found(urgent);
        Some(urgent > 0)
    }

    /// Takes what the rings have besides; of best effort nothing where a machine has `enough` of it.
    pub(crate) fn receive_rest(&mut self, hurry: bool, enough: bool) {
        let rings = if enough { &PATIENT[..1] } else { &PATIENT[..] };
        let count = self.receive_classified(rings, hurry);
        if count > 0 {
            self.busy.traffic(self.now);
        }
        self.busy.found(count);
        let dropped = self.xdp.as_ref().filter(|_| self.busy.mode != BusyPoll::Off).map(Xdp::dropped);
        self.busy.reckon(self.clock.now(), dropped);
        if let Some(xdp) = &mut self.xdp {
            xdp.refill();
        }
    }

    /// Polls the devices between two parts of a turn where so much arrives that their short queues would not hold it for a
    /// turn, and takes what is precious out of the rings. Otherwise a poll is left to the next turn: the fewer they are, and
    /// the more each finds, the less a packet costs.
    pub(crate) fn poll_between(&mut self) {
        let began = self.clock.now();
        if !self.busy.is_spinning(self.now) || !self.busy.is_due(began) {
            return;
        }
        for position in 0..self.busy.pollers.len() {
            let poller = self.busy.pollers.get(position).copied();
            if let Some(poller) = poller.filter(|poller| !self.busy.is_idle(self.now, poller))
                && self.receive(poller.index)
            {
                self.ready(poller.index, true, false);
            }
        }
        self.busy.polled(began, self.clock.now());
        self.receive_classified(&PRECIOUS, false);
        if let Some(xdp) = &mut self.xdp {
            xdp.refill();
        }
    }

    /// Empties some of the rings of AF_XDP sockets, as far as one batch of each goes, and says how much that was.
    fn receive_classified(&mut self, rings: &[Ring], hurry: bool) -> usize {
        let at_ns = self.clock.unix_ns(self.now);
        let Self { xdp: Some(xdp), frames, recorder, arrivals, log, .. } = self else { return 0 };
        xdp.receive(rings, hurry, |target, metadata, received| {
            let start = received.start;
            let Some(metadata) = metadata else {
                let Some(arrival) = packet_rings::arrival(target, received, frames) else {
                    return log.dropped(Drop::RtReceiveTooLong, None);
                };
                if let (Some(recorder), Some(interface)) = (recorder.as_mut(), target.record) {
                    recorder.ip(interface, at_ns, Direction::In, &arrival.frame);
                }
                return arrivals.push_back(arrival);
            };
            let packet = received.buffer.get(start..received.end).and_then(ether::ip_packet);
            if let (Some(recorder), Some(interface), Some(packet)) =
                (recorder.as_mut(), target.record, packet)
            {
                recorder.ip(interface, at_ns, Direction::In, packet);
            }
            let origin = match target.deliver {
                Deliver::Classified if metadata.class != Class::Signalling => {
                    Some(Origin::Rule(metadata.name))
                }
                // What is for nobody who is known, so that the node answers, comes like a datagram too.
                Deliver::Classified | Deliver::Datagrams | Deliver::Packets { .. } => {
                    packet.and_then(ether::udp_source).map(|peer| Origin::Peer(Peer::Udp(peer)))
                }
            };
            let from = start + usize::from(metadata.pdu_offset);
            let to = from + usize::from(metadata.pdu_len);
            let window = if to <= received.end { (from, to) } else { (usize::MAX, 0) };
            let frame = frames.adopt(received.buffer, window.0, window.1);
            let (Some(frame), Some(origin)) = (frame, origin) else {
                log.dropped(Drop::RtReceiveTooLong, None);
                return;
            };
            arrivals.push_back(Arrival { machine: target.machine, port: target.port, origin, frame });
        })
    }

    /// Takes as many frames to receive into as one batch needs, where there are so many.
    pub(super) fn refill(&mut self) {
        while self.spare.len() < BATCH && self.frames.free() > 0 {
            self.spare.extend(self.frames.alloc());
        }
    }

    /// Receives one batch; false when there is nothing more.
    fn receive(&mut self, index: usize) -> bool {
        self.refill();
        match self.endpoints.get(index) {
            Some(Some(Endpoint { kind: Kind::Udp(_), .. })) => self.receive_udp(index),
            Some(Some(Endpoint { kind: Kind::Tun { .. }, .. })) => self.receive_tun(index),
            Some(Some(Endpoint { kind: Kind::Tcp(_), .. })) => self.receive_stream(index),
            Some(Some(Endpoint { kind: Kind::Packets(_), .. })) => self.receive_packets(index),
            Some(None) | None => false,
        }
    }

    fn receive_udp(&mut self, index: usize) -> bool {
        let Some(Some(Endpoint { owner, kind: Kind::Udp(udp), .. })) = self.endpoints.get_mut(index) else {
            return false;
        };
        // Asking costs less than preparing a batch for nothing.
        if udp.polls && !udp.flowing {
            let began = self.clock.now();
            let program = self.xdp.as_ref().zip(self.busy.poller(index).and_then(|poller| poller.program));
            let lend = |now_ns| program.inspect(|(xdp, place)| xdp.lend_clock(*place, now_ns));
            lend(self.clock.monotonic_ns(began));
            let has_one = sys::has_datagram(&udp.socket);
            lend(0);
            if !has_one {
                let took = self.clock.now().since(began);
                let seen = program.and_then(|(xdp, place)| xdp.seen_by(place));
                self.busy.poll_took(self.now, index, took, seen);
            }
            if has_one || udp.config.shared_port {
                // What comes to one of those that share a port may have been brought by the poll of another.
                self.busy.note_arrival(self.now, index);
            }
            if !has_one {
                return false;
            }
        }
        if udp.config.joined {
            return self.receive_joined(index);
        }
        if self.spare.is_empty() {
            let Received::Some(count) = udp::discard(&udp.socket) else { return false };
            (0..count).for_each(|_| self.log.dropped(Drop::NoFrame, None));
            return true;
        }
        let received = udp::receive(&udp.socket, &mut self.messages, &mut self.spare);
        udp.flowing = matches!(received, Received::Some(_));
        let Received::Some(count) = received else { return false };
        udp.received += count as u64;
        let at_ns = self.clock.unix_ns(self.now);
        for (number, mut frame) in self.spare.drain(..count).enumerate() {
            let Some(arrived) = self.messages.arrived(number) else { continue };
            let Some(from) = arrived.from else { continue };
            if arrived.cut || !frame.set_len(arrived.len) {
                self.log.dropped(Drop::RtReceiveTooLong, None);
                continue;
            }
            if let (Some(recorder), Some(interface)) = (&mut self.recorder, udp.record) {
                let ends = (from, udp.local.towards(from));
                recorder.udp(interface, at_ns, Direction::In, ends, &frame);
            }
            let (machine, port) = (owner.machine, owner.port);
            let origin = Origin::Peer(Peer::Udp(from));
            self.arrivals.push_back(Arrival { machine, port, origin, frame });
        }
        true
    }
}
