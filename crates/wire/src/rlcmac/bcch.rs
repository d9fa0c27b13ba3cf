//! SYSTEM INFORMATION TYPE 3 of the BCCH: which cell this is, and how a mobile accesses it (04.08 clause 9.1.35 [44.018]).

use super::cell::BLOCK_LEN;
use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::{Plmn, Rai};

/// L2 pseudo length 18, protocol discriminator, message type.
const HEADER: [u8; 3] = [0x49, 0x06, 0x1b];
/// Values of Max retrans (clause 10.5.2.29).
const MAX_RETRANS: [u8; 4] = [1, 2, 4, 7];
/// Values of Tx-integer (clause 10.5.2.29).
const TX_INTEGER: [u8; 16] = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 25, 32, 50];
/// SI 3 rest octets of a cell with GPRS: RA colour 0, SI 13 on the BCCH Norm (clause 10.5.2.34).
const REST_WITH_GPRS: [u8; 4] = [0x2c, 0x2b, 0x2b, 0x2b];

/// RACH Control Parameters (clause 10.5.2.29).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RachParameters {
    /// Bursts that follow the first: 1, 2, 4 or 7.
    pub max_retrans: u8,
    /// Bursts are spread over so many places for them: 3 to 12, 14, 16, 20, 25, 32 or 50.
    pub tx_integer: u8,
    /// CELL_BARR_ACCESS: mobiles do not camp here.
    pub is_barred: bool,
    /// Classes that may not access, bit n for class n.
    pub barred_classes: u16,
}

/// Control Channel Description (clause 10.5.2.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ControlChannel {
    /// ATT: mobiles attach and detach by IMSI.
    pub has_attach: bool,
    /// BS_AG_BLKS_RES: blocks of a 51-multiframe that are reserved for AGCH; 0 to 7.
    pub access_blocks: u8,
    /// CCCH-CONF 1: the one CCCH shares its channel with SDCCHs. Otherwise there are as many as `channels`.
    pub is_combined: bool,
    /// Channels with a CCCH: 1 to 4.
    pub channels: u8,
    /// BS_PA_MFRMS: 51-multiframes from one block of a paging group to the next; 2 to 9.
    pub multiframes: u8,
    /// T3212 in tenths of an hour; 0 where mobiles do not update periodically.
    pub t3212: u8,
}

impl ControlChannel {
    /// Reads it. A CCCH-CONF without a meaning is one uncombined CCCH.
    #[must_use]
    pub const fn of_octets([first, second, t3212]: [u8; 3]) -> Self {
        let (is_combined, channels) = match first & 0x07 {
            1 => (true, 1),
            2 => (false, 2),
            4 => (false, 3),
            6 => (false, 4),
            _ => (false, 1),
        };
        Self {
            has_attach: first & 0x40 != 0,
            access_blocks: first >> 3 & 0x07,
            is_combined,
            channels,
            multiframes: 2 + (second & 0x07),
            t3212,
        }
    }

    /// Writes it. What is out of range is the nearest that is in range.
    #[must_use]
    pub fn to_octets(self) -> [u8; 3] {
        let configuration = match (self.is_combined, self.channels) {
            (true, _) => 1,
            (false, 0 | 1) => 0,
            (false, channels) => 2 * (channels.min(4) - 1),
        };
        let first = u8::from(self.has_attach) << 6 | self.access_blocks.min(7) << 3 | configuration;
        [first, self.multiframes.clamp(2, 9) - 2, self.t3212]
    }
}

/// SYSTEM INFORMATION TYPE 3. The fields of the cell that nobody reads here stand as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SystemInformation3 {
    /// Cell identity.
    pub ci: u16,
    /// Country and network.
    pub plmn: Plmn,
    /// Location area code.
    pub lac: u16,
    /// [`ControlChannel`], as its octets.
    pub control_channel: [u8; 3],
    /// Cell Options (clause 10.5.2.3).
    pub options: u8,
    /// Cell Selection Parameters (clause 10.5.2.4).
    pub selection: [u8; 2],
    /// Random access.
    pub rach: RachParameters,
    /// SI 3 rest octets (clause 10.5.2.34).
    pub rest: [u8; 4],
}

impl SystemInformation3 {
    /// What stands before the message type in a block of the BCCH: L2 pseudo length 18, and the discriminator of radio resources.
    pub const HEAD: [u8; 2] = [HEADER[0], HEADER[1]];

    /// Of a cell with GPRS, whose identity is that of `rai` and `ci`; without the routing area code, which
    /// stands in SYSTEM INFORMATION TYPE 13.
    #[must_use]
    pub fn new(rai: Rai, ci: u16, control_channel: ControlChannel, rach: RachParameters) -> Self {
        Self {
            ci,
            plmn: rai.plmn,
            lac: rai.lac,
            control_channel: control_channel.to_octets(),
            options: 0x20,
            selection: [0x40, 0x00],
            rach,
            rest: REST_WITH_GPRS,
        }
    }

