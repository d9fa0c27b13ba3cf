//! What arrives: which datagram is a G-PDU, a request, a response or nothing that may be answered.

use super::path::{Plane, Recovery};
use super::request::{Asker, Outstanding, Responses, Seen, Transaction};
use super::{GtpEntity, GtpOutput};
use crate::drops::Drop;
use crate::frame::Frame;
use crate::machine::{Batch, Context, Peer};
use crate::trace::{Category, Level};
use core::net::{IpAddr, SocketAddr};
use gannet_wire::gtp::header::{Extensions, Header, extension_type, message_type};
use gannet_wire::gtp::v1c::{self, EchoResponse, SupportedExtensionHeaders, VersionNotSupported};
use gannet_wire::gtp::{Cause, Message, cause};
use gannet_wire::id::Teid;
use gannet_wire::{DecodeError, DecodeErrorKind};

/// A G-PDU without its header.
#[derive(Debug)]
pub struct ReceivedGPdu {
    /// Our endpoint.
    pub teid: Teid,
    /// Its sequence number, where it has one.
    pub sequence: Option<u16>,
    /// The T-PDU.
    pub frame: Frame,
}

impl GtpEntity {
    /// Takes a datagram from the port of the user plane. A G-PDU is given back as its T-PDU; anything else is dealt
    /// with here.
    pub fn receive_user(
        &mut self,
        cx: &mut Context<'_>,
        peer: Peer,
        mut frame: Frame,
        out: &mut Batch<GtpOutput>,
    ) -> Option<ReceivedGPdu> {
        let header = match Header::parse(&frame) {
            Ok(header) if header.message == message_type::G_PDU => header,
            parsed => {
                self.signalling(cx, Plane::User, peer, &frame, parsed, out);
                return None;
            }
        };
        if header.extensions != Extensions::default()
            && !self.comprehends(cx, Plane::User, peer, &header, out)
        {
            return None;
        }
        let range = header.payload_range();
        if !frame.narrow(range.start, range.end) {
            return None;
        }
        Some(ReceivedGPdu { teid: header.teid, sequence: header.sequence, frame })
    }

    /// Takes a datagram from the port of the control plane.
    pub fn receive_control(
        &mut self,
        cx: &mut Context<'_>,
        peer: Peer,
        frame: &Frame,
        out: &mut Batch<GtpOutput>,
    ) {
        self.signalling(cx, Plane::Control, peer, frame, Header::parse(frame), out);
    }

    fn signalling(
        &mut self,
        cx: &mut Context<'_>,
        plane: Plane,
        peer: Peer,
        octets: &[u8],
        header: Result<Header, DecodeError>,
        out: &mut Batch<GtpOutput>,
    ) {
        let Peer::Udp(from) = peer else { return };
        let header = match header {
            Ok(header) => header,
            Err(error) => return self.bad_header(cx, plane, from, octets, &error, out),
        };
        let payload = header.payload(octets);
        match (plane, header.message) {
            // Echo is answered at once and by nobody else (29.060 clause 7.2.2).
            (_, message_type::ECHO_REQUEST) => {
                let recovery = self.config.restart_counter;
                let message = EchoResponse { recovery, private_extension: None }.into();
                self.send(cx, plane, from, Teid(0), header.sequence.unwrap_or(0), &message, out);
            }
            (_, message_type::ECHO_RESPONSE)
            | (
                Plane::Control,
                message_type::CREATE_RESPONSE
                | message_type::UPDATE_RESPONSE
                | message_type::DELETE_RESPONSE
                | message_type::PDU_NOTIFICATION_RESPONSE
                | message_type::PDU_NOTIFICATION_REJECT_RESPONSE,
            ) => self.response(cx, plane, from, &header, payload, out),
            (
                Plane::Control,
                message_type::CREATE_REQUEST
                | message_type::UPDATE_REQUEST
                | message_type::DELETE_REQUEST
                | message_type::PDU_NOTIFICATION_REQUEST
                | message_type::PDU_NOTIFICATION_REJECT_REQUEST,
            ) => self.peer_request(cx, from, &header, octets, out),
            // GTPv1 has the Error Indication on the user plane; some send it on the control plane.
            (_, message_type::ERROR_INDICATION) => self.error_indication(cx, from, payload, out),
            (_, message_type::VERSION_NOT_SUPPORTED | message_type::SUPPORTED_EXTENSION_HEADERS) => {
                cx.log(
                    Category::Gtp,
                    Level::Notice,
                    format_args!("{from} does not support our version or extension headers"),
                );
            }
            // Unknown or unexpected: discarded without an answer (29.060 clauses 11.1.3 and 11.1.4).
            (Plane::Control | Plane::User, _) => cx.drop(Drop::GtpUnknownMessage, None),
        }
    }

