//! A radio with RLC/MAC: the PCU of each cell and the MAC of each mobile, and the air between them
//! ([`gannet_proto::rlcmac`]).
//!
//! It stands on both sides of the air, so that the BSS asks no more of it than of any other radio. Blocks go at their times; an
//! LL-PDU arrives when its last block has been received, and its frame is made of what came.

use super::{
    Amount, CellDrain, Channels, Claim, Drain, Indication, LossCause, Page, Paging, Pending, Radio,
    RadioConfig, Urgency, Way,
};
use gannet_machine::Context;
use gannet_machine::time::Instant;
use gannet_proto::rlcmac::air::{AirCounts, Cell, Direction, Fate, Mobile};
use gannet_proto::rlcmac::channel::{Bursts, Capture, Link, Profile};
use gannet_proto::rlcmac::config::{CellOptions, NetworkConfig, UplinkClasses};
use gannet_proto::rlcmac::custody::LlPdu;
use gannet_proto::rlcmac::mobile::{Mac, MobileConfig, MobileCounts};
use gannet_proto::rlcmac::multiframe::BlockPeriod;
use gannet_proto::rlcmac::network::fair::Class;
use gannet_proto::rlcmac::network::{Loss, Pcu};
use gannet_proto::rlcmac::paging::Drx;
use gannet_proto::rlcmac::tap::{Scope, Tap};
use gannet_wire::id::Imsi;
use gannet_wire::l3::ie::DrxParameter;

/// What all cells and mobiles are set to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RlcMacConfig {
    /// What the PCUs do.
    pub network: NetworkConfig,
    /// What the cells broadcast.
    pub options: CellOptions,
    /// What the mobiles are.
    pub mobile: MobileConfig,
    /// What the channel loses.
    pub channel: ChannelConfig,
    /// What user data is worth.
    pub weights: Weights,
}

/// Shares of the blocks by precedence, where several mobiles have something to receive, and by radio priority 2 to 4 where they have
/// something to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights {
    /// Of high precedence, 1 and more.
    pub high: u8,
    /// Of normal precedence.
    pub normal: u8,
    /// Of low precedence.
    pub low: u8,
}

impl Default for Weights {
    fn default() -> Self {
        Self { high: 4, normal: 2, low: 1 }
    }
}

impl Weights {
    /// Whose turn it is uplink.
    pub(super) const fn uplink(self) -> UplinkClasses {
        UplinkClasses::weighted([self.high, self.normal, self.low])
    }

    pub(super) const fn class(self, urgency: Urgency) -> Class {
        match urgency {
            Urgency::Signalling => Class::Signalling,
            Urgency::RealTime => Class::RealTime,
            Urgency::High => Class::Weighted(self.high),
            Urgency::Normal => Class::Weighted(self.normal),
            Urgency::Low => Class::Weighted(self.low),
        }
    }
}

/// What the channel loses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChannelConfig {
    /// Propagation conditions.
    pub profile: Profile,
    /// Mean C/I in dB, both ways; `None` where nothing is lost.
    pub c_over_i_db: Option<f64>,
    /// Losses in bursts.
    pub bursts: Option<Bursts>,
    /// What becomes of access bursts that meet.
    pub capture: Capture,
}

impl Default for ChannelConfig {
    fn default() -> Self {
        Self { profile: Profile::default(), c_over_i_db: None, bursts: None, capture: Capture::None }
    }
}

impl ChannelConfig {
    /// What one direction of one mobile loses.
    #[must_use]
    pub fn link(&self) -> Link {
        match self.c_over_i_db {
            Some(db) => Link::new(self.profile, db, self.bursts),
            None => Link::perfect(),
        }
    }
}

impl RlcMacConfig {
    /// Defaults around a setting of the PCUs.
    #[must_use]
    pub fn new(network: NetworkConfig) -> Self {
        Self {
            network,
            options: CellOptions::default(),
            mobile: MobileConfig::default(),
            channel: ChannelConfig::default(),
            weights: Weights::default(),
        }
    }
}

/// The radios of all cells.
#[derive(Debug)]
pub struct RlcMacRadio {
    config: RlcMacConfig,
    cells: Vec<Cell>,
    /// Mobiles that were heard of, by their slot.
    mobiles: Vec<Mobile>,
    mobiles_max: u32,
    /// The cell of each.
    camps: Vec<Option<u32>>,
    link: Link,
}

const fn direction(way: Way) -> Direction {
    match way {
        Way::Downlink => Direction::Down,
        Way::Uplink => Direction::Up,
    }
}

pub(super) fn carried(pdu: Pending) -> LlPdu {
    let Pending { mobile, tlli, expires, urgency, frame } = pdu;
    LlPdu { mobile, tlli, expires, priority: urgency.priority(), frame }
}

