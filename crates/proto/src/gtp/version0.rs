//! Messages of version 0 in the words of version 1, so that a node has one procedure for both.
//!
//! What the header of version 0 says of a tunnel, IMSI and NSAPI, stands in elements in version 1; a flow label takes the
//! place of a TEID. What version 0 cannot say is left out: 09.60 has no secondary contexts, no traffic flow templates, no
//! update by the GGSN. Causes that came later keep their range, which tells acceptance from refusal.

use super::Endpoint;
use super::tunnel::flow_label;
use gannet_wire::gtp::v0::{self, message as of_v0};
use gannet_wire::gtp::v1c;
use gannet_wire::gtp::value::QosR97;
use gannet_wire::gtp::{Message, Msisdn};
use gannet_wire::id::{FlowLabel, Teid, Tid};
use gannet_wire::l3::ie::Octets;
use gannet_wire::{DecodeError, DecodeErrorKind};

/// The number of a mobile whose number is not known: international, without digits. Version 0 makes it mandatory.
const NO_MSISDN: Msisdn = Msisdn { nature_and_plan: 0x91, tbcd: Octets::EMPTY };

const fn teid(flow: FlowLabel) -> Teid {
    Teid(flow.0 as u32)
}

/// Reads the payload of a message of version 0 that concerns `tid`.
///
/// # Errors
/// Those of [`v0::Message::parse`]; `Missing` for a message about a tunnel whose header names none.
pub(super) fn parse(kind: u8, tid: Option<Tid>, payload: &[u8]) -> Result<Message, DecodeError> {
    const TUNNEL: DecodeError = DecodeError::missing("Tunnel Identifier");
    let message = v0::Message::parse(kind, payload)?;
    Ok(match message {
        v0::Message::EchoRequest(of_v0::EchoRequest { private_extension }) => {
            v1c::EchoRequest { private_extension }.into()
        }
        v0::Message::EchoResponse(of_v0::EchoResponse { recovery, private_extension }) => {
            v1c::EchoResponse { recovery, private_extension }.into()
        }
        v0::Message::VersionNotSupported(_) => v1c::VersionNotSupported {}.into(),
        v0::Message::CreateRequest(request) => create_request(request, tid.ok_or(TUNNEL)?),
        v0::Message::CreateResponse(response) => create_response(response),
        v0::Message::UpdateRequest(request) => update_request(request, tid.ok_or(TUNNEL)?),
        v0::Message::UpdateResponse(response) => update_response(response),
        v0::Message::DeleteRequest(of_v0::DeleteRequest { private_extension }) => {
            let nsapi = tid.ok_or(TUNNEL)?.nsapi;
            v1c::DeleteRequest { teardown: None, nsapi, pco: None, private_extension }.into()
        }
        v0::Message::DeleteResponse(of_v0::DeleteResponse { cause, private_extension }) => {
            v1c::DeleteResponse { cause, pco: None, private_extension }.into()
        }
        // An Error Indication says no more than its header; of the others version 1 wants more than version 0 says.
        v0::Message::ErrorIndication(_)
        | v0::Message::PduNotificationRequest(_)
        | v0::Message::PduNotificationRejectRequest(_) => {
            let kind = DecodeErrorKind::UnknownMessage(kind);
            return Err(DecodeError::new("Message Type", 0, kind));
        }
        v0::Message::PduNotificationResponse(of_v0::PduNotificationResponse { cause, private_extension }) => {
            v1c::PduNotificationResponse { cause, private_extension }.into()
        }
        v0::Message::PduNotificationRejectResponse(response) => {
            let of_v0::PduNotificationRejectResponse { cause, private_extension } = response;
            v1c::PduNotificationRejectResponse { cause, private_extension }.into()
        }
    })
}

