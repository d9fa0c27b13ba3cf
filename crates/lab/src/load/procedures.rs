//! Mobility and session management as a mobile speaks it (04.08 clauses 4.7 and 6.1 [24.008]), and LLC below it.
//!
//! A mobile has a phase and a goal; [`Emulator::step`] takes the next procedure from the one towards the other.

use super::emulator::{Emulator, Event, Order, Waiting};
use super::mobile::{Goal, N201_U_DEFAULT, NSAPI, Phase, SAPI, imei, imsi, random_tlli};
use super::security::Cover;
use gannet_machine::frame::Frame;
use gannet_machine::{Context, Output};
use gannet_proto::gmm::message_goes_ciphered;
use gannet_wire::fcs24::fcs24;
use gannet_wire::id::{Rai, Sapi, Tlli};
use gannet_wire::l3::gmm::{
    AttachAccept, AttachComplete, AttachRequest, DetachAcceptMt, DetachRequestMo, GmmMessage,
    IdentityResponse, PTmsiReallocationComplete,
};
use gannet_wire::l3::ie::{
    DetachKindMo, DetachTypeMo, DetachTypeMt, GmmCause, GprsTimer, IdentityType, MobileIdentity,
    MsNetworkCapability, MsRadioAccessCapability, PdpAddress, SmCause,
};
use gannet_wire::l3::sm::{ActivateRequest, DeactivateAccept, DeactivateRequest, ModifyAcceptMo, SmMessage};
use gannet_wire::l3::{Direction, L3Message};
use gannet_wire::llc::{self, Control, Header, UFunction, xid};
use gannet_wire::sndcp;

/// The transaction identifier of each user's one context.
const TI: u8 = 0;
/// A GSM 900 mobile of multislot class 12.
const RADIO_ACCESS: [u8; 5] = [0x12, 0x53, 0x43, 0x2b, 0x25];

impl Emulator {
    // ------------------------------------------------------------------------------------------- procedures

    /// Begins the next procedure towards the mobile's goal, or notes that it has arrived. `again` makes a context that
    /// is active be activated anew.
    pub(super) fn step(&mut self, cx: &mut Context<'_>, user: u32, again: bool) {
        let Some(mobile) = self.mobiles.get(user as usize) else { return };
        let next = match (mobile.phase, mobile.goal) {
            (Phase::Detached, Goal::Attached | Goal::Active) => Phase::Attaching,
            (Phase::Attached, Goal::Active) => Phase::Activating,
            (Phase::Active, Goal::Active) if again => Phase::Deactivating,
            (Phase::Active, Goal::Attached) => Phase::Deactivating,
            (Phase::Attached | Phase::Active, Goal::Detached) => Phase::Detaching,
            (Phase::Detached, Goal::Detached)
            | (Phase::Attached, Goal::Attached)
            | (Phase::Active, Goal::Active)
            | (
                Phase::Attaching
                | Phase::Activating
                | Phase::Establishing
                | Phase::Deactivating
                | Phase::Detaching,
                _,
            ) => return,
        };
        self.enter(user, next);
        if next == Phase::Attaching {
            self.begin_attach(user);
        }
        self.try_once(cx, user);
    }

    /// Another phase; counts what is under way.
    pub(super) fn enter(&mut self, user: u32, phase: Phase) {
        let Some(mobile) = self.mobiles.get_mut(user as usize) else { return };
        self.pending -= u32::from(mobile.phase.is_pending());
        self.pending += u32::from(phase.is_pending());
        mobile.phase = phase;
        mobile.tries = 0;
        mobile.stamp = mobile.stamp.wrapping_add(1);
    }

    /// A TLLI and counters of LLC that nobody has seen before.
    fn begin_attach(&mut self, user: u32) {
        self.forget_tlli(user);
        let Some(mobile) = self.mobiles.get_mut(user as usize) else { return };
        mobile.attaches = mobile.attaches.wrapping_add(1);
        mobile.tlli = random_tlli(user, mobile.attaches).0;
        (mobile.nu_gmm, mobile.nu_data, mobile.npdu_number) = (0, 0, 0);
        mobile.n201_u = N201_U_DEFAULT;
        (mobile.sgsn_data, mobile.sgsn_control) = (0, 0);
        if let Some(secrets) = &mut self.secrets {
            secrets.begin_attach(user);
        }
    }

