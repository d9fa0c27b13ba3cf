//! Cells that nobody has configured: an access point's beacon names its cell.
//!
//! As many are known at a time as [`LEARNED_MAX`]. In a full table that one gives way whose access point is silent longest, if it
//! is down and no mobile is there. Where all are up, a newcomer is ignored: a flood of beacons takes no cell from a mobile.

use super::{AdaptationBearer, Indication, Output};
use gannet_machine::Batch;
use gannet_machine::drops::Drop;
use gannet_machine::time::Instant;
use gannet_wire::id::CellId;

/// Cells that are learned at most.
pub const LEARNED_MAX: u16 = 16;

impl AdaptationBearer {
    /// The index of a cell that was heard for the first time.
    pub(super) fn learn(&mut self, now: Instant, id: CellId, out: &mut Batch<Output>) -> Result<u16, Drop> {
        if !self.learns {
            return Err(Drop::AdaptUnknownCell);
        }
        let known = u16::try_from(self.cells.len()).unwrap_or(u16::MAX);
        let cell = if known < LEARNED_MAX {
            self.cells.push(id);
            self.selection.add_cell();
            known
        } else {
            let cell = self.gives_way(now).ok_or(Drop::AdaptUnknownCell)?;
            self.forget_cell(cell);
            if let Some(place) = self.cells.get_mut(usize::from(cell)) {
                *place = id;
            }
            cell
        };
        out.push(Output::Indication(Indication::Cell { cell, id }));
        Ok(cell)
    }

    /// The cell whose access point is silent longest, of those that are down and in which no mobile is.
    fn gives_way(&self, now: Instant) -> Option<u16> {
        let is_used = |cell: u16| self.stations.iter().any(|station| station.is_in(cell));
        (0..u16::try_from(self.cells.len()).unwrap_or(u16::MAX))
            .filter(|cell| !self.selection.is_up(now, *cell) && !is_used(*cell))
            .min_by_key(|cell| self.selection.get(*cell).map(|of| of.heard))
    }

    /// Nothing is left of what was known of a cell.
    fn forget_cell(&mut self, cell: u16) {
        self.selection.lost(cell);
        for place in 0..self.stations.len() {
            let Some(station) = self.stations.get_mut(place) else { return };
            station.target.take_if(|target| target.cell == cell);
            if let Some(former) = station.former.take_if(|former| former.cell == cell) {
                self.forget_sessions(&former);
            }
        }
    }
}
