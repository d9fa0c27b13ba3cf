//! PDUs of the IP sub-network service (48.016 clause 9.3), by which two network service entities tell each other their
//! IP endpoints.
//!
//! NSEI and cause are TLV as in every NS PDU; what only these PDUs have is TV of a fixed length, but for the lists of
//! endpoints (clauses 10.3.2c and 10.3.2d). End flag and transaction identifier have no identifier at all: the end flag
//! stands behind the PDU type, the transaction identifier behind the NSEI. Everything else may stand in any order.

use super::{Cause, PduType, iei};
use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::Nsei;
use crate::tlv;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Octets of an endpoint in a list of IP4 elements: address, UDP port, both weights.
const IP4_LEN: usize = 8;
/// The same in a list of IP6 elements.
const IP6_LEN: usize = 20;
/// IP address type: IPv4 (clause 10.3.2b).
const IPV4: u8 = 1;
/// IP address type: IPv6.
const IPV6: u8 = 2;

/// Names of the elements, for errors.
mod name {
    pub const NSEI: &str = "NSEI";
    pub const CAUSE: &str = "Cause";
    pub const END_FLAG: &str = "End flag";
    pub const TRANSACTION: &str = "Transaction identifier";
    pub const RESET_FLAG: &str = "Reset flag";
    pub const NS_VCS: &str = "Maximum number of NS-VCs";
    pub const IP4: &str = "List of IP4 elements";
    pub const IP6: &str = "List of IP6 elements";
    pub const ADDRESS: &str = "IP address";
    pub const NUMBER: &str = "Number of endpoints";
}

/// An IP endpoint with its weights, 0 to 255 each; 0 keeps that kind of traffic away from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IpElement {
    /// Address and UDP port.
    pub endpoint: SocketAddr,
    /// Its share of signalling.
    pub signalling_weight: u8,
    /// Its share of data.
    pub data_weight: u8,
}

/// Endpoints in the order of their PDU: those of IPv4 first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IpElements(Vec<IpElement>);

impl FromIterator<IpElement> for IpElements {
    fn from_iter<I: IntoIterator<Item = IpElement>>(elements: I) -> Self {
        let mut all: Vec<IpElement> = elements.into_iter().collect();
        all.sort_by_key(|element| element.endpoint.is_ipv6());
        Self(all)
    }
}

impl core::ops::Deref for IpElements {
    type Target = [IpElement];

    fn deref(&self) -> &[IpElement] {
        &self.0
    }
}

impl IpElements {
    /// Appends the lists that are not empty.
    fn emit(&self, out: &mut Vec<u8>) {
        for (iei, ipv6) in [(iei::IP4_ELEMENTS, false), (iei::IP6_ELEMENTS, true)] {
            let mut value = Vec::new();
            for element in self.0.iter().filter(|element| element.endpoint.is_ipv6() == ipv6) {
                match element.endpoint.ip() {
                    IpAddr::V4(address) => value.extend(address.octets()),
                    IpAddr::V6(address) => value.extend(address.octets()),
                }
                value.extend(element.endpoint.port().to_be_bytes());
                value.extend([element.signalling_weight, element.data_weight]);
            }
            if !value.is_empty() {
                tlv::put(out, iei, &value);
            }
        }
    }
}

