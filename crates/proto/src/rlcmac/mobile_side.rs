//! The mobiles' side of the air: the MACs of mobiles in one cell that is elsewhere, and what they hear of it.
//!
//! Blocks and bursts go and come as [`Transmission`]s. A block downlink is heard when its last burst would have come; a block uplink
//! is given out when it begins. All times within are those of the cell, by [`AirClock`]. Mobiles that have nothing to do with a
//! PDCH and nothing to send ask for no wake-up.

use super::air_clock::{AirClock, Told};
use super::block::DownBlock;
use super::ccch::block_ends;
use super::channel::Link;
use super::config::CellOptions;
use super::custody::{LlPdu, is_dummy};
use super::mobile::{Mac, MobileConfig, MobileCounts};
use super::multiframe::{BlockPeriod, FrameUse, frame_start};
use super::on_air::{Logical, Transmission, frame_number};
use super::signal::{Burst, Common};
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_wire::id::Tlli;
use gannet_wire::l3::ie::RadioPriority;
use gannet_wire::rlcmac::coding::{BLOCK_MAX, CodingScheme};
use std::collections::VecDeque;

/// The level at which mobiles are received.
const LEVEL_DBM: i8 = -50;
/// Blocks that may wait for their end: more than a cell has on the air.
const HEARD_MAX: usize = 64;

/// A mobile.
#[derive(Debug)]
struct Mobile {
    mac: Mac,
    /// What it hears.
    link: Link,
}

/// A block that is on the air.
#[derive(Debug)]
struct Heard {
    ends: Instant,
    frame: u64,
    channel: Logical,
    slot: u8,
    octets: [u8; BLOCK_MAX],
    len: usize,
}

/// An LL-PDU that came for a mobile.
#[derive(Debug)]
pub struct ForMobile {
    /// Which.
    pub mobile: u32,
    /// Its octets.
    pub frame: Frame,
}

/// What happened on the air, as the mobiles know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SideCounts {
    /// Blocks that came when the time of their answer was over.
    pub late: u64,
    /// Blocks that a mobile could not read, counted for each that listened.
    pub lost: u64,
    /// Blocks that nobody can read.
    pub unreadable: u64,
    /// Times that the cell has begun to count its frames anew.
    pub restarts: u64,
}

/// Mobiles whose cell is elsewhere.
#[derive(Debug)]
pub struct MobileSide {
    mobiles: Vec<Mobile>,
    arfcn: u16,
    options: CellOptions,
    clock: AirClock,
    heard: Vec<Heard>,
    /// The first period of which nothing was sent yet.
    period: u64,
    /// Where a block that no mobile sends is given as an empty one.
    empty_on: Option<u8>,
    sent: VecDeque<Frame>,
    for_mobiles: VecDeque<ForMobile>,
    counts: SideCounts,
}

impl MobileSide {
    /// So many mobiles, which hear what `link` lets through. They are in no cell before [`MobileSide::tune`].
    #[must_use]
    pub fn new(mobiles: u32, config: MobileConfig, link: &Link) -> Self {
        let options = CellOptions::default();
        let config = MobileConfig { is_apart: true, ..config };
        let mobile = |_| Mobile { mac: Mac::new(config, options), link: link.clone() };
        Self {
            mobiles: (0..mobiles).map(mobile).collect(),
            arfcn: 0,
            options,
            clock: AirClock::default(),
            heard: Vec::new(),
            period: 0,
            empty_on: None,
            sent: VecDeque::new(),
            for_mobiles: VecDeque::new(),
            counts: SideCounts::default(),
        }
    }

    /// All mobiles go to the cell on this carrier. What they have to send they have still.
    pub fn tune(&mut self, arfcn: u16, options: CellOptions) {
        (self.arfcn, self.options) = (arfcn, options);
        self.clock = AirClock::default();
        self.begin_anew();
    }

    /// On this timeslot, each uplink block that no mobile sends is given as an empty one from now on. A BTS that learns of the
    /// uplink by what arrives has the time by that.
    pub const fn give_empty_blocks(&mut self, slot: Option<u8>) {
        self.empty_on = slot;
    }

    fn begin_anew(&mut self) {
        self.heard.clear();
        self.period = 0;
        let options = self.options;
        self.mobiles.iter_mut().for_each(|mobile| mobile.mac.change_cell(options));
    }

    /// What happened in a mobile.
    #[must_use]
    pub fn mobile_counts(&self, mobile: u32) -> Option<MobileCounts> {
        self.mobiles.get(mobile as usize).map(|mobile| mobile.mac.counts())
    }

    /// What happened on the air.
    #[must_use]
    pub const fn counts(&self) -> SideCounts {
        self.counts
    }

    /// The next transmission of a mobile, which goes now.
    pub fn pop_sent(&mut self) -> Option<Frame> {
        self.sent.pop_front()
    }

