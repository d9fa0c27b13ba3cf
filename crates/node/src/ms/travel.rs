//! Mobiles on their way: each measures the cells along it, and goes to another where 05.08 [45.008] says so.
//!
//! ```text
//!            better for 5 s, or lost                      system information is read
//!   camped ─────────────────────────► between two cells ─────────────────────────────► camped
//!      ▲    TBFs end, nothing is heard, what is to be sent is held                        │
//!      └───────────────── cell update, or routing area update where the area is another ──┘
//! ```
//!
//! [`Reselection`] decides, [`Signal`] says what is received. What the mobile has to send meanwhile is held and goes first in the
//! new cell: it is the cell update then. [`TravelFaults`] are for the laboratory.

use super::{Ms, MsEvent, Owner};
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::{Deadlines, TimerName as _};
use gannet_machine::trace::{Category, Level};
use gannet_proto::about::About as _;
use gannet_proto::bearer::Request;
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::ms::GmmMsState;
use gannet_proto::reselection::signal::Signal;
use gannet_proto::reselection::{Broadcast, Choice, Reselection, criteria};
use gannet_wire::id::{Nsapi, Sapi, Tlli, TlliKind};
use std::collections::{BTreeMap, VecDeque};

/// From one measurement of all carriers to the next: eleven in the 5 s of an average (05.08 clause 6.6.1).
const MEASURE_EVERY: Duration = Duration::from_millis(480);
/// PDUs of a mobile that are held, however short they are.
const HELD_MAX: usize = 256;

/// Where mobiles are, and how they change cells.
#[derive(Debug, Clone)]
pub struct TravelConfig {
    /// What each cell broadcasts, by its index.
    pub broadcasts: Vec<Broadcast>,
    /// What each mobile receives. Mobiles beyond the end measure nothing and stay where they are told to be.
    pub signals: Vec<Signal>,
    /// What a mobile sends at most, in dBm.
    pub power_dbm: i16,
    /// How long a mobile takes from the air of one cell to that of the next, at least and at most: synchronisation, and the system
    /// information that it needs. Dice say how long it is.
    pub acquisition: [Duration; 2],
    /// How much longer it takes where the next cell is of another routing area, at least and at most: what a mobile does besides GPRS,
    /// as a location update on a dedicated channel (04.08 clause 4.4.1 [24.008]).
    pub area_delay: [Duration; 2],
    /// Octets that a mobile holds while it is between two cells or updates its routing area.
    pub held_octets: usize,
    /// What goes wrong.
    pub faults: TravelFaults,
}

impl TravelConfig {
    /// Mobiles that receive this, and read a cell's system information in 2 to 3.5 s.
    #[must_use]
    pub const fn new(broadcasts: Vec<Broadcast>, signals: Vec<Signal>) -> Self {
        Self {
            broadcasts,
            signals,
            power_dbm: criteria::POWER_DBM,
            acquisition: [Duration::from_millis(2000), Duration::from_millis(3500)],
            area_delay: [Duration::ZERO; 2],
            held_octets: 30_000,
            faults: TravelFaults::NONE,
        }
    }
}

/// Faults of mobiles, as they were seen in the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TravelFaults {
    /// So many of the last LL-PDUs with user data that went in the old cell go again in the new one.
    pub repeated: u8,
    /// After the LL-PDU without content that tells the new cell, the mobile's LLC sends nothing for so long.
    pub stall: Duration,
    /// Each so manieth reselection fails; 0 for none.
    pub fails_every: u32,
    /// How much longer a reselection takes that fails.
    pub fails_for: Duration,
}

impl TravelFaults {
    /// None.
    pub const NONE: Self =
        Self { repeated: 0, stall: Duration::ZERO, fails_every: 0, fails_for: Duration::from_secs(120) };
}

/// What happened to mobiles on their way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TravelCounts {
    /// Reselections that have begun.
    pub reselections: u64,
    /// Of these, those that fail by [`TravelFaults::fails_every`].
    pub failed: u64,
    /// LL-PDUs that were sent again by [`TravelFaults::repeated`].
    pub repeated: u64,
    /// Outages by [`TravelFaults::stall`].
    pub stalls: u64,
    /// N-PDUs and LL-PDUs that were held.
    pub held: u64,
}

