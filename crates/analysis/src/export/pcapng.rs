//! Frames of one mobile as they were, from several files into one: on corrected clocks, in the order of time, with their interfaces.
//!
//! A frame goes along where a record of it belongs to the mobile, and so do the other fragments of a datagram of which one does.

use crate::decode::ip;
use crate::decode::link::{Inside, inside};
use crate::reading::Reading;
use crate::record::{Proof, Record};
use crate::source::{Capture, Frame};
use crate::view::rows::Chooser;
use core::net::IpAddr;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

/// Datagrams in fragments that are looked for.
const FRAGMENTED_MAX: usize = 1_000_000;

/// Frames, a bit for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frames {
    files: Vec<Vec<u64>>,
}

impl Frames {
    /// Those whose records a chooser takes, and the first frames of what was put together from several.
    #[must_use]
    pub fn of(reading: &mut Reading, chooser: &mut Chooser<'_>) -> Self {
        let mut frames = Self::default();
        for seen in reading.by_ref() {
            if !chooser.takes(&seen) {
                continue;
            }
            frames.insert(seen.proof);
            match &seen.what {
                Record::Llc(ll_pdu) => frames.insert(ll_pdu.first),
                Record::Packet(packet) => frames.insert(packet.first),
                _ => {}
            }
        }
        frames
    }

    fn insert(&mut self, proof: Proof) {
        let Ok(index) = usize::try_from(proof.frame / 64) else { return };
        let file = usize::from(proof.file);
        if self.files.len() <= file {
            self.files.resize(file + 1, Vec::new());
        }
        if let Some(words) = self.files.get_mut(file) {
            if words.len() <= index {
                words.resize(index + 1, 0);
            }
            if let Some(word) = words.get_mut(index) {
                *word |= 1 << (proof.frame % 64);
            }
        }
    }

    /// Whether a frame is one of them.
    #[must_use]
    pub fn has(&self, proof: Proof) -> bool {
        let words = self.files.get(usize::from(proof.file));
        let index = usize::try_from(proof.frame / 64).ok();
        let word = words.zip(index).and_then(|(words, index)| words.get(index));
        word.is_some_and(|word| word >> (proof.frame % 64) & 1 == 1)
    }

    /// How many they are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.files.iter().flatten().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// What the fragments of a datagram have in common.
type Datagram = (u16, IpAddr, IpAddr, u8, u32);

/// Fragments of chosen datagrams, whichever of them were chosen.
#[derive(Debug, Default)]
pub struct Fragments(HashSet<Datagram, foldhash::quality::RandomState>);

fn datagram(file: u16, frame: &Frame<'_>) -> Option<Datagram> {
    let Inside::Ip(octets) = inside(frame.link, frame.octets) else { return None };
    let packet = ip::parse(octets)?;
    packet.fragment?;
    let ends = (packet.summary.source, packet.summary.destination);
    Some((file, ends.0, ends.1, packet.summary.protocol, packet.fragment_id))
}

impl Fragments {
    /// Reads a file to its end, or to its damage.
    pub fn look(&mut self, file: u16, capture: &mut Capture, frames: &Frames) {
        while let Ok(true) = capture.advance() {
            if let Some(frame) = capture.frame()
                && self.0.len() < FRAGMENTED_MAX
                && frames.has(Proof { file, frame: frame.number })
                && let Some(datagram) = datagram(file, &frame)
            {
                self.0.insert(datagram);
            }
        }
    }
}

/// A file, how it is called, and the nanoseconds that its clock is ahead.
#[derive(Debug)]
pub struct Source {
    /// Frames from the beginning.
    pub capture: Capture,
    /// Its name, for the descriptions of interfaces.
    pub name: String,
    /// Nanoseconds.
    pub ahead_ns: i64,
}

/// Writes the frames. Gives how many they were.
///
/// # Errors
/// Those of the writer.
pub fn write(
    to: &mut dyn Write,
    sources: &mut [Source],
    frames: &Frames,
    fragments: &Fragments,
) -> io::Result<u64> {
    section(to)?;
    let mut interfaces: HashMap<(usize, usize), u32> = HashMap::new();
    let mut written = 0;
    for source in &mut *sources {
        source.next();
    }
    let at = |source: &Source| source.capture.frame().map(|frame| source.at(&frame));
    while let Some((at, index)) =
        sources.iter().enumerate().filter_map(|(index, source)| Some((at(source)?, index))).min()
    {
        let Some(source) = sources.get_mut(index) else { break };
        let file = u16::try_from(index).unwrap_or(u16::MAX);
        if let Some(frame) = source.capture.frame()
            && (frames.has(Proof { file, frame: frame.number })
                || !fragments.0.is_empty()
                    && datagram(file, &frame).is_some_and(|it| fragments.0.contains(&it)))
        {
            let next = u32::try_from(interfaces.len()).unwrap_or(u32::MAX);
            let interface = match interfaces.get(&(index, frame.interface)) {
                Some(interface) => *interface,
                None => {
                    describe(to, source, &frame)?;
                    interfaces.insert((index, frame.interface), next);
                    next
                }
            };
            packet(to, interface, at, &frame)?;
            written += 1;
        }
        source.next();
    }
    Ok(written)
}

impl Source {
    /// Goes on; a damage is the end, as it was for whoever chose the frames.
    fn next(&mut self) {
        while let Ok(true) = self.capture.advance() {
            if self.capture.frame().is_some() {
                return;
            }
        }
    }

