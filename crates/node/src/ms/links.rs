//! Acknowledged mode and compression of a mobile: which of its contexts need them, and what becomes of links that end.
//!
//! A mobile has SNDCP's state for both from its first context that asks for either. As much as may wait for the network's
//! confirmation is held there; whoever gives N-PDUs is told ([`MsEvent::HeldBack`]) before there is no more room.

use super::mobile::{Bearer, Mobile, NSAPIS, Suspension};
use super::{Ms, MsEvent, NPduDelivery, Owner};
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::timers::TimerName as _;
use gannet_proto::about::About as _;
use gannet_proto::gmm::ms::GmmMsState;
use gannet_proto::llc::{LlcRole, ReleaseCause};
use gannet_proto::sndcp::{AcknowledgedLimits, N_PDU_MAX, Sndcp};
use gannet_proto::user_plane::{Output, Outputs, UserPlane};
use gannet_wire::id::{Nsapi, Sapi, Tlli};
use gannet_wire::l3::ie::ReceiveNpduNumbers;

/// N-PDUs of a mobile that wait for confirmation when nothing more is to come, and when it may come again. Where a link has a
/// longer window and its path holds more, it is so many more of both ([`Sndcp::beyond`]).
const MANY: usize = 32;
const FEW: usize = 16;
/// What may wait of one context: beside [`MANY`] a batch of what was on its way already, and half as much.
pub(super) const LIMITS: AcknowledgedLimits =
    AcknowledgedLimits { n_pdus_max: 127, octets_max: 127 * N_PDU_MAX, segments_max: 64 };

/// How a context begins or ends with a link under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The network knows of it: the link is released with DISC where nothing else needs it.
    Told,
    /// The network has no context, or no mobile, any more.
    Untold,
}

impl Ms {
    /// Acts on a mobile's LLC and SNDCP, and does what follows.
    fn with_layers(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        act: impl FnOnce(&mut UserPlane<'_>, &mut Context<'_>),
    ) {
        let mut out = core::mem::take(&mut self.layers_out);
        let mobile = self.mobiles.get_mut(index as usize);
        if let Some(mut layers) = mobile.and_then(|mobile| layers(mobile, &self.config, &mut out)) {
            act(&mut layers, cx);
        }
        self.layers_outputs(cx, index, Tlli::UNASSIGNED, &mut out);
        self.layers_out = out;
        self.arm_llc(cx, index);
        let Some(Mobile { again, sndcp: Some(sndcp), .. }) = self.mobiles.get_mut(index as usize) else {
            return;
        };
        again.follow(sndcp, cx.now);
        again.arm(Owner::Links.key(index, 0), cx.timers);
    }

    /// What LLC and SNDCP have said and is for the node; of LLC alone where there is no more.
    pub(super) fn poll_layers(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        out: &mut Outputs,
    ) -> Option<Output> {
        let mobile = self.mobiles.get_mut(index as usize)?;
        if mobile.sndcp.is_none() {
            return out.llc.pop().map(Output::Llc);
        }
        layers(mobile, &self.config, out)?.poll(cx)
    }

    /// SNSM-ACTIVATE.indication, and the same where a context has changed its SAPI or its mode. The first that needs SNDCP's
    /// state brings those beside it along.
    pub(super) fn serve(&mut self, cx: &mut Context<'_>, index: u32, nsapi: Nsapi) {
        let compresses = self.config.user_plane.compresses();
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let Some(bearer) = mobile.bearer(nsapi) else { return };
        let is_first = mobile.sndcp.is_none();
        if is_first && !bearer.acknowledged && !compresses {
            return;
        }
        mobile.sndcp.get_or_insert_with(|| Box::new(Sndcp::new(LlcRole::Ms)));
        let meant = mobile.bearers.iter().flatten().filter(|bearer| is_first || bearer.sndcp.nsapi == nsapi);
        let mut served = [None; NSAPIS];
        for (place, bearer) in served.iter_mut().zip(meant) {
            *place = Some((bearer.sndcp.nsapi, bearer.sndcp.sapi, bearer.acknowledged));
        }
        for (nsapi, sapi, acknowledged) in served.into_iter().flatten() {
            self.with_layers(cx, index, |layers, cx| layers.activate(cx, (nsapi, sapi), acknowledged));
        }
    }