    /// Reads a block of the BCCH.
    ///
    /// # Errors
    /// `UnknownMessage` for another message, `Truncated` for a block that is too short.
    pub fn parse(block: &[u8]) -> Result<Self, DecodeError> {
        let Some((&HEADER, _)) = block.split_first_chunk::<3>() else {
            let message = block.get(2).copied().unwrap_or_default();
            return Err(DecodeError::new("message type", 2, DecodeErrorKind::UnknownMessage(message)));
        };
        let mut body = Reader::at(block, HEADER.len());
        let ci = body.u16("Cell Identity")?;
        let plmn = Plmn::from_octets([body.u8("MCC")?, body.u8("MCC and MNC")?, body.u8("MNC")?]);
        let lac = body.u16("LAC")?;
        let mut octet = |name| body.u8(name);
        let control_channel = [
            octet("Control Channel Description")?,
            octet("Control Channel Description")?,
            octet("Control Channel Description")?,
        ];
        let options = octet("Cell Options")?;
        let selection = [octet("Cell Selection Parameters")?, octet("Cell Selection Parameters")?];
        let [retransmission, high, low] = [
            octet("RACH Control Parameters")?,
            octet("RACH Control Parameters")?,
            octet("RACH Control Parameters")?,
        ];
        let value = |values: &[u8], code: u8| values.get(usize::from(code)).copied().unwrap_or_default();
        let rach = RachParameters {
            max_retrans: value(&MAX_RETRANS, retransmission >> 6),
            tx_integer: value(&TX_INTEGER, retransmission >> 2 & 0x0f),
            is_barred: retransmission & 0x02 != 0,
            barred_classes: u16::from_be_bytes([high, low]),
        };
        let rest = [octet("rest")?, octet("rest")?, octet("rest")?, octet("rest")?];
        Ok(Self { ci, plmn, lac, control_channel, options, selection, rach, rest })
    }

    /// Writes the block. None where the parameters of random access have no code.
    #[must_use]
    pub fn emit(&self) -> Option<[u8; BLOCK_LEN]> {
        let code = |values: &[u8], value: u8| {
            let place = values.iter().position(|of| *of == value)?;
            u8::try_from(place).ok()
        };
        let max_retrans = code(&MAX_RETRANS, self.rach.max_retrans)?;
        let tx_integer = code(&TX_INTEGER, self.rach.tx_integer)?;
        // RE: call re-establishment is not allowed.
        let first = max_retrans << 6 | tx_integer << 2 | u8::from(self.rach.is_barred) << 1 | 1;
        let mut block = Vec::with_capacity(BLOCK_LEN);
        block.extend(HEADER);
        block.extend(self.ci.to_be_bytes());
        block.extend(self.plmn.to_octets());
        block.extend(self.lac.to_be_bytes());
        block.extend(self.control_channel);
        block.push(self.options);
        block.extend(self.selection);
        block.push(first);
        block.extend(self.rach.barred_classes.to_be_bytes());
        block.extend(self.rest);
        block.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a BTS that others wrote.
    const REAL: [u8; BLOCK_LEN] = [
        0x49, 0x06, 0x1b, 0x1b, 0x39, 0x00, 0xf1, 0x10, 0x00, 0x01, 0xc9, 0x03, 0x05, 0x27, 0x47, 0x40, 0xe5,
        0x04, 0x00, 0x29, 0x2b, 0x2b, 0x2b,
    ];

    #[test]
    fn a_real_block_comes_back() {
        let information = SystemInformation3::parse(&REAL).unwrap();
        assert_eq!((information.ci, information.lac, information.plmn), (6969, 1, Plmn::new(1, 1, false)));
        let rach =
            RachParameters { max_retrans: 7, tx_integer: 12, is_barred: false, barred_classes: 0x0400 };
        assert_eq!(information.rach, rach);
        let control = ControlChannel {
            has_attach: true,
            access_blocks: 1,
            is_combined: true,
            channels: 1,
            multiframes: 5,
            t3212: 5,
        };
        assert_eq!(ControlChannel::of_octets(information.control_channel), control);
        assert_eq!(control.to_octets(), [0x49, 0x03, 0x05]);
        assert_eq!(information.emit(), Some(REAL));
    }

    #[test]
    fn a_control_channel_comes_back() {
        for (is_combined, channels) in [(false, 1), (true, 1), (false, 2), (false, 3), (false, 4)] {
            for access_blocks in 0..=7 {
                for multiframes in 2..=9 {
                    let (has_attach, t3212) = (access_blocks % 2 == 0, multiframes * 20);
                    let control = ControlChannel {
                        has_attach,
                        access_blocks,
                        is_combined,
                        channels,
                        multiframes,
                        t3212,
                    };
                    assert_eq!(ControlChannel::of_octets(control.to_octets()), control);
                }
            }
        }
    }

    #[test]
    fn what_is_too_short_or_another_message_is_an_error() {
        assert!((0..BLOCK_LEN).all(|len| SystemInformation3::parse(&REAL[..len]).is_err()));
        let mut other = REAL;
        other[2] = 0x1c;
        assert!(SystemInformation3::parse(&other).is_err());
        let rach = RachParameters { max_retrans: 3, tx_integer: 14, is_barred: false, barred_classes: 0 };
        let control = ControlChannel::of_octets([0; 3]);
        assert_eq!(SystemInformation3::new(Rai::default(), 1, control, rach).emit(), None);
    }
}
