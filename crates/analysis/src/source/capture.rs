//! One file, frame after frame.

use super::layout::{BLOCK_MAX, Order, PCAP_HEADER, PCAP_RECORD, Ticks, block, options};
use super::octets::Octets;
use core::ops::Range;
use std::io;
use std::path::{Path, PathBuf};

/// Interfaces of one file; those of more sections are added up.
const INTERFACES_MAX: usize = 4096;
const NAME_MAX: usize = 200;

/// What ended a capture before its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}, at octet {octet}{} behind frame {frame}", path.display(), if *is_packed { " of what it unpacks to," } else { "," })]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub what: String,
    /// The last frame that was read, from 1; 0 where none was.
    pub frame: u64,
    /// Where what could not be read begins.
    pub octet: u64,
    /// The file is packed: `octet` counts what it unpacks to.
    pub is_packed: bool,
}

/// An interface of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Type of its frames (`LINKTYPE_` of tcpdump.org).
    pub link: u16,
    /// Its name, where the file says it.
    pub name: Option<String>,
    /// How it counts time.
    pub ticks: Ticks,
}

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Nanoseconds since the beginning of 1970.
    pub at: u64,
    /// Its interface, as an index into [`Capture::interfaces`].
    pub interface: usize,
    /// Type of link.
    pub link: u16,
    /// What the capture has of it.
    pub octets: &'a [u8],
    /// Octets that it had.
    pub original: u32,
    /// The first remark that stands beside it.
    pub comment: Option<&'a [u8]>,
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Pcap {
        order: Order,
    },
    /// Interfaces of the section begin here.
    Pcapng {
        order: Order,
        first: usize,
    },
}

#[derive(Debug, Clone, Default)]
struct Current {
    at: u64,
    interface: usize,
    octets: Range<usize>,
    original: u32,
    comment: Option<Range<usize>>,
    /// Octets to be left behind before the next.
    len: usize,
}

/// A file that is read frame by frame.
#[derive(Debug)]
pub struct Capture {
    path: PathBuf,
    octets: Octets,
    format: Format,
    interfaces: Vec<Interface>,
    frames: u64,
    current: Option<Current>,
    is_over: bool,
}

impl Capture {
    /// Opens a file.
    ///
    /// # Errors
    /// Where it cannot be opened, or is no capture.
    pub fn open(path: &Path) -> Result<Self, Damage> {
        let octets = Octets::open(path);
        Self::new(path, octets)
    }

    /// Reads a capture from anywhere; `path` stands in errors.
    ///
    /// # Errors
    /// Where it is no capture.
    pub fn from_octets(path: &Path, octets: Octets) -> Result<Self, Damage> {
        Self::new(path, Ok(octets))
    }

    fn new(path: &Path, octets: io::Result<Octets>) -> Result<Self, Damage> {
        let refuse =
            |what: String| Damage { path: path.to_owned(), what, frame: 0, octet: 0, is_packed: false };
        let mut octets = octets.map_err(|error| refuse(format!("cannot be opened: {error}")))?;
        octets.want(PCAP_HEADER).map_err(|error| refuse(format!("cannot be read: {error}")))?;
        let (format, interfaces) = Self::format_of(octets.peek()).map_err(|what| refuse(what.to_owned()))?;
        if matches!(format, Format::Pcap { .. }) {
            octets.leave(PCAP_HEADER);
        }
        let path = path.to_owned();
        Ok(Self { path, octets, format, interfaces, frames: 0, current: None, is_over: false })
    }

