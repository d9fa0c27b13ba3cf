//! The mobiles' end: a [`Bearer`] over any number of links, for all mobiles of a host.
//!
//! All mobiles of a host hear the same beacons, so that the choice of the access point is one for all. Each goes there by
//! itself: it says hello (with a key) or sends a probe, and is in the new cell when it has the answer. Until then it uses the
//! old one, and afterwards it still hears the old one.

mod learn;
mod link;
mod receive;
mod target;

pub use learn::LEARNED_MAX;
pub use link::MobileMedium;

use super::access_point::BROADCAST;
use super::key::{Randoms, SharedKey};
use super::segment::{Cutter, Joiner};
use super::selection::{Policy, Selection};
use super::stations::Address;
use crate::auth::key::Key128;
use crate::bearer::{Bearer, Indication, Order, Output, Refused, Request, Sender};
use foldhash::fast::FixedState;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::{Deadlines, TimerKey, Timers};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Peer};
use gannet_wire::adaptation::{
    BEACON_LEN_MAX, HEADER_LEN, Header, Level as ReceivedLevel, LinkReport, MESSAGE_LEN_MAX, Message,
    MessageType, Reachable, Release, ReleaseCause, Resume, Suspend, ll_pdu_max,
};
use gannet_wire::id::{CellId, Tlli};
use link::Link;
use std::collections::HashMap;
use target::Target;

/// A link of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MobileLink {
    /// What carries it.
    pub medium: MobileMedium,
    /// Octets of the longest payload that it carries.
    pub mtu: u16,
}

/// What was chosen for the mobiles of a host.
#[derive(Debug, Clone)]
pub struct MobileConfig {
    /// Links of the host.
    pub links: Vec<MobileLink>,
    /// The cells, as the mobiles have them: a cell is named by its index. Without any they are learned from beacons.
    pub cells: Vec<CellId>,
    /// How many mobiles there are.
    pub mobiles: u32,
    /// A key for each mobile, in their order, or none at all. With keys nothing is taken that is not authenticated.
    pub keys: Vec<SharedKey>,
    /// The key of beacons.
    pub network_key: Option<SharedKey>,
    /// From one report to the next, and from one solicit to the next.
    pub interval: Duration,
    /// When to change the access point.
    pub policy: Policy,
    /// PDUs of one direction in a session.
    pub packets_max: u64,
    /// Pieces of LL-PDUs that may wait for others.
    pub pieces_max: usize,
    /// Octets of the operating system, other ones in each run.
    pub secret: Key128,
}

gannet_machine::timer_names! {
    /// When the bearer is to be woken (`docs/bearer-adaptation.md`, clause "Procedures").
    enum MobileTimer {
        Next = "reports, solicits and handshakes of the adaptation protocol",
    }
}

/// A link of the host as it is.
#[derive(Debug)]
struct HostLink {
    config: MobileLink,
    is_up: bool,
}

/// One mobile.
#[derive(Debug, Default)]
struct Station {
    tlli: Option<Tlli>,
    serving: Option<Link>,
    /// The one before: what is still on its way from there is taken.
    former: Option<Link>,
    target: Option<Target>,
    /// When it has begun anew because somebody said that the access point does not know it.
    renewed: Option<Instant>,
    /// An access point had no room for it: until then it goes nowhere.
    waits_until: Instant,
}

impl Station {
    fn link_of(&mut self, cell: u16) -> Option<&mut Link> {
        [&mut self.serving, &mut self.former].into_iter().flatten().find(|link| link.cell == cell)
    }

    fn is_in(&self, cell: u16) -> bool {
        self.serving.as_ref().is_some_and(|link| link.cell == cell)
    }
}

/// The mobiles' end of the adaptation protocol.
#[derive(Debug)]
pub struct AdaptationBearer {
    links: Vec<HostLink>,
    cells: Vec<CellId>,
    /// Cells are learned from beacons.
    learns: bool,
    keys: Vec<SharedKey>,
    by_key: HashMap<u32, u32, FixedState>,
    network_key: Option<SharedKey>,
    interval: Duration,
    packets_max: u64,
    selection: Selection,
    stations: Vec<Station>,
    by_tlli: HashMap<Tlli, u32, FixedState>,
    by_session: HashMap<(u16, u32), u32, FixedState>,
    randoms: Randoms,
    cutter: Cutter,
    joiner: Joiner,
    next_tick: Instant,
    next_try: Option<Instant>,
    deadlines: Deadlines<MobileTimer>,
}

