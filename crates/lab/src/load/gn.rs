//! The GGSN's side (29.060), and N-PDUs on their way up.

use super::config::{GTP_C, GTP_U};
use super::emulator::{Emulator, Event};
use super::mobile::{Mobile, NSAPI, Profile, SAPI, ggsn_teid, pdp_address, user_of_imsi, user_of_teid};
use core::net::SocketAddr;
use gannet_machine::frame::Frame;
use gannet_machine::{Context, Output, Peer, Port};
use gannet_wire::bssgp::UlUnitdata;
use gannet_wire::bssgp::ie::{Precedence, QosProfile};
use gannet_wire::fcs24::{FCS_LEN, fcs24, fcs24_folded};
use gannet_wire::gtp::Qos;
use gannet_wire::gtp::header::{Header, message_type};
use gannet_wire::gtp::v1c::{
    CreateRequest, CreateResponse, DeleteResponse, EchoResponse, ErrorIndication, UpdateRequest,
    UpdateResponse, emit_datagram, refusal,
};
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::gtp::{Cause, EndUserAddress, Message};
use gannet_wire::id::{Teid, Tlli};
use gannet_wire::llc;
use gannet_wire::sndcp::{self, Compression};

/// The QoS profile of UL-UNITDATA: how an LL-PDU came over the radio (08.18 clause 11.3.28).
const UPLINK: QosProfile = QosProfile {
    peak_bit_rate: 0,
    granularity: 0,
    not_ack: true,
    data: true,
    rlc_unacknowledged: false,
    precedence: Precedence::UNKNOWN,
};

impl Emulator {
    pub(super) fn gtp_control(&mut self, cx: &mut Context<'_>, peer: SocketAddr, octets: &[u8]) {
        let Ok(header) = Header::parse(octets) else {
            self.stats.malformed += 1;
            return;
        };
        let Some(sequence) = header.sequence else { return };
        match Message::parse(header.message, header.payload(octets)) {
            Ok(Message::EchoRequest(_)) => self.echo(cx, GTP_C, peer, sequence),
            Ok(Message::CreateRequest(request)) => self.create(cx, peer, sequence, &request),
            Ok(Message::UpdateRequest(request)) => self.update(cx, peer, (sequence, header.teid), &request),
            Ok(Message::DeleteRequest(_)) => self.delete(cx, peer, (sequence, header.teid)),
            Ok(Message::UpdateResponse(response)) => match response.cause {
                Cause::RequestAccepted => self.stats.updated += 1,
                _ => self.stats.updates_refused += 1,
            },
            Ok(_) => {}
            Err(error) => {
                self.stats.malformed += 1;
                if let Some(answer) = refusal(header.message, gannet_wire::gtp::cause(&error)) {
                    self.send_gtp(cx, GTP_C, peer, (Teid(0), sequence), &answer);
                }
            }
        }
    }

    fn echo(&mut self, cx: &mut Context<'_>, port: Port, peer: SocketAddr, sequence: u16) {
        let recovery = self.config.restart_counter;
        let response = EchoResponse { recovery, private_extension: None };
        self.send_gtp(cx, port, peer, (Teid(0), sequence), &response.into());
    }

    /// Create PDP Context Request (29.060 clause 7.3.1). The answer to a repetition is the same answer.
    fn create(&mut self, cx: &mut Context<'_>, peer: SocketAddr, sequence: u16, request: &CreateRequest) {
        let reply_to = request.teid_control.unwrap_or_default();
        let user = request.imsi.as_ref().and_then(user_of_imsi);
        let mobile = user.and_then(|user| Some((user, self.mobiles.get_mut(user as usize)?)));
        let Some((user, mobile)) = mobile.filter(|_| request.nsapi == NSAPI) else {
            let refused = CreateResponse::refused(Cause::NoResourcesAvailable).into();
            return self.send_gtp(cx, GTP_C, peer, (reply_to, sequence), &refused);
        };
        if mobile.sgsn_data != request.teid_data.0 {
            mobile.contexts = mobile.contexts.wrapping_add(1);
        }
        (mobile.sgsn_data, mobile.sgsn_control) = (request.teid_data.0, reply_to.0);
        let teid = ggsn_teid(user, mobile.contexts);
        (self.sgsn_user, self.sgsn_control) = (Some(request.sgsn_user), Some(request.sgsn_control));
        let address = self.config.ggsn_local;
        let response = CreateResponse {
            reordering_required: Some(false),
            recovery: Some(self.config.restart_counter),
            teid_data: Some(teid),
            teid_control: Some(teid),
            charging_id: Some(teid.0),
            end_user_address: Some(EndUserAddress::Ipv4(Some(pdp_address(user)))),
            ggsn_control: Some(address),
            ggsn_user: Some(address),
            qos: Some(request.qos),
            ..CreateResponse::refused(Cause::RequestAccepted)
        };
        self.send_gtp(cx, GTP_C, peer, (reply_to, sequence), &response.into());
    }

