//! What arrives: which datagram is a G-PDU, a request, a response or nothing that may be answered.

use super::path::{Channel, Plane, Recovery};
use super::request::{Asker, Outstanding, Responses, Seen, Transaction};
use super::tunnel::Endpoint;
use super::version::Version;
use super::{GtpEntity, GtpOutput, version0};
use core::net::{IpAddr, SocketAddr};
use core::ops::Range;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Peer};
use gannet_wire::gtp::header::{Extensions, Header, extension_type, message_type};
use gannet_wire::gtp::v1c::{self, EchoResponse, SupportedExtensionHeaders, VersionNotSupported};
use gannet_wire::gtp::{Cause, Message, cause, v0};
use gannet_wire::id::{FlowLabel, Teid, Tid};
use gannet_wire::{DecodeError, DecodeErrorKind};

/// A G-PDU without its header.
#[derive(Debug)]
pub struct ReceivedGPdu {
    /// Our endpoint.
    pub endpoint: Endpoint,
    /// Its sequence number, where it has one.
    pub sequence: Option<u16>,
    /// The T-PDU.
    pub frame: Frame,
}

/// A signalling message, or what is no G-PDU, of either version, with its header read.
struct Signalling<'a> {
    channel: Channel,
    from: SocketAddr,
    kind: u8,
    sequence: u16,
    /// Our endpoint of version 1.
    teid: Teid,
    /// And of version 0, where the header names a tunnel.
    tid: Option<Tid>,
    flow: FlowLabel,
    /// The datagram.
    octets: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Signalling<'a> {
    fn of_v1(channel: Channel, from: SocketAddr, header: &Header, octets: &'a [u8]) -> Self {
        Self {
            channel,
            from,
            kind: header.message,
            sequence: header.sequence.unwrap_or(0),
            teid: header.teid,
            tid: None,
            flow: FlowLabel(0),
            octets,
            payload: header.payload(octets),
        }
    }

    fn of_v0(from: SocketAddr, header: &v0::Header, octets: &'a [u8], range: Range<usize>) -> Self {
        Self {
            channel: Channel::V0,
            from,
            kind: header.message,
            sequence: header.sequence,
            teid: Teid(0),
            tid: header.tid(),
            flow: header.flow,
            octets,
            payload: octets.get(range).unwrap_or_default(),
        }
    }

    fn parse(&self) -> Result<Message, DecodeError> {
        match self.channel.version() {
            Version::V1 => Message::parse(self.kind, self.payload),
            Version::V0 => version0::parse(self.kind, self.tid, self.payload),
        }
    }

    /// Our endpoint; `None` where it cannot be read.
    fn endpoint(&self) -> Option<Endpoint> {
        match self.channel.version() {
            Version::V1 => Some(Endpoint::Teid(self.teid)),
            Version::V0 => self.tid.map(|tid| Endpoint::Tid { tid, flow: self.flow }),
        }
    }

    /// The sender's endpoint that a Create PDP Context Request names.
    fn reply_to(&self) -> Option<Teid> {
        if self.kind != message_type::CREATE_REQUEST {
            return None;
        }
        match self.channel.version() {
            Version::V1 => v1c::control_teid(self.payload),
            Version::V0 => v0::message::signalling_flow(self.payload).map(|flow| Teid(flow.0.into())),
        }
    }
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
        if self.is_of_mobile(cx, peer) {
            return None;
        }
        let header = match Header::parse(&frame) {
            Ok(header) if header.message == message_type::G_PDU => header,
            parsed => {
                self.signalling_v1(cx, Channel::User, peer, &frame, parsed, out);
                return None;
            }
        };
        if header.extensions != Extensions::default()
            && !self.comprehends(cx, Channel::User, peer, &header, out)
        {
            return None;
        }
        let range = header.payload_range();
        if !frame.narrow(range.start, range.end) {
            return None;
        }
        Some(ReceivedGPdu { endpoint: Endpoint::Teid(header.teid), sequence: header.sequence, frame })
    }

    /// Takes a datagram from the port of version 0, which carries both planes. A G-PDU is given back as its T-PDU;
    /// anything else is dealt with here.
    pub fn receive_v0(
        &mut self,
        cx: &mut Context<'_>,
        peer: Peer,
        mut frame: Frame,
        out: &mut Batch<GtpOutput>,
    ) -> Option<ReceivedGPdu> {
        let Peer::Udp(from) = peer else { return None };
        if self.is_of_mobile(cx, peer) {
            return None;
        }
        let (header, range) = match v0::Header::parse(&frame) {
            Ok((header, range)) if header.message == message_type::G_PDU => (header, range),
            Ok((header, range)) => {
                self.signalling(cx, &Signalling::of_v0(from, &header, &frame, range), out);
                return None;
            }
            Err(error) => {
                self.bad_header(cx, Channel::V0, from, &frame, &error, out);
                return None;
            }
        };
        let Some(tid) = header.tid().filter(|_| frame.narrow(range.start, range.end)) else {
            cx.drop(Drop::GtpMalformed, None);
            return None;
        };
        let endpoint = Endpoint::Tid { tid, flow: header.flow };
        Some(ReceivedGPdu { endpoint, sequence: Some(header.sequence), frame })
    }

    /// Takes a datagram from the port of the control plane.
    pub fn receive_control(
        &mut self,
        cx: &mut Context<'_>,
        peer: Peer,
        frame: &Frame,
        out: &mut Batch<GtpOutput>,
    ) {
        if !self.is_of_mobile(cx, peer) {
            self.signalling_v1(cx, Channel::Control, peer, frame, Header::parse(frame), out);
        }
    }

    fn signalling_v1(
        &mut self,
        cx: &mut Context<'_>,
        channel: Channel,
        peer: Peer,
        octets: &[u8],
        header: Result<Header, DecodeError>,
        out: &mut Batch<GtpOutput>,
    ) {
        let Peer::Udp(from) = peer else { return };
        match header {
            Ok(header) => {
                let is_request =
                    v1c::is_request(header.message) && header.message != message_type::ECHO_REQUEST;
                let signalling = Signalling::of_v1(channel, from, &header, octets);
                if is_request && channel == Channel::Control && header.extensions.not_comprehended.is_some() {
                    self.not_comprehended(cx, peer, &header, &signalling, out);
                } else {
                    self.signalling(cx, &signalling, out);
                }
            }
            Err(error) => self.bad_header(cx, channel, from, octets, &error, out),
        }
    }

    fn signalling(&mut self, cx: &mut Context<'_>, of: &Signalling<'_>, out: &mut Batch<GtpOutput>) {
        let Signalling { channel, from, .. } = *of;
        match (channel, of.kind) {
            // Echo is answered at once and by nobody else (29.060 clause 7.2.2, 09.60 clause 7.4.2).
            (_, message_type::ECHO_REQUEST) => {
                let recovery = self.config.restart_counter;
                let message = EchoResponse { recovery, private_extension: None }.into();
                self.send(cx, channel, from, of.sequence, &message, out);
            }
            (_, message_type::ECHO_RESPONSE)
            | (
                Channel::Control | Channel::V0,
                message_type::CREATE_RESPONSE
                | message_type::UPDATE_RESPONSE
                | message_type::DELETE_RESPONSE
                | message_type::PDU_NOTIFICATION_RESPONSE
                | message_type::PDU_NOTIFICATION_REJECT_RESPONSE,
            ) => self.response(cx, of, out),
            (
                Channel::Control | Channel::V0,
                message_type::CREATE_REQUEST
                | message_type::UPDATE_REQUEST
                | message_type::DELETE_REQUEST
                | message_type::PDU_NOTIFICATION_REQUEST
                | message_type::PDU_NOTIFICATION_REJECT_REQUEST,
            ) => self.peer_request(cx, of, None, out),
            // GTPv1 has the Error Indication on the user plane; some send it on the control plane.
            (_, message_type::ERROR_INDICATION) => self.error_indication(cx, of, out),
            (_, message_type::VERSION_NOT_SUPPORTED) => {
                self.version_refused(cx, channel, from, of.sequence, out);
            }
            (Channel::Control | Channel::User, message_type::SUPPORTED_EXTENSION_HEADERS) => {
                if !self.header_lines.permit(cx.now) {
                    return;
                }
                cx.log(
                    Category::Gtp,
                    Level::Notice,
                    format_args!("{from} does not support an extension header"),
                );
            }
            // Unknown or unexpected: discarded without an answer (29.060 clauses 11.1.3 and 11.1.4).
            (Channel::Control | Channel::User | Channel::V0, _) => cx.drop(Drop::GtpUnknownMessage, None),
        }
    }

    /// A request with an extension header that must be known and is not: it is refused for that.
    fn not_comprehended(
        &mut self,
        cx: &mut Context<'_>,
        peer: Peer,
        header: &Header,
        of: &Signalling<'_>,
        out: &mut Batch<GtpOutput>,
    ) {
        self.peer_request(cx, of, Some((peer, header)), out);
    }

    /// A header of another version is answered with ours, anything else not at all (29.060 clauses 11.1.1 and 11.1.2).
    fn bad_header(
        &mut self,
        cx: &mut Context<'_>,
        channel: Channel,
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
        let sequence = foreign_sequence(flags, octets);
        if is_answer && channel != Channel::User && !is_gtp_prime {
            self.version_refused(cx, channel, from, sequence, out);
        }
        if is_gtp_prime || is_answer || octets.len() < 8 {
            return;
        }
        if !self.limiter.permit(cx.now) {
            cx.drop(Drop::GtpErrorIndicationLimited, None);
            return;
        }
        self.send(cx, channel, from, sequence, &VersionNotSupported {}.into(), out);
    }

    /// Are all extension headers known that must be? If not, the sender is told which are (29.060 clause 7.2.4).
    fn comprehends(
        &mut self,
        cx: &mut Context<'_>,
        channel: Channel,
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
            self.send(cx, channel, from, 0, &message, out);
        }
        false
    }

    /// A request of a peer, with its header where that has something that is not comprehended.
    fn peer_request(
        &mut self,
        cx: &mut Context<'_>,
        of: &Signalling<'_>,
        refused: Option<(Peer, &Header)>,
        out: &mut Batch<GtpOutput>,
    ) {
        let Signalling { channel, from, .. } = *of;
        // Whose request this is of version 0 only its header says.
        let Some(endpoint) = of.endpoint() else { return cx.drop(Drop::GtpMalformed, None) };
        let transaction = Transaction {
            peer: from,
            channel,
            tid: of.tid,
            sequence: of.sequence,
            request: of.kind,
            digest: Responses::digest(of.octets),
        };
        let end = self.answers_end(cx.now);
        match self.responses.see(transaction, cx.now, end) {
            Seen::New => {}
            Seen::Pending => return cx.drop(Drop::GtpRepeatedRequest, None),
            Seen::Answered(answer) => {
                cx.drop(Drop::GtpRepeatedRequest, None);
                let answer = cx.frames.copy_of(answer);
                let Some(frame) = answer else { return cx.drop(Drop::NoFrame, None) };
                let (port, peer) = (self.port(channel, from.ip()), Peer::Udp(from));
                return out.push(GtpOutput::Transmit { port, peer, frame });
            }
        }
        self.wake_for_answers(cx);
        if let Some((peer, header)) = refused {
            self.comprehends(cx, channel, peer, header, out);
        }
        let parsed = match (channel, of.kind, refused) {
            (_, _, Some(_)) => Err(Cause::UnknownMandatoryExtensionHeader),
            // No node here sets up contexts that a network asks for, and version 0 says less of them.
            (
                Channel::V0,
                message_type::PDU_NOTIFICATION_REQUEST | message_type::PDU_NOTIFICATION_REJECT_REQUEST,
                None,
            ) => Err(Cause::ServiceNotSupported),
            (_, _, None) => of.parse().map_err(|error| {
                cx.drop(Drop::GtpMalformed, None);
                cx.log(Category::Gtp, Level::Info, format_args!("request from {from}: {error}"));
                cause(&error)
            }),
        };
        match parsed {
            Ok(message) => {
                // What a node does not serve says nothing about its contexts.
                if !self.config.role.serves(of.kind) {
                    cx.drop(Drop::GtpNotServed, None);
                } else if let Some(counter) = recovery_of(&message) {
                    self.recovery(cx, from.ip(), channel.version(), counter, out);
                }
                out.push(GtpOutput::Request { transaction, endpoint, message: Box::new(message) });
            }
            Err(cause) => {
                let reply_to = of.reply_to();
                out.push(GtpOutput::Malformed { transaction, endpoint, reply_to, cause });
            }
        }
    }

    fn response(&mut self, cx: &mut Context<'_>, of: &Signalling<'_>, out: &mut Batch<GtpOutput>) {
        let (version, peer) = (of.channel.version(), of.from.ip());
        // A GSN of several addresses may answer from another one, where the operator vouches for it.
        let is_listed = self.listed(peer).is_some();
        let asked = self.requests.answered(of.sequence, version, (peer, is_listed), of.kind);
        let Some(Outstanding { asker, peer: asked, .. }) = asked else {
            return cx.drop(Drop::GtpUnexpectedResponse, None);
        };
        let parsed = of.parse();
        if parsed.is_err() {
            cx.drop(Drop::GtpMalformed, None);
        }
        // The counter of version 1's user plane is not to be evaluated; its control plane tells the GSN's restart.
        if let (Channel::Control | Channel::V0, Ok(message)) = (of.channel, &parsed)
            && let Some(counter) = recovery_of(message)
        {
            self.recovery(cx, peer, version, counter, out);
        }
        match asker {
            Asker::Node(user) => {
                let message = parsed.map(Box::new);
                out.push(GtpOutput::Response { user, peer, asked: asked.ip(), version, message });
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
        (state.has_answered, state.lost_at) = (true, None);
        if core::mem::replace(&mut state.failed, false) {
            out.push(GtpOutput::PathRestored { peer, path: index, plane });
        }
    }

    fn recovery(
        &mut self,
        cx: &mut Context<'_>,
        peer: IpAddr,
        version: Version,
        counter: u8,
        out: &mut Batch<GtpOutput>,
    ) {
        match self.paths.recovery(peer, version, counter) {
            Recovery::Nothing => {}
            Recovery::Restarted(path) => {
                let text =
                    format_args!("{} {peer} has restarted, counter {counter}", self.config.role.peers());
                cx.log(Category::Gtp, Level::Notice, text);
                out.push(GtpOutput::PeerRestarted { peer, path, counter });
            }
        }
    }

    /// Only an address that we have tunnels to can miss one of them.
    fn error_indication(&mut self, cx: &mut Context<'_>, of: &Signalling<'_>, out: &mut Batch<GtpOutput>) {
        let (version, peer) = (of.channel.version(), of.from.ip());
        let read = match version {
            Version::V1 => match of.parse() {
                Ok(Message::ErrorIndication(it)) => Some((it.address, Endpoint::Teid(it.teid))),
                Ok(_) | Err(_) => None,
            },
            // The header says which tunnel it was.
            Version::V0 => v0::Message::parse(of.kind, of.payload)
                .ok()
                .and_then(|_| of.endpoint())
                .map(|endpoint| (peer, endpoint)),
        };
        let Some((address, endpoint)) = read else { return cx.drop(Drop::GtpMalformed, None) };
        match self.paths.find(address, version) {
            Some(path) => out.push(GtpOutput::ErrorIndication { peer, path, endpoint }),
            None => cx.drop(Drop::GtpUnexpectedErrorIndication, None),
        }
    }

    /// Version Not Supported (29.060 clause 7.2.3): the request that it answers has failed, and all to this peer where it
    /// names none by its number.
    fn version_refused(
        &mut self,
        cx: &mut Context<'_>,
        channel: Channel,
        from: SocketAddr,
        sequence: u16,
        out: &mut Batch<GtpOutput>,
    ) {
        let refused = self.requests.refused(sequence, channel, from.ip());
        if refused.is_empty() {
            return cx.drop(Drop::GtpUnexpectedResponse, None);
        }
        cx.drop(Drop::GtpVersionRefused, None);
        let text = format_args!("{from} does not support version {} of GTP", channel.version());
        cx.log(Category::Gtp, Level::Notice, text);
        refused.into_iter().for_each(|user| out.push(GtpOutput::VersionRefused { user }));
    }
}

/// The sequence number in the header of another version, with which its sender knows our answer: of version 0 (09.60 clause 6)
/// and version 2, of which the lower 16 bits (29.274 clause 5.1), and 0 where there is none.
fn foreign_sequence(flags: u8, octets: &[u8]) -> u16 {
    let at = match (flags >> 5, flags & 0x08) {
        (0, _) => 4,
        (2, 0) => 5,
        (2, _) => 9,
        _ => return 0,
    };
    octets.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |octets| u16::from_be_bytes(*octets))
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
