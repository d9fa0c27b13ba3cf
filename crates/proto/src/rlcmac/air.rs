//! A cell on the air: its PCU, the MACs of the mobiles in it, and the blocks and bursts between them.
//!
//! Time is that of TDMA frames. A block is chosen when its period begins and received when its last burst has come. In between
//! nothing happens, and a cell without TBFs and accesses asks for no wake-up.
//!
//! What is sent goes as octets, and is read from them. What the channel does is thrown for each block and each mobile that listens: USF, header and data are one. Of several
//! that send in the same block or frame one may be stronger ([`Capture`]); otherwise all are lost.

use super::block::{DownBlock, UpBlock};
use super::channel::{Capture, Link};
use super::codec::AirOctets;
use super::custody::{DUMMY_LL_PDU, Delivered, LlPdu};
use super::fates::OnAir;
use super::mobile::Mac;
use super::multiframe::{BlockPeriod, frame_start};
use super::network::{Loss, Pcu};
use super::paging::Page;
use super::signal::{Burst, Common};
use super::tap::{Late, Listeners, Tap};
use super::transmitter::Transmitter;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::time::Instant;
use gannet_wire::rlcmac::coding::CodingScheme;
use std::collections::VecDeque;

/// A mobile on the air.
#[derive(Debug)]
pub struct Mobile {
    /// Its MAC.
    pub mac: Mac,
    /// What it hears.
    pub downlink: Link,
    /// How it is heard.
    pub uplink: Link,
}

/// What became of an LL-PDU.
#[derive(Debug)]
pub enum Fate {
    /// It has arrived whole, downlink at this mobile.
    Arrived(LlPdu),
    /// It will not arrive.
    Lost(LlPdu, Loss),
}

/// What went wrong where nothing may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// LL-PDUs that came to another mobile, or under another's name.
    pub misdelivered: u64,
    /// LL-PDUs that nobody had sent: damaged in unacknowledged mode.
    pub strange: u64,
    /// Blocks that do not become octets, or octets that do not become the block.
    pub unreadable: u64,
}

/// What happened on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AirCounts {
    /// Downlink blocks that a mobile could not read, counted for each that listened.
    pub downlink_lost: u64,
    /// Uplink blocks that the cell could not read.
    pub uplink_lost: u64,
    /// Uplink blocks in which several sent.
    pub uplink_collisions: u64,
    /// Access bursts in frames with several.
    pub burst_collisions: u64,
    /// LL-PDUs that came whole when their sender had just taken them back: they come again, and count then.
    pub late: u64,
    /// What must not happen.
    pub faults: Faults,
    /// What became of the blocks.
    pub on_air: OnAir,
}

/// A cell and what is on its air.
#[derive(Debug)]
pub struct Cell {
    sender: Transmitter,
    capture: Capture,
    /// Mobiles that camp on the cell.
    members: Vec<u32>,
    /// Those of them that do something.
    busy: Vec<u32>,
    up: [Vec<(u32, AirOctets)>; 8],
    /// Access bursts, with the mobile that sent each.
    bursts: Vec<(u32, Burst)>,
    down_fates: VecDeque<Fate>,
    up_fates: VecDeque<Fate>,
    /// Pages that mobiles have heard.
    paged: VecDeque<(u32, Page)>,
    next: Option<Instant>,
    counts: AirCounts,
    tap: Option<Box<Tap>>,
}

/// Direction of an LL-PDU.
pub use super::network::resources::Direction;

impl Cell {
    /// A cell without mobiles.
    #[must_use]
    pub fn new(pcu: Pcu, capture: Capture) -> Self {
        Self {
            sender: Transmitter::new(pcu),
            capture,
            members: Vec::new(),
            busy: Vec::new(),
            up: [const { Vec::new() }; 8],
            bursts: Vec::new(),
            down_fates: VecDeque::new(),
            up_fates: VecDeque::new(),
            paged: VecDeque::new(),
            next: None,
            counts: AirCounts::default(),
            tap: None,
        }
    }

    /// Has its air looked at from now on, or no longer.
    pub fn set_tap(&mut self, tap: Option<Tap>) {
        self.tap = tap.map(Box::new);
    }

    /// Its tap.
    #[must_use]
    pub fn tap(&self) -> Option<&Tap> {
        self.tap.as_deref()
    }

