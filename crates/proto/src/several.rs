//! Several bearers for the mobiles of a machine, as one: a mobile is on one of them, and changes to another.
//!
//! Each bearer keeps its own link of a mobile as long as it can. A mobile is on the best one that has a link for it: that of the
//! preferred link, then by the order of preferred cells, then by the order of the bearers. It changes to a better one when that has been there for
//! [`Several::new`]'s `hold`, at once when it was ordered to, and at once where the present link is gone. So the new link is there before the
//! old one is left, wherever that is possible.
//!
//! Cells and links of all bearers are numbered in one row: links in the order of the bearers; cells that are configured likewise, and
//! those that are learned behind them as they come.

use crate::bearer::{Bearer, Indication, Order, Output, Refused, Request, Sender};
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::{Deadlines, TimerKey, Timers};
use gannet_machine::{Batch, Context, Peer};
use gannet_wire::id::Tlli;
use gannet_wire::l3::ie::RadioPriority;

/// One of the bearers.
#[derive(Debug)]
pub struct Part {
    /// It.
    pub bearer: Box<dyn Bearer>,
    /// How many links it has.
    pub links: u16,
    /// How many cells of it are configured.
    pub cells: u16,
}

gannet_machine::timer_names! {
    /// When the bearers are to be woken.
    enum Wake {
        Change = "mobiles that change to a better bearer",
    }
}

/// A mobile's link of one bearer.
#[derive(Debug, Clone, Copy, Default)]
struct Link {
    /// Its cell, in the row of all, and since when.
    cell: Option<(u16, Instant)>,
    level_dbm: Option<i16>,
    mtu_octets: Option<u16>,
    is_full: bool,
}

#[derive(Debug)]
struct Station {
    tlli: Tlli,
    /// By bearer.
    links: Vec<Link>,
    /// The bearer that it is on.
    on: Option<usize>,
}

/// The place of a bearer, and what is the bearer's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Own<T> {
    part: usize,
    own: T,
}

/// Several bearers as one.
#[derive(Debug)]
pub struct Several {
    parts: Vec<Part>,
    /// Whose the cells are.
    cells: Vec<Own<u16>>,
    stations: Vec<Station>,
    preferred_link: Option<u16>,
    preference: Vec<u16>,
    hold: Duration,
    /// What one of the bearers has said.
    said: Batch<Output>,
    deadlines: Deadlines<Wake>,
}

impl Several {
    /// Bearers of so many mobiles, the preferred one first. A mobile changes to a better one that has been there for `hold`.
    #[must_use]
    pub fn new(parts: Vec<Part>, mobiles: u32, hold: Duration) -> Self {
        let count = parts.len();
        let cells = parts.iter().enumerate();
        let cells = cells.flat_map(|(part, of)| (0..of.cells).map(move |own| Own { part, own }));
        let station = |_| Station { tlli: Tlli::UNASSIGNED, links: vec![Link::default(); count], on: None };
        Self {
            cells: cells.collect(),
            stations: (0..mobiles).map(station).collect(),
            preferred_link: None,
            preference: Vec::new(),
            hold,
            said: Batch::with_capacity(16),
            deadlines: Deadlines::default(),
            parts,
        }
    }

    /// The bearer with this link.
    fn of_link(&self, link: u16) -> Option<Own<u16>> {
        let mut own = link;
        for (part, of) in self.parts.iter().enumerate() {
            if own < of.links {
                return Some(Own { part, own });
            }
            own -= of.links;
        }
        None
    }

    /// A link of a bearer in the row of all.
    fn link(&self, of: Own<u16>) -> u16 {
        let before: u16 = self.parts.iter().take(of.part).map(|part| part.links).sum();
        before.saturating_add(of.own)
    }

    /// A cell of a bearer in the row of all, where it is known.
    fn cell(&self, of: Own<u16>) -> Option<u16> {
        self.cells.iter().position(|cell| *cell == of).and_then(|cell| u16::try_from(cell).ok())
    }

