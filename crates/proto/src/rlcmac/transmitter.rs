//! What a cell sends, and when: blocks of its PDCHs and of the CCCH.
//!
//! Nothing ticks. [`Transmitter::plan`] says when a block begins or ends next; a cell that has nothing to send and awaits nothing has
//! no such time.

use super::block::DownBlock;
use super::ccch::block_ends;
use super::codec::AirOctets;
use super::multiframe::{BlockPeriod, frame_start};
use super::network::Pcu;
use gannet_machine::time::Instant;
use gannet_wire::rlcmac::ccch::CcchOctets;

/// What the CCCH does.
#[derive(Debug)]
enum Ccch {
    Silent,
    /// A block is chosen when this frame begins.
    Waiting(u64),
    /// A block is on the air since this frame.
    Sending(u64, CcchOctets),
}

/// What the PDCHs do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pdch {
    Silent,
    /// Blocks are chosen when this period begins.
    Waiting(u64),
    /// They are on the air.
    Sending(u64),
}

/// A PCU and its channels downlink.
#[derive(Debug)]
pub(super) struct Transmitter {
    pub(super) pcu: Pcu,
    ccch: Ccch,
    pdch: Pdch,
    down: [Option<AirOctets>; 8],
    /// Whose the data blocks among them are.
    owners: [Option<u32>; 8],
    /// Blocks of the PDCHs that there were, and those of them in which it was silent.
    pub(super) places: u64,
    pub(super) silent: u64,
    /// Blocks that do not become octets.
    pub(super) unreadable: u64,
}

impl Transmitter {
    pub(super) const fn new(pcu: Pcu) -> Self {
        Self {
            pcu,
            ccch: Ccch::Silent,
            pdch: Pdch::Silent,
            down: [const { None }; 8],
            owners: [None; 8],
            places: 0,
            silent: 0,
            unreadable: 0,
        }
    }

    /// Decides which block of the CCCH is the next.
    fn plan_common(&mut self, now: Instant) {
        if !matches!(self.ccch, Ccch::Sending(..)) {
            self.ccch = self.pcu.next_common_at(now).map_or(Ccch::Silent, Ccch::Waiting);
        }
    }

    /// When a block begins or ends next.
    pub(super) fn plan(&mut self, now: Instant) -> Option<Instant> {
        self.plan_common(now);
        if self.pdch == Pdch::Silent && self.pcu.is_active() {
            self.pdch = Pdch::Waiting(BlockPeriod::at_or_after(now).0);
        }
        let ccch = match self.ccch {
            Ccch::Silent => None,
            Ccch::Waiting(frame) => Some(frame_start(frame)),
            Ccch::Sending(frame, _) => Some(block_ends(frame)),
        };
        let pdch = match self.pdch {
            Pdch::Silent => None,
            Pdch::Waiting(period) => Some(BlockPeriod(period).start()),
            Pdch::Sending(period) => Some(BlockPeriod(period).end()),
        };
        [ccch, pdch].into_iter().flatten().min()
    }

    /// The period of the PDCHs that is over now and was not received yet.
    pub(super) fn ended_period(&self, now: Instant) -> Option<u64> {
        match self.pdch {
            Pdch::Sending(period) => Some(period).filter(|period| BlockPeriod(*period).end() <= now),
            Pdch::Waiting(_) | Pdch::Silent => None,
        }
    }

    /// That period has been received.
    pub(super) fn period_received(&mut self, period: u64) {
        self.pdch = if self.pcu.is_active() { Pdch::Waiting(period + 1) } else { Pdch::Silent };
    }

    /// A period that begins now: its blocks are chosen. They are there until [`Transmitter::take_block`] takes them.
    pub(super) fn begin_period(&mut self, now: Instant) -> Option<u64> {
        let Pdch::Waiting(period) = self.pdch else { return None };
        if BlockPeriod(period).start() > now {
            return None;
        }
        if !self.pcu.is_active() {
            self.pdch = Pdch::Silent;
            return None;
        }
        self.pcu.begin(now, period);
        let pdchs = self.pcu.pdchs();
        self.places += u64::from(pdchs.count_ones());
        for (slot, (place, owner)) in (0_u8..).zip(self.down.iter_mut().zip(&mut self.owners)) {
            let is_pdch = pdchs >> slot & 1 == 1;
            let block = if is_pdch { self.pcu.downlink(now, slot, period) } else { None };
            self.silent += u64::from(is_pdch && block.is_none());
            *owner = match &block {
                Some(DownBlock::Data { header, .. }) => self.pcu.mobile_of(header.tfi),
                Some(DownBlock::Control { .. }) | None => None,
            };
            let octets = block.as_ref().and_then(DownBlock::emit);
            self.unreadable += u64::from(block.is_some() && octets.is_none());
            *place = octets;
        }
        self.pdch = Pdch::Sending(period);
        Some(period)
    }

    /// The blocks that are on the air, with their timeslots.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (u8, &AirOctets)> {
        (0_u8..).zip(&self.down).filter_map(|(slot, block)| Some((slot, block.as_ref()?)))
    }

    /// Whose the data block on a timeslot is, or was.
    pub(super) fn owner(&self, slot: u8) -> Option<u32> {
        self.owners.get(usize::from(slot)).copied().flatten()
    }

    /// The block on a timeslot.
    pub(super) fn take_block(&mut self, slot: u8) -> Option<AirOctets> {
        self.down.get_mut(usize::from(slot)).and_then(Option::take)
    }

    /// A block of the CCCH that is over now, and the frame with which it began.
    pub(super) fn end_common(&mut self, now: Instant) -> Option<(u64, CcchOctets)> {
        let Ccch::Sending(frame, octets) = self.ccch else { return None };
        if block_ends(frame) > now {
            return None;
        }
        self.ccch = Ccch::Silent;
        Some((frame, octets))
    }

    /// A block of the CCCH that begins now, and its frame.
    pub(super) fn begin_common(&mut self, now: Instant) -> Option<(u64, CcchOctets)> {
        self.plan_common(now);
        let Ccch::Waiting(frame) = self.ccch else { return None };
        if frame_start(frame) > now {
            return None;
        }
        let message = self.pcu.next_common(now, frame);
        let arfcn = self.pcu.options().arfcn;
        let octets = message.as_ref().and_then(|message| message.emit(arfcn));
        self.unreadable += u64::from(message.is_some() && octets.is_none());
        self.ccch = octets.map_or(Ccch::Silent, |octets| Ccch::Sending(frame, octets));
        octets.map(|octets| (frame, octets))
    }
}
