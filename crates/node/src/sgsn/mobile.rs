//! One mobile: a relocatable value, plain and serialisable, at most 1 KiB.
//!
//! No frame and no index of another table's row is inside: what is held for a mobile lives in node-wide tables that are
//! reached by its slot, and the paths of its tunnels are named by address when it travels. Contexts beyond the first
//! have memory of their own, which belongs to the mobile and travels with it.

use super::directory::BvcAddress;
use super::messages::MobileCounters;
use super::quality::Treatment;
use super::subscribers::Subscriber;
use super::user_plane::Unconfirmed;
use gannet_machine::Context;
use gannet_machine::frame::Frame;
use gannet_machine::kept::Keeper;
use gannet_machine::prefetch::Prefetch;
use gannet_machine::time::Instant;
use gannet_machine::timers::TimerKey;
use gannet_proto::by_nsapi::ByNsapi;
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::network::GmmContext;
use gannet_proto::gsup::SubscriberData;
use gannet_proto::gtp::{ContextName, GtpTunnel};
use gannet_proto::llc::{LlcContext, LlcRole};
use gannet_proto::sm::network::{SmConfig, SmContexts};
use gannet_proto::sndcp::{NPdu, Reassembler, Receiver, Sndcp, SndcpNsapi};
use gannet_proto::user_plane::{Again, Outputs, UserPlane, UserPlaneConfig, unitdata_indication};
use gannet_qos::class::{CellClass, Precedence};
use gannet_wire::bssgp::ie as bssgp;
use gannet_wire::id::{Imsi, Nsapi, Sapi, Tlli};
use gannet_wire::l3::ie as l3;
use serde::{Deserialize, Serialize};

/// Octets of the longest MS radio access capability that is kept (04.08 clause 10.5.5.12a [24.008]): more would leave no
/// room for what it goes with.
pub const RADIO_CAPABILITY_MAX: usize = 50;

/// What carries the user data of one PDP context: the tunnel to the GGSN, SNDCP's counters, and how the BSS is to treat
/// its LL-PDUs. Session management keeps its own part in [`Mobile::sm`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bearer {
    /// What the context is called in this node, from which its TEID follows.
    pub name: ContextName,
    /// The far end; `None` until the GGSN has answered.
    pub tunnel: Option<GtpTunnel>,
    /// The N-PDU counter, NSAPI and SAPI.
    pub sndcp: SndcpNsapi,
    /// LL-PDUs are protected in all their octets: from the negotiated reliability class.
    pub protected: bool,
    /// QoS profile of BSSGP, its three octets.
    pub radio_qos: [u8; 3],
    /// Allocation/retention priority as the GGSN has said it, 0 where it has not.
    pub allocation_retention: u8,
    /// How soon its N-PDUs are served.
    pub class: CellClass,
    /// How late they are dropped.
    pub precedence: Precedence,
    /// How soon they are served against the mobile's other contexts of the same class: [`l3::QosProfile::handling`].
    pub handling: u8,
}

impl Bearer {
    fn new(nsapi: Nsapi, name: ContextName) -> Self {
        Self {
            name,
            tunnel: None,
            sndcp: SndcpNsapi::new(nsapi, Sapi::DATA3),
            protected: true,
            radio_qos: [0; 3],
            allocation_retention: 0,
            class: CellClass::BestEffort,
            precedence: Precedence::Normal,
            handling: l3::QosProfile::BEST_EFFORT.handling(),
        }
    }

    /// Takes over the negotiated quality of service: which reliability class is protected, and which the radio
    /// interface acknowledges (03.60 clause 15.2.3 [23.107]); peak bit rate and precedence (08.18 clause 11.3.28).
    pub fn set_qos(&mut self, qos: &l3::QosProfile) {
        let treatment = Treatment::of(qos, self.allocation_retention);
        (self.class, self.precedence) = (treatment.class, treatment.precedence);
        self.handling = qos.handling();
        self.protected = qos.reliability != l3::ReliabilityClass::FIVE;
        // 0 is best effort.
        let rate_bit_per_s =
            if treatment.is_limited { u64::from(treatment.rate_octets_per_s) * 8 } else { 0 };
        let granularity = bssgp::Granularity::for_largest(rate_bit_per_s);
        self.radio_qos = bssgp::QosProfile {
            peak_bit_rate: granularity.field(rate_bit_per_s),
            granularity: granularity.0,
            not_ack: true,
            data: true,
            rlc_unacknowledged: qos.reliability.0 >= 4,
            precedence: bssgp::Precedence(treatment.precedence as u8),
        }
        .to_octets();
    }
}

