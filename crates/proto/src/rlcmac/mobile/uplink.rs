//! The uplink TBF of a mobile (44.060 clauses 7.1, 8.1.1 and 9.3): USF, countdown, contention resolution, acknowledgements.

use super::{Answer, FIVE_SECONDS, Mac, MobileTimer, bit, feed, mode};
use crate::rlcmac::block::UpBlock;
use crate::rlcmac::custody::{Carried, Custody, LlPdu};
use crate::rlcmac::rlc::{Age, Ending, Report, Sender, SenderCounts, Unasked};
use crate::rlcmac::signal::{Up, Usfs};
use gannet_machine::time::{Duration, Instant};
use gannet_wire::id::Tlli;
use gannet_wire::rlcmac::block::UplinkHeader;
use gannet_wire::rlcmac::coding::CodingScheme;

/// What belongs to the TBF alone.
#[derive(Debug)]
pub(super) struct UplinkTbf {
    pub(super) tfi: u8,
    usfs: Usfs,
    /// In which block period the USF lets it send, by timeslot.
    granted: [Option<u64>; 8],
    tlli: Tlli,
    /// One-phase access whose contention is not resolved (44.060 clause 7.1.2.3).
    is_contended: bool,
    /// N3104: data blocks that were sent before that.
    n3104: u16,
    /// R: more than one access burst was sent.
    is_retry: bool,
    /// It is acknowledged whole: the answer to the poll ends it.
    is_ending: bool,
    /// An LL-PDU of it is acknowledged.
    has_brought: bool,
    pub(super) sender: Sender<Carried>,
    pub(super) custody: Custody,
    /// The block period in which something was sent last, and how many blocks had been sent when it began: an acknowledgement in it was made
    /// then.
    begun: (u64, u64),
}

impl UplinkTbf {
    /// How many blocks had been sent when a block period began.
    const fn sent_before(&self, period: u64) -> u64 {
        let (begun, serial) = self.begun;
        if begun == period { serial } else { self.sender.serial() }
    }

    /// The timeslots that it may use.
    pub(super) fn slots(&self) -> u8 {
        let slots = (0_u8..).zip(&self.usfs).filter(|(_, usf)| usf.is_some());
        slots.fold(0, |set, (slot, _)| set | bit(slot))
    }

    /// These timeslots are no PDCHs any more.
    pub(super) fn lose_slots(&mut self, gone: u8) {
        let both = self.usfs.iter_mut().zip(&mut self.granted);
        for (slot, (usf, granted)) in (0_u8..).zip(both).filter(|(slot, _)| gone & bit(*slot) != 0) {
            let _ = slot;
            (*usf, *granted) = (None, None);
        }
    }

    pub(super) const fn sender_counts(&self) -> &SenderCounts {
        self.sender.counts()
    }

    /// With which TLLI it was begun.
    pub(super) const fn tlli(&self) -> Tlli {
        self.tlli
    }

    pub(super) const fn is_contended(&self) -> bool {
        self.is_contended
    }

    /// What has not arrived: what RLC keeps, and what it has sent without keeping it.
    pub(super) fn into_parts(mut self) -> (Vec<LlPdu>, Vec<LlPdu>) {
        let custody = &mut self.custody;
        let kept = self.sender.into_remaining().filter_map(|carried| custody.give_back(carried)).collect();
        (kept, custody.lost().collect())
    }

    fn done(&mut self) {
        while let Some(carried) = self.sender.pop_done() {
            self.custody.done(carried);
            self.has_brought = true;
        }
        while self.custody.pop_confirmed().is_some() {}
    }
}

/// N3104_MAX (44.060 clause 13.3): data blocks before contention resolution.
const fn n3104_max(cv_max: u8, slots: u8) -> u16 {
    3 * (cv_max as u16 + 3) * slots as u16
}

/// Timers that belong to an uplink TBF.
const OF_UPLINK: [MobileTimer; 6] = [
    MobileTimer::T3164,
    MobileTimer::T3166,
    MobileTimer::T3168,
    MobileTimer::T3180,
    MobileTimer::T3182,
    MobileTimer::T3184,
];

