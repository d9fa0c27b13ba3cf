//! Which place of the table of mobiles a name has, and what the owner was told of the name: four octets for each.

use gannet_machine::prefetch::Prefetch;

use gannet_qos::class::CellClass;

/// The place, where the name has one.
const PLACE: u32 = (1 << 26) - 1;
/// Names by which a mobile may be known, and places for mobiles, at most.
pub(super) const MAX: u32 = PLACE;

/// By name: the place that it has, or had last, and for each class of user data whether it is to be told of and what was
/// told last.
#[derive(Debug)]
pub(super) struct Directory(Vec<u32>);

impl Directory {
    pub(super) fn new(names: u32) -> Self {
        Self(vec![PLACE; names.min(MAX) as usize])
    }

    /// The place that a name was given last: it has it as long as that place has this name. To clear it here when another gets
    /// the place would touch what nobody has looked at for long.
    #[inline]
    pub(super) fn find(&self, name: u32) -> Option<u32> {
        self.0.get(name as usize).map(|entry| entry & PLACE).filter(|place| *place != PLACE)
    }

    #[inline]
    pub(super) fn prefetch(&self, name: u32, prefetch: Prefetch) {
        if let Some(entry) = self.0.get(name as usize) {
            prefetch.value(entry);
        }
    }

    #[inline]
    pub(super) fn has(&self, name: u32) -> bool {
        (name as usize) < self.0.len()
    }

    /// Gives a name its place; what was told of the name remains.
    #[inline]
    pub(super) fn set(&mut self, name: u32, place: u32) {
        if let Some(entry) = self.0.get_mut(name as usize) {
            *entry = (*entry & !PLACE) | (place & PLACE);
        }
    }

    /// Notes that the name is to be told of; false where that was known.
    #[inline]
    pub(super) fn list(&mut self, name: u32, class: CellClass) -> bool {
        let bit = Self::listed(class);
        self.0.get_mut(name as usize).is_some_and(|entry| {
            let new = *entry & bit == 0;
            *entry |= bit;
            new
        })
    }

    /// The name is told of now: true where `blocked` differs from what was told last.
    #[inline]
    pub(super) fn tell(&mut self, name: u32, class: CellClass, blocked: bool) -> bool {
        let told = Self::listed(class) << 3;
        let Some(entry) = self.0.get_mut(name as usize) else { return false };
        let former = *entry & told != 0;
        *entry &= !Self::listed(class);
        if blocked != former {
            *entry ^= told;
        }
        blocked != former
    }

    #[inline]
    const fn listed(class: CellClass) -> u32 {
        match class {
            CellClass::Signalling => 0,
            CellClass::RealTime => 1 << 26,
            CellClass::Guaranteed => 1 << 27,
            CellClass::BestEffort => 1 << 28,
        }
    }
}
