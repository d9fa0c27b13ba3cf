//! Who is who: a mobile's place in the table, found by each of its names in O(1).
//!
//! A local TLLI is derived from a P-TMSI that this SGSN assigned, so it is one mobile's wherever it is heard. A
//! foreign or random TLLI is the mobile's own choice, and every phone may start with 0x80000000: such a name holds
//! only within the cell in which it was heard (03.60 clause 14.4; 04.64 clause 7.2.1.1).
//!
//! By the same names a driver knows the mobile's uplink, so names come and go through `naming` alone, which tells it.

mod naming;

use crate::slots::Slot;
use foldhash::quality::SeedableRandomState;
use gannet_proto::classifier::Key;
use gannet_wire::id::{Bvci, Imsi, Nsei, PTmsi, Tlli, TlliKind};
use std::collections::HashMap;

/// A cell as BSSGP addresses it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub struct BvcAddress {
    /// The network service entity.
    pub nsei: Nsei,
    /// The cell's BVC within it.
    pub bvci: Bvci,
}

impl BvcAddress {
    /// What a driver knows of a TLLI that means something in this cell only.
    #[must_use]
    pub const fn key(self, tlli: Tlli) -> Key {
        Key::CellTlli { nsei: self.nsei, bvci: self.bvci, tlli }
    }
}

type Table<K> = HashMap<K, Slot, SeedableRandomState>;

/// The three tables of names.
#[derive(Debug)]
pub struct Directory {
    by_imsi: Table<Imsi>,
    by_ptmsi: Table<PTmsi>,
    by_foreign_tlli: Table<(BvcAddress, Tlli)>,
    /// In how many cells a foreign or random TLLI is somebody's.
    cells_of_tlli: HashMap<Tlli, u32, SeedableRandomState>,
}

impl Directory {
    /// Room for `mobiles` mobiles, taken now. The seed keeps a stranger from choosing names that collide.
    #[must_use]
    pub fn new(mobiles: usize, seed: u64) -> Self {
        let state = || SeedableRandomState::with_seed(seed, foldhash::SharedSeed::global_fixed());
        Self {
            by_imsi: HashMap::with_capacity_and_hasher(mobiles, state()),
            // A mobile has two P-TMSIs while a new one is not yet confirmed.
            by_ptmsi: HashMap::with_capacity_and_hasher(mobiles * 2, state()),
            by_foreign_tlli: HashMap::with_capacity_and_hasher(mobiles, state()),
            cells_of_tlli: HashMap::with_capacity_and_hasher(mobiles, state()),
        }
    }

    /// The P-TMSI whose local TLLI this is. An SGSN's P-TMSIs have their top bits set (23.003 clause 2.4), so local
    /// TLLI and P-TMSI are the same number here.
    #[must_use]
    pub const fn ptmsi_of(tlli: Tlli) -> PTmsi {
        PTmsi(tlli.0 | 0xc000_0000)
    }

    /// The mobile that a TLLI heard in a cell belongs to.
    #[must_use]
    pub fn by_tlli(&self, cell: BvcAddress, tlli: Tlli) -> Option<Slot> {
        // A local TLLI that is not ours was derived from another SGSN's P-TMSI: the mobile's own choice, too.
        let local = (tlli.kind() == TlliKind::Local).then(|| self.by_ptmsi(Self::ptmsi_of(tlli))).flatten();
        local.or_else(|| self.by_cell_tlli(cell, tlli))
    }

    /// The mobile that is found by a TLLI within a cell only.
    #[must_use]
    pub fn by_cell_tlli(&self, cell: BvcAddress, tlli: Tlli) -> Option<Slot> {
        self.by_foreign_tlli.get(&(cell, tlli)).copied()
    }

    /// The mobile that has, or is being given, this P-TMSI.
    #[must_use]
    pub fn by_ptmsi(&self, ptmsi: PTmsi) -> Option<Slot> {
        self.by_ptmsi.get(&ptmsi).copied()
    }

    /// The mobile of a subscriber. With an NSAPI it is also the way from a TID to its context.
    #[must_use]
    pub fn by_imsi(&self, imsi: Imsi) -> Option<Slot> {
        self.by_imsi.get(&imsi).copied()
    }

    /// Names a mobile by its subscriber; the mobile that had this name before is returned.
    pub fn name_imsi(&mut self, imsi: Imsi, slot: Slot) -> Option<Slot> {
        self.by_imsi.insert(imsi, slot).filter(|former| *former != slot)
    }

