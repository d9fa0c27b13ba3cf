//! The sending side of a TBF: 04.60 (44.060) clauses 9.1.1 to 9.1.3, 9.3.1 to 9.3.3.

use super::cut::{Plan, plan};
use super::{Age, Evidence, Kind, LlPdu, Mode, Report, SNS, SenderCounts, Unasked, WINDOW, modulo};
use core::fmt;
use gannet_wire::id::Tlli;
use gannet_wire::rlcmac::block::{Body, CV_MANY, TLLI_LEN};
use gannet_wire::rlcmac::coding::CodingScheme;
use std::collections::VecDeque;

/// How a TBF ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Not yet: no block is the final one, however little waits.
    Open,
    /// With the queue: the block that takes its last octets is the final one. Downlink.
    WithQueue,
    /// With the queue, and the mobile announces it (clause 9.3.1). From the first countdown value below 15 on the TBF takes no
    /// LL-PDU more.
    Countdown {
        /// `BS_CV_MAX`, 0 to 15.
        cv_max: u8,
        /// Timeslots of the TBF, 1 to 8: NTS.
        slots: u8,
    },
}

/// A block that is to be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Its number.
    pub bsn: u8,
    /// Why it is sent.
    pub kind: Kind,
    /// What reports say of it; of a new block [`Evidence::None`].
    pub evidence: Evidence,
    /// It is the last block of the TBF: FBI downlink, countdown value 0 uplink.
    pub is_final: bool,
    /// The countdown value: 15 with [`Ending::Open`] and [`Ending::WithQueue`].
    pub countdown: u8,
    /// Its data field.
    pub body: Body,
}

/// What a report changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Acknowledged {
    /// Blocks that are acknowledged by it.
    pub acknowledged: u32,
    /// Blocks that are to be sent again because of it.
    pub nacked: u32,
}

/// A report whose SSN is not between V(A) and V(S). It changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaleReport {
    /// Its SSN.
    pub ssn: u8,
    /// V(A).
    pub v_a: u8,
    /// V(S).
    pub v_s: u8,
}

impl fmt::Display for StaleReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SSN {} is not between V(A) = {} and V(S) = {}", self.ssn, self.v_a, self.v_s)
    }
}

/// An element of V(B). INVALID is what is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Pending,
    Nacked,
    Acked,
}

#[derive(Debug, Clone)]
struct Block {
    body: Body,
    state: State,
    /// LL-PDUs that end in it.
    ended: usize,
    is_final: bool,
    /// It was sent again because of a report.
    was_needed: bool,
    /// How many blocks had been sent when it was sent last.
    sent_at: u64,
    /// What reports say of it since then.
    evidence: Evidence,
    /// It was sent again, and no report has come that could tell of that copy.
    is_again: bool,
}

impl Block {
    /// A report lacks it, of which it may be known when it was made. `is_told`: it stands before SSN. True where it counts as missing.
    const fn note(&mut self, is_told: bool, is_later: bool, is_dated: bool, age: Age) -> bool {
        if is_dated && !is_later {
            (self.evidence, self.is_again) = (Evidence::Asked, false);
        } else if is_dated && is_told && matches!(self.evidence, Evidence::None) {
            self.evidence = Evidence::Early;
        }
        match age {
            Age::Ignored => is_told,
            Age::Spares => is_told && !is_later,
            Age::SparesAndFinds => !is_later,
        }
    }
}

