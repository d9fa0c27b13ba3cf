//! The radio as a bearer of mobiles ([`crate::bearer`]): RLC/MAC of all mobiles of a machine, in a cell that is elsewhere.
//!
//! The cells of the radio are found by what they broadcast. All mobiles of a machine hear the same, so that the choice of the cell is
//! one for all: the first one that is heard, until it is heard no more or another one is preferred. An LL-PDU that RLC has not
//! acknowledged when the cell is lost waits for the next one.

use super::broadcast::Known;
use super::channel::Link;
use super::mobile::{MobileConfig, MobileCounts};
use super::mobile_side::{MobileSide, SideCounts};
use super::on_air::{Logical, Transmission};
use crate::bearer::{Bearer, Indication, Order, Output, PagedIdentity, Refused, Request, Sender, Unitdata};
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::{Deadlines, TimerKey, Timers};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Peer};
use gannet_wire::id::{CellId, Tlli};
use gannet_wire::l3::ie::MobileIdentity;
use gannet_wire::rlcmac::ccch::{CcchMessage, PagedMobile, PagingRest};

/// A cell of which nothing was heard for so long is lost: eight blocks of its BCCH.
const LOST: Duration = Duration::from_millis(2000);
/// Cells that are known at a time.
pub const CELLS_MAX: usize = 16;

/// What was chosen for the mobiles of a machine.
#[derive(Debug, Clone)]
pub struct RadioConfig {
    /// How many mobiles there are.
    pub mobiles: u32,
    /// What they are.
    pub mobile: MobileConfig,
    /// What they hear of the air: what the channel loses is thrown here.
    pub link: Link,
    /// Where their transmissions go.
    pub uplink: Peer,
    /// The timeslot on which uplink blocks that no mobile sends go as empty ones; `None` where the cell needs none.
    pub empty_on: Option<u8>,
}

gannet_machine::timer_names! {
    /// When the bearer is to be woken.
    enum RadioTimer {
        /// Blocks, bursts and the timers of RLC/MAC (44.060 clause 13.1), and cells that are heard no more.
        Next = "RLC/MAC of the mobiles",
    }
}

/// A cell that was heard.
#[derive(Debug)]
struct Cell {
    arfcn: u16,
    known: Known,
    /// It has an index for the mobiles from then on.
    id: Option<CellId>,
    heard: Instant,
    level_dbm: i8,
}

impl Cell {
    fn is_up(&self, now: Instant) -> bool {
        self.id.is_some() && now.since(self.heard) < LOST
    }
}

/// RLC/MAC of mobiles.
#[derive(Debug)]
pub struct RadioBearer {
    side: MobileSide,
    /// Where empty blocks go while the mobiles are in a cell.
    empty_on: Option<u8>,
    uplink: Peer,
    mobiles: u32,
    /// The TLLI of each mobile.
    tllis: Vec<Tlli>,
    /// Mobiles of which it was told that they are full.
    full: Vec<bool>,
    cells: Vec<Cell>,
    /// Places in `cells`, the preferred one first.
    preference: Vec<u16>,
    /// The place of the one in which the mobiles are.
    serving: Option<u16>,
    is_up: bool,
    deadlines: Deadlines<RadioTimer>,
}

impl RadioBearer {
    /// The bearer of these mobiles, which have not heard of a cell yet.
    #[must_use]
    pub fn new(config: &RadioConfig) -> Self {
        Self {
            side: MobileSide::new(config.mobiles, config.mobile, &config.link),
            empty_on: config.empty_on,
            uplink: config.uplink,
            mobiles: config.mobiles,
            tllis: vec![Tlli::UNASSIGNED; config.mobiles as usize],
            full: vec![false; config.mobiles as usize],
            cells: Vec::new(),
            preference: Vec::new(),
            serving: None,
            is_up: true,
            deadlines: Deadlines::default(),
        }
    }

    /// What happened on the air.
    #[must_use]
    pub const fn counts(&self) -> SideCounts {
        self.side.counts()
    }

    /// What happened in a mobile.
    #[must_use]
    pub fn mobile_counts(&self, mobile: u32) -> Option<MobileCounts> {
        self.side.mobile_counts(mobile)
    }

    /// The place of a cell that is heard, a new one where it was not. `None` where too many are.
    fn place_of(&mut self, now: Instant, arfcn: u16) -> Option<u16> {
        let known = self.cells.iter().position(|cell| cell.arfcn == arfcn);
        let place = known.or_else(|| {
            let is_free = self.cells.len() < CELLS_MAX;
            is_free.then(|| {
                let known = Known::default();
                self.cells.push(Cell { arfcn, known, id: None, heard: now, level_dbm: 0 });
                self.cells.len() - 1
            })
        })?;
        u16::try_from(place).ok()
    }

