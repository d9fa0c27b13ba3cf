//! From Gn to Gb: G-PDU → context → SNDCP → LLC → flow control; and what is held while a mobile is paged.

use super::Sgsn;
use super::charging::Direction;
use super::contexts::ContextRef;
use super::flows::Ingress;
use super::held::{HeldKind, HeldPdu};
use super::mobile::Mobile;
use crate::slots::Slot;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Duration;
use gannet_machine::{Batch, Context, Peer};
use gannet_proto::about::About as _;
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::network::GmmEvent;
use gannet_proto::gtp::{ContextName, Endpoint, GtpOutput, ReceivedGPdu, Version, flow_label};
use gannet_proto::user_plane::unitdata_request;
use gannet_wire::id::{Nsapi, Sapi};

impl Sgsn {
    /// A datagram at the port of GTP-U.
    pub(super) fn gtp_user(&mut self, cx: &mut Context<'_>, peer: Peer, frame: Frame) {
        let mut outputs = core::mem::take(&mut self.scratch.gtp);
        if let Some(pdu) = self.gtp.receive_user(cx, peer, frame, &mut outputs) {
            self.g_pdu(cx, peer, pdu, &mut outputs);
        }
        self.gtp_outputs(cx, &mut outputs);
        self.scratch.gtp = outputs;
    }

    /// A datagram at the port of GTPv0.
    pub(super) fn gtp_v0(&mut self, cx: &mut Context<'_>, peer: Peer, frame: Frame) {
        let mut outputs = core::mem::take(&mut self.scratch.gtp);
        if let Some(pdu) = self.gtp.receive_v0(cx, peer, frame, &mut outputs) {
            self.g_pdu(cx, peer, pdu, &mut outputs);
        }
        self.gtp_outputs(cx, &mut outputs);
        self.scratch.gtp = outputs;
    }

    fn g_pdu(&mut self, cx: &mut Context<'_>, peer: Peer, pdu: ReceivedGPdu, outputs: &mut Batch<GtpOutput>) {
        let ReceivedGPdu { endpoint, frame, .. } = pdu;
        let context = self.name_at(endpoint).and_then(|name| self.context_of(name));
        if context.is_some_and(|context| !self.is_from_ggsn(cx, context, peer)) {
            return;
        }
        let known = match (self.name_at(endpoint), self.config.ingress) {
            (None, _) => false,
            (Some(name), Ingress::Queued) => self.enqueue_n_pdu(cx, name, frame).is_ok(),
            (Some(name), Ingress::Fifo) => match self.context_of(name) {
                Some((slot, nsapi)) => {
                    self.n_pdu_downlink(cx, slot, nsapi, frame);
                    true
                }
                None => false,
            },
        };
        if !known {
            // Nothing is to be guessed here: no message moves a tunnel of an SGSN.
            self.gtp.unknown_endpoint(cx, peer, (endpoint, false), outputs);
        }
    }

    /// The name of the context to which an endpoint of ours leads: in version 1 the TEID has it, in version 0 the TID.
    /// A G-PDU's flow label is not looked at, as a driver does not look at it: the TID alone says whose it is. A context
    /// answers to no other version than that of its GGSN.
    fn name_at(&self, endpoint: Endpoint) -> Option<ContextName> {
        match endpoint {
            Endpoint::Teid(teid) => {
                let name = self.contexts.name(teid);
                self.contexts.find(name).filter(|context| context.version == Version::V1).map(|_| name)
            }
            Endpoint::Tid { tid, .. } => {
                let (_, bearer) = self.context_by_tid(tid)?;
                bearer.tunnel.filter(|tunnel| tunnel.version == Version::V0).map(|_| bearer.name)
            }
        }
    }

    /// The context of a name: one access to a table.
    pub(super) fn context_of(&self, name: ContextName) -> Option<(Slot, Nsapi)> {
        let ContextRef { mobile: slot, nsapi, .. } = self.contexts.find(name)?;
        self.mobiles.get(slot)?.bearer(nsapi)?.tunnel.map(|_| (slot, nsapi))
    }

    /// The context to which signalling for an endpoint of ours belongs. In version 0 the flow label must be ours.
    pub(super) fn context_at(&self, endpoint: Endpoint) -> Option<(Slot, Nsapi)> {
        let name = self.name_at(endpoint)?;
        let is_ours = match endpoint {
            Endpoint::Teid(_) => true,
            Endpoint::Tid { flow, .. } => flow == flow_label(self.contexts.teid(name)),
        };
        self.context_of(name).filter(|_| is_ours)
    }