    /// Names a mobile by a P-TMSI.
    fn name_ptmsi(&mut self, ptmsi: PTmsi, slot: Slot) {
        self.by_ptmsi.insert(ptmsi, slot);
    }

    /// Names a mobile by a foreign or random TLLI within a cell.
    fn name_foreign_tlli(&mut self, cell: BvcAddress, tlli: Tlli, slot: Slot) {
        if self.by_foreign_tlli.insert((cell, tlli), slot).is_none() {
            *self.cells_of_tlli.entry(tlli).or_default() += 1;
        }
    }

    /// Forgets a subscriber's name where it is `slot`'s.
    pub fn forget_imsi(&mut self, imsi: Imsi, slot: Slot) {
        if self.by_imsi(imsi) == Some(slot) {
            self.by_imsi.remove(&imsi);
        }
    }

    /// Forgets a P-TMSI where it is `slot`'s; false where it is not.
    fn forget_ptmsi(&mut self, ptmsi: PTmsi, slot: Slot) -> bool {
        self.by_ptmsi(ptmsi) == Some(slot) && self.by_ptmsi.remove(&ptmsi).is_some()
    }

    /// Forgets a foreign or random TLLI where it is `slot`'s; false where it is not.
    fn forget_foreign_tlli(&mut self, cell: BvcAddress, tlli: Tlli, slot: Slot) -> bool {
        let name = (cell, tlli);
        if self.by_foreign_tlli.get(&name) != Some(&slot) {
            return false;
        }
        self.by_foreign_tlli.remove(&name);
        let cells = self.cells_of_tlli.get(&tlli).map_or(0, |cells| cells.saturating_sub(1));
        match cells {
            0 => self.cells_of_tlli.remove(&tlli),
            cells => self.cells_of_tlli.insert(tlli, cells),
        };
        true
    }

    /// Is a TLLI somebody's in any cell, or made of a P-TMSI that somebody has here or attaches with?
    #[must_use]
    pub fn is_known_anywhere(&self, tlli: Tlli) -> bool {
        let ptmsi = match tlli.kind() {
            TlliKind::Local | TlliKind::Foreign => Some(Self::ptmsi_of(tlli)),
            TlliKind::Random | TlliKind::Auxiliary | TlliKind::Reserved => None,
        };
        let of_ptmsi = ptmsi.into_iter().flat_map(|ptmsi| [Tlli::local(ptmsi), Tlli::foreign(ptmsi)]);
        ptmsi.is_some_and(|ptmsi| self.by_ptmsi(ptmsi).is_some())
            || core::iter::once(tlli).chain(of_ptmsi).any(|tlli| self.cells_of_tlli.contains_key(&tlli))
    }

    /// Every name that an UL-UNITDATA may carry, as a driver knows it, with whose it is.
    pub fn keys(&self) -> impl Iterator<Item = (Key, Slot)> + '_ {
        let local = self.by_ptmsi.iter().map(|(ptmsi, slot)| (Key::LocalTlli(Tlli::local(*ptmsi)), *slot));
        let of_cells = self.by_foreign_tlli.iter().map(|((cell, tlli), slot)| (cell.key(*tlli), *slot));
        local.chain(of_cells)
    }

    /// Names in all three tables together.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_imsi.len() + self.by_ptmsi.len() + self.by_foreign_tlli.len()
    }

    /// True when nobody has a name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_foreign_tlli_names_different_mobiles_in_different_cells() {
        let mut directory = Directory::new(4, 1);
        let cell = |bvci| BvcAddress { nsei: Nsei(1), bvci: Bvci(bvci) };
        let slot = |index| Slot { index, generation: 0 };
        let first = Tlli(0x8000_0000);
        directory.name_foreign_tlli(cell(2), first, slot(0));
        directory.name_foreign_tlli(cell(3), first, slot(1));
        assert_eq!(directory.by_tlli(cell(2), first), Some(slot(0)));
        assert_eq!(directory.by_tlli(cell(3), first), Some(slot(1)));
        assert_eq!(directory.by_tlli(cell(4), first), None);
        directory.name_ptmsi(PTmsi(0xc000_0007), slot(1));
        assert_eq!(directory.by_tlli(cell(9), Tlli(0xc000_0007)), Some(slot(1)));
        directory.forget_ptmsi(PTmsi(0xc000_0007), slot(0));
        assert_eq!(directory.by_tlli(cell(9), Tlli(0xc000_0007)), Some(slot(1)), "not its own to forget");
    }
}
