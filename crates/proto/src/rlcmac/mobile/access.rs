//! Random access on the CCCH (04.18 clause 3.5.2.1 [44.018]), and the first steps of a TBF.

use super::{Answer, Mac, MobileTimer, bit};
use crate::rlcmac::ccch::frame_from;
use crate::rlcmac::multiframe::{BlockPeriod, frame_start};
use crate::rlcmac::signal::{Burst, Common, Up};
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_wire::l3::ie::RadioPriority;

/// An access on its way.
#[derive(Debug)]
pub(super) struct Access {
    two_phase: bool,
    /// The frame of the next burst, where that is known.
    next: Option<u64>,
    count: u8,
    /// The last three bursts (04.18 clause 3.5.2.1.3.1): an assignment answers one of them.
    sent: [Option<Burst>; 3],
}

impl Access {
    fn is_answered(&self, reference: Burst) -> bool {
        self.sent.iter().flatten().any(|burst| burst.is_named_by(reference))
    }
}

impl Mac {
    /// Begins an access where there is something to send and no other way.
    pub(super) fn seek_uplink(&mut self, now: Instant) {
        let is_held = |timer| self.deadlines.is_set(timer);
        if self.queue.is_empty()
            || self.is_suspended
            || self.is_busy()
            || is_held(MobileTimer::T3142)
            || is_held(MobileTimer::T3172)
        {
            return;
        }
        self.counts.accesses += 1;
        let two_phase = self.config.two_phase;
        self.access = Some(Access { two_phase, next: None, count: 0, sent: [None; 3] });
        self.deadlines.set(MobileTimer::Burst, now);
    }

    /// The time of a burst has come, or its frame is to be chosen.
    pub(super) fn burst_due(&mut self, now: Instant, rng: &mut Rng) -> Option<Burst> {
        let (rach, layout) = (self.options.rach, self.options.paging.layout);
        let access = self.access.as_mut()?;
        let Some(frame) = access.next else {
            let first = rach.first(layout, now, rng);
            access.next = Some(first);
            self.deadlines.set(MobileTimer::Burst, frame_start(first));
            return None;
        };
        let code = if access.two_phase { 0x70 + rng.below(8) } else { 0x78 + rng.below(7) };
        let burst = Burst { code: u8::try_from(code).unwrap_or(0x70), frame };
        access.sent.rotate_right(1);
        access.sent[0] = Some(burst);
        access.count += 1;
        self.counts.bursts += 1;
        if access.count > rach.max_retrans {
            self.deadlines.set(MobileTimer::T3146, rach.t3146(layout, frame));
        } else {
            let next = rach.next(layout, frame, rng);
            access.next = Some(next);
            self.deadlines.set(MobileTimer::Burst, frame_start(next));
        }
        Some(burst)
    }

    /// T3146 has ended: packet access failure (04.18 clause 3.5.2.1.6).
    pub(super) fn access_unanswered(&mut self, now: Instant) {
        self.counts.unanswered += 1;
        self.access = None;
        self.access_failed(now);
    }

    /// An access has led to nothing: it is made again, but not for ever.
    pub(super) fn access_failed(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        if !self.config.keeps.lasts(self.failures) {
            self.give_up();
        }
        self.seek_uplink(now);
    }

    /// The network has no room: the mobile waits.
    pub(super) fn refused(&mut self, now: Instant, timer: MobileTimer, wait: Duration) {
        self.counts.rejected += 1;
        self.end_access();
        self.awaiting = None;
        self.deadlines.clear(MobileTimer::T3168);
        self.deadlines.set(timer, now + wait);
    }

    fn end_access(&mut self) {
        self.access = None;
        self.deadlines.clear(MobileTimer::Burst);
        self.deadlines.clear(MobileTimer::T3146);
    }

    /// A message on AGCH or PCH.
    pub(super) fn common(&mut self, now: Instant, message: &Common) {
        let is_answer = |reference| self.access.as_ref().is_some_and(|access| access.is_answered(reference));
        match *message {
            Common::Uplink { reference, slot, tfi, usf, coding } if is_answer(reference) => {
                let is_retry = self.access.as_ref().is_some_and(|access| access.count > 1);
                self.end_access();
                let mut usfs = [None; 8];
                if let Some(place) = usfs.get_mut(usize::from(slot)) {
                    *place = Some(usf);
                }
                self.assigned_uplink(now, tfi, usfs, coding, Some(is_retry));
            }
            Common::SingleBlock { reference, slot, frame } if is_answer(reference) => {
                self.end_access();
                let at = BlockPeriod::at_or_after(frame_start(frame)).0;
                if frame < frame_from(now) {
                    // It has gone by: nothing is sent, and the access begins anew.
                    return self.access_failed(now);
                }
                self.awaiting = Some(slot);
                self.answers.push_back((slot, at, Answer::ResourceRequest));
                self.deadlines.set(MobileTimer::T3168, BlockPeriod(at).end() + self.options.t3168);
            }
            Common::Reject { reference, wait } if is_answer(reference) => {
                self.refused(now, MobileTimer::T3142, wait);
            }
            Common::Downlink { tlli, slot, tfi, acknowledged } if self.has_tlli(tlli) => {
                // The access is given up: the mobile asks on the PACCH (04.18 clause 3.5.3.1.2).
                self.end_access();
                self.assigned_downlink(now, tfi, bit(slot), acknowledged, true);
            }
            Common::Uplink { .. }
            | Common::SingleBlock { .. }
            | Common::Reject { .. }
            | Common::Downlink { .. }
            | Common::Paging(_) => {}
        }
    }

    /// PACKET RESOURCE REQUEST in a single block (44.060 clause 7.1.3.1).
    pub(super) fn resource_request(&mut self, now: Instant, slot: u8) -> Option<Up> {
        let [tlli, _] = self.tllis;
        self.awaiting = Some(slot);
        self.deadlines.set(MobileTimer::T3168, now + self.options.t3168);
        Some(Up::ResourceRequest {
            tlli: tlli?,
            multislot_class: self.config.multislot_class,
            octets: u16::try_from(self.queued_octets).unwrap_or(u16::MAX),
            priority: self.priority().unwrap_or(RadioPriority::Four),
        })
    }

    /// T3168 has ended: the access is made again, from the beginning (44.060 clauses 7.1.3.3 and 8.1.1.1.2).
    pub(super) fn assignment_missing(&mut self, now: Instant) {
        self.counts.expiries += 1;
        self.awaiting = None;
        self.access_failed(now);
    }
}
