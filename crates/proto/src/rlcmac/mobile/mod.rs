//! The MAC of a mobile: it asks for TBFs, listens to its PDCHs, and sends when it may.
//!
//! ```text
//!               LL-PDUs to send               answered: single block, TBF
//!   packet idle ───────────────► random access ─────────────────────────► packet transfer
//!        ▲   │  downlink assignment on AGCH or PCH                              │    ▲
//!        │   └──────────────────────────────────────────────────────────────────┼────┘
//!        └──────── the last TBF has ended (uplink: final acknowledgement; downlink: T3192)
//! ```
//!
//! [`access`] is random access on the CCCH, [`uplink`] the uplink TBF with its contention resolution, [`downlink`] the downlink
//! TBF, [`release`] PDCHs that go, [`room`] what waits and how much is enough. This module has what they share: the queue, the timers, the blocks that polls have reserved.

mod access;
mod config;
mod downlink;
mod release;
mod room;
mod uplink;

use super::block::{DownBlock, UpBlock};
use super::config::CellOptions;
use super::custody::{Carried, Custody, Delivered, LlPdu, enqueue, is_signalling};
use super::fates::Came;
use super::multiframe::{BlockPeriod, frame_start};
use super::paging::Drx;
use super::rlc::{Mode, RlcCounts, Sender};
use super::signal::{Burst, Common, Down, To, Up};
use access::Access;
pub use config::{Keeps, MobileConfig};
use core::ops::AddAssign;
use downlink::DownlinkTbf;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::Deadlines;
use gannet_wire::id::Tlli;
use gannet_wire::l3::ie::RadioPriority;
use gannet_wire::rlcmac::coding::CodingScheme;
use gannet_wire::rlcmac::value::AckType;
use std::collections::VecDeque;
use uplink::UplinkTbf;

gannet_machine::timer_names! {
    /// Timers of a mobile (44.060 clause 13.1, 04.18 clause 11.1.1).
    pub enum MobileTimer {
        /// The next access burst (04.18 clause 3.5.2.1.2).
        Burst = "access burst",
        /// Answers to access bursts are awaited (04.18 clause 11.1.1).
        T3146 = "T3146",
        /// No access after IMMEDIATE ASSIGNMENT REJECT (04.18 clause 11.1.1).
        T3142 = "T3142",
        /// The USF of a new uplink TBF is awaited.
        T3164 = "T3164",
        /// Contention resolution is awaited.
        T3166 = "T3166",
        /// PACKET UPLINK ASSIGNMENT is awaited.
        T3168 = "T3168",
        /// No access after PACKET ACCESS REJECT.
        T3172 = "T3172",
        /// The USF is awaited again.
        T3180 = "T3180",
        /// The acknowledgement of the last block is awaited, or of a stalled window.
        T3182 = "T3182",
        /// Any PACKET UPLINK ACK/NACK is awaited, in extended uplink TBF mode.
        T3184 = "T3184",
        /// Blocks of the downlink TBF are awaited.
        T3190 = "T3190",
        /// The downlink TBF is complete and may be followed by another.
        T3192 = "T3192",
    }
}

/// T3164, T3166, T3180, T3182, T3184 and T3190 (44.060 clause 13.1).
const FIVE_SECONDS: Duration = Duration::from_secs(5);

/// Whether RLC acknowledges, and so how a sender and a receiver work.
const fn mode(acknowledged: bool) -> Mode {
    if acknowledged { Mode::Acknowledged } else { Mode::Unacknowledged }
}

/// What happened in a mobile, each counted since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MobileCounts {
    /// Accesses on the CCCH.
    pub accesses: u64,
    /// Access bursts.
    pub bursts: u64,
    /// Accesses that nobody answered (T3146).
    pub unanswered: u64,
    /// Accesses that were refused.
    pub rejected: u64,
    /// Uplink TBFs.
    pub uplink_tbfs: u64,
    /// Downlink TBFs.
    pub downlink_tbfs: u64,
    /// Contentions that another mobile won.
    pub contentions_lost: u64,
    /// Expiries of T3164, T3166, T3168, T3180, T3182, T3184, T3190 and N3104.
    pub expiries: u64,
    /// PACKET TBF RELEASEs.
    pub released: u64,
    /// LL-PDUs that were given up.
    pub given_up: u64,
    /// Uplink data blocks sent, by [`super::rlc::Kind`] in the order of its `ALL`.
    pub data: [u64; 5],
    /// Downlink data blocks that came.
    pub down: Came,
}

