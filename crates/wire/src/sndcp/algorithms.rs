//! What the fields of a compression entity mean: the algorithms of 04.65 clauses 6.5.2 to 6.5.4 and 6.6.2 [44.065].
//!
//! The fields of an [`Entity`] are the PCOMP or DCOMP values where it is proposed (P = 1), then its applicable NSAPIs, then
//! the algorithm's own parameters. Whoever leaves parameters out at the end leaves them as they are, or, in a proposal, at
//! their defaults ([`Rfc1144::DEFAULT`], [`V42bis::DEFAULT`]).

use super::xid::Entity;
use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::Nsapi;
use serde::{Deserialize, Serialize};

/// Algorithms of protocol control information compression (clause 6.5.1.1.4).
pub mod protocol_algorithm {
    /// TCP/IP headers after RFC 1144: two PCOMP values.
    pub const RFC_1144: u8 = 0;
    /// IP headers after RFC 2507: five PCOMP values.
    pub const RFC_2507: u8 = 1;
    /// Robust header compression after RFC 3095: two PCOMP values.
    pub const ROHC: u8 = 2;

    /// How many PCOMP values an algorithm has; `None` where it is not defined.
    #[must_use]
    pub const fn pcomps(algorithm: u8) -> Option<usize> {
        match algorithm {
            RFC_1144 | ROHC => Some(2),
            RFC_2507 => Some(5),
            _ => None,
        }
    }
}

/// Algorithms of data compression (clause 6.6.1.1.4).
pub mod data_algorithm {
    /// ITU-T V.42bis: one DCOMP value.
    pub const V42BIS: u8 = 0;
    /// ITU-T V.44: two DCOMP values.
    pub const V44: u8 = 1;

    /// How many DCOMP values an algorithm has; `None` where it is not defined.
    #[must_use]
    pub const fn dcomps(algorithm: u8) -> Option<usize> {
        match algorithm {
            V42BIS => Some(1),
            V44 => Some(2),
            _ => None,
        }
    }
}

/// Applicable NSAPIs: bit n stands for NSAPI n, 5 to 15.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct NsapiSet(u16);

impl NsapiSet {
    /// No NSAPI: the entity is refused, or ends.
    pub const NONE: Self = Self(0);

    /// From the bits of the field; spare bits count for nothing.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & 0xffe0)
    }

    /// The bits of the field.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The same with one more. NSAPIs outside 5 to 15 change nothing.
    #[must_use]
    pub const fn with(self, nsapi: Nsapi) -> Self {
        if nsapi.0 < 16 { Self::from_bits(self.0 | 1 << nsapi.0) } else { self }
    }

    /// The same without one.
    #[must_use]
    pub const fn without(self, nsapi: Nsapi) -> Self {
        if nsapi.0 < 16 { Self(self.0 & !(1 << nsapi.0)) } else { self }
    }

    /// Those in both.
    #[must_use]
    pub const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Is it among them?
    #[must_use]
    pub const fn has(self, nsapi: Nsapi) -> bool {
        nsapi.0 < 16 && self.0 >> nsapi.0 & 1 == 1
    }

    /// Those in one of them.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those of this one that are not in the other.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// True where there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All of them, rising.
    pub fn iter(self) -> impl Iterator<Item = Nsapi> {
        (5..16).map(Nsapi).filter(move |nsapi| self.has(*nsapi))
    }

    fn parse(r: &mut Reader<'_>) -> Result<Option<Self>, DecodeError> {
        if r.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self::from_bits(u16::from_be_bytes(r.array("Applicable NSAPIs")?))))
    }
}

impl FromIterator<Nsapi> for NsapiSet {
    fn from_iter<I: IntoIterator<Item = Nsapi>>(nsapis: I) -> Self {
        nsapis.into_iter().fold(Self::NONE, Self::with)
    }
}

/// Parameters of RFC 1144 (clause 6.5.2.1). What is `None` was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rfc1144 {
    /// Applicable NSAPIs, negotiated down.
    pub nsapis: Option<NsapiSet>,
    /// S0 − 1: slots less one, negotiated down.
    pub s0_minus_1: Option<u8>,
}

impl Rfc1144 {
    /// Where a proposal leaves them out.
    pub const DEFAULT: Self = Self { nsapis: Some(NsapiSet::NONE), s0_minus_1: Some(15) };

