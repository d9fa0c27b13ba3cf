//! The IPA multiplex, in which GSUP comes over TCP: header, link management (CCM), and messages out of a stream.
//!
//! No specification of 3GPP has it; the format is that of ip.access's Abis over IP, as Wireshark's dissector `gsm_ipa`
//! reads it. A message is the length of its payload (two octets), a protocol, and the payload; Osmocom's protocols share
//! one number and are told apart by an extension in the first octet of the payload.

use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::octet_enum::octet_enum;
use core::fmt;

/// Octets of length and protocol.
pub const HEADER_LEN: usize = 3;
/// The protocol of link management.
pub const PROTOCOL_CCM: u8 = 0xfe;
/// The protocol that Osmocom's extensions share.
pub const PROTOCOL_OSMO: u8 = 0xee;
/// Osmocom's extension for GSUP.
pub const EXTENSION_GSUP: u8 = 0x05;
/// The longest payload that the length field can say.
pub const PAYLOAD_MAX: usize = 0xffff;

octet_enum! {
    /// What an identity request asks for and its response says.
    IdTag {
        /// Serial number: by this name osmo-hlr knows who is connected.
        SerialNumber = 0, "serial number";
        /// Name of the unit.
        UnitName = 1, "unit name";
        /// Where it stands.
        Location1 = 2, "location 1";
        /// Where it stands, continued.
        Location2 = 3, "location 2";
        /// Version of the equipment.
        EquipmentVersion = 4, "equipment version";
        /// Version of the software.
        SoftwareVersion = 5, "software version";
        /// IP address.
        IpAddress = 6, "IP address";
        /// MAC address.
        MacAddress = 7, "MAC address";
        /// Number of the unit: three numbers with slashes between them.
        UnitId = 8, "unit id";
    }
}

/// A message of link management.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ccm {
    /// Are you there?
    Ping,
    /// Yes.
    Pong,
    /// Who are you?
    IdGet(Vec<IdTag>),
    /// So is the sender called. The values are without the NUL that ends them on the wire.
    IdResp(Vec<(IdTag, Vec<u8>)>),
    /// The identities are known.
    IdAck,
}

const PING: u8 = 0x00;
const PONG: u8 = 0x01;
const ID_GET: u8 = 0x04;
const ID_RESP: u8 = 0x05;
const ID_ACK: u8 = 0x06;

impl Ccm {
    /// Reads the payload of a message of [`PROTOCOL_CCM`]. Octets behind a message that has no content are ignored.
    ///
    /// # Errors
    /// `Truncated`, `BadLength` for an identity without a tag, `UnknownMessage`.
    pub fn parse(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(payload);
        match r.u8("CCM message type")? {
            PING => Ok(Self::Ping),
            PONG => Ok(Self::Pong),
            ID_GET => parse_tags(&mut r).map(Self::IdGet),
            ID_RESP => parse_identities(&mut r).map(Self::IdResp),
            ID_ACK => Ok(Self::IdAck),
            other => Err(DecodeError::new("CCM message type", 0, DecodeErrorKind::UnknownMessage(other))),
        }
    }

    /// Appends the whole message, header and all. An identity response that is longer than the length field can say is
    /// cut behind the last identity that fits.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let mut payload = vec![match self {
            Self::Ping => PING,
            Self::Pong => PONG,
            Self::IdGet(_) => ID_GET,
            Self::IdResp(_) => ID_RESP,
            Self::IdAck => ID_ACK,
        }];
        match self {
            Self::Ping | Self::Pong | Self::IdAck => {}
            Self::IdGet(tags) => payload.extend(tags.iter().flat_map(|tag| [1, tag.octet()])),
            Self::IdResp(identities) => {
                for (tag, value) in identities {
                    let Ok(len) = u16::try_from(value.len() + 2) else { break };
                    if payload.len() + value.len() + 4 > PAYLOAD_MAX {
                        break;
                    }
                    payload.extend(len.to_be_bytes());
                    payload.push(tag.octet());
                    payload.extend(value);
                    payload.push(0);
                }
            }
        }
        put(PROTOCOL_CCM, &payload, out);
    }

    /// The whole message.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.emit(&mut out);
        out
    }
}

/// Length (1 octet, with the tag) and tag, again and again.
fn parse_tags(r: &mut Reader<'_>) -> Result<Vec<IdTag>, DecodeError> {
    let mut tags = Vec::new();
    while !r.is_empty() {
        let at = r.offset();
        let len = usize::from(r.u8("identity tag")?);
        let [tag, ..] = r.take(len, "identity tag")? else {
            return Err(DecodeError::new("identity tag", at, DecodeErrorKind::BadLength(len)));
        };
        tags.push(IdTag::from_octet(*tag));
    }
    Ok(tags)
}