    /// Sends the message of the phase and waits for its answer.
    pub(super) fn try_once(&mut self, cx: &mut Context<'_>, user: u32) {
        let Some(mobile) = self.mobiles.get_mut(user as usize) else { return };
        mobile.tries += 1;
        let stamp = mobile.stamp;
        let message = match mobile.phase {
            Phase::Attaching => self.attach_request(user),
            Phase::Activating => sm(self.activate_request(user)),
            Phase::Deactivating => {
                let cause = SmCause::RegularDeactivation;
                sm(DeactivateRequest { cause, tear_down: None }.into())
            }
            Phase::Detaching => {
                let detach_type = DetachTypeMo { kind: DetachKindMo::Gprs, power_off: false };
                L3Message::Gmm(DetachRequestMo { detach_type, ptmsi: None, ptmsi_signature: None }.into())
            }
            Phase::Establishing => {
                self.wait(Waiting::Mobile { user, stamp });
                return self.send_sabm(cx, user);
            }
            Phase::Detached | Phase::Attached | Phase::Active => return,
        };
        self.wait(Waiting::Mobile { user, stamp });
        self.send_l3(cx, user, &message);
    }

    /// No answer in time.
    pub(super) fn late(&mut self, cx: &mut Context<'_>, user: u32, stamp: u8) {
        let Some(mobile) = self.mobiles.get(user as usize) else { return };
        if mobile.stamp != stamp || !mobile.phase.is_pending() {
            return;
        }
        let again = mobile.tries < self.config.tries;
        self.shrink_window();
        if again {
            self.stats.repeated += 1;
            self.try_once(cx, user);
        } else {
            self.fail(user);
        }
    }

    /// The order cannot be carried out: the mobile falls back to where it was.
    pub(super) fn fail(&mut self, user: u32) {
        let Some(mobile) = self.mobiles.get(user as usize) else { return };
        let back = match mobile.phase {
            Phase::Attaching | Phase::Detaching | Phase::Detached => Phase::Detached,
            // What the network knows of the context is no longer known here.
            Phase::Activating
            | Phase::Establishing
            | Phase::Deactivating
            | Phase::Attached
            | Phase::Active => Phase::Attached,
        };
        let order = match (mobile.phase, mobile.goal) {
            (Phase::Attaching, Goal::Attached) => Some(Order::Attach),
            (Phase::Attaching | Phase::Activating | Phase::Establishing, Goal::Active) => {
                Some(Order::Activate)
            }
            _ => None,
        };
        self.enter(user, back);
        let again = order.is_some_and(|order| self.again(user, order));
        if let Some(mobile) = self.mobiles.get_mut(user as usize) {
            mobile.failed = !again;
            mobile.goal = if back == Phase::Detached { Goal::Detached } else { Goal::Attached };
        }
        self.stats.failed += u64::from(!again);
    }

    fn attach_request(&self, user: u32) -> L3Message {
        let deleted = Rai { lac: 0xfffe, rac: 0xff, ..self.config.rai };
        let secrets = self.secrets.as_ref();
        let capability = MsRadioAccessCapability(RADIO_ACCESS.to_vec());
        let request = AttachRequest {
            ms_network_capability: secrets
                .map_or_else(MsNetworkCapability::typical, |secrets| secrets.capability),
            // READY without end, where the SGSN grants that.
            requested_ready_timer: Some(GprsTimer::DEACTIVATED),
            ..AttachRequest::new(MobileIdentity::Imsi(imsi(user)), deleted, capability)
        };
        L3Message::Gmm(request.into())
    }

    fn activate_request(&self, user: u32) -> SmMessage {
        let qos = self.mobiles.get(user as usize).map(|mobile| mobile.qos.unpack()).unwrap_or_default();
        let request = ActivateRequest {
            nsapi: NSAPI,
            sapi: SAPI,
            qos,
            address: PdpAddress::Ipv4Dynamic,
            apn: Some(self.apn.clone()),
            pco: None,
        };
        request.into()
    }

