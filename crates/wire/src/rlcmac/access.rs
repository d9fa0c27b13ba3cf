//! Access bursts: CHANNEL REQUEST of the RACH for packet access (04.08 clause 9.1.8 [44.018]), PACKET CHANNEL REQUEST of
//! the PRACH (04.60 clause 11.2.5 [44.060]) and PACKET CONTROL ACKNOWLEDGEMENT as bursts (clause 11.2.2).
//!
//! An access burst has 8 or 11 bits. All these formats share that space: who reads one knows on which channel it came.

use super::csn::{BitReader, BitWriter, Csn, choice, number, sequence};
use super::value::{CtrlAck, MultislotClass, RadioPriority, Timeslot};
use crate::error::{DecodeError, DecodeErrorKind};

/// CHANNEL REQUEST, 8 bits (04.08 clause 9.1.8 [44.018]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChannelRequest {
    /// One-phase packet access: one timeslot, acknowledged. The value, 0 to 6, is random.
    OnePhase(u8),
    /// A single block, for a two-phase packet access. The value, 0 to 7, is random.
    SingleBlock(u8),
    /// For the circuit-switched side, or reserved: the octet.
    Other(u8),
}

impl ChannelRequest {
    /// How many one-phase requests differ.
    pub const ONE_PHASE: u8 = 7;
    /// How many single-block requests differ.
    pub const SINGLE_BLOCK: u8 = 8;

    /// Reads the octet.
    #[must_use]
    pub const fn from_octet(octet: u8) -> Self {
        match octet {
            0x78..=0x7e => Self::OnePhase(octet & 0x07),
            0x70..=0x77 => Self::SingleBlock(octet & 0x07),
            other => Self::Other(other),
        }
    }

    /// The octet. Random values are taken modulo how many there are.
    #[must_use]
    pub const fn octet(self) -> u8 {
        match self {
            Self::OnePhase(random) => 0x78 | (random % Self::ONE_PHASE),
            Self::SingleBlock(random) => 0x70 | (random % Self::SINGLE_BLOCK),
            Self::Other(octet) => octet,
        }
    }
}

number! {
    /// Two random bits.
    Random2(u8, 2), "RandomBits";
    /// Three random bits.
    Random3(u8, 3), "RandomBits";
    /// Five random bits.
    Random5(u8, 5), "RandomBits";
    /// Blocks that are asked for, less one.
    BlockCount(u8, 3), "NumberOfBlocks";
}

/// PACKET CHANNEL REQUEST of 11 bits (clause 11.2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PacketChannelRequest11 {
    /// One-phase access.
    OnePhase(OnePhase11),
    /// A few blocks.
    Short(Short11),
    /// Two-phase access.
    TwoPhase(Priority11),
    /// Page response.
    PageResponse(Random5),
    /// Cell update.
    CellUpdate(Random5),
    /// Mobility management procedure.
    MmProcedure(Random5),
    /// A single block without a TBF.
    SingleBlock(Random5),
}
choice!(
    PacketChannelRequest11, "Packet Channel Request":
    "0" => OnePhase, "100" => Short, "110000" => TwoPhase, "110001" => PageResponse, "110010" => CellUpdate,
    "110011" => MmProcedure, "110100" => SingleBlock,
);

/// One-phase access in 11 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OnePhase11 {
    /// Multislot class.
    pub class: MultislotClass,
    /// Radio priority.
    pub priority: RadioPriority,
    /// Random bits.
    pub random: Random3,
}
sequence!(OnePhase11, "One Phase Access Request": class, priority, random);

/// Short access in 11 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Short11 {
    /// How many blocks, less one.
    pub blocks: BlockCount,
    /// Radio priority.
    pub priority: RadioPriority,
    /// Random bits.
    pub random: Random3,
}
sequence!(Short11, "Short Access Request": blocks, priority, random);

/// Two-phase access in 11 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Priority11 {
    /// Radio priority.
    pub priority: RadioPriority,
    /// Random bits.
    pub random: Random3,
}
sequence!(Priority11, "Two Phase Access Request": priority, random);

/// PACKET CHANNEL REQUEST of 8 bits (clause 11.2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PacketChannelRequest8 {
    /// One-phase access.
    OnePhase(OnePhase8),
    /// A few blocks.
    Short(Short8),
    /// Two-phase access.
    TwoPhase(Random3),
    /// Page response.
    PageResponse(Random3),
    /// Cell update.
    CellUpdate(Random3),
    /// Mobility management procedure.
    MmProcedure(Random3),
    /// A single block without a TBF.
    SingleBlock(Random3),
}
choice!(
    PacketChannelRequest8, "Packet Channel Request":
    "1" => OnePhase, "00" => Short, "01000" => TwoPhase, "01001" => PageResponse, "01010" => CellUpdate,
    "01011" => MmProcedure, "01100" => SingleBlock,
);

/// One-phase access in 8 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OnePhase8 {
    /// Multislot class.
    pub class: MultislotClass,
    /// Random bits.
    pub random: Random2,
}
sequence!(OnePhase8, "One Phase Access Request": class, random);

/// Short access in 8 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Short8 {
    /// How many blocks, less one.
    pub blocks: BlockCount,
    /// Random bits.
    pub random: Random3,
}
sequence!(Short8, "Short Access Request": blocks, random);

/// PACKET CONTROL ACKNOWLEDGEMENT as an access burst (clause 11.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AcknowledgementBurst {
    /// What the mobile has received.
    pub ctrl_ack: CtrlAck,
    /// The timeslot that polled, where several may (of a later release).
    pub timeslot: Option<Timeslot>,
}

