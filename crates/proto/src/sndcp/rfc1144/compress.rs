//! The sender's side of RFC 1144.

use super::header::{Headers, export, flag, import};
use super::{BadImage, COMPRESSED_MAX, PacketType, mask};
use gannet_machine::frame::Frame;
use serde::{Deserialize, Serialize};

/// Where IPv4 has the protocol.
pub(super) const IP_PROTOCOL_AT: usize = 9;

/// What one direction of an entity remembers to compress.
///
/// A slot takes some 130 octets, and there is none before its connection comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct Compressor {
    /// S0-1.
    last_slot: u8,
    slots: Vec<Headers>,
    /// The slots, the one that was used last in front.
    recent: Vec<u8>,
}

impl Compressor {
    /// A compressor of S0 slots, where S0-1 = `last_slot` (04.65 clause 6.5.2.1; 15 unless negotiated otherwise).
    #[must_use]
    pub const fn new(last_slot: u8) -> Self {
        Self { last_slot, slots: Vec::new(), recent: Vec::new() }
    }

    /// Forgets all connections: the link was established anew.
    pub fn reset(&mut self) {
        self.slots.clear();
        self.recent.clear();
    }

    /// Octets of memory that its slots take.
    #[must_use]
    pub const fn octets(&self) -> usize {
        self.slots.capacity() * size_of::<Headers>() + self.recent.capacity()
    }

    /// Compresses the headers of the N-PDU in `frame`, which never becomes longer, and says as what it goes.
    pub fn compress(&mut self, frame: &mut Frame) -> PacketType {
        let Some(headers) = Headers::parse(frame).filter(|headers| headers.is_compressible(frame)) else {
            return PacketType::Ip;
        };
        let (slot, change) = match self.find(&headers) {
            Some((slot, last)) => {
                let change = Change::between(last, &headers);
                *last = headers;
                (slot, change)
            }
            None => (self.take_slot(headers), None),
        };
        match change {
            Some(change) => {
                let octets = change.emit(slot, &headers);
                // Shorter than what it replaces.
                let _ = frame.pull(headers.len()) && frame.prepend(octets.as_slice());
                PacketType::CompressedTcp
            }
            None => {
                if let Some(protocol) = frame.get_mut(IP_PROTOCOL_AT) {
                    *protocol = slot;
                }
                PacketType::UncompressedTcp
            }
        }
    }

    /// The slot of the connection, which has been used last from now on, and its last headers.
    fn find(&mut self, headers: &Headers) -> Option<(u8, &mut Headers)> {
        let slots = &self.slots;
        let is_its = |slot: &u8| slots.get(usize::from(*slot)).is_some_and(|last| headers.is_of(last));
        let at = self.recent.iter().position(is_its)?;
        let slot = self.recent.get(at).copied()?;
        self.recent.get_mut(..=at)?.rotate_right(1);
        self.slots.get_mut(usize::from(slot)).map(|last| (slot, last))
    }

    /// A slot for a new connection: a fresh one, or the one that was not used for the longest time.
    fn take_slot(&mut self, headers: Headers) -> u8 {
        match u8::try_from(self.slots.len()) {
            Ok(fresh) if fresh <= self.last_slot => {
                self.slots.push(headers);
                self.recent.insert(0, fresh);
                fresh
            }
            Ok(_) | Err(_) => {
                self.recent.rotate_right(1);
                let slot = self.recent.first().copied().unwrap_or_default();
                if let Some(last) = self.slots.get_mut(usize::from(slot)) {
                    *last = headers;
                }
                slot
            }
        }
    }
}

/// Octets of a compressed header.
#[derive(Debug, Default)]
struct Octets {
    len: usize,
    octets: [u8; COMPRESSED_MAX],
}

impl Octets {
    fn put(&mut self, octets: &[u8]) {
        if let Some(room) = self.octets.get_mut(self.len..self.len + octets.len()) {
            room.copy_from_slice(octets);
            self.len += octets.len();
        }
    }

    /// One octet, or three where the number is 0 or does not fit in one (RFC 1144 section 3.2.2).
    fn put_number(&mut self, number: u16) {
        match number.to_be_bytes() {
            [0, low] if low != 0 => self.put(&[low]),
            [high, low] => self.put(&[0, high, low]),
        }
    }