    /// The user that has the context with this endpoint of the GGSN.
    fn context_of(&mut self, teid: Teid) -> Option<(u32, &mut Mobile)> {
        let user = user_of_teid(teid)?;
        let mobile = self.mobiles.get_mut(user as usize)?;
        (mobile.sgsn_data != 0 && ggsn_teid(user, mobile.contexts) == teid).then_some((user, mobile))
    }

    /// Update PDP Context Request (29.060 clause 7.3.3).
    fn update(
        &mut self,
        cx: &mut Context<'_>,
        peer: SocketAddr,
        (sequence, teid): (u16, Teid),
        request: &UpdateRequest,
    ) {
        let Some(((_, mobile), update)) = self.context_of(teid).zip(request.sgsn_initiated().ok()) else {
            let refused = UpdateResponse::refused(Cause::NonExistent).into();
            return self.send_gtp(cx, GTP_C, peer, (Teid(0), sequence), &refused);
        };
        mobile.sgsn_data = update.teid_data.0;
        mobile.sgsn_control = update.teid_control.map_or(mobile.sgsn_control, |teid| teid.0);
        let reply_to = Teid(mobile.sgsn_control);
        self.sgsn_user = Some(update.sgsn_user);
        let address = self.config.ggsn_local;
        let response = UpdateResponse {
            recovery: Some(self.config.restart_counter),
            teid_data: Some(teid),
            teid_control: Some(teid),
            charging_id: Some(teid.0),
            gsn_first: Some(address),
            gsn_second: Some(address),
            qos: Some(update.qos),
            ..UpdateResponse::refused(Cause::RequestAccepted)
        };
        self.send_gtp(cx, GTP_C, peer, (reply_to, sequence), &response.into());
    }

    /// The GGSN gives a user's context another quality of service (29.060 clause 7.3.3); asked once, what is lost is lost.
    /// False where it has no active context.
    pub fn update_qos(&mut self, cx: &mut Context<'_>, user: u32, profile: Profile) -> bool {
        let mobile = self.mobiles.get(user as usize).filter(|mobile| mobile.phase == super::Phase::Active);
        let Some((mobile, sgsn)) = mobile.zip(self.sgsn_control) else { return false };
        let to = Teid(mobile.sgsn_control);
        // The allocation/retention priority is that of normal precedence.
        let request = UpdateRequest { qos: Some(Qos::new(2, &profile.0)), ..UpdateRequest::new(NSAPI) };
        self.sequence = self.sequence.wrapping_add(1);
        let peer = SocketAddr::new(sgsn, gannet_wire::gtp::PORT_CONTROL);
        self.send_gtp(cx, GTP_C, peer, (to, self.sequence), &request.into());
        true
    }

    /// Delete PDP Context Request (29.060 clause 7.3.5).
    fn delete(&mut self, cx: &mut Context<'_>, peer: SocketAddr, (sequence, teid): (u16, Teid)) {
        let (reply_to, cause) = match self.context_of(teid) {
            Some((_, mobile)) => {
                mobile.sgsn_data = 0;
                (Teid(core::mem::take(&mut mobile.sgsn_control)), Cause::RequestAccepted)
            }
            None => (Teid(0), Cause::NonExistent),
        };
        let response = DeleteResponse { cause, pco: None, private_extension: None }.into();
        self.send_gtp(cx, GTP_C, peer, (reply_to, sequence), &response);
    }

