//! Which mobile is where, and by which TLLIs: learnt from what the mobiles send.

use foldhash::fast::FixedState;
use gannet_wire::id::Tlli;
use gannet_wire::l3::ie::Octets;
use std::collections::HashMap;

/// TLLIs by which a mobile is known at the same time: the one it uses and the one before.
const TLLIS: usize = 2;

/// Octets of the longest radio access capability (04.08 clause 10.5.5.12a [24.008]).
const RA_CAPABILITY_MAX: usize = 50;

#[derive(Debug, Clone, Copy)]
struct Mobile {
    cell: u32,
    /// The one used last stands first.
    tllis: [Tlli; TLLIS],
    ra_capability: Octets<RA_CAPABILITY_MAX>,
}

/// Nowhere yet.
const NOWHERE: u32 = u32::MAX;

/// All mobiles that the emulated radio may have. One mobile takes at most [`TLLIS`] entries of the directory, so
/// that it has a limit; a TLLI that two mobiles of a cell use belongs to the one heard last.
#[derive(Debug)]
pub struct Mobiles {
    mobiles: Vec<Mobile>,
    directory: HashMap<(u32, Tlli), u32, FixedState>,
}

impl Mobiles {
    /// Mobiles 0 to `mobiles_max` − 1.
    #[must_use]
    pub fn new(mobiles_max: u32) -> Self {
        let nobody =
            Mobile { cell: NOWHERE, tllis: [Tlli::UNASSIGNED; TLLIS], ra_capability: Octets::default() };
        let mobiles_max = mobiles_max as usize;
        Self {
            mobiles: vec![nobody; mobiles_max],
            directory: HashMap::with_capacity_and_hasher(mobiles_max * 2 * TLLIS, FixedState::with_seed(0)),
        }
    }

    /// A mobile was heard in a cell, by a TLLI or by none (0 or all ones). False where there is no such mobile.
    pub fn heard(&mut self, mobile: u32, cell: u32, tlli: Tlli) -> bool {
        let tlli = if tlli == Tlli(0) { Tlli::UNASSIGNED } else { tlli };
        let Some(state) = self.mobiles.get_mut(mobile as usize) else { return false };
        if state.cell == cell && (state.tllis[0] == tlli || tlli == Tlli::UNASSIGNED) {
            return true;
        }
        for old in state.tllis {
            if self.directory.get(&(state.cell, old)) == Some(&mobile) {
                self.directory.remove(&(state.cell, old));
            }
        }
        state.cell = cell;
        if tlli != Tlli::UNASSIGNED && tlli != state.tllis[0] {
            state.tllis = [tlli, state.tllis[0]];
        }
        for known in state.tllis.into_iter().rev().filter(|known| *known != Tlli::UNASSIGNED) {
            self.directory.insert((cell, known), mobile);
        }
        true
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mobile_is_found_by_its_last_two_tllis_in_its_cell() {
        let mut mobiles = Mobiles::new(2);
        assert!(
            mobiles.heard(0, 7, Tlli(1)) && mobiles.heard(0, 7, Tlli(2)) && !mobiles.heard(2, 7, Tlli(9))
        );
        assert_eq!((mobiles.find(7, Tlli(1)), mobiles.find(7, Tlli(2))), (Some(0), Some(0)));
        assert!(mobiles.heard(0, 7, Tlli(3)));
        assert_eq!(mobiles.find(7, Tlli(1)), None);
        assert!(mobiles.heard(0, 8, Tlli(0)) && mobiles.heard(0, 8, Tlli::UNASSIGNED));
        assert_eq!(
            (mobiles.find(7, Tlli(3)), mobiles.find(8, Tlli(3)), mobiles.cell_of(0)),
            (None, Some(0), Some(8))
        );
        assert!(mobiles.heard(0, 8, Tlli(2)) && mobiles.heard(0, 8, Tlli(3)));
        assert_eq!(
            (mobiles.find(8, Tlli(2)), mobiles.tlli_of(0), mobiles.tlli_of(1)),
            (Some(0), Some(Tlli(3)), None)
        );
        assert_eq!(mobiles.directory.len(), 2);
    }

    #[test]
    fn a_tlli_of_two_mobiles_belongs_to_the_one_heard_last() {
        let mut mobiles = Mobiles::new(2);
        assert!(mobiles.heard(0, 7, Tlli(5)) && mobiles.heard(1, 7, Tlli(5)));
        assert_eq!(mobiles.find(7, Tlli(5)), Some(1));
        assert!(mobiles.heard(0, 8, Tlli(6)));
        assert_eq!((mobiles.find(7, Tlli(5)), mobiles.find(8, Tlli(5))), (Some(1), Some(0)));
        mobiles.set_ra_capability(1, &[1, 2]);
        assert_eq!((mobiles.ra_capability(1), mobiles.ra_capability(0)), (&[1, 2][..], &[][..]));
    }
}