    /// The same, to take what it has seen.
    pub fn tap_mut(&mut self) -> Option<&mut Tap> {
        self.tap.as_deref_mut()
    }

    /// Its PCU.
    #[must_use]
    pub const fn pcu(&self) -> &Pcu {
        &self.sender.pcu
    }

    /// Its PCU, to be changed. [`Cell::touched`] must follow.
    pub const fn pcu_mut(&mut self) -> &mut Pcu {
        &mut self.sender.pcu
    }

    /// What happened on its air.
    #[must_use]
    pub const fn counts(&self) -> AirCounts {
        let mut counts = self.counts;
        counts.faults.unreadable += self.sender.unreadable;
        counts.on_air.places_down = self.sender.places;
        counts.on_air.silent_down = self.sender.silent;
        counts
    }

    /// A mobile camps on the cell.
    pub fn enter(&mut self, mobile: u32) {
        if !self.members.contains(&mobile) {
            self.members.push(mobile);
        }
    }

    /// A mobile has left: what it was sending is not heard.
    pub fn leave(&mut self, mobile: u32) {
        self.members.retain(|member| *member != mobile);
        self.busy.retain(|member| *member != mobile);
        self.bursts.retain(|(sender, _)| *sender != mobile);
        let left = &mut self.counts.on_air.up.left;
        self.up.iter_mut().for_each(|sent| {
            sent.retain(|(sender, octets)| {
                *left += u64::from(*sender == mobile && is_data(octets));
                *sender != mobile
            });
        });
    }

    /// A mobile or the PCU was given something at this time: what happens next may be earlier.
    pub fn touched(&mut self, now: Instant, mobile: Option<u32>, mobiles: &[Mobile]) {
        if let Some(mobile) = mobile
            && self.members.contains(&mobile)
            && !self.busy.contains(&mobile)
        {
            self.busy.push(mobile);
        }
        self.collect_down();
        self.plan(now, mobiles);
    }

    /// When something happens next. Nothing of it depends on dice that were not thrown.
    #[must_use]
    pub const fn next_event(&self) -> Option<Instant> {
        self.next
    }

    /// The next LL-PDU of a direction that has arrived or is lost.
    pub fn pop_fate(&mut self, direction: Direction) -> Option<Fate> {
        match direction {
            Direction::Down => self.down_fates.pop_front(),
            Direction::Up => self.up_fates.pop_front(),
        }
    }

    /// True where [`Cell::pop_fate`] has one.
    #[must_use]
    pub fn has_fate(&self, direction: Direction) -> bool {
        match direction {
            Direction::Down => !self.down_fates.is_empty(),
            Direction::Up => !self.up_fates.is_empty(),
        }
    }

    /// The next page that a mobile has heard, whoever it is for.
    pub fn pop_paged(&mut self) -> Option<(u32, Page)> {
        self.paged.pop_front()
    }

    /// True where [`Cell::pop_paged`] has one.
    #[must_use]
    pub fn has_paged(&self) -> bool {
        !self.paged.is_empty()
    }

    /// Does all that happens until now.
    pub fn run(&mut self, cx: &mut Context<'_>, mobiles: &mut [Mobile]) {
        let until = cx.now;
        while let Some(at) = self.next.filter(|at| *at <= until) {
            cx.now = at;
            self.step(cx, mobiles);
            self.plan(at, mobiles);
        }
        cx.now = until;
    }

    fn step(&mut self, cx: &mut Context<'_>, mobiles: &mut [Mobile]) {
        let now = cx.now;
        if let Some(period) = self.sender.ended_period(now) {
            self.receive(cx, period, mobiles);
        }
        self.common_ends(cx, mobiles);
        self.bursts_arrive(cx, mobiles);
        if self.sender.pcu.next_due().is_some_and(|due| due <= now) {
            self.sender.pcu.wake(now);
        }
        for mobile in self.busy.iter().copied() {
            let Some(state) = mobiles.get_mut(mobile as usize) else { continue };
            if state.mac.next_due().is_some_and(|due| due <= now)
                && let Some(burst) = state.mac.wake(now, cx.rng)
            {
                self.bursts.push((mobile, burst));
            }
        }
        if let Some((frame, octets)) = self.sender.begin_common(now)
            && let Some(tap) = &mut self.tap
        {
            tap.common_chosen(now, frame, &octets);
        }
        if let Some(period) = self.sender.begin_period(now) {
            self.send(now, period, mobiles);
        }
        self.collect(mobiles);
    }

