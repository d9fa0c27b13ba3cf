//! Logical link management: the assignment of TLLIs.

use super::saps::Saps;
use super::{Ciphering, LlcContext, LlcOutput, LlcTimer, Outstanding, slot_of};
use gannet_machine::{Batch, Context};
use gannet_wire::id::{Sapi, Tlli};
use gannet_wire::llc::UFunction;

impl LlcContext {
    /// LLGMM-ASSIGN.request (04.64 clauses 7.2.1.1 and 8.3). `None` stands for "all ones".
    ///
    /// * No old one, a new one: the new one is assigned, and only it is accepted (clause 8.3.1).
    /// * An old one and a new one: the new one is sent with, both are accepted (clause 8.3.2).
    /// * An old one, no new one: everything ends; counters and parameters start again (clause 8.3.3).
    pub fn assign(&mut self, tlli_new: Option<Tlli>, tlli_old: Option<Tlli>, ciphering: Ciphering) {
        match (tlli_new, tlli_old) {
            (Some(new), old) => {
                self.tlli = new;
                self.tlli_old = old.unwrap_or(Tlli::UNASSIGNED);
                self.ciphering = ciphering;
            }
            (None, Some(_)) => *self = Self::new(self.role()),
            (None, None) => {}
        }
    }

    /// LLGMM-TRIGGER.request (04.64 clauses 7.2.1.1 and 6.4.1.7): a NULL frame on SAPI 1, which tells the SGSN in which
    /// cell the mobile is and is the answer to paging.
    pub fn trigger_request(&self, cx: &mut Context<'_>, out: &mut Batch<LlcOutput>) {
        self.transmit_u(cx, Sapi::GMM, true, (false, UFunction::Null), &[], out);
    }

    /// LLGMM-ASSIGN.request of another algorithm and key, with the TLLIs as they are, of which there may be none yet (04.64
    /// clause 7.2.1.1).
    pub const fn set_ciphering(&mut self, ciphering: Ciphering) {
        self.ciphering = ciphering;
    }

    /// The algorithm and the key in force.
    #[must_use]
    pub const fn ciphering(&self) -> Ciphering {
        self.ciphering
    }

    /// The TLLI to send with; `None` in the state "TLLI Unassigned".
    #[must_use]
    pub fn tlli(&self) -> Option<Tlli> {
        (self.tlli != Tlli::UNASSIGNED).then_some(self.tlli)
    }

    /// The TLLI that is accepted beside [`LlcContext::tlli`] until the peer uses the new one.
    #[must_use]
    pub fn tlli_old(&self) -> Option<Tlli> {
        (self.tlli_old != Tlli::UNASSIGNED).then_some(self.tlli_old)
    }

    /// True where a frame with this TLLI is for this context.
    #[must_use]
    pub fn accepts(&self, tlli: Tlli) -> bool {
        tlli != Tlli::UNASSIGNED && (tlli == self.tlli || tlli == self.tlli_old)
    }

    /// T200 of a SAPI in tenths of a second, and N200; 0 for an unknown SAPI.
    #[must_use]
    pub fn t200_n200(&self, sapi: Sapi) -> (u16, u8) {
        let own = slot_of(sapi).and_then(|slot| self.saps.parameters(slot));
        own.map_or((0, 0), |own| (own.t200_tenths(), own.n200()))
    }

    /// V(U) and V(UR) of a SAPI; 0 for an unknown SAPI.
    #[must_use]
    pub fn unnumbered(&self, sapi: Sapi) -> (u16, u16) {
        let own = slot_of(sapi).and_then(|slot| self.saps.counters(slot));
        own.map_or((0, 0), |own| (super::ui::nine_bits(own.next()), super::ui::nine_bits(own.expected())))
    }

    /// IOV-UI, which both ends know.
    #[must_use]
    pub const fn iov_ui(&self) -> u32 {
        self.saps.iov_ui
    }

    /// Counters and parameters of all LLEs as at the beginning (clause 8.5.3.1). The TLLI and the cipher stay.
    pub(super) fn restart(&mut self, out: &mut Batch<LlcOutput>) {
        self.saps = Saps::new();
        self.outstanding = Outstanding::default();
        self.deadlines.clear(LlcTimer::T200);
        self.end_links(out);
    }
}