    /// Does something with one of the bearers, and what that says.
    fn with<R>(
        &mut self,
        cx: &mut Context<'_>,
        part: usize,
        out: &mut Batch<Output>,
        act: impl FnOnce(&mut dyn Bearer, &mut Context<'_>, &mut Batch<Output>) -> R,
    ) -> Option<R> {
        let mut said = core::mem::take(&mut self.said);
        let done = self.parts.get_mut(part).map(|of| act(of.bearer.as_mut(), cx, &mut said));
        while let Some(output) = said.pop() {
            match output {
                Output::Transmit { link, peer, frame } => {
                    let link = self.link(Own { part, own: link });
                    out.push(Output::Transmit { link, peer, frame });
                }
                Output::Indication(indication) => self.indication(cx, part, indication, out),
            }
        }
        self.said = said;
        done
    }

    fn indication(
        &mut self,
        cx: &mut Context<'_>,
        part: usize,
        indication: Indication,
        out: &mut Batch<Output>,
    ) {
        let told = match indication {
            Indication::Cell { cell, id } => {
                let of = Own { part, own: cell };
                let cell = self.cell(of).or_else(|| {
                    self.cells.push(of);
                    self.cell(of)
                });
                cell.map(|cell| Indication::Cell { cell, id })
            }
            Indication::Up { mobile, cell } => {
                let cell = self.cell(Own { part, own: cell });
                self.set_cell(cx, (mobile, part), cell, out);
                None
            }
            Indication::Down { mobile } => {
                self.set_cell(cx, (mobile, part), None, out);
                None
            }
            Indication::Quality { mobile, level_dbm } => {
                let is_on = self.set(mobile, part, |link| link.level_dbm = Some(level_dbm));
                is_on.then_some(indication)
            }
            Indication::Mtu { mobile, octets } => {
                let is_on = self.set(mobile, part, |link| link.mtu_octets = Some(octets));
                is_on.then_some(indication)
            }
            Indication::Full { mobile, on } => {
                let is_on = self.set(mobile, part, |link| link.is_full = on);
                is_on.then_some(indication)
            }
            Indication::Unitdata(mut unitdata) => {
                let cell = self.cell(Own { part, own: unitdata.cell });
                cell.map(|cell| {
                    unitdata.cell = cell;
                    Indication::Unitdata(unitdata)
                })
            }
            Indication::PagingPs { cell, identity } => {
                let cell = self.cell(Own { part, own: cell });
                cell.map(|cell| Indication::PagingPs { cell, identity })
            }
            Indication::PagingCs | Indication::Suspended { .. } => Some(indication),
        };
        told.into_iter().for_each(|told| out.push(Output::Indication(told)));
    }

    /// Keeps what a bearer says of its link of a mobile. True where the mobile is on it.
    fn set(&mut self, mobile: u32, part: usize, set: impl FnOnce(&mut Link)) -> bool {
        let Some(station) = self.stations.get_mut(mobile as usize) else { return false };
        if let Some(link) = station.links.get_mut(part) {
            set(link);
        }
        station.on == Some(part)
    }

    /// A bearer has a link of a mobile, in this cell, or has none.
    fn set_cell(
        &mut self,
        cx: &mut Context<'_>,
        (mobile, part): (u32, usize),
        cell: Option<u16>,
        out: &mut Batch<Output>,
    ) {
        let now = cx.now;
        let is_on = self.set(mobile, part, |link| {
            let since = link.cell.map_or(now, |(_, since)| since);
            link.cell = cell.map(|cell| (cell, since));
            link.is_full = false;
        });
        match cell {
            // Another cell, or the same anew.
            Some(cell) if is_on => out.push(Output::Indication(Indication::Up { mobile, cell })),
            Some(_) | None => self.decide(cx, mobile, false, out),
        }
    }

    /// The least is the best.
    fn rank(&self, part: usize, cell: u16) -> (bool, usize, usize) {
        let preferred = self.preferred_link.and_then(|link| self.of_link(link));
        let named = self.preference.iter().position(|of| *of == cell);
        (preferred.is_some_and(|of| of.part != part), named.unwrap_or(usize::MAX), part)
    }

    /// On which bearer should a mobile be? `is_ordered` where nobody waits.
    fn decide(&mut self, cx: &mut Context<'_>, mobile: u32, is_ordered: bool, out: &mut Batch<Output>) {
        let Some(station) = self.stations.get(mobile as usize) else { return };
        let links = station.links.iter().enumerate();
        let there = links.filter_map(|(part, link)| Some((part, link.cell?)));
        let best = there.min_by_key(|(part, (cell, _))| self.rank(*part, *cell));
        let present = station.on.filter(|on| station.links.get(*on).is_some_and(|link| link.cell.is_some()));
        match (best, present) {
            (Some((part, _)), Some(present)) if part == present => {}
            (Some((part, (_, since))), present) => {
                let at = since + self.hold;
                if present.is_none() || is_ordered || at <= cx.now {
                    self.change(cx, mobile, part, out);
                } else {
                    let next = self.deadlines.get(Wake::Change).map_or(at, |next| next.min(at));
                    self.deadlines.set(Wake::Change, next);
                }
            }
            (None, _) => {
                if let Some(station) = self.stations.get_mut(mobile as usize)
                    && station.on.take().is_some()
                {
                    out.push(Output::Indication(Indication::Down { mobile }));
                }
            }
        }
    }

    fn decide_all(&mut self, cx: &mut Context<'_>, is_ordered: bool, out: &mut Batch<Output>) {
        for mobile in 0..u32::try_from(self.stations.len()).unwrap_or(u32::MAX) {
            self.decide(cx, mobile, is_ordered, out);
        }
    }

    /// A mobile goes to another bearer. What it had to send goes with it.
    fn change(&mut self, cx: &mut Context<'_>, mobile: u32, part: usize, out: &mut Batch<Output>) {
        let Some(station) = self.stations.get_mut(mobile as usize) else { return };
        let (before, tlli) = (station.on.replace(part), station.tlli);
        let Some(link) = station.links.get(part).copied() else { return };
        let Some((cell, _)) = link.cell else { return };
        let mut waiting = Vec::new();
        if let Some(left) = before.and_then(|before| self.parts.get_mut(before)) {
            left.bearer.leave(mobile, &mut |frame| waiting.push(frame));
        }
        for frame in waiting {
            // What it was before is not known any more.
            let from = Sender { mobile, cell, tlli, priority: RadioPriority::Four };
            if let Err(drop) = self.request(cx, from, Request::Unitdata(frame), out) {
                cx.drop(drop, None);
            }
        }
        out.push(Output::Indication(Indication::Up { mobile, cell }));
        let level = link.level_dbm.map(|level_dbm| Indication::Quality { mobile, level_dbm });
        let mtu = link.mtu_octets.map(|octets| Indication::Mtu { mobile, octets });
        let full = Indication::Full { mobile, on: link.is_full };
        level.into_iter().chain(mtu).chain([full]).for_each(|told| out.push(Output::Indication(told)));
    }

    /// Gives an order to the bearer with a link.
    fn order_link(
        &mut self,
        cx: &mut Context<'_>,
        link: u16,
        order: impl FnOnce(u16) -> Order,
        out: &mut Batch<Output>,
    ) -> bool {
        let Some(of) = self.of_link(link) else { return false };
        let order = order(of.own);
        self.with(cx, of.part, out, |bearer, cx, said| bearer.order(cx, order, said)).unwrap_or(false)
    }
}

impl Bearer for Several {
    fn name(&self) -> &'static str {
        "bearers"
    }

