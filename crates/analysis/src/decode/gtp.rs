//! GTP of both versions on UDP.

use core::net::IpAddr;
use core::ops::Range;
use gannet_wire::DecodeError;
use gannet_wire::gtp::header::message_type;
use gannet_wire::gtp::{EndUserAddress, PORT_CONTROL, PORT_USER, PORT_V0};
use gannet_wire::gtp::{Header, v0, v1c};
use gannet_wire::id::{Imsi, Teid};

/// What a datagram of GTP is.
#[derive(Debug)]
pub enum Gtp {
    /// A G-PDU.
    GPdu {
        /// Version: 0 or 1.
        version: u8,
        /// The receiver's endpoint, or flow label.
        teid: u32,
        /// Sequence number, where it has one.
        sequence: Option<u16>,
        /// The subscriber: version 0 has him in each header.
        imsi: Option<Imsi>,
        /// Where the T-PDU is.
        t_pdu: Range<usize>,
    },
    /// Signalling.
    Signalling(Signalling),
    /// It cannot be read.
    Unreadable(DecodeError),
}

/// A signalling message: what joins it with others.
#[derive(Debug, Default)]
pub struct Signalling {
    /// Version: 0 or 1.
    pub version: u8,
    /// Its name.
    pub name: &'static str,
    /// Message type.
    pub kind: u8,
    /// Endpoint in the header, or flow label.
    pub teid: u32,
    /// Joins request and response.
    pub sequence: Option<u16>,
    /// The subscriber.
    pub imsi: Option<Imsi>,
    /// The sender's endpoint for user data.
    pub teid_data: Option<u32>,
    /// The sender's endpoint for signalling.
    pub teid_control: Option<u32>,
    /// Where the sender takes user data; where it does not say so, at its own address.
    pub user_at: Option<IpAddr>,
    /// The mobile's address.
    pub address: Option<IpAddr>,
    /// Cause, in a response.
    pub cause: Option<u8>,
}

/// True where a port is one of GTP.
#[must_use]
pub const fn is_port(port: u16) -> bool {
    matches!(port, PORT_CONTROL | PORT_USER | PORT_V0)
}

/// True where the contents alone make it a G-PDU: the length is exact and IP stands within.
#[must_use]
pub fn is_evident(datagram: &[u8]) -> bool {
    let Ok(header) = Header::parse(datagram) else { return false };
    let t_pdu = header.payload(datagram);
    header.message == message_type::G_PDU
        && header.payload_range().end == datagram.len()
        && match t_pdu {
            [0x45..=0x4f, _, high, low, ..] => usize::from(u16::from_be_bytes([*high, *low])) == t_pdu.len(),
            [0x60..=0x6f, _, _, _, high, low, ..] => {
                usize::from(u16::from_be_bytes([*high, *low])) + 40 == t_pdu.len()
            }
            _ => false,
        }
}

/// Reads a datagram. `missing` is the number of octets of it that the capture does not have.
#[must_use]
pub fn parse(datagram: &[u8], missing: usize) -> Gtp {
    let found = match datagram.first().map(|first| first >> 5) {
        Some(0) => version_0(datagram),
        _ if missing > 0 => cut(datagram),
        _ => version_1(datagram),
    };
    found.unwrap_or_else(Gtp::Unreadable)
}

/// A G-PDU of which the capture has the beginning: its header without a look at its length.
fn cut(datagram: &[u8]) -> Result<Gtp, DecodeError> {
    let [_, message_type::G_PDU, high, low, ..] = datagram else { return version_1(datagram) };
    let stated = 8 + usize::from(u16::from_be_bytes([*high, *low]));
    let mut padded = datagram.to_vec();
    padded.resize(stated.max(datagram.len()), 0);
    match version_1(&padded)? {
        Gtp::GPdu { version, teid, sequence, imsi, t_pdu } => {
            let end = t_pdu.end.min(datagram.len());
            let t_pdu = t_pdu.start.min(end)..end;
            Ok(Gtp::GPdu { version, teid, sequence, imsi, t_pdu })
        }
        other => Ok(other),
    }
}

fn address(address: Option<&EndUserAddress>) -> Option<IpAddr> {
    match address? {
        EndUserAddress::Ipv4(Some(v4)) | EndUserAddress::Ipv4v6(Some(v4), _) => Some(IpAddr::V4(*v4)),
        EndUserAddress::Ipv6(Some(v6)) => Some(IpAddr::V6(*v6)),
        _ => None,
    }
}

