//! Information elements (29.060 clause 7.7): their types, how long they are, and how a message's elements are taken
//! apart and put together.
//!
//! An element with bit 8 of its type clear is TV, and only a table says how long it is; with bit 8 set it is TLV.
//! So an unknown TLV element is stepped over, and an unknown TV element ends the reading (clause 11.1.9). Elements
//! stand in ascending order of their types (clause 11.1.10); of a repeated element the first counts
//! (clause 11.1.12); an element that a message does not have is ignored (clause 11.1.11); an optional element that
//! cannot be read counts as absent (clauses 11.1.8 and 11.1.13).

use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};

macro_rules! elements {
    ($($name:ident = $kind:literal, $format:tt, $text:literal;)*) => {
        $(#[doc = concat!($text, ".")] pub const $name: u8 = $kind;)*

        /// The element's name in the specification.
        #[must_use]
        pub const fn name(kind: u8) -> &'static str {
            match kind { $($name => $text,)* _ => "unknown element" }
        }

        /// Octets of the value of a TV element; `None` where the type is not known or is TLV.
        #[must_use]
        pub const fn tv_len(kind: u8) -> Option<usize> {
            match kind { $($name => elements!(@len $format),)* _ => None }
        }

        /// The elements of this version of GTP.
        pub const TABLE: $crate::gtp::ie::Table = $crate::gtp::ie::Table { name, tv_len };
    };
    (@len TLV) => { None };
    (@len $len:literal) => { Some($len) };
}
pub(in crate::gtp) use elements;

/// What a version of GTP says of its elements.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    pub(in crate::gtp) name: fn(u8) -> &'static str,
    pub(in crate::gtp) tv_len: fn(u8) -> Option<usize>,
}

elements! {
    CAUSE = 1, 1, "Cause";
    IMSI = 2, 8, "IMSI";
    RAI = 3, 6, "Routeing Area Identity";
    TLLI = 4, 4, "Temporary Logical Link Identity";
    P_TMSI = 5, 4, "Packet TMSI";
    REORDERING_REQUIRED = 8, 1, "Reordering Required";
    AUTHENTICATION_TRIPLET = 9, 28, "Authentication Triplet";
    MAP_CAUSE = 11, 1, "MAP Cause";
    P_TMSI_SIGNATURE = 12, 3, "P-TMSI Signature";
    MS_VALIDATED = 13, 1, "MS Validated";
    RECOVERY = 14, 1, "Recovery";
    SELECTION_MODE = 15, 1, "Selection Mode";
    TEID_DATA_I = 16, 4, "Tunnel Endpoint Identifier Data I";
    TEID_CONTROL = 17, 4, "Tunnel Endpoint Identifier Control Plane";
    TEID_DATA_II = 18, 5, "Tunnel Endpoint Identifier Data II";
    TEARDOWN_IND = 19, 1, "Teardown Ind";
    NSAPI = 20, 1, "NSAPI";
    RANAP_CAUSE = 21, 1, "RANAP Cause";
    RAB_CONTEXT = 22, 9, "RAB Context";
    RADIO_PRIORITY_SMS = 23, 1, "Radio Priority SMS";
    RADIO_PRIORITY = 24, 1, "Radio Priority";
    PACKET_FLOW_ID = 25, 2, "Packet Flow Id";
    CHARGING_CHARACTERISTICS = 26, 2, "Charging Characteristics";
    TRACE_REFERENCE = 27, 2, "Trace Reference";
    TRACE_TYPE = 28, 2, "Trace Type";
    MS_NOT_REACHABLE_REASON = 29, 1, "MS Not Reachable Reason";
    CHARGING_ID = 127, 4, "Charging ID";
    END_USER_ADDRESS = 128, TLV, "End User Address";
    MM_CONTEXT = 129, TLV, "MM Context";
    PDP_CONTEXT = 130, TLV, "PDP Context";
    APN = 131, TLV, "Access Point Name";
    PCO = 132, TLV, "Protocol Configuration Options";
    GSN_ADDRESS = 133, TLV, "GSN Address";
    MSISDN = 134, TLV, "MS International PSTN/ISDN Number";
    QOS_PROFILE = 135, TLV, "Quality of Service Profile";
    AUTHENTICATION_QUINTUPLET = 136, TLV, "Authentication Quintuplet";
    TFT = 137, TLV, "Traffic Flow Template";
    TARGET_IDENTIFICATION = 138, TLV, "Target Identification";
    UTRAN_CONTAINER = 139, TLV, "UTRAN Transparent Container";
    RAB_SETUP_INFORMATION = 140, TLV, "RAB Setup Information";
    EXTENSION_HEADER_TYPES = 141, TLV, "Extension Header Type List";
    TRIGGER_ID = 142, TLV, "Trigger Id";
    OMC_IDENTITY = 143, TLV, "OMC Identity";
    COMMON_FLAGS = 148, TLV, "Common Flags";
    APN_RESTRICTION = 149, TLV, "APN Restriction";
    RAT_TYPE = 151, TLV, "RAT Type";
    USER_LOCATION = 152, TLV, "User Location Information";
    MS_TIME_ZONE = 153, TLV, "MS Time Zone";
    IMEISV = 154, TLV, "IMEI(SV)";
    CHARGING_GATEWAY_ADDRESS = 251, TLV, "Charging Gateway Address";
    PRIVATE_EXTENSION = 255, TLV, "Private Extension";
}

/// What stands in an element.
pub trait Value: Sized {
    /// Reads the value part. A TLV element that is longer than this implementation knows is no error: what a later
    /// release added at its end is left alone.
    ///
    /// # Errors
    /// `BadLength` or `BadValue`.
    fn decode(octets: &[u8]) -> Result<Self, DecodeErrorKind>;

