//! TUN devices: IP packets from and to the kernel.
//!
//! Where the kernel can, a device hands over TCP segments and UDP datagrams of one flow as one super-packet, and takes
//! them so: [`cut`] and [`join`] turn super-packets into packets and back. A device that cannot gives and takes each packet
//! by a system call of its own.

pub(crate) mod cut;
mod flow;
pub(crate) mod header;
pub(crate) mod join;
mod layout;
#[cfg(test)]
mod tests;

use crate::netlink::{DeviceRoute, Netlink};
use crate::sys::{self, InterfaceChange, TunFlags};
use core::net::{Ipv4Addr, Ipv6Addr};
use cut::{Cutter, complete};
pub(crate) use flow::flow_hash;
use gannet_machine::frame::{FRAME_SIZE, Frame};
use header::{HEADER, OffloadHeader, Segments};
use join::{Group, HEADERS_MAX, Joiner, Joins, MEMBERS_MAX};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A TUN device. One that was made here disappears when this is dropped; one that existed before (`ip tuntap add`)
/// stays.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
    /// Each packet has a header of the kernel's in front, and may be a super-packet.
    has_header: bool,
    joins: Joins,
    missing: Option<Missing>,
    counts: TunCounts,
}

/// What a device was asked for and cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Super-packets of any kind.
    All,
    /// Super-packets of UDP (`TUN_F_USO4`, Linux 6.2).
    Udp,
}

/// How a device is to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TunOptions {
    /// Others may attach to the device too: each gets a queue of its own, and the kernel keeps a flow on one of them
    /// (`IFF_MULTI_QUEUE`). For several loops with one device.
    pub shared: bool,
}

/// What went through a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TunCounts {
    /// Packets that came, after super-packets were cut.
    pub packets_in: u64,
    /// Calls that brought them.
    pub reads: u64,
    /// Packets that went.
    pub packets_out: u64,
    /// Calls that took them.
    pub writes: u64,
}

/// An address of the device and the length of its prefix, in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TunAddress {
    /// IPv4; an address set later replaces it.
    V4(Ipv4Addr, u8),
    /// IPv6; it comes to those that are there.
    V6(Ipv6Addr, u8),
}

/// Octets of a super-packet behind the part that a frame holds.
const REST: usize = 65_536;

/// Memory that super-packets need on their way, the same for all devices of a loop.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// A super-packet: what the frame had, right in front of the rest at [`FRAME_SIZE`].
    packet: Box<[u8]>,
    pub(crate) joiner: Joiner,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { packet: vec![0; FRAME_SIZE + REST].into_boxed_slice(), joiner: Joiner::new() }
    }
}

/// What a read has brought.
#[derive(Debug)]
pub(crate) enum Reading<'a> {
    /// The frame has it.
    Packet,
    /// A super-packet, to be cut into frames; the one that was given is free.
    Several(Cutter<'a>),
    /// It is longer than a frame.
    TooLong,
    /// Its header and it do not fit.
    Malformed,
}

impl Tun {
    /// Makes the device, or attaches to the existing one of that name. `%d` in the name becomes the first free number.
    ///
    /// # Errors
    /// Without the right to it (`CAP_NET_ADMIN`), without `/dev/net/tun`, or where another process has it attached.
    pub fn open(name: &str) -> io::Result<Self> {
        Self::open_with(name, TunOptions::default())
    }

    /// The same with options.
    ///
    /// # Errors
    /// As there; a device that exists without queues cannot be shared.
    pub fn open_with(name: &str, options: TunOptions) -> io::Result<Self> {
        let mut refused = None;
        for has_header in [true, false] {
            // A device that exists has queues or not, and says no to the other.
            for has_queues in [options.shared, true] {
                match sys::open_tun(name, TunFlags { has_header, has_queues }) {
                    Ok((file, name)) => return Ok(Self::new(file, name, has_header)),
                    Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refused = Some(error),
                    Err(error) => return Err(error),
                }
            }
        }
        Err(refused.unwrap_or_else(|| io::ErrorKind::InvalidInput.into()))
    }

