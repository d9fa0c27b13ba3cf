//! Sending: datagrams wait for the end of a slice of work and go in batches, by the kernel's UDP or as whole frames.

use super::{Arrival, Binding, Endpoint, Io, Kind, Origin};
use crate::ether::HEADERS;
use crate::messages::BATCH;
use crate::output::Way;
use crate::page_exchange::PageExchange;
use crate::udp::SendQueue;
use core::net::SocketAddr;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_machine::{EthernetAddress, Peer, Port};
use gannet_trace::pcapng::Direction;
use mio::Interest;

/// Frames that are sent before what arrives is looked at: some 60 µs of work; fewer where much arrives.
const PART: usize = 64;

/// Where sending as frames has stopped.
enum Stopped {
    /// Nothing waits any more.
    Empty,
    /// The first so many datagrams have to go through the kernel.
    Kernel(usize),
    /// The device takes nothing now.
    Full,
    /// So many have gone that it is time to look at what arrives.
    Part,
}

impl Io {
    /// Takes what a machine wants to send. UDP datagrams and IP packets wait for the end of the round, and go in one batch.
    pub(crate) fn transmit(&mut self, machine: usize, port: Port, peer: Peer, mut frame: Frame) {
        let binding = self.bindings.get(machine).and_then(|ports| ports.get(usize::from(port.0)));
        if let Some(Binding::Link(to)) = binding {
            let origin = Origin::Peer(peer);
            // It has arrived, and the next one to send it says how.
            frame.set_dscp(0);
            self.arrivals.push_back(Arrival { machine: to.machine, port: to.port, origin, frame });
            return;
        }
        let index = self.endpoint_of(machine, port, peer);
        if let Peer::Ethernet(to) = peer {
            let refused = match index {
                Some(index) => self.enqueue_packet(index, to, frame),
                None => Some(frame),
            };
            if refused.is_some() {
                self.refuse_ethernet(port, to);
            }
            return;
        }
        let Some((index, endpoint)) =
            index.and_then(|index| Some((index, self.endpoints.get_mut(index)?.as_mut()?)))
        else {
            self.log.dropped(Drop::RtNoEndpoint, None);
            return;
        };
        match (&mut endpoint.kind, peer) {
            (Kind::Udp(udp), Peer::Udp(to)) => {
                if let Some(place) = self.within.find(to, machine) {
                    return self.hand_over(index, place, to, frame);
                }
                if udp.queue.is_empty() {
                    self.unsent.push(index);
                }
                if udp.queue.is_full() {
                    self.flush_one(index);
                }
                self.enqueue(index, to, frame);
            }
            (Kind::Tun(_), _) => self.enqueue_tun(index, frame),
            (Kind::Tcp(_), _) => self.send_stream(index, &frame),
            (Kind::Udp(_) | Kind::Packets(_), _) => self.log.dropped(Drop::RtNoEndpoint, None),
        }
    }

    /// Only ports of devices send to an address of a link layer: sockets, TUN devices and streams have others.
    #[cold]
    fn refuse_ethernet(&mut self, port: Port, to: EthernetAddress) {
        self.log.dropped(Drop::RtNoEndpoint, None);
        if self.log.enabled(Category::Main, Level::Info) {
            let line = format_args!("no datagram to {to}: port {} sends to no Ethernet address", port.0);
            self.log.line(Category::Main, Level::Info, line);
        }
    }

    fn enqueue(&mut self, index: usize, to: SocketAddr, frame: Frame) {
        let Some(Some(Endpoint { kind: Kind::Udp(udp), .. })) = self.endpoints.get_mut(index) else { return };
        if let Err(drop) = udp.queue.push(to, frame) {
            self.log.dropped(drop, None);
        }
    }

    /// True where so much of a machine's datagrams wait that it had better send no more of what can wait.
    pub(crate) fn is_backed_up(&self, machine: usize) -> bool {
        let ports = self.bindings.get(machine).filter(|_| !self.unsent.is_empty());
        ports.into_iter().flatten().any(|binding| match binding {
            Binding::Endpoint(index) => match self.endpoints.get(*index) {
                Some(Some(Endpoint { kind: Kind::Udp(udp), .. })) => udp.queue.is_half_full(),
                Some(Some(Endpoint { kind: Kind::Packets(packets), .. })) => packets.is_backed_up(),
                _ => false,
            },
            Binding::Nothing | Binding::Slots(_) | Binding::Link(_) => false,
        })
    }

    /// True where sending what waits takes long; not so where it waits for the pages that the next poll finds.
    pub(crate) fn has_much_to_send(&self) -> bool {
        if self.xdp.as_ref().and_then(|xdp| xdp.pages.as_ref()).is_some_and(PageExchange::is_on) {
            return false;
        }
        self.unsent.iter().any(|index| self.queue_at(*index).is_some_and(|queue| queue.len() >= PART / 4))
    }

    fn queue_at(&self, index: usize) -> Option<&SendQueue> {
        match self.endpoints.get(index) {
            Some(Some(Endpoint { kind: Kind::Udp(udp), .. })) => Some(&udp.queue),
            _ => None,
        }
    }

    /// Sends what waits; what the kernel does not take now stays.
    pub(crate) fn flush(&mut self) {
        for position in 0..self.unsent.len() {
            if let Some(index) = self.unsent.get(position) {
                self.flush_one(*index);
            }
        }
        let endpoints = &self.endpoints;
        self.unsent.retain(|index| match endpoints.get(*index) {
            Some(Some(Endpoint { kind: Kind::Udp(udp), .. })) => !udp.queue.is_empty(),
            Some(Some(Endpoint { kind: Kind::Packets(packets), .. })) => packets.has_waiting(),
            _ => false,
        });
        if let Some(xdp) = &mut self.xdp {
            xdp.finish(self.now);
            xdp.refill();
        }
        self.refill();
    }