    fn cell(&self, place: u16) -> Option<&Cell> {
        self.cells.get(usize::from(place))
    }

    /// A cell broadcasts.
    fn broadcast(&mut self, cx: &mut Context<'_>, heard: &Transmission<'_>, out: &mut Batch<Output>) {
        let now = cx.now;
        let Some(place) = self.place_of(now, heard.arfcn) else { return };
        let Some(cell) = self.cells.get_mut(usize::from(place)) else { return };
        cell.heard = now;
        if cell.known.read(heard.octets)
            && let Some((id, _)) = cell.known.cell()
        {
            let before = cell.id.replace(id);
            if before != Some(id) {
                out.push(Output::Indication(Indication::Cell { cell: place, id }));
                let line = format_args!("cell {id}: heard on ARFCN {}", heard.arfcn);
                cx.log(Category::Um, Level::Notice, line);
            }
            // Its options have changed, or it is another one.
            if self.serving == Some(place) {
                self.camp(place, out);
            }
        }
        let level = self
            .cells
            .get_mut(usize::from(place))
            .map(|cell| core::mem::replace(&mut cell.level_dbm, heard.level_dbm));
        if self.serving == Some(place) && heard.level_dbm < 0 && level != Some(heard.level_dbm) {
            self.tell_level(heard.level_dbm, out);
        }
        self.decide(cx, out);
    }

    fn tell_level(&self, level: i8, out: &mut Batch<Output>) {
        for mobile in 0..self.mobiles {
            let level_dbm = level.into();
            out.push(Output::Indication(Indication::Quality { mobile, level_dbm }));
        }
    }

    /// All mobiles go to a cell.
    fn camp(&mut self, place: u16, out: &mut Batch<Output>) {
        let Some(cell) = self.cell(place) else { return };
        let Some((_, options)) = cell.known.cell() else { return };
        let (arfcn, level) = (cell.arfcn, cell.level_dbm);
        self.serving = Some(place);
        self.side.tune(arfcn, options);
        self.side.give_empty_blocks(self.empty_on);
        self.full.fill(false);
        for mobile in 0..self.mobiles {
            out.push(Output::Indication(Indication::Up { mobile, cell: place }));
        }
        if level < 0 {
            self.tell_level(level, out);
        }
    }

    /// Where should the mobiles be?
    fn decide(&mut self, cx: &mut Context<'_>, out: &mut Batch<Output>) {
        let now = cx.now;
        let is_up = |place: &u16| self.is_up && self.cell(*place).is_some_and(|cell| cell.is_up(now));
        let preferred = self.preference.iter().copied().find(|place| is_up(place));
        let serving = self.serving.filter(|place| is_up(place));
        let all = 0..u16::try_from(self.cells.len()).unwrap_or(u16::MAX);
        let wanted = preferred.or(serving).or_else(|| all.clone().find(|place| is_up(place)));
        match wanted {
            Some(place) if self.serving != Some(place) => self.camp(place, out),
            None if self.serving.is_some() => {
                self.serving = None;
                self.side.give_empty_blocks(None);
                for mobile in 0..self.mobiles {
                    out.push(Output::Indication(Indication::Down { mobile }));
                }
            }
            Some(_) | None => {}
        }
    }

    /// A page: for whom the mobiles know (04.18 clause 3.5.1).
    fn page(&self, octets: &[u8], out: &mut Batch<Output>) {
        let Some(cell) = self.serving else { return };
        let mut page = |identity| out.push(Output::Indication(Indication::PagingPs { cell, identity }));
        let mut mobile = |paged: &PagedMobile, is_packet: bool| match paged.identity() {
            Ok(MobileIdentity::PTmsi(ptmsi)) if is_packet => page(PagedIdentity::PTmsi(ptmsi)),
            Ok(MobileIdentity::Imsi(imsi)) if is_packet => page(PagedIdentity::Imsi(imsi)),
            Ok(_) | Err(_) => {}
        };
        match CcchMessage::parse(octets) {
            Ok(CcchMessage::PagingRequest1(request)) => {
                let [first, second] = match &request.rest {
                    PagingRest::Read(rest) => rest.is_packet,
                    PagingRest::Unread(_) => [false; 2],
                };
                mobile(&request.first, first);
                if let Some(paged) = &request.second {
                    mobile(paged, second);
                }
            }
            Ok(CcchMessage::PagingRequest2(request)) => {
                let third = matches!(&request.rest, PagingRest::Read(rest) if rest.is_packet);
                if let Some(paged) = &request.third {
                    mobile(paged, third);
                }
            }
            Ok(_) | Err(_) => {}
        }
    }