    /// Decides when to go on.
    fn plan(&mut self, now: Instant, mobiles: &[Mobile]) {
        let sender = self.sender.plan(now);
        let bursts = self.bursts.iter().map(|(_, burst)| frame_start(burst.frame + 1)).min();
        let busy = self.busy.iter().filter_map(|mobile| mobiles.get(*mobile as usize)?.mac.next_due()).min();
        self.next = [sender, bursts, busy, self.sender.pcu.next_due()].into_iter().flatten().min();
    }

    /// A block period begins: the mobiles choose their blocks.
    fn send(&mut self, now: Instant, period: u64, mobiles: &mut [Mobile]) {
        if let Some(tap) = &mut self.tap {
            self.sender.blocks().for_each(|(slot, octets)| tap.chosen(now, (slot, period), octets));
        }
        for mobile in self.busy.iter().copied() {
            let Some(state) = mobiles.get_mut(mobile as usize) else { continue };
            let slots = state.mac.slots();
            for (slot, sent) in (0_u8..).zip(&mut self.up) {
                if slots >> slot & 1 == 1
                    && let Some(block) = state.mac.transmit(now, slot, period)
                {
                    match block.emit() {
                        Some(octets) => sent.push((mobile, octets)),
                        None => self.counts.faults.unreadable += 1,
                    }
                }
            }
        }
    }

    /// The last bursts of a period have come.
    fn receive(&mut self, cx: &mut Context<'_>, period: u64, mobiles: &mut [Mobile]) {
        for slot in 0..8_u8 {
            let place = usize::from(slot);
            if let Some(octets) = self.sender.take_block(slot) {
                match DownBlock::parse(&octets) {
                    Ok(block) => {
                        let heard = self.receive_down(cx, (slot, period), &block, mobiles);
                        if let Some(tap) = &mut self.tap {
                            tap.sent(cx.now, (slot, period), &octets, heard);
                        }
                    }
                    Err(_) => self.counts.faults.unreadable += 1,
                }
            }
            if self.sender.pcu.pdchs() >> slot & 1 == 1 {
                let sent = self.up.get_mut(place).map(core::mem::take).unwrap_or_default();
                self.receive_up(cx, (slot, period), sent, mobiles);
            } else if let Some(sent) = self.up.get_mut(place) {
                // A call has the timeslot, and the mobile does not know of it.
                let left = &mut self.counts.on_air.up.left;
                sent.drain(..).for_each(|(_, octets)| *left += u64::from(is_data(&octets)));
            }
        }
        self.busy.retain(|mobile| mobiles.get(*mobile as usize).is_some_and(|state| state.mac.is_active()));
        self.sender.period_received(period);
    }

    fn receive_down(
        &mut self,
        cx: &mut Context<'_>,
        (slot, period): (u8, u64),
        block: &DownBlock,
        mobiles: &mut [Mobile],
    ) -> Option<Listeners> {
        let coding = block.coding();
        let mut heard = self.tap.as_ref().map(|_| Listeners::default());
        let owner = self.sender.owner(slot);
        let tfi = if let DownBlock::Data { header, .. } = block { Some(header.tfi) } else { None };
        let mut is_known = tfi.is_none();
        for mobile in self.busy.iter().copied() {
            let Some(state) = mobiles.get_mut(mobile as usize) else { continue };
            if state.mac.slots() >> slot & 1 == 0 {
                continue;
            }
            let is_lost = state.downlink.is_lost(cx.rng, BlockPeriod(period), coding);
            heard.iter_mut().for_each(|heard| heard.add(mobile, is_lost));
            if is_lost {
                self.counts.downlink_lost += 1;
                let is_its = owner == Some(mobile) && tfi.is_some_and(|tfi| state.mac.expects(tfi, slot));
                self.counts.on_air.down.lost += u64::from(is_its);
                is_known |= is_its;
                continue;
            }
            let now = cx.now;
            let came = state.mac.counts().down.all();
            state.mac.hear(now, (slot, period), block, |octets| {
                let DownBlock::Data { header, .. } = block else { return };
                if octets == DUMMY_LL_PDU {
                    return;
                }
                let about = self.sender.pcu.delivered(header.tfi, octets);
                if about.is_none() && !self.sender.pcu.carries(header.tfi) {
                    came_late((&mut self.counts, &mut self.tap), (now, Direction::Down, mobile), octets);
                    return;
                }
                if about.is_some_and(|about| about.mobile != mobile) {
                    self.counts.faults.misdelivered += 1;
                }
                arrive(cx, &mut self.counts, &mut self.down_fates, about, octets);
            });
            let has_come = state.mac.counts().down.all() > came;
            is_known |= has_come && owner == Some(mobile);
            self.counts.on_air.down.strays += u64::from(has_come && owner != Some(mobile));
        }
        self.counts.on_air.down.unheard += u64::from(!is_known);
        heard
    }