    /// Takes a descriptor that is attached to a TUN device (without packet information) already. `name` is needed
    /// for the changes below only.
    ///
    /// # Errors
    /// Where it cannot be made non-blocking.
    pub fn from_fd(descriptor: OwnedFd, name: &str) -> io::Result<Self> {
        let file = File::from(descriptor);
        sys::set_nonblocking(&file)?;
        let has_header = sys::tun_has_header(&file);
        Ok(Self::new(file, name.to_owned(), has_header))
    }

    /// Says that each packet has the kernel's header in front (`struct virtio_net_hdr`, ten octets) and may be a
    /// super-packet, where the descriptor cannot be asked: a datagram socket in place of a device.
    #[must_use]
    pub fn with_header(mut self) -> Self {
        (self.has_header, self.joins, self.missing) = (true, Joins { tcp: true, udp: true }, None);
        self
    }

    fn new(file: File, name: String, has_header: bool) -> Self {
        let offloads = if has_header { sys::set_tun_offloads(&file, HEADER) } else { None };
        let (joins, missing) = match offloads {
            Some(true) => (Joins { tcp: true, udp: true }, None),
            Some(false) => (Joins { tcp: true, udp: false }, Some(Missing::Udp)),
            None => (Joins::default(), Some(Missing::All)),
        };
        Self { file, name, has_header, joins, missing, counts: TunCounts::default() }
    }

    /// The name of the network interface.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Somebody has deleted the device: nothing comes from it or goes to it any more, also where one of its name is made
    /// again.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        sys::tun_is_deleted(&self.file)
    }

    /// What of offloading the device cannot; `None` where it can all.
    #[must_use]
    pub const fn missing(&self) -> Option<Missing> {
        self.missing
    }

    /// What went through the device since it was opened.
    #[must_use]
    pub const fn counts(&self) -> TunCounts {
        self.counts
    }

    /// Gives it an address; the route to the prefix comes with it once the device is up.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn set_address(&self, address: TunAddress) -> io::Result<()> {
        sys::change_interface(
            &self.name,
            match address {
                TunAddress::V4(address, prefix_len) => InterfaceChange::Ipv4(address, prefix_len),
                TunAddress::V6(address, prefix_len) => InterfaceChange::Ipv6(address, prefix_len),
            },
        )
    }

    /// Takes an IPv6 address away from it.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn remove_ipv6(&self, address: Ipv6Addr, prefix_len: u8) -> io::Result<()> {
        sys::change_interface(&self.name, InterfaceChange::NoIpv6(address, prefix_len))
    }

    /// Adds a route through it, which goes with it. It is up before.
    ///
    /// # Errors
    /// What the operating system says: of kind `AlreadyExists` where another device has the same network with the same metric.
    pub fn add_route(&self, route: DeviceRoute) -> io::Result<()> {
        Netlink::open()?.add_route(&self.name, route)
    }

    /// Sets the longest packet that the kernel hands over, in octets; a super-packet is longer.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn set_mtu(&self, octets: u16) -> io::Result<()> {
        sys::change_interface(&self.name, InterfaceChange::Mtu(octets))
    }

    /// Takes it into or out of service.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn set_up(&self, up: bool) -> io::Result<()> {
        sys::change_interface(&self.name, InterfaceChange::Up(up))
    }

    /// Reads one packet or super-packet; an error of kind `WouldBlock` where there is none. The frame is empty before.
    pub(crate) fn receive<'a>(
        &mut self,
        frame: &mut Frame,
        scratch: &'a mut Scratch,
    ) -> io::Result<Reading<'a>> {
        let start = if self.has_header { HEADER } else { 0 };
        if frame.push(start).is_none() {
            return Ok(Reading::TooLong);
        }
        let room = frame.spare_mut();
        let size = room.len();
        let len = if self.has_header {
            let (_, rest) = scratch.packet.split_at_mut(FRAME_SIZE);
            (&self.file).read_vectored(&mut [IoSliceMut::new(room), IoSliceMut::new(rest)])
        } else {
            (&self.file).read(room)
        };
        let len = match len {
            Ok(len) => len,
            Err(error) => {
                let _ = frame.pull(start);
                return Err(error);
            }
        };
        self.counts.reads += 1;
        if !self.has_header {
            // A packet that fills all the room has been cut, as one cannot know better.
            return Ok(if len < size && frame.set_len(len) { Reading::Packet } else { Reading::TooLong });
        }
        let reading = open_packet(frame, len, size, scratch);
        Ok(reading)
    }

    /// Reads one packet or super-packet and forgets it; an error of kind `WouldBlock` where there is none.
    pub(crate) fn discard(&mut self) -> io::Result<()> {
        let len = (&self.file).read(&mut [0; HEADER])?;
        self.counts.reads += u64::from(len > 0);
        Ok(())
    }

    /// Counts packets that were received.
    pub(crate) const fn received(&mut self, packets: u64) {
        self.counts.packets_in += packets;
    }

    /// Which packets are worth being looked at for others of their flow.
    pub(crate) const fn joins(&self) -> Joins {
        self.joins
    }

    /// Writes one packet. The frame is the same afterwards.
    pub(crate) fn send(&mut self, packet: &mut Frame) -> io::Result<()> {
        self.counts.writes += 1;
        let sent = if !self.has_header {
            (&self.file).write(packet)
        } else if packet.prepend(&[0; HEADER]) {
            let sent = (&self.file).write(packet);
            let _ = packet.pull(HEADER);
            sent
        } else {
            (&self.file).write_vectored(&[IoSlice::new(&[0; HEADER]), IoSlice::new(packet)])
        };
        self.counts.packets_out += u64::from(sent.is_ok());
        sent.map(drop)
    }

    /// Writes the packets of a group as one; says whether the device took them. One that does not know super-packets
    /// of this protocol is never asked again.
    pub(crate) fn send_joined(&mut self, group: Group, packets: &[Frame], joiner: &Joiner) -> bool {
        let mut room = [0; HEADERS_MAX];
        let Some((len, headers_len)) = joiner.headers(group, packets, &mut room) else { return false };
        let mut slices = [IoSlice::new(&[]); MEMBERS_MAX + 1];
        let payloads = joiner.members(group).filter_map(|number| packets.get(number)?.get(headers_len..));
        let headers = room.get(..len).unwrap_or_default();
        let mut used = 0;
        for (slice, octets) in slices.iter_mut().zip(core::iter::once(headers).chain(payloads)) {
            *slice = IoSlice::new(octets);
            used += 1;
        }
        self.counts.writes += 1;
        // A device takes a packet whole or not at all.
        match (&self.file).write_vectored(slices.get(..used).unwrap_or_default()).map(drop) {
            Ok(()) => {
                self.counts.packets_out += u64::from(group.count);
                true
            }
            Err(error) => {
                if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP)) {
                    let may = if Joiner::is_tcp(group) { &mut self.joins.tcp } else { &mut self.joins.udp };
                    *may = false;
                }
                false
            }
        }
    }
}

