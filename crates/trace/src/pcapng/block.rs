//! The blocks of the format, octet by octet: what is written stands in memory that is there already.

use super::Direction;
use std::io::Write as _;

/// Types of blocks.
pub(super) const SECTION: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE: u32 = 1;
pub(super) const PACKET: u32 = 6;
/// An entry of systemd's journal: what Wireshark shows of an event that has no packet.
const JOURNAL: u32 = 9;

const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const COMMENT: u16 = 1;
const SECTION_OS: u16 = 3;
const SECTION_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_DESCRIPTION: u16 = 3;
const INTERFACE_UNIT: u16 = 9;
const INTERFACE_FILTER: u16 = 11;
const PACKET_FLAGS: u16 = 2;
const PACKET_DROPS: u16 = 4;
/// The exponent of the timestamps' unit: 10 to the power of -9 seconds.
const NANOSECONDS: u8 = 9;

/// Octets of the fixed fields of a packet's block, with its type and both lengths, its flags and the end of its options.
pub(super) const PACKET_OVERHEAD: usize = 32 + 8 + 4;

/// What the packets of an interface begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkType {
    /// An Ethernet header.
    Ethernet,
    /// A header of IPv4 or IPv6.
    Raw,
}

impl LinkType {
    const fn number(self) -> u16 {
        match self {
            Self::Ethernet => 1,
            Self::Raw => 101,
        }
    }
}

/// What the head of a capture says of who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Section {
    /// The program and its version.
    pub application: String,
    /// Which node, and what else a reader should know.
    pub comment: String,
}

/// What a capture says of an interface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Description<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    pub(super) filter: &'a str,
    pub(super) link: LinkType,
}

/// What stands beside the octets of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'a> {
    pub(super) interface: u32,
    pub(super) at_ns: u64,
    pub(super) direction: Direction,
    /// Records that are missing since the one before.
    pub(super) missing: u64,
    pub(super) comments: [&'a str; 2],
}

impl Head<'_> {
    /// Octets of the block around a packet, at the most.
    pub(super) fn overhead(&self) -> usize {
        let text = |text: &str| if text.is_empty() { 0 } else { 4 + padded(text.len()) };
        let missing = if self.missing > 0 { 12 } else { 0 };
        PACKET_OVERHEAD + 3 + missing + self.comments.map(text).iter().sum::<usize>()
    }
}

/// A length with its padding to 32 bits.
pub(super) const fn padded(len: usize) -> usize {
    len.next_multiple_of(4)
}

fn u32_of(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn pad(out: &mut Vec<u8>, len: usize) {
    out.resize(out.len() + padded(len) - len, 0);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    if value.is_empty() {
        return;
    }
    // The field has 16 bits; a longer text is cut.
    let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
    let value = value.get(..usize::from(len)).unwrap_or_default();
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(value);
    pad(out, value.len());
}

/// Puts a block behind `out`: type, length, what `body` puts there, length.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let len = u32_of(out.len() + 4 - start).to_le_bytes();
    out.extend_from_slice(&len);
    if let Some(field) = out.get_mut(start + 4..start + 8) {
        field.copy_from_slice(&len);
    }
}

/// The head of a section.
pub(super) fn section(out: &mut Vec<u8>, section: &Section) {
    block(out, SECTION, |out| {
        out.extend_from_slice(&BYTE_ORDER.to_le_bytes());
        // Version 1.0, and a length that is not known.
        out.extend_from_slice(&[1, 0, 0, 0]);
        out.extend_from_slice(&u64::MAX.to_le_bytes());
        option(out, COMMENT, section.comment.as_bytes());
        option(out, SECTION_OS, std::env::consts::OS.as_bytes());
        option(out, SECTION_APPLICATION, section.application.as_bytes());
        out.extend_from_slice(&[0; 4]);
    });
}

