//! Mobiles that have an SNDCP: acknowledged mode, and compression (04.65 clauses 5.1.2 and 6.2 [44.065], 04.64 clause 8.5
//! [44.064]).
//!
//! Most mobiles have none, and take the ways of [`uplink`](super::uplink) and [`downlink`](super::downlink) alone. One has it from
//! the first PDP context of reliability class 2, or of any class where compression may be agreed to, to its last one. What
//! LLC and SNDCP say to each other stays in [`gannet_proto::user_plane`]; what is left for the node is done here.
//!
//! * LL-PDUs of acknowledged mode go the way of the user data of their SAPI, so that none overtakes another.
//! * A context's N-PDUs wait in its queue while as many as may be are not confirmed.
//! * The links of a mobile that is out of reach (STANDBY, suspended) stand still: their timers wait until it is heard, and it is
//!   paged where something is not confirmed. A cell change, a routing area update and a new P-TMSI change nothing about them.
//! * A link that was dead is established again while the mobile is READY and something waits; so is one that the mobile has
//!   released, or not established, a while later, and N-PDUs for which there were no frames are tried again. Where the mobile refuses, its
//!   contexts in acknowledged mode are deactivated (04.08 clause 6.1.3.4 [24.008], cause "LLC or SNDCP failure").

use super::Sgsn;
use crate::sgsn::owner::Owner;
use crate::slots::Slot;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_proto::about::About as _;
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::network::{GmmEvent, Uplink};
use gannet_proto::llc::{Kind, LlcOutput, ReleaseCause, is_information};
use gannet_proto::sm::network::SmEvent;
use gannet_proto::sndcp::{KEPT_EVERY_N_PDUS, N_PDU_MAX, Sndcp};
use gannet_proto::user_plane::{Output, Outputs, UserPlane, needs_acknowledged_mode};
use gannet_wire::id::{Nsapi, Sapi, Tlli};
use gannet_wire::l3::ie::{ReceiveNpduNumbers, ReliabilityClass, SmCause};

/// A context may have as many octets waiting for confirmation as are left of half of the node's, divided by this.
const PART_OF_WHAT_IS_LEFT: usize = 16;

/// Does what LLC says outlive a restart? What each LL-PDU changes is kept now and then only.
const fn is_durable(output: &LlcOutput) -> bool {
    !matches!(
        output,
        LlcOutput::Transmit { .. }
            | LlcOutput::Unitdata { .. }
            | LlcOutput::Data { .. }
            | LlcOutput::DataConfirm { .. }
            | LlcOutput::Room { .. }
    )
}

/// What acknowledged mode holds, of one mobile or of all: counted as it changes, since to look through a million mobiles for it
/// takes longer than a packet may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unconfirmed {
    /// Links that are established.
    pub links: usize,
    /// N-PDUs that wait for the mobile's confirmation.
    pub n_pdus: usize,
    /// Contexts of which something waits.
    pub contexts: usize,
    /// Octets of N-PDUs that wait for it, or for that of LLC alone.
    pub octets: usize,
}

impl Unconfirmed {
    /// Of one mobile.
    pub(in crate::sgsn) fn of(sndcp: &Sndcp) -> Self {
        Self {
            links: sndcp.established().count(),
            n_pdus: sndcp.unconfirmed(),
            contexts: sndcp.unconfirmed_nsapis(),
            octets: sndcp.unconfirmed_octets(),
        }
    }

    /// A part of it was `before`, and is `now`.
    fn replace(&mut self, before: Self, now: Self) {
        self.links = self.links + now.links - before.links;
        self.n_pdus = self.n_pdus + now.n_pdus - before.n_pdus;
        self.contexts = self.contexts + now.contexts - before.contexts;
        self.octets = self.octets + now.octets - before.octets;
    }
}

/// Octets that may wait for confirmation besides those that do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    /// Of the node.
    left: usize,
    /// Of one context, all told.
    share: usize,
}

impl Allowance {
    /// May a context of which so many octets wait have so many more? Where none wait it may have its first N-PDU, whatever the share.
    pub(super) const fn takes(self, waiting: usize, octets: usize) -> bool {
        octets <= self.left && (waiting == 0 || waiting + octets <= self.share)
    }