gannet_machine::timer_names! {
    /// What a mobile on its way is woken for.
    enum TravelTimer {
        /// The carriers are measured (05.08 clause 6.6.1).
        Measure = "measurement of carriers",
        /// The system information of the new cell is read (44.060 clause 5.5.1.2).
        Acquired = "system information of the new cell",
        /// The outage behind a cell update is over, see [`TravelFaults::stall`] (03.60 clause 6.9.1.1).
        Stall = "outage after a cell update",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Camped,
    Between { to: u16 },
    Stalled,
}

#[derive(Debug)]
enum Held {
    NPdu(Nsapi, Frame),
    LlPdu(Tlli, Frame),
}

impl Held {
    fn octets(&self) -> usize {
        match self {
            Self::NPdu(_, frame) | Self::LlPdu(_, frame) => frame.len(),
        }
    }
}

#[derive(Debug)]
struct Traveller {
    choice: Reselection,
    began: Instant,
    stage: Stage,
    deadlines: Deadlines<TravelTimer>,
    held: VecDeque<Held>,
    held_octets: usize,
    /// The last LL-PDUs with user data, for [`TravelFaults::repeated`].
    recent: VecDeque<(Tlli, Vec<u8>)>,
    /// Something was sent in the new cell: no empty LL-PDU need tell of it.
    has_sent: bool,
}

/// All mobiles on their way.
#[derive(Debug)]
pub(super) struct Travels {
    config: Option<TravelConfig>,
    travellers: BTreeMap<u32, Traveller>,
    counts: TravelCounts,
}

impl Travels {
    pub(super) const fn new(config: Option<TravelConfig>) -> Self {
        let counts = TravelCounts { reselections: 0, failed: 0, repeated: 0, stalls: 0, held: 0 };
        Self { config, travellers: BTreeMap::new(), counts }
    }

    fn faults(&self) -> TravelFaults {
        self.config.as_ref().map_or(TravelFaults::NONE, |config| config.faults)
    }

    /// Whether a mobile keeps its N-PDUs for later.
    fn keeps_n_pdus(&self, index: u32, is_updating: bool) -> bool {
        self.travellers.get(&index).is_some_and(|of| is_updating || of.stage != Stage::Camped)
    }

    fn keep(&mut self, index: u32, held: Held) -> Result<(), Drop> {
        let room = self.config.as_ref().map_or(0, |config| config.held_octets);
        let traveller = self.travellers.get_mut(&index).ok_or(Drop::MsRadioFull)?;
        let octets = traveller.held_octets + held.octets();
        if octets > room || traveller.held.len() >= HELD_MAX {
            return Err(Drop::MsRadioFull);
        }
        traveller.held_octets = octets;
        traveller.held.push_back(held);
        self.counts.held += 1;
        Ok(())
    }

    /// Measures what a mobile receives now.
    fn measure(&mut self, index: u32, now: Instant) {
        let Some(config) = &self.config else { return };
        let (Some(of), Some(signal)) = (self.travellers.get_mut(&index), config.signals.get(index as usize))
        else {
            return;
        };
        let at = now.since(of.began);
        for cell in 0..u16::try_from(config.broadcasts.len()).unwrap_or(u16::MAX) {
            if let Some(level) = signal.level_dbm(at, cell) {
                of.choice.measure(now, &config.broadcasts, cell, level);
            }
        }
    }

    fn arm(&mut self, cx: &mut Context<'_>, index: u32) {
        if let Some(of) = self.travellers.get_mut(&index) {
            of.deadlines.arm(Owner::Travel.key(index, 0), cx.timers);
        }
    }
}

impl Ms {
    /// What happened to mobiles on their way.
    #[must_use]
    pub const fn travel_counts(&self) -> TravelCounts {
        self.travels.counts
    }

    /// A mobile is switched on: where it receives something, it begins to measure. Gives the cell that it finds.
    pub(super) fn set_out(&mut self, cx: &mut Context<'_>, index: u32) -> Option<u16> {
        let config = self.travels.config.as_ref()?;
        config.signals.get(index as usize)?;
        let power_dbm = config.power_dbm;
        self.travels.travellers.entry(index).or_insert_with(|| {
            let mut deadlines = Deadlines::default();
            deadlines.set(TravelTimer::Measure, cx.now + MEASURE_EVERY);
            Traveller {
                choice: Reselection::new(power_dbm),
                began: cx.now,
                stage: Stage::Camped,
                deadlines,
                held: VecDeque::new(),
                held_octets: 0,
                recent: VecDeque::new(),
                has_sent: false,
            }
        });
        self.travels.measure(index, cx.now);
        self.travels.arm(cx, index);
        self.first_cell_by_level(index)
    }

    fn first_cell_by_level(&self, index: u32) -> Option<u16> {
        let config = self.travels.config.as_ref()?;
        self.travels.travellers.get(&index)?.choice.first(&config.broadcasts)
    }

    /// Whether a mobile finds its cell by what it measures.
    pub(super) fn finds_its_cell(&self, index: u32) -> bool {
        let config = self.travels.config.as_ref();
        config.is_some_and(|config| (index as usize) < config.signals.len())
    }

    /// Something of a mobile on its way is due.
    pub(super) fn wake_travel(&mut self, cx: &mut Context<'_>, index: u32) {
        let mut due = Vec::new();
        if let Some(of) = self.travels.travellers.get_mut(&index) {
            of.deadlines.woken(cx.now);
            due.extend(core::iter::from_fn(|| of.deadlines.pop_due(cx.now)));
        }
        for timer in due {
            match timer {
                TravelTimer::Measure => self.measured(cx, index),
                TravelTimer::Acquired => self.acquired(cx, index),
                TravelTimer::Stall => {
                    if let Some(of) = self.travels.travellers.get_mut(&index) {
                        of.stage = Stage::Camped;
                    }
                    self.release_held(cx, index);
                }
            }
        }
        self.travels.arm(cx, index);
    }

    fn measured(&mut self, cx: &mut Context<'_>, index: u32) {
        let Some(mobile) = self.mobiles.get(index as usize) else { return };
        let is_ready = mobile.gmm.mm_state() == MmState::Ready;
        let has_cell = mobile.cell.is_some();
        let Some(of) = self.travels.travellers.get_mut(&index) else { return };
        of.deadlines.set(TravelTimer::Measure, cx.now + MEASURE_EVERY);
        // Between two cells it listens to the new one alone.
        if matches!(of.stage, Stage::Between { .. }) {
            return;
        }
        self.travels.measure(index, cx.now);
        if !has_cell {
            if let Some(first) = self.first_cell_by_level(index) {
                self.select_cell(cx, index, first);
            }
            return;
        }
        let Some(config) = &self.travels.config else { return };
        let Some(of) = self.travels.travellers.get_mut(&index) else { return };
        if let Some(choice) = of.choice.decide(cx.now, &config.broadcasts, is_ready) {
            self.leave_for(cx, index, choice);
        }
    }

    /// The mobile leaves the air of its cell for that of another.
    fn leave_for(&mut self, cx: &mut Context<'_>, index: u32, choice: Choice) {
        let Some(tlli) = self.mobiles.get(index as usize).map(|mobile| mobile.llc.tlli()) else { return };
        self.request(cx, index, tlli.unwrap_or(Tlli::UNASSIGNED), Request::Away);
        let Travels { config: Some(config), travellers, counts } = &mut self.travels else { return };
        let Some(of) = travellers.get_mut(&index) else { return };
        counts.reselections += 1;
        let area = |cell: u16| config.broadcasts.get(usize::from(cell)).map(|of| of.id.rai);
        let is_elsewhere = of.choice.serving().is_some_and(|serving| area(serving) != area(choice.to));
        let mut within = |[least, most]: [Duration; 2]| {
            Duration(least.0 + cx.rng.below(most.0.saturating_sub(least.0) + 1))
        };
        let mut span = within(config.acquisition);
        if is_elsewhere {
            span = span + within(config.area_delay);
        }
        let every = u64::from(config.faults.fails_every);
        let fails = every > 0 && counts.reselections.is_multiple_of(every);
        if fails {
            counts.failed += 1;
            span = span + config.faults.fails_for;
        }
        of.stage = Stage::Between { to: choice.to };
        of.deadlines.clear(TravelTimer::Stall);
        of.deadlines.set(TravelTimer::Acquired, cx.now + span);
        let whose = self.imsi_of(index);
        let Choice { to, reason } = choice;
        let line = format_args!("goes to cell {to}: {reason}{}", if fails { "; it fails" } else { "" });
        cx.log_of(whose, Category::Um, Level::Info, line);
        self.tell(MsEvent::Leaving { mobile: index, to, reason });
    }

    /// The mobile has what it needs of the new cell.
    fn acquired(&mut self, cx: &mut Context<'_>, index: u32) {
        let Some(of) = self.travels.travellers.get_mut(&index) else { return };
        if let Stage::Between { to } = of.stage {
            self.select_cell(cx, index, to);
            self.tell(MsEvent::Camped { mobile: index, cell: to });
        }
    }

    /// A mobile has selected a cell, and has told nobody yet. Within its routing area what it has held goes first.
    pub(super) fn comes_to(&mut self, cx: &mut Context<'_>, index: u32, cell: u16) {
        let faults = self.travels.faults();
        let Some(of) = self.travels.travellers.get_mut(&index) else { return };
        of.stage = Stage::Camped;
        of.choice.camp(cx.now, cell);
        of.has_sent = false;
        of.deadlines.clear(TravelTimer::Acquired);
        let again = core::mem::take(&mut of.recent);
        for (tlli, octets) in again {
            if let Some(frame) = cx.frames.copy_of(&octets) {
                self.travels.counts.repeated += 1;
                self.request(cx, index, tlli, Request::Unitdata(frame));
            }
        }
        let Some(mobile) = self.mobiles.get(index as usize) else { return };
        let area = self.config.cells.get(usize::from(cell)).map(|id| id.rai);
        let is_inside = mobile.gmm.routing_area() == area && mobile.gmm.state() == GmmMsState::Registered;
        if is_inside && faults.stall == Duration::ZERO {
            self.release_held(cx, index);
        }
    }

    /// Whether an LL-PDU without content must tell the new cell of a mobile, or something else has.
    pub(super) fn needs_cell_update(&mut self, index: u32) -> bool {
        !self.travels.travellers.get_mut(&index).is_some_and(|of| core::mem::take(&mut of.has_sent))
    }

    /// An LL-PDU without content was sent.
    pub(super) fn cell_update_sent(&mut self, cx: &mut Context<'_>, index: u32) {
        let stall = self.travels.faults().stall;
        let Some(of) = self.travels.travellers.get_mut(&index) else { return };
        if stall > Duration::ZERO && of.stage == Stage::Camped {
            of.stage = Stage::Stalled;
            of.deadlines.set(TravelTimer::Stall, cx.now + stall);
            self.travels.counts.stalls += 1;
            self.travels.arm(cx, index);
        }
    }

    /// What a mobile has held goes, as soon as it may send.
    pub(super) fn release_held(&mut self, cx: &mut Context<'_>, index: u32) {
        loop {
            let Some(mobile) = self.mobiles.get(index as usize) else { return };
            let is_updating = mobile.gmm.state() == GmmMsState::RoutingAreaUpdatingInitiated;
            let current = mobile.llc.tlli();
            if self.travels.keeps_n_pdus(index, is_updating) {
                return;
            }
            let Some(of) = self.travels.travellers.get_mut(&index) else { return };
            let Some(held) = of.held.pop_front() else { return };
            of.held_octets -= held.octets();
            of.has_sent = true;
            match held {
                Held::NPdu(nsapi, frame) => self.n_pdu(cx, index, Some(nsapi), frame),
                Held::LlPdu(tlli, frame) => {
                    // Another P-TMSI may have come meanwhile.
                    let is_local = tlli.kind() == TlliKind::Local;
                    let tlli = current.filter(|_| is_local).unwrap_or(tlli);
                    self.send_ll_pdu(cx, index, tlli, frame);
                }
            }
        }
    }

    /// Takes an N-PDU for later where the mobile must not send it yet.
    ///
    /// # Errors
    /// The N-PDU, where it may be sent; `MsRadioFull` where too much is held.
    pub(super) fn hold_n_pdu(
        &mut self,
        index: u32,
        nsapi: Nsapi,
        frame: Frame,
    ) -> Result<Result<(), Drop>, Frame> {
        let mobile = self.mobiles.get(index as usize);
        let is_updating =
            mobile.is_some_and(|mobile| mobile.gmm.state() == GmmMsState::RoutingAreaUpdatingInitiated);
        if !self.travels.keeps_n_pdus(index, is_updating) {
            return Err(frame);
        }
        Ok(self.travels.keep(index, Held::NPdu(nsapi, frame)))
    }

    /// Takes an LL-PDU for later where the mobile is between two cells. Gives it back where it may be sent.
    pub(super) fn hold_ll_pdu(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        tlli: Tlli,
        frame: Frame,
    ) -> Option<Frame> {
        let repeated = usize::from(self.travels.faults().repeated);
        let Some(of) = self.travels.travellers.get_mut(&index) else { return Some(frame) };
        if of.stage == Stage::Camped {
            let is_data = frame.first().is_some_and(|address| Sapi(address & 0x0f) != Sapi::GMM);
            if repeated > 0 && is_data {
                of.recent.push_back((tlli, frame.to_vec()));
                let more = of.recent.len().saturating_sub(repeated);
                of.recent.drain(..more);
            }
            return Some(frame);
        }
        if let Err(drop) = self.travels.keep(index, Held::LlPdu(tlli, frame)) {
            cx.drop_of(drop, self.imsi_of(index));
        }
        None
    }

    /// Whether a mobile on its way is between two cells.
    #[must_use]
    pub fn is_between_cells(&self, index: u32) -> bool {
        let of = self.travels.travellers.get(&index);
        of.is_some_and(|of| matches!(of.stage, Stage::Between { .. }))
    }
}
