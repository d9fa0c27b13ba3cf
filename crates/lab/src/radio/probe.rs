//! A radio with RLC/MAC that is looked at while a node has it: what it was given and gave back, and when its mobiles got TBFs.

use super::capture::{Point, Tape};
use gannet_machine::Context;
use gannet_machine::time::Instant;
use gannet_node::bss::radio::{
    Amount, CellDrain, Channels, Claim, Drain, Indication, LossCause, Page, Paging, Pending, Radio,
    RadioConfig, RlcMacRadio, Way,
};
use gannet_proto::rlcmac::air::AirCounts;
use gannet_proto::rlcmac::conservation::faults;
use gannet_proto::rlcmac::mobile::MobileCounts;
use gannet_proto::rlcmac::network::{BlockCounts, PreemptionCounts};
use gannet_proto::rlcmac::rlc::RlcCounts;
use gannet_proto::rlcmac::tap::Scope;
use gannet_wire::id::Imsi;
use gannet_wire::l3::ie::DrxParameter;
use std::cell::RefCell;
use std::rc::Rc;

/// LL-PDUs of one direction, over all cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ledger {
    /// Taken by the radio.
    pub taken: u64,
    /// Their octets.
    pub taken_octets: u64,
    /// Refused for want of room.
    pub refused: u64,
    /// Arrived.
    pub arrived: u64,
    /// Their octets.
    pub arrived_octets: u64,
    /// Lost: their lifetime had ended.
    pub lifetime: u64,
    /// Lost on the air.
    pub air: u64,
    /// Lost with the contact to their mobile.
    pub contact: u64,
    /// Discarded as calls had all PDCHs.
    pub preempted: u64,
    /// Taken out again by the base station.
    pub taken_out: u64,
}

impl Ledger {
    /// LL-PDUs that are neither delivered nor lost under a name: those that are in the radio now.
    #[must_use]
    pub const fn inside(&self) -> u64 {
        let gone = self.arrived + self.lifetime + self.air + self.contact + self.preempted + self.taken_out;
        self.taken.saturating_sub(gone)
    }

    /// True where more came out than went in.
    #[must_use]
    pub const fn is_overdrawn(&self) -> bool {
        self.arrived + self.lifetime + self.air + self.contact + self.preempted + self.taken_out > self.taken
    }
}

/// What happened to a mobile that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// An LL-PDU was given to the radio.
    Requested(Way),
    /// One has arrived.
    Arrived(Way),
    /// An access burst was sent.
    Burst,
    /// A TBF was assigned to the mobile.
    Assigned(Way),
}

#[derive(Debug)]
struct Watched {
    mobile: u32,
    before: MobileCounts,
    marks: Vec<(Instant, Mark)>,
}

/// Downlink data blocks of the first cell and of a mobile there, by a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Blocks {
    /// Sent, in whatever kind.
    pub sent: u64,
    /// Of these, those that came to the mobile for the first time.
    pub came: u64,
}

/// How [`Blocks`] grow.
#[derive(Debug)]
struct Series {
    mobile: u32,
    points: Vec<(Instant, Blocks)>,
}

#[derive(Debug)]
struct Inner {
    radio: RlcMacRadio,
    ledgers: [Ledger; 2],
    watched: Option<Watched>,
    series: Option<Series>,
    tapes: Vec<Tape>,
}

impl Inner {
    const fn ledger(&mut self, way: Way) -> &mut Ledger {
        let [down, up] = &mut self.ledgers;
        match way {
            Way::Downlink => down,
            Way::Uplink => up,
        }
    }

    fn mark(&mut self, now: Instant, mobile: u32, mark: Mark) {
        if let Some(watched) = self.watched.as_mut().filter(|watched| watched.mobile == mobile) {
            watched.marks.push((now, mark));
        }
    }

    /// What the watched mobile has counted since it was looked at last.
    fn look(&mut self, now: Instant) {
        self.record();
        self.count_blocks(now);
        let Some(watched) = &mut self.watched else { return };
        let Some(counts) = self.radio.mobile_counts(watched.mobile) else { return };
        let before = core::mem::replace(&mut watched.before, counts);
        let changes = [
            (counts.bursts > before.bursts, Mark::Burst),
            (counts.uplink_tbfs > before.uplink_tbfs, Mark::Assigned(Way::Uplink)),
            (counts.downlink_tbfs > before.downlink_tbfs, Mark::Assigned(Way::Downlink)),
        ];
        let new = changes.into_iter().filter(|(is_new, _)| *is_new).map(|(_, mark)| (now, mark));
        watched.marks.extend(new);
    }

    /// What was seen on the air goes to the tapes.
    fn record(&mut self) {
        if self.tapes.is_empty() {
            return;
        }
        for cell in 0.. {
            let Some(tap) = self.radio.tap_mut(cell) else { return };
            while let Some(sighting) = tap.pop() {
                self.tapes.iter().for_each(|tape| tape.sighting(cell, &sighting));
            }
            let missed = tap.take_missed();
            self.tapes.iter().for_each(|tape| tape.missed(missed));
        }
    }