/// A PDU of the IP sub-network service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sns {
    /// How many endpoints the BSS has (clause 9.3.7).
    Size {
        /// Whose.
        nsei: Nsei,
        /// The BSS begins anew: the SGSN forgets what it knew of the NSE.
        reset: bool,
        /// NS-VCs that the BSS can have at most.
        ns_vcs_max: u16,
        /// Its IPv4 endpoints, if it has any.
        ip4_endpoints: Option<u16>,
        /// Its IPv6 endpoints, if it has any.
        ip6_endpoints: Option<u16>,
    },
    /// Answers it (clause 9.3.8).
    SizeAck {
        /// Whose.
        nsei: Nsei,
        /// Why not; absent where it is taken.
        cause: Option<Cause>,
    },
    /// The sender's endpoints (clause 9.3.4).
    Config {
        /// Whose.
        nsei: Nsei,
        /// These were the last ones.
        end: bool,
        /// The endpoints.
        elements: IpElements,
    },
    /// Answers it (clause 9.3.5).
    ConfigAck {
        /// Whose.
        nsei: Nsei,
        /// Why not; absent where it is taken.
        cause: Option<Cause>,
    },
    /// More endpoints of the sender (clause 9.3.2).
    Add {
        /// Whose.
        nsei: Nsei,
        /// Joins the answer to it.
        transaction: u8,
        /// The endpoints.
        elements: IpElements,
    },
    /// Fewer endpoints of the sender (clause 9.3.6).
    Delete {
        /// Whose.
        nsei: Nsei,
        /// Joins the answer to it.
        transaction: u8,
        /// Every endpoint with this address, in place of a list.
        address: Option<IpAddr>,
        /// The endpoints.
        elements: IpElements,
    },
    /// Other weights of endpoints of the sender (clause 9.3.3).
    Changeweight {
        /// Whose.
        nsei: Nsei,
        /// Joins the answer to it.
        transaction: u8,
        /// The endpoints with their new weights.
        elements: IpElements,
    },
    /// Answers the last three (clause 9.3.1).
    Ack {
        /// Whose.
        nsei: Nsei,
        /// Of the PDU that it answers.
        transaction: u8,
        /// Why not; absent where it is taken.
        cause: Option<Cause>,
        /// The endpoints that were at fault.
        elements: IpElements,
    },
}

impl Sns {
    /// Reads a PDU of type `pdu_type` whole; `None` for a type that is not of the IP sub-network service.
    pub(super) fn parse(pdu_type: PduType, octets: &[u8]) -> Option<Result<Self, DecodeError>> {
        match pdu_type {
            PduType::SnsSize => Some(size(octets)),
            PduType::SnsSizeAck => Some(answer(octets).map(|(nsei, cause)| Self::SizeAck { nsei, cause })),
            PduType::SnsConfig => Some(config(octets)),
            PduType::SnsConfigAck => {
                Some(answer(octets).map(|(nsei, cause)| Self::ConfigAck { nsei, cause }))
            }
            PduType::SnsAdd | PduType::SnsChangeweight | PduType::SnsDelete | PduType::SnsAck => {
                Some(transaction(pdu_type, octets))
            }
            PduType::Unitdata
            | PduType::Reset
            | PduType::ResetAck
            | PduType::Block
            | PduType::BlockAck
            | PduType::Unblock
            | PduType::UnblockAck
            | PduType::Status
            | PduType::Alive
            | PduType::AliveAck
            | PduType::Unknown(_) => None,
        }
    }

    /// The type.
    #[must_use]
    pub const fn pdu_type(&self) -> PduType {
        match self {
            Self::Size { .. } => PduType::SnsSize,
            Self::SizeAck { .. } => PduType::SnsSizeAck,
            Self::Config { .. } => PduType::SnsConfig,
            Self::ConfigAck { .. } => PduType::SnsConfigAck,
            Self::Add { .. } => PduType::SnsAdd,
            Self::Delete { .. } => PduType::SnsDelete,
            Self::Changeweight { .. } => PduType::SnsChangeweight,
            Self::Ack { .. } => PduType::SnsAck,
        }
    }

    /// Whose it is.
    #[must_use]
    pub const fn nsei(&self) -> Nsei {
        match self {
            Self::Size { nsei, .. }
            | Self::SizeAck { nsei, .. }
            | Self::Config { nsei, .. }
            | Self::ConfigAck { nsei, .. }
            | Self::Add { nsei, .. }
            | Self::Delete { nsei, .. }
            | Self::Changeweight { nsei, .. }
            | Self::Ack { nsei, .. } => *nsei,
        }
    }

