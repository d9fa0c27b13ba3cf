//! Mobile identity and P-TMSI signature (clauses 10.5.1.4 and 10.5.5.8).

use crate::error::DecodeError;
use crate::id::{Imei, Imsi, PTmsi};
use crate::l3::codec::{Element, bad_length, bad_value, first};
use core::fmt;
use serde::{Deserialize, Serialize};

/// Mobile identity (clause 10.5.1.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MobileIdentity {
    /// The mobile does not have the identity that was asked for.
    None,
    /// IMSI.
    Imsi(Imsi),
    /// IMEI.
    Imei(Imei),
    /// IMEI with software version number.
    Imeisv(Imei),
    /// P-TMSI; in the elements "MS identity" the TMSI of the circuit-switched side.
    PTmsi(PTmsi),
}

const EVEN: u8 = 0x00;
const ODD: u8 = 0x08;

fn emit_digits(kind: u8, digits: impl Iterator<Item = u8>, out: &mut Vec<u8>) {
    let at = out.len();
    out.push(kind);
    let mut count = 0_usize;
    for digit in digits {
        // The first digit goes above the type, each further pair into an octet, low half first.
        match (count, out.last_mut()) {
            (n, Some(octet)) if n % 2 == 0 => *octet = (*octet & 0x0f) | digit << 4,
            _ => out.push(0xf0 | digit),
        }
        count += 1;
    }
    if let Some(octet) = out.get_mut(at) {
        *octet |= if count % 2 == 1 { ODD } else { EVEN };
    }
}

/// The digits of an identity: the upper half of the first octet, then both halves of the others, the last half
/// left out where their number is even.
fn parse_digits(octets: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let odd = octets.first().is_some_and(|octet| octet & ODD != 0);
    let count = if odd { octets.len() * 2 - 1 } else { (octets.len() * 2).saturating_sub(2) };
    octets.iter().flat_map(|octet| [octet & 0x0f, octet >> 4]).skip(1).take(count)
}

impl Element for MobileIdentity {
    const NAME: &'static str = "Mobile Identity";

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        let Some(first) = octets.first().copied() else { return Err(bad_length::<Self>(octets)) };
        let wrong = || bad_value::<Self>(0, first);
        // More octets than the longest identity has are ignored.
        let digits = || parse_digits(octets.get(..9).unwrap_or(octets));
        match first & 0x07 {
            0 => Ok(Self::None),
            1 => Imsi::from_digits(digits()).map(Self::Imsi).ok_or_else(wrong),
            2 => Imei::from_digits(digits()).map(Self::Imei).ok_or_else(wrong),
            3 => Imei::from_digits(digits()).map(Self::Imeisv).ok_or_else(wrong),
            4 => match octets {
                [_, a, b, c, d, ..] => Ok(Self::PTmsi(PTmsi(u32::from_be_bytes([*a, *b, *c, *d])))),
                _ => Err(bad_length::<Self>(octets)),
            },
            _ => Err(wrong()),
        }
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        match self {
            // Clause 10.5.1.4: three octets of digits 1111 where no identity is available.
            Self::None => out.extend([0xf0, 0xff, 0xff]),
            Self::Imsi(imsi) => emit_digits(1, imsi.digits(), out),
            Self::Imei(imei) => emit_digits(2, imei.digits(), out),
            Self::Imeisv(imei) => emit_digits(3, imei.digits(), out),
            Self::PTmsi(ptmsi) => {
                out.push(0xf4);
                out.extend(ptmsi.0.to_be_bytes());
            }
        }
    }
}

impl fmt::Display for MobileIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no identity"),
            Self::Imsi(imsi) => write!(f, "IMSI {imsi}"),
            Self::Imei(imei) => write!(f, "IMEI {imei}"),
            Self::Imeisv(imei) => write!(f, "IMEISV {imei}"),
            Self::PTmsi(ptmsi) => write!(f, "P-TMSI {ptmsi}"),
        }
    }
}

/// P-TMSI signature: 24 bits (clause 10.5.5.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct PTmsiSignature(pub u32);

impl Element for PTmsiSignature {
    const NAME: &'static str = "P-TMSI Signature";
    const FIXED: usize = 3;

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        let [a, b, c] = first::<Self, 3>(octets)?;
        Ok(Self(u32::from_be_bytes([0, a, b, c])))
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        let [_, a, b, c] = self.0.to_be_bytes();
        out.extend([a, b, c]);
    }
}
