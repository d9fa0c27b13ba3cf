//! The downlink TBF of a mobile (44.060 clauses 7.2, 8.1.2 and 9.3).

use super::{FIVE_SECONDS, Mac, MobileTimer, mode};
use crate::rlcmac::rlc::{Receiver, ReceiverCounts};
use crate::rlcmac::signal::Up;
use gannet_machine::time::Instant;
use gannet_wire::rlcmac::block::{Body, DownlinkHeader};

/// What belongs to the TBF alone.
#[derive(Debug)]
pub(super) struct DownlinkTbf {
    pub(super) tfi: u8,
    pub(super) slots: u8,
    receiver: Receiver,
}

impl DownlinkTbf {
    pub(super) const fn receiver_counts(&self) -> &ReceiverCounts {
        self.receiver.counts()
    }
}

impl Mac {
    /// A downlink TBF is assigned, or has other timeslots.
    pub(super) fn assigned_downlink(
        &mut self,
        now: Instant,
        tfi: u8,
        slots: u8,
        acknowledged: bool,
        is_new: bool,
    ) {
        let same = self.downlink.as_mut().filter(|tbf| tbf.tfi == tfi && !is_new);
        if let Some(tbf) = same {
            tbf.slots = slots;
            if tbf.receiver.is_complete() {
                // It ends with T3192, as the network counts on.
                return;
            }
        } else {
            self.counts.downlink_tbfs += 1;
            self.drop_downlink();
            self.downlink = Some(DownlinkTbf { tfi, slots, receiver: Receiver::new(mode(acknowledged)) });
        }
        self.deadlines.clear(MobileTimer::T3192);
        self.deadlines.set(MobileTimer::T3190, now + FIVE_SECONDS);
    }

    /// A data block. True where it is one of this mobile's TBF.
    pub(super) fn hear_data(
        &mut self,
        now: Instant,
        slot: u8,
        header: &DownlinkHeader,
        body: &Body,
        mut deliver: impl FnMut(&[u8]),
    ) -> bool {
        if !self.expects(header.tfi, slot) {
            return false;
        }
        let Some(tbf) = &mut self.downlink else { return false };
        if !tbf.receiver.is_complete() {
            self.deadlines.set(MobileTimer::T3190, now + FIVE_SECONDS);
        }
        // What is refused is counted, and is as if it had not come.
        let came = tbf.receiver.receive(header.bsn, header.is_final, body, |pdu| deliver(pdu.octets));
        self.counts.down.count(&came);
        true
    }

    /// The answer to a poll (44.060 clause 9.3.2.5).
    pub(super) fn downlink_ack_nack(&mut self, now: Instant, slot: u8) -> Option<Up> {
        let is_held = |timer| self.deadlines.is_set(timer);
        let may_ask = self.uplink.is_none()
            && self.awaiting.is_none()
            && !is_held(MobileTimer::T3142)
            && !is_held(MobileTimer::T3172);
        let wants_uplink = self.priority().filter(|_| may_ask);
        let tbf = self.downlink.as_ref()?;
        let (tfi, report) = (tbf.tfi, tbf.receiver.report());
        if report.is_final {
            self.deadlines.clear(MobileTimer::T3190);
            self.deadlines.set(MobileTimer::T3192, now + self.options.t3192);
        }
        if wants_uplink.is_some() {
            self.awaiting = Some(slot);
            self.deadlines.set(MobileTimer::T3168, now + self.options.t3168);
        }
        Some(Up::DownlinkAckNack { tfi, report, wants_uplink })
    }

    pub(super) fn drop_downlink(&mut self) {
        if let Some(tbf) = self.downlink.take() {
            self.ended.receiver += *tbf.receiver_counts();
        }
    }

    /// The TBF ends (44.060 clause 8.1.2.5): what waits to be sent takes the CCCH.
    pub(super) fn end_downlink(&mut self, now: Instant) {
        self.drop_downlink();
        self.tbf_ended(now);
        self.deadlines.clear(MobileTimer::T3190);
        self.deadlines.clear(MobileTimer::T3192);
        if self.uplink.is_none() && self.answers.is_empty() {
            self.awaiting = None;
            self.deadlines.clear(MobileTimer::T3168);
        }
        self.seek_uplink(now);
    }
}