    /// Appends what follows the PDU type.
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        if let Self::Config { end, .. } = self {
            out.push(u8::from(*end));
        }
        tlv::put(out, iei::NSEI, &self.nsei().0.to_be_bytes());
        match self {
            Self::Size { reset, ns_vcs_max, ip4_endpoints, ip6_endpoints, .. } => {
                out.extend([iei::RESET_FLAG, u8::from(*reset)]);
                put_u16(out, iei::NS_VCS_MAX, Some(*ns_vcs_max));
                put_u16(out, iei::IP4_ENDPOINTS, *ip4_endpoints);
                put_u16(out, iei::IP6_ENDPOINTS, *ip6_endpoints);
            }
            Self::SizeAck { cause, .. } | Self::ConfigAck { cause, .. } => put_cause(out, *cause),
            Self::Config { elements, .. } => elements.emit(out),
            Self::Add { transaction, elements, .. } | Self::Changeweight { transaction, elements, .. } => {
                out.push(*transaction);
                elements.emit(out);
            }
            Self::Delete { transaction, address, elements, .. } => {
                out.push(*transaction);
                match address {
                    Some(IpAddr::V4(address)) => {
                        out.extend([iei::IP_ADDRESS, IPV4]);
                        out.extend(address.octets());
                    }
                    Some(IpAddr::V6(address)) => {
                        out.extend([iei::IP_ADDRESS, IPV6]);
                        out.extend(address.octets());
                    }
                    None => {}
                }
                elements.emit(out);
            }
            Self::Ack { transaction, cause, elements, .. } => {
                out.push(*transaction);
                put_cause(out, *cause);
                elements.emit(out);
            }
        }
    }
}

fn put_u16(out: &mut Vec<u8>, iei: u8, value: Option<u16>) {
    if let Some(value) = value {
        out.push(iei);
        out.extend(value.to_be_bytes());
    }
}

fn put_cause(out: &mut Vec<u8>, cause: Option<Cause>) {
    if let Some(cause) = cause {
        tlv::put(out, iei::CAUSE, &[cause.octet()]);
    }
}

/// The elements of a PDU, as they were found; of repeated ones the first counts.
#[derive(Debug, Default)]
struct Found {
    nsei: Option<Nsei>,
    cause: Option<Cause>,
    reset: Option<bool>,
    ns_vcs_max: Option<u16>,
    ip4_endpoints: Option<u16>,
    ip6_endpoints: Option<u16>,
    address: Option<IpAddr>,
    ip4: Option<Vec<IpElement>>,
    ip6: Option<Vec<IpElement>>,
}

impl Found {
    /// All that `r` has left. These PDUs carry little that is optional, so what is wrong with an element is an error.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut found = Self::default();
        while let Some(iei) = r.peek() {
            r.u8("IEI")?;
            match iei {
                iei::RESET_FLAG => {
                    let flag = r.u8(name::RESET_FLAG)? & 1 == 1;
                    found.reset.get_or_insert(flag);
                }
                iei::NS_VCS_MAX => {
                    let number = r.u16(name::NS_VCS)?;
                    found.ns_vcs_max.get_or_insert(number);
                }
                iei::IP4_ENDPOINTS => {
                    let number = r.u16(name::NUMBER)?;
                    found.ip4_endpoints.get_or_insert(number);
                }
                iei::IP6_ENDPOINTS => {
                    let number = r.u16(name::NUMBER)?;
                    found.ip6_endpoints.get_or_insert(number);
                }
                iei::IP_ADDRESS => {
                    let address = address(r)?;
                    found.address.get_or_insert(address);
                }
                _ => found.take(&tlv::read(r, iei)?)?,
            }
        }
        Ok(found)
    }

    /// An element with a length indicator.
    fn take(&mut self, element: &tlv::Element<'_>) -> Result<(), DecodeError> {
        let bad = |name| DecodeError::new(name, element.at, DecodeErrorKind::BadLength(element.value.len()));
        match element.iei {
            iei::NSEI => {
                let octets = element.value.first_chunk().ok_or(bad(name::NSEI))?;
                self.nsei.get_or_insert(Nsei(u16::from_be_bytes(*octets)));
            }
            iei::CAUSE => {
                let octet = element.value.first().ok_or(bad(name::CAUSE))?;
                self.cause.get_or_insert(Cause::from_octet(*octet));
            }
            iei::IP4_ELEMENTS => {
                let (chunks, []) = element.value.as_chunks::<IP4_LEN>() else { return Err(bad(name::IP4)) };
                self.ip4.get_or_insert_with(|| chunks.iter().map(ip4_element).collect());
            }
            iei::IP6_ELEMENTS => {
                let (chunks, []) = element.value.as_chunks::<IP6_LEN>() else { return Err(bad(name::IP6)) };
                self.ip6.get_or_insert_with(|| chunks.iter().map(ip6_element).collect());
            }
            _ => {}
        }
        Ok(())
    }

    fn nsei(&self) -> Result<Nsei, DecodeError> {
        self.nsei.ok_or(DecodeError::missing(name::NSEI))
    }

    /// The endpoints of both lists.
    fn elements(self) -> IpElements {
        IpElements(self.ip4.into_iter().chain(self.ip6).flatten().collect())
    }

    /// The same, where at least one endpoint is essential.
    fn some_elements(self) -> Result<IpElements, DecodeError> {
        let elements = self.elements();
        if elements.is_empty() { Err(DecodeError::missing(name::IP4)) } else { Ok(elements) }
    }
}