pub(super) fn pending(pdu: LlPdu) -> Pending {
    let LlPdu { mobile, tlli, expires, priority, frame } = pdu;
    Pending { mobile, tlli, expires, urgency: Urgency::of_priority(priority), frame }
}

/// The carrier of a cell: those of GSM 900 (45.005 clause 2) in turn, 1 to 124.
const fn carrier(first: u16, number: u16) -> u16 {
    const CARRIERS: u16 = 124;
    1 + (first.saturating_sub(1) % CARRIERS + number % CARRIERS) % CARRIERS
}

/// As GSMTAP has it: whole dB.
#[expect(clippy::cast_possible_truncation, reason = "it is clamped")]
fn whole_db(db: f64) -> i8 {
    db.round().clamp(f64::from(i8::MIN), f64::from(i8::MAX)) as i8
}

pub(super) const fn loss_cause(loss: Loss) -> LossCause {
    match loss {
        Loss::Lifetime => LossCause::Lifetime,
        Loss::Air => LossCause::Air,
        Loss::Contact => LossCause::Contact,
        Loss::Preempted => LossCause::Preempted,
    }
}

/// The PDCHs of a cell.
pub(super) const fn channels(pcu: &Pcu) -> Channels {
    Channels {
        configured: pcu.config().pdchs,
        held: pcu.held_channels(),
        usable: pcu.usable(),
        preempted: pcu.config().preempted,
        discards: pcu.discards(),
        counts: pcu.preemption_counts(),
    }
}

/// What a cell drains.
pub(super) fn drain_of(pcu: &Pcu, now: Instant) -> CellDrain {
    let rate = pcu.drain_rate(BlockPeriod::at_or_before(now).0);
    let (_, waiting_octets) = pcu.waiting();
    let cell = Drain { rate_bit_per_s: rate.bit_per_s, waiting_octets, is_measured: rate.is_measured };
    CellDrain { cell, default_ms_bit_per_s: pcu.default_drain_rate() }
}

/// What its mobiles drain.
pub(super) fn measured_mobiles_of(pcu: &Pcu, now: Instant, out: &mut dyn FnMut(u32, Drain)) {
    let period = BlockPeriod::at_or_before(now).0;
    pcu.measured_mobiles(period, |mobile, rate_bit_per_s, waiting_octets| {
        out(mobile, Drain { rate_bit_per_s, waiting_octets, is_measured: true });
    });
}

impl RlcMacRadio {
    /// Cells that are alike but for their carriers and the octets that may wait downlink in each, for up to so many mobiles.
    #[must_use]
    pub fn new(config: RlcMacConfig, rooms: impl IntoIterator<Item = u64>, mobiles_max: u32) -> Self {
        let channel = config.channel;
        let link = channel.link();
        let cell = |(number, queue_octets): (u16, u64)| {
            let uplink_classes = config.weights.uplink();
            let network = NetworkConfig { queue_octets, uplink_classes, ..config.network };
            let options = CellOptions { arfcn: carrier(config.options.arfcn, number), ..config.options };
            Cell::new(Pcu::new(network, options), channel.capture)
        };
        Self {
            config,
            cells: (0_u16..).zip(rooms).map(cell).collect(),
            mobiles: Vec::new(),
            mobiles_max,
            camps: Vec::new(),
            link,
        }
    }

    /// A cell and its PCU.
    #[must_use]
    pub fn cell(&self, cell: u32) -> Option<&Cell> {
        self.cells.get(cell as usize)
    }