/// The sender. The LL-PDUs that it is given it gives back, in their order: by [`Sender::pop_done`] when they have arrived (in
/// unacknowledged mode, when they are sent), by [`Sender::into_remaining`] otherwise.
#[derive(Debug, Clone)]
pub struct Sender<P> {
    mode: Mode,
    scheme: CodingScheme,
    tlli: Option<Tlli>,
    queue: VecDeque<P>,
    /// LL-PDUs at the front of the queue that are done.
    done: usize,
    /// LL-PDUs at the front of the queue whose octets are all in blocks.
    cut: usize,
    /// Octets of the LL-PDU behind these that are in blocks.
    offset: usize,
    /// Octets of the queue that are in no block.
    waiting: usize,
    /// The blocks V(A) to V(S) - 1. In unacknowledged mode the final one alone.
    blocks: VecDeque<Block>,
    nacked: usize,
    /// V(S), not modulo anything.
    v_s: u32,
    /// Which of the blocks comes next where they are sent unasked, by its place behind V(A).
    round: usize,
    unasked: Unasked,
    /// Nothing is sent again now.
    is_held: bool,
    is_closed: bool,
    has_final: bool,
    counts: SenderCounts,
}

impl<P: LlPdu> Sender<P> {
    /// The sender of a new TBF.
    #[must_use]
    pub fn new(mode: Mode, scheme: CodingScheme) -> Self {
        Self {
            mode,
            scheme,
            tlli: None,
            queue: VecDeque::new(),
            done: 0,
            cut: 0,
            offset: 0,
            waiting: 0,
            blocks: VecDeque::new(),
            nacked: 0,
            v_s: 0,
            round: 0,
            unasked: Unasked::Always,
            is_held: false,
            is_closed: false,
            has_final: false,
            counts: SenderCounts::default(),
        }
    }

    /// Blocks that are cut from now on use this scheme. Those that exist keep theirs (clause 9.3.2.1: GPRS does not cut them anew).
    pub const fn set_scheme(&mut self, scheme: CodingScheme) {
        self.scheme = scheme;
    }

    /// Blocks that are cut from now on carry this TLLI, or none: contention resolution (clause 7.1.2.3). Those that exist keep theirs.
    pub const fn set_tlli(&mut self, tlli: Option<Tlli>) {
        self.tlli = tlli;
    }

    /// Which blocks are sent again that nobody has reported.
    pub const fn set_unasked(&mut self, unasked: Unasked) {
        self.unasked = unasked;
    }

    /// Whether nothing is sent again for now: then [`Sender::next_block`] gives new blocks alone.
    pub const fn set_held(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Takes an LL-PDU behind the others.
    ///
    /// # Errors
    /// Gives it back where the TBF takes none any more, or it has no octets.
    pub fn push(&mut self, pdu: P) -> Result<(), P> {
        let octets = pdu.octets().len();
        if self.is_closed || octets == 0 {
            return Err(pdu);
        }
        self.waiting += octets;
        self.queue.push_back(pdu);
        Ok(())
    }

    /// The TBF takes no LL-PDU any more: its final block exists or is announced.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Octets of LL-PDUs that are in no block yet.
    #[must_use]
    pub const fn waiting_octets(&self) -> usize {
        self.waiting
    }

    /// LL-PDUs of which octets are in no block yet.
    #[must_use]
    pub fn waiting_pdus(&self) -> usize {
        self.queue.len() - self.cut.min(self.queue.len())
    }

    /// Blocks from the oldest that is not acknowledged to the newest that was sent: V(S) - V(A).
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.blocks.len()
    }

    /// Blocks among them that are not acknowledged.
    #[must_use]
    pub fn unacknowledged(&self) -> usize {
        self.blocks.iter().filter(|block| block.state != State::Acked).count()
    }

    /// V(S): the BSN of the next new block.
    #[must_use]
    pub const fn v_s(&self) -> u8 {
        modulo(self.v_s)
    }

    /// V(A): the BSN of the oldest block that is not acknowledged.
    #[must_use]
    pub fn v_a(&self) -> u8 {
        modulo(self.first())
    }