    /// SNSM-DEACTIVATE.indication. A link that the network knows nothing of any more ends without a word.
    pub(super) fn end_service(&mut self, cx: &mut Context<'_>, index: u32, nsapi: Nsapi, ending: Ending) {
        let mobile = self.mobiles.get(index as usize);
        let Some(sndcp) = mobile.and_then(|mobile| mobile.sndcp.as_deref()) else { return };
        let Some(sapi) = sndcp.sapi_of(nsapi) else { return };
        let is_last = ending == Ending::Untold && is_last_of(sndcp, nsapi, sapi);
        self.with_layers(cx, index, |layers, cx| {
            if is_last {
                layers.llc.release_request(cx, sapi, true, &mut layers.out.llc);
            }
            layers.deactivate(cx, nsapi);
        });
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        if mobile.bearers.iter().all(Option::is_none) {
            mobile.sndcp = None;
            mobile.again.clear();
        }
        self.count_unconfirmed(index);
        self.tell_room(index);
    }

    /// To be called after all that may have changed what waits for a mobile's confirmation.
    pub(super) fn count_unconfirmed(&mut self, index: u32) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let now = mobile.sndcp.as_ref().map_or(0, |sndcp| sndcp.unconfirmed_octets());
        let before =
            core::mem::replace(&mut mobile.unconfirmed_octets, u32::try_from(now).unwrap_or(u32::MAX));
        self.unconfirmed_octets = self.unconfirmed_octets + now - before as usize;
    }

    /// Octets of N-PDUs of all mobiles that wait for confirmation.
    #[must_use]
    pub const fn unconfirmed_octets(&self) -> usize {
        self.unconfirmed_octets
    }

    /// So much waits in all that nobody is to have more than with the shortest window.
    pub(super) const fn is_short_of_room(&self) -> bool {
        self.unconfirmed_octets >= self.config.unconfirmed_octets_max / 2
    }

    /// SN-DATA.request.
    pub(super) fn acknowledged_n_pdu(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        nsapi: Nsapi,
        n_pdu: Frame,
    ) -> Result<(), Drop> {
        if self.unconfirmed_octets + n_pdu.len() > self.config.unconfirmed_octets_max {
            return Err(Drop::MsUnconfirmedFull);
        }
        let mut result = Err(Drop::MsNoContext);
        self.with_layers(cx, index, |layers, cx| result = layers.data_request(cx, nsapi, n_pdu).map(|_| ()));
        result
    }

    /// Tells where a mobile has as much to send as may wait, or must not send, and where that is over.
    pub(super) fn tell_room(&mut self, index: u32) {
        if self.config.delivery == NPduDelivery::Devices {
            return self.tell_room_of_devices(index);
        }
        let is_short = self.is_short_of_room();
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let is_full = mobile.link.is_full || has_no_room(mobile, mobile.is_held_back, is_short, |_| true);
        let on = is_full || !may_send(mobile) && has_acknowledged(mobile);
        if core::mem::replace(&mut mobile.is_held_back, on) != on {
            self.tell(MsEvent::HeldBack { mobile: index, on });
        }
    }

    /// SNSM-STATUS.request: acknowledged mode of a context has ended. It is tried again as long as the context is there, since
    /// the network waits for that (04.65 clause 6.2.1 [44.065]); where the network has refused it, as long as N-PDUs wait.
    pub(super) fn link_ended(&mut self, cx: &mut Context<'_>, index: u32, nsapi: Nsapi, cause: ReleaseCause) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let waits = mobile.sndcp.as_ref().is_some_and(|sndcp| sndcp.unconfirmed_of(nsapi) > 0);
        if waits || cause != ReleaseCause::Refused {
            mobile.again.later(cx.now);
            mobile.again.arm(Owner::Links.key(index, 0), cx.timers);
        }
        self.stats.links_ended += 1;
        self.tell(MsEvent::LinkEnded { mobile: index, nsapi, cause });
    }

    /// A link may be due to be tried again.
    pub(super) fn wake_links(&mut self, cx: &mut Context<'_>, index: u32) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        if mobile.again.is_due(cx.now) {
            self.try_links(cx, index);
        } else {
            mobile.again.arm(Owner::Links.key(index, 0), cx.timers);
        }
    }

    /// Has links established where they have ended, and what waits sent over them; not before the mobile may send, at which
    /// this is called again.
    pub(super) fn try_links(&mut self, cx: &mut Context<'_>, index: u32) {
        for place in 0..NSAPIS {
            let nsapi = Mobile::nsapi_at(place);
            let Some(mobile) = self.mobiles.get(index as usize) else { return };
            let wants = mobile.sndcp.as_ref().is_some_and(|sndcp| sndcp.is_acknowledged(nsapi));
            if wants && may_send(mobile) {
                self.with_layers(cx, index, |layers, cx| layers.resume(cx, nsapi));
            }
        }
        self.tell_room(index);
    }

    /// SNSM-SEQUENCE.indication: how far the network has received, as the routing area update says.
    pub(super) fn n_pdu_numbers(&mut self, cx: &mut Context<'_>, index: u32, numbers: &ReceiveNpduNumbers) {
        for (nsapi, number) in &numbers.0 {
            let mobile = self.mobiles.get(index as usize);
            if mobile.is_some_and(|mobile| mobile.sndcp.is_some()) {
                self.with_layers(cx, index, |layers, cx| layers.sequence_indication(cx, *nsapi, *number));
            } else {
                cx.drop_of(Drop::SndcpUnexpected, self.imsi_of(index));
            }
        }
    }

    /// SNSM-SEQUENCE.response: how far contexts in acknowledged mode have received; `None` without any.
    pub(super) fn receive_numbers(&self, index: u32) -> Option<ReceiveNpduNumbers> {
        let sndcp = self.mobiles.get(index as usize)?.sndcp.as_ref()?;
        let numbers: Vec<_> = sndcp.receive_numbers().collect();
        (!numbers.is_empty()).then_some(ReceiveNpduNumbers(numbers))
    }

    /// User data of LLC's own that goes out while GMM does not let it (04.08 clause 4.7.5.1 [24.008]) is lost as on the radio,
    /// and comes again.
    pub(super) fn llc_transmits(&mut self, cx: &mut Context<'_>, index: u32, (sapi, frame): (Sapi, Frame)) {
        let Some(mobile) = self.mobiles.get(index as usize) else { return };
        if sapi != Sapi::GMM && mobile.gmm.state() == GmmMsState::RoutingAreaUpdatingInitiated {
            cx.drop_of(Drop::MsUpdating, Some(mobile.imsi()));
            return;
        }
        let own = self.tlli_of(index);
        self.send_ll_pdu(cx, index, own, frame);
        self.frame_sent(cx, index);
    }
}