    /// Sends what waits before the services have their round: they look at much that no packet has touched, and take longer than a
    /// packet that comes alone. What a loop sends that polls its devices waits for the turn's end, where a poll may have to come first.
    pub(crate) fn flush_before_services(&mut self) {
        if self.xdp.is_none() && self.busy.pollers.is_empty() {
            self.flush();
        }
    }

    fn flush_one(&mut self, index: usize) {
        if matches!(self.endpoints.get(index), Some(Some(Endpoint { kind: Kind::Tun(_), .. }))) {
            return self.flush_tun(index);
        }
        if matches!(self.endpoints.get(index), Some(Some(Endpoint { kind: Kind::Packets(_), .. }))) {
            return self.flush_packets(index);
        }
        let as_frames = self.xdp.is_some() && self.udp_at(index).is_some_and(|udp| udp.output.is_some());
        if !as_frames {
            return self.flush_by_kernel(index, usize::MAX);
        }
        // Order is kept: what goes one way has left before the first datagram goes the other.
        while self.udp_at(index).is_some_and(|udp| !udp.queue.blocked) {
            match self.flush_as_frames(index) {
                Stopped::Kernel(count) => self.flush_by_kernel(index, count),
                Stopped::Part => self.poll_between(),
                Stopped::Empty | Stopped::Full => return,
            }
        }
    }

    fn flush_as_frames(&mut self, index: usize) -> Stopped {
        let at_ns = self.clock.unix_ns(self.now);
        let mut left = self.busy.part(PART);
        let Self { xdp: Some(xdp), endpoints, recorder, frames, now, .. } = self else {
            return Stopped::Empty;
        };
        let Some(Some(Endpoint { kind: Kind::Udp(udp), .. })) = endpoints.get_mut(index) else {
            return Stopped::Empty;
        };
        let Some(output) = &mut udp.output else { return Stopped::Kernel(udp.queue.len()) };
        let place = output.device;
        let stopped = loop {
            let Some((to, frame)) = udp.queue.front() else { break Stopped::Empty };
            if left == 0 {
                break Stopped::Part;
            }
            left -= 1;
            let (len, is_patient) = (frame.len(), frame.is_patient());
            let Some((link, netlink)) = xdp.link_of(place) else { break Stopped::Kernel(udp.queue.len()) };
            let Way::Frame(headers) = output.way(to, len, link, netlink, *now) else {
                break Stopped::Kernel(0);
            };
            if !xdp.has_room(place, is_patient) {
                break Stopped::Full;
            }
            let Some((to, mut frame)) = udp.queue.pop() else { break Stopped::Empty };
            if !headers.put(&mut frame) {
                udp.queue.push_front(to, frame);
                break Stopped::Kernel(1);
            }
            match frame.into_static() {
                Ok((buffer, start, end)) => {
                    if let (Some(recorder), Some(interface)) = (recorder.as_mut(), udp.record) {
                        let payload = buffer.get(start + HEADERS..end).unwrap_or_default();
                        recorder.udp(interface, at_ns, Direction::Out, (udp.local.towards(to), to), payload);
                    }
                    if let Err(buffer) = xdp.put(place, buffer, (start, end), is_patient) {
                        // There was room a moment ago: the device has gone, and the frame goes with it.
                        drop(frames.adopt(buffer, 0, 0));
                    }
                    output.by_frame += 1;
                }
                // A frame of other memory: as it was before.
                Err(mut frame) => {
                    let _ = frame.pull(HEADERS);
                    udp.queue.push_front(to, frame);
                    break Stopped::Kernel(1);
                }
            }
        };
        xdp.kick(place);
        let Stopped::Kernel(0) = stopped else { return stopped };
        // How many more of those behind have to go the same way? The first was just asked.
        let rest = udp.queue.iter().skip(1).map(|(to, frame)| (to, frame.len()));
        let mut count = 1;
        for (to, len) in rest.take(BATCH) {
            let Some((link, netlink)) = xdp.link_of(place) else { break };
            if output.way(to, len, link, netlink, *now) != Way::Kernel {
                break;
            }
            count += 1;
        }
        output.by_kernel += count as u64;
        Stopped::Kernel(count)
    }

    fn flush_by_kernel(&mut self, index: usize, limit: usize) {
        let Some(Some(Endpoint { kind: Kind::Udp(udp), .. })) = self.endpoints.get_mut(index) else { return };
        let (messages, recorder, log) = (&mut self.messages, &mut self.recorder, &mut self.log);
        let (at_ns, record) = (self.clock.unix_ns(self.now), udp.record);
        let was_blocked = udp.queue.blocked;
        udp.send_by_kernel(
            messages,
            limit,
            |local, to, frame| {
                if let (Some(recorder), Some(interface)) = (recorder.as_mut(), record) {
                    recorder.udp(interface, at_ns, Direction::Out, (local.towards(to), to), frame);
                }
            },
            |drop, to, error| {
                log.dropped(drop, None);
                if log.enabled(Category::Main, Level::Info) {
                    let line = format_args!("no datagram to {to}: {error}");
                    log.line(Category::Main, Level::Info, line);
                }
            },
        );
        if udp.queue.blocked && !was_blocked {
            self.watch(index, Interest::READABLE.add(Interest::WRITABLE));
        }
    }
}
