//! The writer: packets become blocks of a buffer, which a thread writes out.

use super::Direction;
use super::block::{self, Description, Head, LinkType, Section};
use super::output::{Files, Ring, private};
use super::packet::{IP_HEADERS_MAX, SEGMENT_MAX, Segment, write_tcp, write_udp};
use super::pipe::Pipe;
use super::watchers::Watchers;
use core::fmt;
use core::net::SocketAddr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::path::Path;

/// Octets that may wait for the disk unless the caller says otherwise.
pub const LIMIT_DEFAULT: usize = 4 << 20;

/// One capture interface, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InterfaceId(u32);

impl InterfaceId {
    /// Of this number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its place in a list.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A packet on its way into a capture.
#[derive(Debug, Clone, Copy)]
pub enum Packet<'a> {
    /// The payload of a UDP datagram, from one end to the other. The headers of IP and UDP are made.
    Udp((SocketAddr, SocketAddr), &'a [u8]),
    /// A whole IP packet.
    Ip(&'a [u8]),
    /// An Ethernet header (destination, source, EtherType), and what is behind it.
    Ethernet([u8; 14], &'a [u8]),
}

impl<'a> Packet<'a> {
    /// What the sender had to say: without the headers that are made.
    #[must_use]
    pub const fn payload(&self) -> &'a [u8] {
        match *self {
            Self::Udp(_, payload) | Self::Ip(payload) | Self::Ethernet(_, payload) => payload,
        }
    }
}

/// What stands beside a packet.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a> {
    /// When, in nanoseconds since the beginning of 1970.
    pub at_ns: u64,
    /// Which way.
    pub direction: Direction,
    /// Octets of the payload that are recorded; the rest is left out.
    pub keep: usize,
    /// Remarks, which Wireshark has as `frame.comment`; an empty one is none.
    pub comments: [&'a str; 2],
}

impl Beside<'_> {
    /// A packet that is recorded whole, without a remark.
    #[must_use]
    pub const fn whole(at_ns: u64, direction: Direction) -> Self {
        Self { at_ns, direction, keep: usize::MAX, comments: [""; 2] }
    }
}

/// Writes a capture. Dropping it writes what is left and closes the file.
pub struct Recorder {
    pipe: Pipe,
    names: Vec<String>,
    /// The file, for who reads of it.
    name: String,
    /// Records that were lost before the last one that was not.
    lost_before: u64,
}

impl Recorder {
    /// A new capture file, which its owner alone may read. An existing one is overwritten: its group may go on to read it, all
    /// others may not, and a file of another user gives way to a new one.
    ///
    /// # Errors
    /// Where the file or the thread cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, LIMIT_DEFAULT)
    }

    /// The same with another limit, in octets, for what may wait for the disk.
    ///
    /// # Errors
    /// Where the file or the thread cannot be made.
    pub fn with_limit(path: &Path, limit: usize) -> io::Result<Self> {
        let file = private(path)?;
        let mut recorder = Self::into_writer(Box::new(file), limit)?;
        recorder.name = path.display().to_string();
        Ok(recorder)
    }

    /// A new capture file that says who writes it, or files in turn with names after `path`. `now_ns` is the time, in nanoseconds
    /// since the beginning of 1970, for the name of the first.
    ///
    /// # Errors
    /// Where the file or the thread cannot be made.
    pub fn to_files(path: &Path, ring: Option<Ring>, section: &Section, now_ns: u64) -> io::Result<Self> {
        let output: Box<dyn Write + Send> = match ring {
            Some(ring) => Box::new(Files::create(path, ring, now_ns)?),
            None => Box::new(private(path)?),
        };
        let mut recorder = Self::new(output, LIMIT_DEFAULT, section)?;
        recorder.name = path.display().to_string();
        Ok(recorder)
    }

    /// The capture as a stream on standard output.
    ///
    /// # Errors
    /// Where the thread cannot be made.
    pub fn to_stdout(section: &Section) -> io::Result<Self> {
        // Beside the standard library's own buffer, which would cut blocks at their line feeds.
        let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let mut recorder = Self::new(Box::new(stdout), LIMIT_DEFAULT, section)?;
        "standard output".clone_into(&mut recorder.name);
        Ok(recorder)
    }

    /// The capture for programs that connect to a socket of the file system, made for its owner and group. Each gets what comes from
    /// then on; one that is slow misses packets.
    ///
    /// # Errors
    /// Where the socket or a thread cannot be made.
    pub fn to_socket(path: &Path, section: &Section) -> io::Result<Self> {
        let mut recorder = Self::new(Box::new(Watchers::listen(path)?), LIMIT_DEFAULT, section)?;
        recorder.name = format!("socket {}", path.display());
        Ok(recorder)
    }

    /// Records into anything else that takes octets, possibly some at a time. What it does not take is offered again each second.
    ///
    /// # Errors
    /// Where the thread cannot be made.
    pub fn into_writer(file: Box<dyn Write + Send>, limit: usize) -> io::Result<Self> {
        Self::new(file, limit, &Section::default())
    }

    fn new(output: Box<dyn Write + Send>, limit: usize, section: &Section) -> io::Result<Self> {
        let pipe = Pipe::new(output, limit)?;
        pipe.put_anyway(|out| block::section(out, section));
        Ok(Self { pipe, names: Vec::new(), name: String::new(), lost_before: 0 })
    }

    /// The capture interface of this name, made where it does not exist yet. It has packets of IP.
    pub fn interface(&mut self, name: &str) -> InterfaceId {
        self.interface_by_name(name, LinkType::Raw)
    }

    /// The same with Ethernet frames: [`Recorder::ethernet`].
    pub fn ethernet_interface(&mut self, name: &str) -> InterfaceId {
        self.interface_by_name(name, LinkType::Ethernet)
    }