fn create_request(request: of_v0::CreateRequest, tid: Tid) -> Message {
    v1c::CreateRequest {
        imsi: Some(tid.imsi),
        rai: None,
        recovery: request.recovery,
        selection_mode: Some(request.selection_mode),
        teid_data: teid(request.flow_data),
        teid_control: Some(teid(request.flow_signalling)),
        nsapi: tid.nsapi,
        linked_nsapi: None,
        charging_characteristics: None,
        trace_reference: None,
        trace_type: None,
        end_user_address: Some(request.end_user_address),
        apn: Some(request.apn),
        pco: request.pco,
        sgsn_control: request.sgsn_control,
        sgsn_user: request.sgsn_user,
        alternative_control: None,
        alternative_user: None,
        msisdn: Some(request.msisdn).filter(|number| *number != NO_MSISDN),
        qos: request.qos.to_qos(),
        tft: None,
        trigger_id: None,
        omc_identity: None,
        common_flags: None,
        apn_restriction: None,
        rat_type: None,
        user_location: None,
        ms_time_zone: None,
        imeisv: None,
        private_extension: request.private_extension,
    }
    .into()
}

fn create_response(response: of_v0::CreateResponse) -> Message {
    v1c::CreateResponse {
        reordering_required: response.reordering_required,
        recovery: response.recovery,
        teid_data: response.flow_data.map(teid),
        teid_control: response.flow_signalling.map(teid),
        charging_id: response.charging_id,
        end_user_address: response.end_user_address,
        pco: response.pco,
        ggsn_control: response.ggsn_control,
        ggsn_user: response.ggsn_user,
        qos: response.qos.map(QosR97::to_qos),
        charging_gateway: response.charging_gateway,
        private_extension: response.private_extension,
        ..v1c::CreateResponse::refused(response.cause)
    }
    .into()
}

fn update_request(request: of_v0::UpdateRequest, tid: Tid) -> Message {
    v1c::UpdateRequest {
        imsi: Some(tid.imsi),
        recovery: request.recovery,
        teid_data: Some(teid(request.flow_data)),
        teid_control: Some(teid(request.flow_signalling)),
        sgsn_control: Some(request.sgsn_control),
        sgsn_user: Some(request.sgsn_user),
        qos: Some(request.qos.to_qos()),
        private_extension: request.private_extension,
        ..v1c::UpdateRequest::new(tid.nsapi)
    }
    .into()
}

fn update_response(response: of_v0::UpdateResponse) -> Message {
    v1c::UpdateResponse {
        recovery: response.recovery,
        teid_data: response.flow_data.map(teid),
        teid_control: response.flow_signalling.map(teid),
        charging_id: response.charging_id,
        gsn_first: response.ggsn_control,
        gsn_second: response.ggsn_user,
        qos: response.qos.map(QosR97::to_qos),
        charging_gateway: response.charging_gateway,
        private_extension: response.private_extension,
        ..v1c::UpdateResponse::refused(response.cause)
    }
    .into()
}