    fn send_gtp(
        &mut self,
        cx: &mut Context<'_>,
        port: Port,
        peer: SocketAddr,
        (teid, sequence): (Teid, u16),
        message: &Message,
    ) {
        let mut octets = Vec::with_capacity(128);
        let written = emit_datagram(teid, sequence, message, &mut octets);
        match cx.frames.copy_of(&octets).filter(|_| written) {
            Some(frame) => self.out.push(Output::Transmit { port, peer: Peer::Udp(peer), frame }),
            None => self.stats.no_frame += 1,
        }
    }

    pub(super) fn gtp_user(&mut self, cx: &mut Context<'_>, peer: SocketAddr, mut frame: Frame) {
        let Ok(header) = Header::parse(&frame) else {
            self.stats.malformed += 1;
            return;
        };
        match header.message {
            message_type::G_PDU => {
                let Some((user, mobile)) = self.context_of(header.teid) else {
                    return self.unknown_g_pdu(cx, peer, header.teid);
                };
                mobile.g_pdus = mobile.g_pdus.wrapping_add(1);
                self.stats.g_pdus_up += 1;
                let payload = header.payload_range();
                if self.tells_data && frame.narrow(payload.start, payload.end) {
                    self.out.push(Output::Event(Event::Uplink { user, frame }));
                }
            }
            message_type::ECHO_REQUEST => {
                self.echo(cx, GTP_U, peer, header.sequence.unwrap_or(0));
            }
            message_type::ERROR_INDICATION => self.stats.error_indications += 1,
            _ => {}
        }
    }

    /// Error Indication (29.060 clause 7.3.7).
    fn unknown_g_pdu(&mut self, cx: &mut Context<'_>, peer: SocketAddr, teid: Teid) {
        self.stats.g_pdus_unknown += 1;
        let address = self.config.ggsn_local;
        let indication = ErrorIndication { teid, address, private_extension: None };
        self.send_gtp(cx, GTP_U, peer, (Teid(0), 0), &indication.into());
    }

    // ------------------------------------------------------------------------------------------------ uplink

    /// Puts the header of UL-UNITDATA before an LL-PDU of a user and sends it from where the user is.
    pub(super) fn send_ul_unitdata(&mut self, cx: &mut Context<'_>, user: u32, mut frame: Frame) {
        let Some(mobile) = self.mobiles.get_mut(user as usize) else { return };
        mobile.sent_ms = self.now_ms;
        let (tlli, cell) = (Tlli(mobile.tlli), mobile.cell);
        let header = UlUnitdata::new(tlli, UPLINK, self.config.cell_id(cell));
        let length = frame.len();
        if frame.push(header.buffer_len(length)).is_some_and(|room| header.emit(length, room)) {
            let (_, bvci) = self.config.bvc_of(cell);
            self.send_ns(cx, self.config.nse_of(cell), bvci, frame);
        }
    }

    /// Sends an N-PDU of a user up through the socket, in as many segments as its N201-U asks for. False where the
    /// user has no active context, or no frame is left.
    pub fn send_n_pdu(&mut self, cx: &mut Context<'_>, user: u32, n_pdu: &[u8]) -> bool {
        self.now_ms = super::emulator::millis(cx.now);
        let Some(mobile) = self.mobiles.get_mut(user as usize) else { return false };
        if mobile.phase != super::Phase::Active {
            return false;
        }
        let number = mobile.npdu_number;
        mobile.npdu_number = (number + 1) % sndcp::UNITDATA_MODULUS;
        let room = usize::from(mobile.n201_u).saturating_sub(sndcp::UNITDATA_FIRST_LEN).max(1);
        let count = n_pdu.len().div_ceil(room);
        for (segment, octets) in (0_u8..).zip(n_pdu.chunks(room)) {
            let more = usize::from(segment) + 1 < count;
            let first = (segment == 0).then_some(Compression::NONE);
            let pdu = sndcp::Pdu::Unitdata { first, segment, number };
            let header = sndcp::Header { nsapi: NSAPI, more, pdu }.emit();
            let Some(frame) = self.ui_frame(cx, user, &header, octets) else { return false };
            self.send_ul_unitdata(cx, user, frame);
        }
        self.stats.n_pdus_up += 1;
        true
    }