    /// A header of another version is answered with ours, anything else not at all (29.060 clauses 11.1.1 and 11.1.2).
    fn bad_header(
        &mut self,
        cx: &mut Context<'_>,
        plane: Plane,
        from: SocketAddr,
        octets: &[u8],
        error: &DecodeError,
        out: &mut Batch<GtpOutput>,
    ) {
        cx.log(Category::Gtp, Level::Info, format_args!("from {from}: {error}"));
        let DecodeErrorKind::UnknownProtocol(flags) = error.kind else {
            cx.drop(Drop::GtpMalformed, None);
            return;
        };
        cx.drop(Drop::GtpVersion, None);
        // GTP' has the protocol type bit clear, and two that do not understand each other must not go on saying so.
        let is_gtp_prime = flags >> 5 == 1;
        let is_answer = octets.get(1) == Some(&message_type::VERSION_NOT_SUPPORTED);
        if is_gtp_prime || is_answer || octets.len() < 8 {
            return;
        }
        if !self.limiter.permit(cx.now) {
            cx.drop(Drop::GtpErrorIndicationLimited, None);
            return;
        }
        self.send(cx, plane, from, Teid(0), 0, &VersionNotSupported {}.into(), out);
    }

    /// Are all extension headers known that must be? If not, the sender is told which are (29.060 clause 7.2.4).
    fn comprehends(
        &mut self,
        cx: &mut Context<'_>,
        plane: Plane,
        peer: Peer,
        header: &Header,
        out: &mut Batch<GtpOutput>,
    ) -> bool {
        if header.extensions.not_comprehended.is_none() {
            return true;
        }
        cx.drop(Drop::GtpExtensionHeader, None);
        if let Peer::Udp(from) = peer
            && self.limiter.permit(cx.now)
        {
            let types = extension_type::SUPPORTED.to_vec();
            let message = SupportedExtensionHeaders { types }.into();
            self.send(cx, plane, from, Teid(0), 0, &message, out);
        }
        false
    }

    fn peer_request(
        &mut self,
        cx: &mut Context<'_>,
        from: SocketAddr,
        header: &Header,
        octets: &[u8],
        out: &mut Batch<GtpOutput>,
    ) {
        let transaction = Transaction {
            peer: from,
            plane: Plane::Control,
            sequence: header.sequence.unwrap_or(0),
            request: header.message,
            digest: Responses::digest(octets),
        };
        let end = self.answers_end(cx.now);
        match self.responses.see(transaction, cx.now, end) {
            Seen::New => {}
            Seen::Pending => return cx.drop(Drop::GtpRepeatedRequest, None),
            Seen::Answered(answer) => {
                cx.drop(Drop::GtpRepeatedRequest, None);
                let answer = cx.frames.copy_of(answer);
                let Some(frame) = answer else { return cx.drop(Drop::NoFrame, None) };
                let (port, peer) = (self.config.control_port, Peer::Udp(from));
                return out.push(GtpOutput::Transmit { port, peer, frame });
            }
        }
        self.wake_for_answers(cx);
        let payload = header.payload(octets);
        let parsed = if self.comprehends(cx, Plane::Control, Peer::Udp(from), header, out) {
            Message::parse(header.message, payload).map_err(|error| {
                cx.drop(Drop::GtpMalformed, None);
                cx.log(Category::Gtp, Level::Info, format_args!("request from {from}: {error}"));
                cause(&error)
            })
        } else {
            Err(Cause::UnknownMandatoryExtensionHeader)
        };
        match parsed {
            Ok(message) => {
                if let Some(counter) = recovery_of(&message) {
                    self.recovery(cx, from.ip(), counter, out);
                }
                let message = Box::new(message);
                out.push(GtpOutput::Request { transaction, teid: header.teid, message });
            }
            Err(cause) => {
                let is_create = header.message == message_type::CREATE_REQUEST;
                let reply_to = if is_create { v1c::control_teid(payload) } else { None };
                out.push(GtpOutput::Malformed { transaction, teid: header.teid, reply_to, cause });
            }
        }
    }