/// Everything about one mobile.
///
/// What an N-PDU of the first NSAPI and of SAPI 3 touches stands here, in four cache lines: the bearer, the radio access
/// capability, and LLC's and MM's parts. Session management, and what only signalling needs of the others, has memory of its
/// own: with a million mobiles each look into another page costs a walk through the page tables, which wait in memory
/// themselves, and what is half as large has half as many of them. For the same reason SNDCP is in one piece.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[repr(C)]
pub struct Mobile {
    /// Bearers of the PDP contexts by NSAPI.
    bearers: ByNsapi<Bearer>,
    /// MS radio access capability, empty where it has not said any: each LL-PDU for it goes with that.
    pub radio_capability: l3::Octets<RADIO_CAPABILITY_MAX>,
    /// SNDCP, where a PDP context is in acknowledged mode or compression may be agreed to.
    plane: Option<Box<Plane>>,
    /// Logical links.
    pub llc: LlcContext,
    /// Mobility management: identities, place, states and their timers.
    pub gmm: GmmContext,
    /// What no N-PDU touches.
    signalling: Box<Signalling>,
}

/// What only signalling touches.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Signalling {
    /// Session management of all PDP contexts.
    sm: SmContexts,
    /// The foreign or random TLLI by which it is found, and the cell in which that holds: until it has a P-TMSI.
    foreign: Option<(BvcAddress, Tlli)>,
    /// What the HLR has said, where one was asked.
    subscriber: Option<Box<Subscriber>>,
    /// Its wrong transaction identifier flag has had its log line.
    #[serde(skip)]
    wrong_flag_said: bool,
    /// What its signalling has been; it begins anew where it arrives.
    #[serde(skip)]
    counters: MobileCounters,
}

/// SNDCP, and what the node has to know of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plane {
    sndcp: Sndcp,
    /// What of it waits for confirmation, as the node has counted it last.
    #[serde(skip)]
    counted: Unconfirmed,
    /// When N-PDUs in acknowledged mode that nothing else sends are tried again; where it arrives that is found anew.
    #[serde(skip)]
    again: Again,
}

/// The SNDCP, where there is one.
fn sndcp_of(plane: &mut Option<Box<Plane>>) -> Option<&mut Sndcp> {
    plane.as_deref_mut().map(|plane| &mut plane.sndcp)
}

impl Mobile {
    /// A mobile that nothing is known of yet.
    #[must_use]
    pub fn new(gmm: GmmContext, llc: Option<LlcContext>) -> Self {
        let llc = llc.unwrap_or_else(|| LlcContext::new(LlcRole::Sgsn));
        Self {
            gmm,
            llc,
            signalling: Box::default(),
            bearers: ByNsapi::default(),
            radio_capability: l3::Octets::default(),
            plane: None,
        }
    }

    /// The subscriber, once known.
    #[must_use]
    pub const fn imsi(&self) -> Option<Imsi> {
        self.gmm.imsi()
    }

    /// What its signalling has been.
    #[must_use]
    pub fn counters(&self) -> &MobileCounters {
        &self.signalling.counters
    }

    /// The same, to count.
    pub(super) fn counters_mut(&mut self) -> &mut MobileCounters {
        &mut self.signalling.counters
    }

    /// What the HLR has said, where one was asked.
    #[must_use]
    pub fn subscriber(&self) -> Option<&Subscriber> {
        self.signalling.subscriber.as_deref()
    }

    /// The same, to change it.
    pub fn known_subscriber_mut(&mut self) -> Option<&mut Subscriber> {
        self.signalling.subscriber.as_deref_mut()
    }

    /// The same, of which nothing may be known yet.
    pub fn subscriber_mut(&mut self) -> &mut Subscriber {
        self.signalling.subscriber.get_or_insert_default()
    }

    /// Nothing is known of the subscriber any more.
    pub fn forget_subscriber(&mut self) {
        self.signalling.subscriber = None;
    }

    /// Session management of all PDP contexts.
    #[must_use]
    pub fn sm(&self) -> &SmContexts {
        &self.signalling.sm
    }

    /// The same, to change it.
    pub(super) fn sm_mut(&mut self) -> &mut SmContexts {
        &mut self.signalling.sm
    }

    /// Session management, what the subscription says to it, and whether its wrong flag has had its log line.
    pub fn sessions(&mut self) -> (&mut SmContexts, Option<&SubscriberData>, &mut bool) {
        let Signalling { sm, subscriber, wrong_flag_said, .. } = &mut *self.signalling;
        (sm, subscriber.as_deref().map(Subscriber::data), wrong_flag_said)
    }

    /// Where it was heard last.
    #[must_use]
    pub const fn bvc(&self) -> BvcAddress {
        let cell = self.gmm.cell();
        BvcAddress { nsei: cell.nsei, bvci: cell.bvci }
    }

