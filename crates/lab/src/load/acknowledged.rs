//! Acknowledged mode as a mobile has it that only receives: LLC's link on the SAPI of its data, and SN-DATA PDUs on that (04.64
//! clauses 8.5 and 8.6 [44.064], 04.65 clause 6.2.1 [44.065]).
//!
//! The mobile asks for reliability class 1 or 2 and, once its context is active, establishes the link; it has a context in
//! acknowledged mode when UA has come. Of the link it keeps V(R) alone, and of SNDCP the number of the next N-PDU: what is not the
//! next I frame is not taken, and RR says what is, at once where it is asked for. The SGSN sends again what is missing. With cipher
//! nobody here is in acknowledged mode; [`super::LoadConfig::check`] knows no profiles, so that who asks has to see to that.
//!
//! While a sink at the driver takes I frames it answers them itself, and V(R) is there ([`super::User::received`] is where it begins).

use super::emulator::Emulator;
use super::mobile::{Phase, SAPI};
use super::security::Cover;
use gannet_machine::Context;
use gannet_machine::frame::Frame;
use gannet_proto::llc::abm::Windows;
use gannet_proto::sndcp::WINDOW;
use gannet_proto::user_plane::needs_acknowledged_mode;
use gannet_wire::id::Sapi;
use gannet_wire::l3::ie::QosProfile;
use gannet_wire::llc::{Control, Header, Layout, MODULUS, Supervisory, UFunction, xid};
use gannet_wire::sndcp;

impl Emulator {
    /// ACTIVATE PDP CONTEXT ACCEPT: in acknowledged mode the context is of use when its link is there.
    pub(super) fn activated(&mut self, cx: &mut Context<'_>, user: u32, qos: &QosProfile) {
        let is_acknowledged = needs_acknowledged_mode(qos.reliability);
        if let Some(mobile) = self.mobiles.get_mut(user as usize) {
            (mobile.acknowledged, mobile.received, mobile.receive_n_pdu) = (is_acknowledged, 0, 0);
        }
        if !is_acknowledged {
            self.stats.activated += 1;
            self.arrive(cx, user, Phase::Active);
            return;
        }
        self.enter(user, Phase::Establishing);
        self.try_once(cx, user);
    }

    /// SABM, with P (clause 8.5.1.2), and what is proposed.
    pub(super) fn send_sabm(&mut self, cx: &mut Context<'_>, user: u32) {
        let mut proposed = Vec::new();
        if let Some(frames) = self.proposed(user) {
            xid::Parameter::KD(frames).emit(&mut proposed);
        }
        self.send_u(cx, user, SAPI, false, (true, UFunction::Sabm), &proposed);
    }

    /// kD that a mobile proposes; `None` where it proposes nothing.
    fn proposed(&self, user: u32) -> Option<u8> {
        self.config.kd.filter(|of| user < of.users).map(|of| of.frames)
    }

    /// The largest kD that a mobile agrees to: what it proposes, or that of table 9.
    pub(super) fn kd_at_most(&self, user: u32) -> u8 {
        let of_table_9 = Windows::defaults(SAPI).map_or(1, |windows| windows.k_received);
        self.proposed(user).unwrap_or(of_table_9)
    }

    /// What UA says to the window that was proposed. What it leaves out it agrees to (clause 8.5.3.1).
    pub(super) fn hear_window(&mut self, user: u32, answer: &[u8]) {
        let Some(proposed) = self.proposed(user) else { return };
        let Ok(answer) = xid::parse(answer) else {
            self.stats.malformed += 1;
            return;
        };
        let is_lower = |it: &xid::Parameter| matches!(it, xid::Parameter::KD(frames) if *frames < proposed);
        self.stats.windows_proposed += 1;
        self.stats.windows_lowered += u64::from(answer.iter().any(is_lower));
    }

