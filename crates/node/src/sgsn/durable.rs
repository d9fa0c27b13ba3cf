//! Which mobiles are to be kept for the time after a restart, and as what.
//!
//! The node writes nothing. It marks the place of each mobile of which something has changed that is to outlive a restart, and
//! whoever keeps it ([`Sgsn::keep_changes`]) asks now and then for some of them ([`Sgsn::take_changes`]), as octets of
//! [`super::relocation`]. A place is marked once however often its mobile changes, so the newest state is what is given out,
//! and all that waits is bounded by the number of places. After a restart [`Sgsn::restore`] takes each mobile in again.
//!
//! What each packet changes (V(U), V(UR) and OC of LLC, numbers of SNDCP and GTP) marks a mobile once in
//! [`gannet_proto::llc::KEPT_EVERY`] LL-PDUs; a restored mobile passes over what may have been used since. `docs/restart.md`
//! says what that guarantees.

use super::Sgsn;
use super::mobile::Mobile;
use crate::kept::{Change, Marks};
use crate::slots::Slot;
use gannet_proto::gmm::MmState;
use gannet_wire::id::Imsi;

/// Is a mobile kept? From the moment at which it is given its P-TMSI: before that it would have to begin anew in any case.
fn is_durable(mobile: &Mobile) -> bool {
    mobile.gmm.mm_state() != MmState::Idle || mobile.gmm.new_ptmsi().is_some()
}

impl Sgsn {
    /// From now on changes wait for [`Sgsn::take_changes`]. To be called before any mobile is there.
    pub fn keep_changes(&mut self) {
        self.durable = Some(Marks::new(self.config.mobiles_max));
    }

    /// A number that is another one whenever [`Sgsn::network`] is.
    #[must_use]
    pub const fn network_changes(&self) -> u64 {
        self.gb.ns.address_changes()
    }

    /// What was learned of BSSs, as octets for [`Sgsn::recall_network`].
    #[must_use]
    pub fn network(&self) -> Vec<u8> {
        postcard::to_allocvec(&self.gb.ns.learned()).unwrap_or_default()
    }

    /// What was learned before a restart: at the start NS-VCs are reset, and endpoints of IP-SNS tested. To be called before
    /// [`super::SgsnCommand::Start`]. How much it is, or `None` where the octets are nothing of the kind.
    pub fn recall_network(&mut self, octets: &[u8]) -> Option<usize> {
        self.gb.recalled = postcard::from_bytes(octets).ok()?;
        Some(self.gb.recalled.len())
    }

    /// How many places wait.
    #[must_use]
    pub fn changes_waiting(&self) -> usize {
        self.durable.as_ref().map_or(0, Marks::waiting)
    }

    /// Gives out what some places have come to, `max` at the most; each is a microsecond or two.
    pub fn take_changes(&mut self, max: usize, mut each: impl FnMut(Change<'_>)) {
        let Some(mut durable) = self.durable.take() else { return };
        for _ in 0..max {
            let whose = |index| self.kept_at(index).map(|(_, imsi)| imsi);
            let Some((index, former)) = durable.next(whose) else { break };
            let now = self.kept_at(index);
            let goes = former.filter(|former| now.is_none_or(|(_, imsi)| imsi != *former));
            // Of somebody who is at another place by now that place tells.
            if let Some(imsi) = goes.filter(|imsi| !self.is_kept(*imsi)) {
                each(Change::Delete { imsi });
            }
            let Some((slot, imsi)) = now else { continue };
            if self.copy_out_to(slot, &mut durable.octets).is_some() {
                each(Change::Put { imsi, octets: &durable.octets });
            }
        }
        self.durable = Some(durable);
    }

    /// Whose state at a place is to be kept.
    fn kept_at(&self, index: u32) -> Option<(Slot, Imsi)> {
        let slot = self.mobiles.at(index)?;
        let imsi = self.mobiles.get(slot).filter(|mobile| is_durable(mobile))?.imsi()?;
        (self.directory.by_imsi(imsi) == Some(slot)).then_some((slot, imsi))
    }

    fn is_kept(&self, imsi: Imsi) -> bool {
        self.mobile_of(imsi).is_some_and(|(_, mobile)| is_durable(mobile))
    }

    /// Marks a mobile to be written to the store: state that outlives a restart has changed, or the mobile is gone.
    pub(super) fn mark_for_store(&mut self, slot: Slot) {
        if let Some(durable) = &mut self.durable {
            durable.mark(slot.index);
        }
    }

    /// Marks a mobile after an LL-PDU was counted, where its counters are due to be stored.
    pub(super) fn mark_counters_for_store(&mut self, slot: Slot) {
        if let Some(durable) = &mut self.durable
            && self.mobiles.get_mut(slot).is_some_and(|mobile| mobile.llc.take_due())
        {
            durable.mark(slot.index);
        }
    }

    /// A mobile is here again of which something is kept.
    pub(super) fn restored(&mut self, slot: Slot, imsi: Imsi) {
        if let Some(durable) = &mut self.durable {
            durable.kept(slot.index, imsi);
        }
    }
}
