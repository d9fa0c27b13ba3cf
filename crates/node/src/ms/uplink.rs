//! From the mobile to the network: N-PDU → SNDCP → LLC → bearer.

use super::devices::Device;
use super::mobile::Suspension;
use super::{Ms, NPduDelivery, Owner};
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::timers::TimerName as _;
use gannet_machine::trace::{Category, Level};
use gannet_proto::about::About as _;
use gannet_proto::bearer::{Request, Sender};
use gannet_proto::gmm::message_goes_ciphered;
use gannet_proto::gmm::ms::GmmMsState;
use gannet_proto::user_plane::unitdata_request;
use gannet_wire::id::{Nsapi, Sapi, Tlli};
use gannet_wire::l3::L3Message;
use gannet_wire::l3::ie::RadioPriority;

impl Ms {
    /// An N-PDU from the device in a slot: that of a mobile, or of some of its contexts.
    pub(super) fn ip_packet(&mut self, cx: &mut Context<'_>, slot: u32, frame: Frame) {
        if self.config.delivery != NPduDelivery::Devices {
            return self.n_pdu(cx, slot, None, frame);
        }
        let Device { mobile: index, nsapi } = Device::of_slot(slot);
        let mobile = self.mobiles.get(index as usize).ok_or(Drop::MsUnknownMobile);
        match mobile.and_then(|mobile| mobile.bearer_of_device(nsapi, &frame)) {
            Ok(nsapi) => self.n_pdu(cx, index, Some(nsapi), frame),
            Err(drop) => cx.drop_of(drop, self.imsi_of(index)),
        }
    }

    /// An N-PDU from the TUN device of a mobile, or from elsewhere where the context is said.
    pub(super) fn n_pdu(&mut self, cx: &mut Context<'_>, index: u32, nsapi: Option<Nsapi>, frame: Frame) {
        let whose = self.imsi_of(index);
        if let Err(drop) = self.try_n_pdu(cx, index, nsapi, frame) {
            cx.drop_of(drop, whose);
        }
    }

    fn try_n_pdu(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        nsapi: Option<Nsapi>,
        frame: Frame,
    ) -> Result<(), Drop> {
        let mobile = self.mobiles.get_mut(index as usize).ok_or(Drop::MsUnknownMobile)?;
        let nsapi = match nsapi {
            Some(nsapi) => nsapi,
            None => mobile.bearer_for(&frame)?,
        };
        let bearer = *mobile.bearer(nsapi).ok_or(Drop::MsNoContext)?;
        if mobile.suspension != Suspension::None {
            return Err(Drop::MsSuspended);
        }
        if bearer.acknowledged {
            self.acknowledged_n_pdu(cx, index, nsapi, frame)?;
            self.stats.n_pdu_uplink += 1;
            return Ok(());
        }
        let frame = match self.hold_n_pdu(index, nsapi, frame) {
            Ok(held) => return held,
            Err(frame) => frame,
        };
        let mobile = self.mobiles.get_mut(index as usize).ok_or(Drop::MsUnknownMobile)?;
        // 04.08 clause 4.7.5.1: the mobile sends no user data while it updates its routing area. In acknowledged mode it is
        // what LLC sends that is lost, and sent again.
        if mobile.gmm.state() == GmmMsState::RoutingAreaUpdatingInitiated {
            return Err(Drop::MsUpdating);
        }
        let mut sndcp = bearer.sndcp;
        let mut segments = core::mem::take(&mut self.segments);
        let layers = (&mobile.llc, mobile.sndcp.as_deref_mut());
        let cut = unitdata_request(cx, layers, &mut sndcp, frame, &mut segments);
        if let Some(bearer) = mobile.bearer_mut(nsapi) {
            bearer.sndcp = sndcp;
        }
        while let Some(segment) = segments.pop() {
            self.ll_unitdata(cx, index, sndcp.sapi, bearer.protected, segment);
        }
        self.segments = segments;
        cut?;
        self.stats.n_pdu_uplink += 1;
        self.frame_sent(cx, index);
        Ok(())
    }