    fn as_slice(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }
}

/// How a packet differs from the last one of its connection.
struct Change {
    mask: u8,
    numbers: Octets,
}

impl Change {
    /// `None` where a compressed packet cannot tell, or should not: what looks like a retransmission goes uncompressed, in
    /// case that the other end has missed something.
    fn between(last: &Headers, new: &Headers) -> Option<Self> {
        if !new.is_predicted_by(last) {
            return None;
        }
        let mut change = Self { mask: 0, numbers: Octets::default() };
        if new.flags & flag::URG != 0 {
            change.mask |= mask::U;
            change.numbers.put_number(new.urgent);
        } else if new.urgent != last.urgent {
            return None;
        }
        change.tell(mask::W, new.window.wrapping_sub(last.window));
        let acknowledged = new.acknowledgement.wrapping_sub(last.acknowledgement).try_into().ok()?;
        change.tell(mask::A, acknowledged);
        let sent = new.sequence.wrapping_sub(last.sequence).try_into().ok()?;
        change.tell(mask::S, sent);
        change.specials(last, new, acknowledged, sent)?;
        let identification = new.identification.wrapping_sub(last.identification);
        if identification != 1 {
            change.mask |= mask::I;
            change.numbers.put_number(identification);
        }
        if new.flags & flag::PSH != 0 {
            change.mask |= mask::P;
        }
        Some(change)
    }

    fn tell(&mut self, bit: u8, number: u16) {
        if number != 0 {
            self.mask |= bit;
            self.numbers.put_number(number);
        }
    }

    fn specials(&mut self, last: &Headers, new: &Headers, acknowledged: u16, sent: u16) -> Option<()> {
        let special = match self.mask {
            // A data packet after an acknowledgement; otherwise a retransmission or a window probe.
            0 if new.total_length != last.total_length && last.data_len() == 0 => return Some(()),
            0 | mask::SPECIAL_I | mask::SPECIAL_D => return None,
            mask::S if sent == last.data_len() => mask::SPECIAL_D,
            ECHOED if sent == acknowledged && sent == last.data_len() => mask::SPECIAL_I,
            _ => return Some(()),
        };
        // The special cases say nothing of URG, and RFC 1144's own decompressor would leave it set.
        if last.flags & flag::URG != 0 {
            return None;
        }
        *self = Self { mask: special, numbers: Octets::default() };
        Some(())
    }

    fn emit(&self, slot: u8, new: &Headers) -> Octets {
        let mut octets = Octets::default();
        octets.put(&[self.mask | mask::C, slot]);
        octets.put(&new.checksum.to_be_bytes());
        octets.put(self.numbers.as_slice());
        octets
    }
}

const ECHOED: u8 = mask::S | mask::A;

impl From<Compressor> for Vec<u8> {
    fn from(compressor: Compressor) -> Self {
        let mut out = vec![compressor.last_slot];
        for slot in compressor.recent.iter().rev() {
            if let Some(headers) = compressor.slots.get(usize::from(*slot)) {
                out.push(*slot);
                export(headers, &mut out);
            }
        }
        out
    }
}

impl TryFrom<Vec<u8>> for Compressor {
    type Error = BadImage;

    fn try_from(image: Vec<u8>) -> Result<Self, BadImage> {
        let (last_slot, mut octets) = image.split_first().ok_or(BadImage)?;
        let mut own = Self::new(*last_slot);
        let mut slots: Vec<Option<Headers>> = Vec::new();
        while let Some((slot, rest)) = octets.split_first() {
            octets = rest;
            let at = usize::from(*slot);
            slots.resize(slots.len().max(at + 1), None);
            let place = slots.get_mut(at).filter(|place| place.is_none() && slot <= last_slot);
            *place.ok_or(BadImage)? = Some(import(&mut octets)?);
            own.recent.insert(0, *slot);
        }
        own.slots = slots.into_iter().collect::<Option<Vec<Headers>>>().ok_or(BadImage)?;
        Ok(own)
    }
}