impl AddAssign for MobileCounts {
    fn add_assign(&mut self, other: Self) {
        self.accesses += other.accesses;
        self.bursts += other.bursts;
        self.unanswered += other.unanswered;
        self.rejected += other.rejected;
        self.uplink_tbfs += other.uplink_tbfs;
        self.downlink_tbfs += other.downlink_tbfs;
        self.contentions_lost += other.contentions_lost;
        self.expiries += other.expiries;
        self.given_up += other.given_up;
        for (sum, more) in self.data.iter_mut().zip(other.data) {
            *sum += more;
        }
    }
}

/// What a block reserves for a mobile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// PACKET DOWNLINK ACK/NACK.
    DownlinkAckNack,
    /// PACKET CONTROL ACKNOWLEDGEMENT in the form that the cell wants; `true` where the uplink TBF ends with it.
    Control(bool),
    /// The same in the form that PACKET POLLING REQUEST wants.
    Polled(AckType),
    /// PACKET RESOURCE REQUEST.
    ResourceRequest,
}

/// The MAC of one mobile.
#[derive(Debug)]
pub struct Mac {
    config: MobileConfig,
    options: CellOptions,
    /// The one used now, and the one before: the network may still use it.
    tllis: [Option<Tlli>; 2],
    queue: VecDeque<LlPdu>,
    queued_octets: usize,
    access: Option<Access>,
    /// Where an uplink assignment is awaited (T3168).
    awaiting: Option<u8>,
    uplink: Option<UplinkTbf>,
    downlink: Option<DownlinkTbf>,
    answers: VecDeque<(u8, u64, Answer)>,
    deadlines: Deadlines<MobileTimer>,
    /// Accesses in a row that led to nothing.
    failures: u8,
    /// Uplink TBFs in a row that have broken before one LL-PDU was acknowledged.
    broken: u8,
    /// What the uplink TBF may carry in a block period, or what the last one could.
    octets_each_period: usize,
    is_suspended: bool,
    /// When it listens in packet idle mode; `None` for each block.
    drx: Option<Drx>,
    /// Until then it listens to each block: the non-DRX period after a transfer.
    awake_until: Instant,
    /// What was given up.
    lost: VecDeque<LlPdu>,
    counts: MobileCounts,
    /// RLC of the TBFs that have ended.
    ended: RlcCounts,
}

impl Mac {
    /// A mobile in packet idle mode, in a cell with these options.
    #[must_use]
    pub fn new(config: MobileConfig, options: CellOptions) -> Self {
        Self {
            config,
            options,
            tllis: [None; 2],
            queue: VecDeque::new(),
            queued_octets: 0,
            access: None,
            awaiting: None,
            uplink: None,
            downlink: None,
            answers: VecDeque::new(),
            deadlines: Deadlines::default(),
            failures: 0,
            broken: 0,
            octets_each_period: CodingScheme::Cs1.data_octets(),
            is_suspended: false,
            drx: None,
            awake_until: Instant::ZERO,
            lost: VecDeque::new(),
            counts: MobileCounts::default(),
            ended: RlcCounts::default(),
        }
    }

    /// The mobile has this TLLI from now on; it is also sought by the one before.
    pub fn assign_tlli(&mut self, tlli: Tlli) {
        if self.tllis.first() != Some(&Some(tlli)) {
            let [current, _] = self.tllis;
            self.tllis = [Some(tlli), current];
        }
    }

    /// True where the mobile answers to this TLLI.
    #[must_use]
    pub fn has_tlli(&self, tlli: Tlli) -> bool {
        self.tllis.contains(&Some(tlli))
    }

    /// True where an uplink LL-PDU may come under this TLLI: the mobile answers to it, or has begun its TBF with it and has got another
    /// since.
    #[must_use]
    pub fn sends_as(&self, tlli: Tlli) -> bool {
        self.has_tlli(tlli) || self.uplink.as_ref().is_some_and(|tbf| tbf.tlli() == tlli)
    }

    /// What happened so far.
    #[must_use]
    pub const fn counts(&self) -> MobileCounts {
        self.counts
    }

    /// RLC of all TBFs until now: what was sent uplink, and what came downlink.
    #[must_use]
    pub fn rlc_counts(&self) -> RlcCounts {
        let mut sum = self.ended;
        self.uplink.iter().for_each(|tbf| sum.sender += *tbf.sender_counts());
        self.downlink.iter().for_each(|tbf| sum.receiver += *tbf.receiver_counts());
        sum
    }