    // ------------------------------------------------------------------------------------------------ GMM, SM

    fn layer3(&mut self, cx: &mut Context<'_>, user: u32, octets: &[u8]) {
        match L3Message::parse(Direction::Downlink, octets) {
            Ok(L3Message::Gmm(message)) => self.gmm(cx, user, message),
            Ok(L3Message::Sm { ti: TI, message, .. }) => self.sm(cx, user, message),
            Ok(L3Message::Sm { .. }) => self.stats.status += 1,
            Err(_) => self.stats.malformed += 1,
        }
    }

    fn gmm(&mut self, cx: &mut Context<'_>, user: u32, message: GmmMessage) {
        let Some(phase) = self.mobiles.get(user as usize).map(|mobile| mobile.phase) else { return };
        match message {
            GmmMessage::AttachAccept(accept) => self.attach_accept(cx, user, phase, &accept),
            GmmMessage::AttachReject(reject) if phase == Phase::Attaching => {
                self.rejected(user, reject.cause.code());
            }
            GmmMessage::IdentityRequest(request) => {
                let identity = match request.identity_type {
                    IdentityType::Imsi => MobileIdentity::Imsi(imsi(user)),
                    IdentityType::Imei => imei(user).map_or(MobileIdentity::None, MobileIdentity::Imei),
                    IdentityType::Imeisv => imei(user).map_or(MobileIdentity::None, MobileIdentity::Imeisv),
                    IdentityType::Tmsi => MobileIdentity::None,
                };
                self.send_gmm(cx, user, IdentityResponse { identity });
            }
            GmmMessage::AuthenticationRequest(request) => self.challenged(cx, user, &request),
            GmmMessage::AuthenticationReject(_) => {
                self.rejected(user, GmmCause::GsmAuthenticationUnacceptable.code());
            }
            GmmMessage::PTmsiReallocationCommand(command) => {
                self.take_ptmsi(user, &command.allocated_ptmsi);
                self.send_gmm(cx, user, PTmsiReallocationComplete {});
            }
            GmmMessage::DetachAcceptMo(_) if phase == Phase::Detaching => {
                self.stats.detached += 1;
                self.arrive(cx, user, Phase::Detached);
            }
            GmmMessage::DetachRequestMt(request) => {
                self.stats.network_detached += 1;
                self.send_gmm(cx, user, DetachAcceptMt {});
                if request.detach_type != DetachTypeMt::ReattachRequired
                    && let Some(mobile) = self.mobiles.get_mut(user as usize)
                {
                    mobile.goal = Goal::Detached;
                }
                self.arrive(cx, user, Phase::Detached);
            }
            GmmMessage::GmmStatus(_) => self.stats.status += 1,
            // What says nothing to a mobile that asked for nothing.
            _ => {}
        }
    }

    fn attach_accept(&mut self, cx: &mut Context<'_>, user: u32, phase: Phase, accept: &AttachAccept) {
        if phase == Phase::Detached {
            return;
        }
        if let Some(identity) = &accept.allocated_ptmsi {
            self.take_ptmsi(user, identity);
        }
        let ready = accept.negotiated_ready_timer.and_then(GprsTimer::seconds);
        self.ready_ms = ready.unwrap_or(0).saturating_mul(1000);
        if accept.allocated_ptmsi.is_some() {
            self.send_gmm(cx, user, AttachComplete {});
        }
        // Otherwise the SGSN has not heard the first ATTACH COMPLETE.
        if phase == Phase::Attaching {
            self.stats.attached += 1;
            self.watch(user);
            self.arrive(cx, user, Phase::Attached);
        }
    }

    /// The mobile goes over to the local TLLI of its P-TMSI (04.08 clause 4.7.1.4).
    fn take_ptmsi(&mut self, user: u32, identity: &MobileIdentity) {
        let MobileIdentity::PTmsi(ptmsi) = identity else { return };
        let local = Tlli::local(*ptmsi).0;
        self.forget_tlli(user);
        self.by_tlli.insert(local, user);
        if let Some(mobile) = self.mobiles.get_mut(user as usize) {
            mobile.tlli = local;
        }
    }