    /// Does what is due, and takes what the mobiles have made.
    fn run(&mut self, cx: &mut Context<'_>, out: &mut Batch<Output>) {
        self.side.run(cx);
        while let Some(frame) = self.side.pop_sent() {
            out.push(Output::Transmit { link: 0, peer: self.uplink, frame });
        }
        let Some(cell) = self.serving else { return };
        while let Some(came) = self.side.pop_for_mobile() {
            let tlli = self.tllis.get(came.mobile as usize).copied().unwrap_or(Tlli::UNASSIGNED);
            let unitdata = Unitdata { mobile: Some(came.mobile), cell, tlli, ll_pdu: came.frame };
            out.push(Output::Indication(Indication::Unitdata(unitdata)));
        }
        for (mobile, told) in (0..).zip(&mut self.full) {
            let on = self.side.is_full(mobile);
            if core::mem::replace(told, on) != on {
                out.push(Output::Indication(Indication::Full { mobile, on }));
            }
        }
    }

    fn take(
        &mut self,
        cx: &mut Context<'_>,
        heard: &Transmission<'_>,
        out: &mut Batch<Output>,
    ) -> Result<(), Drop> {
        if heard.is_uplink {
            return Err(Drop::UmMalformed);
        }
        if heard.channel == Logical::Broadcast {
            self.broadcast(cx, heard, out);
        }
        let serving = self.serving.and_then(|place| self.cells.get_mut(usize::from(place)));
        if let Some(cell) = serving.filter(|cell| cell.arfcn == heard.arfcn) {
            cell.heard = cx.now;
            if heard.channel == Logical::Common {
                self.page(heard.octets, out);
            }
            self.side.hear(cx.now, heard);
        }
        self.run(cx, out);
        Ok(())
    }
}

impl Bearer for RadioBearer {
    fn name(&self) -> &'static str {
        "radio"
    }

    fn request(
        &mut self,
        cx: &mut Context<'_>,
        from: Sender,
        request: Request,
        out: &mut Batch<Output>,
    ) -> Result<(), Drop> {
        let Sender { mobile, cell, tlli, priority } = from;
        if self.serving != Some(cell) {
            return Err(Drop::MsNoCell);
        }
        if let Some(place) = self.tllis.get_mut(mobile as usize)
            && tlli != Tlli::UNASSIGNED
        {
            *place = tlli;
            self.side.assign_tlli(mobile, tlli);
        }
        match request {
            Request::Unitdata(ll_pdu) => self.side.request(cx.now, mobile, (tlli, priority), ll_pdu)?,
            // The cell learns of the mobile from its next LL-PDU, and of suspension on a dedicated channel, of which there is none.
            Request::Reachable | Request::Away | Request::Suspend(_) | Request::Resume { .. } => {}
        }
        self.run(cx, out);
        Ok(())
    }

    fn receive(
        &mut self,
        cx: &mut Context<'_>,
        _: (u16, Peer),
        frame: Frame,
        out: &mut Batch<Output>,
    ) -> Result<(), Refused> {
        if !self.is_up {
            return Err(Refused::as_drop(Drop::MsNoCell));
        }
        let malformed = |error| Refused { error: Some(error), ..Refused::as_drop(Drop::UmMalformed) };
        match Transmission::parse(&frame).map_err(malformed)? {
            Some(heard) => self.take(cx, &heard, out).map_err(Refused::as_drop),
            // Speech, signalling channels: nothing for packet access.
            None => Ok(()),
        }
    }

    fn order(&mut self, cx: &mut Context<'_>, order: Order, out: &mut Batch<Output>) -> bool {
        match order {
            Order::Prefer(cells) => self.preference = cells,
            Order::PreferLink(link) => return link == 0,
            Order::SetLink { link: 0, is_up } => self.is_up = is_up,
            Order::Stop => self.is_up = false,
            Order::SetLink { .. } | Order::SetMtu { .. } => return false,
        }
        self.decide(cx, out);
        true
    }

    fn leave(&mut self, mobile: u32, out: &mut dyn FnMut(Frame)) {
        self.side.leave(mobile, out);
    }

    fn wake(&mut self, cx: &mut Context<'_>, out: &mut Batch<Output>) {
        self.deadlines.woken(cx.now);
        self.run(cx, out);
        self.decide(cx, out);
    }

    fn arm(&mut self, key: TimerKey, timers: &mut Timers) {
        let lost = self.serving.and_then(|place| self.cell(place)).map(|cell| cell.heard + LOST);
        match [self.side.next_event(), lost].into_iter().flatten().min() {
            Some(next) => self.deadlines.set(RadioTimer::Next, next),
            None => self.deadlines.clear(RadioTimer::Next),
        }
        self.deadlines.arm(key, timers);
    }
}