    /// Appends the value part.
    fn encode(&self, out: &mut Vec<u8>);
}

/// One element of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// Its type.
    pub kind: u8,
    /// Its value part.
    pub value: &'a [u8],
    /// Octets from the start of the message's payload to its type.
    pub offset: usize,
}

/// The elements of one message, in their order.
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    list: Vec<Element<'a>>,
    table: Table,
}

impl<'a> Elements<'a> {
    /// Takes the payload of a signalling message of version 1 apart.
    ///
    /// # Errors
    /// Those of [`Elements::parse_by`].
    pub fn parse(payload: &'a [u8]) -> Result<Self, DecodeError> {
        Self::parse_by(TABLE, payload)
    }

    /// Takes the payload of a signalling message apart, by the table of its version.
    ///
    /// # Errors
    /// `Truncated` where an element reaches beyond the message, or where nobody knows how far an unknown TV element
    /// reaches; `OutOfSequence` where the types do not ascend.
    pub fn parse_by(table: Table, payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(payload);
        let mut list = Vec::new();
        let mut last = 0;
        while !r.is_empty() {
            let offset = r.offset();
            let kind = r.u8("Type")?;
            let name = (table.name)(kind);
            if kind < last {
                return Err(DecodeError::new(name, offset, DecodeErrorKind::OutOfSequence));
            }
            last = kind;
            let len = match (kind, (table.tv_len)(kind)) {
                (_, Some(len)) => len,
                // The one TLV element with a length of one octet (29.060 clause 7.7.40), which version 0 does not have.
                (EXTENSION_HEADER_TYPES, None) => usize::from(r.u8(name)?),
                (128.., None) => usize::from(r.u16(name)?),
                (..128, None) => {
                    let kind = DecodeErrorKind::Truncated { needed: 1, have: r.remaining() };
                    return Err(DecodeError::new(name, offset, kind));
                }
            };
            list.push(Element { kind, value: r.take(len, name)?, offset });
        }
        Ok(Self { list, table })
    }

    /// The element of a type, where the message has the type `nth + 1` times.
    #[must_use]
    pub fn find(&self, kind: u8, nth: usize) -> Option<&Element<'a>> {
        self.list.iter().filter(|element| element.kind == kind).nth(nth)
    }

    /// A mandatory element.
    ///
    /// # Errors
    /// `Missing`, or what is wrong with its value.
    pub fn mandatory<T: Value>(&self, kind: u8, nth: usize) -> Result<T, DecodeError> {
        let name = (self.table.name)(kind);
        let element = self.find(kind, nth).ok_or(DecodeError::missing(name))?;
        T::decode(element.value).map_err(|error| DecodeError::new(name, element.offset, error))
    }

    /// An element that other circumstances make mandatory; `None` where it is absent.
    ///
    /// # Errors
    /// What is wrong with its value.
    pub fn conditional<T: Value>(&self, kind: u8, nth: usize) -> Result<Option<T>, DecodeError> {
        self.find(kind, nth).map(|_| self.mandatory(kind, nth)).transpose()
    }

    /// An optional element; `None` where it is absent or cannot be read. What a second one means
    /// depends on the first, so that one must be readable too.
    #[must_use]
    pub fn optional<T: Value>(&self, kind: u8, nth: usize) -> Option<T> {
        let mut value = None;
        for at in 0..=nth {
            value = Some(T::decode(self.find(kind, at)?.value).ok()?);
        }
        value
    }
}

/// Appends one element of version 1.
pub fn emit<T: Value>(kind: u8, value: &T, out: &mut Vec<u8>) {
    emit_by(TABLE, kind, value, out);
}

/// Appends one element, by the table of its version.
pub fn emit_by<T: Value>(table: Table, kind: u8, value: &T, out: &mut Vec<u8>) {
    out.push(kind);
    let start = out.len();
    value.encode(out);
    if (table.tv_len)(kind).is_some() {
        return;
    }
    let len = out.len() - start;
    let octets = u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes();
    if kind == EXTENSION_HEADER_TYPES {
        out.splice(start..start, octets.into_iter().skip(1));
    } else {
        out.splice(start..start, octets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_tlv_is_stepped_over_and_unknown_tv_is_not() {
        let payload = [1, 128, 14, 7, 200, 0, 2, 9, 9, 251, 0, 0];
        let elements = Elements::parse(&payload).unwrap();
        assert_eq!(elements.mandatory::<u8>(RECOVERY, 0), Ok(7));
        let error = Elements::parse(&[1, 128, 100, 0]).unwrap_err();
        assert_eq!((error.offset, crate::gtp::cause(&error)), (2, crate::gtp::Cause::InvalidMessageFormat));
    }

    #[test]
    fn order_repetition_and_absence() {
        let error = Elements::parse(&[14, 1, 1, 128]).unwrap_err();
        assert_eq!((error.ie, error.offset, error.kind), ("Cause", 2, DecodeErrorKind::OutOfSequence));
        let repeated = Elements::parse(&[14, 1, 14, 2]).unwrap();
        assert_eq!(repeated.mandatory::<u8>(RECOVERY, 0), Ok(1));
        assert_eq!(repeated.optional::<u8>(RECOVERY, 1), Some(2));
        assert_eq!(repeated.mandatory::<u8>(CAUSE, 0).unwrap_err(), DecodeError::missing("Cause"));
    }

    #[test]
    fn elements_that_reach_beyond_the_message() {
        for payload in [&[2, 1, 2][..], &[131, 0], &[131, 0, 2, 1], &[141, 2, 1]] {
            assert!(matches!(Elements::parse(payload).unwrap_err().kind, DecodeErrorKind::Truncated { .. }));
        }
    }
}