impl AdaptationBearer {
    /// The bearer of these mobiles. It looks for access points as soon as it is woken.
    #[must_use]
    pub fn new(config: MobileConfig) -> Self {
        let hash = || FixedState::with_seed(0);
        let by_key = (0..).zip(&config.keys).map(|(mobile, key)| (key.id, mobile));
        Self {
            selection: Selection::new(config.cells.len(), config.policy),
            stations: (0..config.mobiles).map(|_| Station::default()).collect(),
            by_key: by_key.collect(),
            by_tlli: HashMap::with_hasher(hash()),
            by_session: HashMap::with_hasher(hash()),
            links: config.links.into_iter().map(|config| HostLink { config, is_up: true }).collect(),
            learns: config.cells.is_empty(),
            cells: config.cells,
            keys: config.keys,
            network_key: config.network_key,
            interval: config.interval,
            packets_max: config.packets_max,
            randoms: Randoms::new(config.secret),
            cutter: Cutter::default(),
            joiner: Joiner::new(config.pieces_max),
            next_tick: Instant::ZERO,
            next_try: None,
            deadlines: Deadlines::default(),
        }
    }

    /// The access points that were heard.
    #[must_use]
    pub const fn selection(&self) -> &Selection {
        &self.selection
    }

    /// The cell in which a mobile is.
    #[must_use]
    pub fn serving(&self, mobile: u32) -> Option<u16> {
        self.stations.get(mobile as usize)?.serving.as_ref().map(|link| link.cell)
    }

    fn rename(&mut self, mobile: u32, tlli: Tlli) {
        let Some(station) = self.stations.get_mut(mobile as usize) else { return };
        if station.tlli != Some(tlli) {
            if let Some(before) = station.tlli.replace(tlli)
                && self.by_tlli.get(&before) == Some(&mobile)
            {
                self.by_tlli.remove(&before);
            }
            if tlli != Tlli::UNASSIGNED {
                self.by_tlli.insert(tlli, mobile);
            }
        }
    }

    /// Sends a message by a mobile's link in a cell.
    fn send(
        &mut self,
        cx: &Context<'_>,
        (mobile, cell): (u32, u16),
        message: &Message<'_>,
        out: &mut Batch<Output>,
    ) -> Result<(), Drop> {
        let has_key = self.keys.get(mobile as usize).is_some();
        let station = self.stations.get_mut(mobile as usize).ok_or(Drop::MsUnknownMobile)?;
        let tlli = station.tlli.unwrap_or(Tlli::UNASSIGNED);
        let link = station.link_of(cell).ok_or(Drop::AdaptNoLink)?;
        let mut room = [0; MESSAGE_LEN_MAX];
        let length = message.emit(tlli, has_key, &mut room).ok_or(Drop::NoFrame)?;
        let frame = cx.frames.copy_of(room.get(..length).unwrap_or_default()).ok_or(Drop::NoFrame)?;
        link.transmit(has_key, frame, out)
    }

    fn send_ll_pdu(
        &mut self,
        cx: &Context<'_>,
        (mobile, cell): (u32, u16),
        ll_pdu: Frame,
        out: &mut Batch<Output>,
    ) -> Result<(), Drop> {
        let is_authenticated = self.keys.get(mobile as usize).is_some();
        let station = self.stations.get_mut(mobile as usize).ok_or(Drop::MsUnknownMobile)?;
        let tlli = station.tlli.unwrap_or(Tlli::UNASSIGNED);
        let link = station.link_of(cell).ok_or(Drop::AdaptNoLink)?;
        let mtu = self.links.get(usize::from(link.address.link)).map_or(0, |link| link.config.mtu);
        let octets_max = ll_pdu_max(mtu.into(), is_authenticated);
        for (segment, mut frame) in self.cutter.cut(cx, octets_max, ll_pdu)? {
            let header = Header { kind: MessageType::LlPdu, is_authenticated, tlli, segment };
            let octets = frame.len();
            if !frame.push(header.buffer_len()).is_some_and(|room| header.emit(octets, room)) {
                return Err(Drop::MsNoRoom);
            }
            link.transmit(is_authenticated, frame, out)?;
        }
        Ok(())
    }