    /// The next LL-PDU that came.
    pub fn pop_for_mobile(&mut self) -> Option<ForMobile> {
        self.for_mobiles.pop_front()
    }

    /// A mobile has this TLLI from now on.
    pub fn assign_tlli(&mut self, mobile: u32, tlli: Tlli) {
        if let Some(mobile) = self.mobiles.get_mut(mobile as usize) {
            mobile.mac.assign_tlli(tlli);
        }
    }

    /// A mobile has an LL-PDU to send. Before anything of the cell was heard it waits.
    ///
    /// # Errors
    /// `MsUnknownMobile`; `MsRadioFull` where too much of the mobile waits.
    pub fn request(
        &mut self,
        now: Instant,
        mobile: u32,
        (tlli, priority): (Tlli, RadioPriority),
        frame: Frame,
    ) -> Result<(), Drop> {
        let there = self.clock.at(now);
        let state = self.mobiles.get_mut(mobile as usize).ok_or(Drop::MsUnknownMobile)?;
        if there.is_none() {
            state.mac.suspend(now, true);
        }
        let pdu = LlPdu { mobile, tlli, expires: Instant(u64::MAX), priority, frame };
        state.mac.request(there.unwrap_or_default(), pdu).map_err(|_| Drop::MsRadioFull)
    }

    /// As much of a mobile waits as is of use.
    #[must_use]
    pub fn is_full(&self, mobile: u32) -> bool {
        self.mobiles.get(mobile as usize).is_some_and(|mobile| mobile.mac.is_full())
    }

    /// A mobile is elsewhere: its TBFs are over. Takes the LL-PDUs that it had to send and that are not acknowledged.
    pub fn leave(&mut self, mobile: u32, out: &mut dyn FnMut(Frame)) {
        let options = self.options;
        if let Some(state) = self.mobiles.get_mut(mobile as usize) {
            state.mac.change_cell(options);
            state.mac.take_queue(|pdu| out(pdu.frame));
        }
    }

    /// A transmission of the cell came.
    pub fn hear(&mut self, now: Instant, heard: &Transmission<'_>) {
        let (frame, told) = self.clock.heard(now, heard.frame_number);
        if told == Told::Anew {
            self.counts.restarts += 1;
            self.begin_anew();
            let there = frame_start(frame);
            self.period = BlockPeriod::at_or_after(there).0;
            // What waits is sent now that there is a cell.
            self.mobiles.iter_mut().for_each(|mobile| mobile.mac.suspend(there, false));
        }
        let ends = match heard.channel {
            Logical::Common => block_ends(frame),
            Logical::Packet => {
                let place = heard.frame_number % super::multiframe::MULTIFRAME;
                if !matches!(FrameUse::of(place), FrameUse::Block { burst: 0, .. }) {
                    return;
                }
                BlockPeriod::at_or_before(frame_start(frame)).end()
            }
            Logical::Broadcast | Logical::Random => return,
        };
        let mut octets = [0; BLOCK_MAX];
        let len = heard.octets.len();
        let Some(place) = octets.get_mut(..len) else { return };
        place.copy_from_slice(heard.octets);
        if self.heard.len() < HEARD_MAX {
            let (channel, slot) = (heard.channel, heard.slot);
            self.heard.push(Heard { ends, frame, channel, slot, octets, len });
        }
    }

