//! OVERLOAD (48.018 clause 10.4, not in R99): where newcomers are more than can be answered or have a place, the BSSs are
//! told, and told again for as long as that lasts.
//!
//! A BSS of R97 or R99 does not know the PDU and answers with STATUS, so nobody is told unless it is configured.

use super::super::Sgsn;
use super::super::directory::BvcAddress;
use gannet_machine::Context;
use gannet_proto::bssgp::bvc::BvcState;
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::PriorityClass;
use gannet_wire::id::{Bvci, Nsei};

impl Sgsn {
    /// A newcomer was turned away: every BSS is told, unless that was done a short time ago.
    pub(in crate::sgsn) fn tell_overload(&mut self, cx: &mut Context<'_>) {
        let Some(interval) = self.config.overload_interval else { return };
        if cx.now < self.gb.overload_due {
            return;
        }
        self.gb.overload_due = cx.now + interval;
        let there = self.gb.bvcs.nses().filter(|nse| nse.state == BvcState::Unblocked);
        let there: Vec<Nsei> = there.map(|nse| nse.nsei).collect();
        for nsei in there {
            self.stats.overloads += 1;
            let message = Message::Overload { classes: Some(PriorityClass::LOW_ACCESS_PRIORITY) };
            self.send_bssgp(cx, BvcAddress { nsei, bvci: Bvci::SIGNALLING }, &message);
        }
    }
}
