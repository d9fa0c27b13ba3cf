//! The IP sub-network service (48.016 clause 6.2): two NSEs tell each other their IP endpoints, and NS-VCs arise between
//! every local and every remote one of the same kind of address.
//!
//! The BSS begins: SNS-SIZE, then SNS-CONFIG with its endpoints; the SGSN answers both and sends an SNS-CONFIG of its
//! own (`initial`). From then on either side adds and deletes endpoints of its own and changes their weights (`change`).
//! Every NS-VC is tested (08.16 clause 7.4 [48.016]) and carries NS-UNITDATA while its test passes; there is no NS-RESET
//! and no NS-BLOCK. A BSS none of whose NS-VCs is alive starts anew, as a new SNS-SIZE does from its side.
//!
//! What a peer may make the entity hold is limited: NSEs and NS-VCs by the tables, endpoints by
//! [`SnsConfig::endpoints_max`]. Who has begun and says no more is forgotten; where the table is full, the oldest of
//! these gives way. An NSE that is alive is not given to another address.

mod change;
mod endpoints;
mod initial;
#[cfg(test)]
pub(super) mod tests;

use super::sending::{answer_stranger, transmit};
use super::vc::{VcIndex, VcOrigin};
use super::{FORGET_AFTER, NsEntity, NsError, NsOutput, NsRole};
use change::Procedure;
use core::fmt;
use core::net::SocketAddr;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::{Deadlines, TimerKey, TimerName as _};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Port};
use gannet_wire::id::Nsei;
use gannet_wire::ns::{Cause, IpElement, Pdu, Sns as SnsPdu, Status};
use std::collections::VecDeque;

/// Set in `TimerKey::slot` of the timers of an NSE, which are no NS-VC's.
const SLOT_FLAG: u32 = 1 << 31;

/// The number of the NSE whose timers these are; `None` for those of an NS-VC.
pub(super) const fn of_slot(slot: u32) -> Option<u32> {
    if slot & SLOT_FLAG == 0 { None } else { Some(slot & !SLOT_FLAG) }
}

/// An endpoint on our side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalEndpoint {
    /// Its port in the machine.
    pub port: Port,
    /// What the peer is told about it.
    pub element: IpElement,
}

/// How an entity behaves as an IP sub-network service.
#[derive(Debug, Clone)]
pub struct SnsConfig {
    /// Tsns-prov: for the answer to each of its PDUs (48.016 clause 6.2).
    pub tsns_prov: Duration,
    /// SNS-SIZE-RETRIES.
    pub size_retries: u8,
    /// SNS-CONFIG-RETRIES.
    pub config_retries: u8,
    /// SNS-ADD-RETRIES, SNS-DELETE-RETRIES and SNS-CHANGEWEIGHT-RETRIES.
    pub procedure_retries: u8,
    /// Ports at which SNS-SIZE for an NSE that nobody configured makes it known. Of an SGSN.
    pub open: Vec<Port>,
    /// The endpoints that such an NSE gets.
    pub local: Vec<LocalEndpoint>,
    /// Endpoints of one side of an NSE at most.
    pub endpoints_max: usize,
    /// NS-VCs of an NSE at most.
    pub vcs_max: usize,
}

impl SnsConfig {
    /// The values that Osmocom has; nobody is accepted.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            tsns_prov: Duration::from_secs(3),
            size_retries: 3,
            config_retries: 3,
            procedure_retries: 3,
            open: Vec::new(),
            local: Vec::new(),
            endpoints_max: 16,
            vcs_max: 64,
        }
    }
}

impl Default for SnsConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// An NSE that is to speak IP-SNS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnsSetup {
    /// Which.
    pub nsei: Nsei,
    /// Our endpoints at the start.
    pub local: Vec<LocalEndpoint>,
    /// How many more it may get later.
    pub spare: u16,
    /// The endpoints of the SGSN to which a BSS may speak at first; it tries one after the other.
    pub initial: Vec<SocketAddr>,
}