    /// Would it take anything, of a context that has at most so many octets?
    pub(super) const fn is_ample(self, most: usize) -> bool {
        self.left >= N_PDU_MAX && self.share >= most
    }

    /// N-PDUs of any length for which the node has room.
    pub(super) const fn n_pdus(self) -> usize {
        self.left / N_PDU_MAX
    }
}

impl Sgsn {
    /// Has a mobile an SNDCP?
    pub(super) fn has_user_plane(&self, slot: Slot) -> bool {
        self.mobiles.get(slot).is_some_and(|mobile| mobile.sndcp().is_some())
    }

    /// N-PDUs in acknowledged mode are not confirmed.
    fn has_unconfirmed(&self, slot: Slot) -> bool {
        let sndcp = self.mobiles.get(slot).and_then(|mobile| mobile.sndcp());
        sndcp.is_some_and(|sndcp| sndcp.unconfirmed() > 0)
    }

    /// The same of one context.
    fn has_unconfirmed_of(&self, slot: Slot, nsapi: Nsapi) -> bool {
        let sndcp = self.mobiles.get(slot).and_then(|mobile| mobile.sndcp());
        sndcp.is_some_and(|sndcp| sndcp.unconfirmed_of(nsapi) > 0)
    }

    /// Something waits for a mobile that is to be paged.
    pub(super) fn has_waiting(&self, slot: Slot) -> bool {
        self.held.count(slot) > 0 || self.has_queued(slot) || self.has_unconfirmed(slot)
    }