    fn interface_by_name(&mut self, name: &str, link: LinkType) -> InterfaceId {
        match self.names.iter().position(|known| known == name) {
            Some(index) => InterfaceId(u32::try_from(index).unwrap_or(0)),
            None => self.add_interface(name, link, "", ""),
        }
    }

    /// One more interface. `filter` says what of its packets is recorded, where that is not all.
    pub fn add_interface(
        &mut self,
        name: &str,
        link: LinkType,
        description: &str,
        filter: &str,
    ) -> InterfaceId {
        let index = u32::try_from(self.names.len()).unwrap_or(0);
        self.pipe.put_anyway(|out| block::interface(out, &Description { name, description, filter, link }));
        self.names.push(name.to_owned());
        InterfaceId(index)
    }

    /// Records a UDP datagram, `at_ns` nanoseconds after the beginning of 1970. The IP and UDP headers are made.
    pub fn udp(
        &mut self,
        interface: InterfaceId,
        at_ns: u64,
        direction: Direction,
        ends: (SocketAddr, SocketAddr),
        payload: &[u8],
    ) {
        self.packet(interface, Packet::Udp(ends, payload), &Beside::whole(at_ns, direction));
    }

    /// The same, with a remark for whoever reads the capture: Wireshark has it as `frame.comment`.
    pub fn udp_with_comment(
        &mut self,
        interface: InterfaceId,
        at_ns: u64,
        direction: Direction,
        (ends, payload): ((SocketAddr, SocketAddr), &[u8]),
        comment: &str,
    ) {
        let beside = Beside { comments: [comment, ""], ..Beside::whole(at_ns, direction) };
        self.packet(interface, Packet::Udp(ends, payload), &beside);
    }

    /// Records octets of a TCP connection, with the headers made; what is too long for one packet becomes several.
    pub fn tcp(
        &mut self,
        interface: InterfaceId,
        at_ns: u64,
        direction: Direction,
        (ends, first): ((SocketAddr, SocketAddr), Segment),
        payload: &[u8],
    ) {
        let mut segment = first;
        for piece in payload.chunks(SEGMENT_MAX).chain(payload.is_empty().then_some(payload)) {
            let beside = Beside::whole(at_ns, direction);
            self.write(interface, &beside, (piece.len(), 0), |out| write_tcp(out, ends, segment, piece));
            segment.sequence = segment.sequence.wrapping_add(u32::try_from(piece.len()).unwrap_or(0));
        }
    }

    /// Records a whole IP packet, as it passes through a TUN device.
    pub fn ip(&mut self, interface: InterfaceId, at_ns: u64, direction: Direction, packet: &[u8]) {
        self.packet(interface, Packet::Ip(packet), &Beside::whole(at_ns, direction));
    }

    /// Records an Ethernet frame: its header (destination, source, EtherType) and what is behind it.
    pub fn ethernet(
        &mut self,
        interface: InterfaceId,
        at_ns: u64,
        direction: Direction,
        header: [u8; 14],
        payload: &[u8],
    ) {
        self.packet(interface, Packet::Ethernet(header, payload), &Beside::whole(at_ns, direction));
    }

    /// Records a packet of any kind. Nothing is allocated.
    pub fn packet(&mut self, interface: InterfaceId, packet: Packet<'_>, beside: &Beside<'_>) {
        let payload = packet.payload();
        let kept = payload.get(..beside.keep).unwrap_or(payload);
        let lengths = (kept.len(), payload.len() - kept.len());
        self.write(interface, beside, lengths, |out| match packet {
            Packet::Udp(ends, _) => write_udp(out, ends, payload, kept.len()),
            Packet::Ip(_) => out.extend_from_slice(kept),
            Packet::Ethernet(header, _) => {
                out.extend_from_slice(&header);
                out.extend_from_slice(kept);
            }
        });
    }

    /// Records an event that has no packet: `fields` are those of an entry of systemd's journal, and `MESSAGE` is its text.
    pub fn event(&mut self, at_ns: u64, fields: &[(&str, &str)]) {
        self.pipe.put(block::event_len(fields), |out| block::event(out, at_ns, fields));
    }

    fn write(
        &mut self,
        interface: InterfaceId,
        beside: &Beside<'_>,
        (kept, cut): (usize, usize),
        data: impl FnOnce(&mut Vec<u8>),
    ) {
        let Beside { at_ns, direction, comments, .. } = *beside;
        let lost = self.pipe.lost();
        let missing = lost - self.lost_before;
        let head = Head { interface: interface.0, at_ns, direction, missing, comments };
        let room = head.overhead() + IP_HEADERS_MAX + kept;
        if self.pipe.put(room, |out| block::packet(out, &head, cut, data)) {
            self.lost_before = lost;
        }
    }

    /// Waits until everything recorded so far was handed to the operating system.
    ///
    /// # Errors
    /// Why the file does not take it. It is tried again later.
    pub fn flush(&mut self) -> io::Result<()> {
        self.pipe.flush()
    }

    /// Records taken so far.
    #[must_use]
    pub const fn recorded(&self) -> u64 {
        self.pipe.recorded()
    }

    /// Records lost because the disk was too slow or full for too long.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.pipe.lost()
    }

    /// The name of the file; empty where it was made of something else.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Records that are not in the file yet, as far as is known: of what the file takes in part all count.
    #[must_use]
    pub fn unwritten(&self) -> u64 {
        self.pipe.unwritten()
    }

    /// Why the file takes nothing at present. What is recorded meanwhile waits, as far as there is room.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.pipe.failure()
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder({} recorded, {} lost)", self.recorded(), self.lost())
    }
}