    /// The bearer of an NSAPI.
    #[must_use]
    pub fn bearer(&self, nsapi: Nsapi) -> Option<&Bearer> {
        self.bearers.get(nsapi)
    }

    /// The context goes before others of best effort that its mobile has. It cannot where one of these has its SAPI: frames of a SAPI
    /// stay in order (04.64 clause 8.4.2 [44.064]).
    #[must_use]
    #[inline]
    pub fn goes_ahead(&self, bearer: &Bearer) -> bool {
        if self.bearers.is_single() || bearer.class != CellClass::BestEffort {
            return false;
        }
        let is_worse =
            |other: &&Bearer| other.class == CellClass::BestEffort && other.handling > bearer.handling;
        let mut worse = self.bearers.iter().map(|(_, other)| other).filter(is_worse).peekable();
        worse.peek().is_some() && worse.all(|other| other.sndcp.sapi != bearer.sndcp.sapi)
    }

    /// The same, to change it.
    pub fn bearer_mut(&mut self, nsapi: Nsapi) -> Option<&mut Bearer> {
        self.bearers.get_mut(nsapi)
    }

    /// SNDCP, where it is more than the counters of the bearers.
    #[must_use]
    pub fn sndcp(&self) -> Option<&Sndcp> {
        self.plane.as_deref().map(|plane| &plane.sndcp)
    }

    /// The same, to change it.
    pub(super) fn sndcp_mut(&mut self) -> Option<&mut Sndcp> {
        sndcp_of(&mut self.plane)
    }

    /// It has an SNDCP from now on, without any context.
    pub(super) fn make_sndcp(&mut self) {
        let sndcp = Sndcp::new(LlcRole::Sgsn);
        self.plane =
            Some(Box::new(Plane { sndcp, counted: Unconfirmed::default(), again: Again::default() }));
    }

    /// N-PDUs in acknowledged mode that nothing else sends are tried again after some time.
    pub(super) fn arm_links(&mut self, key: TimerKey, cx: &mut Context<'_>) {
        let Some(Plane { again, sndcp, .. }) = self.plane.as_deref_mut() else { return };
        if !again.follow(sndcp, cx.now) {
            again.clear();
        }
        again.arm(key, cx.timers);
    }

    /// What stands still is to be tried again now; [`Mobile::arm_links`] is to be called after it.
    pub(super) fn links_due_now(&mut self, now: Instant) {
        if let Some(plane) = &mut self.plane {
            plane.again.now(now);
        }
    }

    /// The NSAPIs of which N-PDUs are to be tried again now.
    pub(super) fn links_due(&mut self, now: Instant) -> Vec<Nsapi> {
        let Some(Plane { again, sndcp, .. }) = self.plane.as_deref_mut() else { return Vec::new() };
        let is_due = again.is_due(now);
        sndcp.stalled().filter(|_| is_due).collect()
    }

    /// Counts what waits for confirmation: what was counted last, and what it is now.
    pub(super) fn count_unconfirmed(&mut self) -> (Unconfirmed, Unconfirmed) {
        self.plane.as_deref_mut().map_or_else(Default::default, |plane| {
            let now = Unconfirmed::of(&plane.sndcp);
            (core::mem::replace(&mut plane.counted, now), now)
        })
    }

    /// It has none any more; gives what was counted last.
    #[must_use]
    pub(super) fn forget_sndcp(&mut self) -> Unconfirmed {
        self.llc.tidy_links();
        self.plane.take().map_or_else(Unconfirmed::default, |plane| plane.counted)
    }

    /// The foreign or random TLLI by which it is found, and the cell in which that holds.
    #[must_use]
    pub fn foreign(&self) -> Option<(BvcAddress, Tlli)> {
        self.signalling.foreign
    }

    /// It is found by another from now on; gives the former.
    pub fn set_foreign(&mut self, name: (BvcAddress, Tlli)) -> Option<(BvcAddress, Tlli)> {
        self.signalling.foreign.replace(name)
    }

    /// It is not found by this any more; gives it where it was.
    pub fn take_foreign(&mut self, old: Tlli) -> Option<(BvcAddress, Tlli)> {
        self.signalling.foreign.take_if(|(_, tlli)| *tlli == old)
    }

    /// Asks for what an N-PDU in acknowledged mode touches beside the mobile itself, which is here by now.
    pub fn prefetch_links(&self, prefetch: Prefetch) {
        if let Some(plane) = &self.plane {
            prefetch.value(&**plane);
            self.llc.prefetch_links(prefetch);
        }
    }

    /// Asks for the memory where LLC keeps the next unit, so many octets; after [`Mobile::prefetch_links`].
    pub fn prefetch_unit(&self, octets: usize, keeper: &Keeper, prefetch: Prefetch) {
        if self.plane.is_some() {
            self.llc.prefetch_unit(octets, keeper, prefetch);
        }
    }

