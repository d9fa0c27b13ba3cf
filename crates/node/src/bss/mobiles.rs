//! Which mobile is where, where it was, and by which TLLIs: learnt from what the mobiles send.
//!
//! A mobile is known in the cells that it has left until the SGSN says what becomes of its LL-PDUs there: until then more
//! of them come.

use foldhash::fast::FixedState;
use gannet_wire::id::Tlli;
use gannet_wire::l3::ie::Octets;
use std::collections::HashMap;

/// TLLIs by which a mobile is known at the same time: the one it uses and the one before.
const TLLIS: usize = 2;

/// Octets of the longest radio access capability (04.08 clause 10.5.5.12a [24.008]).
const RA_CAPABILITY_MAX: usize = 50;

/// Cells in which a mobile is known and is not: those that it has left, and where the SGSN looks for it.
const FORMER: usize = 3;

#[derive(Debug, Clone, Copy)]
struct Mobile {
    cell: u32,
    /// Cells that it has left, or in which the SGSN looks for it: the last one stands first.
    former: [u32; FORMER],
    /// The one used last stands first.
    tllis: [Tlli; TLLIS],
    ra_capability: Octets<RA_CAPABILITY_MAX>,
}

/// Nowhere yet.
const NOWHERE: u32 = u32::MAX;

/// What is new when a mobile was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Nothing.
    Here,
    /// It came to its cell.
    Came {
        /// The cell that it left.
        left: Option<u32>,
        /// The cell in which it is known no longer, as it has left too many since.
        forgotten: Option<u32>,
    },
}

/// All mobiles that the emulated radio may have. One mobile takes at most [`TLLIS`] entries of the directory for each cell that
/// it is known in, so that it has a limit; a TLLI that two mobiles of a cell use belongs to the one heard last.
#[derive(Debug)]
pub struct Mobiles {
    mobiles: Vec<Mobile>,
    directory: HashMap<(u32, Tlli), u32, FixedState>,
}

impl Mobiles {
    /// Mobiles 0 to `mobiles_max` − 1.
    #[must_use]
    pub fn new(mobiles_max: u32) -> Self {
        let nobody = Mobile {
            cell: NOWHERE,
            former: [NOWHERE; FORMER],
            tllis: [Tlli::UNASSIGNED; TLLIS],
            ra_capability: Octets::default(),
        };
        let mobiles_max = mobiles_max as usize;
        Self {
            mobiles: vec![nobody; mobiles_max],
            directory: HashMap::with_capacity_and_hasher(mobiles_max * 2 * TLLIS, FixedState::with_seed(0)),
        }
    }

    /// A mobile was heard in a cell, by a TLLI or by none (0 or all ones). `None` where there is no such mobile.
    pub fn heard(&mut self, mobile: u32, cell: u32, tlli: Tlli) -> Option<Heard> {
        let tlli = if tlli == Tlli(0) { Tlli::UNASSIGNED } else { tlli };
        let state = self.mobiles.get_mut(mobile as usize)?;
        if state.cell == cell && (state.tllis[0] == tlli || tlli == Tlli::UNASSIGNED) {
            return Some(Heard::Here);
        }
        let before = *state;
        if tlli != Tlli::UNASSIGNED && tlli != state.tllis[0] {
            state.tllis = [tlli, state.tllis[0]];
        }
        let mut forgotten = None;
        if state.cell != cell {
            state.cell = cell;
            let back = before.former.iter().position(|former| *former == cell).unwrap_or(FORMER - 1);
            if before.cell != NOWHERE {
                forgotten = before.former.get(back).copied().filter(|gone| *gone != cell && *gone != NOWHERE);
                if let Some(recent) = state.former.get_mut(..=back) {
                    recent.rotate_right(1);
                }
                state.former[0] = before.cell;
            }
        }
        self.rename(mobile, &before);
        let left = (before.cell != cell && before.cell != NOWHERE).then_some(before.cell);
        Some(if before.cell == cell { Heard::Here } else { Heard::Came { left, forgotten } })
    }