fn ip4_element(octets: &[u8; IP4_LEN]) -> IpElement {
    let [address @ .., high, low, signalling_weight, data_weight] = *octets;
    let endpoint = SocketAddr::from((address, u16::from_be_bytes([high, low])));
    IpElement { endpoint, signalling_weight, data_weight }
}

fn ip6_element(octets: &[u8; IP6_LEN]) -> IpElement {
    let [address @ .., high, low, signalling_weight, data_weight] = *octets;
    let endpoint = SocketAddr::from((address, u16::from_be_bytes([high, low])));
    IpElement { endpoint, signalling_weight, data_weight }
}

fn address(r: &mut Reader<'_>) -> Result<IpAddr, DecodeError> {
    let at = r.offset();
    match r.u8(name::ADDRESS)? {
        IPV4 => Ok(Ipv4Addr::from(r.array::<4>(name::ADDRESS)?).into()),
        IPV6 => Ok(Ipv6Addr::from(r.array::<16>(name::ADDRESS)?).into()),
        other => Err(DecodeError::new(name::ADDRESS, at, DecodeErrorKind::BadValue(other.into()))),
    }
}

/// SNS-SIZE (clause 9.3.7).
fn size(octets: &[u8]) -> Result<Sns, DecodeError> {
    let found = Found::read(&mut Reader::at(octets, 1))?;
    Ok(Sns::Size {
        nsei: found.nsei()?,
        reset: found.reset.ok_or(DecodeError::missing(name::RESET_FLAG))?,
        ns_vcs_max: found.ns_vcs_max.ok_or(DecodeError::missing(name::NS_VCS))?,
        ip4_endpoints: found.ip4_endpoints,
        ip6_endpoints: found.ip6_endpoints,
    })
}

/// SNS-SIZE-ACK and SNS-CONFIG-ACK (clauses 9.3.8 and 9.3.5).
fn answer(octets: &[u8]) -> Result<(Nsei, Option<Cause>), DecodeError> {
    let found = Found::read(&mut Reader::at(octets, 1))?;
    Ok((found.nsei()?, found.cause))
}

/// SNS-CONFIG (clause 9.3.4).
fn config(octets: &[u8]) -> Result<Sns, DecodeError> {
    let mut r = Reader::at(octets, 1);
    let end = r.u8(name::END_FLAG)? & 1 == 1;
    let found = Found::read(&mut r)?;
    Ok(Sns::Config { nsei: found.nsei()?, end, elements: found.some_elements()? })
}