/// Our message in the words of version 0; our endpoints become our flow labels. `None` for what version 0 does not have,
/// or does not have without an element that is missing.
fn written(message: &Message) -> Option<v0::Message> {
    Some(match message {
        Message::EchoRequest(message) => {
            of_v0::EchoRequest { private_extension: message.private_extension.clone() }.into()
        }
        Message::EchoResponse(message) => {
            let private_extension = message.private_extension.clone();
            of_v0::EchoResponse { recovery: message.recovery, private_extension }.into()
        }
        Message::VersionNotSupported(_) => of_v0::VersionNotSupported {}.into(),
        Message::CreateRequest(request) => of_v0::CreateRequest {
            qos: QosR97::of(&request.qos),
            recovery: request.recovery,
            selection_mode: request.selection_mode.unwrap_or_default(),
            flow_data: flow_label(request.teid_data),
            flow_signalling: flow_label(request.teid_control?),
            end_user_address: request.end_user_address.clone()?,
            apn: request.apn.clone()?,
            pco: request.pco.clone(),
            sgsn_control: request.sgsn_control,
            sgsn_user: request.sgsn_user,
            msisdn: request.msisdn.unwrap_or(NO_MSISDN),
            private_extension: request.private_extension.clone(),
        }
        .into(),
        Message::CreateResponse(response) => written_creation(response).into(),
        Message::UpdateRequest(request) => of_v0::UpdateRequest {
            qos: QosR97::of(&request.qos?),
            recovery: request.recovery,
            flow_data: flow_label(request.teid_data?),
            flow_signalling: flow_label(request.teid_control?),
            sgsn_control: request.sgsn_control?,
            sgsn_user: request.sgsn_user?,
            private_extension: request.private_extension.clone(),
        }
        .into(),
        Message::UpdateResponse(response) => of_v0::UpdateResponse {
            cause: response.cause,
            qos: response.qos.as_ref().map(QosR97::of),
            recovery: response.recovery,
            flow_data: response.teid_data.map(flow_label),
            flow_signalling: response.teid_control.map(flow_label),
            charging_id: response.charging_id,
            ggsn_control: response.gsn_first,
            ggsn_user: response.gsn_second,
            charging_gateway: response.charging_gateway,
            private_extension: response.private_extension.clone(),
        }
        .into(),
        Message::DeleteRequest(request) => {
            of_v0::DeleteRequest { private_extension: request.private_extension.clone() }.into()
        }
        Message::DeleteResponse(response) => {
            let private_extension = response.private_extension.clone();
            of_v0::DeleteResponse { cause: response.cause, private_extension }.into()
        }
        Message::ErrorIndication(message) => {
            of_v0::ErrorIndication { private_extension: message.private_extension.clone() }.into()
        }
        Message::PduNotificationResponse(response) => {
            let private_extension = response.private_extension.clone();
            of_v0::PduNotificationResponse { cause: response.cause, private_extension }.into()
        }
        Message::PduNotificationRejectResponse(response) => {
            let private_extension = response.private_extension.clone();
            of_v0::PduNotificationRejectResponse { cause: response.cause, private_extension }.into()
        }
        Message::SupportedExtensionHeaders(_)
        | Message::PduNotificationRequest(_)
        | Message::PduNotificationRejectRequest(_) => return None,
    })
}

fn written_creation(response: &v1c::CreateResponse) -> of_v0::CreateResponse {
    of_v0::CreateResponse {
        cause: response.cause,
        qos: response.qos.as_ref().map(QosR97::of),
        reordering_required: response.reordering_required,
        recovery: response.recovery,
        flow_data: response.teid_data.map(flow_label),
        flow_signalling: response.teid_control.map(flow_label),
        charging_id: response.charging_id,
        end_user_address: response.end_user_address.clone(),
        pco: response.pco.clone(),
        ggsn_control: response.ggsn_control,
        ggsn_user: response.ggsn_user,
        charging_gateway: response.charging_gateway,
        private_extension: response.private_extension.clone(),
    }
}

/// Appends a datagram of the version that the receiver's end is of. False where it cannot be written.
pub(super) fn emit(to: Endpoint, sequence: u16, message: &Message, out: &mut Vec<u8>) -> bool {
    match to {
        Endpoint::Teid(teid) => v1c::emit_datagram(teid, sequence, message, out),
        Endpoint::Tid { tid, flow } => {
            let header = v0::Header::of_tunnel(message.message_type(), sequence, tid, flow);
            written(message).is_some_and(|message| v0::emit_datagram(header, &message, out))
        }
    }
}

/// The same for a message of version 0 about a path, which is nobody's.
pub(super) fn emit_of_path(sequence: u16, message: &Message, out: &mut Vec<u8>) -> bool {
    let header = v0::Header::of_path(message.message_type(), sequence);
    written(message).is_some_and(|message| v0::emit_datagram(header, &message, out))
}