/// How far an NSE has come. The words are those of both roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnsState {
    /// Not begun.
    Idle,
    /// The BSS waits for SNS-SIZE-ACK.
    Size,
    /// The BSS's endpoints are told: it waits for SNS-CONFIG-ACK, the SGSN for SNS-CONFIG.
    ConfigBss,
    /// The SGSN's endpoints are told: the BSS waits for SNS-CONFIG, the SGSN for SNS-CONFIG-ACK.
    ConfigSgsn,
    /// Each knows the endpoints of the other.
    Configured,
}

impl fmt::Display for SnsState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Idle => "IDLE",
            Self::Size => "SIZE",
            Self::ConfigBss => "CONFIG-BSS",
            Self::ConfigSgsn => "CONFIG-SGSN",
            Self::Configured => "CONFIGURED",
        })
    }
}

gannet_machine::timer_names! {
    /// Timers of an NSE (48.016 clause 6.2, and our own).
    enum SnsTimer {
        /// Tsns-prov: guards what was sent last, or waits for the peer's next PDU.
        TsnsProv = "Tsns-prov",
        /// Our own: an NSE that nobody configured is forgotten when none of its NS-VCs is alive.
        Forget = "the end of an NSE without a live NS-VC",
    }
}

/// What SNS-SIZE said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Size {
    ns_vcs_max: usize,
    ip4: usize,
    ip6: usize,
}

/// An NSE that speaks IP-SNS.
#[derive(Debug)]
pub struct Sns {
    nsei: Nsei,
    number: u32,
    generation: u16,
    /// A person configured it.
    configured: bool,
    state: SnsState,
    since: Instant,
    /// Our endpoint and the peer's over which its PDUs go.
    path: (Port, SocketAddr),
    initial: Vec<SocketAddr>,
    spare: u16,
    local: Vec<LocalEndpoint>,
    remote: Vec<IpElement>,
    /// Endpoints of SNS-CONFIG PDUs after which more will come.
    coming: Vec<IpElement>,
    size: Size,
    /// Repetitions of what Tsns-prov guards.
    repeated: u8,
    procedure: Option<Procedure>,
    waiting: VecDeque<Procedure>,
    transaction: u8,
    /// The last PDU that changed something, and its answer, for the case that the answer is lost.
    answered: Option<(Vec<u8>, SnsPdu)>,
    deadlines: Deadlines<SnsTimer>,
}

impl Sns {
    /// Whose it is.
    #[must_use]
    pub const fn nsei(&self) -> Nsei {
        self.nsei
    }
    /// How far it has come.
    #[must_use]
    pub const fn state(&self) -> SnsState {
        self.state
    }
    /// A person configured it; else it came with SNS-SIZE.
    #[must_use]
    pub const fn is_configured(&self) -> bool {
        self.configured
    }
    /// Our endpoints.
    #[must_use]
    pub fn local(&self) -> &[LocalEndpoint] {
        &self.local
    }
    /// Our endpoint and the peer's over which its PDUs go.
    #[must_use]
    pub const fn path(&self) -> (Port, SocketAddr) {
        self.path
    }
    /// The peer's endpoints.
    #[must_use]
    pub fn remote(&self) -> &[IpElement] {
        &self.remote
    }

    const fn key(&self, owner: u8) -> TimerKey {
        TimerKey { owner, slot: SLOT_FLAG | self.number, generation: self.generation }
    }

    fn set_state(&mut self, cx: &mut Context<'_>, state: SnsState) {
        let (nsei, before) = (self.nsei, self.state);
        cx.log(Category::Ns, Level::Notice, format_args!("NSEI {nsei}: IP-SNS {before} -> {state}"));
        self.state = state;
        self.since = cx.now;
        self.repeated = 0;
        self.coming.clear();
    }

    /// Tsns-prov runs from now on, whether it ran or not.
    fn guard(&mut self, now: Instant, tsns_prov: Duration) {
        self.deadlines.set(SnsTimer::TsnsProv, now + tsns_prov);
    }
}

#[derive(Debug, Default)]
struct Slot {
    generation: u16,
    sns: Option<Sns>,
}

