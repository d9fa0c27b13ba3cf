//! What a mobile has to send and has in no block yet: signalling goes before user data, and how much user data is enough.

use super::Mac;
use crate::rlcmac::custody::{LlPdu, enqueue, is_signalling};
use gannet_wire::rlcmac::coding::CodingScheme;

/// Block periods of 20 ms that what waits is to last for: half a second. The countdown begins with what 15 block periods carry
/// (`BS_CV_MAX`, 44.060 clause 9.3.1), and from then on a TBF takes nothing; what follows has the rest of the time to come.
const PERIODS_ENOUGH: usize = 25;
/// LL-PDUs that may always wait: one whose blocks go, and one behind it.
const PDUS_ENOUGH: usize = 2;

impl Mac {
    /// As much waits as is of use. More of it would have whatever comes next wait for it.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let (mut pdus, mut octets) = self.waiting();
        if let Some(tbf) = &self.uplink {
            pdus += tbf.sender.waiting_pdus();
            octets += tbf.sender.waiting_octets();
        }
        pdus >= PDUS_ENOUGH && octets >= PERIODS_ENOUGH * self.octets_each_period
    }

    /// The uplink TBF has this coding scheme now.
    pub(super) fn follow_rate(&mut self, coding: CodingScheme) {
        let slots = self.uplink.as_ref().map_or(1, |tbf| tbf.slots().count_ones().max(1));
        self.octets_each_period = coding.data_octets() * slots as usize;
    }

    /// Signalling comes: user data that the uplink TBF has and of which nothing is in a block waits behind it. Where the countdown has begun
    /// the mobile has told how much is left, and the rest of it goes first (44.060 clause 9.3.1).
    pub(super) fn recall_data(&mut self) {
        let Some(tbf) = &mut self.uplink else { return };
        let (custody, mut recalled) = (&mut tbf.custody, Vec::new());
        let is_data = |carried: &_| !is_signalling(crate::rlcmac::rlc::LlPdu::octets(carried));
        tbf.sender.take_unsent(is_data, |carried| recalled.extend(custody.give_back(carried)));
        self.put_back(recalled);
    }

    /// These wait again, before all others but signalling.
    pub(super) fn put_back(&mut self, unsent: Vec<LlPdu>) {
        let behind = core::mem::take(&mut self.queue);
        self.queued_octets += unsent.iter().map(|pdu| pdu.frame.len()).sum::<usize>();
        unsent.into_iter().chain(behind).for_each(|pdu| enqueue(&mut self.queue, pdu));
    }
}
