//! What a mobile can do: network capability, radio access capability, DRX (clauses 10.5.5.12, 10.5.5.12a, 10.5.5.6).

use super::Octets;
use crate::error::DecodeError;
use crate::l3::codec::{Element, bad_length, first};
use serde::{Deserialize, Serialize};

/// MS network capability: kept as it came, up to 8 octets, and asked by name (clause 10.5.5.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MsNetworkCapability(pub Octets<8>);

impl MsNetworkCapability {
    /// A mobile of R99 with GEA1 to GEA3, SMS over both paths and packet flow contexts.
    #[must_use]
    pub fn typical() -> Self {
        Self(Octets::from_start(&[0xe5, 0xe0]))
    }

    /// The same with these ciphers and no others: bit n of `geas` stands for GEA/n, 1 to 7.
    #[must_use]
    pub fn with_geas(&self, geas: u8) -> Self {
        let mut octets = [0; 8];
        for (place, octet) in octets.iter_mut().zip(self.0.as_slice()) {
            *place = *octet;
        }
        let [first, second, ..] = &mut octets;
        *first = *first & 0x7f | (geas >> 1 & 1) << 7;
        *second = (2..=7).fold(*second & 0x81, |octet, gea| octet | (geas >> gea & 1) << (8 - gea));
        Self(Octets::from_start(octets.get(..self.0.len().max(2)).unwrap_or_default()))
    }

    /// True where the cipher GEA/`number` is supported, 1 to 7.
    #[must_use]
    pub fn supports_gea(&self, number: u8) -> bool {
        match number {
            1 => self.0.octet(0) & 0x80 != 0,
            2..=7 => self.0.octet(1) & (0x80 >> (number - 1)) != 0,
            _ => false,
        }
    }

    /// Mobile-terminated SMS over dedicated channels.
    #[must_use]
    pub fn sms_dedicated(&self) -> bool {
        self.0.octet(0) & 0x40 != 0
    }

    /// Mobile-terminated SMS over GPRS.
    #[must_use]
    pub fn sms_gprs(&self) -> bool {
        self.0.octet(0) & 0x20 != 0
    }

    /// The mobile has no preference for default alphabet over UCS2.
    #[must_use]
    pub fn ucs2(&self) -> bool {
        self.0.octet(0) & 0x10 != 0
    }

    /// Localised service areas.
    #[must_use]
    pub fn solsa(&self) -> bool {
        self.0.octet(0) & 0x02 != 0
    }

    /// The mobile is of R99 or later.
    #[must_use]
    pub fn revision_r99(&self) -> bool {
        self.0.octet(0) & 0x01 != 0
    }

    /// BSS packet flow procedures.
    #[must_use]
    pub fn packet_flow_contexts(&self) -> bool {
        self.0.octet(1) & 0x80 != 0
    }
}

impl Element for MsNetworkCapability {
    const NAME: &'static str = "MS Network Capability";

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        if octets.is_empty() {
            return Err(bad_length::<Self>(octets));
        }
        Ok(Self(Octets::from_start(octets)))
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.extend(self.0.as_slice());
    }
}

/// MS radio access capability: CSN.1 that the SGSN hands to the BSS unread, up to 50 octets (clause 10.5.5.12a).
///
/// The clause asks for at least five octets. Real mobiles send none, and since nothing here depends on the content,
/// none is accepted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MsRadioAccessCapability(pub Vec<u8>);

impl MsRadioAccessCapability {
    /// That of an R99 mobile for GSM 900 of class 4 (2 W) with A5/1 and A5/3, of this GPRS multislot class, 1 to 29, and without
    /// EGPRS: 34 bits of CSN.1.
    #[must_use]
    pub fn typical(multislot_class: u8) -> Self {
        // The class begins with the third bit of its octet from the end.
        let (high, low) = (multislot_class >> 2 & 7, (multislot_class & 3) << 6);
        Self(vec![0x14, 0x53, 0x42, 0x28 | high, low, 0x40])
    }
}

impl Element for MsRadioAccessCapability {
    const NAME: &'static str = "MS Radio Access Capability";

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self(octets.to_vec()))
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.extend(self.0.iter().take(255));
    }
}

/// DRX parameter: when a mobile listens to paging (clause 10.5.5.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DrxParameter {
    /// SPLIT PG CYCLE CODE; 0 stands for 704 (no DRX).
    pub split_pg_cycle: u8,
    /// CN specific DRX cycle length coefficient, 4 bits.
    pub cn_drx_coefficient: u8,
    /// Split paging cycle on CCCH is supported.
    pub split_on_ccch: bool,
    /// Non-DRX timer, 3 bits: 0 none, n: 2^(n-1) seconds.
    pub non_drx_timer: u8,
}

impl DrxParameter {
    /// The two octets, which BSSGP carries too (08.18 clause 11.3.11).
    #[must_use]
    pub const fn to_octets(self) -> [u8; 2] {
        let split = if self.split_on_ccch { 0x08 } else { 0 };
        [self.split_pg_cycle, (self.cn_drx_coefficient & 0x0f) << 4 | split | (self.non_drx_timer & 0x07)]
    }
}

impl Element for DrxParameter {
    const NAME: &'static str = "DRX Parameter";
    const FIXED: usize = 2;

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        let [split_pg_cycle, second] = first::<Self, 2>(octets)?;
        Ok(Self {
            split_pg_cycle,
            cn_drx_coefficient: second >> 4,
            split_on_ccch: second & 0x08 != 0,
            non_drx_timer: second & 0x07,
        })
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.extend(self.to_octets());
    }
}