/// The NSEs that speak IP-SNS: few, and looked for by signalling alone.
#[derive(Debug, Default)]
pub(super) struct SnsTable {
    slots: Vec<Slot>,
}

impl SnsTable {
    fn all(&self) -> impl Iterator<Item = &Sns> {
        self.slots.iter().filter_map(|slot| slot.sns.as_ref())
    }

    fn named(&self, nsei: Nsei) -> Option<&Sns> {
        self.all().find(|sns| sns.nsei == nsei)
    }

    fn get_mut(&mut self, nsei: Nsei) -> Option<&mut Sns> {
        self.slots.iter_mut().filter_map(|slot| slot.sns.as_mut()).find(|sns| sns.nsei == nsei)
    }

    fn insert(&mut self, setup: SnsSetup, configured: bool, path: (Port, SocketAddr), now: Instant) {
        let free = self.slots.iter().position(|slot| slot.sns.is_none());
        let place = free.unwrap_or(self.slots.len());
        if free.is_none() {
            self.slots.push(Slot::default());
        }
        let Some(slot) = self.slots.get_mut(place) else { return };
        let SnsSetup { nsei, local, spare, initial } = setup;
        slot.sns = Some(Sns {
            nsei,
            number: u32::try_from(place).unwrap_or(u32::MAX),
            generation: slot.generation,
            configured,
            state: SnsState::Idle,
            since: now,
            path,
            initial,
            spare,
            local,
            remote: Vec::new(),
            coming: Vec::new(),
            size: Size::default(),
            repeated: 0,
            procedure: None,
            waiting: VecDeque::new(),
            transaction: 0,
            answered: None,
            deadlines: Deadlines::default(),
        });
    }

    fn remove(&mut self, nsei: Nsei) {
        let of = |slot: &&mut Slot| slot.sns.as_ref().is_some_and(|sns| sns.nsei == nsei);
        if let Some(slot) = self.slots.iter_mut().find(of) {
            slot.sns = None;
            slot.generation = slot.generation.wrapping_add(1);
        }
    }
}

impl NsEntity {
    /// Makes an NSE speak IP-SNS. A BSS begins with [`NsEntity::start`], an SGSN waits for SNS-SIZE.
    ///
    /// # Errors
    /// [`NsError`]: a limit, weights that are all 0, or the NSE is known already.
    pub fn add_sns(&mut self, cx: &mut Context<'_>, setup: SnsSetup) -> Result<(), NsError> {
        if self.sns.named(setup.nsei).is_some() || self.table.nse(setup.nsei).is_some() {
            return Err(NsError::IdentityTaken);
        }
        let elements: Vec<IpElement> = setup.local.iter().map(|local| local.element).collect();
        if !endpoints::can_carry(&elements) {
            return Err(NsError::Weights);
        }
        let room = self.sns.all().count() < self.config.nse_max;
        if !room || setup.local.len() + usize::from(setup.spare) > self.config.sns.endpoints_max {
            return Err(NsError::TableFull);
        }
        let port = setup.local.first().map_or(Port(0), |local| local.port);
        let peer = setup.initial.first().copied().unwrap_or(SocketAddr::from(([0; 4], 0)));
        self.sns.insert(setup, true, (port, peer), cx.now);
        Ok(())
    }

    /// The NSEs that speak IP-SNS, by NSEI.
    pub fn sns_nses(&self) -> impl Iterator<Item = &Sns> {
        let mut all: Vec<&Sns> = self.sns.all().collect();
        all.sort_unstable_by_key(|sns| sns.nsei);
        all.into_iter()
    }

    /// The IP sub-network service of an NSE.
    #[must_use]
    pub fn sns(&self, nsei: Nsei) -> Option<&Sns> {
        self.sns.named(nsei)
    }

