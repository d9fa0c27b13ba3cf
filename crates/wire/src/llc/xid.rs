//! XID parameters of LLC (04.64 clause 6.4.1.6 [44.064]).
//!
//! A parameter is a type of five bits, a length of two bits (XL = 0) or eight (XL = 1), and a value. Parameters of
//! unknown types are kept, so that a list read and written again is the same list.

use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::llc::{N201_MAX, N201_MIN};

const XL: u8 = 0x80;

/// The longest value that the format can carry, in octets.
pub const VALUE_LEN_MAX: usize = 255;

/// One parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parameter {
    /// LLC version, 0 to 15.
    Version(u8),
    /// Ciphering input offset for UI frames, common to all SAPIs of a TLLI.
    IovUi(u32),
    /// Ciphering input offset for I frames of this SAPI.
    IovI(u32),
    /// Retransmission timeout in tenths of a second, 1 to 4095.
    T200(u16),
    /// Maximum number of retransmissions, 1 to 15.
    N200(u8),
    /// Maximum octets of information in U and UI frames, 140 to 1520.
    N201U(u16),
    /// Maximum octets of information in I frames, 140 to 1520.
    N201I(u16),
    /// I frame buffer downlink in units of 16 octets, 0 or 9 to 24320.
    MD(u16),
    /// I frame buffer uplink in units of 16 octets, 0 or 9 to 24320.
    MU(u16),
    /// Window downlink in I frames, 1 to 255.
    KD(u8),
    /// Window uplink in I frames, 1 to 255.
    KU(u8),
    /// Layer-3 parameters, at most 255 octets: SNDCP's own XID block.
    Layer3(Vec<u8>),
    /// Reset of all LLEs of the TLLI.
    Reset,
    /// A type that is not defined.
    Unknown {
        /// Five bits.
        kind: u8,
        /// At most 255 octets.
        value: Vec<u8>,
    },
}

impl Parameter {
    /// The type, 0 to 31.
    #[must_use]
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Version(_) => 0,
            Self::IovUi(_) => 1,
            Self::IovI(_) => 2,
            Self::T200(_) => 3,
            Self::N200(_) => 4,
            Self::N201U(_) => 5,
            Self::N201I(_) => 6,
            Self::MD(_) => 7,
            Self::MU(_) => 8,
            Self::KD(_) => 9,
            Self::KU(_) => 10,
            Self::Layer3(_) => 11,
            Self::Reset => 12,
            Self::Unknown { kind, .. } => *kind & 0x1f,
        }
    }

    /// True where the value lies in the range of table 6. Unknown types have no range.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        match self {
            Self::Version(version) => *version <= 15,
            Self::T200(tenths) => (1..=4095).contains(tenths),
            Self::N200(count) => (1..=15).contains(count),
            Self::N201U(octets) | Self::N201I(octets) => (N201_MIN..=N201_MAX).contains(octets),
            Self::MD(units) | Self::MU(units) => *units == 0 || (9..=24320).contains(units),
            Self::KD(frames) | Self::KU(frames) => *frames >= 1,
            Self::Layer3(octets) => octets.len() <= VALUE_LEN_MAX,
            Self::IovUi(_) | Self::IovI(_) | Self::Reset => true,
            Self::Unknown { .. } => false,
        }
    }

    fn parse(kind: u8, value: &[u8], offset: usize) -> Result<Self, DecodeError> {
        let bad = |ie| move |_| DecodeError::new(ie, offset, DecodeErrorKind::BadLength(value.len()));
        let one = |ie| value.try_into().map(u8::from_be_bytes).map_err(bad(ie));
        let two = |ie| value.try_into().map(u16::from_be_bytes).map_err(bad(ie));
        let four = |ie| value.try_into().map(u32::from_be_bytes).map_err(bad(ie));
        Ok(match kind {
            0 => Self::Version(one("Version")?),
            1 => Self::IovUi(four("IOV-UI")?),
            2 => Self::IovI(four("IOV-I")?),
            3 => Self::T200(two("T200")?),
            4 => Self::N200(one("N200")?),
            5 => Self::N201U(two("N201-U")?),
            6 => Self::N201I(two("N201-I")?),
            7 => Self::MD(two("mD")?),
            8 => Self::MU(two("mU")?),
            9 => Self::KD(one("kD")?),
            10 => Self::KU(one("kU")?),
            11 => Self::Layer3(value.to_vec()),
            12 if value.is_empty() => Self::Reset,
            12 => return Err(DecodeError::new("Reset", offset, DecodeErrorKind::BadLength(value.len()))),
            _ => Self::Unknown { kind, value: value.to_vec() },
        })
    }

    /// Appends this parameter. A value of more than [`VALUE_LEN_MAX`] octets does not fit the format and is cut.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Version(value) | Self::N200(value) | Self::KD(value) | Self::KU(value) => {
                self.emit_value(&[*value], out);
            }
            Self::IovUi(value) | Self::IovI(value) => self.emit_value(&value.to_be_bytes(), out),
            Self::T200(value)
            | Self::N201U(value)
            | Self::N201I(value)
            | Self::MD(value)
            | Self::MU(value) => self.emit_value(&value.to_be_bytes(), out),
            Self::Layer3(value) | Self::Unknown { value, .. } => self.emit_value(value, out),
            Self::Reset => self.emit_value(&[], out),
        }
    }

    fn emit_value(&self, value: &[u8], out: &mut Vec<u8>) {
        let value = value.get(..VALUE_LEN_MAX).unwrap_or(value);
        let len = u8::try_from(value.len()).unwrap_or(u8::MAX);
        let kind = self.kind() << 2;
        if len > 3 {
            out.extend([XL | kind | len >> 6, len << 2]);
        } else {
            out.push(kind | len);
        }
        out.extend(value);
    }
}

