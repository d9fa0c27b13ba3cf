//! Devices whose packets, IP or those of one EtherType, a machine receives and sends, each to a station: a port of
//! [`Peer::Ethernet`].

use super::{Arrival, ENDPOINT_TOKENS, Endpoint, Io, Kind, Origin, Owner};
use crate::checksum::finish_checksum;
use crate::log::LogSink;
use crate::packet::{
    ETHER_TYPE_IPV4, ETHER_TYPE_IPV6, PACKET_BATCH, PacketLayer, PacketSocket, PacketTarget,
};
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::trace::{Level, TraceSink};
use gannet_machine::{EthernetAddress, Peer, Port};
use gannet_trace::pcapng::{Direction, InterfaceId, LinkType};
use mio::unix::SourceFd;
use mio::{Interest, Token};
use std::collections::VecDeque;
use std::io;

/// Packets that wait for a device.
const WAITING_MAX: usize = 1024;

/// A device, there or away.
pub(crate) struct Packets {
    name: String,
    pub(super) socket: Option<PacketSocket>,
    pub(super) queue: VecDeque<(PacketTarget, Frame)>,
    pub(super) record: Option<InterfaceId>,
    /// The device's own address, for the capture.
    own: EthernetAddress,
    /// Its place in the table of devices with AF_XDP sockets, where it has some.
    pub(super) place: Option<usize>,
    /// Packets that the socket has received.
    pub(super) by_socket: u64,
    layer: PacketLayer,
    /// The kernel took nothing at the last try; it will say when it does again.
    pub(super) blocked: bool,
}

impl Packets {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.queue.is_empty()
    }

    /// So much waits that no more is to come for a while.
    pub(super) fn is_backed_up(&self) -> bool {
        self.blocked && !self.queue.is_empty()
    }

    /// The EtherType of a packet that is sent; IP says it itself.
    fn ether_type(&self, packet: &[u8]) -> u16 {
        match self.layer {
            PacketLayer::Protocol(ether_type) => ether_type,
            PacketLayer::Frames | PacketLayer::Packets => {
                let is_ipv6 = packet.first().is_some_and(|first| first >> 4 == 6);
                if is_ipv6 { ETHER_TYPE_IPV6 } else { ETHER_TYPE_IPV4 }
            }
        }
    }
}

/// The address of a device; zeros where the system does not say.
fn own_address(device: &str) -> EthernetAddress {
    let text = std::fs::read_to_string(format!("/sys/class/net/{device}/address")).unwrap_or_default();
    let mut address = [0; 6];
    for (octet, digits) in address.iter_mut().zip(text.trim().split(':')) {
        *octet = u8::from_str_radix(digits, 16).unwrap_or(0);
    }
    EthernetAddress(address)
}

/// Destination, source and EtherType of a frame, as a capture has them.
fn ethernet_header(to: EthernetAddress, from: EthernetAddress, ether_type: u16) -> [u8; 14] {
    let mut header = [0; 14];
    header[..6].copy_from_slice(&to.0);
    header[6..12].copy_from_slice(&from.0);
    header[12..].copy_from_slice(&ether_type.to_be_bytes());
    header
}

impl Io {
    pub(crate) fn attach_packets(
        &mut self,
        machine: usize,
        port: Port,
        (name, layer): (&str, PacketLayer),
        record_as: Option<&str>,
    ) -> io::Result<()> {
        let socket = Some(PacketSocket::open(name, layer)?);
        let queue = VecDeque::with_capacity(PACKET_BATCH);
        let record = match layer {
            PacketLayer::Packets => self.interface(record_as),
            PacketLayer::Protocol(_) => Some(self.interface_of(name, LinkType::Ethernet, false)),
            PacketLayer::Frames => None,
        };
        let (name, own) = (name.to_owned(), own_address(name));
        let packets =
            Packets { name, socket, queue, record, own, place: None, by_socket: 0, layer, blocked: false };
        let kind = Kind::Packets(packets);
        let index = self.insert(Owner { machine, port }, kind)?;
        self.rebind(machine, port, Peer::Link, Some(index));
        Ok(())
    }