    fn count_blocks(&mut self, now: Instant) {
        let Some(series) = &mut self.series else { return };
        let sent = self.radio.cell(0).map_or(0, |cell| cell.pcu().counts().data.iter().sum());
        let came = self.radio.mobile_counts(series.mobile).map_or(0, |counts| counts.down.new);
        let blocks = Blocks { sent, came };
        if series.points.last().is_none_or(|(_, last)| *last != blocks) {
            series.points.push((now, blocks));
        }
    }
}

/// The end of it that an experiment keeps.
#[derive(Debug, Clone)]
pub struct Probe(Rc<RefCell<Inner>>);

/// The end of it that the base station has.
#[derive(Debug)]
struct Probed(Rc<RefCell<Inner>>);

impl Probe {
    /// Around a radio.
    #[must_use]
    pub fn new(radio: RlcMacRadio) -> Self {
        Self(Rc::new(RefCell::new(Inner {
            radio,
            ledgers: [Ledger::default(); 2],
            watched: None,
            series: None,
            tapes: Vec::new(),
        })))
    }

    /// For the base station.
    #[must_use]
    pub fn radio(&self) -> Box<dyn Radio> {
        Box::new(Probed(Rc::clone(&self.0)))
    }

    /// LL-PDUs of a direction.
    #[must_use]
    pub fn ledger(&self, way: Way) -> Ledger {
        *self.0.borrow_mut().ledger(way)
    }

    /// True where there is such a cell.
    #[must_use]
    pub fn has_cell(&self, cell: u32) -> bool {
        self.0.borrow().radio.cell(cell).is_some()
    }

    /// Blocks of a cell.
    #[must_use]
    pub fn blocks(&self, cell: u32) -> BlockCounts {
        self.0.borrow().radio.cell(cell).map(|cell| *cell.pcu().counts()).unwrap_or_default()
    }

    /// What happened on the air of a cell.
    #[must_use]
    pub fn air(&self, cell: u32) -> AirCounts {
        self.0.borrow().radio.air_counts(cell).unwrap_or_default()
    }

    /// What happened in a mobile.
    #[must_use]
    pub fn mobile(&self, mobile: u32) -> MobileCounts {
        self.0.borrow().radio.mobile_counts(mobile).unwrap_or_default()
    }

    /// RLC of a cell's TBFs: what was sent downlink, and what came uplink.
    #[must_use]
    pub fn rlc(&self, cell: u32) -> RlcCounts {
        self.0.borrow().radio.cell(cell).map(|cell| cell.pcu().rlc_counts()).unwrap_or_default()
    }

    /// RLC of all mobiles' TBFs: what was sent uplink, and what came downlink.
    #[must_use]
    pub fn rlc_of_mobiles(&self) -> RlcCounts {
        let mut sum = RlcCounts::default();
        self.0.borrow().radio.mobiles().for_each(|mobile| sum += mobile.mac.rlc_counts());
        sum
    }

    /// What calls have done to GPRS in the first cell.
    #[must_use]
    pub fn preemptions(&self) -> PreemptionCounts {
        self.0.borrow().radio.channels(0).map(|channels| channels.counts).unwrap_or_default()
    }

    /// PDCHs of the first cell that calls leave.
    #[must_use]
    pub fn pdchs_left(&self) -> u32 {
        self.0.borrow().radio.channels(0).map_or(0, |channels| channels.usable.count_ones())
    }

    /// Which blocks are not conserved; none may be on the air.
    #[must_use]
    pub fn block_faults(&self) -> Vec<String> {
        let radio = &self.0.borrow().radio;
        faults(radio.cells(), radio.mobiles())
    }

    /// These tapes have what is seen on the air from now on.
    pub fn record(&self, tapes: &[Tape]) {
        let wants = |point| tapes.iter().any(|tape| tape.has(point));
        let scope = match (wants(Point::Um), wants(Point::Abis)) {
            (true, _) => Some(Scope::Both),
            (false, true) => Some(Scope::Abis),
            (false, false) => None,
        };
        let mut inner = self.0.borrow_mut();
        inner.radio.observe(scope);
        inner.tapes = if scope.is_some() { tapes.to_vec() } else { Vec::new() };
    }

    /// Keeps what happens to a mobile from now on.
    pub fn watch(&self, mobile: u32) {
        let before = self.mobile(mobile);
        self.0.borrow_mut().watched = Some(Watched { mobile, before, marks: Vec::new() });
    }

    /// Keeps how the downlink data blocks of the first cell grow from now on, with those that come to a mobile.
    pub fn keep_blocks(&self, mobile: u32) {
        self.0.borrow_mut().series = Some(Series { mobile, points: Vec::new() });
    }

    /// Takes what was kept of them: each time at which a number was another one.
    #[must_use]
    pub fn take_blocks(&self) -> Vec<(Instant, Blocks)> {
        let mut inner = self.0.borrow_mut();
        inner.series.as_mut().map(|series| core::mem::take(&mut series.points)).unwrap_or_default()
    }