    fn format_of(head: &[u8]) -> Result<(Format, Vec<Interface>), &'static str> {
        if head.is_empty() {
            return Err("is empty");
        }
        let magic = Order::Big.u32(head, 0);
        let (order, per_second) = match magic {
            0xa1b2_c3d4 => (Order::Big, 1_000_000),
            0xd4c3_b2a1 => (Order::Little, 1_000_000),
            0xa1b2_3c4d => (Order::Big, 1_000_000_000),
            0x4d3c_b2a1 => (Order::Little, 1_000_000_000),
            block::SECTION => {
                return Ok((Format::Pcapng { order: Order::Little, first: 0 }, Vec::new()));
            }
            _ => return Err("is no capture: neither pcap nor pcapng, plain or packed by gzip or zstd"),
        };
        if head.len() < PCAP_HEADER {
            return Err("ends within the header of the file");
        }
        let [.., high, low] = order.u32(head, 20).to_be_bytes();
        let ticks = Ticks { per_second, offset_s: 0 };
        let interface = Interface { link: u16::from_be_bytes([high, low]), name: None, ticks };
        Ok((Format::Pcap { order }, vec![interface]))
    }

    /// The interfaces that have been described so far.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The frame that [`Self::advance`] found.
    #[must_use]
    pub fn frame(&self) -> Option<Frame<'_>> {
        let current = self.current.as_ref()?;
        let seen = self.octets.peek();
        Some(Frame {
            number: self.frames,
            at: current.at,
            interface: current.interface,
            link: self.interfaces.get(current.interface)?.link,
            octets: seen.get(current.octets.clone())?,
            original: current.original,
            comment: current.comment.clone().and_then(|range| seen.get(range)),
        })
    }

    /// Goes on to the next frame; false at the end.
    ///
    /// # Errors
    /// Where what follows cannot be read. Then this is the end.
    pub fn advance(&mut self) -> Result<bool, Damage> {
        if let Some(last) = self.current.take() {
            self.octets.leave(last.len);
        }
        while !self.is_over {
            let found = match self.format {
                Format::Pcap { order } => self.record(order),
                Format::Pcapng { .. } => self.block(),
            };
            match found {
                Ok(Found::Frame(current)) => {
                    self.current = Some(current);
                    self.frames += 1;
                    return Ok(true);
                }
                Ok(Found::Other(len)) => self.octets.leave(len),
                Ok(Found::End) => self.is_over = true,
                Err(what) => {
                    self.is_over = true;
                    return Err(self.damage(what));
                }
            }
        }
        Ok(false)
    }

    fn damage(&self, what: String) -> Damage {
        Damage {
            path: self.path.clone(),
            what,
            frame: self.frames,
            octet: self.octets.used(),
            is_packed: self.octets.is_packed(),
        }
    }

    fn want(&mut self, count: usize) -> Result<usize, String> {
        let is_packed = self.octets.is_packed();
        self.octets.want(count).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof if is_packed => "the packed file ends too early".to_owned(),
            _ if is_packed => format!("cannot be unpacked: {error}"),
            _ => format!("cannot be read: {error}"),
        })
    }

    fn record(&mut self, order: Order) -> Result<Found, String> {
        match self.want(PCAP_RECORD)? {
            0 => return Ok(Found::End),
            PCAP_RECORD.. => {}
            _ => return Err("the file ends within the header of a frame".to_owned()),
        }
        let head = self.octets.peek();
        let (seconds, fraction) = (order.u32(head, 0), order.u32(head, 4));
        let (captured, original) = (order.u32(head, 8), order.u32(head, 12));
        let captured = length(captured)?;
        let len = PCAP_RECORD + captured;
        if self.want(len)? < len {
            return Err(format!("the file ends within a frame of {captured} octets"));
        }
        let ticks = self.interfaces.first().map_or(Ticks::MICRO, |interface| interface.ticks);
        let at = ticks.nanoseconds(u64::from(seconds) * ticks.per_second + u64::from(fraction));
        let octets = PCAP_RECORD..len;
        Ok(Found::Frame(Current { at, interface: 0, octets, original, comment: None, len }))
    }

    fn block(&mut self) -> Result<Found, String> {
        match self.want(12)? {
            0 => return Ok(Found::End),
            12.. => {}
            _ => return Err("the file ends within the header of a block".to_owned()),
        }
        let head = self.octets.peek();
        if Order::Big.u32(head, 0) == block::SECTION {
            let order = match Order::Big.u32(head, 8) {
                0x1a2b_3c4d => Order::Big,
                0x4d3c_2b1a => Order::Little,
                _ => return Err("a section header has no magic number".to_owned()),
            };
            self.format = Format::Pcapng { order, first: self.interfaces.len() };
        }
        let Format::Pcapng { order, first } = self.format else { return Ok(Found::End) };
        let head = self.octets.peek();
        let kind = order.u32(head, 0);
        let len = length(order.u32(head, 4))?;
        if len < 12 || !len.is_multiple_of(4) {
            return Err(format!("a block of {len} octets"));
        }
        if self.want(len)? < len {
            return Err(format!("the file ends within a block of {len} octets"));
        }
        let whole = self.octets.peek().get(..len).unwrap_or_default();
        if usize::try_from(order.u32(whole, len - 4)) != Ok(len) {
            return Err("a block has one length in front and another behind".to_owned());
        }
        let block = whole.get(..len - 4).unwrap_or_default();
        match kind {
            block::INTERFACE => {
                let interface = interface(order, block)?;
                if self.interfaces.len() == INTERFACES_MAX {
                    return Err(format!("more than {INTERFACES_MAX} interfaces"));
                }
                self.interfaces.push(interface);
                Ok(Found::Other(len))
            }
            block::ENHANCED | block::PACKET => self.enhanced(order, first, kind).map(Found::Frame),
            block::SIMPLE => self.simple(order, first, len).map(Found::Frame),
            _ => Ok(Found::Other(len)),
        }
    }

    fn enhanced(&self, order: Order, first: usize, kind: u32) -> Result<Current, String> {
        let len = usize::try_from(order.u32(self.octets.peek(), 4)).unwrap_or(0);
        let block = self.octets.peek().get(..len - 4).unwrap_or_default();
        let interface = match kind {
            block::PACKET => u32::from(order.u16(block, 8)),
            _ => order.u32(block, 8),
        };
        let ticks = u64::from(order.u32(block, 12)) << 32 | u64::from(order.u32(block, 16));
        let captured = length(order.u32(block, 20))?;
        let octets = 28..28 + captured;
        if block.len() < octets.end {
            return Err(format!("a frame of {captured} octets in a block of {len}"));
        }
        let index = usize::try_from(interface).unwrap_or(usize::MAX).saturating_add(first);
        let Some(known) = self.interfaces.get(index) else {
            return Err(format!("a frame of interface {interface}, which is not described"));
        };
        let behind = 28 + captured.next_multiple_of(4);
        let comment = options(order, block, behind).find(|(code, _)| *code == 1).map(|(_, text)| text);
        // Where the remark stands within the block.
        let comment = comment.and_then(|text| {
            let at = text.as_ptr().addr().checked_sub(block.as_ptr().addr())?;
            Some(at..at + text.len())
        });
        Ok(Current {
            at: known.ticks.nanoseconds(ticks),
            interface: index,
            octets,
            original: order.u32(block, 24),
            comment,
            len,
        })
    }

    fn simple(&self, order: Order, first: usize, len: usize) -> Result<Current, String> {
        if first >= self.interfaces.len() {
            return Err("a frame of an interface that is not described".to_owned());
        }
        let original = order.u32(self.octets.peek(), 8);
        let room = len.saturating_sub(16);
        let captured = usize::try_from(original).unwrap_or(usize::MAX).min(room);
        let octets = 12..12 + captured;
        // Such a block has no time.
        Ok(Current { at: 0, interface: first, octets, original, comment: None, len })
    }
}