    /// Looks whether the devices are those on which the sockets are, which are made anew for a device that has come back.
    pub(crate) fn renew_packets(&mut self, device: impl Fn(&str) -> Option<u32>) {
        for index in 0..self.endpoints.len() {
            let Some(Some(Endpoint { kind: Kind::Packets(packets), .. })) = self.endpoints.get_mut(index)
            else {
                continue;
            };
            let (there, name, layer) = (device(&packets.name), packets.name.clone(), packets.layer);
            if there == packets.socket.as_ref().map(PacketSocket::index) {
                continue;
            }
            // What the former socket has lost counts.
            count_lost(packets, &mut self.log);
            (packets.socket, packets.blocked) = (None, false);
            let lost = packets.queue.len();
            packets.queue.clear();
            (0..lost).for_each(|_| self.log.dropped(Drop::RtSendFailed, None));
            let Some(_) = there else {
                self.note(Level::Error, format_args!("{name} is away: nothing goes through it"));
                continue;
            };
            match PacketSocket::open(&name, layer) {
                Ok(socket) => {
                    packets.socket = Some(socket);
                    packets.own = own_address(&name);
                    let fd = self.endpoints.get(index).and_then(Option::as_ref).and_then(Endpoint::fd);
                    let token = Token(ENDPOINT_TOKENS + index);
                    if let Some(fd) = fd
                        && let Err(error) =
                            self.registry.register(&mut SourceFd(&fd), token, Interest::READABLE)
                    {
                        self.note(Level::Error, format_args!("{name} cannot be polled: {error}"));
                    }
                    self.note(Level::Notice, format_args!("{name} is back"));
                    self.ready(index, true, false);
                }
                Err(error) => {
                    self.note(Level::Error, format_args!("{name} cannot be used again yet: {error}"));
                }
            }
        }
        self.tell_routers();
    }

    /// Counts what the kernel has dropped in front of the sockets since the last call.
    pub(crate) fn count_lost_packets(&mut self) {
        for endpoint in self.endpoints.iter().flatten() {
            if let Kind::Packets(packets) = &endpoint.kind {
                count_lost(packets, &mut self.log);
            }
        }
    }

    /// Receives one batch; false when there is nothing more.
    pub(super) fn receive_packets(&mut self, index: usize) -> bool {
        let Some(Some(Endpoint { owner, kind: Kind::Packets(packets), .. })) = self.endpoints.get_mut(index)
        else {
            return false;
        };
        let Some(socket) = &mut packets.socket else { return false };
        if self.spare.is_empty() {
            let count = socket.discard();
            (0..count).for_each(|_| self.log.dropped(Drop::NoFrame, None));
            return count > 0;
        }
        // That the device was down is told once, in front of what has come since.
        let room = self.spare.len().min(PACKET_BATCH);
        let received = socket.receive(&mut self.spare).or_else(|_| socket.receive(&mut self.spare));
        let count = received.unwrap_or(0);
        let at_ns = self.clock.unix_ns(self.now);
        for (number, mut frame) in self.spare.drain(..count).enumerate() {
            let Some(arrived) = socket.arrived(number) else { continue };
            let is_ip = [ETHER_TYPE_IPV4, ETHER_TYPE_IPV6].contains(&arrived.ether_type);
            let is_wanted = match packets.layer {
                PacketLayer::Protocol(_) => arrived.is_for_us || arrived.is_for_several,
                PacketLayer::Frames | PacketLayer::Packets => arrived.is_for_us && is_ip,
            };
            // What is for others is not ours, and a tag names another device.
            if !is_wanted || arrived.tagged {
                continue;
            }
            if arrived.cut || !frame.set_len(arrived.len) {
                self.log.dropped(Drop::RtReceiveTooLong, None);
                continue;
            }
            if arrived.unfinished_checksum && is_ip {
                finish_checksum(&mut frame);
            }
            if let (Some(recorder), Some(interface)) = (&mut self.recorder, packets.record) {
                match packets.layer {
                    PacketLayer::Protocol(ether_type) => {
                        let header = ethernet_header(packets.own, arrived.from, ether_type);
                        recorder.ethernet(interface, at_ns, Direction::In, header, &frame);
                    }
                    PacketLayer::Frames | PacketLayer::Packets => {
                        recorder.ip(interface, at_ns, Direction::In, &frame);
                    }
                }
            }
            packets.by_socket += 1;
            let origin = Origin::Peer(Peer::Ethernet(arrived.from));
            self.arrivals.push_back(Arrival { machine: owner.machine, port: owner.port, origin, frame });
        }
        // A batch that is not full ended where nothing more waited, and the poll tells what comes later.
        count == room
    }

