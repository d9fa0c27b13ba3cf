//! What GMM Information tells the user: names, time, daylight saving, LSA (clauses 10.5.3.5a, 10.5.3.8, 10.5.3.9,
//! 10.5.3.11 and 10.5.3.12).

use crate::error::DecodeError;
use crate::l3::codec::{Element, bad_length, bad_value, first};
use serde::{Deserialize, Serialize};

/// Network name: how its text is coded, and the text as octets (clause 10.5.3.5a).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetworkName {
    /// 0: GSM default alphabet, packed in septets; 1: UCS2. Three bits.
    pub coding: u8,
    /// The mobile should add the initials of the country.
    pub add_country_initials: bool,
    /// Unused bits in the last octet, 0 to 7.
    pub spare_bits: u8,
    /// The coded text.
    pub text: Vec<u8>,
}

impl NetworkName {
    /// A name in the GSM default alphabet. Characters outside of letters, digits, space and `.,-+*/()&` become `?`.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let septets = text.chars().map(|c| match c {
            'A'..='Z' | 'a'..='z' | '0'..='9' | ' ' | '.' | ',' | '-' | '+' | '*' | '/' | '(' | ')' | '&' => {
                u8::try_from(c).unwrap_or(b'?')
            }
            _ => b'?',
        });
        let (mut packed, mut pending, mut bits) = (Vec::new(), 0_u16, 0_u32);
        for septet in septets.take(200) {
            pending |= u16::from(septet) << bits;
            bits += 7;
            if bits >= 8 {
                let [_, low] = pending.to_be_bytes();
                packed.push(low);
                pending >>= 8;
                bits -= 8;
            }
        }
        let mut spare_bits = 0;
        if bits > 0 {
            let [_, low] = pending.to_be_bytes();
            packed.push(low);
            spare_bits = u8::try_from(8 - bits).unwrap_or(0);
        }
        Self { coding: 0, add_country_initials: false, spare_bits, text: packed }
    }
}

impl Element for NetworkName {
    const NAME: &'static str = "Network Name";

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        let Some((head, text)) = octets.split_first() else { return Err(bad_length::<Self>(octets)) };
        Ok(Self {
            coding: head >> 4 & 7,
            add_country_initials: head & 8 != 0,
            spare_bits: head & 7,
            text: text.to_vec(),
        })
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        let initials = u8::from(self.add_country_initials) << 3;
        out.push(0x80 | (self.coding & 7) << 4 | initials | (self.spare_bits & 7));
        out.extend(self.text.iter().take(254));
    }
}

/// Time zone: quarters of an hour east of Greenwich, -79 to 79 (clause 10.5.3.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TimeZone(pub i8);

/// Two decimal digits, the first one in the low half.
fn semi_octets(value: u8) -> u8 {
    (value % 10) << 4 | (value / 10 % 10)
}

fn from_semi_octets<E: Element>(offset: usize, octet: u8) -> Result<u8, DecodeError> {
    match (octet & 0x0f, octet >> 4) {
        (tens @ 0..=9, units @ 0..=9) => Ok(tens * 10 + units),
        _ => Err(bad_value::<E>(offset, octet)),
    }
}

impl TimeZone {
    fn to_octet(self) -> u8 {
        semi_octets(self.0.unsigned_abs().min(79)) | if self.0 < 0 { 0x08 } else { 0 }
    }

    fn from_octet<E: Element>(offset: usize, octet: u8) -> Result<Self, DecodeError> {
        let quarters = i8::try_from(from_semi_octets::<E>(offset, octet & !0x08)?).unwrap_or(0);
        Ok(Self(if octet & 0x08 != 0 { -quarters } else { quarters }))
    }
}

impl Element for TimeZone {
    const NAME: &'static str = "Time Zone";
    const FIXED: usize = 1;

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        let [octet] = first::<Self, 1>(octets)?;
        Self::from_octet::<Self>(0, octet)
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.push(self.to_octet());
    }
}

/// Universal time and local time zone (clause 10.5.3.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UniversalTime {
    /// 0 to 99.
    pub year: u8,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// The local zone.
    pub zone: TimeZone,
}

impl Element for UniversalTime {
    const NAME: &'static str = "Universal Time and Local Time Zone";
    const FIXED: usize = 7;

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        let [year, month, day, hour, minute, second, zone] = first::<Self, 7>(octets)?;
        Ok(Self {
            year: from_semi_octets::<Self>(0, year)?,
            month: from_semi_octets::<Self>(1, month)?,
            day: from_semi_octets::<Self>(2, day)?,
            hour: from_semi_octets::<Self>(3, hour)?,
            minute: from_semi_octets::<Self>(4, minute)?,
            second: from_semi_octets::<Self>(5, second)?,
            zone: TimeZone::from_octet::<Self>(6, zone)?,
        })
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.extend([self.year, self.month, self.day, self.hour, self.minute, self.second].map(semi_octets));
        out.push(self.zone.to_octet());
    }
}

/// LSA identity: none, or three octets (clause 10.5.3.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LsaIdentity(pub Option<[u8; 3]>);

impl Element for LsaIdentity {
    const NAME: &'static str = "LSA Identity";

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        match octets {
            [] => Ok(Self(None)),
            [_, _, _, ..] => Ok(Self(Some(first::<Self, 3>(octets)?))),
            _ => Err(bad_length::<Self>(octets)),
        }
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.extend(self.0.into_iter().flatten());
    }
}

/// Daylight saving time: 0, 1 or 2 hours in summer (clause 10.5.3.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DaylightSaving(pub u8);

impl Element for DaylightSaving {
    const NAME: &'static str = "Daylight Saving Time";
    const FIXED: usize = 1;

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        match first::<Self, 1>(octets)? {
            [octet] if octet & 3 < 3 => Ok(Self(octet & 3)),
            [octet] => Err(bad_value::<Self>(0, octet)),
        }
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.push(self.0 & 3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_packed_in_septets() {
        let name = NetworkName::from_text("hellohello");
        assert_eq!(name.text, [0xe8, 0x32, 0x9b, 0xfd, 0x46, 0x97, 0xd9, 0xec, 0x37]);
        assert_eq!(name.spare_bits, 2);
    }

    #[test]
    fn zones_east_and_west() {
        assert_eq!(TimeZone(8).to_octet(), 0x80);
        assert_eq!(TimeZone(-22).to_octet(), 0x2a);
        assert_eq!(TimeZone::parse_value(&[0x2a]), Ok(TimeZone(-22)));
    }
}