    /// A mobile's TLLI is its own no more. The SGSN may have given the P-TMSI to another mobile already.
    fn forget_tlli(&mut self, user: u32) {
        let Some(mobile) = self.mobiles.get(user as usize) else { return };
        if self.by_tlli.get(&mobile.tlli) == Some(&user) {
            self.by_tlli.remove(&mobile.tlli);
        }
    }

    fn sm(&mut self, cx: &mut Context<'_>, user: u32, message: SmMessage) {
        let Some(phase) = self.mobiles.get(user as usize).map(|mobile| mobile.phase) else { return };
        match message {
            SmMessage::ActivateAccept(accept) if phase == Phase::Activating => {
                self.activated(cx, user, &accept.qos);
            }
            SmMessage::ActivateReject(reject) if phase == Phase::Activating => {
                self.rejected(user, reject.cause.code());
            }
            SmMessage::DeactivateAccept(_) if phase == Phase::Deactivating => {
                self.stats.deactivated += 1;
                self.arrive(cx, user, Phase::Attached);
            }
            SmMessage::DeactivateRequest(_) => {
                self.send_l3(cx, user, &sm(DeactivateAccept {}.into()));
                if matches!(phase, Phase::Establishing | Phase::Active | Phase::Deactivating) {
                    self.stats.network_deactivated += 1;
                    // It stays without a context until it is told otherwise, unless that is under way.
                    if let Some(mobile) =
                        self.mobiles.get_mut(user as usize).filter(|_| phase != Phase::Deactivating)
                    {
                        mobile.goal = Goal::Attached;
                    }
                    self.arrive(cx, user, Phase::Attached);
                }
            }
            SmMessage::ModifyRequestMt(_) => self.send_l3(cx, user, &sm(ModifyAcceptMo {}.into())),
            SmMessage::SmStatus(_) => self.stats.status += 1,
            // Answers to what was repeated.
            _ => {}
        }
    }

    /// A procedure has ended well; the next one follows.
    pub(super) fn arrive(&mut self, cx: &mut Context<'_>, user: u32, phase: Phase) {
        self.enter(user, phase);
        self.grow_window();
        self.step(cx, user, false);
    }

    pub(super) fn rejected(&mut self, user: u32, cause: u8) {
        self.stats.rejected += 1;
        self.stats.last_reject_cause = cause;
        self.fail(user);
    }

    // ------------------------------------------------------------------------------------------------ READY

    /// The SGSN will make a STANDBY mobile of it when T3314 is over: it is heard before.
    fn watch(&mut self, user: u32) {
        if self.ready_ms == 0 {
            return;
        }
        let due = self.now_ms.saturating_add(self.ready_ms / 2);
        if let Some(mobile) = self.mobiles.get_mut(user as usize)
            && !core::mem::replace(&mut mobile.watched, true)
        {
            self.ready.push_back((due, user));
        }
    }

    pub(super) fn ready_due(&mut self, cx: &mut Context<'_>, user: u32) {
        let Some(mobile) = self.mobiles.get_mut(user as usize) else { return };
        mobile.watched = false;
        let phase = mobile.phase;
        if phase == Phase::Detached {
            return;
        }
        // Every LL-PDU starts T3314 again (03.60 clause 6.1.2.3); some SGSNs see only those of layer 3 and of users.
        if self.now_ms.saturating_sub(mobile.sent_ms) >= self.ready_ms / 4 {
            self.stats.kept_ready += 1;
            if phase == Phase::Active {
                self.send_n_pdu(cx, user, &empty_n_pdu(user));
            } else {
                self.be_heard(cx, user);
            }
        }
        self.watch(user);
    }

    /// The shortest LL-PDU, NULL on SAPI 1 (04.64 clause 6.4.1.7): a cell update where the cell is new.
    pub(super) fn be_heard(&mut self, cx: &mut Context<'_>, user: u32) {
        let Some(mobile) = self.mobiles.get(user as usize) else { return };
        if matches!(mobile.phase, Phase::Detached | Phase::Attaching) {
            return;
        }
        self.send_u(cx, user, Sapi::GMM, false, (false, UFunction::Null), &[]);
    }