    /// A mobile is known no longer in a cell that it has left.
    pub fn forget_former(&mut self, mobile: u32, cell: u32) {
        let Some(state) = self.mobiles.get_mut(mobile as usize) else { return };
        let before = *state;
        if cell != NOWHERE
            && let Some(at) = state.former.iter().position(|former| *former == cell)
        {
            if let Some(older) = state.former.get_mut(at..) {
                older.rotate_left(1);
            }
            state.former[FORMER - 1] = NOWHERE;
            self.rename(mobile, &before);
        }
    }

    /// The SGSN looks for a mobile in a cell where it is not (any more): it is known there as in one that it has left. Gives the
    /// cell in which it is known no longer for that.
    pub fn add_former(&mut self, mobile: u32, cell: u32) -> Option<u32> {
        let state = self.mobiles.get_mut(mobile as usize)?;
        if cell == NOWHERE || state.cell == cell || state.former.contains(&cell) {
            return None;
        }
        let before = *state;
        state.former.rotate_right(1);
        state.former[0] = cell;
        self.rename(mobile, &before);
        before.former.last().copied().filter(|gone| *gone != NOWHERE)
    }

    /// A mobile is known by other names than before.
    fn rename(&mut self, mobile: u32, before: &Mobile) {
        if let Some(after) = self.mobiles.get(mobile as usize).copied() {
            self.unname(mobile, before);
            self.name(mobile, &after);
        }
    }

    fn unname(&mut self, mobile: u32, state: &Mobile) {
        for name in state.names() {
            if self.directory.get(&name) == Some(&mobile) {
                self.directory.remove(&name);
            }
        }
    }

    /// By the TLLI used last also where another mobile had it; in cells that it has left where nobody has it.
    fn name(&mut self, mobile: u32, state: &Mobile) {
        for name in state.names() {
            if name.0 == state.cell {
                self.directory.insert(name, mobile);
            } else {
                self.directory.entry(name).or_insert(mobile);
            }
        }
    }

    /// The mobile that a TLLI means in a cell.
    #[must_use]
    pub fn find(&self, cell: u32, tlli: Tlli) -> Option<u32> {
        self.directory.get(&(cell, tlli)).copied()
    }

    /// Where a mobile is.
    #[must_use]
    pub fn cell_of(&self, mobile: u32) -> Option<u32> {
        self.mobiles.get(mobile as usize).map(|mobile| mobile.cell).filter(|cell| *cell != NOWHERE)
    }

    /// The TLLI that a mobile used last.
    #[must_use]
    pub fn tlli_of(&self, mobile: u32) -> Option<Tlli> {
        self.mobiles
            .get(mobile as usize)
            .map(|mobile| mobile.tllis[0])
            .filter(|tlli| *tlli != Tlli::UNASSIGNED)
    }

    /// Keeps what the SGSN says of a mobile's radio (08.18 clause 10.2.3).
    pub fn set_ra_capability(&mut self, mobile: u32, octets: &[u8]) {
        if let Some(mobile) = self.mobiles.get_mut(mobile as usize)
            && mobile.ra_capability.as_slice() != octets
        {
            mobile.ra_capability = Octets::from_start(octets);
        }
    }

    /// What the SGSN said of a mobile's radio; empty where it said nothing.
    #[must_use]
    pub fn ra_capability(&self, mobile: u32) -> &[u8] {
        self.mobiles.get(mobile as usize).map_or(&[], |mobile| mobile.ra_capability.as_slice())
    }
}