fn version_1(datagram: &[u8]) -> Result<Gtp, DecodeError> {
    let header = Header::parse(datagram)?;
    let (kind, sequence, teid) = (header.message, header.sequence, header.teid.0);
    if kind == message_type::G_PDU {
        let t_pdu = header.payload_range();
        return Ok(Gtp::GPdu { version: 1, teid, sequence, imsi: None, t_pdu });
    }
    let mut found =
        Signalling { version: 1, name: name(kind), kind, teid, sequence, ..Signalling::default() };
    let plain = |teid: Teid| teid.0;
    let payload = header.payload(datagram);
    match v1c::Message::parse(kind, payload) {
        Ok(v1c::Message::CreateRequest(it)) => {
            found.imsi = it.imsi;
            found.teid_data = Some(it.teid_data.0);
            found.user_at = Some(it.sgsn_user);
            found.teid_control = it.teid_control.map(plain);
            found.address = address(it.end_user_address.as_ref());
        }
        Ok(v1c::Message::CreateResponse(it)) => {
            found.cause = Some(it.cause.octet());
            found.user_at = it.ggsn_user;
            found.teid_data = it.teid_data.map(plain);
            found.teid_control = it.teid_control.map(plain);
            found.address = address(it.end_user_address.as_ref());
        }
        Ok(v1c::Message::UpdateRequest(it)) => {
            found.imsi = it.imsi;
            found.user_at = it.sgsn_user;
            found.teid_data = it.teid_data.map(plain);
            found.teid_control = it.teid_control.map(plain);
        }
        Ok(v1c::Message::UpdateResponse(it)) => {
            found.cause = Some(it.cause.octet());
            found.user_at = it.gsn_second;
            found.teid_data = it.teid_data.map(plain);
            found.teid_control = it.teid_control.map(plain);
        }
        Ok(v1c::Message::DeleteResponse(it)) => found.cause = Some(it.cause.octet()),
        // What is not known here is signalling without contents.
        Ok(_) => {}
        Err(_) if name(kind) == UNKNOWN => {}
        Err(error) => return Err(error.shifted(header.payload_range().start)),
    }
    Ok(Gtp::Signalling(found))
}

fn version_0(datagram: &[u8]) -> Result<Gtp, DecodeError> {
    let (header, range) = v0::Header::parse(datagram)?;
    let imsi = header.tid().map(|tid| tid.imsi);
    let (kind, teid) = (header.message, u32::from(header.flow.0));
    if kind == message_type::G_PDU {
        return Ok(Gtp::GPdu { version: 0, teid, sequence: Some(header.sequence), imsi, t_pdu: range });
    }
    let mut found = Signalling {
        version: 0,
        name: name(kind),
        kind,
        teid,
        sequence: Some(header.sequence),
        imsi,
        ..Signalling::default()
    };
    let flow = |label: gannet_wire::id::FlowLabel| u32::from(label.0);
    match v0::Message::parse(kind, datagram.get(range.clone()).unwrap_or_default()) {
        Ok(v0::Message::CreateRequest(it)) => {
            found.teid_data = Some(flow(it.flow_data));
            found.teid_control = Some(flow(it.flow_signalling));
            found.address = address(Some(&it.end_user_address));
        }
        Ok(v0::Message::CreateResponse(it)) => {
            found.cause = Some(it.cause.octet());
            found.teid_data = it.flow_data.map(flow);
            found.teid_control = it.flow_signalling.map(flow);
            found.address = address(it.end_user_address.as_ref());
        }
        Ok(_) => {}
        Err(_) if name(kind) == UNKNOWN => {}
        Err(error) => return Err(error.shifted(range.start)),
    }
    Ok(Gtp::Signalling(found))
}

const UNKNOWN: &str = "another message";

/// Names of 29.060 clause 7.1.
const fn name(kind: u8) -> &'static str {
    match kind {
        message_type::ECHO_REQUEST => "Echo Request",
        message_type::ECHO_RESPONSE => "Echo Response",
        message_type::VERSION_NOT_SUPPORTED => "Version Not Supported",
        message_type::CREATE_REQUEST => "Create PDP Context Request",
        message_type::CREATE_RESPONSE => "Create PDP Context Response",
        message_type::UPDATE_REQUEST => "Update PDP Context Request",
        message_type::UPDATE_RESPONSE => "Update PDP Context Response",
        message_type::DELETE_REQUEST => "Delete PDP Context Request",
        message_type::DELETE_RESPONSE => "Delete PDP Context Response",
        message_type::ERROR_INDICATION => "Error Indication",
        message_type::PDU_NOTIFICATION_REQUEST => "PDU Notification Request",
        message_type::PDU_NOTIFICATION_RESPONSE => "PDU Notification Response",
        message_type::PDU_NOTIFICATION_REJECT_REQUEST => "PDU Notification Reject Request",
        message_type::PDU_NOTIFICATION_REJECT_RESPONSE => "PDU Notification Reject Response",
        message_type::SUPPORTED_EXTENSION_HEADERS => "Supported Extension Headers Notification",
        _ => UNKNOWN,
    }
}