    /// Reads what follows the PCOMP values.
    ///
    /// # Errors
    /// `Truncated` inside a parameter, `BadLength` where more follows.
    pub fn parse(fields: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(fields);
        let nsapis = NsapiSet::parse(&mut r)?;
        let s0_minus_1 = optional(&mut r, "S0-1")?;
        end(&r, "RFC 1144 parameters").map(|()| Self { nsapis, s0_minus_1 })
    }

    /// The octets, up to the first parameter that is left out.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(nsapis) = self.nsapis {
            out.extend(nsapis.bits().to_be_bytes());
            out.extend(self.s0_minus_1);
        }
        out
    }
}

/// Parameters of V.42bis (clause 6.6.2.1). What is `None` was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct V42bis {
    /// Applicable NSAPIs, negotiated down.
    pub nsapis: Option<NsapiSet>,
    /// P0: which directions are compressed, bit by bit negotiated down.
    pub p0: Option<u8>,
    /// P1: codewords, 512 to 65535, negotiated down.
    pub p1: Option<u16>,
    /// P2: octets of the longest string, 6 to 250, negotiated down.
    pub p2: Option<u8>,
}

impl V42bis {
    /// P0: what the mobile sends is compressed.
    pub const P0_MS: u8 = 1;
    /// P0: what the SGSN sends is compressed.
    pub const P0_SGSN: u8 = 2;
    /// Fewest codewords.
    pub const P1_MIN: u16 = 512;
    /// Octets of the shortest longest string.
    pub const P2_MIN: u8 = 6;
    /// Octets of the longest longest string.
    pub const P2_MAX: u8 = 250;
    /// Where a proposal leaves them out.
    pub const DEFAULT: Self =
        Self { nsapis: Some(NsapiSet::NONE), p0: Some(3), p1: Some(2048), p2: Some(20) };

    /// Reads what follows the DCOMP value.
    ///
    /// # Errors
    /// `Truncated` inside a parameter, `BadLength` where more follows. Values out of their range are read: what follows
    /// from them is a matter of the negotiation ([`V42bis::is_valid`]).
    pub fn parse(fields: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(fields);
        let nsapis = NsapiSet::parse(&mut r)?;
        let p0 = optional(&mut r, "P0")?.map(|p0| p0 & 3);
        let p1 = if r.is_empty() { None } else { Some(u16::from_be_bytes(r.array("P1")?)) };
        let p2 = optional(&mut r, "P2")?;
        end(&r, "V.42bis parameters").map(|()| Self { nsapis, p0, p1, p2 })
    }

    /// The octets, up to the first parameter that is left out.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let Some(nsapis) = self.nsapis else { return out };
        out.extend(nsapis.bits().to_be_bytes());
        let Some(p0) = self.p0 else { return out };
        out.push(p0 & 3);
        let Some(p1) = self.p1 else { return out };
        out.extend(p1.to_be_bytes());
        out.extend(self.p2);
        out
    }

    /// True where what is there is in its range.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.p1.is_none_or(|p1| p1 >= Self::P1_MIN)
            && self.p2.is_none_or(|p2| (Self::P2_MIN..=Self::P2_MAX).contains(&p2))
    }
}

fn optional(r: &mut Reader<'_>, ie: &'static str) -> Result<Option<u8>, DecodeError> {
    if r.is_empty() { Ok(None) } else { r.u8(ie).map(Some) }
}

fn end(r: &Reader<'_>, ie: &'static str) -> Result<(), DecodeError> {
    if r.is_empty() {
        return Ok(());
    }
    let octets = r.offset() + r.remaining();
    Err(DecodeError::new(ie, r.offset(), DecodeErrorKind::BadLength(octets)))
}

impl Entity {
    /// A proposal (P = 1) of an algorithm with its PCOMP or DCOMP values, `parameters` behind them.
    #[must_use]
    pub fn proposed(number: u8, algorithm: u8, comps: &[u8], parameters: &[u8]) -> Self {
        let mut fields: Vec<u8> = comps
            .chunks(2)
            .map(|pair| match *pair {
                [high, low] => high << 4 | (low & 0xf),
                [high] => high << 4,
                _ => 0,
            })
            .collect();
        fields.extend(parameters);
        Self { number, algorithm: Some(algorithm), fields }
    }