/// SNS-ADD, SNS-CHANGEWEIGHT, SNS-DELETE and SNS-ACK (clauses 9.3.1 to 9.3.3 and 9.3.6).
fn transaction(pdu_type: PduType, octets: &[u8]) -> Result<Sns, DecodeError> {
    let mut r = Reader::at(octets, 1);
    if r.u8(name::NSEI)? != iei::NSEI {
        return Err(DecodeError::missing(name::NSEI));
    }
    let mut first = Found::default();
    first.take(&tlv::read(&mut r, iei::NSEI)?)?;
    let nsei = first.nsei()?;
    let transaction = r.u8(name::TRANSACTION)?;
    let found = Found::read(&mut r)?;
    Ok(match pdu_type {
        PduType::SnsAdd => Sns::Add { nsei, transaction, elements: found.some_elements()? },
        PduType::SnsChangeweight => Sns::Changeweight { nsei, transaction, elements: found.some_elements()? },
        PduType::SnsDelete => {
            let address = found.address;
            let elements = if address.is_some() { found.elements() } else { found.some_elements()? };
            Sns::Delete { nsei, transaction, address, elements }
        }
        _ => Sns::Ack { nsei, transaction, cause: found.cause, elements: found.elements() },
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Pdu, cause};
    use super::*;

    fn element(text: &str, signalling_weight: u8, data_weight: u8) -> IpElement {
        IpElement { endpoint: text.parse().unwrap(), signalling_weight, data_weight }
    }

    /// The octets of `pdu` are `octets`, and the other way round.
    fn same(octets: &[u8], pdu: Sns) {
        let pdu = Pdu::Sns(pdu);
        assert_eq!(Pdu::parse(octets).as_ref(), Ok(&pdu));
        assert_eq!(pdu.to_vec(), octets);
    }

    #[test]
    fn what_two_real_entities_said_at_the_start() {
        let nsei = Nsei(101);
        let (ip4_endpoints, ip6_endpoints) = (Some(1), Some(0));
        same(
            &[0x12, 4, 0x82, 0, 0x65, 0x0a, 1, 7, 0, 8, 8, 0, 1, 9, 0, 0],
            Sns::Size { nsei, reset: true, ns_vcs_max: 8, ip4_endpoints, ip6_endpoints },
        );
        same(&[0x13, 4, 0x82, 0, 0x65], Sns::SizeAck { nsei, cause: None });
        let elements = [element("127.0.0.71:23071", 1, 1)].into_iter().collect();
        same(
            &[0x0f, 1, 4, 0x82, 0, 0x65, 5, 0x88, 0x7f, 0, 0, 0x47, 0x5a, 0x1f, 1, 1],
            Sns::Config { nsei, end: true, elements },
        );
        same(&[0x10, 4, 0x82, 0, 0x65], Sns::ConfigAck { nsei, cause: None });
        let cause = Some(Cause::UnknownIpEndpoint);
        let elements = IpElements::default();
        same(&[0x0c, 4, 0x82, 0, 0x65, 6, 0, 0x81, 0x12], Sns::Ack { nsei, transaction: 6, cause, elements });
    }

    #[test]
    fn endpoints_of_both_kinds() {
        let elements: IpElements =
            [element("[2001:db8::1]:23000", 1, 2), element("127.0.0.1:23000", 3, 4)].into_iter().collect();
        assert!(elements[0].endpoint.is_ipv4());
        let add = Sns::Add { nsei: Nsei(1), transaction: 7, elements };
        let octets = Pdu::Sns(add.clone()).to_vec();
        assert_eq!(octets.len(), 1 + 4 + 1 + 2 + IP4_LEN + 2 + IP6_LEN);
        assert_eq!(octets[octets.len() - 4..], [0x59, 0xd8, 1, 2]);
        same(&octets, add);
        let address = Some("2001:db8::1".parse().unwrap());
        let delete = Sns::Delete { nsei: Nsei(1), transaction: 8, address, elements: IpElements::default() };
        let octets = Pdu::Sns(delete.clone()).to_vec();
        assert_eq!(octets[6..8], [0x0b, 2]);
        same(&octets, delete);
    }

    #[test]
    fn what_is_wrong_has_its_cause() {
        let of = |octets: &[u8]| cause(&Pdu::parse(octets).unwrap_err());
        assert_eq!(of(&[0x12, 4, 0x82, 0, 1, 7, 0, 8]), Cause::MissingEssentialIe, "no reset flag");
        assert_eq!(of(&[0x12, 0x0a, 1, 7, 0, 8]), Cause::MissingEssentialIe, "no NSEI");
        assert_eq!(of(&[0x0f, 1, 4, 0x82, 0, 1]), Cause::MissingEssentialIe, "no list");
        assert_eq!(of(&[0x0f, 1, 4, 0x82, 0, 1, 5, 0x87, 1, 2, 3, 4, 5, 6, 7]), Cause::InvalidEssentialIe);
        assert_eq!(of(&[0x0d, 5, 0x80, 1]), Cause::MissingEssentialIe, "NSEI stands first");
        assert_eq!(of(&[0x0d, 4, 0x82, 0, 1]), Cause::InvalidEssentialIe, "no transaction identifier");
        assert_eq!(of(&[0x11, 4, 0x82, 0, 1, 9, 0x0b, 3, 1, 1, 1, 1]), Cause::InvalidEssentialIe);
        assert_eq!(of(&[0x12, 4, 0x82, 0]), Cause::InvalidEssentialIe);
    }
}
