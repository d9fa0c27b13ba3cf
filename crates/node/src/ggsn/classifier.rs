//! Which of the contexts that share an address a downlink packet belongs to.

use crate::slots::Slot;
use gannet_wire::l3::ie::{PacketFields, PacketFilter, Tft};

/// The packet filters of all contexts of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classifier {
    /// Those first that are tried first.
    filters: Vec<(PacketFilter, Slot)>,
    /// Who has no template.
    rest: Option<Slot>,
}

impl Classifier {
    /// Of contexts with their templates.
    pub(super) fn of<'a>(contexts: impl Iterator<Item = (Slot, Option<&'a Tft>)>) -> Self {
        let (mut filters, mut rest) = (Vec::new(), None);
        for (slot, tft) in contexts {
            match tft {
                Some(tft) => filters.extend(tft.filters().iter().map(|filter| (filter.clone(), slot))),
                None => rest = Some(slot),
            }
        }
        filters.sort_by_key(|(filter, _)| filter.precedence);
        Self { filters, rest }
    }

    /// The context that a downlink packet belongs to.
    pub(super) fn find(&self, packet: &[u8]) -> Option<Slot> {
        let fields = PacketFields::of(packet)?;
        let found = self.filters.iter().find(|(filter, _)| filter.matches(&fields));
        found.map(|(_, slot)| *slot).or(self.rest)
    }
}