    fn receive_up(
        &mut self,
        cx: &mut Context<'_>,
        (slot, period): (u8, u64),
        mut sent: Vec<(u32, AirOctets)>,
        mobiles: &mut [Mobile],
    ) {
        if sent.len() > 1 {
            self.counts.uplink_collisions += sent.len() as u64;
        }
        let which = self.capture.received(cx.rng, sent.len());
        let strongest = which.and_then(|which| sent.get(which).copied());
        let on_air = &mut self.counts.on_air;
        on_air.places_up += 1;
        on_air.silent_up += u64::from(sent.is_empty());
        on_air.jammed_up += u64::from(!sent.is_empty() && strongest.is_none());
        let heard = strongest.map(|(mobile, _)| mobile);
        let unheard = sent.iter().filter(|(mobile, octets)| Some(*mobile) != heard && is_data(octets));
        on_air.up.collided += unheard.count() as u64;
        let heard = strongest.and_then(|(mobile, octets)| {
            let block = UpBlock::parse(&octets);
            self.counts.faults.unreadable += u64::from(!matches!(block, Ok(Some(_))));
            let block = block.ok()??;
            let link = mobiles.get_mut(mobile as usize).map(|state| &mut state.uplink);
            let is_lost = link.is_none_or(|link| link.is_lost(cx.rng, BlockPeriod(period), block.coding()));
            self.counts.uplink_lost += u64::from(is_lost);
            self.counts.on_air.up.lost += u64::from(is_lost && matches!(block, UpBlock::Data { .. }));
            (!is_lost).then_some((mobile, block))
        });
        if let Some(tap) = &mut self.tap {
            let all = sent.iter().map(|(mobile, octets)| (*mobile, &**octets));
            tap.came(cx.now, (slot, period), all, which.filter(|_| heard.is_some()));
        }
        sent.clear();
        let sender = heard.as_ref().and_then(|(mobile, _)| mobiles.get_mut(*mobile as usize));
        let mut sender = sender.map(|state| &mut state.mac);
        let (now, counts, fates, tap) = (cx.now, &mut self.counts, &mut self.up_fates, &mut self.tap);
        self.sender.pcu.uplink(
            now,
            (slot, period),
            heard.as_ref().map(|(_, block)| block),
            |tlli, octets| {
                let about = sender.as_mut().and_then(|mac| mac.delivered(octets));
                if about.is_none() && !sender.as_ref().is_some_and(|mac| mac.carries()) {
                    let mobile = heard.as_ref().map_or(u32::MAX, |(mobile, _)| *mobile);
                    came_late((counts, tap), (now, Direction::Up, mobile), octets);
                    return;
                }
                let is_its = sender.as_ref().is_some_and(|mac| mac.sends_as(tlli));
                counts.faults.misdelivered += u64::from(about.is_some() && !is_its);
                arrive(cx, counts, fates, about, octets);
            },
        );
        // The vector goes back with its memory.
        if let Some(place) = self.up.get_mut(usize::from(slot)) {
            *place = sent;
        }
    }