    /// Takes what was kept, in the order in which it happened.
    #[must_use]
    pub fn take_marks(&self) -> Vec<(Instant, Mark)> {
        let mut inner = self.0.borrow_mut();
        inner.watched.as_mut().map(|watched| core::mem::take(&mut watched.marks)).unwrap_or_default()
    }
}

impl Radio for Probed {
    fn request(
        &mut self,
        now: Instant,
        cell: u32,
        way: Way,
        pdu: Pending,
        claim: Claim,
    ) -> Result<(), Pending> {
        let mut inner = self.0.borrow_mut();
        let (mobile, octets) = (pdu.mobile, pdu.frame.len() as u64);
        let taken = inner.radio.request(now, cell, way, pdu, claim);
        let ledger = inner.ledger(way);
        match taken {
            Ok(()) => {
                ledger.taken += 1;
                ledger.taken_octets += octets;
                inner.mark(now, mobile, Mark::Requested(way));
            }
            Err(_) => ledger.refused += 1,
        }
        inner.look(now);
        taken
    }

    fn next_event(&self, cell: u32, way: Way) -> Option<Instant> {
        self.0.borrow().radio.next_event(cell, way)
    }

    fn indication(&mut self, cx: &mut Context<'_>, cell: u32, way: Way) -> Option<Indication> {
        let mut inner = self.0.borrow_mut();
        let indication = inner.radio.indication(cx, cell, way);
        inner.look(cx.now);
        let ledger = inner.ledger(way);
        match indication.as_ref()? {
            Indication::Arrived(pdu) => {
                let mobile = pdu.mobile;
                ledger.arrived += 1;
                ledger.arrived_octets += pdu.frame.len() as u64;
                inner.mark(cx.now, mobile, Mark::Arrived(way));
            }
            Indication::Lost { cause: LossCause::Lifetime, .. } => ledger.lifetime += 1,
            Indication::Lost { cause: LossCause::Air, .. } => ledger.air += 1,
            Indication::Lost { cause: LossCause::Contact, .. } => ledger.contact += 1,
            Indication::Lost { cause: LossCause::Preempted, .. } => ledger.preempted += 1,
        }
        indication
    }

    fn waiting(&self, cell: u32, way: Way) -> Amount {
        self.0.borrow().radio.waiting(cell, way)
    }

    fn drain(&self, now: Instant, cell: u32) -> Option<CellDrain> {
        self.0.borrow().radio.drain(now, cell)
    }

    fn measured_mobiles(&self, now: Instant, cell: u32, out: &mut dyn FnMut(u32, Drain)) {
        self.0.borrow().radio.measured_mobiles(now, cell, out);
    }

    fn leave(&mut self, now: Instant, cell: u32, mobile: u32, out: &mut dyn FnMut(Way, Pending)) {
        let mut inner = self.0.borrow_mut();
        let mut count = [0, 0];
        inner.radio.leave(now, cell, mobile, &mut |way, pdu| {
            let [down, up] = &mut count;
            *if way == Way::Downlink { down } else { up } += 1;
            out(way, pdu);
        });
        for (ledger, count) in inner.ledgers.iter_mut().zip(count) {
            ledger.taken_out += count;
        }
    }

    fn take_waiting(
        &mut self,
        now: Instant,
        cell: u32,
        way: Way,
        mobile: Option<u32>,
        out: &mut dyn FnMut(Pending),
    ) {
        let mut inner = self.0.borrow_mut();
        let mut count = 0;
        inner.radio.take_waiting(now, cell, way, mobile, &mut |pdu| {
            count += 1;
            out(pdu);
        });
        inner.ledger(way).taken_out += count;
    }

    fn camp_on(&mut self, now: Instant, cell: u32, mobile: u32) {
        self.0.borrow_mut().radio.camp_on(now, cell, mobile);
    }

    fn learn(&mut self, cell: u32, mobile: u32, imsi: Imsi, drx: DrxParameter) {
        self.0.borrow_mut().radio.learn(cell, mobile, imsi, drx);
    }

    fn page(&mut self, now: Instant, cell: u32, page: Page, imsi: Imsi) -> Paging {
        self.0.borrow_mut().radio.page(now, cell, page, imsi)
    }

    fn pop_paged(&mut self, cell: u32) -> Option<(u32, Page)> {
        self.0.borrow_mut().radio.pop_paged(cell)
    }

    fn set_suspended(&mut self, now: Instant, mobile: u32, on: bool) {
        self.0.borrow_mut().radio.set_suspended(now, mobile, on);
    }

    fn tune_away(&mut self, now: Instant, mobile: u32, on: bool) -> bool {
        self.0.borrow_mut().radio.tune_away(now, mobile, on)
    }

    fn hold_channels(&mut self, now: Instant, cell: u32, timeslots: u8) -> bool {
        self.0.borrow_mut().radio.hold_channels(now, cell, timeslots)
    }

    fn channels(&self, cell: u32) -> Option<Channels> {
        self.0.borrow().radio.channels(cell)
    }

    fn reconfigure(&mut self, now: Instant, cell: u32, way: Way, config: RadioConfig) {
        self.0.borrow_mut().radio.reconfigure(now, cell, way, config);
    }
}
