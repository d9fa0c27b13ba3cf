//! GSMTAP: the header under which Wireshark takes GSM and GPRS frames from UDP port 4729.
//!
//! [`Header`] is version 2, sixteen octets; the frame follows at [`Header::parse`]'s offset. There is no
//! specification but its use; Wireshark's dissector is the authority.

use crate::error::{DecodeError, DecodeErrorKind};
use crate::octet_enum::octet_enum;

/// The UDP port.
pub const UDP_PORT: u16 = 4729;
/// Octets of the header that is emitted.
pub const HEADER_LEN: usize = 16;

const VERSION: u8 = 2;
const UPLINK: u16 = 0x4000;
const PCS_1900: u16 = 0x8000;
const ARFCN_MASK: u16 = 0x3fff;

octet_enum! {
    /// What kind of frame follows.
    PayloadType {
        /// Um: 23 octets of a control channel, or an RLC/MAC block where the sub-type is PDTCH, PACCH or PTCCH.
        Um = 0x01, "Um";
        /// Abis.
        Abis = 0x02, "Abis";
        /// Um, the bits of a burst.
        UmBurst = 0x03, "Um burst";
        /// APDUs of a SIM.
        Sim = 0x04, "SIM";
        /// An LLC frame.
        GbLlc = 0x08, "Gb LLC";
        /// An SN-PDU.
        GbSndcp = 0x09, "Gb SNDCP";
        /// RLC/MAC of UMTS.
        UmtsRlcMac = 0x0b, "UMTS RLC/MAC";
        /// RRC of UMTS.
        UmtsRrc = 0x0c, "UMTS RRC";
        /// A log line of an Osmocom program.
        OsmocoreLog = 0x10, "Osmocom log";
    }
}

octet_enum! {
    /// Logical channel on Um: the sub-type of [`PayloadType::Um`]. With [`ACCH`] it is the associated channel.
    Channel {
        /// Broadcast control.
        Bcch = 0x01, "BCCH";
        /// Common control.
        Ccch = 0x02, "CCCH";
        /// Random access.
        Rach = 0x03, "RACH";
        /// Access grant.
        Agch = 0x04, "AGCH";
        /// Paging.
        Pch = 0x05, "PCH";
        /// Dedicated control.
        Sdcch = 0x06, "SDCCH";
        /// Dedicated control, combined.
        Sdcch4 = 0x07, "SDCCH/4";
        /// Dedicated control, alone.
        Sdcch8 = 0x08, "SDCCH/8";
        /// Fast associated control of a full-rate channel.
        FacchF = 0x09, "FACCH/F";
        /// Fast associated control of a half-rate channel.
        FacchH = 0x0a, "FACCH/H";
        /// Packet associated control.
        Pacch = 0x0b, "PACCH";
        /// Cell broadcast.
        Cbch52 = 0x0c, "CBCH/52";
        /// Packet data traffic.
        Pdtch = 0x0d, "PDTCH";
        /// Packet timing advance control.
        Ptcch = 0x0e, "PTCCH";
        /// Cell broadcast.
        Cbch51 = 0x0f, "CBCH/51";
        /// Speech of a full-rate channel.
        VoiceF = 0x10, "TCH/F";
        /// Speech of a half-rate channel.
        VoiceH = 0x11, "TCH/H";
    }
}

/// Flag of the sub-type: the slow associated channel of that channel.
pub const ACCH: u8 = 0x80;

/// Header of version 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What follows.
    pub payload: PayloadType,
    /// Timeslot, 0 to 7.
    pub timeslot: u8,
    /// Absolute radio frequency channel number, 14 bits.
    pub arfcn: u16,
    /// The channel number is of the PCS 1900 band.
    pub pcs_1900: bool,
    /// From the mobile.
    pub uplink: bool,
    /// Signal in dBm.
    pub signal_dbm: i8,
    /// Signal to noise in dB.
    pub snr_db: i8,
    /// TDMA frame number.
    pub frame_number: u32,
    /// Of [`PayloadType::Um`] the [`Channel`].
    pub sub_type: u8,
    /// Antenna.
    pub antenna: u8,
    /// Sub-slot within the timeslot.
    pub sub_slot: u8,
}