enum Found {
    Frame(Current),
    Other(usize),
    End,
}

fn length(octets: u32) -> Result<usize, String> {
    let octets = usize::try_from(octets).unwrap_or(usize::MAX);
    if octets > BLOCK_MAX {
        return Err(format!("a length of {octets} octets, more than the {BLOCK_MAX} that are believed"));
    }
    Ok(octets)
}

fn interface(order: Order, block: &[u8]) -> Result<Interface, String> {
    let mut found = Interface { link: order.u16(block, 8), name: None, ticks: Ticks::MICRO };
    for (code, value) in options(order, block, 16) {
        match (code, value) {
            (2, name) => {
                let name = name.get(..name.len().min(NAME_MAX)).unwrap_or_default();
                found.name = Some(String::from_utf8_lossy(name).into_owned());
            }
            (9, [resolution, ..]) => {
                found.ticks.per_second = Ticks::per_second_of(*resolution)
                    .ok_or_else(|| format!("an interface counts time in units of {resolution:#04x}"))?;
            }
            (14, value) => {
                let half = |at| u64::from(order.u32(value, at));
                let offset = match order {
                    Order::Little => half(4) << 32 | half(0),
                    Order::Big => half(0) << 32 | half(4),
                };
                found.ticks.offset_s = offset.cast_signed();
            }
            _ => {}
        }
    }
    Ok(found)
}