    /// All cells.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter()
    }

    /// All mobiles that were heard of.
    pub fn mobiles(&self) -> impl Iterator<Item = &Mobile> {
        self.mobiles.iter()
    }

    /// What happened on the air of a cell.
    #[must_use]
    pub fn air_counts(&self, cell: u32) -> Option<AirCounts> {
        self.cell(cell).map(Cell::counts)
    }

    /// Has the air of all cells looked at from now on, or no longer. What waits to be taken is gone.
    pub fn observe(&mut self, scope: Option<Scope>) {
        let c_over_i_db = self.config.channel.c_over_i_db.map(whole_db);
        for cell in &mut self.cells {
            let arfcn = cell.pcu().options().arfcn;
            cell.set_tap(scope.map(|scope| Tap::new(scope, arfcn, c_over_i_db)));
        }
    }

    /// Something was seen on the air of a cell.
    #[must_use]
    pub fn has_seen(&self, cell: u32) -> bool {
        self.cell(cell).and_then(Cell::tap).is_some_and(Tap::has_seen)
    }

    /// Who has seen it, to take it.
    pub fn tap_mut(&mut self, cell: u32) -> Option<&mut Tap> {
        self.cells.get_mut(cell as usize)?.tap_mut()
    }

    /// What happened in a mobile.
    #[must_use]
    pub fn mobile_counts(&self, mobile: u32) -> Option<MobileCounts> {
        self.mobiles.get(mobile as usize).map(|mobile| mobile.mac.counts())
    }

    /// What happened in all mobiles together.
    #[must_use]
    pub fn counts_of_mobiles(&self) -> MobileCounts {
        let mut sum = MobileCounts::default();
        self.mobiles.iter().for_each(|mobile| sum += mobile.mac.counts());
        sum
    }

    /// A mobile camps on a cell. False where there is no such mobile or cell.
    fn camp(&mut self, mobile: u32, cell: u32) -> bool {
        if mobile >= self.mobiles_max || cell as usize >= self.cells.len() {
            return false;
        }
        let config = self.config;
        while self.mobiles.len() <= mobile as usize {
            let mac = Mac::new(config.mobile, config.options);
            self.mobiles.push(Mobile { mac, downlink: self.link.clone(), uplink: self.link.clone() });
            self.camps.push(None);
        }
        let Some(camps) = self.camps.get_mut(mobile as usize) else { return false };
        let before = camps.replace(cell);
        if before != Some(cell) {
            if let Some(left) = before.and_then(|left| self.cells.get_mut(left as usize)) {
                left.leave(mobile);
            }
            if let Some(state) = self.mobiles.get_mut(mobile as usize) {
                state.mac.change_cell(config.options);
            }
            if let Some(cell) = self.cells.get_mut(cell as usize) {
                cell.enter(mobile);
            }
        }
        true
    }

    fn request_down(&mut self, cell: u32, pdu: Pending, claim: Claim) -> Result<(), Pending> {
        let Some(state) = self.cells.get_mut(cell as usize) else { return Err(pdu) };
        if let Some(mobile) = self.mobiles.get_mut(pdu.mobile as usize)
            && !mobile.mac.has_tlli(pdu.tlli)
        {
            // The SGSN has given the mobile this name, and the mobile has taken it.
            mobile.mac.assign_tlli(pdu.tlli);
        }
        let class = self.config.weights.class(pdu.urgency);
        state.pcu_mut().request(carried(pdu), class, claim == Claim::New).map_err(pending)
    }
}

impl Radio for RlcMacRadio {
    fn request(
        &mut self,
        now: Instant,
        cell: u32,
        way: Way,
        pdu: Pending,
        claim: Claim,
    ) -> Result<(), Pending> {
        let mobile = pdu.mobile;
        if !self.camp(mobile, cell) {
            return Err(pdu);
        }
        let taken = match way {
            Way::Downlink => self.request_down(cell, pdu, claim),
            Way::Uplink => match (self.mobiles.get_mut(mobile as usize), claim) {
                (None, _) => Err(pdu),
                (Some(state), Claim::New) => state.mac.request(now, carried(pdu)).map_err(pending),
                (Some(state), Claim::Moved) => {
                    state.mac.take(now, carried(pdu));
                    Ok(())
                }
            },
        };
        if let Some(state) = self.cells.get_mut(cell as usize) {
            state.touched(now, Some(mobile), &self.mobiles);
        }
        taken
    }

    /// All of it is told as the downlink's: what arrived uplink then lies ready.
    fn next_event(&self, cell: u32, way: Way) -> Option<Instant> {
        let state = self.cells.get(cell as usize)?;
        match way {
            _ if state.has_fate(direction(way)) => Some(Instant::ZERO),
            Way::Downlink if state.has_paged() => Some(Instant::ZERO),
            Way::Downlink => state.next_event(),
            Way::Uplink => None,
        }
    }

    fn indication(&mut self, cx: &mut Context<'_>, cell: u32, way: Way) -> Option<Indication> {
        let state = self.cells.get_mut(cell as usize)?;
        state.run(cx, &mut self.mobiles);
        Some(match state.pop_fate(direction(way))? {
            Fate::Arrived(pdu) => Indication::Arrived(pending(pdu)),
            Fate::Lost(pdu, loss) => Indication::Lost { pdu: pending(pdu), cause: loss_cause(loss) },
        })
    }

    fn waiting(&self, cell: u32, way: Way) -> Amount {
        let Some(state) = self.cells.get(cell as usize) else { return Amount::default() };
        if way == Way::Downlink {
            let (frames, octets) = state.pcu().waiting();
            return Amount { frames, octets };
        }
        let mut sum = Amount::default();
        let here = self.mobiles.iter().zip(&self.camps).filter(|(_, camps)| **camps == Some(cell));
        for (frames, octets) in here.map(|(mobile, _)| mobile.mac.waiting()) {
            sum.frames += u32::try_from(frames).unwrap_or(u32::MAX);
            sum.octets += octets as u64;
        }
        sum
    }

    fn drain(&self, now: Instant, cell: u32) -> Option<CellDrain> {
        self.cells.get(cell as usize).map(|state| drain_of(state.pcu(), now))
    }