/// Reads and writes a format of so many bits, which stand lowest in a number.
macro_rules! burst {
    ($($type:ty, $bits:literal, $inner:ty);*) => { $(
        impl $type {
            /// Reads the burst.
            ///
            /// # Errors
            /// `BadValue` where it is of another format.
            pub fn parse(burst: $inner) -> Result<Self, DecodeError> {
                Self::read(&mut BitReader::new(&(u32::from(burst) << (32 - $bits)).to_be_bytes()))
            }

            /// The burst.
            #[must_use]
            pub fn emit(&self) -> $inner {
                let mut octets = [0; 4];
                self.write(&mut BitWriter::new(&mut octets));
                <$inner>::try_from(u32::from_be_bytes(octets) >> (32 - $bits)).unwrap_or_default()
            }
        }
    )* };
}
burst!(PacketChannelRequest11, 11, u16; PacketChannelRequest8, 8, u8);

impl AcknowledgementBurst {
    /// Reads a burst of 8 bits.
    ///
    /// # Errors
    /// `BadValue` where it is of another format.
    pub const fn parse8(burst: u8) -> Result<Self, DecodeError> {
        let timeslot = match burst >> 2 {
            0b01_1111 => None,
            other @ 0..=0b111 => Some(Timeslot::lowest(other)),
            _ => return Err(wrong(burst as u32)),
        };
        Ok(Self { ctrl_ack: CtrlAck::lowest(burst), timeslot })
    }

    /// As 8 bits.
    #[must_use]
    pub const fn emit8(&self) -> u8 {
        let prefix = match self.timeslot {
            None => 0b01_1111,
            Some(timeslot) => timeslot.get(),
        };
        prefix << 2 | self.ctrl_ack.get()
    }

    /// Reads a burst of 11 bits.
    ///
    /// # Errors
    /// `BadValue` where it is of another format.
    pub const fn parse11(burst: u16) -> Result<Self, DecodeError> {
        let [prefix, low] = [burst >> 5, burst & 0x1f];
        #[allow(clippy::cast_possible_truncation, reason = "five bits")]
        let low = low as u8;
        let timeslot = match (prefix, low >> 2) {
            (0b11_1111, 0b001) => None,
            (0b11_0111, timeslot) => Some(Timeslot::lowest(timeslot)),
            _ => return Err(wrong(burst as u32)),
        };
        Ok(Self { ctrl_ack: CtrlAck::lowest(low), timeslot })
    }

    /// As 11 bits.
    #[must_use]
    pub const fn emit11(&self) -> u16 {
        let prefix = match self.timeslot {
            None => 0b1_1111_1001,
            Some(timeslot) => 0b1_1011_1000 | timeslot.get() as u16,
        };
        prefix << 2 | self.ctrl_ack.get() as u16
    }
}

const fn wrong(burst: u32) -> DecodeError {
    DecodeError::new("Packet Control Acknowledgement", 0, DecodeErrorKind::BadValue(burst))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_octet_of_the_rach_comes_back() {
        for octet in 0..=u8::MAX {
            assert_eq!(ChannelRequest::from_octet(octet).octet(), octet);
        }
        assert_eq!(ChannelRequest::from_octet(0x7a), ChannelRequest::OnePhase(2));
        assert_eq!(ChannelRequest::from_octet(0x73), ChannelRequest::SingleBlock(3));
        assert_eq!(ChannelRequest::from_octet(0x7f), ChannelRequest::Other(0x7f), "reserved");
        assert_eq!(ChannelRequest::OnePhase(7).octet(), 0x78);
    }

    #[test]
    fn every_burst_of_the_prach_comes_back_or_is_of_another_format() {
        let mut read = [0; 4];
        for burst in 0..1 << 11 {
            if let Ok(request) = PacketChannelRequest11::parse(burst) {
                assert_eq!(request.emit(), burst);
                read[0] += 1;
            }
            if let Ok(answer) = AcknowledgementBurst::parse11(burst) {
                assert_eq!(answer.emit11(), burst);
                read[1] += 1;
            }
        }
        for burst in 0..=u8::MAX {
            if let Ok(request) = PacketChannelRequest8::parse(burst) {
                assert_eq!(request.emit(), burst);
                read[2] += 1;
            }
            if let Ok(answer) = AcknowledgementBurst::parse8(burst) {
                assert_eq!(answer.emit8(), burst);
                read[3] += 1;
            }
        }
        // 11 bits: half, an eighth and five 64ths of 2048. 8 bits: half, a quarter and five 32nds of 256.
        assert_eq!(read, [1024 + 256 + 5 * 32, 4 + 32, 128 + 64 + 5 * 8, 4 + 32]);
    }

    #[test]
    fn a_one_phase_request_has_class_priority_and_random_bits() {
        let request = OnePhase11 {
            class: MultislotClass::lowest(12),
            priority: RadioPriority::lowest(1),
            random: Random3::lowest(5),
        };
        // 0, 01100, 01, 101; then 1, 01100, 11.
        assert_eq!(PacketChannelRequest11::OnePhase(request).emit(), 0b001_1000_1101);
        let request = OnePhase8 { class: MultislotClass::lowest(12), random: Random2::lowest(3) };
        assert_eq!(PacketChannelRequest8::OnePhase(request).emit(), 0b1011_0011);
    }
}