    fn response(
        &mut self,
        cx: &mut Context<'_>,
        plane: Plane,
        from: SocketAddr,
        header: &Header,
        payload: &[u8],
        out: &mut Batch<GtpOutput>,
    ) {
        let asked =
            header.sequence.and_then(|sequence| self.requests.answered(sequence, from.ip(), header.message));
        let Some(Outstanding { asker, .. }) = asked else {
            return cx.drop(Drop::GtpUnexpectedResponse, None);
        };
        let parsed = Message::parse(header.message, payload);
        if parsed.is_err() {
            cx.drop(Drop::GtpMalformed, None);
        }
        // The user plane's counter is not to be evaluated; the GSN's restart is told by its control plane.
        if let (Plane::Control, Ok(message)) = (plane, &parsed)
            && let Some(counter) = recovery_of(message)
        {
            self.recovery(cx, from.ip(), counter, out);
        }
        match asker {
            Asker::Node(user) => {
                let message = parsed.map(Box::new);
                out.push(GtpOutput::Response { user, peer: from.ip(), message });
            }
            Asker::Echo { path, generation, plane } => self.echo_answered(path, generation, plane, out),
        }
    }

    fn echo_answered(&mut self, index: u16, generation: u16, plane: Plane, out: &mut Batch<GtpOutput>) {
        let Some(path) = self.paths.get_mut(index).filter(|path| path.generation == generation) else {
            return;
        };
        let peer = path.address;
        let state = path.plane_mut(plane);
        state.echo_outstanding = false;
        if core::mem::replace(&mut state.failed, false) {
            out.push(GtpOutput::PathRestored { peer, path: index, plane });
        }
    }

    fn recovery(&mut self, cx: &mut Context<'_>, peer: IpAddr, counter: u8, out: &mut Batch<GtpOutput>) {
        match self.paths.recovery(peer, counter) {
            Recovery::Nothing => {}
            Recovery::Restarted(path) => {
                cx.log(Category::Gtp, Level::Notice, format_args!("{peer} has restarted, counter {counter}"));
                out.push(GtpOutput::PeerRestarted { peer, path });
            }
        }
    }

    fn error_indication(
        &mut self,
        cx: &mut Context<'_>,
        from: SocketAddr,
        payload: &[u8],
        out: &mut Batch<GtpOutput>,
    ) {
        match Message::parse(message_type::ERROR_INDICATION, payload) {
            Ok(Message::ErrorIndication(indication)) => {
                // Only a peer that we have tunnels with can miss one of them.
                match (self.paths.find(indication.address), self.paths.find(from.ip())) {
                    (Some(path), Some(_)) => {
                        out.push(GtpOutput::ErrorIndication { path, teid: indication.teid });
                    }
                    (None, _) | (_, None) => cx.drop(Drop::GtpUnexpectedErrorIndication, None),
                }
            }
            Ok(_) | Err(_) => cx.drop(Drop::GtpMalformed, None),
        }
    }
}

/// The restart counter that a message carries.
const fn recovery_of(message: &Message) -> Option<u8> {
    match message {
        Message::EchoResponse(message) => Some(message.recovery),
        Message::CreateRequest(message) => message.recovery,
        Message::CreateResponse(message) => message.recovery,
        Message::UpdateRequest(message) => message.recovery,
        Message::UpdateResponse(message) => message.recovery,
        Message::EchoRequest(_)
        | Message::VersionNotSupported(_)
        | Message::SupportedExtensionHeaders(_)
        | Message::DeleteRequest(_)
        | Message::DeleteResponse(_)
        | Message::ErrorIndication(_)
        | Message::PduNotificationRequest(_)
        | Message::PduNotificationResponse(_)
        | Message::PduNotificationRejectRequest(_)
        | Message::PduNotificationRejectResponse(_) => None,
    }
}
