//! The network's side of the air: a PCU whose mobiles are elsewhere, and what it hears of them.
//!
//! Blocks and bursts go and come as [`Transmission`]s. A block downlink is given out when it begins. A block uplink is received when its
//! period is over; what comes later is too late. Unlike [`super::air::Cell`] it broadcasts its BCCH, by which mobiles find it and
//! count its frames, so that it never sleeps for longer than a multiframe.

use super::air::{AirCounts, Fate};
use super::block::UpBlock;
use super::broadcast::{Information, block_after, block_starts};
use super::ccch::frame_from;
use super::channel::{Capture, Link};
use super::custody::{LlPdu, is_dummy};
use super::multiframe::{BlockPeriod, frame_at, frame_start};
use super::network::Pcu;
use super::on_air::{Logical, Transmission, frame_near, frame_number};
use super::signal::{Burst, Common};
use super::transmitter::Transmitter;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_wire::id::Tlli;
use gannet_wire::rlcmac::coding::{BLOCK_MAX, CodingScheme};
use std::collections::VecDeque;

/// An access burst waits for so many frames after its own for others of its frame, which may be longer on their way.
const BURST_WAITS: u64 = 2;
/// A block of the BCCH is sent up to so many frames late.
const BROADCAST_LATE: u64 = 51;
/// Blocks and bursts of mobiles that may wait: more than all timeslots and mobiles can send in time.
const HEARD_MAX: usize = 256;

/// A block of a mobile that is on the air.
#[derive(Debug)]
struct Heard {
    period: u64,
    slot: u8,
    octets: [u8; BLOCK_MAX],
    len: usize,
}

/// An LL-PDU from a mobile.
#[derive(Debug)]
pub struct FromMobile {
    /// Whose TBF brought it.
    pub tlli: Tlli,
    /// Its octets.
    pub frame: Frame,
}

/// A cell whose mobiles are elsewhere.
#[derive(Debug)]
pub struct NetworkSide {
    sender: Transmitter,
    arfcn: u16,
    level_dbm: i8,
    information: Information,
    /// The next block of the BCCH.
    broadcast: u64,
    capture: Capture,
    /// How the mobiles are heard.
    link: Link,
    up: Vec<Heard>,
    bursts: Vec<Burst>,
    sent: VecDeque<Frame>,
    from_mobiles: VecDeque<FromMobile>,
    fates: VecDeque<Fate>,
    next: Option<Instant>,
    counts: AirCounts,
}

impl NetworkSide {
    /// A cell on a carrier, which begins to broadcast at once. Of its mobiles it hears what `capture` and `link` let through.
    #[must_use]
    pub fn new(
        pcu: Pcu,
        (arfcn, level_dbm): (u16, i8),
        information: Information,
        (capture, link): (Capture, Link),
    ) -> Self {
        let broadcast = block_after(0);
        Self {
            sender: Transmitter::new(pcu),
            arfcn,
            level_dbm,
            information,
            broadcast,
            capture,
            link,
            up: Vec::new(),
            bursts: Vec::new(),
            sent: VecDeque::new(),
            from_mobiles: VecDeque::new(),
            fates: VecDeque::new(),
            next: Some(block_starts(broadcast)),
            counts: AirCounts::default(),
        }
    }

    /// Its PCU.
    #[must_use]
    pub const fn pcu(&self) -> &Pcu {
        &self.sender.pcu
    }

    /// Its PCU, to be changed. [`NetworkSide::touched`] must follow.
    pub const fn pcu_mut(&mut self) -> &mut Pcu {
        &mut self.sender.pcu
    }

    /// The carrier.
    #[must_use]
    pub const fn arfcn(&self) -> u16 {
        self.arfcn
    }

    /// What happened on its air. What a mobile could not read it does not know.
    #[must_use]
    pub const fn counts(&self) -> AirCounts {
        let mut counts = self.counts;
        counts.faults.unreadable += self.sender.unreadable;
        counts
    }

    /// The PCU was given something at this time: what happens next may be earlier.
    pub fn touched(&mut self, now: Instant) {
        self.collect();
        self.plan(now);
    }