    fn solicit(&self, cx: &mut Context<'_>, out: &mut Batch<Output>) {
        for (index, link) in (0..).zip(&self.links).filter(|(_, link)| link.is_up) {
            let peer = match link.config.medium {
                MobileMedium::Udp(access_point) => Peer::Udp(access_point),
                MobileMedium::Ethernet if self.selection.is_heard_on(cx.now, index) => continue,
                MobileMedium::Ethernet => BROADCAST,
            };
            let mut room = [0; MESSAGE_LEN_MAX];
            let solicit = Message::Solicit(BEACON_LEN_MAX - HEADER_LEN);
            let length = solicit.emit(Tlli(0), false, &mut room);
            let frame = length.and_then(|length| cx.frames.copy_of(room.get(..length)?));
            match frame {
                Some(frame) => out.push(Output::Transmit { link: index, peer, frame }),
                None => cx.drop(Drop::NoFrame, None),
            }
        }
    }

    /// Once in each interval: what was heard is asked for again, and links are measured and renewed.
    fn tick(&mut self, cx: &mut Context<'_>, out: &mut Batch<Output>) {
        self.next_tick = cx.now + self.interval;
        self.solicit(cx, out);
        for mobile in 0..u32::try_from(self.stations.len()).unwrap_or(u32::MAX) {
            let Some(station) = self.stations.get_mut(mobile as usize) else { return };
            let Some(link) = &mut station.serving else { continue };
            let (cell, is_nearly_used_up) = (link.cell, link.is_nearly_used_up());
            let (sent, received) = link.report();
            if is_nearly_used_up && station.target.is_none() {
                self.begin(cx, mobile, cell, out);
            }
            let report = Message::LinkReport(LinkReport { sent, received, level: ReceivedLevel(None) });
            match self.send(cx, (mobile, cell), &report, out) {
                Ok(()) | Err(Drop::AdaptNoLink) => {}
                Err(drop) => cx.drop(drop, None),
            }
        }
        self.decide(cx, out);
    }

    /// Where should the mobiles be? Those who are elsewhere go there.
    fn decide(&mut self, cx: &mut Context<'_>, out: &mut Batch<Output>) {
        let has_keys = !self.keys.is_empty();
        let may = |of: &super::selection::Candidate| has_keys || !of.beacon.flags.demands_authentication();
        let wanted = self.selection.choose(cx.now, may);
        for mobile in 0..u32::try_from(self.stations.len()).unwrap_or(u32::MAX) {
            let Some(station) = self.stations.get(mobile as usize) else { return };
            match (wanted, station.serving.as_ref().map(|link| link.cell)) {
                (Some(wanted), serving) if serving != Some(wanted) => {
                    let may = station.waits_until <= cx.now;
                    if may && station.target.as_ref().is_none_or(|target| target.cell != wanted) {
                        self.begin(cx, mobile, wanted, out);
                    }
                }
                (None, Some(serving)) if !self.selection.is_up(cx.now, serving) => {
                    self.lose(mobile);
                    out.push(Output::Indication(Indication::Down { mobile }));
                }
                _ => {}
            }
        }
    }

    /// A mobile has no access point any more.
    fn lose(&mut self, mobile: u32) {
        let Some(station) = self.stations.get_mut(mobile as usize) else { return };
        station.target = None;
        for link in [station.serving.take(), station.former.take()].into_iter().flatten() {
            self.forget_sessions(&link);
        }
    }

    /// A link carries another length: the mobiles that use it are told.
    fn set_mtu(&mut self, link: u16, octets: u16, out: &mut Batch<Output>) -> bool {
        let Some(of) = self.links.get_mut(usize::from(link)) else { return false };
        of.config.mtu = octets;
        self.tell_mtu(link, out);
        true
    }

    /// Tells the mobiles that use a link how long their LL-PDUs may be.
    fn tell_mtu(&self, link: u16, out: &mut Batch<Output>) {
        for mobile in 0..u32::try_from(self.stations.len()).unwrap_or(u32::MAX) {
            let serving = self.stations.get(mobile as usize).and_then(|station| station.serving.as_ref());
            if let Some(serving) = serving.filter(|serving| serving.address.link == link) {
                let octets = self.ll_pdu_max(mobile, serving.cell, link);
                out.push(Output::Indication(Indication::Mtu { mobile, octets }));
            }
        }
    }

    /// The longest LL-PDU of a mobile that goes in one piece, in a cell that is on a link.
    fn ll_pdu_max(&self, mobile: u32, cell: u16, link: u16) -> u16 {
        let is_authenticated = self.keys.get(mobile as usize).is_some();
        let mtu = self.links.get(usize::from(link)).map_or(0, |link| link.config.mtu);
        let longest = u16::try_from(ll_pdu_max(mtu.into(), is_authenticated)).unwrap_or(u16::MAX);
        longest.min(self.selection.get(cell).map_or(u16::MAX, |of| of.beacon.ll_pdu_max))
    }

