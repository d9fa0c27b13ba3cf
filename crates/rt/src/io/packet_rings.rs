//! Devices whose packets come and leave by AF_XDP: those that the kernel would forward between the devices of one machine. All others
//! come by the device's packet socket, as without AF_XDP.

use super::{Arrival, Endpoint, Io, Kind, Origin, Owner};
use crate::checksum::{finish_checksum, is_unfinished};
use crate::ether;
use crate::ingress::usable;
use crate::packet::{PacketSocket, PacketTarget};
use crate::steering::EdgeSteering;
use crate::xdp::{Deliver, Target};
use gannet_demux::device::{DeviceConfig, Received};
use gannet_demux::edge::{EdgeProgram, EdgeTotals};
use gannet_demux::link::takes_tags_off;
use gannet_machine::drops::Drop;
use gannet_machine::frame::{Frame, FramePool};
use gannet_machine::trace::TraceSink;
use gannet_machine::{EthernetAddress, Peer, Port};
use gannet_trace::pcapng::Direction;
use std::path::Path;

/// The rings of a device; each number is a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRings {
    /// Packets that may wait to be received.
    pub received: u32,
    /// Empty frames that the kernel has at hand beside them.
    pub empty: u32,
    /// Packets that may be under way.
    pub sent: u32,
}

impl Default for PacketRings {
    fn default() -> Self {
        Self { received: 2048, empty: 2048, sent: 2048 }
    }
}

impl PacketRings {
    /// Frames that they may hold: for [`crate::LoopConfig::ring_frames`].
    #[must_use]
    pub fn frames(&self) -> usize {
        let rx = [0, 0, 0, self.received];
        DeviceConfig { rx, tx: self.sent, empty: self.empty }.frames()
    }
}

/// How packets come through a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketReport {
    /// Its name.
    pub device: String,
    /// Packets that the packet socket has received.
    pub by_socket: u64,
    /// With AF_XDP: packets that its ring has received, and what the program counted.
    pub ring: Option<(u64, EdgeTotals)>,
}

impl Io {
    /// Has packets of a device that is joined to a port come and leave by AF_XDP.
    ///
    /// # Errors
    /// A sentence: what the machine does not permit. The device stays as it was.
    pub(crate) fn attach_packet_rings(
        &mut self,
        machine: usize,
        port: Port,
        rings: PacketRings,
    ) -> Result<(), String> {
        let index = self.endpoint_of(machine, port, Peer::Link);
        let endpoint = index.and_then(|index| self.endpoints.get(index)?.as_ref());
        let Some(Endpoint { kind: Kind::Packets(packets), .. }) = endpoint else {
            return Err(format!("port {} is joined to no device", port.0));
        };
        let (name, record) = (packets.name().to_owned(), packets.record);
        let xdp = self.xdp()?;
        let link = xdp.netlink.link_named(&name).map_err(|error| format!("rtnetlink: {error}"))?;
        let link = usable(link.ok_or_else(|| format!("there is no device {name}"))?)?;
        if xdp.devices.iter().any(|device| device.link.name == name && device.target.is_some()) {
            return Err(format!("{name} serves another port already, and a device takes one program"));
        }
        let is_software = !Path::new("/sys/class/net").join(&name).join("device").exists();
        if !is_software && takes_tags_off(&name).unwrap_or(false) {
            return Err(format!(
                "{name} takes the tags of VLANs off before the program sees a frame; 'ethtool -K {name} rxvlan off' ends that"
            ));
        }
        let program = EdgeProgram::load(link.rx_queues).map_err(|error| error.to_string())?;
        xdp.programs.push(Box::new(EdgeSteering(program)));
        let program = xdp.programs.len() - 1;
        let target = Target { machine, port, record, program, deliver: Deliver::Packets { is_software } };
        let wanted = Some(([0, 0, 0, rings.received], rings.empty, target));
        let place = self.want(&link, wanted, rings.sent, None).inspect_err(|_| {
            if let Some(xdp) = &mut self.xdp {
                xdp.programs.truncate(program);
            }
        })?;
        let endpoint = index.and_then(|index| self.endpoints.get_mut(index)?.as_mut());
        if let Some(Endpoint { kind: Kind::Packets(packets), .. }) = endpoint {
            packets.place = Some(place);
        }
        self.tell_routers();
        Ok(())
    }