impl Mobile {
    /// All entries of the directory that it may have, the one used last at the end.
    fn names(&self) -> impl Iterator<Item = (u32, Tlli)> {
        let (cells, tllis) = (self.former.into_iter().rev().chain([self.cell]), self.tllis);
        let known = move |cell: u32| tllis.into_iter().rev().map(move |tlli| (cell, tlli));
        cells.filter(|cell| *cell != NOWHERE).flat_map(known).filter(|(_, tlli)| *tlli != Tlli::UNASSIGNED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Option<Heard> = Some(Heard::Here);

    fn came(left: Option<u32>) -> Option<Heard> {
        Some(Heard::Came { left, forgotten: None })
    }

    #[test]
    fn a_mobile_is_found_by_its_last_two_tllis_in_its_cell() {
        let mut mobiles = Mobiles::new(2);
        assert_eq!((mobiles.heard(0, 7, Tlli(1)), mobiles.heard(0, 7, Tlli(2))), (came(None), HERE));
        assert_eq!(mobiles.heard(2, 7, Tlli(9)), None);
        assert_eq!((mobiles.find(7, Tlli(1)), mobiles.find(7, Tlli(2))), (Some(0), Some(0)));
        assert_eq!(mobiles.heard(0, 7, Tlli(3)), HERE);
        assert_eq!(mobiles.find(7, Tlli(1)), None);
        assert_eq!(
            (mobiles.heard(0, 8, Tlli(0)), mobiles.heard(0, 8, Tlli::UNASSIGNED)),
            (came(Some(7)), HERE)
        );
        assert_eq!(
            (mobiles.find(7, Tlli(3)), mobiles.find(8, Tlli(3)), mobiles.cell_of(0)),
            (Some(0), Some(0), Some(8)),
            "until its LL-PDUs are fetched from there"
        );
        mobiles.forget_former(0, 7);
        mobiles.forget_former(0, 7);
        assert_eq!((mobiles.find(7, Tlli(3)), mobiles.find(8, Tlli(3))), (None, Some(0)));
        assert_eq!((mobiles.heard(0, 8, Tlli(2)), mobiles.heard(0, 8, Tlli(3))), (HERE, HERE));
        assert_eq!(
            (mobiles.find(8, Tlli(2)), mobiles.tlli_of(0), mobiles.tlli_of(1)),
            (Some(0), Some(Tlli(3)), None)
        );
        assert_eq!(mobiles.directory.len(), 2);
    }

    #[test]
    fn a_mobile_is_known_in_the_last_cells_that_it_has_left() {
        let mut mobiles = Mobiles::new(1);
        mobiles.heard(0, 1, Tlli(5));
        for cell in 2..=4 {
            assert_eq!(mobiles.heard(0, cell, Tlli(5)), came(Some(cell - 1)));
        }
        let known =
            |mobiles: &Mobiles| (0..8).filter(|cell| mobiles.find(*cell, Tlli(5)).is_some()).collect();
        let cells: Vec<u32> = known(&mobiles);
        assert_eq!(cells, [1, 2, 3, 4]);
        assert_eq!(mobiles.heard(0, 5, Tlli(5)), Some(Heard::Came { left: Some(4), forgotten: Some(1) }));
        // Back to where it was: nothing is forgotten.
        assert_eq!(mobiles.heard(0, 3, Tlli(5)), came(Some(5)));
        let cells: Vec<u32> = known(&mobiles);
        assert_eq!((cells, mobiles.directory.len()), (vec![2, 3, 4, 5], 4));
    }

    #[test]
    fn a_mobile_is_known_where_the_sgsn_looks_for_it() {
        let mut mobiles = Mobiles::new(1);
        mobiles.heard(0, 1, Tlli(5));
        assert_eq!(
            (mobiles.add_former(0, 1), mobiles.add_former(1, 2), mobiles.directory.len()),
            (None, None, 1)
        );
        for cell in 2..=4 {
            assert_eq!((mobiles.add_former(0, cell), mobiles.add_former(0, cell)), (None, None));
        }
        assert_eq!((mobiles.add_former(0, 5), mobiles.cell_of(0)), (Some(2), Some(1)));
        let cells: Vec<u32> = (0..8).filter(|cell| mobiles.find(*cell, Tlli(5)).is_some()).collect();
        assert_eq!((cells, mobiles.heard(0, 5, Tlli(5))), (vec![1, 3, 4, 5], came(Some(1))));
    }

    #[test]
    fn a_tlli_of_two_mobiles_belongs_to_the_one_heard_last() {
        let mut mobiles = Mobiles::new(2);
        assert_eq!((mobiles.heard(0, 7, Tlli(5)), mobiles.heard(1, 7, Tlli(5))), (came(None), came(None)));
        assert_eq!(mobiles.find(7, Tlli(5)), Some(1));
        assert_eq!(mobiles.heard(0, 8, Tlli(6)), came(Some(7)));
        assert_eq!((mobiles.find(7, Tlli(5)), mobiles.find(8, Tlli(5))), (Some(1), Some(0)));
        mobiles.set_ra_capability(1, &[1, 2]);
        assert_eq!((mobiles.ra_capability(1), mobiles.ra_capability(0)), (&[1, 2][..], &[][..]));
    }
}
