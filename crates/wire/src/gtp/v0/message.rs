//! Signalling messages of GTPv0 (09.60 clause 7): those of paths and tunnels. Whose they are stands in the header, as TID.
//!
//! Anonymous access (Create and Delete AA PDP Context) is not among them: such messages are unknown here.

use super::{Header, LEN};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::gtp::cause::Cause;
use crate::gtp::header::message_type;
use crate::gtp::ie::Elements;
use crate::gtp::messages::messages;
use crate::gtp::v0::ie;
use crate::gtp::value::{EndUserAddress, Msisdn, PrivateExtension, QosR97, SelectionMode};
use crate::id::FlowLabel;
use crate::l3::ie::Apn;
use core::net::IpAddr;

messages! {
    /// Echo Request (09.60 clause 7.4.1).
    EchoRequest = ECHO_REQUEST {
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Echo Response (09.60 clause 7.4.2).
    EchoResponse = ECHO_RESPONSE {
        /// The sender's restart counter.
        recovery: mandatory u8 = RECOVERY[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Version Not Supported (09.60 clause 7.4.3): the version of its header is what the sender supports.
    VersionNotSupported = VERSION_NOT_SUPPORTED {
    }

    /// Create PDP Context Request (09.60 clause 7.5.1).
    CreateRequest = CREATE_REQUEST {
        /// Requested quality of service.
        qos: mandatory QosR97 = QOS_PROFILE[0],
        /// The SGSN's restart counter.
        recovery: optional u8 = RECOVERY[0],
        /// How the APN was chosen.
        selection_mode: mandatory SelectionMode = SELECTION_MODE[0],
        /// The SGSN's flow for G-PDUs.
        flow_data: mandatory FlowLabel = FLOW_LABEL_DATA_I[0],
        /// The SGSN's flow for signalling.
        flow_signalling: mandatory FlowLabel = FLOW_LABEL_SIGNALLING[0],
        /// PDP type, and the address where it is static.
        end_user_address: mandatory EndUserAddress = END_USER_ADDRESS[0],
        /// The network asked for.
        apn: mandatory Apn = APN[0],
        /// From the mobile, for the GGSN; see [`crate::gtp::pco`].
        pco: optional Vec<u8> = PCO[0],
        /// The SGSN's address for signalling.
        sgsn_control: mandatory IpAddr = GSN_ADDRESS[0],
        /// The SGSN's address for user traffic.
        sgsn_user: mandatory IpAddr = GSN_ADDRESS[1],
        /// The mobile's telephone number.
        msisdn: mandatory Msisdn = MSISDN[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Create PDP Context Response (09.60 clause 7.5.2).
    CreateResponse = CREATE_RESPONSE {
        /// Accepted, or why not.
        cause: mandatory Cause = CAUSE[0],
        /// Negotiated quality of service.
        qos: optional QosR97 = QOS_PROFILE[0],
        /// T-PDUs must be delivered in order.
        reordering_required: optional bool = REORDERING_REQUIRED[0],
        /// The GGSN's restart counter.
        recovery: optional u8 = RECOVERY[0],
        /// The GGSN's flow for G-PDUs.
        flow_data: optional FlowLabel = FLOW_LABEL_DATA_I[0],
        /// The GGSN's flow for signalling.
        flow_signalling: optional FlowLabel = FLOW_LABEL_SIGNALLING[0],
        /// Identifies the context's charging data, with the GGSN's address.
        charging_id: optional u32 = CHARGING_ID[0],
        /// PDP type and address.
        end_user_address: optional EndUserAddress = END_USER_ADDRESS[0],
        /// From the GGSN, for the mobile.
        pco: optional Vec<u8> = PCO[0],
        /// The GGSN's address for signalling.
        ggsn_control: optional IpAddr = GSN_ADDRESS[0],
        /// The GGSN's address for user traffic.
        ggsn_user: optional IpAddr = GSN_ADDRESS[1],
        /// Charging gateway.
        charging_gateway: optional IpAddr = CHARGING_GATEWAY_ADDRESS[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Update PDP Context Request of an SGSN (09.60 clause 7.5.3).
    UpdateRequest = UPDATE_REQUEST {
        /// Requested quality of service.
        qos: mandatory QosR97 = QOS_PROFILE[0],
        /// The SGSN's restart counter.
        recovery: optional u8 = RECOVERY[0],
        /// The SGSN's flow for G-PDUs.
        flow_data: mandatory FlowLabel = FLOW_LABEL_DATA_I[0],
        /// The SGSN's flow for signalling.
        flow_signalling: mandatory FlowLabel = FLOW_LABEL_SIGNALLING[0],
        /// The SGSN's address for signalling.
        sgsn_control: mandatory IpAddr = GSN_ADDRESS[0],
        /// The SGSN's address for user traffic.
        sgsn_user: mandatory IpAddr = GSN_ADDRESS[1],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Update PDP Context Response of a GGSN (09.60 clause 7.5.4).
    UpdateResponse = UPDATE_RESPONSE {
        /// Accepted, or why not.
        cause: mandatory Cause = CAUSE[0],
        /// Negotiated quality of service.
        qos: optional QosR97 = QOS_PROFILE[0],
        /// The GGSN's restart counter.
        recovery: optional u8 = RECOVERY[0],
        /// The GGSN's flow for G-PDUs.
        flow_data: optional FlowLabel = FLOW_LABEL_DATA_I[0],
        /// The GGSN's flow for signalling.
        flow_signalling: optional FlowLabel = FLOW_LABEL_SIGNALLING[0],
        /// Charging identifier.
        charging_id: optional u32 = CHARGING_ID[0],
        /// The GGSN's address for signalling.
        ggsn_control: optional IpAddr = GSN_ADDRESS[0],
        /// The GGSN's address for user traffic.
        ggsn_user: optional IpAddr = GSN_ADDRESS[1],
        /// Charging gateway.
        charging_gateway: optional IpAddr = CHARGING_GATEWAY_ADDRESS[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Delete PDP Context Request of either side (09.60 clause 7.5.5).
    DeleteRequest = DELETE_REQUEST {
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Delete PDP Context Response (09.60 clause 7.5.6).
    DeleteResponse = DELETE_RESPONSE {
        /// Accepted, or why not.
        cause: mandatory Cause = CAUSE[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Error Indication (09.60 clause 7.5.11): a G-PDU came for the tunnel of the header, which does not exist.
    ErrorIndication = ERROR_INDICATION {
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// PDU Notification Request (09.60 clause 7.5.12): the network wants a context for the subscriber of the header.
    PduNotificationRequest = PDU_NOTIFICATION_REQUEST {
        /// PDP type and address.
        end_user_address: mandatory EndUserAddress = END_USER_ADDRESS[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// PDU Notification Response (09.60 clause 7.5.13).
    PduNotificationResponse = PDU_NOTIFICATION_RESPONSE {
        /// Accepted, or why not.
        cause: mandatory Cause = CAUSE[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// PDU Notification Reject Request (09.60 clause 7.5.14): the context could not be set up.
    PduNotificationRejectRequest = PDU_NOTIFICATION_REJECT_REQUEST {
        /// Why.
        cause: mandatory Cause = CAUSE[0],
        /// PDP type and address.
        end_user_address: mandatory EndUserAddress = END_USER_ADDRESS[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// PDU Notification Reject Response (09.60 clause 7.5.15).
    PduNotificationRejectResponse = PDU_NOTIFICATION_REJECT_RESPONSE {
        /// Accepted, or why not.
        cause: mandatory Cause = CAUSE[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }
}

/// The flow for signalling that a Create PDP Context Request names for the answer, read from a request that may be
/// malformed otherwise.
#[must_use]
pub fn signalling_flow(payload: &[u8]) -> Option<FlowLabel> {
    Elements::parse_by(ie::TABLE, payload).ok()?.optional(ie::FLOW_LABEL_SIGNALLING, 0)
}

/// Appends a signalling message as a datagram: header, whose message type is that of the message, then payload. False,
/// with nothing written, where it does not fit the length field.
#[must_use]
pub fn emit_datagram(header: Header, message: &Message, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.extend_from_slice(&[0; LEN]);
    message.emit(out);
    let header = Header { message: message.message_type(), ..header };
    let payload_len = out.len() - start - LEN;
    let written = out.get_mut(start..).is_some_and(|room| header.emit(payload_len, room));
    if !written {
        out.truncate(start);
    }
    written
}
