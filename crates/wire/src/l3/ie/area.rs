//! Routing area identification and equivalent networks (clauses 10.5.5.15 and 10.5.1.13).

use crate::error::DecodeError;
use crate::id::{Plmn, Rai};
use crate::l3::codec::{Element, bad_length, first};

impl Element for Rai {
    const NAME: &'static str = "Routing Area Identification";
    const FIXED: usize = Self::LEN;

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self::from_octets(first::<Self, { Self::LEN }>(octets)?))
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.extend(self.to_octets());
    }
}

/// PLMN List: networks that the mobile may treat as its registered one; up to 15 (clause 10.5.1.13).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EquivalentPlmns(pub Vec<Plmn>);

impl EquivalentPlmns {
    /// How many networks an element holds.
    pub const MAX: usize = 15;
}

impl Element for EquivalentPlmns {
    const NAME: &'static str = "PLMN List";

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        if octets.is_empty() || !octets.len().is_multiple_of(3) {
            return Err(bad_length::<Self>(octets));
        }
        let (networks, _) = octets.as_chunks::<3>();
        Ok(Self(networks.iter().take(Self::MAX).map(|plmn| Plmn::from_octets(*plmn)).collect()))
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        for plmn in self.0.iter().take(Self::MAX) {
            out.extend(plmn.to_octets());
        }
    }
}