/// An interface, which is found by its number in the section.
pub(super) fn interface(out: &mut Vec<u8>, of: &Description<'_>) {
    block(out, INTERFACE, |out| {
        out.extend_from_slice(&of.link.number().to_le_bytes());
        // Reserved, and packets of any length.
        out.extend_from_slice(&[0; 6]);
        option(out, INTERFACE_NAME, of.name.as_bytes());
        option(out, INTERFACE_DESCRIPTION, of.description.as_bytes());
        option(out, INTERFACE_UNIT, &[NANOSECONDS]);
        if !of.filter.is_empty() {
            // The first octet says that text follows.
            option(out, INTERFACE_FILTER, &[&[0], of.filter.as_bytes()].concat());
        }
        out.extend_from_slice(&[0; 4]);
    });
}

/// A packet, of which `cut` octets are left out behind those that `data` puts there.
pub(super) fn packet(out: &mut Vec<u8>, head: &Head<'_>, cut: usize, data: impl FnOnce(&mut Vec<u8>)) {
    block(out, PACKET, |out| {
        out.extend_from_slice(&head.interface.to_le_bytes());
        let [a, b, c, d, e, f, g, h] = head.at_ns.to_le_bytes();
        // The high half of the time comes first.
        out.extend_from_slice(&[e, f, g, h, a, b, c, d]);
        let lengths_at = out.len();
        out.extend_from_slice(&[0; 8]);
        let start = out.len();
        data(out);
        let len = out.len() - start;
        pad(out, len);
        let lengths = u64::from(u32_of(len)) | u64::from(u32_of(len + cut)) << 32;
        if let Some(field) = out.get_mut(lengths_at..start) {
            field.copy_from_slice(&lengths.to_le_bytes());
        }
        option(out, PACKET_FLAGS, &head.direction.flags().to_le_bytes());
        if head.missing > 0 {
            option(out, PACKET_DROPS, &head.missing.to_le_bytes());
        }
        head.comments.iter().for_each(|text| option(out, COMMENT, text.as_bytes()));
        out.extend_from_slice(&[0; 4]);
    });
}

/// An event without a packet: fields of a journal's entry, of which `MESSAGE` is what Wireshark shows.
pub(super) fn event(out: &mut Vec<u8>, at_ns: u64, fields: &[(&str, &str)]) {
    block(out, JOURNAL, |out| {
        let start = out.len();
        // A Vec takes all.
        let _ = writeln!(out, "__REALTIME_TIMESTAMP={}", at_ns / 1000);
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
            let _ = writeln!(out, "{name}={value}");
        }
        let len = out.len() - start;
        pad(out, len);
    });
}

/// Octets of such an event, at the most.
pub(super) fn event_len(fields: &[(&str, &str)]) -> usize {
    let fields: usize = fields.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    12 + 48 + fields + 3
}

/// The block at the front of `octets`: its type, its length, and the time of a packet.
pub(super) fn first(octets: &[u8]) -> Option<(u32, usize, Option<u64>)> {
    let word = |at: usize| octets.get(at..)?.first_chunk().copied().map(u32::from_le_bytes);
    let (kind, len) = (word(0)?, usize::try_from(word(4)?).ok()?);
    let time = || Some(u64::from(word(12)?) << 32 | u64::from(word(16)?));
    Some((kind, len, if kind == PACKET { time() } else { None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_says_its_length_and_time() {
        let mut out = Vec::new();
        let comments = ["odd", ""];
        let head =
            Head { interface: 1, at_ns: 0x1234_5678_9abc, direction: Direction::In, missing: 2, comments };
        packet(&mut out, &head, 7, |out| out.extend_from_slice(&[1, 2, 3]));
        assert_eq!(first(&out), Some((PACKET, out.len(), Some(0x1234_5678_9abc))));
        assert!(out.len() <= head.overhead() + 3, "{} {}", out.len(), head.overhead());
        assert_eq!(out[20..28], [3, 0, 0, 0, 10, 0, 0, 0], "captured, and as long as it was");
        let before = out.len();
        let fields = [("MESSAGE", "it is")];
        event(&mut out, u64::MAX, &fields);
        let len = out.len() - before;
        assert_eq!(first(&out[before..]), Some((JOURNAL, len, None)));
        assert!(len <= event_len(&fields) && len % 4 == 0, "{len}");
    }
}