    /// Tells each program between which devices its machine forwards.
    pub(super) fn tell_routers(&self) {
        let Some(xdp) = &self.xdp else { return };
        for target in xdp.devices.iter().filter_map(|device| device.target) {
            let Some(router) = xdp.programs.get(target.program).and_then(|program| program.router()) else {
                continue;
            };
            let of_machine = self.packets().filter(|(owner, _)| owner.machine == target.machine);
            let indices = of_machine.filter_map(|(_, packets)| packets.socket.as_ref());
            router.set_interfaces(&indices.map(PacketSocket::index).collect::<Vec<u32>>());
        }
    }

    fn packets(&self) -> impl Iterator<Item = (Owner, &super::packets::Packets)> {
        self.endpoints.iter().flatten().filter_map(|endpoint| match &endpoint.kind {
            Kind::Packets(packets) => Some((endpoint.owner, packets)),
            Kind::Udp(_) | Kind::Tun(_) | Kind::Tcp(_) => None,
        })
    }

    /// How packets come to a machine, by its ports.
    pub(crate) fn packet_reports(&self, machine: usize) -> Vec<PacketReport> {
        let of_machine = self.packets().filter(|(owner, _)| owner.machine == machine);
        let report = |packets: &super::packets::Packets| {
            let xdp = self.xdp.as_ref();
            let device = packets.place.and_then(|place| xdp?.devices.get(place));
            let program = device.and_then(|device| xdp?.programs.get(device.target?.program));
            let router = program.and_then(|program| program.router());
            PacketReport {
                device: packets.name().to_owned(),
                by_socket: packets.by_socket,
                ring: device.zip(router).map(|(device, router)| (device.received, router.totals())),
            }
        };
        of_machine.map(|(_, packets)| report(packets)).collect()
    }

    /// Sends by AF_XDP what waits for a device; false where the device has no such socket now. What it does not take waits, unless it is
    /// down.
    pub(super) fn flush_ring(&mut self, index: usize) -> bool {
        let at_ns = self.clock.unix_ns(self.now);
        let Self { xdp: Some(xdp), endpoints, recorder, frames, log, .. } = self else { return false };
        let Some(Some(Endpoint { kind: Kind::Packets(packets), .. })) = endpoints.get_mut(index) else {
            return false;
        };
        let Some(place) = packets.place else { return false };
        let Some((link, _)) = xdp.link_of(place) else { return false };
        let from = EthernetAddress(link.address.unwrap_or_default());
        while !packets.queue.is_empty() && xdp.has_room(place, false) {
            let Some((target, mut frame)) = packets.queue.pop_front() else { break };
            if let (Some(recorder), Some(interface)) = (recorder.as_mut(), packets.record) {
                recorder.ip(interface, at_ns, Direction::Out, &frame);
            }
            if !put_header(&mut frame, target, from) {
                log.dropped(Drop::RtSendFailed, None);
                continue;
            }
            let Ok((buffer, start, end)) = frame.into_static() else {
                log.dropped(Drop::RtSendFailed, None);
                continue;
            };
            if let Err(buffer) = xdp.put(place, buffer, (start, end), false) {
                drop(frames.adopt(buffer, 0, 0));
                log.dropped(Drop::RtSendFailed, None);
            }
        }
        if !xdp.kick(place) {
            packets.queue.drain(..).for_each(|_| log.dropped(Drop::RtSendFailed, None));
        }
        true
    }
}

/// Puts the Ethernet header in front; false where there is no room for it.
fn put_header(frame: &mut Frame, target: PacketTarget, from: EthernetAddress) -> bool {
    let Some(room) = frame.push(ether::ETHERNET) else { return false };
    let header = target.to.0.into_iter().chain(from.0).chain(target.ether_type.to_be_bytes());
    room.iter_mut().zip(header).for_each(|(to, octet)| *to = octet);
    true
}

/// A frame out of a ring as a packet for its machine; `None` where it is none.
pub(super) fn arrival(target: Target, received: Received, frames: &FramePool) -> Option<Arrival> {
    let is_software = matches!(target.deliver, Deliver::Packets { is_software: true });
    let Received { buffer, start, end } = received;
    let sender = buffer.get(start + 6..).and_then(<[u8]>::first_chunk::<6>).copied();
    let mut frame = frames.adopt(buffer, (start + ether::ETHERNET).min(end), end)?;
    if is_software && is_unfinished(&frame) {
        finish_checksum(&mut frame);
    }
    let origin = Origin::Peer(Peer::Ethernet(EthernetAddress(sender?)));
    Some(Arrival { machine: target.machine, port: target.port, origin, frame })
}