    /// A PDU of the IP sub-network service, on an NS-VC or from an address that has none.
    pub(super) fn sns_received(
        &mut self,
        cx: &mut Context<'_>,
        from: (Port, SocketAddr),
        pdu: &SnsPdu,
        octets: &[u8],
        out: &mut Batch<NsOutput>,
    ) {
        if let (SnsPdu::Size { .. }, NsRole::Sgsn) = (pdu, self.config.role) {
            return self.size_received(cx, from, pdu, octets, out);
        }
        if !self.speaks_for(pdu.nsei(), from) {
            return self.refuse_stranger(cx, from, Cause::PduNotCompatible, octets, out);
        }
        match pdu {
            SnsPdu::Size { .. } => self.out_of_state(cx, from, octets, out),
            SnsPdu::SizeAck { nsei, cause } => self.size_acked(cx, *nsei, *cause, out),
            SnsPdu::Config { nsei, end, elements } => {
                self.config_received(cx, from, (*nsei, *end, elements), octets, out);
            }
            SnsPdu::ConfigAck { nsei, cause } => self.config_acked(cx, *nsei, *cause, out),
            SnsPdu::Add { .. } | SnsPdu::Delete { .. } | SnsPdu::Changeweight { .. } => {
                self.change_received(cx, from, pdu, octets, out);
            }
            SnsPdu::Ack { nsei, transaction, cause, .. } => {
                self.change_acked(cx, *nsei, *transaction, *cause, out);
            }
        }
    }

    /// True where `from` is an end of an NS-VC of `nsei`, or where its first PDUs went.
    fn speaks_for(&self, nsei: Nsei, from: (Port, SocketAddr)) -> bool {
        let Some(sns) = self.sns.named(nsei) else { return false };
        let vc = self.table.at(from.0, from.1).and_then(|index| self.table.get(index));
        sns.path == from || vc.is_some_and(|vc| vc.nsei == nsei)
    }

    /// A PDU that does not fit the state (08.16 clause 8 [48.016]).
    fn out_of_state(
        &mut self,
        cx: &mut Context<'_>,
        from: (Port, SocketAddr),
        octets: &[u8],
        out: &mut Batch<NsOutput>,
    ) {
        cx.drop(Drop::NsUnexpected, None);
        let status = Status::about_pdu(Cause::PduNotCompatible, octets);
        match self.table.at(from.0, from.1) {
            Some(index) => self.send_status(cx, index, status, out),
            None => answer_stranger(&mut self.to_strangers, cx, from, status, out),
        }
    }

    /// Counts a PDU that was refused, and tells a person why.
    fn refused(cx: &mut Context<'_>, nsei: Nsei, what: &str, cause: Cause) {
        cx.drop(Drop::NsSnsRefused, None);
        cx.log(
            Category::Ns,
            Level::Notice,
            format_args!("NSEI {nsei}: {what} refused: {}", cause.with_number()),
        );
    }

    /// Sends a PDU of the IP sub-network service.
    fn send_sns(
        &mut self,
        cx: &mut Context<'_>,
        (port, peer): (Port, SocketAddr),
        pdu: SnsPdu,
        out: &mut Batch<NsOutput>,
    ) {
        let pdu = Pdu::Sns(pdu);
        match self.table.at(port, peer) {
            Some(index) => self.send(cx, index, &pdu, out),
            None => {
                transmit(cx, port, peer, &pdu, out);
            }
        }
    }

    /// All NS-VCs of `nsei` go, and what was known of the peer.
    fn forget_peer(&mut self, cx: &mut Context<'_>, nsei: Nsei, out: &mut Batch<NsOutput>) {
        self.remove_vcs(cx, nsei, out);
        if let Some(sns) = self.sns.get_mut(nsei) {
            sns.remote.clear();
            sns.coming.clear();
            sns.procedure = None;
            sns.waiting.clear();
            sns.answered = None;
            sns.deadlines.clear_all();
        }
    }

    fn remove_vcs(&mut self, cx: &mut Context<'_>, nsei: Nsei, out: &mut Batch<NsOutput>) {
        let vcs: Vec<VcIndex> = self.table.nse(nsei).map(|nse| nse.vcs.clone()).unwrap_or_default();
        for index in vcs {
            self.remove_vc(cx, index, out);
        }
    }