    /// The mobile is in another cell of its routing area from now on, and says so.
    pub fn move_user(&mut self, cx: &mut Context<'_>, user: u32, cell: u32) {
        self.now_ms = super::emulator::millis(cx.now);
        if cell >= self.config.cells {
            return;
        }
        if let Some(mobile) = self.mobiles.get_mut(user as usize) {
            mobile.cell = cell;
            self.be_heard(cx, user);
        }
    }

    // -------------------------------------------------------------------------------------------------- LLC

    pub(super) fn send_gmm(&mut self, cx: &mut Context<'_>, user: u32, message: impl Into<GmmMessage>) {
        self.send_l3(cx, user, &L3Message::Gmm(message.into()));
    }

    fn send_l3(&mut self, cx: &mut Context<'_>, user: u32, message: &L3Message) {
        let Some((nu, cover)) = self.next_ui(user, Sapi::GMM, message_goes_ciphered(message)) else { return };
        let mut ll_pdu = Vec::with_capacity(96);
        ll_pdu.extend(llc::ui_header(false, Sapi::GMM, nu, cover.is_on(), true));
        message.emit(&mut ll_pdu);
        self.send_ll_pdu(cx, user, ll_pdu, cover);
    }

    /// An unnumbered command or response. A mobile's commands have C/R 0 (04.64 clause 6.2.2).
    pub(super) fn send_u(
        &mut self,
        cx: &mut Context<'_>,
        user: u32,
        sapi: Sapi,
        response: bool,
        (poll_final, function): (bool, UFunction),
        info: &[u8],
    ) {
        let control = Control::U { poll_final, function };
        let mut ll_pdu = Header { cr: response, sapi, control }.emit().to_vec();
        ll_pdu.extend(info);
        self.send_ll_pdu(cx, user, ll_pdu, Cover::default());
    }

    pub(super) fn send_ll_pdu(&mut self, cx: &mut Context<'_>, user: u32, mut ll_pdu: Vec<u8>, cover: Cover) {
        let fcs = fcs24(&ll_pdu);
        ll_pdu.extend(fcs);
        cover.apply(ll_pdu.get_mut(llc::UI_HEADER_LEN..).unwrap_or_default());
        match cx.frames.copy_of(&ll_pdu) {
            Some(frame) => self.send_ul_unitdata(cx, user, frame),
            None => self.stats.no_frame += 1,
        }
    }

    /// An LL-PDU that has come down to a mobile.
    pub(super) fn ll_pdu(&mut self, cx: &mut Context<'_>, user: u32, mut frame: Frame) {
        let Ok(layout) = Header::parse(&frame) else {
            self.stats.malformed += 1;
            return;
        };
        let (sapi, info) = (layout.header.sapi, layout.info());
        if let Control::Ui { nu, encrypted: true, .. } = layout.header.control {
            let ciphered = frame.get_mut(layout.header_len..).unwrap_or_default();
            if !self.uncover(user, (sapi, nu), ciphered) {
                return;
            }
        }
        if !layout.fcs_is_right_folded(&frame, cx.fold) {
            self.stats.fcs_wrong += 1;
            return;
        }
        if let Control::Ui { nu, encrypted, .. } = layout.header.control {
            let octets = frame.get(info.clone()).unwrap_or_default();
            if !self.is_taken(user, (sapi, nu), encrypted, octets) {
                return;
            }
        }
        match layout.header.control {
            Control::Ui { .. } if sapi == Sapi::GMM => {
                if frame.narrow(info.start, info.end) {
                    self.layer3(cx, user, &frame);
                }
            }
            Control::Ui { .. } => {
                if frame.narrow(info.start, info.end) {
                    self.sn_pdu(user, frame);
                }
            }
            // A response has C/R 0 downlink: only a command is to be answered.
            Control::U { poll_final, function: UFunction::Xid } if layout.header.cr => {
                let info = frame.get(info).unwrap_or_default().to_vec();
                self.negotiate(cx, user, (sapi, poll_final), (UFunction::Xid, &info));
            }
            Control::U { .. } => self.u_of_link(cx, user, (&layout, sapi), &frame),
            Control::I { .. } | Control::S { .. } => self.of_link(cx, user, &layout, frame),
        }
    }