    /// LL-UNITDATA.request, and the LL-PDU on its way.
    fn ll_unitdata(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        sapi: Sapi,
        protected: bool,
        mut frame: Frame,
    ) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let how = (sapi, protected, true);
        match mobile.llc.unitdata_request_deferred(cx.fold, how, &mut frame) {
            Ok(cipher) => {
                if let Some(cipher) = cipher {
                    cipher.job(&mut frame).alone();
                }
                let tlli = mobile.llc.tlli().unwrap_or(Tlli::UNASSIGNED);
                self.send_ll_pdu(cx, index, tlli, frame);
            }
            Err(drop) => cx.drop_of(drop, Some(mobile.imsi())),
        }
    }

    /// A layer 3 message on SAPI 1. GMM knows of its own messages; others are to be told with [`Ms::frame_sent`].
    pub(super) fn send_l3(&mut self, cx: &mut Context<'_>, index: u32, tlli: Tlli, message: &L3Message) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let whose = mobile.imsi();
        let Some(mut frame) = cx.frames.copy_of(&message.to_vec()) else {
            cx.drop_of(Drop::NoFrame, Some(whose));
            return;
        };
        let ciphered = message_goes_ciphered(message);
        if let Err(drop) = mobile.llc.unitdata_request(Sapi::GMM, true, ciphered, &mut frame) {
            cx.drop_of(drop, Some(whose));
            return;
        }
        cx.log(Category::Mm, Level::Debug, format_args!("IMSI {whose}: {} sent", message.name()));
        self.send_ll_pdu(cx, index, tlli, frame);
    }

    /// A whole LL-PDU to the network.
    pub(super) fn send_ll_pdu(&mut self, cx: &mut Context<'_>, index: u32, tlli: Tlli, frame: Frame) {
        let Some(mobile) = self.mobiles.get(index as usize) else { return };
        if mobile.suspension != Suspension::None {
            cx.drop_of(Drop::MsSuspended, Some(mobile.imsi()));
            return;
        }
        let is_longer = mobile.link.mtu_octets.is_some_and(|mtu| frame.len() > usize::from(mtu));
        if is_longer && !self.bearer.cuts() {
            cx.drop_of(Drop::MsOverMtu, Some(mobile.imsi()));
            return;
        }
        let Some(frame) = self.hold_ll_pdu(cx, index, tlli, frame) else { return };
        self.stats.ll_pdu_uplink += 1;
        self.request(cx, index, tlli, Request::Unitdata(frame));
    }

    /// A request to the bearer, in the mobile's cell.
    pub(super) fn request(&mut self, cx: &mut Context<'_>, index: u32, tlli: Tlli, request: Request) {
        let Some(mobile) = self.mobiles.get(index as usize) else { return };
        let whose = Some(mobile.imsi());
        let Some(cell) = mobile.cell else {
            cx.drop_of(Drop::MsNoCell, whose);
            return;
        };
        let priority = match &request {
            Request::Unitdata(ll_pdu) => mobile.radio_priority(ll_pdu),
            Request::Reachable | Request::Away | Request::Suspend(_) | Request::Resume { .. } => {
                RadioPriority::One
            }
        };
        let mut out = core::mem::take(&mut self.bearer_out);
        let from = Sender { mobile: index, cell, tlli, priority };
        if let Err(drop) = self.bearer.request(cx, from, request, &mut out) {
            cx.drop_of(drop, whose);
        }
        self.bearer_outputs(cx, &mut out);
        self.bearer_out = out;
    }

    /// T200 or T201 of a mobile's LLC may be due.
    pub(super) fn wake_llc(&mut self, cx: &mut Context<'_>, index: u32) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let mut out = core::mem::take(&mut self.layers_out);
        mobile.llc.wake(cx, Some(mobile.gmm.imsi()), &mut out.llc);
        self.layers_outputs(cx, index, Tlli::UNASSIGNED, &mut out);
        self.layers_out = out;
        self.arm_llc(cx, index);
    }

    pub(super) fn arm_llc(&mut self, cx: &mut Context<'_>, index: u32) {
        if let Some(mobile) = self.mobiles.get_mut(index as usize) {
            mobile.llc.arm(Owner::Llc.key(index, 0), cx.timers);
        }
    }
}