    /// SI: V(S) = V(A) + k, no new block may be sent (clause 9.3.2).
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.mode == Mode::Acknowledged && self.blocks.len() >= usize::from(WINDOW)
    }

    /// Everything is acknowledged, the final block included. In unacknowledged mode that is said by a final report too.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.has_final && self.blocks.is_empty()
    }

    /// Nothing waits, and all that was sent is acknowledged.
    #[must_use]
    pub fn has_nothing(&self) -> bool {
        self.waiting == 0 && self.unacknowledged() == 0
    }

    /// The final block exists: it was sent at least once.
    #[must_use]
    pub const fn has_final(&self) -> bool {
        self.has_final
    }

    /// How many blocks were sent so far, each time counted: for [`Sender::acknowledge`].
    #[must_use]
    pub const fn serial(&self) -> u64 {
        self.counts.sent()
    }

    /// What it cost so far.
    #[must_use]
    pub const fn counts(&self) -> &SenderCounts {
        &self.counts
    }

    /// Why [`Sender::next_block`] would send a block now; `None` where it has none.
    #[must_use]
    pub fn peek(&self) -> Option<Kind> {
        self.choose().map(|(kind, _)| kind)
    }

    /// The next block in the order of clause 9.1.3: the oldest that is reported missing, else a new one while the window
    /// permits, else those that nobody has reported, from the oldest on and round again.
    pub fn next_block(&mut self, ending: Ending) -> Option<Sent> {
        let (kind, place) = self.choose()?;
        if kind == Kind::New {
            return self.new_block(ending);
        }
        self.counts.count(kind);
        let sent_at = self.counts.sent();
        let bsn = self.first().wrapping_add(u32::try_from(place).unwrap_or(u32::MAX));
        let block = self.blocks.get_mut(place)?;
        if block.state == State::Nacked {
            self.nacked -= 1;
            block.was_needed = true;
        } else {
            self.round = place + 1;
        }
        block.state = State::Pending;
        block.sent_at = sent_at;
        block.is_again = true;
        let evidence = core::mem::replace(&mut block.evidence, Evidence::None);
        let (body, is_final) = (block.body, block.is_final);
        self.counts.count_again(evidence);
        self.counts.again_octets += body.scheme().data_octets() as u64;
        let behind = (self.v_s - bsn) as usize - 1;
        let countdown = self.countdown(ending, behind);
        Some(Sent { bsn: modulo(bsn), kind, evidence, is_final, countdown, body })
    }

    /// Takes over a report.
    ///
    /// A block that was sent again after the receiver made the report is missing in it though it may be on its way. The blocks
    /// of which that is known stay PENDING-ACK: where `sent_before` says what [`Sender::serial`] was when the report was made,
    /// those that were sent later. With `None` every block that the report lacks is NACKED, as clause 9.1.3 has it. In
    /// unacknowledged mode only the final report counts.
    ///
    /// # Errors
    /// A report that cannot be about this window; it changes nothing.
    pub fn acknowledge(
        &mut self,
        report: &Report,
        sent_before: Option<u64>,
    ) -> Result<Acknowledged, StaleReport> {
        let age = if sent_before.is_some() { Age::Spares } else { Age::Ignored };
        self.take_over(report, sent_before, age)
    }

    /// The same where it is known that [`Sender::serial`] was `made` when the report was made, with what is to be made of that.
    ///
    /// # Errors
    /// As [`Sender::acknowledge`].
    pub fn acknowledge_made_at(
        &mut self,
        report: &Report,
        made: u64,
        age: Age,
    ) -> Result<Acknowledged, StaleReport> {
        self.take_over(report, Some(made), age)
    }

    fn take_over(
        &mut self,
        report: &Report,
        made: Option<u64>,
        age: Age,
    ) -> Result<Acknowledged, StaleReport> {
        let mut result = Acknowledged::default();
        if self.mode == Mode::Unacknowledged && !report.is_final {
            return Ok(result);
        }
        let known = usize::from(report.ssn.wrapping_sub(self.v_a()) % SNS);
        if !report.is_final && known > self.blocks.len() {
            self.counts.stale_reports += 1;
            return Err(StaleReport { ssn: report.ssn, v_a: self.v_a(), v_s: self.v_s() });
        }
        let known = if report.is_final { self.blocks.len() } else { known };
        for (place, block) in self.blocks.iter_mut().enumerate() {
            let is_told = place < known;
            let arrived = known
                .checked_sub(1 + place)
                .is_some_and(|bit| report.is_final || (bit < 64 && report.bitmap >> bit & 1 != 0));
            let is_later = made.is_some_and(|serial| block.sent_at > serial);
            let is_denied = !arrived && block.note(is_told, is_later, made.is_some(), age);
            match block.state {
                State::Pending if is_denied => {
                    block.state = State::Nacked;
                    self.nacked += 1;
                    result.nacked += 1;
                }
                State::Pending | State::Nacked if arrived => {
                    self.nacked -= usize::from(block.state == State::Nacked);
                    block.state = State::Acked;
                    result.acknowledged += 1;
                }
                State::Acked | State::Pending | State::Nacked => {}
            }
        }
        self.counts.acknowledged += u64::from(result.acknowledged);
        self.advance();
        Ok(result)
    }

    /// The next LL-PDU that has arrived whole, or that is sent in unacknowledged mode.
    pub fn pop_done(&mut self) -> Option<P> {
        self.done = self.done.checked_sub(1)?;
        self.cut -= 1;
        self.queue.pop_front()
    }

    /// Takes out the LL-PDUs that `leaves` says, among those of which nothing is in a block. None where a countdown has begun:
    /// the mobile has told how much is left.
    pub fn take_unsent(&mut self, mut leaves: impl FnMut(&P) -> bool, mut taken: impl FnMut(P)) {
        if self.is_closed {
            return;
        }
        let begun = self.cut + usize::from(self.offset > 0);
        for pdu in self.queue.split_off(begun.min(self.queue.len())) {
            if leaves(&pdu) {
                self.waiting -= pdu.octets().len();
                taken(pdu);
            } else {
                self.queue.push_back(pdu);
            }
        }
    }

    /// All LL-PDUs that are not done, in their order, also those of which some blocks are acknowledged: the receiver of a TBF
    /// that ends now throws these away.
    pub fn into_remaining(mut self) -> impl Iterator<Item = P> {
        self.queue.drain(..self.done.min(self.queue.len()));
        self.queue.into_iter()
    }

    fn first(&self) -> u32 {
        self.v_s - u32::try_from(self.blocks.len()).unwrap_or(self.v_s)
    }

    fn choose(&self) -> Option<(Kind, usize)> {
        if self.nacked > 0 && !self.is_held {
            let (place, block) =
                self.blocks.iter().enumerate().find(|(_, block)| block.state == State::Nacked)?;
            return Some((if block.was_needed { Kind::Repeated } else { Kind::Needed }, place));
        }
        let is_stalled = self.is_stalled();
        if self.waiting > 0 && !is_stalled {
            return Some((Kind::New, 0));
        }
        let unasked = if self.is_held { Unasked::Never } else { self.unasked };
        let may = |block: &Block| match unasked {
            Unasked::Always => block.state == State::Pending,
            Unasked::Once => block.state == State::Pending && !block.is_again,
            Unasked::Never => false,
        };
        let is_pending = |place: &usize| self.blocks.get(*place).is_some_and(may);
        let place = (self.round..self.blocks.len()).chain(0..self.round).find(is_pending)?;
        Some((if is_stalled { Kind::PrematureStalled } else { Kind::PrematureIdle }, place))
    }

    fn rests(&self) -> impl Iterator<Item = usize> {
        let mut offset = self.offset;
        let rest = move |pdu: &P| pdu.octets().len() - core::mem::take(&mut offset);
        self.queue.iter().skip(self.cut).map(rest)
    }

    fn space(&self) -> usize {
        self.scheme.data_octets() - if self.tlli.is_some() { TLLI_LEN } else { 0 }
    }

    fn new_block(&mut self, ending: Ending) -> Option<Sent> {
        let plan = plan(self.space(), self.rests(), ending != Ending::Open);
        let body = self.compose(&plan)?;
        let octets = self.space() - plan.lengths().len() - plan.filler;
        self.offset = plan.tail + if plan.ended == 0 { self.offset } else { 0 };
        self.cut += plan.ended;
        self.waiting -= octets;
        let is_final = self.waiting == 0 && ending != Ending::Open;
        self.is_closed |= is_final;
        self.has_final |= is_final;
        let bsn = self.v_s();
        self.v_s += 1;
        self.round = 0;
        self.counts.count(Kind::New);
        self.counts.ll_pdu_octets += octets as u64;
        self.counts.indicator_octets += plan.lengths().len() as u64;
        self.counts.tlli_octets += if self.tlli.is_some() { TLLI_LEN as u64 } else { 0 };
        self.counts.filler_octets += plan.filler as u64;
        if self.mode == Mode::Acknowledged || is_final {
            self.blocks.push_back(Block {
                body,
                state: State::Pending,
                ended: plan.ended,
                is_final,
                was_needed: false,
                sent_at: self.counts.sent(),
                evidence: Evidence::None,
                is_again: false,
            });
            self.counts.stalls += u64::from(self.is_stalled());
        }
        if self.mode == Mode::Unacknowledged {
            self.done = self.cut;
        }
        let countdown = self.countdown(ending, 0);
        Some(Sent { bsn, kind: Kind::New, evidence: Evidence::None, is_final, countdown, body })
    }

    fn compose(&self, plan: &Plan) -> Option<Body> {
        let pdus = plan.ended + usize::from(plan.tail > 0);
        let mut offset = self.offset;
        let pieces = self.queue.iter().skip(self.cut).take(pdus).enumerate().map(|(n, pdu)| {
            let piece = pdu.octets().get(core::mem::take(&mut offset)..).unwrap_or_default();
            if n == plan.ended { piece.get(..plan.tail).unwrap_or_default() } else { piece }
        });
        Body::compose(self.scheme, self.tlli, (plan.lengths(), plan.more), pieces)
    }

    /// The countdown value of a block behind which there are `behind` older blocks of the window, and what waits (clause 9.3.1).
    fn countdown(&mut self, ending: Ending, behind: usize) -> u8 {
        let Ending::Countdown { cv_max, slots } = ending else { return CV_MANY };
        let slots = usize::from(slots.max(1));
        let limit = usize::from(cv_max.min(CV_MANY)) * slots;
        let Some(left) = self.blocks_to_come(limit.saturating_sub(behind)) else { return CV_MANY };
        let value = (behind + left).div_ceil(slots);
        if value > usize::from(cv_max) {
            return CV_MANY;
        }
        let value = u8::try_from(value).unwrap_or(CV_MANY);
        self.is_closed |= value < CV_MANY;
        value
    }

    /// How many blocks what waits will take; `None` where these are more than `limit`.
    fn blocks_to_come(&self, limit: usize) -> Option<usize> {
        let mut blocks = 0;
        let mut waiting = self.waiting;
        let mut first = self.cut;
        let mut offset = self.offset;
        while waiting > 0 {
            blocks += 1;
            if blocks > limit || waiting > (limit + 1 - blocks) * self.space() {
                return None;
            }
            let mut skipped = offset;
            let rest = |pdu: &P| pdu.octets().len() - core::mem::take(&mut skipped);
            let plan = plan(self.space(), self.queue.iter().skip(first).map(rest), true);
            waiting -= self.space() - plan.lengths().len() - plan.filler;
            offset = plan.tail + if plan.ended == 0 { offset } else { 0 };
            first += plan.ended;
        }
        Some(blocks)
    }

    /// Lets V(A) pass what is acknowledged.
    fn advance(&mut self) {
        while self.blocks.front().is_some_and(|block| block.state == State::Acked) {
            let ended = self.blocks.pop_front().map_or(0, |block| block.ended);
            if self.mode == Mode::Acknowledged {
                self.done += ended;
            }
            self.round = self.round.saturating_sub(1);
        }
    }
}
