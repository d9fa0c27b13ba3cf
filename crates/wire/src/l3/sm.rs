//! GPRS session management messages: 04.08 clause 9.5 [24.008].
//!
//! Field order is that of the message tables. MO is what the mobile sends, MT what the network sends.

use super::codec::{message, protocol};
use super::ie::{
    Apn, LinkedTi, PacketFlowIdentifier, PdpAddress, ProtocolConfiguration, QosProfile, RadioPriority,
    SmCause, TearDownIndicator, TrafficFlowTemplate,
};
use super::{MESSAGE_TYPE, TRANSACTION_IDENTIFIER};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::{Nsapi, Sapi};

message! {
    /// Activate PDP Context Request (clause 9.5.1).
    ActivateRequest {
        /// NSAPI that the mobile has chosen.
        V nsapi: Nsapi,
        /// LLC SAPI that it would like.
        V sapi: Sapi,
        /// Quality of service that it would like.
        LV qos: QosProfile,
        /// Type of address, and the address where it is static.
        LV address: PdpAddress,
    } {
        /// Where to.
        TLV 0x28 apn: Apn,
        /// Options of the external network.
        TLV 0x27 pco: ProtocolConfiguration,
    }
}

message! {
    /// Activate PDP Context Accept (clause 9.5.2).
    ActivateAccept {
        /// The LLC SAPI.
        V sapi: Sapi,
        /// The quality of service as negotiated.
        LV qos: QosProfile,
        /// Radio priority of the context's data.
        half radio_priority: RadioPriority,
    } {
        /// The address, where the mobile did not ask for exactly this one.
        TLV 0x2b address: PdpAddress,
        /// Options of the external network.
        TLV 0x27 pco: ProtocolConfiguration,
        /// The BSS's flow.
        TLV 0x34 packet_flow_identifier: PacketFlowIdentifier,
        /// Why a mobile that asked for both versions of IP gets one of them.
        TLV 0x39 cause: SmCause,
    }
}

message! {
    /// Activate PDP Context Reject (clause 9.5.3).
    ActivateReject {
        /// Why.
        V cause: SmCause,
    } {
        /// Options of the external network.
        TLV 0x27 pco: ProtocolConfiguration,
    }
}

message! {
    /// Activate Secondary PDP Context Request (clause 9.5.4).
    ActivateSecondaryRequest {
        /// NSAPI that the mobile has chosen.
        V nsapi: Nsapi,
        /// LLC SAPI that it would like.
        V sapi: Sapi,
        /// Quality of service that it would like.
        LV qos: QosProfile,
        /// The context whose address and access point are shared.
        LV linked_ti: LinkedTi,
    } {
        /// Which packets belong to it.
        TLV 0x36 tft: TrafficFlowTemplate,
    }
}

message! {
    /// Activate Secondary PDP Context Accept (clause 9.5.5).
    ActivateSecondaryAccept {
        /// The LLC SAPI.
        V sapi: Sapi,
        /// The quality of service as negotiated.
        LV qos: QosProfile,
        /// Radio priority of the context's data.
        half radio_priority: RadioPriority,
    } {
        /// The BSS's flow.
        TLV 0x34 packet_flow_identifier: PacketFlowIdentifier,
    }
}

message! {
    /// Activate Secondary PDP Context Reject (clause 9.5.6).
    ActivateSecondaryReject {
        /// Why.
        V cause: SmCause,
    } {}
}

message! {
    /// Request PDP Context Activation (clause 9.5.7).
    RequestActivation {
        /// The address for which data waits.
        LV address: PdpAddress,
    } {
        /// Its access point.
        TLV 0x28 apn: Apn,
    }
}

message! {
    /// Request PDP Context Activation Reject (clause 9.5.8).
    RequestActivationReject {
        /// Why.
        V cause: SmCause,
    } {}
}