impl Mac {
    /// An uplink TBF is assigned: by IMMEDIATE ASSIGNMENT in one phase (`one_phase` says whether it took several bursts), or by
    /// PACKET UPLINK ASSIGNMENT.
    pub(super) fn assigned_uplink(
        &mut self,
        now: Instant,
        tfi: u8,
        usfs: Usfs,
        coding: CodingScheme,
        one_phase: Option<bool>,
    ) {
        self.awaiting = None;
        self.deadlines.clear(MobileTimer::T3168);
        if let Some(tbf) = &mut self.uplink {
            (tbf.tfi, tbf.usfs) = (tfi, usfs);
            tbf.sender.set_scheme(coding);
            return self.follow_rate(coding);
        }
        let [Some(tlli), _] = self.tllis else { return };
        let mut sender = Sender::new(mode(true), coding);
        if one_phase.is_some() {
            sender.set_tlli(Some(tlli));
        }
        sender.set_unasked(if self.config.sparing { Unasked::Once } else { Unasked::Always });
        self.counts.uplink_tbfs += 1;
        self.uplink = Some(UplinkTbf {
            tfi,
            usfs,
            granted: [None; 8],
            tlli,
            is_contended: one_phase.is_some(),
            n3104: 0,
            is_retry: one_phase.unwrap_or(false),
            is_ending: false,
            has_brought: false,
            sender,
            custody: Custody::apart(self.config.is_apart),
            begun: (0, 0),
        });
        self.deadlines.set(MobileTimer::T3164, now + FIVE_SECONDS);
        self.follow_rate(coding);
        self.feed_uplink();
    }

    /// What waits enters the TBF while that takes anything.
    pub(super) fn feed_uplink(&mut self) {
        let Some(tbf) = &mut self.uplink else { return };
        if !tbf.is_ending {
            let [current, _] = self.tllis;
            let until = current.filter(|current| self.config.is_apart && *current != tbf.tlli);
            self.queued_octets -= feed(&mut self.queue, until, &mut tbf.sender, &mut tbf.custody);
        }
    }

    /// Who may send on this timeslot in the block period after `at` (44.060 clause 10.4.1).
    pub(super) fn hear_usf(&mut self, slot: u8, at: u64, usf: u8) {
        let Some(tbf) = &mut self.uplink else { return };
        let place = usize::from(slot);
        if tbf.usfs.get(place).is_none_or(|mine| *mine != Some(usf)) {
            return;
        }
        if let Some(granted) = tbf.granted.get_mut(place) {
            *granted = Some(at + 1);
        }
        self.deadlines.clear(MobileTimer::T3164);
        self.deadlines.clear(MobileTimer::T3180);
    }

    /// The block that the USF permits.
    pub(super) fn transmit_by_usf(&mut self, now: Instant, slot: u8, at: u64) -> Option<UpBlock> {
        let is_extended = self.options.extended_uplink != Duration::ZERO;
        let cv_max = self.options.bs_cv_max;
        let tbf = self.uplink.as_mut()?;
        tbf.granted.get_mut(usize::from(slot))?.take_if(|granted| *granted == at)?;
        if tbf.is_ending {
            return None;
        }
        let slots = u8::try_from(tbf.slots().count_ones()).unwrap_or(8);
        if tbf.is_contended && tbf.n3104 >= n3104_max(cv_max, slots) {
            self.abandon_uplink(now);
            return None;
        }
        if tbf.begun.0 != at {
            tbf.begun = (at, tbf.sender.serial());
        }
        let ending = if is_extended { Ending::Open } else { Ending::Countdown { cv_max, slots } };
        self.deadlines.set(MobileTimer::T3180, now + FIVE_SECONDS);
        let Some(sent) = tbf.sender.next_block(ending) else {
            return Some(UpBlock::Control(Up::Dummy { tlli: tbf.tlli }));
        };
        if let Some(count) = self.counts.data.get_mut(sent.kind as usize) {
            *count += 1;
        }
        tbf.n3104 += u16::from(tbf.is_contended);
        if tbf.is_contended && !self.deadlines.is_set(MobileTimer::T3166) {
            self.deadlines.set(MobileTimer::T3166, now + FIVE_SECONDS);
        }
        let is_stalled = tbf.sender.is_stalled();
        if (sent.is_final || is_stalled) && !self.deadlines.is_set(MobileTimer::T3182) {
            self.deadlines.set(MobileTimer::T3182, now + FIVE_SECONDS);
        }
        let header = UplinkHeader {
            countdown: sent.countdown,
            is_stalled,
            is_retry: tbf.is_retry,
            tfi: tbf.tfi,
            bsn: sent.bsn,
        };
        Some(UpBlock::Data { header, body: sent.body })
    }