    /// A link is there, or is gone: then nobody waits for beacons that will not come.
    fn set_link(&mut self, cx: &mut Context<'_>, link: u16, is_up: bool, out: &mut Batch<Output>) -> bool {
        let Some(of) = self.links.get_mut(usize::from(link)) else { return false };
        of.is_up = is_up;
        let state = if is_up { "is there" } else { "is gone" };
        cx.log(Category::Um, Level::Notice, format_args!("adaptation: link {link} {state}"));
        if is_up {
            self.solicit(cx, out);
        } else {
            self.selection.lose_link(link);
            self.decide(cx, out);
        }
        true
    }

    fn forget_sessions(&mut self, of: &Link) {
        for session in of.sessions() {
            self.by_session.remove(&(of.cell, session));
        }
    }

    /// The mobiles leave: what serves them is told. No link is used any more.
    fn stop(&mut self, cx: &mut Context<'_>, out: &mut Batch<Output>) {
        let release = Message::Release(Release { cause: ReleaseCause::MobileLeaves });
        for mobile in 0..u32::try_from(self.stations.len()).unwrap_or(u32::MAX) {
            if let Some(cell) = self.serving(mobile) {
                if let Err(drop) = self.send(cx, (mobile, cell), &release, out) {
                    cx.drop(drop, None);
                }
                self.lose(mobile);
                out.push(Output::Indication(Indication::Down { mobile }));
            }
        }
        self.links.iter_mut().for_each(|link| link.is_up = false);
    }
}

impl Bearer for AdaptationBearer {
    fn name(&self) -> &'static str {
        "adaptation"
    }

    fn request(
        &mut self,
        cx: &mut Context<'_>,
        from: Sender,
        request: Request,
        out: &mut Batch<Output>,
    ) -> Result<(), Drop> {
        let Sender { mobile, cell, tlli, .. } = from;
        self.rename(mobile, tlli);
        let to = (mobile, cell);
        match request {
            Request::Unitdata(ll_pdu) => self.send_ll_pdu(cx, to, ll_pdu, out),
            Request::Reachable => {
                let cell = self.cells.get(usize::from(cell)).copied().ok_or(Drop::AdaptUnknownCell)?;
                self.send(cx, to, &Message::Reachable(Reachable { cell }), out)
            }
            // A link has no air to leave.
            Request::Away => Ok(()),
            Request::Suspend(rai) => self.send(cx, to, &Message::Suspend(Suspend { rai }), out),
            Request::Resume { rai, reference } => {
                self.send(cx, to, &Message::Resume(Resume { rai, reference }), out)
            }
        }
    }

    fn receive(
        &mut self,
        cx: &mut Context<'_>,
        (link, peer): (u16, Peer),
        frame: Frame,
        out: &mut Batch<Output>,
    ) -> Result<(), Refused> {
        self.take(cx, Address { link, peer }, frame, out)
    }

    fn order(&mut self, cx: &mut Context<'_>, order: Order, out: &mut Batch<Output>) -> bool {
        match order {
            Order::Prefer(cells) => {
                self.selection.prefer(cells);
                self.decide(cx, out);
                true
            }
            Order::PreferLink(link) if usize::from(link) < self.links.len() => {
                self.selection.prefer_link(link);
                self.decide(cx, out);
                true
            }
            Order::PreferLink(_) => false,
            Order::SetMtu { link, octets } => self.set_mtu(link, octets, out),
            Order::SetLink { link, is_up } => self.set_link(cx, link, is_up, out),
            Order::Stop => {
                self.stop(cx, out);
                true
            }
        }
    }

    fn cuts(&self) -> bool {
        true
    }

    fn wake(&mut self, cx: &mut Context<'_>, out: &mut Batch<Output>) {
        self.deadlines.woken(cx.now);
        self.joiner.expire(cx);
        if self.next_tick <= cx.now {
            self.tick(cx, out);
        }
        if self.next_try.is_some_and(|next| next <= cx.now) {
            self.try_targets(cx, out);
        }
    }

    fn arm(&mut self, key: TimerKey, timers: &mut Timers) {
        let next = [self.next_try, self.joiner.next_deadline()].into_iter().flatten().min();
        let next = next.map_or(self.next_tick, |next| next.min(self.next_tick));
        self.deadlines.set(MobileTimer::Next, next);
        self.deadlines.arm(key, timers);
    }
}