    /// A block of the CCCH may have come.
    fn common_ends(&mut self, cx: &mut Context<'_>, mobiles: &mut [Mobile]) {
        let now = cx.now;
        let Some((frame, octets)) = self.sender.end_common(now) else { return };
        let Ok(Some(message)) = Common::parse(&octets, frame) else {
            self.counts.faults.unreadable += 1;
            return;
        };
        self.sender.pcu.common_sent(&message);
        let mut heard = self.tap.as_ref().map(|_| Listeners::default());
        for mobile in self.members.iter().copied() {
            let Some(state) = mobiles.get_mut(mobile as usize).filter(|state| state.mac.listens_to(frame))
            else {
                continue;
            };
            let is_lost = state.downlink.is_lost(cx.rng, BlockPeriod::at_or_before(now), CodingScheme::Cs1);
            heard.iter_mut().for_each(|heard| heard.add(mobile, is_lost));
            if is_lost {
                continue;
            }
            state.mac.hear_common(now, &message);
            if let Common::Paging(pages) = message {
                self.paged.extend(pages.into_iter().flatten().map(|page| (mobile, page)));
            }
            if state.mac.is_busy() && !self.busy.contains(&mobile) {
                self.busy.push(mobile);
            }
        }
        if let Some(tap) = &mut self.tap {
            tap.common_sent(now, frame, &octets, heard);
        }
    }

    /// Access bursts whose frame has passed.
    fn bursts_arrive(&mut self, cx: &mut Context<'_>, mobiles: &mut [Mobile]) {
        let now = cx.now;
        let has_come = |burst: &Burst| frame_start(burst.frame + 1) <= now;
        while let Some(frame) =
            self.bursts.iter().map(|(_, burst)| *burst).filter(has_come).map(|burst| burst.frame).min()
        {
            let mut together: Vec<_> = Vec::new();
            self.bursts.retain(|(sender, burst)| {
                let is_there = burst.frame == frame;
                if is_there {
                    together.push((*sender, *burst));
                }
                !is_there
            });
            if together.len() > 1 {
                self.counts.burst_collisions += together.len() as u64;
            }
            let received = self.capture.received(cx.rng, together.len());
            let strongest = received.and_then(|which| together.get(which));
            let period = BlockPeriod::at_or_before(now);
            let read = strongest.filter(|(sender, _)| {
                let link = mobiles.get_mut(*sender as usize).map(|state| &mut state.uplink);
                link.is_some_and(|link| !link.is_lost(cx.rng, period, CodingScheme::Cs1))
            });
            if let Some(tap) = &mut self.tap {
                let all = together.iter().map(|(mobile, burst)| (*mobile, burst.code));
                tap.bursts(now, frame, all, received.filter(|_| read.is_some()));
            }
            if let Some((_, burst)) = read {
                self.sender.pcu.burst(*burst);
            }
        }
    }

    fn collect_down(&mut self) {
        while let Some((pdu, loss)) = self.sender.pcu.pop_lost() {
            self.down_fates.push_back(Fate::Lost(pdu, loss));
        }
    }

    /// What the PCU and the mobiles gave up.
    fn collect(&mut self, mobiles: &mut [Mobile]) {
        self.collect_down();
        let up = &mut self.up_fates;
        for mobile in self.busy.iter().copied() {
            let Some(state) = mobiles.get_mut(mobile as usize) else { continue };
            while let Some(pdu) = state.mac.pop_lost() {
                up.push_back(Fate::Lost(pdu, Loss::Contact));
            }
        }
    }
}

/// It is an uplink data block.
fn is_data(octets: &AirOctets) -> bool {
    matches!(UpBlock::parse(octets), Ok(Some(UpBlock::Data { .. })))
}

/// An LL-PDU is whole, and its sender sends it again.
fn came_late(
    (counts, tap): (&mut AirCounts, &mut Option<Box<Tap>>),
    (at, direction, mobile): (Instant, Direction, u32),
    octets: &[u8],
) {
    counts.late += 1;
    if let Some(tap) = tap {
        tap.came_late(Late { at, direction, mobile, octets: octets.to_vec() });
    }
}

/// An LL-PDU is whole.
fn arrive(
    cx: &mut Context<'_>,
    counts: &mut AirCounts,
    fates: &mut VecDeque<Fate>,
    about: Option<Delivered>,
    octets: &[u8],
) {
    let Some(Delivered { mobile, tlli, expires, priority }) = about else {
        counts.faults.strange += 1;
        return;
    };
    match cx.frames.copy_of(octets) {
        Some(frame) => fates.push_back(Fate::Arrived(LlPdu { mobile, tlli, expires, priority, frame })),
        None => cx.drop(Drop::NoFrame, None),
    }
}