    /// XID parameters, in a command of that name or in SABM, answered in XID or UA (04.64 clause 8.5.3): N201-U and kD as
    /// far as the mobile goes along, everything else as it was proposed; of layer 3's part nothing is repeated, which is SNDCP without
    /// compression.
    pub(super) fn negotiate(
        &mut self,
        cx: &mut Context<'_>,
        user: u32,
        (sapi, poll_final): (Sapi, bool),
        (answered_with, info): (UFunction, &[u8]),
    ) {
        let kd_at_most = self.kd_at_most(user);
        let (Ok(command), Some(mobile)) = (xid::parse(info), self.mobiles.get_mut(user as usize)) else {
            self.stats.malformed += 1;
            return;
        };
        let mut answer = Vec::with_capacity(command.len());
        for parameter in command {
            match parameter {
                xid::Parameter::KD(offered) => answer.push(xid::Parameter::KD(offered.min(kd_at_most))),
                xid::Parameter::N201U(offered) => {
                    let taken = offered.min(self.config.n201_u);
                    if sapi == SAPI {
                        mobile.n201_u = taken;
                    }
                    answer.push(xid::Parameter::N201U(taken));
                }
                xid::Parameter::Reset => {
                    (mobile.nu_gmm, mobile.nu_data) = (0, 0);
                    self.secrets.iter_mut().for_each(|secrets| secrets.reset(user));
                    answer.push(xid::Parameter::Reset);
                }
                xid::Parameter::IovUi(iov_ui) => {
                    self.secrets.iter_mut().for_each(|secrets| secrets.set_iov_ui(user, iov_ui));
                    answer.push(parameter);
                }
                xid::Parameter::Layer3(_) | xid::Parameter::Unknown { .. } => {}
                other => answer.push(other),
            }
        }
        let mut octets = Vec::new();
        xid::emit(&answer, &mut octets);
        self.send_u(cx, user, sapi, true, (poll_final, answered_with), &octets);
    }

    pub(super) fn sn_pdu(&mut self, user: u32, mut frame: Frame) {
        let Ok((header, start)) = sndcp::Header::parse(&frame) else {
            self.stats.malformed += 1;
            return;
        };
        self.stats.segments_down += 1;
        let end = frame.len();
        let segment = match header.pdu {
            sndcp::Pdu::Unitdata { segment, .. } => segment,
            // These are told apart by their order alone.
            sndcp::Pdu::Data { first } => u8::from(first.is_none()),
        };
        if self.tells_data && frame.narrow(start, end) {
            self.out.push(Output::Event(Event::Downlink { user, segment, more: header.more, frame }));
        }
    }
}

/// A session management message of the one context. The mobile has given it its transaction identifier, so the flag is 0 in
/// all that the mobile sends, also where it answers the network (24.007 clause 11.2.3.1.3).
const fn sm(message: SmMessage) -> L3Message {
    L3Message::Sm { ti: TI, ti_flag: false, message }
}

/// The shortest N-PDU: an IPv4 header from the user to nobody (192.0.2.0), with "no next header" behind it.
fn empty_n_pdu(user: u32) -> [u8; 20] {
    let [a, b, c, d] = super::pdp_address(user).octets();
    let header = [0x45, 0, 0, 20, 0, 0, 0, 0, 1, 59, 0, 0, a, b, c, d, 192, 0, 2, 0];
    let words = header.chunks_exact(2).filter_map(|pair| <[u8; 2]>::try_from(pair).ok());
    let sum: u32 = words.map(|pair| u32::from(u16::from_be_bytes(pair))).sum();
    let [_, _, high, low] = (!((sum & 0xffff) + (sum >> 16))).to_be_bytes();
    [0x45, 0, 0, 20, 0, 0, 0, 0, 1, 59, high, low, a, b, c, d, 192, 0, 2, 0]
}
