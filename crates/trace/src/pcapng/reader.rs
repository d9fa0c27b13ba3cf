//! The reader: records one after the other, with the file's interfaces by name.

use super::Direction;
use super::packet::{Udp, udp_of};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What makes a file unreadable.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error("the capture cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is not what the format says.
    #[error("not a pcapng capture: {0}")]
    Format(PcapError),
}

/// One packet of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds since the beginning of 1970.
    pub at_ns: u64,
    /// The name of the capture interface, empty where it has none.
    pub interface: String,
    /// Which way, where the record says so.
    pub direction: Option<Direction>,
    /// The packet, from its IP header on, or the Ethernet frame.
    pub packet: Vec<u8>,
    /// It is an Ethernet frame.
    pub is_ethernet: bool,
}

impl Record {
    /// Its UDP datagram, where it is one.
    #[must_use]
    pub fn udp(&self) -> Option<Udp<'_>> {
        if self.is_ethernet { None } else { udp_of(&self.packet) }
    }
}

/// Reads a capture; an iterator over its records. An incomplete block at the end counts as the end.
pub struct Reader<R: Read>(PcapNgReader<R>);

impl<R: Read> core::fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Reader({} interfaces)", self.0.interfaces().len())
    }
}

impl Reader<File> {
    /// Opens a file.
    ///
    /// # Errors
    /// Where it cannot be opened or does not begin with a section header.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::new(File::open(path)?)
    }
}

impl<R: Read> Reader<R> {
    /// Reads from anything.
    ///
    /// # Errors
    /// Where it does not begin with a section header.
    pub fn new(source: R) -> Result<Self, ReadError> {
        PcapNgReader::new(source).map(Self).map_err(ReadError::from_pcap)
    }
}

impl ReadError {
    fn from_pcap(error: PcapError) -> Self {
        match error {
            PcapError::IoError(error) => Self::Io(error),
            error => Self::Format(error),
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (interface, mut record) = match self.0.next_block()? {
                Ok(Block::EnhancedPacket(block)) => {
                    let direction = block.options.iter().find_map(|option| match option {
                        EnhancedPacketOption::Flags(flags) => Direction::from_flags(*flags),
                        _ => None,
                    });
                    let units = u64::try_from(block.timestamp.as_nanos()).unwrap_or(u64::MAX);
                    let packet = block.data.into_owned();
                    let interface = String::new();
                    let record = Record { at_ns: units, interface, direction, packet, is_ethernet: false };
                    (usize::try_from(block.interface_id).unwrap_or(usize::MAX), record)
                }
                Ok(_) => continue,
                Err(PcapError::IncompleteBuffer) => return None,
                Err(PcapError::IoError(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return None;
                }
                Err(error) => return Some(Err(ReadError::from_pcap(error))),
            };
            let interface = self.0.interfaces().get(interface);
            record.is_ethernet = interface.is_some_and(|of| of.linktype == DataLink::ETHERNET);
            let (name, unit_ns) = interface.map(describe).unwrap_or_default();
            record.interface = name;
            record.at_ns = record.at_ns.saturating_mul(unit_ns);
            return Some(Ok(record));
        }
    }
}

/// The name of an interface and its unit of time in nanoseconds: microseconds where it does not say, and for units
/// that are no decimal fraction of a second down to the nanosecond.
fn describe(interface: &InterfaceDescriptionBlock<'_>) -> (String, u64) {
    let (mut name, mut unit_ns) = (String::new(), 1000);
    for option in &interface.options {
        match option {
            InterfaceDescriptionOption::IfName(text) => name = text.to_string(),
            InterfaceDescriptionOption::IfTsResol(exponent @ 0..=9) => {
                unit_ns = 10_u64.pow(9 - u32::from(*exponent));
            }
            _ => {}
        }
    }
    (name, unit_ns)
}