impl Header {
    /// A header that says no more than what follows and in which direction.
    #[must_use]
    pub const fn new(payload: PayloadType, uplink: bool) -> Self {
        Self {
            payload,
            timeslot: 0,
            arfcn: 0,
            pcs_1900: false,
            uplink,
            signal_dbm: 0,
            snr_db: 0,
            frame_number: 0,
            sub_type: 0,
            antenna: 0,
            sub_slot: 0,
        }
    }

    /// A header for a frame of a channel on Um.
    #[must_use]
    pub const fn um(channel: Channel, uplink: bool) -> Self {
        Self { sub_type: channel.octet(), ..Self::new(PayloadType::Um, uplink) }
    }

    /// Reads the header; the frame starts at the second value, in octets, since the header says its own length.
    ///
    /// # Errors
    /// `UnknownProtocol` for another version, `Truncated` and `BadLength` about the header.
    pub const fn parse(octets: &[u8]) -> Result<(Self, usize), DecodeError> {
        const NAME: &str = "GSMTAP header";
        let have = octets.len();
        let Some(
            [version, words, payload, timeslot, a1, a2, signal, snr, f1, f2, f3, f4, sub, antenna, slot, _],
        ) = octets.first_chunk::<HEADER_LEN>()
        else {
            return Err(DecodeError::new(NAME, 0, DecodeErrorKind::Truncated { needed: HEADER_LEN, have }));
        };
        if *version != VERSION {
            return Err(DecodeError::new(NAME, 0, DecodeErrorKind::UnknownProtocol(*version)));
        }
        let length = *words as usize * 4;
        if length < HEADER_LEN || length > have {
            return Err(DecodeError::new(NAME, 1, DecodeErrorKind::BadLength(length)));
        }
        let arfcn = u16::from_be_bytes([*a1, *a2]);
        let header = Self {
            payload: PayloadType::from_octet(*payload),
            timeslot: *timeslot,
            arfcn: arfcn & ARFCN_MASK,
            pcs_1900: arfcn & PCS_1900 != 0,
            uplink: arfcn & UPLINK != 0,
            signal_dbm: signal.cast_signed(),
            snr_db: snr.cast_signed(),
            frame_number: u32::from_be_bytes([*f1, *f2, *f3, *f4]),
            sub_type: *sub,
            antenna: *antenna,
            sub_slot: *slot,
        };
        Ok((header, length))
    }

    /// The sixteen octets.
    #[must_use]
    pub const fn emit(&self) -> [u8; HEADER_LEN] {
        let flags = if self.uplink { UPLINK } else { 0 } | if self.pcs_1900 { PCS_1900 } else { 0 };
        let [a1, a2] = (self.arfcn & ARFCN_MASK | flags).to_be_bytes();
        let [f1, f2, f3, f4] = self.frame_number.to_be_bytes();
        [
            VERSION,
            4,
            self.payload.octet(),
            self.timeslot,
            a1,
            a2,
            self.signal_dbm.cast_unsigned(),
            self.snr_db.cast_unsigned(),
            f1,
            f2,
            f3,
            f4,
            self.sub_type,
            self.antenna,
            self.sub_slot,
            0,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_comes_back() {
        let header = Header {
            timeslot: 4,
            arfcn: 871,
            signal_dbm: -63,
            snr_db: 12,
            frame_number: 0x0001_2345,
            antenna: 1,
            sub_slot: 2,
            ..Header::um(Channel::Pdtch, true)
        };
        let octets = header.emit();
        assert_eq!(
            octets,
            [0x02, 0x04, 0x01, 0x04, 0x43, 0x67, 0xc1, 0x0c, 0x00, 0x01, 0x23, 0x45, 0x0d, 0x01, 0x02, 0x00]
        );
        assert_eq!(Header::parse(&octets), Ok((header, HEADER_LEN)));
    }

    #[test]
    fn what_is_not_version_2() {
        let octets = Header::new(PayloadType::GbLlc, false).emit();
        assert!(Header::parse(&octets[..15]).is_err());
        for (at, value) in [(0, 3), (1, 3), (1, 5)] {
            let mut wrong = octets;
            wrong[at] = value;
            assert!(Header::parse(&wrong).is_err());
        }
        let longer = [&octets[..1], &[5], &octets[2..], &[0; 4]].concat();
        assert_eq!(Header::parse(&longer).map(|(_, at)| at), Ok(20));
    }
}