/// Length (2 octets, with the tag), tag, and a value that a NUL ends.
fn parse_identities(r: &mut Reader<'_>) -> Result<Vec<(IdTag, Vec<u8>)>, DecodeError> {
    let mut identities = Vec::new();
    while !r.is_empty() {
        let at = r.offset();
        let len = usize::from(r.u16("identity")?);
        let [tag, value @ ..] = r.take(len, "identity")? else {
            return Err(DecodeError::new("identity", at, DecodeErrorKind::BadLength(len)));
        };
        let value = value.split_last().filter(|(last, _)| **last == 0).map_or(value, |(_, value)| value);
        identities.push((IdTag::from_octet(*tag), value.to_vec()));
    }
    Ok(identities)
}

/// Appends a message of a protocol; false, and nothing appended, where the payload is longer than [`PAYLOAD_MAX`].
pub fn put(protocol: u8, payload: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok(len) = u16::try_from(payload.len()) else { return false };
    out.extend(len.to_be_bytes());
    out.push(protocol);
    out.extend(payload);
    true
}

/// Appends a message of one of Osmocom's extensions; false, and nothing appended, where it is too long.
pub fn put_extension(extension: u8, content: &[u8], out: &mut Vec<u8>) -> bool {
    let mut payload = Vec::with_capacity(1 + content.len());
    payload.push(extension);
    payload.extend(content);
    put(PROTOCOL_OSMO, &payload, out)
}

/// One message of the multiplex.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Which protocol.
    pub protocol: u8,
    /// What it carries.
    pub payload: &'a [u8],
}

/// It may carry vectors of the HLR, whose keys are not printed.
impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message(protocol {:#04x}, {} octets)", self.protocol, self.payload.len())
    }
}

impl<'a> Message<'a> {
    /// Content of a message of one of Osmocom's extensions.
    #[must_use]
    pub const fn extension(&self) -> Option<(u8, &'a [u8])> {
        match (self.protocol, self.payload) {
            (PROTOCOL_OSMO, [extension, content @ ..]) => Some((*extension, content)),
            _ => None,
        }
    }
}

/// The first message of a stream, where it is whole, and the octets that it takes.
///
/// # Errors
/// `BadLength` for a message whose payload is longer than `payload_max` octets.
pub fn first(stream: &[u8], payload_max: usize) -> Result<Option<(Message<'_>, usize)>, DecodeError> {
    let Some(&[high, low, protocol]) = stream.first_chunk::<HEADER_LEN>() else { return Ok(None) };
    let len = usize::from(u16::from_be_bytes([high, low]));
    if len > payload_max {
        return Err(DecodeError::new("IPA length", 0, DecodeErrorKind::BadLength(len)));
    }
    let payload = stream.get(HEADER_LEN..HEADER_LEN + len);
    Ok(payload.map(|payload| (Message { protocol, payload }, HEADER_LEN + len)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The identity request of osmo-hlr.
    const ID_GET: [u8; 20] =
        [0x00, 0x11, 0xfe, 0x04, 1, 0x08, 1, 0x07, 1, 0x02, 1, 0x03, 1, 0x04, 1, 0x05, 1, 0x01, 1, 0x00];

    #[test]
    fn link_management() {
        assert_eq!(Ccm::Ping.to_vec(), [0, 1, 0xfe, 0]);
        assert_eq!(Ccm::Pong.to_vec(), [0, 1, 0xfe, 1]);
        assert_eq!(Ccm::IdAck.to_vec(), [0, 1, 0xfe, 6]);
        let get = Ccm::parse(&ID_GET[3..]).unwrap();
        let Ccm::IdGet(tags) = &get else { panic!("{get:?}") };
        assert_eq!(
            (tags.len(), tags.first(), tags.last()),
            (8, Some(&IdTag::UnitId), Some(&IdTag::SerialNumber))
        );
        assert_eq!(get.to_vec(), ID_GET);
        let named =
            Ccm::IdResp(vec![(IdTag::UnitId, b"0/0/0".to_vec()), (IdTag::UnitName, b"SGSN".to_vec())]);
        let octets = b"\0\x12\xfe\x05\0\x07\x080/0/0\0\0\x06\x01SGSN\0";
        assert_eq!(named.to_vec(), octets);
        assert_eq!(Ccm::parse(&octets[3..]), Ok(named));
    }

    #[test]
    fn what_cannot_be_read() {
        let kind = |payload: &[u8]| Ccm::parse(payload).unwrap_err().kind;
        assert_eq!(kind(&[0x77]), DecodeErrorKind::UnknownMessage(0x77));
        assert_eq!(kind(&[4, 0]), DecodeErrorKind::BadLength(0));
        assert_eq!(kind(&[5, 0, 0]), DecodeErrorKind::BadLength(0));
        for short in [&[][..], &[4, 2, 1], &[5, 0], &[5, 0, 9, 1]] {
            assert!(matches!(kind(short), DecodeErrorKind::Truncated { .. }));
        }
    }
}