    /// Sends a T-PDU of a user down through the socket, as its GGSN. False where it has no active context, or no frame is
    /// left.
    pub fn send_g_pdu(&mut self, cx: &mut Context<'_>, user: u32, t_pdu: &[u8]) -> bool {
        let mobile = self.mobiles.get(user as usize).filter(|mobile| mobile.phase == super::Phase::Active);
        let (Some(mobile), Some(sgsn)) = (mobile, self.sgsn_user) else { return false };
        let g_pdu = GPdu { teid: Teid(mobile.sgsn_data), sequence: None, npdu_number: None };
        let Some(mut frame) = cx.frames.copy_of(t_pdu) else {
            self.stats.no_frame += 1;
            return false;
        };
        let written = frame.push(g_pdu.buffer_len()).is_some_and(|room| g_pdu.emit(t_pdu.len(), room));
        if written {
            let peer = Peer::Udp(SocketAddr::new(sgsn, gannet_wire::gtp::PORT_USER));
            self.out.push(Output::Transmit { port: GTP_U, peer, frame });
        }
        written
    }

    fn ui_frame(&mut self, cx: &mut Context<'_>, user: u32, header: &[u8], octets: &[u8]) -> Option<Frame> {
        let (nu, cover) = self.next_ui(user, SAPI, true)?;
        let Some(mut frame) = cx.frames.alloc() else {
            self.stats.no_frame += 1;
            return None;
        };
        let llc = llc::ui_header(false, SAPI, nu, cover.is_on(), true);
        (frame.append(&llc) && frame.append(header) && frame.append(octets)).then_some(())?;
        let fcs = fcs24_folded(&frame, cx.fold);
        frame.append(&fcs).then_some(())?;
        cover.apply(frame.get_mut(llc.len()..)?);
        Some(frame)
    }

    /// The NS-UNITDATA PDU with one N-PDU of a user, for a generator of its own: appended to `out`. Says through which
    /// NSE's socket it goes; `None` where the user has no active context or the N-PDU does not fit one LL-PDU.
    ///
    /// Each call takes the next N(U) and the next N-PDU number, so what was made must be sent, in this order.
    pub fn n_pdu_on_gb(&mut self, user: u32, n_pdu: &[u8], out: &mut Vec<u8>) -> Option<u16> {
        let mobile = self.mobiles.get_mut(user as usize)?;
        let fits = n_pdu.len() + sndcp::UNITDATA_FIRST_LEN <= usize::from(mobile.n201_u);
        if mobile.phase != super::Phase::Active || !fits {
            return None;
        }
        let number = mobile.npdu_number;
        mobile.npdu_number = (number + 1) % sndcp::UNITDATA_MODULUS;
        let (tlli, cell) = (Tlli(mobile.tlli), mobile.cell);
        let (nu, cover) = self.next_ui(user, SAPI, true)?;
        let llc_len = llc::UI_HEADER_LEN + sndcp::UNITDATA_FIRST_LEN + n_pdu.len() + FCS_LEN;
        let unitdata = UlUnitdata::new(tlli, UPLINK, self.config.cell_id(cell));
        out.extend(gannet_wire::ns::Unitdata::of(self.config.bvc_of(cell).1).emit());
        let at = out.len();
        out.resize(at + unitdata.buffer_len(llc_len), 0);
        out.get_mut(at..).is_some_and(|room| unitdata.emit(llc_len, room)).then_some(())?;
        let llc_at = out.len();
        out.extend(llc::ui_header(false, SAPI, nu, cover.is_on(), true));
        let pdu = sndcp::Pdu::Unitdata { first: Some(Compression::NONE), segment: 0, number };
        out.extend_from_slice(&sndcp::Header { nsapi: NSAPI, more: false, pdu }.emit());
        out.extend_from_slice(n_pdu);
        let fcs = fcs24(out.get(llc_at..)?);
        out.extend(fcs);
        cover.apply(out.get_mut(llc_at + llc::UI_HEADER_LEN..)?);
        Some(self.config.nse_of(cell))
    }
}
