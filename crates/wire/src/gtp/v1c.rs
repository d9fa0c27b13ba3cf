//! Signalling messages of GTPv1 (29.060 clause 7).
//!
//! [`Message::parse`] takes the payload behind a [`crate::gtp::Header`] and its message type; [`Message::emit`] appends the
//! payload, [`emit_datagram`] the whole datagram. Elements that a message does not have are ignored (clause 11.1.11).

use crate::error::{DecodeError, DecodeErrorKind};
use crate::gtp::cause::Cause;
use crate::gtp::header::{LEN_LONG, Repr, message_type};
use crate::gtp::ie::{self, Elements};
use crate::gtp::messages::messages;
use crate::gtp::value::{
    EndUserAddress, MsTimeZone, Msisdn, PrivateExtension, Qos, SelectionMode, UserLocation,
};
use crate::id::{Imei, Imsi, Nsapi, Rai, Teid};
use crate::l3::ie::Apn;
use core::net::IpAddr;

/// RAT Type GERAN (29.060 clause 7.7.50).
pub const RAT_TYPE_GERAN: u8 = 2;

messages! {
    /// Echo Request (29.060 clause 7.2.1).
    EchoRequest = ECHO_REQUEST {
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Echo Response (29.060 clause 7.2.2).
    EchoResponse = ECHO_RESPONSE {
        /// The sender's restart counter.
        recovery: mandatory u8 = RECOVERY[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Version Not Supported (29.060 clause 7.2.3): the version of its header is what the sender supports.
    VersionNotSupported = VERSION_NOT_SUPPORTED {
    }

    /// Supported Extension Headers Notification (29.060 clause 7.2.4).
    SupportedExtensionHeaders = SUPPORTED_EXTENSION_HEADERS {
        /// The types that the sender comprehends.
        types: mandatory Vec<u8> = EXTENSION_HEADER_TYPES[0],
    }

    /// Create PDP Context Request (29.060 clause 7.3.1).
    CreateRequest = CREATE_REQUEST {
        /// The subscriber; absent in a secondary activation.
        imsi: conditional Imsi = IMSI[0],
        /// Where the mobile is.
        rai: optional Rai = RAI[0],
        /// The SGSN's restart counter.
        recovery: optional u8 = RECOVERY[0],
        /// How the APN was chosen.
        selection_mode: optional SelectionMode = SELECTION_MODE[0],
        /// The SGSN's endpoint for G-PDUs.
        teid_data: mandatory Teid = TEID_DATA_I[0],
        /// The SGSN's endpoint for signalling.
        teid_control: conditional Teid = TEID_CONTROL[0],
        /// The context's NSAPI.
        nsapi: mandatory Nsapi = NSAPI[0],
        /// The NSAPI of an active context with the same address: a secondary activation.
        linked_nsapi: conditional Nsapi = NSAPI[1],
        /// Charging characteristics.
        charging_characteristics: optional u16 = CHARGING_CHARACTERISTICS[0],
        /// Trace reference.
        trace_reference: optional u16 = TRACE_REFERENCE[0],
        /// Trace type.
        trace_type: optional u16 = TRACE_TYPE[0],
        /// PDP type, and the address where it is static.
        end_user_address: conditional EndUserAddress = END_USER_ADDRESS[0],
        /// The network asked for.
        apn: conditional Apn = APN[0],
        /// From the mobile, for the GGSN; see [`crate::gtp::pco`].
        pco: optional Vec<u8> = PCO[0],
        /// The SGSN's address for signalling.
        sgsn_control: mandatory IpAddr = GSN_ADDRESS[0],
        /// The SGSN's address for user traffic.
        sgsn_user: mandatory IpAddr = GSN_ADDRESS[1],
        /// The SGSN's address for signalling of the other IP version.
        alternative_control: optional IpAddr = GSN_ADDRESS[2],
        /// The SGSN's address for user traffic of the other IP version.
        alternative_user: optional IpAddr = GSN_ADDRESS[3],
        /// The mobile's telephone number.
        msisdn: optional Msisdn = MSISDN[0],
        /// Requested quality of service.
        qos: mandatory Qos = QOS_PROFILE[0],
        /// Traffic flow template of a secondary activation.
        tft: optional Vec<u8> = TFT[0],
        /// Trigger Id of a trace.
        trigger_id: optional Vec<u8> = TRIGGER_ID[0],
        /// OMC identity of a trace.
        omc_identity: optional Vec<u8> = OMC_IDENTITY[0],
        /// Common flags.
        common_flags: optional u8 = COMMON_FLAGS[0],
        /// APN restriction.
        apn_restriction: optional u8 = APN_RESTRICTION[0],
        /// Radio access technology.
        rat_type: optional u8 = RAT_TYPE[0],
        /// Cell or area.
        user_location: optional UserLocation = USER_LOCATION[0],
        /// Time zone.
        ms_time_zone: optional MsTimeZone = MS_TIME_ZONE[0],
        /// Equipment identity with software version.
        imeisv: optional Imei = IMEISV[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Create PDP Context Response (29.060 clause 7.3.2).
    CreateResponse = CREATE_RESPONSE {
        /// Accepted, or why not.
        cause: mandatory Cause = CAUSE[0],
        /// T-PDUs must be delivered in order.
        reordering_required: optional bool = REORDERING_REQUIRED[0],
        /// The GGSN's restart counter.
        recovery: optional u8 = RECOVERY[0],
        /// The GGSN's endpoint for G-PDUs.
        teid_data: optional Teid = TEID_DATA_I[0],
        /// The GGSN's endpoint for signalling.
        teid_control: optional Teid = TEID_CONTROL[0],
        /// NSAPI.
        nsapi: optional Nsapi = NSAPI[0],
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
        /// The GGSN's address for signalling of the other IP version.
        alternative_control: optional IpAddr = GSN_ADDRESS[2],
        /// The GGSN's address for user traffic of the other IP version.
        alternative_user: optional IpAddr = GSN_ADDRESS[3],
        /// Negotiated quality of service.
        qos: optional Qos = QOS_PROFILE[0],
        /// Common flags.
        common_flags: optional u8 = COMMON_FLAGS[0],
        /// APN restriction.
        apn_restriction: optional u8 = APN_RESTRICTION[0],
        /// Charging gateway.
        charging_gateway: optional IpAddr = CHARGING_GATEWAY_ADDRESS[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Update PDP Context Request (29.060 clause 7.3.3) of either side; see [`UpdateRequest::sgsn_initiated`].
    UpdateRequest = UPDATE_REQUEST {
        /// The subscriber.
        imsi: conditional Imsi = IMSI[0],
        /// Where the mobile is.
        rai: optional Rai = RAI[0],
        /// The sender's restart counter.
        recovery: optional u8 = RECOVERY[0],
        /// The SGSN's endpoint for G-PDUs.
        teid_data: conditional Teid = TEID_DATA_I[0],
        /// The SGSN's endpoint for signalling.
        teid_control: optional Teid = TEID_CONTROL[0],
        /// The context's NSAPI.
        nsapi: mandatory Nsapi = NSAPI[0],
        /// Trace reference.
        trace_reference: optional u16 = TRACE_REFERENCE[0],
        /// Trace type.
        trace_type: optional u16 = TRACE_TYPE[0],
        /// The new address, from the GGSN.
        end_user_address: optional EndUserAddress = END_USER_ADDRESS[0],
        /// Protocol configuration options.
        pco: optional Vec<u8> = PCO[0],
        /// The SGSN's address for signalling.
        sgsn_control: conditional IpAddr = GSN_ADDRESS[0],
        /// The SGSN's address for user traffic.
        sgsn_user: conditional IpAddr = GSN_ADDRESS[1],
        /// The SGSN's address for signalling of the other IP version.
        alternative_control: optional IpAddr = GSN_ADDRESS[2],
        /// The SGSN's address for user traffic of the other IP version.
        alternative_user: optional IpAddr = GSN_ADDRESS[3],
        /// Requested quality of service.
        qos: conditional Qos = QOS_PROFILE[0],
        /// Traffic flow template.
        tft: optional Vec<u8> = TFT[0],
        /// Trigger Id of a trace.
        trigger_id: optional Vec<u8> = TRIGGER_ID[0],
        /// OMC identity of a trace.
        omc_identity: optional Vec<u8> = OMC_IDENTITY[0],
        /// Common flags.
        common_flags: optional u8 = COMMON_FLAGS[0],
        /// APN restriction, from the GGSN.
        apn_restriction: optional u8 = APN_RESTRICTION[0],
        /// Radio access technology.
        rat_type: optional u8 = RAT_TYPE[0],
        /// Cell or area.
        user_location: optional UserLocation = USER_LOCATION[0],
        /// Time zone.
        ms_time_zone: optional MsTimeZone = MS_TIME_ZONE[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Update PDP Context Response (29.060 clause 7.3.4) of either side.
    UpdateResponse = UPDATE_RESPONSE {
        /// Accepted, or why not.
        cause: mandatory Cause = CAUSE[0],
        /// The sender's restart counter.
        recovery: optional u8 = RECOVERY[0],
        /// The sender's endpoint for G-PDUs.
        teid_data: optional Teid = TEID_DATA_I[0],
        /// The GGSN's endpoint for signalling.
        teid_control: optional Teid = TEID_CONTROL[0],
        /// Charging identifier.
        charging_id: optional u32 = CHARGING_ID[0],
        /// Protocol configuration options.
        pco: optional Vec<u8> = PCO[0],
        /// The GGSN's address for signalling, or the SGSN's for user traffic.
        gsn_first: optional IpAddr = GSN_ADDRESS[0],
        /// The GGSN's address for user traffic.
        gsn_second: optional IpAddr = GSN_ADDRESS[1],
        /// The GGSN's address for signalling of the other IP version.
        alternative_control: optional IpAddr = GSN_ADDRESS[2],
        /// The GGSN's address for user traffic of the other IP version.
        alternative_user: optional IpAddr = GSN_ADDRESS[3],
        /// Negotiated quality of service.
        qos: optional Qos = QOS_PROFILE[0],
        /// Common flags.
        common_flags: optional u8 = COMMON_FLAGS[0],
        /// APN restriction.
        apn_restriction: optional u8 = APN_RESTRICTION[0],
        /// Charging gateway.
        charging_gateway: optional IpAddr = CHARGING_GATEWAY_ADDRESS[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Delete PDP Context Request (29.060 clause 7.3.5).
    DeleteRequest = DELETE_REQUEST {
        /// All contexts that share the address go.
        teardown: optional bool = TEARDOWN_IND[0],
        /// The context's NSAPI.
        nsapi: mandatory Nsapi = NSAPI[0],
        /// Protocol configuration options.
        pco: optional Vec<u8> = PCO[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Delete PDP Context Response (29.060 clause 7.3.6).
    DeleteResponse = DELETE_RESPONSE {
        /// Accepted, or why not.
        cause: mandatory Cause = CAUSE[0],
        /// Protocol configuration options.
        pco: optional Vec<u8> = PCO[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// Error Indication (29.060 clause 7.3.7): a G-PDU came for an endpoint that does not exist.
    ErrorIndication = ERROR_INDICATION {
        /// The endpoint.
        teid: mandatory Teid = TEID_DATA_I[0],
        /// The address to which the G-PDU was sent.
        address: mandatory IpAddr = GSN_ADDRESS[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// PDU Notification Request (29.060 clause 7.3.8): the network wants a context.
    PduNotificationRequest = PDU_NOTIFICATION_REQUEST {
        /// The subscriber.
        imsi: mandatory Imsi = IMSI[0],
        /// The GGSN's endpoint for signalling.
        teid_control: mandatory Teid = TEID_CONTROL[0],
        /// PDP type and address.
        end_user_address: mandatory EndUserAddress = END_USER_ADDRESS[0],
        /// The network.
        apn: mandatory Apn = APN[0],
        /// Protocol configuration options.
        pco: optional Vec<u8> = PCO[0],
        /// The GGSN's address for signalling.
        ggsn_control: mandatory IpAddr = GSN_ADDRESS[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// PDU Notification Response (29.060 clause 7.3.9).
    PduNotificationResponse = PDU_NOTIFICATION_RESPONSE {
        /// Accepted, or why not.
        cause: mandatory Cause = CAUSE[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// PDU Notification Reject Request (29.060 clause 7.3.10): the context could not be set up.
    PduNotificationRejectRequest = PDU_NOTIFICATION_REJECT_REQUEST {
        /// Why.
        cause: mandatory Cause = CAUSE[0],
        /// The SGSN's endpoint for signalling.
        teid_control: mandatory Teid = TEID_CONTROL[0],
        /// PDP type and address.
        end_user_address: mandatory EndUserAddress = END_USER_ADDRESS[0],
        /// The network.
        apn: mandatory Apn = APN[0],
        /// Protocol configuration options.
        pco: optional Vec<u8> = PCO[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }

    /// PDU Notification Reject Response (29.060 clause 7.3.11).
    PduNotificationRejectResponse = PDU_NOTIFICATION_REJECT_RESPONSE {
        /// Accepted, or why not.
        cause: mandatory Cause = CAUSE[0],
        /// Private extension.
        private_extension: optional PrivateExtension = PRIVATE_EXTENSION[0],
    }
}

/// Does a message of this type ask for a response (29.060 clause 7.1)?
#[must_use]
pub const fn is_request(kind: u8) -> bool {
    response_to(kind).is_some()
}

/// The message type of the response to a request.
#[must_use]
pub const fn response_to(kind: u8) -> Option<u8> {
    match kind {
        message_type::ECHO_REQUEST
        | message_type::CREATE_REQUEST
        | message_type::UPDATE_REQUEST
        | message_type::DELETE_REQUEST
        | message_type::PDU_NOTIFICATION_REQUEST
        | message_type::PDU_NOTIFICATION_REJECT_REQUEST => Some(kind + 1),
        _ => None,
    }
}

/// The response that refuses a request of type `kind`; `None` for a message that has no such response.
#[must_use]
pub fn refusal(kind: u8, cause: Cause) -> Option<Message> {
    let private_extension = None;
    match kind {
        message_type::CREATE_REQUEST => Some(CreateResponse::refused(cause).into()),
        message_type::UPDATE_REQUEST => Some(UpdateResponse::refused(cause).into()),
        message_type::DELETE_REQUEST => Some(DeleteResponse { cause, pco: None, private_extension }.into()),
        message_type::PDU_NOTIFICATION_REQUEST => {
            Some(PduNotificationResponse { cause, private_extension }.into())
        }
        message_type::PDU_NOTIFICATION_REJECT_REQUEST => {
            Some(PduNotificationRejectResponse { cause, private_extension }.into())
        }
        _ => None,
    }
}

/// The endpoint that a Create PDP Context Request names for the answer, read from a request that may be malformed
/// otherwise.
#[must_use]
pub fn control_teid(payload: &[u8]) -> Option<Teid> {
    Elements::parse(payload).ok()?.optional(ie::TEID_CONTROL, 0)
}

/// Appends a signalling message as a datagram: header, then payload. False, with nothing written, where it does not fit
/// the length field.
#[must_use]
pub fn emit_datagram(teid: Teid, sequence: u16, message: &Message, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.extend_from_slice(&[0; LEN_LONG]);
    message.emit(out);
    let repr = Repr { message: message.message_type(), teid, sequence: Some(sequence), npdu_number: None };
    let payload_len = out.len() - start - LEN_LONG;
    let written = out.get_mut(start..).is_some_and(|room| repr.emit(payload_len, room));
    if !written {
        out.truncate(start);
    }
    written
}

/// What an accepted Create PDP Context Response must have (29.060 clause 7.3.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// The GGSN's endpoint for G-PDUs.
    pub teid_data: Teid,
    /// The GGSN's endpoint for signalling.
    pub teid_control: Teid,
    /// Charging identifier.
    pub charging_id: u32,
    /// PDP type and address.
    pub end_user_address: EndUserAddress,
    /// The GGSN's address for signalling.
    pub ggsn_control: IpAddr,
    /// The GGSN's address for user traffic.
    pub ggsn_user: IpAddr,
    /// Negotiated quality of service.
    pub qos: Qos,
    /// T-PDUs must be delivered in order.
    pub reordering_required: bool,
}

impl CreateResponse {
    /// A response with a cause and nothing else.
    #[must_use]
    pub const fn refused(cause: Cause) -> Self {
        Self {
            cause,
            reordering_required: None,
            recovery: None,
            teid_data: None,
            teid_control: None,
            nsapi: None,
            charging_id: None,
            end_user_address: None,
            pco: None,
            ggsn_control: None,
            ggsn_user: None,
            alternative_control: None,
            alternative_user: None,
            qos: None,
            common_flags: None,
            apn_restriction: None,
            charging_gateway: None,
            private_extension: None,
        }
    }

    /// The elements that are mandatory once the cause says accepted.
    ///
    /// # Errors
    /// `Missing`, with the name of the first that is not there.
    pub fn created(&self) -> Result<Created, DecodeError> {
        let missing = |kind| DecodeError::missing(ie::name(kind));
        Ok(Created {
            teid_data: self.teid_data.ok_or(missing(ie::TEID_DATA_I))?,
            teid_control: self.teid_control.ok_or(missing(ie::TEID_CONTROL))?,
            charging_id: self.charging_id.ok_or(missing(ie::CHARGING_ID))?,
            end_user_address: self.end_user_address.clone().ok_or(missing(ie::END_USER_ADDRESS))?,
            ggsn_control: self.ggsn_control.ok_or(missing(ie::GSN_ADDRESS))?,
            ggsn_user: self.ggsn_user.ok_or(missing(ie::GSN_ADDRESS))?,
            qos: self.qos.ok_or(missing(ie::QOS_PROFILE))?,
            reordering_required: self.reordering_required.unwrap_or(false),
        })
    }
}

/// What an SGSN's Update PDP Context Request must have (29.060 clause 7.3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SgsnUpdate {
    /// The SGSN's endpoint for G-PDUs.
    pub teid_data: Teid,
    /// The SGSN's endpoint for signalling, where it is another than before.
    pub teid_control: Option<Teid>,
    /// The SGSN's address for signalling.
    pub sgsn_control: IpAddr,
    /// The SGSN's address for user traffic.
    pub sgsn_user: IpAddr,
    /// Requested quality of service.
    pub qos: Qos,
}

impl UpdateRequest {
    /// A request about `nsapi` with nothing else in it.
    #[must_use]
    pub const fn new(nsapi: Nsapi) -> Self {
        Self {
            imsi: None,
            rai: None,
            recovery: None,
            teid_data: None,
            teid_control: None,
            nsapi,
            trace_reference: None,
            trace_type: None,
            end_user_address: None,
            pco: None,
            sgsn_control: None,
            sgsn_user: None,
            alternative_control: None,
            alternative_user: None,
            qos: None,
            tft: None,
            trigger_id: None,
            omc_identity: None,
            common_flags: None,
            apn_restriction: None,
            rat_type: None,
            user_location: None,
            ms_time_zone: None,
            private_extension: None,
        }
    }

    /// The elements that are mandatory in a request from an SGSN.
    ///
    /// # Errors
    /// `Missing`, with the name of the first that is not there.
    pub fn sgsn_initiated(&self) -> Result<SgsnUpdate, DecodeError> {
        let missing = |kind| DecodeError::missing(ie::name(kind));
        Ok(SgsnUpdate {
            teid_data: self.teid_data.ok_or(missing(ie::TEID_DATA_I))?,
            teid_control: self.teid_control,
            sgsn_control: self.sgsn_control.ok_or(missing(ie::GSN_ADDRESS))?,
            sgsn_user: self.sgsn_user.ok_or(missing(ie::GSN_ADDRESS))?,
            qos: self.qos.ok_or(missing(ie::QOS_PROFILE))?,
        })
    }
}

impl UpdateResponse {
    /// A response with a cause and nothing else.
    #[must_use]
    pub const fn refused(cause: Cause) -> Self {
        Self {
            cause,
            recovery: None,
            teid_data: None,
            teid_control: None,
            charging_id: None,
            pco: None,
            gsn_first: None,
            gsn_second: None,
            alternative_control: None,
            alternative_user: None,
            qos: None,
            common_flags: None,
            apn_restriction: None,
            charging_gateway: None,
            private_extension: None,
        }
    }
}
