//! NSAPI, LLC SAPI and linked transaction identifier (clauses 10.5.6.2, 10.5.6.9 and 10.5.6.7).

use crate::error::DecodeError;
use crate::id::{Nsapi, Sapi};
use crate::l3::codec::{Element, bad_length, bad_value, first};
use serde::{Deserialize, Serialize};

impl Element for Nsapi {
    const NAME: &'static str = "NSAPI";
    const FIXED: usize = 1;

    /// Values 0 to 4 are reserved.
    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        match first::<Self, 1>(octets)? {
            [octet] if octet & 0x0f >= 5 => Ok(Self(octet & 0x0f)),
            [octet] => Err(bad_value::<Self>(0, octet & 0x0f)),
        }
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.push(self.0 & 0x0f);
    }
}

impl Element for Sapi {
    const NAME: &'static str = "LLC SAPI";
    const FIXED: usize = 1;

    /// Only the four user data SAPs and "not assigned" (0) are defined.
    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        match first::<Self, 1>(octets)? {
            [octet] if matches!(octet & 0x0f, 0 | 3 | 5 | 9 | 11) => Ok(Self(octet & 0x0f)),
            [octet] => Err(bad_value::<Self>(0, octet & 0x0f)),
        }
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.push(self.0 & 0x0f);
    }
}

/// Linked TI: the transaction identifier of another context (clause 10.5.6.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LinkedTi {
    /// 0 to 127.
    pub ti: u8,
    /// As in the header of a message about that context.
    pub ti_flag: bool,
}

impl Element for LinkedTi {
    const NAME: &'static str = "Linked TI";

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        let Some(octet) = octets.first().copied() else { return Err(bad_length::<Self>(octets)) };
        let ti = match (octet >> 4 & 7, octets.get(1).copied()) {
            (7, Some(extended @ 0x87..=0xff)) => extended & 0x7f,
            (7, Some(wrong)) => return Err(bad_value::<Self>(1, wrong)),
            (7, None) => return Err(bad_length::<Self>(octets)),
            (short, _) => short,
        };
        Ok(Self { ti, ti_flag: octet & 0x80 != 0 })
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        let flag = u8::from(self.ti_flag) << 7;
        match self.ti & 0x7f {
            short @ 0..=6 => out.push(flag | short << 4),
            extended => out.extend([flag | 0x70, 0x80 | extended]),
        }
    }
}