/// Looks at `len` octets that were read into a frame of `size` octets and the scratch behind it.
fn open_packet<'a>(frame: &mut Frame, len: usize, size: usize, scratch: &'a mut Scratch) -> Reading<'a> {
    let in_frame = len.min(size);
    // A read that fills all the room was cut.
    if !frame.set_len(in_frame) || len == size + REST {
        return Reading::TooLong;
    }
    let header = frame.first_chunk::<HEADER>().and_then(OffloadHeader::parse);
    let (Some(header), true) = (header, frame.pull(HEADER)) else { return Reading::Malformed };
    if header.segments == Segments::None {
        return match len {
            _ if len > size => Reading::TooLong,
            _ if complete(&header, frame) => Reading::Packet,
            _ => Reading::Malformed,
        };
    }
    let start = FRAME_SIZE - frame.len();
    if let Some(room) = scratch.packet.get_mut(start..FRAME_SIZE) {
        room.copy_from_slice(frame);
    }
    frame.truncate(0);
    let packet = scratch.packet.get(start..FRAME_SIZE + len - in_frame).unwrap_or_default();
    Cutter::new(&header, packet).map_or(Reading::Malformed, Reading::Several)
}

impl Drop for Tun {
    fn drop(&mut self) {
        if self.has_header {
            // A device that stays would give super-packets to a program that does not know them.
            sys::clear_tun_offloads(&self.file);
        }
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}