    const fn at(&self, frame: &Frame<'_>) -> u64 {
        frame.at.saturating_add_signed(self.ahead_ns.saturating_neg())
    }
}

/// A block of pcapng: type, body, and the length in front and behind. Bodies are far below 2^32 octets.
fn block(to: &mut dyn Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let padding = body.len().next_multiple_of(4) - body.len();
    let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "a frame is too long for pcapng");
    let length = u32::try_from(body.len() + padding + 12).map_err(too_long)?.to_le_bytes();
    to.write_all(&kind.to_le_bytes())?;
    to.write_all(&length)?;
    to.write_all(body)?;
    to.write_all([0; 3].get(..padding).unwrap_or_default())?;
    to.write_all(&length)
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = value.get(..value.len().min(usize::from(u16::MAX))).unwrap_or_default();
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    body.extend(code.to_le_bytes());
    body.extend(length.to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

fn section(to: &mut dyn Write) -> io::Result<()> {
    let mut body = Vec::new();
    body.extend(0x1a2b_3c4d_u32.to_le_bytes());
    body.extend([1, 0, 0, 0]);
    body.extend(u64::MAX.to_le_bytes());
    option(&mut body, 4, b"gannet trace export");
    option(&mut body, 0, b"");
    block(to, 0x0a0d_0d0a, &body)
}

/// An interface as the file has it, and which file that is.
fn describe(to: &mut dyn Write, source: &Source, frame: &Frame<'_>) -> io::Result<()> {
    let known = source.capture.interfaces().get(frame.interface);
    let mut body = Vec::new();
    body.extend(frame.link.to_le_bytes());
    body.extend([0; 6]);
    if let Some(name) = known.and_then(|interface| interface.name.as_deref()) {
        option(&mut body, 2, name.as_bytes());
    }
    let description = format!("interface {} of {}", frame.interface, source.name);
    option(&mut body, 3, description.as_bytes());
    // Nanoseconds.
    option(&mut body, 9, &[9]);
    option(&mut body, 0, b"");
    block(to, 1, &body)
}

fn packet(to: &mut dyn Write, interface: u32, at: u64, frame: &Frame<'_>) -> io::Result<()> {
    let captured = u32::try_from(frame.octets.len()).unwrap_or(u32::MAX);
    let mut body = Vec::with_capacity(frame.octets.len() + 64);
    body.extend(interface.to_le_bytes());
    for word in [at >> 32, at & 0xffff_ffff] {
        body.extend(u32::try_from(word).unwrap_or(u32::MAX).to_le_bytes());
    }
    body.extend(captured.to_le_bytes());
    body.extend(frame.original.max(captured).to_le_bytes());
    body.extend(frame.octets);
    body.resize(body.len().next_multiple_of(4), 0);
    if let Some(comment) = frame.comment {
        option(&mut body, 1, comment);
        option(&mut body, 0, b"");
    }
    block(to, 6, &body)
}