    /// A U frame that belongs to acknowledged mode.
    pub(super) fn u_of_link(
        &mut self,
        cx: &mut Context<'_>,
        user: u32,
        (layout, sapi): (&Layout, Sapi),
        frame: &Frame,
    ) {
        let Some(mobile) = self.mobiles.get_mut(user as usize) else { return };
        let Control::U { poll_final, function } = layout.header.control else { return };
        // A command of the SGSN has C/R 1, a response 0.
        match (function, layout.header.cr) {
            (UFunction::Ua, false) if mobile.phase == Phase::Establishing && poll_final => {
                mobile.received = 0;
                self.hear_window(user, frame.get(layout.info()).unwrap_or_default());
                self.stats.activated += 1;
                self.stats.established += 1;
                self.arrive(cx, user, Phase::Active);
            }
            (UFunction::Dm, false) if mobile.phase == Phase::Establishing && poll_final => self.fail(user),
            (UFunction::Sabm, true) if mobile.acknowledged && sapi == SAPI => {
                mobile.received = 0;
                self.stats.established += 1;
                let information = frame.get(layout.info()).unwrap_or_default().to_vec();
                self.negotiate(cx, user, (sapi, poll_final), (UFunction::Ua, &information));
            }
            (UFunction::Sabm, true) => {
                self.send_u(cx, user, sapi, true, (poll_final, UFunction::Dm), &[]);
            }
            (UFunction::Disc, true) => {
                self.send_u(cx, user, sapi, true, (poll_final, UFunction::Ua), &[]);
            }
            // Answers to what was repeated, and what says nothing to who has sent nothing.
            _ => {}
        }
    }

    /// An intact I or S frame: the SN-PDU of an I frame is taken where it is the next one, and who asks for it hears V(R).
    pub(super) fn of_link(&mut self, cx: &mut Context<'_>, user: u32, layout: &Layout, mut frame: Frame) {
        let Some(mobile) = self.mobiles.get_mut(user as usize) else { return };
        if layout.header.sapi != SAPI || !mobile.acknowledged {
            return;
        }
        let (is_asked, is_next) = match layout.header.control {
            Control::I { ack_request, ns, .. } => (ack_request, ns == mobile.received),
            Control::S { ack_request, .. } => (ack_request, false),
            Control::Ui { .. } | Control::U { .. } => return,
        };
        if is_next {
            mobile.received = (mobile.received + 1) % MODULUS;
            self.stats.i_frames += 1;
            let info = layout.info();
            if frame.narrow(info.start, info.end) && self.is_new(user, &frame) {
                self.sn_pdu(user, frame);
            }
        }
        if is_asked {
            self.send_rr(cx, user);
        }
    }

    /// Has an SN-DATA PDU not come on an earlier link? That is known by the number of its N-PDU (04.65 clause 6.2.1).
    fn is_new(&mut self, user: u32, sn_pdu: &[u8]) -> bool {
        let has_long_window = self.proposed(user).is_some_and(|kd| kd > WINDOW);
        let Some(mobile) = self.mobiles.get_mut(user as usize) else { return false };
        let Ok((sndcp::Header { pdu: sndcp::Pdu::Data { first: Some((_, number)) }, .. }, _)) =
            sndcp::Header::parse(sn_pdu)
        else {
            return true;
        };
        // Of a long window all that is not the next one was sent before.
        let ahead = number.wrapping_sub(mobile.receive_n_pdu);
        let is_new = ahead == 0 || !has_long_window && ahead <= WINDOW;
        if is_new {
            mobile.receive_n_pdu = number.wrapping_add(1);
        } else {
            self.stats.n_pdus_repeated += 1;
        }
        is_new
    }

    /// RR (clause 6.4.3.1).
    fn send_rr(&mut self, cx: &mut Context<'_>, user: u32) {
        let Some(mobile) = self.mobiles.get(user as usize) else { return };
        let control = Control::S { ack_request: false, nr: mobile.received, supervisory: Supervisory::Rr };
        let header = Header { cr: true, sapi: SAPI, control }.emit();
        self.stats.acknowledgements += 1;
        self.send_ll_pdu(cx, user, header.to_vec(), Cover::default());
    }
}