    /// Asks for what is known of the units that an acknowledgement may confirm; after [`Mobile::prefetch_links`].
    pub fn prefetch_unconfirmed(&self, prefetch: Prefetch) {
        if self.plane.is_some() {
            self.llc.prefetch_unconfirmed(prefetch);
        }
    }

    /// LLC and SNDCP together; `None` without the latter.
    pub(super) fn user_plane<'a>(
        &'a mut self,
        config: &'a UserPlaneConfig,
        out: &'a mut Outputs,
    ) -> Option<UserPlane<'a>> {
        let (plane, whose) = (self.plane.as_deref_mut()?, self.gmm.imsi());
        let (llc, sndcp) = (&mut self.llc, &mut plane.sndcp);
        Some(UserPlane { llc, sndcp, config, n201_i_max: None, whose, out })
    }

    /// What an N-PDU of unacknowledged mode takes on its way down.
    pub(super) fn unacknowledged(
        &mut self,
        nsapi: Nsapi,
    ) -> Option<(&LlcContext, Option<&mut Sndcp>, &mut Bearer)> {
        let sndcp = sndcp_of(&mut self.plane);
        Some((&self.llc, sndcp, self.bearers.get_mut(nsapi)?))
    }

    /// LL-UNITDATA.indication of an SN-PDU: the N-PDU when it is whole.
    pub(super) fn unitdata_indication(
        &mut self,
        cx: &mut Context<'_>,
        reassembler: &mut Reassembler,
        receiver: Receiver,
        sapi: Sapi,
        frame: Frame,
    ) -> Option<NPdu> {
        let sndcp = sndcp_of(&mut self.plane);
        let bearers = &self.bearers;
        let is_active = |nsapi| {
            bearers.get(nsapi).is_some_and(|bearer| bearer.sndcp.sapi == sapi && bearer.tunnel.is_some())
        };
        unitdata_indication(cx, reassembler, (receiver, sndcp), is_active, frame)
    }

    /// Is a context in acknowledged mode?
    #[must_use]
    pub fn is_acknowledged(&self, nsapi: Nsapi) -> bool {
        self.sndcp().is_some_and(|sndcp| sndcp.is_acknowledged(nsapi))
    }

    /// Nothing but paging reaches it: it is not READY, or suspended.
    #[must_use]
    pub const fn is_out_of_reach(&self) -> bool {
        !matches!(self.gmm.mm_state(), MmState::Ready) || self.gmm.is_suspended()
    }

    /// Its logical links have begun anew at both ends.
    pub(super) fn links_began_anew(&mut self) {
        if let Some(sndcp) = self.sndcp_mut() {
            sndcp.reset_indication();
        }
    }

    /// A new bearer in the place of an NSAPI; `None` outside 5 to 15.
    pub fn make_bearer(&mut self, nsapi: Nsapi, name: ContextName) -> Option<&mut Bearer> {
        self.bearers.insert(nsapi, Bearer::new(nsapi, name))
    }

    /// Takes a bearer out.
    pub fn take_bearer(&mut self, nsapi: Nsapi) -> Option<Bearer> {
        self.bearers.remove(nsapi)
    }

    /// Goes on after a restart of the node, from what was kept last; mobility does so by itself. Numbers that may have been used
    /// since are passed over.
    pub fn restore(&mut self, now: Instant, sm: &SmConfig) {
        self.llc.restore(now);
        self.signalling.sm.restore(now, sm);
        for bearer in self.bearers.iter_mut() {
            bearer.sndcp.restore();
            if let Some(tunnel) = &mut bearer.tunnel {
                tunnel.restore();
            }
        }
    }

    /// All bearers with their NSAPIs.
    pub fn bearers(&self) -> impl Iterator<Item = (Nsapi, &Bearer)> {
        self.bearers.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::Slots;

    #[test]
    fn a_mobile_has_four_cache_lines() {
        // With what says whether there is one, and so each begins with one.
        assert_eq!(Slots::<Mobile>::PLACE, 256);
    }

    #[test]
    fn a_mobile_keeps_its_budget() {
        // What an allocator adds to a block, and to what it rounds it up.
        let block = |octets: usize| (octets + 8).next_multiple_of(16);
        let elsewhere = [size_of::<Signalling>(), GmmContext::ELSEWHERE, LlcContext::ELSEWHERE].map(block);
        let octets = Slots::<Mobile>::PLACE + elsewhere.iter().sum::<usize>();
        // Of the 1 KiB that an attached mobile may take with its names, queues and rules in all tables.
        assert!(octets <= 624, "{octets}");
    }
}
