//! Which contexts are active, and how far their N-PDUs have come (clauses 10.5.7.1 and 10.5.5.11).

use crate::error::DecodeError;
use crate::id::Nsapi;
use crate::l3::codec::{Element, bad_length, first};
use serde::{Deserialize, Serialize};

/// PDP context status: bit n stands for NSAPI n, 5 to 15 (clause 10.5.7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct PdpContextStatus(pub u16);

impl PdpContextStatus {
    /// True where the context of `nsapi` is not inactive.
    #[must_use]
    pub fn is_active(self, nsapi: Nsapi) -> bool {
        nsapi.0 < 16 && self.0 & 1 << nsapi.0 != 0
    }

    /// Says that the context of `nsapi` is not inactive.
    pub fn set(&mut self, nsapi: Nsapi) {
        if nsapi.0 < 16 {
            self.0 |= 1 << nsapi.0;
        }
    }
}

impl Element for PdpContextStatus {
    const NAME: &'static str = "PDP Context Status";
    const FIXED: usize = 2;

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self(u16::from_le_bytes(first::<Self, 2>(octets)?)))
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.extend(self.0.to_le_bytes());
    }
}

/// Receive N-PDU numbers list: the next N-PDU that is expected on each acknowledged context, twelve bits each
/// (clause 10.5.5.11).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReceiveNpduNumbers(pub Vec<(Nsapi, u8)>);

impl ReceiveNpduNumbers {
    /// How many contexts there can be.
    pub const MAX: usize = 11;
}

impl Element for ReceiveNpduNumbers {
    const NAME: &'static str = "Receive N-PDU Numbers List";

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        if octets.len() < 2 {
            return Err(bad_length::<Self>(octets));
        }
        let pairs = octets.chunks(3).flat_map(|chunk| match *chunk {
            [a, b, c] => [Some((a >> 4, a << 4 | b >> 4)), Some((b & 0x0f, c))],
            [a, b] => [Some((a >> 4, a << 4 | b >> 4)), None],
            _ => [None, None],
        });
        Ok(Self(pairs.flatten().take(Self::MAX).map(|(nsapi, number)| (Nsapi(nsapi), number)).collect()))
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        for pair in self.0.iter().take(Self::MAX).collect::<Vec<_>>().chunks(2) {
            match *pair {
                [(one, n1), (two, n2)] => out.extend([one.0 << 4 | n1 >> 4, n1 << 4 | two.0 & 0x0f, *n2]),
                [(one, n1)] => out.extend([one.0 << 4 | n1 >> 4, n1 << 4]),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nsapi_bits_have_the_octet_order_of_the_clause() {
        let mut status = PdpContextStatus::default();
        status.set(Nsapi(5));
        status.set(Nsapi(8));
        let mut out = Vec::new();
        status.emit_value(&mut out);
        assert_eq!(out, [0x20, 0x01]);
        assert!(status.is_active(Nsapi(5)) && !status.is_active(Nsapi(6)));
    }

    #[test]
    fn npdu_numbers_of_twelve_bits() {
        for (list, octets) in [
            (vec![(Nsapi(5), 0xab)], vec![0x5a, 0xb0]),
            (vec![(Nsapi(5), 0xab), (Nsapi(15), 0x01)], vec![0x5a, 0xbf, 0x01]),
        ] {
            let list = ReceiveNpduNumbers(list);
            let mut out = Vec::new();
            list.emit_value(&mut out);
            assert_eq!(out, octets);
            assert_eq!(ReceiveNpduNumbers::parse_value(&out), Ok(list));
        }
    }
}
