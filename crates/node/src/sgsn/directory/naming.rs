//! Names come and go, and a driver with them: the only way to the tables of TLLIs, so that no rule is forgotten and none
//! outlives the name that it is for.

use super::BvcAddress;
use crate::sgsn::Sgsn;
use crate::slots::Slot;
use gannet_proto::classifier::Key;
use gannet_wire::id::{PTmsi, Tlli};

impl Sgsn {
    /// A mobile is found by the local TLLI of this P-TMSI from now on.
    pub(in crate::sgsn) fn name_ptmsi(&mut self, ptmsi: PTmsi, slot: Slot) {
        self.directory.name_ptmsi(ptmsi, slot);
        self.uplink_named(Key::LocalTlli(Tlli::local(ptmsi)), slot);
    }

    /// And no longer, where it was.
    pub(in crate::sgsn) fn forget_ptmsi(&mut self, ptmsi: PTmsi, slot: Slot) {
        if self.directory.forget_ptmsi(ptmsi, slot) {
            self.uplink_unnamed(Key::LocalTlli(Tlli::local(ptmsi)));
        }
    }

    /// A mobile is found by a foreign or random TLLI in a cell from now on; one that had the same is not any more.
    pub(in crate::sgsn) fn name_foreign_tlli(&mut self, cell: BvcAddress, tlli: Tlli, slot: Slot) {
        self.directory.name_foreign_tlli(cell, tlli, slot);
        self.uplink_named(cell.key(tlli), slot);
    }

    /// And no longer, where it was.
    pub(in crate::sgsn) fn forget_foreign_tlli(&mut self, cell: BvcAddress, tlli: Tlli, slot: Slot) {
        if self.directory.forget_foreign_tlli(cell, tlli, slot) {
            self.uplink_unnamed(cell.key(tlli));
        }
    }

    /// One of the names by which a mobile's uplink is found; `None` where another mobile has taken its only one.
    pub(in crate::sgsn) fn uplink_key(&self, slot: Slot) -> Option<Key> {
        let mobile = self.mobiles.get(slot)?;
        let directory = &self.directory;
        let ptmsis = [mobile.gmm.ptmsi(), mobile.gmm.new_ptmsi()].into_iter().flatten();
        let local = ptmsis.filter(|ptmsi| directory.by_ptmsi(*ptmsi) == Some(slot)).map(Tlli::local);
        let of_cell = mobile.foreign().filter(|name| directory.by_foreign_tlli.get(name) == Some(&slot));
        local.map(Key::LocalTlli).next().or_else(|| of_cell.map(|(cell, tlli)| cell.key(tlli)))
    }
}