    /// Takes a packet that is to be sent; false, and the packet is given back, where `index` is no such device.
    pub(super) fn enqueue_packet(
        &mut self,
        index: usize,
        to: EthernetAddress,
        frame: Frame,
    ) -> Option<Frame> {
        let Some(Some(Endpoint { kind: Kind::Packets(packets), .. })) = self.endpoints.get_mut(index) else {
            return Some(frame);
        };
        if packets.queue.len() >= WAITING_MAX {
            self.log.dropped(Drop::RtSendQueueFull, None);
            return None;
        }
        let ether_type = packets.ether_type(&frame);
        if packets.queue.is_empty() {
            self.unsent.push(index);
        }
        packets.queue.push_back((PacketTarget { to, ether_type }, frame));
        // Those that a device did not take are offered again at the end of the turn.
        if packets.queue.len() >= PACKET_BATCH && !packets.blocked {
            self.flush_packets(index);
            if !self.packets_wait(index) {
                self.unsent.retain(|other| *other != index);
            }
        }
        None
    }

    /// Sends all that waits: by AF_XDP where the device has such a socket, otherwise by the packet socket. IP that the device does not
    /// take is dropped: the machine's queues decide what waits. Of an EtherType of its own it stays here until the socket takes
    /// more.
    pub(super) fn flush_packets(&mut self, index: usize) {
        if self.flush_ring(index) {
            return;
        }
        let at_ns = self.clock.unix_ns(self.now);
        let Some(Some(Endpoint { kind: Kind::Packets(packets), .. })) = self.endpoints.get_mut(index) else {
            return;
        };
        while !packets.queue.is_empty() && !packets.blocked {
            let all = packets.queue.iter().map(|(target, frame)| (&**frame, Some(*target)));
            let sent = packets.socket.as_mut().map(|socket| socket.send(all));
            match sent {
                Some(Ok(count)) if count > 0 => {
                    for (PacketTarget { to, ether_type }, frame) in packets.queue.drain(..count) {
                        let Some((recorder, interface)) = self.recorder.as_mut().zip(packets.record) else {
                            continue;
                        };
                        if matches!(packets.layer, PacketLayer::Protocol(_)) {
                            let header = ethernet_header(to, packets.own, ether_type);
                            recorder.ethernet(interface, at_ns, Direction::Out, header, &frame);
                        } else {
                            recorder.ip(interface, at_ns, Direction::Out, &frame);
                        }
                    }
                }
                Some(Err(error))
                    if error.kind() == io::ErrorKind::WouldBlock
                        && matches!(packets.layer, PacketLayer::Protocol(_)) =>
                {
                    packets.blocked = true;
                }
                Some(Ok(_) | Err(_)) | None => {
                    packets.queue.pop_front();
                    self.log.dropped(Drop::RtSendFailed, None);
                }
            }
        }
        if packets.blocked {
            self.watch(index, Interest::READABLE.add(Interest::WRITABLE));
        }
    }

    /// Does a packet wait that its device did not take, and that is to be offered again? Behind a blocked socket it waits for the
    /// kernel's word.
    pub(crate) fn has_unsent_packets(&self) -> bool {
        self.unsent.iter().any(|index| match self.endpoints.get(*index) {
            Some(Some(Endpoint { kind: Kind::Packets(packets), .. })) => {
                packets.has_waiting() && !packets.blocked
            }
            _ => false,
        })
    }

    pub(super) fn packets_wait(&self, index: usize) -> bool {
        match self.endpoints.get(index) {
            Some(Some(Endpoint { kind: Kind::Packets(packets), .. })) => packets.has_waiting(),
            _ => false,
        }
    }
}

/// A socket that does not say how much it has lost has lost nothing that is known.
fn count_lost(packets: &Packets, log: &mut LogSink) {
    let lost = packets.socket.as_ref().and_then(|socket| socket.dropped_before().ok()).unwrap_or(0);
    (0..lost).for_each(|_| log.dropped(Drop::RtReceiveOverrun, None));
}
