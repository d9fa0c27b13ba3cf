//! What goes over the air between a cell and mobiles that are elsewhere: one transmission, as octets under a GSMTAP header.
//!
//! ```text
//! downlink   BCCH, CCCH      a block of 23 octets, timeslot 0
//!            PDTCH           an RLC/MAC block on its timeslot
//! uplink     RACH            the octet of an access burst, timeslot 0
//!            PDTCH           an RLC/MAC block on its timeslot, or one of four access bursts alike, in one octet or two
//! ```
//!
//! The frame number is that of the first frame of the block, or of the burst. A transmission is sent when it begins, so that
//! it is there before it ends. A PDTCH without octets is a block that no mobile sends: who receives it knows that it has gone by.

use super::multiframe::HYPERFRAME;
use gannet_machine::frame::{Frame, FramePool};
use gannet_wire::gsmtap::{Channel, HEADER_LEN, Header, PayloadType};
use gannet_wire::rlcmac::coding::BLOCK_MAX;
use gannet_wire::{DecodeError, DecodeErrorKind};

/// Octets of the longest transmission, its header included.
pub const TRANSMISSION_MAX: usize = HEADER_LEN + BLOCK_MAX;

/// What is sent is received well: a BTS of others throws away bursts that it takes for noise.
const SNR_DB: i8 = 63;

/// Logical channels that a cell and its mobiles use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logical {
    /// BCCH.
    Broadcast,
    /// AGCH and PCH.
    Common,
    /// RACH.
    Random,
    /// PDTCH and PACCH.
    Packet,
}

/// One transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission<'a> {
    /// The carrier, which names the cell.
    pub arfcn: u16,
    /// The mobile sends.
    pub is_uplink: bool,
    /// What it is.
    pub channel: Logical,
    /// Timeslot, 0 to 7.
    pub slot: u8,
    /// Number of its first TDMA frame, below [`HYPERFRAME`].
    pub frame_number: u32,
    /// Level in dBm, where the sender says one.
    pub level_dbm: i8,
    /// Its octets.
    pub octets: &'a [u8],
}

impl<'a> Transmission<'a> {
    /// Reads a transmission; `None` for one of a channel that packet access does not use, and for an empty block.
    ///
    /// # Errors
    /// What is no GSMTAP header of Um, and a frame number or length that cannot be.
    pub fn parse(octets: &'a [u8]) -> Result<Option<Self>, DecodeError> {
        let (header, at) = Header::parse(octets)?;
        if header.payload != PayloadType::Um {
            return Ok(None);
        }
        let channel = match Channel::from_octet(header.sub_type) {
            Channel::Bcch if !header.uplink => Logical::Broadcast,
            Channel::Ccch | Channel::Agch | Channel::Pch if !header.uplink => Logical::Common,
            Channel::Rach if header.uplink => Logical::Random,
            Channel::Pdtch | Channel::Pacch => Logical::Packet,
            _ => return Ok(None),
        };
        if header.frame_number >= HYPERFRAME {
            return Err(DecodeError::new("frame number", 8, DecodeErrorKind::BadValue(header.frame_number)));
        }
        let body = octets.get(at..).unwrap_or_default();
        if body.is_empty() && channel == Logical::Packet {
            return Ok(None);
        }
        if header.timeslot > 7 || body.is_empty() || body.len() > BLOCK_MAX {
            return Err(DecodeError::new("block", at, DecodeErrorKind::BadLength(body.len())));
        }
        Ok(Some(Self {
            arfcn: header.arfcn,
            is_uplink: header.uplink,
            channel,
            slot: header.timeslot,
            frame_number: header.frame_number,
            level_dbm: header.signal_dbm,
            octets: body,
        }))
    }

    /// Its header; the octets follow.
    #[must_use]
    pub const fn header(&self) -> [u8; HEADER_LEN] {
        let channel = match self.channel {
            Logical::Broadcast => Channel::Bcch,
            Logical::Common => Channel::Ccch,
            Logical::Random => Channel::Rach,
            Logical::Packet => Channel::Pdtch,
        };
        let header = Header {
            timeslot: self.slot,
            arfcn: self.arfcn,
            signal_dbm: self.level_dbm,
            snr_db: SNR_DB,
            frame_number: self.frame_number,
            ..Header::um(channel, self.is_uplink)
        };
        header.emit()
    }

    /// Its datagram; `None` where no frame is free.
    #[must_use]
    pub fn to_frame(&self, frames: &FramePool) -> Option<Frame> {
        let mut frame = frames.copy_of(self.octets)?;
        frame.prepend(&self.header()).then_some(frame)
    }
}

/// The frame with this number that is closest to a frame, both counted since the run began.
#[must_use]
pub fn frame_near(frame: u64, frame_number: u32) -> u64 {
    let cycle = u64::from(HYPERFRAME);
    let ahead = (u64::from(frame_number) + cycle - frame % cycle) % cycle;
    let behind = cycle - ahead;
    if ahead <= cycle / 2 || frame < behind { frame + ahead } else { frame - behind }
}

/// The number of a frame that is counted since the run began.
#[must_use]
pub fn frame_number(frame: u64) -> u32 {
    u32::try_from(frame % u64::from(HYPERFRAME)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmissions_come_back() {
        let octets = [0x2b; BLOCK_MAX];
        for (channel, is_uplink, length) in [
            (Logical::Broadcast, false, 23),
            (Logical::Common, false, 23),
            (Logical::Random, true, 1),
            (Logical::Packet, true, 34),
            (Logical::Packet, true, 1),
            (Logical::Packet, false, BLOCK_MAX),
        ] {
            let sent = Transmission {
                arfcn: 871,
                is_uplink,
                channel,
                slot: 6,
                frame_number: HYPERFRAME - 1,
                level_dbm: -47,
                octets: &octets[..length],
            };
            let datagram = [&sent.header()[..], sent.octets].concat();
            assert_eq!(Transmission::parse(&datagram), Ok(Some(sent)));
            assert!((0..HEADER_LEN).all(|len| Transmission::parse(&datagram[..len]).is_err()));
            let empty = Transmission::parse(&datagram[..HEADER_LEN]);
            assert_eq!(empty.ok(), (channel == Logical::Packet).then_some(None));
            let mut other = datagram.clone();
            other[8..12].copy_from_slice(&HYPERFRAME.to_be_bytes());
            assert!(Transmission::parse(&other).is_err(), "no frame has that number");
        }
        let speech = Header::um(Channel::VoiceF, false).emit();
        assert_eq!(Transmission::parse(&speech), Ok(None));
    }

    #[test]
    fn frames_are_found_near_the_present() {
        let cycle = u64::from(HYPERFRAME);
        for (frame, number, found) in [
            (0, 5, 5),
            (3, HYPERFRAME - 2, cycle - 2),
            (cycle + 3, HYPERFRAME - 2, cycle - 2),
            (cycle - 1, 1, cycle + 1),
            (7 * cycle + 100, 90, 7 * cycle + 90),
        ] {
            assert_eq!((frame_near(frame, number), frame_number(found)), (found, number), "{frame} {number}");
        }
    }
}