    /// PACKET UPLINK ACK/NACK (44.060 clauses 7.1.2.3 and 9.3.2.4). Gives the answer that a poll in it is for.
    pub(super) fn acknowledged(
        &mut self,
        now: Instant,
        (slot, at, tfi): (u8, u64, u8),
        coding: CodingScheme,
        report: &Report,
        contention: Option<Tlli>,
        is_poll: bool,
    ) -> Option<Answer> {
        let is_extended = self.options.extended_uplink != Duration::ZERO;
        let is_sparing = self.config.sparing;
        let tbf = self.uplink.as_mut()?;
        if tbf.tfi != tfi || tbf.slots() & bit(slot) == 0 {
            return None;
        }
        if tbf.is_contended {
            // It may be about the blocks of another until it says whose the TBF is.
            let winner = contention?;
            if winner != tbf.tlli {
                self.counts.contentions_lost += 1;
                self.drop_uplink(now);
                self.access_failed(now);
                return None;
            }
            tbf.is_contended = false;
            tbf.sender.set_tlli(None);
            self.deadlines.clear(MobileTimer::T3166);
        }
        self.failures = 0;
        self.deadlines.clear(MobileTimer::T3182);
        self.octets_each_period = coding.data_octets() * tbf.slots().count_ones().max(1) as usize;
        if is_extended {
            self.deadlines.set(MobileTimer::T3184, now + FIVE_SECONDS);
        }
        tbf.sender.set_scheme(coding);
        // In extended uplink TBF mode the network may end the TBF just when there is new data: what the final acknowledgement cannot know of
        // goes by another TBF.
        if !report.is_final || tbf.sender.has_final() {
            // A report that is none of this window changes nothing; its poll is answered all the same.
            let age = if is_sparing { Age::SparesAndFinds } else { Age::Ignored };
            let _ = tbf.sender.acknowledge_made_at(report, tbf.sent_before(at), age);
        }
        tbf.done();
        if report.is_final {
            tbf.is_ending = true;
            if !is_poll {
                self.end_uplink(now);
                return None;
            }
        } else if tbf.sender.has_final() {
            self.deadlines.set(MobileTimer::T3182, now + FIVE_SECONDS);
        }
        Some(Answer::Control(report.is_final))
    }

    /// The TBF has ended as it should. What came meanwhile needs another.
    pub(super) fn end_uplink(&mut self, now: Instant) {
        self.drop_uplink(now);
        self.seek_uplink(now);
    }

    /// Abnormal release with random access (44.060 clause 8.7.2): what has not arrived is sent by another TBF, but not for ever.
    pub(super) fn abandon_uplink(&mut self, now: Instant) {
        self.counts.expiries += 1;
        let has_brought = self.uplink.as_ref().is_some_and(|tbf| tbf.has_brought);
        self.drop_uplink(now);
        // One that had nothing to bring has failed nobody.
        let is_barren = !has_brought && !self.queue.is_empty();
        self.broken = if is_barren { self.broken.saturating_add(1) } else { 0 };
        if !self.config.keeps.lasts(self.broken) {
            self.give_up();
        }
        self.access_failed(now);
    }

    pub(super) fn drop_uplink(&mut self, now: Instant) {
        OF_UPLINK.into_iter().for_each(|timer| self.deadlines.clear(timer));
        self.take_back();
        self.tbf_ended(now);
    }
}