    /// Tells LLC and SNDCP of a mobile something, and does what follows. `None` where it has no SNDCP.
    fn with_user_plane<T>(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        act: impl FnOnce(&mut UserPlane<'_>, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let mobile = self.mobiles.get_mut(slot)?;
        let from = Uplink { tlli: mobile.gmm.tlli(), cell: mobile.gmm.cell() };
        let mut out = self.scratch.user_plane.take().unwrap_or_default();
        let result =
            mobile.user_plane(&self.config.user_plane, &mut out).map(|mut plane| act(&mut plane, cx));
        self.settle(cx, slot, from, &mut out);
        self.scratch.user_plane = Some(out);
        result
    }

    /// What LLC has said of an LL-PDU from there.
    pub(super) fn llc_outputs(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        from: Uplink,
        outputs: &mut Batch<LlcOutput>,
    ) {
        if outputs.iter().any(is_durable) {
            self.mark_for_store(slot);
        }
        let mut out = self.scratch.user_plane.take().unwrap_or_default();
        out.llc.append(outputs);
        self.settle(cx, slot, from, &mut out);
        self.scratch.user_plane = Some(out);
    }

    /// All that LLC and SNDCP have said. Where it is one frame, the books are kept first: the frame was written just now, and is handed
    /// on at less cost a little later.
    fn settle(&mut self, cx: &mut Context<'_>, slot: Slot, from: Uplink, out: &mut Outputs) {
        if out.has_only_frame() {
            self.keep_books(cx, slot);
            if let Some((sapi, frame)) = out.take_only_frame() {
                self.send_of_llc(cx, slot, (from.tlli, sapi), frame);
            }
            return;
        }
        while !out.is_empty() {
            let mobile = self.mobiles.get_mut(slot);
            let plane = mobile.and_then(|mobile| mobile.user_plane(&self.config.user_plane, out));
            let Some(output) = plane.and_then(|mut plane| plane.poll(cx)) else { break };
            self.user_plane_output(cx, slot, from, output);
        }
        // Where SNDCP has gone meanwhile, nobody is left to be told.
        while out.sndcp.pop().is_some() {}
        while let Some(output) = out.llc.pop() {
            self.llc_output(cx, slot, from, output);
        }
        self.keep_books(cx, slot);
    }

    /// Asks for the timers of a mobile's links, and counts what waits for it.
    fn keep_books(&mut self, cx: &mut Context<'_>, slot: Slot) {
        if let Some(mobile) = self.mobiles.get_mut(slot) {
            mobile.llc.arm(Owner::Llc.of_mobile(slot), cx.timers);
            mobile.arm_links(Owner::Links.of_mobile(slot), cx);
        }
        self.count_unconfirmed(slot);
    }

    /// To be called after all that may have changed what waits for a mobile's confirmation.
    pub(super) fn count_unconfirmed(&mut self, slot: Slot) {
        if let Some(mobile) = self.mobiles.get_mut(slot) {
            let (before, now) = mobile.count_unconfirmed();
            self.unconfirmed.replace(before, now);
            if now.octets < before.octets || now.n_pdus < before.n_pdus {
                self.set_all_blocked(slot);
                self.unblock_starved();
            }
        }
    }

    /// A mobile has no SNDCP any more.
    pub(super) fn forget_sndcp(&mut self, slot: Slot) {
        if let Some(mobile) = self.mobiles.get_mut(slot) {
            self.unconfirmed.replace(mobile.forget_sndcp(), Unconfirmed::default());
            self.unblock_starved();
        }
    }

    /// What may wait for confirmation. Of the first half of the node's octets a context may have a sixteenth of what is left; what is
    /// taken of the other half is shared by all who have something, so that those who came early and confirm nothing leave enough.
    pub(super) fn allowance(&self) -> Allowance {
        let Unconfirmed { contexts, octets, .. } = self.unconfirmed;
        let most = self.config.unconfirmed_octets_max;
        let of_what_is_left = (most / 2).saturating_sub(octets) / PART_OF_WHAT_IS_LEFT;
        // Where that is more than any context may have and ask for, its share makes no difference, and is not reckoned for each N-PDU.
        let limits = self.config.user_plane.sndcp.limits.of_window(u8::MAX);
        let asked_most = limits.octets_max.saturating_add(2 * N_PDU_MAX);
        let is_enough = of_what_is_left >= asked_most;
        let of_all = if is_enough { 0 } else { self.config.unconfirmed_share(contexts) };
        let share = of_what_is_left.max(of_all);
        Allowance { left: most.saturating_sub(octets), share }
    }

    /// N-PDUs may be due to be tried again.
    pub(super) fn wake_stalled(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        let due = mobile.links_due(cx.now);
        mobile.arm_links(Owner::Links.of_mobile(slot), cx);
        for nsapi in due {
            self.go_on(cx, slot, nsapi);
        }
    }

    fn user_plane_output(&mut self, cx: &mut Context<'_>, slot: Slot, from: Uplink, output: Output) {
        match output {
            Output::Llc(output) => self.llc_output(cx, slot, from, output),
            Output::NPdu(n_pdu) => {
                let sndcp = self.mobiles.get(slot).and_then(|mobile| mobile.sndcp());
                let next = sndcp.and_then(|sndcp| {
                    sndcp.receive_numbers().find(|(nsapi, _)| *nsapi == n_pdu.nsapi).map(|(_, next)| next)
                });
                self.numbered(slot, next);
                self.n_pdu_uplink(cx, slot, n_pdu);
            }
            Output::Confirmed { nsapi: _, number: _, count } => {
                self.stats.n_pdu_confirmed += u64::from(count);
            }
            Output::Room => self.set_all_blocked(slot),
            Output::Status { nsapi, cause } => self.link_lost(cx, slot, nsapi, cause),
        }
    }

    /// A number was given to an N-PDU, or came with one: now and then that is to outlive a restart.
    fn numbered(&mut self, slot: Slot, number: Option<u8>) {
        if number.is_some_and(|number| number.is_multiple_of(KEPT_EVERY_N_PDUS)) {
            self.mark_for_store(slot);
        }
    }

    /// SNSM-STATUS.request: the link of a context has ended, or could not be established.
    fn link_lost(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi, cause: ReleaseCause) {
        self.stats.links_lost += 1;
        self.mark_for_store(slot);
        let whose = self.imsi_of(slot).map(|imsi| format!("IMSI {imsi} ")).unwrap_or_default();
        let line = format_args!("{whose}NSAPI {nsapi}: the link of acknowledged mode has ended: {cause}");
        cx.log(Category::Llc, Level::Notice, line);
        match cause {
            ReleaseCause::Refused => {
                let cause = SmCause::LlcOrSndcpFailure;
                self.sm(cx, slot, SmEvent::Deactivate { nsapi, cause, tunnel_gone: false });
            }
            ReleaseCause::Unanswered if self.has_unconfirmed_of(slot, nsapi) => self.go_on(cx, slot, nsapi),
            // The mobile establishes it when it wants to, and this end with the next N-PDU, or after some time where one waits.
            ReleaseCause::Unanswered | ReleaseCause::Peer => {}
        }
    }

    /// Establishes a link again, or has the mobile paged before that.
    fn go_on(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi) {
        let Some(mobile) = self.mobiles.get(slot) else { return };
        if !mobile.is_out_of_reach() {
            self.with_user_plane(cx, slot, |plane, cx| plane.resume(cx, nsapi));
        } else if mobile.gmm.mm_state() == MmState::Standby {
            self.gmm(cx, slot, GmmEvent::DownlinkData);
        }
    }

    // ----------------------------------------------------------------------------------------------- contexts

    /// SNSM-ACTIVATE.indication. The mobile establishes the link where it is the first context in acknowledged mode (04.65
    /// clause 6.2.1), and both propose what compression they want (clause 6.8).
    pub(super) fn bearer_activated(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        of: (Nsapi, Sapi),
        reliability: ReliabilityClass,
    ) {
        let acknowledged = needs_acknowledged_mode(reliability);
        if self.mobiles.get(slot).is_none_or(|mobile| mobile.bearer(of.0).is_none()) {
            return;
        }
        if !self.has_user_plane(slot) {
            if !acknowledged && !self.config.user_plane.compresses() {
                return;
            }
            self.begin_user_plane(cx, slot, of.0);
        }
        if let Some(mobile) = self.mobiles.get_mut(slot).filter(|_| acknowledged) {
            // What is taken one after the other mostly stands in one page, and each N-PDU looks at SNDCP and the link.
            mobile.llc.make_room_for_links();
        }
        self.with_user_plane(cx, slot, |plane, cx| plane.activate(cx, of, acknowledged));
    }

    /// A mobile has an SNDCP from now on, which knows all its other contexts, too.
    fn begin_user_plane(&mut self, cx: &mut Context<'_>, slot: Slot, but: Nsapi) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        mobile.make_sndcp();
        let others: Vec<(Nsapi, Sapi)> = mobile
            .bearers()
            .filter(|(nsapi, _)| {
                *nsapi != but && mobile.sm().get(*nsapi).is_some_and(|context| context.is_active())
            })
            .map(|(nsapi, bearer)| (nsapi, bearer.sndcp.sapi))
            .collect();
        self.with_user_plane(cx, slot, |plane, cx| {
            others.into_iter().for_each(|of| plane.activate(cx, of, false));
        });
    }

    /// The reliability class of an active context may be another one now.
    pub(super) fn bearer_modified(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        nsapi: Nsapi,
        reliability: ReliabilityClass,
    ) {
        let Some(mobile) = self.mobiles.get(slot) else { return };
        let Some(sapi) = mobile.bearer(nsapi).map(|bearer| bearer.sndcp.sapi) else { return };
        if mobile.is_acknowledged(nsapi) != needs_acknowledged_mode(reliability) {
            self.bearer_activated(cx, slot, (nsapi, sapi), reliability);
        }
    }

    /// SNSM-DEACTIVATE.indication. SNDCP goes with the last context.
    pub(super) fn bearer_deactivated(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi) {
        self.with_user_plane(cx, slot, |plane, cx| plane.deactivate(cx, nsapi));
        if self.mobiles.get(slot).and_then(|mobile| mobile.sndcp()).is_some_and(Sndcp::is_empty) {
            self.forget_sndcp(slot);
        }
    }

    // ------------------------------------------------------------------------------------------------- sending

    /// SN-DATA.request; true where SNDCP has taken the N-PDU.
    pub(super) fn send_acknowledged(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        nsapi: Nsapi,
        n_pdu: Frame,
    ) -> bool {
        let allowance = self.allowance();
        let request = |plane: &mut UserPlane<'_>, cx: &mut Context<'_>| {
            // What comes out of a queue was asked about before.
            if !allowance.takes(plane.sndcp.unconfirmed_octets_of(nsapi), n_pdu.len()) {
                return Err(Drop::SgsnUnconfirmedFull);
            }
            let sent = plane.data_request(cx, nsapi, n_pdu);
            // By the time of the next the allowance may be a little less.
            if !allowance.takes(plane.sndcp.unconfirmed_octets_of(nsapi), 2 * N_PDU_MAX) {
                plane.await_confirmation(cx, nsapi);
            }
            sent
        };
        let sent = self.with_user_plane(cx, slot, request).unwrap_or(Err(Drop::SgsnNoContext));
        match sent {
            Ok(number) => self.numbered(slot, Some(number)),
            Err(drop) => cx.drop_of(drop, self.imsi_of(slot)),
        }
        self.block_where_full(slot, nsapi);
        sent.is_ok()
    }

    /// SNSM-SEQUENCE.indication: how far the mobile has received, as the routing area update says. What it has is not sent again.
    pub(super) fn n_pdu_numbers(&mut self, cx: &mut Context<'_>, slot: Slot, numbers: &ReceiveNpduNumbers) {
        for (nsapi, number) in &numbers.0 {
            let told = self
                .with_user_plane(cx, slot, |plane, cx| plane.sequence_indication(cx, *nsapi, *number))
                .is_some();
            if !told {
                cx.drop_of(Drop::SndcpUnexpected, self.imsi_of(slot));
            }
        }
    }

    /// An LL-PDU of LLC itself: of acknowledged mode with the user data of its SAPI, any other as signalling.
    pub(super) fn send_of_llc(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        (tlli, sapi): (Tlli, Sapi),
        frame: Frame,
    ) {
        let has_data = is_information(&frame);
        let carried = self.mobiles.get(slot).and_then(|mobile| {
            let sndcp = mobile.sndcp().filter(|_| has_data || Kind::of(&frame).is_of_acknowledged_mode())?;
            let is_carried = |nsapi: &Nsapi| sndcp.sapi_of(*nsapi) == Some(sapi);
            sndcp.receive_numbers().map(|(nsapi, _)| nsapi).filter(is_carried).min()
        });
        let Some(nsapi) = carried else {
            self.send_signalling(cx, slot, tlli, frame);
            return;
        };
        if has_data {
            self.ciphers.in_clear(&frame);
        }
        self.send_data(cx, (slot, nsapi), None, frame);
    }

    // ------------------------------------------------------------------------------------------ timers, reach

    /// T200 or T201 may be due. That of a mobile out of reach waits.
    pub(super) fn wake_links(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        if !mobile.is_out_of_reach() {
            let whose = mobile.imsi();
            self.with_user_plane(cx, slot, |plane, cx| plane.llc.wake(cx, whose, &mut plane.out.llc));
            return;
        }
        mobile.llc.out_of_reach();
        if mobile.gmm.mm_state() == MmState::Standby && self.has_unconfirmed(slot) {
            self.gmm(cx, slot, GmmEvent::DownlinkData);
        }
    }

    /// A mobile can be reached again: what was held goes out. Its links go on when it is woken for them, now, but after all of the LL-PDU
    /// by which it was heard: that may confirm what they wait for, or be the last of a link that is established anew.
    pub(super) fn within_reach(&mut self, cx: &mut Context<'_>, slot: Slot) {
        self.release_held(cx, slot);
        if let Some(mobile) = self.mobiles.get_mut(slot).filter(|mobile| mobile.sndcp().is_some()) {
            mobile.llc.within_reach(cx.now);
            mobile.llc.arm(Owner::Llc.of_mobile(slot), cx.timers);
            mobile.links_due_now(cx.now);
            mobile.arm_links(Owner::Links.of_mobile(slot), cx);
        }
    }
}