/// Both layers of a mobile that has SNDCP's state.
fn layers<'a>(
    mobile: &'a mut Mobile,
    config: &'a super::MsConfig,
    out: &'a mut Outputs,
) -> Option<UserPlane<'a>> {
    let whose = Some(mobile.gmm.imsi());
    let sndcp = mobile.sndcp.as_deref_mut()?;
    let n201_i_max = mobile.link.n201_i_max();
    Some(UserPlane { llc: &mut mobile.llc, sndcp, config: &config.user_plane, n201_i_max, whose, out })
}

/// No other context in acknowledged mode is on this SAPI.
fn is_last_of(sndcp: &Sndcp, nsapi: Nsapi, sapi: Sapi) -> bool {
    sndcp.receive_numbers().all(|(other, _)| other == nsapi || sndcp.sapi_of(other) != Some(sapi))
}

/// So much of these contexts of a mobile waits for the network's confirmation that nothing more is to come. Where all mobiles are short
/// of room, it is no more than with the shortest window.
pub(super) fn has_no_room(
    mobile: &Mobile,
    is_held: bool,
    is_short: bool,
    is_meant: impl Fn(&Bearer) -> bool,
) -> bool {
    let Some(sndcp) = mobile.sndcp.as_deref() else { return false };
    let (mut waiting, mut beyond) = (0, 0);
    for bearer in mobile.bearers.iter().flatten().filter(|bearer| is_meant(bearer)) {
        waiting += sndcp.unconfirmed_of(bearer.sndcp.nsapi);
        beyond = sndcp.beyond(&mobile.llc, bearer.sndcp.nsapi).max(beyond);
    }
    let beyond = if is_short { 0 } else { usize::from(beyond) };
    waiting >= if is_held { FEW } else { MANY } + beyond
}

fn has_acknowledged(mobile: &Mobile) -> bool {
    mobile.bearers.iter().flatten().any(|bearer| bearer.acknowledged)
}

/// Neither suspended nor updating its routing area.
pub(super) fn may_send(mobile: &Mobile) -> bool {
    mobile.suspension == Suspension::None && mobile.gmm.state() != GmmMsState::RoutingAreaUpdatingInitiated
}