    fn measured_mobiles(&self, now: Instant, cell: u32, out: &mut dyn FnMut(u32, Drain)) {
        if let Some(state) = self.cells.get(cell as usize) {
            measured_mobiles_of(state.pcu(), now, out);
        }
    }

    fn leave(&mut self, now: Instant, cell: u32, mobile: u32, out: &mut dyn FnMut(Way, Pending)) {
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        state.pcu_mut().forget_mobile(mobile, |pdu| out(Way::Downlink, pending(pdu)));
        if self.camps.get(mobile as usize).copied().flatten() == Some(cell) {
            state.leave(mobile);
            if let Some(camps) = self.camps.get_mut(mobile as usize) {
                *camps = None;
            }
            if let Some(mobile) = self.mobiles.get_mut(mobile as usize) {
                mobile.mac.change_cell(self.config.options);
                mobile.mac.take_queue(|pdu| out(Way::Uplink, pending(pdu)));
            }
        }
        state.touched(now, None, &self.mobiles);
    }

    fn take_waiting(
        &mut self,
        now: Instant,
        cell: u32,
        way: Way,
        mobile: Option<u32>,
        out: &mut dyn FnMut(Pending),
    ) {
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        match way {
            Way::Downlink => state.pcu_mut().take_waiting(mobile, |pdu| out(pending(pdu))),
            Way::Uplink => {
                let all = (0_u32..).zip(self.mobiles.iter_mut().zip(&self.camps));
                let meant = all.filter(|(at, (_, camps))| {
                    **camps == Some(cell) && mobile.is_none_or(|mobile| mobile == *at)
                });
                meant.for_each(|(_, (state, _))| state.mac.take_queue(|pdu| out(pending(pdu))));
            }
        }
        state.touched(now, None, &self.mobiles);
    }

    fn set_suspended(&mut self, now: Instant, mobile: u32, on: bool) {
        let Some(state) = self.mobiles.get_mut(mobile as usize) else { return };
        state.mac.suspend(now, on);
        let camps = self.camps.get(mobile as usize).copied().flatten();
        if let Some(cell) = camps.and_then(|cell| self.cells.get_mut(cell as usize)) {
            cell.touched(now, Some(mobile), &self.mobiles);
        }
    }

    fn tune_away(&mut self, now: Instant, mobile: u32, on: bool) -> bool {
        self.set_suspended(now, mobile, on);
        true
    }

    fn camp_on(&mut self, now: Instant, cell: u32, mobile: u32) {
        if self.camp(mobile, cell)
            && let Some(state) = self.cells.get_mut(cell as usize)
        {
            state.touched(now, Some(mobile), &self.mobiles);
        }
    }

    /// The SGSN has this from the mobile itself, which listens accordingly.
    fn learn(&mut self, cell: u32, mobile: u32, imsi: Imsi, drx: DrxParameter) {
        let drx = Drx::of(imsi, drx);
        if let Some(state) = self.cells.get_mut(cell as usize) {
            state.pcu_mut().set_drx(mobile, drx);
        }
        if let Some(mobile) = self.mobiles.get_mut(mobile as usize) {
            mobile.mac.set_drx(drx);
        }
    }

    fn page(&mut self, now: Instant, cell: u32, page: Page, imsi: Imsi) -> Paging {
        let Some(state) = self.cells.get_mut(cell as usize) else { return Paging::NoChannel };
        let is_taken = state.pcu_mut().page(page, &imsi);
        state.touched(now, None, &self.mobiles);
        if is_taken { Paging::Taken } else { Paging::Full }
    }

    fn pop_paged(&mut self, cell: u32) -> Option<(u32, Page)> {
        self.cells.get_mut(cell as usize)?.pop_paged()
    }

    /// Slots and coding are its rate; of the rest, the room downlink counts.
    fn reconfigure(&mut self, _: Instant, cell: u32, way: Way, config: RadioConfig) {
        if way == Way::Downlink
            && let Some(state) = self.cells.get_mut(cell as usize)
        {
            let network = NetworkConfig { queue_octets: config.queue_octets, ..*state.pcu().config() };
            state.pcu_mut().reconfigure(network);
        }
    }

    fn hold_channels(&mut self, now: Instant, cell: u32, timeslots: u8) -> bool {
        let Some(state) = self.cells.get_mut(cell as usize) else { return false };
        state.pcu_mut().hold_channels(now, timeslots);
        state.touched(now, None, &self.mobiles);
        true
    }

    fn channels(&self, cell: u32) -> Option<Channels> {
        Some(channels(self.cell(cell)?.pcu()))
    }

    fn rlcmac(&self) -> Option<&RlcMacRadio> {
        Some(self)
    }

    fn rlcmac_mut(&mut self) -> Option<&mut RlcMacRadio> {
        Some(self)
    }
}