    /// An N-PDU for a mobile: sent at once where it is READY, held where it must be paged first.
    fn n_pdu_downlink(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi, frame: Frame) {
        self.stats.n_pdu_downlink += 1;
        let Some(mobile) = self.mobiles.get(slot) else { return };
        if mobile.gmm.mm_state() == MmState::Ready && !mobile.gmm.is_suspended() {
            self.send_n_pdu(cx, slot, nsapi, frame);
            return;
        }
        self.hold(cx, slot, HeldKind::NPdu(nsapi), frame);
    }

    /// Holds what is for a mobile that must be paged first, and has it paged.
    pub(super) fn hold(&mut self, cx: &mut Context<'_>, slot: Slot, kind: HeldKind, frame: Frame) {
        if self.held.is_full() && self.held_sweep_due <= cx.now {
            self.held_sweep_due = cx.now + Duration::from_secs(1);
            for (mobile, count) in self.held.expire(cx.now) {
                (0..count).for_each(|_| cx.drop_of(Drop::HeldTooLong, self.imsi_of(mobile)));
            }
        }
        let pdu = HeldPdu { kind, until: cx.now + self.config.held_lifetime, frame };
        if self.held.hold(slot, pdu).is_err() {
            cx.drop_of(Drop::HeldFull, self.imsi_of(slot));
        }
        self.gmm(cx, slot, GmmEvent::DownlinkData);
    }

    /// SNDCP, LLC, and into the queue of the mobile's cell.
    pub(super) fn send_n_pdu(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi, frame: Frame) {
        let mut segments = core::mem::take(&mut self.scratch.segments);
        if let Some(mobile) = self.mobiles.get_mut(slot) {
            let octets = frame.len();
            if mobile.is_acknowledged(nsapi) {
                self.scratch.segments = segments;
                if self.send_acknowledged(cx, slot, nsapi, frame) {
                    self.count_octets(slot, nsapi, Direction::Downlink, octets);
                }
                return;
            }
            match segment(cx, mobile, nsapi, frame, &mut segments) {
                Ok(sending) => {
                    let mut is_whole = true;
                    while let Some(frame) = segments.pop() {
                        is_whole &= self.send_data_segment(cx, slot, sending, frame);
                    }
                    if is_whole {
                        self.count_octets(slot, nsapi, Direction::Downlink, octets);
                    }
                }
                Err(drop) => cx.drop_of(drop, mobile.imsi()),
            }
        }
        self.scratch.segments = segments;
    }

    /// True where flow control has taken it.
    fn send_data_segment(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        sending: Sending,
        mut frame: Frame,
    ) -> bool {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return false };
        let Sending { nsapi, sapi, protected } = sending;
        let how = (sapi, protected, true);
        let cipher = match mobile.llc.unitdata_request_deferred(cx.fold, how, &mut frame) {
            Ok(cipher) => cipher,
            Err(drop) => {
                cx.drop_of(drop, mobile.imsi());
                return false;
            }
        };
        self.mark_counters_for_store(slot);
        if cipher.is_none() {
            self.ciphers.in_clear(&frame);
        }
        self.send_data(cx, (slot, nsapi), cipher, frame)
    }

    // ------------------------------------------------------------------------------------------------- held

    /// The mobile can be reached: what was held for it goes out in its order.
    pub(super) fn release_held(&mut self, cx: &mut Context<'_>, slot: Slot) {
        while let Some(pdu) = self.held.take(slot) {
            match pdu.kind {
                _ if pdu.until < cx.now => cx.drop_of(Drop::HeldTooLong, self.imsi_of(slot)),
                HeldKind::NPdu(nsapi) => self.send_n_pdu(cx, slot, nsapi, pdu.frame),
                HeldKind::Layer3 => {
                    if let Some(tlli) = self.mobiles.get(slot).map(|mobile| mobile.gmm.tlli()) {
                        self.send_layer3_frame(cx, slot, tlli, pdu.frame);
                    }
                }
            }
        }
    }

    /// What was held for a mobile has nowhere to go.
    pub(super) fn discard_held(&mut self, cx: &mut Context<'_>, slot: Slot, why: Drop) {
        while self.held.take(slot).is_some() {
            cx.drop_of(why, self.imsi_of(slot));
        }
    }
}

/// How the SN-PDUs of one N-PDU go out.
#[derive(Debug, Clone, Copy)]
struct Sending {
    nsapi: Nsapi,
    sapi: Sapi,
    protected: bool,
}

fn segment(
    cx: &mut Context<'_>,
    mobile: &mut Mobile,
    nsapi: Nsapi,
    frame: Frame,
    segments: &mut Batch<Frame>,
) -> Result<Sending, Drop> {
    let (llc, sndcp, bearer) = mobile.unacknowledged(nsapi).ok_or(Drop::SgsnNoContext)?;
    unitdata_request(cx, (llc, sndcp), &mut bearer.sndcp, frame, segments)?;
    Ok(Sending { nsapi, sapi: bearer.sndcp.sapi, protected: bearer.protected })
}