    /// Ends IP-SNS with an NSE: one that was configured waits for its peer, another is forgotten.
    fn end_sns(&mut self, cx: &mut Context<'_>, nsei: Nsei, out: &mut Batch<NsOutput>) {
        self.forget_peer(cx, nsei, out);
        let Some(sns) = self.sns.get_mut(nsei) else { return };
        if sns.configured {
            sns.set_state(cx, SnsState::Idle);
        } else {
            self.sns.remove(nsei);
            cx.log(Category::Ns, Level::Notice, format_args!("NSEI {nsei}: forgotten"));
        }
    }

    /// May a BSS at `peer` have NSEI `nsei`? Not where a person configured it otherwise, and not while it is alive at
    /// another address.
    fn may_have(&self, nsei: Nsei, peer: SocketAddr) -> bool {
        let Some(nse) = self.table.nse(nsei) else { return true };
        let mut vcs = nse.vcs.iter().filter_map(|index| self.table.get(*index));
        let here = nse.unblocked.is_empty() || vcs.clone().any(|vc| vc.peer.ip() == peer.ip());
        here && vcs.all(|vc| vc.origin != VcOrigin::Configured)
    }

    /// A BSS at `peer` wants NSEI `nsei` for itself, without IP-SNS: true where it may have it. What was there goes.
    pub(super) fn sns_gives_way(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        peer: SocketAddr,
        out: &mut Batch<NsOutput>,
    ) -> bool {
        match self.sns.named(nsei) {
            None => true,
            Some(sns) if sns.configured || !self.may_have(nsei, peer) => false,
            Some(_) => {
                self.end_sns(cx, nsei, out);
                true
            }
        }
    }

    /// A wake-up for the NSE with this number.
    pub(super) fn wake_sns(
        &mut self,
        cx: &mut Context<'_>,
        number: u32,
        generation: u16,
        out: &mut Batch<NsOutput>,
    ) {
        let found = |sns: &&Sns| sns.number == number && sns.generation == generation;
        let Some(nsei) = self.sns.all().find(found).map(|sns| sns.nsei) else { return };
        if let Some(sns) = self.sns.get_mut(nsei) {
            sns.deadlines.woken(cx.now);
        }
        while let Some(name) = self.sns.get_mut(nsei).and_then(|sns| sns.deadlines.pop_due(cx.now)) {
            match name {
                SnsTimer::TsnsProv => self.tsns_prov_expired(cx, nsei, out),
                SnsTimer::Forget => self.end_sns(cx, nsei, out),
            }
        }
        self.arm_sns(cx, nsei);
    }

    /// The timer that a wake-up of an NSE is for.
    pub(super) fn sns_timer_name(&self, number: u32, generation: u16) -> Option<&'static str> {
        let sns = self.sns.all().find(|sns| sns.number == number && sns.generation == generation)?;
        sns.deadlines.next_name().map(|due| due.name())
    }

    fn arm_sns(&mut self, cx: &mut Context<'_>, nsei: Nsei) {
        let owner = self.config.timer_owner;
        if let Some(sns) = self.sns.get_mut(nsei) {
            let key = sns.key(owner);
            sns.deadlines.arm(key, cx.timers);
        }
    }

    /// An NS-VC of `nsei` has changed its state, or has failed its test once more.
    pub(super) fn sns_vc_changed(&mut self, cx: &mut Context<'_>, nsei: Nsei, out: &mut Batch<NsOutput>) {
        let alive = self.is_available(nsei);
        let Some(sns) = self.sns.get_mut(nsei).filter(|sns| sns.state == SnsState::Configured) else {
            return;
        };
        let forget = SnsTimer::Forget;
        match self.config.role {
            NsRole::Bss if !alive => return self.start_sns(cx, nsei, out),
            NsRole::Bss => {}
            NsRole::Sgsn if alive || sns.configured => sns.deadlines.clear(forget),
            NsRole::Sgsn if !sns.deadlines.is_set(forget) => {
                sns.deadlines.set(forget, cx.now + FORGET_AFTER);
            }
            NsRole::Sgsn => {}
        }
        self.arm_sns(cx, nsei);
    }
}