    /// When something happens next, as the clock stands.
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        self.clock.here(self.next()?)
    }

    fn next(&self) -> Option<Instant> {
        let heard = self.heard.iter().map(|heard| heard.ends);
        let timers = self.mobiles.iter().filter_map(|mobile| mobile.mac.next_due());
        let period = self.has_periods().then(|| BlockPeriod(self.period).start());
        heard.chain(timers).chain(period).min()
    }

    /// Something is to be done when a block period begins.
    fn has_periods(&self) -> bool {
        self.empty_on.is_some() || self.mobiles.iter().any(|mobile| mobile.mac.slots() != 0)
    }

    /// Does all that happens until now.
    pub fn run(&mut self, cx: &mut Context<'_>) {
        let Some(until) = self.clock.at(cx.now) else { return };
        while let Some(at) = self.next().filter(|at| *at <= until) {
            self.step(cx, at);
        }
    }

    fn step(&mut self, cx: &mut Context<'_>, now: Instant) {
        self.blocks_end(cx, now);
        for mobile in &mut self.mobiles {
            if mobile.mac.next_due().is_some_and(|due| due <= now)
                && let Some(burst) = mobile.mac.wake(now, cx.rng)
            {
                send_burst(cx, self.arfcn, burst, &mut self.sent);
            }
        }
        // Whoever comes to a PDCH now begins with the period that begins next.
        self.period = self.period.max(BlockPeriod::at_or_after(now).0);
        if self.has_periods() && BlockPeriod(self.period).start() <= now {
            self.transmit(cx, now);
        }
        for mobile in &mut self.mobiles {
            while mobile.mac.pop_lost().is_some() {
                cx.drop(Drop::MsRadioContact, None);
            }
        }
    }

    /// A period begins: whoever may send does.
    fn transmit(&mut self, cx: &mut Context<'_>, now: Instant) {
        let period = self.period;
        self.period += 1;
        let mut used = 0_u8;
        for mobile in &mut self.mobiles {
            let slots = mobile.mac.slots();
            for slot in (0..8).filter(|slot| slots >> slot & 1 == 1) {
                let Some(block) = mobile.mac.transmit(now, slot, period) else { continue };
                let Some(octets) = block.emit() else {
                    self.counts.unreadable += 1;
                    continue;
                };
                used |= 1 << slot;
                let frame = BlockPeriod(period).first_frame();
                send(cx, (self.arfcn, Logical::Packet, slot, frame), &octets, &mut self.sent);
            }
        }
        let empty = self.empty_on.filter(|slot| used >> slot & 1 == 0);
        // After a pause the empty blocks of all that time are of no use.
        let is_over = self.clock.at(cx.now).is_some_and(|there| BlockPeriod(period).end() < there);
        if let Some(slot) = empty.filter(|_| !is_over) {
            let frame = BlockPeriod(period).first_frame();
            send(cx, (self.arfcn, Logical::Packet, slot, frame), &[], &mut self.sent);
        }
    }

    /// Blocks whose last burst has come.
    fn blocks_end(&mut self, cx: &mut Context<'_>, now: Instant) {
        if self.heard.iter().all(|heard| heard.ends > now) {
            return;
        }
        let mut ended: Vec<Heard> = self.heard.extract_if(.., |heard| heard.ends <= now).collect();
        ended.sort_by_key(|heard| (heard.frame, heard.slot));
        for heard in ended {
            if BlockPeriod::at_or_after(heard.ends).0 < self.period && heard.channel == Logical::Packet {
                self.counts.late += 1;
            }
            let octets = heard.octets.get(..heard.len).unwrap_or_default();
            match heard.channel {
                Logical::Packet => match DownBlock::parse(octets) {
                    Ok(block) => self.hear_block(cx, now, &heard, &block),
                    Err(_) => self.counts.unreadable += 1,
                },
                Logical::Common => {
                    if let Ok(Some(message)) = Common::parse(octets, heard.frame) {
                        self.hear_common(cx, now, &message);
                    }
                }
                Logical::Broadcast | Logical::Random => {}
            }
        }
    }

    fn hear_block(&mut self, cx: &mut Context<'_>, now: Instant, heard: &Heard, block: &DownBlock) {
        let period = BlockPeriod::at_or_before(frame_start(heard.frame));
        for (index, mobile) in (0_u32..).zip(&mut self.mobiles) {
            if mobile.mac.slots() >> heard.slot & 1 == 0 {
                continue;
            }
            if mobile.link.is_lost(cx.rng, period, block.coding()) {
                self.counts.lost += 1;
                continue;
            }
            let for_mobiles = &mut self.for_mobiles;
            mobile.mac.hear(now, (heard.slot, period.0), block, |octets| {
                if is_dummy(octets) {
                    return;
                }
                match cx.frames.copy_of(octets) {
                    Some(frame) => for_mobiles.push_back(ForMobile { mobile: index, frame }),
                    None => cx.drop(Drop::NoFrame, None),
                }
            });
        }
    }

    fn hear_common(&mut self, cx: &mut Context<'_>, now: Instant, message: &Common) {
        for mobile in self.mobiles.iter_mut().filter(|mobile| mobile.mac.is_on_ccch()) {
            if mobile.link.is_lost(cx.rng, BlockPeriod::at_or_before(now), CodingScheme::Cs1) {
                self.counts.lost += 1;
            } else {
                mobile.mac.hear_common(now, message);
            }
        }
    }
}

fn send_burst(cx: &mut Context<'_>, arfcn: u16, burst: Burst, sent: &mut VecDeque<Frame>) {
    send(cx, (arfcn, Logical::Random, 0, burst.frame), &[burst.code], sent);
}

fn send(
    cx: &mut Context<'_>,
    (arfcn, channel, slot, frame): (u16, Logical, u8, u64),
    octets: &[u8],
    sent: &mut VecDeque<Frame>,
) {
    let transmission = Transmission {
        arfcn,
        is_uplink: true,
        channel,
        slot,
        frame_number: frame_number(frame),
        level_dbm: LEVEL_DBM,
        octets,
    };
    match transmission.to_frame(cx.frames) {
        Some(frame) => sent.push_back(frame),
        None => cx.drop(Drop::NoFrame, None),
    }
}
