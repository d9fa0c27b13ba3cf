//! The receiver's side of RFC 1144.

use super::compress::IP_PROTOCOL_AT;
use super::header::{Headers, export, flag, import};
use super::{BadImage, Error, PacketType, mask};
use crate::sndcp::N_PDU_MAX;
use gannet_machine::frame::Frame;
use serde::{Deserialize, Serialize};

/// What one direction of an entity remembers to restore headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct Decompressor {
    /// S0-1.
    last_slot: u8,
    slots: Vec<Option<Headers>>,
    /// The slot of a packet that names none; `None` after an error, when such packets are tossed.
    implicit: Option<u8>,
}

impl Decompressor {
    /// A decompressor of S0 slots, where S0-1 = `last_slot` (04.65 clause 6.5.2.1; 15 unless negotiated otherwise).
    #[must_use]
    pub const fn new(last_slot: u8) -> Self {
        Self { last_slot, slots: Vec::new(), implicit: None }
    }

    /// Forgets all connections: the link was established anew.
    pub fn reset(&mut self) {
        self.slots.clear();
        self.implicit = None;
    }

    /// An N-PDU was lost on the way here: which slot a packet means that names none is no longer known (TYPE_ERROR of
    /// RFC 1144).
    pub const fn lost(&mut self) {
        self.implicit = None;
    }

    /// Octets of memory that its slots take.
    #[must_use]
    pub const fn octets(&self) -> usize {
        self.slots.capacity() * size_of::<Option<Headers>>()
    }

    /// Restores the N-PDU in `frame`, which came as `packet_type`.
    ///
    /// # Errors
    /// Why that is not possible; the frame's content is of no use then. No slot has changed.
    pub fn decompress(&mut self, packet_type: PacketType, frame: &mut Frame) -> Result<(), Error> {
        let restored = match packet_type {
            PacketType::Ip => Ok(()),
            PacketType::UncompressedTcp => self.uncompressed(frame),
            PacketType::CompressedTcp => self.compressed(frame),
        };
        if restored.is_err() {
            self.lost();
        }
        restored
    }

    fn uncompressed(&mut self, frame: &mut Frame) -> Result<(), Error> {
        let headers = Headers::parse(frame).ok_or(Error::NotTcp)?;
        let protocol = frame.get_mut(IP_PROTOCOL_AT).ok_or(Error::NotTcp)?;
        let slot = *protocol;
        if slot > self.last_slot {
            return Err(Error::SlotOutOfRange(slot));
        }
        *protocol = TCP;
        let at = usize::from(slot);
        self.slots.resize(self.slots.len().max(at + 1), None);
        if let Some(place) = self.slots.get_mut(at) {
            *place = Some(headers);
        }
        self.implicit = Some(slot);
        Ok(())
    }

    fn compressed(&mut self, frame: &mut Frame) -> Result<(), Error> {
        let mut fields = Fields(frame);
        let [mask] = fields.take()?;
        let slot = if mask & mask::C == 0 {
            self.implicit.ok_or(Error::Tossed)?
        } else {
            let [slot] = fields.take()?;
            slot
        };
        if slot > self.last_slot {
            return Err(Error::SlotOutOfRange(slot));
        }
        let place = self.slots.get_mut(usize::from(slot)).and_then(Option::as_mut);
        let last = place.ok_or(Error::SlotEmpty(slot))?;
        let mut headers = *last;
        fields.apply(mask, &mut headers)?;
        let data = fields.0.len();
        let total = headers.len() + data;
        headers.total_length =
            u16::try_from(total).ok().filter(|_| total <= N_PDU_MAX).ok_or(Error::TooLong)?;
        let octets = headers.emit();
        let octets = octets.get(..headers.len()).unwrap_or_default();
        let compressed = frame.len() - data;
        if !(frame.pull(compressed) && frame.prepend(octets)) {
            return Err(Error::NoRoom);
        }
        *last = headers;
        self.implicit = Some(slot);
        Ok(())
    }
}

const TCP: u8 = 6;

/// What has not been read of a compressed packet.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (octets, rest) = self.0.split_first_chunk::<N>().ok_or(Error::Truncated)?;
        self.0 = rest;
        Ok(*octets)
    }

    fn number(&mut self) -> Result<u16, Error> {
        match self.take()? {
            [0] => self.take().map(u16::from_be_bytes),
            [low] => Ok(u16::from(low)),
        }
    }

    fn number_if(&mut self, is_there: bool) -> Result<Option<u16>, Error> {
        if is_there { self.number().map(Some) } else { Ok(None) }
    }

    /// Makes of the last headers those of this packet, but for the total length.
    fn apply(&mut self, mask: u8, headers: &mut Headers) -> Result<(), Error> {
        headers.checksum = self.take().map(u16::from_be_bytes)?;
        headers.set(flag::PSH, mask & mask::P != 0);
        let last_data = u32::from(headers.data_len());
        // What is urgent says so itself, and never goes as one of the special cases.
        headers.set(flag::URG, false);
        match mask & mask::SPECIALS {
            mask::SPECIAL_I => {
                headers.acknowledgement = headers.acknowledgement.wrapping_add(last_data);
                headers.sequence = headers.sequence.wrapping_add(last_data);
            }
            mask::SPECIAL_D => headers.sequence = headers.sequence.wrapping_add(last_data),
            _ => self.apply_numbers(mask, headers)?,
        }
        let identification = self.number_if(mask & mask::I != 0)?.unwrap_or(1);
        headers.identification = headers.identification.wrapping_add(identification);
        Ok(())
    }

    fn apply_numbers(&mut self, mask: u8, headers: &mut Headers) -> Result<(), Error> {
        let urgent = self.number_if(mask & mask::U != 0)?;
        headers.set(flag::URG, urgent.is_some());
        headers.urgent = urgent.unwrap_or(headers.urgent);
        let window = self.number_if(mask & mask::W != 0)?.unwrap_or(0);
        headers.window = headers.window.wrapping_add(window);
        let acknowledged = self.number_if(mask & mask::A != 0)?.unwrap_or(0);
        headers.acknowledgement = headers.acknowledgement.wrapping_add(u32::from(acknowledged));
        let sent = self.number_if(mask & mask::S != 0)?.unwrap_or(0);
        headers.sequence = headers.sequence.wrapping_add(u32::from(sent));
        Ok(())
    }
}

impl From<Decompressor> for Vec<u8> {
    fn from(decompressor: Decompressor) -> Self {
        let mut out = vec![decompressor.last_slot];
        match decompressor.implicit {
            Some(slot) => out.extend([1, slot]),
            None => out.extend([0, 0]),
        }
        for (slot, headers) in (0..).zip(&decompressor.slots) {
            if let Some(headers) = headers {
                out.push(slot);
                export(headers, &mut out);
            }
        }
        out
    }
}

impl TryFrom<Vec<u8>> for Decompressor {
    type Error = BadImage;

    fn try_from(image: Vec<u8>) -> Result<Self, BadImage> {
        let (&[last_slot, is_known, implicit], mut octets) = image.split_first_chunk().ok_or(BadImage)?;
        let mut own = Self::new(last_slot);
        own.implicit = (is_known != 0).then_some(implicit);
        while let Some((slot, rest)) = octets.split_first() {
            octets = rest;
            if *slot > last_slot || own.slots.len() > usize::from(*slot) {
                return Err(BadImage);
            }
            own.slots.resize(usize::from(*slot), None);
            own.slots.push(Some(import(&mut octets)?));
        }
        if own.implicit.is_some_and(|slot| slot > last_slot) { Err(BadImage) } else { Ok(own) }
    }
}