    /// When something happens next.
    #[must_use]
    pub const fn next_event(&self) -> Option<Instant> {
        self.next
    }

    /// What is to be sent now, each a [`Transmission`] of its own.
    pub fn pop_sent(&mut self) -> Option<Frame> {
        self.sent.pop_front()
    }

    /// The next LL-PDU from a mobile.
    pub fn pop_from_mobile(&mut self) -> Option<FromMobile> {
        self.from_mobiles.pop_front()
    }

    /// True where [`NetworkSide::pop_from_mobile`] has one.
    #[must_use]
    pub fn has_from_mobile(&self) -> bool {
        !self.from_mobiles.is_empty()
    }

    /// The next LL-PDU downlink that has arrived, as far as RLC knows, or is lost.
    pub fn pop_fate(&mut self) -> Option<Fate> {
        self.fates.pop_front()
    }

    /// True where [`NetworkSide::pop_fate`] has one.
    #[must_use]
    pub fn has_fate(&self) -> bool {
        !self.fates.is_empty()
    }

    /// A transmission of a mobile came.
    pub fn hear(&mut self, now: Instant, heard: &Transmission<'_>) {
        let frame = frame_near(frame_at(now), heard.frame_number);
        match heard.channel {
            Logical::Random => {
                let code = heard.octets.first().copied().unwrap_or_default();
                let burst = Burst { code, frame };
                if self.bursts.len() < HEARD_MAX && !self.bursts.contains(&burst) {
                    self.bursts.push(burst);
                }
            }
            Logical::Packet => self.hear_block(now, frame, heard),
            Logical::Broadcast | Logical::Common => {}
        }
        self.plan(now);
    }

    fn hear_block(&mut self, now: Instant, frame: u64, heard: &Transmission<'_>) {
        let period = BlockPeriod::at_or_before(frame_start(frame));
        if period.end() <= now {
            self.counts.late += 1;
            return;
        }
        let mut octets = [0; BLOCK_MAX];
        let Some(place) = octets.get_mut(..heard.octets.len()) else { return };
        place.copy_from_slice(heard.octets);
        if self.up.len() < HEARD_MAX {
            self.up.push(Heard { period: period.0, slot: heard.slot, octets, len: heard.octets.len() });
        }
    }

    /// Does all that happens until now.
    pub fn run(&mut self, cx: &mut Context<'_>) {
        let until = cx.now;
        // What nobody was there to broadcast is not broadcast later.
        let oldest = block_after(frame_from(until).saturating_sub(BROADCAST_LATE));
        if self.broadcast < oldest {
            self.broadcast = oldest;
            self.plan(until);
        }
        while let Some(at) = self.next.filter(|at| *at <= until) {
            cx.now = at;
            self.step(cx);
            self.plan(at);
        }
        cx.now = until;
    }

    fn step(&mut self, cx: &mut Context<'_>) {
        let now = cx.now;
        if let Some(period) = self.sender.ended_period(now) {
            self.receive(cx, period);
        }
        self.up.retain(|heard| BlockPeriod(heard.period).end() > now);
        if let Some((frame, octets)) = self.sender.end_common(now)
            && let Ok(Some(message)) = Common::parse(&octets, frame)
        {
            self.sender.pcu.common_sent(&message);
        }
        self.bursts_arrive(cx);
        if self.sender.pcu.next_due().is_some_and(|due| due <= now) {
            self.sender.pcu.wake(now);
        }
        if block_starts(self.broadcast) <= now {
            let frame = self.broadcast;
            let octets = *self.information.block(frame);
            self.send(cx, (Logical::Broadcast, 0, frame), &octets);
            self.broadcast = block_after(frame_from(now));
        }
        if let Some((frame, octets)) = self.sender.begin_common(now) {
            self.send(cx, (Logical::Common, 0, frame), &octets);
        }
        if let Some(period) = self.sender.begin_period(now) {
            for slot in 0..8 {
                if let Some(octets) = self.sender.take_block(slot) {
                    self.send(cx, (Logical::Packet, slot, BlockPeriod(period).first_frame()), &octets);
                }
            }
        }
        self.collect();
    }