    fn request(
        &mut self,
        cx: &mut Context<'_>,
        from: Sender,
        request: Request,
        out: &mut Batch<Output>,
    ) -> Result<(), Drop> {
        if let Some(station) = self.stations.get_mut(from.mobile as usize) {
            station.tlli = from.tlli;
        }
        let of = self.cells.get(usize::from(from.cell)).copied().ok_or(Drop::MsNoCell)?;
        let from = Sender { cell: of.own, ..from };
        let done = self.with(cx, of.part, out, |bearer, cx, said| bearer.request(cx, from, request, said));
        done.unwrap_or(Err(Drop::MsNoCell))
    }

    fn receive(
        &mut self,
        cx: &mut Context<'_>,
        (link, peer): (u16, Peer),
        frame: Frame,
        out: &mut Batch<Output>,
    ) -> Result<(), Refused> {
        let of = self.of_link(link).ok_or(Refused::as_drop(Drop::MsNoCell))?;
        let from = (of.own, peer);
        let done = self.with(cx, of.part, out, |bearer, cx, said| bearer.receive(cx, from, frame, said));
        done.unwrap_or(Ok(()))
    }

    fn order(&mut self, cx: &mut Context<'_>, order: Order, out: &mut Batch<Output>) -> bool {
        match order {
            Order::Prefer(cells) => {
                for part in 0..self.parts.len() {
                    let own = cells.iter().filter_map(|cell| self.cells.get(usize::from(*cell)));
                    let own = own.filter(|cell| cell.part == part).map(|cell| cell.own).collect();
                    let order = Order::Prefer(own);
                    let _ = self.with(cx, part, out, |bearer, cx, said| bearer.order(cx, order, said));
                }
                (self.preference, self.preferred_link) = (cells, None);
                self.decide_all(cx, true, out);
                true
            }
            Order::PreferLink(link) => {
                let is_done = self.order_link(cx, link, Order::PreferLink, out);
                if is_done {
                    self.preferred_link = Some(link);
                    self.decide_all(cx, true, out);
                }
                is_done
            }
            Order::SetMtu { link, octets } => {
                self.order_link(cx, link, |link| Order::SetMtu { link, octets }, out)
            }
            Order::SetLink { link, is_up } => {
                self.order_link(cx, link, |link| Order::SetLink { link, is_up }, out)
            }
            Order::Stop => {
                for part in 0..self.parts.len() {
                    let _ = self.with(cx, part, out, |bearer, cx, said| bearer.order(cx, Order::Stop, said));
                }
                true
            }
        }
    }

    fn cuts(&self) -> bool {
        self.parts.iter().any(|part| part.bearer.cuts())
    }

    fn wake(&mut self, cx: &mut Context<'_>, out: &mut Batch<Output>) {
        self.deadlines.woken(cx.now);
        for part in 0..self.parts.len() {
            let _ = self.with(cx, part, out, |bearer, cx, said| bearer.wake(cx, said));
        }
        if self.deadlines.pop_due(cx.now).is_some() {
            self.decide_all(cx, false, out);
        }
    }

    fn arm(&mut self, key: TimerKey, timers: &mut Timers) {
        self.parts.iter_mut().for_each(|part| part.bearer.arm(key, timers));
        self.deadlines.arm(key, timers);
    }
}