    /// What is said of an entity that exists already, in a command as in a response (P = 0).
    #[must_use]
    pub fn existing(number: u8, parameters: &[u8]) -> Self {
        Self { number, algorithm: None, fields: parameters.to_vec() }
    }

    /// The `count` PCOMP or DCOMP values of a proposal, and what follows them; the spare half of an octet counts for
    /// nothing.
    ///
    /// # Errors
    /// `Truncated` where there are fewer.
    pub fn comps(&self, count: usize) -> Result<(Vec<u8>, &[u8]), DecodeError> {
        let mut r = Reader::new(&self.fields);
        let octets = r.take(count.div_ceil(2), "PCOMP and DCOMP")?;
        let values = octets.iter().flat_map(|octet| [octet >> 4, octet & 0xf]).take(count).collect();
        Ok((values, self.fields.get(r.offset()..).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_of_v42bis() {
        let nsapis: NsapiSet = [Nsapi(5), Nsapi(15), Nsapi(3), Nsapi(16)].into_iter().collect();
        let parameters = V42bis { nsapis: Some(nsapis), p0: Some(2), p1: Some(0x1234), p2: Some(33) };
        let entity = Entity::proposed(4, data_algorithm::V42BIS, &[9], &parameters.emit());
        assert_eq!(entity.fields, [0x90, 0x80, 0x20, 2, 0x12, 0x34, 33]);
        let (comps, rest) = entity.comps(1).unwrap();
        assert_eq!((comps, V42bis::parse(rest)), (vec![9], Ok(parameters)));
        assert_eq!(nsapis.iter().collect::<Vec<_>>(), [Nsapi(5), Nsapi(15)]);
    }

    #[test]
    fn what_is_left_out_at_the_end() {
        let nsapis = Some(NsapiSet::from_bits(0x0020));
        assert_eq!(Rfc1144::parse(&[]), Ok(Rfc1144::default()));
        assert_eq!(Rfc1144::parse(&[0, 0x3f]), Ok(Rfc1144 { nsapis, s0_minus_1: None }));
        assert_eq!(Rfc1144 { nsapis: None, s0_minus_1: Some(3) }.emit(), []);
        assert_eq!(V42bis::parse(&[0, 0x20, 0xff]), Ok(V42bis { nsapis, p0: Some(3), ..V42bis::default() }));
        let gap = V42bis { nsapis, p0: None, p1: Some(512), p2: Some(6) };
        assert_eq!(gap.emit(), [0, 0x20]);
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        let error = |error: Result<Rfc1144, DecodeError>| error.unwrap_err().to_string();
        assert_eq!(error(Rfc1144::parse(&[1])), "Applicable NSAPIs at octet 0: needs 2 octets, has 1");
        assert_eq!(
            error(Rfc1144::parse(&[0, 0x20, 3, 9])),
            "RFC 1144 parameters at octet 3: impossible length 4"
        );
        assert_eq!(V42bis::parse(&[0, 0x20, 3, 9]).unwrap_err().ie, "P1");
        assert_eq!(V42bis::parse(&[0, 0x20, 3, 9, 9, 9, 9]).unwrap_err().ie, "V.42bis parameters");
        let entity = Entity::proposed(1, protocol_algorithm::RFC_2507, &[1, 2, 3], &[]);
        assert_eq!(entity.comps(5).unwrap_err().ie, "PCOMP and DCOMP");
    }

    #[test]
    fn ranges() {
        let of = |p1, p2| V42bis { p1, p2, ..V42bis::default() }.is_valid();
        assert!(of(None, None) && of(Some(512), Some(6)) && of(Some(65535), Some(250)));
        assert!(!of(Some(511), None) && !of(None, Some(5)) && !of(None, Some(251)));
    }

    #[test]
    fn algorithms_have_their_numbers_of_values() {
        let of_protocol = [0, 1, 2, 3].map(protocol_algorithm::pcomps);
        assert_eq!(of_protocol, [Some(2), Some(5), Some(2), None]);
        assert_eq!([0, 1, 2].map(data_algorithm::dcomps), [Some(1), Some(2), None]);
    }
}