message! {
    /// Modify PDP Context Request from the network (clause 9.5.9).
    ModifyRequestMt {
        /// Radio priority of the context's data.
        half radio_priority: RadioPriority,
        /// The new LLC SAPI.
        V sapi: Sapi,
        /// The new quality of service.
        LV qos: QosProfile,
    } {
        /// The address, where it was given by an external network.
        TLV 0x2b address: PdpAddress,
        /// The BSS's flow.
        TLV 0x34 packet_flow_identifier: PacketFlowIdentifier,
    }
}

message! {
    /// Modify PDP Context Request from the mobile (clause 9.5.10).
    ModifyRequestMo {} {
        /// LLC SAPI that it would like.
        TV 0x32 sapi: Sapi,
        /// Quality of service that it would like.
        TLV 0x30 qos: QosProfile,
        /// Which packets belong to the context.
        TLV 0x31 tft: TrafficFlowTemplate,
    }
}

message! {
    /// Modify PDP Context Accept from the mobile (clause 9.5.11).
    ModifyAcceptMo {} {}
}

message! {
    /// Modify PDP Context Accept from the network (clause 9.5.12).
    ModifyAcceptMt {} {
        /// The quality of service as negotiated.
        TLV 0x30 qos: QosProfile,
        /// The LLC SAPI.
        TV 0x32 sapi: Sapi,
        /// Radio priority of the context's data.
        TV1 0x80 radio_priority: RadioPriority,
        /// The BSS's flow.
        TLV 0x34 packet_flow_identifier: PacketFlowIdentifier,
    }
}

message! {
    /// Modify PDP Context Reject (clause 9.5.13).
    ModifyReject {
        /// Why.
        V cause: SmCause,
    } {}
}

message! {
    /// Deactivate PDP Context Request (clause 9.5.14).
    DeactivateRequest {
        /// Why.
        V cause: SmCause,
    } {
        /// Whether all contexts of the same address go with this one.
        TV1 0x90 tear_down: TearDownIndicator,
    }
}

message! {
    /// Deactivate PDP Context Accept (clause 9.5.15).
    DeactivateAccept {} {}
}

message! {
    /// SM Status (clause 9.5.21).
    SmStatus {
        /// What was wrong.
        V cause: SmCause,
    } {}
}

protocol! {
    /// A GPRS session management message (clause 9.5, types of clause 10.4).
    SmMessage {
        0x41 up ActivateRequest,
        0x42 down ActivateAccept,
        0x43 down ActivateReject,
        0x44 down RequestActivation,
        0x45 up RequestActivationReject,
        0x46 both DeactivateRequest,
        0x47 both DeactivateAccept,
        0x48 down ModifyRequestMt,
        0x49 up ModifyAcceptMo,
        0x4a up ModifyRequestMo,
        0x4b down ModifyAcceptMt,
        0x4c down ModifyReject,
        0x4d up ActivateSecondaryRequest,
        0x4e down ActivateSecondaryAccept,
        0x4f down ActivateSecondaryReject,
        0x55 both SmStatus,
    }
}

/// The cause that answers a message which could not be read (clause 8); `None` where the message is to be ignored.
#[must_use]
pub fn cause(error: &DecodeError) -> Option<SmCause> {
    match error.kind {
        DecodeErrorKind::UnknownProtocol(_) => None,
        DecodeErrorKind::Truncated { .. } if error.ie == MESSAGE_TYPE => None,
        DecodeErrorKind::BadValue(_) if error.ie == TRANSACTION_IDENTIFIER => None,
        DecodeErrorKind::UnknownMessage(_) => Some(SmCause::MessageTypeNonExistent),
        DecodeErrorKind::Conditional => Some(SmCause::ConditionalIeError),
        DecodeErrorKind::Truncated { .. }
        | DecodeErrorKind::Missing
        | DecodeErrorKind::OutOfSequence
        | DecodeErrorKind::BadLength(_)
        | DecodeErrorKind::BadValue(_)
        | DecodeErrorKind::BadChecksum => Some(SmCause::InvalidMandatoryInformation),
    }
}
