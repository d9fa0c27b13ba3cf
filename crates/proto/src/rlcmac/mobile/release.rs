//! PDCHs that the network takes away: PACKET PDCH RELEASE (44.060 clause 8.2).

use super::uplink::UplinkTbf;
use super::{Mac, MobileTimer, bit};
use gannet_machine::time::Instant;

impl Mac {
    /// These timeslots are no PDCHs any more: the mobile stops there at once. A TBF that has others goes on. Without any, a downlink TBF ends,
    /// and what has not arrived uplink goes by random access (clause 8.7.2).
    pub(super) fn pdchs_gone(&mut self, now: Instant, gone: u8) {
        if self.slots() & gone == 0 {
            return;
        }
        self.answers.retain(|(slot, ..)| gone & bit(*slot) == 0);
        let mut must_ask = false;
        if let Some(tbf) = &mut self.uplink {
            let before = tbf.slots();
            tbf.lose_slots(gone);
            if before != 0 && tbf.slots() == 0 {
                self.counts.released += 1;
                self.drop_uplink(now);
                must_ask = true;
            }
        }
        if self.awaiting.is_some_and(|slot| gone & bit(slot) != 0) {
            self.awaiting = None;
            self.deadlines.clear(MobileTimer::T3168);
            must_ask |= self.uplink.is_none();
        }
        let lost = self.downlink.as_mut().is_some_and(|tbf| {
            tbf.slots &= !gone;
            tbf.slots == 0
        });
        if lost {
            self.counts.released += 1;
            self.end_downlink(now);
        } else if must_ask && self.uplink.as_ref().map_or(0, UplinkTbf::slots) == 0 {
            self.access_failed(now);
        }
    }
}