/// Reads a list of parameters: the information of a XID command or response.
///
/// # Errors
/// `Truncated` where a parameter runs over the end, `BadLength` where a known type has a length that is not its own.
pub fn parse(info: &[u8]) -> Result<Vec<Parameter>, DecodeError> {
    let mut r = Reader::new(info);
    let mut parameters = Vec::new();
    while !r.is_empty() {
        let offset = r.offset();
        let first = r.u8("XID parameter")?;
        let len =
            if first & XL == 0 { first & 3 } else { (first & 3) << 6 | r.u8("XID parameter length")? >> 2 };
        let value = r.take(usize::from(len), "XID parameter value")?;
        parameters.push(Parameter::parse(first >> 2 & 0x1f, value, offset)?);
    }
    Ok(parameters)
}

/// Appends a list of parameters.
pub fn emit(parameters: &[Parameter], out: &mut Vec<u8>) {
    for parameter in parameters {
        parameter.emit(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_real_core() {
        let octets = [0x01, 0x00, 0x16, 0x01, 0xf4, 0x1a, 0x05, 0xdf];
        let parameters = parse(&octets).unwrap();
        assert_eq!(parameters, [Parameter::Version(0), Parameter::N201U(500), Parameter::N201I(1503)]);
        assert!(parameters.iter().all(Parameter::is_valid));
        let mut out = Vec::new();
        emit(&parameters, &mut out);
        assert_eq!(out, octets);
    }

    #[test]
    fn long_values_use_the_long_length() {
        let parameters =
            [Parameter::IovUi(0x0102_0304), Parameter::Layer3((0..70).collect()), Parameter::Reset];
        let mut out = Vec::new();
        emit(&parameters, &mut out);
        assert_eq!(out[..6], [0x84, 0x10, 1, 2, 3, 4]);
        assert_eq!(out[6..8], [0x80 | 11 << 2 | 1, 6 << 2]);
        assert_eq!(out[78..], [12 << 2]);
        assert_eq!(parse(&out).unwrap(), parameters);
    }

    #[test]
    fn wrong_lengths_are_named() {
        assert_eq!(parse(&[0x15, 1]).unwrap_err().to_string(), "N201-U at octet 0: impossible length 1");
        assert_eq!(
            parse(&[0x30, 0x82]).unwrap_err().to_string(),
            "XID parameter length at octet 2: needs 1 octets, has 0"
        );
        assert_eq!(parse(&[0x16, 1]).unwrap_err().ie, "XID parameter value");
        assert!(!parse(&[0x16, 0, 139]).unwrap()[0].is_valid());
        assert!(parse(&[0x7d, 9]).is_ok());
    }
}