    fn plan(&mut self, now: Instant) {
        let sender = self.sender.plan(now);
        let bursts = self.bursts.iter().map(|burst| frame_start(burst.frame + BURST_WAITS)).min();
        let broadcast = Some(block_starts(self.broadcast));
        self.next = [sender, bursts, broadcast, self.sender.pcu.next_due()].into_iter().flatten().min();
    }

    fn send(&mut self, cx: &mut Context<'_>, (channel, slot, frame): (Logical, u8, u64), octets: &[u8]) {
        let sent = Transmission {
            arfcn: self.arfcn,
            is_uplink: false,
            channel,
            slot,
            frame_number: frame_number(frame),
            level_dbm: self.level_dbm,
            octets,
        };
        match sent.to_frame(cx.frames) {
            Some(frame) => self.sent.push_back(frame),
            None => cx.drop(Drop::NoFrame, None),
        }
    }

    /// The last bursts of a period have come.
    fn receive(&mut self, cx: &mut Context<'_>, period: u64) {
        for slot in 0..8 {
            if self.sender.pcu.pdchs() >> slot & 1 == 1 {
                self.receive_slot(cx, slot, period);
            }
        }
        self.sender.period_received(period);
    }

    fn receive_slot(&mut self, cx: &mut Context<'_>, slot: u8, period: u64) {
        let mut together = self.up.iter().filter(|heard| (heard.period, heard.slot) == (period, slot));
        let count = together.clone().count();
        self.counts.uplink_collisions += if count > 1 { count as u64 } else { 0 };
        let strongest = self.capture.received(cx.rng, count).and_then(|which| together.nth(which));
        let block = strongest.and_then(|heard| {
            let block = UpBlock::parse(heard.octets.get(..heard.len).unwrap_or_default());
            self.counts.faults.unreadable += u64::from(block.is_err());
            let block = block.ok().flatten()?;
            let is_lost = self.link.is_lost(cx.rng, BlockPeriod(period), block.coding());
            self.counts.uplink_lost += u64::from(is_lost);
            (!is_lost).then_some(block)
        });
        let (now, from_mobiles) = (cx.now, &mut self.from_mobiles);
        self.sender.pcu.uplink(now, (slot, period), block.as_ref(), |tlli, octets| {
            if is_dummy(octets) {
                return;
            }
            match cx.frames.copy_of(octets) {
                Some(frame) => from_mobiles.push_back(FromMobile { tlli, frame }),
                None => cx.drop(Drop::NoFrame, None),
            }
        });
    }

    /// Access bursts whose frame has passed.
    fn bursts_arrive(&mut self, cx: &mut Context<'_>) {
        let now = cx.now;
        while let Some(frame) = self
            .bursts
            .iter()
            .map(|burst| burst.frame)
            .filter(|of| frame_start(of + BURST_WAITS) <= now)
            .min()
        {
            let together: Vec<Burst> = self.bursts.extract_if(.., |burst| burst.frame == frame).collect();
            if together.len() > 1 {
                self.counts.burst_collisions += together.len() as u64;
            }
            let received = self.capture.received(cx.rng, together.len());
            let burst = received.and_then(|which| together.get(which));
            let period = BlockPeriod::at_or_before(now);
            if let Some(burst) = burst
                && !self.link.is_lost(cx.rng, period, CodingScheme::Cs1)
            {
                self.sender.pcu.burst(*burst);
            }
        }
    }

    /// What the PCU is done with.
    fn collect(&mut self) {
        while let Some(pdu) = self.sender.pcu.pop_confirmed() {
            self.fates.push_back(Fate::Arrived(pdu));
        }
        while let Some((pdu, loss)) = self.sender.pcu.pop_lost() {
            self.fates.push_back(Fate::Lost(pdu, loss));
        }
    }

    /// A mobile has left the cell: see [`Pcu::forget_mobile`].
    pub fn forget_mobile(&mut self, now: Instant, mobile: u32, out: impl FnMut(LlPdu)) {
        self.sender.pcu.forget_mobile(mobile, out);
        self.collect();
        self.plan(now);
    }
}
