//! The cells: their places in the table of the flow control, by BVC and back.

use super::super::directory::BvcAddress;
use foldhash::quality::SeedableRandomState;
use gannet_wire::id::{CellId, Nsei, Rai};
use std::collections::HashMap;

/// A cell that a BSS has introduced with BVC-RESET.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellState {
    /// Where it is reached.
    pub bvc: BvcAddress,
    /// What it is called.
    pub id: CellId,
    /// Its BVC is blocked: nothing is sent there.
    pub blocked: bool,
}

/// All cells. A cell keeps its place until its NSE goes.
#[derive(Debug)]
pub struct Cells {
    places: Vec<Option<CellState>>,
    by_bvc: HashMap<BvcAddress, u32, SeedableRandomState>,
}

impl Cells {
    /// Room for `max` cells.
    #[must_use]
    pub fn new(max: u32) -> Self {
        let state = SeedableRandomState::with_seed(1, foldhash::SharedSeed::global_fixed());
        Self {
            places: vec![None; max as usize],
            by_bvc: HashMap::with_capacity_and_hasher(max as usize, state),
        }
    }

    /// A cell was introduced, perhaps again; its place, or `None` where the table is full.
    pub fn introduce(&mut self, bvc: BvcAddress, id: CellId) -> Option<u32> {
        let index = match self.by_bvc.get(&bvc) {
            Some(index) => *index,
            None => u32::try_from(self.places.iter().position(Option::is_none)?).ok()?,
        };
        *self.places.get_mut(index as usize)? = Some(CellState { bvc, id, blocked: false });
        self.by_bvc.insert(bvc, index);
        Some(index)
    }

    /// Removes all cells of an NSE and gives their places.
    pub fn remove_nse(&mut self, nsei: Nsei) -> Vec<u32> {
        let mut removed = Vec::new();
        for (place, index) in self.places.iter_mut().zip(0_u32..) {
            if let Some(state) = place.take_if(|state| state.bvc.nsei == nsei) {
                self.by_bvc.remove(&state.bvc);
                removed.push(index);
            }
        }
        removed
    }

    /// Its place.
    #[must_use]
    pub fn index_of(&self, bvc: BvcAddress) -> Option<u32> {
        self.by_bvc.get(&bvc).copied()
    }

    /// Where a cell is reached.
    #[must_use]
    pub fn address_of(&self, index: u32) -> Option<BvcAddress> {
        self.places.get(index as usize)?.map(|state| state.bvc)
    }

    /// The cell at a place.
    #[must_use]
    pub fn get(&self, index: u32) -> Option<&CellState> {
        self.places.get(index as usize)?.as_ref()
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, index: u32) -> Option<&mut CellState> {
        self.places.get_mut(index as usize)?.as_mut()
    }

    /// All cells in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &CellState)> {
        self.places.iter().zip(0_u32..).filter_map(|(place, index)| Some((index, place.as_ref()?)))
    }

    /// Does a cell here belong to this routing area?
    #[must_use]
    pub fn serves(&self, rai: Rai) -> bool {
        self.iter().any(|(_, state)| state.id.rai == rai)
    }

    /// The NSEs that have cells in a routing area, each once, in the order of their first cell.
    #[must_use]
    pub fn nses_of(&self, rai: Rai) -> Vec<Nsei> {
        let mut nses = Vec::new();
        for (_, state) in self.iter().filter(|(_, state)| state.id.rai == rai) {
            if !nses.contains(&state.bvc.nsei) {
                nses.push(state.bvc.nsei);
            }
        }
        nses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_wire::id::{Bvci, Plmn};

    #[test]
    fn cells_come_again_and_go_with_their_nse() {
        let bvc = |nsei, bvci| BvcAddress { nsei: Nsei(nsei), bvci: Bvci(bvci) };
        let id = |rac, ci| CellId { rai: Rai { plmn: Plmn::new(1, 1, false), lac: 1, rac }, ci };
        let mut cells = Cells::new(3);
        assert_eq!(cells.introduce(bvc(1, 2), id(0, 2)), Some(0));
        assert_eq!(cells.introduce(bvc(2, 2), id(0, 3)), Some(1));
        assert_eq!(cells.introduce(bvc(1, 3), id(1, 4)), Some(2));
        assert_eq!(cells.introduce(bvc(1, 4), id(1, 5)), None, "full");
        assert_eq!(cells.introduce(bvc(1, 2), id(1, 9)), Some(0), "again, with another name");
        assert_eq!(cells.nses_of(id(1, 0).rai), [Nsei(1)]);
        assert_eq!(cells.remove_nse(Nsei(1)), [0, 2]);
        assert_eq!((cells.index_of(bvc(1, 2)), cells.index_of(bvc(2, 2))), (None, Some(1)));
        assert!(cells.serves(id(0, 0).rai) && !cells.serves(id(1, 0).rai));
    }
}
