//! XID parameters of SNDCP (04.65 clause 8 [44.065]), carried in LLC's layer-3 parameters.
//!
//! The block is a list of parameters: version, data compression entities, protocol control information compression
//! entities. An entity keeps its fields as octets, so that algorithms that nobody here knows survive reading and
//! writing, and can be refused in the response.

use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};

const VERSION: u8 = 0;
const DATA: u8 = 1;
const PROTOCOL: u8 = 2;
const P: u8 = 0x80;

/// One parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parameter {
    /// SNDCP version, 0 to 15.
    Version(u8),
    /// Data compression.
    Data(Vec<Entity>),
    /// Protocol control information compression.
    Protocol(Vec<Entity>),
    /// A type that is not defined.
    Unknown {
        /// Its number.
        kind: u8,
        /// At most 255 octets.
        value: Vec<u8>,
    },
}

/// A compression entity (clauses 6.5.1.1 and 6.6.1.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Entity number, 0 to 31.
    pub number: u8,
    /// With P = 1, where the entity is proposed: its algorithm, 0 to 31.
    pub algorithm: Option<u8>,
    /// With P = 1 the DCOMP or PCOMP values, two in an octet; then applicable NSAPIs and the algorithm's own
    /// parameters. Parameters left out at the end keep their former or default value. At most 255 octets.
    pub fields: Vec<u8>,
}

impl Entity {
    /// The answer that refuses this entity: no NSAPI applies (clauses 6.5.1.1.4 and 6.6.1.1.3).
    #[must_use]
    pub fn refused(&self) -> Self {
        Self { number: self.number, algorithm: None, fields: vec![0, 0] }
    }

    fn parse(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let first = r.u8("Entity number")?;
        let algorithm = if first & P == 0 { None } else { Some(r.u8("Algorithm type")? & 0x1f) };
        let len = r.u8("Entity length")?;
        let fields = r.take(usize::from(len), "Entity fields")?.to_vec();
        Ok(Self { number: first & 0x1f, algorithm, fields })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let number = self.number & 0x1f;
        match self.algorithm {
            Some(algorithm) => out.extend([P | number, algorithm & 0x1f]),
            None => out.push(number),
        }
        emit_with_length(&self.fields, out);
    }
}

fn emit_with_length(value: &[u8], out: &mut Vec<u8>) {
    let value = value.get(..255).unwrap_or(value);
    out.push(u8::try_from(value.len()).unwrap_or(u8::MAX));
    out.extend(value);
}

impl Parameter {
    fn parse(kind: u8, value: &[u8], offset: usize) -> Result<Self, DecodeError> {
        let entities = || {
            let mut r = Reader::new(value);
            let mut entities = Vec::new();
            while !r.is_empty() {
                entities.push(Entity::parse(&mut r).map_err(|error| error.shifted(offset))?);
            }
            Ok(entities)
        };
        Ok(match (kind, value) {
            (VERSION, [version]) => Self::Version(version & 0xf),
            (VERSION, _) => {
                return Err(DecodeError::new(
                    "SNDCP version",
                    offset,
                    DecodeErrorKind::BadLength(value.len()),
                ));
            }
            (DATA, _) => Self::Data(entities()?),
            (PROTOCOL, _) => Self::Protocol(entities()?),
            _ => Self::Unknown { kind, value: value.to_vec() },
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let of_entities = |entities: &[Entity]| {
            let mut value = Vec::new();
            for entity in entities {
                entity.emit(&mut value);
            }
            value
        };
        let (kind, value) = match self {
            Self::Version(version) => (VERSION, vec![version & 0xf]),
            Self::Data(entities) => (DATA, of_entities(entities)),
            Self::Protocol(entities) => (PROTOCOL, of_entities(entities)),
            Self::Unknown { kind, value } => (*kind, value.clone()),
        };
        out.push(kind);
        emit_with_length(&value, out);
    }
}

/// Reads a block.
///
/// # Errors
/// `Truncated` where a parameter or an entity runs over its end, `BadLength` where the version is not one octet.
pub fn parse(block: &[u8]) -> Result<Vec<Parameter>, DecodeError> {
    let mut r = Reader::new(block);
    let mut parameters = Vec::new();
    while !r.is_empty() {
        let kind = r.u8("SNDCP parameter type")?;
        let len = r.u8("SNDCP parameter length")?;
        let offset = r.offset();
        let value = r.take(usize::from(len), "SNDCP parameter value")?;
        parameters.push(Parameter::parse(kind, value, offset)?);
    }
    Ok(parameters)
}

/// Appends a block. A value of more than 255 octets does not fit the format and is cut.
pub fn emit(parameters: &[Parameter], out: &mut Vec<u8>) {
    for parameter in parameters {
        parameter.emit(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Nsapi;
    use crate::sndcp::algorithms::{Rfc1144, protocol_algorithm};

    #[test]
    fn rfc_1144_and_an_unknown_algorithm() {
        let block = [
            0, 1, 0, // version 0
            2, 13, // protocol control information compression
            0x81, 0, 4, 0x12, 0x00, 0x60,
            15, // entity 1: RFC 1144, PCOMP 1 and 2, NSAPIs 5 and 6, 16 slots
            0x82, 30, 3, 0x30, 0x00, 0x20, // entity 2: an algorithm that is not defined
        ];
        let parameters = parse(&block).unwrap();
        let Parameter::Protocol(entities) = &parameters[1] else { panic!("{parameters:?}") };
        assert_eq!(entities[0].algorithm, Some(protocol_algorithm::RFC_1144));
        let (pcomps, rest) = entities[0].comps(2).unwrap();
        let parameters_of_it = Rfc1144::parse(rest).unwrap();
        assert_eq!((pcomps, parameters_of_it.s0_minus_1), (vec![1, 2], Some(15)));
        assert_eq!(parameters_of_it.nsapis.unwrap().iter().collect::<Vec<_>>(), [Nsapi(5), Nsapi(6)]);
        assert_eq!(entities[1].algorithm, Some(30));
        let mut out = Vec::new();
        emit(&parameters, &mut out);
        assert_eq!(out, block);

        let refused = Parameter::Protocol(entities.iter().map(Entity::refused).collect());
        out.clear();
        emit(&[refused], &mut out);
        assert_eq!(out, [2, 8, 1, 2, 0, 0, 2, 2, 0, 0]);
    }

    #[test]
    fn truncated_blocks_say_where() {
        assert_eq!(parse(&[0, 2, 0, 0]).unwrap_err().ie, "SNDCP version");
        let error = parse(&[0, 1, 0, 1, 4, 0x81, 0, 4, 0x10]).unwrap_err();
        assert_eq!(error.to_string(), "Entity fields at octet 8: needs 4 octets, has 1");
    }
}