    /// A downlink data block with this TFI on this timeslot is one of its TBF.
    #[must_use]
    pub fn expects(&self, tfi: u8, slot: u8) -> bool {
        self.downlink.as_ref().is_some_and(|tbf| tbf.tfi == tfi && tbf.slots & bit(slot) != 0)
    }

    /// Radio priority of the most urgent LL-PDU that waits for a TBF.
    fn priority(&self) -> Option<RadioPriority> {
        self.queue.iter().map(|pdu| pdu.priority).min_by_key(|priority| *priority as u8)
    }

    /// LL-PDUs that wait for a TBF, and their octets.
    #[must_use]
    pub fn waiting(&self) -> (usize, usize) {
        (self.queue.len(), self.queued_octets)
    }

    /// The mobile is in packet transfer mode or on its way there.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        self.access.is_some() || self.awaiting.is_some() || self.is_on_pdch()
    }

    /// Something of it is on the air, or will be: a block, a burst, an answer to a poll, the end of a timer. Or something was given up that
    /// nobody has taken.
    #[must_use]
    pub fn is_active(&self) -> bool {
        let is_on_air = self.is_busy() || !self.answers.is_empty();
        is_on_air || self.next_due().is_some() || !self.lost.is_empty()
    }

    /// It listens to PDCHs.
    const fn is_on_pdch(&self) -> bool {
        self.uplink.is_some() || self.downlink.is_some() || self.awaiting.is_some()
    }

    /// It listens to the CCCH.
    #[must_use]
    pub const fn is_on_ccch(&self) -> bool {
        !self.is_on_pdch() && !self.is_suspended
    }

    /// How it listens in packet idle mode; `None` where it listens to each block.
    pub const fn set_drx(&mut self, drx: Option<Drx>) {
        self.drx = drx;
    }

    /// It listens to the CCCH block that begins with this frame. In DRX mode that is a block of its paging group (44.060 clause
    /// 5.5.1.5); it is not in DRX mode while it makes an access, and for a time after a transfer.
    #[must_use]
    pub fn listens_to(&self, frame: u64) -> bool {
        let is_its = |drx: Drx| {
            let paging = self.options.paging;
            self.access.is_some()
                || frame_start(frame) < self.awake_until
                || paging.is_of(paging.group(&drx.imsi), frame)
        };
        self.is_on_ccch() && self.drx.is_none_or(is_its)
    }

    /// A TBF has ended. With the last of them the mobile is in packet idle mode again, and its non-DRX period begins.
    fn tbf_ended(&mut self, now: Instant) {
        if let Some(drx) = self.drx.filter(|_| self.uplink.is_none() && self.downlink.is_none()) {
            self.awake_until = now + drx.non_drx.min(self.options.drx_timer_max);
        }
    }

    /// The timeslots that it listens to, bit 0 for timeslot 0.
    #[must_use]
    pub fn slots(&self) -> u8 {
        let uplink = self.uplink.as_ref().map_or(0, UplinkTbf::slots);
        let downlink = self.downlink.as_ref().map_or(0, |tbf| tbf.slots);
        let awaiting = self.awaiting.map_or(0, bit);
        let reserved = self.answers.iter().fold(0, |set, (slot, ..)| set | bit(*slot));
        uplink | downlink | awaiting | reserved
    }

    /// Takes an LL-PDU to send.
    ///
    /// # Errors
    /// The LL-PDU, where so much waits that it has no room.
    pub fn request(&mut self, now: Instant, pdu: LlPdu) -> Result<(), LlPdu> {
        let octets = self.queued_octets + pdu.frame.len();
        let within = self.uplink.as_ref().map_or(0, |tbf| tbf.sender.waiting_octets());
        if octets > self.config.queue_octets || octets + within > self.config.buffer_octets {
            return Err(pdu);
        }
        self.take(now, pdu);
        Ok(())
    }

    /// The same without a limit, for what was taken before.
    pub fn take(&mut self, now: Instant, pdu: LlPdu) {
        self.assign_tlli(pdu.tlli);
        self.queued_octets += pdu.frame.len();
        if is_signalling(&pdu.frame) {
            self.recall_data();
        }
        enqueue(&mut self.queue, pdu);
        self.is_suspended = false;
        self.feed_uplink();
        self.seek_uplink(now);
    }

    /// When a timer ends next.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.deadlines.next()
    }

    /// A timer may have ended. Gives the access burst that goes in the frame that begins now.
    pub fn wake(&mut self, now: Instant, rng: &mut Rng) -> Option<Burst> {
        let mut burst = None;
        while let Some(timer) = self.deadlines.pop_due(now) {
            match timer {
                MobileTimer::Burst => burst = self.burst_due(now, rng).or(burst),
                MobileTimer::T3146 => self.access_unanswered(now),
                MobileTimer::T3142 | MobileTimer::T3172 => self.seek_uplink(now),
                MobileTimer::T3168 => self.assignment_missing(now),
                MobileTimer::T3164
                | MobileTimer::T3166
                | MobileTimer::T3180
                | MobileTimer::T3182
                | MobileTimer::T3184 => self.abandon_uplink(now),
                MobileTimer::T3190 => {
                    self.counts.expiries += 1;
                    self.end_downlink(now);
                }
                MobileTimer::T3192 => self.end_downlink(now),
            }
        }
        burst
    }

    /// What the network sends on the CCCH.
    pub fn hear_common(&mut self, now: Instant, message: &Common) {
        if self.is_on_ccch() {
            self.common(now, message);
        }
    }

    /// What the network sends on a PDCH in a block period, and who may send in the next. `deliver` takes the LL-PDUs that are
    /// whole with it.
    pub fn hear(
        &mut self,
        now: Instant,
        (slot, at): (u8, u64),
        block: &DownBlock,
        deliver: impl FnMut(&[u8]),
    ) {
        self.hear_usf(slot, at, block.usf());
        match block {
            DownBlock::Data { header, body } => {
                if self.hear_data(now, slot, header, body, deliver)
                    && let Some(rrbp) = header.rrbp
                {
                    self.answers.push_back((slot, BlockPeriod(at).reserved(rrbp).0, Answer::DownlinkAckNack));
                }
            }
            DownBlock::Control { rrbp, message, .. } => {
                let answer = self.control(now, (slot, at), message, rrbp.is_some());
                if let (Some(answer), Some(rrbp)) = (answer, rrbp) {
                    self.answers.push_back((slot, BlockPeriod(at).reserved(*rrbp).0, answer));
                }
            }
        }
    }

    /// A message on PACCH. Gives the answer that a poll in it is for.
    fn control(
        &mut self,
        now: Instant,
        (slot, at): (u8, u64),
        message: &Down,
        is_poll: bool,
    ) -> Option<Answer> {
        match *message {
            Down::DownlinkAssignment { to, tfi, slots, acknowledged, is_new } => {
                self.is_meant(to).then(|| {
                    self.assigned_downlink(now, tfi, slots, acknowledged, is_new);
                    Answer::Control(false)
                })
            }
            Down::UplinkAssignment { to, tfi, usfs, coding } => {
                let is_mine = self.is_meant(to) && (self.awaiting.is_some() || self.uplink.is_none());
                is_mine.then(|| {
                    self.assigned_uplink(now, tfi, usfs, coding, None);
                    Answer::Control(false)
                })
            }
            Down::UplinkAckNack { tfi, coding, report, contention } => {
                self.acknowledged(now, (slot, at, tfi), coding, &report, contention, is_poll)
            }
            Down::AccessReject { to, wait } => {
                if self.is_meant(to) && self.awaiting.is_some() {
                    self.refused(now, MobileTimer::T3172, wait);
                }
                None
            }
            Down::TbfRelease { to, is_both } => self.is_meant(to).then(|| {
                self.counts.released += 1;
                if is_both || matches!(to, To::UplinkTfi(_)) {
                    self.drop_uplink(now);
                    self.access_failed(now);
                }
                if is_both || matches!(to, To::DownlinkTfi(_)) {
                    self.end_downlink(now);
                }
                Answer::Control(false)
            }),
            Down::PdchRelease { available } => {
                self.pdchs_gone(now, !available);
                None
            }
            Down::Polling { to, answer } => self.is_meant(to).then_some(Answer::Polled(answer)),
            Down::Dummy => None,
        }
    }

    fn is_meant(&self, to: To) -> bool {
        match to {
            To::UplinkTfi(tfi) => {
                self.uplink.as_ref().is_some_and(|tbf| tbf.tfi == tfi && !tbf.is_contended())
            }
            To::DownlinkTfi(tfi) => self.downlink.as_ref().is_some_and(|tbf| tbf.tfi == tfi),
            To::Tlli(tlli) => self.has_tlli(tlli),
        }
    }

    /// What the mobile sends on a PDCH in a block period; `None` where it may not or has nothing.
    pub fn transmit(&mut self, now: Instant, slot: u8, at: u64) -> Option<UpBlock> {
        self.answers.retain(|(_, when, _)| *when >= at);
        if let Some(place) = self.answers.iter().position(|(on, when, _)| (*on, *when) == (slot, at)) {
            let (.., answer) = self.answers.remove(place)?;
            if let Some(block) = self.answer(now, slot, answer) {
                return Some(block);
            }
        }
        self.transmit_by_usf(now, slot, at)
    }

    fn answer(&mut self, now: Instant, slot: u8, answer: Answer) -> Option<UpBlock> {
        match answer {
            Answer::DownlinkAckNack => self.downlink_ack_nack(now, slot).map(UpBlock::Control),
            Answer::Control(ends_uplink) => {
                if ends_uplink {
                    self.end_uplink(now);
                }
                self.control_ack(self.options.control_ack)
            }
            Answer::Polled(form) => self.control_ack(form),
            Answer::ResourceRequest => self.resource_request(now, slot).map(UpBlock::Control),
        }
    }

    /// PACKET CONTROL ACKNOWLEDGEMENT (44.060 clause 11.2.2).
    const fn control_ack(&self, form: AckType) -> Option<UpBlock> {
        match (form, self.tllis) {
            (AckType::AccessBursts, _) => Some(UpBlock::ControlAckBursts(self.options.access_burst)),
            (AckType::ControlBlock, [Some(tlli), _]) => Some(UpBlock::Control(Up::ControlAck { tlli })),
            (AckType::ControlBlock, [None, _]) => None,
        }
    }

    /// An LL-PDU of the uplink TBF has arrived at the network, with these octets.
    pub fn delivered(&mut self, octets: &[u8]) -> Option<Delivered> {
        self.uplink.as_mut()?.custody.deliver(octets)
    }

    /// The mobile has an uplink TBF, whose LL-PDUs it would not send by another.
    #[must_use]
    pub const fn carries(&self) -> bool {
        self.uplink.is_some()
    }

    /// The next LL-PDU that was given up.
    pub fn pop_lost(&mut self) -> Option<LlPdu> {
        self.lost.pop_front()
    }

    /// On a dedicated channel, or with `false` back: all TBFs end, and nothing is heard meanwhile.
    pub fn suspend(&mut self, now: Instant, on: bool) {
        if on {
            self.leave_all();
        }
        self.is_suspended = on;
        if !on {
            self.seek_uplink(now);
        }
    }

    /// The mobile leaves the cell for one with these options. What it had to send it has still.
    pub fn change_cell(&mut self, options: CellOptions) {
        self.leave_all();
        self.options = options;
    }

    /// Takes the LL-PDUs that it has to send, in their order.
    pub fn take_queue(&mut self, out: impl FnMut(LlPdu)) {
        self.queued_octets = 0;
        self.queue.drain(..).for_each(out);
    }

    /// Ends everything without a word to the network.
    fn leave_all(&mut self) {
        self.deadlines.clear_all();
        self.answers.clear();
        (self.access, self.awaiting, self.failures, self.broken) = (None, None, 0, 0);
        self.drop_downlink();
        self.take_back();
    }

    /// The LL-PDUs of the uplink TBF that have not arrived are to be sent by another.
    fn take_back(&mut self) {
        let Some(tbf) = self.uplink.take() else { return };
        self.ended.sender += *tbf.sender_counts();
        let (unsent, sent) = tbf.into_parts();
        self.lost.extend(sent);
        self.put_back(unsent);
    }

    /// What could not be sent in so many accesses or TBFs is given up.
    fn give_up(&mut self) {
        self.counts.given_up += self.queue.len() as u64;
        self.queued_octets = 0;
        self.lost.extend(self.queue.drain(..));
        (self.failures, self.broken) = (0, 0);
    }
}

/// A timeslot in a set.
const fn bit(slot: u8) -> u8 {
    1 << (slot & 7)
}

/// Moves LL-PDUs from a queue into a TBF, up to the first with the TLLI `until`; gives the octets moved.
fn feed(
    queue: &mut VecDeque<LlPdu>,
    until: Option<Tlli>,
    sender: &mut Sender<Carried>,
    custody: &mut Custody,
) -> usize {
    let mut octets = 0;
    while !sender.is_closed()
        && queue.front().is_some_and(|pdu| until != Some(pdu.tlli))
        && let Some(pdu) = queue.pop_front()
    {
        octets += pdu.frame.len();
        if let Err(carried) = sender.push(custody.take(pdu)) {
            // It has no octets: there is nothing to send.
            custody.give_back(carried);
        }
    }
    octets
}
